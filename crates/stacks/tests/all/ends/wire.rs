//! The unprotected part of a datagram of a stack (RFC 9000 section 17).

use super::common::Seen;
use haltere_transport::Body;

/// The forms of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    Negotiation,
    /// Of a draft's version.
    Draft,
    Initial {
        /// Whether it carries a token.
        token: bool,
    },
    Early,
    Handshake,
    Retry,
    Short,
}

/// The bytes of a datagram.
pub fn bytes(seen: &Seen) -> &[u8] {
    let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram of a stack") };
    bytes
}

/// The forms of a datagram's packets.
pub fn forms(seen: &Seen) -> Vec<Form> {
    let (mut rest, mut forms) = (bytes(seen), Vec::new());
    while let Some(&first) = rest.first() {
        // Padding of the datagram outside of packets.
        if first == 0 {
            break;
        }
        let (form, len) = packet(first, rest);
        forms.push(form);
        rest = &rest[len.min(rest.len())..];
    }
    forms
}

/// The form of the first packet and its length, which only some say.
fn packet(first: u8, bytes: &[u8]) -> (Form, usize) {
    if first & 0x80 == 0 {
        return (Form::Short, bytes.len());
    }
    // Two connection ids, each behind its length.
    let source = 6 + usize::from(bytes[5]);
    let mut at = source + 1 + usize::from(bytes[source]);
    let form = match (&bytes[1..5], first >> 4 & 3) {
        ([0, 0, 0, 0], _) => return (Form::Negotiation, bytes.len()),
        ([0xff, ..], _) => return (Form::Draft, bytes.len()),
        (_, 0) => {
            let len = number(bytes, &mut at);
            at += len;
            Form::Initial { token: len > 0 }
        }
        (_, 1) => Form::Early,
        (_, 2) => Form::Handshake,
        _ => return (Form::Retry, bytes.len()),
    };
    let len = number(bytes, &mut at);
    (form, at + len)
}

/// A number of variable length (section 16).
fn number(bytes: &[u8], at: &mut usize) -> usize {
    let len = 1 << (bytes[*at] >> 6);
    let value = bytes[*at..*at + len].iter().fold(0, |value, byte| value << 8 | usize::from(*byte));
    *at += len;
    value & ((1 << (8 * len - 2)) - 1)
}
