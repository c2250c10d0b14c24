//! Video on demand: start, stalls, quality and switches of films over links of all kinds, and what is refused.

use crate::common;

use common::generator::case;
use common::{flaw, scenario};
use haltere_sim::result::{FlowResult, VideoResult};
use haltere_sim::video::RateAdaptation;
use haltere_sim::{RunResult, run};
use serde_json::{Value, json};

fn adaptations() -> impl Iterator<Item = &'static str> {
    RateAdaptation::ALL.iter().map(|adaptation| adaptation.name())
}

/// A film over a link with an RTT of 50 ms.
fn over(rate: &str, contender: &str, video: Value) -> Value {
    let link = json!({ "rate": rate, "delay": "25ms", "queue": "100p" });
    json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": contender, "video": video }],
    })
}

fn first(result: &RunResult) -> (&FlowResult, &VideoResult) {
    let flow = &result.flows[0];
    (flow, flow.video.as_ref().unwrap())
}

#[test]
fn a_fast_link_has_the_highest_bit_rate_and_no_stalls() {
    for adaptation in adaptations() {
        for contender in ["tcp/cubic", "quic/bbr"] {
            let result = common::result(&over("50Mbit/s", contender, json!({ "adaptation": adaptation })));
            let (flow, video) = first(&result);
            let said = format!("{adaptation} over {contender}: {video:?}");
            assert_eq!((flow.status, video.stalls, video.chunks_played), ("ok", 0, 48), "{said}");
            // The first chunk has the lowest bit rate, and the others the highest; BBA-0 is there once the buffer holds 54 s, which is
            // after 14 chunks.
            let low = if adaptation == "bba" { 14.0 } else { 1.0 };
            let least = (low * 0.3e6 + (48.0 - low) * 4.3e6) / 48.0;
            assert!(video.played_bps.unwrap() >= least - 1.0, "{said}");
            assert!(video.startup_s.unwrap() < 0.5, "{said}");
            // It plays for as long as it is, and the run ends with it.
            assert!((result.virtual_s - video.startup_s.unwrap() - 192.0).abs() < 1e-6, "{said} {}", result.virtual_s);
        }
    }
}

#[test]
fn the_film_begins_after_the_round_trips_and_its_first_chunk() {
    // A chunk of 2 kB fits the initial window, and what a server may send to an address that is not validated. TCP's handshake, that of
    // TLS 1.3, and the request take a round trip each; HTTP/1.1 takes as many, QUIC one less, and early data one less again.
    let small = json!({ "rates": ["4kbit/s"], "spread": "0%" });
    let cases = [
        ("tcp/cubic", "https", 3),
        ("tcp/cubic", "http1", 3),
        ("quic/cubic", "https", 2),
        ("quic/cubic+0rtt", "https", 1),
    ];
    for (contender, app, round_trips) in cases {
        let mut given = over("100Mbit/s", contender, small.clone());
        given["flows"][0]["app"] = json!(app);
        let result = common::result(&given);
        let startup = first(&result).1.startup_s.unwrap();
        // Beside them, the packets until the end of the chunk, from 2 kB to 10 kB, need 0.16 ms to 0.8 ms of the link.
        let waited = startup - 0.05 * f64::from(round_trips);
        assert!((0.000_16..0.000_8).contains(&waited), "{contender} by {app}: {startup}");
    }
    // A slow link needs 4 s for 500 kB beside them.
    let large = json!({ "rates": ["1Mbit/s"], "spread": "0%" });
    let result = common::result(&over("1Mbit/s", "tcp/cubic", large));
    let startup = first(&result).1.startup_s.unwrap();
    assert!((4.1..4.6).contains(&startup), "{startup}");
}

#[test]
fn a_link_below_the_lowest_bit_rate_stalls() {
    for adaptation in adaptations() {
        let video = json!({ "adaptation": adaptation, "length": "40s", "spread": "0%" });
        let mut given = over("200kbit/s", "tcp/cubic", video);
        given["topology"]["link"]["queue"] = json!("15p");
        let result = common::result(&given);
        let (flow, video) = first(&result);
        let said = format!("{adaptation}: {video:?}");
        assert_eq!((flow.status, video.chunks_played, video.quality_switches), ("ok", 10, 0), "{said}");
        assert_eq!(video.played_bps, Some(300e3), "{said}");
        // 12 Mbit take 60 s and a little more, of which the last 4 s are played at the end.
        assert!((8..=9).contains(&video.stalls), "{said}");
        let end = video.startup_s.unwrap() + video.stalled_s + 40.0;
        assert!((end - result.virtual_s).abs() < 1e-6 && (64.0..70.0).contains(&end), "{said}");
        assert!(video.qoe_lin_bps.unwrap() < 0.0, "{said}");
    }
}

