//! The bytes of a call's packets, for transports whose packets are real.
//!
//! RTP and RTCP are as their documents have them, with three departures. The first bytes of a payload carry what the far end must know of
//! the frame, where a codec's own header would stand. The numbers of sources, which one call does not need, carry times and numbers that
//! sender and receiver reports would (RFC 3550 section 6.4). The report of NADA takes the format 31, for it has no number of its own.
//!
//! Lengths are those that [`Packet`](super::Packet) counts, but for transport-wide feedback of packets more than 64 ms apart, whose times
//! take a byte more. Times of arrival are as coarse as their documents have them: 250 µs in transport-wide feedback, 1/1024 s in that of RFC 8888.
//!
//! | file | holds |
//! |---|---|
//! | `write` | bytes of packets |
//! | `read` | packets of bytes, which may be anything |

mod read;
mod write;

use haltere_net::{Ecn, Span};
pub use read::Reader;
pub use write::write;

/// Bytes at the beginning of a payload: whether it is a key frame, when it left, when the frame was taken, the frame's number and length, the
/// place of the part in it, and the number of its parts.
pub const LEAST_PAYLOAD: u32 = 1 + 8 + 8 + 8 + 4 + 4 + 4;

/// The first byte of RTP: version 2, with an extension (RFC 3550 section 5.1), and of RTCP: version 2.
const RTP: u8 = 0x90;
const RTCP: u8 = 0x80;
/// The bit of the second byte that marks the last part of a frame.
const MARK: u8 = 0x80;
/// The types of payload: media, repairs and padding (dynamic ones, RFC 3551 section 6).
const MEDIA: u8 = 96;
const REPAIR: u8 = 97;
const PADDING: u8 = 98;
/// The header of an extension of one word, and of its element 1 with two bytes (RFC 8285 section 4.2).
const EXTENSION: [u8; 5] = [0xbe, 0xde, 0, 1, 0x11];
/// Bytes before a payload.
const HEADERS: usize = 12 + 8;
/// RTCP's types: feedback of the transport and of the payload (RFC 4585 section 6.1).
const RTPFB: u8 = 205;
const PSFB: u8 = 206;
/// The formats of feedback: NACK (RFC 4585 section 6.2.1), RFC 8888 section 3.1, transport-wide (draft-holmer section 3.1), and one of ours.
const NACK: u8 = 1;
const PER_PACKET: u8 = 11;
const TRANSPORT_WIDE: u8 = 15;
const SUMMARY: u8 = 31;
/// The format of a wish for a key frame (RFC 4585 section 6.3.1).
const PLI: u8 = 1;
/// The most packets that a report tells of: with more, 16 bits would not tell old numbers from new ones (RFC 8888 section 3.1).
const MOST: u64 = 16_384;
/// Units of time, as parts of a second or in ns.
const NTP: u64 = 1 << 16;
const OFFSETS: u64 = 1 << 10;
const TICK: u64 = 250_000;
const REFERENCE: u64 = 64_000_000 / TICK;
/// The largest offset of RFC 8888, which also says that it is larger, and its bit for a packet that came.
const MOST_OFFSET: u64 = 0x1ffe;
const CAME: u16 = 0x8000;
/// A chunk of the status of seven packets, and how many bits each has.
const CHUNK: u16 = 0xc000;
const SYMBOLS: usize = 7;
/// No time is later: beyond it sums could not be counted.
const LATEST: u64 = 1 << 62;

/// A time in units of 1/65536 s.
fn ntp(time: Span) -> u32 {
    (u128::from(time.as_nanos()) * u128::from(NTP) / 1_000_000_000) as u32
}

fn of_ntp(units: u64) -> u64 {
    (u128::from(units) * 1_000_000_000 / u128::from(NTP)) as u64
}

/// The two bits of a mark (RFC 3168 section 5).
fn bits(ecn: Ecn) -> u16 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

fn of_bits(bits: u16) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bits & 3)]
}

#[cfg(test)]
mod tests;
