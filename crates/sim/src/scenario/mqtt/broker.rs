//! Brokers in scenarios, and bridges between them.

use super::{Mqtt, MqttVersion, Session, at_least_one, client, qos, time, tls};
use crate::application::topics_of;
use crate::contender::Contender;
use crate::scenario::quantity::Quantity;
use crate::scenario::topology::Topology;
use crate::scenario::{Flow, ScenarioError, error};
use haltere_mqtt::{
    BridgeTopic, BrokerConfig, ClientConfig, Direction, DropPolicy, Forward, Limit, QoS, topic::is_filter,
    topic::matches,
};
use haltere_net::Span;
use schemars::JsonSchema;
use serde::Deserialize;

/// The most brokers of a scenario that are described.
const MOST_BROKERS: usize = 1000;

/// How long after a loss a bridge connects again: mosquitto's `restart_timeout` begins with 5 s.
const RECONNECT: Span = Span::from_secs(5);

/// A broker that a scenario describes.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Its node.
    pub node: String,
    /// How it behaves.
    pub config: BrokerConfig,
    /// Its connections to other brokers, on which it is the client.
    pub bridges: Vec<Bridge>,
}

/// A connection of a broker to another one. Messages do not go back to the broker that they came from.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// The other broker's node.
    pub to: String,
    /// The contender of the connection.
    pub contender: Contender,
    /// Which messages cross it, and which way.
    pub topics: Vec<BridgeTopic>,
    /// How its client behaves.
    pub client: ClientConfig,
    /// How long after a loss of the connection it connects again.
    pub reconnect: Span,
    /// Whether there is TLS over TCP.
    pub tls: bool,
}

/// A broker that is not as it is by default. The defaults are mosquitto's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::scenario) struct BrokerSpec {
    /// Its node.
    node: String,
    /// How many messages may wait for a client (default 1000).
    queue: Option<u32>,
    /// Which message gives way if more wait (default newest).
    #[serde(default)]
    drop: Discard,
    /// Whether messages of QoS 0 wait for a client that is not there (default false).
    #[serde(default)]
    queue_qos0: bool,
    /// How many messages of QoS 1 and 2 it has in flight to a client at most (default 20).
    window: Option<u16>,
    /// MQTT 5: how many messages of QoS 1 and 2 a client may have in flight to it (default 20).
    receive_maximum: Option<u16>,
    /// MQTT 5: how many topic aliases it takes from a client (default 10).
    topic_alias_maximum: Option<u16>,
    /// When it passes a message of QoS 2 on to subscribers (default release).
    #[serde(default)]
    forward: Forwarding,
    /// Connections to other brokers, on which it is the client.
    #[serde(default)]
    bridges: Vec<BridgeSpec>,
}

/// When a broker passes a message of QoS 2 on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Forwarding {
    /// Once PUBREL has come.
    #[default]
    Release,
    /// When it comes.
    Publish,
}

/// A connection of a broker to another one, as mosquitto's `connection` with its `topic`s. Messages do not go back to the broker
/// that they came from.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BridgeSpec {
    /// The other broker's node.
    to: String,
    /// The contender of the connection.
    #[schemars(with = "String")]
    contender: Contender,
    /// Which messages cross it, and which way.
    topics: Vec<BridgeTopicSpec>,
    /// The version of MQTT (default 5).
    #[serde(default)]
    version: MqttVersion,
    /// Whether its sessions outlive connections (default persistent).
    #[serde(default)]
    session: Session,
    /// The longest time between two of its packets, whole seconds (default 60s, over QUIC 20s; 0s: without limit).
    keep_alive: Option<Quantity<Span>>,
    /// How long after a loss of the connection it connects again (default 5s).
    reconnect: Option<Quantity<Span>>,
    /// Whether there is TLS over TCP, as the contender's switches say (default true).
    tls: Option<bool>,
}

/// Messages that cross a bridge.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BridgeTopicSpec {
    /// Their topic filter (default `#`). The topics of flow n begin with `flow/n/`.
    filter: Option<String>,
    /// Which way they go (default out).
    #[serde(default)]
    direction: BridgeWay,
    /// The highest quality of service on the bridge (default 0).
    #[serde(default)]
    qos: u8,
}

