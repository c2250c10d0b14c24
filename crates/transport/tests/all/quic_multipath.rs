//! Connections with several paths: data is sent on all of them, and every byte arrives once whatever happens to a path.

mod own;

use crate::common;

use common::{Exchange, Last, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::queue::Limit;
use haltere_net::rng::{Stream, Streams};
use haltere_net::{ComponentId, Cx, Metric, Packet, PathId, Rate, Span, Time};
use haltere_transport::cc::{self, Ack, Congestion, CongestionController};
use haltere_transport::path::{PathError, PathState, PathView};
use haltere_transport::quic::{Config, Connection, Design, Few, Frame, IdFrame, Parts, PathAcks, SpaceId};
use haltere_transport::scheduler::{self, Demand, PathScheduler, PathSet, Pick, Scheduler};
use haltere_transport::{Body, Endpoint, Role, quic, tcp};
use proptest::prelude::*;
use std::sync::{Arc, Mutex};

const ANSWER: u64 = 5_000_000;

/// A scheduler as a connection makes it.
fn made(scheduler: Scheduler) -> Box<dyn PathScheduler> {
    scheduler.build(Streams::new(1, 0).named("scheduler"), None)
}

fn config(role: Role, max_paths: u8) -> Config {
    let stream = Streams::new(9, 0).named("cc");
    Config { max_paths, ..Config::new(role, cc::CUBIC, stream) }
}

fn link(mbps: u64, ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bps(mbps * 1_000_000)),
        delay: Span::from_millis(ms),
        queue: Limit::Packets(100).into(),
        ..LinkConfig::default()
    }
}

fn one(answer: u64) -> Exchange {
    Exchange { streams: vec![(200, answer)] }
}

/// Two ends that allow `max_paths`, with two pipes of 10 Mbit/s, of 20 and of 40 ms a round trip.
fn two_pipes(server: Connection, max_paths: u8) -> Pair<Connection, Connection> {
    let client = Connection::new(config(Role::Client, max_paths));
    let (first, second) = (link(10, 10), link(10, 20));
    Pair::new(client, server, &first, &first, 4, one(ANSWER)).and_path(&second, &second, 5)
}

fn pair() -> Pair<Connection, Connection> {
    two_pipes(Connection::new(config(Role::Server, 2)), 2)
}

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn add(pair: &mut Pair<Connection, Connection>, path: u8) -> Result<(), PathError> {
    pair.client_does(|client, cx| client.add_path(PathId(path), cx))
}

/// When the last byte of the answer was read, seconds.
fn seconds(pair: &Pair<Connection, Connection>) -> f64 {
    pair.client_log.streams[0].3.unwrap().as_secs_f64()
}

/// Bytes that came down each of the two pipes.
fn shares(pair: &Pair<Connection, Connection>) -> [u64; 2] {
    [pair.down.counters().delivered_bytes, pair.more[0][1].counters().delivered_bytes]
}

fn finish(pair: &mut Pair<Connection, Connection>) {
    assert!(pair.go_on(Span::from_secs(200)), "not over at {}", pair.now);
    pair.assert_complete();
}

/// Drops everything on a path from `since` on.
fn cut(pair: &mut Pair<Connection, Connection>, path: u8, since: Span) {
    pair.censor = Some(Box::new(move |seen| seen.packet.path == PathId(path) && seen.at >= Time::ZERO + since));
}

