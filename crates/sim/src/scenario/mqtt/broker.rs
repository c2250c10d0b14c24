//! Brokers in scenarios, and bridges between them.

use super::{MqttVersion, Session, at_least_one};
use crate::application::topics_of;
use crate::contender::Contender;
use crate::scenario::quantity::Quantity;
use crate::scenario::{Flow, Kind, MAX_FLOWS, Scenario, ScenarioError, error};
use haltere_net::Span;
use schemars::JsonSchema;
use serde::Deserialize;

/// The most brokers of a scenario that are described.
const MOST_BROKERS: usize = 1000;

/// A broker that is not as it is by default. The defaults are mosquitto's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// Its node.
    pub node: String,
    /// How many messages may wait for a client (default 1000).
    #[serde(default)]
    pub queue: Option<u32>,
    /// Which message gives way if more wait (default newest).
    #[serde(default)]
    pub drop: Discard,
    /// Whether messages of QoS 0 wait for a client that is not there (default false).
    #[serde(default)]
    pub queue_qos0: bool,
    /// How many messages of QoS 1 and 2 it has in flight to a client at most (default 20).
    #[serde(default)]
    pub window: Option<u16>,
    /// MQTT 5: how many messages of QoS 1 and 2 a client may have in flight to it (default 20).
    #[serde(default)]
    pub receive_maximum: Option<u16>,
    /// MQTT 5: how many topic aliases it takes from a client (default 10).
    #[serde(default)]
    pub topic_alias_maximum: Option<u16>,
    /// When it passes a message of QoS 2 on to subscribers (default release).
    #[serde(default)]
    pub forward: Forwarding,
    /// Connections to other brokers, on which it is the client.
    #[serde(default)]
    pub bridges: Vec<BridgeSpec>,
}

/// When a broker passes a message of QoS 2 on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forwarding {
    /// Once PUBREL has come.
    #[default]
    Release,
    /// When it comes.
    Publish,
}

/// A connection of a broker to another one, as mosquitto's `connection` with its `topic`s. Messages do not go back to the broker
/// that they came from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeSpec {
    /// The other broker's node.
    pub to: String,
    /// The contender of the connection.
    #[schemars(with = "String")]
    pub contender: Contender,
    /// Which messages cross it, and which way.
    pub topics: Vec<BridgeTopicSpec>,
    /// The version of MQTT (default 5).
    #[serde(default)]
    pub version: MqttVersion,
    /// Whether its sessions outlive connections (default persistent).
    #[serde(default)]
    pub session: Session,
    /// The longest time between two of its packets, whole seconds (default 60s, over QUIC 20s; 0s: without limit).
    #[serde(default)]
    pub keep_alive: Option<Quantity<Span>>,
    /// How long after a loss of the connection it connects again (default 5s).
    #[serde(default)]
    pub reconnect: Option<Quantity<Span>>,
    /// Whether there is TLS over TCP, as the contender's switches say (default true).
    #[serde(default)]
    pub tls: Option<bool>,
}

/// Messages that cross a bridge.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeTopicSpec {
    /// Their topic filter (default `#`). The topics of flow n begin with `flow/n/`.
    #[serde(default)]
    pub filter: Option<String>,
    /// Which way they go (default out).
    #[serde(default)]
    pub direction: BridgeWay,
    /// The highest quality of service on the bridge (default 0).
    #[serde(default)]
    pub qos: u8,
}

/// Which way messages cross a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BridgeWay {
    /// To the other broker.
    #[default]
    Out,
    /// From the other broker.
    In,
    /// Both ways.
    Both,
}

/// Which message gives way in a full queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Discard {
    /// The one that comes.
    #[default]
    Newest,
    /// The one that has waited longest.
    Oldest,
}

impl BrokerSpec {
    pub(in crate::scenario) fn check(&self, path: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let led_to = scenario.brokers.iter().flat_map(|other| &other.bridges).any(|bridge| bridge.to == self.node);
        if self.bridges.is_empty() && !led_to && !scenario.has_broker(&self.node) {
            let message =
                format!("no flow with mqtt has the server {:?}, and no bridge leads there: name a broker", self.node);
            return Err(error(format!("{path}.node"), message));
        }
        if scenario.brokers.iter().filter(|broker| broker.node == self.node).count() > 1 {
            let message = format!("the broker {:?} is described twice: give one table of brokers for it", self.node);
            return Err(error(format!("{path}.node"), message));
        }
        let zero = [("queue", self.queue == Some(0)), ("window", self.window == Some(0))];
        let zero = zero.into_iter().chain([("receive_maximum", self.receive_maximum == Some(0))]);
        at_least_one(zero, path)?;
        for (k, bridge) in self.bridges.iter().enumerate() {
            bridge.check(&format!("{path}.bridges[{k}]"), &self.node, scenario)?;
        }
        Ok(())
    }
}

impl BridgeTopicSpec {
    /// Their topic filter.
    pub fn filter(&self) -> &str {
        self.filter.as_deref().unwrap_or("#")
    }
}

