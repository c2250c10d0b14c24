//! The only place that reads clocks. This crate runs on the machine's clock and reports its times.

use haltere_net::Time;
use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, so that times can be compared with packet captures of the same machine.
pub fn now() -> Time {
    let t = clock_gettime(ClockId::Monotonic);
    debug_assert!(t.tv_sec >= 0 && t.tv_nsec >= 0, "the clock counts from boot");
    Time::from_nanos(t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_nsec.unsigned_abs())
}

/// The time of this clock in the type that quinn and tokio take.
#[allow(clippy::disallowed_methods, reason = "real sockets live in the machine's time")]
pub fn instant() -> std::time::Instant {
    std::time::Instant::now()
}
