//! Builds the world of a scenario at time zero.
//!
//! Flows, probes, loads and brokers are parts. A part spawns its processes into the roster and makes its result from the finished
//! world.
//!
//! | file | holds |
//! |---|---|
//! | `roster` | the processes, whose each is, their ports and connection numbers |
//! | `flows` | flows |
//! | `mqtt` | those with MQTT, and brokers |
//! | `bridges` | the connections between brokers |
//! | `probes` | probes |
//! | `loads` | loads |
//! | `elements` | the network elements |
//! | `endpoints` | the transport of each end of a connection |
//! | `transports` | who makes one for each connection of a process |
//! | `shadows` | the congestion controls in the shadow of a flow's |
//! | `agents` | the agents that decide in the place of a flow's |
//! | `programs` | the programs of flows, and where they are |
//! | `talk` | what its applications say |

pub(crate) mod agents;
mod bridges;
mod elements;
mod endpoints;
mod flows;
pub(crate) mod loads;
pub(crate) mod mqtt;
mod probes;
mod programs;
mod roster;
mod shadows;
mod talk;
mod transports;

use crate::fidelity::Fidelity;
use crate::load::Load;
use crate::network::{Network, network};
use crate::recorder::{self, Files, Recorder};
use crate::scenario::{Probe, Scenario, ScenarioError, Ticks};
use crate::world::{ProcessId, World};
pub use elements::elements;
use endpoints::{Kernels, Worker};
pub(crate) use flows::FlowPart;
use haltere_net::Span;
use haltere_net::fault::Faults;
use haltere_net::rng::Streams;
use haltere_net::topology::{NodeId, Topology};
use haltere_transport::cc::Desk;
use mqtt::Brokers;
pub use programs::{Placed, Programs, has_kernels, placed};
use roster::Roster;
pub(crate) use roster::{Owner, Part};
use std::collections::BTreeMap;

/// A world and its parts, from which a result is made.
pub(crate) struct Run {
    pub world: World,
    owners: Vec<Owner>,
    pub flows: Vec<FlowPart>,
    pub probes: Vec<Part<Probe>>,
    pub loads: Vec<Part<Load>>,
    /// The broker on each node that has one.
    pub brokers: BTreeMap<NodeId, ProcessId>,
    /// Where loaded code says that it failed.
    pub faults: Faults,
}

impl Run {
    /// The owner of a process.
    pub fn owner(&self, process: ProcessId) -> Owner {
        self.owners[process.0 as usize]
    }
}

/// The materials of which all parts of a run are built.
struct Site<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    fidelity: Fidelity,
    streams: Streams,
    worker: Worker,
    kernels: Kernels,
    files: Option<&'a Files>,
    agents: &'a [(usize, Desk)],
    #[cfg_attr(not(feature = "kernels"), allow(dead_code, reason = "only kernels carry programs"))]
    programs: &'a Programs,
}

/// The parts of a run that its scenario does not give.
#[derive(Clone, Copy)]
pub(crate) struct Beside<'a> {
    /// With these, the run is recorded, and its recorder writes them.
    pub files: Option<&'a Files>,
    /// The agents that decide for flows, by the number of the flow.
    pub agents: &'a [(usize, Desk)],
    /// The programs of flows that are carried by programs.
    pub programs: &'a Programs,
}

impl Default for Beside<'_> {
    fn default() -> Self {
        static NONE: Programs = Programs::new();
        Beside { files: None, agents: &[], programs: &NONE }
    }
}

