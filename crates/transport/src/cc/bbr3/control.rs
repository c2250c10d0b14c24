//! Values derived from BBR's model (section "Updating Control Parameters"): pacing rate, send quantum, window.

use super::{Ack, Bbr3, NOMINAL_RTT, State};
use haltere_net::{Rate, Span};

/// The share of a bandwidth that `BBR.PacingMarginPercent` leaves.
const PACED: f64 = 0.99;
/// A send quantum is what is paced in this time, at most 64 KB (`SetSendQuantum`).
const QUANTUM_SPAN: Span = Span::from_millis(1);
const MAX_QUANTUM: u64 = 64_000;
/// The number of quanta for which a transport with segmentation offload has room (`UpdateOffloadBudget`).
const OFFLOAD_QUANTA: u64 = 3;
/// `BBR.Headroom`.
const HEADROOM: f64 = 0.15;

impl Bbr3 {
    /// `InitPacingRate`.
    pub(super) fn pace_first(&mut self, srtt: Option<Span>) {
        self.has_seen_rtt |= srtt.is_some();
        let nominal = Rate::of(self.initial_window, srtt.unwrap_or(NOMINAL_RTT)).map_or(0, Rate::as_bps);
        self.pacing = (self.rules.startup.0 * nominal as f64) as u64;
    }

    /// `SetPacingRateWithGain`: until the pipe is full the rate only rises.
    pub(super) fn pace(&mut self, gain: f64) {
        let rate = (gain * self.bw as f64 * PACED) as u64;
        if rate > 0 && (self.full_reached || rate > self.pacing) {
            self.pacing = rate;
        }
    }

    /// `SetSendQuantum`.
    pub(super) fn quantum(&self) -> u64 {
        Rate::from_bps(self.pacing).bytes_in(QUANTUM_SPAN).min(MAX_QUANTUM).max(2 * self.mss)
    }

    /// `BDPMultiple` of a bandwidth.
    pub(super) fn bdp(&self, bw: u64, gain: f64) -> u64 {
        match self.min_rtt {
            Some(rtt) => (gain * Rate::from_bps(bw).bytes_in(rtt) as f64) as u64,
            None => self.initial_window,
        }
    }

    /// `QuantizationBudget`.
    fn with_budget(&self, cap: u64) -> u64 {
        let quanta = if self.grain == self.mss { OFFLOAD_QUANTA } else { 1 };
        let cap = cap.max(quanta * self.quantum()).max(self.min_pipe());
        if self.state == State::Up { cap + 2 * self.mss } else { cap }
    }

    /// `Inflight(bw, gain)`.
    pub(super) fn inflight(&self, bw: u64, gain: f64) -> u64 {
        self.with_budget(self.bdp(bw, gain))
    }

    /// `TargetInflight`.
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp(self.bw, 1.0).min(self.window)
    }

    /// `InflightWithHeadroom`.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == u64::MAX {
            return u64::MAX;
        }
        let headroom = self.mss.max((HEADROOM * self.inflight_longterm as f64) as u64);
        self.inflight_longterm.saturating_sub(headroom).max(self.min_pipe())
    }

    /// `SetCwnd`.
    pub(super) fn set_window(&mut self, ack: &Ack) {
        let extra = self.extra_acked.get().unwrap_or(0);
        let most = self.with_budget(self.bdp(self.bw, self.gains().1).saturating_add(extra));
        let grown = self.window.saturating_add(ack.delivered);
        if self.full_reached {
            self.window = grown.min(most);
        } else if self.window < most || self.delivered < self.initial_window {
            self.window = grown;
        }
        self.window = self.window.max(self.min_pipe());
        // `BoundCwndForProbeRTT`, `BoundCwndForModel`.
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise => self.inflight_with_headroom(),
            State::ProbeRtt => self.inflight_with_headroom().min(self.probe_rtt_window()),
            State::Startup | State::Drain => u64::MAX,
        };
        self.window = self.window.min(cap.min(self.inflight_shortterm).max(self.min_pipe()));
    }
}
