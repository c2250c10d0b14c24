//! Trains of packets at the start of a call, which find more than the first rate within a second (libwebrtc: probe_controller.cc,
//! bitrate_prober.cc, probe_bitrate_estimator.cc). Later ones, while the encoder writes less than it may, are left out.

use super::super::{Heard, Probe, Range};
use haltere_net::Time;
use std::collections::VecDeque;

/// The first two trains, as multiples of the first rate; how much faster a further one is, and the share of a train's rate that is to be
/// found for that (`first_exponential_probe_scale`, `second_exponential_probe_scale`, `further_exponential_probe_scale`,
/// `further_probe_threshold`).
const FIRST: [f64; 2] = [3.0, 6.0];
const FURTHER: f64 = 2.0;
const FOUND: f64 = 0.7;
/// The largest rate of a train, of the largest rate of the encoder (`max_probing_bitrate` is twice the largest).
const MOST: f64 = 2.0;
/// How long a train is, s, and the packets that it has at least (`initial_min_probe_duration` of 15 ms, `initial_probe_packet_count`).
const DURATION: f64 = 0.015;
const PACKETS: f64 = 5.0;
/// The share of a train's packets that have to arrive (`kMinReceivedProbesRatio`).
const ARRIVED: f64 = 0.8;
/// A train that arrives so much faster than it was sent tells nothing; one that arrives so much more slowly found the capacity, of which
/// this share is used (`kMaxValidRatio`, `kMinRatioForUnsaturatedLink`, `kTargetUtilizationFraction`).
const VALID: f64 = 2.0;
const SATURATED: f64 = 0.9;
const USED: f64 = 0.95;

/// A train of which some packets have left.
#[derive(Clone, Debug)]
struct Train {
    rate: f64,
    /// Bytes that are still to be sent.
    left: u64,
    /// The numbers of its packets.
    first: Option<u64>,
    last: u64,
    /// Its packets that arrived, as far as reports have told: when each left, when it arrived, its bytes.
    came: Vec<(Time, Time, u32)>,
    told: u64,
}

/// The trains of a call.
#[derive(Debug)]
pub(super) struct Probes {
    range: Range,
    /// Rates of trains that are to be sent.
    wanted: VecDeque<f64>,
    trains: VecDeque<Train>,
    /// Whether media was sent: trains begin with it.
    begun: bool,
}

impl Probes {
    pub fn new(range: Range) -> Probes {
        let most = MOST * range.most;
        let wanted = FIRST.map(|scale| scale * range.start).into_iter().filter(|rate| *rate <= most).collect();
        Probes { range, wanted, trains: VecDeque::new(), begun: false }
    }

    /// The train that is to be sent next, if none is being sent.
    pub fn next(&mut self) -> Option<Probe> {
        if !self.begun || self.trains.back().is_some_and(|train| train.left > 0) {
            return None;
        }
        let rate = self.wanted.pop_front()?;
        let bytes = (rate * DURATION / 8.0).max(PACKETS * f64::from(crate::rtp::MAX_PACKET)) as u64;
        self.trains.push_back(Train { rate, left: bytes, first: None, last: 0, came: Vec::new(), told: 0 });
        Some(Probe { rate, bytes })
    }

    pub fn on_sent(&mut self, number: u64, bytes: u32, _: Time) {
        self.begun = true;
        if let Some(train) = self.trains.iter_mut().find(|train| train.left > 0) {
            train.first.get_or_insert(number);
            train.last = number;
            train.left = train.left.saturating_sub(u64::from(bytes));
        }
    }

    /// Takes a report; returns the rate that a train found.
    pub fn on_report(&mut self, heard: &Heard<'_>) -> Option<f64> {
        for told in heard.packets {
            let of = |train: &&mut Train| train.first.is_some_and(|first| (first..=train.last).contains(&told.number));
            if let Some(train) = self.trains.iter_mut().find(of) {
                train.told += 1;
                train.came.extend(told.arrived.map(|(at, _)| (told.sent, at, told.bytes)));
            }
        }
        let mut best = None;
        while self.trains.front().is_some_and(Train::is_told) {
            let Some(train) = self.trains.pop_front() else { break };
            let Some(found) = train.found() else { continue };
            let next = FURTHER * train.rate;
            if self.wanted.is_empty() && self.trains.is_empty() && found >= FOUND * train.rate && train.rate < self.range.most {
                self.wanted.push_back(next.min(MOST * self.range.most));
            }
            best = Some(found);
        }
        best
    }
}

impl Train {
    fn packets(&self) -> u64 {
        self.first.map_or(0, |first| self.last + 1 - first)
    }

    /// Whether reports have told of all its packets.
    fn is_told(&self) -> bool {
        self.left == 0 && self.told >= self.packets()
    }

    /// The rate that it found, bit/s.
    fn found(&self) -> Option<f64> {
        if (self.came.len() as f64) < ARRIVED * self.packets() as f64 || self.came.len() < 2 {
            return None;
        }
        let bytes: f64 = self.came.iter().map(|one| f64::from(one.2)).sum();
        let by = |of: fn(&(Time, Time, u32)) -> Time| {
            let first = self.came.iter().min_by_key(|one| of(one))?;
            let last = self.came.iter().max_by_key(|one| of(one))?;
            Some((of(last).since(of(first)).as_secs_f64(), f64::from(first.2), f64::from(last.2)))
        };
        // The last packet's own time of sending is not in the first, nor the first's of arriving in the second.
        let ((sending, _, last), (arriving, first, _)) = (by(|one| one.0)?, by(|one| one.1)?);
        if sending <= 0.0 || arriving <= 0.0 {
            return None;
        }
        let (sent, received) = (8.0 * (bytes - last) / sending, 8.0 * (bytes - first) / arriving);
        if received > VALID * sent {
            return None;
        }
        Some(if received < SATURATED * sent { USED * received } else { sent.min(received) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Told;
    use super::*;
    use haltere_net::{Ecn, Span};

    /// The rate that the first train of a call finds, which begins with 300 kbit/s, over a path of a rate, bit/s.
    fn found(capacity: f64) -> (Option<f64>, usize) {
        let mut probes = Probes::new(Range { least: 150e3, most: 2e6, start: 300e3 });
        assert_eq!(probes.next(), None, "trains begin with media");
        probes.on_sent(0, 1200, Time::ZERO);
        let probe = probes.next().unwrap();
        let (mut sent, mut free, mut packets) = (Time::ZERO, Time::ZERO, Vec::new());
        for number in 1..=probe.bytes.div_ceil(1200) {
            probes.on_sent(number, 1200, sent);
            free = free.max(sent) + Span::from_secs_f64(9600.0 / capacity);
            packets.push(Told { number, sent, bytes: 1200, arrived: Some((free, Ecn::NotEct)) });
            sent += Span::from_secs_f64(9600.0 / probe.rate);
        }
        probes.wanted.clear();
        let heard = Heard { now: free, packets: &packets, rtt: None, in_flight: 0, summary: None };
        (probes.on_report(&heard), probes.wanted.len())
    }

    #[test]
    fn a_train_finds_its_own_rate_or_the_capacity() {
        let (rate, further) = found(50e6);
        assert!((rate.unwrap() / 900e3 - 1.0).abs() < 0.01 && further == 1, "{rate:?}");
        let (rate, further) = found(400e3);
        assert!((rate.unwrap() / 380e3 - 1.0).abs() < 0.01 && further == 0, "{rate:?}");
    }
}
