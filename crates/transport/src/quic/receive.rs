//! Taking in datagrams: keys, frames, and the steps of the handshake they make.

use super::Verdict;
use super::buffer::StreamData;
use super::config::Design;
use super::connection::{Connection, State};
use super::ecn::EcnCounts;
use super::frame::{Ack, Frame, TransportParameters, VARINT_MAX};
use super::packet::{Datagram, Form, QuicPacket, SpaceId};
use super::path::Way;
use super::received::{AckPolicy, Arrival};
use super::recovery::Books;
use super::sizes::{MIN_DATAGRAM, Session};
use crate::Body;
use crate::cc::Established;
use crate::endpoint::{CloseReason, Event, Role};
use crate::path::PathState;
use crate::spares::Spares;
use haltere_net::incident::{PacketName, Reception};
use haltere_net::{Cx, Ecn, Incident, Packet, Span, Time};

/// Packets kept that came before their keys.
const MAX_KEPT: usize = 16;
/// Handshake bytes beyond what was read that are kept (RFC 9000 section 7.5: at least 4096).
const MAX_CRYPTO: u64 = 1 << 16;

/// Initial and Handshake packets are acknowledged at once (RFC 9000 section 13.2.1).
fn handshake_policy(policy: &AckPolicy) -> AckPolicy {
    AckPolicy { every: 1, max_delay: Span::ZERO, reordering: 1, ..*policy }
}

/// Whether a space's packets can be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keys {
    NotYet,
    Present,
    Discarded,
}

impl Connection {
    /// A packet arrived.
    pub(super) fn receive(&mut self, packet: Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        let Body::Quic(datagram) = &packet.body else {
            self.stats.invalid_packets += 1;
            return;
        };
        let arrival = (packet.len, self.config.taken(packet.ecn));
        let way = Way(packet.path);
        let place = if way == self.paths[0].way && self.paths.len() == 1 {
            Some(0)
        } else {
            self.now = cx.now;
            self.place_of_arrival(way, datagram)
        };
        match place {
            Some(0) => self.receive_on(0, arrival, datagram, cx),
            Some(i) => self.receive_on_other(i, arrival, datagram, cx),
            None => match self.place_of_stray(way, datagram) {
                Some(i) => self.receive_aside((i, way), arrival, datagram, cx),
                None => self.stats.invalid_packets += 1,
            },
        }
        if self.streams.takes_by_window() {
            self.streams.take_up_to(self.paths[self.main_path()].room());
        }
        spares.keep(packet);
    }

    /// A datagram on another path than the first: apart, so that the common case does not look paths up.
    #[inline(never)]
    pub(super) fn receive_on_other(&mut self, i: usize, of: (u32, Ecn), datagram: &Datagram, cx: &mut Cx<'_>) {
        self.receive_on(i, of, datagram, cx);
    }

    #[inline(always)]
    fn receive_on(&mut self, i: usize, (len, ecn): (u32, Ecn), datagram: &Datagram, cx: &mut Cx<'_>) {
        self.stats.received_packets += 1;
        self.stats.received_wire_bytes += u64::from(len);
        match &mut self.state {
            State::Over => return,
            State::Closing { until, quiet } => {
                // Section 10.2.1: answered, but not every packet.
                if cx.now >= *quiet && cx.now < *until {
                    *quiet = cx.now + self.paths[i].rtt.pto();
                    self.close_pending = true;
                }
                return;
            }
            State::Open => {}
        }
        let size = len.saturating_sub(self.config.ip_udp);
        if self.config.role == Role::Server && !self.progress.confirmed && self.answers_statelessly(datagram, size) {
            return;
        }
        self.paths[i].validation.received += u64::from(size);
        self.streams.watch(cx);
        for quic in datagram.packets.iter() {
            // Section 14.1: a server drops Initial packets in datagrams smaller than 1200 bytes.
            if quic.space == SpaceId::Initial && self.config.role == Role::Server && size < MIN_DATAGRAM {
                self.stats.invalid_packets += 1;
                continue;
            }
            if i == 0 {
                self.on_packet_of_first(quic, (cx.now, ecn), cx);
            } else {
                self.on_quic_packet(i, quic, (cx.now, ecn), cx);
            }
        }
        self.streams.trace(cx);
        self.close_if_done();
        self.set_timer(i, cx);
        // RFC 9002 appendix A.6: a server held back by the anti-amplification limit may be late already.
        if self.paths[i].timer <= cx.now {
            self.on_loss_timer(i, cx);
            self.paths[i].report(&self.spaces, i, cx);
        }
    }

