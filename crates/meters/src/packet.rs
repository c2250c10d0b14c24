//! One IPv4 packet as a tap saw it (RFC 791, 768, 9293).

use haltere_net::Time;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Flags of TCP's header.
pub(super) const FIN: u8 = 1;
pub(super) const SYN: u8 = 2;
pub(super) const RST: u8 = 4;
pub(super) const ACK: u8 = 16;

/// How many SACK blocks fit into TCP's options.
const MOST_SACKS: usize = 4;
/// Fragments other than the first have no ports.
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// The protocol above IP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// Anything else, by its number.
    Other(u8),
}

/// Where bytes of a subflow lie in the data of an MPTCP connection (RFC 8684 section 3.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// The sequence number of the first byte in the data, its lower 32 bits if the sender writes no more.
    pub data: u64,
    /// The sequence number of the first byte in the subflow, its SYN having number 0.
    pub subflow: u32,
    /// How many bytes go on so.
    pub len: u16,
}

/// A packet's headers, and when they passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    /// When it passed the tap.
    pub at: Time,
    /// The protocol above IP.
    pub protocol: Protocol,
    /// Source; port 0 if the protocol has no ports.
    pub source: SocketAddrV4,
    /// Destination.
    pub destination: SocketAddrV4,
    /// Its length with IP header, bytes.
    pub length: u32,
    /// Bytes of payload of TCP or UDP.
    pub payload: u32,
    /// TCP's sequence number.
    pub seq: u32,
    /// TCP's acknowledgement number.
    pub ack: u32,
    /// TCP's flags, FIN being 1.
    pub flags: u8,
    /// Bytes of options in TCP's header.
    pub options: u8,
    /// The MSS option of a SYN.
    pub mss: Option<u16>,
    /// TSval and TSecr (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Whether TCP's header has an option of MPTCP (RFC 8684).
    pub multipath: bool,
    /// MPTCP's mapping of a segment with data.
    pub mapping: Option<Mapping>,
    pub(super) sack: [(u32, u32); MOST_SACKS],
    pub(super) sacks: u8,
    /// A fingerprint: the same at every tap that the packet passes, and almost surely different from that of others.
    pub identity: u64,
}

impl Packet {
    /// The SACK blocks, in the packet's order (RFC 2018).
    pub fn sacks(&self) -> &[(u32, u32)] {
        self.sack.get(..usize::from(self.sacks)).unwrap_or_default()
    }

    /// Whether it has this flag of TCP.
    pub(super) fn has(&self, flag: u8) -> bool {
        self.protocol == Protocol::Tcp && self.flags & flag != 0
    }
}

/// Whether a client opens a connection with this packet; it may use a port again.
pub(super) fn opens(p: &Packet) -> bool {
    p.has(SYN) && !p.has(ACK)
}

/// Reads an IPv4 packet from its first byte on. The payload may be cut off; the headers must be complete.
pub fn parse(at: Time, bytes: &[u8]) -> Option<Packet> {
    let first = *bytes.first()?;
    let header = usize::from(first & 15) * 4;
    if first >> 4 != 4 || header < 20 {
        return None;
    }
    let (ip, body) = bytes.split_at_checked(header)?;
    let length = u32::from(half(ip, 2)?);
    let fragment = half(ip, 6)? & FRAGMENT_OFFSET != 0;
    let address = |i: usize| Some(Ipv4Addr::from_bits(word(ip, i)?));
    let protocol = match ip.get(9)? {
        6 if !fragment => Protocol::Tcp,
        17 if !fragment => Protocol::Udp,
        &other => Protocol::Other(other),
    };
    let mut packet = Packet {
        at,
        protocol,
        source: SocketAddrV4::new(address(12)?, 0),
        destination: SocketAddrV4::new(address(16)?, 0),
        length,
        payload: 0,
        seq: 0,
        ack: 0,
        flags: 0,
        options: 0,
        mss: None,
        timestamps: None,
        multipath: false,
        mapping: None,
        sack: [(0, 0); MOST_SACKS],
        sacks: 0,
        identity: 0,
    };
    let mut identity = Identity::default();
    // Not what routers change: type of service, time to live, checksum.
    for part in [ip.get(2..8)?, ip.get(9..10)?, ip.get(12..20)?] {
        identity.add(part);
    }
    let inside = length.saturating_sub(header as u32);
    match protocol {
        Protocol::Tcp => tcp(&mut packet, &mut identity, body, inside)?,
        Protocol::Udp => {
            ports(&mut packet, body)?;
            packet.payload = u32::from(half(body, 4)?).min(inside).saturating_sub(8);
            identity.add(body.get(..6)?);
            identity.add(body.get(8..)?);
        }
        // The first four bytes may hold a checksum (ICMP).
        Protocol::Other(_) => identity.add(body.get(4..).unwrap_or_default()),
    }
    packet.identity = identity.0;
    Some(packet)
}

