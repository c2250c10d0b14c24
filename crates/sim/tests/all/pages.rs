//! Pages of many objects over HTTP/1.1, HTTP/2 and HTTP/3: dependencies, waiting, and head-of-line blocking by a loss.

use crate::common;

use haltere_sim::result::FlowResult;
use haltere_sim::{RunResult, Scenario};
use serde_json::{Value, json};

/// The three ways to load a page, with the round trips before the first request.
const WAYS: [(&str, &str, u64); 3] = [("tcp/cubic", "http1", 2), ("tcp/cubic", "https", 2), ("quic/cubic", "https", 1)];

fn visit(contender: &str, app: &str, link: &Value, objects: &Value) -> Value {
    json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": contender, "app": app, "page": { "objects": objects } }],
    })
}

fn loaded(given: &Value) -> RunResult {
    let result = common::result(given);
    assert_eq!(result.error, None, "{given}");
    result
}

/// When each object was complete, in ms.
fn times(flow: &FlowResult) -> Vec<f64> {
    let times = flow.objects_s.as_ref().unwrap();
    times.iter().map(|t| (t.unwrap() * 1e9).round() / 1e6).collect()
}

#[test]
fn objects_are_asked_for_after_those_they_need_and_their_delay() {
    let objects =
        json!([{ "size": "5kB" }, { "size": "2kB", "after": [0], "delay": "5ms" }, { "size": "2kB", "after": [0] }]);
    // Over HTTP/1.1 object 1 finds the connection busy with object 2, and takes it before another one is open.
    let later = [[0.0, 200.0, 100.0], [0.0, 105.0, 100.0], [0.0, 105.0, 100.0]];
    for ((contender, app, round_trips), later) in WAYS.into_iter().zip(later) {
        let result = loaded(&visit(contender, app, &json!({ "delay": "50ms" }), &objects));
        let flow = &result.flows[0];
        let first = 100.0 * (round_trips + 1) as f64;
        assert_eq!(times(flow), later.map(|ms| first + ms), "{contender} {app}");
        assert_eq!((flow.first_byte_s.unwrap() * 1e6).round() / 1e3, first);
        assert_eq!((flow.bytes, flow.completion_s), (9_000, flow.objects_s.as_ref().unwrap()[1]));
    }
}

#[test]
fn http1_asks_for_six_at_a_time_and_the_others_for_all() {
    // All of them fit into an initial window.
    let objects = json!(vec![json!({ "size": "300B" }); 20]);
    for (contender, app, round_trips) in WAYS {
        let result = loaded(&visit(contender, app, &json!({ "delay": "50ms" }), &objects));
        let rounds = |at: f64| (at / 100.0).round() as u64 - round_trips;
        let at_round = |n| times(&result.flows[0]).into_iter().filter(|&t| rounds(t) == n).count();
        let expected = if app == "http1" { [6, 6, 6, 2] } else { [20, 0, 0, 0] };
        assert_eq!([1, 2, 3, 4].map(at_round), expected, "{contender} {app}");
    }
}

#[test]
fn early_data_and_fast_open_save_their_round_trips_for_pages_too() {
    // The bytes that a server may send to an unvalidated address have room for them (RFC 9000 section 8.1).
    let objects = json!(vec![json!({ "size": "600B" }); 3]);
    for (contender, app, round_trips) in [
        ("tcp/cubic+tfo", "http1", 1),
        ("tcp/cubic+earlydata+tfo", "http1", 0),
        ("tcp/cubic+tls12", "http1", 3),
        ("tcp/cubic+tls12+resumed", "https", 2),
        ("tcp/cubic+earlydata+tfo", "https", 0),
        ("quic/cubic+0rtt", "https", 0),
        ("quic/cubic+0rtt+retry", "https", 1),
    ] {
        let result = loaded(&visit(contender, app, &json!({ "delay": "50ms" }), &objects));
        assert_eq!(times(&result.flows[0]), [100.0 * (round_trips + 1) as f64; 3], "{contender} {app}");
        // The first request is sent as soon as it may be.
        let before = if contender.contains("0rtt") { 0 } else { round_trips };
        let set_up = (result.flows[0].handshake_s.unwrap() * 1e9).round() as u64;
        assert_eq!(set_up, before * 100_000_000, "{contender} {app}");
    }
}

/// Ten objects of a packet each are requested at once, and one of the packets is lost.
#[test]
fn a_loss_holds_up_everything_on_one_tcp_connection_and_one_stream_of_quic() {
    let objects = json!(vec![json!({ "size": "1kB" }); 10]);
    let late = |contender: &str, app: &str, packet: u64| {
        let link = |loss: Value| json!({ "delay": "50ms", "rate": "20Mbit/s", "down": { "loss": loss } });
        let clean = loaded(&visit(contender, app, &link(json!("0%")), &objects));
        let list = json!({ "model": "list", "packets": [packet] });
        let lossy = loaded(&visit(contender, app, &link(list), &objects));
        let pairs = times(&clean.flows[0]).into_iter().zip(times(&lossy.flows[0]));
        pairs.filter(|(before, after)| *after > before + 20.0).count()
    };
    // The server sends the SYN-ACK, three segments of its flight, an ACK or two, the tickets, then the responses.
    let tcp: Vec<usize> = (8..12).map(|n| late("tcp/cubic", "https", n)).collect();
    let quic: Vec<usize> = (6..14).map(|n| late("quic/cubic", "https", n)).collect();
    // All data after the loss waits: the earlier the loss, the more data.
    assert!(tcp[0] >= 7 && tcp.windows(2).all(|w| w[0] >= w[1]), "{tcp:?}");
    assert!(quic.iter().all(|&n| n <= 2) && quic.contains(&1), "{quic:?}");
}

