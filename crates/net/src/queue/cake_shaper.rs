//! The shaper of `cake`: what a packet takes on the line, and when the next one may leave.

use crate::time::{Span, Time};

/// How packets are framed on the line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Framing {
    /// As they are.
    Noatm,
    /// In ATM cells of 53 bytes that carry 48.
    Atm,
    /// In PTM, which takes one byte more for 64 (in Linux; 65 for 64 in IEEE 802.3 clause 61).
    Ptm,
}

/// The bytes that are added to a packet on the line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// Bytes added to the IP packet.
    pub(super) overhead: i64,
    /// The smallest packet, bytes.
    pub(super) mpu: u64,
    pub(super) framing: Framing,
}

impl Line {
    /// The bytes that a packet of `len` bytes takes on the line.
    pub(super) fn bytes(&self, len: u32) -> u64 {
        let bytes = u64::from(len).saturating_add_signed(self.overhead).max(self.mpu);
        match self.framing {
            Framing::Noatm => bytes,
            Framing::Atm => bytes.div_ceil(48).saturating_mul(53),
            Framing::Ptm => bytes.saturating_add(bytes.div_ceil(64)),
        }
    }
}

/// A time that moves on with the bytes that are sent at a rate. Fractions of a nanosecond are kept.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Schedule {
    pub(super) at: Time,
    /// The fraction, in ns / (bit/s).
    rest: u128,
}

impl Schedule {
    /// Starts at `at`.
    pub(super) fn restart(&mut self, at: Time) {
        *self = Schedule { at, rest: 0 };
    }

    /// Moves on by the time of `bits` at `bps`, which is not zero.
    pub(super) fn charge(&mut self, bits: u64, bps: u64) {
        let all = u128::from(bits) * 1_000_000_000 + self.rest;
        let (ns, bps) = (all / u128::from(bps), u128::from(bps));
        self.rest = all % bps;
        self.at += Span::from_nanos(ns.min(u128::from(u64::MAX)) as u64);
    }
}

/// The shaper of all classes together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    /// bit/s; 0 if nothing is shaped.
    pub(super) bps: u64,
    next: Schedule,
    /// The time at two thirds of the rate, without what was dropped: it bounds the wait after many drops that were charged.
    failsafe: Schedule,
}

impl Shaper {
    pub(super) fn new(bps: u64) -> Shaper {
        Shaper { bps, next: Schedule::default(), failsafe: Schedule::default() }
    }

    /// When the next packet may leave.
    pub(super) fn ready_at(&self) -> Time {
        self.next.at.min(self.failsafe.at)
    }

    /// The first packet of an empty queue arrives.
    pub(super) fn begin(&mut self, now: Time) {
        if self.next.at < now {
            self.next.restart(now);
            self.failsafe.restart(now);
        }
    }

    /// A packet left.
    pub(super) fn sent(&mut self, bytes: u64) {
        self.dropped(bytes);
        if self.bps > 0 {
            self.failsafe.charge(bytes.saturating_mul(12), self.bps);
        }
    }

    /// A packet that had come over the line already was dropped.
    pub(super) fn dropped(&mut self, bytes: u64) {
        if self.bps > 0 {
            self.next.charge(bytes.saturating_mul(8), self.bps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_what_its_framing_takes() {
        let line = |overhead, mpu, framing| Line { overhead, mpu, framing };
        for (line, len, bytes) in [
            (line(0, 0, Framing::Noatm), 1500, 1500),
            (line(18, 64, Framing::Noatm), 1500, 1518),
            (line(18, 64, Framing::Noatm), 40, 64),
            (line(-4, 0, Framing::Noatm), 40, 36),
            (line(-64, 0, Framing::Noatm), 40, 0),
            // 1510 bytes in 32 cells.
            (line(10, 0, Framing::Atm), 1500, 32 * 53),
            (line(8, 0, Framing::Atm), 40, 53),
            (line(9, 0, Framing::Atm), 40, 106),
            (line(0, 0, Framing::Ptm), 128, 130),
            (line(0, 0, Framing::Ptm), 129, 132),
        ] {
            assert_eq!(line.bytes(len), bytes, "{line:?} {len}");
        }
    }

    #[test]
    fn a_schedule_does_not_drift() {
        let mut schedule = Schedule::default();
        for _ in 0..3000 {
            schedule.charge(8000, 3_000_000);
        }
        assert_eq!(schedule.at, Time::from_nanos(8_000_000_000));
    }
}
