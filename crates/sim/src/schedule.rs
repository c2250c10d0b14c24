//! The event queue: one live entry a machine, in a 4-ary heap that knows where each machine stands.
//!
//! The order is total: by time, then by the machine's number.

use haltere_net::Time;

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// Which machine is to be called next, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    heap: Vec<(Time, u32)>,
    place: Vec<u32>,
}

impl Schedule {
    /// A schedule for machines 0 to `machines` - 1, none of which is to be called.
    pub fn new(machines: usize) -> Schedule {
        Schedule { heap: Vec::with_capacity(machines), place: vec![ABSENT; machines] }
    }

    /// The next machine and its time.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u32)> {
        self.heap.first().copied()
    }

    /// Machine `m` is next to be called at `at`; [`Time::NEVER`] takes it out.
    #[inline]
    pub fn set(&mut self, m: u32, at: Time) {
        let place = self.place[m as usize];
        if place == ABSENT {
            if at != Time::NEVER {
                self.heap.push((at, m));
                self.rise(self.heap.len() - 1, (at, m));
            }
            return;
        }
        let place = place as usize;
        let old = self.heap[place].0;
        if at == old {
            return;
        }
        if at == Time::NEVER {
            self.remove(place);
        } else if at < old {
            self.rise(place, (at, m));
        } else {
            self.sink(place, (at, m));
        }
    }

    fn remove(&mut self, place: usize) {
        let (_, m) = self.heap[place];
        self.place[m as usize] = ABSENT;
        let Some(last) = self.heap.pop() else { return };
        if place == self.heap.len() {
            return;
        }
        if place > 0 && last < self.heap[(place - 1) / ARITY] {
            self.rise(place, last);
        } else {
            self.sink(place, last);
        }
    }

    #[inline]
    fn put(&mut self, place: usize, entry: (Time, u32)) {
        self.heap[place] = entry;
        self.place[entry.1 as usize] = place as u32;
    }

    #[inline]
    fn rise(&mut self, mut place: usize, entry: (Time, u32)) {
        while place > 0 {
            let parent = (place - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.put(place, self.heap[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    #[inline]
    fn sink(&mut self, mut place: usize, entry: (Time, u32)) {
        loop {
            let first = place * ARITY + 1;
            let children = self.heap.get(first..(first + ARITY).min(self.heap.len())).unwrap_or(&[]);
            let Some((offset, &least)) = children.iter().enumerate().min_by_key(|(_, e)| **e) else { break };
            if least >= entry {
                break;
            }
            self.put(place, least);
            place = first + offset;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_next_is_always_the_least_by_time_then_number(sets in prop::collection::vec((0u32..20, 0u64..50), 1..300)) {
            let mut schedule = Schedule::new(20);
            let mut plain = [Time::NEVER; 20];
            for (m, t) in sets {
                let at = if t == 0 { Time::NEVER } else { Time::from_nanos(t) };
                schedule.set(m, at);
                plain[m as usize] = at;
                let least = plain.iter().enumerate().filter(|(_, t)| **t != Time::NEVER).map(|(m, t)| (*t, m as u32)).min();
                prop_assert_eq!(schedule.peek(), least);
            }
        }
    }
}
