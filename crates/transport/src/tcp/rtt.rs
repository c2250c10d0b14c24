//! RTT estimation and the retransmission timeout (RFC 6298), in Linux's form by default.

use super::config::RtoRule;
use crate::recovery::WindowedMin;
use haltere_net::wide::saturating_product;
use haltere_net::{Span, Time};

/// The timeout before there is a sample, the timeout after a handshake that gave none (RFC 6298 section 5.7), and the
/// largest timeout.
const RTO_INITIAL: Span = Span::from_secs(1);
const RTO_FALLBACK: Span = Span::from_secs(3);
const RTO_MAX: Span = Span::from_secs(120);
/// How long Linux keeps the minimum RTT.
const MIN_RTT_WINDOW: Span = Span::from_secs(300);

/// The estimator of one path.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    rule: RtoRule,
    /// Smoothed RTT, in eighths of a unit.
    srtt8: u64,
    /// Mean deviation, in quarters of a unit.
    mdev4: u64,
    /// The largest deviation in the present RTT.
    mdev_max: u64,
    /// The variance term of the timeout, in units.
    rttvar: u64,
    /// The round of `mdev_max` ends when this position is acknowledged.
    round_end: u64,
    min: WindowedMin,
    /// The unit in which all is computed, ns.
    unit: u32,
    backoff: u32,
    initial: Span,
}

impl Rtt {
    /// An estimator that computes in whole units of so many nanoseconds.
    pub(super) fn new(rule: RtoRule, unit: u32) -> Rtt {
        let min = WindowedMin::default();
        let initial = RTO_INITIAL;
        Rtt {
            rule,
            unit: unit.max(1),
            srtt8: 0,
            mdev4: 0,
            mdev_max: 0,
            rttvar: 0,
            round_end: 0,
            min,
            backoff: 0,
            initial,
        }
    }

    /// Processes a sample. `acked_to` and `sent_to` separate rounds.
    pub(super) fn sample(&mut self, rtt: Span, acked_to: u64, sent_to: u64) {
        let unit = u64::from(self.unit);
        let m = (rtt.as_nanos() / unit).max(1);
        match self.rule {
            RtoRule::Linux { floor } => self.sample_linux(m, floor.as_nanos() / unit, acked_to, sent_to),
            RtoRule::Rfc6298 { .. } => self.sample_rfc(m),
        }
        self.backoff = 0;
    }

    /// RFC 6298 section 2.
    fn sample_rfc(&mut self, m: u64) {
        if self.srtt8 == 0 {
            self.srtt8 = 8 * m;
            self.mdev4 = 2 * m;
        } else {
            self.mdev4 = self.mdev4 - self.mdev4 / 4 + (self.srtt8 / 8).abs_diff(m);
            self.srtt8 = self.srtt8 - self.srtt8 / 8 + m;
        }
        self.rttvar = self.mdev4;
    }

