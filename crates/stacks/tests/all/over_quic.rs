//! Calls over the QUIC of production stacks: frames arrive, losses are repaired by who is to, the inner control holds packets back, runs
//! repeat to the byte, and no bytes do harm.

use crate::ends::STACKS;
use crate::ends::calls::{End, link};
use crate::ends::common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::rng::Streams;
use haltere_net::{Packet, Rate, Span, Time};
use haltere_stacks::{Cipher, Config, Congestion, OverQuic, QUINN, Stack};
use haltere_transport::cc::{self, RenoFriendly};
use haltere_transport::roq::{self, Mapping, UNLIMITED};
use haltere_transport::rtp::control::{Control, GCC, NADA, SCREAM};
use haltere_transport::{Body, Endpoint, Role};
use std::hash::{DefaultHasher, Hash, Hasher};

const MAPPINGS: [Mapping; 3] = [Mapping::Datagrams, Mapping::StreamPerFrame, Mapping::StreamPerGroup];
const NONE: Congestion = Congestion::Ours(UNLIMITED, None, RenoFriendly::Linux);
const NEWRENO: Congestion = Congestion::Own("newreno");

/// The set-up of a call.
#[derive(Clone, Copy)]
struct SetUp {
    stack: Stack,
    control: Control,
    mapping: Mapping,
    inner: Congestion,
    cipher: Cipher,
}

impl Default for SetUp {
    fn default() -> SetUp {
        SetUp { stack: QUINN, control: GCC, mapping: Mapping::Datagrams, inner: NONE, cipher: Cipher::Tls }
    }
}

fn end(role: Role, set_up: SetUp, seed: u64) -> End {
    let mut config = Config::new(role, set_up.stack, set_up.inner);
    config.cipher = set_up.cipher;
    let own = roq::Config::new(role, set_up.control, Streams::new(seed, 0).named("unused"));
    let mut media = own.media;
    media.rates = [150_000, 2_500_000, 300_000].map(Rate::from_bps);
    config.over_quic = Some(OverQuic { media, mapping: set_up.mapping });
    End::new(config, seed)
}

fn call(down: &LinkConfig, set_up: SetUp, seed: u64) -> Pair<End, End> {
    let exchange = Exchange { streams: Vec::new() };
    let [client, server] = [Role::Client, Role::Server].map(|role| end(role, set_up, seed));
    Pair::new(client, server, &link(10_000), down, seed, exchange)
}

fn lossy(p: f64) -> LinkConfig {
    LinkConfig { loss: LossModel::Uniform { p }, ..link(5_000) }
}

#[test]
fn without_losses_every_frame_arrives_once() {
    for stack in STACKS {
        for control in [GCC, NADA, SCREAM] {
            for mapping in MAPPINGS {
                let set_up = SetUp { stack, control, mapping, ..SetUp::default() };
                let mut call = call(&link(10_000), set_up, 1);
                call.run(Span::from_secs(10));
                let said = format!("{}, {control:?}, {mapping:?}", stack.name());
                assert_eq!((call.client_log.connected, call.server_log.connected), (1, 1), "{said}");
                let (sent, shown) = (&call.server.sent, &call.client.shown);
                assert!(sent.len() > 290 && shown.len() + 4 >= sent.len(), "{said}: {} of {}", shown.len(), sent.len());
                let mut numbers: Vec<u64> = shown.iter().map(|one| one.1.number).collect();
                numbers.sort_unstable();
                assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "{said}");
                assert!(shown.iter().all(|one| sent[one.1.number as usize] == one.1), "{said}");
                assert!(call.client.received(5, 10) > 250_000, "{said}: {}", call.client.received(5, 10));
                assert_eq!(call.server.stats().retransmitted_packets, 0, "{said}");
            }
        }
    }
}

#[test]
fn what_is_lost_is_repaired() {
    for stack in STACKS {
        for mapping in MAPPINGS {
            let mut call = call(&lossy(0.02), SetUp { stack, mapping, ..SetUp::default() }, 2);
            call.run(Span::from_secs(30));
            let (sent, shown) = (call.server.sent.len(), call.client.shown.len());
            // Of 30 frames of several packets each, 2 % of packets would take away one in ten.
            let said = format!("{}, {mapping:?}: {shown} of {sent}", stack.name());
            assert!(shown * 100 >= (sent - 30) * 99, "{said}");
            let stats = call.server.stats();
            assert!(stats.retransmitted_packets > 20 && stats.lost_packets > 20, "{said}, {stats:?}");
        }
    }
}

#[test]
fn without_repairs_what_datagrams_lose_is_lost() {
    let exchange = Exchange { streams: Vec::new() };
    let plain = |role| {
        let set_up = SetUp::default();
        let mut config = Config::new(role, QUINN, set_up.inner);
        let mut media = roq::Config::new(role, GCC, Streams::new(3, 0).named("unused")).media;
        media.repair = false;
        config.over_quic = Some(OverQuic { media, mapping: Mapping::Datagrams });
        End::new(config, 3)
    };
    let [client, server] = [Role::Client, Role::Server].map(plain);
    let mut call = Pair::new(client, server, &link(10_000), &lossy(0.02), 3, exchange);
    call.run(Span::from_secs(30));
    assert!(call.client.shown.len() + 20 < call.server.sent.len());
    assert_eq!(call.server.stats().retransmitted_packets, 0);
}

