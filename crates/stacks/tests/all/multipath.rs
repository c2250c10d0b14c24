//! Several paths at the same time, where a stack has them.

use crate::ends;

use ends::common::{Exchange, Pair};
use ends::{Both, Dyn, link};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::rng::Streams;
use haltere_net::{PathId, Span, Time};
use haltere_stacks::{AddressPair, Cipher, Config, Congestion, Handles, NOQ, QUINN};
use haltere_transport::cc::{self, RenoFriendly};
use haltere_transport::path::PathError;
use haltere_transport::{Endpoint, Role};

const ANSWER: u64 = 5_000_000;
const OWN: Congestion = Congestion::Own("cubic");

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// An end with the addresses of two paths.
fn end(config: Config, seed: u64) -> Dyn {
    let role = config.role;
    let addresses = (0..2).map(|k| AddressPair::of_path(role, PathId(k))).collect();
    let config = Config { addresses, ..config };
    let name = if role == Role::Client { "client" } else { "server" };
    Dyn(haltere_stacks::endpoint(config, Handles::new(Streams::new(seed, 0).named(name))).unwrap())
}

/// An end of noq that may use several paths, without encryption.
fn multipath(role: Role, congestion: Congestion) -> Config {
    Config { cipher: Cipher::Null, multipath: true, ..Config::new(role, NOQ, congestion) }
}

/// Two ends of noq with two pipes of 10 Mbit/s, of 20 and of 60 ms a round trip.
fn pair(congestion: Congestion, cipher: Cipher) -> Both {
    let [client, server] =
        [Role::Client, Role::Server].map(|role| end(Config { cipher, ..multipath(role, congestion) }, 1));
    let (first, second) = (link(10, millis(10), 50_000), link(10, millis(30), 75_000));
    let exchange = Exchange { streams: vec![(200, ANSWER)] };
    let mut pair = Pair::new(client, server, &first, &first, 1, exchange).and_path(&second, &second, 1);
    pair.keep = true;
    pair
}

fn add(pair: &mut Both, path: u8) -> Result<(), PathError> {
    pair.client_does(|client, cx| client.add_path(PathId(path), cx))
}

/// Opens the second path at 100 ms and runs to the end.
fn finish(pair: &mut Both) {
    pair.run(millis(100));
    add(pair, 1).unwrap();
    assert!(pair.go_on(Span::from_secs(60)));
    pair.assert_exchanged();
}

/// When the last byte of the answer was read, seconds.
fn seconds(pair: &Both) -> f64 {
    pair.client_log.streams[0].3.unwrap().as_secs_f64()
}

/// Bytes that came down each of the two pipes.
fn shares(pair: &Both) -> [u64; 2] {
    [pair.down.counters().delivered_bytes, pair.more[0][1].counters().delivered_bytes]
}

#[test]
fn both_paths_carry_data_with_every_kind_of_congestion_control() {
    let ours =
        [cc::CUBIC, cc::BBR3, cc::OLIA].map(|algorithm| Congestion::Ours(algorithm, None, RenoFriendly::default()));
    for congestion in ours.into_iter().chain([OWN, Congestion::Own("newreno")]) {
        let mut pair = pair(congestion, Cipher::Null);
        finish(&mut pair);
        let (took, shares) = (seconds(&pair), shares(&pair));
        // One path alone needs 4.1 s.
        assert!(took > 2.0 && took < 3.3, "{congestion:?}: {took} s");
        assert!(shares.iter().all(|bytes| *bytes > ANSWER / 4), "{congestion:?}: {shares:?}");
    }
}

#[test]
fn coupled_algorithms_see_the_other_path() {
    let took = |algorithm| {
        let congestion = Congestion::Ours(algorithm, None, RenoFriendly::default());
        let [client, server] = [Role::Client, Role::Server].map(|role| end(multipath(role, congestion), 1));
        let lossy = LinkConfig { loss: LossModel::Uniform { p: 0.01 }, ..link(100, millis(10), 1_000_000) };
        let exchange = Exchange { streams: vec![(200, 4 * ANSWER)] };
        let mut pair = Pair::new(client, server, &lossy, &lossy, 1, exchange).and_path(&lossy, &lossy, 2);
        finish(&mut pair);
        seconds(&pair)
    };
    let (reno, lia) = (took(cc::NEWRENO), took(cc::LIA));
    // By RFC 6356 both paths together are to get what Reno gets on one of them.
    assert!(lia > 1.3 * reno, "{lia} s with LIA, {reno} s with NewReno on each path");
}