#[test]
fn two_paths_carry_a_transfer_in_little_more_than_half_the_time() {
    let mut single = pair();
    single.run(millis(500));
    finish(&mut single);
    let mut both = pair();
    both.keep = true;
    both.run(millis(500));
    add(&mut both, 1).unwrap();
    finish(&mut both);
    assert_eq!(shares(&single)[1], 0);
    let [first, second] = shares(&both);
    assert!(second * 3 > first && first * 3 > second, "{first} and {second} bytes");
    assert!(seconds(&both) < 0.5 + (seconds(&single) - 0.5) * 0.65, "{} of {}", seconds(&both), seconds(&single));
    // Path 1 is validated first, carries 1-RTT packets alone and has numbers of its own.
    let datagrams = both.seen.iter().filter(|s| s.packet.path == PathId(1));
    let packets: Vec<_> = datagrams
        .map(|s| {
            let Body::Quic(datagram) = &s.packet.body else { panic!("not QUIC") };
            (s.by_client(), s.packet.len, datagram.packets.iter().next().unwrap())
        })
        .collect();
    assert!(packets.iter().all(|(_, _, p)| p.space == SpaceId::Data));
    let challenge = |p: &quic::QuicPacket| p.frames.iter().any(|f| matches!(f, Frame::PathChallenge(_)));
    let response = |p: &quic::QuicPacket| p.frames.iter().any(|f| matches!(f, Frame::PathResponse(_)));
    assert!(packets[0].0 && packets[0].1 >= 1200 && challenge(packets[0].2) && packets[0].2.number == 0);
    assert!(!packets[1].0 && packets[1].1 >= 1200 && challenge(packets[1].2) && response(packets[1].2));
    let stream = |p: &quic::QuicPacket| p.frames.iter().any(|f| matches!(f, Frame::Stream { .. }));
    let answered = packets.iter().position(|(from_client, _, p)| *from_client && response(p)).unwrap();
    let first_data = packets.iter().position(|(from_client, _, p)| !from_client && stream(p)).unwrap();
    assert!(first_data > answered, "the server sends data before it knows the address");
    let path_ack =
        |p: &quic::QuicPacket| p.frames.iter().any(|f| matches!(f, Frame::PathAck(a) if a.path == PathId(1)));
    assert!(packets.iter().any(|(from_client, _, p)| *from_client && path_ack(p)));
}

#[test]
fn acknowledgements_can_all_take_the_first_path() {
    let run = |path_acks| {
        let end = |role| Connection::new(Config { path_acks, ..config(role, 2) });
        // The first path has a round trip of 200 ms, the second of 20 ms.
        let (first, second) = (link(10, 100), link(10, 10));
        let mut pair = Pair::new(end(Role::Client), end(Role::Server), &first, &first, 4, one(ANSWER))
            .and_path(&second, &second, 5);
        pair.keep = true;
        pair.run(millis(500));
        add(&mut pair, 1).unwrap();
        finish(&mut pair);
        let acks = |path: u8| {
            let of = pair.seen.iter().filter(move |s| s.by_client() && s.packet.path == PathId(path));
            let acknowledges = |s: &&common::Seen| {
                let Body::Quic(datagram) = &s.packet.body else { panic!("not QUIC") };
                let mut frames = datagram.packets.iter().flat_map(|p| p.frames.iter());
                frames.any(|f| matches!(f, Frame::PathAck(a) if a.path == PathId(1)))
            };
            of.filter(acknowledges).count()
        };
        let rtt = pair.server.path_view(PathId(1)).unwrap().min_rtt.unwrap();
        ([acks(0), acks(1)], rtt)
    };
    let (own, lowest) = (run(PathAcks::Own), run(PathAcks::Lowest));
    assert!(own.0[0] == 0 && own.0[1] > 100 && own.1 < millis(25), "{own:?}");
    // There on the second path, back on the first: 10 + 100 ms.
    assert!(lowest.0[0] > 100 && lowest.0[1] == 0 && lowest.1 > millis(105), "{lowest:?}");
}

#[test]
fn acknowledgements_take_another_path_once_the_first_is_abandoned() {
    let end = |role| Connection::new(Config { path_acks: PathAcks::Lowest, ..config(role, 2) });
    let (first, second) = (link(10, 10), link(10, 20));
    let mut pair =
        Pair::new(end(Role::Client), end(Role::Server), &first, &first, 4, one(ANSWER)).and_path(&second, &second, 5);
    pair.run(millis(300));
    add(&mut pair, 1).unwrap();
    pair.go_on(millis(1500));
    pair.client_does(|client, cx| client.abandon_path(PathId(0), cx)).unwrap();
    finish(&mut pair);
    assert!(seconds(&pair) < 5.0, "{} s", seconds(&pair));
}

