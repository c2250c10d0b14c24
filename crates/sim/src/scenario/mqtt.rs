//! MQTT in scenarios: publishers, a broker, and a subscriber.

mod broker;
mod limits;

pub use broker::{BridgeSpec, BridgeTopicSpec, BridgeWay, BrokerSpec, Discard, Forwarding};

use super::quantity::Quantity;
use super::{Flow, Kind, Scenario, ScenarioError, Way, error};
use crate::application::MARK;
use crate::contender::{Contender, Switch};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// When publishers connect if the flow does not say.
pub const PUBLISHERS_START: Span = Span::from_secs(5);
/// The largest payload, bytes: packets of up to 1 MiB are taken.
const LARGEST: u64 = 1_000_000;

/// Messages from publishers to a subscriber, through a broker. Each publisher has a connection of its own. All have the
/// flow's contender.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mqtt {
    /// The subscriber's node.
    pub subscriber: String,
    /// The node of the subscriber's broker, if it is another than the publishers'. Bridges lead there.
    #[serde(default)]
    pub subscriber_broker: Option<String>,
    /// The contender of the subscriber's connection (default: the flow's).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub delivery: Option<Contender>,
    /// The version of MQTT (default 5).
    #[serde(default)]
    pub version: MqttVersion,
    /// The quality of service with which messages are published and subscribed to: 0, 1 or 2 (default 0).
    #[serde(default)]
    pub qos: u8,
    /// How many publishers there are (default 1).
    #[serde(default)]
    pub publishers: Option<u32>,
    /// The largest random delay of each publisher's start, uniformly drawn in each replication (default 0s).
    #[serde(default)]
    pub spread: Option<Quantity<Span>>,
    /// How many topics each publisher publishes to, in turn (default 1).
    #[serde(default)]
    pub topics: Option<u32>,
    /// Payload of a message (default 500B).
    #[serde(default)]
    pub payload: Option<Quantity<Bytes>>,
    /// How many messages each publisher has. Without it they publish until the run ends.
    #[serde(default)]
    pub messages: Option<u64>,
    /// The time from one message to the next, or its mean (default 1s).
    #[serde(default)]
    pub interval: Option<Quantity<Span>>,
    /// When messages come (default constant).
    #[serde(default)]
    pub arrivals: Arrival,
    /// Bursts: messages of a burst (default 10).
    #[serde(default)]
    pub burst: Option<u32>,
    /// On-off: the mean length of a period with messages.
    #[serde(default)]
    pub on: Option<Quantity<Span>>,
    /// On-off: the mean length of a period without messages.
    #[serde(default)]
    pub off: Option<Quantity<Span>>,
    /// Trace: the times after the first connection at which messages come, ascending, and their payloads.
    #[serde(default)]
    pub trace: Option<Vec<(Quantity<Span>, Quantity<Bytes>)>>,
    /// Whether there is TLS over TCP, as the contender's switches say (default true).
    #[serde(default)]
    pub tls: Option<bool>,
    /// Over QUIC: which stream carries a message (default one).
    #[serde(default)]
    pub streams: MqttStreams,
    /// Whether publishers send messages right after CONNECT. Otherwise they wait for CONNACK (default false).
    #[serde(default)]
    pub eager: bool,
    /// Whether each publisher closes its connection when nothing is left to say, and opens it again for the next message
    /// (default false).
    #[serde(default)]
    pub sleep: bool,
    /// How long after a loss of its connection a publisher connects again (default 1s).
    #[serde(default)]
    pub reconnect: Option<Quantity<Span>>,
    /// Whether publishers' sessions outlive their connections (default persistent).
    #[serde(default)]
    pub session: Session,
    /// The longest time between two packets of a client, whole seconds (default 60s, over QUIC 20s; 0s: without
    /// limit).
    #[serde(default)]
    pub keep_alive: Option<Quantity<Span>>,
    /// MQTT 5: how many messages of QoS 1 and 2 the subscriber takes before it acknowledges them (default 65535).
    #[serde(default)]
    pub receive_maximum: Option<u16>,
    /// How many messages of QoS 1 and 2 a publisher has in flight at most (default 65535; in MQTT 5 the broker's Receive
    /// Maximum holds, too).
    #[serde(default)]
    pub window: Option<u16>,
    /// MQTT 5: how many topic aliases the subscriber takes (default 0).
    #[serde(default)]
    pub topic_alias_maximum: Option<u16>,
    /// Whether publishers send several messages together (default no).
    #[serde(default)]
    pub batch: Option<Batching>,
    /// After the last message was published or delivered: how long missing ones are waited for (default 60s).
    #[serde(default)]
    pub wait: Option<Quantity<Span>>,
}

