//! A bridge: a connection of a broker to another one, on which it is a client (mosquitto's `connection` and `topic`).
//!
//! At its own broker a bridge has a session without a network connection, whose messages go to the other broker, and in whose
//! name messages from there are published. Taking a message from the one and giving it to the other is one step, so that a
//! chain of bridges of QoS 2 delivers exactly once.
//!
//! A message does not go back to where it came from. At the own broker the session has No Local, and at the other one the
//! client asks for it: in MQTT 5 by the option No Local of its subscriptions, in 3.1.1 by the highest bit of the protocol
//! level in CONNECT, by which a bridge says what it is (mosquitto's `try_private`). Neither ends a loop of three brokers.

use crate::broker::{Broker, LocalId};
use crate::client::{Client, ClientConfig, Event};
use crate::delivery::Item;
use crate::packet::{Message, Properties, QoS, Subscription, Version};
use haltere_net::Time;
use std::collections::VecDeque;
use std::sync::Arc;

/// Which way messages cross a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Direction {
    /// From the own broker to the other.
    #[default]
    Out,
    /// From the other broker to the own.
    In,
    /// Both ways.
    Both,
}

/// A topic filter whose messages cross a bridge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BridgeTopic {
    /// The topic filter.
    pub filter: Arc<str>,
    /// The direction in which messages cross.
    pub direction: Direction,
    /// The highest QoS on the bridge.
    pub qos: QoS,
}

impl BridgeTopic {
    fn crosses(&self, way: Direction) -> bool {
        self.direction == Direction::Both || self.direction == way
    }

    /// The subscription to what crosses.
    fn subscription(&self) -> Subscription {
        Subscription { no_local: true, retain_as_published: true, ..Subscription::new(&self.filter, self.qos) }
    }
}

/// One end of a bridge: what joins its broker with the client that is connected to the other.
#[derive(Clone, Debug)]
pub struct Bridge {
    local: LocalId,
    /// Subscriptions at the other broker.
    inbound: Vec<Subscription>,
    /// Whether the other broker has granted them in the present session.
    subscribed: bool,
    /// Whether messages of QoS 0 wait while there is no connection.
    queue_qos0: bool,
    /// The properties of the message that the client reports next.
    properties: Option<Arc<Properties>>,
    dropped: VecDeque<Message>,
}

impl Bridge {
    /// A bridge of `broker`, and its client. The client has the identifier and the settings of `config`, and the broker's
    /// limits on messages that wait and that are in flight.
    pub fn new(broker: &mut Broker, config: ClientConfig, topics: &[BridgeTopic]) -> (Bridge, Client) {
        let across = |way| topics.iter().filter(move |topic| topic.crosses(way)).map(BridgeTopic::subscription);
        let local = broker.add_local(&across(Direction::Out).collect::<Vec<_>>());
        let own = broker.config();
        let client = ClientConfig {
            bridge: config.version == Version::V311,
            window: config.window.min(own.window),
            queue: own.queue,
            ..config
        };
        let bridge = Bridge {
            local,
            inbound: across(Direction::In).collect(),
            subscribed: false,
            queue_qos0: own.queue_qos0,
            properties: None,
            dropped: VecDeque::new(),
        };
        (bridge, Client::new(client))
    }

    /// Its session at the own broker.
    pub fn local(&self) -> LocalId {
        self.local
    }

    /// The own broker has a message for the other one.
    pub fn forward(&mut self, item: Item, client: &mut Client, now: Time) {
        if item.message.qos == QoS::AtMostOnce && !client.is_online() && !self.queue_qos0 {
            self.dropped.push_back(item.message);
            return;
        }
        let properties = item.properties(now).as_deref().cloned().unwrap_or_default();
        // The broker has read its topics before, so that they can be said.
        let _ = client.publish_with(item.message, properties, now);
    }

    /// Something has happened to the client.
    pub fn on_event(&mut self, event: Event, client: &mut Client, broker: &mut Broker, now: Time) {
        match event {
            Event::Connected { session_present } => {
                self.subscribed &= session_present;
                if !self.subscribed && !self.inbound.is_empty() {
                    // There is a connection, and the filters were checked: nothing else is wrong with them.
                    let _ = client.subscribe(&self.inbound, now);
                }
            }
            Event::Subscribed(_) => self.subscribed = true,
            Event::Properties(properties) => self.properties = Some(properties),
            Event::Message(message) => {
                let item = Item { properties: self.properties.take(), ..Item::new(message, now) };
                broker.publish_local(self.local, item);
            }
            Event::Dropped(message) => self.dropped.push_back(message),
            Event::Refused(_) | Event::Delivered(_) | Event::Unsubscribed | Event::Challenge(_) | Event::Closed(_) => {}
        }
    }

    /// The next message that was dropped: the queue was full, or it had QoS 0 and there was no connection.
    pub fn poll_dropped(&mut self) -> Option<Message> {
        self.dropped.pop_front()
    }
}
