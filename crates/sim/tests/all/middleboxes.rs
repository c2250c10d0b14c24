//! Tunnels and circuit breakers in scenarios.

use crate::common;

use haltere_sim::network::describe;
use haltere_sim::{RunResult, Scenario};
use serde_json::{Value, json};

/// A long flow over a link of 20 Mbit/s and an RTT of 40 ms with these further fields.
fn flow(contender: &str, more: Value) -> RunResult {
    let mut link = json!({ "rate": "20Mbit/s", "delay": "20ms" });
    link.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let flow = json!({ "contender": contender, "app": "raw" });
    let topology = json!({ "kind": "point-to-point", "link": link });
    common::result(&json!({ "topology": topology, "flows": [flow], "duration": "15s", "measure_from": "5s" }))
}

fn marking(ecn: &str) -> Value {
    json!({ "queue": { "discipline": "drop-tail", "limit": "300p", "mark": "20p" }, "tunnel": { "ecn": ecn } })
}

/// RFC 6040 section 1: where a tunnel does not propagate marks, the sender goes on until packets are lost.
#[test]
fn a_sender_with_ecn_fills_the_queue_where_a_tunnel_loses_marks() {
    for contender in ["tcp/cubic+ecn", "quic/newreno+ecn"] {
        for mode in ["normal", "rfc3168"] {
            let result = flow(contender, marking(mode));
            assert!(result.links[0].marked_packets > 0 && result.flows[0].lost_packets == 0, "{contender}, {mode}");
            assert!(result.links[0].max_queue_packets < 250, "{contender}, {mode}");
        }
        for mode in ["compatibility", "none"] {
            let result = flow(contender, marking(mode));
            assert_eq!(result.links[0].marked_packets > 0, mode == "none", "{contender}, {mode}");
            assert_eq!(result.links[0].max_queue_packets, 300, "{contender}, {mode}");
        }
    }
}

#[test]
fn hosts_send_packets_that_fit_into_the_tunnel() {
    for (contender, header) in [("tcp/cubic", 20), ("tcp/cubic", 80), ("quic/cubic", 50)] {
        let result = flow(contender, json!({ "tunnel": { "header": format!("{header}B") } }));
        assert_eq!(result.links[0].dropped_mtu, 0);
        let plain = flow(contender, json!({}));
        // Of 1500 bytes on the link so much less is data.
        let goodput = |result: &RunResult| result.flows[0].goodput_bps.unwrap();
        let share = goodput(&result) / goodput(&plain);
        assert!((share - (1.0 - f64::from(header) / 1448.0)).abs() < 0.005, "{contender}: {share}");
    }
}

/// A flow that heeds losses stays; a load that does not is ended.
#[test]
fn a_breaker_ends_what_goes_on_losing_packets() {
    let run = |rate: &str, breaker: Value| {
        let link = json!({ "rate": "5Mbit/s", "delay": "20ms", "queue": "1bdp", "breaker": breaker });
        let load = json!({ "kind": "constant", "size": "1172B", "rate": rate, "duration": "20s" });
        common::result(&json!({
            "topology": { "kind": "point-to-point", "link": link },
            "flows": [{ "contender": "tcp/newreno", "app": "raw" }], "loads": [load], "duration": "20s",
        }))
    };
    let result = run("10Mbit/s", json!({}));
    let down = result.links.iter().find(|l| l.direction == "down").unwrap();
    assert_eq!((down.boxes.tripped_flows, down.boxes.tripped_s), (Some(1), Some(3.0)));
    assert!(down.boxes.dropped_breaker.unwrap() > 10_000);
    assert!(result.flows[0].goodput_bps.unwrap() > 3.5e6, "{:?}", result.flows[0].goodput_bps);
    let result = run("1Mbit/s", json!({}));
    assert!(result.links.iter().all(|l| l.boxes.tripped_flows == Some(0)));
    // A breaker that opens again does so as often.
    let result = run("10Mbit/s", json!({ "loss": "20%", "interval": "500ms", "intervals": 4, "reset": "3s" }));
    let down = result.links.iter().find(|l| l.direction == "down").unwrap();
    assert_eq!((down.boxes.tripped_flows, down.boxes.tripped_s), (Some(4), Some(2.0)));
}

#[test]
fn wrong_fields_and_places_are_named() {
    let read = |link: Value| {
        let topology = json!({ "kind": "point-to-point", "link": link });
        let given = json!({ "topology": topology, "flows": [{ "contender": "tcp/cubic", "size": "1MB" }] });
        Scenario::from_json(&given.to_string())
    };
    for (link, path) in [
        (json!({ "tunnel": { "header": "8B" } }), "topology.link.tunnel.header"),
        (json!({ "tunnel": { "ecn": "copy" } }), "topology.link.tunnel.ecn"),
        (json!({ "breaker": { "loss": "100%" } }), "topology.link.breaker.loss"),
        (json!({ "down": { "breaker": { "interval": "1ms" } } }), "topology.link.down.breaker.interval"),
        (json!({ "breaker": { "intervals": 0 } }), "topology.link.breaker.intervals"),
        (json!({ "breaker": {}, "ring": "64p" }), "topology.link.ring"),
    ] {
        assert_eq!(read(link.clone()).unwrap_err().path, path, "{link}");
    }
    for (field, link) in [("tunnel", json!({ "tunnel": {} })), ("breaker", json!({ "up": { "breaker": {} } }))] {
        let Err(refused) = describe(&read(link).unwrap(), 1, 0) else { panic!("a rig cannot have a {field}") };
        assert!(refused.message.contains(&format!("has a {field}, which exists in virtual time only")), "{refused}");
    }
}
