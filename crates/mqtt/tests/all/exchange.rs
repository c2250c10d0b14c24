//! Exactly once, at least once, at most once: whatever is lost, and whoever starts again.

use crate::common;

use common::{Net, message};
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{BrokerConfig, ClientConfig, Forward, Limit, QoS, Streams, Version};
use proptest::prelude::*;

#[test]
fn a_message_of_each_qos_arrives_once_on_any_streams() {
    for version in [Version::V311, Version::V5] {
        for streams in [Streams::One, Streams::Topic, Streams::Message] {
            let mut net = Net::new(BrokerConfig::default());
            let config = |id| ClientConfig { version, streams, topic_alias_maximum: 3, ..ClientConfig::new(id) };
            let (publisher, subscriber) = (net.add(config("p")), net.add(config("s")));
            net.connect(subscriber);
            net.settle();
            let now = net.now;
            net.peers[subscriber].client.subscribe(&[Subscription::new("a/+", QoS::ExactlyOnce)], now).unwrap();
            net.settle();
            net.connect(publisher);
            for n in 0..30 {
                let qos = QoS::of((n % 3) as u8).unwrap();
                net.publish(publisher, message(["a/x", "a/y"][n as usize % 2], n, qos));
            }
            net.settle();
            let got = net.peers[subscriber].numbers();
            assert_eq!(got, (0..30).collect::<Vec<_>>(), "{version:?} {streams:?}");
            assert_eq!(net.peers[publisher].client.pending(), 0);
            assert_eq!(net.brokers[0].pending("s"), Some((0, 0)));
        }
    }
}

/// A step of a random history.
#[derive(Clone, Copy, Debug)]
enum Move {
    Publish,
    Up(usize),
    Down(usize),
    Cut(usize),
    Connect(usize),
    Restart,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => Just(Move::Publish),
        12 => (0..2usize).prop_map(Move::Up),
        12 => (0..2usize).prop_map(Move::Down),
        2 => (0..2usize).prop_map(Move::Cut),
        4 => (0..2usize).prop_map(Move::Connect),
        1 => Just(Move::Restart),
    ];
    prop::collection::vec(one, 1..300)
}

/// Runs the moves with persistent sessions, then lets everything arrive. Returns how many were published, and what came.
fn play(version: Version, streams: Streams, forward: Forward, qos: QoS, moves: &[Move]) -> (u32, Vec<u32>) {
    let queue = Limit { messages: usize::MAX, ..BrokerConfig::default().queue };
    let mut net = Net::new(BrokerConfig { queue, forward, window: 3, receive_maximum: 3, ..BrokerConfig::default() });
    let config = |id| ClientConfig {
        version,
        streams,
        clean: false,
        session_expiry: u32::MAX,
        // MQTT 3.1.1 has no Receive Maximum.
        window: 3,
        ..ClientConfig::new(id)
    };
    let (publisher, subscriber) = (net.add(config("p")), net.add(config("s")));
    net.brokers[0].add_session("s", &[Subscription::new("t", QoS::ExactlyOnce)]);
    let mut published = 0;
    for step in moves {
        match *step {
            Move::Publish => {
                net.publish(publisher, message("t", published, qos));
                published += 1;
            }
            Move::Up(i) => {
                net.step_up(i);
            }
            Move::Down(i) => {
                net.step_down(i);
            }
            Move::Cut(i) => net.cut(i),
            Move::Connect(i) => net.connect(i),
            Move::Restart => net.restart(0),
        }
    }
    for i in [subscriber, publisher] {
        net.connect(i);
        net.settle();
    }
    assert_eq!(net.peers[publisher].client.pending(), 0, "everything is acknowledged in the end");
    (published, net.peers[subscriber].numbers())
}

