//! MQTT in scenarios: publishers, a broker, and a subscriber.

mod broker;
mod limits;

pub use broker::{Bridge, Broker};
pub(super) use broker::{BrokerSpec, check_brokers, check_used, delivered_qos};
use limits::OnQuic;
pub(super) use limits::Totals;

use super::flow::OF_TLS;
use super::quantity::Quantity;
use super::{Frame, OfKind, ScenarioError, error};
use crate::application::{Arrivals, MARK, PUBLISHER_LEVELS, PublisherPlan, Traffic};
use crate::contender::Contender;
use haltere_mqtt::client::Batch;
use haltere_mqtt::{ClientConfig, QoS, Streams, Version};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// When publishers connect if the flow does not say.
pub const PUBLISHERS_START: Span = Span::from_secs(5);
/// The largest payload, bytes: packets of up to 1 MiB are taken.
const LARGEST: u64 = 1_000_000;
/// The keep-alive time of clients, s: that of common client libraries (Eclipse Paho). Over QUIC it is shorter than the idle
/// timeout of 30 s, which would end the connection.
const KEEP_ALIVE: u16 = 60;
const QUIC_KEEP_ALIVE: u16 = 20;

/// The messages of a flow with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Mqtt {
    /// The subscriber's node.
    pub subscriber: String,
    /// The node of the subscriber's broker.
    pub subscriber_broker: String,
    /// The contender of the subscriber's connection.
    pub delivery: Contender,
    /// Whether there is TLS over TCP.
    pub tls: bool,
    /// Which stream carries a message where the transport has more than one.
    pub streams: Streams,
    /// The work of the publishers.
    pub publishers: PublisherPlan,
    /// How the subscriber behaves.
    pub receives: ClientConfig,
    /// How long missing messages are waited for.
    pub wait: Span,
    /// The QoS with which messages are delivered: the lowest on their way.
    pub delivered_qos: QoS,
}

/// Messages from publishers to a subscriber, through a broker. Each publisher has a connection of its own. All have the
/// flow's contender.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Mqtt")]
pub(super) struct MqttSpec {
    /// The subscriber's node.
    subscriber: String,
    /// The node of the subscriber's broker, if it is another than the publishers'. Bridges lead there.
    subscriber_broker: Option<String>,
    /// The contender of the subscriber's connection (default: the flow's).
    #[schemars(with = "Option<String>")]
    delivery: Option<Contender>,
    /// The version of MQTT (default 5).
    #[serde(default)]
    version: MqttVersion,
    /// The quality of service with which messages are published and subscribed to: 0, 1 or 2 (default 0).
    #[serde(default)]
    qos: u8,
    /// How many publishers there are (default 1).
    publishers: Option<u32>,
    /// The largest random delay of each publisher's start, uniformly drawn in each replication (default 0s).
    spread: Option<Quantity<Span>>,
    /// How many topics each publisher publishes to, in turn (default 1).
    topics: Option<u32>,
    /// Payload of a message (default 500B).
    payload: Option<Quantity<Bytes>>,
    /// How many messages each publisher has. Without it they publish until the run ends.
    messages: Option<u64>,
    /// The time from one message to the next, or its mean (default 1s).
    interval: Option<Quantity<Span>>,
    /// When messages come (default constant).
    #[serde(default)]
    arrivals: Arrival,
    /// Bursts: messages of a burst (default 10).
    burst: Option<u32>,
    /// On-off: the mean length of a period with messages.
    on: Option<Quantity<Span>>,
    /// On-off: the mean length of a period without messages.
    off: Option<Quantity<Span>>,
    /// Trace: the times after the first connection at which messages come, ascending, and their payloads.
    trace: Option<Vec<(Quantity<Span>, Quantity<Bytes>)>>,
    /// Whether there is TLS over TCP, as the contender's switches say (default true).
    tls: Option<bool>,
    /// Over QUIC: which stream carries a message (default one).
    #[serde(default)]
    streams: MqttStreams,
    /// Whether publishers send messages right after CONNECT. Otherwise they wait for CONNACK (default false).
    #[serde(default)]
    eager: bool,
    /// Whether each publisher closes its connection when nothing is left to say, and opens it again for the next message
    /// (default false).
    #[serde(default)]
    sleep: bool,
    /// How long after a loss of its connection a publisher connects again (default 1s).
    reconnect: Option<Quantity<Span>>,
    /// Whether publishers' sessions outlive their connections (default persistent).
    #[serde(default)]
    session: Session,
    /// The longest time between two packets of a client, whole seconds (default 60s, over QUIC 20s; 0s: without
    /// limit).
    keep_alive: Option<Quantity<Span>>,
    /// MQTT 5: how many messages of QoS 1 and 2 the subscriber takes before it acknowledges them (default 65535).
    receive_maximum: Option<u16>,
    /// How many messages of QoS 1 and 2 a publisher has in flight at most (default 65535; in MQTT 5 the broker's Receive
    /// Maximum holds, too).
    window: Option<u16>,
    /// MQTT 5: how many topic aliases the subscriber takes (default 0).
    topic_alias_maximum: Option<u16>,
    /// Whether publishers send several messages together (default no).
    batch: Option<Batching>,
    /// After the last message was published or delivered: how long missing ones are waited for (default 60s).
    wait: Option<Quantity<Span>>,
}

