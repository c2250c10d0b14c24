//! Streams and their flow control (RFC 9000 sections 2 to 4). Those of a connection are all bidirectional or all unidirectional.

mod control;
mod taking;

use self::taking::Taking;
use super::Verdict;
use super::buffer::{Chunk, RecvBuffer, SendBuffer, StreamData};
use super::flow::ReceiveWindow;
use super::frame::{TransportParameters, stream_header, varint_len};
use crate::endpoint::{Event, Role, StreamId};
use crate::reassembly::{Reassembly, Waiting};
use crate::reordering::{Release, Sequence};
use crate::scheduler::Demand;
use haltere_net::{Cx, Span, Time};
use std::collections::VecDeque;

/// Room in a packet below which no further STREAM frame is begun.
pub(super) const LEAST_ROOM: u32 = 24;
/// A lone STREAM frame is begun where there is more room than this (quiche 0.30.0, `frame.rs`, `MAX_STREAM_OVERHEAD`).
pub(super) const LONE_OVERHEAD: u32 = 12;

#[derive(Clone, Debug)]
struct Stream {
    send: SendBuffer,
    /// The peer's limit on what is sent.
    send_limit: u64,
    /// The limit that the last STREAM_DATA_BLOCKED frame reported.
    told_blocked: Option<u64>,
    /// Whether it stands in the queue of streams with something to send.
    queued: bool,
    recv: RecvBuffer,
    order: Sequence,
    window: ReceiveWindow,
    /// Whether a MAX_STREAM_DATA frame is to be sent.
    limit_pending: bool,
    told_readable: bool,
    told_finished: bool,
}

/// The configuration of streams.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub stream_window: u64,
    pub max_stream_window: u64,
    pub connection_window: u64,
    pub max_connection_window: u64,
    pub max_streams: u64,
    pub unidirectional: bool,
    /// Whether no more of what applications write is taken than the window has left.
    pub takes_by_window: bool,
}

/// All streams of a connection.
#[derive(Debug)]
pub(super) struct Streams {
    role: Role,
    limits: Limits,
    /// By initiator (client, server) and ordinal number; `None` once both directions are over.
    tables: [Vec<Option<Box<Stream>>>; 2],
    /// Streams with something to send, in their turn.
    active: VecDeque<u64>,
    /// Connection-level credit: how far new data may go, which is what the peer allows, or as far as they were taken; what was used.
    data_limit: u64,
    data_sent: u64,
    told_data_blocked: Option<u64>,
    window: ReceiveWindow,
    data_received: u64,
    /// Bytes behind gaps of their streams, and how long they waited.
    held: u64,
    waiting: Waiting,
    /// Streams the peer lets us open, and the initial limit of each.
    peer_max_streams: u64,
    peer_stream_limit: u64,
    /// Streams we let the peer open.
    max_streams: u64,
    closed_by_peer: u64,
    /// Streams for which a MAX_STREAM_DATA frame is to be sent.
    limit_updates: VecDeque<u64>,
    /// Frames to be sent whatever the streams do.
    pub max_data_pending: bool,
    pub max_streams_pending: bool,
    streams_blocked_pending: bool,
    told_streams_blocked: Option<u64>,
    blocked: VecDeque<u64>,
    /// The stream whose next frame is to leave out bytes.
    skipping: Option<u64>,
    taking: Option<Box<Taking>>,
}

/// A STREAM frame to be sent, and whether it carries data again.
#[derive(Debug)]
pub(super) struct StreamFrame {
    pub id: u64,
    pub offset: u64,
    pub len: u32,
    pub fin: bool,
    pub explicit_len: bool,
    pub again: bool,
}

/// The bit in the number of a unidirectional stream (RFC 9000 section 2.1).
const UNIDIRECTIONAL: u64 = 2;

fn initiator(id: u64) -> usize {
    (id & 1) as usize
}

