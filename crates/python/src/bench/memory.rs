//! Memory a packet in flight: links' stores, send and receive buffers, records of what was sent, all together.

use super::{Figures, dumbbell, timed};
use haltere_net::{Span, Time};
use haltere_sim::world::World;
use haltere_sim::{Scenario, ScenarioError, build};

const CONTENDERS: [(&str, &str); 2] = [("TCP CUBIC", "tcp/cubic-nohystart"), ("QUIC CUBIC", "quic/cubic-nohystart")];
const FLOWS: u32 = 10;
/// Slow start, the overshoot and the recovery from it.
const VIRTUAL: Span = Span::from_secs(3);
/// How often the memory is read.
const STEP: Span = Span::from_millis(10);

/// One case a transport. Each world is kept until the last is measured, so that none uses memory that another one
/// released.
pub fn cases() -> Result<Vec<Figures>, ScenarioError> {
    let mut kept = Vec::new();
    let mut figures = Vec::new();
    for (name, contender) in CONTENDERS {
        let text = dumbbell(FLOWS, contender, "10Gbit/s", "50ms", "3s").to_string();
        let scenario = Scenario::from_json(&text)?;
        let before = resident_bytes();
        let mut world = build::world(&scenario, 1, 0)?;
        let (cpu, most) = timed(|| Ok(fill(&mut world)))?;
        let grown = before.and_then(|before| Some(most.resident?.saturating_sub(before)));
        let case = format!("{FLOWS} {name} flows, 10 Gbit/s, {} packets in flight", most.in_flight);
        let mut measured = Figures::new(case, world.links()[0].counters().delivered, cpu);
        measured.bytes_per_packet_in_flight = grown.map(|g| g as f64 / most.in_flight.max(1) as f64);
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
        if world.run(until, |_, _| false).is_err() {
            break;
        }
        // In the data direction: waiting in queues, being serialised, propagating.
        let in_flight = world.links().iter().step_by(2).map(|l| l.inside()).sum();
        if in_flight > most.in_flight {
            most = Fullest { in_flight, resident: resident_bytes() };
        }
    }
    most
}

/// Memory of this process that is in RAM, where the system has Linux's `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}
