//! The connection: what its paths share, and the interface to what drives it.

use super::buffer::{RecvBuffer, SendBuffer, StreamData};
use super::config::Config;
use super::extras::Extras;
use super::frame::TransportParameters;
use super::frequency::Frequency;
use super::identifiers::Identifiers;
use super::migration::Migration;
use super::multipath::{Multipath, Parts};
use super::opening::Opening;
use super::packet::{QuicPacket, SpaceId};
use super::path::{Path, Situation, Way};
use super::received::AckPolicy;
use super::recovery::{Books, Fates};
use super::sent::Record;
use super::sizes::Session;
use super::space::{Space, Spaces};
use super::streams::{Limits, Streams};
use crate::Body;
use crate::endpoint::{CloseReason, Endpoint, Event, Role, Stats, StreamId};
use crate::path::{AddressChange, PathError, PathStatus, PathView};
use crate::spares::Spares;
use haltere_net::incident::{TimerChange, TimerName};
use haltere_net::{Cx, Ecn, Incident, Packet, PathId, Span, Time};
use std::collections::VecDeque;

/// The handshake's byte streams of one packet number space, and how far its messages are dealt with.
#[derive(Default, Debug)]
pub(super) struct Crypto {
    pub send: SendBuffer,
    pub recv: RecvBuffer,
    /// Whether the peer's flight in this space has been taken whole.
    pub taken: bool,
    pub parameters: Option<Box<TransportParameters>>,
}

/// Which keys there are and how far the handshake is (RFC 9001 section 4.9).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Progress {
    pub started: bool,
    pub initial_discarded: bool,
    pub handshake_keys: bool,
    pub handshake_discarded: bool,
    /// 1-RTT keys to send with.
    pub data_keys: bool,
    /// The handshake is complete (RFC 9001 section 4.1.1): 1-RTT packets are read.
    pub complete: bool,
    /// The handshake is confirmed (section 4.1.2).
    pub confirmed: bool,
    /// Whether the peer surely takes this end's address for validated.
    pub peer_validated: bool,
}

/// Whether the connection lives (RFC 9000 section 10).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Open,
    /// CONNECTION_CLOSE was sent; until then it is sent again in answer to packets, at most once a probe timeout.
    Closing {
        until: Time,
        quiet: Time,
    },
    /// Nothing is sent any more.
    Over,
}

/// One end of a QUIC connection.
///
/// A datagram that arrives for a path the connection does not have, or with a body that is not QUIC's, is dropped.
pub struct Connection {
    pub(super) config: Config,
    pub(super) now: Time,
    pub(super) state: State,
    pub(super) progress: Progress,
    pub(super) opening: Opening,
    pub(super) paths: Vec<Path>,
    pub(super) spaces: Spaces,
    /// The state of several paths; `None` where the configuration allows one.
    pub(super) multi: Option<Box<Multipath>>,
    /// The state of a change of addresses; `None` while there is none.
    pub(super) migration: Option<Box<Migration>>,
    /// Connection identifiers; `None` where their number limits nothing.
    pub(super) identifiers: Option<Box<Identifiers>>,
    /// Frames that few connections send; `None` where none of them are sent.
    pub(super) extras: Option<Box<Extras>>,
    /// When acknowledgements are sent: as configured, or as the peer asks.
    pub(super) acks: AckPolicy,
    pub(super) frequency: Frequency,
    pub(super) streams: Streams,
    /// Handshake data of the Initial and of the Handshake space.
    pub(super) crypto: [Crypto; 2],
    pub(super) peer: Option<TransportParameters>,
    pub(super) handshake_done_pending: bool,
    pub(super) events: VecDeque<Event>,
    pub(super) stats: Stats,
    /// Packets that came before the keys to read them (RFC 9000 section 5.2.1), with their path and time of arrival.
    pub(super) kept: Vec<(usize, QuicPacket, (Time, Ecn))>,
    pub(super) fates: Fates,
    /// A packet that was read, whose memory the next one that is sent uses again.
    pub(super) spare: Option<Packet<Body>>,
    /// The next deadline of silence: a PING goes out, or, at [`Connection::idle_end`], the connection is given up.
    pub(super) idle_deadline: Time,
    /// The time at which the connection is given up for silence.
    idle_end: Time,
    /// Whether an ack-eliciting packet was sent since the last one was received (RFC 9000 section 10.1).
    pub(super) sent_since_heard: bool,
    pub(super) close_wanted: bool,
    pub(super) close_pending: bool,
    pub(super) close_error: Option<&'static str>,
}

