//! The packets of a call, with their lengths. Their bytes are not written.

use super::control::Summary;
use crate::media::Frame;
use haltere_net::{Ecn, Rate, Span, Time};

/// Bytes of the headers of IPv4 (RFC 791 section 3.1) and UDP (RFC 768).
pub const IP_UDP: u32 = 20 + 8;
/// Bytes of RTP's header (RFC 3550 section 5.1).
const RTP: u32 = 12;
/// Bytes of the extension with the transport-wide number (RFC 8285 section 4.2, draft-holmer-rmcat-transport-wide-cc-extensions-01
/// section 2): four of the extension's own header, and one element with two bytes, padded.
const EXTENSION: u32 = 8;
/// Bytes of SRTP's authentication tag (RFC 3711 section 5.2).
const TAG: u32 = 10;
/// Bytes of all headers of a packet with media, and of its tag.
pub const MEDIA: u32 = IP_UDP + RTP + EXTENSION + TAG;
/// Bytes of RTP's headers alone, without those of what carries the packet.
pub(crate) const RTP_HEADERS: u32 = RTP + EXTENSION;
/// Bytes by which a repair is longer: the number of the packet that it repairs (RFC 4588 section 4).
pub(crate) const ORIGINAL: u32 = 2;
/// Bytes of all headers of a packet with reports: also SRTCP's index and tag (RFC 3711 section 3.4).
const SRTCP: u32 = IP_UDP + 4 + TAG;
/// Bytes at the beginning of each report: RTCP's header and the numbers of two sources (RFC 4585 section 6.1).
const REPORT: u32 = 12;

/// A packet of a call.
#[derive(Clone, Debug)]
pub enum Packet {
    /// A check of the path, or its answer (RFC 8445 section 7).
    Check(Check),
    /// A part of a frame.
    Media(Media),
    /// Reports of the receiver. They are of reduced size (RFC 5506).
    Reports(Vec<Report>),
}

/// Which of the two messages of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// The request.
    Request,
    /// The response.
    Response,
}

/// A packet with a part of a frame, or with padding that measures the path.
#[derive(Clone, Copy, Debug)]
pub struct Media {
    /// Its number among all packets that the sender has sent.
    pub number: u64,
    /// When it left.
    pub sent: Time,
    /// Its contents; `None` for padding.
    pub part: Option<Part>,
    /// Whether it repairs the loss of an earlier packet with these contents (RFC 4588).
    pub repair: bool,
    /// Bytes of its payload.
    pub payload: u32,
}

impl Media {
    /// Its length, bytes, where all headers together have so many.
    pub(crate) fn len_with(&self, headers: u32) -> u32 {
        headers + self.payload + if self.repair { ORIGINAL } else { 0 }
    }
}

/// A part of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The number of the part among those of all frames: RTP's sequence number without its limit.
    pub sequence: u64,
    /// The frame.
    pub frame: Frame,
    /// The sequence number of the frame's first part.
    pub first: u64,
    /// The number of the frame's parts.
    pub parts: u32,
}

/// A report of the receiver.
#[derive(Clone, Debug)]
pub enum Report {
    /// When packets arrived.
    Arrivals(Arrivals),
    /// The summary of a receiver that does a part of the congestion control.
    Summary(Summarised),
    /// Parts that are to be sent again (RFC 4585 section 6.2.1).
    Missing(Vec<u64>),
    /// The wish for a key frame (RFC 4585 section 6.3.1).
    KeyFrame,
}

/// A summary, and the packet that came last before it.
#[derive(Clone, Copy, Debug)]
pub struct Summarised {
    /// The summary.
    pub summary: Summary,
    /// The packet's number.
    pub last: u64,
    /// The time from its arrival to the report (as in RFC 3550 section 6.4.1).
    pub held: Span,
}

/// The arrivals of packets, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct Arrivals {
    /// Each packet's number, when it came, and with which mark. Numbers between them did not arrive.
    pub packets: Vec<(u64, Time, Ecn)>,
    /// When the report left its receiver.
    pub at: Time,
    /// How it is written.
    pub form: Form,
}

/// How arrivals are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1).
    TransportWide,
    /// As RFC 8888 has it.
    PerPacket,
}

