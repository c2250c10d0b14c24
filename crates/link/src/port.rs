//! The kernel as the engine sees it: TUN devices, a timer and a way to be stopped, waited for by one epoll.
//!
//! The timer is a timerfd, because a timeout given to epoll or poll may be late by a thousandth of itself
//! (`select_estimate_accuracy` in the kernel's `fs/select.c`): 50 µs of 50 ms.

use crate::clock::Clock;
use crate::engine::Io;
use crate::report::Calls;
use crate::spec::Manner;
use crate::tun::Tun;
use crate::unit::{Unit, VNET};
use haltere_net::{Ecn, Span, Time};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::EventFd;
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::fs::File;
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::ops::Range;
use std::sync::Arc;

const STOP: u64 = u64::MAX;
const TIMER: u64 = u64::MAX - 1;
/// The longest a super-packet gets, with its `virtio_net_hdr`.
const LONGEST: usize = VNET + 65_535;

struct Device {
    tun: File,
    /// Whether something may wait to be read.
    ready: bool,
}

/// The kernel's side of the engine.
pub(crate) struct Kernel {
    ports: Vec<Device>,
    epoll: Epoll,
    timer: TimerFd,
    /// When the timer expires, if it is set.
    armed: Time,
    _stop: Arc<EventFd>,
    clock: Clock,
    last: Time,
    /// How long before a departure to wake up.
    spin: Span,
    buffer: Box<[u8]>,
    pub(crate) calls: Calls,
}

impl Kernel {
    /// Waits for these devices until `stop` is written to.
    pub(crate) fn new(tuns: Vec<Tun>, stop: Arc<EventFd>, clock: Clock, manner: Manner) -> Result<Kernel, Errno> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        epoll.add(&*stop, EpollEvent::new(EpollFlags::EPOLLIN, STOP))?;
        // By edge: each expiry is told once and need not be read.
        epoll.add(&timer, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        let mut ports = Vec::new();
        for tun in tuns {
            epoll.add(&tun.file, EpollEvent::new(EpollFlags::EPOLLIN, ports.len() as u64))?;
            ports.push(Device { tun: tun.file, ready: true });
        }
        Ok(Kernel {
            ports,
            epoll,
            timer,
            armed: Time::NEVER,
            _stop: stop,
            clock,
            last: Time::ZERO,
            spin: manner.spin,
            buffer: vec![0; LONGEST].into(),
            calls: Calls::default(),
        })
    }

    /// Tries every device at the next reading, also those of which epoll has said nothing.
    pub(crate) fn look_everywhere(&mut self) {
        for port in &mut self.ports {
            port.ready = true;
        }
    }

    fn arm(&mut self, until: Time) {
        if until == self.armed || until == Time::NEVER {
            return;
        }
        let at: TimeSpec = self.clock.absolute(until);
        if self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME).is_ok() {
            self.armed = until;
            self.calls.timers += 1;
        }
    }
}

impl Io for Kernel {
    fn now(&mut self) -> Time {
        self.last = self.clock.now();
        self.last
    }

    fn receive(&mut self, port: usize) -> Option<Unit> {
        let port = self.ports.get_mut(port)?;
        while port.ready {
            match (&port.tun).read(&mut self.buffer) {
                Ok(length) => {
                    self.calls.reads += 1;
                    let unit = self.buffer.get(..length).and_then(Unit::read);
                    if unit.is_some() {
                        return unit;
                    }
                    self.calls.unreadable += 1;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    self.calls.empty_reads += 1;
                    port.ready = false;
                    if e.kind() != ErrorKind::WouldBlock {
                        // The device is gone, and epoll would say so for ever.
                        let _ = self.epoll.delete(&port.tun);
                    }
                }
            }
        }
        None
    }

    fn send(&mut self, port: usize, unit: &Unit, pieces: Range<u32>, ecn: Ecn) {
        let Some(port) = self.ports.get(port) else { return };
        let mut tun = &port.tun;
        let written = if pieces.len() as u32 == unit.pieces() && ecn == unit.ecn() {
            tun.write(unit.whole())
        } else {
            let piece = unit.piece(pieces, ecn);
            tun.write_vectored(&[IoSlice::new(piece.head()), IoSlice::new(piece.payload())])
        };
        self.calls.writes += 1;
        self.calls.refused += u64::from(written.is_err());
    }

    fn wait(&mut self, until: Time) -> bool {
        let awake = if until == Time::NEVER { until } else { until.saturating_sub(self.spin) };
        let sleep = awake > self.last;
        if sleep {
            self.arm(awake);
        }
        let mut events = [EpollEvent::empty(); 32];
        let timeout = if sleep { EpollTimeout::NONE } else { EpollTimeout::ZERO };
        self.calls.waits += 1;
        let told = match self.epoll.wait(&mut events, timeout) {
            Ok(n) => n,
            Err(Errno::EINTR) => 0,
            Err(_) => return false,
        };
        let mut go_on = true;
        for event in &events[..told] {
            match event.data() {
                STOP => go_on = false,
                TIMER => self.armed = Time::NEVER,
                port => {
                    if let Some(port) = self.ports.get_mut(port as usize) {
                        port.ready = true;
                    }
                }
            }
        }
        go_on
    }
}
