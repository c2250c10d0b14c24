//! wVegas, weighted Vegas (Y. Cao, M. Xu, X. Fu, "Delay-based Congestion Control for Multipath TCP", ICNP 2012;
//! draft-xu-mptcp-congestion-control-05).
//!
//! Each path is a Vegas that keeps alpha segments in queues. All alphas together are ten segments; a path's share of them is its
//! share of the connection's rate, found each time that its queue has reached alpha. Once a round trip the window grows by a
//! segment if fewer are queued, and shrinks by one if more are. If the queueing delay is twice the smallest seen since the last
//! such time, the window is cut by half of the base RTT over the RTT, so that the queue drains and the base RTT is seen anew.
//! Slow start ends at one segment in the queue. Losses halve the window as in RFC 5681; in recovery it is Reno.
//!
//! Constants and order are those of the authors' kernel module (`mptcp_wvegas.c`): an alpha of 2 to begin with, 10 in all, at
//! least 2 for a path. The rates of the paths are their windows over their smoothed RTTs. The module takes those that each path
//! noted when its queue had last reached alpha. On a single path it is a Vegas that keeps ten segments queued.
//!
//! The rule for draining is taken literally. A queue that grows from nothing has doubled as soon as a second packet waits, so
//! that on a path whose delay varies little alpha is never reached and much of a link stays unused: a third in the closed loop
//! of the tests below, two thirds over QUIC. Noise in the RTT, as a kernel's timers cause it, makes the least delay larger and
//! cuts rarer.

use super::observed::Rounds;
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, Sent, SlowStart, Startup, coupled, whole};
use haltere_net::Span;

pub(super) const ENTRY: Implementation = Implementation {
    label: "wVegas",
    slow_start: Startup::Own,
    coupled: true,
    ..Implementation::new(
        Description {
            name: "wvegas",
            summary: "coupled, by delay: all paths together keep ten segments queued; moves to paths with shorter queues",
            reference: "Cao et al., ICNP 2012; draft-xu-mptcp-congestion-control-05",
        },
        |config| Box::new(WVegas::new(config)),
    )
};

/// Segments that a path keeps queued at first, and at least (`initial_alpha`).
const LEAST_ALPHA: u64 = 2;
/// Segments that all paths keep queued (`total_alpha`).
const TOTAL_ALPHA: f64 = 10.0;
/// Segments in the queue beyond which slow start ends.
const GAMMA: u64 = 1;
/// Samples of the RTT beyond which a round counts.
const FEW_SAMPLES: u64 = 2;

/// wVegas.
#[derive(Clone, Debug)]
pub struct WVegas {
    w: Windows,
    rounds: Rounds,
    /// Bytes to keep queued.
    alpha: u64,
    /// The smallest RTT ever.
    base: Option<Span>,
    /// The sum of this round's RTTs, and their number.
    sampled: Span,
    samples: u64,
    /// The smallest queueing delay since the last cut.
    least_delay: Option<Span>,
    phase: Phase,
}

impl WVegas {
    pub(super) fn new(config: Config) -> WVegas {
        let w = Windows::new(&config, SlowStart::Standard);
        WVegas {
            alpha: LEAST_ALPHA * w.mss,
            w,
            rounds: Rounds::default(),
            base: None,
            sampled: Span::ZERO,
            samples: 0,
            least_delay: None,
            phase: Phase::Open,
        }
    }

