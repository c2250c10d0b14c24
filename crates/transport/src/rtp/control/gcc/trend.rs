//! Whether the one-way delay grows (libwebrtc: inter_arrival_delta.cc, trendline_estimator.cc; draft-ietf-rmcat-gcc-02 sections 5.2
//! and 5.4).

use super::Usage;
use haltere_net::{Span, Time};
use std::collections::VecDeque;

/// Packets that were sent within this time are a group (section 5.2, `burst_time`), and so are those that arrive in a burst, for as
/// long as this (`kMaxBurstDuration`).
const GROUP: Span = Span::from_millis(5);
const BURST: Span = Span::from_millis(100);
/// Groups over which the trend is taken, the weight of the old smoothed delay, and the gain of the trend (`kDefaultTrendlineWindowSize`,
/// `kDefaultTrendlineSmoothingCoeff`, `kDefaultTrendlineThresholdGain`).
const GROUPS: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
/// The trend counts for so many groups at most (`kMinNumDeltas`).
const MOST: u32 = 60;
/// The threshold at first and its range, ms; how fast it follows a larger and a smaller trend, in a millisecond; and how far beyond it
/// trends are outliers (`k_up_`, `k_down_`, `kMaxAdaptOffsetMs`).
const THRESHOLD: f64 = 12.5;
const RANGE: (f64, f64) = (6.0, 600.0);
const UP: f64 = 0.0087;
const DOWN: f64 = 0.039;
const OUTLIER: f64 = 15.0;
/// A trend is over-use after so long, ms (section 5.4, `overuse_time_th`).
const LASTS: f64 = 10.0;

/// A group of packets.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// When its first and its last packet was sent.
    first_sent: Time,
    sent: Time,
    /// When its first and its last packet arrived.
    first_arrived: Time,
    arrived: Time,
}

/// The detector.
#[derive(Debug)]
pub(super) struct Trend {
    group: Option<Group>,
    before: Option<Group>,
    groups: u32,
    /// The sum of the changes of delay, smoothed and not, ms.
    sum: f64,
    smoothed: f64,
    /// The last groups: when each arrived, ms after the first one, and the smoothed sum.
    history: VecDeque<(f64, f64)>,
    begun: Time,
    slope: f64,
    threshold: f64,
    adapted: Option<Time>,
    /// For how long the trend is over the threshold, ms, and for how many groups.
    over: Option<f64>,
    over_groups: u32,
    last_slope: f64,
    usage: Usage,
}

impl Default for Trend {
    fn default() -> Trend {
        Trend {
            group: None,
            before: None,
            groups: 0,
            sum: 0.0,
            smoothed: 0.0,
            history: VecDeque::new(),
            begun: Time::ZERO,
            slope: 0.0,
            threshold: THRESHOLD,
            adapted: None,
            over: None,
            over_groups: 0,
            last_slope: 0.0,
            usage: Usage::Normal,
        }
    }
}

/// The time from one to another, which may be the earlier one, ms.
fn between(from: Time, to: Time) -> f64 {
    (to.as_nanos() as f64 - from.as_nanos() as f64) / 1e6
}

impl Group {
    fn of(sent: Time, arrived: Time) -> Group {
        Group { first_sent: sent, sent, first_arrived: arrived, arrived }
    }

    /// Whether a packet belongs to it.
    fn has(&self, sent: Time, arrived: Time) -> bool {
        let (apart, later) = (between(self.sent, sent), between(self.arrived, arrived));
        let in_burst = later - apart < 0.0 && later <= 5.0 && arrived.since(self.first_arrived) < BURST;
        in_burst || sent.since(self.first_sent) <= GROUP
    }
}

