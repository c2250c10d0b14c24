//! The program's clock and random numbers, which are the run's. All `unsafe` code of the program is here.
//!
//! A stack that asks the system for the time or for randomness calls a function of a library by its name. The names are
//! defined here, in the program itself, and the linker prefers a program's own: `clock_gettime`, through which the
//! standard library makes every `Instant` and `SystemTime`; `time` and `gettimeofday`, which BoringSSL asks about
//! certificates and tickets; and `RAND_bytes` of BoringSSL, which draws all random numbers of quiche and TLS (`--wrap`
//! in `build.rs` sends its callers to `__wrap_RAND_bytes`, since its own library defines the name too).
//!
//! The program has one thread, and one end at a time has its turn: the time and the random numbers are that end's.
#![allow(unsafe_code, reason = "a C function is defined under a name that others call")]

use haltere_net::rng::Stream;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

/// The time of the monotonic clock at the start of a run: stacks subtract from early instants.
const MONOTONIC: Duration = Duration::from_secs(24 * 3600);
/// The calendar's time at the start of a run, 2026-01-01, as for the stacks inside the simulator
/// (`crates/stacks/src/clock.rs`).
const CALENDAR: Duration = Duration::from_secs(1_767_225_600);

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
    static RANDOM: RefCell<Option<Stream>> = const { RefCell::new(None) };
}

/// Sets the time of the run to `now`, in ns, and draws random numbers from `random` from now on.
pub fn set(now: u64, random: Stream) {
    NOW.set(now);
    RANDOM.set(Some(random));
}

/// Gives the stream of random numbers back.
pub fn take_random() -> Option<Stream> {
    RANDOM.take()
}

/// Fills `bytes` with random numbers.
pub fn draw(bytes: &mut [u8]) {
    RANDOM.with_borrow_mut(|random| {
        for chunk in bytes.chunks_mut(8) {
            // Zeros while no end has its turn, that is, while a library is set up.
            let drawn = random.as_mut().map_or(0, Stream::bits).to_le_bytes();
            chunk.copy_from_slice(&drawn[..chunk.len()]);
        }
    });
}

/// The instant of the start of a run.
pub fn start() -> Instant {
    let now = NOW.replace(0);
    #[expect(clippy::disallowed_methods, reason = "it reads the clock of this file")]
    let start = Instant::now();
    NOW.set(now);
    start
}

fn since(start: Duration) -> Duration {
    start + Duration::from_nanos(NOW.get())
}

/// The system's function of that name.
///
/// # Safety
/// `out` is null or points to room for a `timespec`, as the system's own function asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, out: *mut libc::timespec) -> libc::c_int {
    let calendar = matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI);
    let time = since(if calendar { CALENDAR } else { MONOTONIC });
    let time = libc::timespec { tv_sec: time.as_secs() as libc::time_t, tv_nsec: time.subsec_nanos().into() };
    // SAFETY: the caller says that it is null or may be written.
    if let Some(out) = unsafe { out.as_mut() } {
        *out = time;
    }
    0
}

/// The system's function of that name.
///
/// # Safety
/// `out` is null or points to room for a `timeval`, as the system's own function asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(out: *mut libc::timeval, _zone: *mut libc::c_void) -> libc::c_int {
    let time = since(CALENDAR);
    let time = libc::timeval { tv_sec: time.as_secs() as libc::time_t, tv_usec: time.subsec_micros().into() };
    // SAFETY: the caller says that it is null or may be written.
    if let Some(out) = unsafe { out.as_mut() } {
        *out = time;
    }
    0
}

/// The system's function of that name.
///
/// # Safety
/// `out` is null or points to room for a `time_t`, as the system's own function asks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(out: *mut libc::time_t) -> libc::time_t {
    let time = since(CALENDAR).as_secs() as libc::time_t;
    // SAFETY: the caller says that it is null or may be written.
    if let Some(out) = unsafe { out.as_mut() } {
        *out = time;
    }
    time
}

#[cfg(feature = "tquic")]
unsafe extern "C" {
    fn __real_syscall(number: libc::c_long, ...) -> libc::c_long;
}

/// The C library's `syscall`, as its callers see it: the kernel's random numbers are the run's, and all else is the
/// kernel's. The crate `rand`, from which tquic has its dice, gets its seed this way. A system call has six arguments at most.
///
/// # Safety
/// As for the C library's own function.
#[cfg(feature = "tquic")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_syscall(
    number: libc::c_long,
    a: libc::c_long,
    b: libc::c_long,
    c: libc::c_long,
    d: libc::c_long,
    e: libc::c_long,
    f: libc::c_long,
) -> libc::c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: the caller says that there is room for `b` bytes at `a`, as the kernel asks.
        unsafe { __wrap_RAND_bytes(a as *mut u8, b as libc::size_t) };
        return b;
    }
    // SAFETY: the caller's own call.
    unsafe { __real_syscall(number, a, b, c, d, e, f) }
}

/// BoringSSL's `RAND_bytes`, as its callers see it.
///
/// # Safety
/// `out` points to `len` bytes of room, as BoringSSL's own function asks; it may point anywhere if `len` is 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_RAND_bytes(out: *mut u8, len: libc::size_t) -> libc::c_int {
    if len > 0 {
        // SAFETY: the caller says that there is room. It may not be initialised, so that it is made so first.
        let bytes = unsafe {
            out.write_bytes(0, len);
            std::slice::from_raw_parts_mut(out, len)
        };
        draw(bytes);
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::rng::Streams;
    use std::time::SystemTime;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "that the clock is ours is what is tested")]
    fn the_standard_library_reads_the_runs_clock() {
        let start = start();
        for now in [0, 1, 1_500_000_000, 3_600_000_000_007] {
            set(now, Streams::new(1, 0).named("test"));
            assert_eq!(Instant::now().duration_since(start), Duration::from_nanos(now));
            let calendar = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            assert_eq!(calendar, CALENDAR + Duration::from_nanos(now));
        }
    }

    #[test]
    fn dice_are_those_of_the_end_that_has_its_turn() {
        let throw = |seed| {
            set(0, Streams::new(seed, 0).named("test"));
            let mut bytes = [0; 20];
            draw(&mut bytes);
            bytes
        };
        assert_eq!(throw(1), throw(1));
        assert_ne!(throw(1), throw(2));
    }
}
