//! Statements of the standard about the bytes of packets: which ones a broker or a client refuses, and which ones they
//! send. Each test is called after the statement of MQTT 5.0 that it checks.

use crate::raw;

use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::packet::{Connack, Connect, Packet, Publish, Step, Subscription, reason};
use haltere_mqtt::{Client, ClientConfig, Output, QoS, Version};
use haltere_net::Time;
use raw::{Bench, connect, id, publish, text};

const BOTH: [Version; 2] = [Version::V311, Version::V5];

/// A packet of these bytes after its fixed header. In MQTT 5 `properties` are those that stand where the version has them.
fn packet(first: u8, parts: &[&[u8]]) -> Vec<u8> {
    let body = parts.concat();
    [vec![first, u8::try_from(body.len()).unwrap()], body].concat()
}

/// No properties, in the version that has them.
fn none(version: Version) -> &'static [u8] {
    if version == Version::V5 { &[0] } else { &[] }
}

fn level(version: Version) -> u8 {
    if version == Version::V5 { 5 } else { 4 }
}

/// CONNECT with these flags, the identifier `c` and what follows it.
fn connect_bytes(version: Version, flags: u8, rest: &[&[u8]]) -> Vec<u8> {
    let head = [0, 4, b'M', b'Q', b'T', b'T', level(version), flags, 0, 0];
    packet(0x10, &[&[&head, none(version), &[0, 1, b'c']], rest].concat())
}

/// Whether a broker closes a connection on which these are the first bytes.
fn refuses(version: Version, bytes: &[u8]) -> bool {
    let mut bench = Bench::new(version);
    let connection = bench.accept();
    bench.say_bytes(connection, bytes);
    bench.is_closed(connection)
}

/// Whether a broker closes the connection of a client that says these bytes.
fn closes(version: Version, bytes: &[u8]) -> bool {
    let mut bench = Bench::new(version);
    let connection = bench.client("c");
    bench.say_bytes(connection, bytes);
    bench.is_closed(connection)
}

/// Text that is not UTF-8: an overlong encoding, and a surrogate.
const BAD_TEXT: [&[u8]; 2] = [&[0, 2, 0xc0, 0x80], &[0, 3, 0xed, 0xa0, 0x80]];

#[test]
fn mqtt_1_5_4_1_text_is_well_formed_utf_8() {
    for version in BOTH {
        for bad in BAD_TEXT {
            let head = [0, 4, b'M', b'Q', b'T', b'T', level(version), 2, 0, 0];
            assert!(refuses(version, &packet(0x10, &[&head, none(version), bad])), "a client identifier");
            assert!(closes(version, &packet(0x30, &[bad, none(version)])), "a topic name");
            assert!(closes(version, &packet(0x82, &[&[0, 1], none(version), bad, &[0]])), "a topic filter");
            assert!(closes(version, &packet(0xa2, &[&[0, 1], none(version), bad])), "a filter that ends");
            // With a will, and with a user name.
            let will = [none(version), bad, &[0, 0]].concat();
            assert!(refuses(version, &connect_bytes(version, 0x06, &[&will])), "a will's topic");
            assert!(refuses(version, &connect_bytes(version, 0x82, &[bad])), "a user name");
        }
    }
}

#[test]
fn mqtt_1_5_4_3_a_byte_order_mark_is_text_like_other() {
    for version in BOTH {
        let mut bench = Bench::new(version);
        let subscriber = bench.subscriber("s", "\u{feff}a/+", QoS::AtMostOnce);
        let publisher = bench.client("p");
        for topic in ["\u{feff}a/b", "a/b"] {
            bench.say(publisher, &publish(text(topic, "x", QoS::AtMostOnce), 0));
        }
        let found: Vec<String> = bench.messages(subscriber).into_iter().map(|message| message.0).collect();
        assert_eq!(found, ["\u{feff}a/b"]);
    }
}

#[test]
fn mqtt_1_5_7_1_both_texts_of_a_user_property_are_utf_8() {
    for bad in [&[0, 1, 0xff, 0, 1, b'v'][..], &[0, 1, b'k', 0, 1, 0xff]] {
        let property = [&[0x26], bad].concat();
        let length = [property.len() as u8];
        assert!(closes(Version::V5, &packet(0x30, &[&[0, 1, b't'], &length, &property])));
    }
}

#[test]
fn mqtt_2_2_1_2_a_message_of_qos_0_has_no_packet_identifier() {
    for version in BOTH {
        let wrong = Publish {
            dup: false,
            id: Some(id(3)),
            message: text("t", "x", QoS::AtMostOnce),
            alias: None,
            properties: None,
        };
        assert!(encode(version, &Packet::Publish(wrong), &mut Vec::new()).is_err());
        for qos in [QoS::AtLeastOnce, QoS::ExactlyOnce] {
            let wrong = Publish { dup: false, id: None, message: text("t", "x", qos), alias: None, properties: None };
            assert!(encode(version, &Packet::Publish(wrong), &mut Vec::new()).is_err());
        }
        // Identifier 0 is none [MQTT-2.2.1-3].
        assert!(closes(version, &packet(0x32, &[&[0, 1, b't', 0, 0], none(version)])));
    }
}

