//! Packets, generic over what they carry.

/// Number of a flow within a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct FlowId(pub u32);

/// Number of a path within a connection; a single-path connection has path 0 only.
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

/// A packet on a link. Links and queues see everything but the body.
#[derive(Clone, Debug)]
pub struct Packet<B> {
    /// Length on the link in bytes, IP and transport headers included.
    pub len: u32,
    /// The flow it belongs to (what a fair queue hashes).
    pub flow: FlowId,
    /// Number of the route it follows (see [`crate::topology`]).
    pub route: u32,
    /// Links of the route already behind it.
    pub hop: u8,
    /// ECN mark.
    pub ecn: Ecn,
    /// Traffic class, for disciplines that tell classes apart.
    pub class: u8,
    /// The path of its connection that it travels on.
    pub path: PathId,
    /// The typed segment in the simulator, raw bytes for production stacks and the emulator.
    pub body: B,
}
