//! From a scenario to a world, and from a world that has run to a result.

use crate::ack::AckSpec;
use crate::application::{Application, Dialogue};
use crate::contender::{Contender, Switch, Transport};
use crate::fidelity::{Fidelity, Subject};
use crate::http::{self, Framing, Script};
use crate::network::{FlowPath, Network, network, stream_name};
use crate::page::{Browser, MOST_CONNECTIONS, Origin, Visit};
use crate::recorder::{self, Files, Recorder};
use crate::result::{FlowResult, LinkResult, RunResult, SeriesResult, TraceResult};
use crate::scenario::{App, Flow, Quantity, Scenario, ScenarioError};
use crate::stack::Past;
use crate::tls::{Flights, Version};
use crate::world::{Host, Route, Stall, World};
use haltere_net::link::Link;
use haltere_net::rng::{Stream, Streams};
use haltere_net::topology::Topology;
use haltere_net::{FlowId, Metric, PathId, Span, Time};
use haltere_transport::cc::Algorithm;
use haltere_transport::{Endpoint, Role, quic, tcp};

/// What an unlimited flow is given to send, bytes: more than any run moves.
const UNLIMITED: u64 = 1 << 50;
const DEFAULT_TIME_LIMIT: Span = Span::from_secs(3600);

/// The program that all ends of a run share whose stacks need one.
#[cfg(feature = "stacks")]
type Worker = haltere_stacks::Worker;
#[cfg(not(feature = "stacks"))]
#[derive(Default)]
struct Worker;

/// A world with what is needed to make a result of it.
struct Run {
    world: World,
    topology: Topology,
    flows: Vec<Flow>,
    starts: Vec<Time>,
}

/// Runs a scenario in the model: a pure function of its arguments.
pub fn run(scenario: &Scenario, seed: u64, replication: u64) -> Result<RunResult, ScenarioError> {
    run_at(Fidelity::Model, scenario, seed, replication)
}

/// Runs a scenario at a fidelity: a pure function of its arguments.
pub fn run_at(
    fidelity: Fidelity,
    scenario: &Scenario,
    seed: u64,
    replication: u64,
) -> Result<RunResult, ScenarioError> {
    Ok(drive(fidelity, scenario, (seed, replication), None)?.0)
}

/// Runs a scenario in the model and keeps every change of every metric.
pub fn trace(scenario: &Scenario, seed: u64, replication: u64) -> Result<TraceResult, ScenarioError> {
    trace_at(Fidelity::Model, scenario, seed, replication, &Files::default())
}

/// Runs a scenario at a fidelity, keeps every change of every metric, and writes `files`. The run is the same as without.
///
/// # Errors
/// What is wrong with the scenario; with the path `pcap` or `qlog`, what is wrong with the files asked for.
pub fn trace_at(
    fidelity: Fidelity,
    scenario: &Scenario,
    seed: u64,
    replication: u64,
    files: &Files,
) -> Result<TraceResult, ScenarioError> {
    let (result, mut run) = drive(fidelity, scenario, (seed, replication), Some(files))?;
    let links = run.topology.edges().len() as u32;
    let series = run.world.take_recorder().map_or(Ok(Vec::new()), Recorder::finish)?;
    let series = series.into_iter().filter_map(|s| {
        let who = match s.who.0.checked_sub(links) {
            None => {
                let edge = &run.topology.edges()[s.who.0 as usize];
                format!("{} {}", edge.name, edge.direction.name())
            }
            // Hosts stand in pairs, client and server; it is the server whose window moves the data.
            Some(host) if host % 2 == 1 => format!("flow {}", host / 2),
            Some(_) => return None,
        };
        let scale = if s.metric == Metric::Rtt { 1e-9 } else { 1.0 };
        let unbounded = |v: u64| if v == u64::MAX { f64::NAN } else { v as f64 * scale };
        Some(SeriesResult {
            who,
            name: s.metric.name(),
            unit: s.metric.unit(),
            t_s: s.at.iter().map(|&t| Time::from_nanos(t).as_secs_f64()).collect(),
            v: s.value.iter().map(|&v| unbounded(v)).collect(),
        })
    });
    Ok(TraceResult { series: series.collect(), result })
}

