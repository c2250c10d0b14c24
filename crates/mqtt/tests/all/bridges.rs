//! Bridges between brokers: what crosses them, what does not come back, and how often a message arrives.

use crate::common;

use common::{Net, message};
use haltere_mqtt::packet::Subscription;
use haltere_mqtt::{BridgeTopic, Broker, BrokerConfig, ClientConfig, Direction, DropPolicy, Limit, QoS, Version};
use proptest::prelude::*;

const BOTH: [Version; 2] = [Version::V311, Version::V5];

fn topic(filter: &str, direction: Direction, qos: QoS) -> BridgeTopic {
    BridgeTopic { filter: filter.into(), direction, qos }
}

/// A client that keeps its session.
fn lasting(version: Version, client_id: &str) -> ClientConfig {
    // MQTT 3.1.1 has no Receive Maximum.
    ClientConfig { version, clean: false, session_expiry: u32::MAX, window: 3, ..ClientConfig::new(client_id) }
}

fn config() -> BrokerConfig {
    let queue = Limit { messages: usize::MAX, drop: DropPolicy::Newest };
    BrokerConfig { queue, window: 3, receive_maximum: 3, ..BrokerConfig::default() }
}

/// So many brokers, and at each a client that has subscribed to everything.
fn brokers(version: Version, count: usize) -> Net {
    let mut net = Net::new(config());
    net.brokers = (0..count).map(|_| Broker::new(config())).collect();
    for at in 0..count {
        let client = net.add(lasting(version, &format!("client {at}")));
        net.peers[client].at = at;
        net.brokers[at].add_session(&format!("client {at}"), &[Subscription::new("#", QoS::ExactlyOnce)]);
        net.connect(client);
    }
    net.settle();
    net
}

/// The numbers of the messages that each client has got since the last call.
fn found(net: &mut Net, clients: usize) -> Vec<Vec<u32>> {
    net.settle();
    let all = (0..clients).map(|i| net.peers[i].numbers()).collect();
    net.peers.iter_mut().for_each(|peer| peer.events.clear());
    all
}

#[test]
fn each_topic_crosses_a_bridge_the_ways_it_is_to() {
    for version in BOTH {
        let mut net = brokers(version, 2);
        let topics = [
            topic("out/#", Direction::Out, QoS::ExactlyOnce),
            topic("in/#", Direction::In, QoS::ExactlyOnce),
            topic("both/#", Direction::Both, QoS::ExactlyOnce),
        ];
        let bridge = net.bridge(0, 1, lasting(version, "bridge"), &topics);
        net.connect(bridge);
        for (name, from_first, from_second) in
            [("out/x", [1, 1], [0, 1]), ("in/x", [1, 0], [1, 1]), ("both/x", [1, 1], [1, 1]), ("none", [1, 0], [0, 1])]
        {
            for (publisher, wanted) in [(0, from_first), (1, from_second)] {
                net.settle();
                net.publish(publisher, message(name, 7, QoS::ExactlyOnce));
                let counts: Vec<usize> = found(&mut net, 2).iter().map(Vec::len).collect();
                assert_eq!(counts, wanted, "{version:?}: {name} published at {publisher}");
            }
        }
    }
}

#[test]
fn a_message_crosses_each_bridge_of_a_chain_once_and_none_comes_back() {
    for version in BOTH {
        for qos in [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let mut net = brokers(version, 4);
            // Two of the three are the later broker's.
            for (home, at) in [(0, 1), (2, 1), (3, 2)] {
                let all = [topic("#", Direction::Both, QoS::ExactlyOnce)];
                let bridge = net.bridge(home, at, lasting(version, &format!("bridge {home}")), &all);
                net.connect(bridge);
            }
            net.settle();
            for publisher in 0..4 {
                net.publish(publisher, message("t", publisher as u32, qos));
                assert_eq!(found(&mut net, 4), vec![vec![publisher as u32]; 4], "{version:?} {qos:?}");
            }
        }
    }
}

#[test]
fn a_bridge_lowers_the_qos_and_keeps_the_retain_flag() {
    for version in BOTH {
        let mut net = brokers(version, 2);
        let bridge = net.bridge(0, 1, lasting(version, "bridge"), &[topic("#", Direction::Both, QoS::AtLeastOnce)]);
        net.connect(bridge);
        net.settle();
        for publisher in 0..2 {
            let retained = haltere_mqtt::Message { retain: true, ..message("t", 1, QoS::ExactlyOnce) };
            net.publish(publisher, retained);
            net.settle();
            let other = 1 - publisher;
            let got: Vec<QoS> = net.peers[other].messages().iter().map(|m| m.qos).collect();
            assert_eq!(got, [QoS::AtLeastOnce], "{version:?} {publisher}");
            // Who comes later finds it at the other broker.
            let late = net.add(ClientConfig { version, ..ClientConfig::new("late") });
            net.peers[late].at = other;
            net.connect(late);
            net.settle();
            let now = net.now;
            net.peers[late].client.subscribe(&[Subscription::new("t", QoS::AtMostOnce)], now).unwrap();
            net.settle();
            assert_eq!(net.peers[late].messages().iter().map(|m| m.retain).collect::<Vec<_>>(), [true]);
            net.cut(late);
            net.peers.pop();
            net.peers.iter_mut().for_each(|peer| peer.events.clear());
        }
    }
}

