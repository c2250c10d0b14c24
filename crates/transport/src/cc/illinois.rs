//! Illinois (S. Liu, T. Basar, R. Srikant, "TCP-Illinois: a loss- and delay-based congestion control algorithm for
//! high-speed networks", Performance Evaluation 65, 2008; VALUETOOLS 2006).
//!
//! Losses decide when to back off. The mean queueing delay of the last round decides how fast the window grows between
//! them, from 10 segments per RTT with an empty queue down to 0.3 with a full one, and how far it backs off, from an
//! eighth to half (section 3, equations 1 to 5). Linux has a threshold of 15 segments instead of 10, counts in 128ths
//! and 64ths, and uses up everything counted at each step of growth.

use super::observed::{Cumulative, Rounds};
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart, Trigger};
use haltere_net::Span;

pub(super) const ENTRY: Implementation = Implementation {
    label: "Illinois",
    linux: Some("illinois"),
    ..Implementation::new(
        Description {
            name: "illinois",
            summary: "increase and backoff that follow the queueing delay, loss as the signal",
            reference: "Liu, Basar, Srikant, Performance Evaluation 65, 2008",
        },
        |config| Box::new(Illinois::new(config)),
    )
};

/// Bounds of alpha, segments an RTT, and of beta.
const ALPHA_MIN: f64 = 0.3;
const ALPHA_MAX: f64 = 10.0;
const BETA_MIN: f64 = 0.125;
const BETA_MAX: f64 = 0.5;
/// Delays, as shares of the largest: below the first alpha is largest and beta smallest; above the second beta is
/// largest.
const ETA_1: f64 = 0.01;
const ETA_2: f64 = 0.1;
const ETA_3: f64 = 0.8;
/// Rounds of low delay before alpha is the largest again (theta).
const PATIENCE: u32 = 5;
/// Below this window Illinois is Reno, segments (W_thresh): the paper's and the kernel's.
const THRESHOLD: u64 = 10;
const THRESHOLD_LINUX: u64 = 15;
/// The kernel's fixed points of alpha and beta, and their bounds in these.
const ALPHA_ONE: u64 = 128;
const ALPHA_LEAST: u64 = 3 * ALPHA_ONE / 10;
const ALPHA_MOST: u64 = 10 * ALPHA_ONE;
const BETA_ONE: u64 = 64;
const BETA_LEAST: u64 = BETA_ONE / 8;
const BETA_MOST: u64 = BETA_ONE / 2;
/// RTTs are limited to this (Linux: the limit of its arithmetic).
const RTT_MOST: Span = Span::from_micros(3_355_443);

/// The largest and the mean queueing delay, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    largest: f64,
    mean: f64,
}

impl Delays {
    fn is_low(self) -> bool {
        self.mean <= ETA_1 * self.largest
    }

    /// Equation 2 beyond d_1: alpha = kappa_1 / (kappa_2 + d_a).
    fn increase(self, least: f64) -> f64 {
        let (range, above) = ((1.0 - ETA_1) * self.largest, self.mean - ETA_1 * self.largest);
        range * ALPHA_MAX / (range + above * (ALPHA_MAX - least) / least)
    }

    /// Equation 4.
    fn decrease(self) -> f64 {
        let (low, high) = (ETA_2 * self.largest, ETA_3 * self.largest);
        if self.mean <= low {
            BETA_MIN
        } else if self.mean >= high {
            BETA_MAX
        } else {
            BETA_MIN + (BETA_MAX - BETA_MIN) * (self.mean - low) / (high - low)
        }
    }
}

/// The delays in whole microseconds, with the curves of the kernel's module, whose thresholds and quotients are whole numbers too.
#[derive(Clone, Copy, Debug)]
struct WholeDelays {
    largest: u64,
    mean: u64,
}

impl WholeDelays {
    fn is_low(self) -> bool {
        self.mean <= self.largest / 100
    }