/// The versions of MQTT.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
enum MqttVersion {
    /// MQTT 3.1.1.
    #[serde(rename = "3.1.1")]
    V311,
    /// MQTT 5.0.
    #[default]
    #[serde(rename = "5")]
    V5,
}

/// When messages come.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Arrival {
    /// One after each interval.
    #[default]
    Constant,
    /// After exponentially distributed intervals.
    Poisson,
    /// Several at once after each interval.
    Bursts,
    /// One after each interval in some periods, and none between them. The periods are exponentially distributed.
    OnOff,
    /// At given times.
    Trace,
}

/// Which stream carries a message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum MqttStreams {
    /// One stream for all.
    #[default]
    One,
    /// One for each topic.
    Topic,
    /// One for each publisher. The publishers share a connection.
    Publisher,
    /// One for each message.
    Message,
}

/// Whether sessions outlive connections.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Session {
    /// Each connection begins a new session.
    Clean,
    /// The session goes on with the next connection.
    #[default]
    Persistent,
}

/// Several messages that are sent together.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Batching {
    /// They are sent once there are so many,
    messages: u32,
    /// or once the first has waited for so long.
    delay: Quantity<Span>,
}

fn at_least_one(fields: impl IntoIterator<Item = (&'static str, bool)>, path: &str) -> Result<(), ScenarioError> {
    match fields.into_iter().find(|(_, zero)| *zero) {
        Some((field, _)) => Err(error(format!("{path}.{field}"), "0: give at least 1, or leave it out")),
        None => Ok(()),
    }
}

/// How a client behaves, of a flow or a bridge.
fn client(
    (version, session, keep_alive): (MqttVersion, Session, Option<Quantity<Span>>),
    contender: &Contender,
    path: &str,
) -> Result<ClientConfig, ScenarioError> {
    let default = if contender.transport.is_quic() { QUIC_KEEP_ALIVE } else { KEEP_ALIVE };
    let keep_alive = match keep_alive.map(|q| q.0) {
        None => default,
        Some(time) if time.as_nanos() % 1_000_000_000 == 0 && time <= Span::from_secs(u64::from(u16::MAX)) => {
            (time.as_millis() / 1000) as u16
        }
        Some(time) => {
            let message = format!("{time}: give whole seconds, from 0s to 65535s");
            return Err(error(format!("{path}.keep_alive"), message));
        }
    };
    Ok(ClientConfig {
        version: if version == MqttVersion::V311 { Version::V311 } else { Version::V5 },
        keep_alive,
        clean: session == Session::Clean,
        session_expiry: if session == Session::Clean { 0 } else { u32::MAX },
        ..ClientConfig::new("")
    })
}

/// Whether there is TLS over TCP. Where there is none, none of its switches is.
fn tls(given: Option<bool>, contenders: &[&Contender], path: &str) -> Result<bool, ScenarioError> {
    let of_tcp = contenders.iter().filter(|contender| !contender.transport.is_quic());
    let switch = of_tcp.flat_map(|contender| &contender.switches).find(|switch| OF_TLS.contains(switch));
    let message = match (given, switch) {
        (Some(false), Some(switch)) => {
            format!("without TLS there is no {}: leave one of them out", switch.describe().name)
        }
        (Some(_), _) if contenders.iter().all(|contender| contender.transport.is_quic()) => {
            "QUIC always has TLS: leave it out".into()
        }
        _ => return Ok(given != Some(false)),
    };
    Err(error(format!("{path}.tls"), message))
}

/// A time of at least 1 us.
fn time(given: Option<Quantity<Span>>, default: Span, path: &str) -> Result<Span, ScenarioError> {
    match given.map_or(default, |q| q.0) {
        time if time < Span::from_micros(1) => Err(error(path, format!("{time} is too short: give at least 1us"))),
        time => Ok(time),
    }
}

/// A number of QoS.
fn qos(level: u8, path: &str) -> Result<QoS, ScenarioError> {
    QoS::of(level).ok_or_else(|| error(path, format!("{level}: give 0, 1 or 2")))
}

impl Mqtt {
    /// The number of publishers.
    pub const fn publishers(&self) -> u32 {
        self.publishers.publishers
    }

    /// The number of messages of all publishers, if it is limited.
    pub fn messages(&self) -> Option<u64> {
        let traffic = &self.publishers.traffic;
        let each = match &traffic.arrivals {
            Arrivals::Trace(trace) => trace.len() as u64,
            _ => traffic.messages?,
        };
        Some(each.saturating_mul(u64::from(self.publishers())))
    }

    /// Payload of all messages, bytes, if it is limited.
    pub(super) fn total(&self) -> Option<u64> {
        let traffic = &self.publishers.traffic;
        match &traffic.arrivals {
            Arrivals::Trace(trace) => {
                let each: u64 = trace.iter().map(|(_, size)| size).sum();
                Some(each * u64::from(self.publishers()))
            }
            _ => Some(self.messages()?.saturating_mul(traffic.size)),
        }
    }
}

impl MqttSpec {
    /// The messages that are meant, of the flow at `of_flow` with this contender and server.
    pub(super) fn mqtt(
        self,
        of_flow: &str,
        contender: &Contender,
        server: &str,
        frame: &Frame<'_>,
    ) -> Result<Mqtt, ScenarioError> {
        let path = &format!("{of_flow}.mqtt");
        let at = |field: &str| format!("{path}.{field}");
        let subscriber_broker = self.broker(path, server, frame)?;
        let zero = [
            ("messages", self.messages == Some(0)),
            ("publishers", self.publishers == Some(0)),
            ("topics", self.topics == Some(0)),
            ("burst", self.burst == Some(0)),
            ("window", self.window == Some(0)),
            ("receive_maximum", self.receive_maximum == Some(0)),
            ("batch.messages", self.batch.is_some_and(|batch| batch.messages == 0)),
        ];
        at_least_one(zero, path)?;
        let delivery = self.delivery.clone().unwrap_or_else(|| contender.clone());
        if delivery.transport.is_media() {
            return Err(error(
                format!("{path}.delivery"),
                "rtp and roq carry calls alone: give a tcp or quic contender",
            ));
        }
        let [quic, quic_delivery] = [contender, &delivery].map(|contender| contender.transport.is_quic());
        let (qos, traffic) = (qos(self.qos, &at("qos"))?, self.traffic(path)?);
        if self.streams != MqttStreams::One && !quic && !quic_delivery {
            let message = "TCP has one stream: give streams = \"one\", or a quic contender";
            return Err(error(at("streams"), message));
        }
        let streams = match self.streams {
            MqttStreams::One => Streams::One,
            MqttStreams::Topic => Streams::Topic,
            MqttStreams::Publisher => Streams::Levels(PUBLISHER_LEVELS),
            MqttStreams::Message => Streams::Message,
        };
        let window = self.window.unwrap_or(u16::MAX);
        let of_client = (self.version, self.session, self.keep_alive);
        let mqtt = Mqtt {
            tls: tls(self.tls, &[contender, &delivery], path)?,
            streams,
            publishers: PublisherPlan {
                flow: 0,
                publishers: self.publishers.unwrap_or(1),
                spread: self.spread.map_or(Span::ZERO, |q| q.0),
                traffic,
                shared: self.streams == MqttStreams::Publisher,
                topics: self.topics.unwrap_or(1),
                qos,
                sleep: self.sleep,
                reconnect: time(self.reconnect, Span::from_secs(1), &at("reconnect"))?,
                client: ClientConfig {
                    eager: self.eager,
                    streams: if quic { streams } else { Streams::One },
                    batch: self.batch.map(|b| Batch { messages: b.messages as usize, delay: b.delay.0 }),
                    window,
                    ..client(of_client, contender, path)?
                },
            },
            receives: ClientConfig {
                clean: false,
                session_expiry: u32::MAX,
                receive_maximum: self.receive_maximum.unwrap_or(u16::MAX),
                topic_alias_maximum: self.topic_alias_maximum.unwrap_or(0),
                window,
                ..client(of_client, &delivery, path)?
            },
            wait: self.wait.map_or(Span::from_secs(60), |q| q.0),
            delivered_qos: qos,
            subscriber: self.subscriber,
            subscriber_broker,
            delivery,
        };
        if mqtt.messages().is_none() && frame.duration.is_none() {
            let message = "publishers without end need one: give mqtt a number of messages, or the scenario a duration";
            return Err(error(of_flow, message));
        }
        mqtt.check_counts(path, frame)?;
        mqtt.check_streams(&at("streams"), OnQuic { publishers: quic, subscriber: quic_delivery })?;
        Ok(mqtt)
    }

    /// The node of the subscriber's broker.
    fn broker(&self, path: &str, server: &str, frame: &Frame<'_>) -> Result<String, ScenarioError> {
        let broker = self.subscriber_broker.as_deref().unwrap_or(server);
        for (field, node) in [("subscriber", self.subscriber.as_str()), ("subscriber_broker", broker)] {
            if !frame.topology.has_node(node) {
                return Err(error(format!("{path}.{field}"), format!("no link joins a node called {node:?}")));
            }
        }
        if [server, broker].contains(&self.subscriber.as_str()) {
            let message = "subscriber and broker are the same node: give the subscriber a node of its own";
            return Err(error(format!("{path}.subscriber"), message));
        }
        Ok(broker.to_string())
    }

    /// The messages of each publisher.
    fn traffic(&self, path: &str) -> Result<Traffic, ScenarioError> {
        let at = |field: &str| format!("{path}.{field}");
        let least = MARK as u64;
        let sized = |field: &str, size: u64| match size {
            size if (least..=LARGEST).contains(&size) => Ok(size),
            size => {
                let message =
                    format!("{size}B: give {least}B to {LARGEST}B (the first {least} bytes number the message)");
                Err(error(at(field), message))
            }
        };
        let (name, fields): (_, &[&str]) = match self.arrivals {
            Arrival::Constant => ("constant", &[]),
            Arrival::Poisson => ("poisson", &[]),
            Arrival::Bursts => ("bursts", &["burst"]),
            Arrival::OnOff => ("on-off", &["on", "off"]),
            Arrival::Trace => ("trace", &["trace"]),
        };
        let of = OfKind { path, what: &format!("arrivals = {name:?}") };
        let given = [
            ("burst", self.burst.is_some()),
            ("on", self.on.is_some()),
            ("off", self.off.is_some()),
            ("trace", self.trace.is_some()),
        ];
        of.only(fields, &given)?;
        let second = Span::from_secs(1);
        let arrivals = match self.arrivals {
            Arrival::Constant => Arrivals::Constant,
            Arrival::Poisson => Arrivals::Poisson,
            Arrival::Bursts => Arrivals::Bursts(self.burst.unwrap_or(10)),
            Arrival::OnOff => {
                let (on, off) = (of.needs("the field on", self.on)?, of.needs("the field off", self.off)?);
                Arrivals::OnOff(time(Some(on), second, &at("on"))?, time(Some(off), second, &at("off"))?)
            }
            Arrival::Trace => {
                let trace = of.needs("the field trace", self.trace.as_ref())?;
                if self.messages.is_some() {
                    return Err(error(at("messages"), "a trace has its messages: leave messages out"));
                }
                let sizes = trace.iter().map(|(when, size)| Ok((when.0, sized("trace", size.0.0)?)));
                Arrivals::Trace(Arc::new(in_order(sizes.collect::<Result<_, _>>()?, &at("trace"))?))
            }
        };
        Ok(Traffic {
            arrivals,
            interval: time(self.interval, second, &at("interval"))?,
            size: sized("payload", self.payload.map_or(500, |q| q.0.0))?,
            messages: self.messages,
        })
    }
}

/// A trace of messages whose times ascend.
fn in_order(trace: Vec<(Span, u64)>, path: &str) -> Result<Vec<(Span, u64)>, ScenarioError> {
    if trace.is_empty() {
        return Err(error(path, "it has no message: give at least one"));
    }
    if trace.windows(2).any(|pair| pair[0].0 > pair[1].0) {
        return Err(error(path, "its times go back: give them in ascending order"));
    }
    Ok(trace)
}
