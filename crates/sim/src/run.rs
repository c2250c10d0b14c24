//! Drives a world until its transfers are done or its time is over.

use crate::build::{Beside, FlowPart, Owner, Programs, Run, build};
use crate::fidelity::Fidelity;
use crate::noted::{Noted, Notes, received};
use crate::recorder::{Files, Recorded, Recorder};
use crate::result::{
    Baseline, DensityResult, RunResult, ScheduleResult, SeriesResult, ShadowResult, TraceResult, shadow_series,
};
use crate::scenario::{Scenario, ScenarioError};
use crate::world::{Process, ProcessId};
use haltere_net::{Span, Time};
use haltere_transport::Role;

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
    run_with(fidelity, scenario, (seed, replication), &Programs::new())
}

/// As [`run_at`], with the programs of flows that programs carry.
pub fn run_with(
    fidelity: Fidelity,
    scenario: &Scenario,
    seed_and_replication: (u64, u64),
    programs: &Programs,
) -> Result<RunResult, ScenarioError> {
    Ok(drive(fidelity, scenario, seed_and_replication, Beside { programs, ..Beside::default() })?.0)
}

/// Runs a scenario in the model and keeps every change of every metric.
pub fn trace(scenario: &Scenario, seed: u64, replication: u64) -> Result<TraceResult, ScenarioError> {
    trace_at(Fidelity::Model, scenario, seed, replication, &Files::default())
}

/// Runs a scenario at a fidelity, keeps every change of every metric, and writes `files`. The run is the same as
/// without files.
///
/// # Errors
///
/// If the scenario is wrong, or with the path `pcap`, `qlog` or `shadow`, if what is requested beside the series is.
pub fn trace_at(
    fidelity: Fidelity,
    scenario: &Scenario,
    seed: u64,
    replication: u64,
    files: &Files,
) -> Result<TraceResult, ScenarioError> {
    trace_with(fidelity, scenario, (seed, replication), files, &Programs::new())
}

/// As [`trace_at`], with the programs of flows that programs carry.
///
/// # Errors
/// As [`trace_at`].
pub fn trace_with(
    fidelity: Fidelity,
    scenario: &Scenario,
    seed_and_replication: (u64, u64),
    files: &Files,
    programs: &Programs,
) -> Result<TraceResult, ScenarioError> {
    let beside = Beside { files: Some(files), programs, ..Beside::default() };
    let (result, mut run, received) = drive(fidelity, scenario, seed_and_replication, beside)?;
    let links = run.world.elements().len() as u32;
    let recorded = run.world.take_recorder().map_or(Ok(Default::default()), Recorder::finish)?;
    let Recorded { series, schedules, shadows: seen } = recorded;
    let series = series.into_iter().filter_map(|s| {
        let who = match s.who.0.checked_sub(links) {
            None => run.world.element_name(s.who.0),
            Some(process) => match run.owner(ProcessId(process)) {
                // The server's window controls the data.
                Owner::Flow(flow, Role::Server) if !s.metric.of_receiver() => format!("flow {flow}"),
                // The client receives it.
                Owner::Flow(flow, Role::Client) if s.metric.of_receiver() => format!("flow {flow}"),
                Owner::Probe(probe, Role::Client) => format!("probe {probe}"),
                Owner::Flow(..) | Owner::Probe(_, Role::Server) | Owner::Load(..) | Owner::Broker => return None,
            },
        };
        let scale = if s.metric.unit() == "s" { 1e-9 } else { 1.0 };
        let unbounded = |v: u64| if v == u64::MAX { f64::NAN } else { v as f64 * scale };
        Some(SeriesResult {
            who: s.name_of(&who),
            name: s.metric.name(),
            unit: s.metric.unit(),
            values: s.metric.values(),
            t_s: s.at.iter().map(|&t| Time::from_nanos(t).as_secs_f64()).collect(),
            v: s.value.iter().map(|&v| unbounded(v)).collect(),
        })
    });
    let received = received.into_iter().enumerate().map(|(flow, noted)| SeriesResult {
        who: format!("flow {flow}"),
        name: "received",
        unit: "bytes",
        values: Vec::new(),
        t_s: noted.iter().map(|(at, _)| at.as_secs_f64()).collect(),
        v: noted.iter().map(|(_, bytes)| *bytes as f64).collect(),
    });
    let reordering = run.flows.iter().filter_map(|flow| density(&run, flow)).collect();
    let sent = run.flows.iter().map(|flow| (flow.number, schedules.of(flow.ends.server.0)));
    let schedule = sent.filter(|(_, sent)| !sent.is_empty());
    let schedule = schedule.map(|(flow, sent)| ScheduleResult::new(flow, sent)).collect();
    let (mut shadows, mut asked) = (Vec::new(), Vec::new());
    for ((process, path, number), shadow) in seen.iter() {
        let Owner::Flow(flow, Role::Server) = run.owner(ProcessId(process)) else { continue };
        let whose = if path.0 == 0 { format!("flow {flow}") } else { format!("flow {flow} path {}", path.0) };
        let Some(n) = number.checked_sub(1) else {
            asked.extend(shadow_series(&format!("{whose} controller"), shadow));
            continue;
        };
        asked.extend(shadow_series(&format!("{whose} shadow {number}"), shadow));
        shadows.push(ShadowResult {
            flow,
            path: path.0,
            shadow: number,
            contender: run.flows[flow].shadows.get(usize::from(n)).map_or_else(String::new, ToString::to_string),
            parted: shadow.parting.as_ref().map(Into::into),
        });
    }
    let capacities = capacities(&run);
    let series = series.chain(received).chain(asked).chain(capacities).collect();
    Ok(TraceResult { series, schedule, result, reordering, shadows })
}

