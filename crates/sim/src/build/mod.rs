//! Builds the world of a scenario at time zero.
//!
//! | file | holds |
//! |---|---|
//! | `elements` | the network elements |
//! | `endpoints` | the transport of each end of a flow |
//! | `transports` | who makes one for each connection of a process |
//! | `loads` | the processes of a load |
//! | `mqtt` | the processes of a flow with MQTT, and brokers |
//! | `probes` | the processes of a probe |
//! | `shadows` | the congestion controls in the shadow of a flow's |
//! | `talk` | what its applications say |

mod elements;
mod endpoints;
pub(crate) mod loads;
pub(crate) mod mqtt;
mod probes;
mod shadows;
mod talk;
mod transports;

use crate::contender::{Contender, Transport};
use crate::fidelity::{Fidelity, Subject};
use crate::network::{DeliveryPath, FlowPath, Network, Way, network};
use crate::recorder::{self, Files, Recorder};
use crate::scenario::{Flow, Load, Probe, RadioKind, Scenario, ScenarioError};
use crate::stack::Past;
use crate::world::{Port, Process, ProcessId, Remote, Spawn, World};
use endpoints::{Worker, udp_payload};
use haltere_net::rng::Streams;
use haltere_net::topology::NodeId;
use haltere_net::{ConnectionId, Span, Time};
use haltere_transport::Role;
use mqtt::{Brokers, Clients};
use std::collections::BTreeSet;
use std::sync::Arc;
use talk::Talk;
use transports::{Kit, Maker};

/// A world and the data needed to make a result from it.
pub(crate) struct Run {
    pub world: World,
    pub flows: Vec<Flow>,
    pub starts: Vec<Time>,
    pub probes: Vec<Probe>,
    pub loads: Vec<Load>,
    /// The contenders in the shadow of each flow.
    pub shadows: Vec<Vec<Contender>>,
}

/// The two processes of a flow. Those of the flows come first, two for each. Those of the probes
/// follow, then those of the loads, two for each as well, then the brokers. This is the only place that states how they are
/// numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowEnds {
    /// The client's process, which receives the data. With MQTT it is the subscriber's.
    pub client: ProcessId,
    /// The server's process, which sends them. With MQTT it is the publishers'.
    pub server: ProcessId,
}

/// What a process belongs to, by its number among the scenario's flows, probes or loads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Owner {
    /// A flow, of which it is this end.
    Flow(usize, Role),
    /// A probe; the client sends the requests.
    Probe(usize, Role),
    /// A load; the client sends.
    Load(usize, Role),
    /// A broker.
    Broker,
}

impl FlowEnds {
    /// The processes of a flow.
    #[inline]
    pub const fn of(flow: usize) -> FlowEnds {
        FlowEnds { client: ProcessId(2 * flow as u32), server: ProcessId(2 * flow as u32 + 1) }
    }
}

impl Run {
    /// What a process belongs to.
    pub fn owner(&self, process: ProcessId) -> Owner {
        let role = if process.0.is_multiple_of(2) { Role::Client } else { Role::Server };
        let (number, flows, probes) = (process.0 as usize / 2, self.flows.len(), self.probes.len());
        match number.checked_sub(flows) {
            None => Owner::Flow(number, role),
            Some(number) if number < probes => Owner::Probe(number, role),
            Some(number) if number < probes + self.loads.len() => Owner::Load(number - probes, role),
            Some(_) => Owner::Broker,
        }
    }

    /// The process that sends the requests of a probe.
    pub fn prober(&self, probe: usize) -> &Process {
        &self.world.processes()[2 * (self.flows.len() + probe)]
    }

    /// The broker of a flow with MQTT.
    pub fn broker_of(&self, flow: usize) -> Option<&Process> {
        let broker = &self.flows.get(flow).filter(|flow| flow.mqtt().is_some())?.place.server;
        let first = 2 * (self.flows.len() + self.probes.len() + self.loads.len());
        let node = self.world.topology().find(broker)?;
        self.world.processes().get(first..)?.iter().find(|process| process.node() == node)
    }