#[test]
fn pacing_does_not_keep_the_windows_of_two_paths_from_growing() {
    let took = |paths: u8| {
        let (a, b) = (link(50, 50), link(50, 50));
        let client = Connection::new(config(Role::Client, 2));
        let server = Connection::new(config(Role::Server, 2));
        let mut pair = Pair::new(client, server, &a, &a, 4, one(1_000_000)).and_path(&b, &b, 5);
        pair.run(millis(250));
        if paths == 2 {
            add(&mut pair, 1).unwrap();
        }
        finish(&mut pair);
        seconds(&pair)
    };
    let (one_path, two_paths) = (took(1), took(2));
    assert!(two_paths < one_path, "{two_paths} s on two paths, {one_path} s on one");
}

#[test]
fn what_was_in_flight_on_a_path_that_dies_is_sent_again_on_the_other() {
    for dead in [0, 1] {
        let mut pair = pair();
        pair.run(millis(300));
        add(&mut pair, 1).unwrap();
        cut(&mut pair, dead, millis(1500));
        pair.go_on(millis(1500));
        let before = pair.client_log.bytes();
        assert!(before > 500_000 && before < ANSWER * 3 / 4, "{before} bytes");
        finish(&mut pair);
        // The rest at 10 Mbit/s, and a few timeouts.
        assert!(seconds(&pair) < 6.5, "path {dead} died: {} s", seconds(&pair));
        let state = pair.server.path_view(PathId(dead)).unwrap().state;
        assert_eq!(state, PathState::Suspect, "path {dead}");
    }
}

#[test]
fn a_path_that_answers_again_carries_data_again() {
    let mut pair = pair();
    pair.run(millis(300));
    add(&mut pair, 1).unwrap();
    let dark = |at: Time| at >= Time::ZERO + millis(800) && at < Time::ZERO + millis(1500);
    pair.censor = Some(Box::new(move |seen| seen.packet.path == PathId(1) && dark(seen.at)));
    pair.go_on(millis(1500));
    let before = shares(&pair)[1];
    assert_eq!(pair.server.path_view(PathId(1)).unwrap().state, PathState::Suspect);
    finish(&mut pair);
    assert!(shares(&pair)[1] > before + 200_000, "{} after {before}", shares(&pair)[1]);
}

#[test]
fn an_abandoned_path_carries_nothing_more_and_loses_nothing() {
    for given_up in [0, 1] {
        let mut pair = pair();
        pair.run(millis(300));
        add(&mut pair, 1).unwrap();
        pair.go_on(millis(1200));
        pair.client_does(|client, cx| client.abandon_path(PathId(given_up), cx)).unwrap();
        pair.keep = true;
        finish(&mut pair);
        // PATH_ABANDON arrives within a queue and a trip; what was sent before it was heard of is no part of the connection.
        let late = Time::ZERO + millis(1500);
        assert!(pair.seen.iter().any(|s| s.at > late));
        assert!(!pair.seen.iter().any(|s| s.at > late && s.packet.path == PathId(given_up)), "path {given_up}");
        assert_eq!(pair.server.path_view(PathId(given_up)).unwrap().state, PathState::Abandoned);
        assert_eq!(pair.server.bytes_in_flight(PathId(given_up)), 0);
    }
}

