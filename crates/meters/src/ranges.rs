//! A set of bytes of a stream, as disjoint ranges.

/// Ascending, disjoint, not touching ranges `start..end`.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    /// Adds `start..end` and calls `new` with each part that was not there, in ascending order.
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // Ranges that touch the new one melt into it.
        let from = self.0.partition_point(|r| r.1 < start);
        let to = self.0.partition_point(|r| r.0 <= end);
        let mut at = start;
        for &(s, e) in &self.0[from..to] {
            if at < s {
                new(at, s.min(end));
            }
            at = at.max(e);
        }
        if at < end {
            new(at, end);
        }
        let whole = match self.0.get(from..to) {
            Some([first, .., last]) => (first.0.min(start), last.1.max(end)),
            Some([only]) => (only.0.min(start), only.1.max(end)),
            _ => (start, end),
        };
        self.0.splice(from..to, [whole]);
    }

    /// Forgets what lies below `limit`.
    pub fn forget_below(&mut self, limit: u64) {
        let gone = self.0.partition_point(|r| r.1 <= limit);
        self.0.drain(..gone);
        if let Some(first) = self.0.first_mut() {
            first.0 = first.0.max(limit);
        }
    }

    /// The end of the range that holds `at`, or `at`.
    pub fn end_from(&self, at: u64) -> u64 {
        let next = self.0.partition_point(|r| r.1 <= at);
        self.0.get(next).filter(|r| r.0 <= at).map_or(at, |r| r.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn holds_what_was_put_in_and_tells_each_new_byte_once(
            puts in prop::collection::vec((0u64..64, 0u64..16), 0..40), limit in 0u64..80,
        ) {
            let (mut ranges, mut want) = (Ranges::default(), std::collections::BTreeSet::new());
            for (start, len) in puts {
                let mut told = Vec::new();
                ranges.insert(start, start + len, |s, e| told.extend(s..e));
                let fresh: Vec<u64> = (start..start + len).filter(|b| want.insert(*b)).collect();
                prop_assert_eq!(told, fresh);
                prop_assert!(ranges.0.windows(2).all(|w| w[0].1 < w[1].0) && ranges.0.iter().all(|r| r.0 < r.1));
            }
            let end = (limit..).find(|b| !want.contains(b)).unwrap_or(limit);
            prop_assert_eq!(ranges.end_from(limit), end);
            ranges.forget_below(limit);
            let left: Vec<u64> = ranges.0.iter().flat_map(|r| r.0..r.1).collect();
            prop_assert_eq!(left, want.into_iter().filter(|b| *b >= limit).collect::<Vec<_>>());
        }
    }
}
