//! The emulator: devices, and a thread that runs the engine between them.

use crate::clock::{Clock, thread_cpu};
use crate::engine::{Engine, Io};
use crate::port::Kernel;
use crate::report::{Report, Thread};
use crate::spec::{EmulatorError, EmulatorSpec, Manner};
use crate::sys;
use crate::tun::{Namespace, Tun};
use haltere_net::Time;
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Emulated links. They exist from [`Emulator::new`] on, carry packets from [`Emulator::start`] on, and are gone when
/// it is dropped. Virtual time, the time of the links, begins at the start.
pub struct Emulator {
    state: State,
}

enum State {
    Made(Box<EmulatorSpec>, Vec<Tun>),
    Running(Running),
    Done,
}

struct Running {
    stop: Arc<EventFd>,
    thread: JoinHandle<Report>,
}

impl Emulator {
    /// Makes the devices of a specification and brings them up.
    ///
    /// # Errors
    /// If the kernel refuses one; those made before it are removed.
    pub fn new(spec: EmulatorSpec) -> Result<Emulator, EmulatorError> {
        let mut tuns = Vec::new();
        for (l, link) in spec.links.iter().enumerate() {
            for (e, (end, config)) in link.ends.iter().zip([&link.down, &link.up]).enumerate() {
                let namespace = end.netns.clone().map_or(Namespace::Current, Namespace::Path);
                let tun = Tun::make(&namespace, &end.interface, config.mtu);
                tuns.push(tun.map_err(|wrong| wrong.under(&format!("links[{l}].ends[{e}]")))?);
            }
        }
        Ok(Emulator::between(spec, tuns))
    }

    /// Links between devices that are there already: two for each link, in the order of its ends.
    pub(crate) fn between(spec: EmulatorSpec, tuns: Vec<Tun>) -> Emulator {
        Emulator { state: State::Made(Box::new(spec), tuns) }
    }

    /// Names of the devices, two for each link; empty once it was started.
    pub fn interfaces(&self) -> Vec<String> {
        match &self.state {
            State::Made(_, tuns) => tuns.iter().map(|t| t.name.clone()).collect(),
            State::Running(_) | State::Done => Vec::new(),
        }
    }

    /// Starts the links; what was sent into the devices before is not carried.
    ///
    /// # Errors
    /// If it was started before, or the kernel gives neither thread nor timer.
    pub fn start(&mut self) -> Result<(), EmulatorError> {
        self.begin(Clock::start()?)
    }

    /// Starts the links as [`Emulator::start`] does, but their time begins at an instant of `CLOCK_MONOTONIC`, in ns.
    /// Traces, outages, and rates and delays that change count from it. A packet that is sent between the start and
    /// that instant enters its link at that instant.
    ///
    /// # Errors
    /// As [`Emulator::start`].
    pub fn start_at(&mut self, monotonic_ns: u64) -> Result<(), EmulatorError> {
        self.begin(Clock::start_at(monotonic_ns))
    }

    fn begin(&mut self, clock: Clock) -> Result<(), EmulatorError> {
        let (spec, tuns) = match std::mem::replace(&mut self.state, State::Done) {
            State::Made(spec, tuns) => (spec, tuns),
            other => {
                self.state = other;
                return Err(EmulatorError::new("", "the emulator was started before: make another one"));
            }
        };
        let manner = spec.manner();
        let stop = Arc::new(EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?);
        for tun in &tuns {
            discard(tun);
        }
        let kernel = Kernel::new(tuns, Arc::clone(&stop), clock, manner)?;
        let engine = Engine::new(&spec);
        let thread =
            std::thread::Builder::new().name("haltere-link".into()).spawn(move || drive(engine, kernel, manner));
        let thread = thread.map_err(|e| EmulatorError::new("", format!("cannot start a thread: {e}")))?;
        self.state = State::Running(Running { stop, thread });
        Ok(())
    }

    /// Stops the links, removes the devices and returns the counters.
    ///
    /// # Errors
    /// If it does not run.
    pub fn stop(&mut self) -> Result<Report, EmulatorError> {
        let State::Running(running) = std::mem::replace(&mut self.state, State::Done) else {
            return Err(EmulatorError::new("", "the emulator does not run: start it first"));
        };
        running.end()
    }
}

impl Running {
    fn end(self) -> Result<Report, EmulatorError> {
        self.stop.write(1)?;
        self.thread.join().map_err(|_| EmulatorError::new("", "the emulator's thread broke down; please report it"))
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        if let State::Running(running) = std::mem::replace(&mut self.state, State::Done) {
            // Nobody is left to report to.
            let _ = running.end();
        }
    }
}

/// Discards the packets that wait at a device.
fn discard(tun: &Tun) {
    let mut buffer = [0; 2048];
    while std::io::Read::read(&mut &tun.file, &mut buffer).is_ok_and(|n| n > 0) {}
}

fn drive(mut engine: Engine, mut kernel: Kernel, manner: Manner) -> Report {
    // Timers as exact as the kernel has them; a timerfd is so without, an old kernel's epoll is not.
    let _ = nix::sys::prctl::set_timerslack(1);
    let realtime = manner.realtime && sys::realtime().is_ok();
    while engine.turn(&mut kernel) {}
    kernel.look_everywhere();
    engine.finish(&mut kernel);
    let elapsed = kernel.now().since(Time::ZERO);
    Report::new(&mut engine, Thread { elapsed, cpu: thread_cpu(), realtime, calls: kernel.calls })
}
