//! Estimating the round-trip time (RFC 9002 section 5).

use super::config::Config;
use haltere_net::{Span, Time};

/// The estimator of one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rtt {
    latest: Span,
    smoothed: Option<Span>,
    variation: Span,
    min: Option<Span>,
    first_sample_at: Option<Time>,
    granularity: Span,
    initial: Span,
    /// `kTimeThreshold` in eighths, and `kPersistentCongestionThreshold`; 0 for never.
    loss_eighths: u64,
    persistent: u64,
    /// The probe timeout: asked for with every packet, and changed by samples alone.
    pto: Span,
}

impl Rtt {
    pub fn new(config: &Config) -> Rtt {
        Rtt {
            latest: Span::ZERO,
            smoothed: None,
            variation: Span::ZERO,
            min: None,
            first_sample_at: None,
            granularity: config.granularity,
            initial: config.initial_rtt,
            loss_eighths: config.time_threshold,
            persistent: config.persistent_congestion,
            // Section 6.2.2.
            pto: config.initial_rtt + config.initial_rtt / 2 * 4,
        }
    }

    /// Takes a sample; returns it with the peer's delay taken off as far as that is plausible.
    #[inline]
    pub fn update(&mut self, now: Time, latest: Span, ack_delay: Span) -> Span {
        let adjusted = self.take(now, latest, ack_delay);
        if let Some(smoothed) = self.smoothed {
            self.pto = smoothed + (self.variation * 4).max(self.granularity);
        }
        adjusted
    }

    #[inline]
    fn take(&mut self, now: Time, latest: Span, ack_delay: Span) -> Span {
        self.latest = latest;
        let (Some(smoothed), Some(min)) = (self.smoothed, self.min) else {
            self.min = Some(latest);
            self.smoothed = Some(latest);
            self.variation = latest / 2;
            self.first_sample_at = Some(now);
            return latest;
        };
        // Section 5.2: the minimum ignores what the peer says of its delay.
        let min = min.min(latest);
        self.min = Some(min);
        // Section 5.3: the delay is not taken off below the minimum.
        let adjusted = if latest >= min + ack_delay { latest - ack_delay } else { latest };
        let deviation = smoothed.max(adjusted) - smoothed.min(adjusted);
        self.variation = (self.variation * 3 + deviation) / 4;
        self.smoothed = Some((smoothed * 7 + adjusted) / 8);
        adjusted
    }

    pub fn smoothed(&self) -> Option<Span> {
        self.smoothed
    }
    /// The smoothed RTT; before there is a sample, the one that is supposed.
    pub fn smoothed_or_supposed(&self) -> Span {
        self.smoothed.unwrap_or(self.initial)
    }
    pub fn min(&self) -> Option<Span> {
        self.min
    }
    pub fn variation(&self) -> Span {
        self.variation
    }
    pub fn first_sample_at(&self) -> Option<Time> {
        self.first_sample_at
    }

    /// Before there is a sample, the time that PATH_RESPONSE took stands for the initial RTT (section 6.2.2).
    pub fn suppose(&mut self, round_trip: Option<Span>) {
        if let (None, Some(initial)) = (self.smoothed, round_trip) {
            self.initial = initial;
            self.pto = initial + (initial / 2 * 4).max(self.granularity);
        }
    }

    /// The probe timeout without the peer's delay (section 6.2.1; section 6.2.2 before there is a sample).
    #[inline]
    pub fn pto(&self) -> Span {
        self.pto
    }

    /// How long after a later packet's acknowledgement one is taken for lost (section 6.1.2: 9/8 of the RTT); `Span::MAX` if
    /// it never is.
    #[inline]
    pub fn loss_delay(&self) -> Span {
        if self.loss_eighths == 0 {
            return Span::MAX;
        }
        self.latest.max(self.smoothed.unwrap_or(self.initial)).scaled(self.loss_eighths, 8).max(self.granularity)
    }

    /// The duration that makes losses persistent congestion (section 7.6.1, `kPersistentCongestionThreshold` 3).
    pub fn persistent_congestion(&self, max_ack_delay: Span) -> Span {
        if self.persistent == 0 { Span::MAX } else { (self.pto() + max_ack_delay) * self.persistent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn fresh() -> Rtt {
        let dice = haltere_net::rng::Streams::new(1, 0).named("rtt");
        Rtt::new(&Config::new(crate::Role::Client, crate::cc::NEWRENO, dice))
    }

    #[test]
    fn samples_move_the_estimate_as_section_5_3_says() {
        let mut rtt = fresh();
        assert_eq!(rtt.pto(), MS(333) + MS(333) * 2);
        rtt.update(Time::ZERO, MS(100), MS(20));
        assert_eq!((rtt.smoothed(), rtt.min(), rtt.variation), (Some(MS(100)), Some(MS(100)), MS(50)));
        // 200 ms of which the peer held back 40: rttvar = 3/4 x 50 + 1/4 x 60, srtt = 7/8 x 100 + 1/8 x 160.
        assert_eq!(rtt.update(Time::ZERO, MS(200), MS(40)), MS(160));
        assert_eq!((rtt.smoothed(), rtt.variation), (Some(Span::from_micros(107_500)), Span::from_micros(52_500)));
        assert_eq!(rtt.pto(), Span::from_micros(317_500));
        // A delay that would bring the sample below the minimum is not believed.
        assert_eq!(rtt.update(Time::ZERO, MS(110), MS(20)), MS(110));
        assert_eq!(rtt.min(), Some(MS(100)));
        assert_eq!(rtt.loss_delay(), rtt.smoothed().unwrap().max(MS(110)).scaled(9, 8));
    }

    #[test]
    fn a_steady_path_has_the_granularity_as_its_margin() {
        let mut rtt = fresh();
        for _ in 0..100 {
            rtt.update(Time::ZERO, MS(10), Span::ZERO);
        }
        assert_eq!(rtt.pto(), MS(11));
        assert_eq!(rtt.loss_delay(), Span::from_micros(11_250));
    }
}
