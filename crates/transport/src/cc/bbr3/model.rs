//! BBR's model of its path (section "Updating Network Path Model Parameters"): rounds, bandwidth, aggregation, losses.

use super::{Ack, AckPhase, BETA, Bbr3, LOSS_THRESHOLD, Lost, Sample, State};
use haltere_net::{Rate, Time};

/// The number of rounds for which the maximum of aggregation is kept (`BBR.ExtraAckedFilterLen`), and in Startup.
const EXTRA_ACKED_ROUNDS: u64 = 10;
const EXTRA_ACKED_STARTUP_ROUNDS: u64 = 1;

impl Sample {
    pub(super) fn of(ack: &Ack) -> Sample {
        Sample {
            rate: ack.rate.rate().map_or(0, Rate::as_bps),
            tx_in_flight: ack.rate.in_flight,
            lost: ack.rate.lost,
            app_limited: ack.rate.app_limited,
        }
    }

    /// `IsInflightTooHigh`.
    pub(super) fn too_high(&self) -> bool {
        self.lost as f64 > self.tx_in_flight as f64 * LOSS_THRESHOLD
    }

    /// `InflightAtLoss`: the volume at which losses crossed the threshold, computed within a lost packet of this size.
    pub(super) fn inflight_at_loss(&self, size: u64) -> u64 {
        let before = self.tx_in_flight.saturating_sub(size) as f64;
        let lost_before = self.lost.saturating_sub(size) as f64;
        let prefix = (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD);
        (before + prefix).max(0.0) as u64
    }
}