impl Streams {
    pub fn new(role: Role, limits: Limits) -> Streams {
        Streams {
            role,
            limits,
            tables: [Vec::new(), Vec::new()],
            active: VecDeque::new(),
            data_limit: 0,
            data_sent: 0,
            told_data_blocked: None,
            window: ReceiveWindow::new(limits.connection_window, limits.max_connection_window),
            data_received: 0,
            held: 0,
            waiting: Waiting::default(),
            peer_max_streams: 0,
            peer_stream_limit: 0,
            max_streams: limits.max_streams,
            closed_by_peer: 0,
            limit_updates: VecDeque::new(),
            max_data_pending: false,
            max_streams_pending: false,
            streams_blocked_pending: false,
            told_streams_blocked: None,
            skipping: None,
            taking: limits.takes_by_window.then(Box::default),
            blocked: VecDeque::new(),
        }
    }

    fn own(&self) -> usize {
        usize::from(self.role == Role::Server)
    }

    /// The handshake brought the limits that the peer sets.
    pub fn on_parameters(&mut self, parameters: &TransportParameters) {
        self.raise_max_data(parameters.initial_max_data);
        self.peer_max_streams = self.peer_max_streams.max(parameters.initial_max_streams);
        self.peer_stream_limit = self.peer_stream_limit.max(parameters.initial_max_stream_data);
        // Streams that were opened with remembered limits (RFC 9000 section 7.4.1: none may fall).
        for number in 0..self.tables[self.own()].len() as u64 {
            let id = number << 2 | self.kind() | self.own() as u64;
            let limit = self.peer_stream_limit;
            if let Some(stream) = self.get_mut(id).filter(|s| s.send_limit < limit) {
                stream.send_limit = limit;
                self.activate(id);
            }
        }
    }

    fn make(&self) -> Box<Stream> {
        Box::new(Stream {
            send: SendBuffer::default(),
            send_limit: self.peer_stream_limit,
            told_blocked: None,
            queued: false,
            recv: RecvBuffer::default(),
            order: Sequence::default(),
            window: ReceiveWindow::new(self.limits.stream_window, self.limits.max_stream_window),
            limit_pending: false,
            told_readable: false,
            told_finished: false,
        })
    }

    #[inline]
    fn get(&self, id: u64) -> Option<&Stream> {
        self.tables[initiator(id)].get((id >> 2) as usize)?.as_deref()
    }

    #[inline]
    fn get_mut(&mut self, id: u64) -> Option<&mut Stream> {
        self.tables[initiator(id)].get_mut((id >> 2) as usize)?.as_deref_mut()
    }

    /// Whether a stream existed and is forgotten.
    pub fn is_over(&self, id: u64) -> bool {
        let place = usize::try_from(id >> 2).unwrap_or(usize::MAX);
        matches!(self.tables[initiator(id)].get(place), Some(None))
    }

    /// Opens a stream, if the peer allows one more.
    pub fn open(&mut self) -> Option<StreamId> {
        let own = self.own();
        let number = self.tables[own].len() as u64;
        if number >= self.peer_max_streams {
            // Section 4.6: told once for each limit, and not before the limit is known.
            let limit = Some(self.peer_max_streams);
            self.streams_blocked_pending |= self.peer_max_streams > 0 && self.told_streams_blocked != limit;
            self.told_streams_blocked = limit;
            return None;
        }
        let mut stream = self.make();
        if self.limits.unidirectional {
            // The peer can write nothing to it.
            stream.told_finished = true;
            stream.window = ReceiveWindow::new(0, 0);
        }
        self.tables[own].push(Some(stream));
        Some(StreamId(number << 2 | self.kind() | own as u64))
    }

    pub fn write(&mut self, id: u64, bytes: u64) {
        if let Some(stream) = self.get_mut(id) {
            stream.send.write(bytes);
            self.activate(id);
            if self.taking.is_some() {
                self.offer(bytes);
            }
        }
    }

    pub fn finish(&mut self, id: u64) {
        if let Some(stream) = self.get_mut(id) {
            stream.send.finish();
            self.activate(id);
        }
    }

