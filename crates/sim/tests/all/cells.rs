//! Cells of IEEE 802.11 in scenarios: from the file to the result.

use crate::common;

use common::{result, scenario};
use haltere_sim::network::describe;
use haltere_sim::{Fidelity, RunResult, Scenario, run, trace};
use serde_json::{Value, json};

fn cell(cell: Value, flows: Value) -> Value {
    json!({
        "topology": { "kind": "cell", "cell": cell, "link": { "rate": "1Gbit/s", "delay": "10ms" } },
        "flows": flows,
    })
}

fn link<'a>(result: &'a RunResult, name: &str, direction: &str) -> &'a haltere_net::report::LinkResult {
    result.links.iter().find(|l| l.link == name && l.direction == direction).unwrap()
}

#[test]
fn stations_download_through_a_cell() {
    let given = cell(
        json!({ "stations": 3, "distance": "5m", "standard": "802.11a" }),
        json!([{ "contender": "tcp/cubic", "size": "1MB", "pairs": "all" }]),
    );
    let result = result(&given);
    assert_eq!(result.status, "ok", "{:?}", result.error);
    assert_eq!(result.flows.len(), 3);
    let names: Vec<(&str, &str)> = result.links.iter().map(|l| (l.link.as_str(), l.direction)).collect();
    let expected = ["link", "station 0", "station 1", "station 2"].map(|name| [(name, "down"), (name, "up")]);
    assert_eq!(names, expected.concat());
    let cells = &result.cells;
    assert_eq!((cells.len(), cells[0].cell.as_str(), cells[0].stations), (1, "cell", 3));
    // Each packet, also each ACK of TCP, is a frame of its own.
    let delivered: u64 = result.links[2..].iter().map(|l| l.delivered_packets).sum();
    assert_eq!(cells[0].frames - cells[0].retries, delivered + cells[0].dropped_retries);
    assert!(cells[0].collisions > 0 && cells[0].collided >= 2 * cells[0].collisions);
    assert!((0.5..1.0).contains(&cells[0].busy_ratio.unwrap()), "{:?}", cells[0]);
    // 54 Mbit/s are shared by all, with the ACKs of TCP, and a good part is overhead.
    let last = result.flows.iter().filter_map(|f| f.completion_s).fold(0.0, f64::max);
    assert!((20e6..30e6).contains(&(24e6 / last)), "{last} s");
    assert!(link(&result, "station 1", "down").occupancy.mean_queue_packets.unwrap() > 1.0);
}

#[test]
fn a_run_with_a_cell_is_repeated_to_the_byte() {
    let given = cell(
        json!({ "stations": 4, "loss": "5%", "distance": "10m" }),
        json!([{ "contender": "quic/cubic", "size": "300kB", "pairs": "all" }]),
    );
    let text = |replication| serde_json::to_string(&run(&scenario(&given), 7, replication).unwrap()).unwrap();
    assert_eq!(text(0), text(0));
    assert_ne!(text(0), text(1));
    // Recording changes nothing.
    let traced = trace(&scenario(&given), 7, 0).unwrap();
    assert_eq!(serde_json::to_string(&traced.result).unwrap(), text(0));
    assert!(traced.series.iter().any(|s| s.who == "cell" && s.name == "queue"));
    assert!(traced.series.iter().any(|s| s.who == "flow 3" && s.name == "cwnd"));
}

/// The cell of the paper on MQTT over QUIC: publisher and broker in one cell without MAC retransmissions, and the subscriber
/// behind a wired link.
#[test]
fn a_cell_of_a_graph_has_the_nodes_of_its_file() {
    let given = |retries: Value| {
        json!({
            "topology": {
                "kind": "graph",
                "cells": [{
                    "name": "plant", "access_point": "broker", "stations": [{ "name": "publisher", "distance": "2m" }],
                    "standard": "802.11g", "retries": retries, "loss": "5%",
                }],
                "links": [{ "from": "broker", "to": "subscriber", "link": { "delay": "100ms" } }],
            },
            "flows": [
                { "contender": "tcp/newreno", "size": "200kB", "server": "publisher", "client": "broker" },
                { "contender": "tcp/newreno", "size": "200kB", "server": "publisher", "client": "subscriber" },
            ],
        })
    };
    let (none, usual) = (result(&given(json!(0))), result(&given(json!(6))));
    for result in [&none, &usual] {
        assert_eq!(result.status, "ok", "{:?}", result.error);
        let rtt = result.flows[1].min_rtt_s.unwrap();
        assert!(rtt >= 0.2, "{rtt} s");
    }
    let lost = |result: &RunResult| link(result, "plant/publisher", "up").dropped_retries;
    assert!(lost(&none) > 5 && none.cells[0].retries == 0, "{:?}", none.cells);
    assert_eq!(lost(&usual), 0);
    assert!(usual.cells[0].retries > 5 && usual.flows[0].retransmitted_packets == 0);
    assert!(none.flows[0].retransmitted_packets > 5);
}