impl Connection {
    /// One end of a connection. It begins with a single path.
    pub fn new(config: Config) -> Connection {
        let scheduler = || config.scheduler.build(config.stream.part("scheduler"), config.faults.clone());
        let parts = (config.max_paths > 1).then(|| Parts { scheduler: scheduler(), controllers: None });
        let algorithm = config.algorithm;
        Connection::assemble(config, parts.map(|parts| Multipath::new(parts, algorithm)))
    }

    /// A connection with a scheduler and congestion controllers of one's own, in the place of those that the configuration names.
    pub fn with_parts(config: Config, parts: Parts) -> Connection {
        let multi = Multipath::new(parts, config.algorithm);
        Connection::assemble(config, Some(multi))
    }

    fn assemble(config: Config, multi: Option<Box<Multipath>>) -> Connection {
        let limits = Limits {
            stream_window: config.stream_window,
            max_stream_window: config.max_stream_window,
            connection_window: config.connection_window,
            max_connection_window: config.max_connection_window,
            max_streams: config.max_streams,
            unidirectional: config.unidirectional,
            takes_by_window: config.takes_by_window,
        };
        Connection {
            now: Time::ZERO,
            state: State::Open,
            progress: Progress { peer_validated: config.role == Role::Server, ..Progress::default() },
            opening: Opening::default(),
            paths: vec![Path::new(PathId(0), &config, multi.as_ref().and_then(|m| m.controllers.as_ref()))],
            spaces: Spaces::new(),
            multi,
            migration: None,
            identifiers: Identifiers::of(&config),
            extras: Extras::of(&config),
            streams: Streams::new(config.role, limits),
            acks: config.ack,
            frequency: Frequency::default(),
            crypto: Default::default(),
            peer: None,
            handshake_done_pending: false,
            events: VecDeque::new(),
            stats: Stats { rtts: config.rtts.then(Default::default), ..Stats::default() },
            kept: Vec::new(),
            fates: Fates::default(),
            spare: None,
            idle_deadline: Time::NEVER,
            idle_end: Time::NEVER,
            sent_since_heard: false,
            close_wanted: false,
            close_pending: false,
            close_error: None,
            config,
        }
    }

    #[inline]
    pub(super) fn situation(&self) -> Situation {
        Situation {
            confirmed: self.progress.confirmed,
            peer_validated: self.progress.peer_validated,
            handshake_keys: self.progress.handshake_keys && !self.progress.handshake_discarded,
            max_ack_delay: self.frequency.max_ack_delay(),
            several: self.paths.len() > 1,
        }
    }

    /// The idle timeout in force: the smaller of both ends', but not below three probe timeouts (section 10.1).
    pub(super) fn restart_idle(&mut self) {
        let peer = self.peer.map_or(Span::MAX, |p| p.max_idle_timeout);
        let pto = match &self.paths[..] {
            [path] => path.rtt.pto(),
            paths => paths.iter().map(|p| p.rtt.pto()).max().unwrap_or(Span::ZERO),
        };
        self.idle_deadline = self.now + self.config.idle_timeout.min(peer).max(pto * 3);
        if self.config.keep_alive.is_some() {
            self.idle_end = self.idle_deadline;
            self.put_ping_first();
        }
    }

    /// A PING goes out before the silence is too long, if the client keeps the connection alive.
    #[cold]
    fn put_ping_first(&mut self) {
        if let Some(period) = self.config.keep_alive.filter(|_| self.config.role == Role::Client) {
            self.idle_deadline = self.idle_end.min(self.now + period);
        }
    }

    /// The silence is too long, or long enough for a PING.
    #[cold]
    fn on_silence(&mut self) {
        if self.config.keep_alive.is_none() || self.idle_end <= self.now {
            return self.on_idle_timeout();
        }
        if self.progress.complete {
            let main = self.main_path();
            let space = &mut self.spaces.data[main];
            space.probes = space.probes.max(1);
            self.put_ping_first();
        } else {
            // Nothing may be sent yet; the probes of the handshake go out meanwhile.
            let period = self.config.keep_alive.unwrap_or(Span::ZERO).max(self.paths[0].rtt.pto());
            self.idle_deadline = self.idle_end.min(self.now + period);
        }
    }

    /// Ends the connection because of what the peer did (or did not do).
    pub(super) fn fail(&mut self, error: &'static str) {
        if self.state != State::Open {
            return;
        }
        self.events.push_back(Event::Failed(CloseReason::ProtocolViolation(error)));
        self.close_error = Some(error);
        self.begin_closing();
    }

