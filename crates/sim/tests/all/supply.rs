//! Applications that have their data little by little.

use crate::common;

use haltere_sim::RunResult;
use serde_json::{Value, json};

fn scenario(contender: &str, supply: Value) -> Value {
    json!({
        "duration": "6s",
        "topology": { "kind": "point-to-point", "link": { "rate": "20Mbit/s", "delay": "10ms" } },
        "flows": [{ "contender": contender, "app": "raw", "supply": supply }],
    })
}

fn run(given: &Value) -> RunResult {
    haltere_sim::run(&common::scenario(given), 1, 0).unwrap()
}

fn refusal(given: Value) -> (String, String) {
    let wrong = haltere_sim::Scenario::from_json(&given.to_string()).unwrap_err();
    (wrong.path, wrong.message)
}

const CONTENDERS: [&str; 4] = ["tcp/cubic", "quic/newreno", "mptcp/lia", "mpquic/olia"];

#[test]
fn a_supply_slower_than_the_link_is_what_arrives() {
    for contender in CONTENDERS {
        let got = run(&scenario(contender, json!("4Mbit/s"))).flows[0].bytes as f64 * 8.0 / 4e6;
        // Six seconds without the handshake and the last half round trip.
        assert!((5.88..5.96).contains(&got), "{contender}: {got} s of data");
    }
}

#[test]
fn a_supply_faster_than_the_link_changes_nothing() {
    for contender in ["tcp/cubic", "quic/newreno"] {
        let [slow, whole] =
            [json!("1Gbit/s"), Value::Null].map(|supply| run(&scenario(contender, supply)).flows[0].bytes);
        assert!(slow.abs_diff(whole) < 20_000, "{contender}: {slow} and {whole} bytes");
    }
}

#[test]
fn nothing_arrives_in_a_pause_and_a_rate_may_change() {
    let pauses = json!([{ "from": "1s", "to": "3s" }]);
    let rate = json!({ "at": ["0s", "4s"], "value": ["4Mbit/s", "8Mbit/s"] });
    for contender in CONTENDERS {
        let result = run(&scenario(contender, json!({ "rate": rate, "pauses": pauses })));
        let got = result.flows[0].bytes as f64 * 8.0 / 4e6;
        // A second, another, and two with twice as much.
        assert!((5.8..5.96).contains(&got), "{contender}: {got}");
        assert!((result.flows[0].longest_gap_s.unwrap_or(0.0) - 2.0).abs() < 0.05, "{contender}");
    }
}

#[test]
fn an_object_ends_with_its_last_piece() {
    for (app, contender) in
        [("raw", "tcp/cubic"), ("https", "tcp/cubic"), ("http1", "tcp/cubic"), ("https", "quic/newreno")]
    {
        let mut given = scenario(contender, json!({ "rate": "4Mbit/s", "write": "1000B" }));
        given["duration"] = Value::Null;
        given["flows"][0]["size"] = json!("500kB");
        given["flows"][0]["app"] = json!(app);
        let result = run(&given);
        let took = result.flows[0].completion_s.unwrap();
        assert!((1.0..1.25).contains(&took), "{contender} {app}: {took}");
        assert_eq!(result.flows[0].bytes, 500_000, "{contender} {app}");
    }
}

#[test]
fn supplies_that_mean_nothing_are_refused() {
    let flow = |more: Value| {
        let mut given = scenario("tcp/cubic", json!("4Mbit/s"));
        for (key, value) in more.as_object().unwrap() {
            given["flows"][0][key] = value.clone();
        }
        refusal(given)
    };
    for (more, path) in [
        (json!({ "supply": "0bit/s" }), "flows[0].supply"),
        (json!({ "supply": { "rate": "4Mbit/s", "write": "0B" } }), "flows[0].supply.write"),
        (json!({ "supply": { "rate": { "trace": [1, 2] } } }), "flows[0].supply.rate.trace"),
        (
            json!({ "supply": { "rate": "1Mbit/s", "pauses": [{ "from": "2s", "to": "1s" }] } }),
            "flows[0].supply.pauses",
        ),
        (json!({ "app": "ssh" }), "flows[0].supply"),
        (json!({ "page": { "objects": [{ "size": "10kB" }] }, "app": "https" }), "flows[0].supply"),
    ] {
        let (at, message) = flow(more.clone());
        assert_eq!(at, path, "{more}: {message}");
        let remedies = ["give", "leave", "is not between", "at least"];
        assert!(remedies.iter().any(|remedy| message.contains(remedy)), "{message}");
    }
}
