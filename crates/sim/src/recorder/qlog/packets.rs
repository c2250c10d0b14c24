//! Converts the model's packets to qlog's.

use super::schema::{Datagrams, Frame, Header, Packet, ParametersSet, Raw, TcpHeader};
use haltere_net::Span;
use haltere_net::incident::PacketName;
use haltere_transport::path::PathStatus;
use haltere_transport::quic::{self, Datagram, EcnCounts, Form, IdFrame, QuicPacket, SpaceId, TransportParameters};
use haltere_transport::tcp::Segment;
use haltere_transport::tcp::segment::Kind;

pub(super) const BIDIRECTIONAL: &str = "bidirectional";
pub(super) const UNIDIRECTIONAL: &str = "unidirectional";

pub(super) fn millis(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// The type of QUIC packets in a space.
fn packet_type(space: u8) -> &'static str {
    match space {
        0 => "initial",
        1 => "handshake",
        _ => "1RTT",
    }
}

/// The type of a packet.
fn form(packet: &QuicPacket) -> &'static str {
    match packet.form {
        Form::ZeroRtt => "0RTT",
        Form::Retry => "retry",
        Form::VersionNegotiation => "version_negotiation",
        _ => packet_type(packet.space as u8),
    }
}

pub(super) fn quic_header(name: PacketName) -> Header {
    Header { packet_type: packet_type(name.space), packet_number: name.number }
}

/// The packets of a datagram, each with its name, in a connection with streams of this type.
pub(super) fn quic(datagram: &Datagram, stream_type: &'static str) -> impl Iterator<Item = (PacketName, Packet)> {
    let is_coalesced = datagram.packets.len() > 1;
    datagram.packets.iter().map(move |p| {
        let name = PacketName { space: p.space as u8, number: p.number };
        let payload = p.size.saturating_sub(p.space.overhead() + u32::from(p.number_len));
        let packet = Packet {
            header: Header { packet_type: form(p), packet_number: p.number },
            is_coalesced,
            raw: Raw { length: p.size, payload_length: payload },
            trigger: None,
            details: None,
            tcp: None,
            frames: Some(p.frames.iter().filter_map(|f| frame(f, stream_type)).collect()),
        };
        (name, packet)
    })
}

/// A production stack's datagram. Only the stack itself knows its contents.
pub(super) fn datagram(payload: &[u8]) -> Datagrams {
    let length = payload.len() as u32;
    Datagrams { count: 1, raw: [Raw { length, payload_length: length }] }
}

/// The transport parameters that a datagram carries.
pub(super) fn parameters(datagram: &Datagram) -> Option<&TransportParameters> {
    let frames = datagram.packets.iter().filter(|p| p.space != SpaceId::Data).flat_map(|p| p.frames.iter());
    let mut found = frames.filter_map(|frame| match frame {
        quic::Frame::Crypto { parameters, .. } => parameters.as_deref(),
        _ => None,
    });
    found.next()
}

pub(super) fn parameters_set(p: &TransportParameters, owner: &'static str) -> ParametersSet {
    ParametersSet {
        owner,
        max_idle_timeout: p.max_idle_timeout.as_millis(),
        max_udp_payload_size: p.max_udp_payload,
        // The default, which the model has (RFC 9000 section 18.2).
        ack_delay_exponent: 3,
        max_ack_delay: p.max_ack_delay.as_millis(),
        initial_max_data: p.initial_max_data,
        initial_max_stream_data_bidi_local: p.initial_max_stream_data,
        initial_max_stream_data_bidi_remote: p.initial_max_stream_data,
        initial_max_streams_bidi: p.initial_max_streams,
        unknown_parameters: [],
    }
}

fn acknowledgement(ack: &quic::Ack, counts: Option<EcnCounts>) -> Frame {
    Frame::Ack {
        ack_delay: millis(ack.delay()),
        acked_ranges: ack.ranges().map(|r| (r.start, r.end.saturating_sub(1))).collect(),
        ect0: counts.map(|c| c.ect0),
        ect1: counts.map(|c| c.ect1),
        ce: counts.map(|c| c.ce),
    }
}

