//! The result of one read from a TUN device: a packet, or a super-packet that the kernel left to be cut (TSO, USO).
//!
//! The link counts packets, so a super-packet is offered piece by piece. Its bytes are never copied: a piece is only a
//! number, and pieces that are due together are written with one header and the payload in its place. Every device is
//! opened with `IFF_VNET_HDR`, so each packet has a `virtio_net_hdr` in front (Virtio 1.2, section 5.1.6.1).

use haltere_net::{Address, ConnectionId, Ecn, FlowKey};
use std::ops::Range;

/// Length of a `virtio_net_hdr`, bytes.
pub const VNET: usize = 10;
/// The longest headers of a super-packet: IPv6 with some extension headers, TCP with all its options.
const MAX_HEADERS: usize = 246;

/// The longest IPv4 header, bytes.
const PLAIN_HEADER: usize = 60;

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

const TCP_FIN_PSH: u8 = 0x09;
const TCP_CWR: u8 = 0x80;

/// A packet or super-packet as it was read, `virtio_net_hdr` first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unit {
    bytes: Box<[u8]>,
    cut: Option<Cut>,
}

/// How a super-packet is cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Cut {
    /// Headers that each piece repeats, IP and transport, bytes.
    headers: usize,
    /// Where the transport header starts.
    transport: usize,
    /// Payload of each piece but the last, bytes.
    size: usize,
    udp: bool,
}

/// Headers of what is written, and the payload that follows them.
#[derive(Debug)]
pub struct Piece<'a> {
    head: [u8; VNET + MAX_HEADERS],
    head_len: usize,
    payload: &'a [u8],
}

impl Piece<'_> {
    /// `virtio_net_hdr` and changed headers.
    pub fn head(&self) -> &[u8] {
        &self.head[..self.head_len]
    }
    /// The rest of the packet.
    pub fn payload(&self) -> &[u8] {
        self.payload
    }
}

fn get16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

fn put16(bytes: &mut [u8], at: usize, value: u16) {
    if let Some(b) = bytes.get_mut(at..at + 2) {
        b.copy_from_slice(&value.to_be_bytes());
    }
}

/// The ones' complement sum of RFC 1071, added to `sum`.
fn add_words(bytes: &[u8], sum: u32) -> u32 {
    bytes.chunks(2).fold(sum, |sum, w| sum + (u32::from(w[0]) << 8 | u32::from(w.get(1).copied().unwrap_or(0))))
}

fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Unit {
    /// The unit in the bytes that were read from a port; `None` if it is neither IPv4 nor IPv6 or cannot be cut as its
    /// header says.
    pub fn read(bytes: &[u8]) -> Option<Unit> {
        let (vnet, ip) = bytes.split_at_checked(VNET)?;
        let version = ip.first()? >> 4;
        if !(version == 4 && ip.len() >= 20 || version == 6 && ip.len() >= 40) {
            return None;
        }
        let cut = match vnet[1] & !GSO_ECN {
            GSO_NONE => None,
            kind => Some(Unit::cut(vnet, ip, kind)?),
        };
        Some(Unit { bytes: bytes.into(), cut: cut.filter(|c| ip.len() > c.headers + c.size) })
    }

    fn cut(vnet: &[u8], ip: &[u8], kind: u8) -> Option<Cut> {
        let native = |at: usize| usize::from(u16::from_ne_bytes([vnet[at], vnet[at + 1]]));
        let (size, transport) = (native(4), native(6));
        let udp = match kind {
            GSO_TCPV4 | GSO_TCPV6 => false,
            GSO_UDP_L4 => true,
            _ => return None,
        };
        let headers = transport + if udp { 8 } else { usize::from(ip.get(transport + 12)? >> 4) * 4 };
        let least = transport + if udp { 8 } else { 20 };
        let fits = size > 0
            && transport >= if ip[0] >> 4 == 4 { 20 } else { 40 }
            && headers >= least
            && headers <= MAX_HEADERS
            && headers < ip.len();
        (fits && vnet[0] & NEEDS_CSUM != 0).then_some(Cut { headers, transport, size, udp })
    }

    fn ip(&self) -> &[u8] {
        &self.bytes[VNET..]
    }

    /// Packets in it.
    pub fn pieces(&self) -> u32 {
        self.cut.map_or(1, |c| (self.ip().len() - c.headers).div_ceil(c.size) as u32)
    }

    /// Length of packet number `piece`, bytes with IP header.
    pub fn len(&self, piece: u32) -> u32 {
        match self.cut {
            None => self.ip().len() as u32,
            Some(c) => (c.headers + self.payload(c, piece..piece + 1).len()) as u32,
        }
    }

    fn payload(&self, cut: Cut, pieces: Range<u32>) -> Range<usize> {
        let end = self.ip().len();
        let at = |piece: u32| (cut.headers + piece as usize * cut.size).min(end);
        at(pieces.start)..at(pieces.end)
    }

    /// The IP header's traffic class byte.
    fn class_byte(&self) -> u8 {
        let ip = self.ip();
        if ip[0] >> 4 == 4 { ip[1] } else { ip[0] << 4 | ip[1] >> 4 }
    }

    /// Its ECN field (RFC 3168).
    pub fn ecn(&self) -> Ecn {
        match self.class_byte() & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// Its DiffServ codepoint (RFC 2474).
    pub fn class(&self) -> u8 {
        self.class_byte() >> 2
    }

    /// Its five-tuple: an IPv4 address is its own number; IPv6 addresses, and protocol with ports, are hashed.
    pub fn flow(&self) -> FlowKey {
        let ip = self.ip();
        let (source, destination, protocol, ports) = match ip[0] >> 4 {
            4 => (address(&ip[12..16]), address(&ip[16..20]), ip[9], usize::from(ip[0] & 15) * 4),
            _ => (address(&ip[8..24]), address(&ip[24..40]), ip[6], 40),
        };
        let ports = if matches!(protocol, 6 | 17) { ip.get(ports..ports + 4).unwrap_or(&[]) } else { &[] };
        FlowKey { source, destination, connection: ConnectionId(fnv(&[&[protocol], ports])) }
    }

    /// The whole as it was read, `virtio_net_hdr` first.
    pub fn whole(&self) -> &[u8] {
        &self.bytes
    }

    /// Some packets of it as one super-packet (or one packet), with this ECN field.
    pub fn piece(&self, pieces: Range<u32>, ecn: Ecn) -> Piece<'_> {
        let (headers, payload) = match self.cut {
            None => (self.ip().len().min(PLAIN_HEADER), self.ip().len().min(PLAIN_HEADER)..self.ip().len()),
            Some(cut) => (cut.headers, self.payload(cut, pieces.clone())),
        };
        let head_len = VNET + headers;
        let mut head = [0; VNET + MAX_HEADERS];
        head[..head_len].copy_from_slice(&self.bytes[..head_len]);
        let (vnet, ip) = head[..head_len].split_at_mut(VNET);
        if let Some(cut) = self.cut {
            let mut flags = !0;
            if pieces.end < self.pieces() {
                flags &= !TCP_FIN_PSH;
            }
            if pieces.start > 0 {
                flags &= !TCP_CWR;
            }
            if pieces.len() == 1 {
                vnet[1] = GSO_NONE;
                vnet[4..6].fill(0);
            }
            vnet[2..4].copy_from_slice(&(headers as u16).to_ne_bytes());
            cut.rewrite(ip, pieces.start, payload.len(), flags);
        }
        mark(ip, ecn);
        Piece { head, head_len, payload: &self.ip()[payload] }
    }
}

