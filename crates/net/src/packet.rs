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

/// The contents of a packet. Links and queues can read everything but the body.
// In this order, so that what a link reads and writes is mostly in one line of a cache: packets wait for longer than they stay there.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Contents<B> {
    /// Length on the link in bytes, IP and transport headers included.
    pub len: u32,
    /// The packet's flow, which a fair queue hashes. The driver of an endpoint fills it in.
    pub flow: FlowKey,
    /// Number of the route it follows (see [`crate::topology`]).
    pub route: u32,
    /// The number of links of the route that it has passed.
    pub hop: u8,
    /// ECN mark; in a tunnel that of the outer header.
    pub ecn: Ecn,
    /// In a tunnel, the ECN field of the inner header.
    pub inner: Ecn,
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

impl<B> Contents<B> {
    /// The contents of a packet of `len` bytes on its first hop: it is not ECN-capable and has no flow yet.
    #[inline]
    pub fn new(len: u32, body: B) -> Contents<B> {
        Contents {
            len,
            flow: FlowKey::default(),
            route: 0,
            hop: 0,
            ecn: Ecn::NotEct,
            inner: Ecn::NotEct,
            class: 0,
            path: PathId(0),
            arrived: Time::ZERO,
            body,
        }
    }
}

/// A packet on a link: a pointer to its [`Contents`], so that a queue or a link that takes it moves no more than that.
#[derive(Clone, Debug)]
pub struct Packet<B>(Box<Contents<B>>);

impl<B> Packet<B> {
    /// A packet of `len` bytes on its first hop, not ECN-capable, without a flow yet.
    #[inline]
    pub fn new(len: u32, body: B) -> Packet<B> {
        Packet(Box::new(Contents::new(len, body)))
    }

    /// Makes it another packet of `len` bytes on its first hop, with the body that it has. A transport that answers what it
    /// receives needs no other memory than that of the packets that it has read.
    #[inline]
    pub fn begin_anew(&mut self, len: u32) {
        let Contents { flow, route, hop, ecn, inner, class, path, arrived, .. } = &mut *self.0;
        (*flow, *route, *hop, *ecn) = (FlowKey::default(), 0, 0, Ecn::NotEct);
        (*inner, *class, *path, *arrived) = (Ecn::NotEct, 0, PathId(0), Time::ZERO);
        self.0.len = len;
    }

    /// The packet with some of its contents changed.
    #[inline]
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Contents<B>)) -> Packet<B> {
        change(&mut self.0);
        self
    }

    /// The contents without the packet.
    #[inline]
    pub fn into_contents(self) -> Contents<B> {
        *self.0
    }
}

impl<B> std::ops::Deref for Packet<B> {
    type Target = Contents<B>;
    #[inline]
    fn deref(&self) -> &Contents<B> {
        &self.0
    }
}

impl<B> std::ops::DerefMut for Packet<B> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Contents<B> {
        &mut self.0
    }
}
