//! NV (L. Brakmo, "TCP-NV: congestion avoidance for data centers", Linux Plumbers Conference 2010 and netdev 2015; Linux 6.12
//! `tcp_nv.c`).
//!
//! Vegas for paths with noisy RTTs. The largest delivery rate of a round, times the smallest RTT, is the window that
//! the path needs. 10 segments more may be queued. A window above that is cut by 30 % of the excess. A window at least
//! 2 segments below may grow as Reno's does. Decisions wait for enough samples. The smallest RTT is discarded every 4
//! to 6 seconds, at random so that flows do not do it together.
//!
//! There is no paper with numbers; both transports use the kernel's parameters. Over QUIC windows are not rounded to
//! segments. The base RTT that a BPF program can give is left out, as is growth faster than Reno's, which the kernel
//! has switched off (`nv_cwnd_growth_rate_pos`).

use super::observed::Ticks;
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, SlowStart, Trigger, whole};
use haltere_net::Time;
use haltere_net::rng::Stream;

pub(super) const ENTRY: Implementation = Implementation {
    label: "NV",
    linux: Some("nv"),
    ..Implementation::new(
        Description {
            name: "nv",
            summary: "Vegas for data centres: the window that the best rate of a round needs, and ten segments",
            reference: "Brakmo, Linux Plumbers Conference 2010; Linux 6.12 tcp_nv.c",
        },
        |config| Box::new(Nv::new(config)),
    )
};

/// The number of segments that may be queued (`nv_pad`), and the distance to that at which the window stops growing
/// (`nv_pad_buffer`).
const PAD: u64 = 10;
const PAD_BUFFER: u64 = 2;
/// The part of the excess that is cut, in 1/128: 30 % (`nv_cong_dec_mult`).
const CUT: u64 = 38;
/// The share of the window that is left after a loss, in 1/1024: 80 % (`nv_loss_dec_factor`).
const KEPT: u64 = 819;
/// Samples before the window is cut, grows, or slow start ends (`nv_dec_eval_min_calls` and its like).
const SAMPLES_CUT: u32 = 60;
const SAMPLES_GROW: u32 = 20;
const SAMPLES_SLOW_START: u32 = 30;
/// The number of RTTs before the window is cut (`nv_rtt_min_cnt`), and without a decision before it stops growing
/// (`nv_stop_rtt_cnt`).
const ROUNDS_CUT: u32 = 2;
const ROUNDS_STOP: u32 = 10;
/// Decisions without congestion after which growth that timeouts have slowed doubles (`nv_cwnd_growth_rate_neg`), and how
/// often it can be halved.
const RECOVER: u32 = 8;
const SLOWEST: u32 = 8;
/// The smallest RTT is discarded after 5 s x (3/4 … 5/4), the first time after 2 s (`nv_reset_period`).
const FORGET_S: u64 = 5;
const FIRST_FORGET_S: u64 = 2;
/// Windows below this, segments, make no decision where one ACK is all that an RTT brings; it grows by 2 up to 81.
const LEAST: u64 = 4;
const LEAST_STEP: u64 = 2;
const LEAST_MOST: u64 = 81;
/// Rates are kept in hundreds of bits a second.
const RATE_UNIT: u64 = 80_000;

/// NV.
#[derive(Clone, Debug)]
pub struct Nv {
    w: Windows,
    ticks: Ticks,
    stream: Stream,
    phase: Phase,
    may_grow: bool,
    /// Set by congestion: the measurements are discarded when it is over.
    reset: bool,
    /// The number of times that timeouts have halved the growth.
    slowed: u32,
    seen: Seen,
    /// Decisions in a row that found no congestion.
    clear: u32,
    /// The smallest RTT in use, and the one that will replace it, us; `None` before a sample.
    least_rtt: u64,
    next_least_rtt: u64,
    /// When the second replaces the first, ticks.
    forget_at: Option<u64>,
    /// `LEAST` as it stands, segments.
    least_window: u64,
}

/// Measurements since the last decision.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    samples: u32,
    rounds: u32,
    /// Smoothed RTT, us; 0 before a sample.
    rtt: u64,
    rate: u64,
    round_end: u64,
    acked_to: u64,
}

impl Nv {
    pub(super) fn new(config: Config) -> Nv {
        Nv {
            w: Windows::new(&config, SlowStart::Standard),
            ticks: Ticks::new(&config),
            phase: Phase::Open,
            may_grow: true,
            reset: false,
            slowed: 0,
            seen: Seen::default(),
            clear: 0,
            least_rtt: u64::MAX,
            next_least_rtt: u64::MAX,
            forget_at: None,
            least_window: LEAST,
            stream: config.stream,
        }
    }

