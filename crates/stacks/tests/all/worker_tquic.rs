//! tquic in its worker program, over one path and over two: `make test-worker-tquic` builds the program and runs these.

use crate::ends;

use ends::common::{Exchange, Pair};
use ends::{Both, Dyn, link};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::rng::Streams;
use haltere_net::{PathId, Span, Time};
use haltere_stacks::{AddressPair, Config, Congestion, Handles, TQUIC, Worker};
use haltere_transport::path::PathError;
use haltere_transport::{Body, CloseReason, Endpoint, Role};
use std::hash::{DefaultHasher, Hash, Hasher};

const OWN: [&str; 4] = ["cubic", "bbr", "bbr3", "copa"];
const SCHEDULERS: [&str; 3] = ["lowest-rtt", "round-robin", "redundant"];

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// Two ends with one path, or with two and a scheduler; the first wire takes the first path.
fn pair(
    own: &'static str,
    scheduler: Option<&'static str>,
    wires: &[LinkConfig],
    of: &[(u64, u64)],
    seed: u64,
) -> Both {
    let worker = Worker::default();
    let end = |role| {
        let name = if role == Role::Client { "client" } else { "server" };
        let dice = Streams::new(seed, 0).named(name);
        let config = Config {
            addresses: (0..wires.len()).map(|k| AddressPair::of_path(role, PathId(k as u8))).collect(),
            multipath: wires.len() > 1,
            scheduler,
            ..Config::new(role, TQUIC, Congestion::Own(own))
        };
        let handles = Handles { worker: worker.clone(), ..Handles::new(dice) };
        Dyn(haltere_stacks::endpoint(config, handles).unwrap())
    };
    let exchange = Exchange { streams: of.to_vec() };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &wires[0], &wires[0], seed, exchange);
    for wire in &wires[1..] {
        pair = pair.and_path(wire, wire, seed + 1);
    }
    pair.keep = true;
    pair
}

fn add(pair: &mut Both) -> Result<(), PathError> {
    pair.client_does(|client, cx| client.add_path(PathId(1), cx))
}

