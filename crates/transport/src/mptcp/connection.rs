//! An MPTCP connection: opening, fallback, timers, and the [`Endpoint`] interface.

use super::config::{Config, Reinjection};
use super::option::Opening;
use super::receiving::Receiving;
use super::sending::Sending;
use super::subflow::Subflow;
use crate::Body;
use crate::endpoint::{CloseReason, Endpoint, Event, Role, Stats, StreamId};
use crate::path::{PathError, PathStatus, PathView};
use crate::ranges::RangeSet;
use crate::reassembly::Reassembly;
use crate::scheduler::PathScheduler;
use crate::spares::Spares;
use haltere_net::element::Admission;
use haltere_net::{Cx, Packet, PathId, Time};
use std::collections::VecDeque;

/// The agreement of the two ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// Nothing yet.
    Opening,
    /// MPTCP.
    Multipath,
    /// TCP on the only subflow, because the peer has no MPTCP or something on the path removes its options (RFC 8684
    /// section 3.7).
    Fallback,
}

/// One end of an MPTCP connection.
pub struct Connection {
    pub(super) config: Config,
    pub(super) mode: Mode,
    /// By the number of their path.
    pub(super) subflows: Vec<Option<Subflow>>,
    pub(super) scheduler: Box<dyn PathScheduler>,
    pub(super) views: Vec<PathView>,
    pub(super) sending: Sending,
    pub(super) receiving: Receiving,
    pub(super) events: VecDeque<Event>,
    /// The subflow that sent last: it goes on until it has nothing more.
    pub(super) turn: usize,
    /// Whether data may be waiting that a subflow takes.
    pub(super) dirty: bool,
    /// When the scheduler wants to be asked again.
    pub(super) ask_at: Time,
    /// Packets of subflows without options, whose memory others use again.
    pub(super) bare: Spares,
    opened: bool,
    /// The application wants to be told when less than this is unsent; 0 if it does not.
    low_water: u64,
    pub(super) told_multipath: bool,
    told_finished: bool,
    told_connected: bool,
    pub(super) over: bool,
    pub(super) coupled: bool,
    /// The counts of subflows that are no more.
    pub(super) invalid: u64,
    /// The data that the probe was told of.
    pub(super) carried: RangeSet,
}

impl Connection {
    /// A connection that is not open yet. A client waits for [`Endpoint::connect`], a server for a SYN.
    pub fn new(config: Config) -> Connection {
        let scheduler = config.scheduler.build(config.tcp.stream.part("scheduler"), config.tcp.faults.clone());
        Connection::with_scheduler(scheduler, config)
    }

    /// A connection with this scheduler in the place of the configuration's.
    pub fn with_scheduler(scheduler: Box<dyn PathScheduler>, config: Config) -> Connection {
        Connection {
            mode: Mode::Opening,
            subflows: vec![Some(Subflow::new(&config, PathId(0), Opening::Capable))],
            scheduler,
            views: Vec::new(),
            sending: Sending::new(),
            receiving: Receiving::new(&config.tcp),
            events: VecDeque::new(),
            turn: 0,
            dirty: false,
            ask_at: Time::NEVER,
            bare: Spares::default(),
            opened: false,
            low_water: 0,
            told_multipath: false,
            told_finished: false,
            told_connected: false,
            over: false,
            coupled: config.tcp.algorithm.coupled,
            invalid: 0,
            carried: RangeSet::default(),
            config,
        }
    }

    /// The cost of out-of-order arrival across subflows so far.
    pub fn reassembly(&self) -> &Reassembly {
        self.receiving.reassembly()
    }

    /// Bytes of data that were given to a second subflow.
    pub fn reinjected(&self) -> u64 {
        self.sending.reinjected
    }

    /// Whether the connection carries on as TCP, because MPTCP's options do not reach the peer.
    pub fn has_fallen_back(&self) -> bool {
        self.mode == Mode::Fallback
    }

