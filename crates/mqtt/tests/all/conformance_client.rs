//! Statements of the standard about clients. Each test is called after the statement of MQTT 5.0 that it checks.

use crate::client::{Bench, id, message};
use haltere_mqtt::client::{Batch, Event};
use haltere_mqtt::packet::{Packet, PacketId, Publish, Step, Subscription, reason};
use haltere_mqtt::{Output, QoS, Streams, Version};
use haltere_net::{Span, Time};

const BOTH: [Version; 2] = [Version::V311, Version::V5];

#[test]
fn mqtt_3_1_0_1_the_first_packet_is_connect() {
    for version in BOTH {
        let mut bench = Bench::opened(version, |_| {});
        bench.publish(QoS::AtMostOnce);
        let heard = bench.heard();
        assert!(matches!(&heard[..], [Packet::Connect(connect)] if &*connect.client_id == "c"), "{heard:?}");
    }
}

#[test]
fn an_eager_client_sends_messages_after_connect() {
    for version in BOTH {
        let mut bench = Bench::opened(version, |config| config.eager = true);
        bench.publish(QoS::AtLeastOnce);
        assert!(matches!(&bench.heard()[..], [Packet::Connect(_), Packet::Publish(_)]));
        bench.accept(|_| {});
        assert_eq!(bench.heard(), [], "nothing is sent twice");
        assert_eq!(bench.client.pending(), 1);
    }
}

#[test]
fn mqtt_2_2_1_3_packet_identifiers_are_neither_0_nor_in_use() {
    let mut bench = Bench::online(Version::V5, |_| {});
    for _ in 0..70_000_u32 {
        bench.publish(QoS::AtLeastOnce);
        let heard = bench.heard();
        let [Packet::Publish(publish)] = &heard[..] else { panic!("{heard:?}") };
        let number = publish.id.unwrap();
        // The first message is never acknowledged.
        assert!(bench.client.pending() == 1 || number != id(1));
        if number != id(1) {
            bench.say(&Packet::Ack(Step::Puback, number, 0));
        }
        bench.events();
    }
}

#[test]
fn mqtt_3_1_2_20_a_silent_client_sends_pingreq() {
    for version in BOTH {
        let mut bench = Bench::online(version, |config| config.keep_alive = 10);
        bench.pass(Span::from_secs(6));
        bench.publish(QoS::AtMostOnce);
        bench.say(&Packet::Pingresp);
        bench.heard();
        bench.pass(Span::from_millis(9_999));
        assert_eq!(bench.heard(), []);
        bench.pass(Span::from_millis(1));
        assert_eq!(bench.heard(), [Packet::Pingreq]);
        bench.say(&Packet::Pingresp);
        bench.pass(Span::from_secs(10));
        assert_eq!(bench.heard(), [Packet::Pingreq]);
        bench.pass(Span::from_secs(10));
        bench.heard();
        assert!(bench.closed, "no PINGRESP came");
    }
}

#[test]
fn a_client_that_publishes_and_hears_nothing_asks_and_ends_the_connection() {
    for version in BOTH {
        let mut bench = Bench::online(version, |config| config.keep_alive = 10);
        for second in 1..=20 {
            bench.pass(Span::from_secs(1));
            assert!(!bench.closed, "{second} s");
            bench.publish(QoS::AtMostOnce);
            let pings = bench.heard().iter().filter(|packet| **packet == Packet::Pingreq).count();
            assert_eq!(pings, usize::from(second == 10), "{second} s");
        }
        assert!(bench.closed, "no PINGRESP came");
    }
}

#[test]
fn a_client_does_not_wait_for_connack_for_ever() {
    for version in BOTH {
        let mut bench = Bench::opened(version, |_| {});
        bench.pass(Span::from_millis(29_999));
        bench.heard();
        assert!(!bench.closed);
        bench.pass(Span::from_millis(1));
        bench.heard();
        assert!(bench.closed);
    }
}

