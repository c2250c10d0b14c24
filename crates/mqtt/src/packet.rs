//! Control packets. The types are the same for both versions; fields that a version lacks have their default there.

use bytes::Bytes;
use std::sync::Arc;

/// The versions of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Version {
    /// MQTT 3.1.1.
    V311,
    /// MQTT 5.0.
    #[default]
    V5,
}

/// How surely a message is delivered (section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum QoS {
    /// QoS 0: not acknowledged.
    #[default]
    AtMostOnce = 0,
    /// QoS 1: sent until it is acknowledged.
    AtLeastOnce = 1,
    /// QoS 2: sent until it is acknowledged, and delivered once.
    ExactlyOnce = 2,
}

impl QoS {
    /// The level with this number, if there is one.
    pub const fn of(level: u8) -> Option<QoS> {
        match level {
            0 => Some(QoS::AtMostOnce),
            1 => Some(QoS::AtLeastOnce),
            2 => Some(QoS::ExactlyOnce),
            _ => None,
        }
    }
}

/// An application message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The application's bytes.
    pub payload: Bytes,
    /// How surely it is to be delivered.
    pub qos: QoS,
    /// Of a message that is published: whether the broker keeps it for later subscribers. Of one that is delivered: whether
    /// the broker had kept it.
    pub retain: bool,
}

/// The properties of a message of MQTT 5 beside its topic and payload (section 3.3.2.3).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Properties {
    /// Whether the payload is UTF-8 (Payload Format Indicator).
    pub text: Option<bool>,
    /// Seconds after which it is not delivered any more.
    pub expiry: Option<u32>,
    /// The MIME type or another description of the payload.
    pub content_type: Option<Arc<str>>,
    /// Where the answer is to be published.
    pub response_topic: Option<Arc<str>>,
    /// Correlation data: bytes by which the requester recognises the answer to its request.
    pub correlation: Option<Bytes>,
    /// Names and values of the application, in their order.
    pub user: Vec<(Arc<str>, Arc<str>)>,
    /// Of a message that is delivered: the identifier of the subscription by which it came.
    pub subscription: Option<u32>,
}

impl Properties {
    /// These properties, or `None` if there are none.
    pub(crate) fn some(self) -> Option<Arc<Properties>> {
        (self != Properties::default()).then(|| Arc::new(self))
    }
}

/// A step of enhanced authentication (section 4.12).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authentication {
    /// The method, the same in all steps.
    pub method: Arc<str>,
    /// The method's data.
    pub data: Bytes,
}

/// A packet identifier, which is not 0 `[MQTT-2.2.1-3]`.
pub type PacketId = std::num::NonZeroU16;

/// The CONNECT packet: a client's parameters when it connects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connect {
    /// The version that it speaks.
    pub version: Version,
    /// Its identifier. The broker gives it one if this is empty.
    pub client_id: Arc<str>,
    /// Whether earlier state of its session is forgotten (Clean Session, Clean Start).
    pub clean: bool,
    /// Seconds for which the broker keeps the session after the connection; in MQTT 3.1.1 0 with Clean Session, and no end
    /// without it.
    pub session_expiry: u32,
    /// The longest time between two of its packets, s. 0: without limit.
    pub keep_alive: u16,
    /// How many messages of QoS 1 and 2 it takes at a time before it acknowledges them.
    pub receive_maximum: u16,
    /// How many topic aliases it takes.
    pub topic_alias_maximum: u16,
    /// The will: the message that the broker publishes if the connection is lost.
    pub will: Option<Message>,
    /// MQTT 3.1.1: whether the client is a bridge, which gets no message back that it has published, and gets the RETAIN flag
    /// of the others as they were published. It says so by the highest bit of the protocol level, as mosquitto does.
    pub bridge: bool,
    /// Seconds for which the will waits for the client to come back (MQTT 5).
    pub will_delay: u32,
    /// The will's properties (MQTT 5).
    pub will_properties: Option<Arc<Properties>>,
    /// The largest packet that it takes, bytes, if that is limited (MQTT 5).
    pub maximum_packet: Option<u32>,
    /// How it authenticates, if it does so by further packets (MQTT 5).
    pub authentication: Option<Authentication>,
}

/// The broker's answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connack {
    /// Whether the broker had kept a session.
    pub session_present: bool,
    /// 0, or why it refuses. The numbers are those of the version.
    pub code: u8,
    /// How many messages of QoS 1 and 2 it takes at a time.
    pub receive_maximum: u16,
    /// How many topic aliases it takes.
    pub topic_alias_maximum: u16,
    /// The identifier that it gave to a client without one.
    pub assigned_client_id: Option<Arc<str>>,
    /// The keep-alive time that the client is to use instead of its own, s.
    pub keep_alive: Option<u16>,
    /// The largest packet that it takes, bytes, if that is limited.
    pub maximum_packet: Option<u32>,
    /// The highest QoS that it has.
    pub maximum_qos: QoS,
    /// Whether it retains messages.
    pub retains: bool,
    /// The last step of enhanced authentication.
    pub authentication: Option<Authentication>,
}

impl Connack {
    /// A CONNACK with this code that limits nothing.
    pub const fn new(code: u8) -> Connack {
        Connack {
            session_present: false,
            code,
            receive_maximum: u16::MAX,
            topic_alias_maximum: 0,
            assigned_client_id: None,
            keep_alive: None,
            maximum_packet: None,
            maximum_qos: QoS::ExactlyOnce,
            retains: true,
            authentication: None,
        }
    }
}

