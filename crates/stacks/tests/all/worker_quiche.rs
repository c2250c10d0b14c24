//! A stack in a worker program: `make test-worker-quiche` builds the program and runs these.

use crate::ends;

use ends::common::{Exchange, Pair};
use ends::{Both, Dyn, link};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_stacks::{Config, Congestion, Handles, QUICHE, Windows, Worker};
use haltere_transport::{Body, CloseReason, Endpoint, Role};
use std::hash::{DefaultHasher, Hash, Hasher};

const DELAY: Span = Span::from_millis(10);
const OWN: [&str; 3] = ["cubic", "newreno", "bbr2"];

fn pair(
    own: &'static str,
    windows: Windows,
    (up, down): (&LinkConfig, &LinkConfig),
    of: &[(u64, u64)],
    seed: u64,
) -> Both {
    let worker = Worker::default();
    let end = |role| {
        let name = if role == Role::Client { "client" } else { "server" };
        let dice = Streams::new(seed, 0).named(name);
        let config = Config { windows, ..Config::new(role, QUICHE, Congestion::Own(own)) };
        let handles = Handles { worker: worker.clone(), ..Handles::new(dice) };
        Dyn(haltere_stacks::endpoint(config, handles).unwrap())
    };
    Pair::new(end(Role::Client), end(Role::Server), up, down, seed, Exchange { streams: of.to_vec() })
}

