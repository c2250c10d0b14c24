//! Exchanges before a handshake inside a stack or with it (Version Negotiation, Retry, a session taken up again,
//! 0-RTT), and the outcome of each when its datagrams are lost, doubled or late.

use crate::ends;

use ends::common::misfortunes::{Misfortunes, give_up_after};
use ends::common::{Exchange, Fate, Pair, Seen};
use ends::wire::{Form, bytes, forms};
use ends::{Both, Dyn, STACKS};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_stacks::{Cipher, Config, Congestion, Handles, Memory, NOQ, Stack};
use haltere_transport::quic::Session;
use haltere_transport::{CloseReason, Role};
use proptest::prelude::*;

const DELAY: Span = Span::from_millis(25);
const CIPHERS: [Cipher; 2] = [Cipher::Tls, Cipher::Null];

#[derive(Clone, Copy, Debug)]
struct Variant {
    stack: Stack,
    cipher: Cipher,
    session: Session,
    retry: bool,
    unknown_version: bool,
}

impl Variant {
    fn all() -> impl Iterator<Item = Variant> {
        let sessions = [Session::New, Session::Resumed, Session::EarlyData];
        (0..48).map(move |n| Variant {
            stack: STACKS[n / 24],
            cipher: CIPHERS[n / 12 % 2],
            session: sessions[n / 4 % 3],
            retry: n & 1 > 0,
            unknown_version: n & 2 > 0,
        })
    }

    fn config(self, role: Role) -> Config {
        let mut config = Config::new(role, self.stack, Congestion::Own("cubic"));
        (config.cipher, config.session) = (self.cipher, self.session);
        (config.retry, config.unknown_version) = (self.retry, self.unknown_version);
        config
    }

    fn memory(self) -> Option<Memory> {
        let dice = ["client/earlier", "server/earlier"].map(|name| Streams::new(1, 0).named(name));
        let memory = || haltere_stacks::earlier_connection(&self.config(Role::Client), dice, Time::ZERO).unwrap();
        (self.session != Session::New).then(memory)
    }

    /// The two ends, each with what it remembers.
    fn ends(self, remembered: [Option<Memory>; 2], request: u64) -> Both {
        let [client, server] = remembered;
        let end = |role, memory| {
            let name = if role == Role::Client { "client" } else { "server" };
            let handles = Handles { memory, ..Handles::new(Streams::new(1, 0).named(name)) };
            Dyn(haltere_stacks::endpoint(self.config(role), handles).unwrap())
        };
        let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
        let exchange = Exchange { streams: vec![(request, 20_000), (100, 1)] };
        let mut pair = Pair::new(end(Role::Client, client), end(Role::Server, server), &link, &link, 1, exchange);
        pair.keep = true;
        pair
    }

    fn asking(self, request: u64) -> Both {
        let memory = self.memory();
        self.ends([memory.clone(), memory], request)
    }

    /// With a request of more than what goes behind the Initial packet in the first datagram.
    fn pair(self) -> Both {
        self.asking(3000)
    }

    /// Round trips before the request can go.
    fn round_trips(self) -> u64 {
        u64::from(self.session != Session::EarlyData) + u64::from(self.retry) + u64::from(self.unknown_version)
    }

    /// Whether the server knows the client's address from the start, by the token of the earlier connection.
    fn is_known(self) -> bool {
        self.session != Session::New && !self.retry
    }
}

/// The datagrams of one direction, numbered from 1.
fn numbered(seen: &[Seen], from: Role) -> impl Iterator<Item = (usize, &Seen)> {
    seen.iter().filter(move |s| s.from == from).enumerate().map(|(i, s)| (i + 1, s))
}

/// Asserts RFC 9000 section 8.1 of each datagram of the server's, but for one whole datagram: both stacks send it while
/// anything is left of the limit (quinn-rs/quinn#1082). The limit ends with a Handshake packet or a token.
fn assert_hardly_amplified(seen: &[Seen], fate: impl Fn(&Seen, usize) -> Fate, variant: Variant, case: &str) {
    let arrivals: Vec<(Time, u64, bool)> = numbered(seen, Role::Client)
        .flat_map(|(n, s)| {
            let (copies, at) = fate(s, n).arrivals(s.at + DELAY);
            let validates = forms(s).iter().any(|f| matches!(f, Form::Handshake | Form::Initial { token: true }));
            // The server keeps nothing of what it answers by a Retry or Version Negotiation packet.
            let counts = !forms(s).contains(&Form::Draft) && !variant.retry;
            let len = if counts { bytes(s).len() as u64 } else { 0 };
            (0..copies).map(move |_| (at, len, validates))
        })
        .collect();
    let mut told = 0;
    for (_, s) in
        numbered(seen, Role::Server).filter(|(_, s)| !matches!(forms(s)[..], [Form::Retry | Form::Negotiation]))
    {
        told += bytes(s).len() as u64;
        let before = || arrivals.iter().filter(|a| a.0 <= s.at);
        if before().any(|a| a.2) {
            return;
        }
        let heard: u64 = before().map(|a| a.1).sum();
        assert!(told < 3 * heard + 1472, "{told} sent for {heard} received: {case}");
    }
}

