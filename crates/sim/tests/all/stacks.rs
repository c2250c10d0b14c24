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
    // 80 ms of serialisation and four round trips of 20 ms: handshake, request, and the cost of slow start.
    assert!((0.1..0.4).contains(&flow.completion_s.unwrap()), "{flow:?}");
    assert!(flow.min_rtt_s.unwrap() >= 0.02 && flow.sent_packets > 680, "{flow:?}");
}

#[test]
fn every_stack_and_switch_runs_and_repeats() {
    for contender in [
        "quic/cubic",
        "quic@quinn/newreno",
        "quic@quinn/cubic+nullcipher",
        "quic@quinn/bbr+haltere",
        "quic@quinn/cubic+haltere-nohystart+nullcipher",
        "quic@quinn/cubic+stockbuffers",
        "quic@noq/cubic",
        "quic@noq/newreno+haltere",
        "quic@model/cubic",
    ] {
        let lossy = json!({ "rate": "20Mbit/s", "delay": "15ms", "queue": "60p", "down": { "loss": "1%" }, "duplication": "1%" });
        let scenario = point_to_point(&[contender], "2MB", lossy);
        let first = run(&scenario);
        assert_eq!((first.status, first.error.as_deref()), ("ok", None), "{contender}");
        let text = |r: &RunResult| serde_json::to_string(r).unwrap();
        assert_eq!(text(&first), text(&run(&scenario)), "{contender}");
    }
}

#[test]
fn quinn_shares_a_bottleneck_with_modelled_tcp() {
    let flow = |contender: &str, pair: u32| json!({ "contender": contender, "app": "https", "pair": pair });
    let scenario = json!({
        "duration": "30s",
        "measure_from": "5s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "bottleneck": { "rate": "50Mbit/s", "delay": "10ms", "queue": "1bdp" },
        },
        "flows": [flow("quic@quinn/cubic", 0), flow("tcp/cubic", 1), flow("quic@model/cubic", 2)],
    });
    let result = run(&Scenario::from_json(&scenario.to_string()).unwrap());
    // A run fails if not all its packets are accounted for.
    assert_eq!((result.status, result.error), ("ok", None));
    let goodputs: Vec<f64> = result.flows.iter().map(|f| f.goodput_bps.unwrap()).collect();
    assert!(goodputs.iter().all(|g| *g > 3e6), "{goodputs:?}");
    let sum: f64 = goodputs.iter().sum();
    assert!((42e6..50e6).contains(&sum), "{goodputs:?}");
}

#[test]
fn a_path_with_a_small_mtu_is_found_out() {
    for stack in ["quinn", "noq"] {
        let mut link = usual();
        link["mtu"] = json!("1350B");
        let result = run(&point_to_point(&[&format!("quic@{stack}/cubic")], "1MB", link.clone()));
        assert_eq!((result.status, result.links[0].dropped_mtu), ("ok", 0), "the path's MTU is known beforehand");
        assert!(result.links[0].delivered_packets < 1_100_000 / 1200, "{stack}");
    }
}

#[test]
fn what_a_stack_lacks_is_told_with_the_place() {
    let scenario = point_to_point(&["tcp/cubic", "quic@quinn/bbr"], "1MB", usual());
    let wrong = run_at(Fidelity::Stack, &scenario, 1, 0).unwrap_err();
    assert_eq!(wrong.path, "flows[1].contender");
    assert!(wrong.message.contains("bbr+haltere"), "{wrong}");
    assert_eq!(haltere_sim::check_at(Fidelity::Stack, &scenario), Err(wrong));
}

#[test]
fn a_trace_shows_the_stacks_window_and_changes_nothing() {
    for contender in ["quic@quinn/cubic", "quic@noq/cubic", "quic@quinn/cubic+haltere"] {
        let scenario = point_to_point(&[contender], "1MB", usual());
        let traced = haltere_sim::trace_at(Fidelity::Stack, &scenario, 1, 0, &haltere_sim::Files::default()).unwrap();
        let names: Vec<_> = traced.series.iter().filter(|s| s.who == "flow 0").map(|s| s.name).collect();
        for name in ["cwnd", "bytes_in_flight", "rtt"] {
            assert!(names.contains(&name), "{contender}: {names:?}");
        }
        let text = |r: &RunResult| serde_json::to_string(r).unwrap();
        assert_eq!(text(&traced.result), text(&run(&scenario)));
    }
}

#[test]
fn stacks_carry_films() {
    for contender in ["quic@quinn/cubic", "quic@noq/cubic"] {
        let flow = json!({ "contender": contender, "video": { "adaptation": "mpc" } });
        let link = json!({ "rate": "3Mbit/s", "delay": "25ms", "queue": "100p" });
        let given = json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] });
        let result = run(&Scenario::from_json(&given.to_string()).unwrap());
        let (flow, video) = (&result.flows[0], result.flows[0].video.as_ref().unwrap());
        assert_eq!((flow.status, video.chunks_played), ("ok", 48), "{contender}: {video:?}");
        assert!((1.5e6..3e6).contains(&video.played_bps.unwrap()) && video.stalled_s < 2.0, "{contender}: {video:?}");
    }
}

