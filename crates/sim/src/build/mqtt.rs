//! Flows with MQTT: publishers and a subscriber for each, and a broker for each node that has one.

use super::endpoints::FlowPrograms;
use super::roster::{Owner, Roster, Slot};
use super::transports::{Kit, Maker};
use super::{Site, flows, programs, talk};
use crate::application::{
    Application, BrokerProcess, Framing, Ledger, ProgramClient, ProgramPublishers, ProgramServer, Publishers,
    Subscriber,
};
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
    /// The program that is the broker in place of the process, and the first flow that names it.
    program: Option<(usize, FlowPrograms)>,
}

/// The brokers of a scenario.
pub(super) struct Brokers {
    contents: Contents,
    configs: BTreeMap<NodeId, BrokerConfig>,
    all: BTreeMap<NodeId, Gathered>,
    ledgers: BTreeMap<u32, Ledger>,
}

/// The transports at the ends of a flow, its slots and its paths: those of the publishers and those of the subscriber.
type Ends<'a> = ((Kit, Slot, &'a FlowPath), (Kit, Slot, &'a DeliveryPath));

/// The transports and the applications of a flow's clients: the subscriber's and the publishers'.
type Clients = ([Kit; 2], [Box<dyn Application>; 2]);

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
            program: None,
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
        self.at(node).process.add_port(slot.port(), framing, streams);
        self.open(node, (kit, slot))
    }

    /// Makes the transports of a port of the broker on a node.
    fn open(&mut self, node: NodeId, (kit, slot): (&Kit, Slot)) -> Result<(), String> {
        let maker = Maker::new(kit.clone(), Role::Server)?;
        let (gathered, port) = (self.at(node), slot.port());
        gathered.ports.0.insert(port, (maker, 0));
        gathered.listens.push(port);
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
        let spec = &site.scenario.flows[number];
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
            contender: Arc::new(contender.clone()),
            shadows: Vec::new(),
            log: None,
            moves: false,
            programs: None,
            ..kit.clone()
        };
        let ends = ((kit, publish, &path), (delivery, deliver, &to));
        let ([delivery, kit], [subscriber, publishers]) = match ends.0.0.programs {
            Some(_) => self.by_programs(site, number, ends).map_err(wrong)?,
            None => self.in_model(site, (number, mqtt), ends).map_err(wrong)?,
        };
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

    /// The transports and the applications of subscriber and publishers in the model, whose broker is a process.
    fn in_model(
        &mut self,
        site: &Site<'_>,
        (number, mqtt): (usize, &Mqtt),
        ((kit, publish, path), (delivery, deliver, to)): Ends<'_>,
    ) -> Result<Clients, String> {
        let plan = &mqtt.publishers;
        let heard = self.hear(mqtt, to.broker, (&delivery, deliver))?;
        let said = self.hear(mqtt, path.server, (&kit, publish))?;
        if self.at(path.server).program.is_some() {
            return Err(programs::ONE_BROKER.into());
        }
        let ledger = Ledger::new(plan.publishers as usize);
        let subscription = Subscriber::subscription(plan.flow, plan.qos);
        self.at(to.broker).process.add_session(&Subscriber::client_id(plan.flow), subscription);
        self.ledgers.insert(plan.flow, ledger.clone());
        let dice = site.streams.named(&format!("flow {number}/messages"));
        let (receives, from) = (mqtt.receives.clone(), deliver.at(to.ways[0].server));
        let subscriber = Box::new(Subscriber::new(plan.flow, receives, from, &heard, &ledger, mqtt.wait));
        let into = publish.at(path.first().server);
        let publishers = Box::new(Publishers::new(plan.clone(), into, &said, &ledger, &dice));
        Ok(([delivery, kit], [subscriber, publishers]))
    }

    /// The transports and the applications of subscriber and publishers that are programs, as their broker is.
    fn by_programs(
        &mut self,
        site: &Site<'_>,
        number: usize,
        ((kit, publish, path), (delivery, deliver, to)): Ends<'_>,
    ) -> Result<Clients, String> {
        if !delivery.subject.is_program() || to.broker != path.server {
            return Err(programs::ONE_BROKER.into());
        }
        let whole = programs::of_messages(site.programs, number, &kit.contender)?;
        let kit = Kit { programs: Some(programs::publishing(&whole)), ..kit };
        let delivery = Kit { programs: Some(programs::subscribing(&whole)?), ..delivery };
        let gathered = self.at(path.server);
        if gathered.program.is_none() && !gathered.listens.is_empty() {
            return Err(programs::ONE_BROKER.into());
        }
        gathered.program.get_or_insert((number, whole));
        self.open(to.broker, (&delivery, deliver))?;
        self.open(path.server, (&kit, publish))?;
        let subscriber = Box::new(ProgramClient::new(deliver.at(to.ways[0].server)));
        let publishers = Box::new(ProgramPublishers::new(publish.at(path.first().server)));
        Ok(([delivery, kit], [subscriber, publishers]))
    }

    /// The broker on a node listens for clients of a flow.
    fn hear(&mut self, mqtt: &Mqtt, node: NodeId, (kit, slot): (&Kit, Slot)) -> Result<Framing, String> {
        let framing = self.framing(&kit.contender, mqtt.tls.then(|| talk::flights(&kit.contender)));
        let streams = if framing.streams { mqtt.streams } else { Streams::One };
        self.listen(node, (kit, slot), &framing, streams)?;
        Ok(framing)
    }

    /// Spawns the processes of the brokers. Those that are programs are started.
    ///
    /// # Errors
    /// If a program does not open its ports.
    pub fn spawn(self, site: &Site<'_>, roster: &mut Roster) -> Result<BTreeMap<NodeId, ProcessId>, ScenarioError> {
        let ledgers = Arc::new(self.ledgers);
        let one = |(node, Gathered { process, ports, listens, program }): (NodeId, Gathered)| {
            let application: Box<dyn Application> = match program {
                None => Box::new(process.with_ledgers(ledgers.clone())),
                Some((flow, program)) => {
                    programs::serve(&site.kernels, node, &program).map_err(|message| flows::wrong(flow, message))?;
                    Box::<ProgramServer>::default()
                }
            };
            Ok((node, roster.spawn(Owner::Broker, Spawn::server(node, application, Box::new(ports), listens))))
        };
        self.all.into_iter().map(one).collect()
    }
}
