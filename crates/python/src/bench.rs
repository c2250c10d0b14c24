//! How fast the simulator is on this machine: packets a CPU-second, how much faster than real time thousands of MQTT publishers
//! are, and memory a packet in flight and a connection.
//!
//! The cases are those that `benches/README.md` compares with ns-3. They differ in the number of flows, in transport
//! and congestion control; the floor runs links and event queue alone, with endpoints that only keep a fixed window.
//! A shared machine may change its speed by a factor of two within seconds. So each case is run in turn with a floor, and its
//! share is the median of the ratios of these pairs.

mod floor;
mod memory;
mod mqtt;

use cpu_time::ThreadTime;
use haltere_sim::{Fidelity, Scenario, ScenarioError};
use serde::Serialize;
use serde_json::{Value, json};
use std::time::Duration;

/// The least number of runs of a case.
const RUNS: usize = 5;
/// A case is repeated until it has taken this long in all, or the greatest number of runs is reached.
const ENOUGH: Duration = Duration::from_millis(300);
const MOST_RUNS: usize = 31;

/// The result of one case.
#[derive(Serialize)]
pub struct Figures {
    case: String,
    /// Packets delivered across the bottleneck in the data direction.
    data_packets: u64,
    /// Median CPU time of a run, seconds.
    cpu_s: f64,
    packets_per_cpu_s: f64,
    /// Packets a CPU-second as a share of those of the floor that ran just before: the median of all pairs.
    share_of_floor: Option<f64>,
    /// Packets a CPU-second as a share of those of ten flows that ran just before: the median of all pairs.
    share_of_ten_flows: Option<f64>,
    /// Virtual time over CPU time, for the cases that are made for it.
    times_real_time: Option<f64>,
    /// Growth of the process's resident memory, for the cases made to measure it, where the system tells.
    bytes_per_packet_in_flight: Option<f64>,
    /// Memory for each end of a connection that is open and has nothing to do.
    bytes_per_idle_connection: Option<f64>,
    /// Memory for both ends of a connection of a publisher, with all that the run holds of it.
    bytes_per_publisher: Option<f64>,
}

impl Figures {
    fn new(case: String, data_packets: u64, cpu: Duration) -> Figures {
        let cpu_s = cpu.as_secs_f64();
        let packets_per_cpu_s = data_packets as f64 / cpu_s;
        Figures {
            case,
            data_packets,
            cpu_s,
            packets_per_cpu_s,
            share_of_floor: None,
            share_of_ten_flows: None,
            times_real_time: None,
            bytes_per_packet_in_flight: None,
            bytes_per_idle_connection: None,
            bytes_per_publisher: None,
        }
    }
}

/// Runs every case.
pub fn all() -> Result<Vec<Figures>, ScenarioError> {
    // Memory comes first: what earlier cases had freed would be taken for none.
    let memory = memory::cases()?;
    let mut figures = Vec::new();
    for (case, scenario) in speed_cases() {
        let scenario = Scenario::from_json(&scenario.to_string())?;
        let floor = floor::like(scenario.flows.len());
        let (mut measured, share) = in_turn(case, || Ok(floor.run()), || packets(&scenario))?;
        measured.share_of_floor = Some(share);
        figures.push(measured);
    }
    figures.push(crowd()?);
    figures.extend(mqtt::speed()?);
    for (case, contender) in STACKS {
        let scenario = Scenario::from_json(&one(contender).to_string())?;
        let run = || haltere_sim::run_at(Fidelity::Stack, &scenario, 1, 0);
        figures.push(repeat(case.to_string(), || Ok(both_ways(&run()?)))?);
    }
    for floor in &floor::CASES {
        figures.push(repeat(floor.name(), || Ok(floor.run()))?);
    }
    figures.extend(memory);
    Ok(figures)
}

/// So many flows that their state fits into no cache, beside ten flows that have packets of the same kind.
fn crowd() -> Result<Figures, ScenarioError> {
    let read = |scenario: Value| Scenario::from_json(&scenario.to_string());
    let ten = read(dumbbell(10, "tcp/cubic", "1Gbit/s", "10ms", "10s"))?;
    let many = read(dumbbell(100_000, "tcp/cubic", "100Gbit/s", "10ms", "200ms"))?;
    let case = "100 000 TCP CUBIC flows, 100 Gbit/s, 0.2 s".to_string();
    let (mut measured, share) = in_turn(case, || packets(&ten), || packets(&many))?;
    measured.share_of_ten_flows = Some(share);
    Ok(measured)
}

/// The data packets that a run delivers.
fn packets(scenario: &Scenario) -> Result<u64, ScenarioError> {
    Ok(delivered(&haltere_sim::run(scenario, 1, 0)?))
}

