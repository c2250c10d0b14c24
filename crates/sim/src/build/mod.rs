//! From a scenario to a world at time zero.
//!
//! | file | holds |
//! |---|---|
//! | `endpoints` | the transport of each end of a flow |
//! | `talk` | what its applications say |

mod endpoints;
mod talk;

use crate::contender::Contender;
use crate::fidelity::{Fidelity, Subject};
use crate::network::{FlowPath, Network, network, stream_name};
use crate::recorder::{self, Files, Recorder};
use crate::scenario::{Flow, Scenario, ScenarioError};
use crate::stack::Past;
use crate::world::{Host, Route, World};
use endpoints::{End, Worker, udp_payload};
use haltere_net::link::Link;
use haltere_net::rng::Streams;
use haltere_net::topology::Topology;
use haltere_net::{Address, ConnectionId, FlowKey, Span, Time};
use haltere_transport::Role;
use talk::Talk;

/// A world with what is needed to make a result of it.
pub(crate) struct Run {
    pub world: World,
    pub topology: Topology,
    pub flows: Vec<Flow>,
    pub starts: Vec<Time>,
}

/// Whether every contender of a scenario can run at a fidelity.
pub fn check_at(fidelity: Fidelity, scenario: &Scenario) -> Result<(), ScenarioError> {
    for (i, flow) in scenario.flows.iter().enumerate() {
        subject(fidelity, i, flow, &flow.contender)?;
    }
    Ok(())
}

/// What runs in the place of flow `i`.
fn subject(fidelity: Fidelity, i: usize, flow: &Flow, contender: &Contender) -> Result<Subject, ScenarioError> {
    let error = |field: &str, message| ScenarioError { path: format!("flows[{i}].{field}"), message };
    let subject = contender.at(fidelity).map_err(|message| error("contender", message))?;
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

/// The world of a scenario at a fidelity at time zero; with `files`, one whose recorder keeps what happens.
pub(crate) fn build(
    fidelity: Fidelity,
    scenario: &Scenario,
    (seed, replication): (u64, u64),
    files: Option<&Files>,
) -> Result<Run, ScenarioError> {
    let streams = &Streams::new(seed, replication);
    let Network { topology, flows } = network(scenario, streams)?;
    if files.is_some() {
        // Before any file is made.
        check_at(fidelity, scenario)?;
    }
    let origin = recorder::Origin { seed, replication };
    let recorder = files.map(|files| Recorder::new(&topology, &scenario.flows, &flows, files, &origin)).transpose()?;
    let links = topology.edges().iter().map(|e| Link::new(&e.config, &stream_name(e), streams)).collect();
    let phase = clock_phase(streams);
    let worker = Worker::default();
    let (mut hosts, mut routes, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (flow, path)) in scenario.flows.iter().zip(flows).enumerate() {
        let FlowPath { contender, server, client, up, down, mtu, start } = path;
        let wrong = |message: String| ScenarioError { path: format!("flows[{i}].contender"), message };
        let subject = subject(fidelity, i, flow, &contender)?;
        let talk = Talk::of(flow, &contender);
        let dice = |end: &str| streams.named(&format!("flow {i}/{end}/earlier"));
        let earlier = [dice("client"), dice("server")];
        let past = Past::of(subject, &contender, udp_payload(mtu), start, earlier).map_err(wrong)?;
        for (role, links, peer) in [(Role::Client, up, 2 * i + 1), (Role::Server, down, 2 * i)] {
            let name = format!("flow {i}/{}", if role == Role::Client { "client" } else { "server" });
            let (contender, ack, flow) = (&contender, flow.ack, i as u32);
            let past = &past;
            let end = End { contender, ack, role, flow, mtu, phase, files, past, worker: &worker };
            let dice = |part: &str| streams.named(&format!("{name}{part}"));
            let endpoint = end.endpoint(subject, talk.connections(), &dice).map_err(wrong)?;
            let start = (role == Role::Client).then_some(start);
            let (source, destination) = if role == Role::Client { (client, server) } else { (server, client) };
            let connection = ConnectionId(i as u32);
            let key = FlowKey { source: Address(source.0), destination: Address(destination.0), connection };
            hosts.push(Host::new(endpoint, talk.application(role), key, vec![routes.len() as u32], start));
            routes.push(Route { links, to: peer as u32 });
        }
        starts.push(start);
    }
    Ok(Run { world: World::new(links, hosts, routes, recorder), topology, flows: scenario.flows.clone(), starts })
}

/// The grain of the phase: timestamps count milliseconds, so that their clock is the same at all phases.
const PHASE_MILLIS: u64 = 4 * 512;

/// How long after an edge of the coarsest grain of its hosts' timers a run begins: 512 ticks at HZ = 250. The hosts of a run
/// share one clock, as namespaces of one kernel do.
pub fn clock_phase(streams: &Streams) -> Span {
    Span::from_millis(streams.named("clock").below(PHASE_MILLIS))
}
