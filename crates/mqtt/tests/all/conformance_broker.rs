//! Statements of the standard about brokers. Each test is called after the statement of MQTT 5.0 that it checks; a test
//! of a statement that has another number in 3.1.1 says so. Tests run for both versions where both have the statement.

use crate::raw;

use haltere_mqtt::packet::{Connack, Connect, Packet, Publish, Step, Subscription, reason};
use haltere_mqtt::{BrokerConfig, DropPolicy, Limit, Message, QoS, Version};
use haltere_net::Span;
use raw::{Bench, connect, id, lasting, publish, text};

const BOTH: [Version; 2] = [Version::V311, Version::V5];
const LEVELS: [QoS; 3] = [QoS::AtMostOnce, QoS::AtLeastOnce, QoS::ExactlyOnce];

fn connack(bench: &mut Bench, connect: Connect) -> Connack {
    let connection = bench.accept();
    bench.say(connection, &Packet::Connect(Box::new(connect)));
    match bench.hear(connection).into_iter().next() {
        Some(Packet::Connack(connack)) => connack,
        other => panic!("{other:?}"),
    }
}

#[test]
fn mqtt_1_5_4_2_a_string_has_no_null_character() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.accept();
        bench.say(connection, &Packet::Connect(Box::new(connect(version, "a\0b"))));
        assert!(bench.is_closed(connection));
    }
}

#[test]
fn mqtt_1_5_5_1_a_length_has_the_fewest_bytes() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.client("c");
        bench.say_bytes(connection, &[0xc0, 0x80, 0x00]);
        assert!(bench.is_closed(connection));
    }
}

#[test]
fn mqtt_2_1_3_1_reserved_flags_are_as_the_standard_has_them() {
    for version in BOTH {
        for first in [0xc1, 0xe1, 0x60, 0x80, 0xa0, 0x36, 0xf1] {
            let mut bench = Bench::new(version);
            let connection = bench.client("c");
            bench.say_bytes(connection, &[first, 2, 0, 1]);
            assert!(bench.is_closed(connection), "{first:#04x}");
        }
    }
}

#[test]
fn mqtt_3_1_0_1_the_first_packet_is_connect() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.accept();
        bench.say(connection, &Packet::Pingreq);
        assert!(bench.is_closed(connection));
        assert_eq!(bench.hear(connection), []);
    }
}

#[test]
fn mqtt_3_1_0_2_a_second_connect_ends_the_connection() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.client("c");
        bench.say(connection, &Packet::Connect(Box::new(connect(version, "c"))));
        assert!(bench.is_closed(connection));
    }
}

#[test]
fn mqtt_3_1_2_1_another_protocol_is_refused() {
    let mut bench = Bench::new(Version::V5);
    let connection = bench.accept();
    bench.say_bytes(connection, &[0x10, 12, 0, 6, b'M', b'Q', b'I', b's', b'd', b'p', 3, 2, 0, 0]);
    assert!(bench.is_closed(connection));
}

#[test]
fn mqtt_3_1_2_2_another_version_is_refused_with_a_code() {
    let mut bench = Bench::new(Version::V311);
    let connection = bench.accept();
    bench.say_bytes(connection, &[0x10, 12, 0, 4, b'M', b'Q', b'T', b'T', 9, 2, 0, 0, 0, 0]);
    assert!(matches!(&bench.hear(connection)[..], [Packet::Connack(connack)] if connack.code == 1));
    assert!(bench.is_closed(connection));
}

#[test]
fn mqtt_3_1_2_3_the_reserved_flag_of_connect_is_0() {
    let mut bench = Bench::new(Version::V311);
    let connection = bench.accept();
    bench.say_bytes(connection, &[0x10, 13, 0, 4, b'M', b'Q', b'T', b'T', 4, 3, 0, 0, 0, 1, b'c']);
    assert!(bench.is_closed(connection));
}

