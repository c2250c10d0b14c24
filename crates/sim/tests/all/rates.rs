//! How the goodput of flows changes over the windows of `rate_window`.

use haltere_sim::result::{RateResult, ReachedResult, RunResult};
use haltere_sim::{Fidelity, Files, Scenario, run, trace_at};
use serde_json::{Value, json};

fn scenario(of: &Value) -> Scenario {
    Scenario::from_json(&of.to_string()).unwrap()
}

fn result(of: &Value) -> RunResult {
    run(&scenario(of), 1, 0).unwrap()
}

fn rates(of: &RunResult) -> RateResult {
    of.flows[0].rates.clone().unwrap()
}

fn reached(of: &RunResult) -> ReachedResult {
    of.reached.clone().unwrap()
}

/// A single flow over 20 Mbit/s with RTT 40 ms.
fn alone(contender: &str, link: &Value) -> Value {
    let mut path = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1bdp" });
    path.as_object_mut().unwrap().extend(link.as_object().unwrap().clone());
    json!({
        "duration": "20s", "measure_from": "10s", "rate_window": "1s",
        "topology": { "kind": "point-to-point", "link": path },
        "flows": [{ "contender": contender, "app": "raw" }],
    })
}

fn dumbbell(flows: &Value) -> Value {
    json!({
        "duration": "40s", "rate_window": "1s",
        "topology": {
            "kind": "dumbbell", "pairs": 2,
            "bottleneck": { "rate": "10Mbit/s", "delay": "10ms", "queue": "1bdp" },
            "access": { "rate": "1Gbit/s", "delay": "1ms" },
        },
        "flows": flows,
    })
}

#[test]
fn a_run_is_the_same_with_and_without_windows() {
    let with = dumbbell(&json!([
        { "contender": "tcp/cubic", "app": "raw" },
        { "contender": "quic/bbr", "app": "raw", "pair": 1, "start": "333ms" },
    ]));
    let mut without = with.clone();
    without.as_object_mut().unwrap().remove("rate_window");
    let (mut first, second) = (result(&with), result(&without));
    let traced = trace_at(Fidelity::Model, &scenario(&with), 1, 0, &Files::default()).unwrap();
    let bare = trace_at(Fidelity::Model, &scenario(&without), 1, 0, &Files::default()).unwrap();
    let as_json = |of: &RunResult| serde_json::to_string(of).unwrap();
    assert_eq!(as_json(&first), as_json(&traced.result), "a trace has the windows of its run");
    assert!(!as_json(&second).contains("oscillation") && !as_json(&second).contains("convergence_s"));
    first.reached = None;
    first.flows.iter_mut().for_each(|flow| flow.rates = None);
    assert_eq!(as_json(&first), as_json(&second));
    let times = |of: &haltere_sim::result::TraceResult| {
        let received = of.series.iter().filter(|series| series.name == "received");
        received.map(|series| (series.t_s.clone(), series.v.clone())).collect::<Vec<_>>()
    };
    assert_eq!(times(&traced), times(&bare));
}

#[test]
fn a_full_link_is_steady_and_one_with_a_square_wave_has_its_variation() {
    let steady = rates(&result(&alone("tcp/cubic", &json!({}))));
    assert!(steady.oscillation.unwrap() < 0.01, "{steady:?}");
    assert!(steady.largest_fall_ratio.unwrap() < 0.03 && steady.longest_silence_s == Some(0.0), "{steady:?}");
    // 20 and 10 Mbit/s for 2 s each: a mean of 15, a deviation of 5.
    let wave = json!({ "rate": { "at": ["0s", "2s"], "value": ["20Mbit/s", "10Mbit/s"], "repeat": "4s" } });
    let varying = rates(&result(&alone("tcp/bbr", &wave)));
    assert!((varying.oscillation.unwrap() - 1.0 / 3.0).abs() < 0.03, "{varying:?}");
    assert!((varying.largest_fall_ratio.unwrap() - 0.5).abs() < 0.05, "{varying:?}");
}

