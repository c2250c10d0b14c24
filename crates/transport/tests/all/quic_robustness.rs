//! QUIC's reaction to packets that no correct peer would send: an error that names the violation, never a panic.

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Packet, PathId, Span, Time};
use haltere_transport::cc::{self, Algorithm};
use haltere_transport::path::PathStatus;
use haltere_transport::quic::{
    Ack, AckFrequency, Config, Connection, Datagram, DatagramFrame, Form, Frame, PathAck, QuicPacket, Session, SpaceId,
    TransportParameters,
};
use haltere_transport::{Body, CloseReason, Endpoint, Event, Role, StreamId};
use proptest::prelude::*;

fn end(role: Role, algorithm: Algorithm) -> Connection {
    Connection::new(Config::new(role, algorithm, Streams::new(5, 0).named("cc")))
}

/// An end with 0-RTT, Retry, Version Negotiation, the acknowledgement-frequency extension, DATAGRAM frames and unidirectional streams, each
/// by a bit.
fn variant(role: Role, algorithm: Algorithm, bits: u8) -> Connection {
    let mut config = Config::new(role, algorithm, Streams::new(5, 0).named("cc"));
    config.session = if bits & 1 > 0 { Session::EarlyData } else { Session::New };
    config.retry = bits & 2 > 0 && role == Role::Server;
    config.unknown_version = bits & 4 > 0 && role == Role::Client;
    config.ack_frequency = bits & 8 > 0;
    config.datagrams = bits & 16 > 0;
    config.unidirectional = bits & 32 > 0;
    Connection::new(config)
}

/// Both ends, connected and in the middle of a transfer.
fn talking(algorithm: Algorithm) -> Pair<Connection, Connection> {
    let link = LinkConfig { delay: Span::from_millis(10), ..LinkConfig::default() };
    let exchange = Exchange { streams: vec![(3000, 1 << 30)] };
    let ends = (end(Role::Client, algorithm), end(Role::Server, algorithm));
    let mut pair = Pair::new(ends.0, ends.1, &link, &link, 1, exchange);
    assert!(!pair.run(Span::from_millis(100)));
    pair
}

fn packet(space: SpaceId, number: u64, frames: Vec<Frame>) -> QuicPacket {
    let mut packet =
        QuicPacket { space, form: Form::Plain, token: 0, number_len: 2, size: 0, number, frames: Default::default() };
    frames.into_iter().for_each(|f| packet.frames.push(f));
    packet.size = packet.encoded_len();
    packet
}

fn datagram(packets: Vec<QuicPacket>) -> Packet<Body> {
    let mut datagram = Datagram::default();
    packets.into_iter().for_each(|p| datagram.packets.push(p));
    let len = datagram.size().saturating_add(28);
    Packet::new(len, Body::Quic(Box::new(datagram)))
}

/// The connection's reaction to a 1-RTT packet with this frame.
fn answer(connection: &mut Connection, now: Time, frame: Frame) -> Option<CloseReason> {
    let mut cx = Cx::new(now, ComponentId(0));
    connection.on_packet(datagram(vec![packet(SpaceId::Data, 1 << 20, vec![frame])]), &mut cx);
    let mut failed = None;
    while let Some(event) = connection.poll_event() {
        if let Event::Failed(why) = event {
            failed = Some(why);
        }
    }
    failed
}

#[test]
fn violations_are_named_and_told_to_the_peer() {
    let stream = |id, offset, fin| Frame::Stream { id, offset, len: 10, fin, explicit_len: true };
    let ack = Ack::new(std::iter::once(0..1 << 30), Span::ZERO);
    let disordered = Ack::new([0..1, 5..6], Span::ZERO);
    let cases = [
        (Frame::Ack(ack), "PROTOCOL_VIOLATION"),
        (Frame::Ack(disordered), "FRAME_ENCODING_ERROR"),
        (stream(0, 5000, false), "FINAL_SIZE_ERROR"),
        (stream(4, 1 << 40, false), "FLOW_CONTROL_ERROR"),
        (stream(4, u64::MAX, false), "FLOW_CONTROL_ERROR"),
        (stream(400, 0, false), "STREAM_LIMIT_ERROR"),
        (stream(1, 0, false), "STREAM_STATE_ERROR"),
        (stream(2, 0, false), "STREAM_STATE_ERROR"),
        (Frame::MaxStreamData { id: 5, limit: 1 }, "STREAM_STATE_ERROR"),
        (Frame::HandshakeDone, "PROTOCOL_VIOLATION"),
    ];
    for (frame, name) in cases {
        let mut pair = talking(cc::NEWRENO);
        let shown = format!("{frame:?}");
        let Some(CloseReason::ProtocolViolation(text)) = answer(&mut pair.server, pair.now, frame) else {
            panic!("{shown} was let pass");
        };
        assert!(text.starts_with(name), "{shown}: {text}");
        // The peer learns the same.
        let mut cx = Cx::new(pair.now, ComponentId(0));
        let told = pair.server.poll_transmit(&mut cx).expect("CONNECTION_CLOSE");
        assert!(pair.server.poll_transmit(&mut cx).is_none());
        pair.client.on_packet(told, &mut cx);
        let last = std::iter::from_fn(|| pair.client.poll_event()).last();
        assert_eq!(last, Some(Event::Failed(CloseReason::ProtocolViolation(text))));
        assert_eq!(pair.client.next_wake(), Time::NEVER);
    }
}