#[test]
fn mqtt_3_1_2_4_clean_start_begins_a_new_session() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let first = bench.join(lasting(version, "c"));
        bench.subscribe(first, Subscription::new("t", QoS::AtLeastOnce));
        bench.lose(first);
        assert!(!connack(&mut bench, Connect { clean: true, ..lasting(version, "c") }).session_present);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", QoS::AtLeastOnce), 1));
        assert_eq!(bench.broker.pending("c"), Some((0, 0)), "the subscription is gone");
    }
}

#[test]
fn mqtt_3_1_2_5_a_session_goes_on_with_the_next_connection() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let first = bench.join(lasting(version, "c"));
        bench.subscribe(first, Subscription::new("t", QoS::ExactlyOnce));
        bench.lose(first);
        let publisher = bench.client("p");
        for (number, qos) in LEVELS.into_iter().enumerate() {
            bench.say(publisher, &publish(text("t", &number.to_string(), qos), number as u16));
        }
        let again = bench.accept();
        bench.say(again, &Packet::Connect(Box::new(lasting(version, "c"))));
        // QoS 0 does not wait for who is not there.
        assert_eq!(bench.payloads(again), ["1", "2"]);
    }
}

#[test]
fn mqtt_3_1_2_8_the_will_is_published_if_the_connection_is_lost() {
    for version in BOTH {
        for qos in LEVELS {
            let mut bench = Bench::new(version);
            let subscriber = bench.subscriber("s", "gone", QoS::ExactlyOnce);
            let will = Some(text("gone", "c", qos));
            let connection = bench.join(Connect { will, ..connect(version, "c") });
            bench.lose(connection);
            assert_eq!(bench.messages(subscriber), [("gone".into(), "c".into(), qos, false, false)]);
        }
    }
}

#[test]
fn mqtt_3_1_2_10_and_3_14_4_3_the_will_is_not_published_after_disconnect() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "gone", QoS::AtMostOnce);
        let will = Some(text("gone", "c", QoS::AtMostOnce));
        let connection = bench.join(Connect { will, ..connect(version, "c") });
        bench.say(connection, &Packet::Disconnect(reason::SUCCESS));
        assert!(bench.is_closed(connection));
        bench.lose(connection);
        assert_eq!(bench.payloads(subscriber), [""; 0]);
    }
}

#[test]
fn mqtt_3_1_2_15_a_retained_will_is_kept() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let will = Some(Message { retain: true, ..text("gone", "c", QoS::AtMostOnce) });
        let connection = bench.join(Connect { will, ..connect(version, "c") });
        bench.lose(connection);
        let late = bench.client("s");
        assert_eq!(bench.subscribe(late, Subscription::new("gone", QoS::AtMostOnce)).len(), 1);
    }
}

#[test]
fn mqtt_3_1_2_22_silence_of_one_and_a_half_keep_alive_times_ends_the_connection() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.join(Connect { keep_alive: 10, ..connect(version, "c") });
        bench.pass(Span::from_secs(9));
        bench.say(connection, &Packet::Pingreq);
        bench.pass(Span::from_millis(14_999));
        assert!(!bench.is_closed(connection));
        bench.pass(Span::from_millis(1));
        assert!(bench.is_closed(connection));
    }
}

#[test]
fn mqtt_3_1_2_23_a_session_ends_after_its_expiry() {
    let mut bench = Bench::new(Version::V5);
    for (gone, present) in [(29, true), (31, false)] {
        let connect = Connect { session_expiry: 30, ..lasting(Version::V5, "c") };
        let connection = bench.join(connect.clone());
        bench.lose(connection);
        bench.pass(Span::from_secs(gone));
        let again = bench.accept();
        bench.say(again, &Packet::Connect(Box::new(connect)));
        assert!(matches!(&bench.hear(again)[..], [Packet::Connack(c)] if c.session_present == present));
        bench.lose(again);
    }
}

