//! Packets as bytes: IPv4, TCP and UDP headers that represent the model's packets, followed by zeros in the place of
//! data. A production stack's datagrams are written unchanged.
//!
//! The length is always that of the model's packet. Options that the model counts but does not name become padding.

use super::mptcp;
use etherparse::{IpEcn, IpNumber, Ipv4Header, PacketBuilder, TcpHeader};
use haltere_net::{Ecn, Packet};
use haltere_transport::Body;
use haltere_transport::datagram::{Datagram, Protocol};
use haltere_transport::tcp::Segment;
use haltere_transport::tcp::segment::Kind;
use std::net::SocketAddrV4;

/// Lengths of the headers without options.
const IP: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
/// The position of the checksum in TCP's header.
const TCP_CHECKSUM: usize = 16;
/// The largest number of bytes of TCP options (RFC 9293 section 3.1).
const MOST_OPTIONS: usize = 40;
/// The initial TTL of hosts (Linux: `ip_default_ttl`).
const TTL: u8 = 64;

/// The offers of a host's SYN.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Handshake {
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// The scale of its windows.
    pub window_scale: u8,
}

/// Appends the packet's bytes to `bytes`. If a payload is longer than IP's largest packet, its rest is left out.
pub(super) fn write(
    packet: &Packet<Body>,
    from: SocketAddrV4,
    to: SocketAddrV4,
    handshake: Handshake,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    if let Body::Ip(packet_of_kernel) = &packet.body {
        as_written(packet_of_kernel, packet, [from, to], bytes);
        return Ok(());
    }
    let len = (packet.len as usize).min(usize::from(u16::MAX));
    let protocol = match packet.body {
        Body::Tcp(_) | Body::Mptcp(_) => IpNumber::TCP,
        Body::Quic(_) | Body::Udp(_) | Body::Rtp(_) => IpNumber::UDP,
        Body::Datagram(Datagram { protocol, .. }) => match protocol {
            Protocol::EchoRequest | Protocol::EchoReply => IpNumber::ICMP,
            Protocol::Udp => IpNumber::UDP,
            Protocol::Any => IpNumber::EXPERIMENTAL_AND_TESTING_0,
        },
        Body::Ip(_) => return Ok(()),
    };
    let mut ip = Ipv4Header::new(0, TTL.saturating_sub(packet.hop), protocol, from.ip().octets(), to.ip().octets())
        .map_err(|e| e.to_string())?;
    ip.dont_fragment = true;
    ip.ecn = match packet.ecn {
        Ecn::NotEct => IpEcn::NotEct,
        Ecn::Ect0 => IpEcn::Ect0,
        Ecn::Ect1 => IpEcn::Ect1,
        Ecn::Ce => IpEcn::CongestionExperienced,
    };
    let builder = PacketBuilder::ip(etherparse::IpHeaders::Ipv4(ip, Default::default()));
    let written = match &packet.body {
        Body::Tcp(_) | Body::Mptcp(_) => {
            let (segment, more) = match &packet.body {
                Body::Mptcp(of_subflow) => (&of_subflow.tcp, mptcp::options(of_subflow)),
                Body::Tcp(segment) => (segment, Vec::new()),
                Body::Quic(_) | Body::Udp(_) | Body::Ip(_) | Body::Datagram(_) | Body::Rtp(_) => return Ok(()),
            };
            let room = len.saturating_sub(IP + TCP);
            let options = room.saturating_sub(segment.len as usize).min(MOST_OPTIONS) & !3;
            let mut header = tcp_header(segment, from.port(), to.port(), handshake)?;
            let mut list = option_bytes(segment, handshake);
            list.extend(more);
            // The end of the list is followed by zeros (RFC 9293 section 3.1).
            list.resize(options, 0);
            header.set_options_raw(&list).map_err(|e| e.to_string())?;
            builder.tcp_header(header).write_to_vec(bytes, &vec![0; room - options])
        }
        Body::Quic(_) | Body::Rtp(_) => {
            let payload = vec![0; len.saturating_sub(IP + UDP)];
            builder.udp(from.port(), to.port()).write_to_vec(bytes, &payload)
        }
        Body::Ip(_) => return Ok(()),
        Body::Udp(payload) => builder.udp(from.port(), to.port()).write_to_vec(bytes, payload),
        Body::Datagram(Datagram { protocol, number, .. }) => {
            let payload = vec![0; len.saturating_sub(IP + UDP)];
            // The identifier of an exchange of echoes is the port of who asks, as Linux's ping sockets have it.
            match protocol {
                Protocol::EchoRequest => {
                    builder.icmpv4_echo_request(from.port(), *number as u16).write_to_vec(bytes, &payload)
                }
                Protocol::EchoReply => {
                    builder.icmpv4_echo_reply(to.port(), *number as u16).write_to_vec(bytes, &payload)
                }
                Protocol::Udp => builder.udp(from.port(), to.port()).write_to_vec(bytes, &payload),
                Protocol::Any => {
                    builder.write_to_vec(bytes, IpNumber::EXPERIMENTAL_AND_TESTING_0, &vec![0; len.saturating_sub(IP)])
                }
            }
        }
    };
    let damaged = packet.body.segment().is_some_and(|segment| segment.damaged);
    if let (true, Some(low)) = (damaged, bytes.get_mut(IP + TCP_CHECKSUM + 1)) {
        *low ^= 1;
    }
    written.map_err(|e| e.to_string())
}

