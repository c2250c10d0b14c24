//! What all stacks share: a [`Machine`] becomes an [`Endpoint`] whose streams count bytes.

use crate::clock::{Calendar, Clock};
use crate::machine::{Inbox, Machine, News};
use crate::meter::Meter;
use crate::secrets::Secrets;
use haltere_net::{Cx, Ecn, Metric, Packet, PathId, Span, Time};
use haltere_transport::quic::sizes::IP_UDP;
use haltere_transport::{Body, CloseReason, Endpoint, Event, Role, Stats, StreamId};
use std::cell::RefCell;
use std::collections::VecDeque;

/// What a stack does not know of a stream that is written by number of bytes.
#[derive(Default, Debug)]
struct Sending {
    id: u64,
    /// Promised to the application, not yet opened in the stack.
    promised: bool,
    /// Written by the application…
    written: u64,
    /// …and not yet taken by the stack.
    waiting: u64,
    /// The application has ended the stream…
    ended: bool,
    /// …and the stack knows…
    told: bool,
    /// …and the peer has acknowledged all of it.
    delivered: bool,
}

/// What was read of a stream, and whether it has ended.
#[derive(Debug)]
struct Receiving {
    id: u64,
    inbox: Inbox,
    ended: bool,
}

/// An endpoint around a stack's connection.
pub(crate) struct Shell<M> {
    /// In a cell because a stack may have to write to tell what it counted.
    machine: RefCell<M>,
    role: Role,
    clock: Clock,
    calendar: Calendar,
    meter: Meter,
    /// Room for a datagram, bytes.
    room: usize,
    /// Whether streams are read in order.
    ordered: bool,
    now: Time,
    wake: Time,
    /// Whether the stack may have news.
    stirred: bool,
    connected: bool,
    over: bool,
    close_wanted: bool,
    /// Whether streams may be opened before the handshake is over.
    early: bool,
    sending: Vec<Sending>,
    receiving: Vec<Receiving>,
    events: VecDeque<Event>,
    /// Room for the next datagram, kept when there was none.
    spare: Vec<u8>,
    /// Datagrams that belong to no connection, such as Version Negotiation.
    answers: VecDeque<Vec<u8>>,
    stats: Stats,
    /// The last values of the metrics that were reported.
    reported: [u64; 5],
    secrets: Secrets,
}

/// What a machine hands to its shell at birth.
pub(crate) struct Parts<M> {
    pub machine: M,
    pub role: Role,
    pub clock: Clock,
    pub calendar: Calendar,
    pub meter: Meter,
    pub max_udp_payload: u16,
    pub ordered: bool,
    /// Whether streams may be opened before the handshake is over.
    pub early: bool,
}

impl<M: Machine> Shell<M> {
    pub fn new(parts: Parts<M>, secrets: Secrets) -> Shell<M> {
        Shell {
            machine: RefCell::new(parts.machine),
            role: parts.role,
            clock: parts.clock,
            calendar: parts.calendar,
            meter: parts.meter,
            room: usize::from(parts.max_udp_payload),
            ordered: parts.ordered,
            now: Time::ZERO,
            wake: Time::NEVER,
            stirred: false,
            connected: false,
            over: false,
            close_wanted: false,
            early: parts.early,
            sending: Vec::new(),
            receiving: Vec::new(),
            events: VecDeque::new(),
            spare: Vec::new(),
            answers: VecDeque::new(),
            stats: Stats::default(),
            reported: [0; 5],
            secrets,
        }
    }

    /// Takes the time of a call; what follows may stir the stack.
    fn at(&mut self, now: Time) {
        self.now = now;
        self.calendar.set(now);
        self.stirred = true;
    }

    fn sending(&mut self, id: u64) -> &mut Sending {
        let at = self.sending.iter().position(|s| s.id == id).unwrap_or_else(|| {
            self.sending.push(Sending { id, ..Sending::default() });
            self.sending.len() - 1
        });
        &mut self.sending[at]
    }

