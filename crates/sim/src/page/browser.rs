//! The client of a page.

use super::agenda::Agenda;
use super::transcript::Note;
use super::{Page, Visit};
use crate::application::{Application, Progress};
use crate::http::Framing;
use haltere_net::{Cx, Time};
use haltere_transport::{Endpoint, Event, StreamId};
use std::collections::VecDeque;

/// Connections that browsers open to a host over HTTP/1.1 (Chromium: `kMaxSocketsPerGroup`, Firefox:
/// `network.http.max-persistent-connections-per-server`).
pub const MOST_CONNECTIONS: usize = 6;

/// A TCP connection with its TLS.
#[derive(Clone, Copy, Debug)]
struct Lane {
    stream: StreamId,
    /// Whether requests may go.
    ready: bool,
    /// Over HTTP/1.1: the object that was asked for and has not come whole.
    asked: Option<usize>,
}

/// Asks for the objects of a page as they are due: over HTTP/2 and HTTP/3 at once, over HTTP/1.1 one at a time on each of
/// up to six connections. A connection is opened only for a request that none is free for, and a request takes the first
/// that is, as in Chromium.
pub struct Browser {
    visit: Visit,
    agenda: Agenda,
    /// Objects that are due and wait for a stream.
    queue: VecDeque<usize>,
    lanes: Vec<Lane>,
    /// HTTP/3: whether streams may be opened.
    usable: bool,
    begun: bool,
    progress: Progress,
}

impl Browser {
    /// The client's end of a visit.
    pub fn new(visit: Visit) -> Browser {
        let agenda = Agenda::new(&visit.page);
        let (queue, lanes, progress) = Default::default();
        Browser { visit, agenda, queue, lanes, usable: false, begun: false, progress }
    }

    fn page(&self) -> &Page {
        &self.visit.page
    }

    /// Asks for what is due, as far as there are streams for it.
    fn ask(&mut self, connection: &mut dyn Endpoint, now: Time) {
        while let Some(object) = self.agenda.next(now) {
            self.queue.push_back(object);
        }
        match self.visit.framing {
            Framing::Http1 => self.ask_on_free_lanes(connection),
            Framing::Http2 => {
                if let Some(lane) = self.lanes.first().copied().filter(|l| l.ready) {
                    while let Some(object) = self.queue.pop_front() {
                        self.request(lane.stream, object, connection);
                    }
                }
            }
            Framing::Http3 => {
                while self.usable && !self.queue.is_empty() {
                    let Some(stream) = connection.open() else { break };
                    if let Some(object) = self.queue.pop_front() {
                        self.request(stream, object, connection);
                        connection.finish(stream);
                    }
                }
            }
        }
    }

    fn ask_on_free_lanes(&mut self, connection: &mut dyn Endpoint) {
        loop {
            for i in 0..self.lanes.len() {
                if self.lanes[i].ready
                    && self.lanes[i].asked.is_none()
                    && let Some(object) = self.queue.pop_front()
                {
                    self.lanes[i].asked = Some(object);
                    self.request(self.lanes[i].stream, object, connection);
                }
            }
            let opening = self.lanes.iter().filter(|l| !l.ready).count();
            if opening >= self.queue.len() || self.lanes.len() >= MOST_CONNECTIONS || !self.open_lane(connection) {
                return;
            }
        }
    }

    fn open_lane(&mut self, connection: &mut dyn Endpoint) -> bool {
        let Some(stream) = connection.open() else { return false };
        self.lanes.push(Lane { stream, ready: false, asked: None });
        self.say_flight(stream, 0, connection);
        true
    }

    /// Says the client's flight number `k`.
    fn say_flight(&mut self, stream: StreamId, k: usize, connection: &mut dyn Endpoint) {
        let Some(&bytes) = self.visit.flights.client.get(k) else { return };
        if bytes > 0 {
            self.visit.up.write(stream, bytes, Note::Flight(k));
            connection.write(stream, bytes);
        }
        if let Some(lane) = self.lanes.iter_mut().find(|l| l.stream == stream) {
            lane.ready |= k == self.visit.flights.request;
        }
    }

    fn request(&mut self, stream: StreamId, object: usize, connection: &mut dyn Endpoint) {
        let header = self.page().objects[object].request.map(|r| r.0.0);
        let first = !std::mem::replace(&mut self.begun, true);
        let bytes = self.visit.flights.seal.records(self.visit.framing.request(header, first));
        self.visit.up.write(stream, bytes, Note::Request(object));
        connection.write(stream, bytes);
    }

    fn hear(&mut self, stream: StreamId, connection: &mut dyn Endpoint, now: Time) {
        self.visit.down.hear(stream, connection.read(stream, now));
        while let Some(note) = self.visit.down.take(stream) {
            match note {
                Note::Flight(k) => self.say_flight(stream, k + 1, connection),
                Note::Answer { object, body, last } => {
                    self.progress.first_byte.get_or_insert(now);
                    self.progress.received += body;
                    if last {
                        self.finish(stream, object, now);
                    }
                }
                Note::Request(_) => {}
            }
        }
        if self.visit.down.is_within_answer(stream) {
            self.progress.first_byte.get_or_insert(now);
        }
        self.ask(connection, now);
    }

    fn finish(&mut self, stream: StreamId, object: usize, now: Time) {
        if let Some(lane) = self.lanes.iter_mut().find(|l| l.stream == stream) {
            lane.asked = None;
        }
        if self.agenda.done(object, now) {
            self.progress.completed = Some(now);
        }
    }
}

impl Application for Browser {
    fn on_start(&mut self, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        connection.connect(cx);
        self.agenda.start(cx.now);
        if connection.takes_early_data() {
            self.usable = true;
            if self.visit.framing == Framing::Http2 {
                self.open_lane(connection);
            }
        }
        self.ask(connection, cx.now);
    }

    fn on_event(&mut self, event: Event, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.progress.connected = Some(cx.now);
                self.usable = true;
                if self.visit.framing == Framing::Http2 && self.lanes.is_empty() {
                    self.open_lane(connection);
                }
                self.ask(connection, cx.now);
            }
            Event::Readable(stream) => self.hear(stream, connection, cx.now),
            Event::Openable => self.ask(connection, cx.now),
            Event::Failed(reason) => self.progress.failed = Some(reason),
            Event::Writable(_) | Event::Finished(_) | Event::Closed => {}
        }
    }

    fn alarm(&self) -> Time {
        self.agenda.alarm()
    }

    fn on_alarm(&mut self, connection: &mut dyn Endpoint, cx: &mut Cx<'_>) {
        self.ask(connection, cx.now);
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn objects(&self) -> Option<&[Option<Time>]> {
        Some(self.agenda.times())
    }
}
