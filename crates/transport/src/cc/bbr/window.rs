//! Values derived from BBR's model: the pacing rate, the targets for data in flight, the window.

use super::bandwidth::{Bandwidth, UNIT};
use super::{Ack, Bbr, HIGH_GAIN, MIN_SEGMENTS, Mode, Phase};

/// The window while no RTT is known, segments (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: u64 = 10;
/// Below this pacing rate, bytes a second, segments are sent one by one (`bbr_min_tso_rate`).
const SINGLE_SEGMENT_RATE: u64 = 1_200_000 / 8;
/// The largest number of bytes in a super-segment: `GSO_LEGACY_MAX_SIZE` less one and `MAX_TCP_HEADER`, 320 on common
/// configurations.
const SUPER_SEGMENT: u64 = 65_536 - 1 - 320;
/// A super-segment holds what is paced in about a millisecond (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// The allowance on short paths halves with each 2^9 us of RTT (`tcp_tso_rtt_log`).
const SHORT_PATH_SHIFT: u32 = 9;
/// The largest super-segment for which BBR reserves room, segments (`bbr_tso_segs_goal`).
const GOAL_SEGMENTS: u64 = 127;
/// The assumed RTT while none is known, us.
const NOMINAL_RTT_MICROS: u64 = 1_000;

impl Bbr {
    /// High gain times the window per RTT (`bbr_init_pacing_rate_from_rtt`).
    pub(super) fn pace_first(&mut self, srtt: Option<u64>) {
        self.has_seen_rtt |= srtt.is_some();
        let rtt = srtt.map_or(NOMINAL_RTT_MICROS, |us| us.max(1));
        if let Some(bandwidth) = Bandwidth::of(self.window, self.mss, rtt) {
            self.pacing = bandwidth.paced(self.mss, HIGH_GAIN);
        }
    }

    /// Until the pipe is full the rate only rises (`bbr_set_pacing_rate`).
    pub(super) fn pace(&mut self, gain: u64, srtt: Option<u64>) {
        let rate = self.bandwidth().paced(self.mss, gain);
        if !self.has_seen_rtt && srtt.is_some() {
            self.pace_first(srtt);
        }
        if self.pipe_full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn min_super_segment(&self) -> u64 {
        if self.pacing < SINGLE_SEGMENT_RATE { 1 } else { 2 }
    }

    /// The number of segments that `tcp_tso_autosize` sends back to back. Unlike [`Bbr::super_segment_goal`] it allows
    /// more on short paths.
    pub(super) fn super_segment(&self) -> u64 {
        let halvings = self.path_min_rtt.map_or(u64::MAX, |us| us >> SHORT_PATH_SHIFT);
        let short_path = if halvings < 32 { SUPER_SEGMENT >> halvings } else { 0 };
        let bytes = ((self.pacing >> PACING_SHIFT) + short_path).min(SUPER_SEGMENT);
        (bytes / self.mss).max(self.min_super_segment())
    }

    /// The size of a super-segment for which BBR reserves room in its window, segments (`bbr_tso_segs_goal`).
    fn super_segment_goal(&self) -> u64 {
        let bytes = (self.pacing >> PACING_SHIFT).min(SUPER_SEGMENT);
        (bytes / self.mss).max(self.min_super_segment()).min(GOAL_SEGMENTS)
    }

    /// The bandwidth-delay product times `gain` (`bbr_bdp`).
    fn bdp(&self, bandwidth: Bandwidth, gain: u64) -> u64 {
        self.min_rtt.map_or(INITIAL_SEGMENTS, |rtt| bandwidth.segments_ceil(rtt, gain))
    }

    /// Adds room for super-segments at both ends, makes the number even to suit delayed ACKs, and adds two segments if
    /// a small BDP would leave no room to probe (`bbr_quantization_budget`).
    fn with_budget(&self, segments: u64) -> u64 {
        let even = (segments + 3 * self.super_segment_goal()).next_multiple_of(2);
        if self.mode == Mode::ProbeBandwidth && self.cycle_index == 0 { even + 2 } else { even }
    }

    /// The bytes in flight at `gain` (`bbr_inflight`).
    pub(super) fn flight_at(&self, gain: u64) -> u64 {
        self.with_budget(self.bdp(self.max_bandwidth(), gain)) * self.mss
    }

    /// Bytes in the network at the time of the next paced transmission (`bbr_packets_in_net_at_edt`).
    pub(super) fn flight_at_departure(&self, ack: &Ack, in_flight: u64) -> u64 {
        let wait = ack.next_departure.since(ack.now).as_micros();
        let departing = if self.pacing_gain > UNIT { self.super_segment_goal() } else { 0 };
        let sunk = self.bandwidth().segments_in(wait);
        (self.count(in_flight) + departing * self.mss).saturating_sub(sunk.saturating_mul(self.mss))
    }

    /// Stores the last window that was not reduced (`bbr_save_cwnd`).
    pub(super) fn save_window(&mut self) {
        let cut = matches!(self.prior_phase, Phase::Recovery | Phase::Loss) || self.mode == Mode::ProbeRtt;
        self.prior_window = if cut { self.prior_window.max(self.window) } else { self.window };
    }

    /// Conserves packets in recovery's first round and restores the window after its last. Returns whether packet
    /// conservation sets the window now (`bbr_set_cwnd_to_recover_or_restore`).
    fn recover_or_restore(&mut self, ack: &Ack) -> bool {
        // At least one full packet: if bytes are counted, the bytes that a small packet delivered would not allow a
        // full one.
        let out = (self.count(ack.in_flight) + self.count(ack.delivered)).max(self.mss);
        let repairs = |phase| matches!(phase, Phase::Recovery | Phase::Loss);
        self.window = self.window.saturating_sub(self.count(ack.lost)).max(self.mss);
        if ack.phase == Phase::Recovery && self.prior_phase != Phase::Recovery {
            self.conserving = true;
            self.round_end = self.delivered;
            self.window = out;
        } else if repairs(self.prior_phase) && !repairs(ack.phase) {
            self.window = self.window.max(self.prior_window);
            self.conserving = false;
        }
        self.prior_phase = ack.phase;
        if self.conserving {
            self.window = self.window.max(out);
        }
        self.conserving
    }

    /// `bbr_set_cwnd`.
    pub(super) fn set_window(&mut self, ack: &Ack) {
        if ack.delivered > 0 && !self.recover_or_restore(ack) {
            let bandwidth = self.bandwidth();
            let extra = if self.pipe_full { self.aggregation.allowance(bandwidth, self.mss) } else { 0 };
            let target = self.with_budget(self.bdp(bandwidth, self.window_gain) + extra) * self.mss;
            let grown = self.window + self.count(ack.delivered);
            if self.pipe_full {
                self.window = grown.min(target);
            } else if self.window < target || self.delivered + self.mss < INITIAL_SEGMENTS * self.mss {
                // (Linux counts the handshake as a segment delivered.)
                self.window = grown;
            }
            self.window = self.window.max(MIN_SEGMENTS * self.mss);
        }
        if self.mode == Mode::ProbeRtt {
            self.window = self.window.min(MIN_SEGMENTS * self.mss);
        }
    }
}