/// A message on its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Publish {
    /// Whether it may have been sent before.
    pub dup: bool,
    /// Its number, if its QoS is 1 or 2.
    pub id: Option<PacketId>,
    /// The message. Its topic is empty if the alias alone names it.
    pub message: Message,
    /// The topic alias, in MQTT 5.
    pub alias: Option<u16>,
    /// Its properties beside topic and payload, in MQTT 5.
    pub properties: Option<Arc<Properties>>,
}

/// The steps of the exchanges that acknowledge a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// PUBACK: the answer to a message of QoS 1.
    Puback,
    /// PUBREC: the answer to a message of QoS 2.
    Pubrec,
    /// PUBREL: the answer to PUBREC.
    Pubrel,
    /// PUBCOMP: the answer to PUBREL.
    Pubcomp,
}

/// A topic filter, and how the client wants the messages that match it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscription {
    /// The topic filter.
    pub filter: Arc<str>,
    /// The highest QoS with which messages are to come.
    pub qos: QoS,
    /// Whether the client's own messages are left out (MQTT 5).
    pub no_local: bool,
    /// Whether messages keep their RETAIN flag (MQTT 5).
    pub retain_as_published: bool,
    /// Whether retained messages are sent (MQTT 5: 0 always, 1 for a new subscription, 2 never).
    pub retain_handling: u8,
    /// The identifier that comes with its messages (MQTT 5). It is not 0, and the same for all filters of a packet.
    pub identifier: Option<u32>,
}

impl Subscription {
    /// A subscription with the options that MQTT 3.1.1 has.
    pub fn new(filter: &str, qos: QoS) -> Subscription {
        Subscription {
            filter: filter.into(),
            qos,
            no_local: false,
            retain_as_published: false,
            retain_handling: 0,
            identifier: None,
        }
    }
}

/// A control packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet {
    /// CONNECT.
    Connect(Box<Connect>),
    /// CONNACK.
    Connack(Connack),
    /// PUBLISH.
    Publish(Publish),
    /// PUBACK, PUBREC, PUBREL or PUBCOMP with a reason code, which MQTT 3.1.1 has not.
    Ack(Step, PacketId, u8),
    /// SUBSCRIBE.
    Subscribe(PacketId, Vec<Subscription>),
    /// SUBACK: the QoS granted for each filter, or a code from 0x80 on.
    Suback(PacketId, Vec<u8>),
    /// UNSUBSCRIBE.
    Unsubscribe(PacketId, Vec<Arc<str>>),
    /// UNSUBACK: a code for each filter, which MQTT 3.1.1 has not.
    Unsuback(PacketId, Vec<u8>),
    /// PINGREQ.
    Pingreq,
    /// PINGRESP.
    Pingresp,
    /// DISCONNECT with a reason code, which MQTT 3.1.1 has not.
    Disconnect(u8),
    /// DISCONNECT of a client with a reason code and another session expiry, s (MQTT 5).
    DisconnectFor(u8, u32),
    /// AUTH with a reason code (MQTT 5).
    Auth(u8, Box<Authentication>),
}

/// Reason codes of MQTT 5 (section 2.4) that this implementation sends.
pub mod reason {
    /// Success; normal disconnection.
    pub const SUCCESS: u8 = 0x00;
    /// The other end is to send a further step of authentication.
    pub const CONTINUE_AUTHENTICATION: u8 = 0x18;
    /// The client authenticates again.
    pub const RE_AUTHENTICATE: u8 = 0x19;
    /// The client asks for its will to be published.
    pub const DISCONNECT_WITH_WILL: u8 = 0x04;
    /// There was no such subscription.
    pub const NO_SUBSCRIPTION_EXISTED: u8 = 0x11;
    /// The packet cannot be parsed.
    pub const MALFORMED_PACKET: u8 = 0x81;
    /// The packet is not allowed here.
    pub const PROTOCOL_ERROR: u8 = 0x82;
    /// The version is not spoken.
    pub const UNSUPPORTED_VERSION: u8 = 0x84;
    /// The client identifier is not allowed.
    pub const CLIENT_ID_NOT_VALID: u8 = 0x85;
    /// The authentication method is not known.
    pub const BAD_AUTHENTICATION_METHOD: u8 = 0x8C;
    /// Nothing was heard for one and a half times the keep-alive time.
    pub const KEEP_ALIVE_TIMEOUT: u8 = 0x8D;
    /// Another connection uses the client identifier.
    pub const SESSION_TAKEN_OVER: u8 = 0x8E;
    /// The topic filter is not allowed.
    pub const TOPIC_FILTER_INVALID: u8 = 0x8F;
    /// The topic name is not allowed.
    pub const TOPIC_NAME_INVALID: u8 = 0x90;
    /// No message with this packet identifier is known.
    pub const PACKET_ID_NOT_FOUND: u8 = 0x92;
    /// More messages came than Receive Maximum allows.
    pub const RECEIVE_MAXIMUM_EXCEEDED: u8 = 0x93;
    /// The topic alias is 0 or above the maximum.
    pub const TOPIC_ALIAS_INVALID: u8 = 0x94;
    /// The packet is larger than is taken.
    pub const PACKET_TOO_LARGE: u8 = 0x95;
}

/// A peer's breach of the protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The reason code of MQTT 5 for it.
    pub reason: u8,
    /// A description of the breach.
    pub what: String,
}

impl Violation {
    /// A violation with this reason code.
    pub fn new(reason: u8, what: impl Into<String>) -> Violation {
        Violation { reason, what: what.into() }
    }

    /// A packet that is not allowed here.
    pub fn protocol(what: impl Into<String>) -> Violation {
        Violation::new(reason::PROTOCOL_ERROR, what)
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (reason code {:#04x})", self.what, self.reason)
    }
}

impl std::error::Error for Violation {}
