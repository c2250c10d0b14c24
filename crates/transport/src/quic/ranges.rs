//! Sets of numbers (packet numbers, stream offsets) as few sorted ranges.

use std::collections::VecDeque;
use std::ops::Range;

/// A set of numbers kept as sorted, disjoint, non-adjacent ranges. Growing at the end, the common case, is O(1).
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Adds `range`; returns how many numbers are new.
    #[inline]
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        if let Some(last) = self.ranges.back_mut() {
            if range.start >= last.start && range.start <= last.end {
                let new = range.end.saturating_sub(last.end);
                last.end = last.end.max(range.end);
                return new;
            }
            if range.start < last.start {
                return self.insert_within(range);
            }
        }
        let new = range.end - range.start;
        self.ranges.push_back(range);
        new
    }

    fn insert_within(&mut self, range: Range<u64>) -> u64 {
        let from = self.ranges.partition_point(|r| r.end < range.start);
        let to = self.ranges.partition_point(|r| r.start <= range.end);
        if from == to {
            let new = range.end - range.start;
            self.ranges.insert(from, range);
            return new;
        }
        let merged = self.ranges[from].start.min(range.start)..self.ranges[to - 1].end.max(range.end);
        let held: u64 = self.ranges.range(from..to).map(|r| r.end - r.start).sum();
        let new = merged.end - merged.start - held;
        self.ranges[from] = merged;
        self.ranges.drain(from + 1..to);
        new
    }

    /// Takes `range` out.
    pub fn remove(&mut self, range: Range<u64>) {
        if range.is_empty() || self.ranges.is_empty() {
            return;
        }
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        let to = self.ranges.partition_point(|r| r.start < range.end);
        if from >= to {
            return;
        }
        let head = self.ranges[from].start..range.start;
        let tail = range.end..self.ranges[to - 1].end;
        self.ranges.drain(from..to);
        if !tail.is_empty() {
            self.ranges.insert(from, tail);
        }
        if !head.is_empty() {
            self.ranges.insert(from, head);
        }
    }

    /// Calls `f` with each part of `range` that is not in the set.
    pub fn missing(&self, range: Range<u64>, mut f: impl FnMut(Range<u64>)) {
        let mut at = range.start;
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        for held in self.ranges.range(from..) {
            if held.start >= range.end {
                break;
            }
            if at < held.start {
                f(at..held.start);
            }
            at = at.max(held.end);
        }
        if at < range.end {
            f(at..range.end);
        }
    }

    /// Whether `n` is in the set.
    #[inline]
    pub fn contains(&self, n: u64) -> bool {
        match self.ranges.back() {
            Some(last) if n >= last.start => n < last.end,
            _ => {
                let at = self.ranges.partition_point(|r| r.end <= n);
                self.ranges.get(at).is_some_and(|r| r.start <= n)
            }
        }
    }

    /// Numbers from 0 on without a gap.
    #[inline]
    pub fn prefix(&self) -> u64 {
        self.ranges.front().filter(|r| r.start == 0).map_or(0, |r| r.end)
    }
    /// The lowest range.
    #[inline]
    pub fn first(&self) -> Option<&Range<u64>> {
        self.ranges.front()
    }
    /// The highest range.
    #[inline]
    pub fn last(&self) -> Option<&Range<u64>> {
        self.ranges.back()
    }
    /// Takes out the lowest range.
    pub fn pop_first(&mut self) -> Option<Range<u64>> {
        self.ranges.pop_front()
    }
    /// Whether the set is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Number of ranges.
    #[inline]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// The ranges, highest first, as ACK frames list them.
    pub fn descending(&self) -> impl Iterator<Item = &Range<u64>> {
        self.ranges.iter().rev()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_the_set_it_stands_for(ops in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..12), 0..60)) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (add, start, len) in ops {
                let range = start..start + len;
                if add {
                    let new = range.clone().filter(|n| model.insert(*n)).count() as u64;
                    prop_assert_eq!(set.insert(range), new);
                } else {
                    range.clone().for_each(|n| { model.remove(&n); });
                    set.remove(range);
                }
                let held: Vec<u64> = (0..100).filter(|n| set.contains(*n)).collect();
                prop_assert_eq!(held, model.iter().copied().collect::<Vec<_>>());
                let mut missing = Vec::new();
                set.missing(10..50, |r| missing.extend(r));
                prop_assert_eq!(missing, (10..50).filter(|n| !model.contains(n)).collect::<Vec<_>>());
                let apart: Vec<_> = set.descending().collect();
                prop_assert!(apart.windows(2).all(|w| w[1].end < w[0].start));
                prop_assert_eq!(set.prefix(), (0..100).find(|n| !model.contains(n)).unwrap_or(100));
            }
        }
    }
}
