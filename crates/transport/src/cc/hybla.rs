//! Hybla (C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International Journal of
//! Satellite Communications and Networking 22, 2004).
//!
//! A connection of RTT rho times RTT_0 = 25 ms grows as fast, in segments a second, as one of RTT_0: a delivered
//! segment adds 2^rho - 1 segments in slow start and rho^2 / window afterwards, and the initial window is rho times as
//! large. rho is at least 1 and follows the smallest smoothed RTT. Linux begins with rho segments, counts ACKs instead
//! of segments, so that delayed ACKs halve its growth, and is Reno during disorder or loss.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Established, Implementation, PathView, Phase, SlowStart};
use haltere_net::Span;

pub(super) const ENTRY: Implementation = Implementation {
    label: "Hybla",
    linux: Some("hybla"),
    ..Implementation::new(
        Description {
            name: "hybla",
            summary: "growth of a path of 25 ms, whatever the RTT",
            reference: "Caini, Firrincieli, IJSCN 22, 2004",
        },
        |config| Box::new(Hybla::new(config)),
    )
};

/// RTT_0, the RTT of the reference connection.
const REFERENCE: Span = Span::from_millis(25);
/// The rho beyond which slow start grows no faster, and the largest window in segments. These are the kernel's bounds.
/// Without them both would become extremely large on paths with an RTT of seconds.
const RHO_MOST: u64 = 16;
const WINDOW_MOST: u64 = 65_535;
/// 1.0 in the kernel's fixed point.
const ONE: u64 = 128;

/// Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    w: Windows,
    /// The least smoothed RTT, and rho that follows from it.
    srtt: Option<Span>,
    rho: f64,
    /// rho in eighths, rounded down (Linux).
    rho_eighths: u64,
    /// Growth of less than a segment, in 128ths of one (Linux).
    fraction: u64,
}

impl Hybla {
    pub(super) fn new(config: Config) -> Hybla {
        Hybla { w: Windows::new(&config, SlowStart::Standard), srtt: None, rho: 1.0, rho_eighths: 8, fraction: 0 }
    }

    /// Follows the smoothed RTT down; the first one sets the initial window.
    fn follow(&mut self, srtt: Option<Span>) {
        let Some(srtt) = srtt.filter(|srtt| self.srtt.is_none_or(|least| *srtt < least)) else { return };
        let is_first = self.srtt.replace(srtt).is_none();
        self.rho = (srtt.as_nanos() as f64 / REFERENCE.as_nanos() as f64).max(1.0);
        self.rho_eighths = (8 * srtt.as_nanos() / REFERENCE.as_nanos()).max(8);
        if is_first {
            self.w.window = if self.w.as_linux() {
                self.rho_eighths / 8 * self.w.mss
            } else {
                (self.w.window as f64 * self.rho) as u64
            };
            self.bound();
        }
    }

    /// rho^2 segments a window delivered; in slow start 2^rho - 1 a segment.
    fn grow_exactly(&mut self, delivered: u64) {
        let mut rest = delivered as f64;
        if self.w.in_slow_start() {
            let gain = libm::exp2(self.rho.min(RHO_MOST as f64)) - 1.0;
            let room = (self.w.ssthresh - self.w.window) as f64;
            let grown = (rest * gain).min(room);
            self.w.window = self.w.window.saturating_add(grown as u64);
            rest -= grown / gain;
        }
        if rest >= 1.0 {
            self.w.additive(rest as u64, (self.w.window as f64 / (self.rho * self.rho)) as u64);
        }
        self.bound();
    }

    fn bound(&mut self) {
        self.w.window = self.w.window.min(WINDOW_MOST * self.w.mss);
    }

    /// The kernel's module: an ACK adds 2^rho - 1 segments in slow start, rho^2 / window afterwards, in 128ths. If slow
    /// start's exit limits growth, only `count` of the `delivered` bytes count.
    fn grow_linux(&mut self, delivered: u64, count: u64) {
        let in_slow_start = self.w.in_slow_start();
        let rho = self.rho_eighths;
        let increment = if in_slow_start {
            let part = (ONE as f64 * libm::exp2((rho % 8) as f64 / 8.0)) as u64;
            let full = (part << (rho / 8).min(RHO_MOST)) - ONE;
            if count < delivered { full * count / delivered } else { full }
        } else {
            2 * rho * rho / self.w.segments().max(1)
        };
        if !in_slow_start && increment < ONE {
            self.w.credit += self.w.mss;
        }
        self.w.window += increment / ONE * self.w.mss;
        self.fraction += increment % ONE;
        if self.fraction >= ONE {
            self.fraction -= ONE;
            self.w.window += self.w.mss;
            self.w.credit = 0;
        }
        if increment == 0 && self.w.credit >= self.w.window {
            self.w.credit = 0;
            self.w.window += self.w.mss;
        }
        if in_slow_start {
            self.w.window = self.w.window.min(self.w.ssthresh);
        }
        self.bound();
    }
}

impl CongestionController for Hybla {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_established(&mut self, event: &Established) {
        self.follow(event.rtt);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.follow(ack.srtt);
        let count = self.w.consider_exit(ack, ack.min_rtt);
        if !ack.window_limited || !ack.may_grow {
            return;
        }
        if !self.w.as_linux() {
            self.grow_exactly(count);
        } else if ack.phase == Phase::Open {
            self.grow_linux(ack.delivered, count);
        } else if let Some(rest) = self.w.grow(ack, count) {
            self.w.additive_reno(rest);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
    }
}
