//! The server of a page.

use super::Visit;
use super::browser::channel;
use super::transcript::Note;
use crate::application::{Application, Report, Serve};
use crate::http::Framing;
use crate::world::{SocketId, Sockets};
use haltere_net::Cx;
use haltere_transport::{Event, StreamId};
use std::collections::VecDeque;

/// Over HTTP/2, the number of bytes written ahead of what the transport sends. Later bytes cannot overtake them
/// (`tcp_notsent_lowat`; Linux's commit c9bee3b7fdec tries it at 128 KiB).
const AHEAD: u64 = 128 << 10;

/// A response that is not completely written.
#[derive(Clone, Copy, Debug)]
struct Answer {
    object: usize,
    left: u64,
    begun: bool,
}

/// Answers requests in the order in which they arrive. Over HTTP/1.1 and HTTP/3 each response has its own stream. Over
/// HTTP/2 all share one stream, on which the active responses take turns, one frame each.
pub struct Origin {
    visit: Visit,
    /// Over HTTP/2: the active responses.
    turns: VecDeque<Answer>,
    begun: bool,
    serve: Serve,
}

impl Origin {
    /// The server's end of a visit.
    pub fn new(visit: Visit) -> Origin {
        let (turns, serve) = Default::default();
        Origin { visit, turns, begun: false, serve }
    }

    fn hear(&mut self, on: (SocketId, StreamId), sockets: &mut Sockets<'_>, cx: &Cx<'_>) {
        let (Some(channel), Some(connection)) = (channel(on, sockets), sockets.get(on.0)) else { return };
        self.visit.up.hear(channel, connection.read(on.1, cx.now));
        while let Some(note) = self.visit.up.take(channel) {
            match note {
                Note::Flight(k) => self.say_flight(on, k, sockets),
                Note::Request(object) => self.turns.push_back(Answer {
                    object,
                    left: self.visit.page.objects[object].size.0.0,
                    begun: false,
                }),
                Note::Answer { .. } => {}
            }
        }
        self.answer(on, sockets);
    }

    fn say_flight(&mut self, on: (SocketId, StreamId), k: usize, sockets: &mut Sockets<'_>) {
        let bytes = self.visit.flights.server.get(k).copied().unwrap_or(0);
        if bytes > 0 {
            self.write(on, bytes, Note::Flight(k), sockets);
        }
    }

    fn write(&mut self, on: (SocketId, StreamId), bytes: u64, note: Note, sockets: &mut Sockets<'_>) {
        let (Some(channel), Some(connection)) = (channel(on, sockets), sockets.get(on.0)) else { return };
        self.visit.down.write(channel, bytes, note);
        connection.write(on.1, bytes);
    }

    /// Writes as much as is allowed now.
    fn answer(&mut self, on: (SocketId, StreamId), sockets: &mut Sockets<'_>) {
        let shared = self.visit.framing == Framing::Http2;
        while let Some(mut answer) = self.turns.pop_front() {
            let Some(connection) = sockets.get(on.0) else { return };
            if shared && connection.unsent(on.1) >= AHEAD {
                self.turns.push_front(answer);
                return connection.wait_writable(on.1, AHEAD);
            }
            self.say_frame(on, &mut answer, sockets);
            match (answer.left > 0, shared) {
                (true, true) => self.turns.push_back(answer),
                (true, false) => self.turns.push_front(answer),
                (false, _) if self.visit.framing == Framing::Http3 => {
                    if let Some(connection) = sockets.get(on.0) {
                        connection.finish(on.1);
                    }
                }
                (false, _) => {}
            }
        }
    }

    /// Writes the next frame of a response.
    fn say_frame(&mut self, on: (SocketId, StreamId), answer: &mut Answer, sockets: &mut Sockets<'_>) {
        let framing = self.visit.framing;
        let head = match answer.begun {
            true => 0,
            false => framing.response(&mut self.begun),
        };
        answer.begun = true;
        let (header, most) = framing.frame(head);
        let body = answer.left.min(most);
        answer.left -= body;
        let plain = head + body + if body > 0 { header } else { 0 };
        let bytes = self.visit.flights.seal.records(plain);
        let (object, last) = (answer.object, answer.left == 0);
        self.write(on, bytes, Note::Answer { object, body, last }, sockets);
    }
}

impl Application for Origin {
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.serve.connected.get_or_insert(cx.now);
            }
            Event::Readable(stream) => self.hear((socket, stream), sockets, cx),
            Event::Writable(stream) => self.answer((socket, stream), sockets),
            Event::Failed(reason) => {
                self.serve.failed.get_or_insert(reason);
            }
            Event::Openable
            | Event::Finished(_)
            | Event::Datagram(_)
            | Event::Media(_)
            | Event::Multipath
            | Event::Closed => {}
        }
    }

    fn report(&self) -> Report {
        Report::Serve(self.serve)
    }
}