/// Packets from one station to another cross the medium twice.
#[test]
fn stations_talk_through_the_access_point() {
    let given = json!({
        "topology": { "kind": "graph", "cells": [{ "stations": 2, "standard": "802.11a" }] },
        "flows": [{ "contender": "tcp/cubic", "size": "1MB", "server": "station 0", "client": "station 1" }],
    });
    let result = result(&given);
    assert_eq!(result.status, "ok", "{:?}", result.error);
    let delivered = |name, way| link(&result, name, way).delivered_packets;
    assert_eq!(delivered("cell/station 0", "up"), delivered("cell/station 1", "down"));
    assert!(delivered("cell/station 0", "up") >= 690);
}

#[test]
fn a_far_station_is_slower_and_marks_its_rate() {
    let completion = |distance: &str| {
        let given = cell(
            json!({ "distance": distance, "standard": "802.11n" }),
            json!([{ "contender": "tcp/cubic", "size": "4MB" }]),
        );
        result(&given).flows[0].completion_s.unwrap()
    };
    assert!(completion("60m") > 2.0 * completion("5m"));
}

/// DiffServ's expedited forwarding is video in Linux's mapping, with shorter interframe space and window.
#[test]
fn a_marked_flow_goes_before_others() {
    let flow = |tos: u8| json!({ "contender": "tcp/cubic", "direction": "up", "tos": tos });
    let mut given = cell(json!({ "stations": 2 }), json!([flow(0), flow(0)]));
    given["duration"] = json!("5s");
    given["flows"][0]["pair"] = json!(0);
    given["flows"][1]["pair"] = json!(1);
    let even = result(&given);
    given["flows"][0]["tos"] = json!(184);
    let marked = result(&given);
    let share = |r: &RunResult| r.flows[0].bytes as f64 / (r.flows[0].bytes + r.flows[1].bytes) as f64;
    assert!((0.3..0.7).contains(&share(&even)), "{}", share(&even));
    assert!(share(&marked) > 0.55 && share(&marked) > share(&even) + 0.1, "{} {}", share(&even), share(&marked));
}

/// A category has the same priority as the others if its parameters are the same.
#[test]
fn access_categories_have_the_parameters_that_are_given() {
    let share = |edca: Value| {
        let flow =
            |pair: u32, tos: u8| json!({ "contender": "tcp/cubic", "direction": "up", "tos": tos, "pair": pair });
        let mut given = cell(json!({ "stations": 2, "edca": edca }), json!([flow(0, 32), flow(1, 0)]));
        given["duration"] = json!("5s");
        let result = result(&given);
        result.flows[0].bytes as f64 / (result.flows[0].bytes + result.flows[1].bytes) as f64
    };
    let (usual, same) = (share(json!({})), share(json!({ "background": { "aifsn": 3 } })));
    assert!(usual < 0.35 && (0.4..0.6).contains(&same), "{usual} {same}");
}

/// Cells and flows of all kinds: what holds of every result holds of theirs.
#[test]
fn many_cells_have_results_without_a_flaw() {
    let mut stream = haltere_net::rng::Streams::new(1, 0).named("cells");
    for number in 0..60 {
        let mut pick = |values: &[Value]| values[stream.below(values.len() as u64) as usize].clone();
        let standard = pick(&["802.11b", "802.11a", "802.11g", "802.11n", "802.11ac"].map(Value::from));
        let given = cell(
            json!({
                "standard": standard,
                "stations": pick(&[1, 2, 5, 9].map(Value::from)),
                "distance": pick(&["1m", "30m", "80m"].map(Value::from)),
                "retries": pick(&[json!(0), json!(7), json!("unlimited")]),
                "loss": pick(&["0%", "3%", "20%"].map(Value::from)),
                "queue": pick(&["5p", "1000p", "fq_codel", "pfifo_fast"].map(Value::from)),
                "access": pick(&["dcf", "edca"].map(Value::from)),
            }),
            json!([{
                "contender": pick(&["tcp/cubic", "quic/bbr", "tcp/newreno"].map(Value::from)),
                "direction": pick(&["down", "up"].map(Value::from)),
                "size": "60000B",
                "pairs": "all",
            }]),
        );
        let mut given = given;
        if given["topology"]["cell"]["stations"] == 1 {
            given["flows"][0]["pairs"] = json!("even");
        }
        let result = result(&given);
        assert_eq!(common::flaw(&given, &result), None, "{number}: {given}");
    }
}

