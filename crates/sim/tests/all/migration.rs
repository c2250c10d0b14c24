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
        assert!(took > quiet + 0.05 && took < quiet + 3.0, "{new}: {took} s instead of {quiet} s");
        // What was on its way is lost, and nothing comes before a probe and its answer.
        assert!(moved.lost_packets > 10 && moved.longest_gap_s.unwrap() > 0.04, "{new}: {:?}", moved.longest_gap_s);
    }
}

#[test]
fn a_download_over_quic_goes_on_on_another_path() {
    let moved = result(&scenario("quic/cubic", json!({ "migrate": [{ "at": "1s", "path": 1 }] })));
    let took = moved.flows[0].completion_s.unwrap();
    assert!(down(&moved).iter().all(|bytes| *bytes > 900_000), "{:?}", down(&moved));
    // The rest takes 4.5 s at 5 Mbit/s.
    assert!((5.4..6.5).contains(&took), "{took} s");
    // There and back again.
    let moves = json!({ "migrate": [{ "at": "1s", "path": 1 }, { "at": "2s", "path": 0 }] });
    let back = down(&result(&scenario("quic/cubic", moves)));
    assert!((400_000..900_000).contains(&back[1]) && back[0] > 3_000_000, "{back:?}");
    // The numbers of paths are the topology's, wherever the client opens.
    let moves = json!({ "first_path": 1, "migrate": [{ "at": "1s", "path": 0 }] });
    let other = down(&result(&scenario("quic/cubic", moves)));
    assert!((300_000..900_000).contains(&other[1]) && other[0] > 3_000_000, "{other:?}");
}

#[test]
fn a_client_that_moves_leaves_a_path_that_died() {
    let mut died = scenario("quic/cubic", json!({ "migrate": [{ "at": "1200ms", "path": 1 }] }));
    died["topology"]["paths"][0]["outage"] = json!([{ "from": "1s", "to": "100s" }]);
    let moved = result(&died).flows.remove(0);
    assert_eq!(moved.status, "ok", "{:?}", moved.error);
    let gap = moved.longest_gap_s.unwrap();
    assert!((0.25..0.45).contains(&gap), "{gap} s: until it moves, a round trip for the challenge and one for data");
}

#[test]
fn connections_that_are_known_by_their_addresses_end() {
    let rebound = flow("tcp/cubic", json!({ "rebind": [{ "at": "1s" }] }));
    assert!(rebound.error.as_deref().unwrap().contains("reset"), "{:?}", rebound.error);
    let moved = flow("tcp/cubic", json!({ "migrate": [{ "at": "1s", "path": 1 }] }));
    assert!(moved.error.as_deref().unwrap().contains("left the address"), "{:?}", moved.error);
    assert!((800_000..1_300_000).contains(&moved.bytes), "{}", moved.bytes);
}

#[test]
fn connections_with_several_paths_go_on_on_the_others() {
    for contender in ["mptcp/cubic", "mpquic/cubic"] {
        let moved = result(&scenario(contender, json!({ "migrate": [{ "at": "1s", "path": 1 }] })));
        assert_eq!(moved.flows[0].status, "ok", "{contender}: {:?}", moved.flows[0].error);
        assert!(down(&moved)[0] < 1_400_000, "{contender}: nothing more goes there: {:?}", down(&moved));
        let rebound = result(&scenario(contender, json!({ "rebind": [{ "at": "1s" }] })));
        assert_eq!(rebound.flows[0].status, "ok", "{contender}: {:?}", rebound.flows[0].error);
        // The subflow is reset, the path of QUIC goes on.
        assert_eq!(down(&rebound)[0] > 2_000_000, contender == "mpquic/cubic", "{contender}: {:?}", down(&rebound));
    }
}

#[test]
fn a_rebound_client_on_an_interface_that_credits_goes_on() {
    let mut upload = scenario("quic/cubic", json!({ "direction": "up", "rebind": [{ "at": "1s", "new": "address" }] }));
    for path in upload["topology"]["paths"].as_array_mut().unwrap() {
        path["ring"] = json!("16p");
    }
    let result = result(&upload).flows.remove(0);
    assert_eq!(result.status, "ok", "{:?}", result.error);
}

#[test]
fn what_cannot_be_is_refused_with_the_place_and_the_remedy() {
    let path = refused(&scenario("quic/cubic", json!({ "migrate": [{ "at": "1s", "path": 2 }] })));
    assert!(path.contains("flows[0].migrate[0].path") && path.contains("0 to 1"), "{path}");
    let path = refused(&scenario("quic/cubic", json!({ "rebind": [{ "at": "1s", "path": 9 }] })));
    assert!(path.contains("flows[0].rebind[0].path"), "{path}");
    let many: Vec<Json> = (0..101).map(|k| json!({ "at": format!("{k}s") })).collect();
    let many = refused(&scenario("quic/cubic", json!({ "rebind": many })));
    assert!(many.contains("flows[0].rebind") && many.contains("at most 100"), "{many}");
    let unknown = refused(&scenario("quic/cubic", json!({ "rebind": [{ "at": "1s", "new": "name" }] })));
    assert!(unknown.contains("flows[0].rebind[0].new"), "{unknown}");
}

#[test]
fn a_path_whose_number_is_beyond_what_connections_can_count_is_refused() {
    let link = |k| json!({ "name": format!("l{k}"), "from": "s", "to": "c", "link": { "rate": "10Mbit/s", "delay": "1ms", "queue": "50p" } });
    let mut many =
        scenario("quic/cubic", json!({ "server": "s", "client": "c", "migrate": [{ "at": "1s", "path": 299 }] }));
    many["topology"] = json!({ "kind": "graph", "links": (0..300).map(link).collect::<Vec<_>>() });
    let many = refused(&many);
    assert!(many.contains("flows[0].migrate[0].path") && many.contains("up to 255"), "{many}");
}
