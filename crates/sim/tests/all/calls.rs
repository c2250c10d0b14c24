//! Calls: the picture at the viewer over links of all kinds, beside other flows, and what is refused.

use crate::common;

use common::generator::case;
use common::{flaw, scenario};
use haltere_sim::result::{CallResult, FlowResult};
use haltere_sim::{RunResult, ScenarioError, run, trace};
use haltere_transport::rtp::control::Control;
use serde_json::{Value, json};

fn controls() -> impl Iterator<Item = &'static str> {
    Control::ALL.iter().map(|control| control.describe().name)
}

/// The congestion controls of media over UDP, and over QUIC in each way that there is.
fn contenders() -> impl Iterator<Item = String> {
    let ways = ["rtp/{}", "roq/{}", "roq/{}+quic=none", "roq/{}+streams=frame", "roq/{}+streams=group+quic=bbr"];
    controls().flat_map(move |control| ways.map(|way| way.replace("{}", control)))
}

/// A call of 60 s over a link with an RTT of 50 ms.
fn over(rate: &str, contender: &str, more: Value) -> Value {
    let mut link = json!({ "rate": rate, "delay": "25ms", "queue": "100p" });
    link.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    json!({
        "duration": "60s",
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": contender }],
    })
}

fn refused(given: &Value) -> ScenarioError {
    haltere_sim::Scenario::from_json(&given.to_string()).unwrap_err()
}

fn first(result: &RunResult) -> (&FlowResult, &CallResult) {
    let flow = &result.flows[0];
    (flow, flow.call.as_ref().unwrap())
}

#[test]
fn a_call_over_a_fast_link_is_smooth_and_at_its_largest_rate() {
    for contender in contenders() {
        let result = common::result(&over("20Mbit/s", &contender, json!({})));
        let (flow, call) = first(&result);
        let said = format!("{contender}: {call:?}, {:?} bit/s", flow.goodput_bps);
        assert_eq!((flow.status, call.freezes, call.key_frames), ("ok", 0, 1), "{said}");
        assert!(call.frames_shown as f64 > 0.98 * call.frames_sent as f64, "{said}");
        assert!((0.9e6..1.5e6).contains(&flow.goodput_bps.unwrap()), "{said}");
        // The way takes 25 ms, and the pacer of NADA nearly the time of a frame; that of BBR below it takes more.
        let most = if contender.starts_with("rtp") { 0.12 } else { 0.15 };
        assert!((0.025..most).contains(&call.glass_to_glass_p95_s.unwrap()), "{said}");
    }
}

#[test]
fn a_slow_link_slows_the_encoder_and_the_picture_stays() {
    for contender in contenders() {
        let result = common::result(&over("600kbit/s", &contender, json!({})));
        let (flow, call) = first(&result);
        let said = format!("{contender}: {call:?}, {:?} bit/s", flow.goodput_bps);
        assert!((0.25e6..0.6e6).contains(&flow.goodput_bps.unwrap()), "{said}");
        assert!(call.frames_shown as f64 > 0.8 * call.frames_sent as f64, "{said}");
        // The rate of SCReAM v1 stands still where a fifth of what remains of it after the packets that wait makes up for the 5 % that it
        // loses to them (RFC 8298 section 4.1.3): at a wait of three quarters of a second.
        let most = if contender.contains("scream_v1") { 1.1 } else { 0.6 };
        assert!(call.glass_to_glass_mean_s.unwrap() < most, "{said}");
    }
}

#[test]
fn losses_are_repaired_before_the_picture_freezes_for_long() {
    for control in controls() {
        let lossy = json!({ "down": { "loss": "1%" } });
        let result = common::result(&over("20Mbit/s", &format!("rtp/{control}"), lossy));
        let (flow, call) = first(&result);
        let said = format!("{control}: {call:?}, {} repairs", flow.retransmitted_packets);
        assert!(flow.retransmitted_packets > 10 && flow.lost_packets > 10, "{said}");
        assert!(call.frozen_s < 3.0 && call.frames_shown as f64 > 0.9 * call.frames_sent as f64, "{said}");
    }
}

#[test]
fn a_pause_is_no_freeze_and_ends_with_a_key_frame() {
    for contender in contenders() {
        let mut given = over("20Mbit/s", &contender, json!({}));
        given["flows"][0]["call"] = json!({ "pauses": [{ "from": "20s", "to": "40s" }] });
        let result = common::result(&given);
        let (_, call) = first(&result);
        let said = format!("{contender}: {call:?}");
        assert_eq!((call.key_frames, call.freezes), (2, 0), "{said}");
        // 39 s of the 59 s that count, in steps of a frame.
        assert!(call.frames_sent.abs_diff(39 * 30) <= 2, "{said}");
        given["flows"][0]["call"] = json!({ "pauses": [{ "from": "20s", "to": "10s" }] });
        assert_eq!(refused(&given).path, "flows[0].call.pauses");
    }
}

