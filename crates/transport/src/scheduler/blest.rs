//! BLEST, blocking estimation (S. Ferlin, Ö. Alay, O. Mehani, R. Boreli, "BLEST: Blocking Estimation-based MPTCP Scheduler for
//! Heterogeneous Networks", IFIP Networking 2016).
//!
//! A packet on a slower path occupies the connection's send window until it is acknowledged. If the fastest path could send
//! more in that time than the window leaves it, it would be blocked, and the slower path is skipped.
//!
//! The data that the fastest path can send is the paper's estimate: X = MSS (window + (r - 1) / 2) r with r the ratio of the RTTs. It
//! is multiplied by lambda, which rises with each RTT in which the send window was blocked by a slower path, and falls in
//! others. The paper leaves the step open (it tries 0.001 to 0.02) and names no bounds. Start, steps and bounds are those of
//! the authors' kernel module (`mptcp_blest.c`): 1.2, +0.04, -0.01, between 1.0 and 1.3, at most once an RTT of the slower
//! path. The module's own estimate of X, which doubles the window in slow start and counts whole RTTs, is not used.

use super::choice::{by_rtt, candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{PathId, Span, Time};

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "blest",
        summary: "as lowest-rtt, but skips a slower path that would use up the send window that the fastest one needs",
        reference: "Ferlin et al., IFIP Networking 2016; mptcp_blest.c for lambda",
    },
    |_| Box::new(Blest::new()),
);

/// Lambda in thousandths: its start, its bounds and its steps.
const START: u64 = 1200;
const LEAST: u64 = 1000;
const MOST: u64 = 1300;
const UP: u64 = 40;
const DOWN: u64 = 10;

/// BLEST.
#[derive(Clone, Copy, Debug)]
pub struct Blest {
    /// The factor on the estimate, thousandths.
    lambda: u64,
    /// When it last changed.
    reviewed: Option<Time>,
    /// Whether a slower path blocked the send window since then.
    blocked: bool,
    /// The fastest path at the last pick.
    fastest: Option<PathId>,
}

impl Blest {
    pub(super) fn new() -> Blest {
        Blest { lambda: START, reviewed: None, blocked: false, fastest: None }
    }

    fn review(&mut self, slow: &PathView, now: Time) {
        let rtt = slow.min_rtt.or(slow.srtt).unwrap_or(Span::ZERO);
        if now.since(*self.reviewed.get_or_insert(now)) < rtt.max(Span::from_nanos(1)) {
            return;
        }
        self.lambda = if self.blocked { self.lambda + UP } else { self.lambda - DOWN }.clamp(LEAST, MOST);
        self.blocked = false;
        self.reviewed = Some(now);
    }

    /// The bytes that the fastest path could send in an RTT of the slower one, times lambda.
    fn estimate(&self, fast: &PathView, ratio: f64) -> f64 {
        let (window, mss) = (fast.window as f64, fast.mss as f64);
        (window + mss * (ratio - 1.0) / 2.0) * ratio * self.lambda as f64 / 1000.0
    }

    /// Whether a packet on `slow` would block the fastest path.
    fn would_block(&self, fast: &PathView, slow: &PathView, demand: &Demand) -> bool {
        let (Some(fast_rtt), Some(slow_rtt)) = (fast.srtt, slow.srtt) else { return false };
        let ratio = slow_rtt.as_nanos() as f64 / fast_rtt.as_nanos().max(1) as f64;
        let left = demand.send_window().saturating_sub(slow.held().saturating_add(slow.mss));
        self.estimate(fast, ratio) > left as f64
    }
}

impl PathScheduler for Blest {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        let ready = candidates(paths).filter(|path| is_ready(path, now));
        let fast = candidates(paths).min_by_key(by_rtt);
        self.fastest = fast.map(|path| path.id);
        let (Some(fast), Some(next)) = (fast, ready.min_by_key(by_rtt)) else {
            return wait(candidates(paths));
        };
        if next.id != fast.id {
            self.review(next, now);
            if self.would_block(fast, next, demand) {
                return wait(std::iter::once(fast));
            }
        }
        Pick::On(next.id)
    }

    fn on_blocked(&mut self, head: PathId, _: Time) {
        self.blocked |= self.fastest.is_some_and(|fastest| fastest != head);
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{MSS, NOW, demand, full, path};
    use super::*;

    /// RTTs of 10 and 100 ms, windows of ten segments; the faster path is full.
    fn paths() -> [PathView; 2] {
        [full(path(0, 10)), path(1, 100)]
    }

    fn pick(scheduler: &mut Blest, segments: u64, now: Time) -> Pick {
        let demand = Demand { outstanding: 10 * MSS, window: (segments - 10) * MSS, ..demand() };
        scheduler.pick(&paths(), &demand, now)
    }

    const SLOW: Pick = Pick::On(PathId(1));

    #[test]
    fn the_fastest_path_is_left_the_window_that_it_needs() {
        // X = (10 + 9 / 2) 10 = 145 segments, and one goes on the slower path.
        let at = |lambda, segments| pick(&mut Blest { lambda, ..Blest::new() }, segments, NOW);
        assert_eq!(at(1000, 146), SLOW);
        assert_eq!(at(1000, 145), Pick::WaitUntil(Time::NEVER));
        // 1.2 times 145 are 174.
        assert_eq!(at(1200, 175), SLOW);
        assert_eq!(at(1200, 174), Pick::WaitUntil(Time::NEVER));
    }

    #[test]
    fn what_the_slower_path_holds_counts() {
        let mut paths = paths();
        paths[1].in_flight = 3 * MSS;
        let mut scheduler = Blest { lambda: 1000, ..Blest::new() };
        let demand = |segments| Demand { window: segments * MSS, ..demand() };
        assert_eq!(scheduler.pick(&paths, &demand(149), NOW), SLOW);
        assert_eq!(scheduler.pick(&paths, &demand(148), NOW), Pick::WaitUntil(Time::NEVER));
    }

    #[test]
    fn lambda_rises_where_a_slower_path_blocked_and_falls_where_none_did_within_its_bounds() {
        let mut scheduler = Blest::new();
        let mut round = |rounds: u64, blocked: Option<u8>| {
            if let Some(head) = blocked {
                scheduler.on_blocked(PathId(head), NOW);
            }
            let _ = pick(&mut scheduler, 1000, NOW + Span::from_millis(rounds * 100));
            scheduler.lambda
        };
        assert_eq!(round(0, None), 1200, "the first round begins");
        assert_eq!(round(1, Some(1)), 1240);
        assert_eq!(round(1, Some(1)), 1240, "once a round trip");
        assert_eq!([round(2, None), round(3, Some(1)), round(4, Some(1))], [1280, 1300, 1300]);
        assert_eq!(round(5, Some(0)), 1290, "the fastest path blocks nobody else");
        let falling: Vec<u64> = (6..40).map(|n| round(n, None)).collect();
        assert_eq!((falling[0], falling[28], falling[33]), (1280, 1000, 1000));
    }
}
