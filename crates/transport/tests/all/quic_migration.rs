//! QUIC connections whose client changes its address (RFC 9000 section 9).

use crate::common;

use common::{Exchange, Fate, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{Packet, PathId, Rate, Span, Time};
use haltere_transport::cc;
use haltere_transport::path::{AddressChange, PathError};
use haltere_transport::quic::sizes::{AMPLIFICATION_LIMIT, IP_UDP};
use haltere_transport::quic::{Config, Connection, Design, Few, Frame, IdFrame, SpaceId};
use haltere_transport::{Body, CloseReason, Endpoint, Role};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

const ANSWER: u64 = 5_000_000;

fn config(role: Role) -> Config {
    Config::new(role, cc::CUBIC, Streams::new(9, 0).named("cc"))
}

fn link(mbps: u64, ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::from_bps(mbps * 1_000_000)),
        delay: Span::from_millis(ms),
        queue: Limit::Packets(100).into(),
        ..LinkConfig::default()
    }
}

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// A path of 10 Mbit/s and 20 ms, beside which the client has another of 40 ms.
fn pair(request: u64, answer: u64) -> Pair<Connection, Connection> {
    let ends = (Connection::new(config(Role::Client)), Connection::new(config(Role::Server)));
    let (first, second) = (link(10, 10), link(10, 20));
    let exchange = Exchange { streams: vec![(request, answer)] };
    Pair::new(ends.0, ends.1, &first, &first, 4, exchange).and_path(&second, &second, 5)
}

fn migrate(pair: &mut Pair<Connection, Connection>, path: u8) -> Result<(), PathError> {
    pair.client_does(|client, cx| client.migrate(PathId(path), cx))
}

fn finish(pair: &mut Pair<Connection, Connection>) {
    assert!(pair.go_on(Span::from_secs(200)), "not over at {}", pair.now);
    pair.assert_complete();
}

fn frames(packet: &Packet<Body>) -> Vec<Frame> {
    let Body::Quic(datagram) = &packet.body else { return Vec::new() };
    datagram.packets.iter().flat_map(|p| p.frames.iter().cloned().collect::<Vec<_>>()).collect()
}

/// Counts what the server sends to each address of the client before an answer has come from there.
#[derive(Default)]
struct Amplification {
    /// Bytes of UDP payload received from and sent to each address.
    counts: HashMap<u8, (u64, u64)>,
    /// Of which address a challenge asks.
    asked: HashMap<u64, u8>,
    validated: Vec<u8>,
}

/// Asserts that the server never sends more than three times what it received to an address that is not validated.
fn hold_to_the_limit(pair: &mut Pair<Connection, Connection>) {
    let told = Arc::new(Mutex::new(Amplification::default()));
    let shared = told.clone();
    pair.watcher = Some(Box::new(move |from, packet| {
        if from == Role::Server {
            return;
        }
        let mut state = shared.lock().unwrap();
        state.counts.entry(packet.path.0).or_default().0 += u64::from(packet.len - IP_UDP);
        for frame in frames(packet) {
            if let Frame::PathResponse(data) = frame
                && let Some(&way) = state.asked.get(&data)
            {
                state.validated.push(way);
            }
        }
    }));
    pair.censor = Some(Box::new(move |seen| {
        let way = seen.packet.path.0;
        if seen.by_client() || way == 0 {
            return false;
        }
        let mut state = told.lock().unwrap();
        for frame in frames(&seen.packet) {
            if let Frame::PathChallenge(data) = frame {
                state.asked.insert(data, way);
            }
        }
        let counts = state.counts.entry(way).or_default();
        counts.1 += u64::from(seen.packet.len - IP_UDP);
        let (received, sent) = *counts;
        assert!(
            sent <= AMPLIFICATION_LIMIT * received || state.validated.contains(&way),
            "{sent} bytes to {way}, {received} from there"
        );
        false
    }));
}