#[test]
fn a_trace_has_the_target_of_the_encoder_and_the_age_of_each_picture() {
    let rate = json!({ "at": ["0s", "20s"], "value": ["20Mbit/s", "10Mbit/s"], "between": "step" });
    let given = scenario(&over("20Mbit/s", "rtp/gcc", json!({ "rate": rate })));
    let traced = trace(&given, 1, 0).unwrap();
    let of = |name: &str| traced.series.iter().find(|one| one.name == name && one.who == "flow 0").unwrap();
    assert_eq!(of("target_rate").v.last(), Some(&1.5e6));
    let capacity = traced.series.iter().find(|one| one.name == "capacity" && one.who.ends_with("down")).unwrap();
    assert_eq!((&*capacity.t_s, &*capacity.v), (&[0.0, 20.0][..], &[20e6, 10e6][..]));
    let shown = traced.result.flows[0].call.as_ref().unwrap().frames_shown;
    assert!(of("glass_to_glass").v.len() as u64 > shown / 2 && of("glass_to_glass").v.iter().all(|s| *s >= 0.025));
}

/// The nested loops of control: losses that the congestion control of media bears shrink the window of QUIC's.
#[test]
fn the_congestion_control_of_quic_limits_a_call_with_losses() {
    let rate = |contender: &str| {
        let result = common::result(&over("2Mbit/s", contender, json!({ "down": { "loss": "1%" } })));
        first(&result).0.goodput_bps.unwrap()
    };
    let [newreno, bbr, none] = ["", "+quic=bbr", "+quic=none"].map(|inner| rate(&format!("roq/gcc{inner}")));
    assert!(newreno < 0.6 * none && newreno < bbr && bbr < none, "{newreno}, {bbr} and {none} bit/s");
    let without = rate("rtp/gcc");
    assert!((none / without - 1.0).abs() < 0.05, "{none} bit/s over QUIC without a control, {without} over UDP");
}

#[test]
fn frames_wait_for_those_before_them_on_the_stream_of_a_group() {
    let late = |streams: &str| {
        let lossy = json!({ "down": { "loss": "1%" } });
        let result = common::result(&over("20Mbit/s", &format!("roq/gcc+quic=none+streams={streams}"), lossy));
        let (flow, call) = first(&result);
        assert!(call.frames_shown as f64 > 0.95 * call.frames_sent as f64, "{call:?}");
        assert!(flow.retransmitted_packets > 10, "QUIC repairs: {}", flow.retransmitted_packets);
        (call.glass_to_glass_p95_s.unwrap(), flow.most_held_bytes.unwrap())
    };
    let (group, frame) = (late("group"), late("frame"));
    assert!(group.0 > frame.0 && group.1 > frame.1, "{group:?} of a group, {frame:?} of a frame");
}

/// RFC 8867 section 5.6, without its end of the competing flow.
#[test]
fn a_call_beside_tcp_lives() {
    for contender in contenders() {
        let mut given = over("2Mbit/s", &contender, json!({}));
        given["flows"].as_array_mut().unwrap().push(json!({ "contender": "tcp/cubic", "app": "raw", "start": "10s" }));
        let result = common::result(&given);
        let (flow, call) = first(&result);
        let said = format!("{contender}: {call:?}, {:?} and {:?} bit/s", flow.goodput_bps, result.flows[1].goodput_bps);
        assert!(flow.goodput_bps.unwrap() > 0.12e6, "{said}");
        assert!(result.flows[1].goodput_bps.unwrap() > 0.3e6, "{said}");
    }
}

#[test]
fn a_call_goes_up_as_well() {
    let mut given = over("2Mbit/s", "rtp/nada", json!({ "down": { "loss": "100%" } }));
    given["flows"][0]["direction"] = json!("up");
    assert_eq!(common::result(&given).flows[0].status, "failed", "nothing comes back");
    let mut given = over("2Mbit/s", "rtp/nada", json!({ "up": { "rate": "300kbit/s" } }));
    given["flows"][0]["direction"] = json!("up");
    let result = common::result(&given);
    let (flow, call) = first(&result);
    assert_eq!(flow.direction, "up");
    assert!(flow.goodput_bps.unwrap() < 300e3 && call.frames_shown > 1000, "{call:?}");
}

