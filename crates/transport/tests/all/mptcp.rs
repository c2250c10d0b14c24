//! MPTCP connections: opening, fallback, data on all subflows, and every byte once whatever happens to a path.

use crate::common;

use common::{Exchange, Fate, Pair, Seen};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{Cx, Packet, PathId, Rate, Span, Time};
use haltere_transport::cc::{self, Algorithm};
use haltere_transport::mptcp::{self, Config, Connection, Opening, Reinjection};
use haltere_transport::path::{PathError, PathStatus};
use haltere_transport::scheduler::Scheduler;
use haltere_transport::tcp::segment::Kind;
use haltere_transport::{Body, Endpoint, Event, Role, Stats, StreamId, tcp};
use proptest::prelude::*;

const ANSWER: u64 = 5_000_000;

fn tcp_config(role: Role) -> tcp::Config {
    tcp::Config::new(role, cc::CUBIC, Streams::new(9, 0).named("cc"))
}

fn connection(role: Role) -> Connection {
    Connection::new(Config::new(tcp_config(role)))
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

/// Two ends with two pipes of 10 Mbit/s, of 20 and of 40 ms a round trip.
fn pair_of(client: Connection, server: Connection) -> Pair<Connection, Connection> {
    let (first, second) = (link(10, 10), link(10, 20));
    Pair::new(client, server, &first, &first, 4, one(ANSWER)).and_path(&second, &second, 5)
}

fn pair() -> Pair<Connection, Connection> {
    pair_of(connection(Role::Client), connection(Role::Server))
}

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn add(pair: &mut Pair<Connection, Connection>, path: u8) -> Result<(), PathError> {
    pair.client_does(|client, cx| client.add_path(PathId(path), cx))
}

fn seconds<C: Endpoint, S: Endpoint>(pair: &Pair<C, S>) -> f64 {
    pair.client_log.streams[0].3.unwrap().as_secs_f64()
}

fn shares(pair: &Pair<Connection, Connection>) -> [u64; 2] {
    [pair.down.counters().delivered_bytes, pair.more[0][1].counters().delivered_bytes]
}

fn finish(pair: &mut Pair<Connection, Connection>) {
    assert!(pair.go_on(Span::from_secs(4000)), "not over at {}", pair.now);
    pair.assert_complete();
}

fn segment(seen: &Seen) -> &mptcp::Segment {
    let Body::Mptcp(segment) = &seen.packet.body else { panic!("not MPTCP: {seen:?}") };
    segment
}

#[test]
fn a_connection_on_one_path_carries_a_transfer() {
    let mut pair = pair();
    pair.keep = true;
    pair.run(millis(1));
    finish(&mut pair);
    let mut tcp = Pair::new(
        tcp::Connection::new(tcp_config(Role::Client)),
        tcp::Connection::new(tcp_config(Role::Server)),
        &link(10, 10),
        &link(10, 10),
        4,
        one(ANSWER),
    );
    assert!(tcp.run(Span::from_secs(60)));
    let ratio = seconds(&pair) / seconds(&tcp);
    assert!((1.0..1.04).contains(&ratio), "{ratio}: MPTCP's options take 28 of 1460 bytes");
}

#[test]
fn two_subflows_carry_a_transfer_in_little_more_than_half_the_time() {
    let mut single = pair();
    single.run(millis(1));
    finish(&mut single);
    let mut both = pair();
    both.keep = true;
    both.run(millis(100));
    add(&mut both, 1).unwrap();
    finish(&mut both);
    assert_eq!(shares(&single)[1], 0);
    let [first, second] = shares(&both);
    assert!(second * 3 > first && first * 3 > second, "{first} and {second} bytes");
    assert!(seconds(&both) < seconds(&single) * 0.65, "{} of {}", seconds(&both), seconds(&single));
    let joins: Vec<_> = both.seen.iter().filter(|s| s.packet.path == PathId(1)).take(4).map(segment).collect();
    let join = Some(Opening::Join(PathStatus::Available));
    assert_eq!((joins[0].tcp.kind, joins[0].options.opening), (Kind::Syn, join));
    assert_eq!((joins[1].tcp.kind, joins[1].options.opening), (Kind::SynAck, join));
    assert_eq!((joins[2].tcp.kind, joins[2].options.opening, joins[2].tcp.len), (Kind::Data, join, 0));
    assert_eq!(joins[3].options.opening, None, "the fourth segment");
    assert!(joins[3].options.data_ack.is_some());
}

#[test]
fn what_was_in_flight_on_a_subflow_that_dies_is_sent_again_on_the_other() {
    for dead in [0, 1] {
        let mut pair = pair();
        pair.run(millis(100));
        add(&mut pair, 1).unwrap();
        let since = millis(1000);
        pair.censor = Some(Box::new(move |s| s.packet.path == PathId(dead) && s.at >= Time::ZERO + since));
        finish(&mut pair);
        assert!(seconds(&pair) < 30.0, "path {dead} died: {} s", seconds(&pair));
        assert!(pair.server.reinjected() > 0);
        let state = pair.server.path_view(PathId(dead)).unwrap().state;
        assert!(!state.usable(), "path {dead} is {state:?}");
    }
}

#[test]
fn a_peer_without_mptcp_gets_tcp() {
    let (up, down) = (link(10, 10), link(10, 10));
    for old_server in [true, false] {
        let check = |log: &common::Log| assert_eq!(log.bytes(), ANSWER);
        if old_server {
            let server = tcp::Connection::new(tcp_config(Role::Server));
            // The old server does not know the options: a middlebox that removes them is the same to both.
            let mut pair = Pair::new(connection(Role::Client), Stripped(server), &up, &down, 4, one(ANSWER));
            assert!(pair.run(Span::from_secs(60)));
            assert!(pair.client.has_fallen_back());
            check(&pair.client_log);
        } else {
            let client = tcp::Connection::new(tcp_config(Role::Client));
            let mut pair = Pair::new(client, connection(Role::Server), &up, &down, 4, one(ANSWER));
            assert!(pair.run(Span::from_secs(60)));
            assert!(pair.server.has_fallen_back());
            check(&pair.client_log);
        }
    }
}

/// An endpoint whose packets are changed on their way in and out.
macro_rules! through {
    ($name:ident, $incoming:expr, $outgoing:expr) => {
        impl<E: Endpoint> Endpoint for $name<E> {
            fn connect(&mut self, cx: &mut Cx<'_>) {
                self.0.connect(cx);
            }
            fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
                let change: fn(Packet<Body>) -> Packet<Body> = $incoming;
                self.0.on_packet(change(packet), cx);
            }
            fn on_wake(&mut self, cx: &mut Cx<'_>) {
                self.0.on_wake(cx);
            }
            fn next_wake(&self) -> Time {
                self.0.next_wake()
            }
            fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
                self.0.poll_transmit(cx).map($outgoing)
            }
            fn poll_event(&mut self) -> Option<Event> {
                self.0.poll_event()
            }
            fn open(&mut self) -> Option<StreamId> {
                self.0.open()
            }
            fn write(&mut self, stream: StreamId, bytes: u64) {
                self.0.write(stream, bytes);
            }
            fn finish(&mut self, stream: StreamId) {
                self.0.finish(stream);
            }
            fn read(&mut self, stream: StreamId, now: Time) -> u64 {
                self.0.read(stream, now)
            }
            fn close(&mut self) {
                self.0.close();
            }
            fn stats(&self) -> Stats {
                self.0.stats()
            }
            fn bytes_in_flight(&self, path: PathId) -> u64 {
                self.0.bytes_in_flight(path)
            }
        }
    };
}

