//! Making datagrams: which packets go out, with which frames.

use super::config::AcksWait;
use super::connection::{Connection, State};
use super::draft::{Draft, Load};
use super::few::Few;
use super::frame::Frame;
use super::packet::{Datagram, QuicPacket, SpaceId, number_len};
use super::path::{Clearance, Path};
use super::sizes::{MIN_DATAGRAM, MIN_NUMBER_AND_PAYLOAD};
use crate::Body;
use crate::endpoint::Role;
use crate::path::PathState;
use haltere_net::{Cx, Packet, Time};

/// Room in a datagram below which no further packet is coalesced.
const LEAST_ROOM: u32 = 16;

/// Whether a path may carry data of streams and the like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// The path was picked for data.
    Picked,
    /// Another path was: only acknowledgements, probes and what else is the path's own may go.
    Passed,
}

/// The next thing that goes on a path.
enum Choice {
    Packet(Load<'static>),
    MtuProbe(u32),
}

impl Connection {
    /// The next packet, if one may go now.
    pub(super) fn transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        match self.state {
            State::Open if self.opening.answer.is_some() => self.transmit_answer(),
            State::Open if self.paths.len() == 1 && self.migration.is_none() => self.transmit_on(0, Turn::Picked, cx),
            State::Open if self.migration.is_some() => self.transmit_moving(cx),
            State::Open => self.transmit_multi(cx),
            State::Closing { .. } if self.close_pending => self.transmit_close(cx.now),
            _ => None,
        }
    }

    /// The next packet on a path.
    #[inline(always)]
    fn transmit_on(&mut self, i: usize, turn: Turn, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let sent = match self.choose(i, turn, cx.now) {
            Some(Choice::Packet(load)) => self.build(i, load, cx),
            Some(Choice::MtuProbe(size)) => Some(self.transmit_mtu_probe(i, size, cx)),
            None => None,
        };
        if sent.is_none() && self.paths[i].mtu.goes_last() { self.transmit_last_probe(i, cx) } else { sent }
    }

    /// A probe of the datagram size where nothing else may go, for a search whose probes go last: neither window nor pacing
    /// holds it back.
    #[cold]
    #[inline(never)]
    fn transmit_last_probe(&mut self, i: usize, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let path = &self.paths[i];
        let size = path.mtu.wants_last().filter(|size| path.validation.left() >= u64::from(*size))?;
        let may = self.progress.complete && path.state == PathState::Active;
        may.then(|| self.transmit_mtu_probe(i, size, cx))
    }

    /// The next packet on one of several paths: apart, so that the common case stays in one piece.
    #[inline(never)]
    pub(super) fn transmit_apart(&mut self, i: usize, turn: Turn, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.transmit_on(i, turn, cx)
    }

