//! Any bytes are packets or an error, on either side, and nothing panics.

use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::packet::{Packet, Publish, Subscription, reason};
use haltere_mqtt::{Broker, BrokerConfig, Client, ClientConfig, Lane, Message, Output, QoS, Version};
use haltere_net::Time;
use proptest::prelude::*;

fn version() -> impl Strategy<Value = Version> {
    prop_oneof![Just(Version::V311), Just(Version::V5)]
}

/// A packet's type and flags, a true length, and any body: more likely to be understood than any bytes.
fn likely() -> impl Strategy<Value = Vec<u8>> {
    let length = |body: &Vec<u8>| vec![body.len() as u8];
    let packet = (any::<u8>(), prop::collection::vec(any::<u8>(), 0..100));
    prop::collection::vec(packet, 1..4).prop_map(move |packets| {
        packets.into_iter().flat_map(|(first, body)| [vec![first], length(&body), body].concat()).collect()
    })
}

fn connect(version: Version) -> Vec<u8> {
    let mut client = Client::new(ClientConfig { version, ..ClientConfig::new("c") });
    client.open(Time::ZERO).unwrap();
    match client.poll_output() {
        Some(Output::Bytes { bytes, .. }) => bytes,
        other => panic!("{other:?}"),
    }
}

/// A filter of 65 535 bytes may have as many levels. The tree of subscriptions is not as deep as a peer likes.
#[test]
fn a_filter_of_very_many_levels_is_refused() {
    let broker = || {
        let mut broker = Broker::new(BrokerConfig::default());
        let connection = broker.accept(haltere_mqtt::Streams::One, Time::ZERO);
        let lane = Lane { ours: false, number: 0 };
        broker.on_bytes(connection, lane, &connect(Version::V5), Time::ZERO);
        while broker.poll_output().is_some() {}
        (broker, connection, lane)
    };
    let answer = |levels: usize| {
        let (mut broker, connection, lane) = broker();
        let filter = "/".repeat(levels - 1);
        let mut bytes = Vec::new();
        let asked = vec![Subscription::new(&filter, QoS::AtMostOnce)];
        encode(Version::V5, &Packet::Subscribe(1.try_into().unwrap(), asked), &mut bytes).unwrap();
        let message =
            Message { topic: filter.as_str().into(), payload: vec![1].into(), qos: QoS::AtMostOnce, retain: false };
        let publish = Publish { dup: false, id: None, message, alias: None, properties: None };
        encode(Version::V5, &Packet::Publish(publish), &mut bytes).unwrap();
        broker.on_bytes(connection, lane, &bytes, Time::ZERO);
        let Some((_, Output::Bytes { bytes, .. })) = broker.poll_output() else { panic!("no answer") };
        let mut decoder = Decoder::new(Some(Version::V5), LARGEST);
        decoder.push(&bytes);
        let Ok(Some(Packet::Suback(_, codes))) = decoder.next_packet() else { panic!("no SUBACK") };
        let heard = matches!(decoder.next_packet(), Ok(Some(Packet::Publish(_))));
        (codes, heard)
    };
    assert_eq!(answer(200), (vec![0], true));
    assert_eq!(answer(201), (vec![reason::TOPIC_FILTER_INVALID], false));
    assert_eq!(answer(65_535), (vec![reason::TOPIC_FILTER_INVALID], false));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_decoded_or_refused(v in version(), bytes in prop_oneof![likely(), prop::collection::vec(any::<u8>(), 0..300)]) {
        let mut decoder = Decoder::new(Some(v), LARGEST);
        decoder.push(&bytes);
        while let Ok(Some(packet)) = decoder.next_packet() {
            // What was understood can be said.
            encode(v, &packet, &mut Vec::new()).unwrap();
        }
    }

    #[test]
    fn a_broker_survives_any_bytes(v in version(), valid in any::<bool>(), bytes in likely()) {
        let mut broker = Broker::new(BrokerConfig::default());
        let connection = broker.accept(haltere_mqtt::Streams::One, Time::ZERO);
        let lane = Lane { ours: false, number: 0 };
        if valid {
            broker.on_bytes(connection, lane, &connect(v), Time::ZERO);
        }
        broker.on_bytes(connection, lane, &bytes, Time::ZERO);
        while broker.poll_output().is_some() {}
        broker.on_lost(connection, Time::ZERO);
    }

    #[test]
    fn a_client_survives_any_bytes(v in version(), valid in any::<bool>(), bytes in likely()) {
        let mut client = Client::new(ClientConfig { version: v, ..ClientConfig::new("c") });
        client.open(Time::ZERO).unwrap();
        let lane = Lane { ours: true, number: 0 };
        if valid {
            let connack: &[u8] = if v == Version::V5 { &[0x20, 3, 0, 0, 0] } else { &[0x20, 2, 0, 0] };
            client.on_bytes(lane, connack, Time::ZERO);
            prop_assert!(client.is_online());
        }
        client.on_bytes(lane, &bytes, Time::ZERO);
        while client.poll_output().is_some() {}
    }

    #[test]
    fn what_is_encoded_is_decoded_however_it_is_cut(
        v in version(), level in 0..3u8, dup in any::<bool>(), retain in any::<bool>(), topic in "[a-z/]{1,40}",
        payload in prop::collection::vec(any::<u8>(), 0..400), id in 1..=u16::MAX, cut in 1..40usize,
    ) {
        let qos = QoS::of(level).unwrap();
        let id = (level > 0).then(|| id.try_into().unwrap());
        let message = Message { topic: topic.as_str().into(), payload: payload.into(), qos, retain };
        let packet = Packet::Publish(Publish { dup: dup && level > 0, id, message, alias: None, properties: None });
        let mut bytes = Vec::new();
        encode(v, &packet, &mut bytes).unwrap();
        let mut decoder = Decoder::new(Some(v), LARGEST);
        let mut found = Vec::new();
        for part in bytes.chunks(cut) {
            decoder.push(part);
            while let Some(packet) = decoder.next_packet().unwrap() {
                found.push(packet);
            }
        }
        prop_assert_eq!(found, vec![packet]);
    }
}