/// The largest number that a frame type can have: frames of the design of 2017 have none that is known.
const NO_TYPE: u64 = (1 << 62) - 1;

/// RFC 9000 sections 19.15 and 19.16; draft-ietf-quic-multipath sections 4.4 to 4.7.
fn identifier_type(frame: IdFrame) -> u64 {
    match frame {
        IdFrame::New(_) | IdFrame::NewLong(_) => 0x18,
        IdFrame::Retire(_) => 0x19,
        IdFrame::PathNew(..) => 0x3e78,
        IdFrame::PathRetire(..) => 0x3e79,
        IdFrame::MaxPathId(_) => 0x3e7a,
        IdFrame::PathsBlocked(_) => 0x3e7b,
        IdFrame::PathCidsBlocked(_) => 0x3e7c,
    }
}

/// A frame; `None` if the wire has none.
fn frame(frame: &quic::Frame, stream_type: &'static str) -> Option<Frame> {
    Some(match *frame {
        quic::Frame::StreamContent(_) => return None,
        quic::Frame::Padding(n) => Frame::Padding { length: n, payload_length: n },
        quic::Frame::Ping => Frame::Ping,
        quic::Frame::Ack(ref ack) => acknowledgement(ack, None),
        quic::Frame::AckEcn(ref ack) => acknowledgement(&ack.ack, Some(ack.counts)),
        // draft-ietf-quic-ack-frequency sections 4 and 5.
        quic::Frame::AckFrequency(_) => Frame::Unknown { raw_frame_type: 0xaf },
        quic::Frame::PathChallenge(_) => Frame::Unknown { raw_frame_type: 0x1a },
        quic::Frame::PathResponse(_) => Frame::Unknown { raw_frame_type: 0x1b },
        quic::Frame::PathAck(_) => Frame::Unknown { raw_frame_type: 0x3e },
        quic::Frame::PathAbandon(_) => Frame::Unknown { raw_frame_type: 0x3e75 },
        quic::Frame::PathStatus { status, .. } => {
            Frame::Unknown { raw_frame_type: if status == PathStatus::Backup { 0x3e76 } else { 0x3e77 } }
        }
        quic::Frame::Identifier(frame) => Frame::Unknown { raw_frame_type: identifier_type(frame) },
        quic::Frame::AddAddress | quic::Frame::Paths { .. } => Frame::Unknown { raw_frame_type: NO_TYPE },
        quic::Frame::Keepsake(quic::Keepsake::Token) => Frame::Unknown { raw_frame_type: 0x07 },
        quic::Frame::Keepsake(quic::Keepsake::Tickets | quic::Keepsake::SealedTickets) => {
            Frame::Unknown { raw_frame_type: 0x06 }
        }
        // RFC 9221 section 4.
        quic::Frame::Datagram(_) => Frame::Unknown { raw_frame_type: 0x31 },
        quic::Frame::ImmediateAck => Frame::Unknown { raw_frame_type: 0x1f },
        quic::Frame::Crypto { offset, len, .. } => Frame::Crypto { offset, length: len.into() },
        quic::Frame::Stream { id, offset, len, fin, .. } => {
            Frame::Stream { stream_id: id, offset, length: len.into(), fin }
        }
        quic::Frame::MaxData(maximum) => Frame::MaxData { maximum },
        quic::Frame::MaxStreamData { id, limit } => Frame::MaxStreamData { stream_id: id, maximum: limit },
        quic::Frame::MaxStreams(maximum) => Frame::MaxStreams { stream_type, maximum },
        quic::Frame::DataBlocked(limit) => Frame::DataBlocked { limit },
        quic::Frame::StreamDataBlocked { id, limit } => Frame::StreamDataBlocked { stream_id: id, limit },
        quic::Frame::StreamsBlocked(limit) => Frame::StreamsBlocked { stream_type, limit },
        quic::Frame::HandshakeDone => Frame::HandshakeDone,
        quic::Frame::ConnectionClose(error) => Frame::ConnectionClose {
            error_space: if error.is_some() { "transport_error" } else { "application_error" },
            error_code: error.map_or(Some(0), error_code),
            reason: error,
        },
    })
}

