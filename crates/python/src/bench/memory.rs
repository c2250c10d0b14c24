//! Memory a packet in flight: links' stores, send and receive buffers, records of what was sent, all together; and memory of
//! a connection that is open and has nothing to do, with its process.

use super::{Figures, dumbbell, timed};
use haltere_net::element::Element;
use haltere_net::{Span, Time};
use haltere_sim::world::World;
use haltere_sim::{Scenario, ScenarioError, build};
use serde_json::json;

const CONTENDERS: [(&str, &str); 2] = [("TCP CUBIC", "tcp/cubic-nohystart"), ("QUIC CUBIC", "quic/cubic-nohystart")];
const FLOWS: u32 = 10;
/// Slow start, the overshoot and the recovery from it.
const VIRTUAL: Span = Span::from_secs(3);
/// How often the memory is read.
const STEP: Span = Span::from_millis(10);

/// All cases. Each world is kept until the last is measured, so that none gets memory that another gave back. The idle
/// connections come first: a full path frees much memory that they would take for none.
pub fn cases() -> Result<Vec<Figures>, ScenarioError> {
    let mut kept = Vec::new();
    let idle = idle(&mut kept)?;
    let publishers = super::mqtt::memory(&mut kept)?;
    let mut figures = in_flight(&mut kept)?;
    figures.extend(idle);
    figures.extend(publishers);
    Ok(figures)
}

/// One case a transport.
fn in_flight(kept: &mut Vec<World>) -> Result<Vec<Figures>, ScenarioError> {
    let mut figures = Vec::new();
    for (name, contender) in CONTENDERS {
        let text = dumbbell(FLOWS, contender, "10Gbit/s", "50ms", "3s").to_string();
        let scenario = Scenario::from_json(&text)?;
        let before = resident_bytes();
        let mut world = build::world(&scenario, 1, 0)?;
        let (cpu, most) = timed(|| Ok(fill(&mut world)))?;
        let grown = before.and_then(|before| Some(most.resident?.saturating_sub(before)));
        let case = format!("{FLOWS} {name} flows, 10 Gbit/s, {} packets in flight", most.in_flight);
        let mut measured = Figures::new(case, world.elements()[0].counters().delivered, cpu);
        measured.bytes_per_packet_in_flight = grown.map(|g| g as f64 / most.in_flight.max(1) as f64);
        figures.push(measured);
        kept.push(world);
    }
    Ok(figures)
}

const IDLE: [(&str, &str); 2] = [("TCP CUBIC", "tcp/cubic"), ("QUIC CUBIC", "quic/cubic")];
const CONNECTIONS: u32 = 4000;

/// Connections that have fetched 64 kB, one after the other, and stay open.
fn idle(kept: &mut Vec<World>) -> Result<Vec<Figures>, ScenarioError> {
    let mut figures = Vec::new();
    for (name, contender) in IDLE {
        let flow =
            |i| json!({ "contender": contender, "app": "raw", "size": "64kB", "start": format!("{}us", 500 * i) });
        let text = json!({
            "duration": "8s",
            "topology": { "kind": "point-to-point", "link": { "rate": "10Gbit/s", "delay": "1ms" } },
            "flows": (0..CONNECTIONS).map(flow).collect::<Vec<_>>(),
        });
        let scenario = Scenario::from_json(&text.to_string())?;
        let before = resident_bytes();
        let mut world = build::world(&scenario, 1, 0)?;
        let (cpu, _) = timed(|| Ok(world.run(Time::ZERO + Span::from_secs(8), |_, _| false).is_ok()))?;
        let grown = before.and_then(|before| Some(resident_bytes()?.saturating_sub(before)));
        let case = format!("{CONNECTIONS} {name} connections, open and idle: each end, with its process");
        let mut measured = Figures::new(case, world.elements()[0].counters().delivered, cpu);
        measured.bytes_per_idle_connection = grown.map(|g| g as f64 / f64::from(2 * CONNECTIONS));
        figures.push(measured);
        kept.push(world);
    }
    Ok(figures)
}

/// The moment with the most packets in flight.
#[derive(Default)]
struct Fullest {
    in_flight: u64,
    resident: Option<u64>,
}

fn fill(world: &mut World) -> Fullest {
    let mut most = Fullest::default();
    let mut until = Time::ZERO;
    while until < Time::ZERO + VIRTUAL {
        until += STEP;
        if world.run_ahead(until, |_, _| false).is_err() {
            break;
        }
        // In the data direction: waiting in queues, being serialised, propagating.
        let in_flight = world.elements().iter().step_by(2).map(|l| l.inside()).sum();
        if in_flight > most.in_flight {
            most = Fullest { in_flight, resident: resident_bytes() };
        }
    }
    most
}

/// Memory of this process that is in RAM, where the system has Linux's `/proc`.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}
