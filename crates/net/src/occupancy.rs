//! How much stood in queues, on average over time.
//!
//! A mean occupancy is an area, packets or bytes times time, divided by a time. Where a queue decides on its packets when
//! they leave, its backlog is integrated at each change. In a first-in-first-out queue without drops at its head the area
//! is the sum of the waiting times (J. D. C. Little, "A proof for the queuing formula: L = λW", Operations Research 9(3),
//! 1961), which is known when packets arrive.

use crate::queue::Backlog;
use crate::time::Time;
use crate::wide;
use std::ops::{AddAssign, Sub};

/// Packets and bytes, each times nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Area {
    /// Packets times nanoseconds.
    pub packet_ns: u128,
    /// Bytes times nanoseconds.
    pub byte_ns: u128,
}

impl Area {
    /// The area under a backlog that stands for `ns` nanoseconds.
    pub(crate) fn of(backlog: Backlog, ns: u64) -> Area {
        Area { packet_ns: wide::product(backlog.packets, ns), byte_ns: wide::product(backlog.bytes, ns) }
    }
}

impl AddAssign for Area {
    fn add_assign(&mut self, other: Area) {
        self.packet_ns += other.packet_ns;
        self.byte_ns += other.byte_ns;
    }
}

impl Sub for Area {
    type Output = Area;
    fn sub(self, other: Area) -> Area {
        Area { packet_ns: self.packet_ns - other.packet_ns, byte_ns: self.byte_ns - other.byte_ns }
    }
}

/// The contents of an element over time, from the beginning until some time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// All that waited, without the packet being sent.
    pub queue: Area,
    /// The contents of the queue discipline and of the ring, if there is a ring.
    pub stages: Option<HeldStages>,
}

/// The contents over time of the two stages of a network interface, from the beginning until some time.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HeldStages {
    /// In the queue discipline.
    pub qdisc: Area,
    /// In the ring, with the packet being sent.
    pub ring: Area,
}

/// A backlog that is integrated over time.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Integral {
    area: Area,
    since: Time,
    backlog: Backlog,
}

impl Integral {
    /// From `at` on the backlog is this. Times must not go back.
    #[inline]
    pub(crate) fn set(&mut self, at: Time, backlog: Backlog) {
        self.area = self.until(at);
        (self.since, self.backlog) = (at, backlog);
    }

    /// The area until `at`.
    #[inline]
    pub(crate) fn until(&self, at: Time) -> Area {
        let mut area = self.area;
        area += Area::of(self.backlog, at.since(self.since).as_nanos());
        area
    }
}
