//! Statements of the standard about a broker's exchanges: identifiers, order, retransmission, limits. Each test is
//! called after the statement of MQTT 5.0 that it checks.

use crate::raw;

use haltere_mqtt::packet::{Connect, Packet, Publish, Step, Subscription, reason};
use haltere_mqtt::{Connection, QoS, Version};
use haltere_net::Span;
use raw::{Bench, connect, id, lasting, publish, text};

const BOTH: [Version; 2] = [Version::V311, Version::V5];
const LEVELS: [QoS; 3] = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce];

/// The packet identifiers of the messages that a broker has sent.
fn identifiers(bench: &mut Bench, connection: Connection) -> Vec<u16> {
    let heard = bench.hear(connection).into_iter();
    let ids = heard.filter_map(|packet| if let Packet::Publish(p) = packet { Some(p.id) } else { None });
    ids.map(|id| id.map_or(0, |id| id.get())).collect()
}

#[test]
fn mqtt_2_2_1_4_the_brokers_packet_identifiers_are_neither_0_nor_in_use() {
    let mut bench = Bench::new(Version::V5);
    let subscriber = bench.subscriber("s", "t", QoS::AtLeastOnce);
    let publisher = bench.client("p");
    for n in 0..70_000_u32 {
        bench.say(publisher, &publish(text("t", "x", QoS::AtLeastOnce), 1));
        bench.hear(publisher);
        let found = identifiers(&mut bench, subscriber);
        let [number] = found[..] else { panic!("{found:?}") };
        // The first message is never acknowledged.
        assert!(number != 0 && (n == 0 || number != 1));
        if n > 0 {
            bench.ack(subscriber, Step::Puback, number);
        }
    }
}

#[test]
fn mqtt_3_1_2_26_and_27_the_broker_gives_no_more_topic_aliases_than_the_client_takes() {
    for (takes, wanted) in [(0, [None; 6]), (2, [Some(1), Some(2), None, Some(1), Some(2), None])] {
        let mut bench = Bench::new(Version::V5);
        let subscriber = bench.join(Connect { topic_alias_maximum: takes, ..connect(Version::V5, "s") });
        bench.subscribe(subscriber, Subscription::new("#", QoS::AtMostOnce));
        let publisher = bench.client("p");
        let mut said = Vec::new();
        for topic in ["a", "b", "c", "a", "b", "c"] {
            bench.say(publisher, &publish(text(topic, "x", QoS::AtMostOnce), 0));
            for packet in bench.hear(subscriber) {
                let Packet::Publish(publish) = packet else { panic!("{packet:?}") };
                said.push(publish.alias);
            }
        }
        assert_eq!(said, wanted);
    }
}

#[test]
fn mqtt_3_1_3_5_identifiers_of_23_letters_and_digits_are_taken() {
    let all = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for version in BOTH {
        for client_id in [&all[..1], &all[..23], &all[20..43], &all[39..]] {
            Bench::new(version).client(client_id);
        }
    }
}

#[test]
fn mqtt_3_1_4_6_and_3_2_2_6_after_a_refusal_nothing_is_taken() {
    // 3.1.1 refuses a client without identifier that wants to keep its session [MQTT-3.1.3-8].
    let mut bench = Bench::new(Version::V311);
    let subscriber = bench.subscriber("s", "t", QoS::AtMostOnce);
    let refused = bench.accept();
    bench.say(refused, &Packet::Connect(Box::new(lasting(Version::V311, ""))));
    bench.say(refused, &publish(text("t", "x", QoS::AtMostOnce), 0));
    let heard = bench.hear(refused);
    assert!(matches!(&heard[..], [Packet::Connack(c)] if c.code == 2 && !c.session_present), "{heard:?}");
    assert!(bench.is_closed(refused));
    assert_eq!(bench.payloads(subscriber), [""; 0]);
    // Another version [MQTT-3.1.2-2].
    let mut bench = Bench::new(Version::V311);
    let subscriber = bench.subscriber("s", "t", QoS::AtMostOnce);
    let refused = bench.accept();
    bench.say_bytes(refused, &[0x10, 12, 0, 4, b'M', b'Q', b'T', b'T', 6, 2, 0, 0, 0, 0]);
    bench.say(refused, &publish(text("t", "x", QoS::AtMostOnce), 0));
    assert_eq!(bench.payloads(subscriber), [""; 0]);
}

