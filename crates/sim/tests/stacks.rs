//! Production stacks in scenario files.
#![cfg(feature = "stacks")]

use haltere_sim::{Fidelity, RunResult, Scenario, run_at};
use serde_json::{Value, json};

fn point_to_point(contenders: &[&str], size: &str, link: Value) -> Scenario {
    let flows: Vec<Value> =
        contenders.iter().map(|c| json!({ "contender": c, "app": "https", "size": size })).collect();
    let scenario = json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": flows });
    Scenario::from_json(&scenario.to_string()).unwrap()
}

fn run(scenario: &Scenario) -> RunResult {
    run_at(Fidelity::Stack, scenario, 1, 0).unwrap()
}

fn usual() -> Value {
    json!({ "rate": "100Mbit/s", "delay": "10ms", "queue": "250kB" })
}

#[test]
fn quinn_moves_a_megabyte_through_a_scenario() {
    let result = run(&point_to_point(&["quic@quinn/cubic"], "1MB", usual()));
    assert_eq!((result.status, result.error), ("ok", None));
    let flow = &result.flows[0];
    // 80 ms of serialisation and four round trips of 20 ms: handshake, request, and what slow start costs.
    assert!((0.1..0.4).contains(&flow.completion_s.unwrap()), "{flow:?}");
    assert!(flow.min_rtt_s.unwrap() >= 0.02 && flow.sent_packets > 680, "{flow:?}");
}