    /// Gives the stack what it takes of a stream.
    fn feed(&mut self, id: u64) {
        let at = self.sending.iter().position(|s| s.id == id);
        let Some(stream) = at.map(|i| &mut self.sending[i]).filter(|s| !s.promised) else { return };
        let machine = self.machine.get_mut();
        if stream.waiting > 0 {
            stream.waiting -= machine.write(id, stream.waiting);
        }
        if stream.waiting == 0 && stream.ended && !stream.told {
            stream.told = true;
            machine.finish(id);
        }
        self.stirred = true;
    }

    /// A stream that cannot be opened yet, under the number that it will have (RFC 9000 section 2.1).
    fn promise(&mut self) -> Option<StreamId> {
        let id = 4 * self.sending.len() as u64;
        self.sending.push(Sending { id, promised: true, ..Sending::default() });
        Some(StreamId(id))
    }

    /// Opens the streams that were promised, as far as the peer allows.
    fn keep_promises(&mut self) {
        let promised: Vec<u64> = self.sending.iter().filter(|s| s.promised).map(|s| s.id).collect();
        for id in promised {
            match self.machine.get_mut().open() {
                Some(opened) if opened == id => self.sending(id).promised = false,
                Some(_) => {
                    return self
                        .end(Event::Failed(CloseReason::ProtocolViolation("a stack numbers its streams otherwise")));
                }
                None => return,
            }
            self.feed(id);
        }
    }

    /// The handshake is over. What was written before has to be written again if the server did not take it.
    fn establish(&mut self) {
        self.connected = true;
        self.stats.connected_at = Some(self.now);
        let machine = self.machine.get_mut();
        if self.early && self.role == Role::Client && machine.has_early_keys() && !machine.was_early_data_taken() {
            for s in &mut self.sending {
                (s.promised, s.waiting, s.told, s.delivered) = (true, s.written, false, false);
            }
        }
        self.events.push_back(Event::Connected);
        self.keep_promises();
    }

    /// Begins the handshake, or begins it anew.
    fn begin(&mut self) {
        match self.machine.get_mut().connect(self.clock.instant(self.now)) {
            Ok(()) if self.machine.get_mut().has_early_keys() => self.keep_promises(),
            Ok(()) => {}
            Err(why) => self.end(Event::Failed(CloseReason::ProtocolViolation(why))),
        }
    }

    fn delivered(&self) -> bool {
        self.sending.iter().all(|s| s.delivered)
    }

    /// Whether nothing is owed in either direction.
    fn settled(&self) -> bool {
        self.delivered() && self.receiving.iter().all(|r| r.ended || r.inbox.prefix() == 0)
    }

    fn close_if_done(&mut self) {
        if self.close_wanted && !self.over && self.connected && self.delivered() {
            let now = self.clock.instant(self.now);
            self.machine.get_mut().close(now);
            self.end(Event::Closed);
        }
    }

    /// The application hears of nothing after this.
    fn end(&mut self, event: Event) {
        if !self.over {
            self.over = true;
            self.events.push_back(event);
        }
    }

    /// Turns the stack's news into events.
    fn gather(&mut self) {
        self.stirred = false;
        while let Some(news) = self.machine.get_mut().news() {
            match news {
                News::Connected if !self.connected => self.establish(),
                News::Connected => {}
                News::Unversioned => self.begin(),
                News::Opened => {
                    while let Some(id) = self.machine.get_mut().accept() {
                        self.events.push_back(Event::Readable(StreamId(id)));
                    }
                }
                News::Openable => {
                    self.keep_promises();
                    self.events.push_back(Event::Openable);
                }
                News::Readable(id) => self.events.push_back(Event::Readable(StreamId(id))),
                News::Writable(id) => self.feed(id),
                News::Delivered(id) => self.sending(id).delivered = true,
                News::Closed => self.end(Event::Closed),
                News::Silent => self.end(self.silence()),
                News::Failed(reason) => self.end(Event::Failed(reason)),
            }
        }
        self.close_if_done();
    }