    /// Takes what is ready of a stream.
    pub fn read(&mut self, id: u64, now: Time, rtt: Option<Span>, events: &mut VecDeque<Event>) -> u64 {
        let Some(stream) = self.get_mut(id) else { return 0 };
        let bytes = stream.recv.read();
        stream.told_readable = false;
        let exhausted = stream.recv.exhausted();
        if stream.window.consume(bytes, now, rtt) {
            self.update_limit(id);
        }
        self.max_data_pending |= self.window.consume(bytes, now, rtt);
        if exhausted {
            self.tell_finished(id, events);
        }
        bytes
    }

    /// Has the peer told a stream's new limit. Credit for a stream whose final size is known would be of no use
    /// (section 19.10).
    fn update_limit(&mut self, id: u64) {
        if let Some(stream) = self.get_mut(id)
            && stream.recv.final_size().is_none()
            && !stream.limit_pending
        {
            stream.limit_pending = true;
            self.limit_updates.push_back(id);
        }
    }

    #[inline(never)]
    fn tell_finished(&mut self, id: u64, events: &mut VecDeque<Event>) {
        if let Some(stream) = self.get_mut(id)
            && stream.recv.exhausted()
            && !stream.told_finished
        {
            stream.told_finished = true;
            events.push_back(Event::Finished(StreamId(id)));
            self.retire(id);
        }
    }

    /// Forgets a stream when both directions are over; the peer may then open another.
    fn retire(&mut self, id: u64) {
        let silent = self.limits.unidirectional && initiator(id) != self.own();
        let over = |s: &Stream| s.told_finished && (silent || (s.send.finished() && s.send.delivered()));
        if !self.get(id).is_some_and(over) {
            return;
        }
        if let Some(slot) = self.tables[initiator(id)].get_mut((id >> 2) as usize) {
            *slot = None;
        }
        if initiator(id) != self.own() {
            self.closed_by_peer += 1;
            let allowed = self.closed_by_peer + self.limits.max_streams;
            // Section 4.6: renewed in steps, so as not to send a frame for each stream.
            if allowed - self.max_streams >= self.limits.max_streams.div_ceil(2) {
                self.max_streams = allowed;
                self.max_streams_pending = true;
            }
        }
    }

    /// A STREAM frame arrived.
    ///
    /// # Errors
    /// The transport error it makes (RFC 9000 section 20.1).
    #[inline(always)]
    pub fn on_stream_frame(
        &mut self,
        id: u64,
        data: StreamData,
        (now, rtt): (Time, Option<Span>),
        events: &mut VecDeque<Event>,
    ) -> Verdict {
        self.admit(id)?;
        let (connection_limit, data_received) = (self.window.limit(), self.data_received);
        let stream = self.tables[initiator(id)].get_mut((id >> 2) as usize);
        let Some(stream) = stream.and_then(Option::as_deref_mut) else { return Ok(()) };
        let end = data.end();
        if end > stream.window.limit() {
            return Err("FLOW_CONTROL_ERROR: a stream's limit is exceeded");
        }
        if data_received + end.saturating_sub(stream.recv.highest()) > connection_limit {
            return Err("FLOW_CONTROL_ERROR: the connection's limit is exceeded");
        }
        let before = stream.recv.held();
        let grown = stream.recv.on_frame(data)?;
        let after = stream.recv.held();
        if data.len > 0 {
            let counts = self.waiting.reordering();
            stream.order.arrive(data.offset, end, Release::AtOnce, now, counts);
            stream.order.deliver(stream.recv.in_order(), now, counts);
        }
        let exhausted = stream.recv.exhausted();
        if stream.recv.readable() > 0 && !stream.told_readable {
            stream.told_readable = true;
            events.push_back(Event::Readable(StreamId(id)));
        }
        let enlarged = grown > 0 && stream.window.on_received(end, now, rtt);
        if before != after {
            self.held = self.held + after - before;
            self.waiting.update(self.held, now);
        }
        self.data_received += grown;
        if enlarged {
            self.update_limit(id);
        }
        self.max_data_pending |= grown > 0 && self.window.on_received(self.data_received, now, rtt);
        if exhausted {
            self.tell_finished(id, events);
        }
        Ok(())
    }

