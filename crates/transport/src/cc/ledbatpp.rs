//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-06): LEDBAT with RTTs, slower growth on short paths, multiplicative
//! decrease, a slow start that watches the queue, and slowdowns during which the base delay can be measured.

use super::ledbat::{Delays, Exact};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Sent, Startup, Trigger};
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "LEDBAT++",
    slow_start: Startup::Own,
    ..Implementation::new(
        Description {
            name: "ledbatpp",
            summary: "LEDBAT++: at most 60 ms of queueing delay, slows down to two segments for a tenth of the time",
            reference: "draft-irtf-iccrg-ledbat-plus-plus-06",
        },
        |config| Box::new(LedbatPlusPlus::new(config)),
    )
};

/// The target of the queueing delay (section 4.5).
const TARGET: Span = Span::from_millis(60);
/// The gain is never below the inverse of this (section 4.2).
const MAX_DIVISOR: u64 = 16;
/// The weight of the excess over the target (section 4.3).
const CONSTANT: f64 = 1.0;
/// The number of RTTs from the end of slow start to the first slowdown, and that a slowdown stays at two segments
/// (section 4.4).
const SETTLING_RTTS: u64 = 2;
const FROZEN_RTTS: u64 = 2;
/// The time between slowdowns, as a multiple of the duration of the previous one (section 4.4).
const SLOWDOWN_PERIODS: u64 = 9;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// The first slow start, which ends at three quarters of the target.
    Starting,
    /// A slow start up to the threshold.
    Rising,
    Avoiding,
    /// Two segments until then.
    Frozen(Time),
}

/// LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    exact: Exact,
    delays: Delays,
    state: State,
    /// When the next slowdown is due, once slow start is over.
    next_slowdown: Option<Time>,
    /// When the present slowdown began.
    slowed: Option<Time>,
}

impl LedbatPlusPlus {
    pub(super) fn new(config: Config) -> LedbatPlusPlus {
        LedbatPlusPlus {
            exact: Exact::new(&config),
            delays: Delays::default(),
            state: State::Starting,
            next_slowdown: None,
            slowed: None,
        }
    }

    /// Section 4.2: 1 / min(16, ceil(2 TARGET / base)).
    fn gain(&self) -> f64 {
        let base = self.delays.base().map_or(1, |b| b.as_nanos().max(1));
        1.0 / (2 * TARGET.as_nanos()).div_ceil(base).min(MAX_DIVISOR) as f64
    }

    /// Section 4.3: the change of the window in a round trip, segments.
    fn change(&self, queueing: Span) -> f64 {
        let window = self.exact.bytes / self.exact.w.mss as f64;
        let excess = queueing.as_secs_f64() / TARGET.as_secs_f64() - 1.0;
        if excess <= 0.0 { self.gain() } else { (self.gain() - CONSTANT * window * excess).max(-window / 2.0) }
    }

    /// Slow start has ended: the first one, or that of a slowdown.
    fn avoid(&mut self, now: Time, srtt: Span) {
        self.state = State::Avoiding;
        self.next_slowdown = match (self.slowed.take(), self.next_slowdown) {
            (Some(began), _) => Some(now + now.since(began) * SLOWDOWN_PERIODS),
            (None, None) => Some(now + srtt * SETTLING_RTTS),
            (None, due) => due,
        };
    }

    fn slow_down(&mut self, now: Time, srtt: Span) {
        self.exact.w.ssthresh = self.exact.w.window;
        self.exact.set(0.0);
        self.slowed = Some(now);
        self.state = State::Frozen(now + srtt * FROZEN_RTTS);
    }

    fn grow_fast(&mut self, ack: &Ack) {
        if ack.window_limited {
            let grown = self.exact.bytes + self.gain() * ack.delivered as f64;
            self.exact.set(grown.min(self.exact.w.ssthresh as f64));
        }
    }
}

