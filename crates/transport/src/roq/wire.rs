//! The bytes of a call over QUIC (draft-ietf-avtcore-rtp-over-quic-14 section 5): a flow identifier before the data of each DATAGRAM frame
//! and at the beginning of each stream, and on streams a length before each packet. The packets are those of [`rtp::wire`].

use crate::quic::varint_len;
use crate::rtp::{self, Packet};

/// The flow identifier, one byte (section 5.1).
const FLOW: u8 = 0;
/// The longest packet that is taken from a stream, bytes: more than a path carries in one piece.
const MOST: u64 = 1 << 16;

/// The data of a DATAGRAM frame.
pub fn datagram(packet: &Packet) -> Vec<u8> {
    let mut bytes = vec![FLOW];
    bytes.extend(rtp::wire::write(packet));
    bytes
}

/// The packet in the data of a DATAGRAM frame; `None` if they are none of this flow.
pub fn of_datagram(data: &[u8], reader: &mut rtp::wire::Reader) -> Option<Packet> {
    reader.read(data.strip_prefix(&[FLOW])?)
}

/// The bytes that begin a stream.
pub fn beginning() -> Vec<u8> {
    vec![FLOW]
}

/// A packet as it stands on a stream.
pub fn on_stream(packet: &Packet) -> Vec<u8> {
    let packet = rtp::wire::write(packet);
    let mut bytes = varint(packet.len() as u64);
    bytes.extend(packet);
    bytes
}

/// A number of variable length (RFC 9000 section 16).
fn varint(value: u64) -> Vec<u8> {
    let len = varint_len(value) as usize;
    let mut bytes = value.to_be_bytes()[8 - len..].to_vec();
    bytes[0] |= (len.trailing_zeros() as u8) << 6;
    bytes
}

/// A number of variable length at the front, and its bytes; `None` if it is not whole.
fn of_varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let len = 1 << (bytes.first()? >> 6);
    let all = bytes.get(..len)?.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
    Some((all & (u64::MAX >> (66 - 8 * len)), len))
}

/// A stream that is being read.
#[derive(Default, Debug)]
pub struct Incoming {
    /// Bytes that make no whole packet yet.
    rest: Vec<u8>,
    begun: bool,
    /// Whether it is a stream of another flow, or no packets are on it.
    foreign: bool,
}

impl Incoming {
    /// Takes the bytes that follow; returns the packets that are whole with them.
    pub fn take(&mut self, bytes: &[u8], reader: &mut rtp::wire::Reader) -> Vec<Packet> {
        if self.foreign {
            return Vec::new();
        }
        self.rest.extend_from_slice(bytes);
        let (mut at, mut packets) = (0, Vec::new());
        if !self.begun {
            let Some(&first) = self.rest.first() else { return packets };
            (self.begun, self.foreign, at) = (true, first != FLOW, 1);
        }
        while let Some((len, of_len)) = self.rest.get(at..).and_then(of_varint).filter(|_| !self.foreign) {
            self.foreign = len > MOST;
            let begin = at + of_len;
            let Some(packet) = self.rest.get(begin..begin.saturating_add(len as usize)) else { break };
            packets.extend(reader.read(packet));
            at = begin + len as usize;
        }
        self.rest.drain(..at);
        if self.foreign {
            self.rest = Vec::new();
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtp::Report;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_the_lengths_of_rfc_9000() {
        // Section A.1 of RFC 9000.
        for (value, bytes) in [
            (37, vec![0x25]),
            (15_293, vec![0x7b, 0xbd]),
            (494_878_333, vec![0x9d, 0x7f, 0x3e, 0x7d]),
            (151_288_809_941_952_652, vec![0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
        ] {
            assert_eq!((varint(value), of_varint(&bytes)), (bytes.clone(), Some((value, bytes.len()))));
        }
    }

    #[test]
    fn packets_come_whole_however_a_stream_is_cut() {
        let sent: Vec<Packet> =
            (0..20).map(|n| Packet::Reports(vec![Report::KeyFrame, Report::Missing((0..n * 9).collect())])).collect();
        let mut bytes = beginning();
        bytes.extend(sent.iter().flat_map(on_stream));
        for piece in [1, 2, 7, 100, bytes.len()] {
            let (mut incoming, mut reader) = (Incoming::default(), rtp::wire::Reader::default());
            let came: Vec<Packet> = bytes.chunks(piece).flat_map(|piece| incoming.take(piece, &mut reader)).collect();
            let text = |packets: &[Packet]| format!("{packets:?}");
            assert_eq!(text(&came), text(&sent), "pieces of {piece}");
            assert!(incoming.rest.is_empty());
        }
    }

    #[test]
    fn what_is_of_another_flow_is_not_kept() {
        let (mut incoming, mut reader) = (Incoming::default(), rtp::wire::Reader::default());
        assert!(incoming.take(&[1; 5000], &mut reader).is_empty() && incoming.rest.is_empty());
        assert!(of_datagram(&[1, 0x90], &mut reader).is_none());
        let mut long = beginning();
        long.extend(varint(MOST + 1));
        let mut incoming = Incoming::default();
        incoming.take(&long, &mut reader);
        assert!(incoming.take(&[0; 5000], &mut reader).is_empty() && incoming.rest.is_empty());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_read(bytes in prop::collection::vec(any::<u8>(), 0..300), piece in 1usize..40) {
            let (mut incoming, mut reader) = (Incoming::default(), rtp::wire::Reader::default());
            of_datagram(&bytes, &mut reader);
            for piece in bytes.chunks(piece) {
                incoming.take(piece, &mut reader);
            }
            prop_assert!(incoming.rest.len() <= bytes.len());
        }
    }
}