/// Runs with these fates of the n-th datagrams of each direction.
fn run(variant: Variant, events: &Misfortunes) -> Both {
    let mut pair = variant.pair();
    let case = format!("{variant:?} {events:?}");
    events.befall(&mut pair);
    assert!(pair.run(Span::from_secs(300)), "still going: {case}");
    // Where the packet that closes was lost, an end may learn from a stateless reset that the other has closed.
    let too_late = |why| matches!(why, CloseReason::ProtocolViolation(text) if text.ends_with("(stateless reset)"));
    let failed = [pair.client_log.failed, pair.server_log.failed];
    assert!(failed.into_iter().flatten().all(too_late), "{failed:?}: {case}");
    pair.assert_exchanged();
    if !variant.is_known() {
        assert_hardly_amplified(&pair.seen, |s, n| events.fate(s.from, n), variant, &case);
    }
    pair
}

#[test]
fn each_variant_takes_its_round_trips() {
    for variant in Variant::all() {
        let mut pair = variant.asking(400);
        assert!(pair.run(Span::from_secs(300)), "still going: {variant:?}");
        pair.assert_complete();
        let asked = pair.server_log.streams[0].3.unwrap().since(Time::ZERO);
        let expected = DELAY * (2 * variant.round_trips() + 1);
        // noq paces a server's first flight, which is of several datagrams when it holds a certificate.
        let paced = variant.stack == NOQ && variant.session == Session::New;
        let most = if paced { expected + Span::from_millis(54) } else { expected };
        assert!(asked >= expected && asked <= most, "{variant:?}: {asked} for {expected}");
    }
}

#[test]
fn each_variant_says_what_it_should() {
    for variant in Variant::all() {
        let pair = run(variant, &Misfortunes::default());
        pair.assert_complete();
        let count = |wanted: Form| pair.seen.iter().flat_map(forms).filter(|form| *form == wanted).count() as u64;
        assert_eq!(count(Form::Retry), u64::from(variant.retry), "{variant:?}");
        assert_eq!(count(Form::Negotiation), u64::from(variant.unknown_version), "{variant:?}");
        assert_eq!(count(Form::Draft), u64::from(variant.unknown_version), "{variant:?}");
        assert_eq!(count(Form::Early) > 0, variant.session == Session::EarlyData, "{variant:?}");
    }
}

#[test]
fn times_and_lengths_are_the_same_under_both_ciphers_and_in_every_run() {
    let shape = |variant| {
        run(variant, &Misfortunes::default())
            .seen
            .iter()
            .map(|s| (s.at, s.by_client(), bytes(s).len()))
            .collect::<Vec<_>>()
    };
    let content =
        |variant| run(variant, &Misfortunes::default()).seen.iter().map(|s| bytes(s).to_vec()).collect::<Vec<_>>();
    for variant in Variant::all().filter(|v| v.cipher == Cipher::Null) {
        let tls = Variant { cipher: Cipher::Tls, ..variant };
        assert_eq!(shape(tls), shape(tls), "{variant:?}");
        assert_eq!(shape(tls), shape(variant), "{variant:?}: the null cipher has other lengths");
        assert_eq!(content(variant), content(variant), "{variant:?}");
    }
}

#[test]
fn early_data_that_the_server_does_not_take_is_sent_again() {
    for variant in Variant::all().filter(|v| v.session == Session::EarlyData) {
        let mut pair = variant.ends([variant.memory(), None], 3000);
        assert!(pair.run(Span::from_secs(300)), "still going: {variant:?}");
        pair.assert_complete();
        let asked = pair.server_log.streams[0].3.unwrap().since(Time::ZERO);
        assert!(asked >= DELAY * (2 * (variant.round_trips() + 1) + 1), "{variant:?}: {asked}");
    }
}

#[test]
fn a_client_that_remembers_nothing_begins_a_new_session() {
    for variant in Variant::all().filter(|v| v.session == Session::EarlyData) {
        let mut pair = variant.ends([None, variant.memory()], 3000);
        assert!(pair.run(Span::from_secs(300)), "still going: {variant:?}");
        pair.assert_complete();
        assert!(!pair.seen.iter().flat_map(forms).any(|form| form == Form::Early), "{variant:?}");
    }
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
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_misfortunes_at_once_are_survived(
        variant in (0usize..48).prop_map(|n| Variant::all().nth(n).unwrap()),
        events in Misfortunes::several(),
    ) {
        run(variant, &events);
    }
}
