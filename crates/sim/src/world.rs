//! The world: links, hosts, and the loop that calls each at its time.

use crate::application::Application;
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use haltere_net::link::Link;
use haltere_net::{ComponentId, Cx, FlowKey, Packet, Probe, Time};
use haltere_transport::{Body, Endpoint};

/// Calls at one instant after which the world gives up: no model needs as many, so two must be calling each other.
const STORM: u64 = 50_000_000;

/// One end of a connection with its application.
pub struct Host {
    /// The transport.
    pub endpoint: Box<dyn Endpoint>,
    /// The application.
    pub application: Box<dyn Application>,
    /// Whose its packets are.
    pub flow: FlowKey,
    /// The route its packets take, for each path.
    pub routes: Vec<u32>,
    /// When its application starts; `None` waits for the peer.
    pub start: Option<Time>,
    /// When its application wants to be called, or [`Time::NEVER`].
    pub alarm: Time,
}

impl Host {
    /// A host before its time.
    pub fn new(
        endpoint: Box<dyn Endpoint>,
        application: Box<dyn Application>,
        flow: FlowKey,
        routes: Vec<u32>,
        start: Option<Time>,
    ) -> Host {
        Host { endpoint, application, flow, routes, start, alarm: Time::NEVER }
    }

    /// When it wants to be called.
    fn wake(&self) -> Time {
        self.endpoint.next_wake().min(self.start.unwrap_or(Time::NEVER)).min(self.alarm)
    }
}

/// Where a route leads.
#[derive(Clone, Debug)]
pub struct Route {
    /// The links along it, by number.
    pub links: Vec<u32>,
    /// The host at its end, by number.
    pub to: u32,
}

/// Why a world stopped before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stall {
    /// Time did not advance any more.
    Storm(Time),
}

/// Everything that exists in a run.
pub struct World {
    links: Vec<Link<Body>>,
    hosts: Vec<Host>,
    routes: Vec<Route>,
    schedule: Schedule,
    now: Time,
    events: u64,
    calls_now: u64,
    /// Behind a pointer, so that a context is made by copying it, there or not.
    recorder: Option<Box<Recorder>>,
    injected: u64,
    received: u64,
}

fn context<'a>(now: Time, me: u32, recorder: &'a mut Option<Box<Recorder>>) -> Cx<'a> {
    Cx::with_probe(now, ComponentId(me), recorder.as_deref_mut().map(|r| r as &mut dyn Probe))
}

impl World {
    /// A world at time zero. Machines are numbered links first, then hosts.
    pub fn new(links: Vec<Link<Body>>, hosts: Vec<Host>, routes: Vec<Route>, recorder: Option<Recorder>) -> World {
        let mut schedule = Schedule::new(links.len() + hosts.len());
        for (h, host) in hosts.iter().enumerate() {
            schedule.set((links.len() + h) as u32, host.start.unwrap_or(Time::NEVER));
        }
        World {
            links,
            hosts,
            routes,
            schedule,
            now: Time::ZERO,
            events: 0,
            calls_now: 0,
            recorder: recorder.map(Box::new),
            injected: 0,
            received: 0,
        }
    }

    /// Runs until nothing is due before or at `until`, or `done` says so (asked after each call of a host). The clock
    /// then stands at `until` unless it was done earlier.
    pub fn run(&mut self, until: Time, mut done: impl FnMut(&[Host], u32) -> bool) -> Result<bool, Stall> {
        while let Some((at, machine)) = self.schedule.peek() {
            if at > until {
                break;
            }
            self.calls_now = if at == self.now { self.calls_now + 1 } else { 0 };
            if self.calls_now > STORM {
                return Err(Stall::Storm(at));
            }
            self.now = at;
            self.events += 1;
            let called = match (machine as usize).checked_sub(self.links.len()) {
                None => self.call_link(machine),
                Some(host) => {
                    self.wake_host(host);
                    Some(host)
                }
            };
            if let Some(host) = called
                && done(&self.hosts, host as u32)
            {
                return Ok(true);
            }
        }
        self.now = self.now.max(until);
        Ok(false)
    }

