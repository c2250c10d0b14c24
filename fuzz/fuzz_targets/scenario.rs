//! Any text is a scenario, a topology over measured paths, or an error, and a scenario runs: none panics.

#![no_main]

use haltere_net::Span;
use haltere_sim::application::Arrivals;
use haltere_sim::scenario::{Duration, Measured, Task};
use haltere_sim::{Scenario, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Measured::from_json(text);
    let Ok(mut scenario) = Scenario::from_json(text) else { return };
    // Cut down to what a fuzzer has time and memory for.
    if scenario.flows.len() > 20 || scenario.topology.pair_count() > 100 {
        return;
    }
    let second = Span::from_secs(1);
    scenario.time_limit = Some(second);
    scenario.duration = scenario.duration.map(|duration| {
        let whole = duration.whole.min(second);
        Duration { whole, measure_from: duration.measure_from.filter(|from| *from < whole) }
    });
    for flow in &mut scenario.flows {
        match &mut flow.task {
            Task::Messages(mqtt) => {
                let plan = &mut mqtt.publishers;
                plan.publishers = plan.publishers.min(20);
                plan.topics = plan.topics.min(20);
                plan.traffic.interval = plan.traffic.interval.max(Span::from_millis(1));
                if let Arrivals::Bursts(burst) = &mut plan.traffic.arrivals {
                    *burst = (*burst).min(100);
                }
            }
            Task::Object { size, .. } => *size = Some(size.unwrap_or(20_000).min(20_000)),
            // The time of a run ends calls and films, too.
            Task::Page { .. } | Task::Video { .. } | Task::Call { .. } => {}
        }
    }
    if let Ok(result) = run(&scenario, 1, 0) {
        assert!(!result.error.unwrap_or_default().contains("without a counted cause"));
    }
});
