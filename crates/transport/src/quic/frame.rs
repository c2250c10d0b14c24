//! Frames (RFC 9000 section 19) as typed values with their exact sizes.

use super::datagram_frames::{DatagramFrame, StreamContent};
use super::ecn::EcnCounts;
use super::identifiers::{IdFrame, WITH_TOKEN};
use super::keepsakes::Keepsake;
use super::sizes::LONGER;
use crate::path::PathStatus;
use haltere_net::{PathId, Span};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a variable-length integer (RFC 9000 section 16).
#[inline]
pub const fn varint_len(value: u64) -> u32 {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// The largest value of a variable-length integer.
pub(super) const VARINT_MAX: u64 = (1 << 62) - 1;

/// ACK delays travel in units of 2^3 us (RFC 9000 section 18.2, `ack_delay_exponent`).
const ACK_DELAY_UNIT_NS: u64 = 8_000;

/// The transport parameters, which each end tells the other during the handshake (RFC 9000 section 7.4). On the wire the parameters are an
/// extension of ClientHello and EncryptedExtensions, whose sizes stand in [`super::sizes`]; here they ride on the
/// CRYPTO frame that ends the message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransportParameters {
    /// Connection flow-control limit, bytes.
    pub initial_max_data: u64,
    /// Flow-control limit of each bidirectional stream, bytes.
    pub initial_max_stream_data: u64,
    /// Streams the peer may open: bidirectional ones, or unidirectional ones where the connection has those.
    pub initial_max_streams: u64,
    /// The longest an acknowledgement is delayed.
    pub max_ack_delay: Span,
    /// The largest UDP payload accepted, bytes.
    pub max_udp_payload: u16,
    /// Silence after which the connection is given up.
    pub max_idle_timeout: Span,
    /// The shortest delay that ACK_FREQUENCY frames may ask for; `None` without that extension
    /// (draft-ietf-quic-ack-frequency section 3).
    pub min_ack_delay: Option<Span>,
    /// The largest number of a path; `None` without that extension (draft-ietf-quic-multipath section 2.1).
    pub initial_max_path_id: Option<u8>,
    /// The largest DATAGRAM frame accepted, bytes with type and length; `None` without that extension (RFC 9221 section 3).
    pub max_datagram_frame_size: Option<u16>,
}

/// An ACK_FREQUENCY frame's content (draft-ietf-quic-ack-frequency section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckFrequency {
    /// Number of the frame, from 0.
    pub sequence: u64,
    /// Ack-eliciting packets that may go unacknowledged: one more makes an acknowledgement.
    pub threshold: u64,
    /// The longest an acknowledgement is to be delayed; in microseconds on the wire.
    pub max_delay: Span,
    /// Packets out of order that make an acknowledgement at once; 0 for never.
    pub reordering: u64,
}

impl AckFrequency {
    fn size(&self) -> u32 {
        // The type, 0xaf, takes two bytes.
        let fields = [self.sequence, self.threshold, self.max_delay.as_nanos() / 1000, self.reordering];
        2 + fields.into_iter().map(varint_len).sum::<u32>()
    }
}

/// An ACK frame's content (section 19.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ack {
    /// The highest range of acknowledged packet numbers, in place: most frames have no other.
    first: Range<u64>,
    /// The ranges below it.
    lower: Option<Arc<LowerRanges>>,
    /// Time from the receipt of the largest to the sending of this frame, in units of 8 us. The largest value stands for
    /// everything above it, which is more than nine hours.
    delay_units: u32,
    /// Whether there are ranges below the first. [`Frame`] keeps its variant in the unused values of this byte.
    several: bool,
}

/// The ranges of an ACK frame below its first, highest first. Consecutive ACKs mostly have the same ones and share them, with all
/// that is worked out from them.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct LowerRanges {
    ranges: Box<[Range<u64>]>,
    /// Encoded size with their number, but without the gap above the highest of them.
    size: u32,
    /// Whether they are non-empty, descending and apart.
    ordered: bool,
}

