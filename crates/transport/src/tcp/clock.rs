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
const TIMER_LATE: Span = Span::from_nanos(1);

/// A host's clock.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    /// The unit of packets' times, ns; 1 if they are exact.
    unit: u32,
    /// The part of a unit that is over at the start of the run, ns.
    phase: u32,
    /// The clock itself, if it moves in steps.
    stepped: Option<Box<Stepped>>,
}

impl Clock {
    pub(super) fn new(config: &Config) -> Clock {
        let unit = u32::try_from(config.clock_unit.as_nanos().max(1)).unwrap_or(u32::MAX);
        let phase = config.phase.as_nanos();
        let stepped = Stepped {
            step: config.clock_step.as_nanos().max(1),
            tick: config.tick.as_nanos(),
            phase,
            served: 0,
            timer: Time::ZERO,
            writes_until: Time::ZERO,
        };
        let part = (phase % u64::from(unit)) as u32;
        Clock { unit, phase: part, stepped: (stepped.step > 1).then(|| Box::new(stepped)) }
    }

    /// The unit of packets' times, ns.
    pub(super) fn unit(&self) -> u32 {
        self.unit
    }

    /// The time that the clock shows (Linux: `tcp_clock_cache`).
    #[inline]
    pub(super) fn read(&self, now: Time) -> Time {
        self.stepped.as_ref().map_or(now, |stepped| stepped.read(now))
    }

    /// The time that a packet which is sent or arrives now is stamped with (Linux: `tcp_mstamp`).
    #[inline]
    pub(super) fn stamp(&self, now: Time) -> Time {
        let shown = self.read(now).as_nanos();
        let host = shown.saturating_add(self.phase.into());
        // A number that the compiler knows is divided by faster.
        let over = match u64::from(self.unit) {
            1 => 0,
            1000 => host % 1000,
            unit => host % unit,
        };
        Time::from_nanos(shown.saturating_sub(over))
    }

    /// When the pacing timer expires that is set now for `due` on this clock. One that is set already stays (Linux:
    /// `tcp_pacing_check`).
    pub(super) fn pacing_timer(&mut self, now: Time, due: Time) -> Time {
        match self.stepped.as_mut() {
            None => due,
            Some(stepped) => {
                if stepped.timer <= now {
                    stepped.timer = stepped.expiry(now, due);
                }
                stepped.timer
            }
        }
    }

    /// When a timer expires that is set now for a span, at whose end it is overdue.
    pub(super) fn late_timer(&self, now: Time, span: Span) -> Time {
        self.stepped.as_ref().map_or(now + span, |stepped| stepped.late_timer(now, span))
    }

    /// A process begins to write, for which it reads the clock so often.
    pub(super) fn begin_to_write(&mut self, number: u32, now: Time) {
        self.wake_process(now);
        let until = self.after_readings(number, now).unwrap_or(now);
        if let Some(stepped) = self.stepped.as_mut() {
            stepped.writes_until = until;
        }
    }

    /// The process that writes sends another super-segment, for which it reads the clock once more.
    pub(super) fn write_on(&mut self, now: Time) {
        if let Some(stepped) = self.stepped.as_mut().filter(|stepped| stepped.writes_until > now) {
            stepped.writes_until += Span::from_nanos(stepped.step);
        }
    }

    /// A process of the host is woken, and the next tick comes.
    pub(super) fn wake_process(&mut self, now: Time) {
        if let Some(stepped) = self.stepped.as_mut() {
            stepped.wake_process(now);
        }
    }

    /// When what is written now is on its way: not before the process has read the clock.
    #[inline]
    pub(super) fn written(&self, now: Time) -> Time {
        self.stepped.as_ref().map_or(now, |stepped| now.max(stepped.writes_until))
    }

    /// When a process has read the clock so often, if that takes time: in a user-mode Linux each reading by a process moves the
    /// clock by a step (`timer_read`).
    pub(super) fn after_readings(&self, number: u32, now: Time) -> Option<Time> {
        let step = self.stepped.as_ref().map(|stepped| stepped.step)?;
        Some(now + Span::from_nanos(step) * u64::from(number))
    }
}

/// A clock that moves in steps.
#[derive(Clone, Debug)]
struct Stepped {
    /// The step, ns.
    step: u64,
    /// The host's tick, and the clock's time at the start of the run, ns, as far as ticks, steps and units go.
    tick: u64,
    phase: u64,
    /// When the last tick is or was served, by the clock but exactly.
    served: u64,
    /// When the pacing timer expires.
    timer: Time,
    /// Until when the process that writes has read the clock.
    writes_until: Time,
}

