//! A broker with peers that say whatever a test wants, packet by packet.

#![allow(dead_code, reason = "not every test uses all of it")]

use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::packet::{Connect, Packet, PacketId, Publish, Step, Subscription};
use haltere_mqtt::{Broker, BrokerConfig, Connection, Forward, Lane, Message, Output, QoS, Streams, Version};
use haltere_net::{Span, Time};
use std::collections::BTreeMap;

pub const CONTROL: Lane = Lane { ours: false, number: 0 };

pub fn id(number: u16) -> PacketId {
    PacketId::new(number).unwrap()
}

pub fn text(topic: &str, payload: &str, qos: QoS) -> Message {
    Message { topic: topic.into(), payload: payload.as_bytes().to_vec().into(), qos, retain: false }
}

pub fn publish(message: Message, number: u16) -> Packet {
    Packet::Publish(Publish { dup: false, id: PacketId::new(number), message, alias: None, properties: None })
}

pub fn connect(version: Version, client_id: &str) -> Connect {
    Connect {
        version,
        client_id: client_id.into(),
        clean: true,
        session_expiry: 0,
        keep_alive: 0,
        receive_maximum: u16::MAX,
        topic_alias_maximum: 0,
        will: None,
        bridge: false,
        will_delay: 0,
        will_properties: None,
        maximum_packet: None,
        authentication: None,
    }
}

/// A client that keeps its session.
pub fn lasting(version: Version, client_id: &str) -> Connect {
    Connect { clean: false, session_expiry: u32::MAX, ..connect(version, client_id) }
}

/// A broker, and what it has said to each connection.
pub struct Bench {
    pub broker: Broker,
    pub version: Version,
    pub now: Time,
    heard: BTreeMap<Connection, (Decoder, Vec<Packet>, bool)>,
}

impl Bench {
    pub fn new(version: Version) -> Bench {
        let forward = Forward::Publish;
        Bench::with(version, BrokerConfig { forward, ..BrokerConfig::default() })
    }

    pub fn with(version: Version, config: BrokerConfig) -> Bench {
        Bench { broker: Broker::new(config), version, now: Time::ZERO, heard: BTreeMap::new() }
    }

    pub fn accept(&mut self) -> Connection {
        let connection = self.broker.accept(Streams::One, self.now);
        self.heard.insert(connection, (Decoder::new(Some(self.version), LARGEST), Vec::new(), false));
        connection
    }

    /// A connection on which a client has said CONNECT and heard CONNACK.
    pub fn join(&mut self, connect: Connect) -> Connection {
        let connection = self.accept();
        self.say(connection, &Packet::Connect(Box::new(connect)));
        let first = self.hear(connection);
        assert!(matches!(&first[..], [Packet::Connack(connack), ..] if connack.code == 0), "{first:?}");
        connection
    }

    pub fn client(&mut self, client_id: &str) -> Connection {
        self.join(connect(self.version, client_id))
    }

    /// A client that has subscribed.
    pub fn subscriber(&mut self, client_id: &str, filter: &str, qos: QoS) -> Connection {
        let connection = self.client(client_id);
        self.subscribe(connection, Subscription::new(filter, qos));
        connection
    }

    pub fn subscribe(&mut self, connection: Connection, subscription: Subscription) -> Vec<Packet> {
        self.say(connection, &Packet::Subscribe(id(77), vec![subscription]));
        let mut heard = self.hear(connection);
        let acknowledged = heard.remove(0);
        assert!(matches!(acknowledged, Packet::Suback(number, _) if number == id(77)), "{acknowledged:?}");
        heard
    }

    pub fn say(&mut self, connection: Connection, packet: &Packet) {
        let mut bytes = Vec::new();
        encode(self.version, packet, &mut bytes).unwrap();
        self.say_bytes(connection, &bytes);
    }

    pub fn say_bytes(&mut self, connection: Connection, bytes: &[u8]) {
        self.broker.on_bytes(connection, CONTROL, bytes, self.now);
        self.collect();
    }

    pub fn ack(&mut self, connection: Connection, step: Step, number: u16) {
        self.say(connection, &Packet::Ack(step, id(number), 0));
    }

    pub fn lose(&mut self, connection: Connection) {
        self.broker.on_lost(connection, self.now);
        self.collect();
    }

    pub fn pass(&mut self, span: Span) {
        self.now += span;
        self.broker.on_wake(self.now);
        self.collect();
    }

    fn collect(&mut self) {
        while let Some((connection, output)) = self.broker.poll_output() {
            let Some((decoder, packets, closed)) = self.heard.get_mut(&connection) else { continue };
            match output {
                Output::Bytes { bytes, .. } => {
                    decoder.push(&bytes);
                    while let Some(packet) = decoder.next_packet().unwrap() {
                        packets.push(packet);
                    }
                }
                Output::Close => *closed = true,
            }
        }
    }

    /// Packets that the broker has sent since the last call.
    pub fn hear(&mut self, connection: Connection) -> Vec<Packet> {
        self.heard.get_mut(&connection).map(|(_, packets, _)| std::mem::take(packets)).unwrap_or_default()
    }

    /// The messages among that, with their packet identifier, as (topic, payload, QoS, dup, retain).
    pub fn messages(&mut self, connection: Connection) -> Vec<(String, String, QoS, bool, bool)> {
        let mut found = Vec::new();
        for packet in self.hear(connection) {
            if let Packet::Publish(p) = packet {
                let payload = String::from_utf8(p.message.payload.to_vec()).unwrap();
                found.push((p.message.topic.to_string(), payload, p.message.qos, p.dup, p.message.retain));
            }
        }
        found
    }

    pub fn payloads(&mut self, connection: Connection) -> Vec<String> {
        self.messages(connection).into_iter().map(|message| message.1).collect()
    }

    pub fn is_closed(&self, connection: Connection) -> bool {
        self.heard.get(&connection).is_some_and(|(_, _, closed)| *closed)
    }
}
