//! The fates of packets in a queue: a discipline reports each drop and mark to this sink.

use crate::counters::LinkCounters;
use crate::packet::{Ecn, Packet};

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The discipline dropped it before the queue was full, to signal congestion.
    Early,
    /// The link's loss process dropped it.
    Loss,
    /// It was longer than the link's MTU, or than a shaper's bucket.
    TooBig,
    /// The link was out.
    Outage,
    /// A wireless sender had sent it as often as it may, without an answer.
    Retries,
    /// It had waited at a wireless sender for as long as it may.
    Lifetime,
}

/// The fate of a packet.
#[derive(Debug)]
pub enum Fate<'a, B> {
    /// It was dropped.
    Dropped(&'a Packet<B>, DropReason),
    /// It was marked for congestion, and stays in the queue.
    Marked(&'a Packet<B>),
}

/// A callback that receives each fate.
pub type Listener<'a, B> = dyn FnMut(Fate<'_, B>) + 'a;

/// Receives the fates that a discipline reports: counts them, and passes them on to a listener if there is one. A
/// host's transmit path has a listener, because it must know whose packets were dropped.
pub struct Fates<'a, B> {
    counters: &'a mut LinkCounters,
    listener: Option<&'a mut Listener<'a, B>>,
}

impl<'a, B> Fates<'a, B> {
    /// A sink that counts.
    #[inline]
    pub fn new(counters: &'a mut LinkCounters) -> Fates<'a, B> {
        Fates { counters, listener: None }
    }

    /// A sink that counts and calls `listener`.
    pub fn with_listener(counters: &'a mut LinkCounters, listener: &'a mut Listener<'a, B>) -> Fates<'a, B> {
        Fates { counters, listener: Some(listener) }
    }

    /// Drops this packet, which need not be the one that arrived.
    #[inline]
    pub fn drop(&mut self, packet: Packet<B>, reason: DropReason) {
        self.counters.count_drop(reason);
        if let Some(listener) = &mut self.listener {
            listener(Fate::Dropped(&packet, reason));
        }
    }

    /// Marks a packet for congestion (RFC 3168 section 5) if it is ECN-capable and not marked yet. Returns whether it
    /// carries a mark now. A discipline drops what it cannot mark.
    #[inline]
    pub fn mark(&mut self, packet: &mut Packet<B>) -> bool {
        if packet.ecn.can_be_marked() {
            packet.ecn = Ecn::Ce;
            self.counters.marked += 1;
            if let Some(listener) = &mut self.listener {
                listener(Fate::Marked(packet));
            }
        }
        packet.ecn == Ecn::Ce
    }
}
