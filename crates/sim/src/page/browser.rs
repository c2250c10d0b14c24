//! The client of a page.

use super::agenda::Agenda;
use super::transcript::{Channel, Note};
use super::{Page, Visit};
use crate::application::{Application, Fetch, Report};
use crate::http::Framing;
use crate::world::{Remote, SocketId, Sockets};
use haltere_net::{Cx, Time};
use haltere_transport::{CloseReason, Event, StreamId};
use std::collections::VecDeque;

/// The number of connections that browsers open to a host over HTTP/1.1 (Chromium: `kMaxSocketsPerGroup`, Firefox:
/// `network.http.max-persistent-connections-per-server`).
const MOST_CONNECTIONS: usize = 6;

/// A TCP connection with its TLS.
#[derive(Clone, Copy, Debug)]
struct HostConnection {
    socket: SocketId,
    stream: StreamId,
    /// Whether requests may be sent.
    ready: bool,
    /// Over HTTP/1.1: the object that was requested and is not complete.
    asked: Option<usize>,
}

/// Requests the objects of a page when they are due: over HTTP/2 and HTTP/3 at once, over HTTP/1.1 one at a time on
/// each of up to six connections. A new connection is opened only if no connection is free for a request. A request
/// uses the first free connection, as in Chromium.
pub struct Browser {
    visit: Visit,
    server: Remote,
    agenda: Agenda,
    /// Objects that are due and wait for a stream.
    queue: VecDeque<usize>,
    lanes: Vec<HostConnection>,
    /// HTTP/3: the connection, once streams may be opened.
    usable: Option<SocketId>,
    begun: bool,
    /// Whether data may be sent on a connection.
    open: bool,
    fetch: Fetch,
}

impl Browser {
    /// The client's end of a visit to `server`.
    pub fn new(visit: Visit, server: Remote) -> Browser {
        let agenda = Agenda::new(&visit.page);
        let (queue, lanes, fetch) = Default::default();
        Browser { visit, server, agenda, queue, lanes, usable: None, begun: false, open: false, fetch }
    }

    /// The client's end of a visit that requests no object before it is [wanted](Browser::want).
    pub(crate) fn on_demand(visit: Visit, server: Remote) -> Browser {
        let agenda = Agenda::on_demand(visit.page.objects.len());
        Browser { agenda, ..Browser::new(visit, server) }
    }

    /// An object is to be requested, at the next start or alarm.
    pub(crate) fn want(&mut self, object: usize, now: Time) {
        self.agenda.want(object, now);
    }

    /// Whether an object is complete.
    pub(crate) fn has(&self, object: usize) -> bool {
        self.agenda.times().get(object).is_some_and(Option::is_some)
    }

    /// The outcome so far.
    pub(crate) fn fetch(&self) -> &Fetch {
        &self.fetch
    }

    fn page(&self) -> &Page {
        &self.visit.page
    }

    /// Requests the objects that are due, as far as there are streams for them.
    fn ask(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        while let Some(object) = self.agenda.next(cx.now) {
            self.queue.push_back(object);
        }
        match self.visit.framing {
            Framing::Http1 => self.ask_on_free_lanes(sockets, cx),
            Framing::Http2 => {
                if let Some(lane) = self.lanes.first().copied().filter(|l| l.ready) {
                    while let Some(object) = self.queue.pop_front() {
                        self.request((lane.socket, lane.stream), object, sockets);
                    }
                }
            }
            Framing::Http3 => self.ask_on_new_streams(sockets),
        }
        if self.open && (self.visit.framing == Framing::Http3 || self.lanes.iter().any(|lane| lane.ready)) {
            self.fetch.ready.get_or_insert(cx.now);
        }
    }

    fn ask_on_new_streams(&mut self, sockets: &mut Sockets<'_>) {
        let Some(socket) = self.usable else { return };
        while !self.queue.is_empty() {
            let Some(stream) = sockets.get(socket).and_then(|c| c.open()) else { break };
            if let Some(object) = self.queue.pop_front() {
                self.request((socket, stream), object, sockets);
                if let Some(connection) = sockets.get(socket) {
                    connection.finish(stream);
                }
            }
        }
    }

    fn ask_on_free_lanes(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        loop {
            for i in 0..self.lanes.len() {
                if self.lanes[i].ready
                    && self.lanes[i].asked.is_none()
                    && let Some(object) = self.queue.pop_front()
                {
                    self.lanes[i].asked = Some(object);
                    self.request((self.lanes[i].socket, self.lanes[i].stream), object, sockets);
                }
            }
            let opening = self.lanes.iter().filter(|l| !l.ready).count();
            if opening >= self.queue.len() || self.lanes.len() >= MOST_CONNECTIONS {
                return;
            }
            let Some(socket) = self.connect(sockets, cx) else { return };
            if !self.open_lane(socket, sockets) {
                return;
            }
        }
    }

