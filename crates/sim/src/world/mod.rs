//! The world: network elements, the processes on the nodes between them, and the loop that calls each at its time.
//!
//! | file | holds |
//! |---|---|
//! | `mod` | the loop, and what goes between elements and processes |
//! | `process` | an application with its sockets |
//! | `socket` | one end of a connection |
//! | `sockets` | the ends of connections, and what an application does with them |
//! | `push_back` | what the interfaces of nodes tell the sockets above them |
//! | `rebinding` | changes of the addresses of connections |
//! | `tandems` | links that a packet crosses in one step |
//! | `tables` | addresses, routes, listeners, and which connection is whose |

mod process;
mod push_back;
mod rebinding;
mod socket;
mod sockets;
mod tables;
mod tandems;

pub use process::{Process, ProcessId, Spawn};
pub use rebinding::{Change, Move};
pub use sockets::{SocketId, Sockets, Transports};
pub use tables::{Port, Remote};

use crate::radio::Toward;
use crate::recorder::Recorder;
use crate::schedule::Schedule;
use haltere_net::element::{AnyElement, Element, Port as Entry};
use haltere_net::fault::{Faults, Timer};
use haltere_net::link::Link;
use haltere_net::occupancy::Held;
use haltere_net::topology::{NodeId, Topology};
use haltere_net::{ComponentId, Cx, FlowKey, Packet, PathId, Time};
use haltere_transport::spares::Spares;
use haltere_transport::{Body, Role};
use socket::SocketPath;
use tables::{ConnectionEnd, Hop, SocketRef, Tables};
use tandems::Tandems;

/// Calls at one instant after which the world gives up: no model needs as many, so two must be calling each other.
const STORM: u64 = 50_000_000;

/// Why a world stopped before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stall {
    /// Time did not advance any more.
    Storm(Time),
    /// A transport sent a packet on a path that its connection does not have.
    NoSuchPath(ProcessId, PathId),
}

/// The network elements of a world, and which of them each link direction of its topology leads into, at which port.
pub struct Elements {
    elements: Vec<AnyElement<Body>>,
    entries: Vec<(u32, Entry)>,
}

impl Elements {
    /// A link for each link direction of the topology, in that order.
    pub fn links(links: Vec<Link<Body>>) -> Elements {
        Elements::each(links.into_iter().map(AnyElement::from).collect())
    }

    /// An element for each link direction of the topology, in that order.
    pub fn each(elements: Vec<AnyElement<Body>>) -> Elements {
        let entries = (0..elements.len() as u32).map(|number| (number, Entry(0))).collect();
        Elements { elements, entries }
    }

    /// Any elements; `entries` has the element's position and the port for each link direction of the topology, in that
    /// order. Several directions may lead into one element, as those of the stations of a shared medium.
    pub fn new(elements: Vec<AnyElement<Body>>, entries: Vec<(u32, Entry)>) -> Elements {
        Elements { elements, entries }
    }
}

/// Everything that exists in a run. Its machines, by which components are known to probes, are the network elements first,
/// then the processes.
pub struct World {
    elements: Vec<AnyElement<Body>>,
    processes: Vec<Process>,
    tables: Tables,
    tandems: Tandems,
    schedule: Schedule,
    now: Time,
    /// The time until which events are being looked at.
    until: Time,
    /// The machine that is called, or was called last.
    machine: u32,
    events: u64,
    calls_now: u64,
    /// Behind a pointer, so that a context is made by copying it, there or not.
    recorder: Option<Box<Recorder>>,
    /// Processes that the present call has let go on by credits.
    resumed: Vec<usize>,
    /// Packets that endpoints have read, for those that they send.
    spares: Spares,
    injected: u64,
    received: u64,
    stray: u64,
    stall: Option<Stall>,
    /// The news of loaded code.
    faults: Faults,
    /// The timers of loaded code.
    timers: Vec<Box<dyn Timer>>,
}

/// Why the loop over events ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pause {
    /// Its time came.
    Reached,
    /// It was done.
    Done,
    /// Loaded code told something.
    Told,
}

fn context<'a>(now: Time, me: u32, recorder: &'a mut Option<Box<Recorder>>) -> Cx<'a> {
    Cx::with_probe(now, ComponentId(me), recorder.as_deref_mut().and_then(Recorder::probe))
}