#[test]
fn a_path_carries_data_only_once_it_is_validated() {
    let mut pair = pair(OWN, Cipher::Null);
    finish(&mut pair);
    let on_second = |from_client: bool| {
        pair.seen.iter().filter(move |s| s.by_client() == from_client && s.packet.path == PathId(1))
    };
    let (asked, answered) = (on_second(true).next().unwrap().at, on_second(false).next().unwrap().at);
    assert_eq!(asked, Time::ZERO + millis(100), "the client opens the path at once");
    // Nothing goes down the second path before the client's challenge has come up, and no more than three times as much as
    // has come before the client has answered the server's own challenge (RFC 9000 section 8.1), a round trip later.
    assert!(answered > asked + millis(30), "{answered}");
    let validated = answered + millis(60);
    let sum =
        |packets: &mut dyn Iterator<Item = &ends::common::Seen>| packets.map(|s| u64::from(s.packet.len)).sum::<u64>();
    let down = sum(&mut on_second(false).filter(|s| s.at < validated));
    let up = sum(&mut on_second(true).filter(|s| s.at + millis(30) < validated));
    assert!(down > 0 && down <= 3 * up, "{down} bytes down, {up} up");
}

#[test]
fn times_and_lengths_are_the_same_under_both_ciphers_and_in_every_run() {
    let trace = |cipher| {
        let mut pair = pair(OWN, cipher);
        finish(&mut pair);
        let sent = pair.seen.iter().map(|s| (s.at, s.by_client(), s.packet.path, s.packet.len));
        sent.collect::<Vec<_>>()
    };
    let first = trace(Cipher::Null);
    assert!(first.len() > 4000);
    assert!(first == trace(Cipher::Null), "two runs with the null cipher differ");
    assert!(first == trace(Cipher::Tls), "a run with TLS differs from one with the null cipher");
}

#[test]
fn an_abandoned_path_carries_no_more_data() {
    let mut pair = pair(OWN, Cipher::Null);
    pair.run(millis(100));
    add(&mut pair, 1).unwrap();
    pair.go_on(millis(1000));
    pair.client_does(|client, cx| client.abandon_path(PathId(1), cx)).unwrap();
    assert!(pair.go_on(Span::from_secs(60)));
    pair.assert_exchanged();
    let late = pair.seen.iter().filter(|s| s.packet.path == PathId(1) && s.at > Time::ZERO + millis(1200)).count();
    let before = pair.seen.iter().filter(|s| s.packet.path == PathId(1)).count() - late;
    assert!(before > 500 && late < 10, "{before} and {late} packets");
}

#[test]
fn paths_that_cannot_be_are_refused_with_the_reason() {
    let noq = |multipath| end(Config { multipath, cipher: Cipher::Null, ..Config::new(Role::Client, NOQ, OWN) }, 1);
    let server =
        |stack, multipath| end(Config { multipath, cipher: Cipher::Null, ..Config::new(Role::Server, stack, OWN) }, 1);
    let wire = link(10, millis(10), 50_000);
    let add_to = |client: Dyn, server: Dyn, path: u8| {
        let mut pair = Pair::new(client, server, &wire, &wire, 1, Exchange { streams: vec![(200, 1_000_000)] });
        pair = pair.and_path(&wire, &wire, 1);
        let before = add(&mut pair, path);
        pair.run(millis(200));
        (before, add(&mut pair, path))
    };
    let early = Err(PathError::NotNegotiated);
    assert_eq!(add_to(noq(true), server(NOQ, true), 1), (early, Ok(())));
    assert_eq!(add_to(noq(true), server(NOQ, false), 1), (early, early), "the peer allows one path");
    assert_eq!(add_to(noq(true), server(NOQ, true), 2).1, Err(PathError::TooMany));
    let quinn = end(Config { cipher: Cipher::Null, ..Config::new(Role::Client, QUINN, OWN) }, 1);
    assert_eq!(add_to(quinn, server(QUINN, false), 1).1, Err(PathError::SinglePath));
}

#[test]
fn noq_loses_packets_of_other_paths_when_it_updates_keys() {
    // `packet_crypto.rs`, `decrypt_packet_body`: whether a packet may still have the old keys is told by its number, and the
    // numbers of one path say nothing of those of another. What is in flight on another path is then dropped as damaged. When
    // this fails, the stack was mended: docs/reference/stacks.md must say so.
    let damaged = |second: u64, seed: u64| {
        let [client, server] =
            [Role::Client, Role::Server].map(|role| end(Config { cipher: Cipher::Tls, ..multipath(role, OWN) }, seed));
        let (first, second) = (link(10, millis(10), 50_000), link(second, millis(30), 500_000));
        let exchange = Exchange { streams: vec![(200, ANSWER)] };
        let mut pair = Pair::new(client, server, &first, &first, 1, exchange).and_path(&second, &second, 1);
        finish(&mut pair);
        [&pair.client, &pair.server].iter().map(|end| end.stats().invalid_packets).sum::<u64>()
    };
    // The keys are first updated after 10 to 1000 packets. Packets on the slow way have the higher numbers only where it is
    // the one with the higher rate.
    let of = |rate: u64| (1..=10).map(|seed| damaged(rate, seed)).sum::<u64>();
    let (fast, slow) = (of(50), of(1));
    assert!(fast > 50, "{fast} packets were dropped");
    assert_eq!(slow, 0);
}