#[test]
fn a_page_of_more_objects_than_streams_is_asked_for_in_early_data() {
    let link = json!({ "delay": "50ms", "rate": "100Mbit/s" });
    let objects = json!(vec![json!({ "size": "3kB" }); 250]);
    for stack in ["quinn", "noq"] {
        for (switches, round_trips) in [("+0rtt", 0), ("+0rtt+retry", 1), ("+0rtt+versionnegotiation", 1)] {
            let contender = format!("quic@{stack}/cubic{switches}");
            let flow = json!({ "contender": contender, "app": "https", "page": { "objects": objects } });
            let scenario = json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] });
            let result = run(&Scenario::from_json(&scenario.to_string()).unwrap());
            assert_eq!((result.status, result.error), ("ok", None), "{contender}");
            let flow = &result.flows[0];
            let first_byte = flow.first_byte_s.unwrap() - 0.1 * f64::from(round_trips + 1);
            assert!((0.0..0.02).contains(&first_byte), "{contender}: {flow:?}");
            assert_eq!(flow.bytes, 750_000, "{contender}");
        }
    }
}

/// The longest delivery time of 30 messages, one a second, of which an outage takes one; without serialisation times.
fn longest_delivery(contender: &str) -> f64 {
    let outage = json!([{ "from": "20050ms", "to": "20135ms" }]);
    let mqtt = json!({ "subscriber": "subscriber", "messages": 30, "interval": "1s", "keep_alive": "0s" });
    let scenario = json!({
        "topology": { "kind": "graph", "links": [
            { "name": "bottleneck", "from": "publisher", "to": "broker", "link": { "delay": "20ms", "outage": outage } },
            { "from": "broker", "to": "subscriber", "link": { "delay": "0ms" } },
        ] },
        "flows": [{ "contender": contender, "server": "broker", "client": "publisher", "mqtt": mqtt }],
    });
    let result = run(&Scenario::from_json(&scenario.to_string()).unwrap());
    assert_eq!((result.status, result.error), ("ok", None), "{contender}");
    let row = serde_json::to_value(&result.flows[0]).unwrap();
    row["delivery_max_s"].as_f64().unwrap()
}

/// quinn-proto and noq-proto repeat no stream data in probes: `maybe_queue_probe` and `queue_tail_loss_probe` of `spaces.rs`.
#[test]
fn a_lost_message_comes_when_it_does_in_the_model_without_data_in_probes() {
    let (with_data, without) = (longest_delivery("quic@model/cubic"), longest_delivery("quic@model/cubic-probe-data"));
    assert!((without - with_data - 0.040).abs() < 1e-5, "a round trip later: {without} after {with_data}");
    for stack in ["quinn", "noq"] {
        let theirs = longest_delivery(&format!("quic@{stack}/cubic"));
        assert!((theirs - without).abs() < 1e-5, "{stack}: {theirs} where the model takes {without}");
    }
}

/// A call of 30 s over a link with an RTT of 50 ms.
fn call(contender: &str, rate: &str, more: &Value) -> Scenario {
    let mut link = json!({ "rate": rate, "delay": "25ms", "queue": "100p" });
    link.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    let scenario = json!({
        "duration": "30s",
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": contender }],
    });
    Scenario::from_json(&scenario.to_string()).unwrap()
}

#[test]
fn str0m_carries_a_call() {
    let result = run(&call("rtp@str0m/gcc", "10Mbit/s", &json!({})));
    assert_eq!((result.status, result.error), ("ok", None));
    let (flow, call) = (&result.flows[0], result.flows[0].call.as_ref().unwrap());
    let said = format!("{call:?}, {flow:?}");
    assert!((1.0e6..1.5e6).contains(&flow.goodput_bps.unwrap()), "{said}");
    assert!(call.frames_shown as f64 > 0.95 * call.frames_sent as f64 && call.key_frames < 4, "{said}");
    assert!((0.025..0.15).contains(&call.glass_to_glass_p95_s.unwrap()), "{said}");
    assert!(flow.min_rtt_s.unwrap() > 0.05 && flow.sent_packets > 3_000, "{said}");
}