#[test]
fn mqtt_3_3_1_3_dup_says_whether_the_broker_repeats() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "t", QoS::ExactlyOnce);
        let publisher = bench.client("p");
        for dup in [true, false] {
            let message = text("t", "x", QoS::AtLeastOnce);
            bench.say(
                publisher,
                &Packet::Publish(Publish { dup, id: Some(id(1)), message, alias: None, properties: None }),
            );
        }
        let dups: Vec<bool> = bench.messages(subscriber).into_iter().map(|message| message.3).collect();
        assert_eq!(dups, [false, false]);
    }
}

#[test]
fn mqtt_3_3_2_7_topic_aliases_end_with_their_connection() {
    let mut bench = Bench::new(Version::V5);
    let first = bench.join(lasting(Version::V5, "c"));
    let message = |topic: &str| text(topic, "x", QoS::AtMostOnce);
    let with_alias = |topic| {
        Packet::Publish(Publish { dup: false, id: None, message: message(topic), alias: Some(1), properties: None })
    };
    bench.say(first, &with_alias("t"));
    bench.lose(first);
    let again = bench.join(lasting(Version::V5, "c"));
    bench.say(again, &with_alias(""));
    assert!(bench.is_closed(again));
}

#[test]
fn mqtt_3_3_4_10_and_4_9_0_3_a_full_window_holds_only_messages_back() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.join(Connect { receive_maximum: 1, ..connect(version, "s") });
        bench.subscribe(subscriber, Subscription::new("t", QoS::AtLeastOnce));
        let publisher = bench.client("p");
        for number in 1..=30 {
            bench.say(publisher, &publish(text("t", "x", QoS::AtLeastOnce), number));
        }
        bench.hear(subscriber);
        bench.say(subscriber, &Packet::Pingreq);
        bench.say(subscriber, &Packet::Unsubscribe(id(5), vec!["none".into()]));
        let heard = bench.hear(subscriber);
        assert!(matches!(&heard[..], [Packet::Pingresp, Packet::Unsuback(..)]), "{heard:?}");
    }
}

#[test]
fn mqtt_3_8_4_5_filters_of_one_packet_count_as_if_they_came_one_by_one() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let client = bench.client("c");
        let filters = [("a", QoS::AtMostOnce), ("b", QoS::AtMostOnce), ("a", QoS::AtLeastOnce)];
        let filters = filters.map(|(filter, qos)| Subscription::new(filter, qos)).to_vec();
        bench.say(client, &Packet::Subscribe(id(9), filters));
        assert_eq!(bench.hear(client), [Packet::Suback(id(9), vec![0, 0, 1])]);
        let publisher = bench.client("p");
        for topic in ["a", "b"] {
            bench.say(publisher, &publish(text(topic, topic, QoS::ExactlyOnce), 1));
            bench.ack(publisher, Step::Pubrel, 1);
        }
        let found: Vec<_> = bench.messages(client).into_iter().map(|m| (m.0, m.2)).collect();
        assert_eq!(found, [("a".to_string(), QoS::AtLeastOnce), ("b".to_string(), QoS::AtMostOnce)]);
    }
}

#[test]
fn mqtt_3_10_4_1_a_filter_ends_the_subscription_with_the_same_characters() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "a/b", QoS::AtMostOnce);
        bench.say(subscriber, &Packet::Unsubscribe(id(3), ["a/+", "#", "A/b", "a/b/"].map(Into::into).to_vec()));
        bench.hear(subscriber);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("a/b", "still", QoS::AtMostOnce), 0));
        assert_eq!(bench.payloads(subscriber), ["still"]);
        bench.say(subscriber, &Packet::Unsubscribe(id(3), vec!["a/b".into()]));
        bench.say(publisher, &publish(text("a/b", "gone", QoS::AtMostOnce), 0));
        assert_eq!(bench.payloads(subscriber), [""; 0]);
    }
}

