//! BBR version 1, as Linux has it (`tcp_bbr.c`, Linux 6.12).
//!
//! N. Cardwell, Y. Cheng, C. S. Gunn, S. H. Yeganeh, V. Jacobson, "BBR: Congestion-Based Congestion Control", ACM Queue
//! 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00. Where these leave details open, and in all rounding,
//! this follows the kernel, whose names are in the comments, because transfers are compared with the kernel's.
//!
//! Times are measured as in the kernel: in microseconds for rates, and in clock ticks for the ten-second and 200 ms
//! timers. Windows are in bytes, in whole units of the granularity.
//!
//! The pacing rate counts bytes of data, as does the kernel's pacer (`mss_cache` in `bbr_rate_bytes_per_sec`,
//! `skb->len` before headers in `tcp_update_skb_after_send`). The packet's size on the wire is therefore not used here:
//! a pacer that counted headers too would send 3.5 % too slowly.

mod aggregation;
mod bandwidth;
mod model;
mod policer;
#[cfg(test)]
mod tests;
mod window;

use super::{Ack, Ask, Config, Congestion, CongestionController, Description, Established, Implementation, Parameter, PathView, Phase, Sent, Startup, Trigger, whole};
use crate::recovery::WindowedMax;
use aggregation::Aggregation;
use bandwidth::{Bandwidth, UNIT};
use haltere_net::control::{BbrState, PathModel};
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
use policer::{LongTerm, Totals};

/// Where cycles of gains begin. A kernel's are random: what one drew can be given to the model that is laid beside it.
const CYCLE_STARTS: Parameter = Parameter {
    name: "cycle-starts",
    default: 0.0,
    least: 0.0,
    most: 88_888_888.0,
    summary: "phases in which its cycles of gains begin, a digit each: 1 probes, 2 drains, 3 to 8 cruise; at 0, and after them, at random",
};

pub(super) const ENTRY: Implementation = Implementation {
    label: "BBR",
    linux: Some("bbr"),
    shade: Some(1),
    slow_start: Startup::Own,
    // `bbr_sndbuf_expand`.
    send_windows: 3,
    parameters: &[CYCLE_STARTS],
    values: &[0.0],
    ..Implementation::new(
        Description {
            name: "bbr",
            summary: "BBR version 1: paces at the bandwidth measured, with a window of twice the bandwidth-delay product",
            reference: "Cardwell et al., ACM Queue 14(5), 2016; Linux 6.12 tcp_bbr.c",
        },
        |config| Box::new(Bbr::new(config)),
    )
};

/// 2/ln 2, the smallest gain that doubles the rate each round (`bbr_high_gain`), rounded up.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// The smallest window, segments (`bbr_cwnd_min_target`).
const MIN_SEGMENTS: u64 = 4;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRtt,
}

/// BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    mss: u64,
    grain: u64,
    stream: Stream,
    window: u64,
    ssthresh: u64,
    /// Bytes of data a second.
    pacing: u64,
    mode: Mode,
    pacing_gain: u64,
    window_gain: u64,
    max_bandwidth: WindowedMax,
    /// The minimum RTT of the last ten seconds, us, and the tick at which it was measured.
    min_rtt: Option<u64>,
    min_rtt_tick: u64,
    /// The clock's tick, and the time from a tick to the start of the run, ns.
    tick: u64,
    phase: u64,
    /// The minimum RTT of loss recovery, us.
    path_min_rtt: Option<u64>,
    rounds: u64,
    round_end: u64,
    round_start: bool,
    full_bandwidth: Bandwidth,
    full_rounds: u32,
    pipe_full: bool,
    cycle_index: usize,
    cycle_start: u64,
    /// The rest of [`CYCLE_STARTS`], whose digits are taken off from the front.
    cycle_starts: u32,
    probe_rtt_done: Option<u64>,
    probe_rtt_round_done: bool,
    marks_app_limited: bool,
    /// The window before recovery or ProbeRTT reduced it.
    prior_window: u64,
    prior_phase: Phase,
    conserving: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    long_term: LongTerm,
    aggregation: Aggregation,
    /// When the delivered count last changed, us.
    delivered_at: u64,
    delivered: u64,
    lost: u64,
    begun: bool,
}

fn micros(time: Time) -> u64 {
    time.as_nanos() / 1_000
}

impl Bbr {
    pub(super) fn new(config: Config) -> Bbr {
        let (mss, grain) = (config.mss.max(1), config.grain.max(1));
        let mut max_bandwidth = WindowedMax::default();
        max_bandwidth.reset(0, 0);
        let mut bbr = Bbr {
            mss,
            grain,
            stream: config.stream,
            window: whole(config.initial_window, grain).max(grain),
            ssthresh: u64::MAX,
            pacing: 0,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            window_gain: HIGH_GAIN,
            max_bandwidth,
            min_rtt: None,
            min_rtt_tick: 0,
            tick: config.tick.as_nanos().max(1),
            phase: config.phase.as_nanos(),
            path_min_rtt: None,
            rounds: 0,
            round_end: 0,
            round_start: false,
            full_bandwidth: Bandwidth(0),
            full_rounds: 0,
            pipe_full: false,
            cycle_index: 0,
            cycle_start: 0,
            cycle_starts: config.values.first().map_or(0, |digits| *digits as u32),
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            marks_app_limited: false,
            prior_window: 0,
            prior_phase: Phase::Open,
            conserving: false,
            idle_restart: false,
            has_seen_rtt: false,
            long_term: LongTerm::default(),
            aggregation: Aggregation::default(),
            delivered_at: 0,
            delivered: 0,
            lost: 0,
            begun: false,
        };
        bbr.pace_first(None);
        bbr
    }