/// Whether every contender of a scenario can run at a fidelity.
pub fn check_at(fidelity: Fidelity, scenario: &Scenario) -> Result<(), ScenarioError> {
    for (i, flow) in scenario.flows.iter().enumerate() {
        let contender = Contender::parse(&flow.contender)
            .map_err(|message| ScenarioError { path: format!("flows[{i}].contender"), message })?;
        subject(fidelity, i, flow, &contender)?;
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

fn drive(
    fidelity: Fidelity,
    scenario: &Scenario,
    dice: (u64, u64),
    files: Option<&Files>,
) -> Result<(RunResult, Run), ScenarioError> {
    let mut run = build(fidelity, scenario, dice, files)?;
    let unfinished = run.flows.iter().filter(|f| f.total().is_some()).count();
    let all_limited = unfinished == run.flows.len();
    let mut open = unfinished;
    let limited: Vec<bool> = run.flows.iter().map(|f| f.total().is_some()).collect();
    let mut over = vec![false; run.flows.len()];
    // Called after each host's turn: a client's progress can only have changed in its own.
    let mut done = |hosts: &[Host], host: u32| {
        let flow = (host / 2) as usize;
        if host.is_multiple_of(2) && !over[flow] && limited[flow] {
            let progress = hosts[host as usize].application.progress();
            if progress.completed.is_some() || progress.failed.is_some() {
                over[flow] = true;
                open -= 1;
            }
        }
        open == 0 && all_limited
    };
    let span = |q: Quantity<Span>| Time::ZERO + q.0;
    let end = scenario.duration.or(scenario.time_limit).map_or(Time::ZERO + DEFAULT_TIME_LIMIT, span);
    let mut baseline = vec![0; run.flows.len()];
    let mut outcome = Ok(false);
    if let Some(from) = scenario.measure_from.map(span) {
        outcome = run.world.run(from, &mut done);
        for (flow, bytes) in baseline.iter_mut().enumerate() {
            *bytes = run.world.hosts()[2 * flow].application.progress().received;
        }
    }
    if outcome == Ok(false) {
        outcome = run.world.run(end, &mut done);
    }
    let measured = scenario.duration.map(|d| d.0.saturating_sub(scenario.measure_from.map_or(Span::ZERO, |m| m.0)));
    let result = run.result(outcome, &baseline, measured);
    Ok((result, run))
}

// ---- building ----

fn build(
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
        let FlowPath { contender, up, down, mtu, start, .. } = path;
        let wrong = |message: String| ScenarioError { path: format!("flows[{i}].contender"), message };
        let subject = subject(fidelity, i, flow, &contender)?;
        let talk = Talk::of(flow, &contender);
        let dice = |end: &str| streams.named(&format!("flow {i}/{end}/earlier"));
        let earlier = [dice("client"), dice("server")];
        let past = Past::of(subject, &contender, udp_payload(mtu), start, earlier).map_err(wrong)?;
        for (role, links, peer) in [(Role::Client, up, 2 * i + 1), (Role::Server, down, 2 * i)] {
            let name = format!("flow {i}/{}", if role == Role::Client { "client" } else { "server" });
            let (contender, ack, flow) = (&contender, flow.ack, FlowId(i as u32));
            let past = &past;
            let end = End { contender, ack, role, flow, mtu, phase, files, past, worker: &worker };
            let dice = |part: &str| streams.named(&format!("{name}{part}"));
            let endpoint = end.endpoint(subject, talk.connections(), &dice).map_err(wrong)?;
            let start = (role == Role::Client).then_some(start);
            hosts.push(Host::new(endpoint, talk.application(role), vec![routes.len() as u32], start));
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

/// What is said on a flow's connections.
enum Talk {
    One(Script),
    Page(Box<Visit>),
}

impl Talk {
    fn of(flow: &Flow, contender: &Contender) -> Talk {
        let framing = match (flow.app, contender.transport) {
            (App::Http1, _) => Framing::Http1,
            (_, Transport::Tcp) => Framing::Http2,
            (_, Transport::Quic) => Framing::Http3,
        };
        let flights = match contender.transport {
            Transport::Tcp => flights(contender),
            Transport::Quic => Flights::none(),
        };
        if let Some(page) = &flow.page {
            return Talk::Page(Box::new(Visit::new(page, framing, flights)));
        }
        let size = flow.size.map_or(UNLIMITED, |s| s.0.0);
        Talk::One(match (flow.app, framing) {
            (App::Raw, _) => http::raw(size),
            (_, Framing::Http1) => http::http1(&flights, size),
            (_, Framing::Http2) => http::https2(&flights, size),
            (_, Framing::Http3) => http::https3(size),
        })
    }

    fn application(&self, role: Role) -> Box<dyn Application> {
        match (self, role) {
            (Talk::One(script), _) => Box::new(Dialogue::new(role, script.clone())),
            (Talk::Page(visit), Role::Client) => Box::new(Browser::new(visit.as_ref().clone())),
            (Talk::Page(visit), Role::Server) => Box::new(Origin::new(visit.as_ref().clone())),
        }
    }

    /// Connections it may need.
    fn connections(&self) -> usize {
        match self {
            Talk::Page(visit) if visit.framing == Framing::Http1 => MOST_CONNECTIONS,
            _ => 1,
        }
    }
}

/// The flights of TLS over TCP.
fn flights(contender: &Contender) -> Flights {
    let version = if contender.has(Switch::Tls12) { Version::V12 } else { Version::V13 };
    Flights::tls(version, contender.session())
}

/// One end of a flow, as its endpoint is to be made.
struct End<'a> {
    contender: &'a Contender,
    ack: Option<AckSpec>,
    role: Role,
    flow: FlowId,
    mtu: u32,
    phase: Span,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "only stacks write files of their own"))]
    files: Option<&'a Files>,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "only stacks need one"))]
    worker: &'a Worker,
    #[cfg_attr(not(feature = "stacks"), allow(dead_code, reason = "the model needs no past to resume a session"))]
    past: &'a Past,
}

