//! Packets that leave, with their options and the shared window.

use super::connection::{Connection, Mode};
use super::option::{Opening, Options, Segment};
use super::receiving::Receiving;
use super::sending::Sending;
use super::subflow::{Owed, Subflow};
use crate::Body;
use crate::endpoint::{Endpoint, Role};
use crate::path::PathStatus;
use crate::spares::Spares;
use crate::tcp::segment::{self, Kind};
use haltere_net::{Contents, Cx, Incident, Packet, PathId};

impl Connection {
    /// The next packet that may be sent now.
    #[inline(always)]
    pub(super) fn depart(&mut self, spares: &mut Spares, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        loop {
            if std::mem::take(&mut self.dirty) {
                self.share(cx.now);
            }
            let mut at = self.turn;
            for _ in 0..self.subflows.len() {
                at = if at < self.subflows.len() { at } else { 0 };
                if let Some(subflow) = self.subflows[at].as_mut().filter(|s| s.ready && !s.abandoned) {
                    // The packet is changed where it lies: it is too large to be copied for each packet.
                    let mut packet = subflow.tcp.make_packet(&mut self.bare, cx);
                    if packet.is_none() && self.owes_more(at) {
                        packet = self.acknowledge(at, cx);
                    }
                    if let Some(packet) = &mut packet {
                        self.wrap(at, packet, spares, cx);
                        self.turn = at;
                        self.dirty |= self.expand_after_sending(at);
                        self.tell_writable();
                    } else if let Some(Some(subflow)) = self.subflows.get_mut(at) {
                        subflow.rest();
                    }
                    if packet.is_some() {
                        return packet;
                    }
                }
                at += 1;
            }
            self.turn = 0;
            // Send buffers grow when all that they hold is sent.
            if !self.expand() {
                break;
            }
            self.dirty = true;
        }
        self.set_data_timer(cx.now);
        self.tell_writable();
        None
    }

    /// An acknowledgement that carries what there is to tell.
    #[cold]
    fn acknowledge(&mut self, at: usize, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let subflow = self.subflows.get_mut(at)?.as_mut()?;
        subflow.tcp.acknowledge_now();
        subflow.tcp.poll_transmit(cx)
    }

    /// Whether the subflow has options to send for which no segment has come.
    fn owes_more(&self, at: usize) -> bool {
        let Some(Some(subflow)) = self.subflows.get(at) else { return false };
        let fin = self.sending.fin_due && self.sending.fin_sent() && self.carries_end(at);
        // A client's segments have room for other options once its keys have arrived.
        let free = subflow.confirmed || self.config.tcp.role == Role::Server;
        subflow.tcp.is_established() && free && (subflow.owes.is_some() || (fin && self.mode == Mode::Multipath))
    }

    /// Whether the end of the data is told on this subflow: the first that is usable.
    fn carries_end(&self, at: usize) -> bool {
        let usable = |s: &super::subflow::Subflow| s.state().usable();
        self.subflows.iter().position(|s| s.as_ref().is_some_and(usable)) == Some(at)
    }

    /// Puts MPTCP's options on a segment of a subflow.
    #[inline]
    fn wrap(&mut self, at: usize, packet: &mut Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        if self.mode == Mode::Fallback {
            return;
        }
        let Contents { len, path, body: Body::Tcp(tcp), .. } = &mut **packet else { return };
        let bare_end = self.sending.end().filter(|_| self.sending.fin_due && self.carries_end(at));
        let Connection { subflows, sending, receiving, config, .. } = self;
        let Some(Some(subflow)) = subflows.get_mut(at) else { return };
        let options = subflow.options(tcp, config.tcp.role, receiving, sending, bare_end);
        let bytes = options.wire_len(tcp.kind, tcp.len);
        if tcp.kind == Kind::Data {
            let window = receiving.offer(subflow.tcp.receive_space());
            tcp.window = window;
            subflow.tcp.offer_window(window);
            // SACK blocks get the space that is left (RFC 8684 section 3.3: options share 40 bytes).
            if tcp.sacks > 0 {
                let stamps = if config.tcp.timestamps { segment::TIMESTAMP_OPTION } else { 0 };
                let left = segment::MAX_OPTIONS.saturating_sub(stamps + bytes);
                tcp.sacks = tcp.sacks.min((left.saturating_sub(4) / 8) as u8);
                *len = config.tcp.wire_len(tcp);
            }
        } else if tcp.kind != Kind::Reset {
            // The window of a SYN is the first of the connection.
            receiving.edge = receiving.edge.max(receiving.next + tcp.window);
        }
        if cx.probing() {
            self.tell_carried(*path, &options, tcp.len, cx);
        }
        *len += bytes;
        let segment = Segment { tcp: tcp.clone(), options, subflow: *path };
        if let Some(mut kept) = spares.take()
            && let Body::Mptcp(boxed) = &mut kept.body
        {
            **boxed = segment;
            kept.begin_anew(*len);
            (kept.ecn, kept.path) = (packet.ecn, packet.path);
            let bare = std::mem::replace(packet, kept);
            self.bare.keep(bare);
        } else {
            packet.body = Body::Mptcp(Box::new(segment));
        }
    }

    /// Tells which data a segment carries.
    #[cold]
    fn tell_carried(&mut self, path: PathId, options: &Options, len: u32, cx: &mut Cx<'_>) {
        let Some(start) = options.mapping.filter(|_| len > 0) else { return };
        let again = !self.carried.extend(start, start + u64::from(len));
        cx.tell(Incident::Carried { path, stream: 0, start, len, again });
    }
}

impl Subflow {
    /// The options of a segment that leaves on it. `bare_end` is the end of the data if a segment without data is to tell it.
    #[inline(always)]
    fn options(
        &mut self,
        tcp: &segment::Segment,
        role: Role,
        receiving: &Receiving,
        sending: &mut Sending,
        bare_end: Option<u64>,
    ) -> Options {
        let opening = if self.joined { Opening::Join(self.status) } else { Opening::Capable };
        if tcp.kind != Kind::Data {
            self.told_status = Some(if self.joined { self.status } else { PathStatus::Available });
            return Options { opening: Some(opening), ..Options::default() };
        }
        let mut options = Options::default();
        // The third segment, until the peer has shown that it has come.
        if role == Role::Client && !self.confirmed {
            options.opening = Some(opening);
        }
        if tcp.len > 0 {
            options.mapping = self.sent.find(tcp.seq).map(|(data, _)| data);
        }
        if options.opening.is_none() {
            options.data_ack = Some(receiving.data_ack());
            let end = sending.end();
            // The end goes with the last data, or alone.
            let last = end.is_some() && options.mapping.map(|data| data + u64::from(tcp.len)) == end;
            if last || (tcp.len == 0 && bare_end.is_some()) {
                options.data_fin = end;
                sending.fin_due = false;
            }
            if tcp.len == 0 && (self.owes.is_some() || options.data_fin.is_some()) {
                let Owed { end: again, add_address, echo, remove, priority } = std::mem::take(&mut self.owes);
                let data_fin = options.data_fin.or(end.filter(|_| again && !sending.fin_acked));
                options = Options { data_fin, add_address, echo, remove, priority, ..options };
            }
        }
        options
    }
}
