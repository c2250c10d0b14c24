//! LIA, linked increases (RFC 6356; D. Wischik, C. Raiciu, A. Greenhalgh, M. Handley, "Design, Implementation and Evaluation of
//! Congestion Control for Multipath TCP", NSDI 2011).
//!
//! In congestion avoidance each path grows by the smaller of alpha / (sum of windows) and 1 / (own window) for each segment
//! acknowledged, with alpha = (sum of windows) max(w / rtt^2) / (sum of w / rtt)^2, so that all paths together gain as much
//! as a single connection on the best of them. Alpha is computed for each ACK. Slow start and reductions are Reno's. On a
//! single path it is Reno.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart, coupled};

pub(super) const ENTRY: Implementation = Implementation {
    label: "LIA",
    coupled: true,
    ..Implementation::new(
        Description {
            name: "lia",
            summary: "coupled: all paths together grow like Reno on the best path; Reno on a single path",
            reference: "RFC 6356",
        },
        |config| Box::new(Lia::new(config)),
    )
};

/// LIA.
#[derive(Clone, Debug)]
pub struct Lia {
    w: Windows,
}

impl Lia {
    pub(super) fn new(config: Config) -> Lia {
        Lia { w: Windows::new(&config, SlowStart::Standard) }
    }

    /// Bytes to deliver for one segment of growth: the sum of windows over alpha, at least the own window.
    fn per_segment(&self, siblings: &[PathView]) -> u64 {
        if coupled::own(siblings).is_none() {
            return self.w.window;
        }
        let total = coupled::total_rate(siblings);
        let best = coupled::flows(siblings).map(|flow| flow.window / (flow.rtt * flow.rtt)).fold(0.0, f64::max);
        ((total * total / best) as u64).max(self.w.window)
    }
}

impl CongestionController for Lia {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss);

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive(rest, self.per_segment(siblings));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
    }
}

#[cfg(test)]
mod tests {
    use crate::cc;
    use super::super::coupled::samples::{acks_to_change, paths};
    use crate::path::PathState;

    fn acks(views: &[(u64, u64)], own: usize) -> Option<i32> {
        acks_to_change(cc::LIA, &paths(views, own))
    }

    #[test]
    fn paths_grow_by_alpha_over_the_sum_of_windows() {
        // Rates of 200 segments a second each, the best w / rtt^2 is 4000: alpha = 30 * 4000 / 400^2 = 0.75, 0.025 an ACK.
        assert_eq!(acks(&[(10, 50), (20, 100)], 0), Some(40));
        assert_eq!(acks(&[(10, 50), (20, 100)], 1), Some(40));
        // Equal paths: alpha is 1/2, so that two of them grow by a quarter of a Reno each.
        assert_eq!(acks(&[(20, 100), (20, 100)], 0), Some(80));
        // Rates of 1000 and 100: 1100^2 / 100 000 = 12.1 segments.
        assert_eq!(acks(&[(10, 10), (10, 100)], 0), Some(13));
    }

    #[test]
    fn no_path_grows_faster_than_reno() {
        // A large window at a long RTT: 200^2 / 10 000 = 4 segments, but the window is 100.
        assert_eq!(acks(&[(1, 10), (100, 1000)], 1), Some(100));
    }

    #[test]
    fn a_path_that_carries_nothing_does_not_count() {
        let mut views = paths(&[(10, 50), (20, 100)], 0);
        views[1].state = PathState::Suspect;
        assert_eq!(acks_to_change(cc::LIA, &views), Some(10));
    }
}
