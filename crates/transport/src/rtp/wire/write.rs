//! Bytes of packets.

use super::{
    CAME, CHUNK, EXTENSION, LEAST_PAYLOAD, MARK, MEDIA, MOST, MOST_OFFSET, NACK, NTP, OFFSETS, PADDING, PER_PACKET,
    PLI, PSFB, REFERENCE, REPAIR, RTCP, RTP, RTPFB, SUMMARY, SYMBOLS, TICK, TRANSPORT_WIDE, bits, ntp,
};
use crate::media::Frame;
use crate::rtp::{Arrivals, Form, Media, Packet, Report, Summarised};
use haltere_net::{Ecn, Time};

/// The bytes of a packet; none of a check, which is neither RTP nor RTCP.
pub fn write(packet: &Packet) -> Vec<u8> {
    match packet {
        Packet::Check(_) => Vec::new(),
        Packet::Media(media) => write_media(media),
        Packet::Reports(reports) => reports.iter().flat_map(write_report).collect(),
    }
}

fn write_media(media: &Media) -> Vec<u8> {
    let Media { number, sent, part, repair, payload } = *media;
    let ends = part.is_some_and(|part| part.sequence + 1 == part.first + u64::from(part.parts));
    let kind = match part {
        None => PADDING,
        Some(_) if repair => REPAIR,
        Some(_) => MEDIA,
    };
    let sequence = part.map_or(0, |part| part.sequence) as u16;
    // Repairs and padding are a stream of their own (RFC 4588 section 4), which the number of the packet numbers.
    let own = if kind == MEDIA { sequence } else { number as u16 };
    let captured = part.map_or(sent, |part| part.frame.captured);
    let ticks = u128::from(captured.as_nanos()) * 90_000 / 1_000_000_000;
    let mut bytes = vec![RTP, kind | if ends { MARK } else { 0 }];
    bytes.extend(own.to_be_bytes());
    bytes.extend((ticks as u32).to_be_bytes());
    bytes.extend(u32::from(kind != MEDIA).to_be_bytes());
    bytes.extend(EXTENSION);
    bytes.extend((number as u16).to_be_bytes());
    bytes.push(0);
    if kind == REPAIR {
        bytes.extend(sequence.to_be_bytes());
    }
    let begin = bytes.len();
    let frame = part.map_or(Frame { number: 0, bytes: 0, captured, key: false }, |part| part.frame);
    bytes.push(frame.key.into());
    bytes.extend(sent.as_nanos().to_be_bytes());
    bytes.extend(captured.as_nanos().to_be_bytes());
    bytes.extend(frame.number.to_be_bytes());
    bytes.extend(frame.bytes.to_be_bytes());
    bytes.extend(part.map_or(0, |part| (part.sequence - part.first) as u32).to_be_bytes());
    bytes.extend(part.map_or(0, |part| part.parts).to_be_bytes());
    bytes.resize(begin + payload.max(LEAST_PAYLOAD) as usize, 0);
    bytes
}

fn write_report(report: &Report) -> Vec<u8> {
    let (kind, format, sources, body) = match report {
        Report::KeyFrame => (PSFB, PLI, [0, 0], Vec::new()),
        Report::Missing(missing) => (RTPFB, NACK, [0, 0], write_missing(missing)),
        Report::Summary(Summarised { summary, last, held }) => {
            let words = [u32::from(summary.accelerated), (1e3 * summary.signal) as u32, summary.received as u32];
            let body = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            (RTPFB, SUMMARY, [ntp(*held), *last as u32], body)
        }
        Report::Arrivals(arrivals) => {
            let at = ntp(arrivals.at.since(Time::ZERO));
            match arrivals.form {
                Form::TransportWide => (RTPFB, TRANSPORT_WIDE, [at, 0], write_transport_wide(&told(arrivals))),
                Form::PerPacket => (RTPFB, PER_PACKET, [0, 0], write_per_packet(&told(arrivals), at)),
            }
        }
    };
    let words = 2 + body.len().div_ceil(4);
    let mut bytes = vec![RTCP | format, kind];
    bytes.extend((words as u16).to_be_bytes());
    bytes.extend(sources.iter().flat_map(|source: &u32| source.to_be_bytes()));
    bytes.extend(body);
    bytes.resize(4 + 4 * words, 0);
    bytes
}

