//! Queue disciplines: which packet waits, which goes next, which is dropped. A discipline knows no rate and no link.

use crate::packet::{Ecn, Packet};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// The discipline dropped it early to signal congestion.
    Aqm,
    /// The link's loss process struck.
    Loss,
    /// It was longer than the link's MTU.
    TooBig,
}

/// How much may wait in a drop-tail queue; the packet being sent does not count. In JSON:
/// `{"packets": 1000}` or `{"bytes": 64000}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `len` bytes may join `backlog`.
    #[inline]
    pub fn admits(self, backlog: Backlog, len: u32) -> bool {
        match self {
            Limit::Packets(n) => backlog.packets < n,
            Limit::Bytes(n) => backlog.bytes + u64::from(len) <= n,
        }
    }
}

/// What waits in a queue.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

/// What became of a packet offered to a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It waits.
    Queued,
    /// It waits, and was marked (RFC 3168 section 5).
    Marked,
    /// It was dropped.
    Dropped(DropReason),
}

/// What a discipline hands out: the next packet, and how many it dropped on the way to it.
#[derive(Clone, Debug)]
pub struct Dequeued<B> {
    /// The packet to send, if one is left.
    pub packet: Option<Packet<B>>,
    /// Packets dropped while looking for it.
    pub dropped: u64,
}

/// A queue discipline.
pub trait QueueDiscipline<B>: Send {
    /// Takes a packet in, or refuses it.
    fn enqueue(&mut self, packet: Packet<B>, now: Time) -> Verdict;
    /// Hands the next packet out.
    fn dequeue(&mut self, now: Time) -> Dequeued<B>;
    /// What waits.
    fn backlog(&self) -> Backlog;
    /// The limit, if this is a plain FIFO whose decisions all fall at enqueue. A link then computes each departure as
    /// the packet arrives and needs no event for it.
    fn drop_tail_limit(&self) -> Option<Limit> {
        None
    }
    /// The threshold of such a FIFO that marks ([`DropTail::marking`]).
    fn mark_threshold(&self) -> Option<Limit> {
        None
    }
}

/// First in, first out; a packet that finds the queue full is dropped, and one that finds more than a threshold can be
/// marked.
#[derive(Clone, Debug)]
pub struct DropTail<B> {
    limit: Limit,
    mark: Option<Limit>,
    packets: VecDeque<Packet<B>>,
    bytes: u64,
}

impl<B> DropTail<B> {
    /// An empty queue of this limit.
    pub fn new(limit: Limit) -> DropTail<B> {
        DropTail { limit, mark: None, packets: VecDeque::new(), bytes: 0 }
    }

    /// An empty queue that marks what would not find room below `mark`, if it is ECN-capable: the switch of DCTCP, which
    /// marks by the instantaneous length, with one threshold (RFC 8257 section 3.1). What is not ECN-capable passes.
    pub fn marking(limit: Limit, mark: Option<Limit>) -> DropTail<B> {
        DropTail { mark, ..DropTail::new(limit) }
    }
}

impl<B: Send> QueueDiscipline<B> for DropTail<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, _: Time) -> Verdict {
        let backlog = self.backlog();
        if !self.limit.admits(backlog, packet.len) {
            return Verdict::Dropped(DropReason::QueueFull);
        }
        let marks = self.mark.is_some_and(|mark| !mark.admits(backlog, packet.len)) && packet.ecn.can_be_marked();
        if marks {
            packet.ecn = Ecn::Ce;
        }
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
        if marks { Verdict::Marked } else { Verdict::Queued }
    }

    fn dequeue(&mut self, _: Time) -> Dequeued<B> {
        let packet = self.packets.pop_front();
        self.bytes -= packet.as_ref().map_or(0, |p| u64::from(p.len));
        Dequeued { packet, dropped: 0 }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn drop_tail_limit(&self) -> Option<Limit> {
        Some(self.limit)
    }

    fn mark_threshold(&self) -> Option<Limit> {
        self.mark
    }
}