#[test]
fn a_path_whose_peer_never_answers_is_given_up() {
    let mut pair = pair();
    cut(&mut pair, 1, Span::ZERO);
    pair.run(millis(300));
    add(&mut pair, 1).unwrap();
    finish(&mut pair);
    assert_eq!((shares(&pair)[1], pair.client.path_view(PathId(1)).unwrap().in_flight), (0, 0));
    let mut idle = two_pipes(Connection::new(config(Role::Server, 2)), 2);
    idle.close = false;
    cut(&mut idle, 1, Span::ZERO);
    idle.run(millis(300));
    add(&mut idle, 1).unwrap();
    idle.go_on(Span::from_secs(29));
    assert_eq!(idle.client.path_view(PathId(1)).unwrap().state, PathState::Abandoned);
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let mut single = two_pipes(Connection::new(config(Role::Server, 1)), 1);
    assert_eq!(add(&mut single, 1), Err(PathError::SinglePath));
    let mut unwilling = two_pipes(Connection::new(config(Role::Server, 1)), 2);
    unwilling.run(millis(500));
    assert_eq!(add(&mut unwilling, 1), Err(PathError::NotNegotiated));
    let mut pair = pair();
    assert_eq!(add(&mut pair, 1), Err(PathError::NotNegotiated), "before the handshake");
    pair.run(millis(500));
    assert_eq!((add(&mut pair, 0), add(&mut pair, 2)), (Err(PathError::Taken), Err(PathError::TooMany)));
    let abandon = |pair: &mut Pair<_, _>, id| pair.client_does(|c: &mut Connection, cx| c.abandon_path(PathId(id), cx));
    assert_eq!(abandon(&mut pair, 1), Err(PathError::NoSuchPath));
    assert_eq!(abandon(&mut pair, 0), Err(PathError::LastPath));
    add(&mut pair, 1).unwrap();
    assert_eq!((add(&mut pair, 1), abandon(&mut pair, 0)), (Err(PathError::Taken), Err(PathError::LastPath)));
    pair.go_on(millis(700));
    assert_eq!((abandon(&mut pair, 0), abandon(&mut pair, 0)), (Ok(()), Err(PathError::NoSuchPath)));
    assert_eq!((pair.client.paths(), pair.client.path_view(PathId(7))), (2, None));
    finish(&mut pair);
    let mut cx = Cx::new(Time::ZERO, ComponentId(0));
    let stream = Streams::new(1, 0).named("cc");
    let mut tcp = tcp::Connection::new(tcp::Config::new(Role::Client, cc::CUBIC, stream));
    assert_eq!(tcp.add_path(PathId(1), &mut cx), Err(PathError::SinglePath));
}

#[test]
fn metrics_say_which_path_they_are_of() {
    let mut pair = pair();
    pair.probe = Some(Last::default());
    pair.run(millis(500));
    add(&mut pair, 1).unwrap();
    finish(&mut pair);
    let told = pair.probe.unwrap().1;
    for metric in [Metric::Cwnd, Metric::BytesInFlight, Metric::Rtt, Metric::DeliveryRate, Metric::PacingRate] {
        assert!(told.contains(&(PathId(0), metric)) && told.contains(&(PathId(1), metric)), "{metric:?}");
    }
}

#[test]
fn a_packet_on_a_path_that_does_not_exist_is_counted_and_dropped() {
    let mut pair = pair();
    pair.keep = true;
    pair.run(millis(500));
    let sent = pair.seen.iter().rfind(|s| s.by_client()).unwrap().packet.clone();
    let (invalid, bytes) = (pair.server.stats().invalid_packets, pair.server.stats().received_packets);
    pair.give_server(sent.with(|p| p.path = PathId(9)));
    let stats = pair.server.stats();
    assert_eq!((stats.invalid_packets, stats.received_packets), (invalid + 1, bytes));
    // Nor does a packet of the handshake open a path.
    let hello = pair.seen[0].packet.clone();
    pair.give_server(hello.with(|p| p.path = PathId(1)));
    assert_eq!((pair.server.stats().invalid_packets, pair.server.paths()), (invalid + 2, 1));
}

#[test]
fn coupled_controls_and_all_schedulers_use_both_of_two_disjoint_paths() {
    let both = |algorithm, scheduler| {
        let server = Config { algorithm, scheduler, ..config(Role::Server, 2) };
        let mut pair = two_pipes(Connection::new(server), 2);
        pair.run(millis(500));
        add(&mut pair, 1).unwrap();
        finish(&mut pair);
        (seconds(&pair), shares(&pair))
    };
    // A single path of 10 Mbit/s takes 4.1 s for 5 MB.
    for algorithm in [cc::LIA, cc::OLIA, cc::BALIA] {
        let (took, shares) = both(algorithm, scheduler::LOWEST_RTT);
        assert!(took < 3.0, "{algorithm:?}: {took} s, {shares:?}");
    }
    for &scheduler in Scheduler::ALL {
        let (took, shares) = both(cc::CUBIC, scheduler);
        // DAPS plans with the windows of the paths, of which that of the slower path does not grow if it gets little.
        let gains = ![scheduler::REDUNDANT, scheduler::DAPS].contains(&scheduler);
        assert!(took < if gains { 3.0 } else { 6.0 }, "{scheduler:?}: {took} s, {shares:?}");
        let copied = scheduler == scheduler::REDUNDANT;
        // Which path has the higher rate changes with the windows; the other has copies.
        let twice = shares.iter().sum::<u64>() > ANSWER * 3 / 2 && shares.iter().all(|&s| s > ANSWER * 4 / 10);
        assert!(!copied || twice, "all on one, and copies: {shares:?}");
    }
}