    /// The processes of a load: who sends, and who receives.
    pub fn load(&self, load: usize) -> [&Process; 2] {
        let first = 2 * (self.flows.len() + self.probes.len() + load);
        [&self.world.processes()[first], &self.world.processes()[first + 1]]
    }
}

/// Whether every contender and probe of a scenario can run at a fidelity.
pub fn check_at(fidelity: Fidelity, scenario: &Scenario) -> Result<(), ScenarioError> {
    for (i, flow) in scenario.flows.iter().enumerate() {
        subject(fidelity, i, flow, &flow.contender)?;
        if let Some(delivery) = flow.mqtt().map(|mqtt| &mqtt.delivery) {
            subject(fidelity, i, flow, delivery)?;
        }
    }
    for (i, broker) in scenario.brokers.iter().enumerate() {
        for (k, bridge) in broker.bridges.iter().enumerate() {
            let path = format!("brokers[{i}].bridges[{k}].contender");
            bridge.contender.at(fidelity).map_err(|message| ScenarioError { path, message })?;
        }
    }
    let moves = scenario.flows.iter().any(|flow| !flow.migrate.is_empty() || !flow.rebind.is_empty());
    if moves || !scenario.probes.is_empty() || !scenario.loads.is_empty() {
        // The packets of probes and loads must fit into the MTU of their path, which the network knows, and clients move to paths
        // that there are.
        network(scenario, &Streams::new(0, 0))?;
    }
    Ok(())
}

/// The implementation that runs flow `i`.
fn subject(fidelity: Fidelity, i: usize, flow: &Flow, contender: &Contender) -> Result<Subject, ScenarioError> {
    let error = |field: &str, message| ScenarioError { path: format!("flows[{i}].{field}"), message };
    let subject = contender.at(fidelity).map_err(|message| error("contender", message))?;
    for (field, given) in [("migrate", !flow.migrate.is_empty()), ("rebind", !flow.rebind.is_empty())] {
        if given && !matches!(subject, Subject::Model(_)) {
            let message = "production stacks keep their addresses here: leave it out, or run the model";
            return Err(error(field, message.into()));
        }
    }
    if flow.ack.is_some() && !matches!(subject, Subject::Model(_)) {
        let message = "a production stack acknowledges as it does: leave ack out, or write quic@model/…";
        return Err(error("ack", message.into()));
    }
    Ok(subject)
}

/// The world of a scenario in the model at time zero, for a driver of its own.
pub fn world(scenario: &Scenario, seed: u64, replication: u64) -> Result<World, ScenarioError> {
    Ok(build(Fidelity::Model, scenario, (seed, replication), None)?.world)
}

