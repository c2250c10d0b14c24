//! Sorted sets of half-open ranges of positions.

use std::collections::VecDeque;

/// The number of ranges for which an idle set keeps memory.
const MANY: usize = 8;

/// A set of disjoint, non-adjacent ranges `[start, end)`, ascending. It is fast for a few ranges that change at the
/// ends.
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
        // Growth at the end is the common case.
        if let Some(highest) = self.ranges.back_mut().filter(|r| r.0 <= start && start <= r.1) {
            let from = highest.1;
            highest.1 = from.max(end);
            if from < end {
                fresh(from, end);
            }
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
            if self.ranges.capacity() == 0 {
                // One range is the normal case.
                self.ranges.reserve_exact(1);
            }
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            self.ranges.drain(first + 1..last);
            self.release();
        }
    }

    /// Adds `[start, end)`. Returns whether anything of it is new.
    pub fn extend(&mut self, start: u64, end: u64) -> bool {
        let mut new = false;
        self.insert(start, end, |_, _| new = true);
        new
    }

    /// Adds `position` if the highest range ends there; returns whether it does.
    #[inline]
    pub fn continues_at(&mut self, position: u64) -> bool {
        match self.ranges.back_mut() {
            Some(highest) if highest.1 == position => {
                highest.1 += 1;
                true
            }
            _ => false,
        }
    }

    /// Adds `[start, end)`, whatever of it was in the set.
    #[inline]
    pub fn insert_all(&mut self, start: u64, end: u64) {
        match self.ranges.back_mut() {
            Some(highest) if highest.0 <= start && start <= highest.1 => highest.1 = highest.1.max(end),
            _ => self.insert_apart(start, end),
        }
    }

    #[inline(never)]
    fn insert_apart(&mut self, start: u64, end: u64) {
        self.insert(start, end, |_, _| {});
    }

    /// Frees the memory of many ranges once at most one is left.
    #[inline]
    fn release(&mut self) {
        if self.ranges.len() <= 1 && self.ranges.capacity() > MANY {
            self.ranges.shrink_to(1);
        }
    }

    /// Removes `[start, end)`.
    pub fn remove(&mut self, start: u64, end: u64) {
        let first = self.ranges.partition_point(|r| r.1 <= start);
        let last = self.ranges.partition_point(|r| r.0 < end);
        if start >= end || first >= last {
            return;
        }
        let (head, tail) = ((self.ranges[first].0, start), (end, self.ranges[last - 1].1));
        self.ranges.drain(first..last);
        for part in [tail, head] {
            if part.0 < part.1 {
                self.ranges.insert(first, part);
            }
        }
    }

    /// Calls `f` with each part of `[start, end)` that is not in the set, ascending.
    pub fn missing(&self, start: u64, end: u64, mut f: impl FnMut(u64, u64)) {
        let mut at = start;
        let first = self.ranges.partition_point(|r| r.1 <= start);
        for &(s, e) in self.ranges.range(first..).take_while(|r| r.0 < end) {
            if at < s {
                f(at, s);
            }
            at = at.max(e);
        }
        if at < end {
            f(at, end);
        }
    }

    /// Whether `position` is in the set.
    #[inline]
    pub fn contains(&self, position: u64) -> bool {
        match self.ranges.back() {
            Some(highest) if position >= highest.0 => position < highest.1,
            _ => self.containing(position).is_some(),
        }
    }

    /// The length of the range that begins at 0; 0 if there is none.
    #[inline]
    pub fn prefix(&self) -> u64 {
        self.ranges.front().filter(|r| r.0 == 0).map_or(0, |r| r.1)
    }

    /// Removes all positions below `bound`.
    pub fn remove_below(&mut self, bound: u64) {
        while self.ranges.front().is_some_and(|r| r.1 <= bound) {
            self.pop_first();
        }
        if let Some(front) = self.ranges.front_mut() {
            front.0 = front.0.max(bound);
        }
    }

    /// The range that contains `position`.
    pub fn containing(&self, position: u64) -> Option<(u64, u64)> {
        let at = self.ranges.partition_point(|r| r.1 <= position);
        self.ranges.get(at).copied().filter(|r| r.0 <= position)
    }

    /// The lowest range.
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }
    /// The highest range.
    pub fn last(&self) -> Option<(u64, u64)> {
        self.ranges.back().copied()
    }
    /// Removes and returns the lowest range.
    pub fn pop_first(&mut self) -> Option<(u64, u64)> {
        let first = self.ranges.pop_front();
        self.release();
        first
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
        /// Compares the set with a plain set of numbers.
        #[test]
        fn a_range_set_is_a_set(operations in prop::collection::vec((0u64..60, 0u64..12, 0..3u8), 0..60)) {
            let mut set = RangeSet::default();
            let mut plain = std::collections::BTreeSet::new();
            for (start, len, operation) in operations {
                if operation == 0 && len == 0 {
                    set.remove_below(start);
                    plain.retain(|&x| x >= start);
                } else if operation == 1 {
                    set.remove(start, start + len);
                    plain.retain(|x| !(start..start + len).contains(x));
                } else {
                    let mut fresh = Vec::new();
                    set.insert(start, start + len, |s, e| fresh.extend(s..e));
                    let expected: Vec<u64> = (start..start + len).filter(|x| plain.insert(*x)).collect();
                    prop_assert_eq!(fresh, expected);
                }
                let all: Vec<u64> = set.iter().flat_map(|(s, e)| s..e).collect();
                prop_assert_eq!(&all, &plain.iter().copied().collect::<Vec<_>>());
                prop_assert!(set.iter().zip(set.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                let mut missing = Vec::new();
                set.missing(10, 50, |s, e| missing.extend(s..e));
                prop_assert_eq!(missing, (10..50).filter(|x| !plain.contains(x)).collect::<Vec<_>>());
                prop_assert_eq!(set.prefix(), (0..).find(|x| !plain.contains(x)).unwrap_or(0));
                for x in 0..75 {
                    prop_assert_eq!(set.contains(x), plain.contains(&x));
                    prop_assert_eq!(set.containing(x).is_some(), plain.contains(&x));
                }
            }
        }
    }
}