    /// What the idle timeout means to the application (as the model has it).
    fn silence(&self) -> Event {
        match (self.connected, self.settled()) {
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
        let (window, ssthresh, pacing) = self.meter.controls();
        let rtt = self.meter.rtt().map_or(0, |(_, _, last, _)| last);
        let now = [window, ssthresh, self.meter.in_flight(), pacing, rtt];
        let metrics = [Metric::Cwnd, Metric::Ssthresh, Metric::BytesInFlight, Metric::PacingRate, Metric::Rtt];
        for (i, metric) in metrics.into_iter().enumerate() {
            if now[i] != self.reported[i] && (i == 2 || now[i] != 0) {
                cx.record(metric, now[i]);
            }
        }
        self.reported = now;
    }

    fn packet(&mut self, datagram: Vec<u8>, ecn: Ecn) -> Packet<Body> {
        self.stats.sent_all += 1;
        Packet { ecn, ..Packet::new(datagram.len() as u32 + IP_UDP, Body::Udp(datagram)) }
    }
}

impl<M: Machine> Endpoint for Shell<M> {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.at(cx.now);
        if self.role == Role::Client {
            self.begin();
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.at(cx.now);
        let Body::Udp(datagram) = packet.body else {
            self.stats.invalid_packets += 1;
            return;
        };
        let (now, damages) = (self.clock.instant(cx.now), self.meter.damages());
        let taken = self.machine.get_mut().receive(now, packet.ecn, datagram, &mut self.answers);
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
        self.machine.get_mut().wake(self.clock.instant(cx.now));
        self.report(cx);
    }

    fn next_wake(&self) -> Time {
        self.wake
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(self.packet(answer, Ecn::NotEct));
        }
        if self.spare.capacity() == 0 {
            self.spare = Vec::with_capacity(self.room);
        }
        let machine = self.machine.get_mut();
        if let Some(ecn) = machine.transmit(self.clock.instant(cx.now), &mut self.spare) {
            self.report(cx);
            let datagram = std::mem::take(&mut self.spare);
            return Some(self.packet(datagram, ecn));
        }
        // A timer that is due has run or will not: no stack sets one for the past to be run at once.
        let soonest = cx.now + Span::from_nanos(1);
        self.wake = machine.timeout().map_or(Time::NEVER, |at| self.clock.time(at).max(soonest));
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        if self.stirred {
            self.gather();
        }
        self.events.pop_front()
    }

    fn can_send_early_data(&self) -> bool {
        self.early
    }

    fn open(&mut self) -> Option<StreamId> {
        let may_open = self.connected || !self.early || self.machine.get_mut().has_early_keys();
        if !may_open || self.sending.iter().any(|s| s.promised) {
            return self.promise();
        }
        let id = self.machine.get_mut().open()?;
        // Known from now on, lest it be lost when the server does not take early data.
        Some(StreamId(self.sending(id).id))
    }

    fn write(&mut self, stream: StreamId, bytes: u64) {
        let s = self.sending(stream.0);
        s.written = s.written.saturating_add(bytes);
        s.waiting = s.waiting.saturating_add(bytes);
        self.feed(stream.0);
    }

    fn finish(&mut self, stream: StreamId) {
        self.sending(stream.0).ended = true;
        self.feed(stream.0);
    }

    fn read(&mut self, stream: StreamId, _: Time) -> u64 {
        let at = self.receiving.iter().position(|r| r.id == stream.0).unwrap_or_else(|| {
            self.receiving.push(Receiving { id: stream.0, inbox: Inbox::new(self.ordered), ended: false });
            self.receiving.len() - 1
        });
        let r = &mut self.receiving[at];
        let before = r.inbox.prefix();
        if self.machine.get_mut().read(stream.0, &mut r.inbox) && !r.ended {
            r.ended = true;
            self.events.push_back(Event::Finished(stream));
        }
        r.inbox.prefix() - before
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
        let counts = self.machine.borrow_mut().counts();
        let mut stats = self.stats;
        stats.sent_packets = counts.sent_packets;
        stats.lost_packets = counts.lost_packets;
        // A stack sends the data of every packet that it gives up again, and counts no further.
        stats.retransmitted_packets = counts.lost_packets;
        stats.spurious_retransmissions = counts.spurious;
        stats.timeouts = self.meter.persistent();
        if let Some((sum, samples, _, _)) = self.meter.rtt() {
            stats.rtt_sum_ns = u128::from(sum);
            stats.rtt_samples = samples;
            stats.min_rtt = Some(Span::from_nanos(counts.min_rtt.as_nanos() as u64));
        }
        stats
    }

    fn bytes_in_flight(&self, _: PathId) -> u64 {
        self.meter.in_flight()
    }
}