    fn increase(self) -> f64 {
        let low = self.largest / 100;
        let (range, above) = (self.largest - low, self.mean.saturating_sub(low));
        let least = range + above * (ALPHA_MOST - ALPHA_LEAST) / ALPHA_LEAST;
        (range * ALPHA_MOST / least.max(1)) as f64 / ALPHA_ONE as f64
    }

    fn decrease(self) -> f64 {
        let (low, high) = (self.largest / 10, 8 * self.largest / 10);
        let beta = if self.mean <= low {
            BETA_LEAST
        } else if self.mean >= high {
            BETA_MOST
        } else {
            (BETA_LEAST * high - BETA_MOST * low + (BETA_MOST - BETA_LEAST) * self.mean) / (high - low)
        };
        beta as f64 / BETA_ONE as f64
    }
}

/// Illinois.
#[derive(Clone, Debug)]
pub struct Illinois {
    w: Windows,
    alpha: f64,
    beta: f64,
    base_rtt: Option<Span>,
    largest_rtt: Span,
    /// Sum and number of the round's RTTs.
    sum: Span,
    samples: u64,
    rounds: Rounds,
    /// Whether the delay was above the low threshold, and for how many rounds it has been below since.
    was_above: bool,
    low_rounds: u32,
    acked: Cumulative,
}

impl Illinois {
    pub(super) fn new(config: Config) -> Illinois {
        Illinois {
            w: Windows::new(&config, SlowStart::Standard),
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            base_rtt: None,
            largest_rtt: Span::ZERO,
            sum: Span::ZERO,
            samples: 0,
            rounds: Rounds::default(),
            was_above: false,
            low_rounds: 0,
            acked: Cumulative::default(),
        }
    }