#[test]
fn mqtt_3_1_3_6_a_client_without_identifier_gets_one() {
    let mut bench = Bench::new(Version::V5);
    let names: Vec<_> = (0..3).map(|_| connack(&mut bench, connect(Version::V5, "")).assigned_client_id).collect();
    assert!(names.iter().all(Option::is_some));
    assert!(names[0] != names[1] && names[1] != names[2]);
    // 3.1.1: [MQTT-3.1.3-8]
    let mut bench = Bench::new(Version::V311);
    assert_eq!(connack(&mut bench, lasting(Version::V311, "")).code, 2);
}

#[test]
fn mqtt_3_1_4_3_a_second_connection_takes_the_session_over() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let first = bench.client("c");
        let second = bench.client("c");
        assert!(bench.is_closed(first) && !bench.is_closed(second));
        let said = bench.hear(first);
        match version {
            Version::V5 => assert_eq!(said, [Packet::Disconnect(reason::SESSION_TAKEN_OVER)]),
            Version::V311 => assert_eq!(said, []),
        }
    }
}

#[test]
fn mqtt_3_2_0_1_connack_comes_before_anything_else() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        bench.broker.add_session("c", &[Subscription::new("t", QoS::AtLeastOnce)]);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", QoS::AtLeastOnce), 1));
        let connection = bench.accept();
        bench.say(connection, &Packet::Connect(Box::new(lasting(version, "c"))));
        assert!(matches!(&bench.hear(connection)[..], [Packet::Connack(_), Packet::Publish(_)]));
    }
}

#[test]
fn mqtt_3_2_2_3_session_present_says_whether_there_was_one() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        assert!(!connack(&mut bench, lasting(version, "c")).session_present);
        assert!(connack(&mut bench, lasting(version, "c")).session_present);
    }
}

#[test]
fn mqtt_3_3_1_5_to_7_a_retained_message_is_kept_replaced_and_ended() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let publisher = bench.client("p");
        let retained = |payload: &str| Message { retain: true, ..text("t", payload, QoS::AtMostOnce) };
        for (payload, found) in [("a", vec!["a"]), ("b", vec!["b"]), ("", vec![])] {
            bench.say(publisher, &publish(retained(payload), 0));
            let late = bench.client("late");
            let messages = bench.subscribe(late, Subscription::new("t", QoS::AtMostOnce));
            let payload = |packet: &Packet| match packet {
                Packet::Publish(Publish { message, .. }) if message.retain => {
                    String::from_utf8(message.payload.to_vec()).unwrap()
                }
                other => panic!("{other:?}"),
            };
            assert_eq!(messages.iter().map(payload).collect::<Vec<_>>(), found);
        }
    }
}

#[test]
fn mqtt_3_3_1_8_a_message_without_retain_leaves_the_retained_one() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let publisher = bench.client("p");
        let kept = Message { retain: true, ..text("t", "kept", QoS::AtMostOnce) };
        bench.say(publisher, &publish(kept, 0));
        bench.say(publisher, &publish(text("t", "other", QoS::AtMostOnce), 0));
        let late = bench.client("late");
        let found = bench.subscribe(late, Subscription::new("t", QoS::AtMostOnce));
        assert!(matches!(&found[..], [Packet::Publish(p)] if &p.message.payload[..] == b"kept"));
    }
}

#[test]
fn mqtt_3_3_1_9_to_11_retain_handling_says_when_retained_messages_come() {
    for (handling, counts) in [(0, [1, 1]), (1, [1, 0]), (2, [0, 0])] {
        let mut bench = Bench::new(Version::V5);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(Message { retain: true, ..text("t", "x", QoS::AtMostOnce) }, 0));
        let late = bench.client("late");
        let subscription = Subscription { retain_handling: handling, ..Subscription::new("t", QoS::AtMostOnce) };
        let found = [(); 2].map(|()| bench.subscribe(late, subscription.clone()).len());
        assert_eq!(found, counts, "{handling}");
    }
}

