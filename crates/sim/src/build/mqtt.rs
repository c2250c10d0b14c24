//! Flows with MQTT: publishers and a subscriber for each, and a broker for each node that has one.

use super::roster::{Owner, Roster, Slot};
use super::transports::{Kit, Maker};
use super::{Site, flows, talk};
use crate::application::{BrokerProcess, Framing, Ledger, Publishers, Subscriber};
use crate::contender::Contender;
use crate::contents::Contents;
use crate::network::{DeliveryPath, FlowPath};
use crate::scenario::{Broker, Mqtt, RadioKind, Scenario, ScenarioError};
use crate::tls::Flights;
use crate::world::{Port, ProcessId, Spawn, Transports};
use haltere_mqtt::{BrokerConfig, Streams};
use haltere_net::Time;
use haltere_net::topology::{NodeId, Topology};
use haltere_transport::{Endpoint, Role};
use std::collections::BTreeMap;
use std::sync::Arc;

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
    configs: BTreeMap<NodeId, BrokerConfig>,
    all: BTreeMap<NodeId, Gathered>,
    ledgers: BTreeMap<u32, Ledger>,
}

/// The way of a flow's messages.
pub(crate) struct Delivery {
    /// The node of the publishers' broker, and the port on which it hears them.
    pub broker: NodeId,
    pub port: Port,
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

    /// How messages are framed in a contender's streams; `tls`: the flights of its TLS, if it is to encrypt.
    pub fn framing(&self, contender: &Contender, tls: Option<Flights>) -> Framing {
        let quic = contender.transport.is_quic();
        let flights = tls.filter(|_| !quic).unwrap_or_else(Flights::none);
        Framing { flights: Arc::new(flights), streams: quic, contents: self.contents.clone() }
    }

    /// The broker on a node.
    pub fn at(&mut self, node: NodeId) -> &mut Gathered {
        let config = self.configs.get(&node);
        self.all.entry(node).or_insert_with(|| Gathered {
            process: BrokerProcess::new(config.cloned().unwrap_or_else(Broker::usual)),
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
        let (spec, plan) = (&site.scenario.flows[number], &mqtt.publishers);
        let contender = &mqtt.delivery;
        let wrong = |message| flows::wrong(number, message);
        let hosts = [to.subscriber, to.broker];
        let delivery = Kit {
            subject: flows::subject(site.fidelity, number, spec, contender)?,
            name: format!("flow {number}/delivery"),
            hosts,
            phases: hosts.map(|host| site.phase(host)),
            ways: flows::ways(contender, &to.ways),
            port: deliver.kernel_port(),
            mtu: to.ways[0].mtu,
            paths: flows::usable_paths(contender, &to.ways),
            contender: contender.clone(),
            shadows: Vec::new(),
            log: None,
            moves: false,
            ..kit.clone()
        };
        let heard = self.hear(mqtt, to.broker, (&delivery, deliver)).map_err(wrong)?;
        let said = self.hear(mqtt, path.server, (&kit, publish)).map_err(wrong)?;
        let ledger = Ledger::new(plan.publishers as usize);
        let subscription = Subscriber::subscription(plan.flow, plan.qos);
        self.at(to.broker).process.add_session(&Subscriber::client_id(plan.flow), subscription);
        self.ledgers.insert(plan.flow, ledger.clone());
        let dice = site.streams.named(&format!("flow {number}/messages"));
        let (receives, from) = (mqtt.receives.clone(), deliver.at(to.ways[0].server));
        let subscriber = Box::new(Subscriber::new(plan.flow, receives, from, &heard, &ledger, mqtt.wait));
        let into = publish.at(path.first().server);
        let publishers = Box::new(Publishers::new(plan.clone(), into, &said, &ledger, &dice));
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
        let framing = self.framing(&kit.contender, mqtt.tls.then(|| talk::flights(&kit.contender)));
        let streams = if framing.streams { mqtt.streams } else { Streams::One };
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
