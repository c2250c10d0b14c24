//! BBR version 3 (draft-ietf-ccwg-bbr: the working group's text of August 2026, commit 4ce5e87 of its repository). The
//! comments use the draft's names.
//!
//! The model of the path has two time scales. Its long-term part is the largest bandwidth of two probing cycles, and the
//! volume in flight at which losses exceeded 2 %. Its short-term part is bounds that losses outside of probing lower, by
//! at most 30 % per round trip. Startup, Drain and the four states of ProbeBW derive a pacing rate and a window from it.
//!
//! Nothing is fitted to Linux, whose mainline has no version 3. Bandwidths count bytes of data a second, as in version 1
//! ([`super::bbr`]). Where the draft leaves room:
//! - Losses that end Startup are counted by runs of positions that do not touch (`StartupFullLossCnt`). They are examined
//!   at the end of a round in which losses were being repaired.
//! - An ACK without a valid rate sample does not change the estimator of a full pipe.
//! - State is saved for an undo when a recovery begins, as the draft's prose says. Its pseudocode saves it at each round's
//!   first loss, and would lose the information that the recovery ended a probe.
//! - The offload budget is three send quanta for a transport that counts whole segments, as TCP does, and otherwise one.

mod control;
mod model;
mod rules;
mod states;
#[cfg(test)]
mod tests;

use super::{Ack, Ask, Config, Congestion, CongestionController, Description, Established, Implementation, Lost, PathView, Phase, Sent, Startup, Trigger, whole};
use crate::recovery::WindowedMax;
use haltere_net::control::{BbrState, PathModel};
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
pub(super) use rules::Rules;
use rules::THREE;

pub(super) const ENTRY: Implementation = Implementation {
    label: "BBRv3",
    slow_start: Startup::Own,
    send_windows: 3,
    ..Implementation::new(
        Description {
            name: "bbr3",
            summary: "BBR version 3: bounds its probing by losses above 2 %, yields room to others",
            reference: "draft-ietf-ccwg-bbr (August 2026)",
        },
        |config| Box::new(Bbr3::new(config)),
    )
};

/// `BBR.MinPipeCwnd`, segments.
const MIN_PIPE_SEGMENTS: u64 = 4;
/// `BBR.LossThresh`.
const LOSS_THRESHOLD: f64 = 0.02;
/// `BBR.Beta`.
const BETA: f64 = 0.7;
/// The assumed RTT while there is none (`InitPacingRate`).
const NOMINAL_RTT: Span = Span::from_millis(1);

/// The states (section "State Machine Operation").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// `IsInAProbeBWState`.
    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// `IsProbingBW`.
    fn accelerates(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }

    /// The state as recorded.
    fn told(self) -> BbrState {
        match self {
            State::Startup => BbrState::Startup,
            State::Drain => BbrState::Drain,
            State::Down => BbrState::Down,
            State::Cruise => BbrState::Cruise,
            State::Refill => BbrState::Refill,
            State::Up => BbrState::Up,
            State::ProbeRtt => BbrState::ProbeRtt,
        }
    }
}

/// The phase of probing that ACKs belong to (`BBR.ack_phase`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state that is restored if losses prove spurious (section "Undo State"). Infinite bounds are `u64::MAX`.
#[derive(Clone, Copy, Debug)]
struct Undo {
    state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

/// The estimator of a full pipe.
#[derive(Clone, Copy, Default, Debug)]
struct FullBandwidth {
    base: u64,
    rounds: u32,
    now: bool,
}

/// The part of a rate sample on which decisions about losses are based (`RS`).
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// `RS.delivery_rate`, bit/s; 0 if there is none.
    rate: u64,
    /// `RS.tx_in_flight`, bytes.
    tx_in_flight: u64,
    /// `RS.lost`, bytes.
    lost: u64,
    app_limited: bool,
}

