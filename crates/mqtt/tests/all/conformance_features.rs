//! Statements of the standard about features that MQTT 5 has and 3.1.1 lacks: properties of messages, expiry, delayed
//! wills, shared subscriptions, subscription identifiers, limits on packets, enhanced authentication. Each test is
//! called after its statement.

use crate::raw;

use haltere_mqtt::client::Event;
use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::packet::{
    Authentication, Connack, Connect, Packet, Properties, Publish, Step, Subscription, Version, reason,
};
use haltere_mqtt::{BrokerConfig, Client, ClientConfig, Connection, Lane, Message, Output, QoS};
use haltere_net::{Span, Time};
use raw::{Bench, connect, id, lasting, publish, text};
use std::sync::Arc;

const V5: Version = Version::V5;

fn with(message: Message, number: u16, properties: Properties) -> Packet {
    let id = haltere_mqtt::packet::PacketId::new(number);
    Packet::Publish(Publish { dup: false, id, message, alias: None, properties: Some(Arc::new(properties)) })
}

fn expiring(seconds: u32) -> Properties {
    Properties { expiry: Some(seconds), ..Properties::default() }
}

/// The properties and payloads of what a broker has sent.
fn received(bench: &mut Bench, connection: Connection) -> Vec<(String, Option<Properties>)> {
    let mut found = Vec::new();
    for packet in bench.hear(connection) {
        if let Packet::Publish(p) = packet {
            let payload = String::from_utf8(p.message.payload.to_vec()).unwrap();
            found.push((payload, p.properties.as_deref().cloned()));
        }
    }
    found
}

fn all_properties() -> Properties {
    let user = [("b", "1"), ("a", "2"), ("b", "3")].map(|(name, value)| (name.into(), value.into()));
    Properties {
        text: Some(true),
        expiry: None,
        content_type: Some("text/plain".into()),
        response_topic: Some("answers".into()),
        correlation: Some(vec![1, 0, 255].into()),
        user: user.to_vec(),
        subscription: None,
    }
}

#[test]
fn mqtt_3_3_2_4_and_15_to_20_properties_go_on_unaltered_and_in_their_order() {
    let mut bench = Bench::new(V5);
    let subscriber = bench.subscriber("s", "t", QoS::AtLeastOnce);
    let publisher = bench.client("p");
    bench.say(publisher, &with(text("t", "x", QoS::AtLeastOnce), 1, all_properties()));
    assert_eq!(received(&mut bench, subscriber), [("x".into(), Some(all_properties()))]);
    bench.say(publisher, &publish(text("t", "plain", QoS::AtLeastOnce), 2));
    assert_eq!(received(&mut bench, subscriber), [("plain".into(), None)]);
}

#[test]
fn mqtt_3_3_2_13_to_19_response_topics_and_content_types_are_text_without_wildcards() {
    let closes = |property: &[u8]| {
        let mut bench = Bench::new(V5);
        let connection = bench.client("c");
        let body = [&[0, 1, b't', property.len() as u8], property].concat();
        bench.say_bytes(connection, &[&[0x30, body.len() as u8], &body[..]].concat());
        bench.is_closed(connection)
    };
    assert!(!closes(&[0x08, 0, 1, b'a']) && !closes(&[0x03, 0, 1, b'a']));
    for bad in [&[0x08, 0, 1, b'#'][..], &[0x08, 0, 1, b'+'], &[0x08, 0, 1, 0xff], &[0x03, 0, 1, 0xff]] {
        assert!(closes(bad), "{bad:?}");
    }
    let mut client = Client::new(ClientConfig::new("c"));
    let wild = Properties { response_topic: Some("a/#".into()), ..Properties::default() };
    assert!(client.publish_with(text("t", "x", QoS::AtMostOnce), wild, Time::ZERO).is_err());
}