#[test]
fn mqtt_2_2_2_1_no_properties_are_a_length_of_zero() {
    let bytes = |packet: &Packet| {
        let mut bytes = Vec::new();
        encode(Version::V5, packet, &mut bytes).unwrap();
        bytes
    };
    let said = bytes(&publish(text("t", "x", QoS::AtMostOnce), 0));
    assert_eq!(said, [0x30, 5, 0, 1, b't', 0, b'x']);
    assert_eq!(bytes(&Packet::Suback(id(1), vec![2])), [0x90, 4, 0, 1, 0, 2]);
    let asked = bytes(&Packet::Subscribe(id(1), vec![Subscription::new("t", QoS::AtMostOnce)]));
    assert_eq!(asked, [0x82, 7, 0, 1, 0, 0, 1, b't', 0]);
    assert_eq!(bytes(&Packet::Connect(Box::new(connect(Version::V5, "c")))), connect_bytes(Version::V5, 2, &[]));
}

#[test]
fn mqtt_3_1_2_9_a_will_has_a_topic_and_a_payload() {
    for version in BOTH {
        let whole = [none(version), &[0, 1, b'w', 0, 1, b'x']].concat();
        assert!(!refuses(version, &connect_bytes(version, 0x06, &[&whole])));
        for missing in 1..=whole.len() {
            assert!(refuses(version, &connect_bytes(version, 0x06, &[&whole[..whole.len() - missing]])));
        }
    }
}

#[test]
fn mqtt_3_1_2_11_to_13_without_a_will_its_flags_are_0() {
    for version in BOTH {
        for flags in [0x0a, 0x12, 0x22, 0x2a] {
            assert!(refuses(version, &connect_bytes(version, flags, &[])), "{version:?} {flags:#04x}");
        }
        // QoS 3 of a will.
        let will = [none(version), &[0, 1, b'w', 0, 1, b'x']].concat();
        assert!(refuses(version, &connect_bytes(version, 0x1e, &[&will])));
    }
}

#[test]
fn mqtt_3_1_2_16_to_19_user_name_and_password_are_there_if_the_flags_say_so() {
    let (name, password): (&[u8], &[u8]) = (&[0, 1, b'n'], &[0, 1, b'p']);
    for version in BOTH {
        for (flags, rest, wrong) in [
            (0x02, &[][..], false),
            (0x82, &[name][..], false),
            (0xc2, &[name, password][..], false),
            (0x02, &[name][..], true),
            (0x82, &[][..], true),
            (0x82, &[name, password][..], true),
            (0xc2, &[name][..], true),
        ] {
            assert_eq!(
                refuses(version, &connect_bytes(version, flags, rest)),
                wrong,
                "{version:?} {flags:#04x} {rest:?}"
            );
        }
    }
    // MQTT 5 has a password without a name; 3.1.1 has not [MQTT-3.1.2-22].
    assert!(!refuses(Version::V5, &connect_bytes(Version::V5, 0x42, &[password])));
    assert!(refuses(Version::V311, &connect_bytes(Version::V311, 0x42, &[password])));
}

#[test]
fn mqtt_3_1_3_1_the_fields_of_connect_are_in_their_order() {
    for version in BOTH {
        let will = Some(text("w", "x", QoS::AtLeastOnce));
        let mut bytes = Vec::new();
        encode(version, &Packet::Connect(Box::new(Connect { will, ..connect(version, "c") })), &mut bytes).unwrap();
        let fields = [none(version), &[0, 1, b'w', 0, 1, b'x']].concat();
        assert_eq!(bytes, connect_bytes(version, 0x0e, &[&fields]));
    }
}

#[test]
fn mqtt_3_1_3_3_connect_has_an_identifier() {
    for version in BOTH {
        let head = [0, 4, b'M', b'Q', b'T', b'T', level(version), 2, 0, 0];
        assert!(refuses(version, &packet(0x10, &[&head, none(version)])));
    }
}

#[test]
fn mqtt_3_2_2_1_the_reserved_flags_of_connack_are_0() {
    for version in BOTH {
        for session_present in [false, true] {
            let mut bytes = Vec::new();
            let connack = Connack { session_present, ..Connack::new(0) };
            encode(version, &Packet::Connack(connack), &mut bytes).unwrap();
            assert_eq!(bytes[2], u8::from(session_present));
            bytes[2] |= 0x10;
            let mut client = Client::new(ClientConfig { version, ..ClientConfig::new("c") });
            client.open(Time::ZERO).unwrap();
            client.on_bytes(haltere_mqtt::Lane { ours: true, number: 0 }, &bytes, Time::ZERO);
            assert!(!client.is_online());
            let outputs: Vec<Output> = std::iter::from_fn(|| client.poll_output()).collect();
            assert_eq!(outputs.last(), Some(&Output::Close));
        }
    }
}

