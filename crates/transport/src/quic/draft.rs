//! The frames of a packet, as they are put together.

use super::buffer::StreamData;
use super::config::{AcksWait, Design};
use super::connection::{Connection, Crypto};
use super::few::Few;
use super::frame::{AckEcn, Frame, PathAck, stream_header, varint_len};
use super::keepsakes::ROOM_BESIDE_IDENTIFIER;
use super::packet::SpaceId;
use super::sent::Record;
use super::space::Space;
use super::streams::{LEAST_ROOM as LEAST_STREAM_ROOM, StreamFrame};
use crate::endpoint::Role;
use haltere_net::{PathId, Time};

/// The longest ACK_FREQUENCY frame: type 2 and four variable-length integers.
const LONGEST_ACK_FREQUENCY: u32 = 2 + 4 * 8;
/// The longest flow-control frame: type and two variable-length integers.
pub(super) const LONGEST_CONTROL: u32 = 17;

/// Properties of a packet that is sent.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Traits {
    /// Whether it is to be acknowledged.
    pub eliciting: bool,
    /// Whether it carries an ACK frame.
    pub acks: bool,
    pub padded: bool,
    /// Whether it carries data again.
    pub again: bool,
}

/// A packet's frames while it is made.
#[derive(Default)]
pub(super) struct Draft {
    pub frames: Few<Frame>,
    pub records: Few<Record>,
    pub payload: u32,
    pub traits: Traits,
}

impl Draft {
    #[inline(always)]
    pub fn push(&mut self, frame: Frame) {
        self.payload += frame.size();
        self.traits.eliciting |= frame.ack_eliciting();
        self.frames.push(frame);
    }

    /// Adds a STREAM frame, by far the most frequent one.
    #[inline(always)]
    fn push_stream(&mut self, frame: &StreamFrame) {
        let &StreamFrame { id, offset, len, fin, explicit_len, .. } = frame;
        self.payload += stream_header(id, offset) + if explicit_len { varint_len(u64::from(len)) } else { 0 } + len;
        self.traits.eliciting = true;
        self.frames.push(Frame::Stream { id, offset, len, fin, explicit_len });
    }

    /// Adds PADDING.
    #[inline]
    pub fn pad(&mut self, bytes: u32) {
        if bytes > 0 {
            self.traits.padded = true;
            self.push(Frame::Padding(bytes));
        }
    }

    /// Acknowledges 1-RTT packets of a path.
    #[inline]
    pub(super) fn acknowledge_path(&mut self, path: PathId, space: &Space, now: Time) {
        match path.0 {
            0 => self.acknowledge(space, now),
            _ => self.acknowledge_by_path(path, space, now, |largest| Record::Ack { largest }),
        }
    }

    #[cold]
    fn acknowledge_by_path(&mut self, path: PathId, space: &Space, now: Time, record: impl FnOnce(u64) -> Record) {
        let ack = space.received.frame(now);
        if let Some(largest) = ack.largest() {
            self.records.push(record(largest));
            self.traits.acks = true;
            self.push(Frame::PathAck(Box::new(PathAck { path, ack, counts: space.received.counts() })));
        }
    }

    /// Acknowledges 1-RTT packets of another path than the one that this packet takes.
    #[cold]
    pub(super) fn acknowledge_elsewhere(&mut self, path: PathId, space: &Space, now: Time) {
        self.acknowledge_by_path(path, space, now, |largest| Record::PathAck { path, largest });
    }

    /// Carries what only connections with several paths send.
    #[cold]
    fn carry(&mut self, load: Load<'_>, room: u32) {
        match load {
            Load::Data | Load::Acks => {}
            Load::Probe => self.push(Frame::Ping),
            Load::Frames(frames) | Load::Updates(frames) => {
                std::mem::take(frames).into_iter().for_each(|frame| self.push(frame))
            }
            Load::Copy(records) => self.copy(records, room),
        }
    }

    /// Carries stream data that went out on another path, as far as there is room; what is left stays in `records`.
    fn copy(&mut self, records: &mut Few<Record>, room: u32) {
        for record in std::mem::take(records) {
            let Record::Stream { id, offset, len, fin } = record else { continue };
            let header = stream_header(id, offset) + varint_len(u64::from(len));
            let most = room.saturating_sub(self.payload + header);
            let sent = len.min(most);
            if sent == 0 && len > 0 {
                records.push(record);
                continue;
            }
            let whole = sent == len;
            self.records.push(Record::Stream { id, offset, len: sent, fin: fin && whole });
            self.push(Frame::Stream { id, offset, len: sent, fin: fin && whole, explicit_len: true });
            if !whole {
                let offset = offset + u64::from(sent);
                records.push(Record::Stream { id, offset, len: len - sent, fin });
            }
        }
    }

    #[inline]
    fn acknowledge(&mut self, space: &Space, now: Time) {
        let ack = space.received.frame(now);
        if let Some(largest) = ack.largest() {
            self.records.push(Record::Ack { largest });
            self.traits.acks = true;
            self.push(match space.received.counts() {
                None => Frame::Ack(ack),
                Some(counts) => Frame::AckEcn(Box::new(AckEcn { ack, counts })),
            });
        }
    }
}

