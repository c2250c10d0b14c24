//! OLIA, opportunistic linked increases (R. Khalili, N. Gast, M. Popovic, J.-Y. Le Boudec, "MPTCP is not Pareto-Optimal:
//! Performance Issues and a Possible Solution", CoNEXT 2012; draft-khalili-mptcp-congestion-control-05).
//!
//! In congestion avoidance each path grows by (w / rtt^2) / (sum of w / rtt)^2 + e / w for each segment acknowledged. The term
//! e moves window from the paths with the largest windows (-1 / (n m) for each of m of n paths) to the best paths whose
//! windows are smaller (+1 / (n b) for each of b of them), if there are such. The best paths have the largest l / rtt^2 with l
//! the larger of the bytes acknowledged since the last loss and between the last two. A window may shrink by this, but not
//! below two segments. Slow start and reductions are Reno's. On a single path it is Reno.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart, coupled};

pub(super) const ENTRY: Implementation = Implementation {
    label: "OLIA",
    coupled: true,
    ..Implementation::new(
        Description {
            name: "olia",
            summary: "coupled: as lia, but moves its window to the best paths; Reno on a single path",
            reference: "Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control-05",
        },
        |config| Box::new(Olia::new(config)),
    )
};

/// OLIA.
#[derive(Clone, Debug)]
pub struct Olia {
    w: Windows,
    /// The segments by which the window has to grow; negative if it has to shrink.
    credit: f64,
}

impl Olia {
    pub(super) fn new(config: Config) -> Olia {
        Olia { w: Windows::new(&config, SlowStart::Standard), credit: 0.0 }
    }

    /// Bytes delivered while several paths share the increase.
    fn grow(&mut self, own: coupled::Flow, siblings: &[PathView], delivered: u64) {
        let total = coupled::total_rate(siblings);
        let increase = own.rate() / own.rtt / (total * total) + epsilon(own, siblings) / own.window;
        let credit = self.credit + delivered as f64 * increase;
        if !credit.is_finite() {
            return;
        }
        let whole = credit as i64;
        self.credit = credit - whole as f64;
        let by = whole.unsigned_abs().saturating_mul(self.w.mss);
        self.w.window = match whole {
            0 => return,
            1.. => self.w.window.saturating_add(by),
            _ => self.w.window.saturating_sub(by).max(2 * self.w.mss).min(self.w.window),
        };
        // A window that shrank below the threshold stays in congestion avoidance.
        self.w.ssthresh = self.w.ssthresh.min(self.w.window);
    }
}

/// By how much of a segment a window of the own path grows beyond its share.
fn epsilon(own: coupled::Flow, siblings: &[PathView]) -> f64 {
    let flows = coupled::flows(siblings);
    let quality = |flow: &coupled::Flow| flow.volume / (flow.rtt * flow.rtt);
    let largest = flows.clone().map(|flow| flow.window).fold(0.0, f64::max);
    let best = flows.clone().map(|flow| quality(&flow)).fold(0.0, f64::max);
    let is_largest = |flow: &coupled::Flow| flow.window >= largest;
    let is_collecting = |flow: &coupled::Flow| quality(flow) >= best && !is_largest(flow);
    let count = flows.clone().count() as f64;
    let collecting = flows.clone().filter(is_collecting).count() as f64;
    if collecting == 0.0 {
        0.0
    } else if is_collecting(&own) {
        1.0 / (count * collecting)
    } else if is_largest(&own) {
        -1.0 / (count * flows.filter(is_largest).count() as f64)
    } else {
        0.0
    }
}

impl CongestionController for Olia {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss);

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            match coupled::own(siblings) {
                Some(own) => self.grow(own, siblings, rest),
                None => self.w.additive_reno(rest),
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.new_episode {
            self.credit = 0.0;
        }
        self.w.reduce(event, self.w.window / 2);
    }
}

#[cfg(test)]
mod tests {
    use crate::cc;
    use super::super::bench::MSS;
    use super::super::coupled::samples::{acks_to_change, paths};
    use crate::path::PathView;

    /// Whether the window grows after so many ACKs of a segment, or shrinks if negative, up to what rounding of the sum makes of it.
    #[track_caller]
    fn assert_changes(views: &[PathView], after: i32) {
        let change = acks_to_change(cc::OLIA, views);
        assert!(change.is_some_and(|acks| acks.abs_diff(after) <= 1), "{change:?}");
    }

    /// Two or more paths with what each delivered since its last loss, segments.
    fn with(windows: &[(u64, u64)], volumes: &[u64], own: usize) -> Vec<PathView> {
        let mut views = paths(windows, own);
        views.iter_mut().zip(volumes).for_each(|(view, segments)| view.since_loss = segments * MSS);
        views
    }

    #[test]
    fn without_better_paths_each_grows_by_its_share() {
        // Rates of 200 segments a second each: 4000 / 400^2 = 0.025 and 2000 / 400^2 = 0.0125. The path with the larger
        // window is the best, too: 400 / 0.1^2 against 50 / 0.05^2.
        let volumes = [50, 400];
        assert_changes(&with(&[(10, 50), (20, 100)], &volumes, 0), 40);
        assert_changes(&with(&[(10, 50), (20, 100)], &volumes, 1), 80);
    }

    #[test]
    fn the_largest_window_gives_to_the_best_path() {
        let both = [(10, 100), (20, 100)];
        // Shares of 1000 / 300^2 = 0.0111 and 2000 / 300^2 = 0.0222, and 1/2 over the window: 0.0611 and -0.00278.
        assert_changes(&with(&both, &[100, 50], 0), 17);
        assert_changes(&with(&both, &[100, 50], 1), -360);
        // Bytes between the last two losses count if they are more.
        let mut views = with(&both, &[100, 50], 0);
        views[1].between_losses = 101 * MSS;
        assert_changes(&views, 90);
    }

    #[test]
    fn the_rtt_counts_with_its_square() {
        // 100 / 0.05^2 = 40 000 against 300 / 0.1^2 = 30 000: path 0 is the best. 4000 / 400^2 + 1 / (2 * 10) = 0.075.
        assert_changes(&with(&[(10, 50), (20, 100)], &[100, 300], 0), 14);
    }

    #[test]
    fn several_best_paths_share_and_those_in_between_have_their_share_only() {
        let three = [(10, 100), (10, 100), (20, 100)];
        // 1000 / 400^2 = 0.00625, and 1 / (3 * 2 * 10) = 0.0167.
        assert_changes(&with(&three, &[100, 100, 50], 0), 44);
        assert_changes(&with(&three, &[100, 90, 50], 1), 160);
    }

    #[test]
    fn a_window_does_not_shrink_below_two_segments() {
        assert_eq!(acks_to_change(cc::OLIA, &with(&[(1, 1), (2, 1000)], &[100, 1], 1)), None);
    }
}
