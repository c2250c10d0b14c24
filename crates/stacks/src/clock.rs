//! Virtual time as the stacks read it.
//!
//! The stacks take the time as [`Instant`], a type that only the system's clock can make. One is asked for when an
//! endpoint is made; from then on every instant is that base plus virtual time. Only differences of instants reach a
//! stack's decisions, so that the base leaves no trace in a run.

use haltere_net::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Ahead of the system's clock, so that a stack may subtract from an early instant on a machine that has just started.
const AHEAD: Duration = Duration::from_secs(24 * 3600);

/// Translates between virtual time and instants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "there is no other way to an Instant; the base is never looked at")]
    pub fn new() -> Clock {
        Clock { base: Instant::now() + AHEAD }
    }

    /// The clock whose run begins at `base`.
    pub fn from_base(base: Instant) -> Clock {
        Clock { base }
    }

    /// The instant at `time` of the run.
    #[inline]
    pub fn instant(&self, time: Time) -> Instant {
        self.base + Duration::from_nanos(time.as_nanos())
    }

    /// The time of the run at `instant`; what lies beyond counting is never.
    #[inline]
    pub fn time(&self, instant: Instant) -> Time {
        let ns = instant.saturating_duration_since(self.base).as_nanos();
        u64::try_from(ns).map_or(Time::NEVER, Time::from_nanos)
    }
}

/// 2026-01-01, by which the laboratory's certificates are valid: what the calendar says at the start of every run.
const CALENDAR: Duration = Duration::from_secs(1_767_225_600);

/// The calendar's time for TLS and for address tokens: a fixed date plus virtual time.
#[derive(Clone, Default, Debug)]
pub(crate) struct Calendar(Arc<AtomicU64>);

impl Calendar {
    /// It is `time` of the run now.
    #[inline]
    pub fn set(&self, time: Time) {
        self.0.store(time.as_nanos(), Relaxed);
    }

    /// Time since 1970.
    pub fn since_epoch(&self) -> Duration {
        CALENDAR + Duration::from_nanos(self.0.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_went() {
        let clock = Clock::new();
        for ns in [0, 1, 1_000_000_007, 1 << 60] {
            let time = Time::from_nanos(ns);
            assert_eq!(clock.time(clock.instant(time)), time);
        }
    }
}
