//! The rate that the delay allows: additive or multiplicative increase, multiplicative decrease (draft-ietf-rmcat-gcc-02
//! section 5.5; where it leaves numbers open, those of libwebrtc's aimd_rate_control.cc and link_capacity_estimator.cc).

use super::super::Range;
use super::Usage;
use crate::rtp::MAX_PACKET;
use haltere_net::{Span, Time};

/// The factor of a decrease (`beta`), and of a second of increase (`eta`).
const DECREASE: f64 = 0.85;
const INCREASE: f64 = 1.08;
/// The rate is at most this times what arrives, and 10 kbit/s more.
const AHEAD: f64 = 1.5;
const AHEAD_BPS: f64 = 10e3;
/// The weight of a new sample of the capacity, the deviation at first and its range, in kbit/s, and how many standard deviations make the
/// capacity another one.
const WEIGHT: f64 = 0.05;
const DEVIATION: f64 = 0.4;
const DEVIATIONS: (f64, f64) = (0.4, 2.5);
const SIGMAS: f64 = 3.0;

/// The state of the control.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Hold,
    Increase,
}

/// The rate at which the path was found to be full, with its deviation, kbit/s.
#[derive(Clone, Copy, Debug)]
struct Capacity {
    mean: f64,
    deviation: f64,
}

impl Capacity {
    fn sigma(&self) -> f64 {
        (self.deviation * self.mean).sqrt()
    }

    fn add(known: Option<Capacity>, kbps: f64) -> Capacity {
        let mean = known.map_or(kbps, |known| (1.0 - WEIGHT) * known.mean + WEIGHT * kbps);
        let error = (mean - kbps) * (mean - kbps) / mean.max(1.0);
        let old = known.map_or(DEVIATION, |known| known.deviation);
        let deviation = ((1.0 - WEIGHT) * old + WEIGHT * error).clamp(DEVIATIONS.0, DEVIATIONS.1);
        Capacity { mean, deviation }
    }
}

/// The control by delay.
#[derive(Debug)]
pub(super) struct ByDelay {
    range: Range,
    rate: f64,
    state: State,
    capacity: Option<Capacity>,
    updated: Time,
    decreased: Option<Time>,
}

impl ByDelay {
    pub fn new(range: Range, now: Time) -> ByDelay {
        ByDelay { range, rate: range.start, state: State::Hold, capacity: None, updated: now, decreased: None }
    }

    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Goes on from a rate that a probe found.
    pub fn set(&mut self, rate: f64, now: Time) {
        self.rate = rate.clamp(self.range.least, self.range.most);
        self.updated = now;
    }

    /// The path's use was found at `now`, when so much had arrived.
    pub fn on_usage(&mut self, usage: Usage, received: Option<f64>, rtt: Span, now: Time) {
        let since = now.since(self.updated).as_secs_f64();
        match usage {
            Usage::Over => {
                self.state = State::Hold;
                self.decrease(received, rtt, now);
                self.updated = now;
                return;
            }
            Usage::Under => self.state = State::Hold,
            // The first normal report after another ends the hold (section 5.5, table 1).
            Usage::Normal if self.state == State::Hold => self.state = State::Increase,
            Usage::Normal => self.increase(received, rtt, since),
        }
        self.updated = now;
    }

    fn increase(&mut self, received: Option<f64>, rtt: Span, since: f64) {
        if let (Some(capacity), Some(received)) = (self.capacity, received)
            && received / 1e3 > capacity.mean + SIGMAS * capacity.sigma()
        {
            self.capacity = None;
        }
        let more = if self.capacity.is_some() {
            // About half a packet in a response time.
            let frame = self.rate / 30.0;
            let packet = frame / (frame / f64::from(8 * MAX_PACKET)).ceil().max(1.0);
            let response = 0.1 + rtt.as_secs_f64();
            (0.5 * (since / response).min(1.0) * packet).max(1000.0)
        } else {
            self.rate * (libm::pow(INCREASE, since.min(1.0)) - 1.0)
        };
        let most = received.map_or(f64::INFINITY, |received| AHEAD * received + AHEAD_BPS);
        // A rate that is ahead already is not lowered for that.
        self.rate = (self.rate + more).min(most.max(self.rate)).clamp(self.range.least, self.range.most);
    }

    fn decrease(&mut self, received: Option<f64>, rtt: Span, now: Time) {
        let received = received.unwrap_or(self.rate);
        let pause = rtt.max(Span::from_millis(10)).min(Span::from_millis(200));
        let waits = self.decreased.is_some_and(|last| last + pause > now);
        // Soon after a decrease there is another one only if far less arrives than is sent (`TimeToReduceFurther`).
        if waits && received >= 0.5 * self.rate {
            return;
        }
        if let Some(capacity) = self.capacity
            && received / 1e3 < capacity.mean - SIGMAS * capacity.sigma()
        {
            self.capacity = None;
        }
        self.capacity = Some(Capacity::add(self.capacity, received / 1e3));
        self.rate = self.rate.min(DECREASE * received).max(self.range.least);
        self.decreased = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { least: 150e3, most: 5e6, start: 300e3 };
    const RTT: Span = Span::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_rate_grows_by_8_percent_a_second_while_no_capacity_is_known() {
        let mut control = ByDelay::new(RANGE, at(0));
        (0..=100).for_each(|k| control.on_usage(Usage::Normal, None, RTT, at(100 * k)));
        let grown = control.rate / 300e3;
        assert!((grown / libm::pow(1.08, 9.9) - 1.0).abs() < 0.01, "{grown}");
    }

    #[test]
    fn over_use_takes_the_rate_to_85_percent_of_what_arrives_and_growth_is_slow_then() {
        let mut control = ByDelay::new(Range { start: 1.2e6, ..RANGE }, at(0));
        control.on_usage(Usage::Over, Some(1e6), RTT, at(1000));
        assert_eq!(control.rate, 850e3);
        (11..=21).for_each(|k| control.on_usage(Usage::Normal, Some(850e3), RTT, at(100 * k)));
        assert!((1e3..40e3).contains(&(control.rate - 850e3)), "{}", control.rate);
        // More arrives than the path was thought to carry.
        (22..=52).for_each(|k| control.on_usage(Usage::Normal, Some(2e6), RTT, at(100 * k)));
        assert!(control.capacity.is_none() && control.rate > 1.05e6, "{}", control.rate);
    }

    #[test]
    fn the_rate_stays_within_reach_of_what_arrives() {
        let mut control = ByDelay::new(RANGE, at(0));
        (0..=600).for_each(|k| control.on_usage(Usage::Normal, Some(400e3), RTT, at(100 * k)));
        assert_eq!(control.rate, 1.5 * 400e3 + 10e3);
    }
}