    /// Takes the packet that arrived at a link's end one step further. Returns the host that got it, if one did.
    #[inline]
    fn call_link(&mut self, machine: u32) -> Option<usize> {
        let mut cx = context(self.now, machine, &mut self.recorder);
        let link = &mut self.links[machine as usize];
        let arrived = link.poll(self.now, &mut cx);
        self.schedule.set(machine, link.next_wake());
        let (at, mut packet) = arrived?;
        let route = &self.routes[packet.route as usize];
        if let Some(recorder) = &mut self.recorder {
            recorder.arrived(machine, at, &packet, route.to);
        }
        packet.hop += 1;
        if let Some(&next) = route.links.get(usize::from(packet.hop)) {
            self.offer(next, packet);
            return None;
        }
        let host = route.to as usize;
        self.received += 1;
        let me = (self.links.len() + host) as u32;
        if let Some(recorder) = &mut self.recorder {
            recorder.received(host as u32, self.now, &packet);
        }
        let mut cx = context(self.now, me, &mut self.recorder);
        self.hosts[host].endpoint.on_packet(packet, &mut cx);
        self.pump(host);
        Some(host)
    }

    #[inline]
    fn offer(&mut self, link: u32, packet: Packet<Body>) {
        let mut cx = context(self.now, link, &mut self.recorder);
        let l = &mut self.links[link as usize];
        l.offer(packet, &mut cx);
        self.schedule.set(link, l.next_wake());
    }

    fn wake_host(&mut self, host: usize) {
        let me = (self.links.len() + host) as u32;
        let h = &mut self.hosts[host];
        let due = h.wake();
        if due > self.now {
            // The timer was put off after this call was scheduled.
            self.schedule.set(me, due);
            return;
        }
        let mut cx = context(self.now, me, &mut self.recorder);
        if h.start.is_some_and(|t| t <= self.now) {
            h.start = None;
            h.application.on_start(h.endpoint.as_mut(), &mut cx);
            h.alarm = h.application.alarm();
        } else if h.alarm <= self.now {
            h.application.on_alarm(h.endpoint.as_mut(), &mut cx);
            h.alarm = h.application.alarm();
        } else {
            h.endpoint.on_wake(&mut cx);
        }
        self.pump(host);
    }

    /// Lets the application take its events, then puts what the endpoint sends onto its links.
    fn pump(&mut self, host: usize) {
        let me = (self.links.len() + host) as u32;
        loop {
            let h = &mut self.hosts[host];
            while let Some(event) = h.endpoint.poll_event() {
                if let Some(recorder) = &mut self.recorder {
                    recorder.told(host as u32, self.now, event);
                }
                let mut cx = context(self.now, me, &mut self.recorder);
                h.application.on_event(event, h.endpoint.as_mut(), &mut cx);
                h.alarm = h.application.alarm();
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.done(host as u32, self.now);
            }
            let mut cx = context(self.now, me, &mut self.recorder);
            let Some(mut packet) = h.endpoint.poll_transmit(&mut cx) else { break };
            if let Some(recorder) = &mut self.recorder {
                let secrets = h.endpoint.take_secrets();
                if !secrets.is_empty() {
                    recorder.secrets(&secrets);
                }
                recorder.sent(host as u32, self.now, &packet);
            }
            packet.route = h.routes[usize::from(packet.path.0).min(h.routes.len() - 1)];
            packet.hop = 0;
            packet.flow = h.flow;
            self.injected += 1;
            let first = self.routes[packet.route as usize].links[0];
            self.offer(first, packet);
        }
        // Timers are put off with nearly every packet: a call that comes too early is cheaper than moving it each time.
        let wake = self.hosts[host].wake().max(self.now);
        let scheduled = self.schedule.time_of(me);
        if wake < scheduled || scheduled <= self.now {
            self.schedule.set(me, wake);
        }
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Calls made so far.
    pub fn events(&self) -> u64 {
        self.events
    }
    /// The hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }
    /// The links.
    pub fn links(&self) -> &[Link<Body>] {
        &self.links
    }
    /// Takes the recorder out.
    pub fn take_recorder(&mut self) -> Option<Recorder> {
        self.recorder.take().map(|recorder| *recorder)
    }

    /// Whether every packet is accounted for: sent = received + dropped (by cause) + inside a link, copies added.
    pub fn conserves(&self) -> bool {
        let (mut dropped, mut inside, mut copies) = (0, 0, 0);
        for link in &self.links {
            let c = link.counters();
            dropped += c.dropped();
            inside += link.inside();
            copies += c.duplicated;
            if !link.conserves() {
                return false;
            }
        }
        self.injected + copies == self.received + dropped + inside
    }
}