#[test]
fn mqtt_3_2_0_2_a_second_connack_ends_the_connection() {
    for version in BOTH {
        let mut bench = Bench::online(version, |_| {});
        bench.accept(|_| {});
        bench.heard();
        assert!(bench.closed);
    }
}

#[test]
fn mqtt_3_2_2_4_a_session_after_clean_start_ends_the_connection() {
    for version in BOTH {
        let mut bench = Bench::opened(version, |_| {});
        bench.accept(|connack| connack.session_present = true);
        bench.heard();
        assert!(bench.closed);
    }
}

#[test]
fn mqtt_3_2_2_5_a_lost_session_is_forgotten() {
    for version in BOTH {
        for present in [true, false] {
            let mut bench = Bench::online(version, |config| config.clean = false);
            bench.publish(QoS::AtLeastOnce);
            bench.heard();
            bench.client.open(bench.now).unwrap();
            bench.accept(|connack| connack.session_present = present);
            let again = bench.heard();
            assert_eq!(again.len(), 1 + usize::from(present), "{again:?}");
            assert_eq!(bench.client.pending(), usize::from(present));
        }
    }
}

#[test]
fn a_client_that_is_refused_says_so() {
    for (version, code) in [(Version::V311, 5), (Version::V5, 0x87)] {
        let mut bench = Bench::opened(version, |_| {});
        bench.accept(|connack| connack.code = code);
        assert_eq!(bench.events(), [Event::Refused(code)]);
        bench.heard();
        assert!(bench.closed);
    }
}

