//! The clock that a host stamps its packets with, and paces them by.
//!
//! Linux takes the times of packets in whole microseconds (`tcp_mstamp_refresh`, `tcp_skb_timestamp_us`): RTTs and
//! delivery rates are computed from these. A user-mode Linux, as the kernels that are nodes of the simulator are, has a
//! clock that moves in steps of 256 ns (`arch/um/kernel/time.c`: `timer_read`), by which it is decided whether a timer is
//! due.

use super::config::Config;
use haltere_net::{Span, Time};

/// The shortest time for which a user-mode Linux sets its timer, ns (`TIMER_MIN_DELTA`), and the time that it adds
/// (`itimer_next_event`).
const TIMER_MIN: u64 = 500;
const TIMER_LATE: u64 = 1;

/// A host's clock. Most are exact, and each connection has some.
#[derive(Clone, Debug)]
pub(super) struct Clock(Option<Box<Coarse>>);

impl Clock {
    pub(super) fn new(config: &Config) -> Clock {
        let whole = |span: Span| span.as_nanos().max(1);
        let (unit, step) = (whole(config.clock_unit), whole(config.clock_step));
        let coarse = Coarse {
            unit,
            step,
            tick: config.tick.as_nanos(),
            phase: config.phase.as_nanos(),
            set: 0,
            timer: Time::ZERO,
            writes_until: Time::ZERO,
        };
        Clock((unit > 1 || step > 1).then(|| Box::new(coarse)))
    }

    /// The unit of packets' times, ns.
    pub(super) fn unit(&self) -> u32 {
        self.0.as_ref().map_or(1, |coarse| u32::try_from(coarse.unit).unwrap_or(u32::MAX))
    }

    /// The time that the clock shows (Linux: `tcp_clock_cache`).
    #[inline]
    pub(super) fn read(&self, now: Time) -> Time {
        self.0.as_ref().map_or(now, |coarse| coarse.read(now))
    }

    /// The time that a packet which is sent or arrives now is stamped with (Linux: `tcp_mstamp`).
    #[inline]
    pub(super) fn stamp(&self, now: Time) -> Time {
        self.0.as_ref().map_or(now, |coarse| coarse.stamp(now))
    }

    /// When the pacing timer expires that is set now for `due` on this clock. One that is set already stays (Linux:
    /// `tcp_pacing_check`).
    pub(super) fn pacing_timer(&mut self, now: Time, due: Time) -> Time {
        match self.0.as_mut().filter(|coarse| coarse.step > 1) {
            None => due,
            Some(coarse) => {
                if coarse.timer <= now {
                    coarse.timer = coarse.expiry(now, due);
                }
                coarse.timer
            }
        }
    }

    /// A process begins to write, for which it reads the clock so often.
    pub(super) fn begin_to_write(&mut self, number: u32, now: Time) {
        let until = self.after_readings(number, now).unwrap_or(now);
        if let Some(coarse) = self.0.as_mut() {
            coarse.writes_until = until;
        }
    }

    /// When what is written now is on its way: not before the process has read the clock.
    #[inline]
    pub(super) fn written(&self, now: Time) -> Time {
        self.0.as_ref().map_or(now, |coarse| now.max(coarse.writes_until))
    }

    /// When a process has read the clock so often, if that takes time: in a user-mode Linux each reading by a process moves the
    /// clock by a step (`timer_read`).
    pub(super) fn after_readings(&self, number: u32, now: Time) -> Option<Time> {
        let step = self.0.as_ref().map(|coarse| coarse.step).filter(|step| *step > 1)?;
        Some(now + Span::from_nanos(step) * u64::from(number))
    }
}

/// A clock that is not exact.
#[derive(Clone, Debug)]
struct Coarse {
    /// The unit of packets' times, and the step of the clock, ns; 1 if they are exact.
    unit: u64,
    step: u64,
    /// The host's tick, and the clock's time at the start of the run, ns, as far as ticks, steps and units go.
    tick: u64,
    phase: u64,
    /// When the timer was set last, by the clock but exactly.
    set: u64,
    /// When the pacing timer expires.
    timer: Time,
    /// Until when the process that writes has read the clock.
    writes_until: Time,
}

fn down(nanos: u64, step: u64) -> u64 {
    nanos - nanos % step
}

impl Coarse {
    fn host(&self, now: Time) -> u64 {
        now.as_nanos().saturating_add(self.phase)
    }

    fn run(&self, host: u64) -> Time {
        Time::from_nanos(host.saturating_sub(self.phase))
    }