#[test]
fn a_new_port_keeps_the_window_and_a_new_address_resets_it() {
    for (change, keeps) in [(AddressChange::Port, true), (AddressChange::Address, false)] {
        // The client sends, so that the server hears at once.
        let mut pair = pair(ANSWER, ANSWER);
        hold_to_the_limit(&mut pair);
        pair.run(millis(2000));
        pair.go_on(millis(6000));
        let view = |pair: &Pair<_, Connection>| pair.server.path_view(PathId(0)).unwrap();
        let before = view(&pair);
        assert!(before.window > 20_000 && before.srtt.is_some(), "{before:?}");
        pair.rebind(change);
        // The client does not know it, and the ACK that it sends next tells the server.
        while view(&pair).window == before.window && pair.now < Time::ZERO + millis(6500) {
            let next = pair.now + millis(1);
            pair.go_on(next.since(Time::ZERO));
        }
        let after = view(&pair);
        assert_eq!(after.window >= before.window / 2, keeps, "{change:?}: {before:?} {after:?}");
        finish(&mut pair);
    }
}

#[test]
fn both_ends_validate_the_path_that_the_client_moves_to() {
    let mut pair = pair(200, ANSWER);
    pair.keep = true;
    pair.run(millis(1000));
    assert_eq!(migrate(&mut pair, 1), Ok(()));
    let since = pair.now;
    finish(&mut pair);
    let on_second: Vec<_> = pair.seen.iter().filter(|s| s.packet.path == PathId(1)).collect();
    let begins: Vec<_> = on_second.iter().take(4).map(|s| (s.by_client(), frames(&s.packet))).collect();
    let kinds = |k: usize| {
        let has = |f: fn(&Frame) -> bool| begins[k].1.iter().any(f);
        let challenge = has(|f| matches!(f, Frame::PathChallenge(_)));
        (begins[k].0, challenge, has(|f| matches!(f, Frame::PathResponse(_))))
    };
    assert_eq!([kinds(0), kinds(1), kinds(2)], [(true, true, false), (false, true, true), (true, false, true)]);
    assert!(on_second[..3].iter().all(|s| s.packet.len >= 1200 + IP_UDP), "they fill the least datagram");
    // One packet number space goes on.
    let Body::Quic(first) = &on_second[0].packet.body else { panic!() };
    let first = first.packets.iter().next().unwrap();
    assert!(first.space == SpaceId::Data && first.number > 10, "{first:?}");
    // A round trip after the challenge the client goes on there, and half of one later the server.
    let last = |from| pair.seen.iter().rfind(|s| s.from == from && s.packet.path == PathId(0)).unwrap();
    assert!(last(Role::Client).at <= since + millis(45), "{}", last(Role::Client).at);
    assert!(last(Role::Server).at <= since + millis(65), "{}", last(Role::Server).at);
    assert!(pair.more[0][1].counters().delivered_bytes > 3_000_000);
}

#[test]
fn a_client_stays_where_it_is_if_nobody_answers_elsewhere() {
    let mut pair = pair(200, ANSWER);
    pair.run(millis(1000));
    pair.censor = Some(Box::new(|seen| seen.packet.path == PathId(1)));
    assert_eq!(migrate(&mut pair, 1), Ok(()));
    finish(&mut pair);
    assert!(pair.now < Time::ZERO + millis(6000), "{}", pair.now);
}

#[test]
fn a_client_leaves_a_path_that_died() {
    let mut pair = pair(200, ANSWER);
    pair.run(millis(1000));
    let since = pair.now;
    pair.censor = Some(Box::new(move |seen| seen.packet.path == PathId(0) && seen.at >= since));
    assert_eq!(migrate(&mut pair, 1), Ok(()));
    finish(&mut pair);
    // The rest of the data, a round trip for the challenge, and slow start anew.
    assert!(pair.now < Time::ZERO + millis(5800), "{}", pair.now);
}

#[test]
fn a_client_that_is_to_move_during_the_handshake_moves_when_it_is_confirmed() {
    let mut pair = pair(200, ANSWER);
    pair.keep = true;
    pair.run(millis(5));
    assert_eq!(migrate(&mut pair, 1), Ok(()));
    finish(&mut pair);
    let first = pair.seen.iter().find(|s| s.packet.path == PathId(1)).unwrap();
    assert!(first.at > Time::ZERO + millis(40), "{}", first.at);
    assert!(pair.more[0][1].counters().delivered_bytes > 4_500_000);
}

#[test]
fn what_cannot_move_says_why() {
    let mut pair = pair(200, ANSWER);
    let mut cx = haltere_net::Cx::new(Time::ZERO, haltere_net::ComponentId(1));
    assert_eq!(pair.server.migrate(PathId(1), &mut cx), Err(PathError::Bound));
    let several = Config { max_paths: 2, ..config(Role::Client) };
    assert_eq!(Connection::new(several).migrate(PathId(1), &mut cx), Err(PathError::Several));
    pair.run(millis(100));
    assert_eq!(migrate(&mut pair, 0), Ok(()), "it is there already");
    finish(&mut pair);
}