#[test]
fn the_bit_rate_settles_below_that_of_the_link() {
    for adaptation in adaptations() {
        for contender in ["tcp/cubic", "tcp/bbr", "quic/cubic"] {
            let result = common::result(&over("3Mbit/s", contender, json!({ "adaptation": adaptation })));
            let (flow, video) = first(&result);
            let said = format!("{adaptation} over {contender}: {video:?}");
            // RobustMPC may accept a short stall while it knows of a few chunks alone.
            assert!(flow.status == "ok" && video.stalled_s < 0.5, "{said}");
            assert!((1.0e6..3.0e6).contains(&video.played_bps.unwrap()), "{said}");
            assert!((1..30).contains(&video.quality_switches), "{said}");
            // Chunks have the bytes of their bit rates, give or take the spread.
            let bytes = video.played_bps.unwrap() * 192.0 / 8.0;
            assert!((flow.bytes as f64 / bytes - 1.0).abs() < 0.05, "{said} {}", flow.bytes);
        }
    }
}

#[test]
fn a_player_with_a_full_buffer_waits() {
    let video = json!({ "adaptation": "throughput", "rates": ["1Mbit/s"], "buffer": "12s", "spread": "0%" });
    let result = common::result(&over("50Mbit/s", "quic/cubic", video));
    let (flow, video) = first(&result);
    // The last chunk is asked for once the buffer holds 8 s, which is 12 s before the end.
    let end = video.startup_s.unwrap() + 192.0;
    assert!((end - 12.0..end - 11.5).contains(&flow.completion_s.unwrap()), "{:?}", flow.completion_s);
}

#[test]
fn films_go_over_several_paths_and_upwards() {
    let path = |rate: &str| json!({ "rate": rate, "delay": "10ms", "queue": "20p" });
    for (contender, one, both) in [("mptcp/cubic", "tcp/cubic", 1.5), ("mpquic/cubic", "quic/cubic", 1.5)] {
        let played = |contender: &str| {
            let result = common::result(&json!({
                "topology": { "kind": "multipath", "paths": [path("1.5Mbit/s"), path("1.5Mbit/s")] },
                "flows": [{ "contender": contender, "video": { "adaptation": "throughput" } }],
            }));
            first(&result).1.played_bps.unwrap()
        };
        let (all, alone) = (played(contender), played(one));
        assert!(all > both * alone, "{contender}: {all} bit/s over both, {alone} over one");
    }
    let mut up = over("3Mbit/s", "tcp/cubic", json!({}));
    up["flows"][0]["direction"] = json!("up");
    let result = common::result(&up);
    assert_eq!((result.flows[0].direction, first(&result).1.chunks_played), ("up", 48));
}

#[test]
fn a_run_that_ends_first_tells_of_what_was_played() {
    let mut given = over("3Mbit/s", "tcp/cubic", json!({}));
    given["duration"] = json!("30s");
    let result = common::result(&given);
    let (flow, video) = first(&result);
    assert!(flow.status == "ok" && (result.virtual_s - 30.0).abs() < 1e-9, "{} {}", flow.status, result.virtual_s);
    assert!((7..=8).contains(&video.chunks_played), "{video:?}");
    // Without a duration it is a failure.
    given.as_object_mut().unwrap().remove("duration");
    given["time_limit"] = json!("10s");
    let result = common::result(&given);
    assert!(result.error.as_ref().unwrap().contains("not fetched after 10s"), "{:?}", result.error);
    // A film of which nothing comes has no start, no bit rate and no quality, and waits are no stalls.
    let mut given = over("1kbit/s", "tcp/cubic", json!({}));
    given["duration"] = json!("30s");
    let result = common::result(&given);
    let video = first(&result).1;
    assert_eq!((video.startup_s, video.stalls, video.played_bps, video.qoe_lin_bps), (None, 0, None, None));
}