#[test]
fn what_is_wrong_is_refused_with_place_and_remedy() {
    let said = |text: Value| {
        let flows = json!([{ "contender": "tcp/cubic", "size": "1kB" }]);
        let wrong = Scenario::from_json(&cell(text, flows).to_string()).unwrap_err();
        (wrong.path, wrong.message)
    };
    let cases = [
        (json!({ "distance": "500m" }), "topology.cell.distance", "give at most 95m"),
        (json!({ "distance": "5" }), "topology.cell.distance", "as in \"5m\""),
        (json!({ "stations": 0 }), "topology.cell.stations", "from 1 to 2007"),
        (json!({ "standard": "802.11a", "width": "40MHz" }), "topology.cell.width", "802.11a has \"20MHz\""),
        (json!({ "standard": "802.11g", "aggregate": 4 }), "topology.cell.aggregate", "choose 802.11n"),
        (json!({ "edca": { "voice": { "aifsn": 1 } } }), "topology.cell.edca.voice.aifsn", "from 2 to 15"),
        (json!({ "edca": { "noise": {} } }), "topology.cell.edca.noise", "best-effort"),
        (json!({ "access": "dcf", "edca": {} }), "topology.cell.edca", "access = \"edca\""),
        (json!({ "cw_min": 31 }), "topology.cell.cw_min", "access = \"dcf\""),
        (json!({ "access": "dcf", "cw_min": 30 }), "topology.cell.cw_min", "power of two less one"),
        (json!({ "retries": "never" }), "topology.cell.retries", "\"unlimited\""),
        (json!({ "standard": "802.11z" }), "topology.cell.standard", "802.11n"),
        (json!({ "radio": { "noise_figure_db": 99 } }), "topology.cell.radio.noise_figure_db", "from 0 to 40"),
        (json!({ "mtu": "9000B" }), "topology.cell.mtu", "2304B"),
        (json!({ "queue": "1bdp" }), "topology.cell.queue", "1000p"),
        (json!({ "up": { "queue": "2bdp" } }), "topology.cell.up.queue", "1000p"),
        (json!({ "loss": { "model": "periodic" } }), "topology.cell.loss", "needs every"),
        (json!({ "access_point": "server" }), "topology.cell", "other names"),
        (json!({ "stations": [{ "name": "link" }] }), "topology.cell.name", "another name"),
        (json!({ "stations": [{ "name": "a" }, { "name": "a" }] }), "topology.cell.stations[1].name", "another name"),
    ];
    for (text, path, remedy) in cases {
        let (at, message) = said(text.clone());
        assert_eq!(at, path, "{text}: {message}");
        assert!(message.contains(remedy), "{text}: {message}");
    }
    let mut pair = cell(json!({ "stations": 2 }), json!([{ "contender": "tcp/cubic", "size": "1kB", "pair": 2 }]));
    let wrong = Scenario::from_json(&pair.to_string()).unwrap_err();
    assert!(wrong.path == "flows[0].pair" && wrong.message.contains("from 0 to 1"), "{wrong}");
    pair["flows"][0]["pair"] = json!(1);
    let valid = scenario(&pair);
    let Err(wrong) = describe(&valid, 1, 0) else { panic!("a rig cannot build a cell") };
    assert!(wrong.path == "topology.cell" && wrong.message.contains("fidelity \"model\""), "{wrong}");
}

/// Links of a cell share one element, so processes have other numbers than without: the files of each flow are still its own.
#[test]
fn files_of_a_run_with_a_cell_have_their_flows_and_links() {
    let flows = json!([
        { "contender": "quic/cubic", "size": "300kB", "pair": 0 },
        { "contender": "quic/cubic", "size": "300kB", "pair": 1 },
    ]);
    let given = cell(json!({ "stations": 2 }), flows);
    let folder = tempfile::tempdir().unwrap();
    let pcap = haltere_sim::Pcap { folder: folder.path().join("pcap"), links: Vec::new() };
    let files = haltere_sim::Files {
        qlog: Some(folder.path().join("qlog")),
        pcap: Some(pcap),
        ..haltere_sim::Files::default()
    };
    haltere_sim::trace_at(Fidelity::Model, &scenario(&given), 1, 0, &files).unwrap();
    let logs: Vec<_> = std::fs::read_dir(folder.path().join("qlog")).unwrap().map(|entry| entry.unwrap()).collect();
    assert_eq!(logs.len(), 4);
    for log in logs {
        let text = std::fs::read_to_string(log.path()).unwrap();
        let metrics = text.lines().filter(|line| line.contains("metrics_updated")).count();
        assert!(metrics > 5, "{:?}: {metrics}", log.file_name());
    }
    let captures = std::fs::read_dir(folder.path().join("pcap")).unwrap().count();
    assert_eq!(captures, 3, "the wired link and two stations");
}
