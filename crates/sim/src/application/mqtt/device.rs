//! A client with its connection, which it opens again if it is lost.

use super::wire::{Framing, Wire};
use crate::world::{Remote, SocketId, Sockets};
use haltere_mqtt::Client;
use haltere_mqtt::client::Event as News;
use haltere_net::{Cx, Span, Time};
use haltere_transport::{CloseReason, Event, Role};

/// How long a closed connection is kept, so that its last packets can leave: more than three probe timeouts of a
/// satellite link (RFC 9000 section 10.2).
pub(super) const LINGER: Span = Span::from_secs(5);

/// A client.
#[derive(Debug)]
pub(super) struct Device {
    pub client: Client,
    broker: Remote,
    framing: Framing,
    wire: Option<Wire>,
    /// Connections that are closed, and when they are forgotten.
    closed: Vec<(Time, Wire)>,
    /// When it connects, [`Time::NEVER`] if it is connected or need not be.
    pub again: Time,
    /// How long after a loss it connects again.
    reconnect: Span,
    /// Whether it is to have a connection: not while it sleeps.
    wanted: bool,
    /// When it began to connect last.
    pub since: Time,
    /// Why no connection can be had.
    pub failed: Option<CloseReason>,
}

impl Device {
    pub fn new(client: Client, broker: Remote, framing: Framing, reconnect: Span) -> Device {
        let (wire, closed, failed) = (None, Vec::new(), None);
        let (again, since) = (Time::NEVER, Time::ZERO);
        Device { client, broker, framing, wire, closed, again, reconnect, wanted: false, since, failed }
    }

    /// Has a connection opened now, if the client sleeps. After a loss it waits as long as it is to.
    pub fn rouse(&mut self, now: Time) {
        if self.wire.is_none() && !self.wanted {
            self.again = self.again.min(now);
        }
    }

    /// Opens a connection. Returns its socket.
    pub fn connect(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) -> Option<SocketId> {
        (self.again, self.since, self.wanted) = (Time::NEVER, cx.now, true);
        let socket = match sockets.connect(self.broker, cx) {
            Ok(socket) => socket,
            Err(reason) => {
                self.failed = Some(reason);
                return None;
            }
        };
        let mut wire = Wire::new(socket, Role::Client, &self.framing, sockets)?;
        if sockets.get(socket).is_some_and(|connection| connection.can_send_early_data()) {
            wire.begin(sockets);
        }
        self.wire = Some(wire);
        if self.client.open(cx.now).is_err() {
            self.failed = Some(CloseReason::ProtocolViolation("CONNECT cannot be expressed"));
        }
        self.send(sockets);
        Some(socket)
    }

    /// Sends what the client has to say.
    pub fn send(&mut self, sockets: &mut Sockets<'_>) {
        while let Some(output) = self.client.poll_output() {
            if let Some(wire) = &mut self.wire {
                wire.send(output, sockets);
            }
        }
    }

    /// The next event of the client. If the client has ended its connection, it does not wait for the transport's own
    /// end: that may never come on a path that is dead.
    pub fn news(&mut self, now: Time) -> Option<News> {
        let news = self.client.poll_event();
        if matches!(news, Some(News::Closed(_))) {
            self.lose(now);
        }
        news
    }

    /// An event of one of its sockets.
    pub fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let now = cx.now;
        if event == Event::Failed(CloseReason::AddressLeft) {
            return self.leave(socket, sockets, now);
        }
        if self.wire.as_ref().is_none_or(|wire| wire.socket != socket) {
            return;
        }
        let Some(wire) = &mut self.wire else { return };
        match event {
            Event::Connected => wire.begin(sockets),
            Event::Readable(stream) => {
                let (lane, data) = wire.read(stream, sockets, now);
                for bytes in data {
                    self.client.on_bytes(lane, &bytes, now);
                }
            }
            Event::Finished(stream) => match wire.finished(stream) {
                Some(lane) => self.client.on_finished(lane),
                None => {
                    if let Some(connection) = sockets.get(socket) {
                        connection.close();
                    }
                    self.lose(now);
                }
            },
            Event::Openable => wire.flush(sockets),
            Event::Closed => self.lose(now),
            Event::Failed(_) => self.lose(now),
            Event::Writable(_) | Event::Multipath | Event::Datagram(_) | Event::Media(_) => {}
        }
        self.send(sockets);
    }

    /// The client has left the address of a connection. Nothing can be sent on it any more, and its socket is gone.
    fn leave(&mut self, socket: SocketId, sockets: &mut Sockets<'_>, now: Time) {
        if self.wire.as_ref().is_some_and(|wire| wire.socket == socket) {
            self.lose(now);
        }
        if let Some(k) = self.closed.iter().position(|(_, wire)| wire.socket == socket) {
            self.closed.remove(k).1.release(sockets);
        }
    }

    /// Ends the connection in order, until [`connect`](Self::connect).
    pub fn sleep(&mut self, sockets: &mut Sockets<'_>, now: Time) {
        self.wanted = false;
        // DISCONNECT can be expressed.
        let _ = self.client.leave(now);
        self.send(sockets);
    }

    /// The connection is gone. The client connects again, unless it sleeps and has nothing to say.
    fn lose(&mut self, now: Time) {
        if let Some(wire) = self.wire.take() {
            self.closed.push((now + LINGER, wire));
        }
        self.client.lost();
        if self.wanted {
            self.again = now + self.reconnect;
        } else if self.client.pending() > 0 {
            // It came while the connection closed.
            self.again = now;
        }
    }

    /// When it wants to be called.
    pub fn alarm(&self) -> Time {
        let forget = self.closed.first().map_or(Time::NEVER, |(at, _)| *at);
        self.client.next_wake().min(self.again).min(forget)
    }

    /// Its time has come. Returns the socket, if it has opened a connection, and those that it has forgotten.
    pub fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) -> (Option<SocketId>, Vec<SocketId>) {
        let mut forgotten = Vec::new();
        while self.closed.first().is_some_and(|(at, _)| *at <= cx.now) {
            let (_, wire) = self.closed.remove(0);
            forgotten.push(wire.socket);
            wire.release(sockets);
        }
        if self.client.next_wake() <= cx.now {
            self.client.on_wake(cx.now);
        }
        let opened = if self.again <= cx.now { self.connect(sockets, cx) } else { None };
        self.send(sockets);
        (opened, forgotten)
    }
}
