//! Acknowledgement policies as a factor of a flow.

use crate::common;

use haltere_sim::Scenario;
use serde_json::{Value, json};

fn download(contender: &str, ack: Value) -> Value {
    let mut flow = json!({ "contender": contender, "app": "raw", "size": "10MB" });
    if !ack.is_null() {
        flow["ack"] = ack;
    }
    let link = json!({ "rate": "50Mbit/s", "delay": "20ms", "queue": "10000p" });
    json!({ "topology": { "kind": "point-to-point", "link": link }, "flows": [flow] })
}

/// The number of packets that the client sent, nearly all acknowledgements, for each that it received; and the
/// completion time.
fn share(contender: &str, ack: Value) -> (f64, f64) {
    let result = common::result(&download(contender, ack));
    assert_eq!(result.error, None);
    let of = |direction: &str| result.links.iter().find(|l| l.direction == direction).unwrap().offered_packets as f64;
    (of("up") / of("down"), result.flows[0].completion_s.unwrap())
}

#[test]
fn every_nth_packet_is_acknowledged() {
    for (contender, more) in [("quic/cubic", json!({})), ("tcp/cubic", json!({ "quick": false }))] {
        for every in [1, 2, 4, 10] {
            let mut ack = more.clone();
            ack["every"] = json!(every);
            let (share, completion) = share(contender, ack);
            // An acknowledgement is sent at once for data out of order, and at the end.
            let ideal = 1.0 / f64::from(every);
            assert!(share > 0.9 * ideal && share < 1.25 * ideal + 0.01, "{contender} every {every}: {share}");
            assert!(completion < 3.0, "{contender} every {every}: {completion} s");
        }
    }
}

#[test]
fn what_is_given_as_it_is_by_itself_changes_nothing() {
    let same = [
        ("quic/cubic", json!({ "every": 2, "max_delay": "25ms", "frequency": false })),
        ("tcp/cubic", json!({ "every": 2, "max_delay": "200ms", "quick": true })),
    ];
    for (contender, ack) in same {
        assert_eq!(share(contender, ack), share(contender, Value::Null), "{contender}");
    }
    let same = [
        ("quic/cubic", json!({ "every": 1 }), "quic/cubic+nodelack"),
        ("quic/cubic", json!({ "every": 1 }), "quic/cubic-delack"),
        ("quic/cubic", json!({ "every": 7, "max_delay": "9ms" }), "quic/cubic+ack-every=7+ack-delay=9ms"),
        ("quic/cubic", json!({ "frequency": true }), "quic/cubic+ack-frequency"),
        ("tcp/cubic", json!({ "every": 4, "quick": false }), "tcp/cubic+ack-every=4-hurried-acks"),
    ];
    for (contender, ack, switched) in same {
        assert_eq!(share(contender, ack), share(switched, Value::Null), "{switched}");
    }
}

/// A rate of 50 Mbit/s over 40 ms fills windows of 170 packets and more: four acknowledgements a round trip are far fewer
/// than one for two packets, and the transfer is as fast.
#[test]
fn the_acknowledgement_frequency_extension_leaves_four_a_round_trip() {
    for contender in ["quic/cubic", "quic/newreno", "quic/bbr"] {
        let (without, before) = share(contender, Value::Null);
        let (with, after) = share(contender, json!({ "frequency": true }));
        assert!(with < without / 5.0, "{contender}: {with} instead of {without}");
        assert!(after < before * 1.1, "{contender}: {after} s instead of {before} s");
    }
}

#[test]
fn tcps_quick_acknowledgements_are_at_the_start_unless_switched_off() {
    let few = |quick: bool| {
        let mut given = download("tcp/cubic+nosackcompression", json!({ "quick": quick }));
        given["flows"][0]["size"] = json!("14480B");
        let result = common::result(&given);
        result.links.iter().find(|l| l.direction == "up").unwrap().offered_packets
    };
    // Ten segments: SYN, ACK, the request, then ten acknowledgements or five.
    assert!(few(true) >= 3 + 9 && few(false) <= 3 + 6, "{} {}", few(true), few(false));
}

#[test]
fn a_policy_that_a_transport_cannot_keep_to_is_refused() {
    let cases = [
        ("tcp/cubic", json!({ "frequency": true }), "frequency", "QUIC"),
        ("quic/cubic", json!({ "quick": false }), "quick", "TCP"),
        ("quic/cubic", json!({ "every": 0 }), "every", "1 to 1000"),
        ("quic/cubic+nodelack", json!({ "every": 2 }), "every", "leave one"),
        ("quic/cubic-delack", json!({ "every": 2 }), "every", "-delack"),
        ("quic/cubic+ack-every=4", json!({ "every": 2 }), "every", "quic/cubic+ack-every=4 has the switch ack-every"),
        ("tcp/cubic+ack-delay=40ms", json!({ "max_delay": "50ms" }), "max_delay", "ack-delay, which says it too"),
        ("quic/cubic-ack-frequency", json!({ "frequency": true }), "frequency", "leave one out"),
        ("tcp/cubic-hurried-acks", json!({ "quick": true }), "quick", "leave one out"),
        ("quic/cubic+ack-delay=1us", json!({ "frequency": true }), "frequency", "at least 1ms"),
        ("quic/cubic", json!({ "max_delay": "17s" }), "max_delay", "16383ms"),
        ("quic/cubic", json!({ "max_delay": "0.5ms", "frequency": true }), "max_delay", "1"),
        ("tcp/cubic", json!({ "max_delay": "501ms" }), "max_delay", "500"),
    ];
    for (contender, ack, field, words) in cases {
        let error = Scenario::from_json(&download(contender, ack).to_string()).unwrap_err();
        assert_eq!(error.path, format!("flows[0].ack.{field}"));
        assert!(error.message.contains(words), "{}", error.message);
    }
    assert!(Scenario::from_json(&download("tcp/cubic", json!({ "often": 3 })).to_string()).is_err());
}