impl Trend {
    /// The last finding.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// A packet arrived; returns what is found if it ends a group.
    pub fn on_packet(&mut self, sent: Time, arrived: Time) -> Option<Usage> {
        let Some(group) = &mut self.group else {
            (self.group, self.begun) = (Some(Group::of(sent, arrived)), arrived);
            return None;
        };
        if sent < group.first_sent {
            return None;
        }
        if group.has(sent, arrived) {
            (group.sent, group.arrived) = (group.sent.max(sent), arrived);
            return None;
        }
        let ended = *group;
        self.group = Some(Group::of(sent, arrived));
        let before = self.before.replace(ended)?;
        let apart = between(before.sent, ended.sent);
        let change = between(before.arrived, ended.arrived) - apart;
        self.on_change(change, apart, ended.arrived);
        Some(self.usage)
    }

    /// A group's delay changed by `change`, ms, from that of a group that was sent `apart` earlier.
    fn on_change(&mut self, change: f64, apart: f64, arrived: Time) {
        self.groups += 1;
        self.sum += change;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.sum;
        self.history.push_back((between(self.begun, arrived), self.smoothed));
        if self.history.len() > GROUPS {
            self.history.pop_front();
        }
        if self.history.len() == GROUPS {
            self.slope = slope(&self.history).unwrap_or(self.slope);
        }
        self.detect(apart, arrived);
    }

    fn detect(&mut self, apart: f64, now: Time) {
        if self.groups < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let trend = f64::from(self.groups.min(MOST)) * self.slope * GAIN;
        if trend > self.threshold {
            let over = self.over.map_or(apart / 2.0, |over| over + apart);
            self.over = Some(over);
            self.over_groups += 1;
            if over > LASTS && self.over_groups > 1 && self.slope >= self.last_slope {
                (self.over, self.over_groups, self.usage) = (Some(0.0), 0, Usage::Over);
            }
        } else {
            (self.over, self.over_groups) = (None, 0);
            self.usage = if trend < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.last_slope = self.slope;
        self.adapt(trend, now);
    }

    fn adapt(&mut self, trend: f64, now: Time) {
        let since = between(self.adapted.unwrap_or(now), now).clamp(0.0, 100.0);
        self.adapted = Some(now);
        let size = trend.abs();
        if size > self.threshold + OUTLIER {
            return;
        }
        let gain = if size < self.threshold { DOWN } else { UP };
        self.threshold = (self.threshold + gain * (size - self.threshold) * since).clamp(RANGE.0, RANGE.1);
    }
}

/// The slope of the line of least squares; `None` if the points stand above each other.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let with: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let alone: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    (alone > 0.0).then(|| with / alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings of packets every 10 ms whose delay changes by so many microseconds from one to the next.
    fn found(steps: i64, packets: u64) -> Vec<Usage> {
        let mut trend = Trend::default();
        let delay = |k: u64| (50_000_000 + 1000 * steps * k as i64).max(0) as u64;
        let sent = |k: u64| Time::from_nanos(10_000_000 * k);
        (0..packets).filter_map(|k| trend.on_packet(sent(k), sent(k) + Span::from_nanos(delay(k)))).collect()
    }

    #[test]
    fn a_steady_delay_is_normal_and_one_that_grows_is_over_use() {
        assert!(found(0, 200).iter().all(|usage| *usage == Usage::Normal));
        // The delay grows by a tenth of the time: a tenth more is sent than the path carries.
        assert!(found(1000, 100).contains(&Usage::Over));
    }

    #[test]
    fn a_delay_that_shrinks_is_under_use() {
        let found = found(-400, 100);
        assert!(found.contains(&Usage::Under) && !found.contains(&Usage::Over), "{found:?}");
    }

    #[test]
    fn packets_of_five_milliseconds_are_one_group() {
        let mut trend = Trend::default();
        let at = |us: u64| Time::from_nanos(1000 * us);
        for packet in 0..10 {
            assert_eq!(trend.on_packet(at(100 * packet), at(50_000 + 500 * packet)), None);
        }
        assert_eq!(trend.groups, 0);
    }
}