/// A kernel's packet as it wrote it, with the capture's addresses and ports, as those inside are of a network of its own, and with
/// the mark that a queue has set.
fn as_written(written: &[u8], packet: &Packet<Body>, ends: [SocketAddrV4; 2], bytes: &mut Vec<u8>) {
    let start = bytes.len();
    bytes.extend_from_slice(written);
    let whole = &mut bytes[start..];
    let mut put = |at: usize, part: &[u8]| {
        if let Some(room) = whole.get_mut(at..at + part.len()) {
            room.copy_from_slice(part);
        }
    };
    let [from, to] = ends;
    put(12, &from.ip().octets());
    put(16, &to.ip().octets());
    put(IP, &from.port().to_be_bytes());
    put(IP + 2, &to.port().to_be_bytes());
    put(8, &[TTL.saturating_sub(packet.hop)]);
    put(TCP_CHECKSUM + IP, &[0, 0]);
    let Ok((mut ip, rest)) = Ipv4Header::from_slice(whole) else { return };
    if packet.ecn == Ecn::Ce {
        ip.ecn = IpEcn::CongestionExperienced;
    }
    ip.header_checksum = ip.calc_header_checksum();
    if let Ok((tcp, data)) = TcpHeader::from_slice(rest)
        && let Ok(sum) = tcp.calc_checksum_ipv4(&ip, data)
        && let Some(room) = whole.get_mut(IP + TCP_CHECKSUM..IP + TCP_CHECKSUM + 2)
    {
        room.copy_from_slice(&sum.to_be_bytes());
    }
    if let Some(room) = whole.get_mut(..IP) {
        room.copy_from_slice(&ip.to_bytes()[..IP]);
    }
}

/// The header of a segment without options. Initial sequence numbers are 0, so the SYN has position 0
/// and the data begins at 1.
fn tcp_header(segment: &Segment, from: u16, to: u16, offers: Handshake) -> Result<TcpHeader, String> {
    let syn = matches!(segment.kind, Kind::Syn | Kind::SynAck);
    let scale = if syn { 0 } else { offers.window_scale };
    let window = (segment.window >> scale).min(u64::from(u16::MAX)) as u16;
    let seq = if syn { 0 } else { segment.seq.wrapping_add(1) as u32 };
    let mut header = TcpHeader::new(from, to, seq, window);
    header.syn = syn;
    header.fin = segment.fin;
    header.rst = segment.kind == Kind::Reset;
    header.ack = segment.kind != Kind::Syn;
    header.ece = segment.ece;
    header.cwr = segment.cwr;
    // The bit that RFC 9768 calls AE was the nonce sum.
    header.ns = segment.ae;
    header.psh = segment.push;
    if header.ack {
        header.acknowledgment_number = segment.ack.wrapping_add(1) as u32;
    }
    Ok(header)
}

/// Options in Linux's order (`tcp_options_write`).
fn option_bytes(segment: &Segment, offers: Handshake) -> Vec<u8> {
    const NOP: u8 = 1;
    let syn = matches!(segment.kind, Kind::Syn | Kind::SynAck);
    let (stamps, mut list) = (segment.timestamp != 0, Vec::with_capacity(MOST_OPTIONS));
    if syn {
        list.extend([2, 4]);
        list.extend(offers.mss.to_be_bytes());
        list.extend(if stamps { [4, 2] } else { [NOP, NOP] });
        if !stamps {
            list.extend([4, 2]);
        }
    } else if stamps {
        list.extend([NOP, NOP]);
    }
    if stamps {
        list.extend([8, 10]);
        list.extend(segment.timestamp.to_be_bytes());
        list.extend(segment.echo.to_be_bytes());
    }
    if syn {
        list.extend([NOP, 3, 3, offers.window_scale]);
        if segment.len > 0 {
            // A Fast Open cookie (RFC 7413 section 4.1.1). Every SYN with data has one.
            list.extend([34, 10, 0, 0, 0, 0, 0, 0, 0, 0, NOP, NOP]);
        }
    } else if segment.sacks > 0 {
        list.extend([NOP, NOP, 5, 2 + 8 * segment.sacks]);
        for (start, end) in segment.sack_blocks() {
            list.extend((start.wrapping_add(1) as u32).to_be_bytes());
            list.extend((end.wrapping_add(1) as u32).to_be_bytes());
        }
    }
    list
}