    fn sample(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.sampled += rtt;
            self.samples += 1;
        }
    }

    fn forget_round(&mut self) {
        self.sampled = Span::ZERO;
        self.samples = 0;
    }

    /// Begins anew after recovery or an idle time (`wvegas_enable`).
    fn enable(&mut self) {
        self.alpha = LEAST_ALPHA * self.w.mss;
        self.least_delay = None;
        self.forget_round();
    }

    fn like_reno(&mut self, ack: &Ack) {
        if let Some(rest) = self.w.grow(ack, ack.delivered) {
            self.w.additive_reno(rest);
        }
    }

    /// The part of `bytes` that `num / den` is.
    fn part(bytes: u64, num: Span, den: Span) -> u64 {
        (u128::from(bytes) * u128::from(num.as_nanos()) / u128::from(den.as_nanos().max(1))) as u64
    }

    /// A round has ended whose mean RTT is `rtt`.
    fn adjust(&mut self, ack: &Ack, base: Span, rtt: Span, siblings: &[PathView]) {
        let mss = self.w.mss;
        let queued = whole(WVegas::part(self.w.window, rtt - base, rtt), self.w.grain);
        if self.w.in_slow_start() {
            if queued > GAMMA * mss {
                let carried = whole(WVegas::part(self.w.window, base, rtt), self.w.grain);
                self.w.window = self.w.window.min(carried.saturating_add(mss));
                self.w.ssthresh = self.w.ssthresh.min(self.w.window.saturating_sub(mss));
            } else if ack.window_limited {
                self.w.slow_start(ack.delivered);
            }
        } else {
            self.steer(ack, queued, siblings);
            self.drain(base, rtt);
        }
        self.w.window = self.w.window.max(2 * mss);
        // `tcp_current_ssthresh`.
        self.w.ssthresh = self.w.ssthresh.max(self.w.window / 2 + self.w.window / 4);
    }

    /// Moves the window by a segment towards alpha.
    fn steer(&mut self, ack: &Ack, queued: u64, siblings: &[PathView]) {
        let mss = self.w.mss;
        if queued >= self.alpha {
            let share = coupled::own(siblings).map_or(1.0, |own| own.rate() / coupled::total_rate(siblings));
            let alpha = (share * TOTAL_ALPHA * mss as f64) as u64;
            self.alpha = whole(alpha, self.w.grain).max(LEAST_ALPHA * mss);
        }
        if queued > self.alpha {
            self.w.window = self.w.window.saturating_sub(mss);
            self.w.ssthresh = self.w.ssthresh.min(self.w.window.saturating_sub(mss));
        } else if queued < self.alpha && ack.window_limited {
            self.w.window = self.w.window.saturating_add(mss);
        }
    }

    /// Cuts the window if the queue has grown to twice its least delay.
    fn drain(&mut self, base: Span, rtt: Span) {
        let delay = rtt - base;
        if delay.is_zero() {
            // There is no queue to drain, and twice none is no bound.
            return;
        }
        let least = self.least_delay.map_or(delay, |least| least.min(delay));
        self.least_delay = Some(least);
        if delay >= least * 2 {
            self.w.window = whole(WVegas::part(self.w.window, base, rtt * 2), self.w.grain);
            self.least_delay = None;
        }
    }
}

impl CongestionController for WVegas {
    by_windows!(on_undo, window, ssthresh, set_mss);

    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
        if sent.after_idle.is_some_and(|idle| idle > sent.timeout) {
            self.base = None;
            self.enable();
        }
    }

    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]) {
        self.sample(ack);
        let before = std::mem::replace(&mut self.phase, ack.phase);
        if before != Phase::Open && ack.phase == Phase::Open {
            self.enable();
            self.rounds.begin(ack);
        }
        if !ack.may_grow {
            return;
        }
        if ack.phase != Phase::Open {
            return self.like_reno(ack);
        }
        if !self.rounds.ended(ack) {
            if self.w.in_slow_start() && ack.window_limited {
                self.w.slow_start(ack.delivered);
            }
            return;
        }
        match self.base {
            Some(base) if self.samples > FEW_SAMPLES => {
                self.adjust(ack, base, (self.sampled / self.samples).max(base), siblings);
            }
            _ => self.like_reno(ack),
        }
        self.forget_round();
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
    }
}

#[cfg(test)]
mod tests {
    use super::super::bench::{Bench, MSS, Path, ack, config};
    use super::super::coupled::samples::paths;
    use super::*;

    /// A controller in congestion avoidance on a path of 100 ms whose queue has this alpha, in segments.
    fn avoiding(segments: u64, alpha: u64, grain: u64) -> WVegas {
        let mut cc = WVegas::new(Config { grain, ..config() });
        cc.w.window = segments * MSS;
        cc.w.ssthresh = segments * MSS;
        cc.base = Some(Span::from_millis(100));
        cc.alpha = alpha * MSS;
        cc.least_delay = Some(Span::from_millis(20));
        cc
    }

