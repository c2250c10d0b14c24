//! Packets that are damaged, forged or guessed, given to an endpoint in any state. They are dropped and counted, never
//! cause a panic, and the connection continues. For packets that authenticate but violate the protocol see
//! `quic_robustness`.

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Packet, PathId, Span, Time};
use haltere_transport::cc;
use haltere_transport::mptcp::{self, Opening, Options};
use haltere_transport::path::PathStatus;
use haltere_transport::quic::{self, Datagram, Form, Frame, QuicPacket, Session, SpaceId};
use haltere_transport::tcp::{self, Segment, segment::Kind, segment::SackBlock};
use haltere_transport::{Body, Endpoint, Event, Role, StreamId};
use proptest::prelude::*;

const DELAY: Span = Span::from_millis(10);

fn packet(len: u32, body: Body) -> Packet<Body> {
    Packet::new(len, body)
}

fn world<E: Endpoint>(client: E, server: E) -> Pair<E, E> {
    let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
    Pair::new(client, server, &link, &link, 1, Exchange { streams: vec![(3000, 60_000)] })
}

/// Runs the exchange and gives each end the packets of `attack` at their times. All of them must be dropped and
/// counted.
fn survives<E: Endpoint>(mut pair: Pair<E, E>, attack: &[(u64, bool, Packet<Body>)]) -> Result<(), TestCaseError> {
    let mut attack: Vec<_> = attack.to_vec();
    attack.sort_by_key(|a| a.0);
    let (mut begun, mut given) = (false, [0, 0]);
    for (ms, to_client, packet) in attack {
        let until = Span::from_millis(ms);
        if begun {
            pair.go_on(until)
        } else {
            pair.run(until)
        };
        begun = true;
        pair.now = pair.now.max(Time::ZERO + until);
        // An end that is closed counts no more.
        if pair.client_log.over() || pair.server_log.over() {
            break;
        }
        given[usize::from(to_client)] += 1;
        if to_client {
            pair.give_client(packet)
        } else {
            pair.give_server(packet)
        };
    }
    prop_assert!(pair.go_on(Span::from_secs(300)), "still going");
    pair.assert_complete();
    for (end, given) in [(pair.server.stats(), given[0]), (pair.client.stats(), given[1])] {
        prop_assert!(end.invalid_packets >= given, "{} of {given}", end.invalid_packets);
    }
    Ok(())
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0u64..100_000, 1 => any::<u64>()]
}

fn segments() -> impl Strategy<Value = Segment> {
    let kind =
        prop_oneof![1 => Just(Kind::Syn), 1 => Just(Kind::SynAck), 5 => Just(Kind::Data), 1 => Just(Kind::Reset)];
    let block = || (numbers(), numbers(), numbers()).prop_map(|(s, e, a)| SackBlock::new(s, e, a));
    let len = prop_oneof![3 => 0u32..1500, 1 => any::<u32>()];
    let fields = (kind, any::<[bool; 5]>(), numbers(), len, numbers(), numbers());
    (fields, any::<(u32, u32)>(), any::<u8>(), [block(), block(), block()], any::<bool>()).prop_map(
        |((kind, [fin, ece, cwr, ae, push], seq, len, ack, window), (timestamp, echo), sacks, sack, damaged)| Segment {
            kind,
            fin,
            seq,
            len,
            ack,
            window,
            timestamp,
            echo,
            ece,
            cwr,
            ae,
            push,
            sacks,
            sack,
            damaged,
        },
    )
}

/// Packets that an off-path attacker may send: damaged, or with positions far off.
fn guesses() -> impl Strategy<Value = Segment> {
    (segments(), 1u64 << 40..1 << 61, 1u64 << 40..1 << 61).prop_map(|(s, seq, ack)| {
        let kind = if s.kind == Kind::Syn && !s.damaged { Kind::Data } else { s.kind };
        if s.damaged { s } else { Segment { kind, seq, ack, ..s } }
    })
}

