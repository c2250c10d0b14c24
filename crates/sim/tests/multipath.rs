//! MPTCP and MPQUIC over several paths of a scenario.

use haltere_sim::{RunResult, Scenario, run};
use serde_json::{Value as Json, json};

/// A scenario with a fast path of short delay and a slow one of long delay.
fn scenario(contender: &str, more: Json) -> Json {
    let mut flow = json!({ "contender": contender, "size": "4MB" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "topology": { "kind": "multipath", "paths": [
            { "rate": "20Mbit/s", "delay": "5ms", "queue": "50p" },
            { "rate": "10Mbit/s", "delay": "25ms", "queue": "50p" },
        ] },
        "flows": [flow],
    })
}

fn result(scenario: &Json) -> RunResult {
    run(&Scenario::from_json(&scenario.to_string()).unwrap(), 1, 0).unwrap()
}

fn seconds(contender: &str, more: Json) -> f64 {
    result(&scenario(contender, more)).flows[0].completion_s.unwrap()
}

/// Bytes that came down each path.
fn down(result: &RunResult) -> Vec<u64> {
    let links = serde_json::to_value(&result.links).unwrap();
    let links = links.as_array().unwrap();
    (0..2)
        .map(|k| {
            let name = format!("path {k}");
            let link = links.iter().find(|l| l["link"] == name.as_str() && l["direction"] == "down").unwrap();
            link["delivered_bytes"].as_u64().unwrap()
        })
        .collect()
}

#[test]
fn both_use_both_paths_and_are_faster_than_the_better_one() {
    for (several, single) in [("mptcp/cubic", "tcp/cubic"), ("mpquic/cubic", "quic/cubic")] {
        let both = result(&scenario(several, json!({})));
        let shares = down(&both);
        assert!(shares.iter().all(|&bytes| bytes > 500_000), "{several}: {shares:?}");
        let (ours, one) = (both.flows[0].completion_s.unwrap(), seconds(single, json!({})));
        assert!(ours < one * 0.85, "{several}: {ours} s, {single}: {one} s");
    }
}

#[test]
fn a_flow_connects_on_the_path_that_it_is_given() {
    for contender in ["tcp/cubic", "quic/cubic"] {
        let second = result(&scenario(contender, json!({ "first_path": 1 })));
        assert_eq!(down(&second)[0], 0, "{contender}");
    }
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let far = result(&scenario(contender, json!({ "first_path": 1 })));
        let near = result(&scenario(contender, json!({})));
        let handshake = |r: &RunResult| r.flows[0].handshake_s.unwrap();
        assert!(handshake(&far) > handshake(&near) * 3.0, "{contender}");
        assert!(down(&far).iter().all(|&bytes| bytes > 100_000));
    }
    let wrong = scenario("mptcp/cubic", json!({ "first_path": 2 }));
    let error = run(&Scenario::from_json(&wrong.to_string()).unwrap(), 1, 0).unwrap_err().to_string();
    assert!(error.contains("flows[0].first_path") && error.contains("0 to 1"), "{error}");
}

#[test]
fn schedulers_have_names_in_contenders() {
    let times = ["", "+round-robin", "+redundant", "+scheduler=priority"]
        .map(|s| [seconds(&format!("mptcp/cubic{s}"), json!({})), seconds(&format!("mpquic/cubic{s}"), json!({}))]);
    for protocol in 0..2 {
        // The same data on both paths is no faster than the better path.
        assert!(times[2][protocol] > times[0][protocol] * 1.1, "{times:?}");
    }
    let refused =
        |contender: &str| Scenario::from_json(&scenario(contender, json!({})).to_string()).unwrap_err().message;
    let single = refused("tcp/cubic+scheduler=linux");
    assert!(single.contains("single path"), "{single}");
    assert!(refused("mptcp/cubic+tfo").contains("tfo"));
}

/// The share of reordered packets, and the mean out-of-order delay times the data over the time, which is the mean of what is held.
fn reordered(contender: &str, paths: &Json) -> (f64, [f64; 2]) {
    let scenario = json!({
        "topology": { "kind": "multipath", "paths": paths },
        "flows": [{ "contender": contender, "size": "1MB", "app": "raw" }],
    });
    let result = result(&scenario);
    let flow = &result.flows[0];
    let law = flow.out_of_order_delay_mean_s.unwrap() * flow.bytes as f64 / flow.completion_s.unwrap();
    (flow.reordered_ratio.unwrap(), [flow.mean_held_bytes.unwrap(), law])
}

#[test]
fn nothing_is_reordered_where_nothing_can_be() {
    let clean = json!([{ "rate": "20Mbit/s", "delay": "5ms", "queue": "1000p" }]);
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/cubic", "mpquic/cubic"] {
        assert_eq!(reordered(contender, &clean), (0.0, [0.0, 0.0]), "{contender}");
    }
    for contender in ["tcp/cubic", "quic/cubic"] {
        let second = json!([clean[0], { "rate": "20Mbit/s", "delay": "50ms", "queue": "1000p" }]);
        assert_eq!(reordered(contender, &second).0, 0.0, "{contender} uses the first path");
    }
}

#[test]
fn repaired_losses_and_unlike_paths_reorder_data() {
    let lossy = json!([{ "rate": "20Mbit/s", "delay": "5ms", "queue": "1000p", "down": { "loss": "1%" } }]);
    let unlike = json!([
        { "rate": "20Mbit/s", "delay": "5ms", "queue": "1000p" },
        { "rate": "10Mbit/s", "delay": "50ms", "queue": "1000p" },
    ]);
    for contender in ["tcp/cubic", "quic/cubic", "mptcp/cubic", "mpquic/cubic"] {
        let (ratio, [held, law]) = reordered(contender, &lossy);
        // Few packets beyond those that were lost.
        assert!((0.002..0.03).contains(&ratio), "{contender}: {ratio}");
        assert!((held / law - 1.0).abs() < 0.01, "{contender}, Little's law: {held} {law}");
    }
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let (ratio, [held, law]) = reordered(contender, &unlike);
        assert!(ratio > 0.03, "{contender}: {ratio}");
        assert!((held / law - 1.0).abs() < 0.05, "{contender}, Little's law: {held} {law}");
    }
}
