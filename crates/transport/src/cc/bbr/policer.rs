//! The long-term bandwidth sampler, which finds token-bucket policers (`tcp_bbr.c`: `lt_bw`).
//!
//! A policer lets a burst through and then drops what exceeds its rate, so the maximum filter keeps the rate of the
//! burst. Two successive intervals with a fifth of the packets lost and nearly the same delivery rate are attributed to
//! a policer. Their mean then replaces the filter for some rounds. Policers: T. Flach et al., "An Internet-Wide
//! Analysis of Traffic Policing", SIGCOMM 2016.

use super::bandwidth::{Bandwidth, UNIT};

/// The smallest number of rounds in an interval (`bbr_lt_intvl_min_rtts`). The largest is four times that.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;
/// The ratio of lost to delivered data from which an interval counts as lossy, in 1/256 (`bbr_lt_loss_thresh`).
const LOSS_THRESHOLD: u64 = 50;
/// Two intervals agree if they differ by at most this share of the earlier one (`bbr_lt_bw_ratio`) …
const AGREEMENT: u64 = UNIT / 8;
/// … or by at most 4 kbit/s, here in bytes a second (`bbr_lt_bw_diff`).
const AGREEMENT_BYTES: u64 = 4000 / 8;
/// The number of rounds after which the search for a policer restarts (`bbr_lt_bw_max_rtts`).
const USE_ROUNDS: u32 = 48;

/// The connection's counts when its delivered count last changed.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Totals {
    /// Bytes delivered.
    pub delivered: u64,
    /// Bytes lost.
    pub lost: u64,
    /// The time, ms.
    pub millis: u64,
}

/// The input from one ACK or timeout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// The counts after it.
    pub totals: Totals,
    /// Whether it found losses.
    pub losses: bool,
    /// Whether the sender was application-limited.
    pub app_limited: bool,
    /// Whether it begins a round.
    pub round_start: bool,
    /// Whether BBR cycles its gains.
    pub probing_bandwidth: bool,
    /// Segment size.
    pub mss: u64,
}

/// The consequence for the rest of BBR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Finding {
    /// No change.
    Nothing,
    /// The path is policed: gains become 1.
    Policed,
    /// The rate was used for long enough: gain cycling restarts.
    Expired,
}

/// The sampler.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LongTerm {
    bandwidth: Bandwidth,
    in_use: bool,
    sampling: bool,
    rounds: u32,
    start: Totals,
}

impl LongTerm {
    /// The policed rate, while it is used.
    pub(super) fn bandwidth(&self) -> Option<Bandwidth> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Resets the sampler.
    pub(super) fn reset(&mut self, totals: Totals) {
        *self = LongTerm { start: totals, ..LongTerm::default() };
    }

    fn begin_interval(&mut self, totals: Totals) {
        self.start = totals;
        self.rounds = 0;
    }

    /// Processes an ACK or a timeout.
    pub(super) fn observe(&mut self, seen: &Observation) -> Finding {
        if self.in_use {
            return self.use_up(seen);
        }
        if !self.sampling {
            // Data before the first loss is the bucket's burst and would give too high a rate.
            if !seen.losses {
                return Finding::Nothing;
            }
            self.begin_interval(seen.totals);
            self.sampling = true;
        }
        if seen.app_limited {
            self.reset(seen.totals);
            return Finding::Nothing;
        }
        self.rounds += u32::from(seen.round_start);
        if self.rounds < MIN_ROUNDS {
            return Finding::Nothing;
        }
        if self.rounds > MAX_ROUNDS {
            self.reset(seen.totals);
            return Finding::Nothing;
        }
        // An interval ends with a loss, when the bucket is empty. An earlier end would give too low a rate.
        if !seen.losses {
            return Finding::Nothing;
        }
        match self.lossy_rate(seen) {
            Some(bandwidth) => self.end_interval(bandwidth, seen),
            None => Finding::Nothing,
        }
    }

    fn use_up(&mut self, seen: &Observation) -> Finding {
        if !seen.probing_bandwidth || !seen.round_start {
            return Finding::Nothing;
        }
        self.rounds += 1;
        if self.rounds < USE_ROUNDS {
            return Finding::Nothing;
        }
        self.reset(seen.totals);
        Finding::Expired
    }

