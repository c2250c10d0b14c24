//! Veno (C. P. Fu, S. C. Liew, "TCP Veno: TCP enhancement for transmission over wireless access networks", IEEE JSAC
//! 21(2), 2003, section II).
//!
//! The backlog N = window (RTT - BaseRTT) / RTT, as in Vegas, separates losses by congestion from random ones. With
//! fewer than 3 segments waiting a loss removes only a fifth of the window; from 3 on the window grows by a segment in
//! two RTTs. The paper uses the smoothed RTT and discards BaseRTT at each loss. Linux uses the ACK's own RTT, and
//! discards BaseRTT when nothing is in flight.

use super::observed::Rtts;
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, Sent, SlowStart, Trigger};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Veno",
    linux: Some("veno"),
    ..Implementation::new(
        Description {
            name: "veno",
            summary: "Reno that takes losses with a short queue for random ones",
            reference: "Fu, Liew, IEEE JSAC 21(2), 2003",
        },
        |config| Box::new(Veno::new(config)),
    )
};

/// The number of waiting segments from which the path counts as congested.
const BETA: u64 = 3;
/// The number of RTTs that Veno needs before it acts (Linux).
const SAMPLES: u32 = 2;

/// Veno.
#[derive(Clone, Debug)]
pub struct Veno {
    w: Windows,
    rtts: Rtts,
    /// Whether the backlog is at least `BETA` segments.
    congested: bool,
    phase: Phase,
    /// Linux: whether the next delivered window adds a segment, while congested.
    every_other: bool,
}

impl Veno {
    pub(super) fn new(config: Config) -> Veno {
        Veno {
            w: Windows::new(&config, SlowStart::Standard),
            rtts: Rtts::default(),
            congested: false,
            phase: Phase::Open,
            every_other: true,
        }
    }

    /// The paper's rule: additive increase by the backlog.
    fn grow_exactly(&mut self, ack: &Ack, delivered: u64) {
        if let (Some(srtt), Some((base, _))) = (ack.srtt, self.rtts.both()) {
            let waiting = u128::from(self.w.window) * u128::from(srtt.saturating_sub(base).as_nanos());
            self.congested = waiting >= u128::from(BETA * self.w.mss) * u128::from(srtt.as_nanos());
        }
        if let Some(rest) = self.w.grow(ack, delivered) {
            let windows = if self.congested { 2 } else { 1 };
            self.w.additive(rest, windows * self.w.window);
        }
    }

    fn grow_linux(&mut self, ack: &Ack, delivered: u64) {
        let before = std::mem::replace(&mut self.phase, ack.phase);
        if before != Phase::Open && ack.phase == Phase::Open {
            self.rtts.forget_least();
        }
        let trusted = self.phase == Phase::Open && self.rtts.samples > SAMPLES;
        if ack.window_limited && ack.may_grow {
            if trusted {
                self.congested = self.is_congested_linux();
            }
            if let Some(rest) = self.w.grow(ack, delivered) {
                if trusted && self.congested { self.grow_congested(rest) } else { self.w.additive_reno(rest) }
            }
            if self.phase == Phase::Open {
                self.rtts.forget_least();
            }
        }
    }

    /// The backlog in half segments, rounded up. Without an RTT since the last evaluation the path counts as congested.
    fn is_congested_linux(&self) -> bool {
        let window = 2 * self.w.segments();
        let free = self.rtts.both().map_or(0, |(base, least)| {
            (u128::from(window) * u128::from(base.as_nanos()) / u128::from(least.as_nanos().max(1))) as u64
        });
        window.saturating_sub(free) >= 2 * BETA
    }

    /// A segment for every other window. The kernel checks before it counts.
    fn grow_congested(&mut self, delivered: u64) {
        if self.w.credit < self.w.window {
            self.w.credit += delivered;
            return;
        }
        if self.every_other {
            self.w.window += self.w.mss;
        }
        self.every_other = !self.every_other;
        self.w.credit = 0;
    }
}

impl CongestionController for Veno {
    by_windows!(on_undo, window, ssthresh, set_mss, set_window);

    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
        if sent.in_flight == 0 && self.w.as_linux() {
            self.rtts.forget_base();
            self.rtts.forget_least();
            self.every_other = true;
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.rtts.observe(ack);
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if self.w.as_linux() { self.grow_linux(ack, delivered) } else { self.grow_exactly(ack, delivered) }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.w.window;
        self.w.reduce(event, if self.congested { window / 2 } else { window * 4 / 5 });
        if event.trigger == Trigger::Timeout {
            self.phase = Phase::Loss;
        }
        if !self.w.as_linux() {
            self.rtts = Rtts::default();
        }
    }
}
