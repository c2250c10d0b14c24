//! Copa: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//!
//! The window moves towards the rate 1 / (delta d_q) packets a second, d_q being the queueing delay: the RTT of late
//! ("standing", the least of half a smoothed RTT) less the least of ten seconds. It moves v / (delta W) packets for each
//! packet acknowledged, v doubling each round trip while the direction holds (section 2.1). If the queue was not nearly
//! empty for five RTTs, other flows are filling it: then 1/delta grows by one each RTT without a loss and is halved by
//! one with a loss (section 2.2, competitive mode).
//!
//! Packets are paced at twice the rate (section 2.1). Losses have no other effect. After a timeout, which the paper
//! does not treat, slow start restarts from two packets.

use super::{Ack, Config, Congestion, CongestionController, Description, Established, Implementation, PathView, Startup, Trigger, whole};
use crate::recovery::{WindowedMax, WindowedMin};
use haltere_net::{Rate, Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Copa",
    slow_start: Startup::Own,
    ..Implementation::new(
        Description {
            name: "copa",
            summary: "target rate from the queueing delay, with mode switching against flows that fill buffers",
            reference: "Arun, Balakrishnan, NSDI 2018",
        },
        |config| Box::new(Copa::new(config)),
    )
};

/// 1/delta in default mode, packets: delta = 0.5.
const DEFAULT_INVERSE_DELTA: f64 = 2.0;
/// The time over which the smallest RTT is taken.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Round trips in one direction before v doubles.
const STEADY_ROUNDS: u32 = 3;
/// The number of RTTs over which the largest RTT is taken, and in which the queue must be nearly empty at least once.
const MAX_RTT_RTTS: u64 = 4;
const EMPTY_WITHIN_RTTS: u64 = 5;
/// The queue is nearly empty when d_q is below this share of its range.
const NEARLY_EMPTY: f64 = 0.1;
const MIN_SEGMENTS: u64 = 2;
const NOMINAL_RTT: Span = Span::from_millis(1);
/// The time whose data may be sent back to back: a millisecond, as in Linux's pacing (`sk_pacing_shift`). The paper
/// does not say.
const QUANTUM_SPAN: Span = Span::from_millis(1);
const MAX_QUANTUM: u64 = 64_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Direction {
    Up,
    Down,
}

/// Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    mss: u64,
    grain: u64,
    /// The window, bytes.
    window: f64,
    before: f64,
    starting: bool,
    standing: WindowedMin,
    least: WindowedMin,
    largest: WindowedMax,
    standing_rtt: Span,
    inverse_delta: f64,
    competitive: bool,
    /// When the queue was last nearly empty.
    empty_at: Option<Time>,
    velocity: f64,
    direction: Direction,
    steady_rounds: u32,
    round_end: u64,
    round_window: f64,
    round_lost: u64,
}

impl Copa {
    pub(super) fn new(config: Config) -> Copa {
        let window = config.initial_window as f64;
        Copa {
            mss: config.mss.max(1),
            grain: config.grain.max(1),
            window,
            before: window,
            starting: true,
            standing: WindowedMin::default(),
            least: WindowedMin::default(),
            largest: WindowedMax::default(),
            standing_rtt: NOMINAL_RTT,
            inverse_delta: DEFAULT_INVERSE_DELTA,
            competitive: false,
            empty_at: None,
            velocity: 1.0,
            direction: Direction::Up,
            steady_rounds: 0,
            round_end: 0,
            round_window: window,
            round_lost: 0,
        }
    }

    /// Takes an RTT sample; returns the queueing delay, s.
    fn queueing(&mut self, now: Time, rtt: Span, srtt: Span) -> f64 {
        let (at, rtt) = (now.as_nanos(), rtt.as_nanos().max(1));
        let standing = self.standing.update(srtt.as_nanos() / 2, at, rtt);
        let least = self.least.update(MIN_RTT_WINDOW.as_nanos(), at, rtt).min(standing);
        let largest = self.largest.update(srtt.as_nanos() * MAX_RTT_RTTS, at, rtt);
        self.standing_rtt = Span::from_nanos(standing);
        let queueing = (standing - least) as f64;
        if queueing < NEARLY_EMPTY * largest.saturating_sub(least) as f64 || largest == least {
            self.empty_at = Some(now);
        }
        queueing * 1e-9
    }