/// The largest UDP payload in an IPv4 packet of a path with this MTU, bytes.
fn udp_payload(mtu: u32) -> u16 {
    u16::try_from(mtu.saturating_sub(quic::sizes::IP_UDP)).unwrap_or(u16::MAX)
}

impl End<'_> {
    /// The endpoint; `dice` gives the stream of each of its connections, by what is added to the end's name.
    fn endpoint(
        &self,
        subject: Subject,
        connections: usize,
        dice: &dyn Fn(&str) -> Stream,
    ) -> Result<Box<dyn Endpoint>, String> {
        match subject {
            Subject::Model(algorithm) => Ok(self.model(algorithm, connections, dice)),
            #[cfg(feature = "stacks")]
            Subject::Stack { .. } => {
                let mut config =
                    self.past.config(subject, self.contender, self.role, udp_payload(self.mtu), dice(""))?;
                let log = recorder::stack_log(self.files, self.flow, self.role)?;
                config.qlog = log.map(haltere_stacks::Sink::new);
                config.worker = self.worker.clone();
                haltere_stacks::endpoint(config).map_err(|e| e.to_string())
            }
        }
    }

    fn model(&self, algorithm: Algorithm, connections: usize, dice: &dyn Fn(&str) -> Stream) -> Box<dyn Endpoint> {
        match self.contender.transport {
            Transport::Tcp if connections > 1 => {
                let member = |k: usize| {
                    let stream = if k == 0 { dice("") } else { dice(&format!("/{k}")) };
                    tcp::Connection::new(tcp::Config { path: PathId(k as u8), ..self.tcp(algorithm, stream) })
                };
                Box::new(tcp::Bundle::new(self.role, (0..connections).map(member).collect()))
            }
            Transport::Tcp => Box::new(tcp::Connection::new(self.tcp(algorithm, dice("")))),
            Transport::Quic => Box::new(quic::Connection::new(self.quic(algorithm, dice("")))),
        }
    }

    fn tcp(&self, algorithm: Algorithm, stream: Stream) -> tcp::Config {
        let contender = self.contender;
        let mut config = tcp::Config::new(self.role, self.flow, algorithm, stream);
        config.mtu = self.mtu;
        config.phase = self.phase;
        config.slow_start = contender.slow_start;
        config.paced = contender.has(Switch::Paced);
        config.delayed_ack = !contender.has(Switch::NoDelack);
        if contender.has(Switch::Ecn) {
            config.ecn = config.ecn.or(Some(tcp::EchoRule::Rfc3168));
        }
        config.timestamps = !contender.has(Switch::NoTimestamps);
        config.fast_open = contender.has(Switch::FastOpen);
        if contender.has(Switch::StockBuffers) {
            config.initial_receive_window = 65_535;
            config.max_receive_window = (6 << 20) / 256 * tcp::config::WINDOW_SHARE;
        }
        if contender.has(Switch::NoSackCompression) {
            config.sack_compression = Span::ZERO;
        }
        if contender.has(Switch::Rto1s) {
            config.rto = tcp::config::RtoRule::Rfc6298;
        }
        if let Some(ack) = self.ack {
            ack.apply_to_tcp(&mut config);
        }
        config
    }

    fn quic(&self, algorithm: Algorithm, stream: Stream) -> quic::Config {
        let contender = self.contender;
        let mut config = quic::Config::new(self.role, algorithm, stream);
        config.max_udp_payload = udp_payload(self.mtu);
        config.ecn |= contender.has(Switch::Ecn);
        config.slow_start = contender.slow_start;
        config.session = contender.session();
        config.retry = self.role == Role::Server && contender.has(Switch::Retry);
        config.unknown_version = self.role == Role::Client && contender.has(Switch::VersionNegotiation);
        if contender.has(Switch::NoDelack) {
            config.ack.every = 1;
        }
        if let Some(ack) = self.ack {
            ack.apply_to_quic(&mut config);
        }
        config
    }
}

