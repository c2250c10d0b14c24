//! Faults that random and hostile scenarios once found, each as a case of its own.

use crate::common;

use common::{result, scenario};
use haltere_sim::{Scenario, run};
use serde_json::{Value, json};

fn point_to_point(link: Value, flow: Value) -> Value {
    json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] })
}

/// A full segment of 65 483 bytes is longer than the window of 64 512 that scaling leaves of 65 535.
#[test]
fn segments_longer_than_the_first_window_still_flow() {
    for contender in ["tcp/cubic", "tcp/bbr", "tcp/newreno+notimestamps"] {
        let link = json!({ "mtu": "65535B", "rate": "1Gbit/s", "delay": "5ms" });
        let run = result(&point_to_point(link, json!({ "contender": contender, "size": "4MB" })));
        assert_eq!(run.error, None);
        // Such a window carries 64 KiB a round trip of 10 ms.
        assert!(run.flows[0].completion_s < Some(0.8), "{contender}: {:?}", run.flows[0]);
    }
}

/// When the peer's window ended within a super-segment, the rest of it was all that could be sent: nothing that was lost went
/// out again but by timeouts.
#[test]
fn a_sender_that_the_peer_s_window_stops_still_repairs_its_losses() {
    let link = json!({ "rate": "10Mbit/s", "queue": "1256p", "delay": "100us" });
    let contender = "tcp/cubic+receive-window=2MiB+max-receive-window=2MiB";
    let run = result(&point_to_point(link, json!({ "contender": contender, "app": "raw", "size": "64MB" })));
    let flow = &run.flows[0];
    assert!(flow.retransmitted_packets > 100, "{flow:?}");
    assert_eq!(flow.timeouts, Some(0), "{flow:?}");
    // 44 200 packets of 1.2 ms.
    assert!(flow.completion_s < Some(53.2), "{flow:?}");
}

/// Probes are sent regardless of the pacer, and were charged to it. The pacer fell one second further behind with each
/// second.
#[test]
fn a_sender_that_only_sends_probes_is_not_blocked_by_the_pacer() {
    let up = json!({ "delay": "11.2ms", "duplication": "50%" });
    let link = json!({ "rate": "210228bit/s", "delay": "0.5ms", "queue": "1B",
        "jitter": { "spread": "220us", "reorder": false }, "up": up });
    let given = point_to_point(link, json!({ "contender": "quic/bbr", "size": "2469878B" }));
    for seed in 0..10 {
        assert_eq!(run(&scenario(&given), seed, 0).unwrap().error, None, "seed {seed}");
    }
}

/// The sum of waiting times in a long queue on a slow link does not fit in 64 bits of nanoseconds.
#[test]
fn very_long_queueing_times_are_summed_without_overflow() {
    let flow = json!({ "contender": "tcp/cubic", "size": "1MB" });
    let mut given = point_to_point(json!({ "rate": "1bit/s", "queue": "1000000p" }), flow.clone());
    given["flows"] = json!(vec![flow; 10_000]);
    given["duration"] = json!("1s");
    let run = result(&given);
    assert_eq!(run.error, None);
    let up = &run.links[1];
    // 10 000 SYNs of 480 s each: the last waits for 9 999 of them, the mean is half of that.
    assert_eq!(up.offered_packets, 10_000);
}

/// Hops used to be counted in eight bits.
#[test]
fn routes_are_as_long_as_hops_can_be_counted() {
    let chain = |n: usize| {
        let link = |i| json!({ "from": format!("n{i}"), "to": format!("n{}", i + 1), "link": { "delay": "1ms" } });
        let links: Vec<Value> = (0..n).map(link).collect();
        let end = format!("n{n}");
        let flow = json!({ "contender": "tcp/cubic", "server": "n0", "client": end, "size": "10kB", "app": "raw" });
        json!({ "topology": { "kind": "graph", "links": links }, "flows": [flow] })
    };
    let longest = result(&chain(255));
    assert_eq!((longest.error, longest.flows[0].min_rtt_s), (None, Some(0.51)));
    let error = run(&scenario(&chain(256)), 1, 0).unwrap_err();
    assert!(error.path == "flows[0]" && error.message.contains("at most 255"), "{error}");
}

/// The millisecond clock of the timestamp option wraps after 49.7 days.
#[test]
fn timestamps_may_wrap_around() {
    for start in ["4294966s", "4294967.295s", "4294967.3s"] {
        let link = json!({ "rate": "10Mbit/s", "delay": "20ms", "loss": "2%" });
        let flow = json!({ "contender": "tcp/cubic", "size": "3MB", "start": start });
        let mut given = point_to_point(link, flow);
        given["time_limit"] = json!("100000000s");
        let late = result(&given);
        assert_eq!(late.error, None);
        given["flows"][0]["start"] = json!("4s");
        let early = result(&given);
        let (late, early) = (&late.flows[0], &early.flows[0]);
        assert_eq!(late.timeouts, early.timeouts);
        assert_eq!(late.spurious_retransmissions, early.spurious_retransmissions);
        let ratio = late.completion_s.unwrap() / early.completion_s.unwrap();
        assert!((0.98..1.02).contains(&ratio), "{ratio}");
    }
}

/// Without elapsed time there is no rate: neither infinity nor NaN, which JSON cannot represent.
#[test]
fn nothing_is_divided_by_a_time_of_zero() {
    let mut given = point_to_point(json!({}), json!({ "contender": "tcp/cubic", "size": "1B", "app": "raw" }));
    assert_eq!(result(&given).flows[0].goodput_bps, None);
    given["duration"] = json!("0s");
    given["flows"][0]["start"] = json!("1s");
    assert_eq!(result(&given).flows[0].goodput_bps, None);
}

#[test]
fn text_after_the_scenario_is_an_error() {
    let given = point_to_point(json!({}), json!({ "contender": "tcp/cubic", "size": "1B" })).to_string();
    assert!(Scenario::from_json(&given).is_ok());
    let error = Scenario::from_json(&format!("{given} {given}")).unwrap_err();
    assert!(error.message.contains("trailing characters"), "{error}");
}

/// Links of the same name would draw the same random numbers and have the same name in the results.
#[test]
fn links_of_one_name_are_refused() {
    let link = json!({ "from": "a", "to": "b", "link": { "loss": "1%" } });
    let flow = json!({ "contender": "tcp/cubic", "server": "a", "client": "b", "size": "1B" });
    let mut given = json!({ "topology": { "kind": "graph", "links": [link, link] }, "flows": [flow] });
    let error = Scenario::from_json(&given.to_string()).unwrap_err();
    assert_eq!(error.path, "topology.links[1]");
    assert!(error.message.contains("a-b"), "{error}");
    given["topology"]["links"][1]["name"] = json!("second");
    assert!(Scenario::from_json(&given.to_string()).is_ok());
}
