//! The host's clocks: timers that are set in whole ticks and expire at the edges of a timer wheel, and the timestamp
//! clock.

use haltere_net::wide::saturating_product;
use haltere_net::{Span, Time};

/// The time that a host with a ticking clock adds to probe and reordering timers (Linux: `TCP_TIMEOUT_MIN_US`).
const TIMEOUT_MIN: Span = Span::from_millis(2);

/// Clock ticks of the host: timers are set in whole ticks and expire at the edges of its timer wheel.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    tick: Span,
    phase: u64,
}

impl Ticks {
    /// `phase` is the position of the run's start within the host's tick count.
    pub(super) fn new(tick: Span, phase: u64) -> Ticks {
        Ticks { tick, phase }
    }

    /// The unit of timeouts; zero on an exact clock.
    pub(super) fn tick(&self) -> Span {
        self.tick
    }

    /// The time added to timers that should expire late rather than early; zero on an exact clock.
    pub(super) fn slack(&self) -> Span {
        if self.tick.is_zero() { Span::ZERO } else { TIMEOUT_MIN }
    }

    /// When a timer that is set at `now` for `span` expires. It is never early. It is rounded up to the granularity of
    /// the wheel's level, which is 1, 8, 64 … ticks for spans from 0, 63, 504 … ticks (Linux, `kernel/time/timer.c`).
    pub(super) fn deadline(&self, now: Time, span: Span) -> Time {
        self.expiry(now, span, 0)
    }

    /// As [`Ticks::deadline`], of a timer that is set as another has just expired. The wheel has moved on to the next tick then, from which
    /// it seems one nearer (Linux: `__run_timers`).
    pub(super) fn deadline_from_timer(&self, now: Time, span: Span) -> Time {
        self.expiry(now, span, 1)
    }

    /// The wheel has moved on by so many ticks.
    fn expiry(&self, now: Time, span: Span, moved_on: u64) -> Time {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return now + span;
        }
        let host = now.as_nanos().saturating_add(self.phase);
        let ticks = span.as_nanos().div_ceil(tick);
        let away = ticks.saturating_sub(moved_on);
        let mut shift = 0;
        while away >= 63 << shift && shift < 24 {
            shift += 3;
        }
        let expires = (((host / tick + ticks) >> shift) + 1) << shift;
        Time::from_nanos(saturating_product(expires, tick).saturating_sub(self.phase))
    }
}

impl Ticks {
    /// The number of the host's ticks from one time to another, as a span.
    pub(super) fn between(&self, from: Time, to: Time) -> Span {
        self.due(to, Span::ZERO).since(self.due(from, Span::ZERO))
    }

    /// The whole ticks of a span.
    pub(super) fn whole(&self, span: Span) -> Span {
        match self.tick.as_nanos() {
            0 => span,
            tick => Span::from_nanos(span.as_nanos() / tick * tick),
        }
    }

    /// Whether a gap between two times, which is a number of ticks, is longer than a span that is rounded up to ticks.
    pub(super) fn outlasts(&self, gap: Span, span: Span) -> bool {
        gap >= span + self.tick
    }

    /// The time at which a timer that is set at `now` for `span` is due. The wheel may let it expire later.
    pub(super) fn due(&self, now: Time, span: Span) -> Time {
        let tick = self.tick.as_nanos();
        if tick == 0 {
            return now + span;
        }
        let ticks = now.as_nanos().saturating_add(self.phase) / tick + span.as_nanos().div_ceil(tick);
        Time::from_nanos(saturating_product(ticks, tick).saturating_sub(self.phase))
    }

    /// How long it is until a timer is due, by the host's count of ticks.
    pub(super) fn left(&self, now: Time, due: Time) -> Span {
        due.since(self.due(now, Span::ZERO))
    }
}

/// The clock of the timestamp option: milliseconds, starting at 1. It is never 0, which means that there is none. It
/// wraps after 49.7 days.
pub(super) fn timestamp(now: Time) -> u32 {
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1).max(1)
}

/// The whole microseconds of a time.
pub(super) fn whole_micros(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() / 1000 * 1000)
}

/// Whether one timestamp is older than another (RFC 7323 section 5.2, in arithmetic that wraps).
pub(super) fn is_older(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_fire_at_the_edges_of_the_wheel_and_never_early() {
        let span = |ms| Span::from_millis(ms);
        let ticks = Ticks::new(Span::from_millis(4), 0);
        let at = |ms: u64, span: u64| ticks.deadline(Time::ZERO + Span::from_millis(ms), Span::from_millis(span));
        assert_eq!(at(0, 40), Time::ZERO + Span::from_millis(44));
        assert_eq!(at(3, 40), Time::ZERO + Span::from_millis(44));
        // 1 s is 250 ticks. It belongs to the second level, whose granularity is 8 ticks.
        assert_eq!(at(0, 1000), Time::ZERO + Span::from_millis(1024));
        for (now, span) in [(1, 1), (7, 251), (13, 252), (100, 2016), (5, 60_000)] {
            assert!(at(now, span) >= Time::ZERO + Span::from_millis(now + span));
        }
        // 252 ms are 63 ticks, and within the tick of another timer one less.
        let set = |now| (ticks.deadline(now, span(252)), ticks.deadline_from_timer(now, span(252)));
        assert_eq!(set(Time::ZERO + span(9)), (Time::ZERO + span(288), Time::ZERO + span(264)));
        let between = |from: u64, to: u64| ticks.between(Time::ZERO + span(from), Time::ZERO + span(to));
        assert_eq!((between(3, 23), between(4, 24), between(5, 7)), (span(20), span(20), Span::ZERO));
        assert_eq!((ticks.whole(span(31)), ticks.whole(span(3))), (span(28), Span::ZERO));
        assert_eq!(Ticks::new(Span::ZERO, 0).deadline(Time::ZERO, Span::from_millis(3)).as_nanos(), 3_000_000);
    }
}
