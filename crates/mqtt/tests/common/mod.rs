//! Clients and a broker joined in memory, each stream in order.

#![allow(dead_code, reason = "not every test uses all of it")]

use haltere_mqtt::client::Event;
use haltere_mqtt::{Broker, BrokerConfig, Client, ClientConfig, Connection, Lane, Message, Output, QoS};
use haltere_net::{Span, Time};
use std::collections::VecDeque;

/// The same stream as the other end numbers it.
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

/// A broker and its clients.
pub struct Net {
    pub broker: Broker,
    pub peers: Vec<Peer>,
    pub now: Time,
}

impl Net {
    pub fn new(config: BrokerConfig) -> Net {
        Net { broker: Broker::new(config), peers: Vec::new(), now: Time::ZERO }
    }

    pub fn add(&mut self, config: ClientConfig) -> usize {
        let (up, down, events) = Default::default();
        self.peers.push(Peer { client: Client::new(config), connection: None, up, down, events });
        self.peers.len() - 1
    }

    /// Opens a connection of a client.
    pub fn connect(&mut self, i: usize) {
        self.cut(i);
        self.peers[i].connection = Some(self.broker.accept(self.peers[i].client.config().streams, self.now));
        self.peers[i].client.open(self.now).unwrap();
        self.collect();
    }

    /// A connection is lost with everything that is on its way.
    pub fn cut(&mut self, i: usize) {
        let peer = &mut self.peers[i];
        if let Some(connection) = peer.connection.take() {
            peer.client.lost();
            self.broker.on_lost(connection, self.now);
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
            while let Some(output) = peer.client.poll_output() {
                if peer.connection.is_some() {
                    peer.up.push_back(output);
                }
            }
            while let Some(event) = peer.client.poll_event() {
                peer.events.push(event);
            }
        }
        while let Some((connection, output)) = self.broker.poll_output() {
            if let Some(peer) = self.peers.iter_mut().find(|p| p.connection == Some(connection)) {
                peer.down.push_back(output);
            }
        }
    }

    /// Delivers the next output to the broker. Returns whether there was one.
    pub fn step_up(&mut self, i: usize) -> bool {
        let Some(output) = self.peers[i].up.pop_front() else { return false };
        let Some(connection) = self.peers[i].connection else { return false };
        match output {
            Output::Bytes { lane, bytes, finish } => {
                self.broker.on_bytes(connection, across(lane), &bytes, self.now);
                if finish {
                    self.broker.on_finished(connection, across(lane));
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
            let next = self.broker.next_wake().min(clients);
            if next > end {
                break;
            }
            self.now = next;
            self.broker.on_wake(next);
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
