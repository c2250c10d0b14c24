//! Flows: a client that fetches and a server that answers, or the processes of [`mqtt`](super::mqtt).

use super::Site;
use super::mqtt::{Brokers, Delivery};
#[cfg(feature = "kernels")]
use super::programs;
use super::roster::{Ends, Owner, Roster, Slot};
use super::talk::Talk;
use super::transports::{Kit, Maker, Way};
use crate::application::{Application, ProgramClient, ProgramServer};
use crate::contender::{Contender, Transport};
use crate::fidelity::{Fidelity, Subject, of_sockets};
use crate::network::{FlowPath, HostPath};
use crate::scenario::{self, Flow, RadioKind, ScenarioError, Task};
use crate::world::{Change, Move, Spawn};
#[cfg(feature = "kernels")]
use haltere_net::registry::is_file;
use haltere_net::{FlowKey, Time};
use haltere_transport::Role;
use std::sync::Arc;

/// A flow of a run.
pub(crate) struct FlowPart {
    /// Its number.
    pub number: usize,
    pub spec: Flow,
    pub ends: Ends,
    /// When the client connects.
    pub start: Time,
    /// The client's packets on the first path of the first connection.
    pub key: FlowKey,
    /// The contenders in its shadow.
    pub shadows: Vec<Contender>,
    /// With MQTT: the way of its messages.
    pub delivery: Option<Delivery>,
}

/// The implementation that runs flow `i`.
pub(super) fn subject(
    fidelity: Fidelity,
    i: usize,
    flow: &Flow,
    contender: &Contender,
) -> Result<Subject, ScenarioError> {
    let error = |field: &str, message| ScenarioError { path: format!("flows[{i}].{field}"), message };
    let subject = contender.at(fidelity).map_err(|message| error("contender", message))?;
    for (field, given) in [("migrate", !flow.migrate.is_empty()), ("rebind", !flow.rebind.is_empty())] {
        if given && matches!(flow.task, Task::Call { .. }) {
            return Err(error(field, "a call keeps its addresses: leave it out".into()));
        }
        if given && !matches!(subject, Subject::Model(_)) {
            let message = "production stacks keep their addresses here: leave it out, or run the model";
            return Err(error(field, message.into()));
        }
    }
    // The clients of MQTT are our own, and set it on their sockets.
    if subject.is_program() && flow.mqtt().is_none() && contender.switched().contains_key("nagle") {
        return Err(error("contender", of_sockets("nagle", contender.transport.describe().0)));
    }
    if subject.is_program() && flow.radio.is_some() && flow.mqtt().is_some_and(|mqtt| mqtt.publishers.publishers > 1) {
        let message = "the publishers of a program are not told apart: give the flow one publisher, or run the model";
        return Err(error("radio", message.into()));
    }
    if let (Some(_), Task::Call { .. }) = (&flow.ack, &flow.task) {
        return Err(error(
            "ack",
            "the receiver of a call reports as its congestion control has it: leave ack out".into(),
        ));
    }
    if flow.ack.is_some() && !matches!(subject, Subject::Model(_)) {
        let message = "a production stack acknowledges as it does: leave ack out, or write quic@model/…";
        return Err(error("ack", message.into()));
    }
    Ok(subject)
}

/// A process whose connections have these paths.
pub(super) fn on_paths(ways: &[HostPath], spawn: Spawn) -> Spawn {
    Spawn {
        paths: ways.iter().map(|way| (way.client, way.server)).collect(),
        backups: ways.iter().map(|way| way.backup).collect(),
        ..spawn
    }
}

/// The paths that the connections of a contender may have, of those that there are.
pub(super) fn usable_paths(contender: &Contender, ways: &[HostPath]) -> u8 {
    if contender.transport.is_multipath() { u8::try_from(ways.len()).unwrap_or(u8::MAX) } else { 1 }
}

/// The paths that the connections of a contender use, by their addresses.
pub(super) fn ways(contender: &Contender, ways: &[HostPath]) -> Vec<Way> {
    let usable = usize::from(usable_paths(contender, ways));
    ways.iter().take(usable).map(|way| Way { ends: [way.client, way.server], backup: way.backup }).collect()
}

/// The DiffServ codepoint of a flow's packets.
pub(super) fn class(flow: &Flow) -> u8 {
    flow.tos.unwrap_or(0) >> 2
}