    /// Sets the clocks when the connection begins: at the end of its handshake, or at the first packet or ACK.
    fn begin(&mut self, now: Time) {
        if self.begun {
            return;
        }
        self.begun = true;
        self.min_rtt_tick = self.millis(now);
        self.delivered_at = micros(now);
        self.aggregation.restart(micros(now));
        self.long_term.reset(self.totals());
    }

    /// Milliseconds on the clock that ticks.
    fn millis(&self, time: Time) -> u64 {
        whole(time.as_nanos() + self.phase, self.tick) / 1_000_000
    }

    fn totals(&self) -> Totals {
        Totals { delivered: self.delivered, lost: self.lost, millis: self.delivered_at / 1_000 }
    }

    /// Bytes rounded up to whole units: a part of a segment counts as one.
    fn count(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.grain) * self.grain
    }

    fn max_bandwidth(&self) -> Bandwidth {
        Bandwidth(self.max_bandwidth.get().unwrap_or(0))
    }

    /// The bandwidth estimate in use (`bbr_bw`).
    fn bandwidth(&self) -> Bandwidth {
        self.long_term.bandwidth().unwrap_or_else(|| self.max_bandwidth())
    }
}

impl CongestionController for Bbr {
    fn on_established(&mut self, event: &Established) {
        self.begin(event.now);
        let rtt = event.rtt.map(|rtt| rtt.as_micros());
        self.min_rtt = rtt;
        self.path_min_rtt = rtt;
        self.pace_first(rtt);
    }

    fn on_sent(&mut self, sent: &Sent) {
        self.begin(sent.now);
        // `CA_EVENT_TX_START`: after idle time there is no need to send faster than the path's bandwidth.
        if sent.in_flight == 0 && sent.app_limited {
            self.idle_restart = true;
            self.aggregation.restart(micros(sent.now));
            match self.mode {
                Mode::ProbeBandwidth => self.pace(UNIT, None),
                Mode::ProbeRtt => self.leave_probe_rtt_if_done(sent.now),
                Mode::Startup | Mode::Drain => {}
            }
        }
        if sent.after_idle.is_some() {
            self.delivered_at = micros(sent.now);
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.begin(ack.now);
        if ack.delivered > 0 {
            self.delivered_at = micros(ack.now);
        }
        self.delivered = ack.total_delivered;
        self.lost = ack.total_lost;
        self.path_min_rtt = ack.min_rtt.map(|rtt| rtt.as_micros());
        // The RTT of the handshake, if the transport did not report it.
        self.min_rtt = self.min_rtt.or(self.path_min_rtt);
        self.update_model(ack);
        self.pace(self.pacing_gain, ack.srtt.map(|rtt| rtt.as_micros()));
        self.set_window(ack);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.new_episode {
            self.save_window();
        }
        if matches!(event.trigger, Trigger::Timeout | Trigger::PersistentCongestion) {
            self.window = self.count(event.in_flight) + self.mss;
            self.lost += event.lost;
            // `bbr_set_state`: a timeout counts as the end of a round.
            self.prior_phase = Phase::Loss;
            self.full_bandwidth = Bandwidth(0);
            self.round_start = true;
            self.look_for_policer(None);
        }
    }

    fn on_undo(&mut self) {
        // The window is restored with the ACK after which the phase is open again.
        self.full_bandwidth = Bandwidth(0);
        self.full_rounds = 0;
        self.long_term.reset(self.totals());
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    fn pacing_rate(&self) -> Option<Rate> {
        (self.pacing > 0).then(|| Rate::from_bytes_per_sec(self.pacing))
    }

    fn send_quantum(&self) -> u64 {
        self.super_segment() * self.mss
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn asks(&self) -> Ask {
        if self.marks_app_limited { Ask::MarkAppLimited } else { Ask::Nothing }
    }

    fn path_model(&self) -> Option<PathModel> {
        Some(PathModel {
            state: match self.mode {
                Mode::Startup => BbrState::Startup,
                Mode::Drain => BbrState::Drain,
                Mode::ProbeBandwidth => BbrState::ProbeBandwidth,
                Mode::ProbeRtt => BbrState::ProbeRtt,
            },
            max_bandwidth: Rate::from_bytes_per_sec(self.max_bandwidth().bytes_a_second(self.mss)),
            short_term_bandwidth: None,
            long_term_inflight: None,
            short_term_inflight: None,
            extra_acked: self.aggregation.extra(),
            min_rtt: self.min_rtt.map(Span::from_micros),
            rounds: self.rounds,
            full_rounds: self.full_rounds,
        })
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        let (from, to) = (self.mss, mss.max(1));
        if self.grain == from {
            self.grain = to;
        }
        self.mss = to;
        self.window = whole(self.window, self.grain).max(MIN_SEGMENTS * to);
        // Bandwidths count segments.
        let max = self.max_bandwidth().resized(from, to);
        self.max_bandwidth.reset(self.rounds, max.0);
        self.full_bandwidth = self.full_bandwidth.resized(from, to);
        self.long_term.resize(from, to);
    }
}