#[test]
fn mqtt_3_3_2_5_and_6_a_message_expires_while_it_waits_and_its_time_is_counted() {
    let mut bench = Bench::new(V5);
    let first = bench.join(lasting(V5, "s"));
    bench.subscribe(first, Subscription::new("t", QoS::AtLeastOnce));
    bench.lose(first);
    let publisher = bench.client("p");
    for (number, seconds) in [(1, 10), (2, 30)] {
        bench.say(publisher, &with(text("t", &seconds.to_string(), QoS::AtLeastOnce), number, expiring(seconds)));
    }
    bench.pass(Span::from_secs(12));
    let again = bench.accept();
    bench.say(again, &Packet::Connect(Box::new(lasting(V5, "s"))));
    assert_eq!(received(&mut bench, again), [("30".into(), Some(expiring(18)))]);
    let dropped = std::iter::from_fn(|| bench.broker.poll_event()).count();
    assert_eq!(dropped, 1);
    // A retained one, too.
    let retained = Message { retain: true, ..text("kept", "x", QoS::AtMostOnce) };
    bench.say(publisher, &with(retained, 0, expiring(5)));
    for (passes, found) in [(4, 1), (1, 0)] {
        bench.pass(Span::from_secs(passes));
        let late = bench.client("late");
        assert_eq!(bench.subscribe(late, Subscription::new("kept", QoS::AtMostOnce)).len(), found);
    }
}

#[test]
fn mqtt_4_3_3_7_and_13_what_was_sent_does_not_expire() {
    for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
        let mut bench = Bench::new(V5);
        let first = bench.join(lasting(V5, "s"));
        bench.subscribe(first, Subscription::new("t", qos));
        let publisher = bench.client("p");
        bench.say(publisher, &with(text("t", "x", qos), 1, expiring(10)));
        bench.hear(first);
        bench.lose(first);
        bench.pass(Span::from_secs(100));
        let again = bench.accept();
        bench.say(again, &Packet::Connect(Box::new(lasting(V5, "s"))));
        assert_eq!(received(&mut bench, again), [("x".into(), Some(expiring(0)))]);
        if qos == QoS::ExactlyOnce {
            bench.ack(again, Step::Pubrec, 1);
            assert_eq!(bench.hear(again), [Packet::Ack(Step::Pubrel, id(1), 0)]);
            bench.ack(again, Step::Pubcomp, 1);
            assert_eq!(bench.broker.pending("s"), Some((0, 0)));
        }
    }
}

/// A client whose will waits for 10 s and whose session for `expiry`, and one that hears of it.
fn with_delayed_will(expiry: u32) -> (Bench, Connection, Connection, Connect) {
    let mut bench = Bench::new(V5);
    let watcher = bench.subscriber("w", "gone", QoS::AtMostOnce);
    let will = Some(text("gone", "c", QoS::AtMostOnce));
    let will_properties = Some(Arc::new(all_properties()));
    let connect = Connect { will, will_delay: 10, will_properties, session_expiry: expiry, ..lasting(V5, "c") };
    let connection = bench.join(connect.clone());
    (bench, watcher, connection, connect)
}

#[test]
fn mqtt_3_1_2_8_and_3_1_3_10_a_will_waits_for_its_delay_or_the_end_of_the_session() {
    for (expiry, waits) in [(u32::MAX, 10), (30, 10), (4, 4), (0, 0)] {
        let (mut bench, watcher, connection, _) = with_delayed_will(expiry);
        bench.lose(connection);
        if waits > 0 {
            bench.pass(Span::from_millis(waits * 1000 - 1));
            assert_eq!(received(&mut bench, watcher), []);
            bench.pass(Span::from_millis(1));
        }
        assert_eq!(received(&mut bench, watcher), [("c".into(), Some(all_properties()))], "{expiry}");
        bench.pass(Span::from_secs(1000));
        assert_eq!(received(&mut bench, watcher), []);
    }
}

#[test]
fn mqtt_3_1_3_9_a_client_that_comes_back_in_time_has_no_will() {
    let (mut bench, watcher, connection, connect) = with_delayed_will(u32::MAX);
    bench.lose(connection);
    bench.pass(Span::from_secs(9));
    bench.join(connect.clone());
    bench.pass(Span::from_secs(100));
    assert_eq!(received(&mut bench, watcher), []);
    // One that begins a new session has ended the old one [MQTT-3.1.2-8].
    let (mut bench, watcher, connection, connect) = with_delayed_will(u32::MAX);
    bench.lose(connection);
    bench.join(Connect { clean: true, will: None, ..connect });
    assert_eq!(received(&mut bench, watcher).len(), 1);
}

