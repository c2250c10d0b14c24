//! BIC (L. Xu, K. Harfoush, I. Rhee, "Binary increase congestion control (BIC) for fast long-distance networks",
//! INFOCOM 2004, section III).
//! After a loss the window moves to the middle between its present size and the size at the loss, repeatedly, by at
//! most S_max and at least S_min per RTT. Beyond the old maximum it searches for a new one as slow start does, by up to
//! S_max per RTT. Linux departs from the paper in S_max = 16, a backoff to 0.8, a quarter of the distance instead of
//! half, twenty RTTs for the last segments on either side of the maximum, and growth that compensates for delayed ACKs,
//! although it counts segments.

use super::observed::{Cumulative, Ticks};
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, SlowStart, Trigger, whole};
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation {
    label: "BIC",
    linux: Some("bic"),
    ..Implementation::new(
        Description {
            name: "bic",
            summary: "binary search for the window of the last loss",
            reference: "Xu, Harfoush, Rhee, INFOCOM 2004",
        },
        |config| Box::new(Bic::new(config)),
    )
};

/// Up to this many segments the window grows and shrinks like Reno's.
const LOW_WINDOW: u64 = 14;
/// The largest and smallest growth, segments per RTT, and the decrease (section III.E).
const S_MAX: f64 = 32.0;
const S_MIN: f64 = 0.01;
const BETA: f64 = 0.125;

/// The values of the kernel's module.
const LINUX_S_MAX: u64 = 16;
const LINUX_BETA: u64 = 819;
const LINUX_BETA_DEN: u64 = 1024;
/// The part of the distance to the maximum that is covered per RTT.
const LINUX_B: u64 = 4;
/// RTTs for the last `LINUX_B` segments before the maximum.
const LINUX_SMOOTH: u64 = 20;

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    w: Windows,
    /// The maximum that is searched for, bytes; `None` while it is unknown.
    max: Option<u64>,
    /// Growth beyond the old maximum, segments per RTT, and the window at which it doubles; `None` while searching.
    probing: Option<(f64, u64)>,
    linux: Linux,
}

/// State of the kernel's module.
#[derive(Clone, Debug)]
struct Linux {
    ticks: Ticks,
    acked: Cumulative,
    phase: Phase,
    /// The smoothed number of segments that an ACK acknowledges, in sixteenths.
    ack_ratio: u64,
    /// The number of segments to deliver for one segment of growth, and the window and tick for which it was computed.
    per: u64,
    last: Option<(u64, u64)>,
}

impl Linux {
    fn forget(&mut self) {
        self.ack_ratio = 2 << 4;
        self.per = 0;
        self.last = None;
    }
}

impl Bic {
    pub(super) fn new(config: Config) -> Bic {
        let mut linux = Linux {
            ticks: Ticks::new(&config),
            acked: Cumulative::default(),
            phase: Phase::Open,
            ack_ratio: 0,
            per: 0,
            last: None,
        };
        linux.forget();
        Bic { w: Windows::new(&config, SlowStart::Standard), max: None, probing: None, linux }
    }

    /// Growth in segments an RTT as the paper has it (section III.E).
    fn growth(&mut self) -> f64 {
        let (window, mss) = (self.w.window, self.w.mss);
        if window <= LOW_WINDOW * mss {
            return 1.0;
        }
        match self.max.filter(|max| *max > window) {
            Some(max) => {
                self.probing = None;
                let target = (max - window) as f64 / 2.0 / mss as f64;
                target.clamp(S_MIN, S_MAX)
            }
            None => {
                let (step, double_at) = self.probing.get_or_insert((1.0, window + mss));
                if window >= *double_at {
                    *step = (*step * 2.0).min(S_MAX);
                    *double_at = window + (*step * mss as f64) as u64;
                }
                *step
            }
        }
    }

    /// The number of bytes to deliver for a segment of growth, as in the kernel's module. It is recomputed when the
    /// window has changed or after 1/32 s.
    fn per_segment_linux(&mut self, now: Time) -> u64 {
        let window = self.w.segments();
        let tick = self.linux.ticks.at(now);
        let stale = self.linux.ticks.per_second() / 32;
        if self.linux.last.is_none_or(|(at, when)| at != window || tick.saturating_sub(when) > stale) {
            self.linux.last = Some((window, tick));
            self.linux.per = self.segments_for_one(window);
        }
        self.linux.per * self.w.mss
    }

    fn segments_for_one(&self, window: u64) -> u64 {
        if window <= LOW_WINDOW {
            return window;
        }
        let max = self.max.unwrap_or(0) / self.w.mss;
        let smooth = window * LINUX_SMOOTH / LINUX_B;
        let mut per = match (max.saturating_sub(window) / LINUX_B, window.saturating_sub(max)) {
            (step, 0) if window < max && step > LINUX_S_MAX => window / LINUX_S_MAX,
            (step, 0) if window < max && step > 1 => window / step,
            (_, beyond) if beyond < LINUX_B => smooth,
            (_, beyond) if beyond < LINUX_S_MAX * (LINUX_B - 1) => window * (LINUX_B - 1) / beyond,
            _ => window / LINUX_S_MAX,
        };
        if max == 0 {
            per = per.min(20);
        }
        ((per << 4) / self.linux.ack_ratio.max(1)).max(1)
    }

    /// Estimates how many segments an ACK acknowledges.
    fn observe(&mut self, ack: &Ack) {
        let acked = self.linux.acked.take(ack.acked_to, self.w.mss);
        let before = std::mem::replace(&mut self.linux.phase, ack.phase);
        if before == Phase::Open {
            let ratio = self.linux.ack_ratio;
            self.linux.ack_ratio = ratio + acked - (ratio >> 4);
        }
    }
}

impl CongestionController for Bic {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if self.w.as_linux() {
            self.observe(ack);
        }
        let Some(rest) = self.w.grow(ack, delivered) else { return };
        let per = if self.w.as_linux() {
            self.per_segment_linux(ack.now)
        } else {
            (self.w.window as f64 / self.growth()) as u64
        };
        self.w.additive(rest, per);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.w.window;
        let (beta, below) = if self.w.as_linux() {
            let kept = window * LINUX_BETA / LINUX_BETA_DEN;
            // Fast convergence puts the maximum between the window and the reduced window.
            (kept, whole(window * (LINUX_BETA_DEN + LINUX_BETA) / (2 * LINUX_BETA_DEN), self.w.grain))
        } else {
            let kept = (window as f64 * (1.0 - BETA)) as u64;
            (kept, (window + kept) / 2)
        };
        if event.new_episode {
            let releasing = self.max.is_some_and(|max| window < max);
            self.max = Some(if releasing { below } else { window });
            self.probing = None;
        }
        let low = window <= LOW_WINDOW * self.w.mss;
        self.w.reduce(event, if low { window / 2 } else { beta });
        if event.trigger == Trigger::Timeout {
            // As in Linux, a timeout resets the maximum.
            self.max = None;
            self.linux.forget();
            self.linux.phase = Phase::Loss;
        }
    }
}
