//! The event queue: one live entry a machine, in a 4-ary heap that knows where each machine stands.
//!
//! The order is total: by time, then by the machine's number.

use haltere_net::Time;

const ARITY: usize = 4;
const ABSENT: u32 = u32::MAX;

/// Time and machine in one number, so that one comparison orders both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry(u128);

impl Entry {
    #[inline]
    fn new(at: Time, machine: u32) -> Entry {
        Entry(u128::from(at.as_nanos()) << 32 | u128::from(machine))
    }
    #[inline]
    fn at(self) -> Time {
        Time::from_nanos((self.0 >> 32) as u64)
    }
    #[inline]
    fn machine(self) -> u32 {
        self.0 as u32
    }
}

/// Which machine is to be called next, and when.
#[derive(Clone, Debug)]
pub struct Schedule {
    heap: Vec<Entry>,
    place: Vec<u32>,
}

impl Schedule {
    /// A schedule for machines 0 to `machines` - 1, none of which is to be called.
    pub fn new(machines: usize) -> Schedule {
        Schedule { heap: Vec::with_capacity(machines), place: vec![ABSENT; machines] }
    }

    /// How many machines there may be.
    pub fn machines(&self) -> usize {
        self.place.len()
    }

    /// Makes room for machines up to number `machines` - 1.
    pub fn grow(&mut self, machines: usize) {
        self.place.resize(machines.max(self.place.len()), ABSENT);
    }

    /// The next machine and its time.
    #[inline]
    pub fn peek(&self) -> Option<(Time, u32)> {
        self.heap.first().map(|e| (e.at(), e.machine()))
    }

    /// When machine `m` is to be called, or [`Time::NEVER`].
    #[inline]
    pub fn time_of(&self, m: u32) -> Time {
        self.heap.get(self.place[m as usize] as usize).map_or(Time::NEVER, |e| e.at())
    }

    /// Machine `m` is next to be called at `at`; [`Time::NEVER`] takes it out.
    #[inline]
    pub fn set(&mut self, m: u32, at: Time) {
        let place = self.place[m as usize] as usize;
        let entry = Entry::new(at, m);
        let Some(&old) = self.heap.get(place) else {
            if at != Time::NEVER {
                self.heap.push(entry);
                self.rise(self.heap.len() - 1, entry);
            }
            return;
        };
        if entry == old {
            return;
        }
        if at == Time::NEVER {
            self.remove(place);
        } else if entry < old {
            self.rise(place, entry);
        } else {
            self.sink(place, entry);
        }
    }

    fn remove(&mut self, place: usize) {
        self.place[self.heap[place].machine() as usize] = ABSENT;
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
    fn put(&mut self, place: usize, entry: Entry) {
        self.heap[place] = entry;
        self.place[entry.machine() as usize] = place as u32;
    }

    #[inline]
    fn rise(&mut self, mut place: usize, entry: Entry) {
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
    fn sink(&mut self, mut place: usize, entry: Entry) {
        loop {
            let first = place * ARITY + 1;
            let (least, offset) = match self.heap.get(first..first + ARITY) {
                Some(&[a, b, c, d]) => {
                    // Two by two, without branches that a processor could guess wrong.
                    let ab = if b < a { (b, 1) } else { (a, 0) };
                    let cd = if d < c { (d, 3) } else { (c, 2) };
                    if cd.0 < ab.0 { cd } else { ab }
                }
                _ => {
                    let rest = self.heap.get(first..).unwrap_or(&[]);
                    let Some((offset, &least)) = rest.iter().enumerate().min_by_key(|(_, e)| **e) else { break };
                    (least, offset)
                }
            };
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
                prop_assert_eq!(schedule.time_of(m), at);
            }
        }
    }
}