/// An end behind a middlebox that removes MPTCP's options.
struct Stripped<E>(E);

fn strip(mut packet: Packet<Body>) -> Packet<Body> {
    if let Body::Mptcp(segment) = &packet.body {
        let options = segment.options.wire_len(segment.tcp.kind, segment.tcp.len);
        let plain = Body::Tcp(segment.tcp.clone());
        packet.len -= options;
        packet.body = plain;
    }
    packet
}

through!(Stripped, strip, strip);

#[test]
fn both_ends_behind_a_middlebox_that_removes_the_options_go_on_as_tcp() {
    let (up, down) = (link(10, 10), link(10, 10));
    let (client, server) = (connection(Role::Client), Stripped(connection(Role::Server)));
    let mut pair = Pair::new(client, server, &up, &down, 4, one(ANSWER));
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_complete();
    assert!(pair.client.has_fallen_back() && pair.server.0.has_fallen_back());
}

#[test]
fn losses_on_both_paths_are_repaired() {
    let lossy = |mbps, ms| LinkConfig { loss: LossModel::Uniform { p: 0.02 }, ..link(mbps, ms) };
    for seed in 0..5 {
        let (first, second) = (lossy(10, 10), lossy(5, 40));
        let mut pair = Pair::new(connection(Role::Client), connection(Role::Server), &first, &first, seed, one(ANSWER))
            .and_path(&second, &second, seed + 100);
        pair.run(millis(3000));
        add(&mut pair, 1).unwrap();
        finish(&mut pair);
        assert!(shares(&pair)[1] > 100_000, "{:?}", shares(&pair));
    }
}