fn ports(packet: &mut Packet, body: &[u8]) -> Option<()> {
    packet.source.set_port(half(body, 0)?);
    packet.destination.set_port(half(body, 2)?);
    Some(())
}

fn tcp(packet: &mut Packet, identity: &mut Identity, body: &[u8], inside: u32) -> Option<()> {
    ports(packet, body)?;
    (packet.seq, packet.ack, packet.flags) = (word(body, 4)?, word(body, 8)?, *body.get(13)?);
    let header = usize::from(body.get(12)? >> 4) * 4;
    packet.payload = inside.saturating_sub(header as u32);
    packet.options = header.checked_sub(20)? as u8;
    let options = body.get(20..header)?;
    // The checksum may be left to the network card, and so differ between taps.
    identity.add(body.get(..16)?);
    identity.add(options);
    read_options(packet, options);
    Some(())
}

fn read_options(packet: &mut Packet, mut rest: &[u8]) {
    while let Some(&kind) = rest.first() {
        let len = match kind {
            0 => return,
            1 => 1,
            _ => usize::from(rest.get(1).copied().unwrap_or(0)).max(2),
        };
        let Some((option, after)) = rest.split_at_checked(len) else { return };
        match kind {
            2 => packet.mss = half(option, 2),
            5 => {
                for block in option[2..].as_chunks::<8>().0.iter().take(MOST_SACKS) {
                    let (Some(start), Some(end)) = (word(block, 0), word(block, 4)) else { return };
                    packet.sack[usize::from(packet.sacks)] = (start, end);
                    packet.sacks += 1;
                    if usize::from(packet.sacks) == MOST_SACKS {
                        break;
                    }
                }
            }
            30 => {
                packet.multipath = true;
                packet.mapping = packet.mapping.or_else(|| mapping(option));
            }
            8 => packet.timestamps = word(option, 2).zip(word(option, 6)),
            _ => {}
        }
        rest = after;
    }
}

