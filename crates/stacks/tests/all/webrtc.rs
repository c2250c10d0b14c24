//! Calls of str0m over a link: frames arrive, the rate follows the link, losses are repaired, runs repeat to the byte.

use crate::ends::calls::{End, link};
use crate::ends::common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::rng::Streams;
use haltere_net::varying::{Between, Profile};
use haltere_net::{Packet, Span, Time};
use haltere_stacks::{Config, Congestion, STR0M};
use haltere_transport::{Body, Endpoint, Role};
use std::hash::{DefaultHasher, Hash, Hasher};

type Call = Pair<End, End>;

fn end(role: Role, seed: u64) -> End {
    End::new(Config::new(role, STR0M, Congestion::Own("gcc")), seed)
}

fn call(down: &LinkConfig, seed: u64) -> Call {
    let exchange = Exchange { streams: Vec::new() };
    Pair::new(end(Role::Client, seed), end(Role::Server, seed), &link(10_000), down, seed, exchange)
}

#[test]
fn a_call_connects_and_its_rate_reaches_that_of_the_link_and_stays_below() {
    let mut call = call(&link(1_000), 1);
    call.run(Span::from_secs(40));
    assert_eq!((call.client_log.connected, call.server_log.connected), (1, 1));
    assert!(call.server_log.connected_at.unwrap() < Time::ZERO + Span::from_secs(2));
    let rate = call.client.received(10, 40);
    assert!((600_000..1_000_000).contains(&rate), "{rate} bit/s of 1 Mbit/s");
    // It fills the queue now and then, which overflows, and what it tells its encoder follows its estimate late.
    let (sent, shown) = (call.server.sent.len(), call.client.shown.iter().map(|s| s.1).collect::<Vec<_>>());
    assert!(shown.len() * 100 >= sent * 85, "{} of {sent}", shown.len());
    assert!(shown.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert!(shown.iter().all(|frame| call.server.sent[frame.number as usize] == *frame));
    assert!(call.server.stats().min_rtt.unwrap() >= Span::from_millis(50));
}

#[test]
fn the_rate_falls_when_the_link_becomes_slower_and_rises_again() {
    let mut down = link(2_000);
    let at = [0, 30, 60].map(Span::from_secs);
    down.rate_profile = Some(Profile::new(&at, &[2_000_000, 500_000, 2_000_000], Between::Step, None).unwrap());
    let mut call = call(&down, 2);
    call.run(Span::from_secs(100));
    let rates = [(15, 30), (40, 60), (85, 100)].map(|(from, to)| call.client.received(from, to));
    assert!(rates[0] > 1_000_000 && rates[0] < 2_000_000, "{rates:?}");
    assert!(rates[1] > 200_000 && rates[1] < 500_000, "{rates:?}");
    assert!(rates[2] > 1_000_000 && rates[2] < 2_000_000, "{rates:?}");
    assert!(call.server.mean(40, 60) < 600_000);
}

#[test]
fn losses_are_repaired() {
    let mut down = link(5_000);
    down.loss = LossModel::Uniform { p: 0.02 };
    let mut call = call(&down, 3);
    call.run(Span::from_secs(30));
    let (sent, shown) = (call.server.sent.len(), call.client.shown.len());
    // Of 30 frames of several packets each, 2 % of packets would take away one in ten.
    assert!(shown * 100 >= (sent - 60) * 98, "{shown} of {sent}");
    assert!(call.server.stats().retransmitted_packets > 20);
    assert!(call.server.stats().lost_packets > 0);
}

#[test]
fn a_key_frame_that_is_wanted_is_asked_for() {
    let mut call = call(&link(2_000), 4);
    call.run(Span::from_secs(5));
    assert_eq!(call.server.wanted, 0);
    call.client_does(|client, _| client.want_key_frame());
    call.go_on(Span::from_secs(6));
    assert_eq!(call.server.wanted, 1);
    assert!(call.client.shown.iter().filter(|s| s.1.key).count() == 2);
}

#[test]
fn an_end_that_closes_tells_the_other() {
    let mut call = call(&link(2_000), 5);
    call.run(Span::from_secs(5));
    call.close_client();
    call.go_on(Span::from_secs(8));
    assert_eq!((call.client_log.closed, call.server_log.closed), (1, 1));
}

#[test]
fn a_call_that_nobody_answers_is_given_up() {
    let mut down = link(2_000);
    down.loss = LossModel::Uniform { p: 1.0 };
    let mut call = call(&down, 6);
    call.run(Span::from_secs(60));
    assert!(call.client_log.failed.is_some() && call.client_log.connected == 0);
}

/// Two hashes over all datagrams of a run: of their times and lengths, of their bytes.
fn run(seed: u64) -> (u64, u64, usize) {
    let mut down = link(1_500);
    down.loss = LossModel::Uniform { p: 0.02 };
    down.duplication = 0.01;
    let mut call = call(&down, seed);
    call.keep = true;
    call.run(Span::from_secs(25));
    let (mut shape, mut content) = (DefaultHasher::new(), DefaultHasher::new());
    for seen in &call.seen {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram") };
        (seen.at, seen.by_client(), bytes.len()).hash(&mut shape);
        bytes.hash(&mut content);
    }
    (shape.finish(), content.finish(), call.seen.len())
}

#[test]
fn runs_repeat_to_the_byte_and_depend_on_the_seed() {
    for seed in 7..11 {
        assert_eq!(run(seed), run(seed), "seed {seed}");
    }
    assert_ne!(run(7).1, run(8).1);
}

#[test]
fn runs_in_two_threads_do_not_mix() {
    let alone = run(12);
    let threads: Vec<_> = (0..3).map(|_| std::thread::spawn(|| run(12))).collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), alone);
    }
}

#[test]
fn datagrams_of_others_do_no_harm() {
    let mut dice = Streams::new(13, 0).named("hostile");
    let mut call = call(&link(1_000), 13);
    call.keep = true;
    call.run(Span::from_secs(10));
    let seen: Vec<Vec<u8>> = call
        .seen
        .iter()
        .filter_map(|seen| if let Body::Udp(bytes) = &seen.packet.body { Some(bytes.clone()) } else { None })
        .collect();
    for round in 0..2_000 {
        // Bytes of chance behind each first byte that str0m tells apart, and datagrams of the call with a byte changed, or cut short.
        let bytes = if round % 2 == 0 {
            let first = [0, 1, 20, 22, 63, 128, 144, 191][dice.below(8) as usize];
            let len = 1 + dice.below(200);
            std::iter::once(first).chain((1..len).map(|_| dice.bits() as u8)).collect()
        } else {
            let mut bytes = seen[dice.below(seen.len() as u64) as usize].clone();
            let at = dice.below(bytes.len() as u64) as usize;
            if round % 4 == 1 {
                bytes[at] ^= 1 << dice.below(8)
            } else {
                bytes.truncate(at)
            }
            bytes
        };
        let packet = Packet::new(28 + bytes.len() as u32, Body::Udp(bytes));
        if dice.chance(0.5) { call.give_client(packet) } else { call.give_server(packet) }
    }
    assert!(call.server.stats().invalid_packets > 100);
    call.go_on(Span::from_secs(30));
    assert!(!call.client_log.over() && !call.server_log.over());
    let rate = call.client.received(20, 30);
    assert!(rate > 500_000, "{rate} bit/s");
}
