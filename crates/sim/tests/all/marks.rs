//! Links that mark packets, and contenders that react to marks, in scenarios.

use crate::common;

use serde_json::{Value, json};

fn run(mark: Value, contenders: &[&str]) -> haltere_sim::RunResult {
    let link = json!({ "rate": "20Mbit/s", "delay": "10ms", "down": { "queue": "300p", "mark": mark } });
    let flows: Vec<Value> = contenders.iter().map(|c| json!({ "contender": c, "size": "5MB" })).collect();
    let given = common::scenario(&json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": flows,
    }));
    haltere_sim::run(&given, 1, 0).unwrap()
}

#[test]
fn a_threshold_is_packets_bytes_or_bandwidth_delay_products() {
    // 33 packets are a bandwidth-delay product.
    let marked = ["20p", "30kB", "0.6bdp"].map(|mark| run(json!(mark), &["tcp/dctcp"]).links[0].marked_packets);
    assert!(marked.iter().all(|&m| m > 100 && m.abs_diff(marked[0]) * 5 < marked[0]), "{marked:?}");
    assert_eq!(run(Value::Null, &["tcp/dctcp"]).links[0].marked_packets, 0);
}

#[test]
fn the_switch_spares_losses_over_both_transports() {
    for (with, without) in [("tcp/cubic+ecn", "tcp/cubic"), ("quic/newreno+ecn", "quic/newreno")] {
        let heeding = run(json!("20p"), &[with]);
        assert_eq!((heeding.flows[0].lost_packets, heeding.links[0].dropped_queue), (0, 0), "{with}");
        assert!(heeding.links[0].marked_packets > 0 && heeding.links[0].max_queue_packets < 150, "{with}");
        let deaf = run(json!("20p"), &[without]);
        assert_eq!(deaf.links[0].marked_packets, 0, "{without}");
        assert!(deaf.links[0].max_queue_packets >= 150, "{without}");
    }
}

/// Its sender goes on until packets are lost, whatever the transport, the rule of the echo and the codepoint are.
#[test]
fn a_receiver_that_hides_marks_is_sent_more() {
    for contender in
        ["tcp/cubic+ecn", "tcp/cubic+ecn=accurate", "tcp/dctcp", "tcp/prague", "quic/newreno+ecn", "quic/prague"]
    {
        let [honest, hiding] = ["", "+hides-marks"].map(|switch| run(json!("20p"), &[&format!("{contender}{switch}")]));
        assert!(hiding.links[0].marked_packets > honest.links[0].marked_packets, "{contender}");
        assert!(hiding.links[0].max_queue_packets >= 150, "{contender}");
        assert!(2 * honest.links[0].max_queue_packets < hiding.links[0].max_queue_packets, "{contender}");
    }
}

#[test]
fn two_dctcp_flows_share_a_link_fairly() {
    let result = run(json!("20p"), &["tcp/dctcp", "quic/dctcp", "tcp/dctcp"]);
    let rates: Vec<f64> = result.flows.iter().map(|f| f.goodput_bps.unwrap_or(0.0)).collect();
    let (least, most) = rates.iter().fold((f64::MAX, 0.0), |(a, b), &r| (f64::min(a, r), f64::max(b, r)));
    assert!(most / least < 1.5, "{rates:?}");
    assert_eq!(result.links[0].dropped_queue, 0);
}