/// The code of a transport error, by the name with which its text begins (RFC 9000 section 20.1).
fn error_code(text: &str) -> Option<u64> {
    const NAMES: [&str; 17] = [
        "NO_ERROR",
        "INTERNAL_ERROR",
        "CONNECTION_REFUSED",
        "FLOW_CONTROL_ERROR",
        "STREAM_LIMIT_ERROR",
        "STREAM_STATE_ERROR",
        "FINAL_SIZE_ERROR",
        "FRAME_ENCODING_ERROR",
        "TRANSPORT_PARAMETER_ERROR",
        "CONNECTION_ID_LIMIT_ERROR",
        "PROTOCOL_VIOLATION",
        "INVALID_TOKEN",
        "APPLICATION_ERROR",
        "CRYPTO_BUFFER_EXCEEDED",
        "KEY_UPDATE_ERROR",
        "AEAD_LIMIT_REACHED",
        "NO_VIABLE_PATH",
    ];
    let name = text.split(':').next().unwrap_or_default();
    NAMES.iter().position(|n| *n == name).map(|code| code as u64)
}

/// The number space of TCP's segments but SYN and SYN-ACK.
pub(super) const TCP_DATA: u8 = 2;

/// TCP has no packet numbers. A segment is numbered by the position of its first byte, so that a retransmission has the
/// number of its original. SYN and SYN-ACK have a number space of their own, 0.
pub(super) fn tcp_header(packet_number: u64, space: u8) -> Header {
    Header { packet_type: packet_type(space), packet_number }
}

/// A segment as a packet: data as a STREAM frame, and acknowledgements as an ACK frame of positions. Positions below
/// `acked` are already known and left out.
pub(super) fn tcp(segment: &Segment, len: u32, connection: u32, acked: &mut u64) -> Packet {
    let syn = matches!(segment.kind, Kind::Syn | Kind::SynAck);
    let data = segment.len;
    let mut frames = Vec::new();
    if data > 0 || segment.fin {
        frames.push(Frame::Stream { stream_id: 0, offset: segment.seq, length: data.into(), fin: segment.fin });
    }
    let sack: Vec<(u64, u64)> = segment.sack_blocks().collect();
    let news = (segment.ack > *acked).then_some((*acked, segment.ack));
    let acked_ranges: Vec<(u64, u64)> =
        news.iter().chain(&sack).map(|(start, end)| (*start, end.saturating_sub(1))).collect();
    if !acked_ranges.is_empty() {
        frames.push(Frame::Ack { ack_delay: 0.0, acked_ranges, ect0: None, ect1: None, ce: None });
    }
    *acked = segment.ack.max(*acked);
    let set = [
        (segment.fin, 'F'),
        (syn, 'S'),
        (segment.kind == Kind::Reset, 'R'),
        (segment.kind != Kind::Syn, 'A'),
        (segment.ece, 'E'),
        (segment.cwr, 'C'),
        (segment.ae, 'N'),
    ];
    let flags = set.iter().filter(|(on, _)| *on).map(|(_, letter)| letter).collect();
    let connection = (connection > 0).then_some(connection);
    let Segment { seq, ack, window, timestamp, echo, .. } = *segment;
    Packet {
        header: tcp_header(seq, if syn { 0 } else { TCP_DATA }),
        is_coalesced: false,
        raw: Raw { length: len.saturating_sub(IP_HEADER), payload_length: data },
        trigger: None,
        details: None,
        tcp: Some(TcpHeader { connection, flags, seq, ack, window, sack, timestamp, echo }),
        frames: Some(frames),
    }
}

/// An IPv4 header without options.
const IP_HEADER: u32 = 20;