    fn keys(&self, id: SpaceId, form: Form) -> Keys {
        let progress = &self.progress;
        let (present, discarded) = match id {
            SpaceId::Initial => (true, progress.initial_discarded),
            SpaceId::Handshake => (progress.handshake_keys, progress.handshake_discarded),
            // RFC 9001 section 5.7: 1-RTT packets are not read before the handshake is complete.
            SpaceId::Data => (progress.complete || (form == Form::ZeroRtt && self.opening.early_keys), false),
        };
        match (present, discarded) {
            (_, true) => Keys::Discarded,
            (true, _) => Keys::Present,
            (false, _) => Keys::NotYet,
        }
    }

    /// The decision on a packet with this number.
    #[inline]
    fn reception(&self, i: usize, id: SpaceId, form: Form, number: u64) -> Reception {
        // Section 12.3: packet numbers end at 2^62 - 1; such a packet could not have been encoded.
        if number > VARINT_MAX {
            return Reception::Dropped("its number is beyond 2^62 - 1");
        }
        match self.keys(id, form) {
            Keys::Discarded => Reception::Dropped("its keys are discarded"),
            Keys::NotYet if self.kept.len() >= MAX_KEPT => {
                Reception::Dropped("its keys are not there yet, and enough packets are kept for later")
            }
            Keys::NotYet => Reception::Kept,
            Keys::Present if self.spaces.of(id, i).received.is_duplicate(number) => {
                Reception::Dropped("it is a duplicate")
            }
            Keys::Present => Reception::Read,
        }
    }

    /// Handles a packet of a special form. Returns whether it is then to be handled like a plain one.
    fn goes_on(&mut self, packet: &QuicPacket, name: PacketName, cx: &mut Cx<'_>) -> bool {
        let invalid = self.stats.invalid_packets;
        let goes_on = self.admits(packet);
        if !goes_on {
            let useless = Reception::Dropped("it does not authenticate, or is of no use by now");
            let taken = self.stats.invalid_packets == invalid;
            cx.tell(Incident::Received(name, if taken { Reception::Read } else { useless }));
        }
        goes_on
    }

    /// A packet on the first path.
    #[inline(never)]
    fn on_packet_of_first(&mut self, packet: &QuicPacket, arrived: (Time, Ecn), cx: &mut Cx<'_>) {
        self.on_packet_of(0, packet, arrived, cx);
    }

    #[inline(never)]
    fn on_quic_packet(&mut self, i: usize, packet: &QuicPacket, arrived: (Time, Ecn), cx: &mut Cx<'_>) {
        self.on_packet_of(i, packet, arrived, cx);
    }

