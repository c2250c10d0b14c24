//! What data that arrives out of order costs a receiver: the memory that it takes, and the time that it waits.

use haltere_net::{Span, Time};

/// The cost of data out of order.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Reassembly {
    /// The most bytes that were held behind missing ones at a time.
    pub most_held: u64,
    /// For how long bytes were held behind missing ones (head-of-line blocking).
    pub blocked: Span,
}

/// Bytes that wait for others, and since when.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Waiting {
    since: Option<Time>,
    cost: Reassembly,
}

impl Waiting {
    /// This many bytes wait at `now`.
    pub fn update(&mut self, held: u64, now: Time) {
        self.cost.most_held = self.cost.most_held.max(held);
        if held > 0 {
            self.since.get_or_insert(now);
        } else if let Some(since) = self.since.take() {
            self.cost.blocked += now.since(since);
        }
    }

    /// Whether bytes wait.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        self.since.is_some()
    }

    /// The cost of all waits that are over, and the most bytes of all.
    pub fn cost(&self) -> Reassembly {
        self.cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_added_and_the_most_bytes_are_kept() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut waiting = Waiting::default();
        for (ms, held) in [(1, 0), (2, 100), (4, 300), (5, 50), (9, 0), (20, 10), (21, 0), (30, 0)] {
            waiting.update(held, at(ms));
        }
        assert_eq!(waiting.cost(), Reassembly { most_held: 300, blocked: Span::from_millis(8) });
    }
}