    /// Makes sure that a stream named by the peer may exist, and creates it if it is the peer's.
    fn admit(&mut self, id: u64) -> Verdict {
        if id & UNIDIRECTIONAL != self.kind() {
            return Err("STREAM_STATE_ERROR: a stream of a kind of which none was allowed");
        }
        let (table, number) = (initiator(id), id >> 2);
        if number < self.tables[table].len() as u64 {
            return Ok(());
        }
        if table == self.own() {
            return Err("STREAM_STATE_ERROR: the stream was never opened");
        }
        if number >= self.max_streams {
            return Err("STREAM_LIMIT_ERROR: too many streams");
        }
        // Section 2.1: opening a stream opens all of its kind with lower numbers.
        while self.tables[table].len() as u64 <= number {
            let stream = self.make();
            self.tables[table].push(Some(stream));
        }
        Ok(())
    }

    /// Puts a stream into the queue if it has something to send that its own limit allows.
    fn activate(&mut self, id: u64) {
        let Some(stream) = self.get_mut(id) else { return };
        if stream.queued {
            return;
        }
        if stream.send.next(stream.send_limit).is_some() {
            stream.queued = true;
            self.active.push_back(id);
        } else if stream.send.written() > stream.send_limit && stream.told_blocked != Some(stream.send_limit) {
            stream.told_blocked = Some(stream.send_limit);
            self.blocked.push_back(id);
        }
    }

    /// The bit of a stream's number that says whether it is unidirectional (section 2.1).
    #[inline]
    fn kind(&self) -> u64 {
        if self.limits.unidirectional { UNIDIRECTIONAL } else { 0 }
    }

    #[inline]
    fn credit(&self) -> u64 {
        self.data_limit - self.data_sent.min(self.data_limit)
    }

    #[inline]
    fn chunk(stream: &Stream, credit: u64) -> Option<Chunk> {
        stream.send.next(Self::limit(stream, credit))
    }

    /// The offset up to which a stream may send.
    #[inline]
    fn limit(stream: &Stream, credit: u64) -> u64 {
        stream.send_limit.min(stream.send.sent().saturating_add(credit))
    }

    /// The next frame leaves out `skip` bytes of its stream that were never sent, or as many as leave `least` of them.
    #[cold]
    pub fn skip(&mut self, skip: u64, least: u64) {
        let credit = self.credit();
        let sends = |id: &&u64| self.get(**id).is_some_and(|s| Self::chunk(s, credit).is_some());
        let Some(&id) = self.active.iter().find(sends) else { return };
        if let Some(stream) = self.get_mut(id) {
            stream.send.skip(skip, least, Self::limit(stream, credit));
            self.skipping = Some(id);
        }
    }

    /// The next frame leaves out nothing.
    #[inline]
    pub fn keep_order(&mut self) {
        if let Some(id) = self.skipping.take()
            && let Some(stream) = self.get_mut(id)
        {
            stream.send.keep_order();
        }
    }

    /// Whether any stream may send now.
    #[inline]
    pub fn sendable(&self) -> bool {
        let Some(&first) = self.active.front() else { return false };
        let credit = self.credit();
        self.get(first).is_some_and(|s| Self::chunk(s, credit).is_some()) || self.any_sendable()
    }

    #[inline(never)]
    fn any_sendable(&self) -> bool {
        let credit = self.credit();
        self.active.iter().any(|&id| self.get(id).is_some_and(|s| Self::chunk(s, credit).is_some()))
    }

    /// Looks whether the run is a trace.
    #[inline]
    pub fn watch(&mut self, cx: &Cx<'_>) {
        self.waiting.watch(cx);
    }

    /// Reports to the probe.
    #[inline]
    pub fn trace(&mut self, cx: &mut Cx<'_>) {
        self.waiting.report(cx);
    }

    /// The cost of data out of order so far.
    pub fn reassembly(&self) -> &Reassembly {
        self.waiting.cost()
    }