impl CongestionController for LedbatPlusPlus {
    fn on_sent(&mut self, sent: &Sent) {
        self.exact.restart_after(sent);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        if let Some(rtt) = ack.rtt {
            self.delays.sample(ack.now, rtt);
        }
        let (Some(queueing), Some(srtt), true) = (self.delays.queueing(), ack.srtt, ack.may_grow) else { return };
        match self.state {
            State::Starting if queueing > TARGET.scaled(3, 4) => {
                self.exact.w.ssthresh = self.exact.w.window;
                self.avoid(ack.now, srtt);
            }
            State::Starting | State::Rising => {
                self.grow_fast(ack);
                if self.exact.w.window >= self.exact.w.ssthresh {
                    self.avoid(ack.now, srtt);
                }
            }
            State::Avoiding if self.next_slowdown.is_some_and(|due| ack.now >= due) => self.slow_down(ack.now, srtt),
            State::Avoiding => {
                let change = self.change(queueing);
                if change < 0.0 || ack.window_limited {
                    self.exact.set(self.exact.bytes + change * self.exact.w.mss as f64 * ack.delivered as f64 / self.exact.bytes);
                }
            }
            State::Frozen(until) if ack.now >= until => self.state = State::Rising,
            State::Frozen(_) => {}
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        // In a slowdown, the window to which it will return is halved.
        let window = if self.slowed.is_some() { self.exact.w.ssthresh } else { self.exact.w.window };
        self.exact.reduce(event, window / 2);
        let slow = matches!(event.trigger, Trigger::Timeout | Trigger::PersistentCongestion);
        if slow || self.slowed.is_some() {
            if !matches!(self.state, State::Frozen(_)) {
                self.state = State::Rising;
            }
        } else {
            self.state = State::Avoiding;
            self.next_slowdown.get_or_insert(event.now);
        }
    }

    fn on_undo(&mut self) {
        self.exact.undo();
    }

    fn window(&self) -> u64 {
        self.exact.w.window
    }

    fn ssthresh(&self) -> u64 {
        self.exact.w.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        matches!(self.state, State::Starting | State::Rising)
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        self.exact.set_mss(mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{Bench, MSS, Path, ack, config};

    fn with_base(micros: u64) -> LedbatPlusPlus {
        let mut cc = LedbatPlusPlus::new(Config { grain: 1, ..config() });
        cc.delays.sample(Time::ZERO, Span::from_micros(micros));
        cc
    }

    #[test]
    fn the_gain_falls_with_the_base_delay_to_a_sixteenth() {
        for (micros, divisor) in [(1_000, 16.0), (7_500, 16.0), (8_000, 15.0), (20_000, 6.0), (60_000, 2.0)] {
            assert_eq!(with_base(micros).gain(), 1.0 / divisor);
        }
        assert_eq!((with_base(120_000).gain(), with_base(500_000).gain()), (1.0, 1.0));
    }

    #[test]
    fn the_window_gains_its_gain_below_the_target_and_loses_its_excess_above() {
        let mut cc = with_base(20_000);
        cc.exact.bytes = 100.0 * MSS as f64;
        let change = |ms: u64| cc.change(Span::from_millis(ms));
        assert_eq!((change(0), change(60)), (1.0 / 6.0, 1.0 / 6.0));
        // A tenth above the target removes a tenth of the window.
        assert!((change(66) - (1.0 / 6.0 - 10.0)).abs() < 1e-6);
        assert_eq!(change(600), -50.0, "never more than half");
    }

    #[test]
    fn a_slowdown_is_two_segments_for_two_rtts_and_its_next_nine_times_as_far_off() {
        let mut cc = with_base(120_000);
        let ms = |ms: u64| Time::from_nanos(1_000_000_000) + Span::from_millis(ms);
        let hear = |cc: &mut LedbatPlusPlus, at: u64, rtt: u64, bytes: u64| {
            cc.on_ack(&ack(|a| {
                (a.now, a.rtt, a.srtt) = (ms(at), Some(Span::from_millis(rtt)), Some(Span::from_millis(100)));
                a.delivered = bytes;
            }), &[]);
        };
        hear(&mut cc, 0, 120, 98 * MSS);
        assert_eq!(cc.window(), 100 * MSS);
        // 45 ms are three quarters of the target.
        (0..4).for_each(|_| hear(&mut cc, 10, 165, 0));
        assert_eq!(cc.state, State::Starting);
        (0..4).for_each(|_| hear(&mut cc, 10, 166, 0));
        assert_eq!((cc.state, cc.next_slowdown), (State::Avoiding, Some(ms(210))));
        hear(&mut cc, 210, 120, 0);
        assert_eq!((cc.window(), cc.ssthresh(), cc.state), (2 * MSS, 100 * MSS, State::Frozen(ms(410))));
        hear(&mut cc, 409, 120, 10 * MSS);
        assert_eq!(cc.window(), 2 * MSS);
        hear(&mut cc, 410, 120, MSS);
        hear(&mut cc, 500, 120, 50 * MSS);
        assert_eq!((cc.window(), cc.state), (52 * MSS, State::Rising));
        hear(&mut cc, 610, 120, 50 * MSS);
        // 400 ms after it began; the next one is due in 3.6 s.
        assert_eq!((cc.window(), cc.state, cc.next_slowdown), (100 * MSS, State::Avoiding, Some(ms(4_210))));
    }

    #[test]
    fn the_queue_stays_about_the_target_and_empties_in_slowdowns() {
        let path = Path::new(10, 120);
        let mut bench = Bench::with(LedbatPlusPlus::new(config()), path);
        bench.run(Span::from_secs(60), |_| {});
        let (mut most, mut empty) = (0, 0);
        let start = bench.sampler.delivered();
        bench.run(Span::from_secs(120), |b| {
            let queued = b.queued();
            most = most.max(queued);
            empty += u32::from(queued == 0 && b.cc.window() == 2 * MSS);
        });
        // 60 ms at 10 Mbit/s are 50 packets.
        assert!((45..=60).contains(&most), "{most}");
        assert!(empty > 10, "{empty}");
        let share = (bench.sampler.delivered() - start) as f64 / 120.0 / path.goodput().as_bytes_per_sec() as f64;
        assert!((0.85..1.0).contains(&share), "{share}");
    }
}
