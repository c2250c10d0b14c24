//! Packets of bytes, which may be anything.

use super::{
    CAME, CHUNK, HEADERS, LATEST, LEAST_PAYLOAD, MARK, MEDIA, NACK, NTP, OFFSETS, PADDING, PER_PACKET, PLI, PSFB,
    REFERENCE, REPAIR, RTCP, RTP, RTPFB, SUMMARY, SYMBOLS, TICK, TRANSPORT_WIDE, of_bits, of_ntp,
};
use crate::media::Frame;
use crate::rtp::control::Summary;
use crate::rtp::{Arrivals, Form, Media, Packet, Part, Report, Summarised};
use haltere_net::{Ecn, Span, Time};

/// Takes bytes from the front of a slice.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }
    fn slice(&mut self, len: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(first)
    }
    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_be_bytes)
    }
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
    fn time(&mut self) -> Option<Time> {
        self.u64().filter(|ns| *ns < LATEST).map(Time::from_nanos)
    }
}

/// The highest numbers of one direction: of packets, and of parts.
#[derive(Clone, Copy, Default, Debug)]
struct Highest {
    number: u64,
    sequence: u64,
}

impl Highest {
    fn note(&mut self, media: &Media) {
        self.number = self.number.max(media.number);
        self.sequence = self.sequence.max(media.part.map_or(0, |part| part.sequence));
    }
}

/// Reads packets. As numbers and times on the wire are cut short, it knows the last ones.
#[derive(Clone, Default, Debug)]
pub struct Reader {
    sent: Highest,
    heard: Highest,
    /// The time of the last report, 1/65536 s.
    clock: u64,
}

/// The number next to another whose last `bits` bits are these (RFC 3711 section 3.3.1 finds it so).
fn next_to(other: u64, low: u64, bits: u32) -> u64 {
    let (all, half) = (1u64 << bits, 1u64 << (bits - 1));
    let same = (other & !(all - 1)) | low;
    if same > other + half && same >= all {
        same - all
    } else if same + half < other {
        same + all
    } else {
        same
    }
}

impl Reader {
    /// Notes a packet that this end sends, of which reports will tell.
    pub fn on_sent(&mut self, media: &Media) {
        self.sent.note(media);
    }

    /// The packet with these bytes; `None` if they are none.
    pub fn read(&mut self, bytes: &[u8]) -> Option<Packet> {
        if *bytes.first()? == RTP {
            let media = self.media(bytes)?;
            self.heard.note(&media);
            return Some(Packet::Media(media));
        }
        let (mut rest, mut reports) = (Cursor(bytes), Vec::new());
        while !rest.0.is_empty() {
            reports.push(self.report(&mut rest)?);
        }
        Some(Packet::Reports(reports))
    }

    fn media(&self, bytes: &[u8]) -> Option<Media> {
        let kind = *bytes.get(1)? & !MARK;
        let mut rest = Cursor(bytes.get(2..)?);
        let own = rest.u16()?;
        let number = u16::from_be_bytes(bytes.get(HEADERS - 3..HEADERS - 1)?.try_into().ok()?);
        let number = next_to(self.heard.number, number.into(), 16);
        rest = Cursor(bytes.get(HEADERS..)?);
        let low = match kind {
            MEDIA => own,
            REPAIR => rest.u16()?,
            PADDING => 0,
            _ => return None,
        };
        let payload = u32::try_from(rest.0.len()).ok().filter(|len| *len >= LEAST_PAYLOAD)?;
        let key = rest.u8()? == 1;
        let (sent, captured) = (rest.time()?, rest.time()?);
        let frame = Frame { number: rest.u64()?, bytes: rest.u32()?, captured, key };
        let (place, parts) = (rest.u32()?, rest.u32()?);
        let part = if kind == PADDING {
            None
        } else {
            let sequence = next_to(self.heard.sequence, low.into(), 16);
            let first = sequence.checked_sub(place.into()).filter(|_| place < parts)?;
            Some(Part { sequence, frame, first, parts })
        };
        Some(Media { number, sent, part, repair: kind == REPAIR, payload })
    }