#[test]
fn frames_of_1_rtt_packets_are_refused_in_the_handshake() {
    let mut server = end(Role::Server, cc::CUBIC);
    let mut cx = Cx::new(Time::ZERO, ComponentId(0));
    let stream = Frame::Stream { id: 0, offset: 0, len: 1, fin: false, explicit_len: true };
    server.on_packet(datagram(vec![packet(SpaceId::Initial, 0, vec![stream, Frame::Padding(1200)])]), &mut cx);
    assert!(matches!(server.poll_event(), Some(Event::Failed(CloseReason::ProtocolViolation(_)))));
    assert_eq!(server.poll_event(), None);
}

#[test]
fn a_handshake_without_parameters_fails_and_a_short_initial_is_dropped() {
    let mut cx = Cx::new(Time::ZERO, ComponentId(0));
    let hello = || Frame::Crypto { offset: 0, len: 300, last: true, parameters: None };
    let mut server = end(Role::Server, cc::CUBIC);
    server.on_packet(datagram(vec![packet(SpaceId::Initial, 0, vec![hello()])]), &mut cx);
    assert_eq!((server.poll_event(), server.poll_transmit(&mut cx).is_none()), (None, true));
    server.on_packet(datagram(vec![packet(SpaceId::Initial, 1, vec![hello(), Frame::Padding(1200)])]), &mut cx);
    let Some(Event::Failed(CloseReason::ProtocolViolation(text))) = server.poll_event() else { panic!("accepted") };
    assert!(text.starts_with("TRANSPORT_PARAMETER_ERROR"));
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..200, 1 => 200u64..10_000_000, 1 => any::<u64>()]
}

fn frames() -> impl Strategy<Value = Frame> {
    let parameters = (numbers(), numbers(), numbers(), numbers(), any::<u16>(), numbers()).prop_map(|p| {
        Box::new(TransportParameters {
            initial_max_data: p.0,
            initial_max_stream_data: p.1,
            initial_max_streams: p.2,
            max_ack_delay: Span::from_nanos(p.3),
            max_udp_payload: p.4,
            max_idle_timeout: Span::from_nanos(p.5),
            min_ack_delay: (p.4 % 2 == 0).then(|| Span::from_nanos(p.0)),
            initial_max_path_id: (p.4 % 3 == 0).then_some(p.4 as u8),
            max_datagram_frame_size: (p.4 % 5 < 3).then_some(p.4),
        })
    });
    let len = prop_oneof![4 => 0u32..3000, 1 => Just(u32::MAX / 4)];
    let ranges = prop::collection::vec((numbers(), 0u64..50), 0..6);
    prop_oneof![
        (0u32..2000).prop_map(Frame::Padding),
        Just(Frame::Ping),
        (ranges, numbers(), any::<bool>()).prop_map(|(ranges, delay, sorted)| {
            let mut ranges: Vec<_> = ranges.into_iter().map(|(s, n)| s..s.saturating_add(n)).collect();
            if sorted {
                ranges.retain(|r| !r.is_empty());
                ranges.sort_by_key(|r| std::cmp::Reverse(r.start));
                ranges.dedup_by(|low, high| low.end >= high.start);
            }
            Frame::Ack(Ack::new(ranges, Span::from_nanos(delay)))
        }),
        (numbers(), len.clone(), any::<bool>(), prop::option::of(parameters))
            .prop_map(|(offset, len, last, parameters)| Frame::Crypto { offset, len, last, parameters }),
        (0u64..12, numbers(), len, any::<bool>(), any::<bool>())
            .prop_map(|(id, offset, len, fin, explicit_len)| Frame::Stream { id, offset, len, fin, explicit_len }),
        numbers().prop_map(Frame::MaxData),
        (numbers(), numbers()).prop_map(|(id, limit)| Frame::MaxStreamData { id, limit }),
        numbers().prop_map(Frame::MaxStreams),
        numbers().prop_map(Frame::DataBlocked),
        (numbers(), numbers()).prop_map(|(id, limit)| Frame::StreamDataBlocked { id, limit }),
        numbers().prop_map(Frame::StreamsBlocked),
        Just(Frame::HandshakeDone),
        Just(Frame::ImmediateAck),
        numbers().prop_map(Frame::PathChallenge),
        numbers().prop_map(Frame::PathResponse),
        (0u8..4).prop_map(|path| Frame::PathAbandon(PathId(path))),
        (0u8..4, any::<u32>(), any::<bool>()).prop_map(|(path, sequence, backup)| Frame::PathStatus {
            path: PathId(path),
            sequence,
            status: if backup { PathStatus::Backup } else { PathStatus::Available },
        }),
        (0u8..4, numbers(), numbers()).prop_map(|(path, end, n)| {
            let ack = Ack::new(std::iter::once(end.saturating_sub(n)..end), Span::from_nanos(n));
            Frame::PathAck(Box::new(PathAck { path: PathId(path), ack, counts: None }))
        }),
        (numbers(), numbers(), numbers(), numbers()).prop_map(|n| Frame::AckFrequency(Box::new(AckFrequency {
            sequence: n.0,
            threshold: n.1,
            max_delay: Span::from_nanos(n.2.saturating_mul(1000)),
            reordering: n.3,
        }))),
        (0u32..70_000).prop_map(|bytes| Frame::Datagram(Box::new(DatagramFrame { bytes, packet: None }))),
        any::<bool>().prop_map(|error| Frame::ConnectionClose(error.then_some("INTERNAL_ERROR"))),
    ]
}