    #[inline(always)]
    fn on_packet_of(&mut self, i: usize, packet: &QuicPacket, (arrived, ecn): (Time, Ecn), cx: &mut Cx<'_>) {
        if self.state != State::Open {
            return;
        }
        let (id, form) = (packet.space, packet.form);
        let name = PacketName { space: id as u8, number: packet.number };
        if form != Form::Plain && !self.goes_on(packet, name, cx) {
            return;
        }
        self.stats.invalid_packets += u64::from(packet.number > VARINT_MAX);
        let reception = self.reception(i, id, form, packet.number);
        cx.tell(Incident::Received(name, reception));
        match reception {
            Reception::Dropped(_) => return,
            Reception::Kept => {
                self.kept.push((i, packet.clone(), (arrived, ecn)));
                return;
            }
            Reception::Read => {}
        }
        let (number, mut eliciting, before) = (packet.number, false, self.progress);
        if packet.frames.is_empty() {
            self.fail("PROTOCOL_VIOLATION: a packet without frames");
        }
        for frame in packet.frames.iter() {
            eliciting |= frame.ack_eliciting();
            if form == Form::ZeroRtt && !frame.allowed_in_0rtt() {
                self.fail("PROTOCOL_VIOLATION: a frame that 0-RTT packets must not carry");
            } else if let Err(error) = self.on_frame(i, id, frame, cx) {
                self.fail(error);
            }
            if self.state != State::Open {
                return;
            }
        }
        let at_once;
        let policy = match id {
            SpaceId::Data => &self.acks,
            _ => {
                at_once = handshake_policy(&self.acks);
                &at_once
            }
        };
        let received = &mut self.spaces.of_mut(id, i).received;
        received.on_packet(Arrival { number, at: arrived, ecn, eliciting }, cx.now, policy);
        self.sent_since_heard = false;
        self.restart_idle();
        if id == SpaceId::Initial && self.config.retry {
            // Section 8.1.2: only who got the Retry packet has the token that `answers_statelessly` asked for.
            self.paths[i].validation.validated = true;
        }
        if id == SpaceId::Handshake && self.config.role == Role::Server {
            // RFC 9000 section 8.1 and RFC 9001 section 4.9.1.
            self.paths[i].validation.validated = true;
            if let Some(keepsakes) = self.keepsakes() {
                keepsakes.on_validated();
            }
            if !self.progress.initial_discarded {
                self.discard(SpaceId::Initial);
            }
        }
        if self.progress.confirmed && !self.progress.handshake_discarded {
            // RFC 9001 section 4.9.2; a client that missed that moment drops its Initial keys too.
            self.discard(SpaceId::Handshake);
            self.discard(SpaceId::Initial);
        }
        if (before.handshake_keys, before.complete) != (self.progress.handshake_keys, self.progress.complete) {
            for (i, packet, arrived) in std::mem::take(&mut self.kept) {
                self.on_quic_packet(i, &packet, arrived, cx);
            }
        }
    }

    #[inline(always)]
    fn on_frame(&mut self, i: usize, id: SpaceId, frame: &Frame, cx: &mut Cx<'_>) -> Verdict {
        if id != SpaceId::Data && !frame.allowed_in_handshake() {
            return Err("PROTOCOL_VIOLATION: a frame that this packet type must not carry");
        }
        match *frame {
            Frame::Padding(_) | Frame::Ping | Frame::Keepsake(_) => {}
            Frame::Stream { id, offset, len, fin, .. } => {
                let clock = (cx.now, self.rtt());
                self.streams.on_stream_frame(id, StreamData { offset, len, fin }, clock, &mut self.events)?;
            }
            // For path 0, whichever path they come on.
            Frame::Ack(ref ack) => self.on_ack_of_first(id, ack, None, cx)?,
            Frame::AckEcn(ref both) => self.on_ack_of_first(id, &both.ack, Some(both.counts), cx)?,
            Frame::AckFrequency(ref asked) => self.on_ack_frequency(asked)?,
            Frame::ImmediateAck => self.spaces.of_mut(id, i).received.hurry(),
            Frame::Crypto { offset, len, last, ref parameters } => {
                self.on_crypto(id, StreamData { offset, len, fin: last }, parameters.as_deref())?
            }
            Frame::MaxData(limit) => self.streams.on_max_data(limit),
            Frame::MaxStreamData { id, limit } => self.streams.on_max_stream_data(id, limit)?,
            Frame::MaxStreams(limit) => self.streams.on_max_streams(limit, &mut self.events),
            // Credit is renewed as the application reads, whether the peer waits for it or not.
            Frame::DataBlocked(_) | Frame::StreamDataBlocked { .. } | Frame::StreamsBlocked(_) => {}
            Frame::PathChallenge(data) => self.on_path_challenge(i, data),
            Frame::PathResponse(data) => self.on_path_response(data, cx),
            Frame::PathAck(ref both) => {
                let Some(of) = self.place(both.path) else {
                    return Err("PROTOCOL_VIOLATION: a PATH_ACK frame for a path that does not exist");
                };
                // What was in flight on an abandoned path is forgotten.
                if self.paths[of].state != PathState::Abandoned {
                    self.on_ack_of_path(of, id, &both.ack, both.counts, cx)?;
                    if of != i {
                        self.set_timer(of, cx);
                    }
                }
            }
            Frame::PathAbandon(path) => self.on_path_abandon(path)?,
            Frame::PathStatus { path, sequence, status } => self.on_path_status(path, sequence, status)?,
            Frame::Identifier(frame) => self.on_identifier(frame, cx)?,
            Frame::Datagram(ref frame) => self.on_datagram_frame(frame)?,
            // QUIC does not know what streams carry.
            Frame::StreamContent(_) => {}
            Frame::AddAddress => self.on_design_frame()?,
            Frame::Paths { failed, .. } => {
                self.on_design_frame()?;
                self.on_paths(failed);
            }
            Frame::HandshakeDone => {
                if self.config.role == Role::Server {
                    return Err("PROTOCOL_VIOLATION: a client sent HANDSHAKE_DONE");
                }
                let before = std::mem::replace(&mut self.progress.confirmed, true);
                self.progress.peer_validated = true;
                if !before {
                    if self.allowed() > 1 && self.config.design == Design::Draft {
                        self.events.push_back(Event::Multipath);
                    }
                    self.on_confirmed(cx);
                }
            }
            Frame::ConnectionClose(error) => {
                // Section 10.2.2: draining, which is silent.
                self.state = State::Over;
                self.events.push_back(match error {
                    None => Event::Closed,
                    Some(error) => Event::Failed(CloseReason::ProtocolViolation(error)),
                });
            }
        }
        Ok(())
    }