/// A fate of a path in a run.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Lives,
    Dies,
    Abandoned,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    /// Whatever happens to one of two paths, and when, every byte arrives once and in order.
    #[test]
    fn every_byte_arrives_once(
        added in 100u64..1500,
        after in 0u64..2500,
        which in 0u8..2,
        turn in prop_oneof![Just(Turn::Lives), Just(Turn::Dies), Just(Turn::Abandoned)],
        rates in (1u64..50, 1u64..50),
        delays in (1u64..80, 1u64..80),
        losses in (0.0..0.05f64, 0.0..0.05f64),
        answer in 1u64..1_500_000,
        decides in 0..=Scheduler::ALL.len(),
    ) {
        let lossy = |rate, delay, p| LinkConfig { loss: LossModel::Uniform { p }, ..link(rate, delay) };
        let (first, second) = (lossy(rates.0, delays.0, losses.0), lossy(rates.1, delays.1, losses.1));
        let scheduler = Scheduler::ALL.get(decides).map_or_else(|| Box::new(own::Turns(0)) as Box<dyn PathScheduler>, |s| made(*s));
        let server = Connection::with_parts(config(Role::Server, 2), Parts { scheduler, controllers: None });
        let client = Connection::new(config(Role::Client, 2));
        let mut pair = Pair::new(client, server, &first, &first, 4, one(answer)).and_path(&second, &second, 5);
        pair.run(millis(added));
        let valid = add(&mut pair, 1).is_ok();
        let when = added + after;
        if let Turn::Dies = turn {
            // A path may die before it is validated only if it is not the first: then nothing would be left.
            let since = if which == 0 { when + 5000 } else { when };
            cut(&mut pair, which, millis(since));
        }
        pair.go_on(millis(when));
        if let (Turn::Abandoned, true) = (turn, valid) {
            let _ = pair.client_does(|client, cx| client.abandon_path(PathId(which), cx));
        }
        prop_assert!(pair.go_on(Span::from_secs(600)), "not over");
        // A first path that dies before a second is there takes the connection with it.
        let both = valid && pair.client.paths() == 2;
        if both || !matches!((turn, which), (Turn::Dies, 0)) {
            pair.assert_exchanged();
        }
    }
}

/// Two ends of the design of 2017, whose application adds the second path when it may.
fn conext(answer: u64) -> Pair<Connection, Connection> {
    let end = |role| Connection::new(Config { design: Design::Conext2017, ..config(role, 2) });
    let (first, second) = (link(10, 10), link(10, 20));
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &first, &first, 4, one(answer));
    pair = pair.and_path(&second, &second, 5);
    pair.add_path = true;
    pair
}

fn carried(packet: &Packet<Body>) -> Vec<Frame> {
    let Body::Quic(datagram) = &packet.body else { return Vec::new() };
    datagram.packets.iter().flat_map(|p| p.frames.iter().cloned().collect::<Vec<_>>()).collect()
}

