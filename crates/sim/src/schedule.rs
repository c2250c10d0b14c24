//! The event queue: the next wake-up time of each machine, and the earliest of these times.
//!
//! The order is total: by time, then by the machine's number.
//!
//! Times are in groups of eight, a cache line each. The earliest time of a group represents it in a group of the level
//! above, and so on up to a single group. A new time is propagated upwards only as far as it changes the earliest of
//! its group. The next machine is found by following the earliest time downwards. Unlike in a heap nothing moves, so no
//! list of each machine's place is needed.

use haltere_net::Time;

const ARITY: usize = 8;

/// Times of machines, or the earliest times of groups of the level below.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Time; ARITY]);

impl Group {
    #[inline]
    fn least(&self) -> Time {
        self.0.iter().copied().fold(Time::NEVER, Time::min)
    }
}

/// The machine that is to be called next, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// All levels, from the top. Places are numbered across all groups. The earliest time of group g + 1 is at place g.
    groups: Vec<Group>,
    /// The place of machine 0, in the first group of the lowest level.
    first: usize,
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
        Schedule { groups: vec![Group([Time::NEVER; ARITY]); groups], first: above * ARITY }
    }

    /// The number of machines that fit.
    pub fn machines(&self) -> usize {
        self.groups.len() * ARITY - self.first
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
        let mut group = &self.groups[0];
        let least = group.least();
        if least == Time::NEVER {
            return None;
        }
        let mut place = 0;
        loop {
            // Of equal times, the first belongs to the lowest number.
            place += group.0.iter().position(|t| *t == least)?;
            match place.checked_sub(self.first) {
                Some(machine) => return Some((least, machine as u32)),
                None => group = &self.groups[place + 1],
            }
            place = (place + 1) * ARITY;
        }
    }

    /// When machine `m` is to be called, or [`Time::NEVER`].
    #[inline]
    pub fn time_of(&self, m: u32) -> Time {
        let place = self.first + m as usize;
        self.groups[place / ARITY].0[place % ARITY]
    }

    /// Sets the wake-up time of machine `m`; [`Time::NEVER`] removes it.
    #[inline]
    pub fn set(&mut self, m: u32, at: Time) {
        let (mut place, mut time) = (self.first + m as usize, at);
        loop {
            let number = place / ARITY;
            let group = &mut self.groups[number];
            let old = &mut group.0[place % ARITY];
            if *old == time {
                return;
            }
            *old = time;
            if number == 0 {
                return;
            }
            time = group.least();
            place = number - 1;
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
                let at = if t == 0 { Time::NEVER } else { Time::from_nanos(t) };
                schedule.set(m, at);
                plain[m as usize] = at;
                let least = plain.iter().enumerate().filter(|(_, t)| **t != Time::NEVER).map(|(m, t)| (*t, m as u32)).min();
                prop_assert_eq!(schedule.peek(), least);
                prop_assert_eq!(schedule.time_of(m), at);
            }
        }
    }
}
