//! BBR's states and the transitions between them (section "State Machine Operation").

use super::{Ack, AckPhase, Bbr3, FullBandwidth, Phase, Sample, State};
use haltere_net::{Span, Time};

/// The pipe is full after this many rounds with less growth than a quarter (`CheckFullBWReached`).
const FULL_ROUNDS: u32 = 3;
const FULL_GROWTH: f64 = 1.25;
/// `BBR.MinRTTFilterLen`, `BBR.ProbeRTTInterval` and `BBR.ProbeRTTDuration`.
const MIN_RTT_FILTER: Span = Span::from_secs(10);
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
const PROBE_RTT_DURATION: Span = Span::from_millis(200);
/// Bandwidth is probed after two to three seconds (`PickProbeWait`), or as many rounds as a Reno flow would need to grow
/// by what is in flight, of which 63 at most are waited for (`IsRenoCoexistenceProbeTime`).
const PROBE_WAIT: Span = Span::from_secs(2);
const PROBE_WAIT_SPREAD_S: f64 = 1.0;
const MAX_RENO_ROUNDS: u64 = 63;

impl Bbr3 {
    /// `CheckFullBWReached`.
    pub(super) fn check_full_bandwidth(&mut self, sample: &Sample) {
        if self.full.now || !self.round_start || sample.app_limited || sample.rate == 0 {
            return;
        }
        // Version 2 asks in Startup alone, and looks at the largest bandwidth.
        let rate = if self.rules.are_of_two() { self.max_bw() } else { sample.rate };
        if rate as f64 >= self.full.base as f64 * FULL_GROWTH {
            self.full = FullBandwidth { base: rate, ..FullBandwidth::default() };
            return;
        }
        self.full.rounds += 1;
        self.full.now = self.full.rounds >= FULL_ROUNDS;
        self.full_reached |= self.full.now;
    }

    /// `CheckStartupDone`.
    pub(super) fn check_startup_done(&mut self, ack: &Ack, sample: &Sample) {
        self.check_startup_loss(ack, sample);
        if self.state == State::Startup && self.full_reached {
            self.state = State::Drain;
            self.drain_start = self.rounds;
        }
    }

    /// `CheckStartupHighLoss`: a round of recovery has ended in which more than 2 % were lost, in six places.
    fn check_startup_loss(&mut self, ack: &Ack, sample: &Sample) {
        let recovering = ack.phase == Phase::Recovery;
        self.repaired_in_round |= recovering;
        if self.full_reached || !self.loss_round_start {
            return;
        }
        let repaired = std::mem::replace(&mut self.repaired_in_round, recovering);
        if repaired && self.loss_runs >= self.rules.startup_losses && sample.too_high() {
            self.undo.state = self.rules.restores_state.then_some(State::Startup);
            self.full.now = true;
            self.full_reached = true;
            let latest = if self.rules.are_of_two() { 0 } else { self.inflight_latest };
            self.inflight_longterm = self.bdp(self.bw, 1.0).max(latest);
        }
        self.loss_runs = 0;
    }

    /// `CheckDrainDone`.
    pub(super) fn check_drain_done(&mut self, ack: &Ack) {
        let drained = ack.in_flight <= self.inflight(self.bw, 1.0);
        if self.state == State::Drain && (drained || self.rounds > self.drain_start.saturating_add(self.rules.drain_rounds)) {
            self.start_down(ack.now);
        }
    }

    // ---- ProbeBW ----

