//! Any sequence of segments, datagrams, waits and calls leaves an endpoint alive: it neither panics nor spins.

#![no_main]

use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Ecn, Packet, PathId, Span, Time};
use haltere_transport::cc::{self, Algorithm};
use haltere_transport::quic::{
    self, Ack, AckEcn, AckFrequency, Datagram, DatagramFrame, EcnCounts, Form, Frame, QuicPacket, Session, SpaceId,
};
use haltere_transport::tcp::{self, Segment, segment::Kind, segment::SackBlock};
use haltere_transport::{Body, Endpoint, Event, Role, StreamId};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;

/// Small numbers are more often what leads somewhere.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    Ok(match u.int_in_range(0..=4)? {
        0 => u.arbitrary()?,
        1 => u64::from(u.arbitrary::<u16>()?),
        2 => u64::from(u.arbitrary::<u32>()?),
        _ => u64::from(u.arbitrary::<u8>()?),
    })
}

fn segment(u: &mut Unstructured<'_>) -> Result<Segment> {
    let kinds = [Kind::Data, Kind::Data, Kind::Syn, Kind::SynAck, Kind::Reset];
    let mut block = || Ok::<_, libfuzzer_sys::arbitrary::Error>(SackBlock::new(number(u)?, number(u)?, number(u)?));
    let sack = [block()?, block()?, block()?];
    Ok(Segment {
        kind: *u.choose(&kinds)?,
        fin: u.arbitrary()?,
        seq: number(u)?,
        len: u.arbitrary::<u16>()?.into(),
        ack: number(u)?,
        window: number(u)?,
        timestamp: u.arbitrary()?,
        echo: u.arbitrary()?,
        sacks: u.arbitrary()?,
        sack,
        ece: u.arbitrary()?,
        cwr: u.arbitrary()?,
        ae: u.arbitrary()?,
        push: u.arbitrary()?,
        damaged: u.ratio(1, 8)?,
    })
}

fn ack(u: &mut Unstructured<'_>) -> Result<Ack> {
    let mut ranges = Vec::new();
    for _ in 0..u.int_in_range(0..=4)? {
        let start = number(u)?;
        ranges.push(start..start.saturating_add(number(u)?));
    }
    Ok(Ack::new(ranges, Span::from_nanos(number(u)?)))
}

fn ecn(u: &mut Unstructured<'_>) -> Result<Ecn> {
    Ok(*u.choose(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce])?)
}

fn frame(u: &mut Unstructured<'_>) -> Result<Frame> {
    Ok(match u.int_in_range(0..=17)? {
        0 => Frame::Padding(u.arbitrary::<u16>()?.into()),
        1 => Frame::Ping,
        2 => Frame::Ack(ack(u)?),
        3 => {
            let mut parameters =
                quic::Config::new(Role::Client, cc::CUBIC, Streams::new(1, 0).named("p")).parameters();
            parameters.initial_max_data = number(u)?;
            parameters.initial_max_stream_data = number(u)?;
            parameters.initial_max_streams = number(u)?;
            parameters.max_ack_delay = Span::from_nanos(number(u)?);
            parameters.max_udp_payload = u.arbitrary()?;
            parameters.min_ack_delay = u.arbitrary::<Option<u32>>()?.map(|n| Span::from_nanos(n.into()));
            let parameters = u.arbitrary::<bool>()?.then(|| Box::new(parameters));
            Frame::Crypto { offset: number(u)?, len: u.arbitrary::<u16>()?.into(), last: u.arbitrary()?, parameters }
        }
        4 | 5 => Frame::Stream {
            id: number(u)?,
            offset: number(u)?,
            len: u.arbitrary::<u16>()?.into(),
            fin: u.arbitrary()?,
            explicit_len: u.arbitrary()?,
        },
        6 => Frame::MaxData(number(u)?),
        7 => Frame::MaxStreamData { id: number(u)?, limit: number(u)? },
        8 => Frame::MaxStreams(number(u)?),
        9 => Frame::StreamDataBlocked { id: number(u)?, limit: number(u)? },
        10 => Frame::StreamsBlocked(number(u)?),
        11 => Frame::HandshakeDone,
        12 => Frame::ImmediateAck,
        13 => Frame::AckFrequency(Box::new(AckFrequency {
            sequence: number(u)?,
            threshold: number(u)?,
            max_delay: Span::from_nanos(number(u)?),
            reordering: number(u)?,
        })),
        14 => Frame::DataBlocked(number(u)?),
        15 => {
            let counts = EcnCounts { ect0: number(u)?, ect1: number(u)?, ce: number(u)? };
            Frame::AckEcn(Box::new(AckEcn { ack: ack(u)?, counts }))
        }
        16 => Frame::Datagram(Box::new(DatagramFrame { bytes: u.arbitrary::<u16>()?.into(), packet: None })),
        _ => Frame::ConnectionClose(u.arbitrary::<bool>()?.then_some("INTERNAL_ERROR")),
    })
}

