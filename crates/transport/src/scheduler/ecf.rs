//! ECF, earliest completion first (Y. Lim, E. Nahum, D. Towsley, R. Gibbens, "ECF: An MPTCP Path Scheduler to Manage
//! Heterogeneous Paths", CoNEXT 2017, Algorithm 1).
//!
//! Where the fastest path has no room, the next path takes data only if all that waits would not be over sooner if it waited
//! for the fastest. As in the authors' kernel module (`mptcp_ecf.c`), what waits counts as at least a window. Sigma, the
//! variation of the RTT, is the mean deviation here, where the paper has the standard deviation.

use super::choice::{by_rtt, candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "ecf",
        summary: "as lowest-rtt, but waits for the fastest path if all that waits is over sooner that way",
        reference: "Lim et al., CoNEXT 2017, Algorithm 1",
    },
    |_| Box::new(Ecf::new()),
);

/// The paper's beta is 1/4: how much longer than the slower path it may take the fastest one once the scheduler waits.
const INVERSE_BETA: u128 = 4;

/// ECF.
#[derive(Clone, Copy, Default, Debug)]
pub struct Ecf {
    /// Whether the last comparison was for waiting (`waiting` in the paper): then it takes more to end it.
    waiting: bool,
}

impl Ecf {
    pub(super) fn new() -> Ecf {
        Ecf::default()
    }

    /// Whether to wait for the fastest path rather than to use `slow`.
    fn waits(&mut self, (fast, fast_rtt): (&PathView, Span), (slow, slow_rtt): (&PathView, Span), k: u64) -> bool {
        let wide = |n: u64| u128::from(n);
        let (rtt_f, rtt_s) = (wide(fast_rtt.as_nanos()), wide(slow_rtt.as_nanos()));
        let delta = wide(fast.rtt_variation.max(slow.rtt_variation).as_nanos());
        let (window_f, window_s) = (wide(fast.window), wide(slow.window));
        // (1 + k / window_f) RTT_f < (1 + waiting * beta) (RTT_s + delta)
        let through_fast = rtt_f.saturating_mul(wide(k).max(window_f) + window_f).saturating_mul(INVERSE_BETA);
        let margin = INVERSE_BETA + u128::from(self.waiting);
        if through_fast >= window_f.saturating_mul(rtt_s + delta).saturating_mul(margin) {
            self.waiting = false;
            return false;
        }
        // k / window_s RTT_s >= 2 RTT_f + delta
        let much_slower = rtt_s.saturating_mul(wide(k).max(window_s)) >= window_s.saturating_mul(2 * rtt_f + delta);
        self.waiting |= much_slower;
        much_slower
    }
}

impl PathScheduler for Ecf {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        let ready = candidates(paths).filter(|path| is_ready(path, now));
        let (Some(fast), Some(next)) = (candidates(paths).min_by_key(by_rtt), ready.min_by_key(by_rtt)) else {
            return wait(candidates(paths));
        };
        if next.id != fast.id
            && let (Some(fast_rtt), Some(slow_rtt)) = (fast.srtt, next.srtt)
            && self.waits((fast, fast_rtt), (next, slow_rtt), demand.waiting)
        {
            return wait(std::iter::once(fast));
        }
        Pick::On(next.id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{MSS, NOW, full, path};
    use super::*;
    use haltere_net::PathId;

    /// RTTs of 10 and 100 ms with sigmas of 2 and 10 ms, windows of ten segments; the faster path is full.
    fn paths() -> [PathView; 2] {
        let with = |view: PathView, ms| PathView { rtt_variation: Span::from_millis(ms), ..view };
        [full(with(path(0, 10), 2)), with(path(1, 100), 10)]
    }

    fn picks(scheduler: &mut Ecf, segments: u64) -> Pick {
        scheduler.pick(&paths(), &Demand { waiting: segments * MSS, ..Demand::default() }, NOW)
    }

    const WAITS: Pick = Pick::WaitUntil(Time::NEVER);
    const SLOW: Pick = Pick::On(PathId(1));

    #[test]
    fn it_waits_if_the_fastest_path_is_done_with_all_before_the_slower_one() {
        // (1 + k / 10) 10 ms are 20, 20, 40, 70 and 100 ms, against 110 ms; for 200 segments they are 210 ms.
        for segments in [1, 10, 30, 60, 90] {
            assert_eq!(picks(&mut Ecf::new(), segments), WAITS, "{segments}");
        }
        assert_eq!(picks(&mut Ecf::new(), 200), SLOW);
    }

    #[test]
    fn once_it_waits_it_takes_a_quarter_more_to_end_that() {
        // 100 segments take 110 ms, which is not less than 110 ms, but less than 137.5 ms.
        assert_eq!(picks(&mut Ecf::new(), 100), SLOW);
        let mut scheduler = Ecf::new();
        assert_eq!(picks(&mut scheduler, 90), WAITS);
        assert_eq!(picks(&mut scheduler, 127), WAITS);
        assert_eq!(picks(&mut scheduler, 128), SLOW);
        assert_eq!(picks(&mut scheduler, 127), SLOW, "it no longer waits");
    }

    #[test]
    fn a_path_hardly_slower_is_used_and_leaves_the_state_as_it_is() {
        let mut paths = paths();
        // 1.0 times 25 ms is less than 2 times 10 ms plus 10 ms.
        paths[1].srtt = Some(Span::from_millis(25));
        let mut scheduler = Ecf { waiting: true };
        let few = Demand { waiting: MSS, ..Demand::default() };
        assert_eq!(scheduler.pick(&paths, &few, NOW), SLOW);
        assert!(scheduler.waiting);
    }

    #[test]
    fn the_fastest_path_goes_first_and_pacing_of_it_is_waited_for() {
        let mut paths = paths();
        paths[0].in_flight = 0;
        let few = Demand { waiting: MSS, ..Demand::default() };
        assert_eq!(Ecf::new().pick(&paths, &few, NOW), Pick::On(PathId(0)));
        paths[0].paced_until = NOW + Span::from_millis(1);
        assert_eq!(Ecf::new().pick(&paths, &few, NOW), Pick::WaitUntil(paths[0].paced_until));
    }
}
