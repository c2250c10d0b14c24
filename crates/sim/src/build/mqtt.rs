//! Flows with MQTT: publishers and a subscriber for each, and a broker for each node that has one.

use super::roster::{Owner, Roster, Slot};
use super::transports::{Kit, Maker};
use super::{Site, flows, talk};
use crate::application::{
    Arrivals, BrokerProcess, Framing, Ledger, PUBLISHER_LEVELS, PublisherPlan, Publishers, Subscriber, Traffic,
};
use crate::contender::Contender;
use crate::contents::Contents;
use crate::network::{DeliveryPath, FlowPath};
use crate::scenario::{
    Arrival, BrokerSpec, Discard, Forwarding, Mqtt, MqttStreams, MqttVersion, Quantity, RadioKind, Scenario,
    ScenarioError, Session,
};
use crate::tls::Flights;
use crate::world::{Port, ProcessId, Spawn, Transports};
use haltere_mqtt::client::Batch;
use haltere_mqtt::{BrokerConfig, ClientConfig, DropPolicy, Forward, Limit, QoS, Streams, Version};
use haltere_net::topology::{NodeId, Topology};
use haltere_net::{Span, Time};
use haltere_transport::{Endpoint, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keep-alive time of clients, s: that of common client libraries (Eclipse Paho). Over QUIC it is shorter than the idle
/// timeout of 30 s, which would end the connection.
const KEEP_ALIVE: u16 = 60;
const QUIC_KEEP_ALIVE: u16 = 20;

/// Makes the transports of a broker: on each port it has those of one contender.
pub(super) struct Ports(pub BTreeMap<Port, (Maker, u32)>);

impl Transports for Ports {
    fn endpoint(&mut self, role: Role, _: u32, port: Port) -> Result<Box<dyn Endpoint>, String> {
        let (maker, made) = self.0.get_mut(&port).ok_or("nobody listens there")?;
        *made += 1;
        maker.endpoint(role, *made - 1, port)
    }
}

/// A broker while its flows and bridges are gathered.
pub(super) struct Gathered {
    pub process: BrokerProcess,
    pub ports: Ports,
    /// The ports on which it listens. Those of its own bridges are others' ports.
    listens: Vec<Port>,
}

/// The brokers of a scenario.
pub(super) struct Brokers {
    contents: Contents,
    specs: BTreeMap<NodeId, BrokerSpec>,
    all: BTreeMap<NodeId, Gathered>,
    ledgers: BTreeMap<u32, Ledger>,
}

/// The way of a flow's messages.
pub(crate) struct Delivery {
    /// The node of the publishers' broker, and the port on which it hears them.
    pub broker: NodeId,
    pub port: Port,
    /// The QoS with which messages are delivered.
    pub qos: u8,
}

impl Delivery {
    pub(super) fn new(site: &Site<'_>, number: usize, path: &FlowPath, slot: Slot) -> Delivery {
        let qos = site.scenario.delivered_qos(number, &site.scenario.flows[number]);
        Delivery { broker: path.server, port: slot.port(), qos: qos.unwrap_or(0) }
    }
}

impl Brokers {
    /// The brokers that a scenario describes are as it says.
    pub fn new(scenario: &Scenario, topology: &Topology) -> Brokers {
        let specs = scenario.brokers.iter().filter_map(|spec| Some((topology.find(&spec.node)?, spec.clone())));
        Brokers {
            contents: Contents::default(),
            specs: specs.collect(),
            all: BTreeMap::new(),
            ledgers: BTreeMap::new(),
        }
    }

    pub fn framing(&self, tls: Option<bool>, contender: &Contender) -> Framing {
        let quic = contender.transport.is_quic();
        let plain = quic || tls == Some(false);
        let flights = if plain { Flights::none() } else { talk::flights(contender) };
        Framing { flights: Arc::new(flights), streams: quic, contents: self.contents.clone() }
    }

    /// The broker on a node.
    pub fn at(&mut self, node: NodeId) -> &mut Gathered {
        let spec = self.specs.get(&node);
        self.all.entry(node).or_insert_with(|| Gathered {
            process: BrokerProcess::new(broker_config(spec)),
            ports: Ports(BTreeMap::new()),
            listens: Vec::new(),
        })
    }

    /// The broker on a node listens on the port of a slot.
    pub fn listen(
        &mut self,
        node: NodeId,
        (kit, slot): (&Kit, Slot),
        framing: &Framing,
        streams: Streams,
    ) -> Result<(), String> {
        let maker = Maker::new(kit.clone(), Role::Server)?;
        let (gathered, port) = (self.at(node), slot.port());
        gathered.ports.0.insert(port, (maker, 0));
        gathered.listens.push(port);
        gathered.process.add_port(port, framing, streams);
        Ok(())
    }

    /// The processes of flow `number`, its subscriber and its publishers. The broker on a node listens for both.
    ///
    /// # Errors
    /// If a contender cannot be configured.
    pub fn flow(
        &mut self,
        site: &Site<'_>,
        (number, mqtt): (usize, &Mqtt),
        (kit, path, to): (Kit, FlowPath, DeliveryPath),
        [publish, deliver]: [Slot; 2],
    ) -> Result<[Spawn; 2], ScenarioError> {
        let (spec, flow) = (&site.scenario.flows[number], number as u32);
        let contender = mqtt.delivery.as_ref().unwrap_or(&kit.contender);
        let delivery = Kit {
            subject: flows::subject(site.fidelity, number, spec, contender)?,
            name: format!("flow {number}/delivery"),
            mtu: to.ways[0].mtu,
            paths: flows::usable_paths(contender, &to.ways),
            contender: contender.clone(),
            shadows: Vec::new(),
            log: None,
            moves: false,
            ..kit.clone()
        };
        let wrong = |message| flows::wrong(number, message);
        let heard = self.hear(mqtt, to.broker, (&delivery, deliver)).map_err(wrong)?;
        let said = self.hear(mqtt, path.server, (&kit, publish)).map_err(wrong)?;
        let ledger = Ledger::new(mqtt.publishers() as usize);
        let subscription = Subscriber::subscription(flow, qos(mqtt));
        self.at(to.broker).process.add_session(&Subscriber::client_id(flow), subscription);
        self.ledgers.insert(flow, ledger.clone());
        let dice = site.streams.named(&format!("flow {number}/messages"));
        let (config, from) = (subscriber_config(mqtt, heard.streams), deliver.at(to.ways[0].server));
        let subscriber = Box::new(Subscriber::new(flow, config, from, &heard, &ledger, wait(mqtt)));
        let (plan, into) = (plan((flow, mqtt), said.streams), publish.at(path.first().server));
        let publishers = Box::new(Publishers::new(plan, into, &said, &ledger, &dice));
        let maker = |kit| Maker::new(kit, Role::Client).map(Box::new).map_err(wrong);
        let subscriber = Spawn {
            connection: Some(deliver.connection()),
            class: flows::class(spec),
            ..Spawn::client(to.subscriber, subscriber, maker(delivery)?, Time::ZERO)
        };
        let publishers = Spawn {
            connection: Some(publish.connection()),
            class: flows::class(spec),
            radio: spec.radio.map(RadioKind::model),
            moves: path.moves,
            ..Spawn::client(path.client, publishers, maker(kit)?, path.start)
        };
        Ok([flows::on_paths(&to.ways, subscriber), flows::on_paths(&path.ways, publishers)])
    }

    /// The broker on a node listens for clients of a flow.
    fn hear(&mut self, mqtt: &Mqtt, node: NodeId, (kit, slot): (&Kit, Slot)) -> Result<Framing, String> {
        let framing = self.framing(mqtt.tls, &kit.contender);
        let streams = if framing.streams { streams(mqtt) } else { Streams::One };
        self.listen(node, (kit, slot), &framing, streams)?;
        Ok(framing)
    }

    /// Spawns the processes of the brokers.
    pub fn spawn(self, roster: &mut Roster) -> BTreeMap<NodeId, ProcessId> {
        let ledgers = Arc::new(self.ledgers);
        let one = |(node, Gathered { process, ports, listens })| {
            let application = Box::new(process.with_ledgers(ledgers.clone()));
            (node, roster.spawn(Owner::Broker, Spawn::server(node, application, Box::new(ports), listens)))
        };
        self.all.into_iter().map(one).collect()
    }
}

fn qos(mqtt: &Mqtt) -> QoS {
    // A scenario with another number was refused.
    QoS::of(mqtt.qos).unwrap_or_default()
}

fn streams(mqtt: &Mqtt) -> Streams {
    match mqtt.streams {
        MqttStreams::One => Streams::One,
        MqttStreams::Topic => Streams::Topic,
        MqttStreams::Publisher => Streams::Levels(PUBLISHER_LEVELS),
        MqttStreams::Message => Streams::Message,
    }
}

pub(crate) fn broker_config(spec: Option<&BrokerSpec>) -> BrokerConfig {
    let default = BrokerConfig { forward: Forward::Release, ..BrokerConfig::default() };
    let Some(spec) = spec else { return default };
    let drop = match spec.drop {
        Discard::Newest => DropPolicy::Newest,
        Discard::Oldest => DropPolicy::Oldest,
    };
    BrokerConfig {
        queue: Limit { messages: spec.queue.map_or(default.queue.messages, |most| most as usize), drop },
        queue_qos0: spec.queue_qos0,
        window: spec.window.unwrap_or(default.window),
        receive_maximum: spec.receive_maximum.unwrap_or(default.receive_maximum),
        topic_alias_maximum: spec.topic_alias_maximum.unwrap_or(default.topic_alias_maximum),
        forward: match spec.forward {
            Forwarding::Release => Forward::Release,
            Forwarding::Publish => Forward::Publish,
        },
        ..default
    }
}

/// What all clients have: those of flows and those of bridges. `quic` says whether the transport has more than one stream.
pub(super) fn common(
    (version, session, keep_alive): (MqttVersion, Session, Option<Quantity<Span>>),
    quic: bool,
) -> ClientConfig {
    let default = if quic { QUIC_KEEP_ALIVE } else { KEEP_ALIVE };
    ClientConfig {
        version: if version == MqttVersion::V311 { Version::V311 } else { Version::V5 },
        keep_alive: keep_alive.map_or(default, |q| (q.0.as_millis() / 1000) as u16),
        clean: session == Session::Clean,
        session_expiry: if session == Session::Clean { 0 } else { u32::MAX },
        ..ClientConfig::new("")
    }
}

/// What clients of a flow have in common.
fn client_config(mqtt: &Mqtt, quic: bool) -> ClientConfig {
    let window = mqtt.window.unwrap_or(u16::MAX);
    ClientConfig { window, ..common((mqtt.version, mqtt.session, mqtt.keep_alive), quic) }
}

/// What the publishers of a flow are to do. `quic` says whether the transport has more than one stream.
pub(crate) fn plan((flow, mqtt): (u32, &Mqtt), quic: bool) -> PublisherPlan {
    let mean = |given: Option<Quantity<Span>>| given.map_or(Span::from_secs(1), |q| q.0);
    let trace = || mqtt.trace.iter().flatten().map(|(at, size)| (at.0, size.0.0)).collect();
    PublisherPlan {
        flow,
        publishers: mqtt.publishers(),
        spread: mqtt.spread.map_or(Span::ZERO, |q| q.0),
        traffic: Traffic {
            arrivals: match mqtt.arrivals {
                Arrival::Constant => Arrivals::Constant,
                Arrival::Poisson => Arrivals::Poisson,
                Arrival::Bursts => Arrivals::Bursts(mqtt.burst.unwrap_or(10)),
                Arrival::OnOff => Arrivals::OnOff(mean(mqtt.on), mean(mqtt.off)),
                Arrival::Trace => Arrivals::Trace(Arc::new(trace())),
            },
            interval: mean(mqtt.interval),
            size: mqtt.payload(),
            messages: mqtt.messages,
        },
        shared: mqtt.streams == MqttStreams::Publisher,
        topics: mqtt.topics.unwrap_or(1),
        qos: qos(mqtt),
        sleep: mqtt.sleep,
        reconnect: mean(mqtt.reconnect),
        client: ClientConfig {
            eager: mqtt.eager,
            streams: if quic { streams(mqtt) } else { Streams::One },
            batch: mqtt.batch.map(|batch| Batch { messages: batch.messages as usize, delay: batch.delay.0 }),
            ..client_config(mqtt, quic)
        },
    }
}

/// How a flow's subscriber behaves.
pub(crate) fn subscriber_config(mqtt: &Mqtt, quic: bool) -> ClientConfig {
    ClientConfig {
        clean: false,
        session_expiry: u32::MAX,
        receive_maximum: mqtt.receive_maximum.unwrap_or(u16::MAX),
        topic_alias_maximum: mqtt.topic_alias_maximum.unwrap_or(0),
        ..client_config(mqtt, quic)
    }
}

/// How long missing messages are waited for.
pub(crate) fn wait(mqtt: &Mqtt) -> Span {
    mqtt.wait.map_or(Span::from_secs(60), |q| q.0)
}
