//! Clients whose addresses change while data flows: rebinding by a NAT, and migration to another path.

use haltere_sim::result::FlowResult;
use haltere_sim::{RunResult, Scenario, run};
use serde_json::{Value as Json, json};

/// A download of 4 MB over a path of 10 Mbit/s, beside which there is one of 5 Mbit/s.
fn scenario(contender: &str, more: Json) -> Json {
    let mut flow = json!({ "contender": contender, "size": "4MB" });
    flow.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({
        "time_limit": "120s",
        "topology": { "kind": "multipath", "paths": [
            { "rate": "10Mbit/s", "delay": "10ms", "queue": "50p" },
            { "rate": "5Mbit/s", "delay": "25ms", "queue": "50p" },
        ] },
        "flows": [flow],
    })
}

fn result(scenario: &Json) -> RunResult {
    run(&Scenario::from_json(&scenario.to_string()).unwrap(), 1, 0).unwrap()
}

fn flow(contender: &str, more: Json) -> FlowResult {
    result(&scenario(contender, more)).flows.remove(0)
}

fn refused(scenario: &Json) -> String {
    let parsed = Scenario::from_json(&scenario.to_string()).and_then(|scenario| run(&scenario, 1, 0).map(drop));
    parsed.unwrap_err().to_string()
}

/// Bytes that came down each path.
fn down(result: &RunResult) -> [u64; 2] {
    let links = serde_json::to_value(&result.links).unwrap();
    let of = |name: &str| {
        let mut links = links.as_array().unwrap().iter();
        links.find(|l| l["link"] == name && l["direction"] == "down").unwrap()["delivered_bytes"].as_u64().unwrap()
    };
    [of("path 0"), of("path 1")]
}

#[test]
fn a_download_over_quic_survives_rebindings() {
    let quiet = flow("quic/cubic", json!({})).completion_s.unwrap();
    for new in ["port", "address"] {
        let moved = flow("quic/cubic", json!({ "rebind": [{ "at": "1s", "new": new }, { "at": "2s", "new": new }] }));
        let took = moved.completion_s.unwrap();
        println!("{new}: {took} s instead of {quiet} s");
        assert!(took > quiet + 0.05 && took < quiet + 3.0, "{new}: {took} s instead of {quiet} s");
    }
}

#[test]
fn a_download_over_quic_goes_on_on_another_path() {
    let moved = result(&scenario("quic/cubic", json!({ "migrate": [{ "at": "1s", "path": 1 }] })));
    let took = moved.flows[0].completion_s.unwrap();
    println!("{took} s {:?}", down(&moved));
    assert!(down(&moved).iter().all(|bytes| *bytes > 900_000), "{:?}", down(&moved));
    assert!((4.5..7.5).contains(&took), "{took} s");
    // There and back again.
    let back =
        result(&scenario("quic/cubic", json!({ "migrate": [{ "at": "1s", "path": 1 }, { "at": "2s", "path": 0 }] })));
    println!("{:?} s {:?}", back.flows[0].completion_s, down(&back));
    assert!((400_000..900_000).contains(&down(&back)[1]), "{:?}", down(&back));
}

#[test]
fn tcp() {
    for contender in ["tcp/cubic", "mptcp/cubic", "mpquic/cubic", "quic/cubic"] {
        for more in [json!({ "rebind": [{ "at": "1s" }] }), json!({ "migrate": [{ "at": "1s", "path": 1 }] })] {
            let moved = result(&scenario(contender, more.clone()));
            println!(
                "{contender} {more} {:?} {:?} {:?}",
                moved.flows[0].completion_s,
                moved.flows[0].error,
                down(&moved)
            );
        }
    }
}
