//! The declarations of columns, and rows of real hosts by them.

use haltere_net::columns::{Column, Kind, Of};
use haltere_sim::result::{SeenRun, all_columns};
use haltere_sim::{Scenario, run};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

fn of(rows: Of) -> Vec<Column> {
    all_columns().into_iter().filter(|c| c.of == rows).collect()
}

fn names(rows: Of) -> BTreeSet<String> {
    of(rows).iter().map(|c| c.name.to_string()).collect()
}

fn keys(row: &Value) -> BTreeSet<String> {
    row.as_object().into_iter().flat_map(Map::keys).cloned().collect()
}

#[test]
fn each_column_is_declared_once_and_has_a_meaning() {
    for rows in Of::ALL {
        assert_eq!(names(rows).len(), of(rows).len(), "{rows:?}");
    }
    for column in all_columns() {
        assert!(!column.meaning.is_empty() && !column.meaning.contains("  "), "{}: {}", column.name, column.meaning);
    }
}

#[test]
fn each_metric_has_a_name_of_its_own_and_shares_are_of_columns() {
    let all = all_columns();
    let metrics: Vec<_> = all.iter().flat_map(|c| c.about.metrics.iter().map(move |m| (c, m))).collect();
    let names: BTreeSet<&str> = metrics.iter().map(|(_, m)| m.name).collect();
    assert_eq!(names.len(), metrics.len());
    for (column, metric) in metrics {
        assert!(matches!(column.kind, Kind::Integer | Kind::Number) && !column.list, "{}", metric.name);
        let whole = metric.share_of.unwrap_or(&column.name);
        assert!(all.iter().any(|c| c.of == column.of && c.name == whole), "{}: {whole}", metric.name);
    }
}

#[test]
fn a_result_has_the_declared_columns() {
    let scenario = json!({
        "rate_window": "10ms",
        "topology": { "kind": "point-to-point", "link": { "rate": "10Mbit/s", "delay": "5ms" } },
        "flows": [{ "contender": "tcp/cubic", "size": "50kB" }],
        "probes": [{ "kind": "udp", "size": "100B", "interval": "10ms" }],
        "loads": [{ "kind": "constant", "rate": "1Mbit/s", "size": "500B" }],
    });
    let result = run(&Scenario::from_json(&scenario.to_string()).unwrap(), 1, 0).unwrap();
    let result = serde_json::to_value(result).unwrap();
    assert_eq!(keys(&result["loads"][0]), names(Of::Load));
    // Columns that most results have no values for are left out.
    let rare =
        ["dropped_lifetime", "dropped_tunnel", "dropped_breaker", "tripped_flows", "tripped_s"].map(String::from);
    assert_eq!(keys(&result["links"][0]), &names(Of::Link) - &BTreeSet::from(rare));
    let requests = BTreeSet::from(["sent_s".to_string(), "rtt_s".to_string()]);
    assert_eq!(keys(&result["probes"][0]), &names(Of::Probe) | &requests);
    let flow = keys(&result["flows"][0]);
    let of_films = ["startup_", "stall", "played_", "quality_", "chunks_", "qoe_"];
    let of_calls = ["frames_", "picture_", "freezes", "frozen_", "glass_", "rate_variation", "key_frames"];
    let left_out = [&["radio_", "message", "delivery_", "concealed_"], &of_calls[..], &of_films[..]].concat();
    let elsewhere = |name: &&String| left_out.iter().any(|start| name.starts_with(start));
    let declared = names(Of::Flow);
    assert_eq!(flow, declared.iter().filter(|name| !elsewhere(name)).cloned().collect());
}

/// The input of a rig that saw a run with one flow, with these fields in the place of the usual ones.
fn seen(flow: &Value, report: &Value, packets: &Value) -> Value {
    let mut run = json!({
        "measured_s": null, "lost_records": 0,
        "links": [{ "link": "bottleneck", "direction": "down", "offered_packets": 7, "inside_packets": 1 }],
        "run": { "kernel": "6.12", "virtual_s": 2.0 },
        "flows": [{
            "label": null, "contender": "tcp/cubic", "pair": 0, "direction": "down", "carrier": "tcp", "program": false, "finite": true,
            "report": {
                "flow": 0, "start_s": 0.0, "completion_s": 2.0, "handshake_s": 0.01, "first_byte_s": null,
                "bytes": 1000, "status": "ok", "error": null,
            },
            "packets": {
                "wire_bytes": 1400, "measured_wire_bytes": 700, "sent_packets": 3, "retransmitted_packets": 1,
                "received_data_packets": 2, "plain_packets": 0, "completion_s": 1.5,
            },
        }],
    });
    for (at, more) in [("/flows/0", flow), ("/flows/0/report", report), ("/flows/0/packets", packets)] {
        let there = run.pointer_mut(at).and_then(Value::as_object_mut).unwrap();
        there.extend(more.as_object().unwrap().clone());
    }
    let seen: SeenRun = serde_json::from_value(run).unwrap();
    Value::Object(seen.result())
}

#[test]
fn a_row_of_real_hosts_has_every_column_and_null_for_what_is_not_seen() {
    let found = seen(&json!({}), &json!({}), &json!({}));
    let flow = &found["flows"][0];
    assert_eq!(keys(flow), names(Of::Flow));
    assert_eq!(keys(&found["links"][0]), names(Of::Link));
    assert_eq!((&found["status"], &found["data_packets"]), (&json!("ok"), &json!(2)));
    assert_eq!((&flow["goodput_bps"], &flow["throughput_bps"]), (&json!(4000.0), &json!(5600.0)));
    assert_eq!((&flow["overhead_bytes"], &flow["retransmitted_packets"]), (&json!(400), &json!(1)));
    for column in of(Of::Flow).iter().filter(|c| c.about.at == haltere_net::columns::SIMULATED) {
        assert!(flow[&*column.name].is_null(), "{}", column.name);
    }
}

#[test]
fn times_of_programs_that_tell_none_are_those_of_their_packets() {
    let silent = json!({ "completion_s": null });
    let quic = json!({ "carrier": "quic", "program": true });
    let found = seen(&quic, &silent, &json!({}));
    assert_eq!(
        (&found["flows"][0]["completion_s"], &found["flows"][0]["retransmitted_packets"]),
        (&json!(1.5), &Value::Null)
    );
    let endless = seen(&json!({ "carrier": "quic", "program": true, "finite": false }), &silent, &json!({}));
    assert_eq!((&endless["flows"][0]["completion_s"], &endless["flows"][0]["wire_bytes"]), (&Value::Null, &json!(700)));
    let kernel = seen(&json!({}), &silent, &json!({}));
    assert_eq!(kernel["flows"][0]["completion_s"], Value::Null);
}

#[test]
fn what_makes_a_flow_of_real_hosts_doubtful_fails_the_run() {
    let fallen = seen(&json!({ "carrier": "mptcp" }), &json!({}), &json!({ "plain_packets": 2 }));
    assert_eq!((&fallen["status"], &fallen["flows"][0]["status"]), (&json!("failed"), &json!("failed")));
    assert!(fallen["error"].as_str().unwrap().contains("flow 0: MPTCP fell back to TCP: 2 of 3 packets"));
}
