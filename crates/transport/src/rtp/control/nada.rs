//! NADA (RFC 8698): the receiver makes one congestion signal of delay, losses and marks, and the sender holds it where the rate wants it.

use super::{Backlog, Feedback, Heard, Implementation, MediaControl, Range, Rates, Summary, Told, Watcher};
use haltere_net::registry::Description;
use haltere_net::{Ecn, Span, Time};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "nada",
        summary: "NADA: one signal of one-way delay, losses and marks, which the receiver makes every 100 ms",
        reference: "RFC 8698",
    },
    label: "NADA",
    ecn: Ecn::Ect0,
    feedback: Feedback::Summary(DELTA, |range| Box::new(Receiver::new(range))),
    build: |range, now| Box::new(Sender::new(range, now)),
};

// Figure 3 of the RFC: the default values of the parameters, by their names there. Times are in ms.
const XREF: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 500.0;
const DELTA: Span = Span::from_millis(100);
const LOGWIN: Span = Span::from_millis(500);
const QEPS: f64 = 10.0;
const DFILT: Span = Span::from_millis(120);
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 10.0;
const DMARK: f64 = 2.0;
const ALPHA: f64 = 0.1;
const BETA_S: f64 = 0.1;
const BETA_V: f64 = 0.1;
/// The largest signal (its authors' reference implementation, ns3-rmcat, nada-controller.cc: `NADA_PARAM_XMAX`; the RFC names none).
/// Without a bound, the fall of a high penalty for losses would make the rate explode, by the difference of two signals.
const XMAX: f64 = 500.0;
/// The packets among which the least delay counts (section 5.1.1).
const TAPS: usize = 15;
/// The time in which the base delay is the least of all (section 5.1.1).
const BASE: Span = Span::from_secs(600);

fn ms(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Time,
    /// Its one-way delay.
    delay: Span,
    bytes: u32,
    marked: bool,
    /// Packets before it that had not come before it. A late packet takes one back.
    missing: i64,
}

/// The receiver's part (section 4.2).
#[derive(Debug)]
struct Receiver {
    arrivals: VecDeque<Arrival>,
    /// The number after the largest that came.
    expected: Option<u64>,
    /// The least delays, with their times: the first is the least of all, each later one the least after it.
    base: VecDeque<(Time, Span)>,
    loss: f64,
    marks: f64,
    since_loss: f64,
    between_losses: Option<f64>,
}

impl Receiver {
    fn new(_: Range) -> Receiver {
        Receiver {
            arrivals: VecDeque::new(),
            expected: None,
            base: VecDeque::new(),
            loss: 0.0,
            marks: 0.0,
            since_loss: 0.0,
            between_losses: None,
        }
    }

    /// The delay, less where it is long and packets were lost of late: then losses, and not the queue of others, count (section 4.2).
    /// After that time it goes back to the whole delay within an average interval between losses (ns3-rmcat, `updateXcurr`).
    fn warped(&self, delay: f64) -> f64 {
        let Some(mean) = self.between_losses.filter(|_| delay >= QTH) else { return delay };
        let whole = ((self.since_loss - MULTILOSS * mean) / mean.max(1.0)).clamp(0.0, 1.0);
        whole * delay + (1.0 - whole) * QTH * libm::exp(-LAMBDA * (delay - QTH) / QTH)
    }

    /// The rate that arrived of late, bit/s (section 5.1.2).
    fn received(&self) -> f64 {
        let bytes: u64 = self.arrivals.iter().map(|one| u64::from(one.bytes)).sum();
        8.0 * bytes as f64 / LOGWIN.as_secs_f64()
    }
}

impl Watcher for Receiver {
    fn on_packet(&mut self, packet: Told) {
        let Some((at, ecn)) = packet.arrived else { return };
        let delay = at.since(packet.sent);
        let expected = self.expected.unwrap_or(packet.number);
        let missing = if packet.number >= expected { (packet.number - expected) as i64 } else { -1 };
        self.expected = Some(expected.max(packet.number + 1));
        while self.base.back().is_some_and(|last| last.1 >= delay) {
            self.base.pop_back();
        }
        self.base.push_back((at, delay));
        while self.base.front().is_some_and(|first| first.0 + BASE < at) {
            self.base.pop_front();
        }
        self.arrivals.push_back(Arrival { at, delay, bytes: packet.bytes, marked: ecn == Ecn::Ce, missing });
        if missing > 0 {
            let mean = self.between_losses.map_or(self.since_loss, |mean| mean + ALPHA * (self.since_loss - mean));
            self.between_losses = Some(mean);
            self.since_loss = 0.0;
        } else {
            self.since_loss += 1.0;
        }
    }