#[test]
fn responses_under_way_take_turns() {
    let objects = json!([{ "size": "1MB" }, { "size": "1MB" }, { "size": "10kB", "delay": "600ms" }]);
    for (contender, app, _) in WAYS {
        let link = json!({ "delay": "10ms", "rate": "10Mbit/s", "queue": "50p" });
        let result = loaded(&visit(contender, app, &link, &objects));
        let at = times(&result.flows[0]);
        // One after the other they would be 800 ms apart.
        assert!((at[0] - at[1]).abs() < 500.0, "{contender} {app}: {at:?}");
        // The small object need not wait for the large ones.
        assert!(at[2] < 1100.0, "{contender} {app}: {at:?}");
    }
}

#[test]
fn more_objects_than_streams_come_all_the_same() {
    let objects: Vec<Value> =
        (0..450).map(|i| json!({ "size": "2kB", "after": if i == 0 { json!([]) } else { json!([0]) } })).collect();
    for (contender, app, _) in WAYS {
        let link = json!({ "delay": "5ms", "rate": "100Mbit/s", "loss": "1%" });
        let result = loaded(&visit(contender, app, &link, &json!(objects)));
        assert_eq!(result.flows[0].bytes, 900_000, "{contender} {app}");
    }
}

#[test]
fn random_pages_arrive_whole_over_lossy_paths() {
    use haltere_net::rng::Streams;
    for number in 0..60 {
        let mut dice = Streams::new(number, 0).named("page");
        let count = 1 + dice.below(40);
        let objects: Vec<Value> = (0..count)
            .map(|i| {
                let after: Vec<u64> = (0..dice.below(3).min(i)).map(|_| dice.below(i)).collect();
                let delay = format!("{}ms", dice.below(80));
                json!({ "size": format!("{}B", dice.below(60_000)), "after": after, "delay": delay })
            })
            .collect();
        let total: u64 =
            objects.iter().map(|o| o["size"].as_str().unwrap()[..].trim_end_matches('B').parse::<u64>().unwrap()).sum();
        let (contender, app, _) = WAYS[number as usize % 3];
        let jitter = json!({ "spread": "8ms", "reorder": true });
        let link = json!({ "delay": "20ms", "rate": "8Mbit/s", "loss": "2%", "duplication": "1%", "jitter": jitter });
        let given = visit(contender, app, &link, &json!(objects));
        let result = loaded(&given);
        assert_eq!((result.flows[0].bytes, common::flaw(&given, &result)), (total, None), "{given}");
        assert_eq!(times(&result.flows[0]).len(), count as usize);
        // The run gives the same result twice.
        let again = common::result(&given);
        assert_eq!(times(&again.flows[0]), times(&result.flows[0]));
    }
}

#[test]
fn a_page_that_is_not_whole_tells_which_objects_came() {
    let mut given = visit(
        "quic/cubic",
        "https",
        &json!({ "delay": "50ms", "rate": "1Mbit/s" }),
        &json!([{ "size": "1kB" }, { "size": "9MB" }]),
    );
    given["time_limit"] = json!("2s");
    let result = common::result(&given);
    let objects = result.flows[0].objects_s.clone().unwrap();
    assert!(objects[0].is_some() && objects[1].is_none() && result.error.is_some());
}

#[test]
fn what_is_no_page_is_refused_with_its_place() {
    let link = json!({ "delay": "1ms" });
    let page = |objects: Value| visit("tcp/cubic", "https", &link, &objects);
    let with = |field: &str, value: Value| {
        let mut given = page(json!([{ "size": "1B" }]));
        given["flows"][0][field] = value;
        given
    };
    let cases = [
        (page(json!([])), "flows[0].page.objects", "from 1 to 10000"),
        (page(json!([{ "size": "1B", "after": [0] }])), "flows[0].page.objects[0].after", "before it"),
        (page(json!([{ "size": "1000GB" }])), "flows[0].page.objects[0].size", "fewer"),
        (page(json!([{ "request": "1B" }])), "flows[0].page.objects[0]", "size"),
        (with("size", json!("1B")), "flows[0].size", "leave size or page out"),
        (with("app", json!("raw")), "flows[0].app", "http1"),
    ];
    for (given, path, words) in cases {
        let error = Scenario::from_json(&given.to_string()).unwrap_err();
        assert_eq!(error.path, path);
        assert!(error.message.contains(words), "{}", error.message);
    }
    let mut quic = with("app", json!("http1"));
    quic["flows"][0]["contender"] = json!("quic/cubic");
    assert_eq!(Scenario::from_json(&quic.to_string()).unwrap_err().path, "flows[0].app");
}