// ---- results ----

impl Run {
    fn result(&self, outcome: Result<bool, Stall>, baseline: &[u64], measured: Option<Span>) -> RunResult {
        let now = self.world.now();
        let mut flows: Vec<FlowResult> =
            (0..self.flows.len()).map(|i| self.flow_result(i, baseline[i], measured)).collect();
        let mut error = None;
        if let Err(Stall::Storm(at)) = outcome {
            error = Some(format!("time stood still at {at}: two components kept calling each other"));
        } else if !self.world.conserves() {
            error = Some("packets were made or lost without a counted cause".to_string());
        } else if let Some(flow) = flows.iter().find(|f| f.status == "failed") {
            error = Some(format!("flow {}: {}", flow.flow, flow.error.as_deref().unwrap_or("failed")));
        }
        if outcome.is_err() {
            flows.iter_mut().for_each(|f| f.status = "failed");
        }
        let edges = self.topology.edges().iter().zip(self.world.links());
        let links = edges.map(|(edge, link)| LinkResult::new(&edge.name, edge.direction, link.counters()));
        let hosts = self.world.hosts();
        RunResult {
            status: if error.is_some() { "failed" } else { "ok" },
            error,
            virtual_s: now.as_secs_f64(),
            events: self.world.events(),
            data_packets: hosts.iter().step_by(2).map(|h| h.endpoint.stats().received_packets).sum(),
            flows,
            links: links.collect(),
        }
    }

    fn flow_result(&self, i: usize, baseline: u64, measured: Option<Span>) -> FlowResult {
        let flow = &self.flows[i];
        let [client, server] = [2 * i, 2 * i + 1].map(|h| &self.world.hosts()[h]);
        let (progress, sender) = (client.application.progress(), server.endpoint.stats());
        let start = self.starts[i];
        let since_start = |t: Option<Time>| t.map(|t| t.since(start).as_secs_f64());
        let size = flow.total();
        let completion = since_start(progress.completed);
        let bytes = match (size, completion) {
            (Some(size), Some(_)) => size,
            (Some(size), None) => progress.received.min(size),
            (None, _) => progress.received - baseline,
        };
        let wire_bytes = client.endpoint.stats().received_wire_bytes;
        // Where no time passes there is no rate.
        let seconds = completion.or(measured.map(Span::as_secs_f64)).filter(|s| *s > 0.0);
        let reason = progress.failed.or(server.application.progress().failed);
        let error = match (reason, size, completion) {
            (Some(reason), _, None) => Some(reason.text().to_string()),
            (None, Some(size), None) if measured.is_none() => Some(format!(
                "not finished after {}: {} of {size} bytes arrived; give time_limit a larger value",
                self.world.now().since(start),
                progress.received
            )),
            _ => None,
        };
        FlowResult {
            flow: i as u32,
            contender: flow.contender.clone(),
            pair: flow.pair.unwrap_or(0),
            start_s: start.as_secs_f64(),
            completion_s: completion,
            handshake_s: since_start(progress.connected),
            first_byte_s: since_start(progress.first_byte),
            bytes,
            goodput_bps: seconds.map(|s| 8.0 * bytes as f64 / s),
            throughput_bps: seconds.map(|s| 8.0 * wire_bytes as f64 / s),
            wire_bytes,
            overhead_bytes: wire_bytes.saturating_sub(bytes),
            sent_packets: sender.sent_packets,
            retransmitted_packets: sender.retransmitted_packets,
            lost_packets: sender.lost_packets,
            spurious_retransmissions: sender.spurious_retransmissions,
            timeouts: sender.timeouts,
            min_rtt_s: sender.min_rtt.map(Span::as_secs_f64),
            mean_rtt_s: sender.mean_rtt().map(Span::as_secs_f64),
            objects_s: client.application.objects().map(|o| o.iter().map(|&t| since_start(t)).collect()),
            status: if error.is_some() { "failed" } else { "ok" },
            error,
        }
    }
}