    /// `StartProbeBW_DOWN`.
    pub(super) fn start_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_up_acked_per_inc = u64::MAX;
        self.pick_probe_wait();
        self.cycle_start = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    fn pick_probe_wait(&mut self) {
        self.rounds_since_probe_up = self.stream.below(2);
        self.probe_wait = PROBE_WAIT + Span::from_secs_f64(self.stream.unit() * PROBE_WAIT_SPREAD_S);
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.probe_up_rounds = 0;
        self.probe_up_acked = 0;
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// `StartProbeBW_UP`.
    fn start_up(&mut self, now: Time, sample: &Sample) {
        self.cycle_start = now;
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full = FullBandwidth { base: sample.rate, ..FullBandwidth::default() };
        self.state = State::Up;
        self.raise_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_cycle(&mut self, ack: &Ack, sample: Sample) {
        if !self.full_reached || self.adapt_long_term_model(ack, &sample) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(ack) => self.start_cruise(),
            State::Refill if self.round_start => {
                self.bw_probe_sample = true;
                self.start_up(ack.now, &sample);
            }
            State::Up if self.is_time_to_go_down(ack, &sample) => {
                self.prev_probe_too_high = false;
                self.start_down(ack.now);
            }
            _ => {}
        }
    }

    fn start_cruise(&mut self) {
        self.state = State::Cruise;
        if self.rules.are_of_two() && self.inflight_shortterm != u64::MAX {
            self.inflight_shortterm = self.inflight_shortterm.min(self.inflight_longterm);
        }
    }

    /// `IsTimeToProbeBW`.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno_rounds = (self.target_inflight() / self.mss).min(MAX_RENO_ROUNDS);
        now > self.cycle_start + self.probe_wait || self.rounds_since_probe_up >= reno_rounds
    }

    fn is_time_to_cruise(&self, ack: &Ack) -> bool {
        ack.in_flight <= self.inflight_with_headroom() && ack.in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    fn is_time_to_go_down(&mut self, ack: &Ack, sample: &Sample) -> bool {
        if self.prev_probe_too_high && ack.in_flight >= self.inflight_longterm {
            self.prev_probe_precautionary = true;
            return true;
        }
        if let Some(gain) = self.rules.up_ends_at {
            let long_enough = self.min_rtt.is_some_and(|rtt| ack.now > self.cycle_start + rtt);
            return long_enough && ack.prior_in_flight >= self.inflight(self.max_bw(), gain);
        }
        if ack.window_limited && self.window >= self.inflight_longterm {
            // This bound limits the bandwidth.
            self.full = FullBandwidth { base: sample.rate, ..FullBandwidth::default() };
            return false;
        }
        self.full.now
    }

    // ---- ProbeRTT ----

    /// `UpdateMinRTT`: the filter of the last five seconds, whose end is the time for ProbeRTT, feeds that of ten seconds.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let (least, at) = self.probe_rtt_min.unwrap_or((self.min_rtt.unwrap_or(Span::MAX), self.min_rtt_at));
        self.probe_rtt_expired = ack.now > at + PROBE_RTT_INTERVAL;
        let newest = ack.rtt.filter(|rtt| *rtt < least || self.probe_rtt_expired).map(|rtt| (rtt, ack.now));
        let (least, at) = newest.unwrap_or((least, at));
        self.probe_rtt_min = Some((least, at));
        let expired = ack.now > self.min_rtt_at + MIN_RTT_FILTER;
        // Linux also takes one that is as small, and then remembers it for longer.
        let renews = |min| least < min || (least == min && self.rules.are_of_two());
        if least < Span::MAX && (expired || self.min_rtt.is_none_or(renews)) {
            (self.min_rtt, self.min_rtt_at) = (Some(least), at);
        }
    }

    /// `ProbeRTTCwnd`.
    pub(super) fn probe_rtt_window(&self) -> u64 {
        self.bdp(self.bw, self.rules.gains(State::ProbeRtt).1).max(self.min_pipe())
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.state = State::ProbeRtt;
            self.save_window();
            self.probe_rtt_done = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if ack.rate.delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, ack: &Ack) {
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt_if_done(ack.now);
            }
        } else if ack.in_flight <= self.probe_rtt_window() {
            self.probe_rtt_done = Some(ack.now + PROBE_RTT_DURATION);
            self.probe_rtt_round_done = false;
            self.start_round();
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT`.
    pub(super) fn leave_probe_rtt_if_done(&mut self, now: Time) {
        if self.probe_rtt_done.is_none_or(|done| now <= done) {
            return;
        }
        self.probe_rtt_min = self.probe_rtt_min.map(|(least, _)| (least, now));
        self.restore_window();
        self.reset_short_term_model();
        if self.full_reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
