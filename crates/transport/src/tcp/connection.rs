//! A TCP connection (or one subflow): handshake, timers, and the [`Endpoint`] interface to the two halves.

use super::accurate;
use super::config::Config;
use super::echo::EchoRule;
use super::receiver::{Due, Receiver};
use super::segment::{Kind, Segment};
use super::sender::{Outgoing, Sender};
use super::ticks::{Ticks, timestamp};
use crate::Body;
use crate::endpoint::{CloseReason, Endpoint, Event, Role, Stats, StreamId};
use crate::spares::Spares;
use haltere_net::element::Admission;
use haltere_net::{Contents, Cx, Ecn, Incident, Packet, PathId, Span, Time};
use std::collections::VecDeque;

/// Timeout of a SYN before there is an RTT (RFC 6298 section 2.1).
const SYN_TIMEOUT: Span = Span::from_secs(1);
/// How often a process that connects reads the clock (Linux: `secure_tcp_seq_and_ts_off`, `tcp_connect`).
const READINGS: u32 = 2;
/// The time from the closing of the receive window to the first probe.
const PERSIST_MIN: Span = Span::from_millis(200);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Idle,
    SynSent,
    SynReceived,
    Established,
    Closed,
    Failed,
}

/// The timer and the counters of the three-way handshake.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// A SYN or SYN-ACK is to be sent.
    pub pending: bool,
    /// A separate ACK must be sent before any data: the last of the handshake, or that of data just received.
    pub ack: bool,
    first_sent: Option<Time>,
    pub tries: u32,
    /// When the SYN or SYN-ACK is sent again, or [`Time::NEVER`].
    timer: Time,
    /// Server: data arrived with the SYN, and the application may answer before the handshake is complete.
    pub early: bool,
    /// The codepoint with which the peer's packet of the handshake arrived, to be reflected (RFC 9768 section 3.1.1).
    reflect: Option<Ecn>,
}

/// One end of a TCP connection.
pub struct Connection {
    pub(super) config: Config,
    pub(super) state: State,
    pub(super) handshake: Handshake,
    pub(super) tx: Sender,
    pub(super) rx: Receiver,
    pub(super) events: VecDeque<Event>,
    opened: bool,
    /// The application is told when fewer bytes than this are unsent; 0 if it did not ask.
    low_water: u64,
    finish_told: bool,
    probe: bool,
    /// When a closed window is probed, or [`Time::NEVER`].
    persist: Time,
    persist_backoff: u32,
    ticks: Ticks,
}

impl Connection {
    /// A connection that is not open yet. A client waits for [`Endpoint::connect`], a server for a SYN.
    pub fn new(config: Config) -> Connection {
        let tx = Sender::new(&config, &config.stream);
        let ticks = tx.ticks;
        Connection {
            rx: Receiver::new(&config, ticks),
            tx,
            config,
            state: State::Idle,
            handshake: Handshake {
                pending: false,
                ack: false,
                first_sent: None,
                tries: 0,
                timer: Time::NEVER,
                early: false,
                reflect: None,
            },
            events: VecDeque::new(),
            opened: false,
            low_water: 0,
            finish_told: false,
            probe: false,
            persist: Time::NEVER,
            persist_backoff: 0,
            ticks,
        }
    }

    fn packet(&mut self, segment: Segment, ecn: Ecn) -> Packet<Body> {
        self.tx.stats.sent_all += 1;
        let path = self.config.path;
        Packet::new(self.config.wire_len(&segment), Body::Tcp(segment)).with(|packet| {
            (packet.ecn, packet.path) = (ecn, path);
        })
    }

    fn segment(&self, kind: Kind, now: Time) -> Segment {
        let stamp = if self.config.timestamps { timestamp(now) } else { 0 };
        Segment { timestamp: stamp, ..Segment::bare(kind, self.tx.nxt) }
    }

    /// The codepoint of packets that are ECN-capable.
    fn capable(&self) -> Ecn {
        if self.config.l4s { Ecn::Ect1 } else { Ecn::Ect0 }
    }