    /// A round of this RTT ends; returns the window in segments, rounded down.
    fn round(cc: &mut WVegas, rtt_ms: f64, views: &[PathView]) -> u64 {
        let rtt = Span::from_secs_f64(rtt_ms / 1000.0);
        (cc.sampled, cc.samples) = (rtt * 3, 3);
        let end = ack(|a| {
            a.rtt = Some(rtt);
            a.acked_to = 10;
            a.sent_to = 20;
        });
        cc.rounds = Rounds::default();
        cc.on_ack(&end, views);
        cc.w.segments()
    }

    #[test]
    fn the_window_moves_by_a_segment_towards_alpha() {
        for grain in [MSS, 1] {
            // A window of 40 and an RTT of 110 ms: 3.6 segments are queued; of 125 ms: 8.
            assert_eq!(round(&mut avoiding(40, 5, grain), 110.0, &[]), 41);
            assert_eq!(round(&mut avoiding(40, 8, grain), 125.0, &[]), 41, "alpha becomes 10");
            let mut cc = avoiding(40, 2, grain);
            cc.least_delay = Some(Span::from_millis(30));
            // 40 * 40 / 140 = 11.4 of 10.
            assert_eq!((round(&mut cc, 140.0, &[]), cc.alpha), (39, 10 * MSS));
        }
    }

    #[test]
    fn alpha_is_the_share_of_the_rate_and_at_least_two_segments() {
        let alpha = |views: &[(u64, u64)], own: usize| {
            let mut cc = avoiding(views[own].0, 2, MSS);
            round(&mut cc, 125.0, &paths(views, own));
            cc.alpha / MSS
        };
        // Rates of 400 and 200, and of 400 and 4000.
        assert_eq!(alpha(&[(40, 100), (20, 100)], 0), 6);
        assert_eq!(alpha(&[(40, 100), (20, 100)], 1), 3);
        assert_eq!(alpha(&[(40, 100), (400, 100)], 0), 2);
        // While the queue is below alpha, alpha stays.
        let mut cc = avoiding(40, 9, MSS);
        round(&mut cc, 125.0, &paths(&[(40, 100), (20, 100)], 0));
        assert_eq!(cc.alpha, 9 * MSS);
    }

    #[test]
    fn a_queue_of_twice_the_least_delay_is_drained() {
        let mut cc = avoiding(40, 10, MSS);
        // 40 ms are twice 20 ms: after a step by one segment 100 / (2 * 140) are left of 39.
        assert_eq!(round(&mut cc, 140.0, &[]), 13);
        assert_eq!(cc.least_delay, None);
        // Slow start brings the window back to the threshold; then the next delay is the least.
        assert!(cc.in_slow_start());
        cc.w.ssthresh = cc.w.window;
        assert_eq!(round(&mut cc, 110.0, &[]), 14);
        assert_eq!(cc.least_delay, Some(Span::from_millis(10)));
        // Without a queue there is nothing to drain.
        cc.least_delay = None;
        assert_eq!(round(&mut cc, 100.0, &[]), 15);
    }

    #[test]
    fn slow_start_ends_at_one_segment_in_the_queue() {
        let mut cc = avoiding(40, 2, MSS);
        cc.w.ssthresh = u64::MAX;
        // 40 * 5 / 105 = 1.9, which is one whole segment: no more than gamma. The ACK's segment is added.
        assert_eq!(round(&mut cc.clone(), 105.0, &[]), 41);
        // 2.1: 40 / 1.0556 = 37.9 were carried, and one is added.
        assert_eq!(round(&mut cc, 105.56, &[]), 38);
        assert!(!cc.in_slow_start());
    }

    #[test]
    fn alone_it_keeps_the_queue_short_and_drains_it_often() {
        let path = Path::new(20, 50);
        for grain in [MSS, 1] {
            let mut bench = Bench::with(WVegas::new(Config { grain, ..config() }), path);
            bench.run(Span::from_secs(30), |_| {});
            let start = bench.sampler.delivered();
            let mut longest = 0;
            bench.run(Span::from_secs(30), |b| longest = longest.max(b.queued()));
            let share = (bench.sampler.delivered() - start) as f64 / 30.0 / path.goodput().as_bytes_per_sec() as f64;
            // Bursts of slow start queue for a moment, which looks like a queue that doubles.
            assert!((0.65..0.95).contains(&share), "{share}");
            assert!((2..=30).contains(&longest), "{longest}");
        }
    }
}
