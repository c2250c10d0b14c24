//! SCReAM of RFC 8298: a window that grows with acknowledged bytes until the delay has a trend, and then as LEDBAT's (RFC 6817); the
//! encoder's rate grows by a ramp and gives way to the delay's trend, losses, marks, and packets that wait for the pacer.

use super::scream::delay::Delays;
use super::{Backlog, Feedback, Heard, Implementation, MediaControl, Range, Rates};
use crate::rtp::MAX_PACKET;
use crate::rtp::packet::Form;
use haltere_net::registry::Description;
use haltere_net::{Ecn, Span, Time};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "scream_v1",
        summary: "SCReAM version 1: a window as LEDBAT's, and the encoder's rate by a ramp; by delay, losses and ECN marks",
        reference: "RFC 8298",
    },
    label: "SCReAM v1",
    ecn: Ecn::Ect0,
    feedback: Feedback::Arrivals(Form::PerPacket),
    build: |range, now| Box::new(Scream::new(range, now)),
};

// Section 4.1.1.1: the constants, by their names there. Times are in s.
const QDELAY_WEIGHT: f64 = 0.1;
const QDELAY_TREND_TH: f64 = 0.2;
const MIN_CWND: f64 = 3000.0;
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
const GAIN: f64 = 1.0;
const BETA_LOSS: f64 = 0.8;
const BETA_ECN: f64 = 0.9;
const BETA_R: f64 = 0.9;
const MSS: f64 = MAX_PACKET as f64;
const RATE_ADJUST_INTERVAL: Span = Span::from_millis(200);
const RAMP_UP_SPEED: f64 = 200_000.0;
const PRE_CONGESTION_GUARD: f64 = 0.1;
const TX_QUEUE_SIZE_FACTOR: f64 = 1.0;
const RTP_QDELAY_TH: f64 = 0.02;
const TARGET_RATE_SCALE_RTP_QDELAY: f64 = 0.95;
const QDELAY_TREND_LO: f64 = 0.2;
const T_RESUME_FAST_INCREASE: Span = Span::from_secs(5);
const RATE_PACE_MIN: f64 = 50_000.0;
/// Section 4.1.1.2: the vector of fractional delays, sampled at this interval (section 4.1.2).
const QDELAY_FRACTION_HIST: usize = 20;
const QDELAY_FRACTION_INTERVAL: Span = Span::from_millis(50);
/// Section 4.1.2.2: the bytes in flight whose maximum counts are those of the last 5 s.
const MAX_BYTES_IN_FLIGHT: Span = Span::from_secs(5);
/// Section 4.1.1.2: the rates of the encoder whose median counts are those of more than 10 s.
const RTP_RATES: usize = 51;
/// The smoothed RTT until there is one (its authors' ScreamV1Tx.cpp).
const FIRST_RTT: f64 = 0.02;

/// The control.
#[derive(Debug)]
struct Scream {
    range: Range,
    delays: Delays,
    cwnd: f64,
    in_fast_increase: bool,
    in_flight: f64,
    /// The most bytes in flight, each with its time, in falling order.
    most_in_flight: VecDeque<(Time, f64)>,
    /// When the round trip began, and when a loss or mark counted last.
    round: Time,
    event: Option<Time>,
    fractions: VecDeque<f64>,
    fraction: f64,
    sampled: Time,
    trend: f64,
    trend_mem: f64,
    /// Since when the trend is low.
    calm: Option<Time>,
    target: f64,
    target_last_max: f64,
    /// Bytes that were sent, acknowledged and written since the rates were adjusted.
    sent: f64,
    acked: f64,
    written: f64,
    rtp_rates: VecDeque<f64>,
    adjust: Time,
}

impl Scream {
    fn new(range: Range, now: Time) -> Scream {
        Scream {
            range,
            delays: Delays::new(),
            cwnd: MIN_CWND,
            in_fast_increase: true,
            in_flight: 0.0,
            most_in_flight: VecDeque::new(),
            round: now,
            event: None,
            fractions: VecDeque::from([0.0; QDELAY_FRACTION_HIST]),
            fraction: 0.0,
            sampled: now,
            trend: 0.0,
            trend_mem: 0.0,
            calm: None,
            target: range.start,
            target_last_max: 1.0,
            sent: 0.0,
            acked: 0.0,
            written: 0.0,
            rtp_rates: VecDeque::new(),
            adjust: now + RATE_ADJUST_INTERVAL,
        }
    }

