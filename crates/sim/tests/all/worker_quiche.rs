//! A stack in a worker program, in scenario files: `make test-worker-quiche` builds the program and runs these.
#![cfg(feature = "stacks")]

use haltere_sim::{Fidelity, Files, Pcap, RunResult, Scenario, run_at, trace_at};
use serde_json::{Value, json};

fn point_to_point(contender: &str, size: &str, link: Value) -> Scenario {
    let flow = json!({ "contender": contender, "app": "https", "size": size });
    let scenario = json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] });
    Scenario::from_json(&scenario.to_string()).unwrap()
}

fn run(scenario: &Scenario) -> RunResult {
    run_at(Fidelity::Stack, scenario, 1, 0).unwrap()
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn quiche_runs_in_a_scenario_and_repeats() {
    for contender in ["quic@quiche/cubic", "quic@quiche/newreno", "quic@quiche/bbr2", "quic@quiche/cubic+stockbuffers"]
    {
        let lossy = json!({ "rate": "20Mbit/s", "delay": "15ms", "queue": "60p", "down": { "loss": "1%" }, "duplication": "1%" });
        let scenario = point_to_point(contender, "2MB", lossy);
        let first = run(&scenario);
        assert_eq!((first.status, first.error.as_deref()), ("ok", None), "{contender}");
        let text = |r: &RunResult| serde_json::to_string(r).unwrap();
        assert_eq!(text(&first), text(&run(&scenario)), "{contender}");
    }
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn quiche_shares_a_bottleneck_with_modelled_tcp_and_quinn() {
    let flow = |contender: &str, pair: u32| json!({ "contender": contender, "app": "https", "pair": pair });
    let scenario = json!({
        "duration": "30s",
        "measure_from": "5s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "bottleneck": { "rate": "50Mbit/s", "delay": "10ms", "queue": "1bdp" },
        },
        "flows": [flow("quic@quiche/cubic", 0), flow("tcp/cubic", 1), flow("quic@quinn/cubic", 2)],
    });
    let result = run(&Scenario::from_json(&scenario.to_string()).unwrap());
    // A run fails if not all its packets are accounted for.
    assert_eq!((result.status, result.error), ("ok", None));
    let goodputs: Vec<f64> = result.flows.iter().map(|f| f.goodput_bps.unwrap()).collect();
    assert!(goodputs.iter().all(|g| *g > 2e6), "{goodputs:?}");
    let sum: f64 = goodputs.iter().sum();
    assert!((42e6..50e6).contains(&sum), "{goodputs:?}");
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn quiche_writes_its_own_qlog_and_hands_out_its_secrets() {
    let link = json!({ "rate": "100Mbit/s", "delay": "10ms", "queue": "250kB" });
    let scenario = point_to_point("quic@quiche/cubic", "1MB", link);
    let folder = tempfile::tempdir().unwrap();
    let captures = tempfile::tempdir().unwrap();
    let pcap = Pcap { folder: captures.path().to_path_buf(), ..Pcap::default() };
    let files = Files { qlog: Some(folder.path().to_path_buf()), pcap: Some(pcap), ..Files::default() };
    let traced = trace_at(Fidelity::Stack, &scenario, 1, 0, &files).unwrap();
    let names: Vec<_> = traced.series.iter().filter(|s| s.who == "flow 0").map(|s| s.name).collect();
    assert!(names.contains(&"cwnd") && names.contains(&"rtt"), "{names:?}");
    let text = |r: &RunResult| serde_json::to_string(r).unwrap();
    assert_eq!(text(&traced.result), text(&run(&scenario)), "looking changes the run");
    let log = std::fs::read_to_string(folder.path().join("flow-0-server-stack.sqlog")).unwrap();
    let records: Vec<Value> =
        log.split('\u{1e}').filter(|r| !r.trim().is_empty()).map(|r| serde_json::from_str(r).unwrap()).collect();
    let sent = records.iter().filter(|r| r["name"].as_str().is_some_and(|n| n.ends_with("packet_sent"))).count();
    assert!(sent > 680, "{sent} packets sent of {} records", records.len());
    let last = records.last().unwrap()["time"].as_f64().unwrap();
    assert!((50.0..60_000.0).contains(&last), "times are milliseconds of the run: {last}");
    let secret = b"SERVER_TRAFFIC_SECRET_0 ";
    for capture in std::fs::read_dir(captures.path()).unwrap() {
        let bytes = std::fs::read(capture.unwrap().path()).unwrap();
        assert!(bytes.windows(secret.len()).any(|w| w == secret), "a capture without the secrets of its TLS");
    }
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn a_page_of_many_objects_loads() {
    let objects: Vec<Value> = (0..120)
        .map(|i| match i {
            0 => json!({ "size": "40kB" }),
            _ => json!({ "size": format!("{}kB", 1 + i % 30), "after": [0] }),
        })
        .collect();
    let flow = json!({ "contender": "quic@quiche/cubic", "app": "https", "page": { "objects": objects } });
    let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1bdp" });
    let scenario = json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] });
    let result = run(&Scenario::from_json(&scenario.to_string()).unwrap());
    assert_eq!((result.status, result.error), ("ok", None));
    // There are more objects than the server allows streams at first.
    assert!(result.flows[0].objects_s.as_ref().unwrap().iter().all(Option::is_some), "{:?}", result.flows[0]);
}
