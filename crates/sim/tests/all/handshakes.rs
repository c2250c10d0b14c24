//! The number of round trips of each handshake before the first byte arrives: the table of the papers, to the
//! nanosecond.
//!
//! TCP with TLS 1.2 can ask after 3 round trips, with TLS 1.3 after 2, QUIC after 1; with an earlier connection after 2,
//! 1 (early data) and 0 (cantabria-2021 table 2.1; mpquic-2019 figures 4 and 5; ufpe-2020 figure 15). Fast Open saves one
//! (RFC 7413), False Start of TLS 1.2 too (RFC 7918), Retry and Version Negotiation cost one each (RFC 9000 sections 8.1.2 and 6).

use crate::common;

use serde_json::{Value, json};

/// Contenders with the number of round trips before their request can be sent.
const TABLE: [(&str, &str, u64); 31] = [
    ("tcp/cubic", "raw", 1),
    ("tcp/cubic+tfo", "raw", 0),
    ("tcp/cubic+tls12", "https", 3),
    ("tcp/cubic+tls12+resumed", "https", 2),
    ("tcp/cubic+tls12+tfo", "https", 2),
    ("tcp/cubic+tls12+resumed+tfo", "https", 1),
    ("tcp/cubic+falsestart", "https", 2),
    ("tcp/cubic+tls12+falsestart", "https", 2),
    ("tcp/cubic+falsestart+resumed", "https", 2),
    ("tcp/cubic+falsestart+tfo", "https", 1),
    ("tcp/cubic", "https", 2),
    ("tcp/cubic+resumed", "https", 2),
    ("tcp/cubic+earlydata", "https", 1),
    ("tcp/cubic+tfo", "https", 1),
    ("tcp/cubic+resumed+tfo", "https", 1),
    ("tcp/cubic+earlydata+tfo", "https", 0),
    ("tcp/bbr+earlydata+tfo", "https", 0),
    ("tcp/newreno+resumed+earlydata+tfo", "https", 0),
    ("quic/cubic", "https", 1),
    ("quic/cubic", "raw", 1),
    ("quic/cubic+resumed", "https", 1),
    ("quic/cubic+0rtt", "https", 0),
    ("quic/bbr+0rtt", "raw", 0),
    ("quic/cubic+retry", "https", 2),
    ("quic/cubic+versionnegotiation", "https", 2),
    ("quic/cubic+retry+versionnegotiation", "https", 3),
    ("quic/cubic+resumed+retry", "https", 2),
    ("quic/cubic+0rtt+retry", "https", 1),
    ("quic/cubic+0rtt+versionnegotiation", "https", 1),
    ("quic/cubic+0rtt+retry+versionnegotiation", "https", 2),
    ("quic/newreno+resumed+0rtt+retry", "raw", 1),
];

fn download(contender: &str, app: &str, link: Value, size: &str) -> Value {
    json!({
        "topology": { "kind": "point-to-point", "link": link },
        "flows": [{ "contender": contender, "app": app, "size": size }],
    })
}

/// Set-up time means the same for both transports: the time until the first request may be sent, TLS included.
#[test]
fn set_up_time_lasts_until_the_request_can_be_sent() {
    for (contender, app, round_trips) in TABLE {
        let result = common::result(&download(contender, app, json!({ "delay": "50ms" }), "1B"));
        let flow = &result.flows[0];
        // Early data of QUIC is sent at once, also where the server then asks for another round trip.
        let before = if contender.contains("0rtt") { 0 } else { round_trips };
        let set_up = (flow.handshake_s.unwrap() * 1e9).round() as u64;
        assert_eq!(set_up, before * 100_000_000, "{contender}, {app}");
    }
}

#[test]
fn the_first_byte_comes_after_the_round_trips_of_the_papers_table() {
    for (contender, app, round_trips) in TABLE {
        let link = json!({ "delay": "50ms" });
        for size in ["1B", "100kB"] {
            let result = common::result(&download(contender, app, link.clone(), size));
            assert_eq!(result.error, None, "{contender}");
            let first_byte = (result.flows[0].first_byte_s.unwrap() * 1e9).round() as u64;
            // The answer to the request takes one more.
            assert_eq!(first_byte, (round_trips + 1) * 100_000_000, "{contender}, {app}, {size}");
        }
    }
}

/// Contenders of the table as production stacks, with either cipher.
#[cfg(feature = "stacks")]
fn in_stacks() -> impl Iterator<Item = (String, &'static str, u64)> {
    let kinds = ["quinn", "noq"].into_iter().flat_map(|stack| ["", "+nullcipher"].map(|cipher| (stack, cipher)));
    kinds.flat_map(|(stack, cipher)| {
        TABLE.into_iter().filter(|(contender, ..)| contender.starts_with("quic/")).map(move |(contender, app, n)| {
            let named = contender.replace("quic/", &format!("quic@{stack}/")).replace("bbr", "bbr+haltere");
            (named + cipher, app, n)
        })
    })
}