/// The cases of the generator, with a film in the place of the first flow.
fn with_film(number: u64) -> Value {
    let mut given = case(number).scenario;
    let whole = given.as_object_mut().unwrap();
    whole.remove("measure_from");
    whole.insert("duration".into(), json!("20s"));
    let flow = given["flows"][0].as_object_mut().unwrap();
    ["size", "app", "supply", "page"].iter().for_each(|field| drop(flow.remove(*field)));
    let names: Vec<&str> = adaptations().collect();
    let mut video = json!({ "adaptation": names[number as usize % names.len()], "length": "13s" });
    if number.is_multiple_of(4) {
        video["chunk"] = json!("1s");
        video["buffer"] = json!("5s");
        video["startup"] = json!("2500ms");
    }
    flow.insert("video".into(), video);
    if number.is_multiple_of(3) {
        flow.insert("direction".into(), json!("up"));
    }
    given
}

#[test]
fn films_over_random_links_end_well_or_for_an_expected_reason() {
    let mut wrong = Vec::new();
    for number in 0..300 {
        let given = with_film(number);
        let result = run(&scenario(&given), number, 0).unwrap_or_else(|e| panic!("case {number}: {e}"));
        if let Some(flaw) = flaw(&given, &result) {
            wrong.push(format!("case {number}: {flaw}\n{given}\n{result:?}\n"));
        }
        let (flow, video) = first(&result);
        let waited = video.startup_s.unwrap_or(0.0) + video.stalled_s;
        assert!(waited <= result.virtual_s - flow.start_s + 1e-9, "case {number}: {video:?}");
        assert!(video.quality_switches < video.chunks_played.max(1), "case {number}: {video:?}");
        assert_eq!(video.startup_s.is_some(), video.chunks_played > 0, "case {number}: {video:?}");
    }
    assert!(wrong.is_empty(), "{} cases went wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_film_is_the_same_each_time_and_other_in_other_replications() {
    let text = |number, replication| {
        serde_json::to_string(&run(&scenario(&with_film(number)), 1, replication).unwrap()).unwrap()
    };
    for number in 0..50 {
        assert_eq!(text(number, 0), text(number, 0), "case {number}");
    }
    let bytes = |contender: &str, replication| {
        let film = json!({ "rates": ["1Mbit/s"], "length": "20s" });
        run(&scenario(&over("20Mbit/s", contender, film)), 1, replication).unwrap().flows[0].bytes
    };
    assert_ne!(bytes("tcp/cubic", 0), bytes("tcp/cubic", 1), "chunks have other sizes");
    assert_eq!(bytes("tcp/cubic", 0), bytes("quic/bbr", 0), "contenders of a replication meet the same film");
}

#[test]
fn what_is_no_film_is_refused() {
    let with = |contender: &str, field: &str, value: Value| {
        let mut given = over("2Mbit/s", contender, json!({}));
        given["flows"][0][field] = value;
        haltere_sim::Scenario::from_json(&given.to_string()).unwrap_err()
    };
    for (field, value) in [("size", json!("1MB")), ("supply", json!("1Mbit/s")), ("page", json!({ "objects": [] }))] {
        let wrong = with("tcp/cubic", field, value);
        assert_eq!(wrong.path, format!("flows[0].{field}"));
        assert!(wrong.message.contains("leave"), "{}", wrong.message);
    }
    for app in ["raw", "ssh"] {
        let wrong = with("tcp/cubic", "app", json!(app));
        assert_eq!(wrong.path, "flows[0].app");
        assert!(wrong.message.contains("over HTTP"), "{}", wrong.message);
    }
    let wrong = with("rtp/gcc", "tos", json!(0));
    assert_eq!(wrong.path, "flows[0].video");
    assert!(wrong.message.contains("carries calls alone"), "{}", wrong.message);
    let wrong = with("tcp/cubic", "video", json!({ "adaptation": "mcp" }));
    assert_eq!(wrong.path, "flows[0].video.adaptation");
    assert!(wrong.message.contains("did you mean \"mpc\"? there are bba, throughput, mpc"), "{}", wrong.message);
}
