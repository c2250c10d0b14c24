//! Computes from packets seen at interfaces what the simulator counts, by the definitions of `haltere_sim::result`.
//!
//! Pure functions: packets go in, in the order of time at each tap, and results come out. The subflows of an MPTCP connection
//! are connections of one flow, each with taps of its own. Times of packets are readings
//! of `CLOCK_MONOTONIC`; only differences of them matter here.

mod client;
mod link;
mod packet;
mod ranges;
mod server;

pub use client::{ClientCounts, ClientMeter};
pub use link::{Event, Known, LinkCounts, Matched, measure};
pub use packet::{Packet, Protocol, parse};
pub use ranges::Ranges;
pub use server::{ServerCounts, ServerMeter};

use std::net::SocketAddrV4;

/// The most segments of TCP that one packet can be counted for: what a super-segment of 64 KiB can hold.
const MOST_SEGMENTS: u32 = 1 << 16;

/// Continues a 32-bit sequence number, `seq`, to the 64-bit one nearest to `near`, where `isn` stands for zero.
fn unwrap(seq: u32, isn: u32, near: u64) -> u64 {
    let ahead = seq.wrapping_sub(isn).wrapping_sub(near as u32).cast_signed();
    near.saturating_add_signed(i64::from(ahead))
}

/// The number of segments in this many bytes: one, unless the network card was to cut them.
fn segments(bytes: u32, mss: Option<u32>) -> u64 {
    let most = mss.filter(|&m| m > 0).map_or(1, |m| bytes.div_ceil(m));
    u64::from(most.clamp(1, MOST_SEGMENTS))
}

/// An end of a connection: the one that a packet comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The server, which sends the data that are measured.
    Server,
    /// The client.
    Client,
}

/// The two ends of a connection, the server's first.
pub type Ends = (SocketAddrV4, SocketAddrV4);

/// The ends of the connection that a packet belongs to, the server's first.
pub fn ends(p: &Packet, from: End) -> Ends {
    match from {
        End::Server => (p.source, p.destination),
        End::Client => (p.destination, p.source),
    }
}

/// The connection between such ends, which is new if it was not there.
fn between<T: Default>(connections: &mut Vec<(Ends, T)>, ends: Ends) -> &mut T {
    let at = connections.iter().position(|c| c.0 == ends).unwrap_or(connections.len());
    if at == connections.len() {
        connections.push((ends, T::default()));
    }
    &mut connections[at].1
}
