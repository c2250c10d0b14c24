//! The endpoint that all stacks share: it makes a [`StackConnection`] an [`Endpoint`], whose streams count bytes.

use crate::addresses::Addresses;
use crate::clock::{Calendar, Clock};
use crate::config::{Config, Error};
use crate::connection::{Arrival, ReadProgress, StackConnection, StackEvent};
use crate::handles::Handles;
use crate::meter::Meter;
use crate::secrets::Secrets;
use haltere_net::control::PathModel;
use haltere_net::{Cx, Ecn, Metric, Packet, PathId, Span, Time};
use haltere_transport::path::PathError;
use haltere_transport::quic::sizes::IP_UDP;
use haltere_transport::recovery::report_model;
use haltere_transport::{Body, CloseReason, Endpoint, Event, Role, Stats, StreamId};
use std::cell::RefCell;
use std::collections::VecDeque;

/// A stream that is written by number of bytes: the state that the stack does not keep.
#[derive(Default, Debug)]
struct Sending {
    id: u64,
    /// Its number was given to the application; the stack has not opened it yet.
    reserved: bool,
    /// Bytes that the application has written.
    written: u64,
    /// Bytes written that the stack has not taken yet.
    waiting: u64,
    /// The application has ended the stream.
    ended: bool,
    /// The end was passed on to the stack.
    end_passed_on: bool,
    /// The peer has acknowledged all of it, its end included.
    delivered: bool,
}

/// How far a stream was read, and whether it has ended.
#[derive(Debug)]
struct Receiving {
    id: u64,
    progress: ReadProgress,
    ended: bool,
}

/// An endpoint around a stack's connection.
pub(crate) struct StackEndpoint<M> {
    /// In a cell because some stacks want mutable access to report what they counted.
    connection: RefCell<M>,
    role: Role,
    clock: Clock,
    calendar: Calendar,
    meter: Meter,
    /// Length of the largest datagram, bytes.
    capacity: usize,
    /// Whether streams are read in order.
    ordered: bool,
    now: Time,
    wake: Time,
    /// Whether the stack may have events that were not handled.
    may_have_events: bool,
    connected: bool,
    over: bool,
    close_wanted: bool,
    /// Whether streams may be opened before the handshake is over.
    early_data: bool,
    sending: Vec<Sending>,
    receiving: Vec<Receiving>,
    events: VecDeque<Event>,
    /// Room for the next datagram; kept when there was none.
    buffer: Vec<u8>,
    /// Datagrams that belong to no connection, such as Version Negotiation, and the path of each.
    answers: VecDeque<(PathId, Vec<u8>)>,
    addresses: Addresses,
    stats: Stats,
    /// The last values of the metrics that were reported.
    reported: Vec<([u64; 5], Option<PathModel>)>,
    secrets: Secrets,
}

/// The parts from which an adapter makes the endpoint.
pub(crate) struct Parts<M> {
    pub connection: M,
    pub role: Role,
    pub clock: Clock,
    pub calendar: Calendar,
    pub meter: Meter,
    pub max_udp_payload: u16,
    pub ordered: bool,
    /// Whether streams may be opened before the handshake is over.
    pub early_data: bool,
}

/// The endpoint around the connection that an adapter makes.
pub(crate) fn around<M: StackConnection + 'static>(
    config: Config,
    handles: Handles,
    parts: fn(Config, Handles) -> Result<Parts<M>, Error>,
) -> Result<Box<dyn Endpoint>, Error> {
    let secrets = handles.secrets.clone();
    let addresses = Addresses::new(config.addresses.clone()).map_err(Error::new)?;
    Ok(Box::new(StackEndpoint::new(parts(config, handles)?, addresses, secrets)))
}

impl<M: StackConnection> StackEndpoint<M> {
    pub fn new(parts: Parts<M>, addresses: Addresses, secrets: Secrets) -> StackEndpoint<M> {
        let reported = vec![([0; 5], None); parts.meter.paths()];
        StackEndpoint {
            connection: RefCell::new(parts.connection),
            role: parts.role,
            clock: parts.clock,
            calendar: parts.calendar,
            meter: parts.meter,
            capacity: usize::from(parts.max_udp_payload),
            ordered: parts.ordered,
            now: Time::ZERO,
            wake: Time::NEVER,
            may_have_events: false,
            connected: false,
            over: false,
            close_wanted: false,
            early_data: parts.early_data,
            sending: Vec::new(),
            receiving: Vec::new(),
            events: VecDeque::new(),
            buffer: Vec::new(),
            answers: VecDeque::new(),
            addresses,
            stats: Stats::default(),
            reported,
            secrets,
        }
    }