impl World {
    /// A world at time zero.
    pub fn new(topology: Topology, elements: Elements, spawns: Vec<Spawn>, recorder: Option<Recorder>) -> World {
        let Elements { elements, entries } = elements;
        let mut schedule = Schedule::new(elements.len() + spawns.len());
        let reserved = spawns.iter().filter_map(|s| s.connection).map(|c| c.0 + 1).max().unwrap_or(0);
        let mut tables = Tables::new(topology, entries, reserved);
        let mut processes = Vec::with_capacity(spawns.len());
        for (number, spawn) in (0..).zip(spawns) {
            for &port in &spawn.ports {
                tables.listen(spawn.node, port, number);
            }
            let process = Process::new(spawn);
            schedule.set(elements.len() as u32 + number, process.wake());
            processes.push(process);
        }
        World {
            tandems: Tandems::new(elements.len()),
            elements,
            processes,
            tables,
            schedule,
            now: Time::ZERO,
            until: Time::ZERO,
            machine: 0,
            events: 0,
            calls_now: 0,
            recorder: recorder.map(Box::new),
            resumed: Vec::new(),
            spares: Spares::default(),
            injected: 0,
            received: 0,
            stray: 0,
            stall: None,
            faults: Faults::default(),
            timers: Vec::new(),
        }
    }

    /// The world, which listens to what loaded code of the run tells: it calls timers, and is done when code has failed.
    #[must_use]
    pub fn listening(mut self, faults: Faults) -> World {
        self.faults = faults;
        self
    }

    /// Runs until nothing is due before or at `until`, or `done` says so (asked after each call of a process), or loaded code has
    /// failed. The clock then stands at `until` unless it was done earlier.
    ///
    /// # Errors
    /// If the world cannot go on.
    pub fn run(&mut self, until: Time, done: impl FnMut(&[Process], ProcessId) -> bool) -> Result<bool, Stall> {
        self.take_ahead_again();
        let outcome = self.run_ahead(until, done);
        self.take_back(None);
        outcome
    }

    /// Runs as [`World::run`] does, but does not take packets back that have crossed two links in one step. At the end, the second
    /// link may hold and count packets that will arrive there later. In many short runs this is cheaper.
    ///
    /// # Errors
    /// If the world cannot go on.
    pub fn run_ahead(
        &mut self,
        until: Time,
        mut done: impl FnMut(&[Process], ProcessId) -> bool,
    ) -> Result<bool, Stall> {
        loop {
            if self.faults.anything() {
                self.take_started();
                self.answer_bells();
            }
            let due = self.timers.iter().filter_map(|timer| timer.due()).min();
            let next = due.map_or(until, |due| due.min(until));
            // A failure of a timer is seen before anything else happens.
            let pause = if self.faults.raised().is_some() { Pause::Done } else { self.run_events(next, &mut done)? };
            match pause {
                Pause::Done => return Ok(true),
                Pause::Told => {}
                Pause::Reached => {
                    self.fire_timers();
                    if next == until && self.faults.raised().is_none() {
                        return Ok(false);
                    }
                }
            }
        }
    }

    /// Calls the timers that loaded code has started since the last call.
    #[cold]
    fn take_started(&mut self) {
        for mut timer in self.faults.take_started() {
            timer.fire(self.now);
            self.timers.push(timer);
        }
    }

    /// Asks processes again when they want to be called, for which somebody has rung.
    fn answer_bells(&mut self) {
        for ComponentId(machine) in self.faults.take_rung() {
            let Some(process) = (machine as usize).checked_sub(self.elements.len()) else { continue };
            let Some(process) = self.processes.get_mut(process) else { continue };
            process.table.look_again();
            let wake = process.wake().max(self.now);
            if wake < self.schedule.time_of(machine) {
                self.schedule.set(machine, wake);
            }
        }
    }

    /// Calls the timers that are due, and forgets those that will not be due again.
    fn fire_timers(&mut self) {
        let now = self.now;
        for timer in self.timers.iter_mut().filter(|timer| timer.due().is_some_and(|due| due <= now)) {
            timer.fire(now);
            debug_assert!(timer.due().is_none_or(|due| due > now), "a timer is due again when it was called");
        }
        self.timers.retain(|timer| timer.due().is_some());
    }

