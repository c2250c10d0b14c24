//! Scalable TCP (T. Kelly, "Scalable TCP: improving performance in highspeed wide area networks", ACM CCR 33(2), 2003).
//!
//! The window grows by 0.01 of what is acknowledged, so that it doubles in the same number of round trips at any rate,
//! and loses an eighth on congestion. Up to the legacy window of 16 segments it is Reno. Linux has no such window, but
//! grows by a segment an RTT up to 100 segments.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Scalable",
    linux: Some("scalable"),
    ..Implementation::new(
        Description {
            name: "scalable",
            summary: "multiplicative increase of 1 % an RTT, multiplicative decrease of 1/8",
            reference: "T. Kelly, ACM CCR 33(2), 2003",
        },
        |config| Box::new(Scalable::new(config)),
    )
};

/// Segments to deliver for one of growth: 1 / a, a = 0.01.
const PER_SEGMENT: u64 = 100;
/// b = 1/8.
const DECREASE: u64 = 8;
/// The legacy window, segments (lwnd).
const LEGACY: u64 = 16;

/// Scalable TCP.
#[derive(Clone, Debug)]
pub struct Scalable {
    w: Windows,
}

impl Scalable {
    pub(super) fn new(config: Config) -> Scalable {
        Scalable { w: Windows::new(&config, SlowStart::Standard) }
    }

    fn is_legacy(&self) -> bool {
        !self.w.as_linux() && self.w.window <= LEGACY * self.w.mss
    }

    /// Bytes to deliver for one segment of growth.
    fn per_segment(&self) -> u64 {
        let per = PER_SEGMENT * self.w.mss;
        if self.w.as_linux() {
            per.min(self.w.window)
        } else if self.is_legacy() {
            self.w.window
        } else {
            per
        }
    }
}

impl CongestionController for Scalable {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive(rest, self.per_segment());
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let kept = if self.is_legacy() {
            self.w.window / 2
        } else if self.w.as_linux() {
            self.w.window - self.w.segments() / DECREASE * self.w.mss
        } else {
            self.w.window - self.w.window / DECREASE
        };
        self.w.reduce(event, kept);
    }
}