    /// The data that there is to send, for the path scheduler.
    pub fn demand(&self) -> Demand {
        let credit = self.credit();
        let streams = self.active.iter().filter_map(|&id| self.get(id));
        let waiting = |s: &Stream| match Self::chunk(s, credit)? {
            Chunk { again: false, len, .. } if len > 0 => Some(s.send.unsent(Self::limit(s, credit))),
            chunk => Some(chunk.len),
        };
        Demand {
            waiting: streams.filter_map(waiting).sum(),
            outstanding: self.tables.iter().flatten().flatten().map(|s| s.send.outstanding()).sum(),
            window: credit,
            beyond: 0,
        }
    }

    /// The next STREAM frame of at most `room` bytes. Streams take turns, a packet each.
    #[inline]
    pub fn next_frame(&mut self, room: u32) -> Option<StreamFrame> {
        if room < LEAST_ROOM {
            return None;
        }
        self.next_frame_by(|header, chunk| {
            let bare = u64::from(room.saturating_sub(header));
            if chunk.len < bare {
                (chunk.len.min(bare.saturating_sub(u64::from(varint_len(chunk.len)))), true)
            } else {
                (bare, false)
            }
        })
    }

    /// The next STREAM frame of at most `room` bytes that has its offset and a length of two bytes, even if both are small.
    #[cold]
    pub fn next_lone_frame(&mut self, room: u32) -> Option<StreamFrame> {
        if room <= LONE_OVERHEAD {
            return None;
        }
        self.next_frame_by(|header, chunk| {
            let header = header + u32::from(chunk.offset == 0) + 2;
            (chunk.len.min(room.saturating_sub(header).into()), true)
        })
    }

    /// The next STREAM frame, whose length, and whether it is told, `measure` says from the bytes of its header beside the length.
    #[inline(always)]
    fn next_frame_by(&mut self, measure: impl Fn(u32, &Chunk) -> (u64, bool)) -> Option<StreamFrame> {
        for _ in 0..self.active.len() {
            let id = *self.active.front()?;
            let credit = self.credit();
            let Some(stream) = self.get_mut(id) else {
                self.active.pop_front();
                continue;
            };
            let Some(chunk) = Self::chunk(stream, credit) else {
                // Either the connection's credit is used up, then it keeps its turn, or there is nothing to send.
                if stream.send.next(stream.send_limit).is_some() {
                    self.pass_turn();
                } else {
                    stream.queued = false;
                    self.active.pop_front();
                }
                continue;
            };
            let (len, explicit_len) = measure(stream_header(id, chunk.offset), &chunk);
            let before = stream.send.sent();
            let fin = stream.send.on_sent(chunk, len);
            let grown = stream.send.sent() - before;
            if stream.send.next(stream.send_limit).is_some() {
                self.pass_turn();
            } else {
                stream.queued = false;
                self.active.pop_front();
                self.activate(id);
            }
            // What is skipped takes credit, too: the peer counts up to the highest offset (RFC 9000 section 4.1).
            self.data_sent += grown;
            return Some(StreamFrame {
                id,
                offset: chunk.offset,
                len: len as u32,
                fin,
                explicit_len,
                again: chunk.again,
            });
        }
        None
    }

    /// The first of the active streams becomes the last.
    #[inline]
    fn pass_turn(&mut self) {
        if self.active.len() > 1 {
            self.active.rotate_left(1);
        }
    }

    #[inline]
    pub fn on_acked(&mut self, id: u64, data: StreamData) {
        let Some(stream) = self.get_mut(id) else { return };
        stream.send.on_acked(data);
        if stream.send.finished() && stream.send.delivered() {
            self.retire(id);
        }
    }

    pub fn on_lost(&mut self, id: u64, data: StreamData) {
        if let Some(stream) = self.get_mut(id) {
            stream.send.on_lost(data);
            self.activate(id);
        }
    }

    /// Whether everything written on every stream is acknowledged.
    #[inline(never)]
    pub fn delivered(&self) -> bool {
        self.tables.iter().flatten().flatten().all(|s| s.send.delivered())
    }

    /// Whether every stream the peer or we opened is over or idle: nothing is owed in either direction.
    pub fn settled(&self) -> bool {
        self.delivered() && self.tables.iter().flatten().flatten().all(|s| s.recv.exhausted() || s.recv.highest() == 0)
    }
}
