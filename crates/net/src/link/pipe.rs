//! The packets that propagate along a link.

use crate::packet::Packet;
use crate::ring::Ring;
use crate::time::Time;

/// Packets with their times of arrival at the far end, in the order of these times.
pub(crate) struct Pipe<B> {
    packets: Ring<(Time, Packet<B>)>,
    /// The first of the times, or [`Time::NEVER`]: it is asked for much more often than it changes.
    first: Time,
}

impl<B> FromIterator<(Time, Packet<B>)> for Pipe<B> {
    fn from_iter<I: IntoIterator<Item = (Time, Packet<B>)>>(packets: I) -> Self {
        let packets: Ring<_> = packets.into_iter().collect();
        let mut pipe = Pipe { packets, first: Time::NEVER };
        pipe.look();
        pipe
    }
}

impl<B> Pipe<B> {
    #[inline]
    fn look(&mut self) {
        self.first = self.packets.front().map_or(Time::NEVER, |(at, _)| *at);
    }

    /// When the first packet arrives, or [`Time::NEVER`].
    #[inline]
    pub(crate) fn first(&self) -> Time {
        self.first
    }

    /// The number of packets.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Appends a packet that arrives after the others.
    #[inline(always)]
    pub(crate) fn push(&mut self, at: Time, packet: Packet<B>) {
        self.first = self.first.min(at);
        self.packets.push_back((at, packet));
    }

    /// Adds a packet that may arrive before others, after those of the same time.
    pub(super) fn insert(&mut self, arrival: Time, packet: Packet<B>) {
        let at = self.packets.partition_point(|(at, _)| *at <= arrival);
        self.packets.insert(at, (arrival, packet));
        self.look();
    }

    /// Takes the first packet, if it has arrived by `until`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, until: Time) -> Option<(Time, Packet<B>)> {
        if self.first > until {
            return None;
        }
        let out = self.packets.pop_front();
        self.look();
        out
    }

    /// The last packet, with its time of arrival.
    pub(super) fn last(&self) -> Option<&(Time, Packet<B>)> {
        self.packets.back()
    }

    /// Takes the packets from the first on for which `stays` does not hold.
    pub(super) fn split_off(&mut self, stays: impl Fn(&Packet<B>) -> bool) -> Vec<(Time, Packet<B>)> {
        let out = self.packets.split_off(self.packets.partition_point(|(_, packet)| stays(packet)));
        self.look();
        out
    }
}