/// A download whose client sends acknowledgements alone, of which the last are lost when a NAT rebinds it.
fn silent(keep_alive: Option<Span>) -> Pair<Connection, Connection> {
    let mut client = Config { keep_alive, ..config(Role::Client) };
    client.ack.elicit_every = u32::MAX;
    let client = Connection::new(client);
    let server = Connection::new(config(Role::Server));
    let (path, exchange) = (link(10, 10), Exchange { streams: vec![(200, 1_000_000)] });
    let mut pair = Pair::new(client, server, &path, &path, 4, exchange);
    pair.run(millis(400));
    pair.rebind(AddressChange::Port);
    pair.censor = Some(Box::new(|seen| seen.by_client() && seen.at < Time::ZERO + millis(500)));
    pair
}

#[test]
fn a_client_that_sends_nothing_is_found_again_only_if_it_keeps_the_connection_alive() {
    let mut quiet = silent(None);
    quiet.go_on(Span::from_secs(200));
    let mut lively = silent(Some(Span::from_secs(5)));
    finish(&mut lively);
    let done = lively.client_log.streams[0].3.unwrap();
    assert!((5.4..6.6).contains(&done.as_secs_f64()), "{done}");
    assert_eq!(quiet.client_log.failed, Some(CloseReason::IdleTimeout));
}

/// A change of the client's addresses.
#[derive(Clone, Copy, Debug)]
enum Turn {
    Rebound(bool),
    Moves(u8),
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    /// Whatever happens to the client's addresses, every byte arrives once, and no address gets more than its limit.
    #[test]
    fn every_byte_arrives_once_and_the_limit_is_held(
        turns in prop::collection::vec(
            (20u64..1500, prop_oneof![any::<bool>().prop_map(Turn::Rebound), (0u8..2).prop_map(Turn::Moves)]),
            1..5,
        ),
        rates in (1u64..50, 1u64..50),
        delays in (1u64..80, 1u64..80),
        loss in prop_oneof![Just(0.0), 0.0..0.05f64],
        late in 0u32..50,
        request in 1u64..800_000,
        answer in 1u64..800_000,
    ) {
        let lossy = |rate, delay| LinkConfig { loss: LossModel::Uniform { p: loss }, ..link(rate, delay) };
        let (first, second) = (lossy(rates.0, delays.0), lossy(rates.1, delays.1));
        // A client that only receives does not learn that its address is new, and the server does not learn the address.
        let lively = Config { keep_alive: Some(Span::from_secs(5)), ..config(Role::Client) };
        let ends = (Connection::new(lively), Connection::new(config(Role::Server)));
        let exchange = Exchange { streams: vec![(request, answer)] };
        let mut pair = Pair::new(ends.0, ends.1, &first, &first, 4, exchange).and_path(&second, &second, 5);
        hold_to_the_limit(&mut pair);
        let mut count = 0u32;
        pair.fortune = Some(Box::new(move |_| {
            count += 1;
            if late > 0 && count.is_multiple_of(50 + late) { Fate::Late(millis(u64::from(late))) } else { Fate::Passes }
        }));
        let (mut at, mut early) = (0, false);
        pair.run(millis(0));
        for (after, turn) in &turns {
            at += after;
            pair.go_on(millis(at));
            early |= matches!(turn, Turn::Rebound(_)) && pair.server_log.connected == 0;
            match turn {
                Turn::Rebound(true) => pair.rebind(AddressChange::Address),
                Turn::Rebound(false) => pair.rebind(AddressChange::Port),
                Turn::Moves(path) => migrate(&mut pair, *path).unwrap(),
            }
        }
        prop_assert!(pair.go_on(Span::from_secs(600)), "not over");
        if pair.client_log.failed.is_none() {
            // The last packet of a client that closes may be lost: the server then waits for the idle timeout.
            pair.assert_exchanged();
        } else {
            // A NAT that rebinds the client during the handshake takes the connection with it (section 9).
            prop_assert!(early, "{:?} {:?}", pair.client_log, pair.server_log);
        }
    }
}

