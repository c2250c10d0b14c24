//! Packets that a link takes ahead of time.
//!
//! If all packets of a link come from one other link whose arrivals are known when packets are offered to it, a driver
//! can take a packet across both links at once: [`Link::pass`] on the first, then [`Link::take_ahead`] on the second.
//! The second link then holds a packet before it has arrived there. [`Link::retract`] takes out those that have not
//! arrived by a given time, and [`Link::put_back`] puts them back into the first, as if nothing had been done ahead.

use super::{Link, Waiting};
use crate::cx::Cx;
use crate::packet::Packet;
use crate::queue::DropReason;
use crate::time::{Span, Time};

/// The end of the serialisation of a packet, and its length.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sent {
    pub(super) until: Time,
    pub(super) len: u32,
}

impl<B: Clone + Send + 'static> Link<B> {
    /// Whether the arrival of a packet is known when it is offered, and packets arrive in the order in which they were
    /// offered: the queue is drop-tail, the rate is constant, and nothing impairs packets.
    pub fn is_predictable(&self) -> bool {
        matches!(self.waiting, Waiting::DropTail(_)) && self.wire.is_plain()
    }

    /// Like [`Link::offer`] on a link that is [predictable](Link::is_predictable), but the caller keeps the packet.
    /// Returns when it arrives at the far end, or `None` if it is dropped. The caller then calls [`Link::keep`], or
    /// [`Link::count_delivery`] if it takes the packet further.
    #[inline]
    pub fn pass(&mut self, packet: &mut Packet<B>, cx: &mut Cx<'_>) -> Option<Time> {
        self.counters.offered += 1;
        if packet.len > self.mtu {
            self.counters.count_drop(DropReason::TooBig);
            return None;
        }
        packet.arrived = cx.now;
        let Waiting::DropTail(queue) = &mut self.waiting else {
            debug_assert!(false, "a predictable link has a drop-tail queue");
            return None;
        };
        let (of, serialiser) = ((packet.len, &mut packet.ecn), &mut self.wire.serialiser);
        let start = queue.admit(of, serialiser, &mut self.counters, cx)?;
        self.counters.served += 1;
        Some(self.wire.serialiser.send(start, packet.len) + self.wire.delay)
    }

    /// Keeps a packet that [`Link::pass`] has let through until it arrives at `at`.
    #[inline]
    pub fn keep(&mut self, at: Time, packet: Packet<B>) {
        self.wire.pipe.push(at, packet);
    }

    /// Counts a packet of `len` bytes that [`Link::pass`] has let through as one that arrived at the far end.
    #[inline]
    pub fn count_delivery(&mut self, len: u32) {
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(len);
    }

    /// When the serialisation of a packet of `len` bytes that arrives here at `at` ends, if it is known already that it
    /// need not wait, and if it takes time. Packets must be taken ahead in the order of their arrival.
    #[inline]
    pub fn foresee(&self, at: Time, len: u32) -> Option<Time> {
        let free = self.wire.serialiser.busy_until.max(self.ahead.until);
        if at <= free || len > self.mtu {
            return None;
        }
        let (span, _) = self.wire.serialiser.fresh(len);
        (span > Span::ZERO).then(|| at + span)
    }

    /// Takes a packet that arrives here at `at`, later than now, and whose serialisation ends at `out` (from
    /// [`Link::foresee`]).
    #[inline]
    pub fn take_ahead(&mut self, at: Time, out: Time, mut packet: Packet<B>) {
        self.counters.offered += 1;
        self.counters.served += 1;
        self.ahead = Sent { until: out, len: packet.len };
        packet.arrived = at;
        self.wire.pipe.push(out + self.wire.delay, packet);
    }

    /// Must be called before packets are offered in the usual way after some were taken ahead.
    #[inline]
    pub fn catch_up(&mut self) {
        if self.ahead.until > self.wire.serialiser.busy_until {
            self.wire.serialiser.busy_until = self.ahead.until;
            self.wire.serialiser.remainder = self.wire.serialiser.fresh(self.ahead.len).1;
        }
    }

    /// Takes out the packets that arrive here at `from` or later, with their times of arrival here.
    pub fn retract(&mut self, from: Time) -> Vec<(Time, Packet<B>)> {
        let out = self.wire.pipe.split_off(|packet| packet.arrived < from);
        let out: Vec<_> = out.into_iter().map(|(_, packet)| (packet.arrived, packet)).collect();
        self.counters.offered -= out.len() as u64;
        self.counters.served -= out.len() as u64;
        // Of those that stay, or have left, the last tells how long the serialiser is busy.
        let last = self.wire.pipe.last().map(|(at, packet)| Sent { until: *at, len: packet.len });
        let last = last.unwrap_or(self.left);
        self.ahead = Sent { until: last.until.saturating_sub(self.wire.delay), len: last.len };
        self.catch_up();
        out
    }

    /// Puts packets back that were passed and counted as delivered, with their times of arrival at the far end. Those in
    /// the link may come before and after them.
    pub fn put_back(&mut self, mut packets: Vec<(Time, Packet<B>)>) {
        for (_, packet) in &mut packets {
            self.counters.delivered -= 1;
            self.counters.delivered_bytes -= u64::from(packet.len);
            // When it was offered is not known any more. It was before now, and nothing else matters once it is served.
            packet.arrived = Time::ZERO;
        }
        packets.extend(self.take_all());
        packets.sort_by_key(|(at, _)| *at);
        self.wire.pipe = packets.into_iter().collect();
    }

    /// Takes all packets out of a predictable link that have not arrived at the far end, with their times of arrival there,
    /// so that [`Link::keep`] can put them back, or [`Link::count_delivery`] count them.
    pub fn take_all(&mut self) -> impl Iterator<Item = (Time, Packet<B>)> + use<B> {
        self.wire.pipe.split_off(|_| false).into_iter()
    }
}
