//! Probes: a process that sends requests, and one that answers them.

use super::Site;
use super::roster::{Owner, Part, Roster, Slot};
use super::transports::{Datagrams, Kit, Maker};
use crate::application::{Carrier, Echo, Pace, Plan, Prober};
use crate::contender::Contender;
use crate::fidelity::Fidelity;
use crate::network::Between;
use crate::scenario::{Probe, ProbeKind, ProbeMode, ScenarioError};
use crate::world::{Spawn, Transports};
use haltere_net::Time;
use haltere_transport::Role;
use haltere_transport::datagram::Protocol;
use std::sync::Arc;

/// The contender that carries probes over TCP.
const TCP_CONTENDER: &str = "tcp/cubic";

/// Spawns the processes of probe `number`.
///
/// # Errors
/// If its transport cannot be configured.
pub(super) fn spawn(
    site: &Site<'_>,
    number: usize,
    between: &Between,
    slot: Slot,
    roster: &mut Roster,
) -> Result<Part<Probe>, ScenarioError> {
    let probe = &site.scenario.probes[number];
    let spawns = spawns(site, (number, probe), between, slot)
        .map_err(|message| ScenarioError { path: format!("probes[{number}]"), message })?;
    Ok(Part { number, spec: probe.clone(), ends: roster.pair(Owner::Probe, number, spawns) })
}

fn spawns(
    site: &Site<'_>,
    (number, probe): (usize, &Probe),
    between: &Between,
    slot: Slot,
) -> Result<[Spawn; 2], String> {
    let carrier = match probe.kind {
        ProbeKind::Icmp => Carrier::Datagrams(Protocol::EchoRequest),
        ProbeKind::Udp => Carrier::Datagrams(Protocol::Udp),
        ProbeKind::Tcp => Carrier::Stream,
    };
    let plan = Plan {
        carrier,
        payload: probe.payload,
        interval: probe.interval,
        pace: match probe.mode {
            ProbeMode::StopAndWait => Pace::StopAndWait,
            ProbeMode::FreeRunning => Pace::FreeRunning,
        },
        timeout: probe.timeout,
        count: probe.beside.count,
        until: probe.beside.duration.map_or(Time::NEVER, |duration| between.start + duration),
    };
    let transports = |role| -> Result<Box<dyn Transports>, String> {
        if carrier != Carrier::Stream {
            return Ok(Box::new(Datagrams));
        }
        let contender = Contender::parse(TCP_CONTENDER)?;
        let subject = contender.at(Fidelity::Model)?;
        let kit = Kit::new(
            site,
            format!("probe {number}"),
            (&Arc::new(contender), subject),
            [between.from, between.to],
            between.mtu,
            between.start,
        )?;
        Ok(Box::new(Maker::new(kit, role)?))
    };
    let prober = Box::new(Prober::new(plan, slot.at(between.address)));
    let client = Spawn::client(between.from, prober, transports(Role::Client)?, between.start);
    let echo = Box::new(Echo::new(probe.payload));
    let server = Spawn::server(between.to, echo, transports(Role::Server)?, vec![slot.port()]);
    Ok([Spawn { connection: Some(slot.connection()), ..client }, server])
}
