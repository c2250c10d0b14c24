//! Linux kernels as nodes, in scenario files. All are skipped where no kernel has been built.
#![cfg(feature = "kernels")]

use crate::skips::skip;
use haltere_sim::contender::Contender;
use haltere_sim::{Fidelity, Files, RunResult, Scenario, run_at, trace_at};
use serde_json::{Value, json};

/// Whether there is a kernel here.
fn kernel() -> bool {
    let ready = Contender::parse("tcp@linux/cubic").unwrap().at(Fidelity::Stack);
    if let Err(why) = &ready {
        skip(why);
    }
    ready.is_ok()
}

/// Whether that kernel is of the series whose rules the model has by default.
fn is_of_the_models_version() -> bool {
    haltere_kernel::Boot::kernel_found().is_ok_and(|boot| boot.program.to_string_lossy().contains("/6.12."))
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
fn with_its_cards_memory_a_kernel_sends_as_many_acknowledgements_as_the_model() {
    if !kernel() {
        return;
    }
    let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "2bdp" });
    let acknowledgements = |contender| {
        let result = run(&on_link(&[flow(contender, "4MB")], &link));
        (result.links[1].offered_packets, result.flows[0].sent_packets)
    };
    let kernel = acknowledgements("tcp@linux/newreno");
    let (veth, virtio) = (acknowledgements("tcp/newreno"), acknowledgements("tcp/newreno+network-card=virtio"));
    // The kernel's client ends its stream with its last acknowledgement, the model's with its request. A kernel of another version has rules
    // of its own.
    if is_of_the_models_version() {
        assert_eq!(kernel.0 + 1, virtio.0, "{kernel:?}, {virtio:?}, {veth:?}");
    }
    assert!(kernel.0 > veth.0 + 50, "{kernel:?}, {veth:?}");
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
        ("tcp@linux/cubic+ecn=accurate", "choose another value"),
        ("tcp@linux/cubic-prr", "no switch 'prr'"),
    ] {
        let said = Contender::parse(given).unwrap().at(Fidelity::Stack).unwrap_err();
        assert!(said.contains(hint), "{given}: {said}");
    }
}

#[test]
fn switches_act_in_a_kernel_as_in_the_model() {
    if !kernel() {
        return;
    }
    let link = json!({ "rate": "100Mbit/s", "delay": "20ms", "queue": "1000p", "down": { "loss": "0.5%" } });
    let run = |contender: &str| run(&on_link(&[flow(contender, "2MB")], &link)).flows[0].clone();
    let usual = run("tcp@linux/cubic");
    for switch in [
        "+initial-window=40",
        "+segment=536B",
        "-sack",
        "-timestamps",
        "+receive-window=64KiB+max-receive-window=64KiB",
        "+pacing",
        "-hystart",
        "-delack",
    ] {
        let (kernel, model) = (run(&format!("tcp@linux/cubic{switch}")), run(&format!("tcp/cubic{switch}")));
        let texts = [&kernel, &usual].map(|flow| serde_json::to_string(flow).unwrap());
        assert_ne!(texts[0], texts[1], "{switch} changes nothing");
        let (ours, theirs) = (model.completion_s.unwrap(), kernel.completion_s.unwrap());
        assert!((theirs / ours - 1.0).abs() < 0.2, "{switch}: {theirs} s, and {ours} s in the model");
    }
}

#[test]
fn two_wishes_for_one_host_are_refused() {
    if !kernel() {
        return;
    }
    let link = json!({ "rate": "10Mbit/s", "delay": "20ms", "queue": "100p" });
    let both = on_link(&[flow("tcp@linux/cubic", "1kB"), flow("tcp@linux/bbr-sack", "1kB")], &link);
    let scenario = Scenario::from_json(&both.to_string()).unwrap();
    let error = run_at(Fidelity::Stack, &scenario, 1, 0).unwrap_err();
    assert!(error.to_string().contains("want net.ipv4.tcp_sack set differently on one host"), "{error}");
    // A kernel that has begun without the wish would not heed it.
    let both = on_link(&[flow("tcp@linux/bbr", "1kB"), flow("tcp@linux/cubic-hystart", "1kB")], &link);
    let scenario = Scenario::from_json(&both.to_string()).unwrap();
    let error = run_at(Fidelity::Stack, &scenario, 1, 0).unwrap_err();
    assert!(error.to_string().contains("tcp_cubic.hystart set differently on one host"), "{error}");
}

#[test]
fn mptcp_of_a_kernel_uses_both_paths() {
    if !kernel() {
        return;
    }
    let path = json!({ "rate": "10Mbit/s", "delay": "20ms", "queue": "100p" });
    let run = |contender: &str| {
        let scenario = json!({
            "topology": { "kind": "multipath", "paths": [path, path] },
            "flows": [flow(contender, "4MB")]
        });
        run(&scenario)
    };
    let (one, two, again) = (run("tcp@linux/cubic"), run("mptcp@linux/cubic"), run("mptcp@linux/cubic"));
    let (one, both) = (one.flows[0].completion_s.unwrap(), two.flows[0].completion_s.unwrap());
    assert!(both < 0.65 * one, "{both} s over two paths, {one} s over one");
    assert_eq!(text(&two), text(&again));
    let announced = run("mptcp@linux/cubic+add-addr").flows[0].completion_s.unwrap();
    assert!(announced < 0.65 * one, "{announced} s over addresses that the server announces");
}

#[test]
fn the_state_of_a_kernel_is_recorded() {
    if !kernel() {
        return;
    }
    let link = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "60p", "down": { "loss": "0.5%" } });
    for control in ["cubic", "bbr"] {
        let scenario = on_link(&[flow(&format!("tcp@linux/{control}"), "2MB")], &link);
        let plain = run(&scenario);
        let parsed = Scenario::from_json(&scenario.to_string()).unwrap();
        let traced = trace_at(Fidelity::Stack, &parsed, 1, 0, &Files::default()).unwrap();
        // A kernel that is asked rounds its timers otherwise.
        let later = plain.flows[0].completion_s.unwrap() - traced.result.flows[0].completion_s.unwrap();
        assert!(later.abs() < 1e-6, "{control}: {later} s");
        assert_eq!(plain.data_packets, traced.result.data_packets, "{control}");
        let largest_and_least = |name: &str| {
            let values =
                traced.series.iter().filter(|one| one.who == "flow 0" && one.name == name).flat_map(|one| &one.v);
            values.fold((0.0_f64, f64::INFINITY), |(most, least), value| (most.max(*value), least.min(*value)))
        };
        let (most, least) = largest_and_least("cwnd");
        assert!(most > 2.0 * least && least >= 1448.0, "{control}: {least} to {most} bytes");
        let (most, _) = largest_and_least("delivery_rate");
        assert!((3e6..40e6).contains(&most), "{control}: {most} bit/s");
        assert!(largest_and_least("rtt").1 >= 0.04, "{control}");
    }
}