#[test]
fn mqtt_3_1_2_23_disconnect_may_change_the_session_expiry() {
    for (seconds, kept) in [(0, false), (20, true)] {
        let mut bench = Bench::new(V5);
        let connection = bench.join(Connect { session_expiry: 5, ..lasting(V5, "c") });
        bench.say(connection, &Packet::DisconnectFor(0, seconds));
        assert!(bench.is_closed(connection));
        bench.lose(connection);
        bench.pass(Span::from_secs(19));
        assert_eq!(bench.broker.pending("c").is_some(), kept);
        bench.pass(Span::from_secs(1));
        assert_eq!(bench.broker.pending("c"), None);
    }
    // Not from nothing (section 3.14.2.2.2).
    let mut bench = Bench::new(V5);
    let connection = bench.client("c");
    bench.say(connection, &Packet::DisconnectFor(0, 5));
    assert_eq!(bench.hear(connection), [Packet::Disconnect(reason::PROTOCOL_ERROR)]);
}

#[test]
fn mqtt_3_1_2_24_and_25_a_message_larger_than_the_client_takes_counts_as_delivered() {
    let mut bench = Bench::new(V5);
    let small = Connect { maximum_packet: Some(40), topic_alias_maximum: 5, receive_maximum: 1, ..connect(V5, "s") };
    let subscriber = bench.join(small);
    bench.subscribe(subscriber, Subscription::new("t", QoS::ExactlyOnce));
    let publisher = bench.client("p");
    for (number, size) in [(1, 100), (2, 3), (3, 100)] {
        bench.say(publisher, &publish(text("t", &"x".repeat(size), QoS::AtLeastOnce), number));
    }
    let heard = bench.hear(subscriber);
    // The topic alias comes with the first message that is sent, and the one that was not takes no place in the window.
    assert!(
        matches!(&heard[..], [Packet::Publish(p)] if p.message.payload.len() == 3 && &*p.message.topic == "t"),
        "{heard:?}"
    );
    bench.ack(subscriber, Step::Puback, heard_id(&heard));
    assert_eq!(bench.broker.pending("s"), Some((0, 0)));
    assert_eq!(std::iter::from_fn(|| bench.broker.poll_event()).count(), 2);
    assert!(!bench.is_closed(subscriber));
}

