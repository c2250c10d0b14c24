//! The cost of data out of order for a receiver: the memory that it takes, and the time that it waits.

use crate::reordering::Reordering;
use haltere_net::{Cx, Metric, Span, Time};

/// The cost of data out of order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reassembly {
    /// The most bytes that were held behind missing ones at a time.
    pub most_held: u64,
    /// For how long bytes were held behind missing ones (head-of-line blocking).
    pub blocked: Span,
    /// Bytes held, times the nanoseconds for which they were held.
    pub held: u128,
    /// How data was out of order.
    pub reordering: Reordering,
}

impl Reassembly {
    /// The cost to two receivers.
    pub fn and(mut self, other: &Reassembly) -> Reassembly {
        self.most_held = self.most_held.max(other.most_held);
        self.blocked += other.blocked;
        self.held += other.held;
        self.reordering.merge(&other.reordering);
        self
    }

    /// The mean of the bytes held over a time; `None` if it is empty.
    pub fn mean_held(&self, time: Span) -> Option<f64> {
        (!time.is_zero()).then(|| self.held as f64 / time.as_nanos() as f64)
    }
}

/// Bytes that wait for others, and since when.
#[derive(Clone, Default, Debug)]
pub(crate) struct Waiting {
    since: Option<Time>,
    /// The bytes that wait, and since when they are so many.
    held: u64,
    changed: Time,
    reported: u64,
    cost: Reassembly,
}

impl Waiting {
    /// This many bytes wait at `now`.
    pub fn update(&mut self, held: u64, now: Time) {
        self.cost.most_held = self.cost.most_held.max(held);
        self.cost.held += u128::from(self.held) * u128::from(now.since(self.changed).as_nanos());
        (self.held, self.changed) = (held, now);
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

    /// Counts in full what only traces show, if this is one. Called before data arrives.
    #[inline]
    pub fn watch(&mut self, cx: &Cx<'_>) {
        if cx.probing() {
            self.cost.reordering.count_density();
        }
    }

    /// Reports what waits to the probe, if it changed.
    #[inline]
    pub fn report(&mut self, cx: &mut Cx<'_>) {
        if cx.probing() && self.held != self.reported {
            self.reported = self.held;
            cx.record(Metric::Held, self.held);
        }
    }

    /// Where packets out of order are counted.
    #[inline]
    pub fn reordering(&mut self) -> &mut Reordering {
        &mut self.cost.reordering
    }

    /// The cost of all waits that are over, and the most bytes of all.
    pub fn cost(&self) -> &Reassembly {
        &self.cost
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
        let cost = waiting.cost();
        assert_eq!((cost.most_held, cost.blocked), (300, Span::from_millis(8)));
        // 100 bytes for 2 ms, 300 for 1, 50 for 4, 10 for 1.
        assert_eq!(cost.held, 710 * 1_000_000);
        assert_eq!(cost.mean_held(Span::from_millis(71)), Some(10.0));
        let both = cost.clone().and(cost);
        assert_eq!((both.most_held, both.blocked, both.held), (300, Span::from_millis(16), 1_420 * 1_000_000));
    }
}
