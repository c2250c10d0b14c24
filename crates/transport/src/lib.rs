//! Transports as sans-IO state machines: packets and the time go in; packets, events and the next time the machine
//! wants to be called come out.
//!
//! What transports share stands in [`cc`] (congestion control, one file an algorithm) and [`recovery`] (delivery rate,
//! pacing, filters); which path of several a packet takes is decided in [`scheduler`]; what differs stands in [`tcp`] and
//! [`quic`]. An application drives either through [`Endpoint`]. [`mechanisms`] lists every switch of both, with its default
//! and its source.

pub mod cc;
pub mod endpoint;
pub mod mechanisms;
pub mod path;
pub mod quic;
pub mod ranges;
pub mod recovery;
pub mod scheduler;
pub mod tcp;

pub use endpoint::{CloseReason, Endpoint, Event, Role, Stats, StreamId};

/// What a packet carries in the simulator.
#[derive(Clone, Debug)]
pub enum Body {
    /// A TCP segment.
    Tcp(tcp::Segment),
    /// A QUIC datagram.
    Quic(Box<quic::Datagram>),
    /// The payload of a UDP datagram, as a production stack wrote it.
    Udp(Vec<u8>),
}