/// Both ends keep to a number of connection identifiers.
fn limited(limit: u8) -> Pair<Connection, Connection> {
    let end = |role| Connection::new(Config { connection_ids: Some(limit), ..config(role) });
    let (first, second) = (link(10, 10), link(10, 20));
    let exchange = Exchange { streams: vec![(200, ANSWER)] };
    Pair::new(end(Role::Client), end(Role::Server), &first, &first, 4, exchange).and_path(&second, &second, 5)
}

fn count(pair: &Pair<Connection, Connection>, from: Role, wanted: fn(&IdFrame) -> bool) -> usize {
    let sent = pair.seen.iter().filter(|s| s.from == from).flat_map(|s| frames(&s.packet));
    sent.filter(|frame| matches!(frame, Frame::Identifier(id) if wanted(id))).count()
}

#[test]
fn a_client_moves_with_another_identifier_and_waits_if_it_has_none() {
    let new: fn(&IdFrame) -> bool = |id| matches!(id, IdFrame::New(_));
    let retired: fn(&IdFrame) -> bool = |id| matches!(id, IdFrame::Retire(_));
    let mut pair = limited(2);
    pair.keep = true;
    pair.run(millis(1000));
    assert_eq!((count(&pair, Role::Client, new), count(&pair, Role::Server, new)), (1, 1), "one spare of each end");
    // There and back at once: the second move takes the identifier that replaces the first.
    assert_eq!(migrate(&mut pair, 1), Ok(()));
    pair.go_on(millis(1060));
    assert_eq!(migrate(&mut pair, 0), Ok(()));
    let asked = pair.now;
    finish(&mut pair);
    for from in [Role::Client, Role::Server] {
        assert_eq!((count(&pair, from, new), count(&pair, from, retired)), (3, 2), "{from:?}");
    }
    let back = pair.seen.iter().find(|s| {
        let probes = frames(&s.packet).iter().any(|f| matches!(f, Frame::PathChallenge(_)));
        s.by_client() && s.packet.path == PathId(0) && s.at >= asked && probes
    });
    assert!(back.unwrap().at >= asked + millis(10), "{} after {asked}", back.unwrap().at);
    // With three, the client need not wait.
    let mut pair = limited(3);
    pair.keep = true;
    pair.run(millis(1060));
    assert_eq!(count(&pair, Role::Server, new), 2);
    assert_eq!((migrate(&mut pair, 1), pair.seen.last().unwrap().packet.path), (Ok(()), PathId(1)));
    finish(&mut pair);
}

#[test]
fn an_end_that_issues_more_identifiers_than_the_limit_breaks_the_protocol() {
    let mut pair = limited(2);
    pair.keep = true;
    pair.run(millis(500));
    let mut packet = pair.seen.iter().rfind(|s| s.by_client()).unwrap().packet.clone();
    let Body::Quic(datagram) = &mut packet.body else { panic!() };
    let mut last = datagram.packets.iter().next().unwrap().clone();
    (last.number, last.frames) = (last.number + 1, Few::of(Frame::Identifier(IdFrame::New(2))));
    datagram.packets = Few::of(last);
    pair.give_server(packet);
    let Some(CloseReason::ProtocolViolation(why)) = pair.server_log.failed else { panic!("{:?}", pair.server_log) };
    assert!(why.starts_with("CONNECTION_ID_LIMIT_ERROR"), "{why}");
}

