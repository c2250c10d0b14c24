//! A client of which a test plays the broker.

use haltere_mqtt::client::Event;
use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::packet::{Connack, Packet, PacketId, Publish};
use haltere_mqtt::{Client, ClientConfig, Lane, Message, Output, QoS, Version};
use haltere_net::{Span, Time};

pub const CONTROL: Lane = Lane { ours: true, number: 0 };

pub fn id(number: u16) -> PacketId {
    PacketId::new(number).unwrap()
}

pub fn message(topic: &str, qos: QoS) -> Message {
    Message { topic: topic.into(), payload: b"x".to_vec().into(), qos, retain: false }
}

/// A client, and a broker that says whatever a test wants.
pub struct Bench {
    pub client: Client,
    pub version: Version,
    pub now: Time,
    pub closed: bool,
}

impl Bench {
    /// A client that has sent CONNECT.
    pub fn opened(version: Version, change: impl Fn(&mut ClientConfig)) -> Bench {
        let mut config = ClientConfig { version, ..ClientConfig::new("c") };
        change(&mut config);
        let mut bench = Bench { client: Client::new(config), version, now: Time::ZERO, closed: false };
        bench.client.open(bench.now).unwrap();
        bench
    }

    /// A client that is connected.
    pub fn online(version: Version, change: impl Fn(&mut ClientConfig)) -> Bench {
        let mut bench = Bench::opened(version, change);
        bench.accept(|_| {});
        bench.heard();
        bench.events();
        bench
    }

    pub fn accept(&mut self, change: impl Fn(&mut Connack)) {
        let mut connack = Connack::new(0);
        change(&mut connack);
        self.say(&Packet::Connack(connack));
    }

    pub fn say(&mut self, packet: &Packet) {
        let mut bytes = Vec::new();
        encode(self.version, packet, &mut bytes).unwrap();
        self.client.on_bytes(CONTROL, &bytes, self.now);
    }

    pub fn give(&mut self, number: u16, qos: QoS) {
        let publish = Publish {
            dup: false,
            id: PacketId::new(number),
            message: message("t", qos),
            alias: None,
            properties: None,
        };
        self.say(&Packet::Publish(publish));
    }

    /// Packets that the client has sent.
    pub fn heard(&mut self) -> Vec<Packet> {
        let mut decoder = Decoder::new(Some(self.version), LARGEST);
        let mut packets = Vec::new();
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Bytes { bytes, .. } => decoder.push(&bytes),
                Output::Close => self.closed = true,
            }
        }
        while let Some(packet) = decoder.next_packet().unwrap() {
            packets.push(packet);
        }
        packets
    }

    pub fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.client.poll_event()).collect()
    }

    pub fn messages(&mut self) -> usize {
        self.events().into_iter().filter(|event| matches!(event, Event::Message(_))).count()
    }

    pub fn publish(&mut self, qos: QoS) {
        self.client.publish(message("t", qos), self.now).unwrap();
    }

    pub fn pass(&mut self, span: Span) {
        self.now += span;
        if self.client.next_wake() <= self.now {
            self.client.on_wake(self.now);
        }
    }
}