    fn switch_mode(&mut self, now: Time, srtt: Span) {
        let since = now.since(self.empty_at.unwrap_or(now));
        self.competitive = since > srtt * EMPTY_WITHIN_RTTS;
        if !self.competitive {
            self.inverse_delta = DEFAULT_INVERSE_DELTA;
        }
    }

    /// Once per round trip: adapts the velocity and, in competitive mode, delta.
    fn end_round(&mut self, ack: &Ack) {
        let direction = if self.window > self.round_window { Direction::Up } else { Direction::Down };
        if direction == self.direction {
            self.steady_rounds += 1;
            if self.steady_rounds >= STEADY_ROUNDS {
                // More than a window per round trip would not be a control.
                self.velocity = (2.0 * self.velocity).min((self.window / self.mss as f64 / self.inverse_delta).max(1.0));
            }
        } else {
            (self.direction, self.velocity, self.steady_rounds) = (direction, 1.0, 0);
        }
        if self.competitive && ack.total_lost == self.round_lost {
            self.inverse_delta += 1.0;
        }
        self.round_lost = ack.total_lost;
        self.round_end = ack.sent_to;
        self.round_window = self.window;
    }
}

impl CongestionController for Copa {
    fn on_established(&mut self, event: &Established) {
        self.standing_rtt = event.rtt.unwrap_or(NOMINAL_RTT);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let (Some(rtt), Some(srtt)) = (ack.rtt, ack.srtt) else { return };
        let mss = self.mss as f64;
        let queueing = self.queueing(ack.now, rtt, srtt);
        self.switch_mode(ack.now, srtt);
        if ack.acked_to > self.round_end {
            self.end_round(ack);
        }
        // W / RTT against 1 / (delta d_q), without a division by d_q = 0.
        let below = self.window * queueing <= self.inverse_delta * mss * self.standing_rtt.as_secs_f64();
        self.starting &= below;
        if below && !ack.window_limited {
            return;
        }
        let delivered = ack.delivered as f64;
        if self.starting {
            self.window += delivered;
            return;
        }
        let step = self.velocity * self.inverse_delta * mss * delivered / self.window;
        self.window = (self.window + if below { step } else { -step }).max(MIN_SEGMENTS as f64 * mss);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.new_episode {
            self.before = self.window;
            if self.competitive {
                self.inverse_delta = (self.inverse_delta / 2.0).max(DEFAULT_INVERSE_DELTA);
            }
        }
        if matches!(event.trigger, Trigger::Timeout | Trigger::PersistentCongestion) {
            self.window = (MIN_SEGMENTS * self.mss) as f64;
            (self.starting, self.velocity, self.steady_rounds) = (true, 1.0, 0);
        }
    }

    fn on_undo(&mut self) {
        self.window = self.window.max(self.before);
    }

    fn window(&self) -> u64 {
        whole(self.window as u64, self.grain)
    }

    fn ssthresh(&self) -> u64 {
        if self.starting { u64::MAX } else { self.window() }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Rate::of(2 * self.window(), self.standing_rtt)
    }

    fn send_quantum(&self) -> u64 {
        let paced = self.pacing_rate().map_or(0, |rate| rate.bytes_in(QUANTUM_SPAN));
        paced.min(MAX_QUANTUM).max(2 * self.mss)
    }