impl LowerRanges {
    /// The given ranges; `None` if there are none.
    pub fn new(ranges: impl Iterator<Item = Range<u64>>) -> Option<Arc<LowerRanges>> {
        let ranges: Box<[Range<u64>]> = ranges.collect();
        let mut higher = ranges.first()?;
        let (mut size, mut ordered) = (varint_len(ranges.len() as u64) + length(higher), higher.start < higher.end);
        for range in &ranges[1..] {
            size += gap(higher, range) + length(range);
            ordered &= range.start < range.end && range.end < higher.start;
            higher = range;
        }
        Some(Arc::new(LowerRanges { ranges, size, ordered }))
    }
}

/// Encoded size of the length of a range: n packets are written as n - 1.
#[inline]
fn length(range: &Range<u64>) -> u32 {
    varint_len(range.end.saturating_sub(range.start).saturating_sub(1))
}

/// Encoded size of the gap between two ranges: n unacknowledged packets are written as n - 1.
#[inline]
fn gap(higher: &Range<u64>, lower: &Range<u64>) -> u32 {
    varint_len(higher.start.saturating_sub(lower.end).saturating_sub(1))
}

/// An ACK frame with ECN counts (section 19.3.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AckEcn {
    /// The acknowledgement.
    pub ack: Ack,
    /// The number of packets received with each codepoint.
    pub counts: EcnCounts,
}

/// A PATH_ACK frame's content (draft-ietf-quic-multipath section 4.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathAck {
    /// The path whose packets are acknowledged.
    pub path: PathId,
    /// The acknowledgement.
    pub ack: Ack,
    /// The number of packets received with each codepoint, if any packet was ECN-capable.
    pub counts: Option<EcnCounts>,
}

impl Ack {
    /// An ACK of `ranges`, highest first, held back for `delay`.
    pub fn new(ranges: impl IntoIterator<Item = Range<u64>>, delay: Span) -> Ack {
        let mut ranges = ranges.into_iter();
        // An ACK without ranges is ill-formed, as is one with an empty range.
        let first = ranges.next().unwrap_or(0..0);
        Ack::sharing(first, LowerRanges::new(ranges), delay)
    }

    /// An ACK of a range and those below it, which other ACKs may have as well.
    #[inline]
    pub(super) fn sharing(first: Range<u64>, lower: Option<Arc<LowerRanges>>, delay: Span) -> Ack {
        let delay_units = u32::try_from(delay.as_nanos() / ACK_DELAY_UNIT_NS).unwrap_or(u32::MAX);
        Ack { first, delay_units, several: lower.is_some(), lower }
    }

    /// Acknowledged packet numbers, highest range first.
    #[inline]
    pub fn ranges(&self) -> impl Iterator<Item = &Range<u64>> {
        std::iter::once(&self.first).chain(self.lower())
    }

    /// The highest range.
    #[inline]
    pub(super) fn first(&self) -> &Range<u64> {
        &self.first
    }

    /// The ranges below the first.
    #[inline]
    pub(super) fn lower(&self) -> &[Range<u64>] {
        self.shared().map_or(&[], |lower| &lower.ranges)
    }

    /// The ranges below the first as other ACKs have them.
    #[inline]
    pub(super) fn shared(&self) -> Option<&Arc<LowerRanges>> {
        self.lower.as_ref().filter(|_| self.several)
    }

    /// How long the acknowledgement was held back.
    #[inline]
    pub fn delay(&self) -> Span {
        Span::from_nanos(u64::from(self.delay_units) * ACK_DELAY_UNIT_NS)
    }

    /// The largest packet number acknowledged.
    #[inline]
    pub fn largest(&self) -> Option<u64> {
        self.first.end.checked_sub(1)
    }

    /// Whether the ranges are non-empty, descending and apart, as the encoding of section 19.3.1 cannot but have them.
    #[inline]
    pub fn well_formed(&self) -> bool {
        let Range { start, end } = self.first;
        start < end && self.shared().is_none_or(|lower| lower.ordered && lower.ranges[0].end < start)
    }

    #[inline]
    fn size(&self) -> u32 {
        let lower = self.shared().map_or(varint_len(0), |lower| gap(&self.first, &lower.ranges[0]) + lower.size);
        let largest = varint_len(self.first.end.saturating_sub(1));
        1 + varint_len(u64::from(self.delay_units)) + length(&self.first) + largest + lower
    }
}