    /// The codepoint of packets without new data: they are not ECN-capable (RFC 3168 sections 6.1.4 to 6.1.6). With DCTCP
    /// all packets are, and with accurate ECN all but those of the handshake (Linux: `tcp_ecn_send`).
    fn codepoint(&self) -> Ecn {
        let all = self.tx.ecn == Some(EchoRule::Accurate) || self.config.ecn == Some(EchoRule::Dctcp);
        if all { self.capable() } else { Ecn::NotEct }
    }

    /// A SYN or its answer. It is compiled apart, so that packets of data do not save what it needs.
    #[cold]
    #[inline(never)]
    fn make_handshake_packet(&mut self, cx: &mut Cx<'_>) -> Packet<Body> {
        let now = cx.now;
        self.handshake.pending = false;
        self.handshake.first_sent.get_or_insert(self.tx.clock.stamp(now));
        let span = SYN_TIMEOUT.scaled(1 << self.handshake.tries.min(6), 1);
        self.handshake.tries += 1;
        self.handshake.timer = self.ticks.deadline(now, span);
        let kind = if self.config.role == Role::Client { Kind::Syn } else { Kind::SynAck };
        let window_scale = self.rx.window_scale();
        let mss = u16::try_from(self.config.mtu.saturating_sub(self.config.base_header)).unwrap_or(u16::MAX);
        cx.tell(Incident::Options { mss, window_scale, timestamps: self.config.timestamps });
        let mut segment = self.segment(kind, now);
        self.put_syn_data(&mut segment, now);
        self.rx.acknowledge(&mut segment);
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        segment.window = segment.window.min(65_535);
        // A retransmitted SYN does not ask for ECN, which may be why the first was lost (section 6.1.1.1).
        if kind == Kind::Syn {
            let asks = self.config.ecn.filter(|_| self.handshake.tries == 1);
            (segment.cwr, segment.ece) = (asks.is_some(), asks.is_some());
            segment.ae = asks == Some(EchoRule::Accurate);
        } else {
            match (self.tx.ecn, self.handshake.reflect) {
                (Some(EchoRule::Accurate), Some(syn)) => segment.set_ace(accurate::reflected(syn)),
                (agreed, _) => segment.set_ace(u8::from(agreed.is_some())),
            }
        }
        let ecn = if self.tx.ecn == Some(EchoRule::Accurate) { Ecn::NotEct } else { self.codepoint() };
        self.packet(segment, ecn)
    }

    /// An acknowledgement of less than has arrived.
    #[cold]
    #[inline(never)]
    fn make_early_acknowledgement(&mut self, now: Time) -> Packet<Body> {
        let mut early = self.segment(Kind::Data, now);
        self.rx.acknowledge_early(&mut early);
        let ecn = self.codepoint();
        self.packet(early, ecn)
    }

    fn data_packet(&mut self, out: Outgoing, now: Time, spares: &mut Spares) -> Packet<Body> {
        let Outgoing { seq, len, fin, fresh, cwr, push, .. } = out;
        let bare = Segment { seq, len, fin, cwr, push, ..self.segment(Kind::Data, now) };
        let mut packet = spares.take().unwrap_or_else(|| Packet::new(0, Body::Tcp(Segment::bare(Kind::Data, 0))));
        packet.begin_anew(0);
        if !matches!(packet.body, Body::Tcp(_)) {
            packet.body = Body::Tcp(Segment::bare(Kind::Data, 0));
        }
        // The segment is filled in where it stays.
        let Contents { body: Body::Tcp(segment), len: wire, .. } = &mut *packet else { return packet };
        *segment = bare;
        self.rx.acknowledge(segment);
        if !self.config.timestamps {
            segment.echo = 0;
        }
        *wire = self.config.wire_len(segment);
        // Data and SACK blocks together must fit into the MTU.
        if segment.sacks > 0 && *wire > self.config.mtu {
            segment.sacks = 0;
            *wire = self.config.wire_len(segment);
        }
        packet.ecn = if fresh && self.tx.ecn.is_some() { self.capable() } else { self.codepoint() };
        packet.path = self.config.path;
        self.tx.stats.sent_all += 1;
        packet
    }

    fn bare_ack(&mut self, now: Time, spares: &mut Spares) -> Packet<Body> {
        self.data_packet(Outgoing::plain(self.tx.nxt, 0), now, spares)
    }