/// The world of a scenario at a fidelity at time zero. With `files`, its recorder writes them.
pub(crate) fn build(
    fidelity: Fidelity,
    scenario: &Scenario,
    (seed, replication): (u64, u64),
    files: Option<&Files>,
) -> Result<Run, ScenarioError> {
    let streams = &Streams::new(seed, replication);
    let Network { topology, flows, probes, loads, bridges } = network(scenario, streams)?;
    if let Some(files) = files {
        // This is checked before any file is created.
        check_at(fidelity, scenario)?;
        refuse_qlog(scenario, files)?;
    }
    let shadows = files.map_or(&[][..], |files| &files.shadows);
    let shadows = shadows::of_flows(shadows, &scenario.flows, fidelity)?;
    let origin = recorder::Origin { seed, replication };
    let recorder = files.map(|files| Recorder::new(&topology, &scenario.flows, &flows, files, &origin)).transpose()?;
    let phase = clock_phase(streams);
    let worker = Worker::default();
    let (mut spawns, mut starts, mut brokers) = (Vec::new(), Vec::new(), Brokers::new(scenario, &topology));
    for (i, (flow, path)) in scenario.flows.iter().zip(flows).enumerate() {
        let wrong = |message: String| ScenarioError { path: format!("flows[{i}].contender"), message };
        let mtu = path.first().mtu;
        let (address, start) = (path.first().server, path.start);
        let pairs = |ways: &[Way]| ways.iter().map(|way| (way.client, way.server)).collect();
        let paths: Vec<_> = pairs(&path.ways);
        let backups: Vec<_> = path.ways.iter().map(|way| way.backup).collect();
        let ways = u8::try_from(path.ways.len()).unwrap_or(u8::MAX);
        let FlowPath { contender, server, client, moves, .. } = path;
        let subject = subject(fidelity, i, flow, &contender)?;
        if !matches!(subject, Subject::Model(_)) && contender.transport == Transport::Mpquic && backups.contains(&true)
        {
            return Err(wrong(
                "production stacks have no paths in reserve: leave backup out of the paths, or run the model".into(),
            ));
        }
        let stream = |end: &str| streams.named(&format!("flow {i}/{end}/earlier"));
        let earlier = [stream("client"), stream("server")];
        let past = Past::of(subject, &contender, udp_payload(mtu), start, earlier).map_err(wrong)?;
        let kit = Kit {
            subject,
            ack: flow.ack,
            name: format!("flow {i}"),
            flow: i as u32,
            mtu,
            phase,
            rtts: flow.mqtt().is_none(),
            moves: !flow.migrate.is_empty(),
            paths: if contender.transport.is_multipath() { ways } else { 1 },
            contender,
            shadows: shadows[i].clone(),
            files: files.cloned(),
            past: Arc::new(past),
            worker: worker.clone(),
            streams: *streams,
        };
        let (port, class, radio) = (Port(i as u32), flow.tos.unwrap_or(0) >> 2, flow.radio.map(RadioKind::model));
        starts.push(start);
        if let (Some(mqtt), Some(DeliveryPath { broker: to, subscriber, ways: its_ways })) =
            (flow.mqtt(), path.delivery)
        {
            let own = (scenario.flows.len() + scenario.probes.len() + scenario.loads.len() + i) as u32;
            let contender = mqtt.delivery.clone();
            let subject = self::subject(fidelity, i, flow, &contender)?;
            let delivery = Kit {
                subject,
                name: format!("flow {i}/delivery"),
                mtu: its_ways.first().map_or(mtu, |way| way.mtu),
                paths: if contender.transport.is_multipath() { its_ways.len().min(255) as u8 } else { 1 },
                contender,
                shadows: Vec::new(),
                files: None,
                moves: false,
                ..kit.clone()
            };
            let subscriber = Clients {
                node: subscriber,
                at: to,
                kit: delivery,
                broker: Remote { address: its_ways.first().map_or(address, |way| way.server), port: Port(own) },
                connection: own,
                start: Time::ZERO,
                paths: pairs(&its_ways),
                backups: its_ways.iter().map(|way| way.backup).collect(),
                class,
                moves: Vec::new(),
                radio: None,
            };
            let (broker, connection) = (Remote { address, port }, i as u32);
            let publishers = Clients {
                node: client,
                at: server,
                kit,
                broker,
                connection,
                start,
                paths,
                backups,
                class,
                moves,
                radio,
            };
            let dice = streams.named(&format!("flow {i}/messages"));
            spawns.extend(brokers.flow(mqtt, [subscriber, publishers], &dice).map_err(wrong)?);
            continue;
        }
        // The process that sends is on the client's host then.
        let up = flow.way() == crate::scenario::Way::Up;
        let talk = Talk::of(flow, &kit.contender);
        let maker = |role| Maker::new(kit.clone(), role).map_err(wrong);
        spawns.push(Spawn {
            node: client,
            application: talk.client(Remote { address, port }),
            transports: Box::new(maker(Role::Client)?),
            start: Some(start),
            ports: Vec::new(),
            connection: Some(ConnectionId(i as u32)),
            class,
            paths,
            backups,
            moves,
            radio: radio.filter(|_| !up),
        });
        spawns.push(Spawn {
            node: server,
            application: talk.server(),
            transports: Box::new(maker(Role::Server)?),
            start: None,
            ports: vec![port],
            connection: None,
            class,
            paths: Vec::new(),
            backups: Vec::new(),
            radio: radio.filter(|_| up),
            moves: Vec::new(),
        });
    }
    for (i, (probe, between)) in scenario.probes.iter().zip(probes).enumerate() {
        let connection = (scenario.flows.len() + i) as u32;
        let wrong = |message| ScenarioError { path: format!("probes[{i}]"), message };
        spawns.extend(probes::spawns(i, probe, &between, connection, phase, streams).map_err(wrong)?);
    }
    for (i, (load, between)) in scenario.loads.iter().zip(loads).enumerate() {
        let connection = (scenario.flows.len() + scenario.probes.len() + i) as u32;
        spawns.extend(loads::spawns(load, &between, connection, &streams.named(&format!("load {i}/periods"))));
    }
    let specs = scenario.brokers.iter().enumerate();
    let specs = specs.flat_map(|(i, broker)| broker.bridges.iter().enumerate().map(move |(k, spec)| (i, k, spec)));
    for (n, ((i, k, spec), between)) in specs.zip(bridges).enumerate() {
        let wrong = |message| ScenarioError { path: format!("brokers[{i}].bridges[{k}].contender"), message };
        let subject = spec.contender.at(fidelity).map_err(wrong)?;
        let stream = |end: &str| streams.named(&format!("bridge {n}/{end}/earlier"));
        let earlier = [stream("client"), stream("server")];
        let past = Past::of(subject, &spec.contender, udp_payload(between.mtu), Time::ZERO, earlier).map_err(wrong)?;
        let kit = Kit {
            subject,
            ack: None,
            name: format!("bridge {n}"),
            flow: 0,
            mtu: between.mtu,
            phase,
            rtts: false,
            moves: false,
            paths: 1,
            contender: spec.contender.clone(),
            shadows: Vec::new(),
            files: None,
            past: Arc::new(past),
            worker: worker.clone(),
            streams: *streams,
        };
        // The ports of subscribers come before.
        let port = Port((2 * scenario.flows.len() + scenario.probes.len() + scenario.loads.len() + n) as u32);
        brokers.bridge(n, spec, &between, port, &kit).map_err(wrong)?;
    }
    spawns.extend(brokers.spawns());
    let hosts: BTreeSet<NodeId> = spawns.iter().map(|spawn| spawn.node).collect();
    let elements = elements::elements(scenario, &topology, &hosts, streams)?;
    let world = World::new(topology, elements, spawns, recorder);
    Ok(Run {
        world,
        flows: scenario.flows.clone(),
        starts,
        probes: scenario.probes.clone(),
        loads: scenario.loads.clone(),
        shadows,
    })
}

/// A qlog file describes one connection, and processes of MQTT have several.
fn refuse_qlog(scenario: &Scenario, files: &Files) -> Result<(), ScenarioError> {
    if files.qlog.is_some() && scenario.flows.iter().any(|flow| flow.mqtt().is_some()) {
        let message = "flows with mqtt have no qlog: leave qlog out, or capture links with pcap".to_string();
        return Err(ScenarioError { path: "qlog".into(), message });
    }
    Ok(())
}

/// The granularity of the phase: timestamps count milliseconds, so their clock is the same at all phases.
const PHASE_MILLIS: u64 = 4 * 512;

/// The time from an edge of the coarsest level of the hosts' timer wheels, 512 ticks at HZ = 250, to the start of the
/// run. The hosts of a run share one clock, as namespaces of one kernel do.
pub fn clock_phase(streams: &Streams) -> Span {
    Span::from_millis(streams.named("clock").below(PHASE_MILLIS))
}
