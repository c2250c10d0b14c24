//! Vegas: L. Brakmo, L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995.
//!
//! Once per round trip the data in queues is estimated from the smallest RTT of the round and the smallest RTT ever.
//! The window grows or shrinks by a segment so that between alpha and beta segments are queued.
//!
//! Where windows are kept in whole segments this is the kernel's Vegas (`tcp_vegas.c`, Linux 6.12): alpha 2, beta 4,
//! gamma 1, exponential growth in every round, and the window set to what the path carried when slow start ends. With
//! windows in bytes it is the paper's: alpha 1, beta 3 (section 3.2), growth in every other round of slow start
//! (section 3.3). Losses halve the window in both, as in RFC 5681. The paper's own retransmission rules belong to the
//! transport.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, Sent, SlowStart, Startup};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Vegas",
    linux: Some("vegas"),
    slow_start: Startup::Own,
    ..Implementation::new(
        Description {
            name: "vegas",
            summary: "keeps two to four segments (QUIC: one to three) in the queue, by RTT",
            reference: "Brakmo, Peterson, IEEE JSAC 13(8), 1995; Linux 6.12 tcp_vegas.c",
        },
        |config| Box::new(Vegas::new(config)),
    )
};

/// The number of samples after which a round's smallest RTT is not that of a delayed ACK (`cntRTT`).
const FEW_SAMPLES: u32 = 2;

/// Segments in the queue: the smallest and the largest number, and the number at which slow start ends.
#[derive(Clone, Copy, Debug)]
struct Thresholds {
    alpha: u64,
    beta: u64,
    gamma: u64,
}

const KERNEL: Thresholds = Thresholds { alpha: 2, beta: 4, gamma: 1 };
const PAPER: Thresholds = Thresholds { alpha: 1, beta: 3, gamma: 1 };

/// Vegas.
#[derive(Clone, Debug)]
pub struct Vegas {
    w: Windows,
    thresholds: Thresholds,
    /// The smallest RTT ever, us; never 0.
    base: Option<u64>,
    /// The least RTT of this round, us, and its samples.
    least: Option<u64>,
    samples: u32,
    /// The round ends when a position beyond this is acknowledged.
    round_end: u64,
    sent_to: u64,
    /// Whether RTTs are used: not while losses are repaired.
    enabled: bool,
    phase: Phase,
    /// The paper's slow start: whether the window grows in this round.
    growing: bool,
}

impl Vegas {
    pub(super) fn new(config: Config) -> Vegas {
        let w = Windows::new(&config, SlowStart::Standard);
        let kernel = w.grain == w.mss;
        Vegas {
            w,
            thresholds: if kernel { KERNEL } else { PAPER },
            base: None,
            least: None,
            samples: 0,
            round_end: 0,
            sent_to: 0,
            enabled: true,
            phase: Phase::Open,
            growing: true,
        }
    }

    fn follows_kernel(&self) -> bool {
        self.w.grain == self.w.mss
    }

    /// Waits for a round of new samples (`vegas_enable`).
    fn enable(&mut self) {
        self.enabled = true;
        self.round_end = self.sent_to;
        self.forget_round();
    }

    fn forget_round(&mut self) {
        self.least = None;
        self.samples = 0;
    }

    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt.map(|rtt| rtt.as_micros() + 1) else { return };
        self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        self.samples += 1;
    }

    /// Bytes in the queue: window (RTT - base RTT) / RTT in the paper. The kernel divides by the base RTT, and counts in
    /// whole segments.
    fn queued(&self, base: u64, rtt: u64) -> u64 {
        let over = self.w.window.saturating_mul(rtt - base);
        if self.follows_kernel() { over / self.w.mss / base * self.w.mss } else { over / rtt }
    }

    fn like_reno(&mut self, ack: &Ack) {
        if let Some(rest) = self.w.grow(ack, ack.delivered) {
            self.w.additive(rest, self.w.window);
        }
    }

    /// A round has ended: estimates the queue once.
    fn adjust(&mut self, ack: &Ack, base: u64, rtt: u64) {
        let (mss, t) = (self.w.mss, self.thresholds);
        let queued = self.queued(base, rtt);
        if self.w.in_slow_start() {
            if queued > t.gamma * mss {
                let carried = (u128::from(self.w.window) * u128::from(base) / u128::from(rtt)) as u64;
                self.w.window = self.w.window.min(super::whole(carried, self.w.grain) + mss);
                self.w.ssthresh = self.w.ssthresh.min(self.w.window);
            } else {
                self.growing = self.follows_kernel() || !self.growing;
                if self.growing {
                    self.w.slow_start(ack.delivered);
                }
            }
        } else if queued > t.beta * mss {
            self.w.window = self.w.window.saturating_sub(mss);
            self.w.ssthresh = self.w.ssthresh.min(self.w.window);
        } else if queued < t.alpha * mss && (self.follows_kernel() || ack.window_limited) {
            self.w.window += mss;
        }
        self.w.window = self.w.window.max(2 * mss);
        // `tcp_current_ssthresh`.
        self.w.ssthresh = self.w.ssthresh.max(self.w.window / 2 + self.w.window / 4);
    }
}