fn wide(own: &'static str, wire: &LinkConfig, of: &[(u64, u64)]) -> Both {
    pair(own, Windows::Wide, (wire, wire), of, 1)
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn a_megabyte_and_twenty_arrive_with_every_congestion_control() {
    for own in OWN {
        let mut small = wide(own, &link(100, DELAY, 250_000), &[(100, 1_000_000)]);
        assert!(small.run(Span::from_secs(120)), "{own:?}");
        small.assert_complete();
        let done = small.client_log.streams[0].3.unwrap().as_secs_f64();
        // The object alone takes 80 ms on the wire, handshake and request two round trips of 20 ms; slow start the rest.
        assert!((0.12..0.5).contains(&done), "{own:?}: {done} s");

        let mut large = wide(own, &link(50, DELAY, 250_000), &[(100, 20_000_000)]);
        assert!(large.run(Span::from_secs(120)), "{own:?}");
        large.assert_complete();
        let done = large.client_log.streams[0].3.unwrap().as_secs_f64();
        // 3.2 s of payload; headers take 4 % more.
        assert!((3.3..4.5).contains(&done), "{own:?}: {done} s");
    }
}

/// Two hashes over all datagrams of a run: of their times and lengths, of their bytes.
fn hashes(own: &'static str, seed: u64) -> (u64, u64) {
    let (up, mut down) = (link(20, Span::from_millis(15), 100_000), link(20, Span::from_millis(15), 100_000));
    down.loss = haltere_net::loss::LossModel::Uniform { p: 0.01 };
    down.duplication = 0.01;
    let mut pair = pair(own, Windows::Wide, (&up, &down), &[(2_000, 400_000), (100, 1_000_000)], seed);
    pair.keep = true;
    assert!(pair.run(Span::from_secs(300)));
    pair.assert_complete();
    let (mut shape, mut content) = (DefaultHasher::new(), DefaultHasher::new());
    for seen in &pair.seen {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram of a stack") };
        (seen.at, seen.by_client(), bytes.len(), seen.packet.ecn as u8).hash(&mut shape);
        bytes.hash(&mut content);
    }
    (shape.finish(), content.finish())
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn times_lengths_and_bytes_repeat_and_depend_on_the_seed() {
    for own in OWN {
        let first = hashes(own, 1);
        assert_eq!(first, hashes(own, 1), "{own:?}");
        let other = hashes(own, 2);
        assert!(first.0 != other.0 && first.1 != other.1, "{own:?}");
    }
}

/// Runs with certain datagrams lost, counted from 1 in each direction, and checks the anti-amplification limit.
fn losing(up: &[u64], down: &[u64]) -> Both {
    let wire = LinkConfig { delay: Span::from_millis(25), ..LinkConfig::default() };
    let mut pair = wide("cubic", &wire, &[(400, 20_000)]);
    let (mut sent, lost) = ([0, 0], [up.to_vec(), down.to_vec()]);
    let (mut heard, mut told, mut validated) = (0u64, 0u64, false);
    pair.censor = Some(Box::new(move |seen| {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram") };
        let direction = usize::from(!seen.by_client());
        sent[direction] += 1;
        let dropped = lost[direction].contains(&sent[direction]);
        if seen.by_client() && !dropped {
            heard += bytes.len() as u64;
            // Not an Initial packet (RFC 9000 section 17.2): a Handshake packet validates the address (section 8.1).
            validated |= bytes[0] & 0xb0 != 0x80 || sent[0] > 1;
        } else if !seen.by_client() && !validated {
            told += bytes.len() as u64;
            assert!(told <= 3 * heard, "{told} sent for {heard} received");
        }
        dropped
    }));
    assert!(pair.run(Span::from_secs(300)), "still going");
    pair
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn the_request_leaves_after_one_round_trip() {
    let pair = losing(&[], &[]);
    pair.assert_complete();
    assert_eq!(pair.client_log.connected_at, Some(Time::ZERO + Span::from_millis(50)));
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn the_loss_of_any_datagram_of_the_handshake_is_repaired() {
    for n in 1..=10 {
        for (up, down) in [(vec![n], vec![]), (vec![], vec![n]), (vec![n], vec![n]), (vec![n, n + 1], vec![n])] {
            losing(&up, &down).assert_exchanged();
        }
    }
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn what_is_never_answered_gives_up() {
    let all: Vec<u64> = (1..1000).collect();
    let alone = losing(&all, &[]);
    assert_eq!(alone.client_log.failed, Some(CloseReason::HandshakeTimeout));
    assert_eq!(alone.now, Time::ZERO + Span::from_secs(30));
    let unheard = losing(&[], &all);
    assert_eq!([unheard.client_log.failed, unheard.server_log.failed], [Some(CloseReason::HandshakeTimeout); 2]);
    let wire = LinkConfig { delay: Span::from_millis(25), ..LinkConfig::default() };
    let mut cut = wide("cubic", &wire, &[(400, 5_000_000)]);
    cut.censor = Some(Box::new(|seen| seen.at > Time::ZERO + Span::from_millis(110)));
    assert!(cut.run(Span::from_secs(300)));
    assert_eq!([cut.client_log.failed, cut.server_log.failed], [Some(CloseReason::IdleTimeout); 2]);
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-quiche")]
fn what_was_counted_can_be_so() {
    let (up, mut down) = (link(50, DELAY, 250_000), link(50, DELAY, 250_000));
    down.loss = haltere_net::loss::LossModel::Uniform { p: 0.01 };
    let mut pair = pair("cubic", Windows::Stock, (&up, &down), &[(100, 3_000_000)], 1);
    assert!(pair.run(Span::from_secs(300)));
    pair.assert_complete();
    let (client, server) = (pair.client.stats(), pair.server.stats());
    let dropped = pair.down.counters().dropped();
    assert!(server.lost_packets >= dropped / 2 && server.lost_packets <= dropped + 200, "{server:?} {dropped}");
    // What comes after the end of a connection is nothing to it.
    assert_eq!(client.received_packets + client.invalid_packets + dropped, server.sent_all);
    assert!(client.invalid_packets <= 1, "{client:?}");
    assert!(server.min_rtt.unwrap() >= Span::from_millis(20), "{server:?}");
    assert!(server.mean_rtt().unwrap() < Span::from_millis(200), "{server:?}");
    assert!(server.sent_packets >= 3_000_000 / 1472 && server.connected_at.is_some());
}
