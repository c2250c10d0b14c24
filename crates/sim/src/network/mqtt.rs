//! Flows with MQTT as a rig is told of them: broker and subscriber, and the work of the clients with its times.

use super::describe::{WayDescription, way};
use super::{FlowPath, network};
use crate::application::{Subscriber, topics_of};
use crate::contender::Contender;
use crate::scenario::{Broker, Mqtt, Scenario, ScenarioError};
use haltere_mqtt::{DropPolicy, Forward, Streams as MqttStreams, Version};
use haltere_net::rng::Streams;
use serde::Serialize;
use std::collections::BTreeMap;

/// The most messages of a flow that real hosts are told of.
const MOST: usize = 1_000_000;

/// The connections and the broker of a flow with MQTT.
#[derive(Serialize)]
pub(super) struct MqttDescription {
    /// The subscriber's node.
    subscriber: u32,
    /// The paths between it and the broker, as a client's.
    ways: Vec<WayDescription>,
    /// Whether there is TLS over TCP.
    tls: bool,
    qos: u8,
    delivery: ContenderDescription,
    broker: BrokerDescription,
    /// Fields that only the model uses.
    only_modelled: Vec<&'static str>,
}

/// A contender in its parts.
#[derive(Serialize)]
struct ContenderDescription {
    contender: String,
    transport: &'static str,
    implementation: Option<String>,
    congestion: String,
    switches: BTreeMap<String, String>,
}

/// How a broker behaves, with all defaults filled in.
#[derive(Serialize)]
struct BrokerDescription {
    queue: usize,
    drops_oldest: bool,
    queue_qos0: bool,
    window: u16,
    receive_maximum: u16,
    topic_alias_maximum: u16,
    forwards_at_once: bool,
}

impl MqttDescription {
    pub(super) fn new(scenario: &Scenario, flow: usize, path: &FlowPath) -> Option<MqttDescription> {
        let (flow, to) = (&scenario.flows[flow], path.delivery.as_ref()?);
        let mqtt = flow.mqtt()?;
        let bridged = to.broker != path.server || scenario.brokers.iter().any(|spec| !spec.bridges.is_empty());
        let broker = scenario.brokers.iter().find(|broker| *broker.node == *flow.place.server);
        let broker = broker.map_or_else(Broker::usual, |broker| broker.config.clone());
        Some(MqttDescription {
            subscriber: to.subscriber.0,
            ways: to.ways.iter().map(way).collect(),
            tls: mqtt.tls,
            qos: mqtt.publishers.qos as u8,
            delivery: ContenderDescription::new(&mqtt.delivery),
            broker: BrokerDescription {
                queue: broker.queue.messages,
                drops_oldest: broker.queue.drop == DropPolicy::Oldest,
                queue_qos0: broker.queue_qos0,
                window: broker.window,
                receive_maximum: broker.receive_maximum,
                topic_alias_maximum: broker.topic_alias_maximum,
                forwards_at_once: broker.forward == Forward::Publish,
            },
            only_modelled: [
                ("sleep", mqtt.publishers.sleep),
                ("streams", mqtt.streams != MqttStreams::One),
                ("bridges", bridged),
            ]
            .into_iter()
            .filter_map(|(name, given)| given.then_some(name))
            .collect(),
        })
    }
}

impl ContenderDescription {
    fn new(contender: &Contender) -> ContenderDescription {
        ContenderDescription {
            contender: contender.to_string(),
            transport: contender.transport.describe().0,
            implementation: contender.implementation.clone(),
            congestion: contender.congestion.clone(),
            switches: contender.switched(),
        }
    }
}

/// The work of the clients of a flow in one run. Times in ns, sizes in bytes.
#[derive(Serialize)]
pub struct MqttClients {
    flow: u32,
    version: &'static str,
    qos: u8,
    /// The beginning of all topics; publisher i has `BASE/i`, or `BASE/i/k` if it has several.
    base: String,
    topics: u32,
    /// The subscriber's identifier and its topic filter.
    subscriber: String,
    filter: String,
    keep_alive_s: u16,
    /// How many messages of QoS 1 and 2 the subscriber takes, and a publisher has in flight at most.
    receive_maximum: u16,
    window: u16,
    /// How many topic aliases the subscriber takes.
    topic_alias_maximum: u16,
    clean: bool,
    eager: bool,
    batch: Option<BatchDescription>,
    reconnect_ns: u64,
    wait_ns: u64,
    publishers: Vec<PublisherDescription>,
}

#[derive(Serialize)]
struct BatchDescription {
    messages: usize,
    delay_ns: u64,
}

/// A publisher: when it connects, after the run's beginning, and how long after that its messages come.
#[derive(Serialize)]
struct PublisherDescription {
    start_ns: u64,
    /// Time after the first CONNACK (with `eager`, after the start), and payload.
    messages: Vec<(u64, u64)>,
}

/// The work of the MQTT clients of each flow in a run; flows without MQTT are left out. Arrivals are drawn from the
/// streams from which the simulator draws them.
///
/// # Errors
/// If the network is wrong, or a flow has more than a million messages.
pub fn mqtt_clients(scenario: &Scenario, seed: u64, replication: u64) -> Result<Vec<MqttClients>, ScenarioError> {
    let streams = Streams::new(seed, replication);
    let network = network(scenario, &streams)?;
    let flows = scenario.flows.iter().zip(&network.flows).enumerate();
    flows.filter_map(|(i, (flow, path))| Some(clients(scenario, i, flow.mqtt()?, path, &streams))).collect()
}

fn clients(
    scenario: &Scenario,
    i: usize,
    mqtt: &Mqtt,
    path: &FlowPath,
    streams: &Streams,
) -> Result<MqttClients, ScenarioError> {
    let flow = i as u32;
    let (plan, receives, until) = (&mqtt.publishers, &mqtt.receives, scenario.end());
    let schedules = plan.schedules(&streams.named(&format!("flow {flow}/messages")), until, MOST).ok_or_else(|| {
        let message = format!("more than {MOST} messages: real hosts take fewer, give fewer, or fidelity \"model\"");
        ScenarioError { path: format!("flows[{i}].mqtt"), message }
    })?;
    let ns = |(at, size): (haltere_net::Span, u64)| (at.as_nanos(), size);
    let publishers = schedules.into_iter().map(|schedule| PublisherDescription {
        start_ns: (path.start + schedule.late).as_nanos(),
        messages: schedule.messages.into_iter().map(ns).collect(),
    });
    Ok(MqttClients {
        flow,
        version: if plan.client.version == Version::V311 { "3.1.1" } else { "5" },
        qos: plan.qos as u8,
        base: topics_of(flow),
        topics: plan.topics,
        subscriber: Subscriber::client_id(flow),
        filter: Subscriber::subscription(flow, plan.qos).filter.to_string(),
        keep_alive_s: plan.client.keep_alive,
        receive_maximum: receives.receive_maximum,
        window: plan.client.window,
        topic_alias_maximum: receives.topic_alias_maximum,
        clean: plan.client.clean,
        eager: plan.client.eager,
        batch: plan
            .client
            .batch
            .map(|batch| BatchDescription { messages: batch.messages, delay_ns: batch.delay.as_nanos() }),
        reconnect_ns: plan.reconnect.as_nanos(),
        wait_ns: mqtt.wait.as_nanos(),
        publishers: publishers.collect(),
    })
}
