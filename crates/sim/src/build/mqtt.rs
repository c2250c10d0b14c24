//! The processes of flows with MQTT: publishers and a subscriber for each flow, and a broker with its bridges for each node that
//! has one.

use super::talk;
use super::transports::{Kit, Maker};
use crate::application::{Application, BrokerProcess, Framing, Ledger, Publishers, Subscriber};
use crate::contender::Contender;
use crate::contents::Contents;
use crate::network::Between;
use crate::radio::RadioModel;
use crate::scenario::{Bridge, Broker, Mqtt, Scenario};
use crate::tls::Flights;
use crate::world::{Move, Port, Remote, Spawn, Transports};
use haltere_mqtt::{BrokerConfig, ClientConfig, Streams};
use haltere_net::rng::Stream;
use haltere_net::topology::{NodeId, Topology};
use haltere_net::{Address, ConnectionId, Time};
use haltere_transport::{Endpoint, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    configs: BTreeMap<NodeId, BrokerConfig>,
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
        let configs = scenario.brokers.iter();
        let configs = configs.filter_map(|broker| Some((topology.find(&broker.node)?, broker.config.clone())));
        Brokers {
            contents: Contents::default(),
            configs: configs.collect(),
            all: BTreeMap::new(),
            ledgers: BTreeMap::new(),
        }
    }

    fn framing(&self, tls: bool, contender: &Contender) -> Framing {
        let quic = contender.transport.is_quic();
        let flights = if quic || !tls { Flights::none() } else { talk::flights(contender) };
        Framing { flights: Arc::new(flights), streams: quic, contents: self.contents.clone() }
    }

    fn at(&mut self, node: NodeId) -> &mut Gathered {
        let config = self.configs.get(&node);
        self.all.entry(node).or_insert_with(|| Gathered {
            process: BrokerProcess::new(config.cloned().unwrap_or_else(Broker::usual)),
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
    pub fn bridge(&mut self, n: usize, spec: &Bridge, between: &Between, port: Port, kit: &Kit) -> Result<(), String> {
        let framing = self.framing(spec.tls, &spec.contender);
        self.listen(between.to, (kit, port), &framing, Streams::One)?;
        let maker = Maker::new(kit.clone(), Role::Client)?;
        let config = ClientConfig { client_id: format!("bridge {n}").as_str().into(), ..spec.client.clone() };
        let remote = Remote { address: between.address, port };
        let home = self.at(between.from);
        home.ports.0.insert(port, (maker, 0));
        home.process.add_bridge(config, &spec.topics, remote, &framing, spec.reconnect);
        Ok(())
    }

    /// The processes of a flow, its subscriber and its publishers. The broker on a node listens for both. What is random is
    /// drawn from `dice`.
    ///
    /// # Errors
    /// If a contender cannot be configured.
    pub fn flow(
        &mut self,
        mqtt: &Mqtt,
        [subscriber, publishers]: [Clients; 2],
        dice: &Stream,
    ) -> Result<[Spawn; 2], String> {
        let (plan, flow) = (&mqtt.publishers, mqtt.publishers.flow);
        let framings = [&subscriber, &publishers].map(|clients| self.framing(mqtt.tls, &clients.kit.contender));
        for (clients, framing) in [&subscriber, &publishers].into_iter().zip(&framings) {
            let streams = if framing.streams { mqtt.streams } else { Streams::One };
            self.listen(clients.at, (&clients.kit, clients.broker.port), framing, streams)?;
        }
        let ledger = Ledger::new(plan.publishers as usize);
        let subscription = Subscriber::subscription(flow, plan.qos);
        self.at(subscriber.at).process.add_session(&Subscriber::client_id(flow), subscription);
        self.ledgers.insert(flow, ledger.clone());
        let (to, receives) = (subscriber.broker, mqtt.receives.clone());
        let receives = Subscriber::new(flow, receives, to, &framings[0], &ledger, mqtt.wait);
        let sends = Publishers::new(plan.clone(), publishers.broker, &framings[1], &ledger, dice);
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