#[test]
fn while_a_bridge_is_out_its_queue_is_limited_and_qos_0_is_dropped() {
    for (drop, kept) in [(DropPolicy::Newest, [1, 2]), (DropPolicy::Oldest, [3, 4])] {
        let mut net = brokers(Version::V5, 1);
        net.brokers[0] = Broker::new(BrokerConfig { queue: Limit { messages: 2, drop }, ..BrokerConfig::default() });
        net.brokers.push(Broker::new(config()));
        net.brokers[1].add_session("client 1", &[Subscription::new("#", QoS::ExactlyOnce)]);
        net.cut(0);
        net.connect(0);
        let there = net.add(lasting(Version::V5, "client 1"));
        net.peers[there].at = 1;
        net.connect(there);
        let bridge = net.bridge(0, 1, lasting(Version::V5, "bridge"), &[topic("#", Direction::Out, QoS::AtLeastOnce)]);
        net.settle();
        net.publish(0, message("t", 0, QoS::AtMostOnce));
        for number in 1..=4 {
            net.publish(0, message("t", number, QoS::AtLeastOnce));
        }
        net.settle();
        let peer = &mut net.peers[bridge];
        let dropped = std::iter::from_fn(|| peer.bridge.as_mut().and_then(|(bridge, _)| bridge.poll_dropped()));
        assert_eq!(dropped.count(), 3);
        net.connect(bridge);
        net.settle();
        assert_eq!(net.peers[there].numbers(), kept);
    }
}

/// The connection may be lost between CONNACK and SUBACK: the session is there then, and the subscription is not.
#[test]
fn a_bridge_subscribes_until_it_is_granted() {
    let mut net = brokers(Version::V5, 2);
    let bridge = net.bridge(0, 1, lasting(Version::V5, "bridge"), &[topic("#", Direction::In, QoS::AtLeastOnce)]);
    net.connect(bridge);
    assert!(net.step_up(bridge) && net.step_down(bridge), "CONNECT, CONNACK");
    net.connect(bridge);
    net.settle();
    net.publish(1, message("t", 3, QoS::AtLeastOnce));
    assert_eq!(found(&mut net, 2), [[3], [3]]);
}

/// A step of a random history.
#[derive(Clone, Copy, Debug)]
enum Move {
    Publish,
    Up(usize),
    Down(usize),
    Cut(usize),
    Connect(usize),
    Restart(usize),
}

/// Publisher, subscriber and the two bridges.
const PEERS: usize = 4;

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        6 => Just(Move::Publish),
        20 => (0..PEERS).prop_map(Move::Up),
        20 => (0..PEERS).prop_map(Move::Down),
        2 => (0..PEERS).prop_map(Move::Cut),
        5 => (0..PEERS).prop_map(Move::Connect),
        1 => (0..3usize).prop_map(Move::Restart),
    ];
    prop::collection::vec(one, 1..400)
}

/// Plays the moves on three brokers, of which the middle one has a bridge to each of the others: it sends to the last one and
/// takes from the first. Returns how many messages were published, and what came.
fn play(version: Version, qos: QoS, on_bridge: QoS, moves: &[Move]) -> (u32, Vec<u32>) {
    let mut net = Net::new(config());
    net.brokers = (0..3).map(|_| Broker::new(config())).collect();
    let (publisher, subscriber) = (net.add(lasting(version, "p")), net.add(lasting(version, "s")));
    net.peers[subscriber].at = 2;
    net.brokers[2].add_session("s", &[Subscription::new("t", QoS::ExactlyOnce)]);
    for (at, direction) in [(0, Direction::In), (2, Direction::Out)] {
        let topics = [topic("#", direction, on_bridge)];
        let bridge = net.bridge(1, at, lasting(version, &format!("bridge {at}")), &topics);
        // It has subscribed before the first message.
        net.connect(bridge);
        net.settle();
    }
    let mut published = 0;
    for step in moves {
        match *step {
            Move::Publish => {
                net.publish(publisher, message("t", published, qos));
                published += 1;
            }
            Move::Up(i) => drop(net.step_up(i)),
            Move::Down(i) => drop(net.step_down(i)),
            Move::Cut(i) => net.cut(i),
            Move::Connect(i) => net.connect(i),
            Move::Restart(broker) => net.restart(broker),
        }
    }
    for i in (0..PEERS).rev() {
        net.connect(i);
        net.settle();
    }
    assert!(net.peers.iter().all(|peer| peer.client.pending() == 0), "everything is acknowledged in the end");
    (published, net.peers[subscriber].numbers())
}

fn versions() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V311), Just(Version::V5)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_chain_of_qos_2_has_neither_a_duplicate_nor_a_gap(version in versions(), moves in moves()) {
        let (published, got) = play(version, QoS::ExactlyOnce, QoS::ExactlyOnce, &moves);
        prop_assert_eq!(got, (0..published).collect::<Vec<_>>());
    }

    #[test]
    fn a_chain_has_no_gap_if_no_part_of_it_has_qos_0(version in versions(), moves in moves()) {
        let (published, mut got) = play(version, QoS::ExactlyOnce, QoS::AtLeastOnce, &moves);
        got.sort_unstable();
        got.dedup();
        prop_assert_eq!(got, (0..published).collect::<Vec<_>>());
    }

    #[test]
    fn a_chain_of_qos_0_has_no_duplicate(version in versions(), moves in moves()) {
        let (_, mut got) = play(version, QoS::AtMostOnce, QoS::ExactlyOnce, &moves);
        let all = got.len();
        got.sort_unstable();
        got.dedup();
        prop_assert_eq!(got.len(), all);
    }
}