/// A frame. Data are counted, not carried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// So many PADDING frames of one byte each (section 19.1).
    Padding(u32),
    /// PING (19.2).
    Ping,
    /// ACK (19.3).
    Ack(Ack),
    /// ACK with ECN counts (19.3.2).
    AckEcn(Box<AckEcn>),
    /// CRYPTO (19.6).
    Crypto {
        /// Offset in the stream of the packet number space.
        offset: u64,
        /// Bytes.
        len: u32,
        /// Whether the flight of handshake messages in this space ends with this frame; stands for the lengths that
        /// TLS messages carry.
        last: bool,
        /// The sender's transport parameters, on the frame that ends the message they are in.
        parameters: Option<Box<TransportParameters>>,
    },
    /// STREAM (19.8).
    Stream {
        /// Stream.
        id: u64,
        /// Offset of the data.
        offset: u64,
        /// Bytes of data.
        len: u32,
        /// Whether the stream ends with them.
        fin: bool,
        /// Whether the length is written out; the last frame of a full packet does without.
        explicit_len: bool,
    },
    /// MAX_DATA (19.9).
    MaxData(u64),
    /// MAX_STREAM_DATA (19.10).
    MaxStreamData {
        /// Stream.
        id: u64,
        /// Limit, bytes from the stream's start.
        limit: u64,
    },
    /// MAX_STREAMS for the streams that the connection has (19.11).
    MaxStreams(u64),
    /// DATA_BLOCKED (19.12).
    DataBlocked(u64),
    /// STREAM_DATA_BLOCKED (19.13).
    StreamDataBlocked {
        /// Stream.
        id: u64,
        /// Limit that blocks it.
        limit: u64,
    },
    /// STREAMS_BLOCKED for the streams that the connection has (19.14).
    StreamsBlocked(u64),
    /// HANDSHAKE_DONE (19.20).
    HandshakeDone,
    /// ACK_FREQUENCY (draft-ietf-quic-ack-frequency section 4).
    AckFrequency(Box<AckFrequency>),
    /// IMMEDIATE_ACK (section 5 there): acknowledge at once.
    ImmediateAck,
    /// PATH_CHALLENGE (19.17) with its data.
    PathChallenge(u64),
    /// PATH_RESPONSE (19.18) with the data of the challenge.
    PathResponse(u64),
    /// PATH_ACK (draft-ietf-quic-multipath section 4.1).
    PathAck(Box<PathAck>),
    /// PATH_ABANDON (section 4.2 there).
    PathAbandon(PathId),
    /// PATH_STATUS_BACKUP or PATH_STATUS_AVAILABLE (section 4.3 there).
    PathStatus {
        /// The path.
        path: PathId,
        /// Number of the frame among those for this path. The highest counts.
        sequence: u32,
        /// The use that the sender wants of the path.
        status: PathStatus,
    },
    /// A frame about connection identifiers.
    Identifier(IdFrame),
    /// A frame for the client's next connection.
    Keepsake(Keepsake),
    /// DATAGRAM (RFC 9221 section 4), always with its length.
    Datagram(Box<DatagramFrame>),
    /// No frame of the wire: a packet of a call whose last byte is in this QUIC packet's stream data.
    StreamContent(Box<StreamContent>),
    /// ADD_ADDRESS of the design of 2017: the server has further addresses.
    AddAddress,
    /// PATHS of the design of 2017: how many paths the sender has, and which of the first 64 have failed, a bit each.
    Paths {
        /// Number of paths.
        count: u8,
        /// The paths that have failed.
        failed: u64,
    },
    /// CONNECTION_CLOSE (19.19), with the transport error's name if it is one.
    ConnectionClose(Option<&'static str>),
}

/// Bytes of a STREAM frame's header without the length field.
#[inline]
pub(super) const fn stream_header(id: u64, offset: u64) -> u32 {
    1 + varint_len(id) + if offset > 0 { varint_len(offset) } else { 0 }
}

