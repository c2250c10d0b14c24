//! NADA, a congestion control for real-time media (RFC 8698), with all of it at the sender.
//!
//! Each packet is answered. So delays are those of the round trip, with the queue on the way back, where the RFC has one-way
//! delays, and the receiver's part (section 4.2) is done here. There are no marks. Without answers the rate stays.

use haltere_net::{Span, Time};
use std::collections::VecDeque;

/// Section 4.2, figure 3: the default values of the parameters, by their names there.
const XREF: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 500.0;
/// How often the rate is updated.
pub(super) const DELTA: Span = Span::from_millis(100);
const LOGWIN: Span = Span::from_millis(500);
const QEPS: f64 = 10.0;
const DFILT: Span = Span::from_millis(120);
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const DLOSS: f64 = 10.0;
const ALPHA: f64 = 0.1;

/// An answer to a packet.
#[derive(Clone, Copy, Debug)]
struct Heard {
    at: Time,
    rtt: Span,
    bytes: u32,
    /// Packets before it that were not answered before it. A late answer takes one back.
    missing: i64,
}

/// The control of one stream of media.
#[derive(Clone, Debug)]
pub(super) struct Nada {
    /// The least and the largest rate, bit/s.
    range: (f64, f64),
    /// The reference rate, bit/s.
    rate: f64,
    heard: VecDeque<Heard>,
    /// The number of the packet after the last that was answered.
    expected: u64,
    base: Span,
    /// The smoothed loss ratio.
    loss: f64,
    /// Packets since the last loss, and between losses on average.
    since_loss: f64,
    between_losses: Option<f64>,
    /// The congestion signal at the last update, ms.
    signal: f64,
    updated: Time,
}

fn ms(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

impl Nada {
    /// A control that begins with the least rate of `range`, bit/s, at a time.
    pub fn new(range: (f64, f64), now: Time) -> Nada {
        Nada {
            range,
            rate: range.0,
            heard: VecDeque::new(),
            expected: 0,
            base: Span::MAX,
            loss: 0.0,
            since_loss: 0.0,
            between_losses: None,
            signal: 0.0,
            updated: now,
        }
    }

    /// The rate at which media may be sent, bit/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The packet of this number was answered.
    pub fn on_answer(&mut self, number: u64, at: Time, rtt: Span, bytes: u32) {
        let missing = if number >= self.expected { (number - self.expected) as i64 } else { -1 };
        self.expected = self.expected.max(number + 1);
        self.base = self.base.min(rtt);
        self.heard.push_back(Heard { at, rtt, bytes, missing });
        if missing > 0 {
            let mean = self.between_losses.map_or(self.since_loss, |mean| mean + ALPHA * (self.since_loss - mean));
            self.between_losses = Some(mean);
            self.since_loss = 0.0;
        } else {
            self.since_loss += 1.0;
        }
    }

    /// Updates the rate (section 4.3).
    pub fn update(&mut self, now: Time) {
        let delta = ms(now.since(self.updated));
        self.updated = now;
        self.heard.retain(|one| one.at + LOGWIN > now);
        let Some(last) = self.heard.back().copied() else { return };
        let missing = self.heard.iter().map(|one| one.missing).sum::<i64>().max(0) as f64;
        self.loss += ALPHA * (missing / (missing + self.heard.len() as f64) - self.loss);
        let queued = |one: &Heard| ms(one.rtt.saturating_sub(self.base));
        let recent = self.heard.iter().filter(|one| one.at + DFILT > now).map(queued);
        let delay = recent.fold(f64::INFINITY, f64::min).min(queued(&last));
        let signal = self.warped(delay) + DLOSS * (self.loss / PLRREF) * (self.loss / PLRREF);
        if missing == 0.0 && self.heard.iter().all(|one| queued(one) < QEPS) {
            let gamma = GAMMA_MAX.min(QBOUND / (ms(last.rtt) + ms(DELTA) + ms(DFILT)));
            self.rate = self.rate.max((1.0 + gamma) * self.received(now));
        } else {
            let offset = signal - XREF * self.range.1 / self.rate;
            let change = delta / TAU * offset / TAU + ETA * (signal - self.signal) / TAU;
            self.rate -= KAPPA * change * self.rate;
        }
        self.rate = self.rate.clamp(self.range.0, self.range.1);
        self.signal = signal;
    }

    /// The delay, less where it is long and packets were lost of late: then losses, and not the queue of others, count.
    fn warped(&self, delay: f64) -> f64 {
        let of_late = self.between_losses.is_some_and(|mean| self.since_loss < MULTILOSS * mean);
        if of_late && delay >= QTH { QTH * libm::exp(-LAMBDA * (delay - QTH) / QTH) } else { delay }
    }

    /// The rate that arrived of late, bit/s.
    fn received(&self, now: Time) -> f64 {
        let bytes: u64 = self.heard.iter().map(|one| u64::from(one.bytes)).sum();
        let since = self.heard.front().map_or(Span::ZERO, |first| now.since(first.at)).max(DELTA);
        8.0 * bytes as f64 / since.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control whose packets of 1000 bytes have this delay for so many updates, and whose every `lost`th packet is lost.
    fn after(updates: u64, delay: impl Fn(u64) -> u64, lost: u64) -> f64 {
        let (mut nada, mut number, mut now) = (Nada::new((150e3, 1.5e6), Time::ZERO), 0, Time::ZERO);
        for update in 1..=updates {
            let packets = (nada.rate() / 80e3).ceil() as u64;
            for packet in 1..=packets {
                number += 1;
                let at = now + DELTA.scaled(packet, packets);
                if lost == 0 || number % lost > 0 {
                    nada.on_answer(number, at, Span::from_millis(delay(update)), 1000);
                }
            }
            now += DELTA;
            nada.update(now);
        }
        nada.rate()
    }

    #[test]
    fn an_empty_path_is_taken_up_to_the_largest_rate() {
        assert!(after(5, |_| 40, 0) < 1.0e6);
        assert_eq!(after(60, |_| 40, 0), 1.5e6);
    }

    #[test]
    fn a_queue_of_others_holds_the_rate_where_the_signal_is_that_of_the_rate() {
        // In equilibrium the delay is XREF * RMAX / rate: 40 ms at 375 kbit/s.
        let rate = after(3000, |update| if update < 30 { 40 } else { 80 }, 0);
        assert!((rate / 375e3 - 1.0).abs() < 0.01, "{rate}");
        assert_eq!(after(3000, |update| if update < 30 { 40 } else { 400 }, 0), 150e3);
    }

    #[test]
    fn losses_lower_the_rate() {
        let (few, many) = (after(600, |_| 40, 200), after(600, |_| 40, 20));
        assert!(many < 0.5 * few, "{few} with 0.5 %, {many} with 5 %");
    }

    #[test]
    fn without_answers_the_rate_stays() {
        let mut nada = Nada::new((150e3, 1.5e6), Time::ZERO);
        nada.update(Time::ZERO + DELTA);
        assert_eq!(nada.rate(), 150e3);
    }
}
