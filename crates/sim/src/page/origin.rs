//! The server of a page.

use super::Visit;
use super::transcript::Note;
use crate::application::{Application, Progress};
use crate::http::Framing;
use haltere_net::{Cx, Time};
use haltere_transport::{Endpoint, Event, StreamId};
use std::collections::VecDeque;

/// Over HTTP/2, bytes that are written ahead of what the transport sends: what comes later cannot overtake them
/// (`tcp_notsent_lowat`, which Linux's commit c9bee3b7fdec tries at 128 KiB).
const AHEAD: u64 = 128 << 10;

/// A response of which not all is written.
#[derive(Clone, Copy, Debug)]
struct Answer {
    object: usize,
    left: u64,
    begun: bool,
}

/// Answers requests in the order in which they come: over HTTP/1.1 and HTTP/3 each on its own stream; over HTTP/2 all on
/// one, on which the responses under way take turns, a frame each.
pub struct Origin {
    visit: Visit,
    /// Over HTTP/2: the responses under way.
    turns: VecDeque<Answer>,
    begun: bool,
    progress: Progress,
}

impl Origin {
    /// The server's end of a visit.
    pub fn new(visit: Visit) -> Origin {
        let (turns, progress) = Default::default();
        Origin { visit, turns, begun: false, progress }
    }

    fn hear(&mut self, stream: StreamId, connection: &mut dyn Endpoint, now: Time) {
        self.visit.up.hear(stream, connection.read(stream, now));
        while let Some(note) = self.visit.up.take(stream) {
            match note {
                Note::Flight(k) => self.say_flight(stream, k, connection),
                Note::Request(object) => self.turns.push_back(Answer {
                    object,
                    left: self.visit.page.objects[object].size.0.0,
                    begun: false,
                }),
                Note::Answer { .. } => {}
            }
        }
        self.answer(stream, connection);
    }

    fn say_flight(&mut self, stream: StreamId, k: usize, connection: &mut dyn Endpoint) {
        let bytes = self.visit.flights.server.get(k).copied().unwrap_or(0);
        if bytes > 0 {
            self.visit.down.write(stream, bytes, Note::Flight(k));
            connection.write(stream, bytes);
        }
    }

    /// Writes as much as may be written now.
    fn answer(&mut self, stream: StreamId, connection: &mut dyn Endpoint) {
        let shared = self.visit.framing == Framing::Http2;
        while let Some(mut answer) = self.turns.pop_front() {
            if shared && connection.unsent(stream) >= AHEAD {
                self.turns.push_front(answer);
                return connection.wait_writable(stream, AHEAD);
            }
            self.say_frame(stream, &mut answer, connection);
            match (answer.left > 0, shared) {
                (true, true) => self.turns.push_back(answer),
                (true, false) => self.turns.push_front(answer),
                (false, _) if self.visit.framing == Framing::Http3 => connection.finish(stream),
                (false, _) => {}
            }
        }
    }

    /// Writes the next frame of a response.
    fn say_frame(&mut self, stream: StreamId, answer: &mut Answer, connection: &mut dyn Endpoint) {
        let framing = self.visit.framing;
        let head = match answer.begun {
            true => 0,
            false => framing.response(!std::mem::replace(&mut self.begun, true)),
        };
        answer.begun = true;
        let (header, most) = framing.frame(head);
        let body = answer.left.min(most);
        answer.left -= body;
        let plain = head + body + if body > 0 { header } else { 0 };
        let bytes = self.visit.flights.seal.records(plain);
        let (object, last) = (answer.object, answer.left == 0);
        self.visit.down.write(stream, bytes, Note::Answer { object, body, last });
        connection.write(stream, bytes);
    }
}

impl Application for Origin {
    fn on_start(&mut self, _: &mut dyn Endpoint, _: &mut Cx<'_>) {}

    fn on_event(&mut self, event: Event, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => self.progress.connected = Some(cx.now),
            Event::Readable(stream) => self.hear(stream, connection, cx.now),
            Event::Writable(stream) => self.answer(stream, connection),
            Event::Failed(reason) => self.progress.failed = Some(reason),
            Event::Openable | Event::Finished(_) | Event::Closed => {}
        }
    }

    fn progress(&self) -> Progress {
        self.progress
    }
}