    /// An RTT and what was delivered in it (`tcpnv_acked`).
    fn sample(&mut self, ack: &Ack, rtt: u64) {
        let bytes = ack.acked_to.saturating_sub(self.seen.acked_to);
        self.seen.acked_to = ack.acked_to;
        let carried = ack.total_delivered.saturating_sub(ack.rate.prior_delivered);
        if carried == 0 {
            return;
        }
        if self.seen.rtt > 0 {
            self.seen.rtt = (rtt + self.seen.rtt) / 2;
        } else {
            self.seen.rtt = rtt;
            self.least_rtt = rtt;
        }
        self.seen.rate = self.seen.rate.max(carried * RATE_UNIT / self.seen.rtt.max(1));
        self.seen.samples = (self.seen.samples + 1).min(255);
        self.least_rtt = self.least_rtt.min(self.seen.rtt);
        self.next_least_rtt = self.next_least_rtt.min(self.seen.rtt);
        self.forget(ack.now);
        if ack.acked_to > self.seen.round_end {
            self.seen.round_end = ack.sent_to;
            self.seen.rounds = (self.seen.rounds + 1).min(255);
            self.end_round(ack, bytes);
        }
    }

    fn forget(&mut self, now: Time) {
        let (tick, second) = (self.ticks.at(now), self.ticks.per_second());
        let at = *self.forget_at.get_or_insert(tick + FIRST_FORGET_S * second);
        if tick < at {
            return;
        }
        self.least_rtt = std::mem::replace(&mut self.next_least_rtt, u64::MAX);
        self.forget_at = Some(tick + ((FORGET_S * (384 + self.stream.below(256)) * second) >> 9));
        self.least_window = (self.least_window / 2).max(LEAST);
    }

    fn end_round(&mut self, ack: &Ack, bytes: u64) {
        let mss = self.w.mss;
        if self.seen.samples == 1 && bytes >= (self.least_window - 1) * mss && self.least_window < LEAST_MOST {
            // One ACK per round: the window is too small for a decision.
            self.least_window = (self.least_window + LEAST_STEP).min(LEAST_MOST);
            self.seen.round_end = ack.sent_to + self.least_window * mss;
            self.seen.samples = 0;
            self.may_grow = true;
            return;
        }
        let carried = u128::from(self.seen.rate) * u128::from(self.least_rtt) / u128::from(RATE_UNIT);
        let most = whole(u64::try_from(carried).unwrap_or(u64::MAX >> 1), self.w.grain) + PAD * mss;
        let decided = if self.w.window > most {
            self.cut(most)
        } else {
            self.w.window <= most - PAD_BUFFER * mss && self.let_grow()
        };
        if decided {
            (self.seen.samples, self.seen.rounds, self.seen.rate) = (0, 0, 0);
            self.w.window = self.w.window.max(2 * mss);
        }
    }

    /// Cuts a window that is larger than `most` if there are enough samples. Returns whether it did.
    fn cut(&mut self, most: u64) -> bool {
        let mss = self.w.mss;
        let needed = if self.w.ssthresh == u64::MAX { SAMPLES_SLOW_START } else { SAMPLES_CUT };
        if self.seen.rounds < ROUNDS_CUT {
            return false;
        }
        if self.seen.samples < needed {
            if needed == SAMPLES_CUT && self.seen.rounds > ROUNDS_STOP {
                self.may_grow = false;
            }
            return false;
        }
        self.may_grow = false;
        self.clear = 0;
        self.w.ssthresh = most;
        let over = self.w.window - most;
        self.w.window -= if over > 2 * mss { whole((over * CUT) >> 7, self.w.grain).max(2 * mss) } else { over };
        true
    }

    fn let_grow(&mut self) -> bool {
        if self.seen.samples < SAMPLES_GROW {
            return false;
        }
        self.may_grow = true;
        self.clear += 1;
        if self.slowed > 0 && self.clear > RECOVER {
            self.slowed -= 1;
            self.clear = 0;
        }
        true
    }
}

