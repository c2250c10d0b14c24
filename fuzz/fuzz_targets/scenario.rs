//! Any text is a scenario, a topology over measured paths, or an error, and a scenario runs: none panics.

#![no_main]

use haltere_net::{Bytes, Span};
use haltere_sim::scenario::{Measured, Quantity};
use haltere_sim::{Scenario, run};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = Measured::from_json(text);
    let Ok(mut scenario) = Scenario::from_json(text) else { return };
    // Cut down to what a fuzzer has time and memory for.
    if scenario.flows.len() > 20 || scenario.topology.pairs.unwrap_or(1) > 100 {
        return;
    }
    let second = Quantity(Span::from_secs(1));
    scenario.time_limit = Some(second);
    scenario.duration = scenario.duration.map(|d| if d.0 < second.0 { d } else { second });
    scenario.measure_from = scenario.measure_from.filter(|m| scenario.duration.is_some_and(|d| m.0 < d.0));
    for flow in &mut scenario.flows {
        if let Some(mqtt) = &mut flow.mqtt {
            mqtt.publishers = mqtt.publishers.map(|count| count.min(20));
            mqtt.topics = mqtt.topics.map(|count| count.min(20));
            let shortest = Quantity(Span::from_millis(1));
            mqtt.interval = mqtt.interval.map(|q| if q.0 < shortest.0 { shortest } else { q });
            mqtt.burst = mqtt.burst.map(|count| count.min(100));
            continue;
        }
        flow.size = Some(Quantity(Bytes(flow.size.map_or(20_000, |s| s.0.0.min(20_000)))));
    }
    if let Ok(result) = run(&scenario, 1, 0) {
        assert!(!result.error.unwrap_or_default().contains("without a counted cause"));
    }
});
