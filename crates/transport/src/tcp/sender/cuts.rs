//! Boundaries in the data that segments do not cross.
//!
//! MPTCP maps the data of a subflow to the data of the connection, and a segment has one mapping.

use std::collections::VecDeque;

/// The boundaries that are still to be sent.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Cuts {
    next: u64,
    later: VecDeque<u64>,
    /// The boundary that was passed last.
    last: u64,
}

impl Default for Cuts {
    fn default() -> Self {
        Cuts { next: u64::MAX, later: VecDeque::new(), last: 0 }
    }
}

impl Cuts {
    /// The next boundary; `u64::MAX` if there is none.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Adds a boundary at `position`, which is beyond all others and is not sent yet.
    pub fn add(&mut self, position: u64) {
        if self.next == u64::MAX {
            self.next = position;
        } else {
            self.later.push_back(position);
        }
    }

    /// Everything below `end` was sent.
    #[inline]
    pub fn pass(&mut self, end: u64) {
        if end >= self.next {
            self.last = self.next;
            self.next = self.later.pop_front().unwrap_or(u64::MAX);
        }
    }

    /// The segment that was sent last, and ended at `end`, is not sent after all.
    pub fn withdraw(&mut self, end: u64) {
        if self.last == end && end > 0 {
            if self.next != u64::MAX {
                self.later.push_front(self.next);
            }
            self.next = end;
            self.last = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_passed_in_order_and_come_back_when_a_segment_is_withdrawn() {
        let mut cuts = Cuts::default();
        assert_eq!(cuts.next(), u64::MAX);
        cuts.add(100);
        cuts.add(250);
        cuts.pass(50);
        assert_eq!(cuts.next(), 100);
        cuts.pass(100);
        assert_eq!(cuts.next(), 250);
        cuts.withdraw(100);
        assert_eq!(cuts.next(), 100);
        cuts.pass(100);
        cuts.pass(250);
        assert_eq!(cuts.next(), u64::MAX);
        cuts.withdraw(300);
        assert_eq!(cuts.next(), u64::MAX, "no boundary was there");
    }
}