#[test]
#[cfg(feature = "stacks")]
fn production_stacks_take_the_same_round_trips() {
    for (contender, app, round_trips) in in_stacks() {
        for size in ["1B", "100kB"] {
            let given = common::scenario(&download(&contender, app, json!({ "delay": "50ms" }), size));
            let run = || haltere_sim::run_at(haltere_sim::Fidelity::Stack, &given, 1, 0).unwrap();
            let result = run();
            assert_eq!(result.error, None, "{contender}");
            let first_byte = (result.flows[0].first_byte_s.unwrap() * 1e9).round() as u64;
            let set_up = (result.flows[0].handshake_s.unwrap() * 1e9).round() as u64;
            let least = if contender.contains("0rtt") { 0 } else { round_trips * 100_000_000 };
            assert!((least..=first_byte - 100_000_000).contains(&set_up), "{contender}, {app}, {size}: {set_up}");
            let expected = (round_trips + 1) * 100_000_000;
            // noq paces a server's first flight, where a certificate fills three datagrams: 26.6 ms for each but the first.
            let is_new = !contender.contains("resumed") && !contender.contains("0rtt");
            let paced = if contender.contains("noq") && is_new { 54_000_000 } else { 0 };
            assert!(
                first_byte >= expected && first_byte <= expected + paced,
                "{contender}, {app}, {size}: {first_byte}"
            );
            let text = |r: &haltere_sim::RunResult| serde_json::to_string(r).unwrap();
            assert_eq!(text(&result), text(&run()), "{contender}, {app}, {size}");
        }
    }
}

/// At a finite rate the time to the first byte grows by the time of the bits that must be sent one after the other.
#[test]
fn serialisation_comes_on_top() {
    for (contender, app, round_trips) in TABLE {
        let given = |rate: &str| json!({ "delay": "50ms", "rate": rate });
        let first_byte = |rate| {
            let result = common::result(&download(contender, app, given(rate), "1B"));
            result.flows[0].first_byte_s.unwrap() - 0.1 * (round_trips + 1) as f64
        };
        // No handshake here is longer than 40 packets both ways: 480 kbit.
        let (slow, fast) = (first_byte("10Mbit/s"), first_byte("100Mbit/s"));
        assert!(slow > fast && fast > 0.0 && slow < 0.048, "{contender}: {slow} s, {fast} s");
        // Ten times the rate: a tenth of the time.
        assert!((slow / fast - 10.0).abs() < 0.05, "{contender}: {slow} s, {fast} s");
    }
}

/// A resumed session saves the bytes of the certificate and its proof. Early data saves hardly anything more.
#[test]
fn a_resumed_handshake_is_lighter_by_the_certificate() {
    let wire = |contender: &str| {
        let result = common::result(&download(contender, "https", json!({ "delay": "50ms" }), "1kB"));
        result.flows[0].wire_bytes
    };
    // 2900 and 264 bytes less, some more for the ticket's return, and the headers of two packets.
    for transport in ["tcp/cubic", "tcp/cubic+tls12"] {
        let saved = wire(transport) - wire(&format!("{transport}+resumed"));
        assert!((3000..3600).contains(&saved), "{transport}: {saved}");
    }
    // The first datagram is still padded to 1200 bytes (RFC 9000 section 14.1).
    let saved = wire("quic/cubic") - wire("quic/cubic+resumed");
    assert!((2400..2500).contains(&saved), "{saved}");
}

/// The n-th packet of either direction is lost. The transfer must only take longer.
#[test]
fn every_loss_of_one_packet_is_survived() {
    for (contender, app, _) in TABLE {
        for (direction, n) in ["down", "up"].into_iter().flat_map(|d| (1..=12).map(move |n| (d, n))) {
            let mut link = json!({ "delay": "50ms" });
            link[direction] = json!({ "loss": { "model": "list", "packets": [n] } });
            let result = common::result(&download(contender, app, link, "20kB"));
            assert_eq!(result.error, None, "{contender}, {app}: packet {n} {direction}");
            // A timeout of 1 s that a second one doubles, at most.
            let completion = result.flows[0].completion_s.unwrap();
            assert!(completion < 5.0, "{contender}, {app}: packet {n} {direction}: {completion} s");
        }
    }
}

/// Everything arrives twice, and in any order.
#[test]
fn duplicated_and_reordered_packets_are_survived() {
    for (contender, app, _) in TABLE {
        for seed in 0..20 {
            let jitter = json!({ "spread": "120ms", "reorder": true });
            let link = json!({ "delay": "50ms", "duplication": "100%", "jitter": jitter });
            let given = common::scenario(&download(contender, app, link, "20kB"));
            let result = haltere_sim::run(&given, seed, 0).unwrap();
            assert_eq!(result.error, None, "{contender}, {app}, seed {seed}");
        }
    }
}

#[test]
fn what_a_switch_cannot_do_is_refused_before_anything_runs() {
    let cases = [
        ("tcp/cubic+tls12", "raw", "leave one of them out"),
        ("tcp/cubic+earlydata", "raw", "leave one of them out"),
        ("tcp/cubic+tls12+earlydata", "https", "leave tls12 or earlydata out"),
        ("tcp/cubic+falsestart+earlydata", "https", "leave falsestart or earlydata out"),
        ("tcp/cubic+0rtt", "https", "earlydata"),
        ("quic/cubic+tfo", "https", "0rtt"),
    ];
    for (contender, app, words) in cases {
        let given = download(contender, app, json!({}), "1B").to_string();
        let error = haltere_sim::Scenario::from_json(&given).unwrap_err();
        assert_eq!(error.path, "flows[0].contender");
        assert!(error.message.contains(words), "{contender}: {}", error.message);
    }
}
