//! The data kept of each packet, and the answer that is made from it.
//!
//! Flows are measured as their packets come. Of each packet of a link 24 bytes are kept, since its two taps are
//! read at different times.

use super::spec::{
    Answer, EndSpec, FlowAnswer, FlowSpec, Heading, LinkAnswer, LinkSpec, Point, Points, Spec, Transport,
};
use crate::error::HostError;
use crate::meters::{self, ClientMeter, End, Event, Known, Packet, Protocol, ServerMeter};
use haltere_net::{Rate, Span, Time};
use std::collections::HashMap;
use std::net::SocketAddrV4;

type Ends = (Protocol, SocketAddrV4, SocketAddrV4);

/// The state of the measurements.
pub(super) struct Analysis {
    spec: Spec,
    meters: Vec<(ServerMeter, ClientMeter)>,
    /// Which flow a packet between such ends belongs to, and whether it comes from its server.
    known: HashMap<Ends, Option<(usize, End)>>,
    /// Packets at each tap, incoming and outgoing, where a link is watched.
    events: Vec<[Option<Vec<Event>>; 2]>,
    records: u64,
}

impl Analysis {
    pub(super) fn new(spec: Spec) -> Result<Analysis, HostError> {
        check(&spec)?;
        let mut events: Vec<[Option<Vec<Event>>; 2]> = spec.taps.iter().map(|_| [None, None]).collect();
        for link in &spec.links {
            for point in points(link) {
                events[point.tap][point.heading as usize].get_or_insert_default();
            }
        }
        let client = |flow: &FlowSpec| ClientMeter::measuring_after(Span::from_nanos(flow.measure_after_ns));
        let meters = spec.flows.iter().map(|flow| (ServerMeter::default(), client(flow))).collect();
        Ok(Analysis { spec, meters, known: HashMap::new(), events, records: 0 })
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Takes the next packet of a tap.
    pub(super) fn take(&mut self, tap: usize, heading: Heading, at: Time, bytes: &[u8]) {
        self.records += 1;
        let Some(packet) = meters::parse(at, bytes) else { return };
        if let Some(Some(events)) = self.events.get_mut(tap).map(|ways| &mut ways[heading as usize]) {
            let (identity, length, destination) = (packet.identity, packet.length, *packet.destination.ip());
            events.push(Event { at, identity, length, destination });
        }
        if let Some((i, from)) = self.flow_of(&packet) {
            let outgoing = heading == Heading::Outgoing;
            let faced = |end: &EndSpec| outgoing == ((from == End::Server) == end.facing);
            let ((server, client), spec) = (&mut self.meters[i], &self.spec.flows[i]);
            // A tap may see the same packet come in and go out again; what leaves an end comes in where it is faced.
            if spec.server.taps().any(|own| own == tap) && !faced(&spec.server) {
                server.take(&packet, from);
            }
            if spec.client.taps().any(|own| own == tap) && faced(&spec.client) {
                client.take(&packet, from);
            }
        }
    }

    fn flow_of(&mut self, p: &Packet) -> Option<(usize, End)> {
        let flows = &self.spec.flows;
        let find = || {
            let of = |from| {
                let (server, client) = meters::ends(p, from);
                flows.iter().position(|f| belongs(f, p.protocol, server, client)).map(|i| (i, from))
            };
            of(End::Server).or_else(|| of(End::Client))
        };
        *self.known.entry((p.protocol, p.source, p.destination)).or_insert_with(find)
    }

    /// The answer; times count from `zero`. Packets offered to links after `until` do not count.
    pub(super) fn finish(self, zero: Time, until: Time, lost: u64, error: Option<String>) -> Answer {
        let flows = self.spec.flows.iter().zip(&self.meters).map(|(f, m)| flow(f, m, zero)).collect();
        let links = self.spec.links.iter().map(|link| self.link(link, until)).collect();
        Answer { flows, links, records: self.records, lost_records: lost, error }
    }

    fn link(&self, link: &LinkSpec, until: Time) -> LinkAnswer {
        let at = |points: &Points| self.events_at(points, link);
        let known = Known { rate: link.rate_bps.map(Rate::from_bps), delay: Span::from_nanos(link.delay_ns) };
        let departed = link.departed.as_ref().map(at);
        let counts = meters::measure(known, &at(&link.offered), departed.as_deref(), &at(&link.arrived), until);
        LinkAnswer { link: link.link.clone(), direction: link.direction.clone(), counts }
    }

    fn events_at(&self, points: &Points, link: &LinkSpec) -> Vec<Event> {
        let lists = points.all().iter().filter_map(|p| self.events[p.tap][p.heading as usize].as_ref());
        let counts = |e: &&Event| link.to.as_ref().is_none_or(|to| to.contains(&e.destination));
        let mut events: Vec<Event> = lists.flatten().filter(counts).copied().collect();
        // Each list is in order but for packets stamped by two processors at once.
        events.sort_by_key(|e| e.at);
        events
    }
}

fn check(spec: &Spec) -> Result<(), HostError> {
    let taps = spec.taps.len();
    let ends = spec.flows.iter().enumerate().flat_map(|(i, f)| {
        let at = |end: &'static str, spec: &EndSpec| {
            spec.taps().map(|tap| (format!("flows[{i}].{end}.tap"), tap)).collect::<Vec<_>>()
        };
        at("server", &f.server).into_iter().chain(at("client", &f.client))
    });
    let ways = spec.links.iter().enumerate();
    let ways = ways.flat_map(|(i, l)| points(l).map(move |p| (format!("links[{i}]"), p.tap)));
    if let Some((path, tap)) = ends.chain(ways).find(|(_, tap)| *tap >= taps) {
        return Err(HostError::at(path, format!("there is no tap {tap}: the {taps} taps have the numbers from 0 on")));
    }
    if let Some(i) = spec.links.iter().position(|l| l.rate_bps == Some(0)) {
        return Err(HostError::at(
            format!("links[{i}].rate_bps"),
            "0 would send nothing: give a rate, or null for none",
        ));
    }
    Ok(())
}

fn points(link: &LinkSpec) -> impl Iterator<Item = &Point> {
    link.offered.all().iter().chain(link.departed.iter().flat_map(Points::all)).chain(link.arrived.all())
}

fn belongs(flow: &FlowSpec, protocol: Protocol, server: SocketAddrV4, client: SocketAddrV4) -> bool {
    let wanted = match flow.protocol {
        Transport::Tcp => Protocol::Tcp,
        Transport::Udp => Protocol::Udp,
    };
    protocol == wanted && flow.server.is(server) && flow.client.is(client)
}

fn flow(spec: &FlowSpec, (server, client): &(ServerMeter, ClientMeter), zero: Time) -> FlowAnswer {
    let (s, c) = (server.counts(), client.counts());
    let since_start = |t: Option<Time>| Some(t?.since(c.start?).as_secs_f64());
    FlowAnswer {
        flow: spec.flow,
        start_s: c.start.map(|t| from_zero(t, zero) as f64 * 1e-9),
        handshake_s: since_start(c.connected),
        first_byte_s: since_start(c.first_byte),
        completion_s: since_start(c.completed),
        received: c.clone(),
        sent: s.clone(),
        min_rtt_s: s.min_rtt.map(Span::as_secs_f64),
        mean_rtt_s: s.mean_rtt_s(),
        rtt_p95_s: s.rtt_p95_s(),
    }
}

/// Nanoseconds from `zero` to `t`, which may be before.
fn from_zero(t: Time, zero: Time) -> i64 {
    t.as_nanos().wrapping_sub(zero.as_nanos()).cast_signed()
}
