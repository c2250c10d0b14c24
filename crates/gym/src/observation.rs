//! Observations: the numbers that an agent is given of the intervals of its flow.

use crate::interval::{FIELDS, Interval};
use std::collections::VecDeque;

/// The numbers of an interval that an agent is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observation {
    /// The latency gradient, the latency ratio and the sending ratio (Jay et al., ICML 2019).
    ///
    /// - The slope of the RTT over time, by least squares, from −1 to 10.
    /// - The mean RTT over the least mean RTT of any interval of the connection, from 1 to 10 000.
    /// - Bytes sent over bytes acknowledged, from 0 to 1000; 1 if nothing was acknowledged.
    Aurora,
    /// The seven numbers of Orca's published state (Abbasloo et al., SIGCOMM 2020). Throughputs and rates are given over the
    /// largest throughput so far.
    ///
    /// - The throughput.
    /// - The pacing rate, at most 10.
    /// - Five times the rate of losses.
    /// - Acknowledgements over the window in packets.
    /// - The length of the interval, s.
    /// - The base RTT over the smoothed RTT.
    /// - 1.25 times this, at most 1.
    Orca,
    /// Numbers of the interval, by their place in [`FIELDS`].
    Fields(Vec<usize>),
}

/// The limits of Aurora's published features, least and most, and what they are before the first interval.
const AURORA: [(f64, f64, f64); 3] = [(-1.0, 10.0, 0.0), (1.0, 10_000.0, 1.0), (0.0, 1000.0, 1.0)];
/// The largest number of Orca's state; the paper has no bounds.
const ORCA_MOST: f64 = 10.0;
/// The weight of losses in Orca's state and reward.
pub(crate) const ORCA_LOSSES: f64 = 5.0;
/// Up to this many base RTTs, a delay costs nothing in Orca's reward (β).
pub(crate) const ORCA_MARGIN: f64 = 1.25;

/// Extremes of the earlier intervals of a flow.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Memory {
    /// The least mean RTT of an interval with samples, s.
    pub least_mean_rtt_s: Option<f64>,
    /// The largest throughput of an interval, bit/s.
    pub largest_throughput_bps: f64,
}

impl Memory {
    pub fn note(&mut self, interval: &Interval) {
        if interval.acks > 0.0 && interval.mean_rtt_s > 0.0 {
            let least = self.least_mean_rtt_s.map_or(interval.mean_rtt_s, |least| least.min(interval.mean_rtt_s));
            self.least_mean_rtt_s = Some(least);
        }
        self.largest_throughput_bps = self.largest_throughput_bps.max(interval.delivery_rate_bps);
    }

    /// A rate over the largest throughput so far; 0 before there is one.
    pub fn relative(&self, bps: f64) -> f64 {
        if self.largest_throughput_bps > 0.0 { bps / self.largest_throughput_bps } else { 0.0 }
    }
}

/// Orca's metric of delay: 1 up to [`ORCA_MARGIN`] base RTTs, then falling as the smoothed RTT grows.
pub(crate) fn delay_metric(interval: &Interval) -> f64 {
    if interval.smoothed_rtt_s <= 0.0 {
        return 1.0;
    }
    (ORCA_MARGIN * interval.base_rtt_s / interval.smoothed_rtt_s).min(1.0)
}

impl Observation {
    /// How many numbers it has of an interval.
    pub fn width(&self) -> usize {
        match self {
            Observation::Aurora => AURORA.len(),
            Observation::Orca => 7,
            Observation::Fields(which) => which.len(),
        }
    }

    /// The least and the largest value of each number.
    pub fn bounds(&self) -> Vec<(f64, f64)> {
        match self {
            Observation::Aurora => AURORA.map(|(least, most, _)| (least, most)).to_vec(),
            Observation::Orca => vec![(0.0, ORCA_MOST); 7],
            Observation::Fields(which) => {
                let bounds = |at: &usize| match FIELDS[*at].name {
                    "rtt_slope" => (f64::NEG_INFINITY, f64::INFINITY),
                    "loss_ratio" => (0.0, 1.0),
                    _ => (0.0, f64::INFINITY),
                };
                which.iter().map(bounds).collect()
            }
        }
    }

    /// The numbers before the first interval.
    fn neutral(&self, at: usize) -> f64 {
        if let Observation::Aurora = self { AURORA[at].2 } else { 0.0 }
    }

