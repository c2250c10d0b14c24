//! A runtime for quinn whose timers are exact.
//!
//! Tokio's timers count whole milliseconds and round up, so that a paced burst leaves up to a millisecond late. quinn's
//! pacer forgives half a millisecond of that (bursts are of 2 ms and refill in 4/5 of it); the rest lowers the rate. A
//! `timerfd` of `CLOCK_MONOTONIC` is as exact as the kernel's high-resolution timers, in virtual time to the
//! nanosecond.

use crate::{Error, args, clock, sys};
use haltere_net::Time;
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use rustix::fd::OwnedFd;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use rustix::time::{timerfd_create, timerfd_settime};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// The runtime with the kind of timer that was asked for.
pub fn runtime(kind: args::Timer) -> Arc<dyn Runtime> {
    match kind {
        args::Timer::Precise => Arc::new(Precise),
        args::Timer::Tokio => Arc::new(TokioRuntime),
    }
}

/// Tokio's runtime except for its timers.
#[derive(Debug)]
struct Precise;

impl Runtime for Precise {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        match Alarm::new(deadline) {
            Ok(alarm) => Box::pin(alarm),
            Err(error) => {
                // There is no way to refuse; a coarse timer is right, only later.
                eprintln!("haltere-peer: {error}; tokio's timer is used instead");
                TokioRuntime.new_timer(deadline)
            }
        }
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        TokioRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        clock::instant()
    }
}

/// A timer of the kernel. An earlier deadline is set at once, a later one only when the timer fires: every
/// acknowledgement moves most of QUIC's deadlines to a later time, and setting a timer is a system call.
#[derive(Debug)]
pub struct Alarm {
    fd: AsyncFd<OwnedFd>,
    deadline: Instant,
    armed: Option<Instant>,
}

impl Alarm {
    /// A timer that fires at `now`.
    pub fn at(now: Instant) -> Result<Alarm, Error> {
        Alarm::new(now)
    }

    /// Waits until `time` of [`clock::now`], or without end.
    pub async fn wait(&mut self, time: Time) {
        if time == Time::NEVER {
            return std::future::pending().await;
        }
        let left = Duration::from_nanos(time.since(clock::now()).as_nanos());
        self.deadline = clock::instant() + left;
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll(cx)).await
    }

    fn new(deadline: Instant) -> Result<Alarm, Error> {
        let made = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC);
        let fd = made.map_err(io::Error::from).and_then(sys::watch);
        let fd = fd.map_err(|e| Error::new("timer", format!("the kernel makes no timerfd: {e}")))?;
        Ok(Alarm { fd, deadline, armed: None })
    }

    fn arm(&mut self, now: Instant) -> io::Result<()> {
        // A time of nought would disarm it.
        let wait = self.deadline.saturating_duration_since(now).max(Duration::from_nanos(1));
        let seconds = i64::try_from(wait.as_secs()).unwrap_or(i64::MAX);
        let it_value = Timespec { tv_sec: seconds, tv_nsec: wait.subsec_nanos().into() };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value };
        timerfd_settime(&self.fd, TimerfdTimerFlags::empty(), &once)?;
        self.armed = Some(self.deadline);
        Ok(())
    }
}

impl AsyncTimer for Alarm {
    fn reset(mut self: Pin<&mut Self>, deadline: Instant) {
        self.deadline = deadline;
    }

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = clock::instant();
            if now >= self.deadline {
                return Poll::Ready(());
            }
            if self.armed.is_none_or(|armed| armed > self.deadline) && self.arm(now).is_err() {
                // Only arguments that cannot occur are refused; waking early is always allowed.
                return Poll::Ready(());
            }
            match self.fd.poll_read_ready(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(mut ready)) => {
                    let fired = ready.try_io(|fd| Ok(rustix::io::read(fd, &mut [0; 8])?));
                    if matches!(fired, Ok(Ok(_))) {
                        self.armed = None;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    fn wait(alarm: &mut Alarm) -> impl Future<Output = ()> + '_ {
        let mut pinned = Pin::new(alarm);
        poll_fn(move |cx| pinned.as_mut().poll(cx))
    }

    #[tokio::test]
    async fn it_never_fires_early_however_it_is_moved() {
        let start = clock::instant();
        let (soon, late) = (start + Duration::from_millis(3), start + Duration::from_secs(3600));
        let mut alarm = Alarm::new(late).unwrap();
        assert!(once(&mut alarm).is_none());
        Pin::new(&mut alarm).reset(soon);
        wait(&mut alarm).await;
        assert!(clock::instant() >= soon);
        // Armed for the nearer time, then put off: it fires for nobody and sleeps on.
        let near = clock::instant() + Duration::from_millis(3);
        Pin::new(&mut alarm).reset(near);
        let _ = once(&mut alarm);
        Pin::new(&mut alarm).reset(late);
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert!(once(&mut alarm).is_none());
        Pin::new(&mut alarm).reset(near);
        assert!(once(&mut alarm).is_some());
    }

    fn once(alarm: &mut Alarm) -> Option<()> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        match Pin::new(alarm).poll(&mut cx) {
            Poll::Ready(()) => Some(()),
            Poll::Pending => None,
        }
    }
}