impl Bbr3 {
    /// `UpdateModelAndState`.
    pub(super) fn update_model_and_state(&mut self, ack: &Ack) {
        let sample = Sample::of(ack);
        self.update_latest_delivery_signals(ack, &sample);
        self.update_congestion_signals(ack, &sample);
        self.update_aggregation(ack);
        self.check_full_bandwidth(&sample);
        self.check_startup_done(ack, &sample);
        self.check_drain_done(ack);
        self.update_cycle(ack, sample);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack);
        if self.loss_round_start {
            // `AdvanceLatestDeliverySignals`.
            self.bw_latest = sample.rate;
            self.inflight_latest = ack.rate.delivered;
        }
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// `StartRound`.
    pub(super) fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    fn update_latest_delivery_signals(&mut self, ack: &Ack, sample: &Sample) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(ack.rate.delivered);
        if ack.rate.prior_delivered >= self.loss_round_end {
            self.loss_round_end = self.delivered;
            self.loss_round_start = true;
        }
    }

    fn update_congestion_signals(&mut self, ack: &Ack, sample: &Sample) {
        self.update_max_bw(ack, sample);
        if self.loss_round_start {
            self.adapt_lower_bounds();
            self.loss_in_round = false;
        }
    }

    /// `UpdateMaxBw` with `UpdateRound`.
    fn update_max_bw(&mut self, ack: &Ack, sample: &Sample) {
        self.round_start = ack.rate.prior_delivered >= self.round_end;
        if self.round_start {
            self.start_round();
            self.rounds += 1;
            self.rounds_since_probe_up += 1;
        }
        if sample.rate > 0 && (sample.rate >= self.max_bw() || !sample.app_limited) {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    /// `AdvanceMaxBwFilter`: the filter keeps this cycle's samples. A cycle without samples does not change it.
    pub(super) fn advance_max_bw(&mut self) {
        if self.max_bw[1] > 0 {
            self.max_bw = [self.max_bw[1], 0];
        }
    }

    /// `AdaptLowerBoundsFromCongestion`.
    fn adapt_lower_bounds(&mut self) {
        if self.state.accelerates() || !self.loss_in_round {
            return;
        }
        if self.bw_shortterm == u64::MAX {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == u64::MAX {
            self.inflight_shortterm = self.window;
        }
        let lowered = |bound: u64| (BETA * bound as f64) as u64;
        self.bw_shortterm = self.bw_latest.max(lowered(self.bw_shortterm));
        self.inflight_shortterm = self.inflight_latest.max(lowered(self.inflight_shortterm));
    }

    pub(super) fn reset_short_term_model(&mut self) {
        self.bw_shortterm = u64::MAX;
        self.inflight_shortterm = u64::MAX;
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0;
        self.inflight_latest = 0;
    }

    /// `UpdateACKAggregation`.
    fn update_aggregation(&mut self, ack: &Ack) {
        let mut expected = Rate::from_bps(self.bw).bytes_in(ack.now.since(self.extra_start));
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_start = ack.now;
            expected = 0;
        }
        self.extra_delivered += ack.delivered;
        let extra = self.extra_delivered.saturating_sub(expected).min(self.window);
        let length = if self.full_reached { EXTRA_ACKED_ROUNDS } else { EXTRA_ACKED_STARTUP_ROUNDS };
        self.extra_acked.update(length, self.rounds, extra);
    }

    /// `NoteLoss`.
    pub(super) fn note_loss(&mut self, lost: &Lost) {
        if !self.loss_in_round {
            self.loss_round_end = self.delivered;
            self.loss_runs = 0;
            self.last_lost = u64::MAX;
        }
        self.save_state_upon_loss();
        self.loss_in_round = true;
        self.loss_runs += u32::from(lost.from != self.last_lost);
        self.last_lost = lost.to;
    }

    /// `HandleInflightTooHigh`.
    pub(super) fn handle_inflight_too_high(&mut self, now: Time, sample: Sample) {
        self.prev_probe_too_high = true;
        // Each probe is answered by one reaction only.
        self.bw_probe_sample = false;
        if !sample.app_limited {
            let least = (self.target_inflight() as f64 * BETA) as u64;
            self.inflight_longterm = sample.tx_in_flight.max(least);
        }
        if self.state == State::Up {
            self.undo.state = self.rules.restores_state.then_some(State::Up);
            self.start_down(now);
        }
    }

    /// `AdaptLongTermModel`; returns whether it decided on a transition.
    pub(super) fn adapt_long_term_model(&mut self, ack: &Ack, sample: &Sample) -> bool {
        if self.round_start && self.ack_phase == AckPhase::ProbeStarting {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.round_start && self.ack_phase == AckPhase::ProbeStopping {
            self.bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.state.probes_bandwidth() && !sample.app_limited {
                self.advance_max_bw();
            }
            // Precautionary probing: the higher volume caused no losses.
            if self.state.probes_bandwidth() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill();
                return true;
            }
        }
        if sample.too_high() {
            // Version 3 looks at each lost packet only.
            if self.rules.are_of_two() && self.bw_probe_sample {
                self.handle_inflight_too_high(ack.now, *sample);
            }
        } else if self.inflight_longterm != u64::MAX {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight);
            if self.state == State::Up {
                self.probe_inflight_upward(ack);
            }
        }
        false
    }

    /// `ProbeInflightLongtermUpward`.
    fn probe_inflight_upward(&mut self, ack: &Ack) {
        if !ack.window_limited || self.window < self.inflight_longterm {
            return;
        }
        self.probe_up_acked += ack.delivered;
        let per = self.probe_up_acked_per_inc.max(1);
        let steps = self.probe_up_acked / per;
        self.probe_up_acked -= steps * per;
        self.inflight_longterm = self.inflight_longterm.saturating_add(steps.saturating_mul(self.mss));
        if self.round_start {
            self.raise_slope();
        }
    }

    /// `RaiseInflightLongtermSlope`.
    pub(super) fn raise_slope(&mut self) {
        let growth = 1u64 << self.probe_up_rounds;
        self.probe_up_rounds = (self.probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.window / growth).max(self.mss);
    }

    /// `SaveStateUponLoss`, once a recovery.
    pub(super) fn save_state_upon_loss(&mut self) {
        if std::mem::replace(&mut self.saved, true) {
            return;
        }
        self.save_window();
        self.undo.state = None;
        self.undo.bw_shortterm = self.bw_shortterm;
        self.undo.inflight_shortterm = self.inflight_shortterm;
        self.undo.inflight_longterm = self.inflight_longterm;
    }

    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_window();
        self.loss_in_round = false;
        self.saved = false;
        self.full = Default::default();
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.state.take() {
            Some(State::Startup) if self.state != State::Startup => {
                self.full_reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => self.start_refill(),
            _ => {}
        }
    }
}
