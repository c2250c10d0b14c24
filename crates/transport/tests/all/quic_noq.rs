//! Packets as noq sends them: its pacer holds back all of them, acknowledgements wait until they are due, and probe timeouts grow by
//! two seconds at most.

use crate::common;

use common::{Exchange, Pair, Seen, gigabit};
use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_transport::quic::{AcksWait, Config, Connection, Frame, Pacing};
use haltere_transport::{Body, Role, cc};

/// A transfer of 20 kB over a path with a one-way delay of `ms` down and none up.
fn pair(ms: u64, change: impl Fn(&mut Config)) -> Pair<Connection, Connection> {
    let end = |role| {
        let mut config = Config::new(role, cc::CUBIC, Streams::new(9, 0).named("cc"));
        change(&mut config);
        Connection::new(config)
    };
    let exchange = Exchange { streams: vec![(200, 20_000)] };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &gigabit(0), &gigabit(ms), 4, exchange);
    pair.keep = true;
    pair
}

fn frames(seen: &Seen) -> Vec<&Frame> {
    let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
    datagram.packets.iter().flat_map(|packet| packet.frames.iter()).collect()
}

fn is_ack(frame: &Frame) -> bool {
    matches!(frame, Frame::Ack(_) | Frame::AckEcn(_))
}

/// The times since the first at which packets of one end left, in tenths of a millisecond.
fn times(pair: &Pair<Connection, Connection>, from: Role, which: impl Fn(&Seen) -> bool) -> Vec<u64> {
    let all: Vec<Time> = pair.seen.iter().filter(|seen| seen.from == from && which(seen)).map(|seen| seen.at).collect();
    all.iter().map(|at| at.since(all[0]).as_nanos() / 100_000).collect()
}

#[test]
fn a_short_bucket_lets_a_datagram_of_the_first_flight_go_at_a_time() {
    let mut spread = pair(200, |_| {});
    assert!(spread.run(Span::from_secs(10)));
    assert_eq!(times(&spread, Role::Server, |_| true)[..3], [0, 0, 0]);
    let mut held = pair(200, |config| config.pacer = Pacing::ShortBucket);
    assert!(held.run(Span::from_secs(10)));
    held.assert_complete();
    // 1200 bytes at 1.25 windows of 12 000 bytes an RTT that is supposed to be 333 ms.
    assert_eq!(times(&held, Role::Server, |_| true)[..3], [0, 266, 532]);
}

#[test]
fn a_short_bucket_holds_back_probes() {
    let mut held = pair(200, |config| config.pacer = Pacing::ShortBucket);
    held.censor = Some(Box::new(|seen| seen.from == Role::Server));
    assert!(!held.run(Span::from_secs(4)));
    // Probes go in pairs after 999 ms and twice as much; the second of a pair waits 26.6 ms for tokens.
    assert_eq!(times(&held, Role::Client, |_| true)[1..], [9990, 10256, 30236, 30502]);
    let mut free = pair(200, |_| {});
    free.censor = Some(Box::new(|seen| seen.from == Role::Server));
    assert!(!free.run(Span::from_secs(4)));
    assert_eq!(times(&free, Role::Client, |_| true)[1..], [9990, 9990, 29970, 29970]);
}

#[test]
fn probe_timeouts_grow_by_a_step_at_most() {
    let probes = |step| {
        let mut pair = pair(200, |config| config.probe_step = step);
        pair.censor = Some(Box::new(|_| true));
        assert!(!pair.run(Span::from_secs(17)));
        let mut times = times(&pair, Role::Client, |_| true);
        times.dedup();
        times
    };
    // Without a sample the probe timeout is 999 ms: 333 ms and four times half of them.
    assert_eq!(probes(Span::MAX), [0, 9990, 29970, 69930, 149_850]);
    // 3996 ms are less than 1998 ms and two seconds, and 5996 ms less than twice that.
    assert_eq!(probes(Span::from_secs(2)), [0, 9990, 29970, 69930, 129_890]);
}

#[test]
fn acknowledgements_wait_until_they_are_due_or_go_before_or_behind_data() {
    let first = |wait| {
        let mut pair = pair(50, |config| config.acks_wait = wait);
        assert!(pair.run(Span::from_secs(10)));
        pair.assert_complete();
        let data = |seen: &&Seen| frames(seen).iter().any(|frame| matches!(frame, Frame::Stream { .. }));
        let answer = pair.seen.iter().filter(|seen| seen.from == Role::Server).find(data).unwrap();
        let frames = frames(answer);
        let stream = frames.iter().position(|frame| matches!(frame, Frame::Stream { .. })).unwrap();
        frames.iter().position(|frame| is_ack(frame)).map(|ack| ack < stream)
    };
    assert_eq!(first(AcksWait::Never), Some(true));
    assert_eq!(first(AcksWait::UntilDue), None);
}