impl CongestionController for Vegas {
    by_windows!(on_undo, window, ssthresh, set_mss, set_window);

    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
        // Measurements from before an idle time are out of date (`CA_EVENT_TX_START`).
        if sent.in_flight == 0 {
            self.base = None;
            self.enable();
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.sent_to = ack.sent_to;
        self.sample(ack);
        if ack.phase != self.phase {
            self.phase = ack.phase;
            if ack.phase == Phase::Open { self.enable() } else { self.enabled = false }
        }
        if !ack.may_grow {
            return;
        }
        if !self.enabled {
            return self.like_reno(ack);
        }
        if ack.acked_to <= self.round_end {
            if self.w.in_slow_start() && self.growing {
                self.w.slow_start(ack.delivered);
            }
            return;
        }
        self.round_end = ack.sent_to;
        match (self.base, self.least) {
            (Some(base), Some(least)) if self.samples > FEW_SAMPLES => self.adjust(ack, base, least),
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
    use super::*;
    use crate::cc::bench::{Bench, MSS, Path, config};
    use haltere_net::Span;

    /// A Vegas with this window in congestion avoidance, on a path of 100 ms.
    fn avoiding(segments: u64, grain: u64) -> Vegas {
        let mut cc = Vegas::new(Config { grain, ..config() });
        cc.w.window = segments * MSS;
        cc.w.ssthresh = segments * MSS;
        cc.base = Some(100_000);
        cc
    }

    /// The window after a round whose smallest RTT means `queued` hundredths of a segment in the queue.
    fn after_round(mut cc: Vegas, hundredths: u64) -> i64 {
        let before = cc.w.window;
        // Diff = W (rtt - base) / base segments for the kernel, / rtt for the paper.
        let (w, q) = (before as f64 / MSS as f64, hundredths as f64 / 100.0);
        let rtt = if cc.follows_kernel() { 1e5 * (1.0 + q / w) } else { 1e5 / (1.0 - q / w) };
        let ack = crate::cc::bench::ack(|a| {
            a.rtt = Some(Span::from_micros(rtt as u64));
            a.acked_to = 10;
            a.sent_to = 20;
        });
        cc.samples = 3;
        cc.on_ack(&ack, &[]);
        (cc.w.window as i64 - before as i64) / MSS as i64
    }

    #[test]
    fn the_kernel_keeps_two_to_four_segments_in_the_queue() {
        let changes = [150, 210, 390, 490, 520].map(|q| after_round(avoiding(40, MSS), q));
        assert_eq!(changes, [1, 0, 0, 0, -1]);
    }

    #[test]
    fn the_paper_keeps_one_to_three_buffers() {
        let changes = [90, 110, 290, 310].map(|q| after_round(avoiding(40, 1), q));
        assert_eq!(changes, [1, 0, 0, -1]);
    }

    #[test]
    fn slow_start_ends_at_one_segment_with_the_window_that_the_path_carried() {
        let mut cc = avoiding(40, MSS);
        cc.w.ssthresh = u64::MAX;
        // 2.1 segments are queued: 40 / 1.0525 = 38.004 were carried, and one is added for what was cut off.
        assert_eq!(after_round(cc.clone(), 210), -1);
        // One segment exactly is not more than gamma: the window doubles on.
        assert_eq!(after_round(cc, 190), 1);
    }

    #[test]
    fn fewer_than_three_samples_are_not_trusted() {
        let mut cc = avoiding(40, MSS);
        cc.samples = 1;
        cc.on_ack(&crate::cc::bench::ack(|a| {
            a.rtt = Some(Span::from_millis(200));
            a.acked_to = 10;
            a.sent_to = 20;
        }), &[]);
        assert_eq!(cc.w.window, 40 * MSS, "not reduced");
    }

    #[test]
    fn a_flow_alone_fills_the_link_with_a_queue_of_alpha_to_beta() {
        let path = Path::new(20, 50);
        for grain in [MSS, 1] {
            let mut bench = Bench::with(Vegas::new(Config { grain, ..config() }), path);
            // Slow start overshoots, because the first ACKs of a round show no queue. The excess is reduced by a
            // segment per RTT.
            bench.run(Span::from_secs(90), |_| {});
            let (start, mut longest) = (bench.sampler.delivered(), 0);
            bench.run(Span::from_secs(10), |b| longest = longest.max(b.queued()));
            let rate = (bench.sampler.delivered() - start) as f64 / 10.0;
            let share = rate / path.goodput().as_bytes_per_sec() as f64;
            assert!(share > 0.99, "{share}");
            assert!((1..=6).contains(&longest), "{longest}");
        }
    }
}
