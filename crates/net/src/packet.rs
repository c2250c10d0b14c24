//! Packets, generic over what they carry.

use crate::time::Time;

/// The address of a network interface: in a run its number, in an emulator a number that stands for the IP address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Address(pub u32);

/// Distinguishes a connection from others between the same addresses: in a run its number, in an emulator a number that
/// stands for protocol and ports.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct ConnectionId(pub u32);

/// The flow of a packet, as its five-tuple identifies it. The two directions of a connection have source and
/// destination exchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FlowKey {
    /// The source interface.
    pub source: Address,
    /// The destination interface.
    pub destination: Address,
    /// The connection.
    pub connection: ConnectionId,
}

/// Number of a path within a connection. A single-path connection has only path 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct PathId(pub u8);

/// The ECN field of the IP header (RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 0.
    Ect0,
    /// ECN-capable, codepoint 1.
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Whether a queue may mark the packet: it is ECN-capable and not marked yet.
    #[inline]
    pub fn can_be_marked(self) -> bool {
        matches!(self, Ecn::Ect0 | Ecn::Ect1)
    }
}

/// A packet on a link. Links and queues can read everything but the body.
#[derive(Clone, Debug)]
pub struct Packet<B> {
    /// Length on the link in bytes, IP and transport headers included.
    pub len: u32,
    /// The packet's flow, which a fair queue hashes. The driver of an endpoint fills it in.
    pub flow: FlowKey,
    /// Number of the route it follows (see [`crate::topology`]).
    pub route: u32,
    /// The number of links of the route that it has passed.
    pub hop: u8,
    /// ECN mark.
    pub ecn: Ecn,
    /// Traffic class, for disciplines that treat classes differently: the DiffServ codepoint (RFC 2474), which is the
    /// ToS byte without its two lowest bits.
    pub class: u8,
    /// The path of its connection that it travels on.
    pub path: PathId,
    /// When it arrived at the network element that holds it.
    pub arrived: Time,
    /// The typed segment in the simulator, raw bytes for production stacks and the emulator.
    pub body: B,
}

impl<B> Packet<B> {
    /// A packet of `len` bytes on its first hop, not ECN-capable, without a flow yet.
    #[inline]
    pub fn new(len: u32, body: B) -> Packet<B> {
        Packet {
            len,
            flow: FlowKey::default(),
            route: 0,
            hop: 0,
            ecn: Ecn::NotEct,
            class: 0,
            path: PathId(0),
            arrived: Time::ZERO,
            body,
        }
    }
}