/// An end whose packets are as long as those of TCP.
struct AsLong<E>(E);

impl<E: Endpoint> AsLong<E> {
    fn shorten(packet: Packet<Body>) -> Packet<Body> {
        let options = match &packet.body {
            Body::Mptcp(s) => s.options.wire_len(s.tcp.kind, s.tcp.len),
            _ => 0,
        };
        packet.with(|p| p.len -= options)
    }
}

through!(AsLong, |packet| packet, AsLong::<E>::shorten);

/// When a segment was sent, whether by the client, its position, its length, what it acknowledged, and its SACK blocks.
type Course = (Time, Role, u64, u32, u64, Vec<(u64, u64)>);

/// The segments of TCP.
fn course<C: Endpoint, S: Endpoint>(pair: &Pair<C, S>) -> Vec<Course> {
    pair.seen
        .iter()
        .map(|s| {
            let tcp = match &s.packet.body {
                Body::Mptcp(segment) => &segment.tcp,
                Body::Tcp(segment) => segment,
                other => panic!("{other:?}"),
            };
            (s.at, s.from, tcp.seq, tcp.len, tcp.ack, tcp.sack_blocks().collect())
        })
        .collect()
}

#[test]
fn on_one_path_every_segment_is_that_of_tcp() {
    for algorithm in [cc::CUBIC, cc::RENO, cc::BBR, cc::VEGAS] {
        for (seed, p) in [(1, 0.0), (2, 0.01), (3, 0.03)] {
            let config = |role| tcp::Config { algorithm, ..tcp_config(role) };
            let lossy = LinkConfig { loss: LossModel::Uniform { p }, ..link(10, 20) };
            // TCP has no limit to its send buffer by default, and no mappings that keep super-segments apart.
            let unlimited =
                |role| Config { send_buffer: Some(u64::MAX), mappings_apart: false, ..Config::new(config(role)) };
            let multi = |role| AsLong(Connection::new(unlimited(role)));
            let single = |role| {
                let like = Config::new(config(role)).tcp;
                // One SACK block fits beside a DATA_ACK.
                let as_long = tcp::Config { largest_segment: Some(1420), data_options: 0, sack_blocks: 1, ..like };
                tcp::Connection::new(as_long)
            };
            let none = || Exchange { streams: Vec::new() };
            let mut mptcp = Pair::new(multi(Role::Client), multi(Role::Server), &lossy, &lossy, seed, none());
            let mut tcp = Pair::new(single(Role::Client), single(Role::Server), &lossy, &lossy, seed, none());
            (mptcp.keep, tcp.keep) = (true, true);
            assert!(mptcp.run(Span::from_secs(100)) && tcp.run(Span::from_secs(100)));
            mptcp.server_writes(StreamId(0), 1_000_000);
            tcp.server_writes(StreamId(0), 1_000_000);
            assert!(mptcp.go_on(Span::from_secs(400)) && tcp.go_on(Span::from_secs(400)));
            assert_eq!((mptcp.client_log.bytes(), tcp.client_log.bytes()), (1_000_000, 1_000_000));
            let (ours, theirs) = (course(&mptcp), course(&tcp));
            let differ = ours.iter().zip(&theirs).position(|(a, b)| a != b);
            if let Some(at) = differ {
                let near = at.saturating_sub(2)..at + 3;
                panic!("{algorithm:?}, {p}: segment {at}\n{:#?}\n{:#?}", &ours[near.clone()], &theirs[near]);
            }
            assert_eq!(ours.len(), theirs.len());
        }
    }
}