#[test]
fn in_the_design_of_2017_a_path_carries_data_at_once_and_only_copies_before_its_rtt_is_known() {
    let first_data = |mut pair: Pair<Connection, Connection>| {
        pair.keep = true;
        finish(&mut pair);
        let down = pair.seen.iter().filter(|s| !s.by_client() && s.packet.path == PathId(1));
        let data = |s: &&common::Seen| carried(&s.packet).iter().any(|f| matches!(f, Frame::Stream { .. }));
        (down.into_iter().find(data).unwrap().at, pair)
    };
    let mut draft = pair();
    draft.add_path = true;
    draft.run(Span::ZERO);
    let (late, draft) = first_data(draft);
    let mut new = conext(ANSWER);
    new.run(Span::ZERO);
    let (early, new) = first_data(new);
    // A round trip of the first path until HANDSHAKE_DONE, and one and a half of the second for the challenges, instead of half of
    // one for a PING. Copies go when the window of the first path lets a packet go.
    assert!(late > early + millis(45), "{early} and {late}");
    assert!(seconds(&new) < seconds(&draft), "{} and {} s", seconds(&new), seconds(&draft));
    // No path is validated, and every packet of application data has one byte more.
    assert!(new.seen.iter().all(|s| !carried(&s.packet).iter().any(|f| matches!(f, Frame::PathChallenge(_)))));
    for seen in &new.seen {
        let Body::Quic(datagram) = &seen.packet.body else { continue };
        assert!(datagram.packets.iter().all(|p| p.size == p.encoded_len()));
    }
    // Before the first acknowledgement can have come back on the second path, all that it carries goes on the first, too.
    let known = early + millis(40);
    let ranges = |path: u8, until: Time| {
        let on = new.seen.iter().filter(move |s| !s.by_client() && s.packet.path == PathId(path) && s.at < until);
        let streams = on.flat_map(|s| carried(&s.packet)).filter_map(|frame| match frame {
            Frame::Stream { offset, len, .. } => Some((offset, offset + u64::from(len))),
            _ => None,
        });
        streams.collect::<Vec<_>>()
    };
    let (copies, originals) = (ranges(1, known), ranges(0, known));
    assert!(copies.len() >= 5, "{copies:?}");
    let covered = |&(start, end): &(u64, u64)| originals.iter().any(|&(s, e)| s <= start && end <= e);
    assert!(copies.iter().all(covered), "{copies:?} {originals:?}");
    // From then on the second path has its share.
    let [first, second] = shares(&new);
    assert!(second * 3 > first, "{first} and {second} bytes");
}

#[test]
fn in_the_design_of_2017_updates_go_on_all_paths_and_a_failed_path_is_told() {
    let mut pair = conext(ANSWER);
    pair.keep = true;
    pair.run(millis(1000));
    let dark = pair.now;
    pair.censor = Some(Box::new(move |seen| seen.packet.path == PathId(0) && seen.at >= dark));
    finish(&mut pair);
    let sent = |path: u8, f: fn(&Frame) -> bool| {
        let on = pair.seen.iter().filter(|s| s.packet.path == PathId(path));
        on.flat_map(|s| carried(&s.packet)).filter(f).count()
    };
    assert_eq!(sent(0, |f| matches!(f, Frame::AddAddress)), 1);
    assert!(sent(1, |f| matches!(f, Frame::Paths { failed: 1, .. })) > 0);
    let updates: fn(&Frame) -> bool = |f| matches!(f, Frame::MaxData(_) | Frame::MaxStreamData { .. });
    assert!(sent(0, updates) > 0 && sent(1, updates) > 0, "{} {}", sent(0, updates), sent(1, updates));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    /// A pair in the design of 2017, where the second path is there from the end of the handshake on.
    #[test]
    fn every_byte_arrives_once_in_the_design_of_2017(
        dies in 0u64..2500,
        which in 0u8..3,
        rates in (1u64..50, 1u64..50),
        delays in (1u64..80, 1u64..80),
        losses in (0.0..0.15f64, 0.0..0.15f64),
        lowest in any::<bool>(),
        answer in 1u64..1_500_000,
        window in 30_000u64..1_000_000,
    ) {
        let lossy = |rate, delay, p| LinkConfig { loss: LossModel::Uniform { p }, ..link(rate, delay) };
        let (first, second) = (lossy(rates.0, delays.0, losses.0), lossy(rates.1, delays.1, losses.1));
        let path_acks = if lowest { PathAcks::Lowest } else { PathAcks::Own };
        let end = |role| Connection::new(Config { path_acks,
                // A path that failed is probed ever more rarely, and its answers may be lost.
                idle_timeout: Span::from_secs(600), design: Design::Conext2017, connection_window: window, ..config(role, 2) });
        let mut pair = Pair::new(end(Role::Client), end(Role::Server), &first, &first, 4, one(answer)).and_path(&second, &second, 5);
        pair.add_path = true;
        // The first path must live until the second is there.
        let since = if which == 0 { dies + 5000 } else { dies };
        // All acknowledgements go on the first path, whether it works or not.
        if which == 1 || (which == 0 && !lowest) {
            cut(&mut pair, which, millis(since));
        }
        pair.run(Span::ZERO);
        prop_assert!(pair.go_on(Span::from_secs(3000)), "not over");
        pair.assert_exchanged();
    }
}