    fn read(&self, now: Time) -> Time {
        if self.step == 1 { now } else { self.run(down(self.host(now), self.step)) }
    }

    fn stamp(&self, now: Time) -> Time {
        if self.unit == 1 { now } else { self.run(down(down(self.host(now), self.step), self.unit)) }
    }

    /// A user-mode Linux has one timer, which it sets for the time between what its clock shows and what is due next, its tick
    /// or this. What the clock shows is too early by a part of a step, and so much is the timer late. If the clock does not
    /// show then what was due, the timer is set once more.
    fn expiry(&mut self, now: Time, due: Time) -> Time {
        let (mut at, due) = (self.host(now), self.host(due));
        if let Some(tick) = self.last_tick(at, due) {
            at = tick;
        }
        for _ in 0..3 {
            let left = due.saturating_sub(down(at, self.step)).max(TIMER_MIN);
            at = at.saturating_add(left + TIMER_LATE);
            if down(at, self.step) >= due {
                break;
            }
        }
        self.set = at;
        self.run(at)
    }

    /// When the last tick between two times is served. Each sets the timer for the next, which makes it a little later.
    fn last_tick(&self, now: u64, due: u64) -> Option<u64> {
        let (first, last) = (now.checked_div(self.tick)? + 1, due.saturating_sub(1) / self.tick);
        if last < first {
            return None;
        }
        let ticks = last.saturating_sub(self.set / self.tick);
        Some(last * self.tick + (self.set % self.step + ticks * TIMER_LATE) % self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: u64 = 256;

    fn clock(tick: u64, phase: u64) -> Clock {
        let (timer, writes_until) = (Time::ZERO, Time::ZERO);
        Clock(Some(Box::new(Coarse { unit: 1000, step: STEP, tick, phase, set: 0, timer, writes_until })))
    }

    impl Clock {
        fn expiry(&mut self, now: Time, due: Time) -> Time {
            self.0.as_mut().unwrap().expiry(now, due)
        }
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn an_exact_clock_changes_no_time() {
        let mut clock = Clock(None);
        assert_eq!((clock.read(at(1234)), clock.stamp(at(1234))), (at(1234), at(1234)));
        assert_eq!(clock.pacing_timer(at(1234), at(5_000_777)), at(5_000_777));
        clock.begin_to_write(2, at(1234));
        assert_eq!(clock.written(at(1234)), at(1234));
        assert_eq!(clock.after_readings(2, at(1234)), None);
    }

    #[test]
    fn packets_are_stamped_in_whole_microseconds_of_the_host() {
        let mut clock = clock(0, 3_000_000);
        // The clock is at 3_002_300 and shows 3_002_112, which is 192 + 3_001_920.
        assert_eq!(clock.read(at(2_300)), at(2_112));
        assert_eq!(clock.stamp(at(2_300)), at(2_000));
        assert_eq!(clock.after_readings(2, at(2_300)), Some(at(2_812)));
        clock.0.as_mut().unwrap().step = 1;
        assert_eq!((clock.read(at(2_300)), clock.stamp(at(2_999))), (at(2_300), at(2_000)));
    }

    #[test]
    fn a_timer_is_late_by_what_the_clock_lags() {
        let mut clock = clock(0, 0);
        // It lags by 208 ns.
        let now = at(1000 * STEP + 208);
        // It shows 956_160 when the timer expires.
        assert_eq!(clock.expiry(now, at(956_000)), at(956_000 + 208 + 1));
        // It shows 955_904 then, which is too early, and the timer is set once more for the least time.
        assert_eq!(clock.expiry(now, at(955_914)), at(955_914 + 208 + 1 + 500 + 1));
        // A timer for less than that is set for that.
        assert_eq!(clock.expiry(now, at(1000 * STEP + 210)), at(1000 * STEP + 208 + 501));
    }

    #[test]
    fn ticks_set_the_timer_anew_each_a_little_later() {
        let mut clock = clock(4_000_000, 0);
        // The second tick is served at 8_000_002.
        let now = at(1000 * STEP + 208);
        let expires = clock.expiry(now, at(8_999_936));
        assert_eq!(expires, at(8_999_936 + 3));
        // From there it is two ticks to 16 ms, which is served at 16_000_000 + 3 + 2.
        assert_eq!(clock.expiry(expires, at(16_000_000 + 39 * STEP)), at(16_000_000 + 39 * STEP + 6));
        // No tick: the timer is set now.
        let now = at(16_100_000);
        let lag = 16_100_000 % STEP;
        assert_eq!(clock.expiry(now, at(16_200_192)), at(16_200_192 + lag + 1));
    }
}
