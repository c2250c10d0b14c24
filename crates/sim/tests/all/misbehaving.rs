//! Receivers that misbehave, in scenarios: what they gain, and what they do to others.

use crate::common;

use haltere_sim::{Fidelity, RunResult, Scenario, check_at};
use serde_json::json;

fn download(contender: &str) -> RunResult {
    let link = json!({ "rate": "100Mbit/s", "delay": "50ms", "queue": "1000p" });
    let flow = json!({ "contender": contender, "app": "raw", "size": "1MB" });
    common::result(&json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] }))
}

/// S. Savage et al., "TCP Congestion Control with a Misbehaving Receiver", CCR 1999, section 2.1, and RFC 3465 section 2.1.
#[test]
fn split_acknowledgements_speed_up_senders_that_count_acknowledgements_alone() {
    for algorithm in ["newreno", "cubic", "htcp", "vegas"] {
        let time =
            |switches: &str| download(&format!("tcp/{algorithm}-delack{switches}")).flows[0].completion_s.unwrap();
        let (honest, split) = (time("-byte-counting"), time("-byte-counting+splits-acks"));
        assert!(split < 0.75 * honest, "{algorithm}: {split} s instead of {honest} s");
        let (honest, split) = (time(""), time("+splits-acks"));
        assert!((split - honest).abs() < 0.01 * honest, "{algorithm}: {split} s instead of {honest} s");
    }
}

/// Section 2.3 there: losses are concealed, so that the sender never slows down, and the receiver lacks data.
#[test]
fn optimistic_acknowledgements_crowd_out_others_and_cost_the_receiver_data() {
    let beside = |contender: &str| {
        let bottleneck = json!({ "rate": "20Mbit/s", "delay": "20ms", "queue": "1bdp" });
        let topology = json!({ "kind": "dumbbell", "bottleneck": bottleneck, "access": { "rate": "100Mbit/s" } });
        let flows = ["tcp/cubic", contender].map(|c| json!({ "contender": c, "app": "raw" }));
        let given = json!({ "topology": topology, "flows": flows, "duration": "15s", "measure_from": "5s" });
        common::result(&given)
    };
    for (contender, switch) in [("tcp/newreno", "+optimistic-acks"), ("tcp/cubic", "+optimistic-acks=0")] {
        let [honest, lying] = ["", switch].map(|switch| beside(&format!("{contender}{switch}")));
        let other = |result: &RunResult| result.flows[0].goodput_bps.unwrap();
        assert!(other(&lying) < 0.5 * other(&honest), "{contender}: {} of {}", other(&lying), other(&honest));
        assert_eq!(honest.flows[1].concealed_bytes, None);
        let flow = &lying.flows[1];
        assert_eq!((flow.lost_packets, flow.retransmitted_packets), (0, 0), "{contender}");
        assert!(flow.concealed_bytes.unwrap() > 1_000_000, "{contender}");
        // Bytes that never came do not count: no more than the link carries.
        assert!(flow.goodput_bps.unwrap() < 20e6, "{contender}: {:?}", flow.goodput_bps);
    }
}

#[test]
fn where_nothing_is_lost_an_optimistic_receiver_lacks_nothing() {
    let result = download("tcp/cubic+optimistic-acks");
    assert_eq!((result.error.as_deref(), result.flows[0].bytes), (None, 1_000_000));
    assert_eq!(result.flows[0].concealed_bytes, None);
}

/// Requests and the ends of answers do not fill segments: they are acknowledged as they are, so that they are not delayed.
#[test]
fn dialogues_go_on_with_an_optimistic_receiver() {
    let time = |contender: &str| {
        let link = json!({ "rate": "20Mbit/s", "delay": "20ms" });
        let objects = [json!({ "size": "2kB" }), json!({ "size": "30kB", "after": [0] })];
        let flow = json!({ "contender": contender, "app": "https", "page": { "objects": objects } });
        let topology = json!({ "kind": "point-to-point", "link": link });
        let result = common::result(&json!({ "topology": topology, "flows": [flow] }));
        assert_eq!((result.error.as_deref(), result.flows[0].timeouts), (None, Some(0)), "{contender}");
        result.flows[0].completion_s.unwrap()
    };
    assert!(time("tcp/cubic+optimistic-acks") <= time("tcp/cubic"));
}

#[test]
fn transports_that_cannot_be_misled_so_are_refused_by_name() {
    for (contender, reason) in [
        ("quic/cubic+splits-acks", "QUIC acknowledges whole packets"),
        ("quic/cubic+optimistic-acks", "packet numbers that it skips"),
        ("quic/cubic-byte-counting", "QUIC counts bytes always"),
        ("mptcp/cubic+optimistic-acks", "its place in the data of MPTCP"),
    ] {
        let topology = json!({ "kind": "point-to-point", "link": { "rate": "20Mbit/s" } });
        let given = json!({ "topology": topology, "flows": [{ "contender": contender, "size": "1MB" }] });
        let refused = Scenario::from_json(&given.to_string()).and_then(|s| check_at(Fidelity::Model, &s)).unwrap_err();
        assert!(refused.message.contains(reason), "{contender}: {}", refused.message);
    }
}