    fn report(&mut self, rest: &mut Cursor<'_>) -> Option<Report> {
        let (first, kind, words) = (rest.u8()?, rest.u8()?, rest.u16()?);
        let mut body = Cursor(rest.slice(4 * usize::from(words))?);
        let sources = [body.u32()?, body.u32()?];
        match (kind, first.checked_sub(RTCP)?) {
            (PSFB, PLI) => Some(Report::KeyFrame),
            (RTPFB, NACK) => self.missing(&mut body),
            (RTPFB, SUMMARY) => {
                let (mode, signal, received) = (body.u32()?, body.u32()?, body.u32()?);
                let summary =
                    Summary { signal: f64::from(signal) / 1e3, received: received.into(), accelerated: mode == 1 };
                let last = next_to(self.sent.number, sources[1].into(), 32);
                Some(Report::Summary(Summarised { summary, last, held: Span::from_nanos(of_ntp(sources[0].into())) }))
            }
            (RTPFB, TRANSPORT_WIDE) => self.transport_wide(&mut body, sources[0]),
            (RTPFB, PER_PACKET) => self.per_packet(&mut body),
            _ => None,
        }
    }

    fn missing(&self, body: &mut Cursor<'_>) -> Option<Report> {
        let mut missing = Vec::new();
        while !body.0.is_empty() {
            let (first, mask) = (next_to(self.sent.sequence, body.u16()?.into(), 16), body.u16()?);
            missing.push(first);
            missing.extend((0..16).filter(|bit| mask >> bit & 1 == 1).map(|bit| first + 1 + bit));
        }
        Some(Report::Missing(missing))
    }

    /// The time that a report has in units of 1/65536 s, of which it has 32 bits.
    fn clock(&mut self, low: u32) -> Time {
        self.clock = next_to(self.clock, low.into(), 32);
        Time::from_nanos(of_ntp(self.clock))
    }

    fn transport_wide(&mut self, body: &mut Cursor<'_>, at: u32) -> Option<Report> {
        let (first, count) = (next_to(self.sent.number, body.u16()?.into(), 16), usize::from(body.u16()?));
        let [high, middle, low, _] = body.array()?;
        let mut tick = u64::from(u32::from_be_bytes([0, high, middle, low])) * REFERENCE;
        let mut symbols = Vec::with_capacity(count.next_multiple_of(SYMBOLS));
        while symbols.len() < count {
            let chunk = body.u16().filter(|chunk| chunk & CHUNK == CHUNK)?;
            symbols.extend((0..SYMBOLS).rev().map(|place| chunk >> (2 * place) & 3));
        }
        let mut packets = Vec::new();
        for (number, symbol) in (first..).zip(symbols.into_iter().take(count)) {
            let delta = match symbol {
                0 => continue,
                1 => i64::from(body.u8()?),
                2 => i64::from(i16::from_be_bytes(body.array()?)),
                _ => return None,
            };
            tick = tick.checked_add_signed(delta)?;
            packets.push((number, Time::from_nanos(tick * TICK), Ecn::NotEct));
        }
        let latest = packets.iter().map(|packet| packet.1).max().unwrap_or(Time::ZERO);
        Some(Report::Arrivals(Arrivals { packets, at: self.clock(at).max(latest), form: Form::TransportWide }))
    }

    fn per_packet(&mut self, body: &mut Cursor<'_>) -> Option<Report> {
        let (first, count) = (next_to(self.sent.number, body.u16()?.into(), 16), usize::from(body.u16()?));
        let mut words = Cursor(body.slice((2 * count).next_multiple_of(4))?);
        let at = body.u32()?;
        let at = self.clock(at);
        let mut packets = Vec::new();
        for number in (first..).take(count) {
            let word = words.u16()?;
            if word & CAME != 0 {
                let ago = Span::from_nanos(of_ntp(u64::from(word & 0x1fff) * (NTP / OFFSETS)));
                packets.push((number, at.saturating_sub(ago), of_bits(word >> 13)));
            }
        }
        Some(Report::Arrivals(Arrivals { packets, at, form: Form::PerPacket }))
    }
}