    /// The numbers of an interval.
    fn of(&self, interval: &Interval, memory: &Memory, into: &mut VecDeque<f32>) {
        match self {
            Observation::Aurora => {
                let ratio = memory.least_mean_rtt_s.map_or(1.0, |least| interval.mean_rtt_s / least);
                let acked = interval.acked_bytes;
                let sending = if acked > 0.0 { interval.sent_bytes / acked } else { 1.0 };
                let numbers = [interval.rtt_slope, ratio, sending];
                into.extend(numbers.iter().zip(AURORA).map(|(x, (least, most, _))| x.clamp(least, most) as f32));
            }
            Observation::Orca => {
                let window = (interval.window_bytes / interval.packet_bytes.max(1.0)).max(1.0);
                let delay =
                    if interval.smoothed_rtt_s > 0.0 { interval.base_rtt_s / interval.smoothed_rtt_s } else { 1.0 };
                let numbers = [
                    memory.relative(interval.delivery_rate_bps),
                    memory.relative(interval.pacing_rate_bps),
                    memory.relative(ORCA_LOSSES * interval.loss_rate_bps),
                    interval.acks / window,
                    interval.duration_s,
                    delay,
                    delay_metric(interval),
                ];
                into.extend(numbers.iter().map(|x| x.clamp(0.0, ORCA_MOST) as f32));
            }
            Observation::Fields(which) => {
                let values = interval.values();
                into.extend(which.iter().map(|at| values[*at] as f32));
            }
        }
    }
}

/// An observation of the last so many intervals, the oldest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stacked {
    /// The numbers of each.
    pub of: Observation,
    /// How many intervals.
    pub history: usize,
}

impl Stacked {
    /// How many numbers there are in all.
    pub fn len(&self) -> usize {
        self.of.width() * self.history
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The intervals that an agent still sees.
#[derive(Clone, Default, Debug)]
pub(crate) struct History(VecDeque<f32>);

impl History {
    pub fn new(stacked: &Stacked) -> History {
        let width = stacked.of.width();
        History((0..stacked.len()).map(|at| stacked.of.neutral(at % width) as f32).collect())
    }

    pub fn push(&mut self, stacked: &Stacked, interval: &Interval, memory: &Memory) {
        self.0.drain(..stacked.of.width().min(self.0.len()));
        stacked.of.of(interval, memory, &mut self.0);
    }

    /// Writes all of them.
    pub fn write(&self, into: &mut [f32]) {
        into.iter_mut().zip(&self.0).for_each(|(into, from)| *into = *from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(stacked: &Stacked, intervals: &[Interval]) -> Vec<f32> {
        let (mut history, mut memory) = (History::new(stacked), Memory::default());
        for interval in intervals {
            memory.note(interval);
            history.push(stacked, interval, &memory);
        }
        let mut numbers = vec![0.0; stacked.len()];
        history.write(&mut numbers);
        numbers
    }

    #[test]
    fn aurora_sees_slope_latency_ratio_and_sending_ratio_of_the_last_intervals_the_oldest_first() {
        let stacked = Stacked { of: Observation::Aurora, history: 3 };
        let first = Interval {
            acks: 1.0,
            mean_rtt_s: 0.1,
            acked_bytes: 1000.0,
            sent_bytes: 1500.0,
            rtt_slope: 0.5,
            ..Interval::default()
        };
        let second = Interval { mean_rtt_s: 0.2, sent_bytes: 2e9, rtt_slope: -3.0, ..first };
        assert_eq!(seen(&stacked, &[]), [0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
        assert_eq!(seen(&stacked, &[first, second]), [0.0, 1.0, 1.0, 0.5, 1.0, 1.5, -1.0, 2.0, 1000.0]);
    }

    #[test]
    fn every_number_is_finite_when_there_is_no_rtt_yet() {
        for of in [Observation::Aurora, Observation::Orca, Observation::Fields((0..FIELDS.len()).collect())] {
            let stacked = Stacked { of, history: 2 };
            let unknown = Interval { acks: 3.0, acked_bytes: 100.0, ..Interval::default() };
            assert!(seen(&stacked, &[unknown, unknown]).iter().all(|number| number.is_finite()));
        }
    }

    #[test]
    fn orcas_state_is_given_over_the_largest_throughput_so_far() {
        let stacked = Stacked { of: Observation::Orca, history: 1 };
        let fast = Interval { delivery_rate_bps: 8e6, acks: 1.0, ..Interval::default() };
        let slow = Interval {
            delivery_rate_bps: 4e6,
            pacing_rate_bps: 6e6,
            loss_rate_bps: 0.8e6,
            acks: 5.0,
            window_bytes: 10_000.0,
            packet_bytes: 1000.0,
            duration_s: 0.02,
            base_rtt_s: 0.1,
            smoothed_rtt_s: 0.25,
            ..Interval::default()
        };
        assert_eq!(seen(&stacked, &[fast, slow]), [0.5, 0.75, 0.5, 0.5, 0.02, 0.4, 0.5]);
    }

    #[test]
    fn fields_are_those_that_are_named() {
        let at = |name| FIELDS.iter().position(|field| field.name == name).unwrap();
        let stacked = Stacked { of: Observation::Fields(vec![at("acks"), at("time_s")]), history: 2 };
        let interval = Interval { acks: 7.0, time_s: 3.0, ..Interval::default() };
        assert_eq!(seen(&stacked, &[interval]), [0.0, 0.0, 7.0, 3.0]);
    }
}