    fn srtt(&self) -> f64 {
        if self.delays.srtt > 0.0 { self.delays.srtt } else { FIRST_RTT }
    }

    /// Section 4.1.2: the trend of the delay, by the autocorrelation of its last samples.
    fn sample(&mut self, now: Time) {
        if now.since(self.sampled) < QDELAY_FRACTION_INTERVAL {
            return;
        }
        self.sampled = now;
        let fraction = self.delays.qdelay / self.delays.target;
        self.fraction += QDELAY_WEIGHT * (fraction - self.fraction);
        self.fractions.pop_front();
        self.fractions.push_back(fraction);
        let mean = self.fractions.iter().sum::<f64>() / self.fractions.len() as f64;
        let apart = self.fractions.iter().map(|one| one - mean);
        let itself: f64 = apart.clone().map(|one| one * one).sum();
        let shifted: f64 = apart.clone().zip(apart.skip(1)).map(|(one, next)| one * next).sum();
        let correlation = if itself > 0.0 { shifted / itself } else { 0.0 };
        self.trend = (correlation * self.fraction).clamp(0.0, 1.0);
        self.trend_mem = (0.99 * self.trend_mem).max(self.trend);
    }

    /// Section 4.1.2.7: the window may grow fast again if congestion has abated.
    fn resume(&mut self, now: Time) {
        if self.trend >= QDELAY_TREND_LO {
            self.calm = None;
            return;
        }
        let since = *self.calm.get_or_insert(now);
        if !self.in_fast_increase && now.since(since) >= T_RESUME_FAST_INCREASE {
            self.in_fast_increase = true;
        }
    }

    /// Section 4.1.2.1 and 4.1.3: a loss or a mark, at most once in a round trip.
    fn reduce(&mut self, window: f64, rate: f64, now: Time) {
        self.event = Some(now);
        self.congested(now);
        self.cwnd = (window * self.cwnd).max(MIN_CWND);
        self.target = (rate * self.target).max(self.range.least);
    }

    /// Congestion ends the fast growth, and the rate there is where growth is to be slow later.
    fn congested(&mut self, now: Time) {
        self.in_fast_increase = false;
        self.calm = Some(now);
        self.target_last_max = self.target;
    }

    /// Section 4.1.2.2: the window after so many bytes were acknowledged.
    fn update_cwnd(&mut self, acked: f64, now: Time) {
        if self.in_fast_increase {
            if self.trend < QDELAY_TREND_TH {
                if 1.5 * self.in_flight + acked > self.cwnd {
                    self.cwnd += acked;
                }
                return;
            }
            self.congested(now);
        }
        let off_target = (self.delays.target - self.delays.qdelay) / self.delays.target;
        let mut delta = GAIN * off_target * acked * MSS / self.cwnd;
        if off_target > 0.0 && 1.25 * self.in_flight + acked <= self.cwnd {
            delta = 0.0;
        }
        let most = self.most_in_flight.front().map_or(0.0, |one| one.1);
        self.cwnd = (self.cwnd + delta).min(MAX_BYTES_IN_FLIGHT_HEAD_ROOM * most).max(MIN_CWND);
    }

