//! BBR's model of its path and its states: bandwidth, minimum RTT, Startup to ProbeRTT.

use super::aggregation::Arrival;
use super::bandwidth::{Bandwidth, UNIT};
use super::policer::{Finding, Observation};
use super::{Ack, Bbr, HIGH_GAIN, MIN_SEGMENTS, Mode};
use haltere_net::Time;

/// The inverse of the high gain. It drains in one round the queue that Startup built (`bbr_drain_gain`).
pub(super) const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// The gain of the window, with room for delayed and stretched ACKs (`bbr_cwnd_gain`).
const WINDOW_GAIN: u64 = UNIT * 2;
/// The gains of a cycle: probe, drain, cruise (`bbr_pacing_gain`).
pub(super) const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// A cycle begins in a random one of this many phases: any but the draining one (`bbr_cycle_rand`).
const CYCLE_STARTS: u64 = 7;
/// The number of rounds for which the maximum bandwidth is kept (`bbr_bw_rtts`).
const BANDWIDTH_ROUNDS: u64 = 10;
/// The number of ticks for which the minimum RTT is kept (`bbr_min_rtt_win_sec`), and that ProbeRTT lasts
/// (`bbr_probe_rtt_mode_ms`).
const MIN_RTT_TICKS: u64 = 10_000;
const PROBE_RTT_TICKS: u64 = 200;
/// The pipe is full after three rounds with less growth than this (`bbr_full_bw_thresh`, `bbr_full_bw_cnt`).
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;

impl Bbr {
    pub(super) fn update_model(&mut self, ack: &Ack) {
        self.update_bandwidth(ack);
        self.update_aggregation(ack);
        self.update_cycle(ack);
        self.check_pipe_full(ack);
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
    }

    /// Counts rounds and feeds the maximum filter (`bbr_update_bw`).
    fn update_bandwidth(&mut self, ack: &Ack) {
        self.round_start = false;
        let sample = &ack.rate;
        let Some(bandwidth) = Bandwidth::of(sample.delivered, self.mss, sample.interval.as_micros()) else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.look_for_policer(Some(ack));
        // An application-limited sample describes the application, not the path, unless it exceeds the estimate.
        if !sample.app_limited || bandwidth >= self.max_bandwidth() {
            self.max_bandwidth.update(BANDWIDTH_ROUNDS, self.rounds, bandwidth.0);
        }
    }

    /// Looks for a policer after an ACK, or after a timeout (`None`).
    pub(super) fn look_for_policer(&mut self, ack: Option<&Ack>) {
        let finding = self.long_term.observe(&Observation {
            totals: self.totals(),
            losses: ack.is_none_or(|ack| ack.lost > 0),
            app_limited: ack.is_some_and(|ack| ack.rate.app_limited),
            round_start: self.round_start,
            probing_bandwidth: self.mode == Mode::ProbeBandwidth,
            mss: self.mss,
        });
        match finding {
            Finding::Nothing => {}
            Finding::Policed => self.pacing_gain = UNIT,
            Finding::Expired => self.enter_probe_bandwidth(),
        }
    }

    fn update_aggregation(&mut self, ack: &Ack) {
        if ack.delivered == 0 || ack.rate.interval.as_micros() == 0 {
            return;
        }
        let arrival = Arrival {
            micros: self.delivered_at,
            acked: self.count(ack.delivered),
            round_start: self.round_start,
            bandwidth: self.bandwidth(),
            window: self.window,
            mss: self.mss,
        };
        self.aggregation.on_ack(&arrival);
    }

    fn update_cycle(&mut self, ack: &Ack) {
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(ack) {
            self.next_phase();
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn phase_is_over(&self, ack: &Ack) -> bool {
        let elapsed = self.delivered_at.saturating_sub(self.cycle_start);
        let full_length = self.min_rtt.is_some_and(|rtt| elapsed > rtt);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let flight = self.flight_at_departure(ack, ack.prior_in_flight);
        if self.pacing_gain > UNIT {
            // Probing continues until the path holds more data or loses packets.
            return full_length && (ack.lost > 0 || flight >= self.flight_at(self.pacing_gain));
        }
        full_length || flight <= self.flight_at(UNIT)
    }

    fn next_phase(&mut self) {
        self.cycle_index = (self.cycle_index + 1) % CYCLE.len();
        self.cycle_start = self.delivered_at;
    }

    /// Begins cycling at a random phase, so that flows do not probe together (`bbr_reset_probe_bw_mode`), or at one that is given.
    pub(super) fn enter_probe_bandwidth(&mut self) {
        self.mode = Mode::ProbeBandwidth;
        let given = self.given_start();
        let drawn = || CYCLE.len() - 1 - self.stream.below(CYCLE_STARTS) as usize;
        self.cycle_index = given.unwrap_or_else(drawn);
        self.next_phase();
    }

    /// The phase before the next one that is given to begin in.
    fn given_start(&mut self) -> Option<usize> {
        let place = 10u32.pow(self.cycle_starts.checked_ilog10()?);
        let digit = (self.cycle_starts / place) as usize;
        self.cycle_starts %= place;
        Some((digit + CYCLE.len() - 2) % CYCLE.len())
    }

    /// `bbr_check_full_bw_reached`.
    fn check_pipe_full(&mut self, ack: &Ack) {
        if self.pipe_full || !self.round_start || ack.rate.app_limited {
            return;
        }
        let bandwidth = self.max_bandwidth();
        if bandwidth >= self.full_bandwidth.scaled(FULL_GROWTH) {
            self.full_bandwidth = bandwidth;
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.pipe_full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn check_drain(&mut self, ack: &Ack) {
        if self.mode == Mode::Startup && self.pipe_full {
            self.mode = Mode::Drain;
            self.ssthresh = self.flight_at(UNIT);
        }
        if self.mode == Mode::Drain && self.flight_at_departure(ack, ack.in_flight) <= self.flight_at(UNIT) {
            self.enter_probe_bandwidth();
        }
    }

    /// `bbr_update_min_rtt`.
    fn update_min_rtt(&mut self, ack: &Ack) {
        let now = self.millis(ack.now);
        let expired = now > self.min_rtt_tick + MIN_RTT_TICKS;
        if let Some(rtt) = ack.rtt.map(|rtt| rtt.as_micros()) {
            // An expired minimum is not replaced by an RTT that includes the receiver's delayed-ACK timer.
            if self.min_rtt.is_none_or(|min| rtt < min) || (expired && !ack.delayed) {
                self.min_rtt = Some(rtt);
                self.min_rtt_tick = now;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_rtt_done = None;
        }
        self.marks_app_limited = self.mode == Mode::ProbeRtt;
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(ack);
        }
        if ack.delivered > 0 {
            self.idle_restart = false;
        }
    }

    /// Keeps the flight at its minimum for 200 ms and one round.
    fn probe_rtt(&mut self, ack: &Ack) {
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt_if_done(ack.now);
            }
        } else if self.count(ack.in_flight) <= MIN_SEGMENTS * self.mss {
            self.probe_rtt_done = Some(self.millis(ack.now) + PROBE_RTT_TICKS);
            self.probe_rtt_round_done = false;
            self.round_end = self.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    pub(super) fn leave_probe_rtt_if_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| self.millis(now) <= done) {
            return;
        }
        self.min_rtt_tick = self.millis(now);
        self.window = self.window.max(self.prior_window);
        if self.pipe_full {
            self.enter_probe_bandwidth();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.long_term.bandwidth().is_some() => (UNIT, WINDOW_GAIN),
            Mode::ProbeBandwidth => (CYCLE[self.cycle_index], WINDOW_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }
}