    /// An ACK for packets on the first path.
    #[inline(never)]
    fn on_ack_of_first(&mut self, id: SpaceId, ack: &Ack, counts: Option<EcnCounts>, cx: &mut Cx<'_>) -> Verdict {
        self.on_ack_frame(0, id, ack, counts, cx)
    }

    /// An ACK for packets on any path.
    #[inline(never)]
    fn on_ack_of_path(
        &mut self,
        i: usize,
        id: SpaceId,
        ack: &Ack,
        counts: Option<EcnCounts>,
        cx: &mut Cx<'_>,
    ) -> Verdict {
        self.on_ack_frame(i, id, ack, counts, cx)
    }

    #[inline(always)]
    fn on_ack_frame(
        &mut self,
        i: usize,
        id: SpaceId,
        ack: &Ack,
        counts: Option<EcnCounts>,
        cx: &mut Cx<'_>,
    ) -> Verdict {
        if id == SpaceId::Handshake {
            // RFC 9002 section 6.2.2.1: the peer has read a Handshake packet, so it knows our address.
            self.progress.peer_validated = true;
        }
        let about = self.situation();
        let space = self.spaces.of_mut(id, i);
        let siblings = match &mut self.multi {
            Some(multi) if about.several && multi.coupled => {
                multi.views.clear();
                multi.views.extend(self.paths.iter().map(|path| path.view()));
                &mut multi.views[..]
            }
            _ => &mut [],
        };
        let books = Books { fates: &mut self.fates, stats: &mut self.stats };
        self.paths[i].on_ack((id, space), (ack, counts), (&about, siblings), books, cx)?;
        if self.paths.len() > 1 {
            self.trust(i);
        }
        self.apply_fates(i, id);
        if self.config.ack_frequency && self.progress.confirmed {
            let path = &self.paths[i];
            let packets = path.window() / u64::from(path.mtu.current());
            self.frequency.review(cx.now, packets, path.rtt.smoothed());
        }
        Ok(())
    }