#[test]
fn an_outage_is_a_silence_and_the_way_back_a_response() {
    let outage = result(&alone("tcp/cubic", &json!({ "outage": [{ "from": "10s", "to": "11.5s" }] })));
    let silence = rates(&outage).longest_silence_s.unwrap();
    assert!((1.4..3.2).contains(&silence), "{silence}");
    let response = reached(&outage).response_s.unwrap();
    assert!(response >= silence - 0.15, "{response} after a silence of {silence}");
    // Nothing comes any more: the silence lasts until the end, and there is no response.
    let gone = result(&alone("tcp/cubic", &json!({ "outage": [{ "from": "12s", "to": "100s" }] })));
    assert!((rates(&gone).longest_silence_s.unwrap() - 8.0).abs() < 0.15, "{:?}", rates(&gone));
    let gone = result(&alone("tcp/cubic", &json!({ "outage": [{ "from": "10s", "to": "100s" }] })));
    assert_eq!(reached(&gone).response_s, None);
}

#[test]
fn a_response_is_at_once_without_a_step_and_takes_its_time_to_a_faster_path() {
    assert_eq!(reached(&result(&alone("tcp/cubic", &json!({})))).response_s, Some(0.0));
    let step = json!({ "queue": "20p", "rate": { "at": ["0s", "10s"], "value": ["2Mbit/s", "50Mbit/s"] } });
    let bbr = reached(&result(&alone("tcp/bbr", &step))).response_s.unwrap();
    assert!((0.1..5.0).contains(&bbr), "{bbr}");
    let reno = reached(&result(&alone("tcp/newreno", &step))).response_s;
    assert!(reno.is_none_or(|reno| reno > bbr), "NewReno adds a segment in each RTT: {reno:?}, BBR {bbr}");
    let mut unmeasured = alone("tcp/cubic", &json!({}));
    unmeasured.as_object_mut().unwrap().remove("measure_from");
    assert_eq!(reached(&result(&unmeasured)).response_s, None);
    let unlimited = alone("tcp/cubic", &json!({ "rate": null }));
    assert_eq!(reached(&result(&unlimited)).response_s, None);
}

#[test]
fn two_flows_of_a_kind_converge_after_the_second_has_started_and_one_that_yields_never_does() {
    let beside = |second: &Value| dumbbell(&json!([{ "contender": "tcp/cubic", "app": "raw" }, second]));
    let convergence = |of: &Value| reached(&result(of)).convergence_s;
    let late = json!({ "contender": "tcp/cubic", "app": "raw", "pair": 1, "start": "5s" });
    let converged = convergence(&beside(&late)).unwrap();
    assert!((0.1..30.0).contains(&converged), "{converged}");
    let mut of_a_size = late.clone();
    of_a_size["size"] = json!("1MB");
    assert_eq!(convergence(&beside(&of_a_size)), None, "a flow that ends has no share for ever");
    // The queue of 176 ms is longer than the delay that LEDBAT aims at. LEDBAT knows the path's own delay, because it was there first.
    let mut long = beside(&late);
    long["flows"][0]["contender"] = json!("tcp/ledbat");
    long["topology"]["bottleneck"]["queue"] = json!("8bdp");
    assert_eq!(convergence(&long), None);
}

#[test]
fn windows_that_cannot_be_are_refused() {
    let refused = |of: &Value| Scenario::from_json(&of.to_string()).unwrap_err();
    let with = |window: &str| {
        let mut of = alone("tcp/cubic", &json!({}));
        of["rate_window"] = json!(window);
        of
    };
    for window in ["0s", "9ms", "21s"] {
        assert_eq!(refused(&with(window)).path, "rate_window", "{window}");
    }
    let mut many = json!({
        "rate_window": "10ms",
        "topology": { "kind": "point-to-point", "link": { "rate": "20Mbit/s" } },
        "flows": [{ "contender": "tcp/cubic", "size": "1kB", "copies": 100 }],
    });
    assert!(refused(&many).message.contains("time_limit"), "{}", refused(&many));
    many["time_limit"] = json!("10s");
    assert!(Scenario::from_json(&many.to_string()).is_ok());
}