    /// Calls the machines that are due before or at `until`.
    #[inline]
    fn run_events(
        &mut self,
        until: Time,
        done: &mut impl FnMut(&[Process], ProcessId) -> bool,
    ) -> Result<Pause, Stall> {
        self.until = until;
        while let Some((at, machine)) = self.schedule.peek() {
            if at > until {
                break;
            }
            if at != self.now {
                (self.now, self.calls_now) = (at, 0);
            }
            self.calls_now += 1;
            if self.calls_now > STORM {
                return Err(Stall::Storm(at));
            }
            self.machine = machine;
            self.events += 1;
            let mut called = match (machine as usize).checked_sub(self.elements.len()) {
                None => self.call_element(machine),
                Some(process) => {
                    self.wake_process(process);
                    Some(process)
                }
            };
            // `done` is called at one place, so that it is compiled into the loop.
            while let Some(process) = called.take().or_else(|| self.resumed.pop()) {
                if let Some(stall) = self.stall {
                    return Err(stall);
                }
                if done(&self.processes, ProcessId(process as u32)) {
                    return Ok(Pause::Done);
                }
                if self.faults.anything() {
                    return Ok(Pause::Told);
                }
            }
        }
        (self.now, self.machine) = (self.now.max(until), u32::MAX);
        Ok(Pause::Reached)
    }

    /// Takes the packet that came out of an element one step further. Returns the process that got it, if one did.
    #[inline(always)]
    fn call_element(&mut self, machine: u32) -> Option<usize> {
        let mut cx = context(self.now, machine, &mut self.recorder);
        let out = match &mut self.elements[machine as usize] {
            AnyElement::Link(link) => {
                let out = link.poll(self.now, &mut cx);
                self.schedule.set(machine, link.next_wake());
                out
            }
            AnyElement::Other(element) => {
                let out = element.poll(self.now, &mut cx);
                self.schedule.set(machine, element.next_wake());
                if element.credits() {
                    self.hand_out_credits(machine);
                }
                out
            }
        };
        let (at, mut packet) = out?;
        if let Some(recorder) = &mut self.recorder {
            let route = self.tables.at(packet.route);
            let sender = self.tables.sender(packet.flow.connection, route.to);
            recorder.arrived(route.hops[usize::from(packet.hop)].edge, at, &packet, sender);
        }
        packet.hop += 1;
        let route = self.tables.at(packet.route);
        if let Some(&next) = route.hops.get(usize::from(packet.hop)) {
            if self.tandems.is_follower(next.element, machine) {
                self.came(next.element);
            }
            self.offer(next, packet);
            return None;
        }
        self.received += 1;
        let node = route.to;
        match self.tables.end(packet.flow.connection, node) {
            ConnectionEnd::Claimed(end) => Some(self.deliver(end, packet)),
            ConnectionEnd::Unclaimed => self.accept(node, packet),
            ConnectionEnd::Released => {
                self.stray += 1;
                None
            }
            ConnectionEnd::Moved(end) => self.deliver_moved(end, packet),
            ConnectionEnd::Rebound(number) => self.deliver_rebound(number, packet),
        }
    }

    #[inline(always)]
    fn deliver(&mut self, end: SocketRef, packet: Packet<Body>) -> usize {
        let process = end.process as usize;
        if self.schedule.time_of((self.elements.len() + process) as u32) <= self.now {
            self.run_timers_first(process);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.received(end.process, self.now, &packet);
        }
        if self.processes[process].table.looks_ahead {
            self.tell_horizon(process);
        }
        let mut cx = context(self.now, self.elements.len() as u32 + end.process, &mut self.recorder);
        let table = &mut self.processes[process].table;
        table.note_on_radio(end.socket, Toward::Device, packet.len, self.now);
        if let Some(socket) = table.get_mut(end.socket) {
            let path = usize::from(packet.path.0);
            if !matches!(socket.paths.get(path), Some(Some(_))) {
                let (flow, back) = (packet.flow, reverse(packet.flow));
                if let Some((route, first)) = self.tables.route(flow.destination, flow.source) {
                    socket.learn(packet.path, SocketPath { route, first, flow: back });
                }
            }
            socket.endpoint.read_packet(packet, &mut self.spares, &mut cx);
            table.activate(end.socket);
        }
        self.pump(process);
        process
    }