    fn begin_closing(&mut self) {
        // RFC 9000 section 10.2: at least three probe timeouts. The peer may have lost the last acknowledgement with
        // CONNECTION_CLOSE and try again for as long as its idle timeout; answering costs no timer.
        self.restart_idle();
        let until = if self.config.keep_alive.is_some() { self.idle_end } else { self.idle_deadline };
        self.state = State::Closing { until, quiet: self.now };
        self.close_pending = true;
    }

    /// Closes if that is wanted and everything written was delivered.
    #[inline]
    pub(super) fn close_if_done(&mut self) {
        if self.close_wanted && self.may_close() {
            self.events.push_back(Event::Closed);
            self.begin_closing();
        }
    }

    #[inline(never)]
    fn may_close(&self) -> bool {
        self.state == State::Open && self.progress.complete && self.streams.delivered()
    }

    fn on_idle_timeout(&mut self) {
        // RFC 9000 section 10.1: the connection is closed silently; whether that is a failure is for who waits to say.
        let event = if !self.progress.complete {
            Event::Failed(CloseReason::HandshakeTimeout)
        } else if self.streams.settled() {
            Event::Closed
        } else {
            Event::Failed(CloseReason::IdleTimeout)
        };
        self.events.push_back(event);
        self.state = State::Over;
    }

    /// The loss-detection timer of a path ran out (RFC 9002 appendix A.9).
    pub(super) fn on_loss_timer(&mut self, i: usize, cx: &mut Cx<'_>) {
        let about = self.situation();
        while let Some((id, TimerName::Loss)) = self.paths[i].due(&self.spaces, i, cx.now, &about) {
            let space = self.spaces.of_mut(id, i);
            cx.tell(Incident::Timer(TimerName::Loss, TimerChange::Expired));
            let mut books = Books { fates: &mut self.fates, stats: &mut self.stats };
            self.paths[i].detect((id, space), &about, &mut books, cx);
            self.apply_fates(i, id);
            self.set_timer(i, cx);
        }
        // While a loss was awaited, the probe timeout may have passed as well.
        if self.paths[i].timer <= cx.now
            && let Some((id, TimerName::Probe)) = self.paths[i].due(&self.spaces, i, cx.now, &about)
        {
            cx.tell(Incident::Timer(TimerName::Probe, TimerChange::Expired));
            self.on_probe_timeout(i, id);
            self.set_timer(i, cx);
        }
    }

    /// RFC 9002 section 6.2.4: one or two probes go out, with new data if there are any, else with the oldest again.
    fn on_probe_timeout(&mut self, i: usize, id: SpaceId) {
        let sendable = self.streams.sendable();
        self.paths[i].pto_count += 1;
        self.stats.probes += 1;
        // The handshake is that of the first path, and says nothing of it.
        let data = id == SpaceId::Data || self.progress.confirmed;
        if self.paths.len() > 1 && data && self.suspect(i) {
            return;
        }
        if self.config.probe_oldest {
            return self.probe_oldest(i, id);
        }
        if id == SpaceId::Data {
            let space = self.spaces.of_mut(id, i);
            space.probes = 2;
            match (sendable, self.config.probe_data) {
                (true, _) if self.config.small_probes => space.sent.oldest_beside_streams(2, &mut self.fates.lost),
                (true, _) => {}
                (false, true) => space.sent.oldest(2, &mut self.fates.lost),
                (false, false) => space.sent.oldest_beside_streams(2, &mut self.fates.lost),
            }
            self.apply_fates(i, id);
            return;
        }
        if self.config.small_probes {
            // quinn probes the space whose timer it was; what the probes hold is looked for when they go.
            let space = self.spaces.of_mut(id, i);
            space.probes = if space.sent.awaits() { 2 } else { 1 };
            return;
        }
        // Both spaces of the handshake send again what is missing: it is one flight.
        for id in [SpaceId::Initial, SpaceId::Handshake] {
            let space = self.spaces.of_mut(id, i);
            if space.sent.awaits() {
                space.probes = 2;
                space.sent.oldest(usize::MAX, &mut self.fates.lost);
            }
            self.apply_fates(i, id);
        }
        // RFC 9002 section 6.2.4: other spaces with something in flight are probed too.
        if self.opening.early_keys && self.spaces.data[i].sent.awaits() {
            let space = &mut self.spaces.data[i];
            space.probes = 2;
            space.sent.oldest(2, &mut self.fates.lost);
            self.apply_fates(i, SpaceId::Data);
        }
        let space = self.spaces.of_mut(id, i);
        space.probes = space.probes.max(1);
    }