/// Whether every contender and probe of a scenario can run at a fidelity.
pub fn check_at(fidelity: Fidelity, scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut brokers = BTreeMap::new();
    for (i, flow) in scenario.flows.iter().enumerate() {
        let subject = flows::subject(fidelity, i, flow, &flow.contender)?;
        let Some(mqtt) = flow.mqtt() else { continue };
        let delivery = flows::subject(fidelity, i, flow, &mqtt.delivery)?;
        let is_program = subject.is_program();
        let wrong = |field| ScenarioError { path: format!("flows[{i}].{field}"), message: programs::ONE_BROKER.into() };
        if delivery.is_program() != is_program {
            return Err(wrong("mqtt.delivery"));
        }
        if *brokers.entry(&*flow.place.server).or_insert(is_program) != is_program {
            return Err(wrong("contender"));
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

/// The world of a scenario in the model at time zero, for a driver of its own.
pub fn world(scenario: &Scenario, seed: u64, replication: u64) -> Result<World, ScenarioError> {
    Ok(build(Fidelity::Model, scenario, (seed, replication), Beside::default())?.world)
}

/// The world of a scenario at a fidelity at time zero.
pub(crate) fn build(
    fidelity: Fidelity,
    scenario: &Scenario,
    (seed, replication): (u64, u64),
    Beside { files, agents, programs }: Beside<'_>,
) -> Result<Run, ScenarioError> {
    let streams = Streams::new(seed, replication);
    let Network { topology, media, flows: paths, probes, loads, bridges } = network(scenario, &streams)?;
    if let Some(files) = files {
        // This is checked before any file is created.
        check_at(fidelity, scenario)?;
        refuse_qlog(scenario, files)?;
        files.prepare()?;
    }
    agents::check(agents, &scenario.flows, fidelity)?;
    let shadows = files.map_or(&[][..], |files| &files.shadows);
    let shadows = shadows::of_flows(shadows, &scenario.flows, fidelity)?;
    let (worker, kernels) = (Worker::default(), Kernels::default());
    let site = &Site {
        scenario,
        topology: &topology,
        fidelity,
        streams: streams.clone(),
        worker,
        kernels,
        files,
        agents,
        programs,
    };
    let (mut roster, mut brokers) = (Roster::default(), Brokers::new(scenario, &topology));
    // Slots are numbered in this order. Every flow has one for a delivery, whether or not it has messages.
    let of_flows = roster.slots(paths.len());
    let of_probes = roster.slots(probes.len());
    let of_loads = roster.slots(loads.len());
    let of_deliveries = roster.slots(paths.len());
    let of_bridges = roster.slots(bridges.len());

    roster.make_room(paths.len());
    let mut flows = Vec::with_capacity(paths.len());
    for (((path, shadows), slot), delivery) in (0..).zip(paths).zip(shadows).zip(of_flows).zip(of_deliveries) {
        flows.push(FlowPart::spawn(site, path, [slot, delivery], shadows, (&mut brokers, &mut roster))?);
    }
    let probes = (0..).zip(&probes).zip(of_probes);
    let probes = probes.map(|((i, between), slot)| probes::spawn(site, i, between, slot, &mut roster));
    let probes = probes.collect::<Result<_, _>>()?;
    let loads = (0..).zip(&loads).zip(of_loads);
    let loads = loads.map(|((i, between), slot)| loads::spawn(site, i, between, slot, &mut roster)).collect();
    bridges::join(site, bridges, of_bridges, &mut brokers)?;
    let brokers = brokers.spawn(site, &mut roster)?;

    let elements =
        elements((&topology, &media), &roster.hosts(), |link| scenario.topology.strips_options(link), &streams)?;
    let origin = recorder::Origin { seed, replication };
    let recorder = files.map(|files| Recorder::new(&topology, &flows, files, &origin)).transpose()?;
    let (spawns, owners) = roster.finish();
    let world = World::new(topology, elements, spawns, recorder).listening(streams.faults().clone());
    Ok(Run { world, owners, flows, probes, loads, brokers, faults: streams.faults().clone() })
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

/// The time from an edge of the coarsest level of timer wheels, 512 ticks at HZ = 250, to the start of the run, if all hosts
/// of the run share one clock.
pub fn clock_phase(streams: &Streams) -> Span {
    Span::from_millis(streams.named("clock").below(PHASE_MILLIS))
}

/// As [`Site::phase`].
fn phase(scenario: &Scenario, streams: &Streams, host: NodeId) -> Span {
    match scenario.ticks {
        Ticks::Shared => clock_phase(streams),
        Ticks::Own => Span::from_millis(streams.named(&format!("clock {}", host.0)).below(PHASE_MILLIS)),
    }
}

impl Site<'_> {
    /// The time from such an edge of a host's own wheels to the start of the run.
    fn phase(&self, host: NodeId) -> Span {
        phase(self.scenario, &self.streams, host)
    }
}