/// Which way messages cross a bridge.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum BridgeWay {
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
enum Discard {
    /// The one that comes.
    #[default]
    Newest,
    /// The one that has waited longest.
    Oldest,
}

impl Broker {
    /// How a broker behaves of which nothing is said.
    pub fn usual() -> BrokerConfig {
        BrokerConfig { forward: Forward::Release, ..BrokerConfig::default() }
    }
}

impl BrokerSpec {
    /// The broker that is meant.
    pub(in crate::scenario) fn broker(self, path: &str, topology: &Topology) -> Result<Broker, ScenarioError> {
        let zero = [
            ("queue", self.queue == Some(0)),
            ("window", self.window == Some(0)),
            ("receive_maximum", self.receive_maximum == Some(0)),
        ];
        at_least_one(zero, path)?;
        let usual = Broker::usual();
        let drop = match self.drop {
            Discard::Newest => DropPolicy::Newest,
            Discard::Oldest => DropPolicy::Oldest,
        };
        let bridges = self.bridges.into_iter().enumerate();
        let bridges = bridges.map(|(k, bridge)| bridge.bridge(&format!("{path}.bridges[{k}]"), &self.node, topology));
        Ok(Broker {
            bridges: bridges.collect::<Result<_, _>>()?,
            config: BrokerConfig {
                queue: Limit { messages: self.queue.map_or(usual.queue.messages, |most| most as usize), drop },
                queue_qos0: self.queue_qos0,
                window: self.window.unwrap_or(usual.window),
                receive_maximum: self.receive_maximum.unwrap_or(usual.receive_maximum),
                topic_alias_maximum: self.topic_alias_maximum.unwrap_or(usual.topic_alias_maximum),
                forward: match self.forward {
                    Forwarding::Release => Forward::Release,
                    Forwarding::Publish => Forward::Publish,
                },
                ..usual
            },
            node: self.node,
        })
    }
}

impl BridgeSpec {
    /// The bridge that is meant, of the broker `home`.
    fn bridge(self, path: &str, home: &str, topology: &Topology) -> Result<Bridge, ScenarioError> {
        let at = |field: &str| format!("{path}.{field}");
        for node in [&self.to, home] {
            if !topology.has_node(node) {
                return Err(error(at("to"), format!("no link joins a node called {node:?}")));
            }
        }
        if self.to == home {
            return Err(error(at("to"), format!("{home:?} is the broker itself: name another")));
        }
        if self.contender.transport.is_media() {
            return Err(error(at("contender"), "rtp and roq carry calls alone: give a tcp or quic contender"));
        }
        if self.contender.transport.is_multipath() {
            return Err(error(at("contender"), "a bridge has one path: give a tcp or quic contender"));
        }
        if self.topics.is_empty() {
            let message = "nothing crosses the bridge: give at least one, such as { filter = \"#\" }";
            return Err(error(at("topics"), message));
        }
        let topics = self.topics.into_iter().enumerate();
        let topics = topics.map(|(k, topic)| topic.topic(&format!("{path}.topics[{k}]")));
        let of_client = (self.version, self.session, self.keep_alive);
        Ok(Bridge {
            topics: topics.collect::<Result<_, _>>()?,
            reconnect: time(self.reconnect, RECONNECT, &at("reconnect"))?,
            client: client(of_client, &self.contender, path)?,
            tls: tls(self.tls, &[&self.contender], path)?,
            to: self.to,
            contender: self.contender,
        })
    }
}

impl BridgeTopicSpec {
    fn topic(self, path: &str) -> Result<BridgeTopic, ScenarioError> {
        let qos = qos(self.qos, &format!("{path}.qos"))?;
        let filter = self.filter.as_deref().unwrap_or("#");
        if !is_filter(filter) {
            let message = format!("{filter:?} is no topic filter: # is its last level, + a whole one");
            return Err(error(format!("{path}.filter"), message));
        }
        let direction = match self.direction {
            BridgeWay::Out => Direction::Out,
            BridgeWay::In => Direction::In,
            BridgeWay::Both => Direction::Both,
        };
        Ok(BridgeTopic { filter: filter.into(), direction, qos })
    }
}