fn datagram(u: &mut Unstructured<'_>) -> Result<Datagram> {
    let forms = [Form::Plain, Form::ZeroRtt, Form::UnknownVersion, Form::VersionNegotiation, Form::Retry, Form::Forged];
    let mut datagram = Datagram::default();
    for _ in 0..u.int_in_range(0..=3)? {
        let form = if u.ratio(3, 4)? { Form::Plain } else { *u.choose(&forms)? };
        let token = if u.ratio(3, 4)? { 0 } else { u.arbitrary()? };
        let mut frames = quic::Few::default();
        for _ in 0..u.int_in_range(0..=4)? {
            frames.push(frame(u)?);
        }
        let (space, number) = (*u.choose(&SpaceId::ALL)?, number(u)?);
        datagram.packets.push(QuicPacket { space, form, token, number_len: 1, size: 60, number, frames });
    }
    Ok(datagram)
}

fn endpoint(u: &mut Unstructured<'_>) -> Result<Box<dyn Endpoint>> {
    let role = if u.arbitrary()? { Role::Client } else { Role::Server };
    let algorithm = *u.choose(Algorithm::ALL)?;
    let stream = Streams::new(1, 0).named("fuzz");
    if u.arbitrary()? {
        let mut config = tcp::Config::new(role, algorithm, stream);
        config.fast_open = u.arbitrary()?;
        config.ecn = *u.choose(&[None, Some(tcp::EchoRule::Rfc3168), Some(tcp::EchoRule::Dctcp)])?;
        return Ok(Box::new(tcp::Connection::new(config)));
    }
    let mut config = quic::Config::new(role, algorithm, stream);
    config.session = *u.choose(&[Session::New, Session::Resumed, Session::EarlyData])?;
    config.ecn |= u.arbitrary::<bool>()?;
    (config.retry, config.unknown_version, config.ack_frequency) = (u.arbitrary()?, u.arbitrary()?, u.arbitrary()?);
    Ok(Box::new(quic::Connection::new(config)))
}

fn play(u: &mut Unstructured<'_>) -> Result<()> {
    let (mut end, mut now) = (endpoint(u)?, Time::ZERO);
    end.connect(&mut Cx::new(now, ComponentId(0)));
    while !u.is_empty() {
        let mut cx = Cx::new(now, ComponentId(0));
        match u.int_in_range(0..=9)? {
            0 => end.write(StreamId(number(u)?), u.arbitrary::<u32>()?.into()),
            1 => end.finish(StreamId(number(u)?)),
            2 => drop(end.open()),
            3 => end.close(),
            4 | 5 => {
                let until = now + Span::from_nanos(u.arbitrary::<u32>()?.into());
                for wakes in 0.. {
                    assert!(wakes < 10_000, "timers run wild");
                    if end.next_wake() > until {
                        break;
                    }
                    now = now.max(end.next_wake());
                    let mut cx = Cx::new(now, ComponentId(0));
                    end.on_wake(&mut cx);
                    while end.poll_transmit(&mut cx).is_some() {}
                }
                now = until;
            }
            _ => {
                let body = if u.arbitrary()? { Body::Tcp(segment(u)?) } else { Body::Quic(Box::new(datagram(u)?)) };
                let path = PathId(u8::from(u.ratio(1, 16)?));
                let len = u.int_in_range(0..=1500)?;
                let ecn = ecn(u)?;
                end.on_packet(Packet::new(len, body).with(|p| (p.ecn, p.path) = (ecn, path)), &mut cx);
            }
        }
        while let Some(event) = end.poll_event() {
            if let Event::Readable(id) = event {
                end.read(id, now);
            }
        }
        let (mut cx, mut sent) = (Cx::new(now, ComponentId(0)), 0);
        while end.poll_transmit(&mut cx).is_some() {
            sent += 1;
            assert!(sent < 1_000_000, "sends without end");
        }
    }
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    // Input that ends early has been played as far as it goes.
    let _ = play(&mut Unstructured::new(data));
});
