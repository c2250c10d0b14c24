//! Bare TCP transfers over the kernel's own stack: what the simulator's application `raw` does, with real sockets.
//!
//! One thread and one epoll(7) loop serve both ends of all flows, so that a run makes few system calls, which are
//! expensive inside a user-mode Linux. In virtual time the loop takes no time: only the network and TCP are measured.

mod flow;
mod spec;

pub use spec::{ClientSpec, Ends, FlowOutcome, FlowSpec, Options, Outcome, Series, ServerSpec, Spec};

use crate::clock::{self, Alarm};
use crate::error::{Context, HostError, parse};
use crate::netns::Namespaces;
use flow::{Flow, Turn};
use haltere_net::{Span, Time};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::OwnedFd;
use std::num::NonZeroU64;

/// The number of the timer in epoll; flows have lower ones.
const ALARM: u64 = u64::MAX;
/// How many events are taken at once.
const EVENTS: usize = 64;
/// The longest request, bytes: a new socket's buffer has room for it.
const MAX_REQUEST: u32 = 16_384;
/// The algorithms that are built in or loaded and that the current namespace may use (ip-sysctl).
const CONTROLS: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// The congestion controls that the kernel offers, by its own names.
///
/// # Errors
/// If the kernel does not say.
pub fn congestion_controls() -> Result<Vec<String>, HostError> {
    let text = std::fs::read_to_string(CONTROLS).doing("", || format!("read {CONTROLS}"))?;
    Ok(text.split_whitespace().map(str::to_string).collect())
}

/// Makes the transfers of a JSON specification and returns their [`Outcome`] as JSON.
///
/// # Errors
/// If the specification is wrong or sockets cannot be made as it says. A transfer that fails is no error but a result.
pub fn run_json(spec: &str) -> Result<String, HostError> {
    let outcome = run(&parse(spec)?)?;
    serde_json::to_string(&outcome).map_err(|e| HostError::at("", e.to_string()))
}

/// Makes the transfers and returns when they are over. It works in a thread of its own, as that thread changes its
/// namespace.
///
/// # Errors
/// As [`run_json`].
pub fn run(spec: &Spec) -> Result<Outcome, HostError> {
    check(spec)?;
    std::thread::scope(|s| {
        let worker = s.spawn(|| Run::new(spec)?.drive());
        worker.join().unwrap_or_else(|_| Err(HostError::at("", "the transfers' thread died; this is a bug")))
    })
}

fn check(spec: &Spec) -> Result<(), HostError> {
    if spec.sample_ns == Some(0) {
        return Err(HostError::at("sample_ns", "0 would sample without end; give a number above 0, or null"));
    }
    for (i, flow) in spec.flows.iter().enumerate() {
        if !(1..=MAX_REQUEST).contains(&flow.request) {
            let message = format!("{} bytes: give 1 to {MAX_REQUEST}, which one write takes", flow.request);
            return Err(HostError::at(format!("flows[{i}].request"), message));
        }
        if flow.size == Some(0) {
            return Err(HostError::at(format!("flows[{i}].size"), "nothing to transfer: give 1 or more, or null"));
        }
    }
    Ok(())
}

struct Run<'a> {
    spec: &'a Spec,
    epoll: OwnedFd,
    alarm: Alarm,
    flows: Vec<Flow<'a>>,
    epoch: Time,
    /// The next sample, or never.
    sample: Time,
    /// When bytes begin to count; none once that time has passed.
    measure: Time,
    /// When the run ends at the latest.
    end: Time,
}

impl<'a> Run<'a> {
    /// Makes all sockets; the clock starts when they are made.
    fn new(spec: &'a Spec) -> Result<Run<'a>, HostError> {
        // Timers of this thread ring when they are due, not up to 50 us later (prctl(2), PR_SET_TIMERSLACK).
        rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).doing("", || "set the timer slack".into())?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).doing("", || "make an epoll instance".into())?;
        let mut spaces = Namespaces::new().doing("", || "open the present network namespace".into())?;
        let flows = spec.flows.iter().enumerate();
        let flows = flows.map(|(i, f)| Flow::new(f, i, &epoll, &mut spaces)).collect::<Result<Vec<_>, _>>()?;
        let alarm = Alarm::new().doing("", || "make a timer".into())?;
        epoll::add(&epoll, &alarm, EventData::new_u64(ALARM), EventFlags::IN).doing("", || "watch the timer".into())?;
        let now = clock::now();
        let epoch = spec.epoch_ns.map_or(now, Time::from_nanos);
        if epoch < now {
            let late = now.since(epoch);
            return Err(HostError::at("epoch_ns", format!("passed {late} before the sockets stood; give a later one")));
        }
        let at = |ns: u64| epoch + Span::from_nanos(ns);
        Ok(Run {
            spec,
            epoll,
            alarm,
            flows,
            epoch,
            sample: spec.sample_ns.map_or(Time::NEVER, at),
            measure: spec.measure_from_ns.map_or(Time::NEVER, at),
            end: at(spec.duration_ns.unwrap_or(spec.time_limit_ns)),
        })
    }

    fn drive(mut self) -> Result<Outcome, HostError> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut now = clock::now();
        loop {
            self.on_time(now);
            if self.over(now) {
                return Ok(self.finish(now));
            }
            self.alarm.set(self.next_wake()).doing("", || "set the timer".into())?;
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e).doing("", || "wait for events".into()),
            }
            now = clock::now();
            for event in &events {
                let number = event.data.u64();
                if number != ALARM
                    && let Some(flow) = self.flows.get_mut((number / Turn::COUNT) as usize)
                {
                    flow.on_event(Turn::of(number), now, &self.epoll);
                }
            }
        }
    }

    /// Does what is due by now.
    fn on_time(&mut self, now: Time) {
        if now >= self.measure {
            self.flows.iter_mut().for_each(Flow::begin_to_measure);
            self.measure = Time::NEVER;
        }
        for flow in &mut self.flows {
            if !flow.started() && now >= self.epoch + Span::from_nanos(flow.spec.start_ns) {
                flow.connect(now, &self.epoll);
            }
        }
        if let Some(every) = self.spec.sample_ns
            && now >= self.sample
        {
            self.flows.iter_mut().for_each(|f| f.sample(now));
            // Samples keep their phase; those that were missed are left out.
            let missed = now.since(self.sample).as_nanos() / every;
            self.sample += Span::from_nanos(every) * (missed + 1);
        }
    }

    fn next_wake(&self) -> Time {
        let starts = self.flows.iter().filter(|f| !f.started());
        let start = starts.map(|f| self.epoch + Span::from_nanos(f.spec.start_ns)).min().unwrap_or(Time::NEVER);
        start.min(self.sample).min(self.measure).min(self.end)
    }

    fn over(&self, now: Time) -> bool {
        let all_limited = self.flows.iter().all(|f| f.spec.size.is_some());
        now >= self.end || self.flows.iter().all(Flow::over) && (all_limited || self.flows.iter().all(Flow::failed))
    }

    fn finish(self, now: Time) -> Outcome {
        let limit = self.spec.duration_ns.is_none().then(|| now.since(self.epoch));
        let mut outcome = Outcome { flows: vec![], series: vec![], virtual_s: now.since(self.epoch).as_secs_f64() };
        // All ends are asked before the first is closed, which sends packets.
        let done: Vec<_> = self.flows.iter().map(|f| f.outcome(self.epoch, limit)).collect();
        for (flow, result) in self.flows.into_iter().zip(done) {
            outcome.flows.push(result);
            outcome.series.extend(flow.close(self.epoch));
        }
        outcome
    }
}
