//! The processes of flows with MQTT: publishers and a subscriber for each flow, and a broker with its bridges for each node that
//! has one.

use super::talk;
use super::transports::{Kit, Maker};
use crate::application::{
    Application, Arrivals, BrokerProcess, Framing, Ledger, PUBLISHER_LEVELS, PublisherPlan, Publishers, Subscriber,
    Traffic,
};
use crate::contender::Contender;
use crate::contents::Contents;
use crate::network::Between;
use crate::radio::RadioModel;
use crate::scenario::{
    Arrival, BridgeSpec, BridgeWay, BrokerSpec, Discard, Forwarding, Mqtt, MqttStreams, MqttVersion, Quantity,
    Scenario, Session,
};
use crate::tls::Flights;
use crate::world::{Move, Port, Remote, Spawn, Transports};
use haltere_mqtt::client::Batch;
use haltere_mqtt::{
    BridgeTopic, BrokerConfig, ClientConfig, Direction, DropPolicy, Forward, Limit, QoS, Streams, Version,
};
use haltere_net::rng::Stream;
use haltere_net::topology::{NodeId, Topology};
use haltere_net::{Address, ConnectionId, Span, Time};
use haltere_transport::{Endpoint, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The keep-alive time of clients, s: that of common client libraries (Eclipse Paho). Over QUIC it is shorter than the idle
/// timeout of 30 s, which would end the connection.
const KEEP_ALIVE: u16 = 60;
const QUIC_KEEP_ALIVE: u16 = 20;
/// How long after a loss a bridge connects again: mosquitto's `restart_timeout` begins with 5 s.
const BRIDGE_RECONNECT: Span = Span::from_secs(5);

/// Makes the transports of a broker: on each port it has those of one contender.
struct Ports(BTreeMap<Port, (Maker, u32)>);

impl Transports for Ports {
    fn endpoint(&mut self, role: Role, _: u32, port: Port) -> Result<Box<dyn Endpoint>, String> {
        let (maker, made) = self.0.get_mut(&port).ok_or("nobody listens there")?;
        *made += 1;
        maker.endpoint(role, *made - 1, port)
    }
}

/// A broker while its flows and bridges are gathered.
struct Gathered {
    process: BrokerProcess,
    ports: Ports,
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

/// The clients of a broker at one node: their connections, and when they begin.
pub(super) struct Clients {
    pub node: NodeId,
    /// The broker's node.
    pub at: NodeId,
    pub kit: Kit,
    /// The broker's address and the port that is theirs.
    pub broker: Remote,
    /// The number of their first connection.
    pub connection: u32,
    pub start: Time,
    /// The paths of their connections, and which of all are in reserve.
    pub paths: Vec<(Address, Address)>,
    pub backups: Vec<bool>,
    pub class: u8,
    /// What happens to their addresses.
    pub moves: Vec<Move>,
    /// The radio of each of them.
    pub radio: Option<RadioModel>,
}

impl Clients {
    /// Their process.
    fn spawn(self, application: Box<dyn Application>) -> Result<Spawn, String> {
        Ok(Spawn {
            node: self.node,
            application,
            transports: Box::new(Maker::new(self.kit, Role::Client)?),
            start: Some(self.start),
            ports: Vec::new(),
            connection: Some(ConnectionId(self.connection)),
            class: self.class,
            paths: self.paths,
            backups: self.backups,
            moves: self.moves,
            radio: self.radio,
        })
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

    fn framing(&self, tls: Option<bool>, contender: &Contender) -> Framing {
        let quic = contender.transport.is_quic();
        let plain = quic || tls == Some(false);
        let flights = if plain { Flights::none() } else { talk::flights(contender) };
        Framing { flights: Arc::new(flights), streams: quic, contents: self.contents.clone() }
    }

    fn at(&mut self, node: NodeId) -> &mut Gathered {
        let spec = self.specs.get(&node);
        self.all.entry(node).or_insert_with(|| Gathered {
            process: BrokerProcess::new(broker_config(spec)),
            ports: Ports(BTreeMap::new()),
            listens: Vec::new(),
        })
    }

    /// Clients connect to this port of a broker.
    fn listen(
        &mut self,
        node: NodeId,
        (kit, port): (&Kit, Port),
        framing: &Framing,
        streams: Streams,
    ) -> Result<(), String> {
        let maker = Maker::new(kit.clone(), Role::Server)?;
        let gathered = self.at(node);
        gathered.ports.0.insert(port, (maker, 0));
        gathered.listens.push(port);
        gathered.process.add_port(port, framing, streams);
        Ok(())
    }

    /// A bridge, the scenario's number `n`, to this port of the other broker.
    ///
    /// # Errors
    /// If its contender cannot be configured.
    pub fn bridge(
        &mut self,
        n: usize,
        spec: &BridgeSpec,
        between: &Between,
        port: Port,
        kit: &Kit,
    ) -> Result<(), String> {
        let framing = self.framing(spec.tls, &spec.contender);
        self.listen(between.to, (kit, port), &framing, Streams::One)?;
        let maker = Maker::new(kit.clone(), Role::Client)?;
        let config = ClientConfig {
            client_id: format!("bridge {n}").as_str().into(),
            ..common((spec.version, spec.session, spec.keep_alive), framing.streams)
        };
        let topics = spec.topics.iter().map(|topic| BridgeTopic {
            filter: topic.filter().into(),
            direction: match topic.direction {
                BridgeWay::Out => Direction::Out,
                BridgeWay::In => Direction::In,
                BridgeWay::Both => Direction::Both,
            },
            // Another number was refused.
            qos: QoS::of(topic.qos).unwrap_or_default(),
        });
        let reconnect = spec.reconnect.map_or(BRIDGE_RECONNECT, |q| q.0);
        let remote = Remote { address: between.address, port };
        let home = self.at(between.from);
        home.ports.0.insert(port, (maker, 0));
        home.process.add_bridge(config, &topics.collect::<Vec<_>>(), remote, &framing, reconnect);
        Ok(())
    }

    /// The processes of a flow, its subscriber and its publishers. The broker on a node listens for both. What is random is
    /// drawn from `dice`.
    ///
    /// # Errors
    /// If a contender cannot be configured.
    pub fn flow(
        &mut self,
        of: (u32, &Mqtt),
        [subscriber, publishers]: [Clients; 2],
        dice: &Stream,
    ) -> Result<[Spawn; 2], String> {
        let (flow, mqtt) = of;
        let framings = [&subscriber, &publishers].map(|clients| self.framing(mqtt.tls, &clients.kit.contender));
        for (clients, framing) in [&subscriber, &publishers].into_iter().zip(&framings) {
            let streams = if framing.streams { streams(mqtt) } else { Streams::One };
            self.listen(clients.at, (&clients.kit, clients.broker.port), framing, streams)?;
        }
        let ledger = Ledger::new(mqtt.publishers() as usize);
        let subscription = Subscriber::subscription(flow, qos(mqtt));
        self.at(subscriber.at).process.add_session(&Subscriber::client_id(flow), subscription);
        self.ledgers.insert(flow, ledger.clone());
        let receives = self::subscriber(of, subscriber.broker, &framings[0], &ledger);
        let sends = self::publishers(of, publishers.broker, &framings[1], &ledger, dice);
        Ok([subscriber.spawn(Box::new(receives))?, publishers.spawn(Box::new(sends))?])
    }

    /// The processes of the brokers.
    pub fn spawns(self) -> impl Iterator<Item = Spawn> {
        let ledgers = Arc::new(self.ledgers);
        self.all.into_iter().map(move |(node, gathered)| Spawn {
            node,
            ports: gathered.listens,
            application: Box::new(gathered.process.with_ledgers(ledgers.clone())),
            transports: Box::new(gathered.ports),
            start: None,
            connection: None,
            class: 0,
            paths: Vec::new(),
            backups: Vec::new(),
            radio: None,
            moves: Vec::new(),
        })
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
fn common((version, session, keep_alive): (MqttVersion, Session, Option<Quantity<Span>>), quic: bool) -> ClientConfig {
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

/// The process of a flow's publishers.
fn publishers(
    (flow, mqtt): (u32, &Mqtt),
    broker: Remote,
    framing: &Framing,
    ledger: &Ledger,
    dice: &Stream,
) -> Publishers {
    Publishers::new(plan((flow, mqtt), framing.streams), broker, framing, ledger, dice)
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

/// The process of a flow's subscriber.
fn subscriber((flow, mqtt): (u32, &Mqtt), broker: Remote, framing: &Framing, ledger: &Ledger) -> Subscriber {
    Subscriber::new(flow, subscriber_config(mqtt, framing.streams), broker, framing, ledger, wait(mqtt))
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