#[test]
fn mqtt_3_10_4_3_what_is_in_flight_is_delivered_after_unsubscribe() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let first = bench.join(lasting(version, "s"));
        bench.subscribe(first, Subscription::new("t", QoS::ExactlyOnce));
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", QoS::ExactlyOnce), 1));
        let found = identifiers(&mut bench, first);
        bench.say(first, &Packet::Unsubscribe(id(3), vec!["t".into()]));
        bench.lose(first);
        let again = bench.accept();
        bench.say(again, &Packet::Connect(Box::new(lasting(version, "s"))));
        assert_eq!(identifiers(&mut bench, again), found, "it is sent again");
        bench.ack(again, Step::Pubrec, found[0]);
        assert_eq!(bench.hear(again), [Packet::Ack(Step::Pubrel, id(found[0]), 0)]);
        bench.ack(again, Step::Pubcomp, found[0]);
        assert_eq!(bench.broker.pending("s"), Some((0, 0)));
    }
}

#[test]
fn mqtt_3_14_0_1_disconnect_does_not_come_before_connack() {
    let mut bench = Bench::new(Version::V5);
    let connection = bench.accept();
    bench.say_bytes(connection, &[0x10, 5, 0, 4, b'M', b'Q', b'T']);
    assert!(bench.is_closed(connection));
    assert_eq!(bench.hear(connection), []);
}

#[test]
fn mqtt_3_14_4_1_and_2_after_its_disconnect_the_broker_closes_and_says_nothing() {
    let mut bench = Bench::new(Version::V5);
    let client = bench.subscriber("c", "t", QoS::AtMostOnce);
    bench.say(client, &Packet::Pingresp);
    bench.hear(client);
    assert!(bench.is_closed(client));
    let publisher = bench.client("p");
    bench.say(publisher, &publish(text("t", "x", QoS::AtMostOnce), 0));
    bench.say(client, &Packet::Pingreq);
    assert_eq!(bench.hear(client), []);
}

#[test]
fn mqtt_4_1_0_1_a_session_lasts_as_long_as_its_connection() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        // Its expiry is 0: it ends with the connection, and not before.
        let subscriber = bench.subscriber("s", "t", QoS::AtMostOnce);
        bench.pass(Span::from_secs(1_000_000));
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", QoS::AtMostOnce), 0));
        assert_eq!(bench.payloads(subscriber), ["x"]);
        bench.lose(subscriber);
        assert_eq!(bench.broker.pending("s"), None);
    }
}

#[test]
fn mqtt_4_3_1_1_to_4_3_3_2_messages_are_sent_with_their_qos_and_without_dup() {
    for version in BOTH {
        for qos in LEVELS {
            let mut bench = Bench::new(version);
            let subscriber = bench.subscriber("s", "t", QoS::ExactlyOnce);
            let publisher = bench.client("p");
            bench.say(publisher, &publish(text("t", "x", qos), if qos == QoS::AtMostOnce { 0 } else { 4 }));
            let heard = bench.hear(subscriber);
            let [Packet::Publish(p)] = &heard[..] else { panic!("{heard:?}") };
            assert_eq!((p.message.qos, p.dup, p.id.is_some()), (qos, false, qos > QoS::AtMostOnce));
        }
    }
}

#[test]
fn mqtt_4_3_2_3_and_4_3_3_3_to_5_a_message_is_unacknowledged_until_its_exchange_ends() {
    for version in BOTH {
        for (qos, steps) in
            [(QoS::AtLeastOnce, &[Step::Puback][..]), (QoS::ExactlyOnce, &[Step::Pubrec, Step::Pubcomp])]
        {
            let mut bench = Bench::new(version);
            let subscriber = bench.subscriber("s", "t", QoS::ExactlyOnce);
            let publisher = bench.client("p");
            bench.say(publisher, &publish(text("t", "x", qos), 1));
            bench.hear(subscriber);
            for step in steps {
                assert_eq!(bench.broker.pending("s"), Some((0, 1)), "{step:?}");
                bench.ack(subscriber, *step, 1);
                let answer = if *step == Step::Pubrec { vec![Packet::Ack(Step::Pubrel, id(1), 0)] } else { vec![] };
                assert_eq!(bench.hear(subscriber), answer);
            }
            assert_eq!(bench.broker.pending("s"), Some((0, 0)));
        }
    }
}

#[test]
fn mqtt_4_4_0_1_nothing_is_sent_again_while_the_connection_lasts() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "t", QoS::ExactlyOnce);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", QoS::ExactlyOnce), 1));
        bench.hear(subscriber);
        bench.pass(Span::from_secs(100_000));
        assert_eq!(bench.hear(subscriber), []);
    }
}