/// BBR version 3, or [version 2](super::bbr2) by other rules. Bandwidths are in bit/s, volumes in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    rules: &'static Rules,
    mss: u64,
    grain: u64,
    initial_window: u64,
    stream: Stream,
    state: State,
    window: u64,
    prior_window: u64,
    pacing: u64,
    has_seen_rtt: bool,
    phase: Phase,
    delivered: u64,
    begun: bool,
    idle_restart: bool,
    marks_app_limited: bool,

    round_end: u64,
    round_start: bool,
    rounds: u64,

    /// The largest rates of the previous and the present cycle.
    max_bw: [u64; 2],
    bw: u64,
    bw_shortterm: u64,
    bw_latest: u64,
    inflight_latest: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
    loss_round_end: u64,
    loss_round_start: bool,
    loss_in_round: bool,
    /// Runs of lost positions in this round, and the end of the last run.
    loss_runs: u32,
    last_lost: u64,
    undo: Undo,
    /// Whether the state was saved in the present recovery.
    saved: bool,
    /// Whether losses were being repaired in this round.
    repaired_in_round: bool,

    full: FullBandwidth,
    full_reached: bool,
    drain_start: u64,

    extra_acked: WindowedMax,
    extra_start: Time,
    extra_delivered: u64,

    min_rtt: Option<Span>,
    min_rtt_at: Time,
    /// The least RTT since ProbeRTT could last have come, and when it was seen (`BBR.probe_rtt_min_delay`).
    probe_rtt_min: Option<(Span, Time)>,
    probe_rtt_expired: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,

    ack_phase: AckPhase,
    bw_probe_sample: bool,
    probe_up_acked: u64,
    probe_up_acked_per_inc: u64,
    probe_up_rounds: u32,
    rounds_since_probe_up: u64,
    probe_wait: Span,
    cycle_start: Time,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
}

impl Bbr3 {
    pub(super) fn new(config: Config) -> Bbr3 {
        Bbr3::with(config, &THREE)
    }

    /// `OnInit`.
    pub(super) fn with(config: Config, rules: &'static Rules) -> Bbr3 {
        let (mss, grain) = (config.mss.max(1), config.grain.max(1));
        let initial_window = whole(config.initial_window, grain).max(grain);
        let undo = Undo { state: None, bw_shortterm: 0, inflight_shortterm: 0, inflight_longterm: 0 };
        let mut bbr = Bbr3 {
            rules,
            mss,
            grain,
            initial_window,
            stream: config.stream,
            state: State::Startup,
            window: initial_window,
            prior_window: 0,
            pacing: 0,
            has_seen_rtt: false,
            phase: Phase::Open,
            delivered: 0,
            begun: false,
            idle_restart: false,
            marks_app_limited: false,
            round_end: 0,
            round_start: false,
            rounds: 0,
            max_bw: [0; 2],
            bw: 0,
            bw_shortterm: u64::MAX,
            bw_latest: 0,
            inflight_latest: 0,
            inflight_shortterm: u64::MAX,
            inflight_longterm: u64::MAX,
            loss_round_end: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_runs: 0,
            last_lost: u64::MAX,
            undo,
            saved: false,
            repaired_in_round: false,
            full: FullBandwidth::default(),
            full_reached: false,
            drain_start: 0,
            extra_acked: WindowedMax::default(),
            extra_start: Time::ZERO,
            extra_delivered: 0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: None,
            probe_rtt_expired: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            ack_phase: AckPhase::Init,
            bw_probe_sample: false,
            probe_up_acked: 0,
            probe_up_acked_per_inc: u64::MAX,
            probe_up_rounds: 0,
            rounds_since_probe_up: 0,
            probe_wait: Span::ZERO,
            cycle_start: Time::ZERO,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
        };
        bbr.pace_first(None);
        bbr
    }

    /// Sets the clocks when the connection begins: at the end of its handshake, or at the first packet or ACK.
    fn begin(&mut self, now: Time) {
        if !self.begun {
            self.begun = true;
            self.min_rtt_at = now;
            self.extra_start = now;
        }
    }

    /// Gains of pacing rate and window in the present state.
    fn gains(&self) -> (f64, f64) {
        self.rules.gains(self.state)
    }

    fn max_bw(&self) -> u64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn min_pipe(&self) -> u64 {
        MIN_PIPE_SEGMENTS * self.mss
    }

