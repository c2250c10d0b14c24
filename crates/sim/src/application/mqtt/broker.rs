//! The process of a broker.

use super::device::LINGER;
use super::wire::{Framing, Wire};
use super::{Ledger, Mark};
use crate::application::{Application, Report, Serve};
use crate::world::{Port, SocketId, Sockets};
use haltere_mqtt::broker::Event as News;
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{Broker, BrokerConfig, Connection, Streams};
use haltere_net::{Cx, Time};
use haltere_transport::{Event, Role};
use std::collections::{BTreeMap, VecDeque};

/// Over TCP, the bytes that a broker writes to a connection beyond what was sent. While there are more, messages wait in
/// the queue of the client's session (the default send buffer of Linux, `tcp_wmem`).
const AHEAD: u64 = 16 << 10;

/// A broker on a node. It listens on a port for each contender.
#[derive(Debug)]
pub struct BrokerProcess {
    broker: Broker,
    framings: BTreeMap<Port, (Framing, Streams)>,
    ledgers: BTreeMap<u32, Ledger>,
    by_socket: BTreeMap<SocketId, Connection>,
    wires: BTreeMap<Connection, Wire>,
    /// Connections that are closed, and when they are forgotten.
    closed: VecDeque<(Time, Wire)>,
}

impl BrokerProcess {
    /// A broker without clients.
    pub fn new(config: BrokerConfig) -> BrokerProcess {
        let (framings, ledgers, by_socket, wires, closed) = Default::default();
        BrokerProcess { broker: Broker::new(config), framings, ledgers, by_socket, wires, closed }
    }

    /// Connections to this port have this framing, and messages to the client these streams.
    pub fn add_port(&mut self, port: Port, framing: &Framing, streams: Streams) {
        self.framings.insert(port, (framing.clone(), streams));
    }

    /// A subscriber's session is there from the beginning. What becomes of its messages is told to the ledger.
    pub fn add_session(&mut self, flow: u32, client_id: &str, subscription: Subscription, ledger: &Ledger) {
        self.broker.add_session(client_id, &[subscription]);
        self.ledgers.insert(flow, ledger.clone());
    }

    /// Sends what the broker has to say.
    fn go_on(&mut self, sockets: &mut Sockets<'_>) {
        while let Some((connection, output)) = self.broker.poll_output() {
            let Some(wire) = self.wires.get_mut(&connection) else { continue };
            wire.send(output, sockets);
            if wire.unsent(sockets) > AHEAD {
                let (stream, socket) = (haltere_transport::StreamId(0), wire.socket);
                self.broker.set_full(connection, true);
                if let Some(transport) = sockets.get(socket) {
                    transport.wait_writable(stream, AHEAD);
                }
            }
        }
        while let Some(news) = self.broker.poll_event() {
            if let News::Dropped { message, .. } = news
                && let Some(mark) = Mark::of(&message.payload)
                && let Some(ledger) = self.ledgers.get(&mark.flow)
            {
                ledger.drop(mark);
            }
        }
    }

    /// A connection is gone.
    fn lose(&mut self, socket: SocketId, now: Time) {
        let Some(connection) = self.by_socket.remove(&socket) else { return };
        if let Some(wire) = self.wires.remove(&connection) {
            self.closed.push_back((now + LINGER, wire));
        }
        self.broker.on_lost(connection, now);
    }
}

impl Application for BrokerProcess {
    fn on_accept(&mut self, socket: SocketId, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let Some((framing, streams)) = sockets.port(socket).and_then(|port| self.framings.get(&port)) else { return };
        let Some(wire) = Wire::new(socket, Role::Server, framing, sockets) else { return };
        let connection = self.broker.accept(*streams, cx.now);
        self.by_socket.insert(socket, connection);
        self.wires.insert(connection, wire);
    }

    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        let Some(&connection) = self.by_socket.get(&socket) else { return };
        let Some(wire) = self.wires.get_mut(&connection) else { return };
        match event {
            Event::Readable(stream) => {
                let (lane, data) = wire.read(stream, sockets, cx.now);
                for bytes in data {
                    self.broker.on_bytes(connection, lane, &bytes, cx.now);
                }
            }
            Event::Finished(stream) => match wire.finished(stream) {
                Some(lane) => self.broker.on_finished(connection, lane),
                None => {
                    if let Some(transport) = sockets.get(socket) {
                        transport.close();
                    }
                    self.lose(socket, cx.now);
                }
            },
            Event::Writable(_) => self.broker.set_full(connection, false),
            Event::Openable => wire.flush(sockets),
            Event::Closed | Event::Failed(_) => self.lose(socket, cx.now),
            Event::Connected | Event::Multipath | Event::Datagram(_) => {}
        }
        self.go_on(sockets);
    }

    fn alarm(&self) -> Time {
        self.broker.next_wake().min(self.closed.front().map_or(Time::NEVER, |(at, _)| *at))
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        while self.closed.front().is_some_and(|(at, _)| *at <= cx.now) {
            if let Some((_, wire)) = self.closed.pop_front() {
                wire.release(sockets);
            }
        }
        self.broker.on_wake(cx.now);
        self.go_on(sockets);
    }

    fn report(&self) -> Report {
        Report::Serve(Serve::default())
    }
}