/// Opens the second path at 100 ms, if there is one, and runs to the end; seconds until the last byte was read.
fn finish(mut pair: Both) -> (f64, Both) {
    pair.run(millis(100));
    if !pair.more.is_empty() {
        add(&mut pair).unwrap();
    }
    assert!(pair.go_on(Span::from_secs(300)), "still going");
    pair.assert_exchanged();
    (pair.client_log.streams[0].3.unwrap().as_secs_f64(), pair)
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-tquic")]
fn a_megabyte_and_twenty_arrive_with_every_congestion_control() {
    for own in OWN {
        let (took, _) = finish(pair(own, None, &[link(100, millis(10), 250_000)], &[(100, 1_000_000)], 1));
        // The object alone takes 80 ms on the wire, handshake and request two round trips of 20 ms; slow start the rest.
        assert!((0.12..0.5).contains(&took), "{own:?}: {took} s");
        let (took, _) = finish(pair(own, None, &[link(50, millis(10), 250_000)], &[(100, 20_000_000)], 1));
        // 3.2 s of payload; headers take 4 % more.
        assert!((3.3..5.0).contains(&took), "{own:?}: {took} s");
    }
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-tquic")]
fn every_scheduler_uses_both_paths() {
    let wires = [link(10, millis(10), 50_000), link(10, millis(30), 75_000)];
    for scheduler in SCHEDULERS {
        let (took, pair) = finish(pair("cubic", Some(scheduler), &wires, &[(200, 5_000_000)], 1));
        let shares = [pair.down.counters().delivered_bytes, pair.more[0][1].counters().delivered_bytes];
        assert!(shares.iter().all(|bytes| *bytes > 1_000_000), "{scheduler}: {shares:?}");
        // One path alone needs 4.1 s; what is sent twice needs as long.
        let bounds = if scheduler == "redundant" { 3.5..5.5 } else { 2.0..3.7 };
        assert!(bounds.contains(&took), "{scheduler}: {took} s, {shares:?}");
        let windows = [0, 1].map(|k| pair.server.0.bytes_in_flight(PathId(k)));
        assert_eq!(windows, [0, 0], "tquic does not tell what is in flight");
    }
}

/// Two hashes over all datagrams of a run: of their times, paths and lengths, of their bytes; and how often ends were woken.
fn hashes(own: &'static str, scheduler: &'static str, seed: u64) -> (u64, u64) {
    let lossy = |delay| LinkConfig { loss: LossModel::Uniform { p: 0.01 }, ..link(20, millis(delay), 100_000) };
    let of = [(2_000, 400_000), (100, 1_000_000)];
    let (_, pair) = finish(pair(own, Some(scheduler), &[lossy(15), lossy(30)], &of, seed));
    let (mut shape, mut content) = (DefaultHasher::new(), DefaultHasher::new());
    for seen in &pair.seen {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram of a stack") };
        (seen.at, seen.by_client(), seen.packet.path, bytes.len()).hash(&mut shape);
        bytes.hash(&mut content);
    }
    (shape.finish(), content.finish())
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-tquic")]
fn times_lengths_and_bytes_repeat_and_depend_on_the_seed() {
    for own in OWN {
        for scheduler in SCHEDULERS {
            let first = hashes(own, scheduler, 1);
            assert_eq!(first, hashes(own, scheduler, 1), "{own:?} {scheduler}");
            let other = hashes(own, scheduler, 2);
            assert!(first.0 != other.0 && first.1 != other.1, "{own:?} {scheduler}");
        }
    }
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-tquic")]
fn ends_are_woken_for_their_timers_alone() {
    for wires in [vec![link(10, millis(10), 50_000)], vec![link(10, millis(10), 50_000), link(10, millis(30), 75_000)]]
    {
        let (_, pair) = finish(pair("cubic", None, &wires, &[(200, 5_000_000)], 1));
        // tquic's pacer lets a burst go each millisecond or less often. Timers that were not reset would fire at every
        // nanosecond.
        assert!(pair.wakes < 3 * pair.seen.len() as u64, "{} for {} datagrams", pair.wakes, pair.seen.len());
    }
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-tquic")]
fn what_is_never_answered_gives_up() {
    let wire = LinkConfig { delay: millis(25), ..LinkConfig::default() };
    let mut alone = pair("cubic", None, std::slice::from_ref(&wire), &[(400, 20_000)], 1);
    alone.censor = Some(Box::new(|_| true));
    assert!(alone.run(Span::from_secs(300)));
    assert_eq!(alone.client_log.failed, Some(CloseReason::HandshakeTimeout));
    let mut cut = pair("cubic", None, std::slice::from_ref(&wire), &[(400, 5_000_000)], 1);
    cut.censor = Some(Box::new(|seen| seen.at > Time::ZERO + millis(110)));
    assert!(cut.run(Span::from_secs(300)));
    assert_eq!([cut.client_log.failed, cut.server_log.failed], [Some(CloseReason::IdleTimeout); 2]);
}

#[test]
#[cfg_attr(not(feature = "worker"), ignore = "needs a worker program: make test-worker-tquic")]
fn what_was_counted_can_be_so() {
    let lossy = LinkConfig { loss: LossModel::Uniform { p: 0.01 }, ..link(50, millis(10), 250_000) };
    let (_, pair) = finish(pair("cubic", None, &[lossy], &[(100, 3_000_000)], 1));
    let server = pair.server.stats();
    let dropped = pair.down.counters().dropped();
    assert!(server.lost_packets >= dropped / 2 && server.lost_packets <= dropped + 200, "{server:?} {dropped}");
    assert!(server.min_rtt.unwrap() >= millis(20), "{server:?}");
    assert!(server.mean_rtt().unwrap() < millis(200), "{server:?}");
    assert!(server.sent_packets >= 3_000_000 / 1472 && server.connected_at.is_some());
    let one = pair.server.0.paths();
    assert_eq!(one, 1);
}