#[test]
fn mqtt_4_4_0_2_a_refused_message_counts_as_acknowledged() {
    for step in [Step::Puback, Step::Pubrec] {
        let qos = if step == Step::Puback { QoS::AtLeastOnce } else { QoS::ExactlyOnce };
        let mut bench = Bench::new(Version::V5);
        let first = bench.join(lasting(Version::V5, "s"));
        bench.subscribe(first, Subscription::new("t", qos));
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", qos), 1));
        bench.hear(first);
        bench.say(first, &Packet::Ack(step, id(1), 0x97));
        assert_eq!(bench.hear(first), []);
        bench.lose(first);
        let again = bench.accept();
        bench.say(again, &Packet::Connect(Box::new(lasting(Version::V5, "s"))));
        assert_eq!(identifiers(&mut bench, again), [0; 0]);
    }
}

#[test]
fn mqtt_4_5_0_1_each_session_with_a_matching_subscription_gets_a_message() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let there = bench.subscriber("there", "a/+", QoS::AtLeastOnce);
        let other = bench.subscriber("other", "b/+", QoS::AtLeastOnce);
        let away = bench.join(lasting(version, "away"));
        bench.subscribe(away, Subscription::new("a/#", QoS::AtLeastOnce));
        bench.lose(away);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("a/b", "x", QoS::AtLeastOnce), 1));
        assert_eq!(bench.payloads(there), ["x"]);
        assert_eq!(bench.payloads(other), [""; 0]);
        assert_eq!(bench.broker.pending("away"), Some((1, 0)));
    }
}

#[test]
fn mqtt_4_6_0_5_and_6_messages_of_a_topic_are_forwarded_in_their_order() {
    for version in BOTH {
        for qos in LEVELS {
            let mut bench = Bench::new(version);
            let subscriber = bench.join(Connect { receive_maximum: 3, ..connect(version, "s") });
            bench.subscribe(subscriber, Subscription::new("t", qos));
            let publishers = [bench.client("p"), bench.client("q")];
            let wanted: Vec<String> = (1..=16).map(|n| n.to_string()).collect();
            let mut found = Vec::new();
            for (n, payload) in (1..).zip(&wanted) {
                let number = if qos == QoS::AtMostOnce { 0 } else { n };
                bench.say(publishers[usize::from(n % 2)], &publish(text("t", payload, qos), number));
            }
            while found.len() < wanted.len() {
                for packet in bench.hear(subscriber) {
                    match packet {
                        Packet::Publish(p) => {
                            found.push(String::from_utf8(p.message.payload.to_vec()).unwrap());
                            match (p.message.qos, p.id) {
                                (QoS::AtLeastOnce, Some(id)) => bench.ack(subscriber, Step::Puback, id.get()),
                                (_, Some(id)) => bench.ack(subscriber, Step::Pubrec, id.get()),
                                _ => {}
                            }
                        }
                        Packet::Ack(Step::Pubrel, id, _) => bench.ack(subscriber, Step::Pubcomp, id.get()),
                        other => panic!("{other:?}"),
                    }
                }
            }
            assert_eq!(found, wanted, "{version:?} {qos:?}");
        }
    }
}

#[test]
fn mqtt_4_7_3_4_topics_are_compared_as_they_are() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        // The letter é as one character and as two, upper case, and empty levels.
        let names = ["caf\u{e9}", "cafe\u{301}", "CAF\u{c9}", "caf\u{e9}/", "/caf\u{e9}"];
        let publisher = bench.client("p");
        let subscribers: Vec<_> = names.iter().map(|name| bench.subscriber(name, name, QoS::AtMostOnce)).collect();
        for name in names {
            bench.say(publisher, &publish(text(name, name, QoS::AtMostOnce), 0));
        }
        for (subscriber, name) in subscribers.into_iter().zip(names) {
            assert_eq!(bench.payloads(subscriber), [name]);
        }
    }
}

#[test]
fn mqtt_4_3_3_4_an_unknown_pubrec_is_answered_so_that_the_exchange_can_end() {
    for (version, code) in [(Version::V311, 0), (Version::V5, reason::PACKET_ID_NOT_FOUND)] {
        let mut bench = Bench::new(version);
        let client = bench.client("c");
        bench.ack(client, Step::Pubrec, 9);
        bench.ack(client, Step::Pubrel, 8);
        let wanted = [Packet::Ack(Step::Pubrel, id(9), code), Packet::Ack(Step::Pubcomp, id(8), code)];
        assert_eq!(bench.hear(client), wanted);
    }
}
