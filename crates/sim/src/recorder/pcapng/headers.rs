//! Packets as bytes: IPv4, TCP and UDP headers that say what the model's packets mean, then zeros in the place of data;
//! a production stack's datagrams as they are.
//!
//! The length is that of the model's packet, always: options that the model counts and does not name become padding.

use etherparse::{IpEcn, IpNumber, Ipv4Header, PacketBuilder, TcpHeader};
use haltere_net::{Ecn, Packet};
use haltere_transport::Body;
use haltere_transport::tcp::Segment;
use haltere_transport::tcp::segment::Kind;
use std::net::SocketAddrV4;

/// Lengths of the headers without options.
const IP: usize = 20;
const TCP: usize = 20;
const UDP: usize = 8;
/// Where TCP's header has its checksum.
const TCP_CHECKSUM: usize = 16;
/// The most bytes of TCP options (RFC 9293 section 3.1).
const MOST_OPTIONS: usize = 40;
/// The TTL that hosts begin with (Linux: `ip_default_ttl`).
const TTL: u8 = 64;

/// What a host's SYN offers.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Handshake {
    /// Maximum segment size, bytes.
    pub mss: u16,
    /// Shift of its windows.
    pub window_scale: u8,
}

/// Appends the packet's bytes to `bytes`, all of them but those of a payload longer than IP's largest packet.
pub(super) fn write(
    packet: &Packet<Body>,
    from: SocketAddrV4,
    to: SocketAddrV4,
    handshake: Handshake,
    bytes: &mut Vec<u8>,
) -> Result<(), String> {
    let len = (packet.len as usize).min(usize::from(u16::MAX));
    let protocol = match packet.body {
        Body::Tcp(_) => IpNumber::TCP,
        Body::Quic(_) | Body::Udp(_) => IpNumber::UDP,
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
        Body::Tcp(segment) => {
            let room = len.saturating_sub(IP + TCP);
            let options = room.saturating_sub(segment.len as usize).min(MOST_OPTIONS) & !3;
            let header = tcp_header(segment, from.port(), to.port(), handshake, options)?;
            builder.tcp_header(header).write_to_vec(bytes, &vec![0; room - options])
        }
        Body::Quic(_) => {
            let payload = vec![0; len.saturating_sub(IP + UDP)];
            builder.udp(from.port(), to.port()).write_to_vec(bytes, &payload)
        }
        Body::Udp(payload) => builder.udp(from.port(), to.port()).write_to_vec(bytes, payload),
    };
    if let (Body::Tcp(Segment { damaged: true, .. }), Some(low)) = (&packet.body, bytes.get_mut(IP + TCP_CHECKSUM + 1))
    {
        *low ^= 1;
    }
    written.map_err(|e| e.to_string())
}

/// The header of a segment with so many bytes of options. Positions start at 1 behind the SYN, which takes 0: initial
/// sequence numbers are 0.
fn tcp_header(segment: &Segment, from: u16, to: u16, offers: Handshake, options: usize) -> Result<TcpHeader, String> {
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
    header.psh = segment.push;
    if header.ack {
        header.acknowledgment_number = segment.ack.wrapping_add(1) as u32;
    }
    let mut list = option_bytes(segment, syn, offers);
    // Behind the end of the list come zeros (RFC 9293 section 3.1).
    list.resize(options, 0);
    header.set_options_raw(&list).map_err(|e| e.to_string())?;
    Ok(header)
}

/// Options in Linux's order (`tcp_options_write`).
fn option_bytes(segment: &Segment, syn: bool, offers: Handshake) -> Vec<u8> {
    const NOP: u8 = 1;
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
            // A Fast Open cookie (RFC 7413 section 4.1.1): no SYN has data without one.
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
