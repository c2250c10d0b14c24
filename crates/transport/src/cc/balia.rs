//! BALIA, balanced linked adaptation (Q. Peng, A. Walid, J. Hwang, S. Low, "Multipath TCP: Analysis, Design, and
//! Implementation", IEEE/ACM ToN 24(1), 2016; draft-walid-mptcp-congestion-control-04).
//!
//! With the rate x = w / rtt of each path and a = max(x) / x of the own one, each path grows in congestion avoidance by
//! x / (rtt (sum of x)^2) (1 + a) / 2 (4 + a) / 5 for each segment acknowledged, and loses w / 2 min(a, 1.5) on a loss.
//! The ratio a is that of the last ACK. Slow start is Reno's. On a single path a is 1 and it is Reno. The authors' kernel module
//! rounds a down to a whole number; here it is exact.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart, coupled};

pub(super) const ENTRY: Implementation = Implementation {
    label: "BALIA",
    coupled: true,
    ..Implementation::new(
        Description {
            name: "balia",
            summary: "coupled: between lia and olia, with larger reductions on slower paths; Reno on a single path",
            reference: "Peng et al., IEEE/ACM ToN 24(1), 2016; draft-walid-mptcp-congestion-control-04",
        },
        |config| Box::new(Balia::new(config)),
    )
};

/// The most that a reduction takes of half a window.
const LARGEST_CUT: f64 = 1.5;

/// BALIA.
#[derive(Clone, Debug)]
pub struct Balia {
    w: Windows,
    /// The largest rate over the own one, at least 1.
    ratio: f64,
}

impl Balia {
    pub(super) fn new(config: Config) -> Balia {
        Balia { w: Windows::new(&config, SlowStart::Standard), ratio: 1.0 }
    }

    /// Bytes to deliver for one segment of growth.
    fn per_segment(&self, siblings: &[PathView]) -> u64 {
        let Some(own) = coupled::own(siblings) else { return self.w.window };
        let total = coupled::total_rate(siblings);
        (10.0 * total * total * own.rtt / (own.rate() * (1.0 + self.ratio) * (4.0 + self.ratio))) as u64
    }
}

impl CongestionController for Balia {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss);

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        self.ratio = coupled::own(siblings).map_or(1.0, |own| {
            coupled::flows(siblings).map(|flow| flow.rate()).fold(own.rate(), f64::max) / own.rate()
        });
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive(rest, self.per_segment(siblings));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let extra = (self.w.window as f64 / 2.0 * (self.ratio.min(LARGEST_CUT) - 1.0)) as u64;
        self.w.reduce(event, (self.w.window / 2).saturating_sub(extra));
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{MSS, ack};
    use super::super::coupled::samples::{acks_to_change, avoiding, paths};
    use crate::cc::{self, Congestion, Trigger};
    use haltere_net::Time;

    fn acks(views: &[(u64, u64)], own: usize) -> Option<i32> {
        acks_to_change(cc::BALIA, &paths(views, own))
    }

    /// The segments that a loss leaves of the own window.
    fn kept(views: &[(u64, u64)], own: usize) -> f64 {
        let mut cc = avoiding(cc::BALIA, views[own].0);
        cc.on_ack(&ack(|a| a.may_grow = false), &paths(views, own));
        let (now, trigger, in_flight, lost) = (Time::ZERO, Trigger::Loss, 0, MSS);
        cc.on_congestion(&Congestion { now, trigger, new_episode: true, in_flight, lost });
        cc.window() as f64 / MSS as f64
    }

    #[test]
    fn paths_of_equal_rates_grow_by_their_share_and_halve() {
        // Rates of 200 segments a second, a = 1: 200 / (0.05 * 400^2) = 0.025 and 0.0125.
        let equal = [(10, 50), (20, 100)];
        assert_eq!(acks(&equal, 0), Some(40));
        assert_eq!(acks(&equal, 1), Some(80));
        assert_eq!([kept(&equal, 0), kept(&equal, 1)], [5.0, 10.0]);
    }

    #[test]
    fn a_slower_path_grows_faster_than_its_share_and_loses_more() {
        // Rates of 1000 and 100. The faster: a = 1, 1000 / (0.01 * 1100^2) = 1 / 12.1. The slower: a = 10,
        // 100 / (0.1 * 1100^2) * 11 / 2 * 14 / 5 = 1 / 78.6; a loss takes 3/4.
        let unlike = [(10, 10), (10, 100)];
        assert_eq!(acks(&unlike, 0), Some(13));
        assert_eq!(acks(&unlike, 1), Some(79));
        assert_eq!([kept(&unlike, 0), kept(&[(10, 10), (40, 1000)], 1)], [5.0, 10.0]);
        // a = 1.25: 3/8 are left.
        assert_eq!(kept(&[(10, 100), (8, 100)], 1), 3.0);
    }
}