fn down(nanos: u64, step: u64) -> u64 {
    nanos - nanos % step
}

impl Stepped {
    fn host(&self, now: Time) -> u64 {
        now.as_nanos().saturating_add(self.phase)
    }

    fn run(&self, host: u64) -> Time {
        Time::from_nanos(host.saturating_sub(self.phase))
    }

    fn read(&self, now: Time) -> Time {
        self.run(down(self.host(now), self.step))
    }

    /// A host without work has no ticks (`tick_nohz_idle_stop_tick`). Where a process is woken they begin again, and end with the first
    /// that finds no work: packets alone wake no process.
    fn wake_process(&mut self, now: Time) {
        let host = self.host(now);
        if let (true, Some(ticks)) = (self.served <= host, host.checked_div(self.tick)) {
            self.served = self.late(host, (ticks + 1).saturating_mul(self.tick));
        }
    }

    /// When a timer expires that is set at a time for another. A user-mode Linux sets it for the time between what its clock shows and
    /// what is due. What the clock shows is too early by a part of a step, and so much is the timer late.
    fn late(&self, at: u64, due: u64) -> u64 {
        let left = due.saturating_sub(down(at, self.step)).max(TIMER_MIN);
        at.saturating_add(left + TIMER_LATE.as_nanos())
    }

    /// When the timer is set for what is due: there is one, for whatever is due next. If a tick comes before, it is set anew at the tick.
    fn set_at(&self, now: u64, due: u64) -> u64 {
        if (now..due).contains(&self.served) { self.served } else { now }
    }

    fn late_timer(&self, now: Time, span: Span) -> Time {
        let now = self.host(now);
        let due = down(now, self.step).saturating_add(span.as_nanos());
        self.run(self.late(self.set_at(now, due), due))
    }

    /// If the clock does not show what was due when the timer expires, the timer is set once more.
    fn expiry(&self, now: Time, due: Time) -> Time {
        let (now, due) = (self.host(now), self.host(due));
        let mut at = self.set_at(now, due);
        for _ in 0..3 {
            at = self.late(at, due);
            if down(at, self.step) >= due {
                break;
            }
        }
        self.run(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: u64 = 256;

    fn clock(tick: u64, phase: u64) -> Clock {
        let (timer, writes_until) = (Time::ZERO, Time::ZERO);
        let stepped = Some(Box::new(Stepped { step: STEP, tick, phase, served: 0, timer, writes_until }));
        Clock { unit: 1000, phase: (phase % 1000) as u32, stepped }
    }

    impl Clock {
        fn expiry(&mut self, now: Time, due: Time) -> Time {
            self.stepped.as_mut().unwrap().expiry(now, due)
        }
    }

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn an_exact_clock_changes_no_time() {
        let mut clock = Clock { unit: 1, phase: 0, stepped: None };
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
        clock.stepped = None;
        assert_eq!((clock.read(at(2_300)), clock.stamp(at(2_999))), (at(2_300), at(2_000)));
        clock.phase = 300;
        assert_eq!((clock.stamp(at(2_699)), clock.stamp(at(2_700))), (at(1_700), at(2_700)));
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
    fn a_process_that_is_woken_makes_a_tick_which_sets_the_timer_anew() {
        let mut clock = clock(4_000_000, 0);
        // The clock lags by 208 ns when the timer is set for 9 ms. No tick comes.
        let now = at(1000 * STEP + 208);
        assert_eq!(clock.expiry(now, at(8_999_936)), at(8_999_936 + 208 + 1));
        // A process is woken with a lag of 10 ns, and another one before the tick, which is served 11 ns late.
        clock.wake_process(at(4_096_010));
        clock.wake_process(at(4_096_100));
        assert_eq!(clock.stepped.as_ref().unwrap().served, 8_000_011);
        assert_eq!(clock.expiry(at(4_096_200), at(8_999_936)), at(8_999_936 + 11 + 1));
        // Behind the tick the lag counts that there is when the timer is set, and before it, too, if nothing is due behind it.
        assert_eq!(clock.expiry(at(8_448_050), at(8_999_936)), at(8_999_936 + 50 + 1));
        assert_eq!(clock.expiry(at(4_096_200), at(4_999_936)), at(4_999_936 + 200 + 1));
        // The next process makes another tick.
        clock.wake_process(at(8_448_050));
        assert_eq!(clock.stepped.as_ref().unwrap().served, 12_000_051);
    }
}
