//! Any bytes are packets or an error, on either side, and nothing panics.

use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::packet::{Packet, Publish};
use haltere_mqtt::{Broker, BrokerConfig, Client, ClientConfig, Lane, Message, QoS, Version};
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
        Some(haltere_mqtt::Output::Bytes { bytes, .. }) => bytes,
        other => panic!("{other:?}"),
    }
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
        let packet = Packet::Publish(Publish { dup: dup && level > 0, id, message, alias: None });
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