/// The contents of a 1-RTT packet beside acknowledgements.
pub(super) enum Load<'a> {
    /// Nothing.
    Acks,
    /// A PING, so that the peer acknowledges.
    Probe,
    /// Data of streams and the like.
    Data,
    /// Stream data that was sent on another path.
    Copy(&'a mut Few<Record>),
    /// These frames, in a datagram of at least 1200 bytes.
    Frames(&'a mut Few<Frame>),
    /// These frames.
    Updates(&'a mut Few<Frame>),
}

impl Connection {
    /// The frames of a packet of the handshake.
    pub(super) fn draft_handshake(&mut self, i: usize, id: SpaceId, room: u32, now: Time) -> Draft {
        let mut draft = Draft::default();
        if self.config.small_probes && self.spaces.of(id, i).probes > 0 {
            self.repeat_oldest(i, id);
        }
        let space = self.spaces.of(id, i);
        if space.received.owes() {
            draft.acknowledge(space, now);
        }
        let parameters = self.config.parameters();
        // The client's parameters are in its ClientHello, the server's in EncryptedExtensions (RFC 9001 section 8.2).
        let carrier = match self.config.role {
            Role::Client => SpaceId::Initial,
            Role::Server => SpaceId::Handshake,
        };
        let Some(Crypto { send, .. }) = self.crypto.get_mut(id as usize) else { return draft };
        while let Some(chunk) = send.next(u64::MAX) {
            let left = u64::from(room.saturating_sub(draft.payload));
            let header = u64::from(1 + varint_len(chunk.offset) + varint_len(chunk.len.min(left)));
            if left <= header {
                break;
            }
            let len = chunk.len.min(left - header);
            let last = send.on_sent(chunk, len);
            let (offset, len) = (chunk.offset, len as u32);
            draft.traits.again |= chunk.again;
            draft.records.push(Record::Crypto { offset, len, last });
            let parameters = (last && id == carrier).then(|| Box::new(parameters));
            draft.push(Frame::Crypto { offset, len, last, parameters });
        }
        if !draft.traits.eliciting && space.probes > 0 && draft.payload < room {
            draft.push(Frame::Ping);
        }
        draft
    }

    /// A probe of the handshake that has nothing else to send repeats the oldest packet in flight, as quinn's (quinn-proto 0.11.19,
    /// `connection/spaces.rs`, `maybe_queue_probe`).
    #[cold]
    fn repeat_oldest(&mut self, i: usize, id: SpaceId) {
        let Some(Crypto { send, .. }) = self.crypto.get_mut(id as usize) else { return };
        if send.next(u64::MAX).is_some() {
            return;
        }
        for record in self.spaces.of_mut(id, i).sent.take_oldest() {
            if let Record::Crypto { offset, len, last } = record {
                send.on_lost(StreamData { offset, len, fin: last });
            }
        }
    }

    /// The frames of a 1-RTT or 0-RTT packet in a datagram with others: apart, so that the common case stays in one piece.
    #[inline(never)]
    pub(super) fn draft_beside(&mut self, i: usize, room: u32, load: Load<'_>, now: Time) -> Draft {
        self.draft_data(i, room, load, now)
    }

    /// The frames of a 1-RTT or 0-RTT packet.
    #[inline(always)]
    pub(super) fn draft_data(&mut self, i: usize, room: u32, load: Load<'_>, now: Time) -> Draft {
        let mut draft = Draft::default();
        let space = &self.spaces.data[i];
        let owes = space.received.owes();
        if self.gathers_acks() {
            self.gather_acks(i, &mut draft, now);
        } else if owes
            && ((!matches!(load, Load::Acks) && self.config.acks_wait == AcksWait::Never) || space.received.due(now))
        {
            draft.acknowledge_path(self.paths[i].id, space, now);
        }
        let space = &self.spaces.data[i];
        if !matches!(load, Load::Data | Load::Acks) {
            self.draft_load(load, &mut draft, room);
            return draft;
        }
        if matches!(load, Load::Acks) {
            // RFC 9000 section 13.2.4: not more than about one a round trip, lest they fill the window.
            if draft.traits.acks && !space.sent.awaits() && space.received.should_elicit(&self.acks) {
                draft.push(Frame::Ping);
            }
            return draft;
        }
        let probing = space.probes > 0;
        if self.handshake_done_pending && draft.payload < room {
            self.handshake_done_pending = false;
            draft.records.push(Record::HandshakeDone);
            draft.push(Frame::HandshakeDone);
        }
        if self.frequency.pending && draft.payload + LONGEST_ACK_FREQUENCY <= room {
            let asked = self.frequency.frame();
            draft.records.push(Record::AckFrequency { sequence: asked.sequence });
            draft.push(Frame::AckFrequency(Box::new(asked)));
        }
        let beside = if self.identifiers.is_some() && self.sends_keepsakes() { ROOM_BESIDE_IDENTIFIER } else { 0 };
        if let Some(ids) = &mut self.identifiers {
            ids.draft(&mut draft, room.saturating_sub(beside));
        }
        if self.extras.is_some() {
            self.draft_extras(i, &mut draft, room);
        }
        if let Some(multi) = &mut self.multi {
            multi.draft(&self.paths, &mut draft, room);
        }
        if self.streams.control_pending() {
            self.draft_control(i, &mut draft, room);
        }
        if probing && self.config.small_probes {
            draft.push(Frame::ImmediateAck);
        }
        if self.config.lone_frames {
            self.draft_lone_frame(&mut draft, room);
        }
        while !self.config.lone_frames
            && draft.payload + LEAST_STREAM_ROOM <= room
            && let Some(frame) = self.streams.next_frame(room - draft.payload)
        {
            let StreamFrame { id, offset, len, fin, again, .. } = frame;
            draft.traits.again |= again;
            if let Some(multi) = self.multi.as_mut().filter(|_| again) {
                multi.reinjection.on_sent_again(self.paths[i].id, id, offset, len.into());
            }
            draft.records.push(Record::Stream { id, offset, len, fin });
            draft.push_stream(&frame);
        }
        if self.frequency.relaxed() && draft.payload < room && !self.streams.sendable() {
            // Section 8.1 of the extension's draft: nothing follows that would make the peer acknowledge.
            draft.push(Frame::ImmediateAck);
        }
        if !draft.traits.eliciting && probing && draft.payload < room {
            draft.push(Frame::Ping);
        }
        if self.config.acks_wait == AcksWait::Behind && draft.traits.eliciting && !draft.traits.acks {
            self.acknowledge_behind(i, &mut draft, room, now);
        }
        draft
    }

    /// Adds a STREAM frame, and one alone, as quiche does (quiche 0.30.0, `lib.rs`, `send_single`).
    #[cold]
    fn draft_lone_frame(&mut self, draft: &mut Draft, room: u32) {
        let Some(frame) = self.streams.next_lone_frame(room.saturating_sub(draft.payload)) else { return };
        let StreamFrame { id, offset, len, fin, again, .. } = frame;
        draft.traits.again |= again;
        draft.records.push(Record::Stream { id, offset, len, fin });
        draft.push_stream(&frame);
        // PADDING stands for what an offset of nothing and a small length in two bytes take.
        let missing = u32::from(offset == 0) + u32::from(varint_len(u64::from(len)) == 1);
        if missing > 0 {
            draft.push(Frame::Padding(missing));
        }
    }

    /// Acknowledges behind other frames, where there is room, as quinn does before an acknowledgement is due (quinn-proto 0.11.19,
    /// `connection/mod.rs`, `populate_packet`).
    #[cold]
    fn acknowledge_behind(&self, i: usize, draft: &mut Draft, room: u32, now: Time) {
        let space = &self.spaces.data[i];
        let waits = space.received.owes() && space.received.deadline() != Time::NEVER;
        let mut behind = Draft::default();
        if waits {
            behind.acknowledge_path(self.paths[i].id, space, now);
        }
        if behind.payload <= room.saturating_sub(draft.payload) {
            behind.frames.into_iter().for_each(|frame| draft.push(frame));
            behind.records.into_iter().for_each(|record| draft.records.push(record));
            draft.traits.acks |= behind.traits.acks;
        }
    }

    /// Adds contents that only connections with several paths send.
    #[cold]
    fn draft_load(&mut self, load: Load<'_>, draft: &mut Draft, room: u32) {
        let copies = matches!(load, Load::Copy(_));
        draft.carry(load, room);
        if let Some(multi) = self.multi.as_mut().filter(|_| copies) {
            let bytes = |record: &Record| if let Record::Stream { len, .. } = record { u64::from(*len) } else { 0 };
            multi.reinjection.on_copied(draft.records.iter().map(bytes).sum());
        }
    }

    /// Adds the frames of flow control that are due.
    fn draft_control(&mut self, i: usize, draft: &mut Draft, room: u32) {
        while self.streams.control_pending() && draft.payload + LONGEST_CONTROL <= room {
            let Some(frame) = self.streams.next_control() else { break };
            if let Some(record) = record_of(&frame) {
                draft.records.push(record);
            }
            if self.config.design == Design::Conext2017 {
                self.repeat_update(i, &frame);
            }
            draft.push(frame);
        }
    }
}

/// The record of a flow-control frame.
fn record_of(frame: &Frame) -> Option<Record> {
    Some(match *frame {
        Frame::MaxData(_) => Record::MaxData,
        Frame::MaxStreamData { id, .. } => Record::MaxStreamData { id },
        Frame::MaxStreams(_) => Record::MaxStreams,
        Frame::DataBlocked(_) => Record::Blocked { id: None },
        Frame::StreamDataBlocked { id, .. } => Record::Blocked { id: Some(id) },
        Frame::StreamsBlocked(limit) => Record::StreamsBlocked { limit },
        _ => return None,
    })
}