    /// The stack's connection, which may have events after it was used.
    pub fn connection(&mut self) -> &mut M {
        self.may_have_events = true;
        self.connection.get_mut()
    }

    /// The last RTT that the stack has measured.
    pub fn rtt(&self) -> Option<Span> {
        self.meter.rtt().map(|_| Span::from_nanos(self.meter.last_rtt()))
    }

    /// Notes the time of a call, after which the stack may have events.
    fn at(&mut self, now: Time) {
        self.now = now;
        self.calendar.set(now);
        self.may_have_events = true;
    }

    fn sending(&mut self, id: u64) -> &mut Sending {
        let at = self.sending.iter().position(|s| s.id == id).unwrap_or_else(|| {
            self.sending.push(Sending { id, ..Sending::default() });
            self.sending.len() - 1
        });
        &mut self.sending[at]
    }

    /// Passes what waits of a stream on to the stack, as much as it takes.
    fn pass_on(&mut self, id: u64) {
        let at = self.sending.iter().position(|s| s.id == id);
        let Some(stream) = at.map(|i| &mut self.sending[i]).filter(|s| !s.reserved) else { return };
        let connection = self.connection.get_mut();
        if stream.waiting > 0 {
            stream.waiting -= connection.write(id, stream.waiting);
        }
        if stream.waiting == 0 && stream.ended && !stream.end_passed_on {
            stream.end_passed_on = true;
            connection.finish(id);
        }
        self.may_have_events = true;
    }

    /// Reserves the number of a stream that cannot be opened yet (RFC 9000 section 2.1).
    fn reserve(&mut self) -> Option<StreamId> {
        let id = 4 * self.sending.len() as u64;
        self.sending.push(Sending { id, reserved: true, ..Sending::default() });
        Some(StreamId(id))
    }

    /// Opens the streams whose numbers were reserved, as far as the peer allows.
    fn open_reserved(&mut self) {
        let reserved: Vec<u64> = self.sending.iter().filter(|s| s.reserved).map(|s| s.id).collect();
        for id in reserved {
            match self.connection.get_mut().open() {
                Some(opened) if opened == id => self.sending(id).reserved = false,
                Some(_) => {
                    return self
                        .end(Event::Failed(CloseReason::ProtocolViolation("a stack numbers its streams otherwise")));
                }
                None => return,
            }
            self.pass_on(id);
        }
    }

    /// The handshake is over. What was written before has to be written again if the server did not take it.
    fn establish(&mut self) {
        self.connected = true;
        self.stats.connected_at = Some(self.now);
        let connection = self.connection.get_mut();
        if self.early_data
            && self.role == Role::Client
            && connection.has_early_keys()
            && !connection.was_early_data_taken()
        {
            for s in &mut self.sending {
                (s.reserved, s.waiting, s.end_passed_on, s.delivered) = (true, s.written, false, false);
            }
        }
        self.events.push_back(Event::Connected);
        self.open_reserved();
    }

    /// Begins the handshake, or begins it anew.
    fn begin(&mut self) {
        match self.connection.get_mut().connect(self.clock.instant(self.now)) {
            Ok(()) if self.connection.get_mut().has_early_keys() => self.open_reserved(),
            Ok(()) => {}
            Err(why) => self.end(Event::Failed(CloseReason::ProtocolViolation(why))),
        }
    }

    fn delivered(&self) -> bool {
        self.sending.iter().all(|s| s.delivered)
    }

    /// Whether nothing is left to deliver in either direction.
    fn owes_nothing(&self) -> bool {
        self.delivered() && self.receiving.iter().all(|r| r.ended || r.progress.prefix == 0)
    }

    fn close_if_done(&mut self) {
        if self.close_wanted && !self.over && self.connected && self.delivered() {
            let now = self.clock.instant(self.now);
            self.connection.get_mut().close(now);
            self.end(Event::Closed);
        }
    }

