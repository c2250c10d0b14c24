//! QUIC's handshake over a clean and a broken path: which datagrams go, how long they are, how many round trips it takes.

mod common;

use common::{Exchange, Pair, Seen};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_transport::cc::Algorithm;
use haltere_transport::quic::{Config, Connection, Frame, HandshakeSizes, QuicPacket, SpaceId};
use haltere_transport::{Body, Endpoint, Role};

const DELAY: Span = Span::from_millis(25);

fn config(role: Role) -> Config {
    Config::new(role, Algorithm::Cubic, Streams::new(1, 0).named("cc"))
}

fn pair_of(client: Config, server: Config, exchange: Exchange) -> Pair<Connection, Connection> {
    let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
    let mut pair = Pair::new(Connection::new(client), Connection::new(server), &link, &link, 1, exchange);
    pair.keep = true;
    pair
}

fn pair(exchange: Exchange) -> Pair<Connection, Connection> {
    pair_of(config(Role::Client), config(Role::Server), exchange)
}

fn one(request: u64, answer: u64) -> Exchange {
    Exchange { streams: vec![(request, answer)] }
}

fn frame(frame: &Frame) -> String {
    match frame {
        Frame::Padding(_) => "PADDING".into(),
        Frame::Ping => "PING".into(),
        Frame::Ack(ack) => format!("ACK {}", ack.largest().unwrap()),
        Frame::Crypto { offset, len, .. } => format!("CRYPTO {offset}+{len}"),
        Frame::Stream { id, offset, len, fin, .. } => {
            format!("STREAM {id} {offset}+{len}{}", if *fin { " FIN" } else { "" })
        }
        Frame::HandshakeDone => "HANDSHAKE_DONE".into(),
        Frame::ConnectionClose(_) => "CONNECTION_CLOSE".into(),
        other => format!("{other:?}"),
    }
}

fn packet(packet: &QuicPacket) -> String {
    assert_eq!(packet.size, packet.encoded_len(), "{packet:?}");
    let name = match packet.space {
        SpaceId::Initial => "Initial",
        SpaceId::Handshake => "Handshake",
        SpaceId::Data => "1-RTT",
    };
    format!("{name} {}[{}]", packet.number, packet.frames.iter().map(frame).collect::<Vec<_>>().join(", "))
}

/// A datagram as a line: time in ms, direction, UDP payload, packets.
fn line(seen: &Seen) -> String {
    let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
    assert_eq!(seen.packet.len, datagram.size() + 28);
    let packets: Vec<_> = datagram.packets.iter().map(packet).collect();
    let at = seen.at.since(Time::ZERO).as_millis();
    format!("{at} {} {}: {}", if seen.from_client { "C>S" } else { "S>C" }, datagram.size(), packets.join(" "))
}

#[test]
fn the_request_leaves_after_one_round_trip_and_the_exchange_reads_like_the_rfcs() {
    let mut pair = pair(one(400, 1000));
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_complete();
    assert_eq!(pair.client_log.connected_at, Some(Time::ZERO + DELAY * 2));
    assert_eq!(pair.server_log.connected_at, Some(Time::ZERO + DELAY * 3));
    assert_eq!(pair.client_log.streams[0].3, Some(Time::ZERO + DELAY * 4));
    let lines: Vec<_> = pair.seen.iter().map(line).collect();
    let expected = [
        "0 C>S 1200: Initial 0[CRYPTO 0+300, PADDING]",
        "25 S>C 1200: Initial 0[ACK 0, CRYPTO 0+90] Handshake 0[CRYPTO 0+1013]",
        "25 S>C 1200: Handshake 1[CRYPTO 1013+1152]",
        "25 S>C 1184: Handshake 2[CRYPTO 2165+1135]",
        "50 C>S 1200: Initial 1[ACK 0] Handshake 0[ACK 0, PADDING]",
        "50 C>S 52: Handshake 1[ACK 1]",
        "50 C>S 522: Handshake 2[ACK 2, CRYPTO 0+36] 1-RTT 0[STREAM 0 0+400 FIN]",
        "75 S>C 1042: 1-RTT 0[ACK 0, HANDSHAKE_DONE, STREAM 0 0+1000 FIN]",
        "75 S>C 1472: 1-RTT 1[PING, PADDING]",
    ];
    for (got, want) in lines.iter().zip(expected) {
        assert_eq!(got, want, "\n{}", lines.join("\n"));
    }
}
