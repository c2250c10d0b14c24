//! TCP's handshake, plain and with Fast Open (RFC 7413), with segments lost, duplicated or late.

use crate::common;
use crate::trace;

use common::misfortunes::Misfortunes;
use common::{Exchange, Fate, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_transport::cc::{self, Algorithm};
use haltere_transport::tcp::segment::Kind;
use haltere_transport::tcp::{Config, Connection};
use haltere_transport::{Body, CloseReason, Endpoint, Event, Role};
use proptest::prelude::*;
use trace::Bench;

const DELAY: Span = Span::from_millis(25);

/// The SYN of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opening {
    /// Without data.
    Plain,
    /// With data.
    Fast,
}

const BOTH: [Opening; 2] = [Opening::Plain, Opening::Fast];

fn pair(opening: Opening, algorithm: Algorithm, request: u64) -> Pair<Connection, Connection> {
    let end = |role| {
        let mut config = Config::new(role, algorithm, Streams::new(1, 0).named("cc"));
        config.fast_open = opening == Opening::Fast;
        Connection::new(config)
    };
    let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
    let exchange = Exchange { streams: vec![(request, 20_000)] };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &link, &link, 1, exchange);
    pair.keep = true;
    pair
}

/// Runs with these fates of the n-th segments of each direction.
fn run(opening: Opening, algorithm: Algorithm, request: u64, events: &Misfortunes) -> Pair<Connection, Connection> {
    let mut pair = pair(opening, algorithm, request);
    let case = format!("{opening:?} {algorithm:?} {events:?}");
    events.befall(&mut pair);
    assert!(pair.run(Span::from_secs(300)), "still going: {case}");
    assert_eq!((pair.client_log.failed, pair.server_log.failed), (None, None), "{case}");
    pair.assert_complete();
    pair
}

#[test]
fn a_syn_with_the_request_saves_a_round_trip() {
    for (opening, one_ways) in [(Opening::Plain, 3), (Opening::Fast, 1)] {
        let pair = run(opening, cc::CUBIC, 400, &Misfortunes::default());
        let fast = opening == Opening::Fast;
        let Body::Tcp(syn) = &pair.seen[0].packet.body else { panic!("not TCP") };
        assert_eq!((syn.kind, syn.len), (Kind::Syn, if fast { 400 } else { 0 }));
        assert_eq!(pair.seen[0].packet.len, if fast { 472 } else { 60 });
        // The server's application has the request then, and could answer.
        assert_eq!(pair.server_log.connected_at, Some(Time::ZERO + DELAY * one_ways), "{opening:?}");
        assert_eq!(pair.client.stats().retransmitted_packets + pair.server.stats().retransmitted_packets, 0);
    }
}

#[test]
fn what_does_not_fit_into_the_syn_follows_the_syn_ack() {
    let pair = run(Opening::Fast, cc::CUBIC, 5000, &Misfortunes::default());
    let data = pair.seen.iter().filter(|s| s.by_client()).filter_map(|s| match &s.packet.body {
        Body::Tcp(s) if s.len > 0 => Some((s.seq, s.len)),
        _ => None,
    });
    let data: Vec<_> = data.collect();
    // 1500 bytes without 40 of headers and 40 for the longest options, then full segments with timestamps.
    assert_eq!(data, [(0, 1420), (1420, 1448), (2868, 1448), (4316, 684)]);
}

/// A client that has said 500 bytes in its SYN hears of the SYN alone: they go again at once, and RTT and window are as of a
/// new connection.
#[test]
fn data_that_the_syn_ack_does_not_acknowledge_go_again_at_once() {
    let mut config = trace::config(Role::Client);
    config.fast_open = true;
    let mut client = Bench::new(config);
    client.write(500).connect();
    assert_trace!(client, ["0 S"]);
    client.at(100.0).receive(Kind::SynAck, |s| s.ack = 0);
    assert_trace!(client, ["100 ack 0", "100 0..500"]);
    assert_eq!(client.events, [Event::Connected]);
    assert_eq!(client.connection.stats().min_rtt, Some(Span::from_millis(100)));
    assert_eq!(client.connection.stats().retransmitted_packets, 1);
}

#[test]
fn a_server_answers_before_the_handshake_is_over_and_repeats_only_its_syn_ack() {
    let mut config = trace::config(Role::Server);
    config.fast_open = true;
    let mut server = Bench::new(config);
    server.receive(Kind::Syn, |s| s.len = 300);
    assert_eq!(server.events[0], Event::Connected);
    assert_eq!(server.read(), 300);
    server.write(1500);
    let trace = server.trace();
    assert_eq!(trace, ["0 S.", "0 0..1000", "0 1000..1500"]);
    // Nobody answers: only the SYN-ACK is sent again, until it is given up.
    server.at(10_000.0);
    assert_trace!(server, ["1000 S.", "3000 S.", "7000 S."]);
    server.at(1_000_000.0);
    assert_eq!(server.events.last(), Some(&Event::Failed(CloseReason::HandshakeTimeout)));
}

#[test]
fn every_segment_of_the_handshake_may_be_lost_doubled_or_late() {
    for opening in BOTH {
        for event in Misfortunes::single() {
            run(opening, cc::CUBIC, 400, &event);
            run(opening, cc::BBR, 3000, &event);
        }
    }
}

#[test]
fn a_dead_path_is_given_up_with_the_right_reason() {
    for (opening, passed) in BOTH.into_iter().flat_map(|o| (0..5).map(move |n| (o, n))) {
        let mut pair = pair(opening, cc::CUBIC, 400);
        let mut sent = 0;
        pair.fortune = Some(Box::new(move |_| {
            sent += 1;
            if sent > passed { Fate::Lost } else { Fate::Passes }
        }));
        pair.run(Span::from_secs(10_000));
        let logs = [&pair.client_log, &pair.server_log];
        let failed: Vec<_> = logs.iter().filter_map(|l| l.failed).collect();
        assert!(!failed.is_empty(), "nobody gave up: {opening:?} after {passed}");
        for (log, connected) in logs.iter().zip([pair.client.stats().connected_at, pair.server.stats().connected_at]) {
            let expected = [CloseReason::HandshakeTimeout, CloseReason::RetransmissionTimeout];
            let Some(why) = log.failed else { continue };
            assert_eq!(why, expected[usize::from(connected.is_some())], "{opening:?} after {passed}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_impairments_at_once_are_survived(
        opening in prop::sample::select(&BOTH), request in 1u64..5000, bbr in any::<bool>(),
        events in Misfortunes::several(),
    ) {
        run(opening, if bbr { cc::BBR } else { cc::CUBIC }, request, &events);
    }
}