fn speed_cases() -> Vec<(String, Value)> {
    let many = |n, contender, rate, duration| dumbbell(n, contender, rate, "10ms", duration);
    [
        ("1 TCP CUBIC flow, 100 Mbit/s, 32 MiB", one("tcp/cubic")),
        ("10 TCP CUBIC flows, 1 Gbit/s, 10 s", many(10, "tcp/cubic", "1Gbit/s", "10s")),
        ("100 TCP CUBIC flows, 1 Gbit/s, 10 s", many(100, "tcp/cubic", "1Gbit/s", "10s")),
        ("1000 TCP CUBIC flows, 10 Gbit/s, 1 s", many(1000, "tcp/cubic", "10Gbit/s", "1s")),
        ("10 TCP BBR flows, 1 Gbit/s, 10 s", many(10, "tcp/bbr", "1Gbit/s", "10s")),
        ("1 QUIC CUBIC flow, 100 Mbit/s, 32 MiB", one("quic/cubic")),
        ("10 QUIC CUBIC flows, 1 Gbit/s, 10 s", many(10, "quic/cubic", "1Gbit/s", "10s")),
        ("10 QUIC BBR flows, 1 Gbit/s, 10 s", many(10, "quic/bbr", "1Gbit/s", "10s")),
    ]
    .map(|(name, scenario)| (name.to_string(), scenario))
    .into()
}

/// Unlimited flows, each between its own two hosts, over one bottleneck with this delay each way and one BDP of queue.
/// Their starts are spread over a tenth of a second or less.
fn dumbbell(flows: u32, contender: &str, rate: &str, delay: &str, duration: &str) -> Value {
    let apart = (100_000 / flows).min(1000);
    let flow = |i| json!({ "contender": contender, "app": "raw", "pair": i, "start": format!("{}us", i * apart) });
    json!({
        "duration": duration,
        "topology": {
            "kind": "dumbbell",
            "pairs": flows,
            "bottleneck": { "rate": rate, "queue": "1bdp", "delay": delay },
            "access": { "rate": "10Gbit/s", "delay": "0ms" },
        },
        "flows": (0..flows).map(flow).collect::<Vec<_>>(),
    })
}

/// One flow that fetches 32 MiB at 100 Mbit/s.
fn one(contender: &str) -> Value {
    let mut scenario = dumbbell(1, contender, "100Mbit/s", "10ms", "1s");
    scenario["flows"][0]["size"] = json!("32MiB");
    scenario.as_object_mut().map(|s| s.remove("duration"));
    scenario
}

/// Production stacks, counted by the datagrams that their ends handle: acknowledgements cost a stack as much as data.
#[cfg(feature = "stacks")]
const STACKS: &[(&str, &str)] = &[
    ("1 quinn CUBIC flow, 100 Mbit/s, 32 MiB, both ways", "quic@quinn/cubic"),
    ("1 quinn CUBIC flow without encryption, both ways", "quic@quinn/cubic+nullcipher"),
    ("1 noq CUBIC flow, 100 Mbit/s, 32 MiB, both ways", "quic@noq/cubic"),
    ("1 noq CUBIC flow without encryption, both ways", "quic@noq/cubic+nullcipher"),
];
#[cfg(not(feature = "stacks"))]
const STACKS: &[(&str, &str)] = &[];

fn both_ways(result: &haltere_sim::RunResult) -> u64 {
    result.links.iter().filter(|l| l.link == "bottleneck").map(|l| l.delivered_packets).sum()
}

fn delivered(result: &haltere_sim::RunResult) -> u64 {
    let bottleneck = result.links.iter().filter(|l| l.link == "bottleneck" && l.direction == "down");
    bottleneck.map(|l| l.delivered_packets).sum()
}

/// Takes the median CPU time of several runs, which must all deliver the same.
fn repeat(case: String, mut run: impl FnMut() -> Result<u64, ScenarioError>) -> Result<Figures, ScenarioError> {
    let mut times = Vec::new();
    let mut packets = 0;
    while times.len() < RUNS || (times.len() < MOST_RUNS && times.iter().sum::<Duration>() < ENOUGH) {
        let (time, delivered) = timed(&mut run)?;
        times.push(time);
        packets = delivered;
    }
    times.sort_unstable();
    Ok(Figures::new(case, packets, times[times.len() / 2]))
}

/// Takes the median CPU time of several runs, each after a run of `base`, and the median of their packets a CPU-second as
/// shares of those of `base`.
fn in_turn(
    case: String,
    mut base: impl FnMut() -> Result<u64, ScenarioError>,
    mut run: impl FnMut() -> Result<u64, ScenarioError>,
) -> Result<(Figures, f64), ScenarioError> {
    let (mut times, mut shares) = (Vec::new(), Vec::new());
    let mut packets = 0;
    while times.len() < RUNS || (times.len() < MOST_RUNS && times.iter().sum::<Duration>() < ENOUGH) {
        let (base_time, base_packets) = timed(&mut base)?;
        let (time, delivered) = timed(&mut run)?;
        shares.push((delivered as f64 / time.as_secs_f64()) / (base_packets as f64 / base_time.as_secs_f64()));
        times.push(time);
        packets = delivered;
    }
    times.sort_unstable();
    shares.sort_unstable_by(f64::total_cmp);
    Ok((Figures::new(case, packets, times[times.len() / 2]), shares[shares.len() / 2]))
}

/// The CPU time that this thread spends on `run`. On a machine shared with others, times of the wall clock mean
/// nothing.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures the machine; nothing simulated sees this clock")]
fn timed<T>(run: impl FnOnce() -> Result<T, ScenarioError>) -> Result<(Duration, T), ScenarioError> {
    let start = ThreadTime::now();
    let answer = run()?;
    Ok((start.elapsed(), answer))
}