    /// Gives the first packet of a connection to the process that listens for its connection, if there is one.
    #[cold]
    fn accept(&mut self, node: NodeId, packet: Packet<Body>) -> Option<usize> {
        let connection = packet.flow.connection;
        let made = self.tables.listener(connection, node).and_then(|(process, port)| {
            let table = &mut self.processes[process as usize].table;
            Some((process, table.make(Role::Server, connection, port).ok()?))
        });
        let Some((process, socket)) = made else {
            self.stray += 1;
            return None;
        };
        let end = SocketRef { process, socket: socket.0 };
        self.tables.accept(connection, end);
        let me = self.elements.len() as u32 + process;
        let mut cx = context(self.now, me, &mut self.recorder);
        self.processes[process as usize].on_accept(socket, process, &mut self.tables, &mut cx);
        Some(self.deliver(end, packet))
    }

    #[inline(always)]
    fn offer(&mut self, hop: Hop, packet: Packet<Body>) {
        if self.tandems.leads(hop) {
            return self.offer_leader(hop, packet);
        }
        let mut cx = context(self.now, hop.element, &mut self.recorder);
        let wake = match &mut self.elements[hop.element as usize] {
            AnyElement::Link(link) => {
                link.offer(packet, &mut cx);
                link.next_wake()
            }
            AnyElement::Other(element) => {
                element.offer(hop.port, packet, &mut cx);
                element.next_wake()
            }
        };
        self.schedule.set(hop.element, wake);
    }

    /// A packet arrives at the instant at which timers of the process's sockets are due. These run first, and what they
    /// allow is sent: a packet takes time to get through its host, a timer does not. A paced sender meets this often, as
    /// acknowledgements come back at the distances at which it sent.
    #[cold]
    fn run_timers_first(&mut self, process: usize) {
        if self.processes[process].table.wake() > self.now {
            return;
        }
        let me = (self.elements.len() + process) as u32;
        let mut cx = context(self.now, me, &mut self.recorder);
        self.processes[process].table.on_wake(&mut cx);
        self.pump(process);
    }

    fn wake_process(&mut self, process: usize) {
        let me = (self.elements.len() + process) as u32;
        let due = self.processes[process].wake();
        if due > self.now {
            // The timer was put off after this call was scheduled.
            self.schedule.set(me, due);
            return;
        }
        if self.processes[process].table.looks_ahead {
            self.tell_horizon(process);
        }
        let mut cx = context(self.now, me, &mut self.recorder);
        self.processes[process].on_wake(process as u32, &mut self.tables, &mut cx);
        self.pump(process);
    }

    /// Tells a process the time before which nothing happens unless it does it, for the call that follows. The process is not scheduled any
    /// more, until it was pumped.
    #[cold]
    #[inline(never)]
    fn tell_horizon(&mut self, process: usize) {
        self.schedule.set((self.elements.len() + process) as u32, Time::NEVER);
        let others = self.schedule.peek().map_or(Time::NEVER, |(at, _)| at);
        let until = others.min(self.processes[process].own_wake()).min(self.until);
        self.processes[process].table.look_ahead(self.now, until);
    }

