//! DCTCP (RFC 8257): the window is cut by half the share of bytes that were marked, estimated over some round trips.
//!
//! M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010. Growth and the reaction to losses are Reno's. The estimate
//! is kept in 1/1024 with a gain of 1/16, as Linux does (`tcp_dctcp.c`, Linux 6.12), and begins at one, so that the first
//! mark halves the window (RFC 8257 section 4.2).

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Echo, Implementation, Marks, PathView, SlowStart, Trigger};

pub(super) const ENTRY: Implementation = Implementation {
    label: "DCTCP",
    linux: Some("dctcp"),
    marks: Marks::Needed,
    ..Implementation::new(
        Description {
            name: "dctcp",
            summary: "cuts the window by the share of marked bytes; needs links that mark (mark = \"65p\")",
            reference: "RFC 8257; Linux 6.12 tcp_dctcp.c",
        },
        |config| Box::new(Dctcp::new(config)),
    )
};

/// The estimate when all bytes are marked (`DCTCP_MAX_ALPHA`).
const ALL: u64 = 1 << ALL_SHIFT;
const ALL_SHIFT: u32 = 10;
/// The gain g = 1/16 (section 4.2).
const GAIN_SHIFT: u32 = 4;

/// DCTCP.
#[derive(Clone, Debug)]
pub struct Dctcp {
    w: Windows,
    /// The estimated share of marked bytes, in 1/1024.
    alpha: u64,
    /// The observation window ends when this position is acknowledged.
    window_end: u64,
    delivered: u64,
    marked: u64,
}

impl Dctcp {
    pub(super) fn new(config: Config) -> Dctcp {
        Dctcp { w: Windows::new(&config, SlowStart::Standard), alpha: ALL, window_end: 0, delivered: 0, marked: 0 }
    }

    /// Section 3.3: alpha = (1 - g) alpha + g M, as `dctcp_update_alpha` rounds it.
    fn update_alpha(&mut self, delivered: u64, marked: u64) {
        let decay = self.alpha >> GAIN_SHIFT;
        self.alpha -= if decay > 0 { decay } else { self.alpha };
        if marked > 0 {
            let share = (u128::from(marked) << (ALL_SHIFT - GAIN_SHIFT)) / u128::from(delivered.max(1));
            self.alpha = (self.alpha + share as u64).min(ALL);
        }
    }

    /// The reduction by a mark: window x alpha / 2, in whole units of the granularity.
    fn cut(&self) -> u64 {
        let grains = self.w.window / self.w.grain;
        ((u128::from(grains) * u128::from(self.alpha)) >> (ALL_SHIFT + 1)) as u64 * self.w.grain
    }
}

impl CongestionController for Dctcp {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_echo(&mut self, echo: &Echo) {
        if echo.acked_to < self.window_end {
            return;
        }
        let delivered = echo.total_delivered - self.delivered;
        self.update_alpha(delivered, echo.total_marked - self.marked);
        self.window_end = echo.sent_to;
        self.delivered = echo.total_delivered;
        self.marked = echo.total_marked;
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive(rest, self.w.window);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let taken = if matches!(event.trigger, Trigger::Ecn | Trigger::Local) { self.cut() } else { self.w.window / 2 };
        self.w.reduce(event, self.w.window - taken);
    }

    /// Section 3.5: a loss halves the window whatever the marks did (`dctcp_react_to_loss`).
    fn on_loss_while_reducing(&mut self, window: u64) {
        self.w.lower(window / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, config};
    use haltere_net::Time;

    fn marks(cc: &mut Dctcp) -> u64 {
        let event =
            Congestion { now: Time::ZERO, trigger: Trigger::Ecn, new_episode: true, in_flight: 100 * MSS, lost: 0 };
        cc.on_congestion(&event);
        cc.window()
    }

    /// Round trips of 100 segments of which this many are marked.
    fn observe(cc: &mut Dctcp, rounds: u64, marked: u64) {
        for _ in 0..rounds {
            let end = cc.window_end;
            cc.on_echo(&Echo {
                now: Time::ZERO,
                acked_to: end,
                sent_to: end + 100,
                total_delivered: cc.delivered + 100 * MSS,
                total_marked: cc.marked + marked * MSS,
            });
        }
    }

    fn with_window(segments: u64) -> Dctcp {
        let mut cc = Dctcp::new(config());
        cc.w.window = segments * MSS;
        cc
    }

    #[test]
    fn the_first_mark_halves_the_window() {
        assert_eq!(marks(&mut with_window(100)), 50 * MSS);
    }

    #[test]
    fn the_window_is_cut_by_half_of_alpha() {
        // alpha of 512/1024: W (1 - 1/4).
        let mut cc = with_window(100);
        cc.alpha = 512;
        assert_eq!(marks(&mut cc), 75 * MSS);
        // A reduction of less than a segment is not made.
        let mut cc = with_window(100);
        cc.alpha = 20;
        assert_eq!(marks(&mut cc), 100 * MSS);
        let mut bytes = Dctcp::new(Config { grain: 1, ..config() });
        (bytes.w.window, bytes.alpha) = (100 * MSS, 20);
        assert_eq!(marks(&mut bytes), 100 * MSS - 100 * MSS * 20 / 2048);
    }

    #[test]
    fn alpha_follows_the_share_of_marks_by_a_sixteenth() {
        let mut cc = with_window(100);
        observe(&mut cc, 1, 0);
        assert_eq!(cc.alpha, 960, "15/16");
        observe(&mut cc, 200, 0);
        assert_eq!(cc.alpha, 0);
        observe(&mut cc, 1, 100);
        assert_eq!(cc.alpha, 64, "1/16");
        observe(&mut cc, 200, 25);
        let share = cc.alpha as f64 / 1024.0;
        assert!((share - 0.25).abs() < 0.02, "{share}");
    }

    #[test]
    fn a_loss_halves_the_window_that_a_mark_still_reduces() {
        let mut cc = with_window(100);
        cc.alpha = 204;
        assert_eq!(marks(&mut cc), 91 * MSS);
        cc.on_loss_while_reducing(95 * MSS);
        assert_eq!([cc.window(), cc.ssthresh()], [47 * MSS; 2]);
    }

    #[test]
    fn a_loss_halves_the_window_whatever_alpha_is() {
        let mut cc = with_window(100);
        cc.alpha = 0;
        let now = Time::ZERO;
        cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight: 0, lost: MSS });
        assert_eq!(cc.window(), 50 * MSS);
    }
}