    fn summary(&mut self, now: Time) -> Summary {
        while self.arrivals.front().is_some_and(|first| first.at + LOGWIN <= now) {
            self.arrivals.pop_front();
        }
        let base = self.base.front().map_or(Span::ZERO, |least| least.1);
        let came = self.arrivals.len() as f64;
        let missing = self.arrivals.iter().map(|one| one.missing).sum::<i64>().max(0) as f64;
        let marked = self.arrivals.iter().filter(|one| one.marked).count() as f64;
        if came > 0.0 {
            self.loss += ALPHA * (missing / (missing + came) - self.loss);
            self.marks += ALPHA * (marked / came - self.marks);
        }
        let queued = |one: &Arrival| ms(one.delay.saturating_sub(base));
        let recent = self.arrivals.iter().rev().take(TAPS);
        let recent = recent.enumerate().filter(|(k, one)| *k == 0 || one.at + DFILT > now).map(|(_, one)| queued(one));
        let delay = recent.reduce(f64::min).unwrap_or(0.0);
        let squared = |x: f64| x * x;
        let penalty = DMARK * squared(self.marks / PMRREF) + DLOSS * squared(self.loss / PLRREF);
        Summary {
            signal: (self.warped(delay) + penalty).min(XMAX),
            received: self.received(),
            accelerated: missing == 0.0 && came > 0.0 && self.arrivals.iter().all(|one| queued(one) < QEPS),
        }
    }
}

/// The sender's part (section 4.3).
#[derive(Debug)]
struct Sender {
    range: Range,
    /// The reference rate, bit/s.
    rate: f64,
    /// The congestion signal of the last report, ms.
    signal: f64,
    reported: Time,
    rtt: Span,
}

impl Sender {
    fn new(range: Range, now: Time) -> Sender {
        Sender { range, rate: range.start, signal: 0.0, reported: now, rtt: Span::ZERO }
    }
}

impl MediaControl for Sender {
    fn on_report(&mut self, heard: &Heard<'_>) {
        self.rtt = heard.rtt.unwrap_or(self.rtt);
        let Some(summary) = heard.summary else { return };
        let delta = ms(heard.now.since(self.reported));
        self.reported = heard.now;
        if summary.accelerated {
            let gamma = GAMMA_MAX.min(QBOUND / (ms(self.rtt) + ms(DELTA) + ms(DFILT)));
            self.rate = self.rate.max((1.0 + gamma) * summary.received);
        } else {
            let offset = summary.signal - XREF * self.range.most / self.rate;
            let change = delta / TAU * offset / TAU + ETA * (summary.signal - self.signal) / TAU;
            self.rate -= KAPPA * change * self.rate;
        }
        self.rate = self.rate.clamp(self.range.least, self.range.most);
        self.signal = summary.signal;
    }