/// How often the rates of links that change are looked at.
const LOOKED: Span = Span::from_millis(100);

/// The rates over time of the links whose rates change, a value for each change.
fn capacities(run: &Run) -> Vec<SeriesResult> {
    let end = run.world.now();
    let edges = run.world.topology().edges().iter();
    let changing = edges.filter_map(|edge| Some((edge, edge.config.rate_profile.as_ref()?)));
    changing
        .map(|(edge, profile)| {
            let looks = (0..).map(|k| Time::ZERO + LOOKED.scaled(k, 1)).take_while(|at| *at <= end);
            let mut points: Vec<(f64, f64)> = looks.map(|at| (at.as_secs_f64(), profile.value(at) as f64)).collect();
            points.dedup_by(|later, earlier| later.1.total_cmp(&earlier.1).is_eq());
            let (t_s, v) = points.into_iter().unzip();
            let who = format!("{} {}", edge.name, edge.direction.name());
            SeriesResult { who, name: "capacity", unit: "bit/s", values: Vec::new(), t_s, v }
        })
        .collect()
}

/// The reorder density of a flow, if its transport tells.
fn density(run: &Run, flow: &FlowPart) -> Option<DensityResult> {
    let client = run.world.process(flow.ends.client);
    Some(DensityResult::new(flow.number, &client.stats().reassembly?.reordering))
}

/// The ends that a run waits for.
pub(crate) struct Ends {
    /// Which processes are still waited for.
    awaited: Vec<bool>,
    /// How many these are.
    open: usize,
    /// Whether the run is over when none is left.
    may_end: bool,
}

impl Ends {
    /// Flows, probes and loads that end by themselves are waited for. A flow that does not lets the run go on until the time is
    /// over; a probe or load that does not accompanies the others.
    pub fn of(run: &Run) -> Ends {
        let flows = run.flows.iter().map(|flow| (flow.ends, flow.spec.ends()));
        let probes = run.probes.iter().map(|probe| (probe.ends, probe.spec.beside.ends()));
        let loads = run.loads.iter().map(|load| (load.ends, load.spec.beside.ends()));
        let may_end = flows.clone().all(|(_, will_end)| will_end);
        let mut awaited = vec![false; run.world.processes().len()];
        for (ends, _) in flows.chain(probes).chain(loads).filter(|(_, will_end)| *will_end) {
            awaited[ends.client.0 as usize] = true;
        }
        let open = awaited.iter().filter(|awaited| **awaited).count();
        Ends { awaited, open, may_end: may_end && open > 0 }
    }

    /// Whether the run is over. This is asked after each process's turn, because a process can only finish in its own turn.
    #[inline]
    pub fn reached(&mut self, processes: &[Process], called: ProcessId) -> bool {
        let called = called.0 as usize;
        if self.awaited[called] && processes[called].is_over() {
            self.awaited[called] = false;
            self.open -= 1;
        }
        self.open == 0 && self.may_end
    }
}

fn drive(
    fidelity: Fidelity,
    scenario: &Scenario,
    seed_and_replication: (u64, u64),
    beside: Beside<'_>,
) -> Result<(RunResult, Run, Vec<Noted>), ScenarioError> {
    let files = beside.files;
    let mut run = build(fidelity, scenario, seed_and_replication, beside)?;
    let mut ends = Ends::of(&run);
    let end = Time::ZERO + scenario.end();
    let held = vec![None; run.world.topology().edges().len()];
    let mut baseline = Baseline { from: Time::ZERO, bytes: vec![(0, 0); run.flows.len()], held };
    let flows = run.flows.len();
    let mut notes = Notes::new(if files.is_some() { flows } else { 0 }, flows, scenario.rate_window);
    let mut outcome = Ok(false);
    if let Some(from) = scenario.measure_from().map(|from| Time::ZERO + from) {
        outcome = notes.go(&mut run, from, &mut ends);
        for (flow, bytes) in baseline.bytes.iter_mut().enumerate() {
            *bytes = (received(&run, flow), run.receiver(flow).received_wire_bytes);
        }
        (baseline.from, baseline.held) = (from, run.world.held());
    }
    if outcome == Ok(false) {
        outcome = notes.go(&mut run, end, &mut ends);
    }
    let measured = scenario.duration.map(|d| d.whole.saturating_sub(d.measure_from.unwrap_or(Span::ZERO)));
    let mut result = run.result(outcome, &baseline, measured);
    let (noted, steps) = notes.into_parts();
    if let Some(steps) = steps {
        run.add_rates(&mut result, &steps, scenario.measure_from());
    }
    Ok((result, run, noted))
}