    /// Ends the connection for the application: no event follows this one.
    fn end(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
        }
    }

    /// Turns the stack's events into those of the endpoint.
    fn handle_events(&mut self) {
        self.may_have_events = false;
        while let Some(event) = self.connection.get_mut().poll_event() {
            match event {
                StackEvent::Connected if !self.connected => self.establish(),
                StackEvent::Connected => {}
                StackEvent::VersionRefused => self.begin(),
                StackEvent::Opened => {
                    while let Some(id) = self.connection.get_mut().accept() {
                        self.events.push_back(Event::Readable(StreamId(id)));
                    }
                }
                StackEvent::Openable => {
                    self.open_reserved();
                    self.events.push_back(Event::Openable);
                }
                StackEvent::Readable(id) => self.events.push_back(Event::Readable(StreamId(id))),
                StackEvent::Writable(id) => self.pass_on(id),
                StackEvent::Delivered(id) => self.sending(id).delivered = true,
                StackEvent::Multipath => self.events.push_back(Event::Multipath),
                StackEvent::Closed => self.end(Event::Closed),
                StackEvent::IdleTimeout => self.end(self.timed_out()),
                StackEvent::Failed(reason) => self.end(Event::Failed(reason)),
            }
        }
        self.close_if_done();
    }

    /// The event of the idle timeout, as in the model.
    fn timed_out(&self) -> Event {
        match (self.connected, self.owes_nothing()) {
            (false, _) => Event::Failed(CloseReason::HandshakeTimeout),
            (true, true) => Event::Closed,
            (true, false) => Event::Failed(CloseReason::IdleTimeout),
        }
    }

    /// Reports what changed.
    fn report(&mut self, cx: &mut Cx<'_>) {
        if !cx.probing() {
            return;
        }
        let metrics = [Metric::Cwnd, Metric::Ssthresh, Metric::BytesInFlight, Metric::PacingRate, Metric::Rtt];
        for (path, (reported, modelled)) in self.reported.iter_mut().enumerate() {
            let meter = self.meter.of(path);
            let (window, ssthresh, pacing) = meter.controls();
            let now = [window, ssthresh, meter.in_flight(), pacing, meter.last_rtt()];
            for (i, metric) in metrics.into_iter().enumerate() {
                if now[i] != reported[i] && (i == 2 || now[i] != 0) {
                    cx.record_on(PathId(path as u8), metric, now[i]);
                }
            }
            *reported = now;
            let model = meter.model();
            report_model(PathId(path as u8), [std::mem::replace(modelled, model), model], cx);
        }
    }

    fn packet(&mut self, datagram: Vec<u8>, path: PathId, ecn: Ecn) -> Packet<Body> {
        self.stats.sent_all += 1;
        Packet::new(datagram.len() as u32 + IP_UDP, Body::Udp(datagram)).with(|p| {
            p.path = path;
            p.ecn = ecn;
        })
    }
}

