//! HighSpeed TCP (RFC 3649).
//!
//! Above 38 segments the window grows by a(w) segments an RTT and is reduced by b(w), chosen so that the average window
//! at loss rate p is 0.12 / p^0.835. Linux takes both from the table of appendix B and counts ACKs, not segments, so that
//! delayed ACKs halve its growth.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart};

pub(super) const ENTRY: Implementation = Implementation {
    label: "HighSpeed",
    linux: Some("highspeed"),
    ..Implementation::new(
        Description {
            name: "highspeed",
            summary: "increase and decrease that depend on the window: a(w) segments an RTT, down by b(w)",
            reference: "RFC 3649",
        },
        |config| Box::new(HighSpeed::new(config)),
    )
};

/// Section 5: up to `LOW` segments as Reno; at `HIGH` segments, the loss rate 1e-7, a decrease of a tenth.
const LOW: f64 = 38.0;
const HIGH: f64 = 83_000.0;
const HIGH_DECREASE: f64 = 0.1;

/// Appendix B: up to the i-th of these windows, a(w) = i + 1.
const TABLE: [u64; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778, 4177, 4596, 5036,
    5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082, 12834, 13614, 14424, 15265, 16137,
    17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402, 25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586,
    37253, 38992, 40808, 42707, 44694, 46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401,
    79517, 84035, 89053,
];

/// b(w): the part by which a window of `w` segments is reduced (section 5).
fn decrease(w: f64) -> f64 {
    if w <= LOW {
        return 0.5;
    }
    (HIGH_DECREASE - 0.5) * (libm::log(w) - libm::log(LOW)) / (libm::log(HIGH) - libm::log(LOW)) + 0.5
}

/// a(w): growth of a window of `w` segments, segments an RTT (section 5, with p(w) = 0.078 / w^1.2).
fn increase(w: f64) -> f64 {
    if w <= LOW {
        return 1.0;
    }
    let b = decrease(w);
    (libm::pow(w, 2.0 - 1.2) * 0.078 * 2.0 * b / (2.0 - b)).max(1.0)
}

/// HighSpeed TCP.
#[derive(Clone, Debug)]
pub struct HighSpeed {
    w: Windows,
    /// The row of the table in force (Linux), as of the last ACK in congestion avoidance.
    row: usize,
    /// The window a(w) was last computed at, and a(w).
    computed: (u64, f64),
}

impl HighSpeed {
    pub(super) fn new(config: Config) -> HighSpeed {
        HighSpeed { w: Windows::new(&config, SlowStart::Standard), row: 0, computed: (0, 1.0) }
    }

    /// The kernel's module: each ACK brings a(w) of the window's segments nearer to the next.
    fn grow_linux(&mut self, ack: &Ack, delivered: u64) {
        if !ack.window_limited || !ack.may_grow {
            return;
        }
        if self.w.in_slow_start() {
            self.w.grow(ack, delivered);
            return;
        }
        let segments = self.w.segments();
        self.row = TABLE.partition_point(|w| *w < segments).min(TABLE.len() - 1);
        self.w.credit += (self.row as u64 + 1) * self.w.mss;
        if self.w.credit >= self.w.window {
            self.w.credit -= self.w.window;
            self.w.window += self.w.mss;
        }
    }

    fn grow_exactly(&mut self, ack: &Ack, delivered: u64) {
        let Some(rest) = self.w.grow(ack, delivered) else { return };
        if self.computed.0 != self.w.window {
            self.computed = (self.w.window, increase(self.w.window as f64 / self.w.mss as f64));
        }
        self.w.additive(rest, (self.w.window as f64 / self.computed.1) as u64);
    }
}

impl CongestionController for HighSpeed {
    by_windows!(on_sent, on_undo, window, ssthresh);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if self.w.as_linux() { self.grow_linux(ack, delivered) } else { self.grow_exactly(ack, delivered) }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.w.window;
        let lost = if self.w.as_linux() {
            // The row's decrease in 256ths.
            let share = (decrease(TABLE[self.row] as f64) * 256.0) as u64;
            self.w.segments() * share / 256 * self.w.mss
        } else {
            (window as f64 * decrease(window as f64 / self.w.mss as f64)) as u64
        };
        self.w.reduce(event, window.saturating_sub(lost));
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        self.w.set_mss(mss);
        self.computed.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of appendix B: w, a(w), b(w).
    #[test]
    fn the_parameters_are_those_of_the_table() {
        for (w, a, b) in [(38, 1, 0.50), (118, 2, 0.44), (221, 3, 0.41), (347, 4, 0.38), (1058, 8, 0.33)] {
            assert!((decrease(w as f64) - b).abs() < 0.0051, "b({w})");
            assert!((increase(w as f64) - f64::from(a)).abs() < 0.05, "a({w}) = {}", increase(w as f64));
        }
        for (i, w) in TABLE.iter().enumerate() {
            assert!((increase(*w as f64) - (i as f64 + 1.0)).abs() < 0.06, "a({w}) = {}", increase(*w as f64));
        }
        // Section 5: at 83000 segments a(w) is 71 and b(w) 0.10, at up to 38 those of Reno.
        assert!((increase(83_000.0) - 71.0).abs() < 0.5 && (decrease(83_000.0) - 0.1).abs() < 1e-12);
        assert_eq!((increase(20.0), decrease(20.0)), (1.0, 0.5));
    }

    /// RFC 3649 section 5, table 5: the average window at loss rates, from a(w) and b(w) by w = sqrt(a (2 - b) / (2 b p)).
    #[test]
    fn the_response_function_is_that_of_the_rfc() {
        for (p, w) in [(1e-3, 38.0), (1e-4, 263.0), (1e-5, 1795.0), (1e-6, 12_279.0), (1e-7, 83_981.0)] {
            let (a, b) = (increase(w), decrease(w));
            let average = libm::sqrt(a * (2.0 - b) / (2.0 * b * p));
            assert!((average / w - 1.0).abs() < 0.035, "p = {p}: {average} instead of {w}");
        }
    }
}