    /// Tells streams and the handshake what became of what they sent.
    pub(super) fn apply_fates(&mut self, i: usize, id: SpaceId) {
        if self.fates.acked.is_empty() && self.fates.lost.is_empty() {
            return;
        }
        for record in &self.fates.acked {
            match *record {
                Record::Stream { id, offset, len, fin } => self.streams.on_acked(id, StreamData { offset, len, fin }),
                Record::Ack { largest } => self.spaces.of_mut(id, i).received.on_ack_acked(largest),
                Record::PathAck { path, largest } => {
                    if let Some(other) = self.paths.iter().position(|other| other.id == path) {
                        self.spaces.data[other].received.on_ack_acked(largest);
                    }
                }
                Record::AckFrequency { sequence } => self.frequency.on_acked(sequence),
                Record::Datagram => self.extras.iter_mut().for_each(|extras| extras.on_datagram_acked()),
                Record::Crypto { offset, len, last } => {
                    if let Some(crypto) = self.crypto.get_mut(id as usize) {
                        crypto.send.on_acked(StreamData { offset, len, fin: last });
                    }
                }
                _ => {}
            }
        }
        self.fates.acked.clear();
        if !self.fates.lost.is_empty() {
            self.on_records_lost(id, i);
        }
    }

    #[inline(never)]
    fn on_records_lost(&mut self, id: SpaceId, i: usize) {
        if let Some(multi) = &mut self.multi {
            for record in &self.fates.lost {
                if let Record::Stream { id, offset, len, .. } = *record {
                    multi.reinjection.on_lost(self.paths[i].id, id, offset, len.into());
                }
            }
        }
        for record in &self.fates.lost {
            match *record {
                Record::Stream { id, offset, len, fin } => self.streams.on_lost(id, StreamData { offset, len, fin }),
                Record::Crypto { offset, len, last } => {
                    if let Some(crypto) = self.crypto.get_mut(id as usize) {
                        crypto.send.on_lost(StreamData { offset, len, fin: last });
                    }
                }
                // Section 13.3: frames that state a limit are sent again with what it is by then.
                Record::MaxData => self.streams.max_data_pending = true,
                Record::MaxStreams => self.streams.max_streams_pending = true,
                Record::MaxStreamData { id } => self.streams.on_limit_lost(id),
                Record::Blocked { id } => self.streams.on_blocked_lost(id),
                Record::StreamsBlocked { limit } => self.streams.on_streams_blocked_lost(limit),
                Record::HandshakeDone => self.handshake_done_pending = true,
                Record::AckFrequency { sequence } => self.frequency.on_lost(sequence),
                Record::PathAbandon { path } => {
                    if let Some(multi) = &mut self.multi {
                        multi.abandons.push_back(path);
                    }
                }
                Record::PathStatus { path } => {
                    if let Some(multi) = &mut self.multi {
                        multi.statuses.push_back(path);
                    }
                }
                Record::AddAddress | Record::Paths => {
                    if let Some(multi) = &mut self.multi {
                        multi.on_announcement_lost(*record);
                    }
                }
                Record::Identifier(frame) => {
                    if let Some(ids) = &mut self.identifiers {
                        ids.on_lost(frame);
                    }
                }
                Record::Keepsake(keepsake) => {
                    if let Some(keepsakes) = self.extras.as_mut().and_then(|extras| extras.keepsakes.as_mut()) {
                        keepsakes.on_lost(keepsake);
                    }
                }
                // Section 5.2 of RFC 9221: they are not sent again.
                Record::Datagram => self.extras.iter_mut().for_each(|extras| extras.on_datagram_lost()),
                Record::Ack { .. } | Record::PathAck { .. } => {}
            }
        }
        self.fates.lost.clear();
    }

    /// Discards the keys of a space and all that goes with them (RFC 9001 section 4.9).
    pub(super) fn discard(&mut self, id: SpaceId) {
        match id {
            SpaceId::Initial => self.progress.initial_discarded = true,
            SpaceId::Handshake => self.progress.handshake_discarded = true,
            SpaceId::Data => return,
        }
        let bytes = self.spaces.of_mut(id, 0).discard();
        self.paths[0].on_discarded(bytes);
    }

