//! Byte queue limits (BQL): a limit of the ring in bytes that adapts to what keeps the wire busy (Linux:
//! `lib/dynamic_queue_limits.c`).
//!
//! The ring takes packets while no more than the limit is in it, so that it exceeds the limit by at most one packet. The
//! limit is computed anew with each completion. If the ring ran empty although it had been filled up to the limit, the
//! limit was too low. If bytes were left over whenever a completion was handled, it was too high: after a second, it
//! decreases by the least that was left over.

use crate::time::{Span, Time};

/// How long the least slack is observed before the limit decreases (Linux: `slack_hold_time`, HZ).
const HOLD: Span = Span::from_millis(1000);
/// The largest limit (Linux: `DQL_MAX_LIMIT`).
const MOST: u64 = (u32::MAX / 2 - u32::MAX / 16) as u64;

/// The state of a ring's byte limit. Sums of bytes count from the beginning.
#[derive(Clone, Debug)]
pub(super) struct ByteLimit {
    limit: u64,
    /// Bytes that have entered the ring, and those that have left it.
    queued: u64,
    completed: u64,
    /// Length of the packet that entered last.
    newest: u64,
    /// The state at the last completion.
    last: Completion,
    least_slack: u64,
    slack_since: Time,
}

/// The state of the ring at a completion.
#[derive(Clone, Default, Debug)]
struct Completion {
    /// Bytes that had entered the ring by then.
    queued: u64,
    /// By how much the ring was over its limit.
    over: u64,
    /// Length of the packet that had entered last.
    newest: u64,
}

impl ByteLimit {
    /// The limit of an idle ring. It lets one packet in.
    pub(super) fn new() -> ByteLimit {
        ByteLimit {
            limit: 0,
            queued: 0,
            completed: 0,
            newest: 0,
            last: Completion::default(),
            least_slack: u64::MAX,
            slack_since: Time::ZERO,
        }
    }

    /// Whether another packet may enter (`dql_avail`).
    pub(super) fn has_room(&self) -> bool {
        self.queued - self.completed <= self.limit
    }

    /// A packet enters the ring (`dql_queued`).
    pub(super) fn enter(&mut self, len: u32) {
        self.newest = u64::from(len);
        self.queued += self.newest;
    }

    /// A packet was sent at `now` (`dql_completed`). Each packet completes by itself: interrupts are not coalesced.
    pub(super) fn complete(&mut self, len: u32, now: Time) {
        let before = self.completed;
        self.completed += u64::from(len);
        let left = self.queued - self.completed;
        let over = (self.queued - before).saturating_sub(self.limit);
        let all_older_gone = self.completed >= self.last.queued;
        let mut limit = self.limit;
        if (over > 0 && left == 0) || (self.last.over > 0 && all_older_gone) {
            limit += self.completed.saturating_sub(self.last.queued) + self.last.over;
            self.observe_slack_from(now);
        } else if left > 0 && self.last.queued > before && !all_older_gone {
            self.least_slack = self.least_slack.min(self.slack(u64::from(len)));
            if now > self.slack_since + HOLD {
                limit = limit.saturating_sub(self.least_slack);
                self.observe_slack_from(now);
            }
        }
        limit = limit.min(MOST);
        let over = if limit == self.limit { over } else { 0 };
        self.limit = limit;
        self.last = Completion { queued: self.queued, over, newest: self.newest };
    }

    /// The bytes in the ring that were not needed to keep the wire busy until this completion of `done` bytes: those
    /// beyond twice the bytes that complete at once, or the part of the newest packet that was below the limit.
    fn slack(&self, done: u64) -> u64 {
        let beyond = (self.limit + self.last.over).saturating_sub(2 * done);
        let of_newest = if self.last.over > 0 { self.last.newest.saturating_sub(self.last.over) } else { 0 };
        beyond.max(of_newest)
    }

    fn observe_slack_from(&mut self, now: Time) {
        self.slack_since = now;
        self.least_slack = u64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends full packets of a backlog one by one, a millisecond each; returns the packets in the ring at each completion.
    fn backlog(limit: &mut ByteLimit, from: u64, packets: u64) -> Vec<u64> {
        let mut inside = limit.queued - limit.completed;
        let mut seen = Vec::new();
        for n in 0..packets {
            while limit.has_room() {
                limit.enter(1500);
                inside += 1500;
            }
            seen.push(inside / 1500);
            limit.complete(1500, Time::from_nanos((from + n) * 1_000_000));
            inside -= 1500;
        }
        seen
    }

    /// The first completions by hand: the ring starves with one packet (limit 1500), is over its limit when all older
    /// packets are gone (limit 3000), and stays there.
    #[test]
    fn the_limit_grows_until_the_ring_does_not_starve() {
        let mut limit = ByteLimit::new();
        assert_eq!(backlog(&mut limit, 0, 6), [1, 2, 2, 3, 3, 3]);
        assert_eq!(limit.limit, 3000);
    }

    #[test]
    fn slack_is_given_up_after_a_second_and_no_sooner() {
        let mut limit = ByteLimit::new();
        backlog(&mut limit, 0, 6);
        limit.limit = 30_000;
        let seen = backlog(&mut limit, 6, 3000);
        assert_eq!(seen[5..900].iter().min(), Some(&21));
        // The packets that were above the lower limit leave one by one.
        assert!(seen[2020..].iter().all(|&n| n <= 4), "{:?}", &seen[2020..2040]);
    }

    /// Packets that come one at a time, each after the one before has left, need no larger limit than one packet.
    #[test]
    fn an_idle_wire_does_not_raise_the_limit() {
        let mut limit = ByteLimit::new();
        for n in 0..1000 {
            assert!(limit.has_room());
            limit.enter(1500);
            limit.complete(1500, Time::from_nanos(n * 10_000_000));
        }
        assert!(limit.limit <= 1500, "{}", limit.limit);
    }
}