impl BridgeSpec {
    fn check(&self, path: &str, home: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(error(format!("{path}.{field}"), message));
        for (field, node) in [("to", self.to.as_str()), ("to", home)] {
            if scenario.topology.kind != Kind::Graph || !scenario.topology.has_node(node) {
                return wrong(field, format!("no link joins a node called {node:?}"));
            }
        }
        if self.to == home {
            return wrong("to", format!("{home:?} is the broker itself: name another"));
        }
        if self.contender.transport.is_multipath() {
            return wrong("contender", "a bridge has one path: give a tcp or quic contender".into());
        }
        if self.topics.is_empty() {
            return wrong("topics", "nothing crosses the bridge: give at least one, such as { filter = \"#\" }".into());
        }
        for (k, topic) in self.topics.iter().enumerate() {
            if topic.qos > 2 {
                return wrong(&format!("topics[{k}].qos"), format!("{}: give 0, 1 or 2", topic.qos));
            }
            if !haltere_mqtt::topic::is_filter(topic.filter()) {
                let message = format!("{:?} is no topic filter: # is its last level, + a whole one", topic.filter());
                return wrong(&format!("topics[{k}].filter"), message);
            }
        }
        if let Some(Quantity(time)) = self.reconnect.filter(|q| q.0 < Span::from_micros(1)) {
            return wrong("reconnect", format!("{time} is too short: give at least 1us"));
        }
        super::check_keep_alive(self.keep_alive, path)?;
        super::check_tls(self.tls, &[&self.contender], path)
    }
}

/// A step from one broker to another, over a bridge.
struct Step<'a> {
    to: &'a str,
    bridge: &'a BridgeSpec,
    /// The way across the bridge.
    way: BridgeWay,
}

impl Step<'_> {
    /// The highest QoS with which messages to this topic take the step, if they do.
    fn qos(&self, topic: &str) -> Option<u8> {
        let takes = |t: &&BridgeTopicSpec| t.direction == self.way || t.direction == BridgeWay::Both;
        let topics = self.bridge.topics.iter().filter(takes);
        topics.filter(|t| haltere_mqtt::topic::matches(t.filter(), topic)).map(|t| t.qos).max()
    }
}

impl Scenario {
    /// Whether publishers or a subscriber have their broker on a node.
    fn has_broker(&self, node: &str) -> bool {
        let brokers = |flow: &Flow| {
            let (mqtt, server) = (flow.mqtt.as_ref()?, flow.server.as_deref()?);
            Some(server == node || mqtt.subscriber_broker(server) == node)
        };
        self.flows.iter().any(|flow| brokers(flow) == Some(true))
    }

    /// The steps from a broker.
    fn steps<'a>(&'a self, from: &'a str) -> impl Iterator<Item = Step<'a>> {
        let all =
            self.brokers.iter().flat_map(|broker| broker.bridges.iter().map(|bridge| (broker.node.as_str(), bridge)));
        all.filter_map(move |(home, bridge)| {
            if home == from {
                Some(Step { to: &bridge.to, bridge, way: BridgeWay::Out })
            } else {
                (bridge.to == from).then_some(Step { to: home, bridge, way: BridgeWay::In })
            }
        })
    }

    /// Bridges in a circle would let messages go round for ever: a bridge sends none back, and does not know where it was before.
    pub(in crate::scenario) fn check_bridges(&self) -> Result<(), ScenarioError> {
        if self.brokers.len() > MOST_BROKERS {
            let message = format!("{} brokers: give at most {MOST_BROKERS}", self.brokers.len());
            return Err(error("brokers", message));
        }
        let mut joined: Vec<Vec<&str>> = Vec::new();
        for (i, broker) in self.brokers.iter().enumerate() {
            for (k, bridge) in broker.bridges.iter().enumerate() {
                let mut take = |node| match joined.iter().position(|group| group.contains(&node)) {
                    Some(at) => joined.swap_remove(at),
                    None => vec![node],
                };
                let (mut one, other) = (take(broker.node.as_str()), take(bridge.to.as_str()));
                if one.contains(&bridge.to.as_str()) {
                    let message = format!(
                        "bridges lead from {:?} to {:?} already, and messages would go in circles: give one bridge all topics",
                        broker.node, bridge.to
                    );
                    return Err(error(format!("brokers[{i}].bridges[{k}].to"), message));
                }
                one.extend(other);
                joined.push(one);
            }
        }
        let mut first = 0;
        for (i, flow) in self.flows.iter().enumerate() {
            let numbers = first..first + (flow.copies.unwrap_or(1) as usize).min(MAX_FLOWS);
            first = numbers.end;
            let Some(to) = flow.mqtt.as_ref().and_then(|mqtt| mqtt.subscriber_broker.as_deref()) else { continue };
            if let Some(number) = numbers.into_iter().find(|number| self.delivered_qos(*number, flow).is_none()) {
                let message = format!(
                    "no bridges bring messages of {:?} from {:?} to {to:?}: give a broker one, or a topic to one that is there",
                    topics_of(number as u32) + "/#",
                    flow.server.as_deref().unwrap_or_default()
                );
                return Err(error(format!("flows[{i}].mqtt.subscriber_broker"), message));
            }
        }
        Ok(())
    }

    /// The QoS with which the messages of a flow of this number are delivered: the lowest on their way. `None` if no bridges bring
    /// them to their subscriber's broker.
    pub(crate) fn delivered_qos(&self, number: usize, flow: &Flow) -> Option<u8> {
        let (Some(mqtt), Some(server)) = (&flow.mqtt, flow.server.as_deref()) else { return Some(0) };
        let topic = topics_of(number as u32) + if mqtt.topics.unwrap_or(1) > 1 { "/0/0" } else { "/0" };
        // Bridges form no circle, so that a message comes to each broker on one way.
        let mut ends = vec![(server, None, mqtt.qos)];
        while let Some((at, before, qos)) = ends.pop() {
            if at == mqtt.subscriber_broker(server) {
                return Some(qos);
            }
            let onward = self.steps(at).filter(|step| Some(step.to) != before);
            ends.extend(onward.filter_map(|step| Some((step.to, Some(at), step.qos(&topic)?.min(qos)))));
        }
        None
    }
}