#[test]
fn mqtt_3_3_1_1_and_4_4_0_1_what_was_not_acknowledged_is_sent_again_in_order() {
    for version in BOTH {
        let mut bench = Bench::online(version, |config| config.clean = false);
        for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce, QoS::AtMostOnce, QoS::ExactlyOnce] {
            bench.publish(qos);
        }
        bench.heard();
        bench.say(&Packet::Ack(Step::Pubrec, id(2), 0));
        bench.heard();
        bench.client.open(bench.now).unwrap();
        bench.accept(|connack| connack.session_present = true);
        let again: Vec<String> = bench.heard()[1..]
            .iter()
            .map(|packet| match packet {
                Packet::Publish(p) => format!("PUBLISH {} dup {}", p.id.unwrap(), p.dup),
                Packet::Ack(Step::Pubrel, id, _) => format!("PUBREL {id}"),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(again, ["PUBLISH 1 dup true", "PUBREL 2", "PUBLISH 3 dup true"]);
    }
}

#[test]
fn mqtt_3_3_2_2_a_topic_name_with_wildcards_is_refused_at_the_call() {
    let mut bench = Bench::online(Version::V5, |_| {});
    for topic in ["a/#", "+", "", "a\0"] {
        assert!(bench.client.publish(message(topic, QoS::AtMostOnce), bench.now).is_err(), "{topic:?}");
    }
    assert!(bench.client.subscribe(&[Subscription::new("a/#/b", QoS::AtMostOnce)], bench.now).is_err());
    assert_eq!(bench.heard(), []);
}

#[test]
fn mqtt_3_3_2_9_no_more_topic_aliases_are_given_than_the_broker_takes() {
    let mut bench = Bench::opened(Version::V5, |_| {});
    bench.accept(|connack| connack.topic_alias_maximum = 2);
    bench.heard();
    let mut said = Vec::new();
    for topic in ["a", "b", "c", "a", "b", "c"] {
        bench.client.publish(message(topic, QoS::AtMostOnce), bench.now).unwrap();
        for packet in bench.heard() {
            let Packet::Publish(publish) = packet else { panic!("{packet:?}") };
            said.push((publish.message.topic.to_string(), publish.alias));
        }
    }
    let text = |topic: &str, alias| (topic.to_string(), alias);
    let wanted = [("a", Some(1)), ("b", Some(2)), ("c", None), ("", Some(1)), ("", Some(2)), ("c", None)];
    assert_eq!(said, wanted.map(|(topic, alias)| text(topic, alias)));
}

#[test]
fn mqtt_3_3_4_7_no_more_messages_are_in_flight_than_the_broker_takes() {
    let mut bench = Bench::opened(Version::V5, |_| {});
    bench.accept(|connack| connack.receive_maximum = 2);
    bench.heard();
    for _ in 0..4 {
        bench.publish(QoS::ExactlyOnce);
    }
    assert_eq!(bench.heard().len(), 2);
    bench.say(&Packet::Ack(Step::Pubrec, id(1), 0));
    assert_eq!(bench.heard(), [Packet::Ack(Step::Pubrel, id(1), 0)], "PUBREC does not free a place");
    bench.say(&Packet::Ack(Step::Pubcomp, id(1), 0));
    assert!(matches!(&bench.heard()[..], [Packet::Publish(_)]));
}

#[test]
fn mqtt_4_3_2_5_and_4_3_3_10_copies_are_told_from_new_messages() {
    for version in BOTH {
        let mut bench = Bench::online(version, |_| {});
        bench.give(1, QoS::AtLeastOnce);
        bench.give(1, QoS::AtLeastOnce);
        assert_eq!(bench.messages(), 2);
        bench.give(2, QoS::ExactlyOnce);
        bench.give(2, QoS::ExactlyOnce);
        assert_eq!(bench.messages(), 1);
        let answers = bench.heard();
        let steps: Vec<_> =
            answers.iter().map(|p| if let Packet::Ack(step, ..) = p { *step } else { panic!() }).collect();
        assert_eq!(steps, [Step::Puback, Step::Puback, Step::Pubrec, Step::Pubrec]);
    }
}

#[test]
fn mqtt_4_3_3_6_a_message_is_not_sent_again_after_pubrel() {
    for version in BOTH {
        let mut bench = Bench::online(version, |config| config.clean = false);
        bench.publish(QoS::ExactlyOnce);
        bench.heard();
        for _ in 0..2 {
            bench.say(&Packet::Ack(Step::Pubrec, id(1), 0));
            assert_eq!(bench.heard(), [Packet::Ack(Step::Pubrel, id(1), 0)]);
        }
    }
}

#[test]
fn mqtt_4_4_0_2_a_refused_message_is_not_sent_again() {
    let mut bench = Bench::online(Version::V5, |config| config.clean = false);
    bench.publish(QoS::AtLeastOnce);
    bench.publish(QoS::ExactlyOnce);
    bench.heard();
    bench.say(&Packet::Ack(Step::Puback, id(1), 0x97));
    bench.say(&Packet::Ack(Step::Pubrec, id(2), 0x97));
    assert_eq!(bench.client.pending(), 0);
    assert_eq!(bench.heard(), []);
}

#[test]
fn an_unknown_exchange_is_answered_so_that_the_broker_can_end_it() {
    for (version, code) in [(Version::V311, 0), (Version::V5, reason::PACKET_ID_NOT_FOUND)] {
        let mut bench = Bench::online(version, |_| {});
        bench.say(&Packet::Ack(Step::Pubrec, id(9), 0));
        bench.say(&Packet::Ack(Step::Pubrel, id(8), 0));
        let wanted = [Packet::Ack(Step::Pubrel, id(9), code), Packet::Ack(Step::Pubcomp, id(8), code)];
        assert_eq!(bench.heard(), wanted);
    }
}

#[test]
fn mqtt_3_14_4_1_nothing_is_sent_after_disconnect() {
    for version in BOTH {
        let mut bench = Bench::online(version, |_| {});
        bench.client.disconnect(bench.now).unwrap();
        bench.publish(QoS::AtMostOnce);
        assert_eq!(bench.heard(), [Packet::Disconnect(0)]);
        assert!(bench.closed);
    }
}

#[test]
fn a_batch_leaves_when_it_is_full_or_old() {
    let batch = Some(Batch { messages: 3, delay: Span::from_millis(50) });
    let mut bench = Bench::online(Version::V5, |config| config.batch = batch);
    bench.publish(QoS::AtMostOnce);
    bench.publish(QoS::AtMostOnce);
    assert_eq!(bench.heard().len(), 0);
    bench.publish(QoS::AtMostOnce);
    assert_eq!(bench.heard().len(), 3);
    bench.publish(QoS::AtMostOnce);
    bench.pass(Span::from_millis(49));
    assert_eq!(bench.heard().len(), 0);
    bench.pass(Span::from_millis(1));
    assert_eq!(bench.heard().len(), 1);
}

#[test]
fn each_topic_or_message_has_a_stream() {
    for (streams, wanted) in [(Streams::One, [0; 4]), (Streams::Topic, [1, 2, 1, 2]), (Streams::Message, [1, 2, 3, 4])]
    {
        let mut bench = Bench::online(Version::V5, |config| config.streams = streams);
        let mut numbers = Vec::new();
        for topic in ["a", "b", "a", "b"] {
            bench.client.publish(message(topic, QoS::AtMostOnce), bench.now).unwrap();
            while let Some(output) = bench.client.poll_output() {
                let Output::Bytes { lane, finish, .. } = output else { panic!() };
                assert!(lane.ours && finish == (streams == Streams::Message));
                numbers.push(lane.number);
            }
        }
        assert_eq!(numbers, wanted);
    }
}

#[test]
fn mqtt_3_1_3_2_the_same_identifier_names_the_session_of_each_connection() {
    for version in BOTH {
        let mut bench = Bench::opened(version, |config| config.clean = false);
        bench.accept(|_| {});
        bench.heard();
        bench.client.open(bench.now).unwrap();
        assert!(
            matches!(&bench.heard()[..], [Packet::Connect(connect)] if &*connect.client_id == "c" && !connect.clean)
        );
    }
    // In MQTT 5 the broker may give it one, which it keeps [MQTT-3.2.2-16].
    let mut bench = Bench::opened(Version::V5, |config| config.client_id = "".into());
    bench.accept(|connack| connack.assigned_client_id = Some("given".into()));
    bench.heard();
    bench.client.open(bench.now).unwrap();
    assert!(matches!(&bench.heard()[..], [Packet::Connect(connect)] if &*connect.client_id == "given"));
}

#[test]
fn mqtt_3_3_2_7_topic_aliases_end_with_their_connection() {
    let mut bench = Bench::opened(Version::V5, |config| (config.clean, config.topic_alias_maximum) = (false, 5));
    bench.accept(|connack| connack.topic_alias_maximum = 5);
    let given = |bench: &mut Bench| {
        bench.publish(QoS::AtMostOnce);
        let heard = bench.heard();
        let Some(Packet::Publish(publish)) = heard.last() else { panic!("{heard:?}") };
        (publish.message.topic.to_string(), publish.alias)
    };
    assert_eq!([given(&mut bench), given(&mut bench)], [("t".into(), Some(1)), (String::new(), Some(1))]);
    let publish = |topic: &str| {
        let message = message(topic, QoS::AtMostOnce);
        Packet::Publish(Publish { dup: false, id: None, message, alias: Some(4), properties: None })
    };
    bench.say(&publish("t"));
    bench.client.open(bench.now).unwrap();
    bench.accept(|connack| (connack.session_present, connack.topic_alias_maximum) = (true, 5));
    assert_eq!(given(&mut bench), ("t".into(), Some(1)), "its own is given anew");
    bench.say(&publish(""));
    bench.heard();
    assert!(bench.closed, "the broker's is not known any more");
}

#[test]
fn mqtt_3_3_2_10_every_topic_alias_up_to_the_own_maximum_is_taken() {
    for alias in 0..=6 {
        let mut bench = Bench::online(Version::V5, |config| config.topic_alias_maximum = 5);
        for topic in ["t", ""] {
            let message = message(topic, QoS::AtMostOnce);
            bench.say(&Packet::Publish(Publish {
                dup: false,
                id: None,
                message,
                alias: Some(alias),
                properties: None,
            }));
        }
        let fine = (1..=5).contains(&alias);
        assert_eq!(bench.messages(), if fine { 2 } else { 0 });
        let said = bench.heard();
        assert_eq!((bench.closed, said.is_empty()), (!fine, fine), "{alias}");
        assert!(fine || said == [Packet::Disconnect(reason::TOPIC_ALIAS_INVALID)]);
    }
}

#[test]
fn mqtt_3_3_4_1_and_4_6_0_2_to_4_messages_are_answered_by_their_qos_in_their_order() {
    for version in BOTH {
        let mut bench = Bench::online(version, |_| {});
        for (number, qos) in [(0, 0), (5, 1), (3, 2), (9, 2), (1, 1)] {
            bench.give(number, QoS::of(qos).unwrap());
        }
        let ack = |step, number| Packet::Ack(step, id(number), 0);
        let [puback, pubrec] = [Step::Puback, Step::Pubrec];
        assert_eq!(bench.heard(), [ack(puback, 5), ack(pubrec, 3), ack(pubrec, 9), ack(puback, 1)]);
        assert_eq!(bench.messages(), 5);
        for _ in 0..3 {
            bench.publish(QoS::ExactlyOnce);
        }
        bench.heard();
        for number in [2, 3, 1] {
            bench.say(&ack(Step::Pubrec, number));
        }
        assert_eq!(bench.heard(), [2, 3, 1].map(|number| ack(Step::Pubrel, number)));
    }
}

#[test]
fn mqtt_3_3_4_8_and_4_9_0_3_a_full_window_holds_only_messages_back() {
    for version in BOTH {
        let mut bench = Bench::online(version, |config| config.window = 1);
        bench.publish(QoS::AtLeastOnce);
        bench.publish(QoS::AtLeastOnce);
        bench.heard();
        bench.client.subscribe(&[Subscription::new("t", QoS::AtMostOnce)], bench.now).unwrap();
        bench.give(4, QoS::AtLeastOnce);
        assert!(matches!(&bench.heard()[..], [Packet::Subscribe(..), Packet::Ack(Step::Puback, ..)]));
    }
}

#[test]
fn mqtt_3_3_4_9_more_messages_than_it_takes_end_the_connection() {
    let mut bench = Bench::online(Version::V5, |config| config.receive_maximum = 2);
    for number in 1..=3 {
        bench.heard();
        assert!(!bench.closed);
        bench.give(number, QoS::ExactlyOnce);
    }
    assert!(bench.heard().contains(&Packet::Disconnect(reason::RECEIVE_MAXIMUM_EXCEEDED)));
    assert!(bench.closed);
}

#[test]
fn mqtt_4_3_1_1_to_4_3_3_2_messages_are_sent_with_their_qos_and_without_dup() {
    for version in BOTH {
        for (number, qos) in [(0, QoS::AtMostOnce), (1, QoS::AtLeastOnce), (1, QoS::ExactlyOnce)] {
            let mut bench = Bench::online(version, |_| {});
            bench.publish(qos);
            let wanted = Publish {
                dup: false,
                id: PacketId::new(number),
                message: message("t", qos),
                alias: None,
                properties: None,
            };
            assert_eq!(bench.heard(), [Packet::Publish(wanted)]);
        }
    }
}

#[test]
fn mqtt_4_3_2_3_and_4_3_3_3_to_5_a_message_is_unacknowledged_until_its_exchange_ends() {
    for version in BOTH {
        for (qos, steps) in
            [(QoS::AtLeastOnce, &[Step::Puback][..]), (QoS::ExactlyOnce, &[Step::Pubrec, Step::Pubcomp])]
        {
            let mut bench = Bench::online(version, |_| {});
            bench.publish(qos);
            bench.heard();
            for step in steps {
                assert_eq!((bench.client.pending(), bench.events()), (1, vec![]));
                bench.say(&Packet::Ack(*step, id(1), 0));
            }
            assert_eq!((bench.client.pending(), bench.events()), (0, vec![Event::Delivered(id(1))]));
        }
    }
}

#[test]
fn mqtt_4_3_3_11_and_12_after_pubcomp_the_identifier_is_of_a_new_message() {
    for version in BOTH {
        let mut bench = Bench::online(version, |_| {});
        for _ in 0..2 {
            bench.give(7, QoS::ExactlyOnce);
            bench.say(&Packet::Ack(Step::Pubrel, id(7), 0));
            let wanted = [Packet::Ack(Step::Pubrec, id(7), 0), Packet::Ack(Step::Pubcomp, id(7), 0)];
            assert_eq!(bench.heard(), wanted);
            assert_eq!(bench.messages(), 1);
        }
    }
}

#[test]
fn mqtt_4_4_0_1_nothing_is_sent_again_while_the_connection_lasts() {
    for version in BOTH {
        let mut bench = Bench::online(version, |config| config.keep_alive = 0);
        bench.publish(QoS::ExactlyOnce);
        bench.heard();
        bench.pass(Span::from_secs(100_000));
        assert_eq!(bench.heard(), []);
        assert_eq!(bench.client.next_wake(), Time::NEVER);
    }
}

#[test]
fn mqtt_4_13_2_1_a_disconnect_of_the_broker_ends_the_connection() {
    let mut bench = Bench::online(Version::V5, |_| {});
    bench.say(&Packet::Disconnect(reason::SESSION_TAKEN_OVER));
    assert!(matches!(&bench.events()[..], [Event::Closed(why)] if why.reason == reason::SESSION_TAKEN_OVER));
    assert_eq!(bench.heard(), []);
    assert!(bench.closed);
    // 3.1.1 has no such packet from a broker.
    let mut bench = Bench::online(Version::V311, |_| {});
    bench.say(&Packet::Disconnect(0));
    assert!(matches!(&bench.events()[..], [Event::Closed(why)] if why.reason == reason::PROTOCOL_ERROR));
}

#[test]
fn mqtt_4_13_1_1_a_violation_of_the_broker_ends_the_connection_and_is_said() {
    for version in BOTH {
        let mut bench = Bench::online(version, |_| {});
        bench.say(&Packet::Pingreq);
        let said = if version == Version::V5 { vec![Packet::Disconnect(reason::PROTOCOL_ERROR)] } else { vec![] };
        assert_eq!(bench.heard(), said);
        assert!(bench.closed);
    }
}

#[test]
fn mqtt_3_2_0_1_a_packet_before_connack_ends_the_connection() {
    for version in BOTH {
        let mut bench = Bench::opened(version, |_| {});
        bench.heard();
        bench.give(1, QoS::AtLeastOnce);
        assert_eq!((bench.messages(), bench.heard()), (0, vec![]));
        assert!(bench.closed);
    }
}

#[test]
fn mqtt_2_2_1_6_an_answer_to_nothing_ends_the_connection() {
    for version in BOTH {
        for answer in [Packet::Suback(id(9), vec![0]), Packet::Unsuback(id(9), vec![0])] {
            let mut bench = Bench::online(version, |_| {});
            bench.client.subscribe(&[Subscription::new("t", QoS::AtMostOnce)], bench.now).unwrap();
            let heard = bench.heard();
            let [Packet::Subscribe(number, _)] = heard[..] else { panic!("{heard:?}") };
            bench.say(&answer);
            bench.heard();
            assert!(bench.closed);
            let mut bench = Bench::online(version, |_| {});
            bench.client.subscribe(&[Subscription::new("t", QoS::AtMostOnce)], bench.now).unwrap();
            bench.say(&Packet::Suback(number, vec![0]));
            assert_eq!(bench.events(), [Event::Subscribed(vec![0])]);
        }
    }
}