    /// Section 4.1.3: the rate of the encoder after an interval, and with so many bits that wait for the pacer.
    fn adjust_rate(&mut self, waiting: f64) {
        let interval = RATE_ADJUST_INTERVAL.as_secs_f64();
        let [sent, acked, media] =
            [&mut self.sent, &mut self.acked, &mut self.written].map(|bytes| 8.0 * std::mem::take(bytes) / interval);
        self.rtp_rates.push_back(media);
        if self.rtp_rates.len() > RTP_RATES {
            self.rtp_rates.pop_front();
        }
        let current = sent.max(acked);
        let ramp = RAMP_UP_SPEED.min(self.target / 2.0) * interval;
        let distance = 4.0 * (self.target - self.target_last_max) / self.target_last_max;
        let scale = (distance * distance).clamp(0.2, 1.0);
        if self.in_fast_increase {
            self.target += scale * ramp;
        } else {
            let delta = current * (1.0 - PRE_CONGESTION_GUARD * self.trend) - TX_QUEUE_SIZE_FACTOR * waiting;
            self.target += if delta > 0.0 { (scale * delta).min(ramp) } else { delta };
            if waiting > RTP_QDELAY_TH * current {
                self.target *= TARGET_RATE_SCALE_RTP_QDELAY;
            }
        }
        let mut rates: Vec<f64> = self.rtp_rates.iter().copied().collect();
        rates.sort_by(f64::total_cmp);
        let limit = current.max(media).max(rates[rates.len() / 2]) * (2.0 - self.trend_mem);
        self.target = self.target.min(limit).clamp(self.range.least, self.range.most);
    }
}

impl MediaControl for Scream {
    fn on_sent(&mut self, _: u64, bytes: u32, now: Time) {
        self.in_flight += f64::from(bytes);
        self.sent += f64::from(bytes);
        while self.most_in_flight.back().is_some_and(|last| last.1 <= self.in_flight) {
            self.most_in_flight.pop_back();
        }
        self.most_in_flight.push_back((now, self.in_flight));
        while self.most_in_flight.front().is_some_and(|first| now.since(first.0) > MAX_BYTES_IN_FLIGHT) {
            self.most_in_flight.pop_front();
        }
    }

    fn on_frame(&mut self, bytes: u64, _: Time) {
        self.written += bytes as f64;
    }

    fn on_report(&mut self, heard: &Heard<'_>) {
        let now = heard.now;
        let acked = (self.in_flight - heard.in_flight as f64).max(0.0);
        self.in_flight = heard.in_flight as f64;
        self.acked += heard.packets.iter().filter(|told| told.arrived.is_some()).map(|told| f64::from(told.bytes)).sum::<f64>();
        self.delays.measure(heard);
        if now.since(self.round).as_secs_f64() >= self.srtt() {
            self.round = now;
            self.delays.end_round();
        }
        self.sample(now);
        let due = self.event.is_none_or(|last| now.since(last).as_secs_f64() >= self.srtt());
        match (heard.lost(), heard.marked()) {
            (true, _) if due => self.reduce(BETA_LOSS, BETA_R, now),
            (_, true) if due => self.reduce(BETA_ECN, BETA_ECN, now),
            _ => self.update_cwnd(acked, now),
        }
        self.resume(now);
    }

    fn next_timer(&self) -> Time {
        self.adjust
    }

    fn on_timer(&mut self, backlog: Backlog, now: Time) {
        while self.adjust <= now {
            self.adjust += RATE_ADJUST_INTERVAL;
        }
        self.adjust_rate(8.0 * backlog.bytes as f64);
    }

    fn rates(&self, _: Backlog) -> Rates {
        Rates { media: self.target, pacing: (8.0 * self.cwnd / self.srtt()).max(RATE_PACE_MIN) }
    }