    fn connect(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) -> Option<SocketId> {
        let connecting = sockets.connect(self.server, cx);
        let socket = connecting.map_err(|reason: CloseReason| self.fetch.failed = Some(reason)).ok()?;
        self.open |= sockets.get(socket).is_some_and(|c| c.can_send_early_data());
        Some(socket)
    }

    fn open_lane(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) -> bool {
        let Some(stream) = sockets.get(socket).and_then(|c| c.open()) else { return false };
        self.lanes.push(HostConnection { socket, stream, ready: false, asked: None });
        self.say_flight((socket, stream), 0, sockets);
        true
    }

    /// Sends the client's flight number `k`.
    fn say_flight(&mut self, on: (SocketId, StreamId), k: usize, sockets: &mut Sockets<'_>) {
        let Some(&bytes) = self.visit.flights.client.get(k) else { return };
        if bytes > 0 {
            self.write(on, bytes, Note::Flight(k), sockets);
        }
        if let Some(lane) = self.lanes.iter_mut().find(|l| l.socket == on.0) {
            lane.ready |= k == self.visit.flights.request;
        }
    }

    fn request(&mut self, on: (SocketId, StreamId), object: usize, sockets: &mut Sockets<'_>) {
        let header = self.page().objects[object].request.map(|r| r.0.0);
        let bytes = self.visit.flights.seal.records(self.visit.framing.request(header, &mut self.begun));
        self.write(on, bytes, Note::Request(object), sockets);
    }

    fn write(&mut self, on: (SocketId, StreamId), bytes: u64, note: Note, sockets: &mut Sockets<'_>) {
        let (Some(channel), Some(connection)) = (channel(on, sockets), sockets.get(on.0)) else { return };
        self.visit.up.write(channel, bytes, note);
        connection.write(on.1, bytes);
    }

    fn hear(&mut self, on: (SocketId, StreamId), sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let (Some(channel), Some(connection)) = (channel(on, sockets), sockets.get(on.0)) else { return };
        self.visit.down.hear(channel, connection.read(on.1, cx.now));
        while let Some(note) = self.visit.down.take(channel) {
            match note {
                Note::Flight(k) => self.say_flight(on, k + 1, sockets),
                Note::Answer { object, body, last } => {
                    self.fetch.first_byte.get_or_insert(cx.now);
                    self.fetch.note_read(cx.now);
                    self.fetch.received += body;
                    if last {
                        self.finish(on.0, object, cx.now);
                    }
                }
                Note::Request(_) => {}
            }
        }
        if self.visit.down.is_within_answer(channel) {
            self.fetch.first_byte.get_or_insert(cx.now);
        }
        self.ask(sockets, cx);
    }

    fn finish(&mut self, socket: SocketId, object: usize, now: Time) {
        if let Some(lane) = self.lanes.iter_mut().find(|l| l.socket == socket) {
            lane.asked = None;
        }
        if self.agenda.done(object, now) {
            self.fetch.completed = Some(now);
        }
    }

    /// A connection is ready for requests.
    fn use_connection(&mut self, socket: SocketId, sockets: &mut Sockets<'_>) {
        self.usable = Some(socket);
        if self.visit.framing == Framing::Http2 && self.lanes.is_empty() {
            self.open_lane(socket, sockets);
        }
    }
}

/// The channel of a socket's stream.
pub(super) fn channel((socket, stream): (SocketId, StreamId), sockets: &Sockets<'_>) -> Option<Channel> {
    sockets.connection(socket).map(|connection| (connection, stream))
}

impl Application for Browser {
    fn on_start(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.agenda.start(cx.now);
        // Over HTTP/1.1 each connection is opened for a particular request.
        if self.visit.framing != Framing::Http1
            && let Some(socket) = self.connect(sockets, cx)
            && sockets.get(socket).is_some_and(|c| c.can_send_early_data())
        {
            self.use_connection(socket, sockets);
        }
        self.ask(sockets, cx);
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        match event {
            Event::Connected => {
                self.open = true;
                self.use_connection(socket, sockets);
                self.ask(sockets, cx);
            }
            Event::Readable(stream) => self.hear((socket, stream), sockets, cx),
            Event::Openable => self.ask(sockets, cx),
            Event::Failed(reason) => {
                self.fetch.failed.get_or_insert(reason);
            }
            Event::Writable(_)
            | Event::Finished(_)
            | Event::Datagram(_)
            | Event::Media(_)
            | Event::Multipath
            | Event::Closed => {}
        }
    }

    fn alarm(&self) -> Time {
        self.agenda.alarm()
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        self.ask(sockets, cx);
    }

    fn is_over(&self) -> bool {
        self.fetch.is_over()
    }

    fn report(&self) -> Report {
        Report::Page(self.fetch, self.agenda.times().to_vec())
    }
}