    pub(super) fn subflow(&mut self, path: PathId) -> Option<&mut Subflow> {
        self.subflows.get_mut(usize::from(path.0))?.as_mut()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = &Subflow> {
        self.subflows.iter().flatten().filter(|s| !s.abandoned && !s.tcp.is_over())
    }

    /// Adds a subflow.
    pub(super) fn make(&mut self, path: PathId, status: PathStatus) -> &mut Subflow {
        let at = usize::from(path.0);
        if self.subflows.len() <= at {
            self.subflows.resize_with(at + 1, || None);
        }
        self.subflows[at].insert(Subflow::new(&self.config, path, Opening::Join(status)))
    }

    /// Whether another subflow may be added as `path`.
    pub(super) fn may_add(&self, path: PathId) -> Result<(), PathError> {
        if self.mode != Mode::Multipath || !self.told_multipath {
            return Err(PathError::NotNegotiated);
        }
        if self.subflows.get(usize::from(path.0)).is_some_and(Option::is_some) {
            return Err(PathError::Taken);
        }
        if self.live().count() >= usize::from(self.config.max_subflows) || path.0 >= self.config.max_subflows {
            return Err(PathError::TooMany);
        }
        Ok(())
    }

    pub(super) fn fail(&mut self, reason: CloseReason) {
        if !std::mem::replace(&mut self.over, true) {
            self.events.push_back(Event::Failed(reason));
        }
    }

    /// The news of a subflow.
    pub(super) fn take_news(&mut self, at: usize) {
        while let Some(subflow) = self.subflows.get_mut(at).and_then(Option::as_mut) {
            let Some(event) = subflow.tcp.poll_event() else { return };
            match event {
                Event::Connected => self.on_connected(at),
                Event::Failed(reason) => self.on_subflow_failed(at, reason),
                _ => {}
            }
        }
    }

    fn on_connected(&mut self, at: usize) {
        self.dirty = true;
        let Some(subflow) = self.subflows.get_mut(at).and_then(Option::as_mut) else { return };
        if at == 0 {
            let window = subflow.tcp.offered();
            self.sending.edge = self.sending.edge.max(window);
            if !std::mem::replace(&mut self.told_connected, true) {
                self.events.push_back(Event::Connected);
            }
        }
    }

    fn on_subflow_failed(&mut self, at: usize, reason: CloseReason) {
        self.give_up_subflow(at);
        if self.live().next().is_none() {
            self.fail(reason);
        }
    }

    /// The data that a subflow had is given to others.
    pub(super) fn give_up_subflow(&mut self, at: usize) {
        let Connection { subflows, sending, .. } = self;
        let Some(subflow) = subflows.get_mut(at).and_then(Option::as_mut) else { return };
        subflow.abandoned = true;
        for (start, end) in subflow.unacknowledged() {
            sending.give_again(start, end);
        }
        self.dirty = true;
    }

    /// Tells the application what has changed of the ends of the data, and closes the subflows once both ends are known.
    #[inline]
    pub(super) fn tell_ends(&mut self) {
        // Nothing to tell before the peer's data has an end.
        if self.mode == Mode::Multipath && self.receiving.fin.is_none() {
            return;
        }
        self.tell_ends_that_are_known();
    }

    fn tell_ends_that_are_known(&mut self) {
        if self.mode == Mode::Fallback {
            return self.tell_ends_of_fallback();
        }
        let complete = self.receiving.is_complete() && self.receiving.readable() == 0;
        if complete && !std::mem::replace(&mut self.told_finished, true) {
            self.events.push_back(Event::Finished(StreamId(0)));
        }
        if self.told_finished && self.sending.has_finished() && !std::mem::replace(&mut self.over, true) {
            self.events.push_back(Event::Closed);
            for subflow in self.subflows.iter_mut().flatten() {
                subflow.tcp.close();
                subflow.ready = true;
            }
        }
    }

    fn tell_ends_of_fallback(&mut self) {
        let Some(Some(subflow)) = self.subflows.first_mut() else { return };
        while let Some(event) = subflow.tcp.poll_event() {
            match event {
                Event::Connected if !std::mem::replace(&mut self.told_connected, true) => {
                    self.events.push_back(Event::Connected);
                }
                Event::Finished(_) if !std::mem::replace(&mut self.told_finished, true) => {
                    self.events.push_back(Event::Finished(StreamId(0)));
                }
                Event::Closed => {
                    self.over = true;
                    self.events.push_back(Event::Closed);
                }
                Event::Failed(reason) => {
                    self.over = true;
                    self.events.push_back(Event::Failed(reason));
                }
                _ => {}
            }
        }
    }

    #[inline]
    pub(super) fn tell_writable(&mut self) {
        if self.low_water > 0 && self.unsent(StreamId(0)) < self.low_water {
            self.low_water = 0;
            self.events.push_back(Event::Writable(StreamId(0)));
        }
    }

    /// The connection goes on as TCP.
    pub(super) fn fall_back(&mut self) {
        self.mode = Mode::Fallback;
        self.dirty = true;
        if let Some(Some(subflow)) = self.subflows.first_mut() {
            subflow.tcp.be_alone(self.config.tcp.sack_blocks);
        }
    }
}

impl Endpoint for Connection {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        if self.config.tcp.role == Role::Client
            && let Some(Some(first)) = self.subflows.first_mut()
        {
            first.tcp.connect(cx);
            first.ready = true;
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.read_packet(packet, &mut Spares::default(), cx);
    }