#[test]
fn a_packet_that_abandons_its_own_path_leaves_no_acknowledgement_due() {
    let mut pair = pair();
    pair.keep = true;
    pair.run(millis(300));
    add(&mut pair, 1).unwrap();
    pair.go_on(millis(600));
    let mut packet = pair.seen.iter().rfind(|s| s.by_client() && s.packet.path == PathId(1)).unwrap().packet.clone();
    let Body::Quic(datagram) = &mut packet.body else { panic!() };
    let mut last = datagram.packets.iter().next().unwrap().clone();
    last.number += 1;
    last.frames = [Frame::Ping, Frame::PathAbandon(PathId(1))].into_iter().fold(Few::default(), |mut frames, frame| {
        frames.push(frame);
        frames
    });
    datagram.packets = Few::of(last);
    pair.give_server(packet);
    // The driver of the test asserts that nobody wants to be woken again at once.
    finish(&mut pair);
    assert_eq!(pair.server.path_view(PathId(1)).unwrap().state, PathState::Abandoned);
}

#[test]
fn a_path_waits_until_both_ends_have_issued_an_identifier_for_it() {
    let end = |role, ids| Connection::new(Config { connection_ids: Some(ids), ..config(role, 4) });
    let path = link(10, 10);
    let mut pair = Pair::new(end(Role::Client, 1), end(Role::Server, 1), &path, &path, 4, one(ANSWER));
    pair = pair.and_path(&path, &path, 5).and_path(&path, &path, 6);
    pair.keep = true;
    pair.run(millis(500));
    assert_eq!((add(&mut pair, 1), add(&mut pair, 2)), (Ok(()), Ok(())));
    assert_eq!(pair.client_does(|client, cx| client.add_path(PathId(4), cx)), Err(PathError::TooMany));
    pair.go_on(millis(1000));
    let sent = |pair: &Pair<_, _>, wanted: fn(&IdFrame) -> bool| {
        let all = pair.seen.iter().flat_map(|s: &common::Seen| carried(&s.packet));
        all.filter(|frame| matches!(frame, Frame::Identifier(id) if wanted(id))).count()
    };
    let ids: fn(&IdFrame) -> bool = |id| matches!(id, IdFrame::PathNew(..));
    // Of each end one that is spare for the first path, and two for the second.
    assert_eq!((sent(&pair, ids), sent(&pair, |id| matches!(id, IdFrame::PathsBlocked(1)))), (6, 1));
    let on = |pair: &Pair<_, _>, path: u8| {
        pair.seen.iter().filter(|s: &&common::Seen| s.packet.path == PathId(path)).count()
    };
    assert!(on(&pair, 1) > 100 && on(&pair, 2) == 0, "the limit is one further path");
    // An abandoned path makes room for the one that waits.
    pair.client_does(|client, cx| client.abandon_path(PathId(1), cx)).unwrap();
    finish(&mut pair);
    assert_eq!((sent(&pair, ids), sent(&pair, |id| matches!(id, IdFrame::MaxPathId(2)))), (10, 2));
    let retired = sent(&pair, |id| matches!(id, IdFrame::PathRetire(..)));
    assert_eq!(retired, 0, "PATH_ABANDON retires the identifiers of a path");
    assert!(on(&pair, 2) > 500, "{}", on(&pair, 2));
}