    /// The next thing that a path sends, if window, pacing and the anti-amplification limit let it send.
    #[inline(always)]
    fn choose(&mut self, i: usize, turn: Turn, now: Time) -> Option<Choice> {
        let due = self.ack_due(i, now);
        let (path, data) = (&mut self.paths[i], &self.spaces.data[i]);
        let full = path.is_full();
        let quiet = self.progress.confirmed && data.probes == 0 && !due;
        if full && quiet && path.validation.validated {
            // The common end of a round of packets: the window is full, whatever there is to send.
            path.paced_until = Time::NEVER;
            path.window_limited = true;
            return None;
        }
        if path.holds_all {
            return self.choose_among_held(i, turn, now);
        }
        let handshake = self.handshake_pending();
        let content = turn == Turn::Picked && (handshake || self.data_pending());
        let confirmed = self.progress.confirmed;
        // One of several paths that has no room for a full packet, or that pacing keeps from sending, uses its window,
        // although it was not picked.
        let waits = turn == Turn::Passed && self.data_pending() && self.paths[i].is_held(now);
        let path = &mut self.paths[i];
        path.paced_until = Time::NEVER;
        path.acks_held = false;
        if path.validation.left() < u64::from(path.mtu.current()) {
            return None;
        }
        // Once the handshake is confirmed its spaces are gone.
        let (probing, due) = match confirmed {
            true => (self.spaces.data[i].probes > 0, due),
            false => (
                self.spaces.on_path(i).any(|(_, s)| s.probes > 0),
                due || self.spaces.on_path(i).any(|(_, s)| s.received.due(now)),
            ),
        };
        // What fits into the window goes before a probe, which might else make it wait for a round trip.
        let fits = |path: &Path| path.in_flight + self.streams.demand().waiting <= path.window();
        let probes_mtu = confirmed && !self.handshake_done_pending && path.state == PathState::Active;
        let mtu_probe = if probes_mtu { path.mtu.wants() } else { None };
        let turn_of_probe = |path: &Path, size: u32| match path.mtu.goes_first() {
            true => !due && path.room() > size.into(),
            false => !content || !fits(path),
        };
        let may = |size: &u32| turn_of_probe(path, *size) && path.validation.left() >= u64::from(*size);
        let mtu_probe = mtu_probe.filter(may);
        if !content && mtu_probe.is_none() {
            // RFC 9002 section 7.8: a sender with nothing to send does not use its window.
            path.window_limited = full || waits;
            if !full && !waits {
                path.sampler.on_app_limited(path.in_flight);
            }
            let load = match (probing, turn) {
                (false, _) => Load::Acks,
                (true, Turn::Passed) => Load::Probe,
                (true, Turn::Picked) => Load::Data,
            };
            return (probing || due).then_some(Choice::Packet(load));
        }
        let clearance = if full { Clearance::Window } else { path.paced(now) };
        let blocked = match clearance {
            Clearance::Free => false,
            Clearance::Window => true,
            Clearance::Paced(until) => {
                if content || mtu_probe.is_some() {
                    path.paced_until = until;
                }
                true
            }
        };
        if blocked || !content {
            // RFC 9002 section 7.8: a sender with nothing to send does not use its window, one that paces does.
            path.window_limited = clearance == Clearance::Window || content || waits;
        }
        if !content && !waits && clearance != Clearance::Window {
            path.sampler.on_app_limited(path.in_flight);
        }
        if let (Some(size), false) = (mtu_probe, blocked || probing) {
            return Some(Choice::MtuProbe(size));
        }
        if blocked && content && self.config.acks_wait != AcksWait::Never && !probing && !handshake {
            path.acks_held = due;
            return None;
        }
        let eliciting = probing || (content && !blocked);
        if !eliciting && !due && !handshake {
            return None;
        }
        Some(Choice::Packet(if eliciting { Load::Data } else { Load::Acks }))
    }

    /// The next thing that a path sends whose pacer holds back every packet: as noq does it (noq-proto 1.4.0, `connection/mod.rs`,
    /// `path_congestion_check`), the window keeps back data and handshake, but no probes, and no acknowledgements where there is nothing
    /// else; the pacer keeps back all of them.
    #[cold]
    #[inline(never)]
    fn choose_among_held(&mut self, i: usize, turn: Turn, now: Time) -> Option<Choice> {
        let due = self.ack_due(i, now) || self.spaces.on_path(i).any(|(_, space)| space.received.due(now));
        let probing = self.spaces.on_path(i).any(|(_, space)| space.probes > 0);
        let content = turn == Turn::Picked && (self.handshake_pending() || self.data_pending());
        let path = &mut self.paths[i];
        path.paced_until = Time::NEVER;
        path.acks_held = false;
        if path.validation.left() < u64::from(path.mtu.current()) {
            return None;
        }
        // RFC 9002 section 7.8: a sender with nothing to send does not use its window.
        path.window_limited = content || probing || due;
        if !path.window_limited {
            path.sampler.on_app_limited(path.in_flight);
            return None;
        }
        if content && !probing && path.is_full() {
            path.acks_held = due;
            return None;
        }
        if let Clearance::Paced(until) = path.paced(now) {
            path.paced_until = until;
            path.acks_held = due;
            return None;
        }
        let load = match (probing, turn) {
            _ if content => Load::Data,
            (false, _) => Load::Acks,
            (true, Turn::Passed) => Load::Probe,
            (true, Turn::Picked) => Load::Data,
        };
        Some(Choice::Packet(load))
    }

    /// Whether there are handshake bytes to send. They do not wait for the window (as in Chromium): it may be full of
    /// 1-RTT packets, which the server cannot acknowledge before it has the client's Finished.
    #[inline]
    pub(super) fn handshake_pending(&self) -> bool {
        !self.progress.confirmed && self.any_crypto_pending()
    }

