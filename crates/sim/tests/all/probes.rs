//! Probes: their round-trip times, losses and time-outs, and errors in scenarios.

use haltere_sim::result::ProbeResult;
use haltere_sim::{Fidelity, RunResult, Scenario, check_at, run};

fn result(json: &str) -> RunResult {
    run(&Scenario::from_json(json).expect(json), 1, 0).expect(json)
}

fn probe(json: &str) -> ProbeResult {
    let mut result = result(json);
    assert_eq!(result.status, "ok", "{:?}", result.error);
    result.probes.remove(0)
}

/// A scenario without flows on a link with these fields.
fn alone(link: &str, probe: &str) -> String {
    format!(
        r#"{{"topology": {{"kind": "point-to-point", "link": {{{link}}}}}, "duration": "60s", "probes": [{{{probe}}}]}}"#
    )
}

const LINK: &str = r#""rate": "10Mbit/s", "down": {"delay": "10ms"}, "up": {"delay": "0ms"}"#;
/// Time to send 1478 bytes at 10 Mbit/s twice, and the delay of the link, s.
const EMPTY_RTT: f64 = 2.0 * 1478.0 * 8.0 / 10e6 + 0.010;

#[test]
fn the_rtt_of_an_empty_path_is_its_delay_and_the_time_to_send() {
    for kind in ["icmp", "udp"] {
        let found = probe(&alone(LINK, &format!(r#""kind": "{kind}", "size": "1450B", "count": 5"#)));
        assert_eq!(found.sent_s, [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!((found.sent, found.answered, found.lost), (5, 5, 0));
        for rtt in found.rtt_s.iter().chain([&found.rtt_mean_s, &found.rtt_p99_s, &found.rtt_min_s]) {
            assert!((rtt.unwrap() - EMPTY_RTT).abs() < 1e-9, "{kind}: {rtt:?}, not {EMPTY_RTT}");
        }
    }
}

#[test]
fn a_probe_over_tcp_waits_for_its_connection() {
    let found = probe(&alone(LINK, r#""kind": "tcp", "size": "1000B", "count": 3"#));
    // A SYN of 60 bytes and its answer; 52 bytes of headers beside the payload.
    let handshake = 2.0 * 60.0 * 8.0 / 10e6 + 0.010;
    let rtt = 2.0 * 1052.0 * 8.0 / 10e6 + 0.010;
    assert!((found.sent_s[0] - handshake).abs() < 1e-9, "{:?}", found.sent_s);
    // The ACK of the handshake is sent before the first request, and the ACK of the first request before its answer.
    let ack = 52.0 * 8.0 / 10e6;
    for (acks, got) in [2.0, 0.0, 0.0].iter().zip(&found.rtt_s) {
        assert!((got.unwrap() - rtt - acks * ack).abs() < 1e-9, "{got:?}, not {rtt} and {acks} ACKs");
    }
}

#[test]
fn stop_and_wait_goes_on_after_an_answer_or_a_time_out() {
    // Answers come after 1.5 s, longer than the interval.
    let slow = r#""delay": "750ms""#;
    let found = probe(&alone(slow, r#""kind": "icmp", "mode": "stop-and-wait", "count": 3"#));
    assert_eq!(found.sent_s, [0.0, 1.5, 3.0]);
    // An outage swallows the second request.
    let link = r#""outage": [{"from": "0.5s", "to": "1.5s"}]"#;
    let found = probe(&alone(link, r#""kind": "udp", "mode": "stop-and-wait", "count": 4, "timeout": "3s""#));
    assert_eq!(found.sent_s, [0.0, 1.0, 4.0, 5.0]);
    assert_eq!(found.rtt_s, [Some(0.0), None, Some(0.0), Some(0.0)]);
    assert_eq!(found.lost, 1);
}

/// By default, as ping: a request at every interval, whether or not answers came.
#[test]
fn probes_do_not_wait_for_answers_as_ping_does_not() {
    let slow = r#""delay": "750ms""#;
    for kind in ["icmp", "udp"] {
        let found = probe(&alone(slow, &format!(r#""kind": "{kind}", "count": 4, "interval": "500ms""#)));
        assert_eq!(found.sent_s, [0.0, 0.5, 1.0, 1.5]);
        assert_eq!(found.rtt_s, [Some(1.5); 4]);
    }
    let link = r#""outage": [{"from": "0.5s", "to": "1.5s"}]"#;
    let found = probe(&alone(link, r#""kind": "icmp", "count": 4"#));
    assert_eq!(found.sent_s, [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(found.rtt_s, [Some(0.0), None, Some(0.0), Some(0.0)]);
}

#[test]
fn a_late_answer_is_a_loss() {
    let slow = r#""delay": "600ms""#;
    for kind in ["icmp", "tcp"] {
        let json = alone(slow, &format!(r#""kind": "{kind}", "count": 3, "interval": "1s", "timeout": "1s""#));
        let found = probe(&json);
        assert_eq!((found.sent, found.answered, found.lost), (3, 0, 3), "{kind}");
        assert_eq!((found.rtt_mean_s, found.rtt_max_s), (None, None));
    }
}

#[test]
fn a_request_without_an_answer_at_the_end_is_neither_answered_nor_lost() {
    let json = alone(r#""delay": "400ms""#, r#""kind": "icmp""#).replace("60s", "2500ms");
    let found = probe(&json);
    assert_eq!((found.sent, found.answered, found.lost), (3, 2, 0));
    assert_eq!(found.rtt_s.len(), 2);
}

#[test]
fn a_duration_ends_a_probe_and_the_run() {
    let found = result(&alone(r#""delay": "1ms""#, r#""kind": "icmp", "duration": "3s""#));
    assert_eq!(found.probes[0].sent_s, [0.0, 1.0, 2.0, 3.0]);
    assert!(found.virtual_s < 4.1, "{}", found.virtual_s);
}

/// A flow that fills the queue of its bottleneck, and a probe beside it.
fn loaded(probe: &str) -> String {
    format!(
        r#"{{"topology": {{"kind": "point-to-point", "link": {{"rate": "10Mbit/s", "queue": "100p",
            "down": {{"delay": "10ms"}}, "up": {{"delay": "0ms"}}}}}}, "duration": "30s",
            "flows": [{{"contender": "tcp/cubic", "app": "raw"}}], "probes": [{{"kind": "icmp", "size": "1450B", {probe}}}]}}"#
    )
}

#[test]
fn answers_wait_in_the_queue_of_the_data() {
    let found = probe(&loaded(r#""start": "5s""#));
    let (full, least) = (100.0 * 1500.0 * 8.0 / 10e6 + EMPTY_RTT, found.rtt_min_s.unwrap());
    assert!(found.rtt_max_s.unwrap() <= full + 0.0012, "{:?} beyond a full queue, {full}", found.rtt_max_s);
    assert!(found.rtt_max_s.unwrap() > 0.9 * full, "{:?} far below a full queue, {full}", found.rtt_max_s);
    assert!(least > 0.5 * full, "{least}");
    // The requests of a probe from the server wait instead, for as long.
    let other = probe(&loaded(r#""start": "5s", "from": "server""#));
    assert!((other.rtt_mean_s.unwrap() / found.rtt_mean_s.unwrap() - 1.0).abs() < 0.1, "{other:?}");
}

#[test]
fn a_flow_is_not_changed_by_a_probe_on_other_links() {
    let pairs = |probes: &str| {
        let json = format!(
            r#"{{"topology": {{"kind": "graph", "links": [
                {{"from": "a", "to": "b", "link": {{"rate": "10Mbit/s", "delay": "5ms", "loss": "1%"}}}},
                {{"from": "c", "to": "d", "link": {{"rate": "10Mbit/s", "delay": "5ms", "loss": "1%"}}}}]}},
                "flows": [{{"contender": "tcp/cubic", "size": "1MB", "server": "a", "client": "b"}}]{probes}}}"#
        );
        result(&json)
    };
    let without = pairs("");
    let with = pairs(r#", "probes": [{"kind": "udp", "server": "c", "client": "d", "interval": "10ms"}]"#);
    assert_eq!(serde_json::to_string(&without.flows).unwrap(), serde_json::to_string(&with.flows).unwrap());
    assert!(with.probes[0].answered > 50 && with.probes[0].lost <= 5, "{:?}", with.probes[0]);
}

#[test]
fn losses_are_drawn_like_those_of_any_packet() {
    let found = probe(&alone(
        r#""delay": "1ms", "down": {"loss": "20%"}, "up": {"loss": "0%"}"#,
        r#""kind": "icmp", "count": 1000, "interval": "10ms""#,
    ));
    assert_eq!(found.answered + found.lost, 1000);
    assert!((150..250).contains(&found.lost), "{}", found.lost);
    assert_eq!(found.rtt_s.iter().filter(|rtt| rtt.is_none()).count() as u64, found.lost);
}

#[test]
fn a_run_repeats_to_the_byte() {
    let json = loaded(r#""start_spread": "1s""#);
    let once = |replication| {
        serde_json::to_string(&run(&Scenario::from_json(&json).unwrap(), 7, replication).unwrap()).unwrap()
    };
    assert_eq!(once(0), once(0));
    assert_ne!(once(0), once(1));
}

#[test]
fn errors_name_the_field_and_the_remedy() {
    let cases = [
        (r#""kind": "icmp", "size": "1473B""#, "probes[0].size", "at most 1472B"),
        (r#""kind": "udp", "size": "70000B""#, "probes[0].size", "at most 65507B"),
        (r#""kind": "tcp", "size": "0B""#, "probes[0].size", "at least 1B"),
        (r#""kind": "icmp", "interval": "0s""#, "probes[0].interval", "1s"),
        (r#""kind": "icmp", "timeout": "0s""#, "probes[0].timeout", "5s"),
        (r#""kind": "icmp", "count": 0"#, "probes[0].count", "at least 1"),
        (r#""kind": "icmp", "server": "a""#, "probes[0].server", "only a graph"),
        (r#""kind": "arp""#, "probes[0].kind", "icmp"),
        (r#""kind": "icmp", "mode": "fast""#, "probes[0].mode", "free-running"),
    ];
    for (given, path, remedy) in cases {
        let parsed = Scenario::from_json(&alone(LINK, given));
        let error = parsed.and_then(|s| check_at(Fidelity::Model, &s)).expect_err(given);
        assert_eq!(error.path, path, "{given}");
        assert!(error.message.contains(remedy), "{given}: {error}");
    }
    let endless = alone(LINK, r#""kind": "icmp""#).replace(r#""duration": "60s", "#, "");
    let error = Scenario::from_json(&endless).unwrap_err();
    assert_eq!(error.path, "duration");
    assert!(error.message.contains("a count"), "{error}");
    let error = Scenario::from_json(r#"{"topology": {"kind": "point-to-point", "link": {}}}"#).unwrap_err();
    assert_eq!(error.path, "flows");
}
