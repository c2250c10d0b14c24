//! Packets that arrive: subflows that the peer opens, mappings, DATA_ACK, the end of the data.

use super::connection::{Connection, Mode};
use super::option::{Opening, Options, Segment};
use super::subflow::Mapping;
use crate::Body;
use crate::endpoint::{Endpoint, Event, Role, StreamId};
use crate::spares::Spares;
use crate::tcp::segment::Kind;
use haltere_net::{Cx, Ecn, Packet, PathId, Time};

impl Connection {
    /// Takes a packet.
    pub(super) fn arrive(&mut self, packet: Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        let (len, ecn, path) = (packet.len, packet.ecn, packet.path);
        match &packet.body {
            Body::Mptcp(segment) => {
                if self.mode != Mode::Fallback && self.has_subflow(path, segment.tcp.kind, &segment.options) {
                    self.on_segment(segment, path, len, ecn, cx);
                } else {
                    self.invalid += 1;
                }
                spares.keep(packet);
            }
            Body::Tcp(_) => self.on_plain(packet, cx),
            _ => self.invalid += 1,
        }
    }

    /// Whether there is a subflow for a packet. The peer opens one with MP_JOIN.
    fn has_subflow(&mut self, path: PathId, kind: Kind, options: &Options) -> bool {
        if self.subflow(path).is_some_and(|s| !s.abandoned) {
            return true;
        }
        let Some(Opening::Join(status)) = options.opening else { return false };
        if kind != Kind::Syn || self.config.tcp.role != Role::Server || self.may_add(path).is_err() {
            return false;
        }
        self.make(path, status);
        true
    }

    /// A segment without MPTCP's options. Before the peer has shown that it has MPTCP, the connection falls back to TCP
    /// (RFC 8684 section 3.7).
    fn on_plain(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        let Body::Tcp(segment) = &packet.body else { return };
        let reset = segment.kind == Kind::Reset;
        let confirmed = self.subflow(packet.path).is_none_or(|s| s.confirmed || s.joined);
        if self.mode != Mode::Fallback && !reset {
            if confirmed {
                self.invalid += 1;
                return;
            }
            self.fall_back();
        }
        let Some(subflow) = self.subflow(packet.path) else {
            self.invalid += 1;
            return;
        };
        subflow.tcp.on_packet(packet, cx);
        subflow.ready = true;
        if self.mode == Mode::Fallback {
            self.follow_fallback(cx.now);
        } else {
            self.take_news(0);
        }
    }

    /// After a fallback the positions of the only subflow are those of the data.
    pub(super) fn follow_fallback(&mut self, now: Time) {
        self.tell_ends();
        let Some(Some(subflow)) = self.subflows.first_mut() else { return };
        let bytes = subflow.tcp.read(StreamId(0), now);
        subflow.read += bytes;
        let (start, end) = (subflow.read - bytes, subflow.read);
        let acknowledged = subflow.tcp.acknowledged();
        self.sending.una = acknowledged.min(self.sending.next);
        self.sending.edge = u64::MAX;
        self.dirty = true;
        if bytes > 0 {
            self.receiving.take(start, end);
            self.events.push_back(Event::Readable(StreamId(0)));
        }
        self.tell_ends();
    }

    fn on_segment(&mut self, segment: &Segment, path: PathId, packet_len: u32, ecn: Ecn, cx: &mut Cx<'_>) {
        let at = usize::from(path.0);
        let Segment { tcp: segment, options, .. } = segment;
        let (kind, seq, len, window) = (segment.kind, segment.seq, u64::from(segment.len), segment.window);
        let Some(Some(subflow)) = self.subflows.get_mut(at) else { return };
        let carries = len > 0 && kind == Kind::Data;
        if carries {
            let fits = |data: u64| data.checked_add(len).is_some_and(|end| self.receiving.may_hold(end));
            if !options.mapping.is_some_and(fits) && subflow.tcp.accepts(segment, packet_len) {
                self.invalid += 1;
                // Data without a mapping cannot be placed. Data beyond the window is answered.
                if options.mapping.is_some() {
                    subflow.tcp.acknowledge_now();
                    subflow.ready = true;
                }
                return;
            }
        }
        if self.coupled && segment.ack > subflow.tcp.acknowledged() {
            self.couple(at);
        }
        let Some(Some(subflow)) = self.subflows.get_mut(at) else { return };
        let role = self.config.tcp.role;
        let held = self.receiving.buffered();
        subflow.tcp.set_receive_room(self.receiving.window.clamp, held);
        subflow.ready = true;
        if !subflow.tcp.take_segment(segment, packet_len, ecn, cx) {
            return;
        }
        let arrived = options.mapping.filter(|_| carries);
        if let Some(data) = arrived {
            subflow.arrived.learn(Mapping { subflow: seq, data, len });
        }
        subflow.progress.heard += 1;
        if kind == Kind::SynAck && self.mode == Mode::Opening {
            self.mode = Mode::Multipath;
        }
        if kind == Kind::Syn && at == 0 && self.mode == Mode::Opening {
            self.mode = Mode::Multipath;
        }
        self.confirm(at, kind, options, role);
        self.take_news(at);
        self.take_options(at, options);
        if kind == Kind::Data {
            self.take_data_ack(options, window);
            self.receiving.watch(cx);
            self.take_data(at, cx.now);
            if let Some(data) = arrived {
                self.receiving.count_arrival(data, data + len, cx.now);
            }
            self.receiving.trace(cx);
            if let Some(end) = options.data_fin
                && !self.receiving.end_at(end)
            {
                self.invalid += 1;
            }
            if options.data_fin.is_some()
                && let Some(Some(subflow)) = self.subflows.get_mut(at)
            {
                subflow.tcp.acknowledge_now();
            }
            self.tell_ends();
        }
    }

