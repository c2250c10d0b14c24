//! The drop-tail queue of a link. It needs no store of its own, because each departure is known on arrival.

use super::LinkCounters;
use crate::cx::{Cx, Metric};
use crate::occupancy::Area;
use crate::packet::Ecn;
use crate::queue::{Backlog, DropReason, Limit};
use crate::ring::Ring;
use crate::serialiser::Serialiser;
use crate::time::Time;
use crate::wide;

/// A drop-tail queue: when the packets that wait are serialised, and how long they are.
#[repr(C)]
pub(super) struct Fifo {
    starts: Ring<(Time, u32)>,
    bytes: u64,
    limit: Limit,
    mark: Option<Limit>,
    /// The sum of the products of the packets' lengths and waiting times, in nanoseconds.
    byte_ns: u128,
}

impl Fifo {
    /// An empty queue that drops what is above `limit` and marks what is above `mark`.
    pub(super) fn new(limit: Limit, mark: Option<Limit>) -> Fifo {
        Fifo { limit, mark, starts: Ring::default(), bytes: 0, byte_ns: 0 }
    }

    /// When the serialisation of a packet of this length begins; `None` if it is dropped.
    // Given what it needs of a packet, it leaves the packet where it stands.
    #[inline(always)]
    pub(super) fn admit(
        &mut self,
        (len, ecn): (u32, &mut Ecn),
        serialiser: &mut Serialiser,
        counters: &mut LinkCounters,
        cx: &mut Cx<'_>,
    ) -> Option<Time> {
        self.retire_started(cx);
        let start = serialiser.busy_until;
        if start <= cx.now {
            serialiser.begin(cx.now);
            return Some(cx.now);
        }
        let backlog = Backlog { packets: self.starts.len() as u64, bytes: self.bytes };
        if !self.limit.admits(backlog, len) {
            counters.count_drop(DropReason::QueueFull);
            return None;
        }
        if self.mark.is_some_and(|mark| !mark.admits(backlog, len)) && ecn.can_be_marked() {
            *ecn = Ecn::Ce;
            counters.marked += 1;
        }
        self.starts.push_back((start, len));
        self.bytes += u64::from(len);
        counters.max_queue_packets = counters.max_queue_packets.max(backlog.packets + 1);
        counters.max_queue_bytes = counters.max_queue_bytes.max(self.bytes);
        counters.count_wait(cx.now, start);
        self.byte_ns += wide::product(start.since(cx.now).as_nanos(), u64::from(len));
        cx.record(Metric::Queue, self.bytes);
        Some(start)
    }

    /// Removes from the backlog those packets whose serialisation has begun by now.
    #[inline]
    fn retire_started(&mut self, cx: &mut Cx<'_>) {
        while let Some((start, len)) = self.starts.pop_front_if(|(start, _)| *start <= cx.now) {
            self.bytes -= u64::from(len);
            cx.record_at(start, Metric::Queue, self.bytes);
        }
    }

    /// The contents over time until `until`, of packets that waited for so many nanoseconds in all.
    pub(super) fn held(&self, until: Time, packet_ns: u128) -> Area {
        let mut later = Area::default();
        for (start, len) in self.starts.iter().filter(|(start, _)| *start > until) {
            later += Area::of(Backlog { packets: 1, bytes: u64::from(*len) }, start.since(until).as_nanos());
        }
        Area { packet_ns, byte_ns: self.byte_ns } - later
    }
}
