//! Many MQTT publishers on one broker, each with a connection of its own and a message a second.

use super::memory::resident_bytes;
use super::{Figures, both_ways, floor, in_turn, timed};
use haltere_net::element::Element;
use haltere_net::{Span, Time};
use haltere_sim::world::World;
use haltere_sim::{Scenario, ScenarioError, build};
use serde_json::json;

const CONTENDERS: [(&str, &str); 2] = [("TCP CUBIC", "tcp/cubic"), ("QUIC CUBIC", "quic/cubic")];
const PUBLISHERS: u32 = 10_000;
/// Virtual time, s. The publishers connect in the first one, with their handshakes.
const SECONDS: u32 = 10;

fn scenario(contender: &str) -> Result<Scenario, ScenarioError> {
    let text = json!({
        "duration": format!("{SECONDS}s"),
        "topology": { "kind": "graph", "links": [
            { "name": "bottleneck", "from": "publishers", "to": "broker", "link": { "rate": "1Gbit/s", "delay": "10ms" } },
            { "from": "broker", "to": "subscriber", "link": { "rate": "1Gbit/s", "delay": "0ms" } },
        ] },
        "flows": [{
            "contender": contender, "server": "broker", "client": "publishers", "start": "100ms",
            "mqtt": {
                "subscriber": "subscriber", "publishers": PUBLISHERS, "spread": "1s", "interval": "1s", "payload": "100B",
            },
        }],
    });
    Scenario::from_json(&text.to_string())
}

/// How much faster than real time they run. Packets are those of both directions of the publishers' link: acknowledgements cost
/// as much as messages here.
pub fn speed() -> Result<Vec<Figures>, ScenarioError> {
    let case = |(name, contender): (&str, &str)| {
        let scenario = scenario(contender)?;
        let name = format!("{PUBLISHERS} MQTT publishers, {name}, a message a second, {SECONDS} s, both ways");
        let run = || Ok(both_ways(&haltere_sim::run(&scenario, 1, 0)?));
        let floor = floor::like(PUBLISHERS as usize);
        let (mut figures, share) = in_turn(name, || Ok(floor.run()), run)?;
        figures.share_of_floor = Some(share);
        figures.times_real_time = Some(f64::from(SECONDS) / figures.cpu_s);
        Ok(figures)
    };
    CONTENDERS.into_iter().map(case).collect()
}

/// Memory at the end of such a run.
pub fn memory(kept: &mut Vec<World>) -> Result<Vec<Figures>, ScenarioError> {
    let mut figures = Vec::new();
    for (name, contender) in CONTENDERS {
        let scenario = scenario(contender)?;
        let before = resident_bytes();
        let mut world = build::world(&scenario, 1, 0)?;
        let until = Time::ZERO + Span::from_secs(u64::from(SECONDS));
        let (cpu, _) = timed(|| Ok(world.run(until, |_, _| false).is_ok()))?;
        let grown = before.and_then(|before| Some(resident_bytes()?.saturating_sub(before)));
        let case = format!("{PUBLISHERS} MQTT publishers, {name}: a connection, both ends");
        let mut measured = Figures::new(case, world.elements()[0].counters().delivered, cpu);
        measured.bytes_per_publisher = grown.map(|grown| grown as f64 / f64::from(PUBLISHERS));
        figures.push(measured);
        kept.push(world);
    }
    Ok(figures)
}