    /// Lets the application take its sockets' events, then puts what they send into the network.
    fn pump(&mut self, process: usize) {
        let me = (self.elements.len() + process) as u32;
        loop {
            let p = &mut self.processes[process];
            let mut at = 0;
            while let Some(id) = p.table.active(at) {
                at += 1;
                while let Some(event) = p.table.poll_event(id) {
                    if let Some(recorder) = &mut self.recorder {
                        recorder.application_event(process as u32, self.now, event);
                    }
                    let mut cx = context(self.now, me, &mut self.recorder);
                    p.on_event(SocketId(id), event, process as u32, &mut self.tables, &mut cx);
                    // What the application did may have given others something to say.
                    at = usize::from(p.table.is_only(id));
                }
            }
            if let Some(recorder) = &mut self.recorder {
                recorder.done(process as u32, self.now);
            }
            let Some(id) = p.table.sender() else { break };
            if self.tandems.is_news(self.tables.routes()) {
                self.look_at_routes();
                continue;
            }
            let mut cx = context(self.now, me, &mut self.recorder);
            let Some(socket) = p.table.get_mut(id) else { break };
            if socket.is_full() {
                p.table.block(id);
                continue;
            }
            let Some(mut packet) = socket.endpoint.make_packet(&mut self.spares, &mut cx) else {
                p.table.rest(id);
                continue;
            };
            let Some(&Some(path)) = socket.paths.get(usize::from(packet.path.0)) else {
                self.stall = Some(Stall::NoSuchPath(ProcessId(process as u32), packet.path));
                return;
            };
            (packet.route, packet.flow, packet.class) = (path.route, path.flow, p.class);
            if self.elements[path.first.element as usize].credits() {
                self.send_credited(process, id, path.first, packet);
                continue;
            }
            if let Some(recorder) = &mut self.recorder {
                let secrets = socket.endpoint.take_secrets();
                if !secrets.is_empty() {
                    recorder.secrets(&secrets);
                }
                recorder.sent(process as u32, self.now, &packet);
            }
            p.table.note_on_radio(id, Toward::Network, packet.len, self.now);
            p.table.has_sent(id);
            self.injected += 1;
            self.offer(path.first, packet);
        }
        // Timers are put off with nearly every packet: a call that comes too early is cheaper than moving it each time.
        let wake = self.processes[process].wake().max(self.now);
        let scheduled = self.schedule.time_of(me);
        if wake < scheduled || scheduled <= self.now {
            self.schedule.set(me, wake);
        }
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }
    /// Calls made so far, with those that links in tandem saved.
    pub fn events(&self) -> u64 {
        self.events
    }
    /// The processes.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }
    /// One of the processes.
    pub fn process(&self, process: ProcessId) -> &Process {
        &self.processes[process.0 as usize]
    }
    /// The network elements.
    pub fn elements(&self) -> &[AnyElement<Body>] {
        &self.elements
    }
    /// The network element and the entry of each link direction of the topology.
    pub fn entries(&self) -> impl Iterator<Item = (&AnyElement<Body>, Entry)> {
        self.tables.entries().iter().map(|&(element, port)| (&self.elements[element as usize], port))
    }
    /// The contents over time of each link direction of the topology, from the beginning until now. The run goes on as
    /// if this had not been asked.
    pub fn held(&mut self) -> Vec<Option<Held>> {
        let (now, recorder, elements) = (self.now, &mut self.recorder, &mut self.elements);
        let entries = self.tables.entries().iter();
        let held = entries.map(|&(me, port)| elements[me as usize].held_at(port, now, &mut context(now, me, recorder)));
        held.collect()
    }
    /// The name of a network element: that of its medium, or of its only link direction.
    pub fn element_name(&self, number: u32) -> String {
        let (topology, entries) = (self.tables.topology(), self.tables.entries());
        let of = |edge: u32| entries.get(edge as usize).is_some_and(|(element, _)| *element == number);
        if let Some(medium) = topology.media().iter().find(|medium| medium.links.iter().any(|link| of(2 * link))) {
            return medium.name.clone();
        }
        let edge = topology.edges().iter().zip(0..).find(|(_, edge)| of(*edge)).map(|(edge, _)| edge);
        edge.map_or_else(String::new, |edge| format!("{} {}", edge.name, edge.direction.name()))
    }
    /// The network.
    pub fn topology(&self) -> &Topology {
        self.tables.topology()
    }
    /// Packets that came to a node for a connection that nobody there has or would accept.
    pub fn stray_packets(&self) -> u64 {
        self.stray
    }
    /// Takes the recorder out.
    pub fn take_recorder(&mut self) -> Option<Recorder> {
        self.recorder.take().map(|recorder| *recorder)
    }

    /// Whether every packet is accounted for: sent = received + dropped (by cause) + inside an element, copies added.
    pub fn conserves(&self) -> bool {
        let (mut dropped, mut inside, mut copies) = (0, 0, 0);
        for element in &self.elements {
            let c = element.counters();
            dropped += c.dropped();
            inside += element.inside();
            copies += c.duplicated;
            if !element.conserves() {
                return false;
            }
        }
        self.injected + copies == self.received + dropped + inside
    }
}

fn reverse(flow: FlowKey) -> FlowKey {
    FlowKey { source: flow.destination, destination: flow.source, ..flow }
}
