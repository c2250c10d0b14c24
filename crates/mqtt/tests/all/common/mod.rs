//! Clients and brokers joined in memory, each stream in order.

#![allow(dead_code, reason = "not every test uses all of it")]

use haltere_mqtt::client::Event;
use haltere_mqtt::{
    Bridge, BridgeTopic, Broker, BrokerConfig, Client, ClientConfig, Connection, Lane, Message, Output, QoS,
};
use haltere_net::{Span, Time};
use std::collections::VecDeque;

/// The name that the other end has for a stream.
pub fn across(lane: Lane) -> Lane {
    Lane { ours: !lane.ours, ..lane }
}

pub fn message(topic: &str, number: u32, qos: QoS) -> Message {
    Message { topic: topic.into(), payload: number.to_be_bytes().to_vec().into(), qos, retain: false }
}

pub fn number(message: &Message) -> u32 {
    message.payload.as_ref().try_into().map_or(u32::MAX, u32::from_be_bytes)
}

/// A client, its connection, and the bytes on their way each way.
pub struct Peer {
    pub client: Client,
    /// The broker that it is connected to.
    pub at: usize,
    /// If it is a broker's end of a bridge: that, and the broker's number.
    pub bridge: Option<(Bridge, usize)>,
    pub connection: Option<Connection>,
    pub up: VecDeque<Output>,
    pub down: VecDeque<Output>,
    pub events: Vec<Event>,
}

impl Peer {
    pub fn messages(&self) -> Vec<&Message> {
        let mut messages = Vec::new();
        for event in &self.events {
            if let Event::Message(message) = event {
                messages.push(message);
            }
        }
        messages
    }

    pub fn numbers(&self) -> Vec<u32> {
        self.messages().into_iter().map(number).collect()
    }
}

/// Brokers and their clients.
pub struct Net {
    pub brokers: Vec<Broker>,
    pub peers: Vec<Peer>,
    pub now: Time,
}

impl Net {
    pub fn new(config: BrokerConfig) -> Net {
        Net { brokers: vec![Broker::new(config)], peers: Vec::new(), now: Time::ZERO }
    }

    pub fn add(&mut self, config: ClientConfig) -> usize {
        self.add_peer(Client::new(config), 0, None)
    }

    fn add_peer(&mut self, client: Client, at: usize, bridge: Option<(Bridge, usize)>) -> usize {
        let (up, down, events) = Default::default();
        self.peers.push(Peer { client, at, bridge, connection: None, up, down, events });
        self.peers.len() - 1
    }

    /// A bridge of broker `home` to broker `at`.
    pub fn bridge(&mut self, home: usize, at: usize, config: ClientConfig, topics: &[BridgeTopic]) -> usize {
        let (bridge, client) = Bridge::new(&mut self.brokers[home], config, topics);
        self.add_peer(client, at, Some((bridge, home)))
    }

    /// A broker starts again and has its state from disk: the connections with it are lost.
    pub fn restart(&mut self, broker: usize) {
        self.brokers[broker].restart(self.now);
        for i in 0..self.peers.len() {
            if self.peers[i].at == broker {
                self.peers[i].connection = None;
                self.peers[i].client.lost();
                self.cut(i);
            } else if self.peers[i].bridge.as_ref().is_some_and(|(_, home)| *home == broker) {
                self.cut(i);
            }
        }
    }

    /// Opens a connection of a client.
    pub fn connect(&mut self, i: usize) {
        self.cut(i);
        let streams = self.peers[i].client.config().streams;
        let at = self.peers[i].at;
        self.peers[i].connection = Some(self.brokers[at].accept(streams, self.now));
        self.peers[i].client.open(self.now).unwrap();
        self.collect();
    }

    /// A connection is lost with everything that is on its way.
    pub fn cut(&mut self, i: usize) {
        let peer = &mut self.peers[i];
        if let Some(connection) = peer.connection.take() {
            peer.client.lost();
            self.brokers[peer.at].on_lost(connection, self.now);
        }
        let peer = &mut self.peers[i];
        while peer.client.poll_output().is_some() {}
        peer.up.clear();
        peer.down.clear();
        self.collect();
    }

    /// Takes what all have to say.
    pub fn collect(&mut self) {
        for peer in &mut self.peers {
            while let Some(event) = peer.client.poll_event() {
                match &mut peer.bridge {
                    Some((bridge, home)) => {
                        bridge.on_event(event, &mut peer.client, &mut self.brokers[*home], self.now);
                    }
                    None => peer.events.push(event),
                }
            }
        }
        for home in 0..self.brokers.len() {
            while let Some((local, message)) = self.brokers[home].poll_local() {
                for peer in &mut self.peers {
                    if let Some((bridge, _)) = peer.bridge.as_mut().filter(|(b, h)| *h == home && b.local() == local) {
                        bridge.forward(message.clone(), &mut peer.client, self.now);
                    }
                }
            }
        }
        for peer in &mut self.peers {
            while let Some(output) = peer.client.poll_output() {
                if peer.connection.is_some() {
                    peer.up.push_back(output);
                }
            }
        }
        for (at, broker) in self.brokers.iter_mut().enumerate() {
            while let Some((connection, output)) = broker.poll_output() {
                let mut there = self.peers.iter_mut().filter(|peer| peer.at == at);
                if let Some(peer) = there.find(|peer| peer.connection == Some(connection)) {
                    peer.down.push_back(output);
                }
            }
        }
    }

    /// Delivers the next output to the broker. Returns whether there was one.
    pub fn step_up(&mut self, i: usize) -> bool {
        let Some(output) = self.peers[i].up.pop_front() else { return false };
        let Some(connection) = self.peers[i].connection else { return false };
        let broker = &mut self.brokers[self.peers[i].at];
        match output {
            Output::Bytes { lane, bytes, finish } => {
                broker.on_bytes(connection, across(lane), &bytes, self.now);
                if finish {
                    broker.on_finished(connection, across(lane));
                }
            }
            Output::Close => self.cut(i),
        }
        self.collect();
        true
    }

    /// Delivers the next output to a client.
    pub fn step_down(&mut self, i: usize) -> bool {
        let Some(output) = self.peers[i].down.pop_front() else { return false };
        match output {
            Output::Bytes { lane, bytes, finish } => {
                self.peers[i].client.on_bytes(across(lane), &bytes, self.now);
                if finish {
                    self.peers[i].client.on_finished(across(lane));
                }
            }
            Output::Close => self.cut(i),
        }
        self.collect();
        true
    }

    /// Delivers everything.
    pub fn settle(&mut self) {
        self.collect();
        while (0..self.peers.len()).any(|i| self.step_up(i) || self.step_down(i)) {}
    }

    /// Lets time pass: timers fire, and everything is delivered.
    pub fn pass(&mut self, span: Span) {
        let end = self.now + span;
        loop {
            let clients = self.peers.iter().map(|p| p.client.next_wake()).min().unwrap_or(Time::NEVER);
            let next = self.brokers.iter().map(Broker::next_wake).fold(clients, Time::min);
            if next > end {
                break;
            }
            self.now = next;
            self.brokers.iter_mut().for_each(|broker| broker.on_wake(next));
            for peer in &mut self.peers {
                if peer.client.next_wake() <= next {
                    peer.client.on_wake(next);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    pub fn publish(&mut self, i: usize, message: Message) {
        self.peers[i].client.publish(message, self.now).unwrap();
        self.collect();
    }
}
