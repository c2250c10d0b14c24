//! The event queue: when each machine is to be called next, and the least of these times.
//!
//! The order is total: by time, then by the machine's number.
//!
//! Times stand in groups of eight, a cache line each. The least time of a group stands for it in a group of the level above,
//! and so on up to a single group. A new time is carried up only as far as it changes the least of its group, and the
//! machine that is next is found by following the least time down. Unlike in a heap nothing is moved, so that no list of
//! where each machine stands needs to be kept.

use haltere_net::Time;

const ARITY: usize = 8;

/// Times of machines, or the least times of groups of the level below.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Time; ARITY]);

impl Group {
    #[inline]
    fn least(&self) -> Time {
        self.0.iter().copied().fold(Time::NEVER, Time::min)
    }
}

/// Which machine is to be called next, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// All levels, from the top. Places are numbered through all groups; group g + 1 is the one whose least time stands at
    /// place g.
    groups: Vec<Group>,
    /// The place of machine 0, in the first group of the lowest level.
    first: usize,
}

impl Schedule {
    /// A schedule for machines 0 to `machines` - 1, none of which is to be called.
    pub fn new(machines: usize) -> Schedule {
        let (mut above, mut lowest) = (0, 1);
        while lowest * ARITY < machines {
            above += lowest;
            lowest *= ARITY;
        }
        // Groups of the lowest level that no machine needs are left out.
        let groups = above + machines.div_ceil(ARITY).max(1);
        Schedule { groups: vec![Group([Time::NEVER; ARITY]); groups], first: above * ARITY }
    }

    /// How many machines there is room for.
    pub fn machines(&self) -> usize {
        self.groups.len() * ARITY - self.first
    }

    /// Makes room for machines up to number `machines` - 1, and for as many again, so that growing one by one costs little.
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
            // The first of equal times is that of the lowest number.
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

    /// Machine `m` is next to be called at `at`; [`Time::NEVER`] takes it out.
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
