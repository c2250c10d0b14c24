//! The exchanges that precede or accompany QUIC's handshake (Version Negotiation, Retry, 0-RTT), with packets lost, duplicated or
//! late. The anti-amplification limit holds throughout.

use crate::common;

use common::misfortunes::{Misfortunes, give_up_after};
use common::{Exchange, Fate, Pair, Seen};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_transport::cc;
use haltere_transport::quic::{Config, Connection, Form, Session, SpaceId};
use haltere_transport::{Body, Endpoint, Role};
use proptest::prelude::*;

const DELAY: Span = Span::from_millis(25);

#[derive(Clone, Copy, Debug)]
struct Variant {
    session: Session,
    retry: bool,
    unknown_version: bool,
}

impl Variant {
    fn all() -> impl Iterator<Item = Variant> {
        [Session::New, Session::Resumed, Session::EarlyData]
            .into_iter()
            .flat_map(|session| (0..4).map(move |n| Variant { session, retry: n & 1 > 0, unknown_version: n & 2 > 0 }))
    }

    fn end(self, role: Role) -> Connection {
        let mut config = Config::new(role, cc::CUBIC, Streams::new(1, 0).named("cc"));
        config.session = self.session;
        config.retry = self.retry && role == Role::Server;
        config.unknown_version = self.unknown_version && role == Role::Client;
        Connection::new(config)
    }

    fn pair(self) -> Pair<Connection, Connection> {
        let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
        let exchange = Exchange { streams: vec![(3000, 20_000)] };
        let mut pair = Pair::new(self.end(Role::Client), self.end(Role::Server), &link, &link, 1, exchange);
        pair.keep = true;
        pair
    }

    /// Round trips before the request can be sent.
    fn round_trips(self) -> u64 {
        u64::from(self.session != Session::EarlyData) + u64::from(self.retry) + u64::from(self.unknown_version)
    }
}

fn datagram(seen: &Seen) -> &haltere_transport::quic::Datagram {
    let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
    for packet in datagram.packets.iter() {
        assert_eq!(packet.size, packet.encoded_len(), "{packet:?}");
    }
    assert_eq!(seen.packet.len, datagram.size() + 28);
    datagram
}

/// Asserts RFC 9000 section 8.1 of each datagram of the server's: no more than three times what had arrived, until a
/// Handshake packet or a token did.
fn assert_not_amplified(seen: &[Seen], fate: impl Fn(&Seen, usize) -> Fate, case: &str) {
    let mut told = 0;
    let arrivals: Vec<(Time, u64, bool)> = numbered(seen, Role::Client)
        .flat_map(|(n, s)| {
            let sizes = u64::from(datagram(s).size());
            let validates = datagram(s).packets.iter().any(|p| p.space == SpaceId::Handshake || p.token > 0);
            let (copies, at) = fate(s, n).arrivals(s.at + DELAY);
            (0..copies).map(move |_| (at, sizes, validates))
        })
        .collect();
    for (_, s) in numbered(seen, Role::Server) {
        told += u64::from(datagram(s).size());
        let before = || arrivals.iter().filter(|a| a.0 <= s.at);
        if before().any(|a| a.2) {
            return;
        }
        let heard: u64 = before().map(|a| a.1).sum();
        assert!(told <= 3 * heard, "{told} sent for {heard} received: {case}");
    }
}

/// The packets of one direction, numbered from 1.
fn numbered(seen: &[Seen], from: Role) -> impl Iterator<Item = (usize, &Seen)> {
    seen.iter().filter(move |s| s.from == from).enumerate().map(|(i, s)| (i + 1, s))
}

/// Runs with these fates of the n-th datagrams of each direction.
fn run(variant: Variant, events: &Misfortunes) -> Pair<Connection, Connection> {
    let mut pair = variant.pair();
    let case = format!("{variant:?} {events:?}");
    events.befall(&mut pair);
    assert!(pair.run(Span::from_secs(300)), "still going: {case}");
    assert_eq!((pair.client_log.failed, pair.server_log.failed), (None, None), "{case}");
    pair.assert_complete();
    assert_not_amplified(&pair.seen, |s, n| events.fate(s.from, n), &case);
    pair
}

#[test]
fn each_variant_takes_its_round_trips_and_says_what_it_should() {
    for variant in Variant::all() {
        let pair = run(variant, &Misfortunes::default());
        let asked = pair.server_log.streams[0].3.unwrap();
        let one_way = 2 * variant.round_trips() + 1;
        assert_eq!(asked, Time::ZERO + DELAY * one_way, "{variant:?}");
        let count = |form: Form| {
            pair.seen.iter().flat_map(|s| datagram(s).packets.iter()).filter(|p| p.form == form).count() as u64
        };
        assert_eq!(count(Form::Retry), u64::from(variant.retry), "{variant:?}");
        assert_eq!(count(Form::VersionNegotiation), u64::from(variant.unknown_version), "{variant:?}");
        assert_eq!(count(Form::UnknownVersion), u64::from(variant.unknown_version), "{variant:?}");
        assert_eq!(count(Form::ZeroRtt) > 0, variant.session == Session::EarlyData, "{variant:?}");
        // Nothing is lost, so nothing but what a Retry packet made worthless is sent again.
        let again = pair.client.stats().retransmitted_packets + pair.server.stats().retransmitted_packets;
        assert!(again == 0 || (variant.retry && variant.session == Session::EarlyData), "{variant:?}: {again}");
    }
}

#[test]
fn tokens_and_numbers_are_as_section_17_2_5_wants_them() {
    let pair =
        run(Variant { session: Session::EarlyData, retry: true, unknown_version: false }, &Misfortunes::default());
    let first: Vec<_> = pair.seen.iter().filter(|s| s.by_client()).flat_map(|s| datagram(s).packets.iter()).collect();
    let token = |space, number| first.iter().find(|p| p.space == space && p.number == number).map(|p| p.token);
    // Initial 0 goes without, Initial 1 with the token of 51 bytes: packet numbers go on.
    assert_eq!((token(SpaceId::Initial, 0), token(SpaceId::Initial, 1)), (Some(0), Some(51)));
    let early: Vec<u64> = first.iter().filter(|p| p.form == Form::ZeroRtt).map(|p| p.number).collect();
    assert!(early.windows(2).all(|w| w[0] < w[1]), "{early:?}");
}

#[test]
fn every_datagram_of_every_handshake_may_be_lost_doubled_or_late() {
    for variant in Variant::all() {
        Misfortunes::single().for_each(|one| drop(run(variant, &one)));
    }
}

#[test]
fn a_dead_path_is_given_up_with_the_right_reason() {
    for variant in Variant::all() {
        for passed in 0..6 {
            let mut pair = variant.pair();
            give_up_after(passed, &mut pair, &format!("{variant:?}"));
            assert!(pair.wakes < 200, "{}", pair.wakes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_impairments_at_once_are_survived(
        variant in (0usize..12).prop_map(|n| Variant::all().nth(n).unwrap()),
        events in Misfortunes::several(),
    ) {
        run(variant, &events);
    }
}