#[test]
fn mqtt_3_3_1_12_and_13_retain_as_published_keeps_the_flag() {
    // 3.1.1: [MQTT-3.3.1-9]
    for (version, keeps) in [(Version::V311, false), (Version::V5, false), (Version::V5, true)] {
        let mut bench = Bench::new(version);
        let subscriber = bench.client("s");
        let subscription = Subscription { retain_as_published: keeps, ..Subscription::new("t", QoS::AtMostOnce) };
        bench.subscribe(subscriber, subscription);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(Message { retain: true, ..text("t", "x", QoS::AtMostOnce) }, 0));
        assert_eq!(bench.messages(subscriber)[0].4, keeps);
    }
}

#[test]
fn mqtt_3_3_2_2_a_topic_name_has_no_wildcards() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.client("c");
        let properties: &[u8] = if version == Version::V5 { &[0] } else { &[] };
        let body = [&[0, 3, b'a', b'/', b'#'], properties].concat();
        bench.say_bytes(connection, &[&[0x30, body.len() as u8], &body[..]].concat());
        assert!(bench.is_closed(connection));
    }
}

#[test]
fn mqtt_3_3_2_9_a_topic_alias_beyond_the_maximum_ends_the_connection() {
    for (alias, closed) in [(0, true), (10, false), (11, true)] {
        let mut bench = Bench::new(Version::V5);
        let connection = bench.client("c");
        let message = text("t", "x", QoS::AtMostOnce);
        bench.say(
            connection,
            &Packet::Publish(Publish { dup: false, id: None, message, alias: Some(alias), properties: None }),
        );
        assert_eq!(bench.is_closed(connection), closed, "{alias}");
    }
}

#[test]
fn mqtt_3_3_2_12_a_topic_alias_stands_for_its_topic() {
    let mut bench = Bench::new(Version::V5);
    let subscriber = bench.subscriber("s", "long/topic", QoS::AtMostOnce);
    let connection = bench.client("c");
    for topic in ["long/topic", ""] {
        let message = text(topic, "x", QoS::AtMostOnce);
        bench.say(
            connection,
            &Packet::Publish(Publish { dup: false, id: None, message, alias: Some(3), properties: None }),
        );
    }
    assert_eq!(bench.payloads(subscriber), ["x", "x"]);
}

#[test]
fn mqtt_3_3_4_1_each_message_is_answered_by_its_qos() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let connection = bench.client("c");
        let answers = [vec![], vec![Step::Puback], vec![Step::Pubrec]];
        for (qos, answer) in LEVELS.into_iter().zip(answers) {
            bench.say(connection, &publish(text("t", "x", qos), if qos == QoS::AtMostOnce { 0 } else { 5 }));
            let wanted: Vec<Packet> = answer.into_iter().map(|step| Packet::Ack(step, id(5), 0)).collect();
            assert_eq!(bench.hear(connection), wanted);
        }
    }
}

#[test]
fn mqtt_3_3_4_2_overlapping_subscriptions_give_the_highest_qos() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "a/#", QoS::AtMostOnce);
        bench.subscribe(subscriber, Subscription::new("a/+", QoS::AtLeastOnce));
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("a/b", "x", QoS::ExactlyOnce), 1));
        assert_eq!(bench.messages(subscriber), [("a/b".into(), "x".into(), QoS::AtLeastOnce, false, false)]);
    }
}

#[test]
fn mqtt_3_3_4_7_more_messages_than_receive_maximum_end_the_connection() {
    let mut bench = Bench::with(Version::V5, BrokerConfig { receive_maximum: 2, ..BrokerConfig::default() });
    let connection = bench.client("c");
    for number in 1..=3 {
        assert!(!bench.is_closed(connection));
        bench.say(connection, &publish(text("t", "x", QoS::ExactlyOnce), number));
    }
    assert!(bench.is_closed(connection));
    assert!(bench.hear(connection).contains(&Packet::Disconnect(reason::RECEIVE_MAXIMUM_EXCEEDED)));
}