    /// Linux's rule: the variance term is the largest deviation of the last rounds. It rises at once and falls by a
    /// quarter per round. If the RTT falls, the deviation changes with an eighth of the usual gain.
    fn sample_linux(&mut self, m: u64, floor: u64, acked_to: u64, sent_to: u64) {
        if self.srtt8 == 0 {
            self.srtt8 = 8 * m;
            self.mdev4 = 2 * m;
            self.rttvar = self.mdev4.max(floor);
            self.mdev_max = self.rttvar;
            self.round_end = sent_to;
            return;
        }
        let error = m as i64 - (self.srtt8 / 8) as i64;
        self.srtt8 = self.srtt8.saturating_add_signed(error).max(1);
        let mut step = error.abs() - (self.mdev4 / 4) as i64;
        if error < 0 && step > 0 {
            step /= 8;
        }
        self.mdev4 = self.mdev4.saturating_add_signed(step);
        if self.mdev4 > self.mdev_max {
            self.mdev_max = self.mdev4;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if acked_to > self.round_end {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) / 4;
            }
            self.round_end = sent_to;
            self.mdev_max = floor;
        }
    }

    /// The handshake was retransmitted, so it gave no sample.
    pub(super) fn fall_back(&mut self) {
        self.initial = RTO_FALLBACK;
    }

    /// Processes a sample for the minimum RTT.
    pub(super) fn sample_min(&mut self, now: Time, rtt: Span) {
        self.min.update(MIN_RTT_WINDOW.as_nanos(), now.as_nanos(), rtt.as_nanos().max(1));
    }

    fn span(&self, units: u64) -> Span {
        Span::from_nanos(saturating_product(units, u64::from(self.unit)))
    }

    pub(super) fn srtt(&self) -> Option<Span> {
        (self.srtt8 > 0).then(|| self.span(self.srtt8 / 8))
    }

    /// The smoothed RTT with its fraction of a unit (Linux: `srtt_us`, in eighths of a microsecond).
    pub(super) fn srtt_exactly(&self) -> Option<Span> {
        (self.srtt8 > 0).then(|| Span::from_nanos(saturating_product(self.srtt8, u64::from(self.unit)) / 8))
    }

    /// The mean deviation.
    pub(super) fn variation(&self) -> Span {
        self.span(self.mdev4 / 4)
    }

    pub(super) fn min(&self) -> Option<Span> {
        self.min.get().map(Span::from_nanos)
    }

    /// The retransmission timeout with its backoff, in whole ticks (Linux: `icsk_rto`).
    pub(super) fn rto(&self, tick: Span) -> Span {
        let base = match (self.srtt8, self.rule) {
            (0, _) => self.initial,
            (s, RtoRule::Linux { .. }) => self.span(s / 8 + self.rttvar),
            (s, RtoRule::Rfc6298 { least }) => self.span(s / 8 + self.rttvar).max(least),
        };
        let base = match tick.as_nanos() {
            0 => base,
            tick => Span::from_nanos(saturating_product(base.as_nanos().div_ceil(tick), tick)),
        };
        (base.min(RTO_MAX) * (1 << self.backoff.min(20))).min(RTO_MAX)
    }

    /// The lower bound of the timeout's variance term, which also covers the peer's delayed ACK.
    pub(super) fn floor(&self) -> Span {
        match self.rule {
            RtoRule::Linux { floor } => floor,
            RtoRule::Rfc6298 { .. } => Span::from_millis(200),
        }
    }

    pub(super) fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(x: f64) -> Span {
        Span::from_secs_f64(x / 1000.0)
    }

    #[test]
    fn rfc_6298_gives_its_vector() {
        let mut rtt = Rtt::new(RtoRule::RFC_6298, 1);
        let mut seen = Vec::new();
        for sample in [100.0, 200.0, 100.0] {
            rtt.sample(ms(sample), 0, 0);
            seen.push((rtt.srtt8 as f64 / 8e6, rtt.mdev4 as f64 / 4e6));
        }
        let expected = [(100.0, 50.0), (112.5, 62.5), (110.9375, 50.0)];
        for (got, want) in seen.iter().zip(expected) {
            assert!((got.0 - want.0).abs() < 1e-3 && (got.1 - want.1).abs() < 1e-3, "{got:?} {want:?}");
        }
        assert_eq!(rtt.rto(Span::ZERO), Span::from_secs(1));
    }

    #[test]
    fn in_microseconds_all_parts_are_whole() {
        let mut rtt = Rtt::new(RtoRule::LINUX, 1_000);
        for nanos in [1_000_999, 1_003_999] {
            rtt.sample(Span::from_nanos(nanos), 0, 0);
        }
        // 8 * 1000 and 3 more in eighths of a microsecond (`tcp_rtt_estimator`); an eighth of a nanosecond would be 1_000_375.
        assert_eq!((rtt.srtt8, rtt.srtt()), (8_003, Some(Span::from_micros(1_000))));
        assert_eq!(rtt.srtt_exactly(), Some(Span::from_nanos(1_000_375)));
        // 2 * 1000 and 3 - 500 quarters.
        assert_eq!(rtt.variation(), Span::from_micros(375));
        assert_eq!(rtt.rto(Span::ZERO), Span::from_micros(201_000));
    }

    #[test]
    fn linux_keeps_its_floor_and_backs_off_by_doubling() {
        let mut rtt = Rtt::new(RtoRule::Linux { floor: ms(200.0) }, 1);
        assert_eq!(rtt.rto(ms(4.0)), Span::from_secs(1));
        for i in 0..100 {
            rtt.sample(ms(50.0), i, i);
        }
        // 250 ms are 62.5 ticks.
        assert_eq!(rtt.rto(ms(4.0)), ms(252.0));
        rtt.back_off();
        rtt.back_off();
        assert_eq!(rtt.rto(ms(4.0)), ms(1008.0));
        rtt.sample(ms(50.0), 200, 200);
        assert_eq!(rtt.rto(ms(4.0)), ms(252.0));
    }
}