    /// Both ends have agreed on ECN, by this rule.
    fn use_ecn(&mut self, rule: EchoRule) {
        self.tx.ecn = Some(rule);
        self.tx.estimated.begin(self.config.role);
        self.rx.echo.negotiated(rule);
    }

    /// The rule by which both ends use ECN, if the peer has accurate ECN or a flag that echoes marks (`theirs`). An end
    /// that is configured for accurate ECN takes RFC 3168's from a peer that has no better (RFC 9768 section 3.1.1),
    /// unless it sends ECT(1): L4S needs the count (RFC 9331 section 4.1).
    fn agreed(&self, theirs: EchoRule) -> Option<EchoRule> {
        match self.config.ecn? {
            EchoRule::Accurate if theirs == EchoRule::Accurate => Some(EchoRule::Accurate),
            EchoRule::Accurate if self.config.l4s => None,
            EchoRule::Accurate => Some(EchoRule::Rfc3168),
            rule => Some(rule),
        }
    }

    fn fail(&mut self, reason: CloseReason) {
        if !matches!(self.state, State::Failed | State::Closed) {
            self.state = State::Failed;
            self.events.push_back(Event::Failed(reason));
        }
    }

    fn establish(&mut self, window: u64, now: Time) {
        let rtt =
            self.handshake.first_sent.filter(|_| self.handshake.tries == 1).map(|t| self.tx.clock.stamp(now).since(t));
        self.state = State::Established;
        self.handshake.timer = Time::NEVER;
        self.handshake.pending = false;
        self.tx.stats.connected_at = Some(now);
        self.rx.open(now);
        if std::mem::take(&mut self.handshake.early) {
            // The application was told long ago.
            return self.tx.confirm(rtt, now);
        }
        self.tx.open(window, rtt, now);
        self.events.push_back(Event::Connected);
    }

    /// Takes a segment that arrived in a packet of `len` bytes. Returns whether it was acceptable.
    #[inline(always)]
    pub(crate) fn take_segment(&mut self, s: &Segment, len: u32, ecn: Ecn, cx: &mut Cx<'_>) -> bool {
        let ecn = self.config.taken(ecn);
        self.tx.stats.received_packets += 1;
        self.tx.stats.received_wire_bytes += u64::from(len);
        if !self.accepts(s, len) {
            self.refuse(s);
            return false;
        }
        if self.state == State::SynReceived && s.kind == Kind::Data {
            self.handshake.reflect = None;
            self.establish(s.window, cx.now);
        }
        match (self.state, s.kind) {
            (State::Established | State::Closed, Kind::Data) => self.on_established(s, ecn, cx),
            _ => self.take_handshake_segment(s, ecn, cx.now),
        }
        true
    }

    /// A segment that opens or ends the connection: apart, so that data and acknowledgements do not save what it needs.
    #[cold]
    #[inline(never)]
    fn take_handshake_segment(&mut self, s: &Segment, ecn: Ecn, now: Time) {
        match (self.state, s.kind) {
            (State::Failed, _) => {}
            (_, Kind::Reset) => self.fail(CloseReason::ProtocolViolation("the peer reset the connection")),
            (State::Idle, Kind::Syn) if self.config.role == Role::Server => {
                self.rx.on_handshake(s.timestamp);
                self.state = State::SynReceived;
                self.handshake.pending = true;
                let theirs = if s.ae { EchoRule::Accurate } else { EchoRule::Rfc3168 };
                if s.ece
                    && s.cwr
                    && let Some(rule) = self.agreed(theirs)
                {
                    self.use_ecn(rule);
                    self.handshake.reflect = Some(ecn);
                }
                if self.config.fast_open && s.len > 0 {
                    self.take_syn_data(s, now);
                }
            }
            (State::SynReceived, Kind::Syn) => self.handshake.pending = true,
            (State::SynSent, Kind::SynAck) => {
                self.rx.on_handshake(s.timestamp);
                let accurate = self.config.ecn == Some(EchoRule::Accurate) && accurate::grants(s.ace());
                let classic = (s.ece && !s.cwr && !s.ae).then_some(EchoRule::Rfc3168);
                let granted = if accurate { Some(EchoRule::Accurate) } else { classic };
                if let Some(rule) = granted.and_then(|theirs| self.agreed(theirs)) {
                    self.use_ecn(rule);
                    self.handshake.reflect = Some(ecn).filter(|_| accurate);
                }
                self.settle_syn_data(s.ack);
                self.establish(s.window, now);
                self.handshake.ack = true;
            }
            (State::Established, Kind::SynAck) => self.rx.acknowledge_now(),
            _ => {}
        }
    }

