//! The headers of a kernel's packets, as far as the simulator reads them and writes into them: pure functions over bytes, which may be
//! any.

use crate::checksum;
use haltere_net::Ecn;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Bytes of an IPv4 header without options, and of a TCP header.
const IP: usize = 20;
const HEADER: usize = 20;

/// The headers of a TCP segment in an IPv4 packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// From where.
    pub source: SocketAddrV4,
    /// To where.
    pub destination: SocketAddrV4,
    /// The ECN field of the IP header.
    pub ecn: Ecn,
    /// Its sequence number.
    pub seq: u32,
    /// The acknowledgement, if it has one.
    pub ack: Option<u32>,
    /// It opens a direction.
    pub syn: bool,
    /// It ends a direction.
    pub fin: bool,
    /// It ends the connection.
    pub rst: bool,
    /// Bytes of data.
    pub data: u32,
}

impl Segment {
    /// Reads a packet. `None` if it is no whole TCP segment in one IPv4 packet.
    pub fn parse(packet: &[u8]) -> Option<Segment> {
        let head = packet.get(..IP)?;
        let (version, ip) = (head[0] >> 4, usize::from(head[0] & 15) * 4);
        let whole = usize::from(u16::from_be_bytes([head[2], head[3]]));
        // More fragments follow, or this is a later one.
        let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0;
        if version != 4 || ip < IP || whole != packet.len() || fragment || head[9] != TCP {
            return None;
        }
        let tcp = packet.get(ip..)?;
        let header = tcp.get(..HEADER)?;
        let offset = usize::from(header[12] >> 4) * 4;
        let data = tcp.len().checked_sub(offset).filter(|_| offset >= HEADER)?;
        let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
        let flags = header[13];
        Some(Segment {
            source: SocketAddrV4::new(address(12), port(0)),
            destination: SocketAddrV4::new(address(16), port(2)),
            ecn: ecn(head[1]),
            seq: word(4),
            ack: (flags & 16 != 0).then(|| word(8)),
            syn: flags & 2 != 0,
            fin: flags & 1 != 0,
            rst: flags & 4 != 0,
            data: u32::try_from(data).ok()?,
        })
    }

    /// How many sequence numbers it takes.
    pub fn space(&self) -> u32 {
        self.data + u32::from(self.syn) + u32::from(self.fin)
    }
}

/// The ECN field of an IPv4 packet of TCP or UDP, and its two ends, the sender's first. `None` if it is no whole packet of these.
pub fn ends(packet: &[u8]) -> Option<(Ecn, [SocketAddrV4; 2])> {
    let head = packet.get(..IP)?;
    let ip = usize::from(head[0] & 15) * 4;
    let fragment = u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0;
    if head[0] >> 4 != 4 || ip < IP || fragment || ![TCP, UDP].contains(&head[9]) {
        return None;
    }
    let end = |address: usize, port: usize| {
        let port = u16::from_be_bytes([*packet.get(ip + port)?, *packet.get(ip + port + 1)?]);
        let own = Ipv4Addr::new(head[address], head[address + 1], head[address + 2], head[address + 3]);
        Some(SocketAddrV4::new(own, port))
    };
    Some((ecn(head[1]), [end(12, 0)?, end(16, 2)?]))
}

fn ecn(tos: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(tos & 3)]
}

/// Marks a packet as having met congestion, as a queue on its way has done. What is no IPv4 packet stays as it is.
pub fn mark(packet: &mut [u8]) {
    let Some(head) = packet.get_mut(..IP).filter(|head| head[0] == 0x45) else { return };
    head[1] |= 3;
    (head[10], head[11]) = (0, 0);
    let _ = checksum::complete(head, 0, 10);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A segment from port 1 of 10.0.0.1 to port 2 of 10.0.0.2.
    pub(crate) fn packet(flags: u8, seq: u32, ack: u32, data: usize) -> Vec<u8> {
        let mut packet = vec![0; IP + HEADER + data];
        let whole = packet.len() as u16;
        packet[0] = 0x45;
        packet[1] = 2;
        packet[2..4].copy_from_slice(&whole.to_be_bytes());
        packet[9] = TCP;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        packet[20..24].copy_from_slice(&[0, 1, 0, 2]);
        packet[24..28].copy_from_slice(&seq.to_be_bytes());
        packet[28..32].copy_from_slice(&ack.to_be_bytes());
        (packet[32], packet[33]) = (0x50, flags);
        packet
    }

    #[test]
    fn a_segment_is_read_and_a_mark_is_seen() {
        let mut one = packet(0x11, 5, 9, 100);
        let read = Segment::parse(&one).unwrap();
        assert_eq!((read.seq, read.ack, read.data, read.space()), (5, Some(9), 100, 101));
        assert_eq!((read.source, read.ecn), ("10.0.0.1:1".parse().unwrap(), Ecn::Ect0));
        mark(&mut one);
        let marked = Segment::parse(&one).unwrap();
        assert_eq!(marked, Segment { ecn: Ecn::Ce, ..read });
        one.pop();
        assert_eq!(Segment::parse(&one), None, "its end is missing");
    }

    #[test]
    fn datagrams_have_ends_and_fragments_have_none() {
        let mut datagram = packet(0, 0, 0, 9);
        datagram[9] = UDP;
        let both = ["10.0.0.1:1", "10.0.0.2:2"].map(|end| end.parse().unwrap());
        assert_eq!((Segment::parse(&datagram), ends(&datagram)), (None, Some((Ecn::Ect0, both))));
        datagram[7] = 1;
        assert_eq!(ends(&datagram), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_segment_or_none(mut bytes in proptest::collection::vec(any::<u8>(), 0..80), whole: bool) {
            if let (true, Some(_)) = (whole, bytes.get(3)) {
                let length = bytes.len() as u16;
                bytes[2..4].copy_from_slice(&length.to_be_bytes());
                bytes[0] = 0x45;
                if let Some(protocol) = bytes.get_mut(9) {
                    *protocol = TCP;
                }
            }
            if let Some(segment) = Segment::parse(&bytes) {
                prop_assert!((segment.data as usize) < bytes.len());
                prop_assert_eq!(ends(&bytes), Some((segment.ecn, [segment.source, segment.destination])));
            }
            let _ = ends(&bytes);
            mark(&mut bytes);
        }
    }
}