fn packets() -> impl Strategy<Value = QuicPacket> {
    let space = prop_oneof![1 => Just(SpaceId::Initial), 1 => Just(SpaceId::Handshake), 3 => Just(SpaceId::Data)];
    (space, numbers(), prop::collection::vec(frames(), 0..4)).prop_map(|(space, number, frames)| {
        let mut made = QuicPacket {
            space,
            form: Form::Plain,
            token: 0,
            number_len: 1,
            size: 60,
            number,
            frames: Default::default(),
        };
        frames.into_iter().for_each(|f| made.frames.push(f));
        made
    })
}

#[derive(Clone, Debug)]
enum Step {
    Datagram(Vec<QuicPacket>, u32),
    Wait(u64),
    Write(u64, u64),
    Finish(u64),
    Read(u64),
    Open,
    Close,
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (prop::collection::vec(packets(), 1..3), 0u32..1500).prop_map(|(p, len)| Step::Datagram(p, len)),
        3 => (0u64..2_000_000_000).prop_map(Step::Wait),
        1 => (numbers(), numbers()).prop_map(|(id, n)| Step::Write(id, n)),
        1 => numbers().prop_map(Step::Finish),
        1 => numbers().prop_map(Step::Read),
        1 => Just(Step::Open),
        1 => Just(Step::Close),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_that_arrives_makes_it_panic_or_spin(
        steps in prop::collection::vec(steps(), 1..60), fresh in any::<bool>(), server in any::<bool>(),
        bbr in any::<bool>(), bits in 0u8..64,
    ) {
        let algorithm = if bbr { cc::BBR } else { cc::CUBIC };
        let mut now = Time::ZERO;
        let mut connection;
        if !fresh {
            let pair = talking(algorithm);
            now = pair.now;
            connection = if server { pair.server } else { pair.client };
        } else if server {
            connection = variant(Role::Server, algorithm, bits);
        } else {
            connection = variant(Role::Client, algorithm, bits);
            connection.connect(&mut Cx::new(now, ComponentId(0)));
        }
        for step in steps {
            let mut cx = Cx::new(now, ComponentId(0));
            match step {
                Step::Datagram(packets, len) => {
                    connection.on_packet(datagram(packets).with(|p| p.len = len), &mut cx);
                }
                Step::Wait(ns) => {
                    let end = now + Span::from_nanos(ns);
                    let mut wakes = 0;
                    while connection.next_wake() <= end {
                        now = now.max(connection.next_wake());
                        let mut cx = Cx::new(now, ComponentId(0));
                        connection.on_wake(&mut cx);
                        while connection.poll_transmit(&mut cx).is_some() {}
                        wakes += 1;
                        prop_assert!(wakes < 10_000, "timers run wild");
                    }
                    now = end;
                }
                Step::Write(id, n) => connection.write(StreamId(id), n),
                Step::Finish(id) => connection.finish(StreamId(id)),
                Step::Read(id) => {
                    connection.read(StreamId(id), now);
                }
                Step::Open => {
                    connection.open();
                }
                Step::Close => connection.close(),
            }
            let mut cx = Cx::new(now, ComponentId(0));
            while let Some(event) = connection.poll_event() {
                if let Event::Readable(id) = event {
                    connection.read(id, now);
                }
            }
            let mut sent = 0;
            while connection.poll_transmit(&mut cx).is_some() {
                sent += 1;
                prop_assert!(sent < 100_000, "sends without end");
            }
        }
    }
}