/// A fate of the second path, or of the first.
#[derive(Clone, Copy, Debug)]
struct Outage {
    path: u8,
    from: u64,
    until: u64,
}

fn outage() -> impl Strategy<Value = Option<Outage>> {
    let ends = (0u8..2, 0u64..4000, prop_oneof![1u64..3000, Just(u64::MAX / 2)]);
    proptest::option::of(ends.prop_map(|(path, from, len)| Outage { path, from, until: from + len }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    /// Paths lose, duplicate, reorder, die and return: every byte arrives once and in order, and the receiver never holds
    /// more than its window, which all subflows share (RFC 8684 section 3.3.1). Data that was given to several subflows may wait in
    /// each of them behind a gap of its own.
    #[test]
    fn every_byte_arrives_once_whatever_paths_do(
        seed in any::<u64>(),
        rates in (1u64..30, 1u64..30),
        delays in (1u64..150, 1u64..150),
        losses in (0.0..0.05f64, 0.0..0.05f64),
        odd in (0.0..0.1f64, 0.0..0.1f64),
        outage in outage(),
        joins_at in 1u64..2000,
        scheduler in 0..Scheduler::ALL.len(),
        algorithm in 0..Algorithm::ALL.len(),
        window in prop_oneof![Just(8u64 << 20), 3_000u64..200_000],
        timeout in any::<bool>(),
        blocked in any::<(bool, bool)>(),
    ) {
        const SIZE: u64 = 400_000;
        let (opportunistic, penalisation) = blocked;
        let config = |role| Config {
            scheduler: Scheduler::ALL[scheduler],
            reinjection: if timeout { Reinjection::Timeout } else { Reinjection::Timer },
            opportunistic,
            penalisation,
            ..Config::new(tcp::Config {
                algorithm: Algorithm::ALL[algorithm],
                initial_receive_window: window,
                max_receive_window: window * 2,
                ..tcp_config(role)
            })
        };
        let lossy = |rate, delay, p| LinkConfig { loss: LossModel::Uniform { p }, ..link(rate, delay) };
        let (first, second) = (lossy(rates.0, delays.0, losses.0), lossy(rates.1, delays.1, losses.1));
        let (client, server) = (Connection::new(config(Role::Client)), Connection::new(config(Role::Server)));
        let mut pair = Pair::new(client, server, &first, &first, seed, one(SIZE)).and_path(&second, &second, seed ^ 1);
        let mut dice = Streams::new(seed, 1).named("fortune");
        pair.fortune = Some(Box::new(move |seen| {
            let ms = seen.at.as_nanos() / 1_000_000;
            if outage.is_some_and(|o| PathId(o.path) == seen.packet.path && (o.from..o.until).contains(&ms)) {
                return Fate::Lost;
            }
            match dice.unit() {
                u if u < odd.0 => Fate::Twice,
                u if u < odd.0 + odd.1 => Fate::Late(millis(dice.below(200))),
                _ => Fate::Passes,
            }
        }));
        pair.run(millis(joins_at));
        // The handshake may not be over yet, or the transfer already.
        let joined = add(&mut pair, 1).is_ok();
        pair.go_on(Span::from_secs(20_000));
        // Without a second subflow, nothing arrives once the first path is dead for good.
        let cut_off = outage.is_some_and(|o| o.until > 1 << 40 && o.path == 0) && !joined;
        if !cut_off {
            pair.assert_exchanged();
        }
        let held = pair.client.reassembly().most_held.max(pair.server.reassembly().most_held);
        let again = pair.client.reinjected() + pair.server.reinjected();
        let copies = if again == 0 { 1 } else { 2 };
        prop_assert!(held <= copies * (window * 2 + 65_536), "{} of {}, {} given again", held, window, again);
    }
}
