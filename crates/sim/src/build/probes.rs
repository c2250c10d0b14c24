//! The two processes of a probe: one sends the requests, the other answers them.

use super::endpoints::Worker;
use super::transports::{Kit, Maker};
use crate::application::{Carrier, Echo, Pace, Plan, Prober};
use crate::contender::Contender;
use crate::fidelity::{Fidelity, Subject};
use crate::network::Between;
use crate::scenario::{Probe, ProbeKind, ProbeMode};
use crate::stack::Past;
use crate::world::{Port, Remote, Spawn, Transports};
use haltere_net::rng::Streams;
use haltere_net::{ConnectionId, Span, Time};
use haltere_transport::datagram::{Protocol, Socket};
use haltere_transport::{Endpoint, Role};
use std::sync::Arc;

/// What carries the probes over TCP.
const TCP_CONTENDER: &str = "tcp/cubic";

/// Makes sockets for datagrams.
pub(super) struct Datagrams;

impl Transports for Datagrams {
    fn endpoint(&mut self, _: Role, _: u32, _: Port) -> Result<Box<dyn Endpoint>, String> {
        Ok(Box::new(Socket::default()))
    }
}

/// The processes of probe `i`.
pub(super) fn spawns(
    i: usize,
    probe: &Probe,
    between: &Between,
    connection: u32,
    phase: Span,
    streams: &Streams,
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
    let port = Port(connection);
    let transports = |role| -> Result<Box<dyn Transports>, String> {
        if carrier != Carrier::Stream {
            return Ok(Box::new(Datagrams));
        }
        let contender = Contender::parse(TCP_CONTENDER)?;
        let subject: Subject = contender.at(Fidelity::Model)?;
        let kit = Kit {
            name: format!("probe {i}"),
            contender,
            shadows: Vec::new(),
            subject,
            ack: None,
            flow: connection,
            mtu: between.mtu,
            phase,
            rtts: false,
            moves: false,
            paths: 1,
            files: None,
            past: Arc::new(Past::default()),
            worker: Worker::default(),
            streams: *streams,
        };
        Ok(Box::new(Maker::new(kit, role)?))
    };
    Ok([
        Spawn {
            node: between.from,
            application: Box::new(Prober::new(plan, Remote { address: between.address, port })),
            transports: transports(Role::Client)?,
            start: Some(between.start),
            ports: Vec::new(),
            connection: Some(ConnectionId(connection)),
            class: 0,
            paths: Vec::new(),
            backups: Vec::new(),
            radio: None,
            moves: Vec::new(),
        },
        Spawn {
            node: between.to,
            application: Box::new(Echo::new(probe.payload)),
            transports: transports(Role::Server)?,
            start: None,
            ports: vec![port],
            connection: None,
            class: 0,
            paths: Vec::new(),
            backups: Vec::new(),
            radio: None,
            moves: Vec::new(),
        },
    ])
}