impl Form {
    /// The time between two reports of a receiver whose packets arrive at a rate.
    pub fn interval(self, rate: Rate) -> Span {
        let bps = rate.as_bps().max(1);
        match self {
            // libwebrtc, transport_sequence_number_feedback_generator.cc: reports of 68 bytes take 5 % of the rate, from each 50 ms to
            // each 250 ms.
            Form::TransportWide => {
                let span = Span::from_nanos(68 * 8 * 20 * 1_000_000_000 / bps);
                span.max(Span::from_millis(50)).min(Span::from_millis(250))
            }
            // draft-johansson-ccwg-scream-bis section 4.2.1: reports of 100 bytes take 2 % of the rate, from ten to a thousand a second.
            Form::PerPacket => {
                let span = Span::from_nanos(100 * 8 * 50 * 1_000_000_000 / bps);
                span.max(Span::from_millis(1)).min(Span::from_millis(100))
            }
        }
    }
}

impl Arrivals {
    /// The number of packets that it tells of, those between that did not arrive included.
    fn span(&self) -> u32 {
        match (self.packets.first(), self.packets.last()) {
            (Some(first), Some(last)) => u32::try_from(last.0 - first.0 + 1).unwrap_or(u32::MAX),
            _ => 0,
        }
    }

    fn bytes(&self) -> u32 {
        let (span, came) = (self.span(), u32::try_from(self.packets.len()).unwrap_or(u32::MAX));
        match self.form {
            // The base, the count and the time of reference; a chunk of two bytes for seven packets; a byte for the time of each.
            Form::TransportWide => 8 + (span.div_ceil(7).saturating_mul(2)).saturating_add(came).next_multiple_of(4),
            // The first number and the count, two bytes for each packet, and the time of the report (RFC 8888 section 3.1).
            Form::PerPacket => 8 + span.saturating_mul(2).next_multiple_of(4),
        }
    }
}

impl Report {
    /// Two reports that tell of its first half and of the others; `None` if it cannot be parted.
    pub(crate) fn halves(self) -> Option<(Report, Report)> {
        match self {
            Report::Arrivals(mut one) if one.packets.len() > 1 => {
                let packets = one.packets.split_off(one.packets.len() / 2);
                let other = Arrivals { packets, ..one };
                Some((Report::Arrivals(one), Report::Arrivals(other)))
            }
            Report::Missing(mut one) if one.len() > 1 => {
                let other = one.split_off(one.len() / 2);
                Some((Report::Missing(one), Report::Missing(other)))
            }
            _ => None,
        }
    }

    fn bytes(&self) -> u32 {
        REPORT
            + match self {
                Report::Arrivals(arrivals) => arrivals.bytes(),
                // RFC 8698 section 4.3: the mode, the congestion signal and the rate.
                Report::Summary(..) => 12,
                Report::Missing(missing) => 4 * pairs(missing),
                Report::KeyFrame => 0,
            }
    }
}

/// The number of pairs of a number and of a bit mask for the 16 numbers after it.
fn pairs(missing: &[u64]) -> u32 {
    let (mut pairs, mut covered) = (0, None);
    for number in missing {
        if covered.is_none_or(|last| *number > last) {
            pairs += 1;
            covered = Some(number + 16);
        }
    }
    pairs
}

impl Packet {
    /// Its length with all headers, bytes.
    #[expect(clippy::len_without_is_empty, reason = "no packet is empty")]
    pub fn len(&self) -> u32 {
        match self {
            // STUN's header, USERNAME with nine bytes, PRIORITY, ICE-CONTROLLING, USE-CANDIDATE, MESSAGE-INTEGRITY and FINGERPRINT
            // (RFC 8489 sections 5 and 14, RFC 8445 section 16.1).
            Packet::Check(Check::Request) => IP_UDP + 20 + 16 + 8 + 12 + 4 + 24 + 8,
            // STUN's header, XOR-MAPPED-ADDRESS, MESSAGE-INTEGRITY and FINGERPRINT.
            Packet::Check(Check::Response) => IP_UDP + 20 + 12 + 24 + 8,
            Packet::Media(media) => media.len_with(MEDIA),
            Packet::Reports(reports) => SRTCP + reports.iter().map(Report::bytes).sum::<u32>(),
        }
    }

    /// Its length as an RTP or RTCP packet without encryption, and without headers of what carries it, bytes. A check is neither.
    pub(crate) fn bare_len(&self) -> u32 {
        match self {
            Packet::Check(_) => 0,
            Packet::Media(media) => media.len_with(RTP_HEADERS),
            Packet::Reports(reports) => reports.iter().map(Report::bytes).sum(),
        }
    }
}