    /// The interval's delivery rate, if it was lossy and lasted a millisecond.
    fn lossy_rate(&self, seen: &Observation) -> Option<Bandwidth> {
        let lost = seen.totals.lost.saturating_sub(self.start.lost);
        let delivered = seen.totals.delivered.saturating_sub(self.start.delivered);
        if delivered == 0 || lost.saturating_mul(UNIT) < LOSS_THRESHOLD.saturating_mul(delivered) {
            return None;
        }
        let millis = seen.totals.millis.saturating_sub(self.start.millis);
        Bandwidth::of(delivered, seen.mss, millis * 1000)
    }

    fn end_interval(&mut self, bandwidth: Bandwidth, seen: &Observation) -> Finding {
        let before = self.bandwidth;
        let difference = bandwidth.0.abs_diff(before.0);
        let agree = difference.saturating_mul(UNIT) <= AGREEMENT.saturating_mul(before.0)
            || Bandwidth(difference).paced(seen.mss, UNIT) <= AGREEMENT_BYTES;
        if before.0 > 0 && agree {
            self.bandwidth = Bandwidth((bandwidth.0 + before.0) / 2);
            self.in_use = true;
            self.rounds = 0;
            return Finding::Policed;
        }
        self.bandwidth = bandwidth;
        self.begin_interval(seen.totals);
        Finding::Nothing
    }

    /// The segment size changed.
    pub(super) fn resize(&mut self, from: u64, to: u64) {
        self.bandwidth = self.bandwidth.resized(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rounds of 100 ms in which `delivered` segments arrive and `lost` are lost. Returns the result.
    fn rounds(sampler: &mut LongTerm, totals: &mut Totals, n: u32, delivered: u64, lost: u64) -> Finding {
        let mut finding = Finding::Nothing;
        for _ in 0..n {
            totals.delivered += delivered * 1000;
            totals.lost += lost * 1000;
            totals.millis += 100;
            let seen = sampler.observe(&Observation {
                totals: *totals,
                losses: lost > 0,
                app_limited: false,
                round_start: true,
                probing_bandwidth: true,
                mss: 1000,
            });
            if seen != Finding::Nothing {
                finding = seen;
            }
        }
        finding
    }

    /// A sampler whose first loss has just begun an interval.
    fn sampling() -> (LongTerm, Totals) {
        let (mut sampler, mut totals) = (LongTerm::default(), Totals::default());
        rounds(&mut sampler, &mut totals, 1, 100, 1);
        (sampler, totals)
    }

    #[test]
    fn two_lossy_intervals_that_agree_tell_of_a_policer() {
        let (mut sampler, mut totals) = sampling();
        assert_eq!(rounds(&mut sampler, &mut totals, 3, 100, 30), Finding::Nothing);
        assert_eq!(rounds(&mut sampler, &mut totals, 3, 110, 30), Finding::Nothing);
        assert_eq!(sampler.bandwidth(), None);
        assert_eq!(rounds(&mut sampler, &mut totals, 1, 110, 30), Finding::Policed);
        // 100 and 110 segments in 100 ms.
        let mean = sampler.bandwidth().map_or(0, |b| b.segments_in(2_000_000));
        assert!((2099..=2100).contains(&mean), "{mean}");
        assert_eq!(rounds(&mut sampler, &mut totals, 47, 105, 0), Finding::Nothing);
        assert_eq!(rounds(&mut sampler, &mut totals, 1, 105, 0), Finding::Expired);
        assert_eq!(sampler.bandwidth(), None);
    }

    #[test]
    fn few_losses_or_rates_that_differ_do_not() {
        // 19 % is below 50/256.
        let (mut sampler, mut totals) = sampling();
        assert_eq!(rounds(&mut sampler, &mut totals, 60, 100, 19), Finding::Nothing);
        // Rates that fall by a fifth from interval to interval.
        let (mut sampler, mut totals) = sampling();
        for delivered in [1000, 800, 640, 512, 410] {
            assert_eq!(rounds(&mut sampler, &mut totals, 4, delivered, delivered / 2), Finding::Nothing);
        }
    }
}