    fn in_recovery(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Loss)
    }

    /// `SaveCwnd`.
    fn save_window(&mut self) {
        let cut = self.in_recovery() || self.state == State::ProbeRtt;
        self.prior_window = if cut { self.prior_window.max(self.window) } else { self.window };
    }

    /// `RestoreCwnd`.
    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }
}

impl CongestionController for Bbr3 {
    fn on_established(&mut self, event: &Established) {
        self.begin(event.now);
        self.min_rtt = event.rtt;
        self.pace_first(event.rtt);
    }

    /// `HandleRestartFromIdle`.
    fn on_sent(&mut self, sent: &Sent) {
        self.begin(sent.now);
        if sent.in_flight > 0 || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra_start = sent.now;
        if self.state.probes_bandwidth() {
            self.pace(1.0);
        } else if self.state == State::ProbeRtt {
            self.leave_probe_rtt_if_done(sent.now);
        }
    }

    /// `UpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.begin(ack.now);
        self.delivered = ack.total_delivered;
        if !self.has_seen_rtt && ack.srtt.is_some() {
            self.pace_first(ack.srtt);
        }
        if ack.delivered > 0 {
            self.update_model_and_state(ack);
        }
        self.phase = ack.phase;
        self.saved &= self.in_recovery();
        self.marks_app_limited = self.state == State::ProbeRtt;
        self.pace(self.gains().0);
        self.set_window(ack);
    }

    /// `HandleLostPacket`.
    fn on_lost(&mut self, lost: &Lost) {
        self.delivered = lost.total_delivered;
        self.note_loss(lost);
        if !self.bw_probe_sample {
            return;
        }
        let since = lost.total_lost.saturating_sub(lost.sent.lost);
        let sample = Sample {
            rate: 0,
            tx_in_flight: u64::from(lost.sent.in_flight),
            lost: since,
            app_limited: lost.sent.app_limited,
        };
        if sample.too_high() {
            let at_loss = sample.inflight_at_loss(lost.bytes);
            self.handle_inflight_too_high(lost.now, Sample { tx_in_flight: at_loss, ..sample });
        }
    }

    /// `OnEnterRTO`, `OnEnterFastRecovery`.
    fn on_congestion(&mut self, event: &Congestion) {
        if event.new_episode {
            self.save_window();
            self.save_state_upon_loss();
        }
        if matches!(event.trigger, Trigger::Timeout | Trigger::PersistentCongestion) {
            self.window = event.in_flight + self.mss;
            self.phase = Phase::Loss;
        }
    }

    /// `HandleSpuriousLossDetection`.
    fn on_undo(&mut self) {
        self.handle_spurious_loss();
    }

    fn on_recovered(&mut self, _: Time) {
        self.restore_window();
        self.phase = Phase::Open;
    }

    fn window(&self) -> u64 {
        self.window.div_ceil(self.grain) * self.grain
    }

    fn ssthresh(&self) -> u64 {
        u64::MAX
    }

    fn in_slow_start(&self) -> bool {
        self.state == State::Startup
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.pacing > 0).then(|| Rate::from_bps(self.pacing))
    }

    fn send_quantum(&self) -> u64 {
        self.quantum()
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn asks(&self) -> Ask {
        if self.marks_app_limited { Ask::MarkAppLimited } else { Ask::Nothing }
    }

    fn path_model(&self) -> Option<PathModel> {
        let bound = |value: u64| (value != u64::MAX).then_some(value);
        Some(PathModel {
            state: self.state.told(),
            max_bandwidth: Rate::from_bps(self.max_bw()),
            short_term_bandwidth: bound(self.bw_shortterm).map(Rate::from_bps),
            long_term_inflight: bound(self.inflight_longterm),
            short_term_inflight: bound(self.inflight_shortterm),
            extra_acked: self.extra_acked.get().unwrap_or(0),
            min_rtt: self.min_rtt,
            rounds: self.rounds,
            full_rounds: self.full.rounds,
        })
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        if self.grain == self.mss {
            self.grain = mss.max(1);
        }
        self.mss = mss.max(1);
        self.window = self.window.max(self.min_pipe());
    }
}
