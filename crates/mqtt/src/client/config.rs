//! How a client behaves, and what it reports.

use crate::channel::Streams;
use crate::delivery::Limit;
use crate::packet::{Authentication, Message, PacketId, Properties, Version, Violation};
use haltere_net::Span;
use std::sync::Arc;

/// Several messages that are sent together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Batch {
    /// They are sent once there are so many,
    pub messages: usize,
    /// or once the first has waited for so long.
    pub delay: Span,
}

/// How a client behaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClientConfig {
    /// The version that it speaks.
    pub version: Version,
    /// Its identifier.
    pub client_id: Arc<str>,
    /// Whether each of its connections begins a new session (Clean Session, Clean Start).
    pub clean: bool,
    /// Seconds for which the broker is to keep the session after a connection (MQTT 5).
    pub session_expiry: u32,
    /// The longest time between two of its packets, s. 0: without limit.
    pub keep_alive: u16,
    /// How many messages of QoS 1 and 2 the broker may send before they are acknowledged (MQTT 5).
    pub receive_maximum: u16,
    /// How many messages of QoS 1 and 2 it has in flight at most, even if the broker takes more.
    pub window: u16,
    /// How many topic aliases the broker may give (MQTT 5).
    pub topic_alias_maximum: u16,
    /// The will: the message that the broker publishes if the connection is lost.
    pub will: Option<Message>,
    /// Which stream carries a message.
    pub streams: Streams,
    /// Whether it sends messages right after CONNECT. Otherwise it waits for CONNACK.
    pub eager: bool,
    /// Whether it sends several messages together.
    pub batch: Option<Batch>,
    /// How many messages may wait.
    pub queue: Limit,
    /// MQTT 3.1.1: whether it says that it is a bridge (mosquitto's `try_private`).
    pub bridge: bool,
    /// Seconds for which the will waits for the client to come back (MQTT 5).
    pub will_delay: u32,
    /// The will's properties (MQTT 5).
    pub will_properties: Option<Arc<Properties>>,
    /// The largest packet that it takes, bytes, if that is limited (MQTT 5). Without MQTT 5 it is at most
    /// [`LARGEST`](crate::codec::LARGEST), too.
    pub maximum_packet: Option<u32>,
    /// How it authenticates, if it does so by further packets (MQTT 5).
    pub authentication: Option<Authentication>,
}

impl ClientConfig {
    /// A client of MQTT 5 that begins new sessions.
    pub fn new(client_id: &str) -> ClientConfig {
        ClientConfig {
            version: Version::V5,
            client_id: client_id.into(),
            clean: true,
            session_expiry: 0,
            keep_alive: 60,
            receive_maximum: u16::MAX,
            window: u16::MAX,
            topic_alias_maximum: 0,
            will: None,
            streams: Streams::One,
            eager: false,
            batch: None,
            queue: Limit::NONE,
            bridge: false,
            will_delay: 0,
            will_properties: None,
            maximum_packet: None,
            authentication: None,
        }
    }
}

/// An event that a client reports to its application.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// The broker has accepted the connection, and had kept the session or not.
    Connected {
        /// Whether it had.
        session_present: bool,
    },
    /// The broker has refused the connection with this code.
    Refused(u8),
    /// The properties of the message that is reported next. A message without any has no such event.
    Properties(Arc<Properties>),
    /// A message has come.
    Message(Message),
    /// The broker asks for a further step of authentication, which [`answer`](super::Client::answer) gives.
    Challenge(bytes::Bytes),
    /// A message of QoS 1 or 2 is delivered to the broker.
    Delivered(PacketId),
    /// The broker's answer to a subscription: a QoS or a code from 0x80 on for each filter.
    Subscribed(Vec<u8>),
    /// The broker's answer to the end of a subscription.
    Unsubscribed,
    /// A message was dropped: the queue was full, the session was lost, it has expired, or the broker does not take it.
    Dropped(Message),
    /// The connection is over: the broker has ended it, or has done something wrong.
    Closed(Violation),
}
