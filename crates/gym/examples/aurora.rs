//! Steps environments of Aurora's workload (`benches/environments.py` says which), for profilers.
//!
//! usage: aurora [STEPS [ENVIRONMENTS]]

use haltere_gym::{Action, Autoreset, Batch, FIELDS, Limits, Observation, Pace, Plan, Reward, Stacked, Terms};
use haltere_net::Span;
use haltere_net::rng::Streams;
use haltere_sim::Scenario;
use std::sync::Arc;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = |at: usize| std::env::args().nth(at).and_then(|text| text.parse().ok());
    let (steps, count) = (given(1).unwrap_or(400), given(2).unwrap_or(16));
    let mut dice = Streams::new(1, 0).named("links");
    let mut between = |least: f64, most: f64| least + (most - least) * dice.unit();
    let mut scenarios = Vec::new();
    for _ in 0..256 {
        let (rate, delay, loss) = (between(1.2, 6.0), between(50.0, 500.0), between(0.0, 5.0));
        let queue = 1 + libm::exp(between(0.0, 8.0)) as u64;
        let json = format!(
            r#"{{"duration":"100h","topology":{{"kind":"point-to-point","link":{{"rate":"{rate}Mbit/s","queue":"{queue}p",
            "down":{{"delay":"{delay}ms","loss":"{loss}%"}},"up":{{"delay":"{delay}ms"}}}}}},
            "flows":[{{"contender":"tcp/cubic","app":"raw"}}]}}"#
        );
        scenarios.push(Arc::new(Scenario::from_json(&json)?));
    }
    let plan = Plan {
        scenarios,
        agents: vec![0],
        terms: Terms {
            observation: Stacked { of: Observation::Aurora, history: 10 },
            action: Action::Aurora(Limits::AURORA),
            pace: Pace::Rtts(0.5),
            delay: Span::ZERO,
        },
        reward: Reward::Aurora,
        start: Some((0.3, 1.5)),
        steps: Some(400),
    };
    plan.check()?;
    let mut batch = Batch::new(plan, count, 1, Autoreset::NextStep, 1);
    batch.reset(&vec![None; count], &vec![true; count])?;
    let mut packets = 0.0;
    for _ in 0..steps {
        let actions: Vec<f64> = (0..count).map(|_| dice.normal()).collect();
        let intervals = batch.step(&actions)?.intervals;
        packets += intervals.chunks(FIELDS.len()).map(|interval| interval[2] / interval[19]).sum::<f64>();
    }
    println!("{} steps, {:.1} packets a step", steps * count, packets / (steps * count) as f64);
    Ok(())
}