#[test]
fn mqtt_3_3_1_2_a_message_of_qos_0_has_no_dup() {
    for version in BOTH {
        assert!(closes(version, &packet(0x38, &[&[0, 1, b't'], none(version)])));
        assert!(!closes(version, &packet(0x3a, &[&[0, 1, b't', 0, 1], none(version)])));
    }
}

#[test]
fn mqtt_3_3_1_4_there_is_no_qos_3() {
    for version in BOTH {
        assert!(closes(version, &packet(0x36, &[&[0, 1, b't', 0, 1], none(version)])));
    }
}

#[test]
fn mqtt_3_4_2_1_to_3_7_2_1_acknowledgements_have_the_codes_of_their_packet() {
    // Success, no matching subscribers, not authorized, packet identifier not found; a code of SUBACK alone.
    let codes = [(0x00, [true; 4]), (0x10, [true, true, false, false]), (0x87, [true, true, false, false])];
    let codes = codes.into_iter().chain([(0x92, [false, false, true, true]), (0x02, [false; 4])]);
    for (code, wanted) in codes {
        for (step, wanted) in [Step::Puback, Step::Pubrec, Step::Pubrel, Step::Pubcomp].into_iter().zip(wanted) {
            let said = encode(Version::V5, &Packet::Ack(step, id(1), code), &mut Vec::new());
            assert_eq!(said.is_ok(), wanted, "{step:?} {code:#04x}");
        }
    }
    for (packet, fine) in [
        (Packet::Disconnect(0x8e), true),
        (Packet::Disconnect(0x01), false),
        (Packet::Suback(id(1), vec![0x9e]), true),
        (Packet::Suback(id(1), vec![0x03]), false),
        (Packet::Unsuback(id(1), vec![0x11]), true),
        (Packet::Unsuback(id(1), vec![0x02]), false),
    ] {
        assert_eq!(encode(Version::V5, &packet, &mut Vec::new()).is_ok(), fine, "{packet:?}");
    }
}

#[test]
fn mqtt_3_8_3_2_and_3_10_3_2_a_list_of_filters_is_not_empty() {
    for version in BOTH {
        assert!(closes(version, &packet(0x82, &[&[0, 1], none(version)])));
        assert!(closes(version, &packet(0xa2, &[&[0, 1], none(version)])));
    }
}

#[test]
fn mqtt_3_8_3_5_reserved_subscription_options_are_0() {
    for version in BOTH {
        for options in [0x40, 0x80, 0x03] {
            assert!(
                closes(version, &packet(0x82, &[&[0, 1], none(version), &[0, 1, b't', options]])),
                "{options:#04x}"
            );
        }
    }
    assert!(closes(Version::V5, &packet(0x82, &[&[0, 1], &[0], &[0, 1, b't', 0x30]])), "Retain Handling 3");
}

#[test]
fn mqtt_3_14_1_1_a_reserved_flag_of_disconnect_is_malformed() {
    let mut bench = Bench::new(Version::V5);
    let connection = bench.client("c");
    bench.say_bytes(connection, &[0xe1, 0]);
    assert_eq!(bench.hear(connection), [Packet::Disconnect(reason::MALFORMED_PACKET)]);
    assert!(bench.is_closed(connection));
}

#[test]
fn mqtt_4_7_1_1_and_2_wildcards_of_filters_stand_alone_and_at_the_end() {
    for version in BOTH {
        for filter in ["a#", "a/#/b", "#/a", "a+", "+a/b", "a/b+"] {
            let length = [0, filter.len() as u8];
            let bytes = packet(0x82, &[&[0, 1], none(version), &length, filter.as_bytes(), &[0]]);
            assert!(closes(version, &bytes), "{filter}");
        }
    }
}

#[test]
fn mqtt_4_7_3_1_to_3_names_and_filters_have_1_to_65535_bytes_without_null() {
    for version in BOTH {
        assert!(closes(version, &packet(0x30, &[&[0, 0], none(version)])), "an empty topic name");
        assert!(closes(version, &packet(0x30, &[&[0, 1, 0], none(version)])), "a null character");
        assert!(closes(version, &packet(0x82, &[&[0, 1], none(version), &[0, 0, 0]])), "an empty filter");
        assert!(closes(version, &packet(0x82, &[&[0, 1], none(version), &[0, 1, 0, 0]])), "a null character");
        for (length, fine) in [(65_535, true), (65_536, false)] {
            let long = "a".repeat(length);
            let mut bytes = Vec::new();
            let said = encode(version, &publish(text(&long, "x", QoS::AtMostOnce), 0), &mut bytes);
            assert_eq!(said.is_ok(), fine);
            let mut decoder = Decoder::new(Some(version), LARGEST);
            decoder.push(&bytes);
            assert_eq!(decoder.next_packet().unwrap().is_some(), fine);
        }
    }
}