    /// Sets a path's timer and reports what changed on it.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, i: usize, cx: &mut Cx<'_>) {
        if self.progress.confirmed {
            // The common case: one space left.
            let path = &mut self.paths[i];
            path.set_data_timer(&self.spaces.data[i], self.frequency.max_ack_delay());
            path.report(&self.spaces, i, cx);
        } else {
            self.set_timer_of_all(i, cx);
        }
    }

    fn set_timer_of_all(&mut self, i: usize, cx: &mut Cx<'_>) {
        let about = self.situation();
        let path = &mut self.paths[i];
        path.set_timer(&self.spaces, i, cx.now, &about);
        path.report(&self.spaces, i, cx);
    }

    /// The RTT by which receive windows judge how fast they are used up.
    pub(super) fn rtt(&self) -> Option<Span> {
        self.paths.first().and_then(|p| p.rtt.smoothed())
    }
}

impl Endpoint for Connection {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.now = cx.now;
        if self.config.role == Role::Client && !self.progress.started {
            self.say_hello();
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.read_packet(packet, &mut Spares::default(), cx);
    }

    fn read_packet(&mut self, packet: Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        self.now = cx.now;
        self.receive(packet, spares, cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        self.now = cx.now;
        if self.state != State::Open {
            return;
        }
        if self.idle_deadline <= cx.now {
            self.on_silence();
        }
        if self.state != State::Open {
            return;
        }
        if self.migration.is_some() {
            self.on_trial_timers(cx);
        }
        for i in 0..self.paths.len() {
            if self.paths[i].timer <= cx.now {
                self.on_loss_timer(i, cx);
            }
        }
    }

    fn next_wake(&self) -> Time {
        if self.state != State::Open {
            return Time::NEVER;
        }
        if let ([path], [data], None, None) = (&self.paths[..], &self.spaces.data[..], &self.multi, &self.migration) {
            return path.next_wake(data).min(self.idle_deadline);
        }
        let waits = self.multi.as_ref().map_or(Time::NEVER, |m| m.wait_until);
        let waits = self.migration.as_ref().map_or(waits, |m| m.next_wake().min(waits));
        let of_path = |(path, data): (&Path, &Space)| path.next_wake(data);
        self.paths.iter().zip(&self.spaces.data).map(of_path).fold(self.idle_deadline, Time::min).min(waits)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.make_packet(&mut Spares::default(), cx)
    }

    fn make_packet(&mut self, spares: &mut Spares, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.now = cx.now;
        if self.spare.is_none() {
            self.spare = spares.take();
        }
        self.transmit(cx)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn can_send_early_data(&self) -> bool {
        self.config.role == Role::Client && self.config.session == Session::EarlyData
    }

    fn open(&mut self) -> Option<StreamId> {
        self.streams.open()
    }

    fn write(&mut self, stream: StreamId, bytes: u64) {
        self.streams.write(stream.0, bytes);
    }

    fn finish(&mut self, stream: StreamId) {
        self.streams.finish(stream.0);
    }

    fn read(&mut self, stream: StreamId, now: Time) -> u64 {
        let rtt = self.rtt();
        self.streams.read(stream.0, now, rtt, &mut self.events)
    }

    fn close(&mut self) {
        self.close_wanted = true;
        self.close_if_done();
    }

    fn stats(&self) -> Stats {
        let reinjected_bytes = self.multi.as_ref().map_or(0, |multi| multi.reinjection.bytes());
        Stats { reinjected_bytes, reassembly: Some(Box::new(self.streams.reassembly().clone())), ..self.stats.clone() }
    }

    fn paths(&self) -> usize {
        self.paths.len()
    }

    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.place(path).map_or(0, |i| self.paths[i].in_flight)
    }

    fn add_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        self.now = cx.now;
        self.open_path(path)
    }

    fn abandon_path(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        self.now = cx.now;
        self.give_up(path)
    }

    fn migrate(&mut self, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        self.now = cx.now;
        self.begin_migration(Way(path), cx)
    }

    fn on_new_address(&mut self, of: PathId, path: PathId, change: AddressChange, cx: &mut Cx<'_>) -> bool {
        self.now = cx.now;
        self.expect_new_address(of, Way(path), change);
        true
    }

    fn set_status(&mut self, path: PathId, status: PathStatus, cx: &mut Cx<'_>) -> Result<(), PathError> {
        self.now = cx.now;
        self.change_status(path, status)
    }

    fn path_view(&self, path: PathId) -> Option<PathView> {
        self.place(path).map(|i| self.paths[i].view())
    }
}