    fn observe(&mut self, ack: &Ack) {
        let as_linux = self.w.as_linux();
        let counted = |rtt: Span| if as_linux { Span::from_micros(rtt.min(RTT_MOST).as_micros()) } else { rtt };
        if let Some(rtt) = ack.rtt.map(counted) {
            self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
            self.largest_rtt = self.largest_rtt.max(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
    }

    fn begin_round(&mut self) {
        self.sum = Span::ZERO;
        self.samples = 0;
    }

    fn delays(&self) -> Option<Delays> {
        let base = self.base_rtt?.as_nanos();
        let mean = self.sum.as_nanos().checked_div(self.samples)?;
        Some(Delays {
            largest: self.largest_rtt.as_nanos().saturating_sub(base) as f64,
            mean: mean.saturating_sub(base) as f64,
        })
    }

    fn whole_delays(&self) -> Option<WholeDelays> {
        let base = self.base_rtt?.as_micros();
        let mean = self.sum.as_micros().checked_div(self.samples)?;
        Some(WholeDelays {
            largest: self.largest_rtt.as_micros().saturating_sub(base),
            mean: mean.saturating_sub(base),
        })
    }

    /// Once a round: alpha and beta from its delays.
    fn adapt(&mut self) {
        let threshold = if self.w.as_linux() { THRESHOLD_LINUX } else { THRESHOLD };
        if self.w.window < threshold * self.w.mss {
            (self.alpha, self.beta) = (1.0, BETA_MAX);
        } else if self.w.as_linux() {
            if let Some(delays) = self.whole_delays() {
                self.alpha = self.increase((!delays.is_low()).then(|| delays.increase()));
                self.beta = delays.decrease();
            }
        } else if let Some(delays) = self.delays() {
            self.alpha = self.increase((!delays.is_low()).then(|| delays.increase(ALPHA_MIN)));
            self.beta = delays.decrease();
        }
        self.begin_round();
    }

    /// alpha after a round for which the curve gives this value; `None` if its delay was low.
    fn increase(&mut self, by_curve: Option<f64>) -> f64 {
        if let Some(alpha) = by_curve {
            self.was_above = true;
            return alpha;
        }
        if self.was_above {
            // One round of low delay may be an accident.
            self.low_rounds += 1;
            if self.low_rounds < PATIENCE {
                return self.alpha;
            }
            self.low_rounds = 0;
            self.was_above = false;
        }
        ALPHA_MAX
    }

    /// The kernel's module: when the count times alpha reaches a window, the window grows by a segment for each.
    fn grow_linux(&mut self, acked: u64) {
        self.w.credit += acked;
        let due = (self.w.credit / self.w.mss) as f64 * self.alpha;
        let segments = due as u64 / self.w.segments().max(1);
        if segments > 0 {
            self.w.window += segments * self.w.mss;
            self.w.credit = 0;
        }
    }
}

impl CongestionController for Illinois {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let acked = self.acked.take(ack.acked_to, self.w.mss) * self.w.mss;
        self.observe(ack);
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if ack.may_grow && self.rounds.ended(ack) {
            self.adapt();
        }
        if !self.w.as_linux() {
            if let Some(rest) = self.w.grow(ack, delivered) {
                self.w.additive(rest, (self.w.window as f64 / self.alpha) as u64);
            }
        } else if self.w.in_slow_start() {
            self.w.grow(ack, delivered);
        } else if ack.window_limited && ack.may_grow {
            self.grow_linux(acked);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let lost = (self.w.window as f64 * self.beta) as u64;
        let lost = if self.w.as_linux() { lost / self.w.mss * self.w.mss } else { lost };
        self.w.reduce(event, self.w.window.saturating_sub(lost));
        if event.trigger == Trigger::Timeout {
            (self.alpha, self.beta) = (1.0, BETA_MAX);
            (self.was_above, self.low_rounds) = (false, 0);
            self.begin_round();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(part: f64) -> Delays {
        Delays { largest: 100e6, mean: part * 100e6 }
    }

    /// Delays of 1000 us at most: the low thresholds are at 10, 100 and 800 us, and quotients are cut to whole 128ths and 64ths.
    #[test]
    fn the_kernel_s_curves_are_in_whole_numbers() {
        let of = |mean| WholeDelays { largest: 1009, mean };
        assert!(of(10).is_low() && !of(11).is_low());
        let curves = [11, 100, 101, 500, 806, 807, 1009].map(|mean| {
            let delays = of(mean);
            (delays.increase() * 128.0, delays.decrease() * 64.0)
        });
        // 999 * 1280 / (999 + (mean - 10) * 1242 / 38), and (8 * 807 - 32 * 100 + 24 * mean) / 707.
        let expected =
            [(1240.0, 8.0), (324.0, 8.0), (321.0, 8.0), (75.0, 21.0), (47.0, 31.0), (47.0, 32.0), (38.0, 32.0)];
        assert_eq!(curves, expected);
        let none = WholeDelays { largest: 0, mean: 0 };
        assert!(none.is_low() && none.increase() == 0.0 && none.decrease() == 0.125);
    }

    /// Equations 1 to 5: alpha falls from 10 at d_1 to 0.3 at d_m, along a hyperbola; beta rises from 1/8 to 1/2.
    #[test]
    fn the_curves_are_those_of_the_paper() {
        assert!((at(0.01).increase(ALPHA_MIN) - 10.0).abs() < 1e-9);
        assert!((at(1.0).increase(ALPHA_MIN) - 0.3).abs() < 1e-9);
        // kappa_1 / (kappa_2 + d_a) with d_m = 100 ms: kappa_1 = 99 * 3 / 9.7, kappa_2 = 99 * 0.3 / 9.7 - 1 (ms).
        let (k1, k2) = (99.0 * 3.0 / 9.7, 99.0 * 0.3 / 9.7 - 1.0);
        for part in [0.05, 0.2, 0.5, 0.9] {
            let expected = k1 / (k2 + 100.0 * part);
            assert!((at(part).increase(ALPHA_MIN) - expected).abs() < 1e-9, "at {part}");
        }
        for (part, beta) in [(0.0, 0.125), (0.1, 0.125), (0.45, 0.3125), (0.8, 0.5), (1.0, 0.5)] {
            assert!((at(part).decrease() - beta).abs() < 1e-9, "at {part}");
        }
    }
}