#[test]
fn a_call_has_the_rates_that_it_is_given() {
    let mut given = over("20Mbit/s", "rtp/nada", json!({}));
    given["flows"][0]["call"] = json!({ "max_rate": "4Mbit/s", "start_rate": "2Mbit/s", "frames": 50 });
    let result = common::result(&given);
    let (flow, call) = first(&result);
    assert!(flow.goodput_bps.unwrap() > 3e6, "{:?}", flow.goodput_bps);
    assert!((48.0..50.5).contains(&call.picture_rate.unwrap()), "{call:?}");
}

/// The cases of the generator, with a call in the place of the first flow.
fn with_call(number: u64) -> Value {
    let mut given = case(number).scenario;
    given["duration"] = json!("6s");
    let whole = given.as_object_mut().unwrap();
    whole.remove("measure_from");
    let flow = given["flows"][0].as_object_mut().unwrap();
    ["size", "app", "supply"].iter().for_each(|field| drop(flow.remove(*field)));
    let names: Vec<String> = contenders().collect();
    flow.insert("contender".into(), json!(names[number as usize % names.len()]));
    if number.is_multiple_of(3) {
        flow.insert("direction".into(), json!("up"));
    }
    given
}

/// Calls over the random links of ten thousand scenarios end well, or for an expected reason; no packet is made or lost without a cause.
fn over_random_links(numbers: std::ops::Range<u64>) {
    let mut wrong = Vec::new();
    for number in numbers {
        let given = with_call(number);
        let result = run(&scenario(&given), number, 0).unwrap_or_else(|e| panic!("case {number}: {e}"));
        if let Some(flaw) = flaw(&given, &result) {
            wrong.push(format!("case {number}: {flaw}\n{given}\n{result:?}\n"));
        }
        let call = result.flows[0].call.as_ref().unwrap();
        assert!(call.frames_shown <= call.frames_sent, "case {number}: {call:?}");
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

// In parts, so that they run in parallel.
#[test]
fn the_first_2500_calls_over_random_links() {
    over_random_links(0..2500);
}

#[test]
fn the_second_2500_calls_over_random_links() {
    over_random_links(2500..5000);
}

#[test]
fn the_third_2500_calls_over_random_links() {
    over_random_links(5000..7500);
}

#[test]
fn the_fourth_2500_calls_over_random_links() {
    over_random_links(7500..10_000);
}

#[test]
fn a_call_is_the_same_each_time_and_other_in_other_replications() {
    let text = |number, replication| {
        serde_json::to_string(&run(&scenario(&with_call(number)), 1, replication).unwrap()).unwrap()
    };
    for number in 0..100 {
        assert_eq!(text(number, 0), text(number, 0), "case {number}");
    }
    let given = scenario(&over("1Mbit/s", "rtp/gcc", json!({})));
    let bytes = |replication| run(&given, 1, replication).unwrap().flows[0].bytes;
    assert_ne!(bytes(0), bytes(1), "frames have other lengths");
}

#[test]
fn what_is_no_call_is_refused() {
    let with = |contender: &str, field: &str, value: Value| {
        let mut given = over("2Mbit/s", contender, json!({}));
        given["flows"][0][field] = value;
        refused(&given)
    };
    let wrong = with("tcp/cubic", "call", json!({}));
    assert_eq!(wrong.path, "flows[0].call");
    assert!(wrong.message.contains("rtp/gcc"), "{}", wrong.message);
    for (field, value) in [("size", json!("1MB")), ("app", json!("raw")), ("supply", json!("1Mbit/s"))] {
        let wrong = with("rtp/nada", field, value);
        assert_eq!(wrong.path, format!("flows[0].{field}"));
        assert!(wrong.message.contains("carries calls alone"), "{}", wrong.message);
    }
    let mut endless = over("2Mbit/s", "rtp/nada", json!({}));
    endless.as_object_mut().unwrap().remove("duration");
    assert!(refused(&endless).message.contains("give the scenario a duration"));
    let built = |contender: &str| run(&scenario(&over("2Mbit/s", contender, json!({}))), 1, 0).unwrap_err().message;
    for given in ["rtp/cubic", "roq/cubic"] {
        assert!(built(given).contains("gcc, nada, scream"), "{}", built(given));
    }
    assert!(built("roq@quinn/gcc").contains("write \"roq/gcc\""), "{}", built("roq@quinn/gcc"));
    let real = built("rtp@str0m/gcc");
    assert!(real.contains("real implementation") && real.contains("\"stack\"") && !real.contains("linux"), "{real}");
}
