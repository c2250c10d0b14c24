//! Flows for many pairs at once, and random starts.

use haltere_net::rng::Streams;
use haltere_sim::network::network;
use haltere_sim::{Fidelity, Files, Scenario, trace_at};
use serde_json::{Value, json};

fn dumbbell(pairs: u32, flows: Value) -> Result<Scenario, String> {
    let topology = json!({ "kind": "dumbbell", "pairs": pairs, "bottleneck": { "rate": "10Mbit/s", "delay": "1ms" } });
    Scenario::from_json(&json!({ "topology": topology, "flows": flows }).to_string()).map_err(|e| e.to_string())
}

#[test]
fn a_flow_for_pairs_is_one_flow_for_each_of_them() {
    let flow = |pairs: &str, contender: &str| json!({ "contender": contender, "size": "1kB", "pairs": pairs });
    let scenario = dumbbell(5, json!([flow("even", "tcp/cubic"), flow("odd", "quic/cubic")])).unwrap();
    let found: Vec<(u32, &str)> = scenario.flows.iter().map(|f| (f.place.pair, f.contender.as_str())).collect();
    let expected = [(0, "tcp/cubic"), (2, "tcp/cubic"), (4, "tcp/cubic"), (1, "quic/cubic"), (3, "quic/cubic")];
    assert_eq!(found, expected);
    assert_eq!(dumbbell(7, json!([flow("all", "tcp/bbr")])).unwrap().flows.len(), 7);
    let numbered = json!([{ "contender": "tcp/cubic", "size": "1kB", "pairs": [3, 1] }]);
    let pairs: Vec<u32> = dumbbell(5, numbered).unwrap().flows.iter().map(|flow| flow.place.pair).collect();
    assert_eq!(pairs, [3, 1]);
}

#[test]
fn flows_for_pairs_that_are_not_there_are_refused() {
    let odd = json!([{ "contender": "tcp/cubic", "size": "1kB", "pairs": "odd" }]);
    assert!(dumbbell(1, odd).unwrap_err().starts_with("flows[0].pairs: the dumbbell has one pair"));
    let both = json!([{ "contender": "tcp/cubic", "size": "1kB", "pairs": "all", "pair": 0 }]);
    assert!(dumbbell(2, both).unwrap_err().contains("leave one of pair and pairs out"));
    let all = json!([{ "contender": "tcp/cubic", "size": "1kB", "pairs": "all" }, { "contender": "tcp/cubic", "size": "1kB" }]);
    assert!(dumbbell(100_000, all).unwrap_err().contains("100001 flows are too many"));
    let refused =
        |pairs: Value| dumbbell(3, json!([{ "contender": "tcp/cubic", "size": "1kB", "pairs": pairs }])).unwrap_err();
    assert!(refused(json!([0, 3])).contains("3: the dumbbell has 3 pairs, numbered from 0 to 2"));
    assert!(refused(json!([1, 1])).contains("pair 1 stands twice: give it once"));
    assert!(refused(json!([])).contains("the list is empty: give the number of at least one pair"));
    assert!(refused(json!("al")).contains("\"all\", \"even\", \"odd\", or a list"));
}

#[test]
fn starts_are_spread_within_their_bounds_and_differ_between_replications() {
    let flow =
        json!({ "contender": "tcp/cubic", "size": "1kB", "pairs": "all", "start": "1s", "start_spread": "10ms" });
    let scenario = dumbbell(200, json!([flow])).unwrap();
    let starts = |replication| -> Vec<u64> {
        let network = network(&scenario, &Streams::new(1, replication)).unwrap();
        network.flows.iter().map(|f| f.start.as_nanos()).collect()
    };
    let first = starts(0);
    assert!(first.iter().all(|&t| (1_000_000_000..1_010_000_000).contains(&t)));
    let mean = first.iter().sum::<u64>() / 200;
    assert!((1_004_000_000..1_006_000_000).contains(&mean), "{mean}");
    assert_eq!(first, starts(0));
    assert_ne!(first, starts(1));
}

