//! Several TCP connections between the same hosts as one [`Endpoint`], as HTTP/1.1 needs them: stream k is connection k.
//!
//! A packet's connection is its [`PathId`], so that flow and path together name it. Each connection has a congestion
//! controller of its own; what is traced of them comes under one name.

use super::Connection;
use crate::Body;
use crate::endpoint::{Endpoint, Event, Role, Stats, StreamId};
use haltere_net::{Cx, Packet, PathId, Time};
use std::collections::VecDeque;

/// A connection of a bundle, and what was written before it was open.
struct Member {
    connection: Connection,
    wanted: bool,
    /// Whether writes go through: it is open, or takes data with its SYN.
    open: bool,
    held: u64,
    finish: bool,
    closed: bool,
}

/// Several TCP connections.
pub struct Bundle {
    role: Role,
    members: Vec<Member>,
    events: VecDeque<Event>,
    told_connected: bool,
    told_failed: bool,
    invalid: u64,
    /// Whose turn it is to send.
    turn: usize,
}

impl Bundle {
    /// The ends of this role of all connections there may be; connection k must have path k. A client's connection is made
    /// when its stream is opened.
    pub fn new(role: Role, connections: Vec<Connection>) -> Bundle {
        let member =
            |connection| Member { connection, wanted: false, open: false, held: 0, finish: false, closed: false };
        Bundle {
            role,
            members: connections.into_iter().map(member).collect(),
            events: VecDeque::new(),
            told_connected: false,
            told_failed: false,
            invalid: 0,
            turn: 0,
        }
    }

    fn member(&mut self, stream: StreamId) -> Option<&mut Member> {
        self.members.get_mut(usize::try_from(stream.0).ok()?)
    }

    /// Takes the connections' news and tells them as the bundle's.
    fn gather(&mut self) {
        for k in 0..self.members.len() {
            while let Some(event) = self.members[k].connection.poll_event() {
                self.relay(k, event);
            }
        }
    }

    fn relay(&mut self, k: usize, event: Event) {
        let stream = StreamId(k as u64);
        match event {
            Event::Connected => {
                self.members[k].let_go();
                if !std::mem::replace(&mut self.told_connected, true) {
                    self.events.push_back(Event::Connected);
                }
            }
            Event::Readable(_) => self.events.push_back(Event::Readable(stream)),
            Event::Writable(_) => self.events.push_back(Event::Writable(stream)),
            Event::Finished(_) => self.events.push_back(Event::Finished(stream)),
            Event::Openable => self.events.push_back(Event::Openable),
            Event::Failed(reason) => {
                if !std::mem::replace(&mut self.told_failed, true) {
                    self.events.push_back(Event::Failed(reason));
                }
            }
            Event::Closed => {
                self.members[k].closed = true;
                if self.members.iter().all(|m| m.closed || !m.open) {
                    self.events.push_back(Event::Closed);
                }
            }
        }
    }
}

impl Member {
    /// What was held back goes.
    fn let_go(&mut self) {
        self.open = true;
        if self.held > 0 {
            self.connection.write(StreamId(0), std::mem::take(&mut self.held));
        }
        if self.finish {
            self.connection.finish(StreamId(0));
        }
    }
}

impl Endpoint for Bundle {
    /// Does nothing: a connection is made when its stream is opened.
    fn connect(&mut self, _: &mut Cx<'_>) {}

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        match self.members.get_mut(usize::from(packet.path.0)) {
            Some(member) => member.connection.on_packet(packet, cx),
            None => self.invalid += 1,
        }
        self.gather();
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        for member in &mut self.members {
            if member.connection.next_wake() <= cx.now {
                member.connection.on_wake(cx);
            }
        }
        self.gather();
    }

    fn next_wake(&self) -> Time {
        self.members.iter().map(|m| m.connection.next_wake()).min().unwrap_or(Time::NEVER)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let count = self.members.len();
        for _ in 0..count {
            let member = &mut self.members[self.turn];
            if std::mem::take(&mut member.wanted) {
                member.connection.connect(cx);
            }
            let packet = member.connection.poll_transmit(cx);
            if packet.is_some() {
                self.gather();
                return packet;
            }
            self.turn = (self.turn + 1) % count;
        }
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.gather();
        self.events.pop_front()
    }

    fn takes_early_data(&self) -> bool {
        self.members.first().is_some_and(|m| m.connection.takes_early_data())
    }

    fn open(&mut self) -> Option<StreamId> {
        if self.role == Role::Server {
            return None;
        }
        let early = self.takes_early_data();
        let k = self.members.iter_mut().position(|m| m.connection.open().is_some())?;
        self.members[k].wanted = true;
        self.members[k].open = early;
        Some(StreamId(k as u64))
    }

    fn write(&mut self, stream: StreamId, bytes: u64) {
        let Some(member) = self.member(stream) else { return };
        match member.open {
            true => member.connection.write(StreamId(0), bytes),
            false => member.held += bytes,
        }
    }

    fn unsent(&self, stream: StreamId) -> u64 {
        let member = usize::try_from(stream.0).ok().and_then(|k| self.members.get(k));
        member.map_or(0, |m| m.held + m.connection.unsent(StreamId(0)))
    }

    fn wait_writable(&mut self, stream: StreamId, below: u64) {
        if let Some(member) = self.member(stream) {
            member.connection.wait_writable(StreamId(0), below);
        }
    }

    fn finish(&mut self, stream: StreamId) {
        let Some(member) = self.member(stream) else { return };
        match member.open {
            true => member.connection.finish(StreamId(0)),
            false => member.finish = true,
        }
    }

    fn read(&mut self, stream: StreamId, now: Time) -> u64 {
        self.member(stream).map_or(0, |m| m.connection.read(StreamId(0), now))
    }

    fn close(&mut self) {
        for member in self.members.iter_mut().filter(|m| m.open) {
            member.connection.close();
        }
    }

    fn stats(&self) -> Stats {
        let mut all = self.members.iter().map(|m| m.connection.stats()).fold(Stats::default(), Stats::and);
        all.invalid_packets += self.invalid;
        all
    }

    fn paths(&self) -> usize {
        self.members.len()
    }

    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.members.get(usize::from(path.0)).map_or(0, |m| m.connection.bytes_in_flight(path))
    }
}