#[test]
fn mqtt_3_3_4_9_no_more_messages_are_in_flight_than_the_client_takes() {
    let mut bench = Bench::new(Version::V5);
    let subscriber = bench.join(Connect { receive_maximum: 2, ..connect(Version::V5, "s") });
    bench.subscribe(subscriber, Subscription::new("t", QoS::AtLeastOnce));
    let publisher = bench.client("p");
    for number in 1..=4 {
        bench.say(publisher, &publish(text("t", &number.to_string(), QoS::AtLeastOnce), number));
    }
    assert_eq!(bench.payloads(subscriber), ["1", "2"]);
    bench.ack(subscriber, Step::Puback, 1);
    assert_eq!(bench.payloads(subscriber), ["3"]);
}

#[test]
fn mqtt_3_8_3_3_no_local_leaves_own_messages_out() {
    let mut bench = Bench::new(Version::V5);
    let client = bench.client("c");
    bench.subscribe(client, Subscription { no_local: true, ..Subscription::new("t", QoS::AtMostOnce) });
    bench.say(client, &publish(text("t", "own", QoS::AtMostOnce), 0));
    let other = bench.client("o");
    bench.say(other, &publish(text("t", "other", QoS::AtMostOnce), 0));
    assert_eq!(bench.payloads(client), ["other"]);
}

#[test]
fn mqtt_3_8_4_3_a_second_subscription_with_the_same_filter_replaces_the_first() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "t", QoS::ExactlyOnce);
        bench.subscribe(subscriber, Subscription::new("t", QoS::AtMostOnce));
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "x", QoS::AtLeastOnce), 1));
        assert_eq!(bench.messages(subscriber), [("t".into(), "x".into(), QoS::AtMostOnce, false, false)]);
    }
}

#[test]
fn mqtt_3_8_4_6_each_filter_has_its_code() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let client = bench.client("c");
        let filters = LEVELS.map(|qos| Subscription::new(["a", "b", "c"][qos as usize], qos));
        bench.say(client, &Packet::Subscribe(id(9), filters.to_vec()));
        assert_eq!(bench.hear(client), [Packet::Suback(id(9), vec![0, 1, 2])]);
    }
}

#[test]
fn mqtt_3_8_4_8_a_message_has_the_lower_qos_of_publisher_and_subscriber() {
    for version in BOTH {
        for granted in LEVELS {
            let mut bench = Bench::new(version);
            let subscriber = bench.subscriber("s", "t", granted);
            let publisher = bench.client("p");
            for (number, sent) in LEVELS.into_iter().enumerate() {
                bench.say(publisher, &publish(text("t", "x", sent), number as u16));
            }
            let found: Vec<QoS> = bench.messages(subscriber).into_iter().map(|message| message.2).collect();
            assert_eq!(found, LEVELS.map(|sent| sent.min(granted)));
        }
    }
}

#[test]
fn mqtt_3_10_4_2_and_4_an_ended_subscription_brings_nothing() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "a/+", QoS::AtMostOnce);
        bench.say(subscriber, &Packet::Unsubscribe(id(3), vec!["a/+".into(), "none".into()]));
        let codes = if version == Version::V5 { vec![0, reason::NO_SUBSCRIPTION_EXISTED] } else { vec![] };
        assert_eq!(bench.hear(subscriber), [Packet::Unsuback(id(3), codes)]);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("a/b", "x", QoS::AtMostOnce), 0));
        assert_eq!(bench.payloads(subscriber), [""; 0]);
    }
}

#[test]
fn mqtt_3_12_4_1_pingreq_is_answered() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let client = bench.client("c");
        bench.say(client, &Packet::Pingreq);
        assert_eq!(bench.hear(client), [Packet::Pingresp]);
    }
}

#[test]
fn mqtt_4_3_2_5_after_puback_the_identifier_is_of_a_new_message() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "t", QoS::AtMostOnce);
        let publisher = bench.client("p");
        for payload in ["a", "b"] {
            bench.say(publisher, &publish(text("t", payload, QoS::AtLeastOnce), 1));
        }
        assert_eq!(bench.payloads(subscriber), ["a", "b"]);
    }
}