    #[inline(always)]
    fn on_established(&mut self, s: &Segment, ecn: Ecn, cx: &mut Cx<'_>) {
        if self.rx.is_overtaken(s) && !self.is_only_disordered(s) {
            self.handshake.ack |= self.rx.answer_overtaken(s, cx.now);
            return;
        }
        self.rx.echo.count(ecn);
        self.tx.on_ack(s, cx);
        self.rx.watch(cx);
        self.rx.on_segment(s, ecn, cx.now, &self.tx);
        self.rx.trace(cx);
        // The kernel acknowledges before the application learns of the data. Only data that is already waiting is sent
        // along.
        self.handshake.ack |= s.len > 0 && self.rx.due() == Due::Now && !self.tx.is_ready();
        self.persist_backoff = 0;
        if self.rx.has_news() {
            self.events.push_back(Event::Readable(StreamId(0)));
        }
        self.tell_ends();
    }

    /// Whether an old segment is an acknowledgement that says nothing new: it was overtaken on its way, which does no harm (Linux:
    /// `tcp_disordered_ack`).
    #[cold]
    fn is_only_disordered(&self, s: &Segment) -> bool {
        let replay = (self.tx.rto().scaled(6, 5).as_nanos() / 1_000_000) as u32;
        s.seq == self.rx.next && s.end() == s.seq && self.tx.repeats(s) && self.rx.age(s) <= replay
    }

    #[inline(always)]
    fn tell_ends(&mut self) {
        if self.rx.finished() {
            self.tell_finished();
        }
    }

    fn tell_finished(&mut self) {
        if !self.finish_told {
            self.finish_told = true;
            self.events.push_back(Event::Finished(StreamId(0)));
        }
        if self.tx.has_finished() && self.state == State::Established {
            self.state = State::Closed;
            self.events.push_back(Event::Closed);
        }
    }

    fn tell_writable(&mut self) {
        if self.tx.unsent() < self.low_water {
            self.low_water = 0;
            self.events.push_back(Event::Writable(StreamId(0)));
        }
    }

    #[inline(always)]
    fn set_persist(&mut self, now: Time) {
        let idle = self.state == State::Established && self.tx.has_nothing_in_flight();
        if !idle || !(self.tx.is_blocked_by_peer() || self.tx.is_refused_and_idle()) {
            self.persist = Time::NEVER;
        } else if self.persist == Time::NEVER {
            let span = self.tx.rto().max(PERSIST_MIN).scaled(1 << self.persist_backoff.min(9), 1);
            self.persist = self.ticks.deadline(now, span.min(Span::from_secs(120)));
        }
    }
}

