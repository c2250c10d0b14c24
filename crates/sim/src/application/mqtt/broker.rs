//! The process of a broker.

use super::device::{Device, LINGER};
use super::wire::{Framing, Wire};
use super::{Ledger, Mark};
use crate::application::{Application, Report, Serve};
use crate::world::{Port, Remote, SocketId, Sockets};
use haltere_mqtt::broker::Event as News;
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{Bridge, BridgeTopic, Broker, BrokerConfig, ClientConfig, Connection, Message, Streams};
use haltere_net::{Cx, Span, Time};
use haltere_transport::{Event, Role};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Over TCP, the bytes that a broker writes to a connection beyond what was sent. While there are more, messages wait in
/// the queue of the client's session (the default send buffer of Linux, `tcp_wmem`).
const AHEAD: u64 = 16 << 10;

/// A bridge to another broker, with its connection.
#[derive(Debug)]
struct BridgeEnd {
    bridge: Bridge,
    device: Device,
}

/// A broker on a node. It listens on a port for each contender.
#[derive(Debug)]
pub struct BrokerProcess {
    broker: Broker,
    framings: BTreeMap<Port, (Framing, Streams)>,
    /// The ledgers of all flows: a broker may have messages of any over its bridges.
    ledgers: Arc<BTreeMap<u32, Ledger>>,
    by_socket: BTreeMap<SocketId, Connection>,
    wires: BTreeMap<Connection, Wire>,
    bridges: Vec<BridgeEnd>,
    /// Which bridge a socket is of.
    by_bridge: BTreeMap<SocketId, usize>,
    /// Connections that are closed, and when they are forgotten.
    closed: VecDeque<(Time, Wire)>,
}

impl BrokerProcess {
    /// A broker without clients.
    pub fn new(config: BrokerConfig) -> BrokerProcess {
        BrokerProcess {
            broker: Broker::new(config),
            framings: BTreeMap::new(),
            ledgers: Arc::default(),
            by_socket: BTreeMap::new(),
            wires: BTreeMap::new(),
            bridges: Vec::new(),
            by_bridge: BTreeMap::new(),
            closed: VecDeque::new(),
        }
    }

    /// Connections to this port have this framing, and messages to the client these streams.
    pub fn add_port(&mut self, port: Port, framing: &Framing, streams: Streams) {
        self.framings.insert(port, (framing.clone(), streams));
    }

    /// A subscriber's session is there from the beginning.
    pub fn add_session(&mut self, client_id: &str, subscription: Subscription) {
        self.broker.add_session(client_id, &[subscription]);
    }

    /// It connects to another broker at the beginning, and `reconnect` after each loss.
    pub fn add_bridge(
        &mut self,
        config: ClientConfig,
        topics: &[BridgeTopic],
        remote: Remote,
        framing: &Framing,
        reconnect: Span,
    ) {
        let (bridge, client) = Bridge::new(&mut self.broker, config, topics);
        let mut device = Device::new(client, remote, framing.clone(), reconnect);
        device.again = Time::ZERO;
        self.bridges.push(BridgeEnd { bridge, device });
    }

    /// Reports the fates of messages to these ledgers, by the numbers of the flows.
    pub fn with_ledgers(self, ledgers: Arc<BTreeMap<u32, Ledger>>) -> BrokerProcess {
        BrokerProcess { ledgers, ..self }
    }

    /// A message was dropped.
    fn drop_message(&self, message: &Message) {
        if let Some(mark) = Mark::of(&message.payload)
            && let Some(ledger) = self.ledgers.get(&mark.flow)
        {
            ledger.drop(mark);
        }
    }

    /// Carries messages between the broker and its bridges.
    fn bridge(&mut self, sockets: &mut Sockets<'_>, now: Time) {
        for BridgeEnd { bridge, device } in &mut self.bridges {
            while let Some(news) = device.news(now) {
                bridge.on_event(news, &mut device.client, &mut self.broker, now);
            }
        }
        // What came over one may leave by another.
        while let Some((local, message)) = self.broker.poll_local() {
            if let Some(end) = self.bridges.iter_mut().find(|end| end.bridge.local() == local) {
                end.bridge.forward(message, &mut end.device.client, now);
            }
        }
        for k in 0..self.bridges.len() {
            let end = &mut self.bridges[k];
            while let Some(news) = end.device.news(now) {
                // A message that gave way in the client's queue.
                end.bridge.on_event(news, &mut end.device.client, &mut self.broker, now);
            }
            end.device.send(sockets);
            while let Some(message) = self.bridges[k].bridge.poll_dropped() {
                self.drop_message(&message);
            }
        }
    }

    /// Sends what the broker has to say.
    fn go_on(&mut self, sockets: &mut Sockets<'_>, now: Time) {
        if !self.bridges.is_empty() {
            self.bridge(sockets, now);
        }
        while let Some((connection, output)) = self.broker.poll_output() {
            let Some(wire) = self.wires.get_mut(&connection) else { continue };
            wire.send(output, sockets);
            if wire.unsent(sockets) > AHEAD {
                let (stream, socket) = (haltere_transport::StreamId(0), wire.socket);
                self.broker.on_full(connection);
                if let Some(transport) = sockets.get(socket) {
                    transport.wait_writable(stream, AHEAD);
                }
            }
        }
        while let Some(news) = self.broker.poll_event() {
            if let News::Dropped { message, .. } = news {
                self.drop_message(&message);
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
        if let Some(&k) = self.by_bridge.get(&socket) {
            self.bridges[k].device.on_event(socket, event, sockets, cx);
            return self.go_on(sockets, cx.now);
        }
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
            Event::Writable(_) => self.broker.on_writable(connection),
            Event::Openable => wire.flush(sockets),
            Event::Closed | Event::Failed(_) => self.lose(socket, cx.now),
            Event::Connected | Event::Multipath | Event::Datagram(_) | Event::Media(_) => {}
        }
        self.go_on(sockets, cx.now);
    }

    fn alarm(&self) -> Time {
        let forget = self.closed.front().map_or(Time::NEVER, |(at, _)| *at);
        let bridges = self.bridges.iter().map(|end| end.device.alarm()).min().unwrap_or(Time::NEVER);
        self.broker.next_wake().min(forget).min(bridges)
    }

    fn on_alarm(&mut self, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>) {
        while self.closed.front().is_some_and(|(at, _)| *at <= cx.now) {
            if let Some((_, wire)) = self.closed.pop_front() {
                wire.release(sockets);
            }
        }
        let now = cx.now;
        for (k, end) in self.bridges.iter_mut().enumerate().filter(|(_, end)| end.device.alarm() <= now) {
            let (opened, forgotten) = end.device.on_alarm(sockets, cx);
            for socket in forgotten {
                self.by_bridge.remove(&socket);
            }
            self.by_bridge.extend(opened.map(|socket| (socket, k)));
        }
        self.broker.on_wake(cx.now);
        self.go_on(sockets, cx.now);
    }

    fn report(&self) -> Report {
        Report::Serve(Serve::default())
    }
}
