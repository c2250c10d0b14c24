//! The event queue: the next wake-up time of each machine, and the earliest of these times.
//!
//! The order is total: by time, then by the machine's number.
//!
//! A key is a time and the number of its machine in one integer. Keys are in groups of eight, a cache line each. The
//! least key of a group stands in a group of the level above, and so on up to a single group. A new key is propagated
//! upwards only as far as it changes the least of its group. Unlike in a heap nothing moves, so no list of each machine's
//! place is needed, and the least of all keys tells at once which machine is next.
//!
//! One key may stand in front of the groups instead: that of a machine that had no time and is set to be next, as when a
//! packet enters an empty link. It is mostly called next, and then nothing was propagated for it.
//!
//! The time in a key counts from a base, so that it fits beside the number. If the next time is too far from the base,
//! which with 4000 machines happens every 52 days, all keys are made anew.

use haltere_net::Time;

const ARITY: usize = 8;
/// The key of a machine that is not to be called.
const NEVER: u64 = u64::MAX;
/// No machine.
const NOBODY: u32 = u32::MAX;

/// Keys of machines, or the least keys of groups of the level below.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([u64; ARITY]);

impl Group {
    #[inline]
    fn least(&self) -> u64 {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
    }
}

/// The machine that is to be called next, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// All levels, from the top. Places are numbered across all groups. The least key of group g + 1 is at place g.
    groups: Vec<Group>,
    /// The least key of all groups.
    least: u64,
    /// The machine whose key stands in front of the groups, or [`NOBODY`], and this key.
    front: (u32, u64),
    /// The time of each machine.
    times: Vec<Time>,
    /// The place of machine 0, in the first group of the lowest level.
    first: usize,
    /// Bits of a key that give the machine; those above give the time.
    bits: u32,
    /// The time from which keys count. None is earlier.
    base: Time,
    /// Times as far from the base as this do not fit into a key. They have the same key, but for the machine.
    late: u64,
}

impl Schedule {
    /// A schedule for machines 0 to `machines` - 1. None of them has a wake-up time.
    pub fn new(machines: usize) -> Schedule {
        let (mut above, mut lowest) = (0, 1);
        while lowest * ARITY < machines {
            above += lowest;
            lowest *= ARITY;
        }
        // Groups of the lowest level that no machine needs are not stored.
        let groups = above + machines.div_ceil(ARITY).max(1);
        let first = above * ARITY;
        let times = vec![Time::NEVER; groups * ARITY - first];
        let bits = times.len().next_power_of_two().trailing_zeros();
        Schedule {
            groups: vec![Group([NEVER; ARITY]); groups],
            least: NEVER,
            front: (NOBODY, NEVER),
            first,
            bits,
            times,
            base: Time::ZERO,
            late: (NEVER >> bits) - 1,
        }
    }

    /// The number of machines that fit.
    pub fn machines(&self) -> usize {
        self.times.len()
    }

    /// Makes room for machines up to number `machines` - 1, and for as many again, so that growing one by one is cheap.
    pub fn grow(&mut self, machines: usize) {
        let had = self.machines();
        if machines <= had {
            return;
        }
        let mut larger = Schedule::new(machines * 2);
        for m in 0..had as u32 {
            larger.set(m, self.time_of(m));
        }
        *self = larger;
    }

    /// The next machine and its time.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u32)> {
        let least = self.least.min(self.front.1);
        if least == NEVER {
            return None;
        }
        let machine = least & !(NEVER << self.bits);
        Some((self.times[machine as usize], machine as u32))
    }

    /// When machine `m` is to be called, or [`Time::NEVER`].
    #[inline]
    pub fn time_of(&self, m: u32) -> Time {
        self.times[m as usize]
    }

    /// Sets the wake-up time of machine `m`; [`Time::NEVER`] removes it.
    #[inline(always)]
    pub fn set(&mut self, m: u32, at: Time) {
        let before = std::mem::replace(&mut self.times[m as usize], at);
        if before != at {
            self.put(m, before, at);
        }
    }

    #[inline]
    fn put(&mut self, m: u32, before: Time, at: Time) {
        if at < self.base {
            return self.rebase();
        }
        let key = self.key(m, at);
        // A machine that stands in front, or may stand there, has no key in the groups.
        if self.front.0 == m || (self.front.0 == NOBODY && before == Time::NEVER) {
            if key < self.least {
                self.front = (m, key);
                return;
            }
            self.front = (NOBODY, NEVER);
            if key == NEVER {
                return;
            }
        }
        self.propagate(m, key);
    }

    /// The key of a machine for a time that is not before the base.
    #[inline]
    fn key(&self, m: u32, at: Time) -> u64 {
        let time = at.as_nanos().wrapping_sub(self.base.as_nanos());
        match at {
            Time::NEVER => NEVER,
            _ => time.min(self.late) << self.bits | u64::from(m),
        }
    }

    #[inline(never)]
    fn propagate(&mut self, m: u32, key: u64) {
        let (mut least, mut place) = (key, self.first + m as usize);
        loop {
            let (number, place_in) = (place / ARITY, place % ARITY);
            let group = &mut self.groups[number];
            if group.0[place_in] == least {
                return;
            }
            group.0[place_in] = least;
            least = group.least();
            if number == 0 {
                break;
            }
            place = number - 1;
        }
        self.least = least;
        if least >= self.late << self.bits && least != NEVER {
            self.rebase();
        }
    }

    /// Makes all keys anew, from the least time.
    #[cold]
    fn rebase(&mut self) {
        let least = self.times.iter().copied().min().unwrap_or(Time::ZERO);
        // Not so late that a key of "never" would fit.
        self.base = least.min(Time::from_nanos(NEVER - self.late));
        self.groups.fill(Group([NEVER; ARITY]));
        self.least = NEVER;
        self.front = (NOBODY, NEVER);
        // The least comes first, so that no other is taken for it on the way.
        let first = self.times.iter().position(|at| *at == least);
        debug_assert!(first.is_some(), "there is a machine");
        let first = first.unwrap_or(0);
        for m in [first].into_iter().chain(0..self.machines()).map(|m| m as u32) {
            self.propagate(m, self.key(m, self.time_of(m)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_next_is_always_the_least_by_time_then_number(
            machines in 1u32..200,
            sets in prop::collection::vec((0u32..200, 0u64..50), 1..300),
        ) {
            let mut schedule = Schedule::new(machines as usize / 4);
            prop_assert_eq!(schedule.peek(), None);
            let mut plain = vec![Time::NEVER; machines as usize];
            for (m, t) in sets {
                // Some machines come later.
                let m = m % machines;
                schedule.grow(m as usize + 1);
                let at = match t {
                    0 => Time::NEVER,
                    // Some are too far away for a key.
                    40..45 => Time::from_nanos((1 << 57) + t),
                    45.. => Time::from_nanos(u64::MAX - t + 45 - 1),
                    _ => Time::from_nanos(t),
                };
                schedule.set(m, at);
                plain[m as usize] = at;
                let least = plain.iter().enumerate().filter(|(_, t)| **t != Time::NEVER).map(|(m, t)| (*t, m as u32)).min();
                prop_assert_eq!(schedule.peek(), least);
                prop_assert_eq!(schedule.time_of(m), at);
            }
        }
    }
}