#[test]
fn the_inner_control_decides_when_packets_leave() {
    let rate = |stack, inner| {
        let mut call = call(&lossy(0.02), SetUp { stack, inner, ..SetUp::default() }, 4);
        call.run(Span::from_secs(30));
        call.client.received(10, 30)
    };
    for stack in STACKS {
        let (newreno, none) = (rate(stack, NEWRENO), rate(stack, NONE));
        assert!(newreno * 3 < none * 2, "{}: {newreno} bit/s with NewReno, {none} without", stack.name());
    }
    // An algorithm of ours takes that place, too.
    let bbr = rate(QUINN, Congestion::Ours(cc::BBR, None, RenoFriendly::default()));
    assert!(bbr > rate(QUINN, NEWRENO), "{bbr} bit/s");
}

/// The mean rate of calls with losses over QUIC with an inner control, bit/s.
fn mean_rate(inner: Congestion) -> f64 {
    const CALLS: u64 = 20;
    let rate = |seed| {
        let down = LinkConfig { loss: LossModel::Uniform { p: 0.01 }, ..link(2_000) };
        let mut call = call(&down, SetUp { inner, ..SetUp::default() }, seed);
        call.run(Span::from_secs(60));
        call.client.received(0, 60)
    };
    (0..CALLS).map(rate).sum::<u64>() as f64 / CALLS as f64
}

#[test]
fn the_rule_in_place_of_reno_makes_the_difference_between_quinns_cubic_and_ours() {
    let ours = |rule| mean_rate(Congestion::Ours(cc::CUBIC, None, rule));
    let (own, quinn, linux) =
        (mean_rate(Congestion::Own("cubic")), ours(RenoFriendly::Quinn), ours(RenoFriendly::Linux));
    assert!((quinn / own - 1.0).abs() < 0.1 && linux < 0.85 * own, "{own}, ours {quinn} and {linux} bit/s");
}

#[test]
fn a_link_that_is_full_is_not_flooded() {
    for mapping in MAPPINGS {
        let mut call = call(&link(1_000), SetUp { mapping, ..SetUp::default() }, 5);
        call.run(Span::from_secs(40));
        let rate = call.client.received(20, 40);
        assert!((500_000..1_000_000).contains(&rate), "{mapping:?}: {rate} bit/s of 1 Mbit/s");
    }
}

#[test]
fn a_key_frame_that_is_wanted_is_asked_for_and_a_silent_peer_ends_the_call() {
    let mut calling = call(&link(2_000), SetUp::default(), 6);
    calling.run(Span::from_secs(5));
    assert_eq!(calling.server.wanted, 0);
    calling.client_does(|client, _| client.want_key_frame());
    calling.go_on(Span::from_secs(6));
    assert_eq!(calling.server.wanted, 1);
    let mut deaf = link(2_000);
    deaf.loss = LossModel::Uniform { p: 1.0 };
    let mut calling = call(&deaf, SetUp::default(), 6);
    calling.run(Span::from_secs(60));
    assert!(calling.client_log.failed.is_some() && calling.client_log.connected == 0);
}

/// Two hashes over all datagrams of a run: of their times and lengths, of their bytes.
fn run(set_up: SetUp, seed: u64) -> (u64, u64, usize) {
    let mut down = lossy(0.02);
    down.duplication = 0.01;
    let mut call = call(&down, set_up, seed);
    call.keep = true;
    call.run(Span::from_secs(15));
    let (mut shape, mut content) = (DefaultHasher::new(), DefaultHasher::new());
    for seen in &call.seen {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram") };
        (seen.at, seen.by_client(), bytes.len()).hash(&mut shape);
        bytes.hash(&mut content);
    }
    (shape.finish(), content.finish(), call.seen.len())
}

#[test]
fn runs_repeat_and_without_a_cipher_to_the_byte() {
    for stack in STACKS {
        for mapping in MAPPINGS {
            let set_up = SetUp { stack, mapping, inner: NEWRENO, ..SetUp::default() };
            let plain = SetUp { cipher: Cipher::Null, ..set_up };
            assert_eq!(run(plain, 7), run(plain, 7), "{}, {mapping:?}", stack.name());
            assert_eq!(run(set_up, 7).0, run(set_up, 7).0, "{}, {mapping:?}", stack.name());
            assert_ne!(run(plain, 7).0, run(plain, 8).0);
        }
    }
}

#[test]
fn datagrams_of_others_do_no_harm() {
    let mut dice = Streams::new(13, 0).named("hostile");
    let mut call = call(&link(1_000), SetUp::default(), 13);
    call.keep = true;
    call.run(Span::from_secs(5));
    let bytes_of = |packet: &Packet<Body>| match &packet.body {
        Body::Udp(bytes) => bytes.clone(),
        _ => Vec::new(),
    };
    let seen: Vec<Vec<u8>> = call.seen.iter().map(|seen| bytes_of(&seen.packet)).collect();
    for _ in 0..1_000 {
        let mut bytes = seen[dice.below(seen.len() as u64) as usize].clone();
        let at = dice.below(bytes.len() as u64) as usize;
        if dice.chance(0.5) {
            bytes[at] ^= 1 << dice.below(8)
        } else {
            bytes.truncate(at)
        }
        let packet = Packet::new(28 + bytes.len() as u32, Body::Udp(bytes));
        if dice.chance(0.5) { call.give_client(packet) } else { call.give_server(packet) }
    }
    assert!(call.server.stats().invalid_packets > 100);
    call.go_on(Span::from_secs(20));
    assert!(!call.client_log.over() && !call.server_log.over());
    assert!(call.client.received(10, 20) > 400_000 && call.client_log.connected_at.unwrap() > Time::ZERO);
}