    fn on_crypto(&mut self, id: SpaceId, data: StreamData, parameters: Option<&TransportParameters>) -> Verdict {
        // Post-handshake messages (session tickets) are not modelled.
        let Some(crypto) = self.crypto.get_mut(id as usize) else { return Ok(()) };
        if data.end() > crypto.recv.in_order() + MAX_CRYPTO {
            return Err("CRYPTO_BUFFER_EXCEEDED: too many handshake bytes out of order");
        }
        crypto.recv.on_frame(data)?;
        crypto.recv.read();
        if let Some(parameters) = parameters {
            crypto.parameters = Some(Box::new(*parameters));
        }
        if crypto.taken || !crypto.recv.exhausted() {
            return Ok(());
        }
        crypto.taken = true;
        match (self.config.role, id) {
            (Role::Server, SpaceId::Initial) => self.on_client_hello(),
            (Role::Client, SpaceId::Initial) => {
                self.progress.handshake_keys = true;
                Ok(())
            }
            (Role::Client, _) => self.on_server_finished(),
            (Role::Server, _) => self.on_client_finished(),
        }
    }

    fn take_parameters(&mut self, space: usize) -> Verdict {
        let Some(parameters) = self.crypto[space].parameters.take() else {
            return Err("TRANSPORT_PARAMETER_ERROR: the handshake carried no transport parameters");
        };
        if u32::from(parameters.max_udp_payload) < MIN_DATAGRAM {
            return Err("TRANSPORT_PARAMETER_ERROR: max_udp_payload_size is below 1200");
        }
        if parameters.min_ack_delay.is_some_and(|least| least > parameters.max_ack_delay) {
            return Err("TRANSPORT_PARAMETER_ERROR: min_ack_delay is above max_ack_delay");
        }
        let min_ack_delay = parameters.min_ack_delay.filter(|_| self.config.ack_frequency);
        self.frequency.on_parameters(parameters.max_ack_delay, min_ack_delay);
        self.streams.on_parameters(&parameters);
        for path in &mut self.paths {
            path.mtu.limit(u32::from(parameters.max_udp_payload));
        }
        self.peer = Some(*parameters);
        Ok(())
    }

    /// ServerHello to Finished go out; 1-RTT packets could be sent from now on.
    fn on_client_hello(&mut self) -> Verdict {
        self.take_parameters(0)?;
        let messages = self.config.flights();
        self.opening.early_keys = self.config.session == Session::EarlyData;
        for (crypto, bytes) in self.crypto.iter_mut().zip([messages.server_hello, messages.server_flight()]) {
            crypto.send.write(u64::from(bytes));
            crypto.send.finish();
        }
        self.progress.started = true;
        self.progress.handshake_keys = true;
        self.progress.data_keys = true;
        if self.sends_keepsakes() {
            self.issue_identifiers();
        }
        Ok(())
    }

    /// The client's handshake is complete.
    fn on_server_finished(&mut self) -> Verdict {
        self.take_parameters(1)?;
        self.crypto[1].send.write(u64::from(self.config.flights().finished));
        self.crypto[1].send.finish();
        self.progress.data_keys = true;
        self.complete();
        Ok(())
    }

    /// The server's handshake is complete, and thereby confirmed (RFC 9001 section 4.1.2).
    fn on_client_finished(&mut self) -> Verdict {
        self.progress.confirmed = true;
        self.handshake_done_pending = true;
        self.complete();
        Ok(())
    }

    fn complete(&mut self) {
        self.progress.complete = true;
        // RFC 9001 section 4.9.3: the client is done with 0-RTT keys, the server still reads what comes late.
        self.opening.early_keys &= self.config.role == Role::Server;
        self.stats.connected_at = Some(self.now);
        for path in &mut self.paths {
            path.cc.on_established(&Established { now: self.now, rtt: path.rtt.smoothed() });
        }
        self.events.push_back(Event::Connected);
        if !self.sends_keepsakes() {
            // Otherwise identifiers were issued when there were keys.
            self.issue_identifiers();
        }
        if let Some(keepsakes) = self.keepsakes() {
            keepsakes.on_complete();
        }
        if self.config.design == Design::Conext2017 {
            self.on_complete_in_2017();
        }
    }
}
