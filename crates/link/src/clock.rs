//! The clocks of the emulator, which runs in real time; nothing else in this crate reads a clock.

use haltere_net::{Span, Time};
use nix::errno::Errno;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

fn read(clock: ClockId) -> Result<u64, Errno> {
    let now = clock_gettime(clock)?;
    Ok((now.tv_sec() as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec() as u64))
}

/// The machine's monotonic clock since some moment. Until then it stands at zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: u64,
    last: Time,
}

impl Clock {
    /// A clock that begins now.
    pub(crate) fn start() -> Result<Clock, Errno> {
        Ok(Clock::start_at(read(ClockId::CLOCK_MONOTONIC)?))
    }

    /// A clock that begins at an instant of `CLOCK_MONOTONIC`, in ns.
    pub(crate) fn start_at(monotonic_ns: u64) -> Clock {
        Clock { start: monotonic_ns, last: Time::ZERO }
    }

    /// The time; never earlier than it was.
    pub(crate) fn now(&mut self) -> Time {
        if let Ok(now) = read(ClockId::CLOCK_MONOTONIC) {
            self.last = self.last.max(Time::from_nanos(now.saturating_sub(self.start)));
        }
        self.last
    }

    /// A time as `CLOCK_MONOTONIC` counts it, for a timer.
    pub(crate) fn absolute(&self, at: Time) -> TimeSpec {
        // A century is as good as never, and fits whatever a timer takes.
        let at = at.as_nanos().min(3_000_000_000 * 1_000_000_000);
        TimeSpec::from_duration(Duration::from_nanos(self.start.saturating_add(at)))
    }
}

/// CPU time of this thread.
pub(crate) fn thread_cpu() -> Span {
    Span::from_nanos(read(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0))
}