impl Frame {
    /// Encoded size, bytes.
    #[inline]
    pub fn size(&self) -> u32 {
        match self {
            Frame::Padding(n) => *n,
            Frame::Ping | Frame::HandshakeDone | Frame::ImmediateAck => 1,
            Frame::AckFrequency(asked) => asked.size(),
            Frame::Ack(ack) => ack.size(),
            Frame::AckEcn(both) => {
                let counts = both.counts;
                both.ack.size() + varint_len(counts.ect0) + varint_len(counts.ect1) + varint_len(counts.ce)
            }
            Frame::Crypto { offset, len, .. } => 1 + varint_len(*offset) + varint_len(u64::from(*len)) + len,
            Frame::Stream { id, offset, len, explicit_len, .. } => {
                stream_header(*id, *offset) + if *explicit_len { varint_len(u64::from(*len)) } else { 0 } + len
            }
            Frame::MaxData(n) | Frame::MaxStreams(n) | Frame::DataBlocked(n) | Frame::StreamsBlocked(n) => {
                1 + varint_len(*n)
            }
            Frame::MaxStreamData { id, limit } | Frame::StreamDataBlocked { id, limit } => {
                1 + varint_len(*id) + varint_len(*limit)
            }
            Frame::PathChallenge(_) | Frame::PathResponse(_) => 1 + 8,
            Frame::PathAck(ack) => {
                let counts = ack.counts.map_or(0, |c| varint_len(c.ect0) + varint_len(c.ect1) + varint_len(c.ce));
                ack.ack.size() + varint_len(u64::from(ack.path.0)) + counts
            }
            // Type 0x3e75, path, error code (of which all that the draft names are below 2^14).
            Frame::PathAbandon(path) => 2 + varint_len(u64::from(path.0)) + 2,
            // Types 0x3e76 and 0x3e77, path, number.
            Frame::PathStatus { path, sequence, .. } => {
                2 + varint_len(u64::from(path.0)) + varint_len(u64::from(*sequence))
            }
            Frame::Identifier(frame) => match *frame {
                // Type, number, Retire Prior To, and the identifier.
                IdFrame::New(number) => 1 + varint_len(number) + 1 + WITH_TOKEN,
                IdFrame::NewLong(number) => 1 + varint_len(number) + 1 + WITH_TOKEN + LONGER,
                IdFrame::Retire(number) => 1 + varint_len(number),
                // Types 0x3e78 to 0x3e7c; path, number, Retire Prior To.
                IdFrame::PathNew(path, number) => {
                    2 + varint_len(u64::from(path.0)) + varint_len(number) + 1 + WITH_TOKEN
                }
                IdFrame::PathRetire(path, number) => 2 + varint_len(u64::from(path.0)) + varint_len(number),
                IdFrame::MaxPathId(most) | IdFrame::PathsBlocked(most) => 2 + varint_len(u64::from(most)),
                // Path, number of the next.
                IdFrame::PathCidsBlocked(path) => 2 + varint_len(u64::from(path.0)) + 1,
            },
            Frame::Keepsake(keepsake) => keepsake.size(),
            Frame::Datagram(frame) => frame.size(),
            Frame::StreamContent(_) => 0,
            // The paper gives no sizes. Type, version of IP, address, port.
            Frame::AddAddress => 1 + 1 + 4 + 2,
            // Type, number of paths, and for each its number and its RTT in two bytes.
            Frame::Paths { count, .. } => 1 + 1 + 3 * u32::from(*count),
            // Type, error code, frame type where the transport closes, length of an empty reason.
            Frame::ConnectionClose(None) => 3,
            Frame::ConnectionClose(Some(_)) => 4,
        }
    }

    /// Whether it only probes a path (RFC 9000 section 9.1).
    pub fn is_probing(&self) -> bool {
        matches!(
            self,
            Frame::Padding(_)
                | Frame::PathChallenge(_)
                | Frame::PathResponse(_)
                | Frame::Identifier(IdFrame::New(_) | IdFrame::NewLong(_) | IdFrame::PathNew(..))
        )
    }

    /// Whether the peer must acknowledge it (RFC 9002 section 2).
    #[inline]
    pub fn ack_eliciting(&self) -> bool {
        !matches!(
            self,
            Frame::Padding(_)
                | Frame::Ack(_)
                | Frame::AckEcn(_)
                | Frame::PathAck(_)
                | Frame::ConnectionClose(_)
                | Frame::StreamContent(_)
        )
    }