/// A step from one broker to another, over a bridge.
struct Step<'a> {
    to: &'a str,
    bridge: &'a Bridge,
    /// The way across the bridge.
    way: Direction,
}

impl Step<'_> {
    /// The highest QoS with which messages to this topic take the step, if they do.
    fn qos(&self, topic: &str) -> Option<QoS> {
        let takes = |t: &&BridgeTopic| t.direction == self.way || t.direction == Direction::Both;
        let topics = self.bridge.topics.iter().filter(takes);
        topics.filter(|t| matches(&t.filter, topic)).map(|t| t.qos).max()
    }
}

/// The steps from a broker.
fn steps<'a>(brokers: &'a [Broker], from: &'a str) -> impl Iterator<Item = Step<'a>> {
    let all = brokers.iter().flat_map(|broker| broker.bridges.iter().map(|bridge| (broker.node.as_str(), bridge)));
    all.filter_map(move |(home, bridge)| {
        if home == from {
            Some(Step { to: &bridge.to, bridge, way: Direction::Out })
        } else {
            (bridge.to == from).then_some(Step { to: home, bridge, way: Direction::In })
        }
    })
}

/// Checks the brokers against each other. Bridges in a circle would let messages go round for ever: a bridge sends none back,
/// and does not know where it was before.
pub(in crate::scenario) fn check_brokers(brokers: &[Broker]) -> Result<(), ScenarioError> {
    if brokers.len() > MOST_BROKERS {
        return Err(error("brokers", format!("{} brokers: give at most {MOST_BROKERS}", brokers.len())));
    }
    let mut joined: Vec<Vec<&str>> = Vec::new();
    for (i, broker) in brokers.iter().enumerate() {
        if brokers[i + 1..].iter().any(|other| other.node == broker.node) {
            let message = format!("the broker {:?} is described twice: give one table of brokers for it", broker.node);
            return Err(error(format!("brokers[{i}].node"), message));
        }
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
    Ok(())
}

/// Checks whether each broker has flows or bridges.
pub(in crate::scenario) fn check_used(brokers: &[Broker], flows: &[Flow]) -> Result<(), ScenarioError> {
    for (i, Broker { node, bridges, .. }) in brokers.iter().enumerate() {
        let led_to = brokers.iter().flat_map(|other| &other.bridges).any(|bridge| bridge.to == *node);
        let has =
            |flow: &Flow| flow.mqtt().is_some_and(|m| *flow.place.server == **node || m.subscriber_broker == *node);
        if bridges.is_empty() && !led_to && !flows.iter().any(has) {
            let message =
                format!("no flow with mqtt has the server {node:?}, and no bridge leads there: name a broker");
            return Err(error(format!("brokers[{i}].node"), message));
        }
    }
    Ok(())
}

/// The QoS with which messages come from the broker `server` to their subscriber's: the lowest on their way.
///
/// # Errors
/// If no bridges bring them there; `path` is the path of the flow.
pub(in crate::scenario) fn delivered_qos(
    brokers: &[Broker],
    mqtt: &Mqtt,
    server: &str,
    path: &str,
) -> Result<QoS, ScenarioError> {
    let (all, plan) = (topics_of(mqtt.publishers.flow), &mqtt.publishers);
    let topic = format!("{all}{}", if plan.topics > 1 { "/0/0" } else { "/0" });
    // Bridges form no circle, so that a message comes to each broker on one way.
    let mut ends = vec![(server, None, plan.qos)];
    while let Some((at, before, qos)) = ends.pop() {
        if at == mqtt.subscriber_broker {
            return Ok(qos);
        }
        let onward = steps(brokers, at).filter(|step| Some(step.to) != before);
        ends.extend(onward.filter_map(|step| Some((step.to, Some(at), step.qos(&topic)?.min(qos)))));
    }
    let message = format!(
        "no bridges bring messages of {:?} from {server:?} to {:?}: give a broker one, or a topic to one that is there",
        all + "/#",
        mqtt.subscriber_broker
    );
    Err(error(format!("{path}.mqtt.subscriber_broker"), message))
}
