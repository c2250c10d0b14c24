//! The only place of this crate that reads clocks, as it drives real hosts. (Inside a user-mode Linux with time travel
//! the clock is virtual.)

use haltere_net::{Span, Time};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime, timerfd_create,
    timerfd_settime,
};

const SECOND: u64 = 1_000_000_000;

/// `CLOCK_MONOTONIC`: nanoseconds since the kernel's zero.
pub(crate) fn now() -> Time {
    nanos(clock_gettime(ClockId::Monotonic))
}

fn nanos(t: Timespec) -> Time {
    let (s, ns) = (u64::try_from(t.tv_sec).unwrap_or(0), u64::try_from(t.tv_nsec).unwrap_or(0));
    Time::from_nanos(s.saturating_mul(SECOND).saturating_add(ns))
}

/// How far `CLOCK_REALTIME`, which stamps packets, is ahead of `CLOCK_MONOTONIC`: read between two readings of the
/// latter, the closest pair of several.
pub(crate) fn realtime_ahead() -> Span {
    let read = || {
        let before = now();
        let real = nanos(clock_gettime(ClockId::Realtime));
        let after = now();
        let gap = after.since(before);
        (gap, real.since(before + gap / 2))
    };
    (0..8).map(|_| read()).min().map_or(Span::ZERO, |(_, ahead)| ahead)
}

/// A timer that makes a descriptor readable at an instant of [`now`]'s clock.
pub(crate) struct Alarm {
    fd: OwnedFd,
    set: Time,
}

impl Alarm {
    pub(crate) fn new() -> io::Result<Alarm> {
        let fd = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        Ok(Alarm { fd, set: Time::NEVER })
    }

    /// Sets it to `at`; [`Time::NEVER`] stops it. Setting a timer that has expired makes its descriptor unreadable
    /// again.
    pub(crate) fn set(&mut self, at: Time) -> io::Result<()> {
        if self.set == at {
            return Ok(());
        }
        let value = match at {
            Time::NEVER => Timespec { tv_sec: 0, tv_nsec: 0 },
            // Zero would stop it.
            at => {
                let ns = at.as_nanos().max(1);
                Timespec { tv_sec: (ns / SECOND) as i64, tv_nsec: (ns % SECOND) as i64 }
            }
        };
        let none = Timespec { tv_sec: 0, tv_nsec: 0 };
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &Itimerspec { it_interval: none, it_value: value })?;
        self.set = at;
        Ok(())
    }
}

impl AsFd for Alarm {
    fn as_fd(&self) -> rustix::fd::BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
