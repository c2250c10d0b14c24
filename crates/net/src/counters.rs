//! The counters of a network element.

use crate::queue::{Backlog, DropReason};
use crate::time::{Span, Time};

/// The counters of a link, or of another element. `offered + duplicated = delivered + dropped + inside`, always.
// In this order, so that what counts every packet stands together.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[repr(C)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Packets that arrived at the far end.
    pub delivered: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// Packets that entered serialisation.
    pub served: u64,
    /// The largest backlog seen, in packets.
    pub max_queue_packets: u64,
    /// The largest backlog seen, in bytes.
    pub max_queue_bytes: u64,
    /// The sum of the times in the queue of packets that were served, ns. A thousand packets at 1 bit/s wait for 10^19 ns together.
    pub queueing_ns: u128,
    /// The longest time of one of them in the queue.
    pub max_queueing: Span,
    /// Marked for congestion.
    pub marked: u64,
    /// Copies made by duplication.
    pub duplicated: u64,
    /// Dropped because the queue was full.
    pub dropped_queue: u64,
    /// Dropped early by the discipline.
    pub dropped_early: u64,
    /// Lost at random.
    pub dropped_loss: u64,
    /// Dropped for being longer than the MTU.
    pub dropped_mtu: u64,
    /// Lost in an outage.
    pub dropped_outage: u64,
    /// Dropped by a wireless sender after the last retry.
    pub dropped_retries: u64,
    /// Dropped by a wireless sender at the end of their lifetime, if packets have one.
    pub dropped_lifetime: Option<u64>,
    /// Dropped at the end of a tunnel, if there is one.
    pub dropped_tunnel: Option<u64>,
    /// Dropped by a circuit breaker, if there is one.
    pub dropped_breaker: Option<u64>,
    /// Flows that it ended.
    pub tripped: Option<u64>,
    /// When it ended the first.
    pub first_tripped: Option<Time>,
}

impl LinkCounters {
    /// All drops.
    pub fn dropped(&self) -> u64 {
        let queue = self.dropped_queue + self.dropped_early;
        let boxes = self.dropped_tunnel.unwrap_or(0) + self.dropped_breaker.unwrap_or(0);
        let wireless = self.dropped_retries + self.dropped_lifetime.unwrap_or(0);
        queue + self.dropped_loss + self.dropped_mtu + self.dropped_outage + wireless + boxes
    }

    /// The counters of two entries of one element together: sums, and the larger of two largest values.
    #[must_use]
    pub fn and(self, other: &LinkCounters) -> LinkCounters {
        let sum = |a: Option<u64>, b: Option<u64>| a.map(|a| a + b.unwrap_or(0)).or(b);
        LinkCounters {
            offered: self.offered + other.offered,
            duplicated: self.duplicated + other.duplicated,
            delivered: self.delivered + other.delivered,
            delivered_bytes: self.delivered_bytes + other.delivered_bytes,
            dropped_queue: self.dropped_queue + other.dropped_queue,
            dropped_early: self.dropped_early + other.dropped_early,
            dropped_loss: self.dropped_loss + other.dropped_loss,
            dropped_mtu: self.dropped_mtu + other.dropped_mtu,
            dropped_outage: self.dropped_outage + other.dropped_outage,
            dropped_retries: self.dropped_retries + other.dropped_retries,
            dropped_lifetime: sum(self.dropped_lifetime, other.dropped_lifetime),
            dropped_tunnel: sum(self.dropped_tunnel, other.dropped_tunnel),
            dropped_breaker: sum(self.dropped_breaker, other.dropped_breaker),
            tripped: sum(self.tripped, other.tripped),
            first_tripped: self.first_tripped.into_iter().chain(other.first_tripped).min(),
            marked: self.marked + other.marked,
            max_queue_packets: self.max_queue_packets.max(other.max_queue_packets),
            max_queue_bytes: self.max_queue_bytes.max(other.max_queue_bytes),
            served: self.served + other.served,
            queueing_ns: self.queueing_ns + other.queueing_ns,
            max_queueing: self.max_queueing.max(other.max_queueing),
        }
    }

    /// Counts the drop of a packet.
    #[inline]
    pub fn count_drop(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::QueueFull => &mut self.dropped_queue,
            DropReason::Early => &mut self.dropped_early,
            DropReason::Loss => &mut self.dropped_loss,
            DropReason::TooBig => &mut self.dropped_mtu,
            DropReason::Outage => &mut self.dropped_outage,
            DropReason::Retries => &mut self.dropped_retries,
            DropReason::Lifetime => self.dropped_lifetime.get_or_insert(0),
        };
        *counter += 1;
    }

    /// Counts a packet that arrived at `arrived` and leaves its queue at `start`.
    #[inline]
    pub fn count_wait(&mut self, arrived: Time, start: Time) {
        let wait = start.since(arrived);
        self.queueing_ns += u128::from(wait.as_nanos());
        self.max_queueing = self.max_queueing.max(wait);
    }
}

/// The peak contents of the two stages of a network interface: its queue discipline and its driver's ring.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stages {
    /// The largest backlog of the queue discipline, in packets.
    pub max_qdisc_packets: u64,
    /// The largest backlog of the queue discipline, in bytes.
    pub max_qdisc_bytes: u64,
    /// The most packets in the ring, with the one being sent.
    pub max_ring_packets: u64,
    /// Packets that entered the ring.
    pub ringed: u64,
    /// The sum of their times in the queue discipline, ns.
    pub qdisc_ns: u128,
    /// The longest of these times.
    pub max_qdisc: Span,
    /// The sum of their times in the ring until their serialisation began, ns.
    pub ring_ns: u128,
    /// The longest of these times.
    pub max_ring: Span,
}

impl Stages {
    /// Counts a packet that arrived at `arrived`, enters the ring at `now`, and whose serialisation begins at `start`.
    pub(crate) fn count(&mut self, arrived: Time, now: Time, start: Time) {
        let (qdisc, ring) = (now.since(arrived), start.since(now));
        self.ringed += 1;
        self.qdisc_ns += u128::from(qdisc.as_nanos());
        self.max_qdisc = self.max_qdisc.max(qdisc);
        self.ring_ns += u128::from(ring.as_nanos());
        self.max_ring = self.max_ring.max(ring);
    }

    /// Records a backlog of the queue discipline.
    pub(crate) fn hold(&mut self, qdisc: Backlog) {
        self.max_qdisc_packets = self.max_qdisc_packets.max(qdisc.packets);
        self.max_qdisc_bytes = self.max_qdisc_bytes.max(qdisc.bytes);
    }
}
