//! Sorted sets of half-open ranges of positions.

use std::collections::VecDeque;

/// A set of disjoint, non-adjacent ranges `[start, end)`, ascending. Made for few ranges that come and go at the ends.
#[derive(Clone, Default, Debug)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    /// Adds `[start, end)`. Calls `fresh` with each part that was not in the set yet, ascending.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // The first range that ends at or after our start, and the first that begins after our end.
        let first = self.ranges.partition_point(|r| r.1 < start);
        let mut last = first;
        let (mut low, mut high, mut at) = (start, end, start);
        while let Some(&(s, e)) = self.ranges.get(last).filter(|r| r.0 <= end) {
            if at < s {
                fresh(at, s.min(end));
            }
            at = at.max(e);
            low = low.min(s);
            high = high.max(e);
            last += 1;
        }
        if at < end {
            fresh(at, end);
        }
        if first == last {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..last);
        }
    }

    /// Removes everything below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        while self.ranges.front().is_some_and(|r| r.1 <= bound) {
            self.ranges.pop_front();
        }
        if let Some(front) = self.ranges.front_mut() {
            front.0 = front.0.max(bound);
        }
    }

    /// The range that holds `position`.
    pub fn containing(&self, position: u64) -> Option<(u64, u64)> {
        let at = self.ranges.partition_point(|r| r.1 <= position);
        self.ranges.get(at).copied().filter(|r| r.0 <= position)
    }

    /// Whether all of `[start, end)` is in the set.
    pub fn covers(&self, start: u64, end: u64) -> bool {
        start >= end || self.containing(start).is_some_and(|r| r.1 >= end)
    }

    /// The lowest range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }
    /// The highest range.
    pub fn last(&self) -> Option<(u64, u64)> {
        self.ranges.back().copied()
    }
    /// Takes out the lowest range.
    pub fn pop_first(&mut self) -> Option<(u64, u64)> {
        self.ranges.pop_front()
    }
    /// All ranges, ascending.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }
    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    /// Empties the set.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a plain set of numbers.
        #[test]
        fn a_range_set_is_a_set(operations in prop::collection::vec((0u64..60, 0u64..12, any::<bool>()), 0..60)) {
            let mut set = RangeSet::default();
            let mut plain = std::collections::BTreeSet::new();
            for (start, len, remove) in operations {
                if remove && len == 0 {
                    set.remove_below(start);
                    plain.retain(|&x| x >= start);
                } else {
                    let mut fresh = Vec::new();
                    set.insert(start, start + len, |s, e| fresh.extend(s..e));
                    let expected: Vec<u64> = (start..start + len).filter(|x| plain.insert(*x)).collect();
                    prop_assert_eq!(fresh, expected);
                }
                let all: Vec<u64> = set.iter().flat_map(|(s, e)| s..e).collect();
                prop_assert_eq!(&all, &plain.iter().copied().collect::<Vec<_>>());
                prop_assert!(set.iter().zip(set.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                for x in 0..75 {
                    prop_assert_eq!(set.containing(x).is_some(), plain.contains(&x));
                }
            }
        }
    }
}
