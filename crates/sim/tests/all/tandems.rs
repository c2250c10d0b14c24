//! Links in tandem, which a packet crosses in one step if nobody watches: results are as if it crossed one after the other.

use crate::common;

use common::scenario;
use haltere_net::rng::{Stream, Streams};
use haltere_sim::{Fidelity, Files, run, trace_at};
use serde_json::{Value, json};

fn pick<'a>(stream: &mut Stream, of: &[&'a str]) -> &'a str {
    of[stream.below(of.len() as u64) as usize]
}

/// A tree of nodes with links of few rates and delays, so that many things happen at one instant, and transfers between any
/// of the nodes. Each starts at a time of its own, and many bring links packets from where none came before.
fn case(number: u64) -> Value {
    let mut s = Streams::new(7, number).named("tandems");
    let nodes = 3 + s.below(6);
    let links: Vec<Value> = (1..nodes)
        .map(|node| {
            let mut link = json!({
                "rate": pick(&mut s, &["12Mbit/s", "12Mbit/s", "7Mbit/s", "90Mbit/s", "1Gbit/s"]),
                "delay": pick(&mut s, &["0ms", "1ms", "1ms", "5ms"]),
                "queue": pick(&mut s, &["10p", "20p", "1000p", "head-drop"]),
            });
            match s.below(12) {
                0 => link["mtu"] = json!("1280B"),
                1 if link["queue"] != "head-drop" => link["mark"] = json!("5p"),
                2 => link["loss"] = json!("1%"),
                _ => {}
            }
            json!({ "from": format!("n{}", s.below(node)), "to": format!("n{node}"), "link": link })
        })
        .collect();
    let flows: Vec<Value> = (0..1 + s.below(5))
        .map(|_| {
            let server = s.below(nodes);
            let client = (server + 1 + s.below(nodes - 1)) % nodes;
            json!({
                "contender": pick(&mut s, &["tcp/cubic", "tcp/bbr", "quic/cubic", "tcp/reno+ecn"]),
                "size": pick(&mut s, &["1kB", "100kB", "1MB"]), "app": "raw",
                "server": format!("n{server}"), "client": format!("n{client}"),
                "start": pick(&mut s, &["0ms", "0ms", "20ms", "37.1ms", "150ms"]),
            })
        })
        .collect();
    let mut given = json!({ "topology": { "kind": "graph", "links": links }, "flows": flows });
    match s.below(3) {
        0 => given["time_limit"] = json!("100s"),
        1 => given["duration"] = json!(format!("{}us", 20_000 + s.below(300_000))),
        _ => {
            given["duration"] = json!("400ms");
            given["measure_from"] = json!(format!("{}us", 20_000 + s.below(300_000)));
        }
    }
    given
}

#[test]
fn results_are_those_of_links_one_after_the_other() {
    for number in 0..600 {
        let given = case(number);
        let scenario = scenario(&given);
        let one_step = run(&scenario, number, 0).unwrap();
        // With a recorder, packets cross links one after the other.
        let watched = trace_at(Fidelity::Model, &scenario, number, 0, &Files::default()).unwrap().result;
        let [one_step, watched] = [one_step, watched].map(|result| serde_json::to_string(&result).unwrap());
        assert_eq!(one_step, watched, "case {number}: {given}");
    }
}