fn forgeries() -> impl Strategy<Value = QuicPacket> {
    let space = prop_oneof![Just(SpaceId::Initial), Just(SpaceId::Handshake), Just(SpaceId::Data)];
    let frames = prop::collection::vec(
        prop_oneof![
            numbers().prop_map(|n| Frame::Padding(n as u32 % 1500)),
            Just(Frame::HandshakeDone),
            Just(Frame::ConnectionClose(None)),
            numbers().prop_map(Frame::MaxData),
        ],
        0..3,
    );
    (space, numbers(), any::<u8>(), frames).prop_map(|(space, number, token, frames)| {
        let form = Form::Forged;
        let mut made = QuicPacket { space, form, token, number_len: 4, size: 0, number, frames: Default::default() };
        frames.into_iter().for_each(|f| made.frames.push(f));
        made.size = made.encoded_len();
        made
    })
}

fn quic_world(bits: u8) -> Pair<quic::Connection, quic::Connection> {
    let end = |role| {
        let mut config = quic::Config::new(role, cc::CUBIC, Streams::new(1, 0).named("cc"));
        config.session = if bits & 1 > 0 { Session::EarlyData } else { Session::New };
        config.retry = bits & 2 > 0 && role == Role::Server;
        config.unknown_version = bits & 4 > 0 && role == Role::Client;
        quic::Connection::new(config)
    };
    world(end(Role::Client), end(Role::Server))
}

fn tcp_config(role: Role) -> tcp::Config {
    tcp::Config::new(role, cc::CUBIC, Streams::new(1, 0).named("cc"))
}

fn mptcp_end(role: Role) -> mptcp::Connection {
    let tcp = tcp::Config::new(role, cc::OLIA, Streams::new(1, 0).named("cc"));
    mptcp::Connection::new(mptcp::Config { announce: role == Role::Server, ..mptcp::Config::new(tcp) })
}

fn status() -> impl Strategy<Value = PathStatus> {
    prop_oneof![Just(PathStatus::Available), Just(PathStatus::Backup)]
}

fn options() -> impl Strategy<Value = Options> {
    let maybe = || prop::option::of(numbers());
    let opening = prop_oneof![
        3 => Just(None),
        1 => Just(Some(Opening::Capable)),
        1 => status().prop_map(|status| Some(Opening::Join(status))),
    ];
    let others = (any::<[bool; 2]>(), prop::option::of(0u8..4), prop::option::of(status()));
    (opening, maybe(), maybe(), maybe(), others).prop_map(
        |(opening, data_ack, mapping, data_fin, ([add_address, echo], remove, priority))| Options {
            opening,
            data_ack,
            mapping,
            data_fin,
            add_address,
            echo,
            remove: remove.map(PathId),
            priority,
        },
    )
}