    fn owns_recovery(&self) -> bool {
        true
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        if self.grain == self.mss {
            self.grain = mss.max(1);
        }
        self.mss = mss.max(1);
        self.window = self.window.max((MIN_SEGMENTS * self.mss) as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{Bench, MSS, Path, ack, config};

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// A Copa of 50 packets out of slow start on a path of 100 ms.
    fn steady() -> Copa {
        let mut cc = Copa::new(Config { grain: 1, ..config() });
        cc.queueing(Time::from_nanos(999_000_000), ms(100), ms(1));
        (cc.window, cc.round_window, cc.starting, cc.round_end) = (50.0 * MSS as f64, 50.0 * MSS as f64, false, 100);
        cc
    }

    /// The change of the window, packets, by an ACK of one packet with an RTT of this many ms. The ACK arrives at the
    /// same time.
    fn change(cc: &mut Copa, rtt: u64) -> f64 {
        let before = cc.window;
        let now = Time::from_nanos(1_000_000_000) + ms(rtt);
        cc.on_ack(&ack(|a| (a.now, a.rtt, a.srtt) = (now, Some(ms(rtt)), Some(ms(1)))), &[]);
        (cc.window - before) / MSS as f64
    }

    #[test]
    fn the_window_moves_towards_the_target_rate() {
        // With delta = 0.5 and 50 packets the rates are equal at d_q = 100 / 24 = 4.17 ms (W d_q = 2 RTT).
        for (rtt, want) in [(100, 0.04), (104, 0.04), (105, -0.04), (120, -0.04)] {
            let got = change(&mut steady(), rtt);
            assert!((got - want).abs() < 1e-6, "{rtt} ms: {got}");
        }
    }

    #[test]
    fn velocity_doubles_after_three_round_trips_in_one_direction_and_starts_over_when_it_turns() {
        let mut cc = steady();
        let round = |cc: &mut Copa, n: u64, rise: f64| {
            cc.window += rise;
            cc.end_round(&ack(|a| a.sent_to = n));
            cc.velocity
        };
        let up: Vec<f64> = (0..6).map(|n| round(&mut cc, n, 1000.0)).collect();
        assert_eq!(up, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        assert_eq!(round(&mut cc, 7, -1000.0), 1.0);
    }

    #[test]
    fn slow_start_doubles_until_the_rate_exceeds_the_target() {
        let mut cc = steady();
        cc.starting = true;
        assert_eq!(change(&mut cc, 104), 1.0);
        assert!(cc.starting);
        assert!(change(&mut cc, 110) < 0.0);
        assert!(!cc.starting);
    }

    #[test]
    fn a_queue_that_never_empties_brings_on_competition_and_losses_halve_its_weight() {
        let mut cc = steady();
        let hear = |cc: &mut Copa, n: u64, rtt: u64| {
            cc.on_ack(&ack(|a| {
                (a.now, a.rtt, a.srtt) = (Time::from_nanos(1_000_000_000 + n * 200_000_000), Some(ms(rtt)), Some(ms(200)));
                (a.acked_to, a.sent_to) = (101 + n, 101 + n);
            }), &[]);
            cc.inverse_delta
        };
        // RTTs of 180 to 200 ms on a path of 100 ms: after five RTTs 1/delta grows by one an RTT.
        let weights: Vec<f64> = (0..12).map(|n| hear(&mut cc, n, 180 + 20 * (n % 2))).collect();
        assert_eq!(weights[..6], [2.0; 6]);
        assert_eq!(weights[6..], [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        let event = Congestion { now: Time::ZERO, trigger: Trigger::Loss, new_episode: true, in_flight: 0, lost: MSS };
        cc.on_congestion(&event);
        assert_eq!(cc.inverse_delta, 4.0);
        // A nearly empty queue ends it.
        hear(&mut cc, 12, 101);
        assert_eq!((cc.inverse_delta, cc.competitive), (DEFAULT_INVERSE_DELTA, false));
    }

    #[test]
    fn a_flow_alone_fills_the_link_with_a_short_queue() {
        for (mbps, rtt) in [(10, 50), (50, 20), (20, 100)] {
            let path = Path::new(mbps, rtt);
            let mut bench = Bench::with(Copa::new(config()), path);
            bench.run(Span::from_secs(10), |_| {});
            let (start, mut sum, mut n) = (bench.sampler.delivered(), 0, 0);
            bench.run(Span::from_secs(20), |b| {
                sum += b.queued();
                n += 1;
            });
            let share = (bench.sampler.delivered() - start) as f64 / 20.0 / path.goodput().as_bytes_per_sec() as f64;
            assert!(share > 0.93, "{mbps} Mbit/s: {share}");
            // In equilibrium the queue has 1/delta = 2 packets in the mean (section 3), and some bursts.
            let mean = sum as f64 / f64::from(n);
            assert!(mean < 8.0, "{mbps} Mbit/s: {mean} packets");
        }
    }
}