    /// The peer has shown that it takes MPTCP's options on the subflow.
    fn confirm(&mut self, at: usize, kind: Kind, options: &Options, role: Role) {
        let Some(Some(subflow)) = self.subflows.get_mut(at) else { return };
        if subflow.confirmed && role == Role::Server && subflow.joined && options.opening.is_some() {
            // The fourth segment was lost.
            subflow.tcp.acknowledge_now();
        }
        if subflow.confirmed || kind != Kind::Data {
            return;
        }
        let shown = match role {
            // The fourth segment of a join, or the first DATA_ACK (RFC 8684 sections 3.1 and 3.2).
            Role::Client => options.data_ack.is_some(),
            // The third segment, with both keys or with the proof that they are known.
            Role::Server => options.opening.is_some() || options.data_ack.is_some(),
        };
        if !shown {
            return;
        }
        (subflow.confirmed, subflow.proof) = (true, Time::NEVER);
        self.dirty = true;
        if role == Role::Server && subflow.joined {
            // The fourth segment.
            subflow.tcp.acknowledge_now();
        }
        if at == 0 && !std::mem::replace(&mut self.told_multipath, role == Role::Server || !self.config.announce) {
            if role == Role::Client {
                if !self.config.announce {
                    self.events.push_back(Event::Multipath);
                }
            } else if self.config.announce
                && let Some(Some(subflow)) = self.subflows.get_mut(at)
            {
                subflow.owes.add_address = true;
            }
        }
    }

    fn take_options(&mut self, at: usize, options: &Options) {
        let Some(Some(subflow)) = self.subflows.get_mut(at) else { return };
        if let Some(status) = options.priority {
            subflow.status = status;
            self.dirty = true;
        }
        if options.add_address {
            subflow.owes.echo = true;
            if !std::mem::replace(&mut self.told_multipath, true) {
                self.events.push_back(Event::Multipath);
            }
        }
        if let Some(path) = options.remove
            && self.subflow(path).is_some_and(|s| !s.abandoned)
            && self.live().count() > 1
        {
            self.give_up_subflow(usize::from(path.0));
        }
    }

    fn take_data_ack(&mut self, options: &Options, window: u64) {
        let Some(position) = options.data_ack else { return };
        if !self.sending.may_acknowledge(position) {
            self.invalid += 1;
            return;
        }
        let edge = self.sending.edge;
        if self.sending.acknowledge(position, window) {
            self.sending.timer = Time::NEVER;
            self.dirty = true;
        }
        if self.sending.edge > edge {
            self.sending.told_blocked = false;
            self.dirty = true;
        }
        // A subflow took an acknowledgement: its window may have room.
        self.dirty |= self.sending.is_waiting();
    }

    /// Puts what a subflow has in order into the order of the data.
    fn take_data(&mut self, at: usize, now: Time) {
        let Connection { subflows, receiving, .. } = self;
        let Some(Some(subflow)) = subflows.get_mut(at) else { return };
        let before = receiving.readable();
        let bytes = subflow.tcp.read(StreamId(0), now);
        let end = subflow.read + bytes;
        while subflow.read < end {
            let left = end - subflow.read;
            let Some((data, len)) = subflow.arrived.find(subflow.read) else {
                // Every byte had a mapping when it arrived.
                subflow.read = end;
                break;
            };
            let len = len.min(left);
            receiving.take(data, data + len);
            subflow.read += len;
        }
        subflow.arrived.forget_below(subflow.read);
        subflow.sent.forget_below(subflow.tcp.acknowledged());
        let below = subflows.iter().flatten().map(|s| s.tcp.held()).sum();
        receiving.count_waiting(below, now);
        if self.receiving.readable() > before {
            self.events.push_back(Event::Readable(StreamId(0)));
        }
    }

    /// The application takes what is in order.
    pub(super) fn read_data(&mut self, now: Time) -> u64 {
        if self.mode == Mode::Fallback {
            return self.receiving.consume(None, now);
        }
        let rtt = self.live().filter_map(|s| s.tcp.receiver_rtt()).max();
        let mss = self.live().map(|s| s.tcp.mss()).max().unwrap_or(1);
        let bytes = self.receiving.consume(rtt, now);
        // A window that was nearly closed and is open again is told at once (Linux: `tcp_cleanup_rbuf`).
        let room = self.receiving.window.clamp.saturating_sub(self.receiving.buffered());
        if bytes > 0 && self.receiving.offered() < 2 * mss && room >= 4 * mss {
            for subflow in self.subflows.iter_mut().flatten().filter(|s| s.tcp.is_established()) {
                subflow.tcp.acknowledge_now();
                subflow.ready = true;
            }
        }
        bytes
    }
}
