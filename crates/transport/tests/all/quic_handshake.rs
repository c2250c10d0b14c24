//! QUIC's handshake over a clean and a lossy path: the datagrams, their lengths, and the number of round trips.

use crate::common;

use common::{Exchange, Pair, Seen};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{Rate, Span, Time};
use haltere_transport::cc;
use haltere_transport::quic::{Config, Connection, Frame, HandshakeSizes, QuicPacket, SpaceId};
use haltere_transport::{Body, CloseReason, Endpoint, Role};

const DELAY: Span = Span::from_millis(25);

fn config(role: Role) -> Config {
    Config::new(role, cc::CUBIC, Streams::new(1, 0).named("cc"))
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
    format!("{at} {} {}: {}", if seen.by_client() { "C>S" } else { "S>C" }, datagram.size(), packets.join(" "))
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
        "25 S>C 1200: Initial 0[ACK 0, CRYPTO 0+90] Handshake 0[CRYPTO 0+1012]",
        "25 S>C 1200: Handshake 1[CRYPTO 1012+1153]",
        "25 S>C 1182: Handshake 2[CRYPTO 2165+1135]",
        "50 C>S 1200: Initial 1[ACK 0] Handshake 0[ACK 0, PADDING]",
        "50 C>S 47: Handshake 1[ACK 1]",
        "50 C>S 516: Handshake 2[ACK 2, CRYPTO 0+36] 1-RTT 0[STREAM 0 0+400 FIN]",
        "75 S>C 1036: 1-RTT 0[ACK 0, HANDSHAKE_DONE, STREAM 0 0+1000 FIN]",
        "75 S>C 1472: 1-RTT 1[PING, PADDING]",
        "100 C>S 34: 1-RTT 1[ACK 0, CONNECTION_CLOSE]",
    ];
    for (got, want) in lines.iter().zip(expected) {
        assert_eq!(got, want, "\n{}", lines.join("\n"));
    }
}

/// Runs with certain datagrams lost, counted from 1 in each direction, and checks the anti-amplification limit.
fn run_losing(client: Config, server: Config, up: &[u64], down: &[u64]) -> Pair<Connection, Connection> {
    let mut pair = pair_of(client, server, one(400, 20_000));
    let (mut sent, lost) = ([0, 0], [up.to_vec(), down.to_vec()]);
    let (mut heard, mut told, mut validated) = (0u64, 0u64, false);
    pair.censor = Some(Box::new(move |seen| {
        let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
        let direction = usize::from(!seen.by_client());
        sent[direction] += 1;
        let dropped = lost[direction].contains(&sent[direction]);
        // What the client sends may arrive later than it is counted here, which only makes the check a little weaker.
        if seen.by_client() && !dropped {
            heard += u64::from(datagram.size());
            validated |= datagram.packets.iter().any(|p| p.space == SpaceId::Handshake);
        } else if !seen.by_client() && !validated {
            told += u64::from(datagram.size());
            assert!(told <= 3 * heard, "{told} sent for {heard} received");
        }
        dropped
    }));
    assert!(pair.run(Span::from_secs(120)), "still going");
    pair.assert_complete();
    for seen in &pair.seen {
        line(seen);
    }
    pair
}

#[test]
fn every_loss_of_one_or_two_datagrams_of_the_handshake_is_survived() {
    for up in 0..8 {
        for down in 0..8 {
            let pair = run_losing(config(Role::Client), config(Role::Server), &[up], &[down, down + 1]);
            // Three probe timeouts from the initial RTT of 333 ms are 1 + 2 + 4 s.
            assert!(pair.client_log.connected_at.unwrap() < Time::ZERO + Span::from_secs(8), "{up} {down}");
        }
    }
}

#[test]
fn a_server_flight_beyond_the_limit_waits_for_the_client() {
    let mut server = config(Role::Server);
    server.messages.certificate = 6000;
    let pair = run_losing(config(Role::Client), server.clone(), &[], &[]);
    // One round trip more: the rest of the flight goes out when the client has acknowledged a Handshake packet.
    assert_eq!(pair.client_log.connected_at, Some(Time::ZERO + DELAY * 4));
    // The server has used up its limit and all of it is lost: the client's probe timeout frees it.
    run_losing(config(Role::Client), server, &[], &[1, 2, 3]);
}

#[test]
fn a_client_hello_of_two_datagrams_costs_no_round_trip() {
    let (mut client, mut server) = (config(Role::Client), config(Role::Server));
    client.messages = HandshakeSizes::HYBRID;
    server.messages = HandshakeSizes::HYBRID;
    let pair = run_losing(client, server, &[], &[]);
    assert_eq!(pair.client_log.connected_at, Some(Time::ZERO + DELAY * 2));
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let mut pair = pair(one(1, 1));
    pair.censor = Some(Box::new(|seen| !seen.by_client()));
    assert!(pair.run(Span::from_secs(300)));
    assert_eq!(pair.client_log.failed, Some(CloseReason::HandshakeTimeout));
    assert!(pair.wakes < 100, "{}", pair.wakes);
}

#[test]
fn a_path_that_goes_dead_is_given_up_after_the_idle_timeout() {
    let mut pair = pair(one(400, 5_000_000));
    pair.censor = Some(Box::new(|seen| seen.at > Time::ZERO + Span::from_millis(150)));
    assert!(pair.run(Span::from_secs(300)));
    assert_eq!(pair.client_log.failed, Some(CloseReason::IdleTimeout));
    assert_eq!(pair.server_log.failed, Some(CloseReason::IdleTimeout));
    assert!(pair.wakes < 200, "{}", pair.wakes);
}

#[test]
fn a_lost_connection_close_leaves_the_peer_to_its_idle_timeout() {
    let mut pair = pair(one(400, 5_000));
    pair.close = false;
    assert!(!pair.run(Span::from_secs(1)));
    pair.censor = Some(Box::new(|seen| {
        let Body::Quic(datagram) = &seen.packet.body else { panic!("not QUIC") };
        datagram.packets.iter().any(|p| p.frames.iter().any(|f| matches!(f, Frame::ConnectionClose(_))))
    }));
    pair.close_client();
    assert!(pair.go_on(Span::from_secs(300)));
    pair.assert_complete();
    assert!(pair.now >= Time::ZERO + Span::from_secs(30));
}

#[test]
fn datagrams_grow_to_what_the_path_takes() {
    for (mtu, largest) in [(1500, 1472), (1400, 1372), (1228, 1200)] {
        let rate = Some(Rate::from_bps(20_000_000));
        let link = LinkConfig { delay: DELAY, mtu, rate, ..LinkConfig::default() };
        let ends = (Connection::new(config(Role::Client)), Connection::new(config(Role::Server)));
        let mut pair = Pair::new(ends.0, ends.1, &link, &link, 1, one(100, 3_000_000));
        pair.keep = true;
        assert!(pair.run(Span::from_secs(60)));
        pair.assert_complete();
        let sizes = pair.seen.iter().rev().filter(|s| !s.by_client() && line(s).contains("STREAM")).take(100);
        let found = sizes.map(|s| s.packet.len - 28).max().unwrap();
        assert!(found <= largest && found + 16 > largest, "{found} of {largest}");
        // A probe that is too long is no sign of congestion.
        assert_eq!(pair.server.stats().timeouts, 0);
        assert!(pair.server.stats().lost_packets <= 20, "{}", pair.server.stats().lost_packets);
    }
}