    /// Section 4.1.2.5: a packet more while the delay is below its target.
    fn window(&self) -> u64 {
        let more = if self.delays.qdelay <= self.delays.target { MSS } else { 0.0 };
        (self.cwnd + more) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::super::Told;
    use super::super::scream::delay::QDELAY_TARGET_LO;
    use super::*;

    const RANGE: Range = Range { least: 150e3, most: 1.5e6, start: 150e3 };

    /// Sends a full window and a packet every 50 ms, and hears of it 50 ms later, after a wait in the queue; `ecn` is the mark of the first packet,
    /// and `None` its loss.
    fn round(scream: &mut Scream, number: u64, wait: Span, ecn: Option<Ecn>) {
        let rtt = Span::from_millis(50);
        let (sent, now) = (Time::ZERO + rtt.scaled(number, 1), Time::ZERO + rtt.scaled(number + 1, 1));
        let count = (scream.cwnd / 1000.0).ceil() as u64 + 1;
        (0..count).for_each(|packet| scream.on_sent(1000 * number + packet, 1000, sent));
        let at = now + wait;
        let told = |packet| {
            let arrived = if packet == 0 { ecn.map(|ecn| (at, ecn)) } else { Some((at, Ecn::Ect0)) };
            Told { number: 1000 * number + packet, sent, bytes: 1000, arrived }
        };
        let packets: Vec<Told> = (0..count).map(told).collect();
        scream.on_report(&Heard { now, packets: &packets, rtt: Some(rtt), in_flight: 0, summary: None });
    }

    fn rounds(scream: &mut Scream, numbers: std::ops::Range<u64>, wait: fn(u64) -> u64) {
        numbers.for_each(|number| round(scream, number, Span::from_millis(wait(number)), Some(Ecn::Ect0)));
    }

    #[test]
    fn a_delay_that_grows_ends_fast_increase_which_resumes_after_five_calm_seconds() {
        let mut scream = Scream::new(RANGE, Time::ZERO);
        rounds(&mut scream, 0..4, |_| 0);
        assert!(scream.in_fast_increase && scream.cwnd >= 8.0 * MIN_CWND, "{}", scream.cwnd);
        rounds(&mut scream, 4..20, |number| 10 * (number - 4));
        assert!(!scream.in_fast_increase, "trend {}", scream.trend);
        rounds(&mut scream, 20..60, |_| 0);
        let low = (20..400).find(|&number| {
            rounds(&mut scream, number + 40..number + 41, |_| 0);
            scream.in_fast_increase
        });
        // The trend is below its bound some time after the queue has gone, and then 100 reports of 50 ms pass.
        assert!(low.is_some_and(|number| (80..160).contains(&(number + 40))), "{low:?}");
    }

    #[test]
    fn the_window_shrinks_while_the_delay_is_above_its_target() {
        let mut scream = Scream::new(RANGE, Time::ZERO);
        rounds(&mut scream, 0..4, |_| 0);
        scream.in_fast_increase = false;
        (scream.cwnd, scream.delays.target) = (30_000.0, QDELAY_TARGET_LO);
        let before = scream.cwnd;
        round(&mut scream, 4, Span::from_millis(150), Some(Ecn::Ect0));
        // LEDBAT: the gain, the share by which the delay is off, the bytes, and a segment by the window.
        let off = (scream.delays.target - 0.15) / scream.delays.target;
        let expected = before + off * 31_000.0 * MSS / before;
        assert!(off < 0.0 && (scream.cwnd - expected).abs() < 1.0, "{} for {expected}", scream.cwnd);
    }

    #[test]
    fn losses_and_marks_count_once_in_a_round_trip() {
        for (ecn, window, rate) in [(None, BETA_LOSS, BETA_R), (Some(Ecn::Ce), BETA_ECN, BETA_ECN)] {
            let mut scream = Scream::new(RANGE, Time::ZERO);
            rounds(&mut scream, 0..4, |_| 0);
            scream.target = 1e6;
            let before = scream.cwnd;
            round(&mut scream, 4, Span::ZERO, ecn);
            assert_eq!((scream.cwnd, scream.target), (window * before, rate * 1e6));
            let lost = [Told { number: 0, sent: Time::ZERO, bytes: 1000, arrived: None }];
            let now = Time::ZERO + Span::from_millis(260);
            scream.on_report(&Heard { now, packets: &lost, rtt: None, in_flight: 0, summary: None });
            assert_eq!(scream.target, rate * 1e6);
        }
    }

    #[test]
    fn the_rate_grows_by_the_ramp_and_gives_way_to_what_waits() {
        let mut scream = Scream::new(RANGE, Time::ZERO);
        scream.target = 1e6;
        let interval = |scream: &mut Scream, waiting: f64| {
            (scream.written, scream.sent) = (25_000.0, 25_000.0);
            scream.adjust_rate(waiting);
            scream.target
        };
        assert_eq!(interval(&mut scream, 0.0), 1.04e6);
        scream.in_fast_increase = false;
        scream.target_last_max = 1.04e6;
        // Near the rate where congestion was, growth is a fifth of what it could be, and at most the ramp.
        assert_eq!(interval(&mut scream, 0.0), 1.08e6);
        let slowed = interval(&mut scream, 21e3);
        assert!((slowed - TARGET_RATE_SCALE_RTP_QDELAY * 1.12e6).abs() < 1.0, "{slowed}");
    }
}
