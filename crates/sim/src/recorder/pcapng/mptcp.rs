//! MPTCP's options as bytes (RFC 8684 section 3). Keys, tokens and codes that authenticate are zeros: nothing here is
//! secret. The data begins at position 1.

use haltere_transport::mptcp::{Opening, Segment};
use haltere_transport::path::PathStatus;
use haltere_transport::tcp::segment::Kind;

const KIND: u8 = 30;
const NOP: u8 = 1;
/// Version 1.
const VERSION: u8 = 1;
/// HMAC-SHA256 (section 3.1).
const H: u8 = 1;
/// Flags of DSS (section 3.3).
const DATA_FIN: u8 = 0x10;
const LONG_MAPPING: u8 = 0x0c;
const LONG_ACK: u8 = 0x03;

/// The options of a segment, each padded to four bytes.
pub(super) fn options(segment: &Segment) -> Vec<u8> {
    let (o, tcp) = (&segment.options, &segment.tcp);
    let mut list = Vec::with_capacity(40);
    let mut add = |subtype: u8, flags: u8, rest: &[u8], blank: usize| {
        let len = 3 + rest.len() + blank;
        list.extend([KIND, len as u8, subtype << 4 | flags]);
        list.extend(rest);
        list.extend(std::iter::repeat_n(0, blank));
        list.extend(std::iter::repeat_n(NOP, len.next_multiple_of(4) - len));
    };
    let backup = |status| u8::from(status == PathStatus::Backup);
    match (o.opening, tcp.kind) {
        (None, _) | (_, Kind::Reset) => {}
        (Some(Opening::Capable), Kind::Syn) => add(0, VERSION, &[H], 0),
        (Some(Opening::Capable), Kind::SynAck) => add(0, VERSION, &[H], 8),
        (Some(Opening::Capable), Kind::Data) if tcp.len == 0 => add(0, VERSION, &[H], 16),
        (Some(Opening::Capable), Kind::Data) => {
            let mut rest = [0; 19];
            rest[0] = H;
            rest[17..].copy_from_slice(&(tcp.len as u16).to_be_bytes());
            add(0, VERSION, &rest, 0);
        }
        (Some(Opening::Join(status)), Kind::Syn) => add(1, backup(status), &[segment.subflow.0], 8),
        (Some(Opening::Join(status)), Kind::SynAck) => add(1, backup(status), &[segment.subflow.0], 12),
        (Some(Opening::Join(_)), Kind::Data) => add(1, 0, &[0], 20),
    }
    let mapping = o.mapping.filter(|_| o.opening != Some(Opening::Capable));
    if o.data_ack.is_some() || mapping.is_some() || o.data_fin.is_some() {
        let mut rest = vec![0];
        if let Some(ack) = o.data_ack {
            rest[0] |= LONG_ACK;
            rest.extend(ack.wrapping_add(1).to_be_bytes());
        }
        if mapping.is_some() || o.data_fin.is_some() {
            rest[0] |= LONG_MAPPING;
            // DATA_FIN alone is mapped to position 0 of the subflow, and takes one position.
            let (data, at) = match mapping {
                Some(data) => (data, tcp.seq.wrapping_add(1) as u32),
                None => (o.data_fin.unwrap_or(0), 0),
            };
            let fin = u16::from(o.data_fin.is_some());
            rest[0] |= DATA_FIN * (fin as u8);
            rest.extend(data.wrapping_add(1).to_be_bytes());
            rest.extend(at.to_be_bytes());
            rest.extend((tcp.len as u16).saturating_add(fin).to_be_bytes());
        }
        add(2, 0, &rest, 0);
    }
    if o.add_address {
        add(3, 0, &[1], 12);
    }
    if o.echo {
        add(3, 1, &[1], 4);
    }
    if let Some(path) = o.remove {
        add(4, 0, &[path.0], 0);
    }
    if let Some(status) = o.priority {
        add(5, backup(status), &[], 0);
    }
    list
}