#[test]
fn the_95th_percentile_of_a_flows_rtt_is_that_of_the_samples_in_its_trace() {
    let queue = |rate: &str| json!({ "rate": rate, "delay": "10ms", "queue": "60p" });
    let several = json!({ "kind": "multipath", "paths": [queue("10Mbit/s"), queue("3Mbit/s")] });
    let one = json!({ "kind": "point-to-point", "link": queue("10Mbit/s") });
    for (contender, topology) in [
        ("tcp/cubic", &one),
        ("tcp/bbr", &one),
        ("quic/newreno", &one),
        ("quic@quinn/cubic", &one),
        ("mptcp/cubic", &several),
        ("mpquic/cubic", &several),
    ] {
        let given = json!({ "topology": topology, "flows": [{ "contender": contender, "size": "3MB", "app": "raw" }] });
        let fidelity = if contender.contains('@') { Fidelity::Stack } else { Fidelity::Model };
        if fidelity == Fidelity::Stack && !cfg!(feature = "stacks") {
            continue;
        }
        let scenario = Scenario::from_json(&given.to_string()).unwrap();
        let traced = trace_at(fidelity, &scenario, 1, 0, &Files::default()).unwrap();
        let mut samples: Vec<f64> =
            traced.series.iter().filter(|s| s.name == "rtt").flat_map(|s| s.v.iter().copied()).collect();
        assert!(samples.len() > 100, "{contender}: {} samples", samples.len());
        samples.sort_by(f64::total_cmp);
        let flow = &traced.result.flows[0];
        for (percent, found) in [(95, flow.rtt_p95_s), (99, flow.rtt_p99_s)] {
            let (found, expected) = (found.unwrap(), samples[samples.len() * percent / 100]);
            // The samples of the handshake are not in the trace, and a value is known within one part in 128.
            assert!((found / expected - 1.0).abs() < 0.015, "{contender}, {percent} %: {found} and {expected} s");
        }
    }
}

/// A run of one flow over 10 Mbit/s, or over two paths.
fn alone(flow: &Value, more: &Value) -> haltere_sim::RunResult {
    let contender = flow["contender"].as_str().unwrap();
    let link = json!({ "rate": "10Mbit/s", "delay": "10ms", "queue": "60p" });
    let topology = match contender.starts_with("mp") {
        true => json!({ "kind": "multipath", "paths": [link, { "rate": "3Mbit/s", "delay": "10ms", "queue": "60p" }] }),
        false => json!({ "kind": "point-to-point", "link": link }),
    };
    let mut given = json!({ "topology": topology, "flows": [flow] });
    given.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let fidelity = if contender.contains('@') { Fidelity::Stack } else { Fidelity::Model };
    let scenario = Scenario::from_json(&given.to_string()).unwrap();
    haltere_sim::run_at(fidelity, &scenario, 1, 0).unwrap()
}

#[test]
fn a_flow_that_has_lasted_its_time_is_silent() {
    for contender in
        ["tcp/cubic", "quic/bbr", "mptcp/lia", "mpquic/olia", "rtp/gcc", "quic@quinn/cubic", "rtp@str0m/gcc"]
    {
        if contender.contains('@') && !cfg!(feature = "stacks") {
            continue;
        }
        let app = if contender.starts_with("rtp") { json!({}) } else { json!({ "app": "raw" }) };
        let mut flow = json!({ "contender": contender, "start": "500ms" });
        flow.as_object_mut().unwrap().extend(app.as_object().unwrap().clone());
        let whole = alone(&flow, &json!({ "duration": "3s" }));
        flow["duration"] = json!("2500ms");
        let ended = alone(&flow, &json!({ "duration": "6s" }));
        let (of_whole, of_ended) = (&whole.flows[0], &ended.flows[0]);
        assert!(of_whole.bytes > 50_000, "{contender}: {} bytes", of_whole.bytes);
        let seconds = of_ended.bytes as f64 * 8.0 / of_ended.goodput_bps.unwrap();
        assert!((seconds - 2.5).abs() < 1e-9, "{contender}: {seconds} s");
        // A call's last frames are still on their way when its encoder ends.
        let call = contender.starts_with("rtp");
        let alike =
            if call { of_ended.bytes.abs_diff(of_whole.bytes) < 20_000 } else { of_ended.bytes == of_whole.bytes };
        assert!(alike, "{contender}: {} and {} bytes", of_ended.bytes, of_whole.bytes);
        let after = alone(&flow, &json!({ "duration": "6s", "measure_from": "3500ms" }));
        assert_eq!((after.flows[0].bytes, after.flows[0].goodput_bps), (0, None), "{contender}");
        assert_eq!(after.status, whole.status, "{contender}");
        if call {
            let seen = after.flows[0].call.as_ref().unwrap();
            assert_eq!((seen.freezes, seen.frames_sent), (0, 0), "{contender}");
        }
    }
}

#[test]
fn a_time_ends_flows_alone_that_do_not_end_by_themselves() {
    let refused = |flow: Value| dumbbell(1, json!([flow])).unwrap_err();
    let sized = json!({ "contender": "tcp/cubic", "size": "1kB", "duration": "1s" });
    assert!(refused(sized).contains("flows[0].duration: only an unlimited flow or a call"));
    let never = json!({ "contender": "tcp/cubic", "size": "1kB", "duration": "0s" });
    assert!(refused(never).contains("flows[0].duration: 0s: give a positive time"));
}