    /// Whether 0-RTT packets may carry it (RFC 9000 section 12.4, table 3).
    #[inline]
    pub fn allowed_in_0rtt(&self) -> bool {
        use Frame::{Ack, AckFrequency, Crypto, HandshakeDone, ImmediateAck};
        use Frame::{AddAddress, Keepsake, PathAbandon, PathAck, PathResponse, PathStatus, Paths};
        !matches!(
            self,
            Ack(_)
                | Crypto { .. }
                | HandshakeDone
                | AckFrequency(_)
                | ImmediateAck
                | PathResponse(_)
                | PathAck(_)
                | PathAbandon(_)
                | PathStatus { .. }
                | AddAddress
                | Keepsake(_)
                | Paths { .. }
        )
    }

    /// Whether Initial and Handshake packets may carry it (RFC 9000 section 12.4, table 3).
    pub fn allowed_in_handshake(&self) -> bool {
        matches!(
            self,
            Frame::Padding(_)
                | Frame::Ping
                | Frame::Ack(_)
                | Frame::AckEcn(_)
                | Frame::Crypto { .. }
                | Frame::ConnectionClose(None | Some(_))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_length_integers_have_the_lengths_of_table_4() {
        let lens = [0, 63, 64, 16_383, 16_384, 1_073_741_823, 1_073_741_824, VARINT_MAX].map(varint_len);
        assert_eq!(lens, [1, 1, 2, 2, 4, 4, 8, 8]);
    }

    #[test]
    fn frames_have_the_sizes_of_section_19() {
        let ack =
            |ranges: &[Range<u64>], us| Frame::Ack(Ack::new(ranges.iter().cloned(), Span::from_micros(us))).size();
        // Type, largest 9, delay 0, no further range, 10 packets.
        assert_eq!(ack(std::slice::from_ref(&(0..10)), 0), 5);
        // Largest and delay of two bytes each; one gap and range more.
        assert_eq!(ack(&[90..100, 0..80], 25_000), 1 + 2 + 2 + 1 + 1 + 1 + 2);
        let counts = EcnCounts { ect0: 63, ect1: 0, ce: 64 };
        let plain = Ack::new(std::iter::once(0..10), Span::ZERO);
        assert_eq!(Frame::AckEcn(Box::new(AckEcn { ack: plain, counts })).size(), 5 + 1 + 1 + 2);
        let stream = |offset, explicit_len| Frame::Stream { id: 0, offset, len: 1000, fin: true, explicit_len }.size();
        assert_eq!(stream(0, false), 1002);
        assert_eq!(stream(0, true), 1004);
        assert_eq!(stream(20_000, false), 1006);
        assert_eq!(Frame::Crypto { offset: 0, len: 300, last: true, parameters: None }.size(), 304);
        let asked = AckFrequency { sequence: 0, threshold: 100, max_delay: Span::from_millis(25), reordering: 1 };
        // Type 2, sequence 1, threshold 2, 25 000 us 4, reordering 1.
        assert_eq!(Frame::AckFrequency(Box::new(asked)).size(), 10);
        let status =
            |path, sequence| Frame::PathStatus { path: PathId(path), sequence, status: PathStatus::Backup }.size();
        assert_eq!((status(1, 0), status(64, 64)), (4, 6));
        assert_eq!(Frame::MaxStreamData { id: 4, limit: 1 << 20 }.size(), 6);
    }

    #[test]
    fn a_frame_is_a_small_value() {
        assert!(std::mem::size_of::<Frame>() <= 32, "{}", std::mem::size_of::<Frame>());
    }

    #[test]
    fn ill_formed_acks_are_told() {
        let ack = |ranges: &[Range<u64>]| Ack::new(ranges.iter().cloned(), Span::ZERO).well_formed();
        assert!(ack(&[5..9, 0..3]));
        let empty = 5..5u64;
        assert!(!ack(&[]) && !ack(&[empty]) && !ack(&[0..3, 5..9]) && !ack(&[3..9, 0..3]));
    }
}