fn write_missing(missing: &[u64]) -> Vec<u8> {
    let mut pairs: Vec<(u64, u16)> = Vec::new();
    for number in missing {
        match pairs.last_mut() {
            Some((first, mask)) if (*first + 1..=*first + 16).contains(number) => *mask |= 1 << (number - *first - 1),
            _ => pairs.push((*number, 0)),
        }
    }
    pairs.iter().flat_map(|(first, mask)| [(*first as u16).to_be_bytes(), mask.to_be_bytes()].concat()).collect()
}

/// The arrivals that a report can tell of, each packet once: those with the highest numbers.
fn told(arrivals: &Arrivals) -> Vec<(u64, Time, Ecn)> {
    let last = arrivals.packets.last().map_or(0, |packet| packet.0);
    let mut told = arrivals.packets.clone();
    told.retain(|packet| packet.0 <= last && last - packet.0 < MOST);
    told.dedup_by_key(|packet| packet.0);
    told
}

/// The number of the first packet, and how many a report tells of.
fn span(told: &[(u64, Time, Ecn)]) -> (u64, usize) {
    let first = told.first().map_or(0, |packet| packet.0);
    let last = told.last().map_or(0, |packet| packet.0);
    (first, if told.is_empty() { 0 } else { (last.saturating_sub(first) + 1) as usize })
}

fn write_transport_wide(told: &[(u64, Time, Ecn)]) -> Vec<u8> {
    let (first, count) = span(told);
    let tick = |at: Time| at.as_nanos() / TICK;
    let reference = told.iter().map(|packet| tick(packet.1)).min().unwrap_or(0) / REFERENCE;
    let (mut symbols, mut deltas, mut before) = (vec![0u16; count], Vec::new(), reference * REFERENCE);
    for (number, at, _) in told {
        let delta = (tick(*at) as i64 - before as i64).clamp(i16::MIN.into(), i16::MAX.into());
        let (symbol, bytes) = match u8::try_from(delta) {
            Ok(small) => (1, vec![small]),
            Err(_) => (2, (delta as i16).to_be_bytes().to_vec()),
        };
        before = before.saturating_add_signed(delta);
        symbols[(number - first) as usize] = symbol;
        deltas.extend(bytes);
    }
    let mut bytes = [(first as u16).to_be_bytes(), (count as u16).to_be_bytes()].concat();
    bytes.extend(&(reference as u32).to_be_bytes()[1..]);
    bytes.push(0);
    for seven in symbols.chunks(SYMBOLS) {
        let shifted = seven.iter().zip((0..SYMBOLS).rev()).map(|(symbol, place)| symbol << (2 * place));
        bytes.extend((CHUNK | shifted.sum::<u16>()).to_be_bytes());
    }
    bytes.extend(deltas);
    bytes
}

fn write_per_packet(told: &[(u64, Time, Ecn)], at: u32) -> Vec<u8> {
    let (first, count) = span(told);
    let mut words = vec![0u16; count];
    for (number, came, ecn) in told {
        let ago = u64::from(at.wrapping_sub(ntp(came.since(Time::ZERO))));
        let offset = (ago / (NTP / OFFSETS)).min(MOST_OFFSET) as u16;
        words[(number - first) as usize] = CAME | bits(*ecn) << 13 | offset;
    }
    let mut bytes = [(first as u16).to_be_bytes(), (count as u16).to_be_bytes()].concat();
    bytes.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes.extend(at.to_be_bytes());
    bytes
}