    /// Section 5.2.2: what waits slows the encoder down, and lets packets leave faster.
    fn rates(&self, backlog: Backlog) -> Rates {
        let waits = 8.0 * backlog.bytes as f64 * f64::from(backlog.frames);
        Rates { media: (self.rate - BETA_V * waits).max(self.range.least), pacing: self.rate + BETA_S * waits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { least: 150e3, most: 1.5e6, start: 150e3 };

    /// How the path of a test treats the packets of an update, and packets of these numbers.
    struct Path {
        delay: fn(u64) -> u64,
        lost: u64,
        marked: u64,
    }

    /// The rate after so many updates.
    fn after(updates: u64, path: &Path) -> f64 {
        let (mut sender, mut receiver) = (Sender::new(RANGE, Time::ZERO), Receiver::new(RANGE));
        let (mut number, mut now) = (0, Time::ZERO);
        for update in 1..=updates {
            let packets = (sender.rate / 80e3).ceil() as u64;
            for packet in 1..=packets {
                number += 1;
                let at = now + DELTA.scaled(packet, packets) + Span::from_secs(1);
                let delay = Span::from_millis((path.delay)(update));
                let ecn = if path.marked > 0 && number % path.marked == 0 { Ecn::Ce } else { Ecn::Ect0 };
                let sent = Time::ZERO + at.saturating_sub(delay).since(Time::ZERO);
                if path.lost == 0 || number % path.lost > 0 {
                    receiver.on_packet(Told { number, sent, bytes: 1000, arrived: Some((at, ecn)) });
                }
            }
            now += DELTA;
            let summary = Some(receiver.summary(now + Span::from_secs(1)));
            let rtt = Some(Span::from_millis(80));
            sender.on_report(&Heard { now, packets: &[], rtt, in_flight: 0, summary });
        }
        sender.rate
    }

    #[test]
    fn an_empty_path_is_taken_up_to_the_largest_rate() {
        let path = Path { delay: |_| 40, lost: 0, marked: 0 };
        assert!(after(5, &path) < 1.0e6);
        assert_eq!(after(80, &path), 1.5e6);
    }

    #[test]
    fn a_queue_of_others_holds_the_rate_where_the_signal_is_that_of_the_rate() {
        // In equilibrium the delay is XREF * RMAX / rate: 40 ms at 375 kbit/s.
        let rate = after(3000, &Path { delay: |update| if update < 30 { 40 } else { 80 }, lost: 0, marked: 0 });
        assert!((rate / 375e3 - 1.0).abs() < 0.01, "{rate}");
        let path = Path { delay: |update| if update < 30 { 40 } else { 400 }, lost: 0, marked: 0 };
        assert_eq!(after(3000, &path), 150e3);
    }

    #[test]
    fn losses_and_marks_lower_the_rate() {
        let of = |lost, marked| after(600, &Path { delay: |_| 40, lost, marked });
        assert!(of(20, 0) < 0.5 * of(200, 0), "{} with 5 % lost, {} with 0.5 %", of(20, 0), of(200, 0));
        // Marks count once there is a queue; without one the rate grows fast (section 4.2).
        let queue = |update| if update < 30 { 40 } else { 52 };
        let of = |marked| after(600, &Path { delay: queue, lost: 0, marked });
        assert!(of(10) < 0.5 * of(0), "{} with a tenth marked, {} without", of(10), of(0));
    }

    #[test]
    fn a_burst_of_losses_lowers_the_rate_and_its_end_does_not_make_it_explode() {
        // Every second packet of ten updates is lost, none later.
        let (mut sender, mut receiver) = (Sender::new(Range { start: 1e6, ..RANGE }, Time::ZERO), Receiver::new(RANGE));
        let (mut number, mut grown) = (0, 1.0f64);
        for update in 1..=60u64 {
            for packet in 1..=10 {
                number += 1;
                let at = Time::ZERO + DELTA.scaled(10 * update + packet, 10);
                if update > 10 || number % 2 == 0 {
                    receiver.on_packet(Told { number, sent: at, bytes: 1000, arrived: Some((at + DELTA, Ecn::Ect0)) });
                }
            }
            let (now, before) = (Time::ZERO + DELTA.scaled(update + 2, 1), sender.rate);
            let summary = Summary { accelerated: false, ..receiver.summary(now) };
            sender.on_report(&Heard { now, packets: &[], rtt: None, in_flight: 0, summary: Some(summary) });
            grown = grown.max(sender.rate / before);
            assert!(update != 10 || sender.rate < 300e3, "{}", sender.rate);
        }
        assert!(grown < 1.25, "the rate grew by {grown} in an update");
    }

    #[test]
    fn a_backlog_slows_the_encoder_and_hurries_the_pacer() {
        let sender = Sender::new(Range { start: 1e6, ..RANGE }, Time::ZERO);
        let rates = sender.rates(Backlog { bytes: 10_000, frames: 30 });
        assert_eq!((rates.media, rates.pacing), (760e3, 1.24e6));
    }
}