impl<M: StackConnection> Endpoint for StackEndpoint<M> {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.at(cx.now);
        if self.role == Role::Client {
            self.begin();
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.at(cx.now);
        let packet = packet.into_contents();
        let (Body::Udp(datagram), Some(addresses)) = (packet.body, self.addresses.pair(packet.path)) else {
            self.stats.invalid_packets += 1;
            return;
        };
        let (now, damages) = (self.clock.instant(cx.now), self.meter.damages());
        let (arrival, mut answers) = (Arrival { path: packet.path, addresses, ecn: packet.ecn }, VecDeque::new());
        let taken = self.connection.get_mut().receive(now, arrival, datagram, &mut answers);
        self.answers.extend(answers.into_iter().map(|answer| (packet.path, answer)));
        if !taken || self.meter.damages() != damages {
            self.stats.invalid_packets += 1;
        } else {
            self.stats.received_packets += 1;
            self.stats.received_wire_bytes += u64::from(packet.len);
        }
        self.report(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.at(cx.now);
        self.connection.get_mut().wake(self.clock.instant(cx.now));
        self.report(cx);
    }

    fn next_wake(&self) -> Time {
        self.wake
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        if let Some((path, answer)) = self.answers.pop_front() {
            return Some(self.packet(answer, path, Ecn::NotEct));
        }
        if self.buffer.capacity() == 0 {
            self.buffer = Vec::with_capacity(self.capacity);
        }
        while let Some(sent) = self.connection.get_mut().transmit(self.clock.instant(cx.now), &mut self.buffer) {
            self.report(cx);
            let Some(path) = self.addresses.path(sent.source, sent.destination) else {
                // There is no path to this address: as on a host without a route to it, the datagram goes nowhere.
                self.buffer.clear();
                continue;
            };
            let datagram = std::mem::take(&mut self.buffer);
            return Some(self.packet(datagram, path, sent.ecn));
        }
        let connection = self.connection.get_mut();
        // A timer that is due has run or will not: no stack sets one for the past to be run at once.
        let soonest = cx.now + Span::from_nanos(1);
        self.wake = connection.timeout().map_or(Time::NEVER, |at| self.clock.time(at).max(soonest));
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        if self.may_have_events {
            self.handle_events();
        }
        self.events.pop_front()
    }

    fn can_send_early_data(&self) -> bool {
        self.early_data
    }

    fn open(&mut self) -> Option<StreamId> {
        let may_open = self.connected || !self.early_data || self.connection.get_mut().has_early_keys();
        if !may_open || self.sending.iter().any(|s| s.reserved) {
            return self.reserve();
        }
        let id = self.connection.get_mut().open()?;
        // It is listed from now on, so that it is opened again if the server does not accept early data.
        Some(StreamId(self.sending(id).id))
    }

    fn write(&mut self, stream: StreamId, bytes: u64) {
        let s = self.sending(stream.0);
        s.written = s.written.saturating_add(bytes);
        s.waiting = s.waiting.saturating_add(bytes);
        self.pass_on(stream.0);
    }

    fn finish(&mut self, stream: StreamId) {
        self.sending(stream.0).ended = true;
        self.pass_on(stream.0);
    }

    fn read(&mut self, stream: StreamId, _: Time) -> u64 {
        let at = self.receiving.iter().position(|r| r.id == stream.0).unwrap_or_else(|| {
            let progress = ReadProgress { ordered: self.ordered, ..ReadProgress::default() };
            self.receiving.push(Receiving { id: stream.0, progress, ended: false });
            self.receiving.len() - 1
        });
        let r = &mut self.receiving[at];
        let before = r.progress.prefix;
        if self.connection.get_mut().read(stream.0, &mut r.progress) && !r.ended {
            r.ended = true;
            self.events.push_back(Event::Finished(stream));
        }
        r.progress.prefix - before
    }

    fn close(&mut self) {
        self.close_wanted = true;
        // What was written on a stream that was not ended can be known to be delivered only if it ends.
        let open: Vec<u64> = self.sending.iter().filter(|s| !s.ended).map(|s| s.id).collect();
        open.into_iter().for_each(|id| self.finish(StreamId(id)));
        self.close_if_done();
    }

    fn take_secrets(&mut self) -> String {
        self.secrets.take()
    }

    fn stats(&self) -> Stats {
        let counts = self.connection.borrow_mut().counts();
        let mut stats = self.stats.clone();
        stats.sent_packets = counts.sent_packets;
        stats.lost_packets = counts.lost_packets;
        // A stack sends the data of every packet that it gives up again, and counts no further.
        stats.retransmitted_packets = counts.lost_packets;
        stats.spurious_retransmissions = counts.spurious;
        stats.timeouts = self.meter.persistent();
        if let Some((sum, samples, _)) = self.meter.rtt() {
            stats.rtt_sum_ns = u128::from(sum);
            stats.rtt_samples = samples;
            stats.rtts = self.meter.rtts();
            stats.min_rtt = Some(Span::from_nanos(counts.min_rtt.as_nanos() as u64));
        }
        stats
    }

    fn paths(&self) -> usize {
        self.addresses.len()
    }

    fn add_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        let addresses = self.addresses.pair(path).ok_or(PathError::TooMany)?;
        self.at(cx.now);
        self.connection.get_mut().add_path(self.clock.instant(cx.now), path, addresses)
    }

    fn abandon_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        let addresses = self.addresses.pair(path).ok_or(PathError::NoSuchPath)?;
        self.at(cx.now);
        self.connection.get_mut().abandon_path(self.clock.instant(cx.now), addresses)
    }

    fn bytes_in_flight(&self, path: PathId) -> u64 {
        if self.meter.paths() > 1 {
            return self.meter.of(path.0.into()).in_flight();
        }
        let remote = self.connection.borrow().remote();
        let used = remote.and_then(|remote| self.addresses.path(None, remote)).unwrap_or_default();
        if path == used { self.meter.in_flight() } else { 0 }
    }
}