#[test]
fn calls_of_str0m_repeat_to_the_byte_over_links_of_all_kinds() {
    let text = |scenario: &Scenario, seed| {
        serde_json::to_string(&run_at(Fidelity::Stack, scenario, seed, 0).unwrap()).unwrap()
    };
    for (rate, more) in [
        ("600kbit/s", json!({})),
        ("2Mbit/s", json!({ "down": { "loss": "3%" }, "up": { "loss": "3%" } })),
        ("2Mbit/s", json!({ "queue": "fq_codel", "duplication": "1%" })),
        ("1Mbit/s", json!({ "queue": "10p", "jitter": "5ms" })),
    ] {
        let scenario = call("rtp@str0m/gcc", rate, &more);
        let first = text(&scenario, 1);
        assert_eq!(first, text(&scenario, 1), "{rate} {more}");
        assert_ne!(first, text(&scenario, 2), "{rate} {more}");
    }
}

#[test]
fn str0m_lives_beside_the_model_and_tcp() {
    let scenario = json!({
        "duration": "30s",
        "topology": {
            "kind": "dumbbell",
            "pairs": 3,
            "bottleneck": { "rate": "4Mbit/s", "delay": "20ms", "queue": "fq_codel" },
        },
        "flows": [
            { "contender": "rtp@str0m/gcc", "pair": 0 },
            { "contender": "rtp/gcc", "pair": 1 },
            { "contender": "tcp/cubic", "app": "raw", "pair": 2 },
        ],
    });
    let result = run(&Scenario::from_json(&scenario.to_string()).unwrap());
    assert_eq!((result.status, result.error), ("ok", None));
    for flow in &result.flows {
        assert!(flow.goodput_bps.unwrap() > 150e3, "{flow:?}");
    }
}

#[test]
fn a_call_of_str0m_goes_up_as_well_and_fails_where_nothing_comes_back() {
    let mut up = json!({
        "duration": "20s",
        "topology": { "kind": "point-to-point", "link": { "rate": "2Mbit/s", "delay": "25ms", "up": { "rate": "500kbit/s" } } },
        "flows": [{ "contender": "rtp@str0m/gcc", "direction": "up" }],
    });
    let result = run(&Scenario::from_json(&up.to_string()).unwrap());
    let flow = &result.flows[0];
    assert!(flow.direction == "up" && (100e3..500e3).contains(&flow.goodput_bps.unwrap()), "{flow:?}");
    up["topology"]["link"]["down"] = json!({ "loss": "100%" });
    up["duration"] = json!("60s");
    let result = run(&Scenario::from_json(&up.to_string()).unwrap());
    assert_eq!(result.flows[0].status, "failed");
}

/// A call of 60 s over 20 Mbit/s with losses, at fidelity `stack`.
fn with_losses(contender: &str, loss: &str) -> RunResult {
    run(&call(contender, "20Mbit/s", &json!({ "down": { "loss": loss } })))
}

#[test]
fn a_call_over_a_stack_is_as_one_over_the_model_where_no_inner_control_acts() {
    for streams in ["", "+streams=frame", "+streams=group"] {
        for loss in ["0%", "1%"] {
            let of = |stack: &str| {
                let result = with_losses(&format!("roq{stack}/gcc+quic=none{streams}"), loss);
                let flow = &result.flows[0];
                let call = flow.call.as_ref().unwrap();
                assert_eq!(flow.status, "ok");
                assert!(
                    call.frames_shown as f64 > 0.95 * call.frames_sent as f64,
                    "{stack} {streams} {loss}: {call:?}"
                );
                (flow.goodput_bps.unwrap(), call.glass_to_glass_p95_s.unwrap())
            };
            let model = of("@model");
            for stack in ["@quinn", "@noq"] {
                let real = of(stack);
                let said = format!("{stack} {streams}, loss {loss}: {real:?} and the model's {model:?}");
                assert!((real.0 / model.0 - 1.0).abs() < 0.15 && (real.1 / model.1 - 1.0).abs() < 0.15, "{said}");
            }
        }
    }
}

#[test]
fn our_control_below_that_of_media_does_in_a_stack_as_in_the_model() {
    let rate = |contender: &str| with_losses(contender, "1%").flows[0].goodput_bps.unwrap();
    let (model, ours, none) = (rate("roq/gcc"), rate("roq@quinn/gcc+haltere"), rate("roq@quinn/gcc+quic=none"));
    assert!(model < 0.6 * none && ours < 0.6 * none, "{model} in the model, {ours} in quinn, {none} without");
}

#[test]
fn what_a_call_over_a_stack_switches_changes_it_and_runs_repeat() {
    let told = |contender: &str| serde_json::to_string(&with_losses(contender, "1%").flows[0].call).unwrap();
    let plain = told("roq@quinn/gcc");
    assert_eq!(plain, told("roq@quinn/gcc"));
    for more in ["+quic=cubic", "+quic=none", "+streams=frame", "+streams=group", "+haltere"] {
        assert_ne!(plain, told(&format!("roq@quinn/gcc{more}")), "{more}");
    }
    assert_eq!(plain, told("roq@quinn/gcc+nullcipher"), "sizes stay");
}