/// The transports between client and server of flow `i`.
fn kit(
    site: &Site<'_>,
    (i, slot): (usize, Slot),
    flow: &Flow,
    path: &FlowPath,
    shadows: &[Contender],
) -> Result<Kit, ScenarioError> {
    let contender = &path.contender;
    let subject = subject(site.fidelity, i, flow, contender)?;
    if !matches!(subject, Subject::Model(_))
        && contender.transport == Transport::Mpquic
        && path.ways.iter().any(|way| way.backup)
    {
        let message = "production stacks have no paths in reserve: leave backup out of the paths, or run the model";
        return Err(wrong(i, message.into()));
    }
    let hosts = [path.client, path.server];
    let kit = Kit::new(site, format!("flow {i}"), (contender, subject), hosts, path.first().mtu, path.start)
        .map_err(|message| wrong(i, message))?;
    #[cfg(feature = "kernels")]
    let kit = match subject {
        Subject::Program => with_programs(site, i, flow, kit).map_err(|message| wrong(i, message))?,
        Subject::Kernel { congestion: None } => {
            let module = programs::module_of_flow(site.programs, i, contender).map_err(|message| wrong(i, message))?;
            Kit { module: Some(Arc::new(module)), ..kit }
        }
        _ => kit,
    };
    Ok(Kit {
        ack: flow.ack,
        rtts: flow.mqtt().is_none() || subject.is_program(),
        call: flow.call().cloned(),
        moves: !flow.migrate.is_empty(),
        ways: ways(contender, &path.ways),
        port: slot.kernel_port(),
        tos: flow.tos.unwrap_or(0),
        paths: usable_paths(contender, &path.ways),
        shadows: shadows.to_vec(),
        agent: site.agents.iter().find(|(flow, _)| *flow == i).map(|(_, desk)| desk.clone()),
        log: site.files.and_then(|files| Some((files.qlog.clone()?, i as u32))),
        ..kit
    })
}

impl FlowPart {
    /// Spawns the processes of flow `number`. Its client connects to the first slot. With MQTT, publishers do, and the subscriber
    /// connects to the second.
    ///
    /// # Errors
    /// If a contender cannot be configured.
    pub(super) fn spawn(
        site: &Site<'_>,
        (number, mut path): (usize, FlowPath),
        slots: [Slot; 2],
        shadows: Vec<Contender>,
        (brokers, roster): (&mut Brokers, &mut Roster),
    ) -> Result<FlowPart, ScenarioError> {
        let flow = &site.scenario.flows[number];
        let kit = kit(site, (number, slots[0]), flow, &path, &shadows)?;
        let HostPath { client, server, .. } = *path.first();
        let key = FlowKey { source: client, destination: server, connection: slots[0].connection() };
        let start = path.start;
        let (spawns, delivery) = match (flow.mqtt(), path.delivery.take()) {
            (Some(mqtt), Some(to)) => {
                let delivery = Delivery { broker: path.server, port: slots[0].port() };
                (brokers.flow(site, (number, mqtt), (kit, path, to), slots)?, Some(delivery))
            }
            _ => (fetch(flow, kit.into(), path, slots[0]).map_err(|message| wrong(number, message))?, None),
        };
        let ends = roster.pair(Owner::Flow, number, spawns);
        Ok(FlowPart { number, spec: flow.clone(), ends, start, key, shadows, delivery })
    }
}

/// The transports of a flow that programs carry.
#[cfg(feature = "kernels")]
fn with_programs(site: &Site<'_>, i: usize, flow: &Flow, kit: Kit) -> Result<Kit, String> {
    let up = flow.way() == scenario::Way::Up && flow.mqtt().is_none();
    if up || matches!(flow.task, Task::Page { .. } | Task::Video { .. }) {
        let message =
            "programs in virtual time fetch one object: leave direction, page and video out, or run the model";
        return Err(message.into());
    }
    if flow.tos.is_some() {
        return Err("programs in virtual time set no type of service: leave tos out".into());
    }
    let found = programs::of_flow(site.programs, i, &kit.contender)?;
    let module = match is_file(&kit.contender.congestion) {
        true => Some(Arc::new(programs::module_of_flow(site.programs, i, &kit.contender)?)),
        false => None,
    };
    Ok(Kit { programs: Some(Arc::new(found)), module, ..kit })
}

/// The processes of a flow without MQTT: one that fetches, and one that answers.
fn fetch(flow: &Flow, kit: Arc<Kit>, path: FlowPath, slot: Slot) -> Result<[Spawn; 2], String> {
    // Upwards, the process that sends is on the client's host.
    let up = flow.way() == scenario::Way::Up;
    let radio = |there: bool| flow.radio.filter(|_| there).map(RadioKind::model);
    let talk = Talk::of(flow, &kit);
    let maker = |role| Maker::new(kit.clone(), role).map(Box::new);
    let remote = slot.at(path.first().server);
    let (application, answers): (Box<dyn Application>, Box<dyn Application>) = match kit.programs {
        Some(_) => (Box::new(ProgramClient::new(remote)), Box::<ProgramServer>::default()),
        None => (talk.client(remote), talk.server()),
    };
    let end = path.end.filter(|_| flow.call().is_none()).map(|at| Move { at, change: Change::End });
    let client = Spawn {
        connection: Some(slot.connection()),
        class: class(flow),
        radio: radio(!up),
        ..Spawn::client(path.client, application, maker(Role::Client)?, path.start)
    };
    let server = Spawn {
        class: class(flow),
        radio: radio(up),
        moves: end.into_iter().collect(),
        ..Spawn::server(path.server, answers, maker(Role::Server)?, vec![slot.port()])
    };
    let mut moves = path.moves;
    moves.extend(end);
    moves.sort_by_key(|next| next.at);
    Ok([Spawn { moves, ..on_paths(&path.ways, client) }, server])
}

/// An error in the contender of flow `i`.
pub(super) fn wrong(i: usize, message: String) -> ScenarioError {
    ScenarioError { path: format!("flows[{i}].contender"), message }
}
