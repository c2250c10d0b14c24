//! Reads any bytes as MQTT: alone, as a broker before and after CONNECT, and as a client. No panic, and what was decoded can
//! be encoded.

#![no_main]

use haltere_mqtt::codec::{Decoder, LARGEST, encode};
use haltere_mqtt::{Broker, BrokerConfig, Client, ClientConfig, Lane, Output, Streams, Version};
use haltere_net::Time;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for version in [Version::V311, Version::V5] {
        let mut decoder = Decoder::new(Some(version), LARGEST);
        decoder.push(bytes);
        while let Ok(Some(packet)) = decoder.next_packet() {
            encode(version, &packet, &mut Vec::new()).expect("a packet that was decoded");
        }
        let config = ClientConfig { version, ..ClientConfig::new("fuzz") };
        let mut client = Client::new(config);
        client.open(Time::ZERO).expect("a client's CONNECT");
        let Some(Output::Bytes { bytes: connect, .. }) = client.poll_output() else { return };
        let control = Lane { ours: false, number: 0 };
        for begun in [false, true] {
            let mut broker = Broker::new(BrokerConfig::default());
            let connection = broker.accept(Streams::One, Time::ZERO);
            if begun {
                broker.on_bytes(connection, control, &connect, Time::ZERO);
            }
            broker.on_bytes(connection, control, bytes, Time::ZERO);
            while broker.poll_output().is_some() {}
            broker.on_lost(connection, Time::ZERO);
        }
        let connack: &[u8] = if version == Version::V5 { &[0x20, 3, 0, 0, 0] } else { &[0x20, 2, 0, 0] };
        client.on_bytes(Lane { ours: true, number: 0 }, connack, Time::ZERO);
        client.on_bytes(Lane { ours: true, number: 0 }, bytes, Time::ZERO);
    }
});