impl Endpoint for Connection {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        if self.state == State::Idle && self.config.role == Role::Client {
            self.state = State::SynSent;
            match self.tx.clock.after_readings(READINGS, cx.now) {
                None => self.handshake.pending = true,
                Some(at) => self.handshake.timer = at,
            }
        }
    }

    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.read_packet(packet, &mut Spares::default(), cx);
    }

    fn read_packet(&mut self, packet: Packet<Body>, spares: &mut Spares, cx: &mut Cx<'_>) {
        let Body::Tcp(segment) = &packet.body else {
            self.tx.stats.invalid_packets += 1;
            return;
        };
        self.take_segment(segment, packet.len, packet.ecn, cx);
        spares.keep(packet);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if self.handshake.timer <= cx.now {
            self.handshake.timer = Time::NEVER;
            if self.handshake.tries > self.config.syn_retries.into() {
                return self.fail(CloseReason::HandshakeTimeout);
            }
            self.handshake.pending = true;
        }
        if self.handshake.early {
            self.on_wake_early(cx);
        }
        if matches!(self.state, State::Established | State::Closed) {
            if self.tx.on_wake(&self.config, cx) {
                return self.fail(CloseReason::RetransmissionTimeout);
            }
            if matches!(self.rx.due(), Due::At(t) if t <= cx.now) {
                self.rx.on_timer(cx.now, self.tx.rto());
            }
            if self.persist <= cx.now {
                self.persist = Time::NEVER;
                if !self.tx.retry() {
                    self.persist_backoff += 1;
                    self.probe = true;
                }
            }
        }
    }

    fn next_wake(&self) -> Time {
        if self.state == State::Failed {
            return Time::NEVER;
        }
        let ack = match self.rx.due() {
            Due::At(t) => t,
            Due::Now | Due::No => Time::NEVER,
        };
        self.tx.next_wake().min(ack).min(self.handshake.timer).min(self.persist)
    }

    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.make_packet(&mut Spares::default(), cx)
    }

    fn make_packet(&mut self, spares: &mut Spares, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        let now = cx.now;
        if self.handshake.pending {
            return Some(self.make_handshake_packet(cx));
        }
        if !matches!(self.state, State::Established | State::Closed) && !self.handshake.early {
            return None;
        }
        if self.rx.owes_early() {
            return Some(self.make_early_acknowledgement(now));
        }
        if std::mem::take(&mut self.handshake.ack) {
            let mut ack = self.bare_ack(now, spares);
            if let (Body::Tcp(segment), Some(syn_ack)) = (&mut ack.body, self.handshake.reflect.take()) {
                segment.set_ace(accurate::reflected(syn_ack));
            }
            return Some(ack);
        }
        if let Some(out) = self.tx.poll(cx) {
            self.rx.on_data_sent(now);
            self.tell_writable();
            return Some(self.data_packet(out, now, spares));
        }
        if std::mem::take(&mut self.probe) {
            // An old position makes the peer answer with its window (Linux: `tcp_xmit_probe_skb`).
            let (seq, len) = (self.tx.una.saturating_sub(1), u32::from(self.tx.una > 0));
            return Some(self.data_packet(Outgoing::plain(seq, len), now, spares));
        }
        if self.rx.due() == Due::Now {
            return Some(self.bare_ack(now, spares));
        }
        self.set_persist(now);
        None
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn can_send_early_data(&self) -> bool {
        self.config.fast_open && self.config.role == Role::Client
    }

    fn open(&mut self) -> Option<StreamId> {
        (!std::mem::replace(&mut self.opened, true)).then_some(StreamId(0))
    }

    fn write(&mut self, _: StreamId, bytes: u64) {
        self.tx.write(bytes);
    }

    fn unsent(&self, _: StreamId) -> u64 {
        self.tx.unsent()
    }

    fn wait_writable(&mut self, _: StreamId, below: u64) {
        self.low_water = below;
        self.tell_writable();
    }

    fn finish(&mut self, _: StreamId) {
        self.tx.finish();
    }

    fn read(&mut self, _: StreamId, now: Time) -> u64 {
        // For which a process reads the clock (Linux: `tcp_rcv_space_adjust`).
        let bytes = self.rx.take(now, self.tx.clock.after_readings(1, now));
        if bytes > 0 {
            self.tx.clock.wake_process(now);
        }
        self.tell_ends();
        bytes
    }

    fn close(&mut self) {
        self.tx.finish();
    }

    fn on_local_backlog(&mut self, _: PathId, bytes: u64) -> bool {
        self.tx.on_local_backlog(bytes)
    }

    fn on_admission(&mut self, admission: Admission, body: &Body, cx: &mut Cx<'_>) {
        let Body::Tcp(s) = body else { return };
        if admission == Admission::Refused {
            self.tx.stats.sent_all -= 1;
            // Not a probe of a closed window, which repeats an old position.
            if s.kind == Kind::Data && (s.len > 0 || s.fin) && s.seq >= self.tx.una {
                self.tx.take_back(s, cx.now);
            }
        }
        if admission != Admission::Taken && matches!(self.state, State::Established | State::Closed) {
            self.tx.on_local_congestion(cx.now);
        }
    }

    fn local_limit(&self) -> u64 {
        u64::MAX
    }

    fn stats(&self) -> Stats {
        let (reassembly, concealed_bytes) = (Some(Box::new(self.rx.reassembly().clone())), self.rx.concealed());
        Stats { reassembly, concealed_bytes, ..self.tx.stats.clone() }
    }

    fn bytes_in_flight(&self, _: PathId) -> u64 {
        self.tx.in_flight()
    }
}