fn versions() -> impl Strategy<Value = (Version, Streams, Forward)> {
    let streams = prop_oneof![Just(Streams::One), Just(Streams::Topic), Just(Streams::Message)];
    let forward = prop_oneof![Just(Forward::Publish), Just(Forward::Release)];
    (prop_oneof![Just(Version::V311), Just(Version::V5)], streams, forward)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn qos_2_has_neither_a_duplicate_nor_a_gap((version, streams, forward) in versions(), moves in moves()) {
        let (published, mut got) = play(version, streams, forward, QoS::ExactlyOnce, &moves);
        if streams != Streams::One {
            // Between streams there is no order.
            got.sort_unstable();
        }
        prop_assert_eq!(got, (0..published).collect::<Vec<_>>());
    }

    #[test]
    fn qos_1_has_no_gap((version, streams, forward) in versions(), moves in moves()) {
        let (published, mut got) = play(version, streams, forward, QoS::AtLeastOnce, &moves);
        got.sort_unstable();
        got.dedup();
        prop_assert_eq!(got, (0..published).collect::<Vec<_>>());
    }

    #[test]
    fn qos_0_has_no_duplicate((version, streams, forward) in versions(), moves in moves()) {
        let (_, mut got) = play(version, streams, forward, QoS::AtMostOnce, &moves);
        let all = got.len();
        got.sort_unstable();
        got.dedup();
        prop_assert_eq!(got.len(), all);
    }
}

/// A broker ignores packets that it reads after DISCONNECT, on whichever stream; so the client sends DISCONNECT when
/// all streams were read.
#[test]
fn a_client_that_leaves_says_disconnect_once_all_streams_were_read() {
    for streams in [Streams::One, Streams::Topic, Streams::Message] {
        let mut net = Net::new(BrokerConfig::default());
        let config = |id| ClientConfig { streams, clean: false, session_expiry: u32::MAX, ..ClientConfig::new(id) };
        let (publisher, subscriber) = (net.add(config("p")), net.add(config("s")));
        net.brokers[0].add_session("s", &[Subscription::new("#", QoS::AtMostOnce)]);
        net.connect(subscriber);
        net.connect(publisher);
        net.settle();
        for round in 0..3 {
            for n in 0..4 {
                net.publish(publisher, message(["a", "b"][n as usize % 2], 10 * round + n, QoS::AtMostOnce));
            }
            let now = net.now;
            net.peers[publisher].client.leave(now).unwrap();
            // What comes now waits for the next connection.
            net.publish(publisher, message("a", 10 * round + 4, QoS::AtMostOnce));
            net.collect();
            // The control stream overtakes the others.
            let up = &mut net.peers[publisher].up;
            let (control, others): (Vec<_>, Vec<_>) = up
                .drain(..)
                .partition(|output| matches!(output, haltere_mqtt::Output::Bytes { lane, .. } if lane.number == 0));
            up.extend(control);
            up.extend(others);
            net.settle();
            assert!(!net.peers[publisher].client.is_online());
            net.connect(publisher);
            net.settle();
        }
        let mut got = net.peers[subscriber].numbers();
        got.sort_unstable();
        let wanted: Vec<u32> = (0..3).flat_map(|round| (0..5).map(move |n| 10 * round + n)).collect();
        assert_eq!(got, wanted, "{streams:?}");
    }
}

#[test]
fn a_message_of_qos_2_is_passed_on_when_it_comes_or_when_it_is_released() {
    for (forward, by_publish) in [(Forward::Publish, 1), (Forward::Release, 0)] {
        let mut net = Net::new(BrokerConfig { forward, ..BrokerConfig::default() });
        let (publisher, subscriber) = (net.add(ClientConfig::new("p")), net.add(ClientConfig::new("s")));
        net.brokers[0].add_session("s", &[Subscription::new("t", QoS::ExactlyOnce)]);
        for i in [publisher, subscriber] {
            let clean = ClientConfig { clean: false, ..net.peers[i].client.config().clone() };
            net.peers[i].client = haltere_mqtt::Client::new(clean);
            net.connect(i);
        }
        net.settle();
        net.publish(publisher, message("t", 7, QoS::ExactlyOnce));
        // PUBLISH reaches the broker; its PUBREC stays on the way.
        net.step_up(publisher);
        while net.step_down(subscriber) {}
        assert_eq!(net.peers[subscriber].numbers().len(), by_publish, "{forward:?}");
        net.settle();
        assert_eq!(net.peers[subscriber].numbers(), [7], "{forward:?}");
    }
}