#[test]
fn mqtt_4_3_3_10_to_12_a_message_of_qos_2_is_new_again_after_pubcomp() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "t", QoS::AtMostOnce);
        let publisher = bench.client("p");
        for payload in ["a", "again"] {
            bench.say(publisher, &publish(text("t", payload, QoS::ExactlyOnce), 1));
            assert_eq!(bench.hear(publisher), [Packet::Ack(Step::Pubrec, id(1), 0)]);
        }
        bench.ack(publisher, Step::Pubrel, 1);
        assert_eq!(bench.hear(publisher), [Packet::Ack(Step::Pubcomp, id(1), 0)]);
        bench.say(publisher, &publish(text("t", "b", QoS::ExactlyOnce), 1));
        assert_eq!(bench.payloads(subscriber), ["a", "b"]);
    }
}

#[test]
fn mqtt_4_4_0_1_what_was_not_acknowledged_is_sent_again_with_its_identifier() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let first = bench.join(lasting(version, "s"));
        bench.subscribe(first, Subscription::new("t", QoS::ExactlyOnce));
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("t", "a", QoS::AtLeastOnce), 1));
        bench.say(publisher, &publish(text("t", "b", QoS::ExactlyOnce), 2));
        let sent: Vec<_> = bench.hear(first);
        let [Packet::Publish(a), Packet::Publish(b)] = &sent[..] else { panic!("{sent:?}") };
        bench.say(first, &Packet::Ack(Step::Pubrec, b.id.unwrap(), 0));
        bench.lose(first);
        let again = bench.accept();
        bench.say(again, &Packet::Connect(Box::new(lasting(version, "s"))));
        let wanted = [Packet::Publish(Publish { dup: true, ..a.clone() }), Packet::Ack(Step::Pubrel, b.id.unwrap(), 0)];
        assert_eq!(bench.hear(again)[1..], wanted);
    }
}

#[test]
fn mqtt_4_7_2_1_a_wildcard_at_the_beginning_leaves_topics_with_a_dollar_out() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let all = bench.subscriber("all", "#", QoS::AtMostOnce);
        let system = bench.subscriber("system", "$SYS/#", QoS::AtMostOnce);
        let publisher = bench.client("p");
        bench.say(publisher, &publish(text("$SYS/load", "x", QoS::AtMostOnce), 0));
        assert_eq!(bench.payloads(all), [""; 0]);
        assert_eq!(bench.payloads(system), ["x"]);
    }
}

#[test]
fn mqtt_4_13_1_1_a_violation_ends_the_connection_and_says_why() {
    let mut bench = Bench::new(Version::V5);
    let client = bench.client("c");
    bench.say(client, &Packet::Pingresp);
    assert_eq!(bench.hear(client), [Packet::Disconnect(reason::PROTOCOL_ERROR)]);
    assert!(bench.is_closed(client));
}

#[test]
fn a_full_queue_drops_the_newest_or_the_oldest() {
    for (drop, kept) in [(DropPolicy::Newest, ["1", "2"]), (DropPolicy::Oldest, ["3", "4"])] {
        let queue = Limit { messages: 2, drop };
        let mut bench = Bench::with(Version::V5, BrokerConfig { queue, ..BrokerConfig::default() });
        bench.broker.add_session("s", &[Subscription::new("t", QoS::AtLeastOnce)]);
        let publisher = bench.client("p");
        for number in 1..=4 {
            bench.say(publisher, &publish(text("t", &number.to_string(), QoS::AtLeastOnce), number));
        }
        let dropped = std::iter::from_fn(|| bench.broker.poll_event()).count();
        let subscriber = bench.accept();
        bench.say(subscriber, &Packet::Connect(Box::new(lasting(Version::V5, "s"))));
        assert_eq!((bench.payloads(subscriber), dropped), (kept.map(String::from).to_vec(), 2));
    }
}