fn heard_id(heard: &[Packet]) -> u16 {
    match heard {
        [Packet::Publish(p), ..] => p.id.unwrap().get(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn mqtt_3_2_2_22_the_broker_keeps_the_keep_alive_time_that_it_has_said() {
    for (server, silence) in [(None, 90), (Some(4), 6)] {
        let mut bench = Bench::with(V5, BrokerConfig { keep_alive: server, ..BrokerConfig::default() });
        let connection = bench.accept();
        bench.say(connection, &Packet::Connect(Box::new(Connect { keep_alive: 60, ..connect(V5, "c") })));
        assert!(matches!(&bench.hear(connection)[..], [Packet::Connack(c)] if c.keep_alive == server));
        bench.pass(Span::from_millis(silence * 1000 - 1));
        assert!(!bench.is_closed(connection));
        bench.pass(Span::from_millis(1));
        assert!(bench.is_closed(connection));
    }
}

#[test]
fn mqtt_3_3_4_3_to_5_messages_come_with_the_identifiers_of_their_subscriptions() {
    let mut bench = Bench::new(V5);
    let subscriber = bench.client("s");
    let with_id = |filter: &str, identifier| Subscription { identifier, ..Subscription::new(filter, QoS::AtMostOnce) };
    for (filter, identifier) in [("a/#", Some(7)), ("a/b", Some(300)), ("+/b", None), ("c", None), ("kept", Some(9))] {
        bench.subscribe(subscriber, with_id(filter, identifier));
    }
    let publisher = bench.client("p");
    let mut found = |topic: &str| {
        bench.say(publisher, &publish(text(topic, "x", QoS::AtMostOnce), 0));
        let mut found: Vec<Option<u32>> = received(&mut bench, subscriber)
            .into_iter()
            .map(|(_, said)| said.and_then(|said| said.subscription))
            .collect();
        found.sort_unstable();
        found
    };
    assert_eq!(found("a/x"), [Some(7)]);
    assert_eq!(found("a/b"), [Some(7), Some(300)]);
    assert_eq!(found("c"), [None]);
    // One packet has one identifier, and 0 is none (section 3.8.2.1.2).
    let several = vec![with_id("x", Some(1)), with_id("y", Some(2))];
    assert!(encode(V5, &Packet::Subscribe(id(1), several), &mut Vec::new()).is_err());
    let mut bench = Bench::new(V5);
    let client = bench.client("c");
    bench.say_bytes(client, &[0x82, 9, 0, 1, 2, 0x0b, 0, 0, 1, b't', 0]);
    assert!(bench.is_closed(client));
}

#[test]
fn mqtt_3_3_4_6_a_clients_message_has_no_subscription_identifier() {
    let said = Properties { subscription: Some(1), ..Properties::default() };
    let mut client = Client::new(ClientConfig::new("c"));
    assert!(client.publish_with(text("t", "x", QoS::AtMostOnce), said.clone(), Time::ZERO).is_err());
    let mut bench = Bench::new(V5);
    let client = bench.client("c");
    bench.say(client, &with(text("t", "x", QoS::AtMostOnce), 0, said));
    assert_eq!(bench.hear(client), [Packet::Disconnect(reason::PROTOCOL_ERROR)]);
}

/// Members of a group that share `t`.
fn members(bench: &mut Bench, count: usize, qos: QoS) -> Vec<Connection> {
    let join = |k: usize| {
        let member = bench.join(lasting(V5, &format!("m{k}")));
        bench.subscribe(member, Subscription::new("$share/group/t", qos));
        member
    };
    (0..count).map(join).collect()
}

#[test]
fn mqtt_4_8_2_1_and_2_a_shared_filter_has_a_name_and_a_filter() {
    for (filter, fine) in [
        ("$share/g/t", true),
        ("$share/g/a/+/#", true),
        ("$share/g/$SYS/x", true),
        ("$share//t", false),
        ("$share/g", false),
        ("$share/g/", false),
        ("$share/a+/t", false),
        ("$share/#/t", false),
    ] {
        let mut bench = Bench::new(V5);
        let client = bench.client("c");
        let bytes = [&[0x82, filter.len() as u8 + 6, 0, 1, 0, 0, filter.len() as u8], filter.as_bytes(), &[1]].concat();
        bench.say_bytes(client, &bytes);
        assert_eq!(bench.is_closed(client), !fine, "{filter}");
        if fine {
            assert_eq!(bench.hear(client), [Packet::Suback(id(1), vec![1])]);
        }
    }
    // MQTT 3.1.1 has none.
    let mut bench = Bench::new(Version::V311);
    let client = bench.client("c");
    bench.say(client, &Packet::Subscribe(id(1), vec![Subscription::new("$share/g/t", QoS::AtMostOnce)]));
    assert_eq!(bench.hear(client), [Packet::Suback(id(1), vec![0x80])]);
}

#[test]
fn mqtt_3_8_3_4_no_local_on_a_shared_subscription_is_an_error() {
    let mut bench = Bench::new(V5);
    let client = bench.client("c");
    let shared = Subscription { no_local: true, ..Subscription::new("$share/g/t", QoS::AtMostOnce) };
    bench.say(client, &Packet::Subscribe(id(1), vec![shared]));
    assert_eq!(bench.hear(client), [Packet::Disconnect(reason::PROTOCOL_ERROR)]);
}

#[test]
fn mqtt_4_8_2_3_each_message_goes_to_one_member_with_its_qos() {
    let mut bench = Bench::new(V5);
    let retained = Message { retain: true, ..text("t", "kept", QoS::AtMostOnce) };
    let publisher = bench.client("p");
    bench.say(publisher, &publish(retained, 0));
    let all = members(&mut bench, 3, QoS::AtMostOnce);
    let alone = bench.subscriber("alone", "t", QoS::AtMostOnce);
    bench.hear(alone);
    for number in 1..=9 {
        bench.say(publisher, &publish(text("t", &number.to_string(), QoS::AtLeastOnce), number));
    }
    assert_eq!(bench.payloads(alone).len(), 9);
    let mut found = Vec::new();
    for member in all {
        let got = bench.messages(member);
        assert_eq!(got.len(), 3, "they take turns, and get no retained message (section 4.8.2)");
        assert!(got.iter().all(|message| message.2 == QoS::AtMostOnce));
        found.extend(got.into_iter().map(|message| message.1));
    }
    found.sort_unstable();
    assert_eq!(found, (1..=9).map(|n| n.to_string()).collect::<Vec<_>>());
    // The group ends with its last member.
    for member in 0..3 {
        let again = bench.join(connect(V5, &format!("m{member}")));
        bench.hear(again);
    }
    bench.say(publisher, &publish(text("t", "x", QoS::AtLeastOnce), 1));
    assert_eq!(bench.payloads(alone), ["x"]);
}

#[test]
fn mqtt_4_8_2_4_to_6_a_message_stays_with_the_member_that_was_chosen() {
    let mut bench = Bench::new(V5);
    let all = members(&mut bench, 2, QoS::ExactlyOnce);
    let publisher = bench.client("p");
    bench.say(publisher, &publish(text("t", "first", QoS::ExactlyOnce), 1));
    assert_eq!(bench.payloads(all[0]), ["first"]);
    bench.lose(all[0]);
    // While it is away, those that are there get all.
    for number in 2..=3 {
        bench.say(publisher, &publish(text("t", &number.to_string(), QoS::ExactlyOnce), number));
    }
    assert_eq!(bench.payloads(all[1]), ["2", "3"]);
    let again = bench.accept();
    bench.say(again, &Packet::Connect(Box::new(lasting(V5, "m0"))));
    assert_eq!(bench.payloads(again), ["first"]);
    // It refuses the message, and nobody else gets it.
    bench.say(again, &Packet::Ack(Step::Pubrec, id(1), 0x97));
    bench.lose(again);
    // Its session ends with a message in it [MQTT-4.8.2-5].
    bench.lose(all[1]);
    bench.say(publisher, &publish(text("t", "4", QoS::ExactlyOnce), 4));
    let ended: Vec<&str> = ["m0", "m1"].into_iter().filter(|m| bench.broker.pending(m).unwrap().0 > 0).collect();
    let [holder] = ended[..] else { panic!("{ended:?}") };
    bench.join(connect(V5, holder));
    let other = bench.accept();
    bench.say(other, &Packet::Connect(Box::new(lasting(V5, if holder == "m0" { "m1" } else { "m0" }))));
    assert!(!bench.payloads(other).contains(&"4".to_string()));
}

#[test]
fn mqtt_4_12_0_1_an_authentication_method_is_refused() {
    let mut bench = Bench::new(V5);
    let connection = bench.accept();
    let authentication = Some(Authentication { method: "SCRAM-SHA-1".into(), data: vec![1].into() });
    bench.say(connection, &Packet::Connect(Box::new(Connect { authentication, ..connect(V5, "c") })));
    let heard = bench.hear(connection);
    assert!(matches!(&heard[..], [Packet::Connack(c)] if c.code == reason::BAD_AUTHENTICATION_METHOD), "{heard:?}");
    assert!(bench.is_closed(connection));
    assert_eq!(bench.broker.sessions(), 0);
    // Without one, AUTH is an error, and none is sent [MQTT-4.12.0-6].
    let client = bench.client("c");
    let auth = Authentication { method: "SCRAM-SHA-1".into(), data: vec![].into() };
    bench.say(client, &Packet::Auth(0x18, Box::new(auth)));
    assert_eq!(bench.hear(client), [Packet::Disconnect(reason::PROTOCOL_ERROR)]);
}

/// A client, and what it says to a broker that says whatever a test wants.
struct End {
    client: Client,
    closed: bool,
}

impl End {
    fn opened(change: impl Fn(&mut ClientConfig)) -> End {
        let mut config = ClientConfig::new("c");
        change(&mut config);
        let mut end = End { client: Client::new(config), closed: false };
        end.client.open(Time::ZERO).unwrap();
        end
    }

    fn say(&mut self, packet: &Packet) {
        let mut bytes = Vec::new();
        encode(V5, packet, &mut bytes).unwrap();
        self.client.on_bytes(Lane { ours: true, number: 0 }, &bytes, Time::ZERO);
    }

    fn heard(&mut self) -> Vec<Packet> {
        let mut decoder = Decoder::new(Some(V5), LARGEST);
        while let Some(output) = self.client.poll_output() {
            match output {
                Output::Bytes { bytes, .. } => decoder.push(&bytes),
                Output::Close => self.closed = true,
            }
        }
        std::iter::from_fn(|| decoder.next_packet().unwrap()).collect()
    }

    fn events(&mut self) -> Vec<Event> {
        std::iter::from_fn(|| self.client.poll_event()).collect()
    }
}

#[test]
fn mqtt_3_1_2_21_the_client_takes_the_brokers_keep_alive_time() {
    let mut end = End::opened(|config| config.keep_alive = 60);
    end.say(&Packet::Connack(Connack { keep_alive: Some(7), ..Connack::new(0) }));
    assert_eq!(end.client.next_wake(), Time::ZERO + Span::from_secs(7));
    // The next connection begins with its own.
    end.client.open(Time::ZERO).unwrap();
    end.say(&Packet::Connack(Connack::new(0)));
    assert_eq!(end.client.next_wake(), Time::ZERO + Span::from_secs(60));
}

#[test]
fn mqtt_3_2_2_11_and_14_and_15_the_client_sends_nothing_that_the_broker_does_not_take() {
    let fine = Connack { maximum_packet: Some(30), maximum_qos: QoS::AtLeastOnce, retains: false, ..Connack::new(0) };
    let large = text("t", &"x".repeat(40), QoS::AtLeastOnce);
    let retained = Message { retain: true, ..text("t", "x", QoS::AtMostOnce) };
    for refused in [large, retained, text("t", "x", QoS::ExactlyOnce)] {
        let mut end = End::opened(|_| {});
        // Some wait for CONNACK, some come later.
        end.client.publish(refused.clone(), Time::ZERO).unwrap();
        end.say(&Packet::Connack(fine.clone()));
        end.client.publish(refused.clone(), Time::ZERO).unwrap();
        end.client.publish(text("t", "good", QoS::AtLeastOnce), Time::ZERO).unwrap();
        let heard = end.heard();
        assert!(matches!(&heard[1..], [Packet::Publish(p)] if &p.message.payload[..] == b"good"), "{heard:?}");
        let dropped = end.events().into_iter().filter(|event| *event == Event::Dropped(refused.clone())).count();
        assert_eq!((dropped, end.client.pending()), (2, 1));
    }
    let mut end = End::opened(|_| {});
    end.say(&Packet::Connack(fine));
    assert!(end.client.subscribe(&[Subscription::new(&"x".repeat(40), QoS::AtMostOnce)], Time::ZERO).is_err());
}

#[test]
fn mqtt_3_1_2_24_a_packet_larger_than_the_client_takes_ends_the_connection() {
    let mut end = End::opened(|config| config.maximum_packet = Some(30));
    assert!(matches!(&end.heard()[..], [Packet::Connect(c)] if c.maximum_packet == Some(30)));
    end.say(&Packet::Connack(Connack::new(0)));
    end.say(&publish(text("t", &"x".repeat(25), QoS::AtMostOnce), 0));
    end.say(&publish(text("t", &"x".repeat(24), QoS::AtMostOnce), 0));
    assert!(!end.events().iter().any(|event| matches!(event, Event::Message(_))));
    assert_eq!(end.heard(), [Packet::Disconnect(reason::PACKET_TOO_LARGE)]);
    assert!(end.closed);
}

#[test]
fn mqtt_3_3_2_15_properties_reach_the_application_and_expire_before_they_are_sent() {
    let mut end = End::opened(|_| {});
    end.say(&Packet::Connack(Connack::new(0)));
    end.events();
    end.say(&with(text("t", "x", QoS::AtMostOnce), 0, all_properties()));
    end.say(&publish(text("t", "y", QoS::AtMostOnce), 0));
    let events = end.events();
    assert!(
        matches!(&events[..], [Event::Properties(said), Event::Message(_), Event::Message(_)] if **said == all_properties()),
        "{events:?}"
    );
    // What waits for a connection expires, too.
    let mut client = Client::new(ClientConfig::new("c"));
    client.publish_with(text("t", "old", QoS::AtLeastOnce), expiring(10), Time::ZERO).unwrap();
    let later = Time::ZERO + Span::from_secs(10);
    client.open(later).unwrap();
    let mut connack = Vec::new();
    encode(V5, &Packet::Connack(Connack::new(0)), &mut connack).unwrap();
    client.on_bytes(Lane { ours: true, number: 0 }, &connack, later);
    let dropped = std::iter::from_fn(|| client.poll_event()).filter(|event| matches!(event, Event::Dropped(_))).count();
    assert_eq!((dropped, client.pending()), (1, 0));
}

fn scram(data: &[u8]) -> Authentication {
    Authentication { method: "SCRAM-SHA-1".into(), data: data.to_vec().into() }
}

#[test]
fn mqtt_4_12_0_3_and_5_a_client_answers_challenges_with_its_method() {
    let mut end = End::opened(|config| (config.authentication, config.eager) = (Some(scram(b"1")), true));
    end.client.publish(text("t", "x", QoS::AtMostOnce), Time::ZERO).unwrap();
    // Nothing but AUTH is sent before CONNACK [MQTT-3.1.2-30].
    let heard = end.heard();
    assert!(matches!(&heard[..], [Packet::Connect(c)] if c.authentication == Some(scram(b"1"))), "{heard:?}");
    end.say(&Packet::Auth(0x18, Box::new(scram(b"2"))));
    assert_eq!(end.events(), [Event::Challenge(b"2".to_vec().into())]);
    end.client.answer(b"3".to_vec().into(), Time::ZERO).unwrap();
    assert_eq!(end.heard(), [Packet::Auth(0x18, Box::new(scram(b"3")))]);
    end.say(&Packet::Connack(Connack { authentication: Some(scram(b"4")), ..Connack::new(0) }));
    assert!(end.client.is_online());
    assert!(matches!(&end.heard()[..], [Packet::Publish(_)]));
    // Again, on the same connection [MQTT-4.12.1-1].
    end.events();
    end.client.authenticate_again(b"5".to_vec().into(), Time::ZERO).unwrap();
    assert_eq!(end.heard(), [Packet::Auth(0x19, Box::new(scram(b"5")))]);
    end.say(&Packet::Auth(0, Box::new(scram(b"6"))));
    assert!(end.client.is_online() && end.events().is_empty());
}

#[test]
fn mqtt_4_12_0_6_and_7_another_method_than_the_clients_ends_the_connection() {
    let other = || Authentication { method: "PLAIN".into(), data: vec![].into() };
    for (own, said) in [(Some(scram(b"")), other()), (None, other())] {
        let steps = [
            Packet::Auth(0x18, Box::new(said.clone())),
            Packet::Connack(Connack { authentication: Some(said), ..Connack::new(0) }),
        ];
        for step in steps {
            let mut end = End::opened(|config| config.authentication = own.clone());
            end.say(&step);
            end.heard();
            assert!(end.closed && !end.client.is_online());
        }
    }
    let mut end = End::opened(|config| config.authentication = Some(scram(b"")));
    end.say(&Packet::Connack(Connack::new(0)));
    end.heard();
    assert!(end.closed, "CONNACK without the method");
    let mut end = End::opened(|_| {});
    assert!(end.client.answer(vec![].into(), Time::ZERO).is_err());
}

#[test]
fn mqtt_3_15_2_1_auth_has_its_codes() {
    for (code, fine) in [(0x00, true), (0x18, true), (0x19, true), (0x01, false), (0x8c, false)] {
        let auth = Packet::Auth(code, Box::new(scram(b"")));
        assert_eq!(encode(V5, &auth, &mut Vec::new()).is_ok(), fine);
    }
    assert!(encode(Version::V311, &Packet::Auth(0x18, Box::new(scram(b""))), &mut Vec::new()).is_err());
    // A broker neither ends an authentication that there is not, nor begins one [MQTT-4.12.1-2].
    for code in [0x00, 0x19] {
        let mut end = End::opened(|config| config.authentication = Some(scram(b"")));
        end.say(&Packet::Auth(code, Box::new(scram(b""))));
        end.heard();
        assert!(end.closed, "{code:#04x}");
    }
}
