//! Transports as sans-IO state machines. The input is packets and the time. The output is packets, events and the time
//! of the next wake-up.
//!
//! The parts that transports share are in [`cc`] (congestion control, one file per algorithm), [`recovery`] (delivery
//! rate, pacing, filters) and [`scheduler`] (the choice among several paths). The parts that differ are in [`tcp`] and
//! [`quic`]; [`rtp`] carries calls, and [`roq`] carries them over QUIC; [`datagram`] needs no connection; [`reset`] answers segments that belong to none. An application drives each through [`Endpoint`]. [`mechanisms`] lists every switch of both, with its
//! default and its source.

pub mod cc;
pub mod datagram;
pub mod endpoint;
pub mod histogram;
pub mod mechanisms;
pub mod media;
pub mod mptcp;
pub mod path;
pub mod quic;
pub mod ranges;
pub mod reassembly;
pub mod recovery;
pub mod reordering;
pub mod reset;
pub mod roq;
pub mod rtp;
pub mod scheduler;
pub mod spares;
pub mod tcp;

pub use endpoint::{CloseReason, Endpoint, Event, Role, Stats, StreamId};

/// The body of a packet in the simulator.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(tcp::Segment),
    /// A segment of an MPTCP subflow.
    Mptcp(Box<mptcp::Segment>),
    /// A QUIC datagram.
    Quic(Box<quic::Datagram>),
    /// The payload of a UDP datagram, as a production stack wrote it.
    Udp(Vec<u8>),
    /// An IPv4 packet, as a kernel wrote it.
    Ip(Vec<u8>),
    /// A datagram without a connection, of which only the length is known.
    Datagram(datagram::Datagram),
    /// A packet of a call.
    Rtp(Box<rtp::Packet>),
}

impl Body {
    /// The TCP segment, if it is one, of a subflow or not.
    pub fn segment(&self) -> Option<&tcp::Segment> {
        match self {
            Body::Tcp(segment) => Some(segment),
            Body::Mptcp(segment) => Some(&segment.tcp),
            Body::Quic(_) | Body::Udp(_) | Body::Ip(_) | Body::Datagram(_) | Body::Rtp(_) => None,
        }
    }
}