    fn read_packet(&mut self, packet: Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        self.arrive(packet, spares, cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        for at in 0..self.subflows.len() {
            let Some(subflow) = self.subflows[at].as_mut().filter(|s| s.next_wake() <= cx.now) else { continue };
            subflow.repeat_third(cx.now);
            subflow.tcp.on_wake(cx);
            subflow.ready = true;
            self.take_news(at);
            if self.config.reinjection == Reinjection::Timeout {
                self.repair_timeout(at);
            }
        }
        if self.ask_at <= cx.now {
            self.dirty = true;
        }
        if self.sending.timer <= cx.now {
            self.sending.timer = Time::NEVER;
            self.on_data_timeout();
        }
    }

    fn next_wake(&self) -> Time {
        if self.over && self.live().next().is_none() {
            return Time::NEVER;
        }
        let subflows = self.subflows.iter().flatten().filter(|s| !s.abandoned);
        subflows.map(Subflow::next_wake).min().unwrap_or(Time::NEVER).min(self.sending.timer).min(self.ask_at)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.make_packet(&mut Spares::default(), cx)
    }

    fn make_packet(&mut self, spares: &mut Spares, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.depart(spares, cx)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn open(&mut self) -> Option<StreamId> {
        (!std::mem::replace(&mut self.opened, true)).then_some(StreamId(0))
    }

    fn write(&mut self, _: StreamId, bytes: u64) {
        if !self.sending.finished {
            self.sending.written += bytes;
            self.dirty = true;
        }
    }

    fn unsent(&self, _: StreamId) -> u64 {
        self.sending.unsent() + self.subflows.iter().flatten().map(|s| s.tcp.holds().1).sum::<u64>()
    }

    fn wait_writable(&mut self, _: StreamId, below: u64) {
        self.low_water = below;
        self.tell_writable();
    }

    fn finish(&mut self, _: StreamId) {
        if !std::mem::replace(&mut self.sending.finished, true) {
            self.sending.fin_due = true;
            self.dirty = true;
        }
    }

    fn ends_with_data(&self) -> bool {
        // The first data of a client goes with MP_CAPABLE, which has no room for the end (RFC 8684 section 3.1).
        matches!(self.subflows.first(), Some(Some(s)) if s.confirmed)
    }

    fn read(&mut self, _: StreamId, now: Time) -> u64 {
        let bytes = self.read_data(now);
        self.tell_ends();
        bytes
    }

    fn close(&mut self) {
        self.finish(StreamId(0));
    }

    fn on_local_backlog(&mut self, path: PathId, bytes: u64) -> bool {
        let Some(subflow) = self.subflow(path) else { return false };
        let resume = subflow.tcp.on_local_backlog(path, bytes);
        subflow.ready |= resume;
        resume
    }

    fn on_admission(&mut self, admission: Admission, body: &Body, cx: &mut Cx<'_>) {
        match body {
            Body::Mptcp(segment) => {
                let tcp = Body::Tcp(segment.tcp.clone());
                if let Some(subflow) = self.subflow(segment.subflow) {
                    subflow.ready = true;
                    subflow.tcp.on_admission(admission, &tcp, cx);
                }
            }
            Body::Tcp(_) => {
                if let Some(subflow) = self.subflow(PathId(0)) {
                    subflow.tcp.on_admission(admission, body, cx);
                }
            }
            _ => {}
        }
    }

    fn local_limit(&self) -> u64 {
        u64::MAX
    }

    fn stats(&self) -> Stats {
        let sum = self.subflows.iter().flatten().map(|s| s.tcp.stats()).fold(Stats::default(), Stats::and);
        let reassembly = match self.mode {
            Mode::Fallback => sum.reassembly,
            Mode::Opening | Mode::Multipath => Some(Box::new(self.receiving.reassembly().clone())),
        };
        let reinjected_bytes = self.sending.reinjected;
        Stats { invalid_packets: sum.invalid_packets + self.invalid, reinjected_bytes, reassembly, ..sum }
    }

    fn add_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        if self.config.tcp.role == Role::Server {
            // Clients open subflows: servers cannot reach them behind a NAT (RFC 8684 section 2.2).
            return Err(PathError::NotNegotiated);
        }
        self.may_add(path)?;
        self.make(path, PathStatus::Available).tcp.connect(cx);
        Ok(())
    }

    fn abandon_path(&mut self, path: PathId, _: &mut Cx<'_>) -> Result<(), PathError> {
        let at = usize::from(path.0);
        if self.subflows.get(at).and_then(Option::as_ref).is_none_or(|s| s.abandoned) {
            return Err(PathError::NoSuchPath);
        }
        let other = self
            .subflows
            .iter()
            .position(|s| s.as_ref().is_some_and(|s| s.tcp.path() != path && !s.abandoned && s.tcp.is_established()));
        let other = other.ok_or(PathError::LastPath)?;
        self.give_up_subflow(at);
        if let Some(Some(other)) = self.subflows.get_mut(other) {
            other.owes.remove = Some(path);
            other.ready = true;
        }
        Ok(())
    }

    fn migrate(&mut self, _: PathId, _: &mut Cx<'_>) -> Result<(), PathError> {
        Err(PathError::Several)
    }

    /// The B bit of MP_JOIN tells it, or MP_PRIO once that is sent (RFC 8684 section 3.3.8).
    fn set_status(&mut self, path: PathId, status: PathStatus, _: &mut Cx<'_>) -> Result<(), PathError> {
        let subflow = self.subflow(path).filter(|s| !s.abandoned).ok_or(PathError::NoSuchPath)?;
        subflow.status = status;
        if subflow.told_status.is_some_and(|told| told != status) {
            subflow.told_status = Some(status);
            subflow.owes.priority = Some(status);
            subflow.ready = true;
        }
        self.dirty = true;
        Ok(())
    }

    fn path_view(&self, path: PathId) -> Option<PathView> {
        self.subflows.get(usize::from(path.0))?.as_ref().map(|s| s.view())
    }

    fn paths(&self) -> usize {
        self.subflows.iter().flatten().count()
    }

    fn bytes_in_flight(&self, path: PathId) -> u64 {
        let subflow = self.subflows.get(usize::from(path.0)).and_then(Option::as_ref);
        subflow.map_or(0, |s| s.tcp.holds().0)
    }
}
