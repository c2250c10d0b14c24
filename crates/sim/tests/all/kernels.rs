//! Linux kernels as nodes, in scenario files. All are skipped where no kernel has been built.
#![cfg(feature = "kernels")]

use crate::skips::skip;
use haltere_sim::contender::Contender;
use haltere_sim::{Fidelity, RunResult, Scenario, run_at};
use serde_json::{Value, json};

/// Whether there is a kernel here.
fn kernel() -> bool {
    let ready = Contender::parse("tcp@linux/cubic").unwrap().at(Fidelity::Stack);
    if let Err(why) = &ready {
        skip(why);
    }
    ready.is_ok()
}

fn run(scenario: &Value) -> RunResult {
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    let result = run_at(Fidelity::Stack, &scenario, 1, 0).unwrap();
    assert_eq!((result.status, result.error.as_deref()), ("ok", None));
    result
}

fn text(result: &RunResult) -> String {
    serde_json::to_string(result).unwrap()
}

fn flow(contender: &str, size: &str) -> Value {
    json!({ "contender": contender, "app": "raw", "size": size })
}

fn on_link(flows: &[Value], link: &Value) -> Value {
    json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": flows })
}

#[test]
fn every_congestion_control_of_linux_runs_and_repeats() {
    if !kernel() {
        return;
    }
    let lossy = json!({ "rate": "20Mbit/s", "delay": "15ms", "queue": "60p", "down": { "loss": "1%" } });
    for control in ["cubic", "reno", "bbr", "westwood", "vegas"] {
        let scenario = on_link(&[flow(&format!("tcp@linux/{control}"), "1MB")], &lossy);
        let first = run(&scenario);
        let flow = &first.flows[0];
        assert!(flow.completion_s.unwrap() > 0.4 && flow.min_rtt_s.unwrap() >= 0.03, "{control}: {flow:?}");
        assert_eq!(text(&first), text(&run(&scenario)), "{control}");
    }
}

#[test]
fn a_kernel_and_its_model_take_the_same_time() {
    if !kernel() {
        return;
    }
    let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1000p" });
    let time = |contender| run(&on_link(&[flow(contender, "4MB")], &link)).flows[0].completion_s.unwrap();
    let (kernel, model) = (time("tcp@linux/cubic"), time("tcp/cubic"));
    assert!((kernel / model - 1.0).abs() < 0.01, "{kernel} s, and {model} s in the model");
}

#[test]
fn ten_flows_share_two_kernels() {
    if !kernel() {
        return;
    }
    let link = json!({ "rate": "50Mbit/s", "delay": "10ms", "queue": "1bdp" });
    let flows: Vec<Value> = (0..10).map(|i| flow(["tcp@linux/cubic", "tcp@linux/bbr"][i % 2], "1MB")).collect();
    let scenario = on_link(&flows, &link);
    let first = run(&scenario);
    assert_eq!(first.flows.len(), 10);
    // 10 MB take 1.6 s at least.
    let last = first.flows.iter().map(|flow| flow.completion_s.unwrap()).fold(0.0, f64::max);
    assert!((1.6..4.0).contains(&last), "{last}");
    assert_eq!(text(&first), text(&run(&scenario)));
}

#[test]
#[cfg(feature = "stacks")]
fn linux_meets_quinn_and_the_model_at_a_bottleneck() {
    if !kernel() {
        return;
    }
    let flow = |contender: &str, pair: u32| json!({ "contender": contender, "app": "https", "pair": pair });
    let scenario = json!({
        "duration": "20s",
        "measure_from": "5s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "bottleneck": { "rate": "30Mbit/s", "delay": "10ms", "queue": "1bdp" },
        },
        "flows": [flow("tcp@linux/cubic", 0), flow("quic@quinn/cubic", 1), flow("tcp/cubic", 2)],
    });
    let goodputs: Vec<f64> = run(&scenario).flows.iter().map(|f| f.goodput_bps.unwrap()).collect();
    assert!(goodputs.iter().all(|g| *g > 2e6), "{goodputs:?}");
    let sum: f64 = goodputs.iter().sum();
    assert!((25e6..30e6).contains(&sum), "{goodputs:?}");
}

#[test]
fn what_a_kernel_lacks_is_named_with_the_remedy() {
    for (given, hint) in [
        ("tcp@linux/qubic", "cubic"),
        ("tcp@linux/cubic+ecn", "fidelity \"linux\""),
        ("tcp@linux/cubic-hystart", "leave it out"),
    ] {
        let said = Contender::parse(given).unwrap().at(Fidelity::Stack).unwrap_err();
        assert!(said.contains(hint), "{given}: {said}");
    }
}