/// Reads the mapping of a DSS option (RFC 8684 section 3.3), if it has one.
fn mapping(option: &[u8]) -> Option<Mapping> {
    const DSS: u8 = 2;
    let flags = *option.get(3)?;
    let has = |flag: u8| flags & flag != 0;
    if option.get(2)? >> 4 != DSS || !has(4) {
        return None;
    }
    let at = 4 + if has(1) { if has(2) { 8 } else { 4 } } else { 0 };
    let (data, wide) = if has(8) {
        (u64::from(word(option, at)?) << 32 | u64::from(word(option, at + 4)?), 8)
    } else {
        (u64::from(word(option, at)?), 4)
    };
    Some(Mapping { data, subflow: word(option, at + wide)?, len: half(option, at + wide + 4)? })
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// FNV-1a of 64 bits (draft-eastlake-fnv).
struct Identity(u64);

impl Default for Identity {
    fn default() -> Identity {
        Identity(0xcbf2_9ce4_8422_2325)
    }
}

impl Identity {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::End;
    use super::*;
    use proptest::prelude::*;

    /// A TCP packet of a conversation between 10.0.0.1:5000, the server, and 10.0.0.2:40000.
    pub(in super::super) fn segment(us: u64, from: End, flags: u8, seq: u32, ack: u32, payload: u32) -> Packet {
        let (server, client) = ("10.0.0.1:5000".parse().expect("one"), "10.0.0.2:40000".parse().expect("one"));
        let (source, destination) = if from == End::Server { (server, client) } else { (client, server) };
        Packet {
            at: Time::from_nanos(us * 1000),
            protocol: Protocol::Tcp,
            source,
            destination,
            length: 40 + payload,
            payload,
            seq,
            ack,
            flags,
            options: 0,
            mss: None,
            timestamps: None,
            multipath: false,
            mapping: None,
            sack: [(0, 0); MOST_SACKS],
            sacks: 0,
            identity: us,
        }
    }

    impl Packet {
        pub(in super::super) fn with_sack(mut self, blocks: &[(u32, u32)]) -> Packet {
            self.sack[..blocks.len()].copy_from_slice(blocks);
            self.sacks = blocks.len() as u8;
            self
        }
    }

    /// An ACK with timestamps and two SACK blocks, as tcpdump shows it in hexadecimal.
    fn ack() -> Vec<u8> {
        let hex = "45 00 00 48 12 34 40 00 40 06 ff ff 0a 00 00 02 0a 00 00 01 9c 40 13 88 00 00 00 02 00 00 05 a9 d0 10 \
                   01 f6 ff ff 00 00 01 01 08 0a 00 00 00 07 00 00 00 09 01 01 05 12 00 00 0b 51 00 00 10 f9 \
                   00 00 16 a1 00 00 1c 49";
        hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal")).collect()
    }

    #[test]
    fn an_acknowledgement_is_read_with_its_options() {
        let p = parse(Time::ZERO, &ack()).expect("is a packet");
        assert_eq!((p.source, p.destination), ("10.0.0.2:40000".parse().unwrap(), "10.0.0.1:5000".parse().unwrap()));
        assert_eq!((p.length, p.payload, p.seq, p.ack, p.flags, p.options), (72, 0, 2, 1449, ACK, 32));
        assert_eq!((p.timestamps, p.sacks()), (Some((7, 9)), &[(2897, 4345), (5793, 7241)][..]));
    }

    #[test]
    fn what_routers_and_cards_change_leaves_the_identity_and_the_rest_does_not() {
        let base = parse(Time::ZERO, &ack()).expect("is a packet").identity;
        for i in 0..ack().len() {
            let mut bytes = ack();
            bytes[i] ^= 1;
            let Some(changed) = parse(Time::ZERO, &bytes) else { continue };
            // Type of service, time to live, IP's checksum, TCP's checksum; version and urgent pointer say nothing.
            let may_change = [0, 1, 8, 10, 11, 36, 37, 38, 39].contains(&i);
            assert_eq!(changed.identity == base, may_change, "byte {i}");
        }
    }

    /// A data segment of MPTCP: a DSS with a DATA_ACK of 64 bits and a mapping, then timestamps.
    fn mapped(data_ack: &str, flags: &str, data: &str) -> Vec<u8> {
        let dss = format!("1e LL 20 {flags} {data_ack} {data} 00 00 05 8d 2f d8");
        let len = dss.split_whitespace().count();
        let dss = dss.replace("LL", &format!("{len:02x}"));
        let options = format!("{dss} 01 01 01 01 08 0a 00 00 00 07 00 00 00 09");
        let count = options.split_whitespace().count();
        assert_eq!(count % 4, 0);
        let hex = format!(
            "45 00 05 dc 12 34 40 00 40 06 ff ff 0a 00 00 01 0a 00 00 02 13 88 9c 40 00 00 05 8d 00 00 00 02 {:x}0 10 01 f6 \
             ff ff 00 00 {options}",
            5 + count / 4
        );
        hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).expect("hexadecimal")).collect()
    }

    #[test]
    fn mappings_of_mptcp_are_read_in_all_their_widths() {
        let (long, short) = ("00 00 00 00 00 00 00 02", "00 00 00 02");
        let (wide, narrow) = ("01 02 03 04 05 06 07 08", "05 06 07 08");
        for (ack, flags, data, expected) in [
            (long, "0f", wide, 0x0102_0304_0506_0708),
            (short, "0d", wide, 0x0102_0304_0506_0708),
            (long, "07", narrow, 0x0506_0708),
            (short, "05", narrow, 0x0506_0708),
            ("", "0c", wide, 0x0102_0304_0506_0708),
        ] {
            let p = parse(Time::ZERO, &mapped(ack, flags, data)).expect("is a packet");
            let mapping = Mapping { data: expected, subflow: 1421, len: 12_248 };
            assert_eq!((p.multipath, p.mapping), (true, Some(mapping)), "flags {flags}");
        }
        let alone = parse(Time::ZERO, &mapped(long, "03", "")).expect("is a packet");
        assert_eq!((alone.multipath, alone.mapping), (true, None), "a DATA_ACK without a mapping");
        let plain = parse(Time::ZERO, &ack()).expect("is a packet");
        assert_eq!((plain.multipath, plain.mapping), (false, None));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..120), like_tcp in any::<bool>()) {
            if like_tcp && bytes.len() > 33 {
                (bytes[0], bytes[9]) = (0x45, 6);
                bytes[32] |= 0xa0;
            }
            let _ = parse(Time::ZERO, &bytes);
        }
    }
}