impl CongestionController for Nv {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.forget_at.get_or_insert(self.ticks.at(ack.now) + FIRST_FORGET_S * self.ticks.per_second());
        let before = std::mem::replace(&mut self.phase, ack.phase);
        if let Some(rtt) = ack.rtt
            && before <= Phase::Disorder
        {
            self.sample(ack, rtt.as_micros());
        }
        if ack.phase == Phase::Open && std::mem::take(&mut self.reset) {
            self.seen = Seen { round_end: ack.acked_to, acked_to: ack.acked_to, ..Seen::default() };
            self.clear = 0;
        }
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if self.may_grow
            && let Some(rest) = self.w.grow(ack, delivered)
        {
            self.w.additive(rest, (self.w.window << self.slowed).max(LEAST * self.w.mss));
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, (self.w.window * KEPT) >> 10);
        self.phase = Phase::Recovery;
        self.reset = true;
        self.may_grow = false;
        if event.trigger == Trigger::Timeout {
            self.slowed = (self.slowed + 1).min(SLOWEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{Bench, MSS, Path, ack, config};
    use haltere_net::Span;

    /// An NV in congestion avoidance with this many segments, on a path of 100 ms of which it has seen `samples`.
    fn avoiding(segments: u64, samples: u32) -> Nv {
        let mut cc = Nv::new(config());
        (cc.w.window, cc.w.ssthresh) = (segments * MSS, segments * MSS);
        (cc.least_rtt, cc.seen.rtt) = (100_000, 100_000);
        (cc.seen.samples, cc.seen.rounds) = (samples, 2);
        cc
    }

    /// The number of segments by which a decision changes the window, if the best round carried this many.
    fn decided(mut cc: Nv, carried: u64) -> i64 {
        let before = cc.w.window;
        cc.on_ack(&ack(|a| {
            (a.acked_to, a.sent_to, a.delivered) = (10, 20, 0);
            a.total_delivered = carried * MSS + MSS / 2;
        }), &[]);
        (cc.w.window as i64 - before as i64) / MSS as i64
    }

    #[test]
    fn a_window_above_what_was_carried_and_ten_is_cut_by_a_third_of_the_rest() {
        // 100 - (60 + 10) = 30 in excess, of which 38/128.
        assert_eq!(decided(avoiding(100, 60), 60), -8);
        // At least two are cut, and at most the excess.
        assert_eq!(decided(avoiding(100, 60), 86), -2);
        assert_eq!(decided(avoiding(100, 60), 89), -1);
        assert_eq!(decided(avoiding(100, 60), 90), 0);
    }

    #[test]
    fn decisions_wait_for_samples() {
        assert_eq!(decided(avoiding(100, 58), 60), 0, "60 to cut");
        let mut slow_start = avoiding(100, 29);
        slow_start.w.ssthresh = u64::MAX;
        assert_eq!(decided(slow_start.clone(), 60), -8, "30 to leave slow start");
        slow_start.seen.samples = 28;
        assert_eq!(decided(slow_start, 60), 0);
    }

    #[test]
    fn a_loss_takes_a_fifth_and_stops_growth_until_the_path_is_found_clear() {
        let mut cc = avoiding(100, 0);
        let now = Time::ZERO;
        cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight: 0, lost: MSS });
        assert_eq!(cc.w.window / MSS, 79);
        let acks = |cc: &mut Nv, n: u64| {
            for i in 1..=n {
                cc.on_ack(&ack(|a| {
                    (a.acked_to, a.sent_to) = (i * 100, i * 100 + 50);
                    a.total_delivered = 79 * MSS;
                }), &[]);
            }
        };
        acks(&mut cc, 1);
        assert!(!cc.may_grow);
        acks(&mut cc, SAMPLES_GROW.into());
        assert!(cc.may_grow);
    }

    /// Ten segments wait, over which the least RTT is taken anew every 4 to 6 s, and then ten more may; every other time, as
    /// the queue must have been so long for a whole period.
    #[test]
    fn a_flow_alone_queues_ten_segments_more_with_every_other_least_rtt_it_forgets() {
        for grain in [MSS, 1] {
            let mut bench = Bench::with(Nv::new(Config { grain, ..config() }), Path::new(20, 50));
            let mut longest = [0; 3];
            for (slot, seconds) in longest.iter_mut().zip([6, 30, 30]) {
                bench.run(Span::from_secs(seconds), |_| {});
                bench.run(Span::from_millis(500), |b| *slot = b.queued().max(*slot));
            }
            assert!(longest[0] <= 20, "{longest:?}");
            for (before, after) in [(longest[0], longest[1]), (longest[1], longest[2])] {
                assert!((20..=40).contains(&(after - before)), "{longest:?}");
            }
        }
    }
}