/// Gives an end packets, and has its application write, end the stream and let time pass.
fn endures(
    mut end: impl Endpoint,
    mut now: Time,
    steps: impl Iterator<Item = (Packet<Body>, u64, u64, u8)>,
) -> Result<(), TestCaseError> {
    for (attack, wait, bytes, what) in steps {
        match what {
            0 => end.write(StreamId(0), bytes),
            1 => end.finish(StreamId(0)),
            2 => {
                let until = now + Span::from_nanos(wait);
                let mut wakes = 0;
                while end.next_wake() <= until {
                    now = now.max(end.next_wake());
                    let mut cx = Cx::new(now, ComponentId(0));
                    end.on_wake(&mut cx);
                    while end.poll_transmit(&mut cx).is_some() {}
                    wakes += 1;
                    prop_assert!(wakes < 10_000, "timers run wild");
                }
                now = until;
            }
            _ => end.on_packet(attack, &mut Cx::new(now, ComponentId(0))),
        }
        while let Some(event) = end.poll_event() {
            if let Event::Readable(id) = event {
                end.read(id, now);
            }
        }
        let (mut cx, mut sent) = (Cx::new(now, ComponentId(0)), 0);
        while end.poll_transmit(&mut cx).is_some() {
            sent += 1;
            prop_assert!(sent < 100_000, "sends without end");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forged_quic_packets_change_nothing(
        bits in 0u8..8,
        attack in prop::collection::vec((0u64..200, any::<bool>(), prop::collection::vec(forgeries(), 1..3)), 1..40),
    ) {
        let attack: Vec<_> = attack.into_iter().map(|(at, to_client, packets)| {
            let mut datagram = Datagram::default();
            packets.into_iter().take(1).for_each(|p| datagram.packets.push(p));
            (at, to_client, packet(datagram.size() + 28, Body::Quic(Box::new(datagram))))
        }).collect();
        survives(quic_world(bits), &attack)?;
    }

    #[test]
    fn damaged_and_guessed_tcp_segments_change_nothing(
        fast_open in any::<bool>(),
        attack in prop::collection::vec((0u64..200, any::<bool>(), guesses()), 1..40),
    ) {
        let attack: Vec<_> = attack.into_iter().map(|(at, to_client, s)| (at, to_client, packet(1500, Body::Tcp(s)))).collect();
        let end = |role| tcp::Connection::new(tcp::Config { fast_open, ..tcp_config(role) });
        survives(world(end(Role::Client), end(Role::Server)), &attack)?;
    }

    #[test]
    fn no_segment_makes_an_end_panic_or_spin(
        fast_open in any::<bool>(), server in any::<bool>(), established in any::<bool>(),
        steps in prop::collection::vec((segments(), 0u32..2000, 0u64..2_000_000_000, 0u64..5000, 0u8..8), 1..60),
    ) {
        let mut now = Time::ZERO;
        let make = |role| tcp::Connection::new(tcp::Config { fast_open, ..tcp_config(role) });
        let mut end = make(if server { Role::Server } else { Role::Client });
        if established {
            let mut pair = world(make(Role::Client), make(Role::Server));
            pair.run(Span::from_millis(35));
            now = pair.now;
            end = if server { pair.server } else { pair.client };
        } else if !server {
            end.connect(&mut Cx::new(now, ComponentId(0)));
        }
        let steps = steps.into_iter().map(|(s, len, wait, bytes, what)| (packet(len, Body::Tcp(s)), wait, bytes, what));
        endures(end, now, steps)?;
    }

    #[test]
    fn no_mptcp_segment_makes_an_end_panic_or_spin(
        server in any::<bool>(), established in any::<bool>(), joined in any::<bool>(),
        steps in prop::collection::vec(
            ((segments(), options(), 0u8..4), 0u32..2000, 0u64..2_000_000_000, 0u64..5000, 0u8..8), 1..60,
        ),
    ) {
        let mut now = Time::ZERO;
        let mut end = mptcp_end(if server { Role::Server } else { Role::Client });
        if established {
            let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
            let mut pair = world(mptcp_end(Role::Client), mptcp_end(Role::Server)).and_path(&link, &link, 2);
            pair.run(Span::from_millis(70));
            if joined {
                pair.client_does(|client, cx| client.add_path(PathId(1), cx)).ok();
                pair.go_on(Span::from_millis(100));
            }
            now = pair.now;
            end = if server { pair.server } else { pair.client };
        } else if !server {
            end.connect(&mut Cx::new(now, ComponentId(0)));
        }
        let steps = steps.into_iter().map(|((tcp, options, path), len, wait, bytes, what)| {
            let subflow = PathId(path);
            let body = Body::Mptcp(Box::new(mptcp::Segment { tcp, options, subflow }));
            (packet(len, body).with(|p| p.path = subflow), wait, bytes, what)
        });
        endures(end, now, steps)?;
    }
}

#[test]
fn bodies_and_paths_that_are_not_the_connections_are_counted() {
    let mut cx = Cx::new(Time::ZERO, ComponentId(0));
    let mut tcp = tcp::Connection::new(tcp_config(Role::Server));
    tcp.on_packet(packet(100, Body::Quic(Box::default())), &mut cx);
    assert_eq!(tcp.stats().invalid_packets, 1);
    let mut pair = quic_world(0);
    pair.server.on_packet(packet(100, Body::Quic(Box::default())).with(|p| p.path = PathId(9)), &mut cx);
    assert_eq!(pair.server.stats().invalid_packets, 1);
}