impl Cut {
    /// Makes the headers of the whole those of the packets from `first` on, with `payload` bytes, and with those of TCP's `flags` that were set: what the kernel's
    /// `tcp_gso_segment`, `__udp_gso_segment` and `inet_gso_segment` do.
    fn rewrite(self, ip: &mut [u8], first: u32, payload: usize, flags: u8) {
        let length = self.headers + payload;
        let (addresses, protocol) = if ip[0] >> 4 == 4 {
            put16(ip, 2, length as u16);
            let id = get16(ip, 4).unwrap_or(0).wrapping_add(first as u16);
            put16(ip, 4, id);
            sum_header(ip, self.transport);
            (12..20, ip[9])
        } else {
            put16(ip, 4, (length - 40) as u16);
            (8..40, if self.udp { 17 } else { 6 })
        };
        // The checksum is left to whoever needs it: the field holds the pseudo-header's sum.
        let l4 = (length - self.transport) as u32;
        let pseudo = fold(add_words(&ip[addresses], u32::from(protocol) + (l4 >> 16) + (l4 & 0xffff)));
        let transport = &mut ip[self.transport..];
        if self.udp {
            put16(transport, 4, l4 as u16);
            put16(transport, 6, pseudo);
            return;
        }
        let sequence = transport.get(4..8).map_or(0, |b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        let sequence = sequence.wrapping_add(first.wrapping_mul(self.size as u32));
        transport[4..8].copy_from_slice(&sequence.to_be_bytes());
        transport[13] &= flags;
        put16(transport, 16, pseudo);
    }
}

/// Writes the IPv4 header's checksum.
fn sum_header(ip: &mut [u8], end: usize) {
    put16(ip, 10, 0);
    let sum = !fold(add_words(&ip[..end.min(ip.len())], 0));
    put16(ip, 10, sum);
}

/// Sets the ECN field.
fn mark(ip: &mut [u8], ecn: Ecn) {
    let bits = match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    if ip[0] >> 4 == 6 {
        ip[1] = ip[1] & !0x30 | bits << 4;
    } else if ip[1] & 3 != bits {
        ip[1] = ip[1] & !3 | bits;
        sum_header(ip, usize::from(ip[0] & 15) * 4);
    }
}

fn address(bytes: &[u8]) -> Address {
    Address(bytes.try_into().map_or_else(|_| fnv(&[bytes]), u32::from_be_bytes))
}

/// The hash FNV-1a of some bytes.
fn fnv(parts: &[&[u8]]) -> u32 {
    parts.iter().copied().flatten().fold(0x811c_9dc5, |hash, &b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn super_packet(size: u16, payload: usize) -> Vec<u8> {
        let mut bytes = vec![NEEDS_CSUM, GSO_TCPV4, 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[4..6].copy_from_slice(&size.to_ne_bytes());
        bytes[6..8].copy_from_slice(&20u16.to_ne_bytes());
        bytes[8..10].copy_from_slice(&16u16.to_ne_bytes());
        let mut ip = vec![0x45, 2, 0, 0, 0, 7, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        put16(&mut ip, 2, (40 + payload) as u16);
        ip.extend([0, 80, 1, 1, 0, 0, 0, 100, 0, 0, 0, 1, 0x50, 0x99, 1, 1, 0, 0, 0, 0]);
        bytes.extend(ip);
        bytes.extend((0..payload).map(|i| i as u8));
        bytes
    }

    #[test]
    fn a_super_packet_is_cut_as_the_kernel_would() {
        let unit = Unit::read(&super_packet(1000, 2500)).unwrap();
        assert_eq!((unit.pieces(), unit.len(0), unit.len(2)), (3, 1040, 540));
        let last = unit.piece(2..3, unit.ecn());
        let ip = &last.head()[VNET..];
        assert_eq!((get16(ip, 2), get16(ip, 4)), (Some(540), Some(9)));
        assert_eq!(fold(add_words(&ip[..20], 0)), 0xffff, "the IP header's checksum holds");
        assert_eq!(ip[24..28], 2100u32.to_be_bytes());
        assert_eq!(ip[33], 0x19, "FIN and PSH stand on the last, CWR on the first");
        assert_eq!(last.head()[1], GSO_NONE);
        assert_eq!(last.payload(), (2000..2500).map(|i| i as u8).collect::<Vec<_>>());
        let front = unit.piece(0..2, Ecn::Ce);
        assert_eq!((front.head()[1], front.payload().len()), (GSO_TCPV4, 2000));
        assert_eq!((front.head()[VNET + 33], front.head()[VNET + 1]), (0x90, 3));
        assert_eq!(fold(add_words(&front.head()[VNET..VNET + 20], 0)), 0xffff);
    }

    #[test]
    fn a_plain_packet_stays_as_it_is() {
        let mut bytes = super_packet(0, 60);
        bytes[..VNET].fill(0);
        let unit = Unit::read(&bytes).unwrap();
        assert_eq!((unit.pieces(), unit.len(0), unit.ecn(), unit.class()), (1, 100, Ecn::Ect0, 0));
        let piece = unit.piece(0..1, Ecn::Ect0);
        assert_eq!([piece.head(), piece.payload()].concat(), bytes);
    }

    proptest! {
        /// Whatever is read, cutting it does not panic and the pieces carry the payload, all of it and in order.
        #[test]
        fn pieces_carry_the_payload(mut head in prop::collection::vec(any::<u8>(), 10..120), kind in 0u8..6, size in 0u16..200, at in 0u16..60, rest in 0usize..3000, v6: bool) {
            head[0] = NEEDS_CSUM;
            head[1] = kind;
            head[4..6].copy_from_slice(&size.to_ne_bytes());
            head[6..8].copy_from_slice(&at.to_ne_bytes());
            if let Some(b) = head.get_mut(10) {
                *b = if v6 { 0x60 } else { 0x45 };
            }
            head.extend((0..rest).map(|i| i as u8));
            if let Some(unit) = Unit::read(&head) {
                let whole = unit.whole()[VNET..].to_vec();
                let headers = unit.cut.map_or(whole.len().min(PLAIN_HEADER), |c| c.headers);
                let mut payload = Vec::new();
                for n in 0..unit.pieces() {
                    let piece = unit.piece(n..n + 1, Ecn::Ce);
                    prop_assert_eq!(piece.head().len() + piece.payload().len(), VNET + unit.len(n) as usize);
                    payload.extend_from_slice(piece.payload());
                }
                prop_assert_eq!(&payload[..], &whole[headers..]);
                unit.flow();
            }
        }
    }
}