#[test]
fn a_server_goes_on_with_another_identifier_of_the_path_whose_address_changed() {
    let end = |role| Connection::new(Config { connection_ids: Some(1), max_paths: 2, ..config(role) });
    let (path, exchange) = (link(10, 10), Exchange { streams: vec![(200_000, ANSWER)] });
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &path, &path, 4, exchange).and_path(&path, &path, 5);
    pair.keep = true;
    pair.run(millis(200));
    assert_eq!(pair.client_does(|client, cx| client.add_path(PathId(1), cx)), Ok(()));
    pair.go_on(millis(500));
    let issued = |pair: &_, from, wanted| count(pair, from, wanted);
    type Is = fn(&IdFrame) -> bool;
    let (new, of_first): (Is, Is) =
        (|id| matches!(id, IdFrame::PathNew(..)), |id| matches!(id, IdFrame::PathNew(PathId(0), 1)));
    for from in [Role::Client, Role::Server] {
        assert_eq!((issued(&pair, from, new), issued(&pair, from, of_first)), (3, 1), "two for each path");
    }
    // Twice: the second change takes the identifier that replaces the first.
    for round in 0..2 {
        pair.rebind(AddressChange::Port);
        pair.go_on(millis(800 + 300 * round));
    }
    finish(&mut pair);
    let seen = |from: Role, wanted: IdFrame| {
        let mut sent = pair.seen.iter().filter(|s| s.from == from).flat_map(|s| frames(&s.packet));
        sent.any(|frame| matches!(frame, Frame::Identifier(id) if id == wanted))
    };
    for number in 0..2 {
        assert!(seen(Role::Server, IdFrame::PathRetire(PathId(0), number)), "{number} is retired");
        assert!(seen(Role::Client, IdFrame::PathNew(PathId(0), number + 2)), "{number} is replaced");
    }
    let retired: fn(&IdFrame) -> bool = |id| matches!(id, IdFrame::PathRetire(..));
    assert_eq!(
        (count(&pair, Role::Server, retired), count(&pair, Role::Client, retired)),
        (2, 0),
        "the client does not know"
    );
}

/// Frames about addresses, paths and identifiers with any content.
fn any_frame() -> impl Strategy<Value = Frame> {
    let number = || prop_oneof![4 => 0u64..400, 1 => any::<u64>()];
    let path = || any::<u8>().prop_map(PathId);
    prop_oneof![
        number().prop_map(Frame::PathChallenge),
        number().prop_map(Frame::PathResponse),
        number().prop_map(|n| Frame::Identifier(IdFrame::New(n))),
        number().prop_map(|n| Frame::Identifier(IdFrame::Retire(n))),
        (path(), number()).prop_map(|(path, n)| Frame::Identifier(IdFrame::PathNew(path, n))),
        (path(), number()).prop_map(|(path, n)| Frame::Identifier(IdFrame::PathRetire(path, n))),
        any::<u8>().prop_map(|most| Frame::Identifier(IdFrame::MaxPathId(most))),
        any::<u8>().prop_map(|most| Frame::Identifier(IdFrame::PathsBlocked(most))),
        path().prop_map(|path| Frame::Identifier(IdFrame::PathCidsBlocked(path))),
        path().prop_map(Frame::PathAbandon),
        any::<(u8, u64)>().prop_map(|(count, failed)| Frame::Paths { count, failed }),
        Just(Frame::AddAddress),
        Just(Frame::Ping),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]
    /// Whatever a peer says of addresses, paths and identifiers, and wherever it comes from, a connection goes on or fails.
    #[test]
    fn frames_about_addresses_break_nothing(
        packets in prop::collection::vec((any::<u8>(), 0u8..4, prop::collection::vec(any_frame(), 1..4), any::<bool>()), 1..30),
        several in any::<bool>(),
        design in prop_oneof![Just(Design::Draft), Just(Design::Conext2017)],
        connection_ids in prop_oneof![Just(None), (2u8..6).prop_map(Some)],
    ) {
        let max_paths = if several { 4 } else { 1 };
        let end = |role| Connection::new(Config { max_paths, design, connection_ids, ..config(role) });
        let exchange = Exchange { streams: vec![(200, 300_000)] };
        let path = link(10, 10);
        let mut pair = Pair::new(end(Role::Client), end(Role::Server), &path, &path, 4, exchange);
        for k in 5..8 {
            pair = pair.and_path(&path, &path, k);
        }
        // Packets to addresses that nobody has are lost.
        pair.censor = Some(Box::new(|seen| (4..128).contains(&seen.packet.path.0)));
        pair.keep = true;
        pair.run(millis(300));
        let model = pair.seen.iter().rfind(|s| s.by_client()).unwrap().packet.clone();
        for (k, (far, near, frames, to_server)) in (0..).zip(packets) {
            let mut packet = model.clone();
            let Body::Quic(datagram) = &mut packet.body else { unreachable!() };
            let mut made = datagram.packets.iter().next().unwrap().clone();
            made.number = 1000 + k;
            made.frames = frames.into_iter().fold(Few::default(), |mut all, frame| {
                all.push(frame);
                all
            });
            datagram.packets = Few::of(made);
            packet.path = PathId(if far > 127 { far } else { near });
            if to_server { pair.give_server(packet) } else { pair.give_client(packet) }
        }
        prop_assert!(pair.go_on(Span::from_secs(300)), "not over");
    }
}