    #[inline(never)]
    fn any_crypto_pending(&self) -> bool {
        [SpaceId::Initial, SpaceId::Handshake]
            .into_iter()
            .any(|id| self.can_send(id) && self.crypto[id as usize].send.next(u64::MAX).is_some())
    }

    /// Whether there is anything to send in 1-RTT packets that the peer would have to acknowledge.
    #[inline(always)]
    pub(super) fn data_pending(&self) -> bool {
        let open = self.progress.complete || self.opening.early_keys;
        (open
            && (self.handshake_done_pending
                || self.streams.sendable()
                || self.streams.control_pending()
                || self.multi.as_ref().is_some_and(|multi| multi.owes())
                || self.identifiers.as_ref().is_some_and(|ids| ids.owes())))
            || (self.extras.is_some() && self.has_extra_frames())
    }

    fn can_send(&self, id: SpaceId) -> bool {
        match id {
            SpaceId::Initial => !self.progress.initial_discarded,
            SpaceId::Handshake => self.progress.handshake_keys && !self.progress.handshake_discarded,
            SpaceId::Data => {
                let early = self.progress.complete || self.sends_keepsakes();
                (self.progress.data_keys && early) || self.opening.early_keys
            }
        }
    }

    #[inline(always)]
    fn build(&mut self, i: usize, load: Load<'_>, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        match self.progress.confirmed {
            true if i == 0 => self.build_data_on_first(load, cx),
            true => self.build_data(i, load, cx),
            false => self.build_handshake(i, load, cx),
        }
    }

    /// [`Connection::build_data`] on the first path: compiled apart, so that the common case does not look paths up.
    #[inline(never)]
    fn build_data_on_first(&mut self, load: Load<'_>, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.build_data_on(0, load, cx)
    }

    /// A datagram of one 1-RTT packet: all there is once the handshake is confirmed.
    #[inline(never)]
    pub(super) fn build_data(&mut self, i: usize, load: Load<'_>, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.build_data_on(i, load, cx)
    }

    #[inline(always)]
    fn build_data_on(&mut self, i: usize, load: Load<'_>, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let (id, now) = (SpaceId::Data, cx.now);
        let space = &self.spaces.data[i];
        let number = space.next_number;
        let number_len = number_len(number, space.largest_acked);
        let overhead = id.overhead() + self.config.header() + number_len;
        // RFC 9000 section 8.2.1: what validates a path fills the least datagram.
        let least = if matches!(load, Load::Frames(_)) { MIN_DATAGRAM } else { 0 };
        let most = match load {
            _ if space.probes > 0 => self.largest_probe(i),
            Load::Data => self.paths[i].largest().max(overhead),
            _ => self.paths[i].mtu.current(),
        };
        let mut draft = self.draft_data(i, most - overhead, load, now);
        if draft.frames.is_empty() {
            return None;
        }
        draft.pad(MIN_NUMBER_AND_PAYLOAD.saturating_sub(number_len + draft.payload));
        draft.pad(least.saturating_sub(overhead + draft.payload));
        let size = overhead + draft.payload;
        let traits = draft.traits;
        if traits.acks && self.gathers_acks() {
            self.on_gathered_acks_sent(i, traits);
        }
        self.paths[i].on_sent((id, &mut self.spaces.data[i]), now, size, draft.records, traits);
        self.stats.retransmitted_packets += u64::from(traits.again);
        if cx.probing() {
            self.tell_carried(i, &draft.frames, cx);
        }
        self.after_sending(i, size);
        if traits.eliciting {
            self.after_eliciting();
        }
        if traits.eliciting || traits.padded || cx.probing() {
            self.set_timer(i, cx);
        }
        let (form, number_len) = (self.config.form(), number_len as u8);
        let packet = QuicPacket { space: id, form, token: 0, number_len, size, number, frames: draft.frames };
        let datagram = Datagram { packets: Few::of(packet) };
        let mut packet = self.packet(datagram, size + self.config.ip_udp);
        let path = &self.paths[i];
        (packet.path, packet.ecn) = (path.way.0, path.marking.codepoint());
        Some(packet)
    }

    /// The data of the oldest packet in flight go again, and from the second timeout on those of two, as in quiche (quiche 0.30.0,
    /// `recovery/congestion/recovery.rs`, `on_loss_detection_timeout`).
    #[cold]
    pub(super) fn probe_oldest(&mut self, i: usize, id: SpaceId) {
        let packets = self.paths[i].pto_count.min(2);
        let space = self.spaces.of_mut(id, i);
        space.probes = packets;
        space.sent.oldest_with_data(packets as usize, &mut self.fates.lost);
        self.apply_fates(i, id);
    }

    /// The largest datagram while a probe is owed.
    fn largest_probe(&self, i: usize) -> u32 {
        let most = self.paths[i].mtu.current();
        if self.config.small_probes { most.min(MIN_DATAGRAM) } else { most }
    }

    /// A datagram in a packet of `len` bytes, in the memory of one that was read if there is one.
    #[inline(always)]
    fn packet(&mut self, datagram: Datagram, len: u32) -> Packet<Body> {
        debug_assert!(datagram.is_sized(), "{datagram:?}");
        if let Some(mut spare) = self.spare.take()
            && let Body::Quic(kept) = &mut spare.body
        {
            **kept = datagram;
            spare.begin_anew(len);
            return spare;
        }
        Packet::new(len, Body::Quic(Box::new(datagram)))
    }

    /// A datagram of a packet for each space that has something to send.
    #[cold]
    #[inline(never)]
    fn build_handshake(&mut self, i: usize, load: Load<'_>, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let now = cx.now;
        let eliciting = !matches!(load, Load::Acks);
        let most = self.paths[i].mtu.current();
        let mut drafts: [Option<(SpaceId, u32, Draft)>; 3] = [None, None, None];
        let (mut used, mut count) = (0, 0);
        for id in &SpaceId::ALL {
            // The handshake is that of the first path.
            if !self.can_send(*id) || (i > 0 && *id != SpaceId::Data) {
                continue;
            }
            let space = self.spaces.of(*id, i);
            let number_len = number_len(space.next_number, space.largest_acked);
            let overhead = self.overhead(*id) + number_len;
            if most < used + overhead + LEAST_ROOM {
                break;
            }
            let room = most - used - overhead;
            let mut draft = match id {
                SpaceId::Data => self.draft_beside(i, room, if eliciting { Load::Data } else { Load::Acks }, now),
                _ => self.draft_handshake(i, *id, room, now),
            };
            if self.config.acks_wait != AcksWait::Never && draft.traits.acks && *id != SpaceId::Data {
                self.spaces.data[i].received.stop_deadline();
            }
            if draft.frames.is_empty() {
                continue;
            }
            draft.pad(MIN_NUMBER_AND_PAYLOAD.saturating_sub(number_len + draft.payload));
            used += overhead + draft.payload;
            drafts[count] = Some((*id, number_len, draft));
            count += 1;
        }
        // RFC 9000 section 14.1: datagrams with Initial packets are padded by clients, by servers if ack-eliciting.
        let expand = drafts.iter().flatten().any(|(id, _, draft)| {
            *id == SpaceId::Initial && (self.config.role == Role::Client || draft.traits.eliciting)
        });
        if expand && let Some((_, _, last)) = drafts[..count].last_mut().and_then(Option::as_mut) {
            last.pad(MIN_DATAGRAM.saturating_sub(used));
        }
        self.emit(i, drafts, cx)
    }

    /// Registers the drafts as sent and makes the datagram of them.
    fn emit(&mut self, i: usize, drafts: [Option<(SpaceId, u32, Draft)>; 3], cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let now = cx.now;
        let mut datagram = Datagram::default();
        let (mut used, mut eliciting, mut again, mut handshake) = (0, false, false, false);
        for (id, number_len, draft) in drafts.into_iter().flatten() {
            let (form, token) = (self.form(id), self.token(id));
            let size = self.overhead(id) + number_len + draft.payload;
            if cx.probing() {
                self.tell_carried(i, &draft.frames, cx);
            }
            let traits = draft.traits;
            if traits.acks && id == SpaceId::Data && self.gathers_acks() {
                self.on_gathered_acks_sent(i, traits);
            }
            let space = self.spaces.of_mut(id, i);
            let number = space.next_number;
            self.paths[i].on_sent((id, space), now, size, draft.records, traits);
            used += size;
            eliciting |= traits.eliciting;
            again |= traits.again;
            handshake |= id == SpaceId::Handshake;
            let (number_len, frames) = (number_len as u8, draft.frames);
            datagram.packets.push(QuicPacket { space: id, form, token, number_len, size, number, frames });
        }
        if datagram.packets.is_empty() {
            return None;
        }
        self.stats.retransmitted_packets += u64::from(again);
        self.after_sending(i, used);
        if eliciting {
            self.after_eliciting();
        }
        if handshake && self.config.role == Role::Client && !self.progress.initial_discarded {
            // RFC 9001 section 4.9.1: a client is done with Initial packets when it sends its first Handshake packet.
            self.discard(SpaceId::Initial);
        }
        self.set_timer(i, cx);
        Some(self.paths[i].wrap(datagram, used))
    }

    #[inline]
    pub(super) fn after_sending(&mut self, i: usize, used: u32) {
        self.stats.sent_all += 1;
        self.paths[i].validation.sent += u64::from(used);
    }

    /// The datagram that was sent is to be acknowledged.
    #[inline]
    pub(super) fn after_eliciting(&mut self) {
        self.stats.sent_packets += 1;
        if !self.sent_since_heard {
            self.sent_since_heard = true;
            self.restart_idle();
        }
    }

    /// RFC 9000 section 14.4: PING and PADDING, filling a datagram of the size that is tried.
    #[cold]
    #[inline(never)]
    fn transmit_mtu_probe(&mut self, i: usize, size: u32, cx: &mut Cx<'_>) -> Packet<Body> {
        let space = &mut self.spaces.data[i];
        let (number, len) = (space.next_number, number_len(space.next_number, space.largest_acked));
        let mut frames = Few::default();
        // Section 8.3 of the extension's draft: nothing is to delay the answer.
        frames.push(if self.frequency.relaxed() { Frame::ImmediateAck } else { Frame::Ping });
        let mut overhead = SpaceId::Data.overhead() + self.config.header();
        if self.paths[i].mtu.goes_last() {
            // As quinn, whose ends both have the extension (connection/mod.rs, poll_transmit).
            frames.push(Frame::ImmediateAck);
            overhead += 1;
        }
        frames.push(Frame::Padding(size - overhead - len - 1));
        self.paths[i].on_mtu_probe_sent(space, cx.now, size);
        let (space, form, token, number_len) = (SpaceId::Data, self.config.form(), 0, len as u8);
        let packet = QuicPacket { space, form, token, number_len, size, number, frames };
        let mut datagram = Datagram::default();
        datagram.packets.push(packet);
        self.after_sending(i, size);
        self.after_eliciting();
        self.set_timer(i, cx);
        self.paths[i].wrap(datagram, size)
    }

    /// CONNECTION_CLOSE in packets of which the peer can surely read one (RFC 9000 section 10.2.3).
    #[cold]
    #[inline(never)]
    fn transmit_close(&mut self, now: Time) -> Option<Packet<Body>> {
        self.close_pending = false;
        let main = self.main_path();
        let data_known = self.progress.confirmed || self.spaces.data[main].largest_acked.is_some();
        let mut datagram = Datagram::default();
        let mut used = 0;
        for id in SpaceId::ALL {
            if !self.can_send(id) || (id != SpaceId::Data && data_known) {
                continue;
            }
            let (form, token, overhead) = (self.form(id), self.token(id), self.overhead(id));
            let space = self.spaces.of_mut(id, main);
            let len = number_len(space.next_number, space.largest_acked);
            let mut draft = Draft::default();
            if space.received.owes() {
                draft.acknowledge_path(self.paths[main].id, space, now);
                space.received.on_ack_sent(draft.traits);
            }
            draft.push(Frame::ConnectionClose(self.close_error));
            draft.pad(MIN_NUMBER_AND_PAYLOAD.saturating_sub(len + draft.payload));
            if id == SpaceId::Initial && self.config.role == Role::Client {
                draft.pad(MIN_DATAGRAM.saturating_sub(overhead + len + draft.payload));
            }
            let number = space.next_number;
            space.next_number += 1;
            let size = overhead + len + draft.payload;
            used += size;
            let (number_len, frames) = (len as u8, draft.frames);
            datagram.packets.push(QuicPacket { space: id, form, token, number_len, size, number, frames });
        }
        let path = &mut self.paths[main];
        if datagram.packets.is_empty() || path.validation.left() < u64::from(used) {
            return None;
        }
        self.after_sending(main, used);
        Some(self.paths[main].wrap(datagram, used))
    }
}