/// The versions of MQTT.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
pub enum MqttVersion {
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
pub enum Arrival {
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

impl Arrival {
    /// Its name in scenarios.
    const fn name(self) -> &'static str {
        match self {
            Arrival::Constant => "constant",
            Arrival::Poisson => "poisson",
            Arrival::Bursts => "bursts",
            Arrival::OnOff => "on-off",
            Arrival::Trace => "trace",
        }
    }
}

/// Which stream carries a message.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MqttStreams {
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
pub enum Session {
    /// Each connection begins a new session.
    Clean,
    /// The session goes on with the next connection.
    #[default]
    Persistent,
}

/// Several messages that are sent together.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batching {
    /// They are sent once there are so many,
    pub messages: u32,
    /// or once the first has waited for so long.
    pub delay: Quantity<Span>,
}

fn at_least_one(fields: impl IntoIterator<Item = (&'static str, bool)>, path: &str) -> Result<(), ScenarioError> {
    match fields.into_iter().find(|(_, zero)| *zero) {
        Some((field, _)) => Err(error(format!("{path}.{field}"), "0: give at least 1, or leave it out")),
        None => Ok(()),
    }
}

/// Whether a keep-alive time can be said.
fn check_keep_alive(given: Option<Quantity<Span>>, path: &str) -> Result<(), ScenarioError> {
    match given.map(|q| q.0) {
        Some(time) if time.as_nanos() % 1_000_000_000 != 0 || time > Span::from_secs(u64::from(u16::MAX)) => {
            let message = format!("{time}: give whole seconds, from 0s to 65535s");
            Err(error(format!("{path}.keep_alive"), message))
        }
        _ => Ok(()),
    }
}

/// Whether there is TLS to be left out, and none of its switches if it is.
fn check_tls(tls: Option<bool>, contenders: &[&Contender], path: &str) -> Result<(), ScenarioError> {
    for contender in contenders {
        let of_tls = [Switch::Tls12, Switch::Resumed, Switch::EarlyData];
        if tls == Some(false)
            && !contender.transport.is_quic()
            && let Some(switch) = contender.switches.iter().find(|s| of_tls.contains(s))
        {
            let name = switch.describe().name;
            let message = format!("without TLS there is no {name}: leave one of them out");
            return Err(error(format!("{path}.tls"), message));
        }
    }
    if tls.is_some() && contenders.iter().all(|contender| contender.transport.is_quic()) {
        return Err(error(format!("{path}.tls"), "QUIC always has TLS: leave it out"));
    }
    Ok(())
}

impl Mqtt {
    /// Payload of a message, bytes.
    pub fn payload(&self) -> u64 {
        self.payload.map_or(500, |q| q.0.0)
    }

    /// The number of publishers.
    pub fn publishers(&self) -> u32 {
        self.publishers.unwrap_or(1)
    }

    /// The node of the subscriber's broker, of a flow with this server.
    pub fn subscriber_broker<'a>(&'a self, server: &'a str) -> &'a str {
        self.subscriber_broker.as_deref().unwrap_or(server)
    }

    /// The number of messages of all publishers, if it is limited.
    pub fn messages(&self) -> Option<u64> {
        let each = self.trace.as_ref().map(|trace| trace.len() as u64).or(self.messages)?;
        Some(each.saturating_mul(u64::from(self.publishers())))
    }

    /// Payload of all messages, bytes, if it is limited.
    pub(super) fn total(&self) -> Option<u64> {
        match &self.trace {
            Some(trace) => {
                let each: u64 = trace.iter().map(|(_, size)| size.0.0).sum();
                Some(each * u64::from(self.publishers()))
            }
            None => Some(self.messages()?.saturating_mul(self.payload())),
        }
    }

    pub(super) fn check(
        &self,
        path: &str,
        of_flow: &str,
        flow: &Flow,
        scenario: &Scenario,
    ) -> Result<(), ScenarioError> {
        let topology = &scenario.topology;
        if topology.kind != Kind::Graph {
            let message = "MQTT needs the nodes of a graph: give topology.kind = \"graph\" and links between publisher, \
                           broker and subscriber";
            return Err(error(path, message));
        }
        let other = [
            ("page", flow.page.is_some()),
            ("size", flow.size.is_some()),
            ("app", flow.app != super::App::Https),
            ("direction", flow.direction == Way::Up),
        ];
        if let Some((field, _)) = other.into_iter().find(|(_, given)| *given) {
            let message = format!("messages have no {field}: leave {field} or mqtt out");
            return Err(error(format!("{of_flow}.{field}"), message));
        }
        let nodes = [("subscriber", Some(&self.subscriber)), ("subscriber_broker", self.subscriber_broker.as_ref())];
        for (field, node) in nodes {
            if let Some(node) = node.filter(|node| !topology.has_node(node)) {
                let message = format!("no link joins a node called {node:?}");
                return Err(error(format!("{path}.{field}"), message));
            }
        }
        if [flow.server.as_ref(), self.subscriber_broker.as_ref()].contains(&Some(&self.subscriber)) {
            let message = "subscriber and broker are the same node: give the subscriber a node of its own";
            return Err(error(format!("{path}.subscriber"), message));
        }
        if self.qos > 2 {
            return Err(error(format!("{path}.qos"), format!("{}: give 0, 1 or 2", self.qos)));
        }
        let least = MARK as u64;
        let sizes = self.trace.iter().flatten().map(|(_, size)| ("trace", size.0.0));
        let sizes = self.payload.map(|q| ("payload", q.0.0)).into_iter().chain(sizes);
        if let Some((field, size)) = sizes.into_iter().find(|(_, size)| !(least..=LARGEST).contains(size)) {
            let message = format!("{size}B: give {least}B to {LARGEST}B (the first {least} bytes number the message)");
            return Err(error(format!("{path}.{field}"), message));
        }
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
        self.check_times(path, of_flow, scenario)?;
        self.check_counts(path, scenario)?;
        self.check_contender(path, flow)?;
        self.check_streams(path, flow)
    }

    fn check_times(&self, path: &str, of_flow: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        for (field, given) in
            [("interval", self.interval), ("reconnect", self.reconnect), ("on", self.on), ("off", self.off)]
        {
            if let Some(Quantity(time)) = given.filter(|q| q.0 < Span::from_micros(1)) {
                let message = format!("{time} is too short: give at least 1us");
                return Err(error(format!("{path}.{field}"), message));
            }
        }
        check_keep_alive(self.keep_alive, path)?;
        let wanted = [
            ("burst", self.burst.is_some(), Arrival::Bursts),
            ("on", self.on.is_some(), Arrival::OnOff),
            ("off", self.off.is_some(), Arrival::OnOff),
            ("trace", self.trace.is_some(), Arrival::Trace),
        ];
        if let Some((field, ..)) = wanted.iter().find(|(_, given, of)| *given && self.arrivals != *of) {
            let message = format!("arrivals = {:?} has no {field}: leave it out", self.arrivals.name());
            return Err(error(format!("{path}.{field}"), message));
        }
        let needed = wanted.iter().find(|(field, given, of)| *field != "burst" && !given && self.arrivals == *of);
        if let Some((field, ..)) = needed {
            let message = format!("arrivals = {:?} needs the field {field}: give it", self.arrivals.name());
            return Err(error(path, message));
        }
        let trace = self.trace.iter().flatten();
        if self.trace.as_ref().is_some_and(Vec::is_empty) {
            return Err(error(format!("{path}.trace"), "it has no message: give at least one"));
        }
        if trace.clone().zip(trace.skip(1)).any(|(one, next)| one.0.0 > next.0.0) {
            return Err(error(format!("{path}.trace"), "its times go back: give them in ascending order"));
        }
        if self.messages.is_some() && self.trace.is_some() {
            return Err(error(format!("{path}.messages"), "a trace has its messages: leave messages out"));
        }
        if self.messages().is_none() && scenario.duration.is_none() {
            let message = "publishers without end need one: give mqtt a number of messages, or the scenario a duration";
            return Err(error(of_flow, message));
        }
        Ok(())
    }

    fn check_contender(&self, path: &str, flow: &Flow) -> Result<(), ScenarioError> {
        let contenders: Vec<_> = [Some(&flow.contender), self.delivery.as_ref()].into_iter().flatten().collect();
        let quic = contenders.iter().any(|contender| contender.transport.is_quic());
        if self.streams != MqttStreams::One && !quic {
            let message = "TCP has one stream: give streams = \"one\", or a quic contender";
            return Err(error(format!("{path}.streams"), message));
        }
        check_tls(self.tls, &contenders, path)
    }
}
