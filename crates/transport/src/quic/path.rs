//! A path of a connection: RTT, congestion controller, sent packets, pacer, datagram size.

use super::config::{Config, Pacing};
use super::draft::Traits;
use super::ecn::Marking;
use super::few::Few;
use super::mtu::MtuSearch;
use super::multipath::{Challenge, Controllers, Status};
use super::numbers::Skips;
use super::packet::{Datagram, SpaceId};
use super::rtt::Rtt;
use super::sent::{Record, SentPacket};
use super::sizes::{AMPLIFICATION_LIMIT, MIN_DATAGRAM};
use super::space::{Space, Spaces};
use super::streams::LONE_OVERHEAD;
use crate::Body;
use crate::cc::{self, CongestionController, Sent};
use crate::endpoint::Role;
use crate::path::PathState;
use crate::recovery::{BurstPacer, Depth, Flow, RateSampler, Reported, TokenBucket};
use haltere_net::incident::TimerName;
use haltere_net::{Ecn, Packet, PathId, Rate, Span, Time};

/// A packet number of a byte, and what quiche wants to have left for a STREAM frame (quiche 0.30.0, `frame.rs`,
/// `MAX_STREAM_OVERHEAD`, and more).
const LEAST_CONTENT: u32 = 1 + LONE_OVERHEAD + 1;

/// The facts about the connection that a path needs to set its timer (RFC 9002 section 6.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub confirmed: bool,
    /// Whether the peer surely takes our address for validated (appendix A.8).
    pub peer_validated: bool,
    pub handshake_keys: bool,
    /// The peer's `max_ack_delay`.
    pub max_ack_delay: Span,
    /// Whether the connection has other paths.
    pub several: bool,
}

/// The counts of the anti-amplification limit (RFC 9000 section 8.1), in bytes of UDP payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Validation {
    pub validated: bool,
    pub received: u64,
    pub sent: u64,
}

impl Validation {
    /// Bytes that may still be sent.
    #[inline]
    pub fn left(&self) -> u64 {
        if self.validated { u64::MAX } else { (AMPLIFICATION_LIMIT * self.received).saturating_sub(self.sent) }
    }
}

/// The losses since the last reduction of the window, and how many of them were none.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Episode {
    pub lost: u64,
    pub spurious: u64,
    pub since: Time,
}

/// A pair of addresses, by the number of the path on which its packets travel. A path that migrates keeps its own number and
/// uses another pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Way(pub PathId);

/// Whether a datagram may go now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clearance {
    Free,
    Window,
    Paced(Time),
}

/// A path.
pub(super) struct Path {
    pub id: PathId,
    /// The pair of addresses in use, which migration changes.
    pub way: Way,
    /// Under which number it reports to probes.
    pub label: PathId,
    pub state: PathState,
    pub challenge: Challenge,
    pub status: Status,
    /// The newest sample of the delivery rate, kept where others ask for it.
    pub delivery_rate: Option<Rate>,
    /// Bytes delivered by the loss before the last, and by the last.
    pub losses: (u64, u64),
    pub rtt: Rtt,
    pub cc: Box<dyn CongestionController>,
    pub sampler: RateSampler,
    pub mtu: MtuSearch,
    pub validation: Validation,
    pub in_flight: u64,
    /// Number of the next 1-RTT packet: the position in the sender's sequence that controllers are told.
    pub next_data: u64,
    /// When the last recovery period began (RFC 9002 section 7.3.2); losses of packets sent before belong to it.
    pub recovery_start: Option<Time>,
    /// Whether it still lasts.
    pub recovering: bool,
    pub episode: Option<Episode>,
    pub pto_count: u32,
    /// The loss-detection timer.
    pub timer: Time,
    /// When pacing lets the next datagram go, if one waits for that.
    pub paced_until: Time,
    /// Whether the window or pacing, and not a lack of data, held the sender back lately (RFC 9002 section 7.8).
    pub window_limited: bool,
    pub undo: bool,
    pub marking: Marking,
    pacing: Option<BurstPacer>,
    /// The pacer in the place of `pacing`, where that is a bucket of tokens.
    bucket: Option<Box<TokenBucket>>,
    burst: u32,
    /// Bytes of the window that stay free.
    margin: u8,
    /// Whether the controller is told of each packet that is acknowledged.
    pub per_packet: bool,
    /// Whether an acknowledgement that is due waits for the window or pacing.
    pub acks_held: bool,
    /// Whether pacing holds back every packet.
    pub holds_all: bool,
    /// The packet numbers that are left out, if any are.
    skips: Option<Box<Skips>>,
    /// The room below which no packet with stream data goes, where packets are cut to what the window has left; otherwise 0.
    cut: u8,
    pub ip_udp: u32,
    pub packet_threshold: u64,
    idle_restart: bool,
    /// The bound of what a probe timeout may be longer than the one before.
    probe_step: Span,
    pub reported: Option<Box<Reported>>,
}

impl Path {
    pub fn new(id: PathId, config: &Config, controllers: Option<&Controllers>) -> Path {
        let mss = u64::from(MIN_DATAGRAM);
        // The first path has the connection's dice, others have their own.
        let stream = if id.0 == 0 { config.stream.clone() } else { config.stream.part(&format!("path {}", id.0)) };
        let about = config.facts(mss, config.ip_udp, stream);
        let initial_window = about.initial_window;
        let shadows = config.shadows().map(|own| (own.algorithm, own.facts(mss, config.ip_udp, about.stream.clone())));
        let shadows: Vec<_> = shadows.collect();
        let controller = match controllers {
            Some(make) => make(about),
            None => cc::controller(config.algorithm, config.agent.as_ref(), about),
        };
        let spread = config.pacing && config.pacer == Pacing::Spread;
        let bucket = bucket(config, &Flow { rtt: config.initial_rtt, window: initial_window, mtu: mss });
        let holds_all = bucket.as_ref().is_some_and(|bucket| bucket.holds_all());
        let cc = cc::with_shadows(cc::Contestant { controller, paced: config.pacing }, shadows.into_iter());
        let per_packet = cc.wants_packets();
        Path {
            id,
            way: Way(id),
            label: id,
            state: PathState::Active,
            challenge: Challenge::default(),
            status: Status::default(),
            delivery_rate: None,
            losses: (0, 0),
            rtt: Rtt::new(config),
            cc,
            sampler: RateSampler::default(),
            mtu: MtuSearch::new(
                u32::from(config.largest_datagram.unwrap_or(config.max_udp_payload)),
                config.mtu_probes,
            ),
            validation: Validation { validated: config.role == Role::Client, received: 0, sent: 0 },
            in_flight: 0,
            next_data: 0,
            recovery_start: None,
            recovering: false,
            episode: None,
            pto_count: 0,
            timer: Time::NEVER,
            paced_until: Time::NEVER,
            window_limited: false,
            undo: config.undo,
            marking: Marking::new(config.ecn.then_some(if config.l4s { Ecn::Ect1 } else { Ecn::Ect0 })),
            // Section 7.7: bursts of the size of the initial window are allowed.
            pacing: spread.then(|| BurstPacer::new(config.unpaced.map_or(initial_window, |n| n * mss))),
            bucket,
            burst: u32::try_from(config.burst).unwrap_or(u32::MAX),
            margin: u8::from(!config.full_window),
            per_packet,
            acks_held: false,
            holds_all,
            skips: config
                .skipped_numbers
                .then(|| Box::new(Skips::new(config.stream.part(&format!("numbers {}", id.0))))),
            cut: if config.cut_packets {
                (SpaceId::Data.overhead() + config.header() + LEAST_CONTENT) as u8
            } else {
                0
            },
            ip_udp: config.ip_udp,
            packet_threshold: config.packet_threshold,
            idle_restart: config.idle_restart,
            probe_step: config.probe_step,
            reported: None,
        }
    }

    /// A datagram with its payload's size as a packet on this path.
    pub fn wrap(&self, datagram: Datagram, size: u32) -> Packet<Body> {
        let (path, ecn) = (self.way.0, self.marking.codepoint());
        debug_assert!(datagram.is_sized(), "{datagram:?}");
        Packet::new(size + self.ip_udp, Body::Quic(Box::new(datagram))).with(|p| {
            p.path = path;
            p.ecn = ecn;
        })
    }

    /// The congestion window. A controller that counts bytes may ask for less than a datagram, which could never be
    /// used up: RFC 9002 section 7.2 has two datagrams as the least (`kMinimumWindow`).
    #[inline]
    pub fn window(&self) -> u64 {
        self.cc.window().max(2 * u64::from(self.mtu.current()))
    }

    /// Whether the window has no room for a full datagram.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.in_flight + u64::from(self.mtu.current()) + u64::from(self.margin) > self.window()
            && self.is_full_when_cut()
    }

    /// Whether the window, which has no room for a full datagram, has none for a packet that is cut either.
    #[inline]
    fn is_full_when_cut(&self) -> bool {
        self.cut == 0 || self.room() < u64::from(self.cut)
    }

    /// Bytes that the window has left, and what the controller allows beyond it.
    #[cold]
    #[inline(never)]
    pub fn room(&self) -> u64 {
        self.window().saturating_sub(self.in_flight) + self.cc.allowance()
    }

    /// The largest datagram with data that may go now.
    #[inline]
    pub fn largest(&self) -> u32 {
        if self.cut == 0 { self.mtu.current() } else { self.largest_cut() }
    }

    #[cold]
    #[inline(never)]
    fn largest_cut(&self) -> u32 {
        self.mtu.current().min(u32::try_from(self.room()).unwrap_or(u32::MAX))
    }

    /// Whether pacing lets a full datagram go now, for which the window has room.
    #[inline(always)]
    pub fn paced(&mut self, now: Time) -> Clearance {
        match self.pacing.as_mut().and_then(|p| p.blocked(now)) {
            Some(until) => Clearance::Paced(until),
            None if self.bucket.is_some() => self.paced_by_bucket(now),
            None => Clearance::Free,
        }
    }

    /// The facts by which a bucket of tokens is filled.
    fn flow(&self) -> Flow {
        let rtt = self.rtt.smoothed_or_supposed();
        Flow { rtt, window: self.window(), mtu: u64::from(self.mtu.current()) }
    }

    #[inline(never)]
    fn paced_by_bucket(&mut self, now: Time) -> Clearance {
        let flow = self.flow();
        match self.bucket.as_mut().and_then(|bucket| bucket.blocked(now, &flow)) {
            Some(until) => Clearance::Paced(until),
            None => Clearance::Free,
        }
    }

    /// Whether a full packet may not be sent now, because of the window or of pacing.
    pub fn is_held(&mut self, now: Time) -> bool {
        let room = self.window().saturating_sub(self.in_flight);
        room < u64::from(self.mtu.current()) || matches!(self.paced(now), Clearance::Paced(_))
    }

    /// Numbers a packet of `size` bytes that goes out and keeps what it carries.
    #[inline(always)]
    pub fn on_sent(
        &mut self,
        (id, space): (SpaceId, &mut Space),
        now: Time,
        size: u32,
        records: Few<Record>,
        traits: Traits,
    ) {
        if traits.acks {
            space.received.on_ack_sent(traits);
        }
        // RFC 9002 section 2: packets with PADDING count as in flight even if nobody will acknowledge them.
        let in_flight = traits.eliciting || traits.padded;
        let tx = self.sampler.on_sent(now, self.in_flight).with_in_flight(self.in_flight + u64::from(size));
        if in_flight {
            let last = space.sent.last_eliciting();
            self.cc.on_sent(&Sent {
                now,
                bytes: u64::from(size),
                in_flight: self.in_flight,
                total_delivered: self.sampler.delivered(),
                after_idle: last.filter(|_| self.in_flight == 0).map(|at| now.since(at)),
                app_limited: self.sampler.is_app_limited(),
                timeout: if self.idle_restart { self.rtt.pto() } else { Span::MAX },
            });
            self.in_flight += u64::from(size);
            if id == SpaceId::Data {
                self.charge(now, u64::from(size));
            } else if let Some(bucket) = &mut self.bucket {
                bucket.on_sent(u64::from(size));
            }
        }
        self.marking.on_sent(id);
        space.next_number += 1;
        if id == SpaceId::Data {
            self.next_data = space.next_number;
        }
        let mut packet = SentPacket::new(now, size, tx, records);
        packet.ack_eliciting = traits.eliciting;
        packet.in_flight = in_flight;
        space.sent.push(packet);
        if id == SpaceId::Data && self.skips.is_some() {
            self.skip_number(space, now);
        }
        if traits.eliciting {
            space.probes = space.probes.saturating_sub(1);
        }
    }

    /// A probe of the datagram size goes out.
    pub fn on_mtu_probe_sent(&mut self, space: &mut Space, now: Time, size: u32) {
        self.mtu.on_sent(size);
        let mut packet = SentPacket::new(now, size, self.sampler.on_sent(now, self.in_flight), Few::default());
        packet.ack_eliciting = true;
        packet.in_flight = true;
        packet.mtu_probe = true;
        self.in_flight += u64::from(size);
        self.charge(now, u64::from(size));
        self.marking.on_sent(SpaceId::Data);
        if self.mtu.goes_first() {
            // quiche counts packets that ask for nothing from the last that did.
            space.received.on_asked();
        }
        space.next_number += 1;
        self.next_data = space.next_number;
        space.sent.push(packet);
        if self.skips.is_some() {
            self.skip_number(space, now);
        }
    }

    /// Leaves the next packet number out if it is its turn.
    #[cold]
    fn skip_number(&mut self, space: &mut Space, now: Time) {
        if self.skips.as_mut().is_some_and(|skips| skips.takes(space.next_number)) {
            space.next_number += 1;
            self.next_data = space.next_number;
            let nothing = SentPacket::new(now, 0, self.sampler.on_sent(now, self.in_flight), Few::default());
            space.sent.push(nothing);
        }
    }

    #[inline]
    fn charge(&mut self, now: Time, size: u64) {
        let quantum = match self.cc.send_quantum() {
            0 => u64::from(self.burst) * u64::from(self.mtu.current()),
            quantum => quantum,
        };
        if let Some(rate) = self.pacing_rate()
            && let Some(pacing) = &mut self.pacing
        {
            pacing.on_sent(now, size, rate, quantum);
        } else if let Some(bucket) = &mut self.bucket {
            bucket.on_sent(size);
        }
    }

    /// The rate packets are paced at: the controller's or, with N = 1.25, that of RFC 9002 section 7.7.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        if self.pacing.is_none() && self.bucket.is_none() {
            return None;
        }
        let own = || spread(self.window(), self.rtt.smoothed()?);
        self.cc.pacing_rate().or_else(own)
    }

    /// When pacing lets the next datagram go.
    pub fn next_departure(&self) -> Time {
        self.pacing.as_ref().map_or(Time::ZERO, BurstPacer::next)
    }

    /// Packets of `bytes` in flight are forgotten, as the keys of their space are discarded (RFC 9002 section 6.4).
    pub fn on_discarded(&mut self, bytes: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.pto_count = 0;
    }

    /// The probe timeout with backoff, where the peer may hold an acknowledgement back for so long (RFC 9002 section 6.2.1).
    #[inline]
    fn probe_timeout(&self, max_ack_delay: Span) -> Span {
        let base = self.rtt.pto() + max_ack_delay;
        match self.pto_count {
            0 => base,
            count => self.backed_off(base, count),
        }
    }

    #[cold]
    #[inline(never)]
    fn backed_off(&self, base: Span, count: u32) -> Span {
        if self.probe_step == Span::MAX {
            return base * (1 << count.min(30));
        }
        let step = self.probe_step.max(self.rtt.smoothed_or_supposed() * 3 / 2);
        (1..=count).fold(base, |timeout, i| (base * (1 << i.min(16))).min(timeout + step))
    }

    /// The space whose packets will first be lost by time.
    fn earliest_loss(spaces: &Spaces, i: usize) -> Option<(Time, SpaceId)> {
        spaces.on_path(i).filter_map(|(id, space)| Some((space.loss_time?, id))).min()
    }

    /// The space whose probe timeout ends first, and when (RFC 9002 appendix A.8, `GetPtoTimeAndSpace`).
    fn earliest_pto(&self, (spaces, i): (&Spaces, usize), now: Time, about: &Situation) -> Option<(Time, SpaceId)> {
        let mut duration = self.probe_timeout(Span::ZERO);
        // Section 6.2.2.1: nothing is in flight, but the server may be held back by the anti-amplification limit.
        let deadlock = (!about.peer_validated && i == 0)
            .then(|| (now + duration, if about.handshake_keys { SpaceId::Handshake } else { SpaceId::Initial }));
        if !spaces.on_path(i).any(|(_, s)| s.sent.awaits()) {
            return deadlock;
        }
        let mut earliest = None;
        for (id, space) in spaces.on_path(i) {
            if !space.sent.awaits() {
                continue;
            }
            if id == SpaceId::Data {
                if !about.confirmed {
                    break;
                }
                duration = self.probe_timeout(about.max_ack_delay);
            }
            let at = space.sent.last_eliciting()? + duration;
            if earliest.is_none_or(|(t, _)| at < t) {
                earliest = Some((at, id));
            }
        }
        // Where only 0-RTT packets are in flight, they have no timer before the handshake is confirmed.
        earliest.or(deadlock)
    }

    /// Sets the loss-detection timer where the handshake is confirmed: its spaces are gone.
    #[inline]
    pub fn set_data_timer(&mut self, data: &Space, max_ack_delay: Span) {
        self.timer = match (data.loss_time, data.sent.last_eliciting()) {
            (Some(at), _) => at,
            (None, Some(last)) if data.sent.awaits() => last + self.probe_timeout(max_ack_delay),
            _ => Time::NEVER,
        };
    }

    /// Sets the loss-detection timer (appendix A.8) of this path, at place `i`, before the handshake is confirmed.
    pub fn set_timer(&mut self, spaces: &Spaces, i: usize, now: Time, about: &Situation) {
        self.timer = match Path::earliest_loss(spaces, i) {
            Some((at, _)) => at,
            None if self.validation.left() < u64::from(MIN_DATAGRAM) => Time::NEVER,
            None => self.earliest_pto((spaces, i), now, about).map_or(Time::NEVER, |(at, _)| at),
        };
    }

    /// The meaning of the timer that is due now: a loss in this space or its probe timeout.
    pub fn due(&self, spaces: &Spaces, i: usize, now: Time, about: &Situation) -> Option<(SpaceId, TimerName)> {
        if let Some((at, id)) = Path::earliest_loss(spaces, i) {
            return (at <= now).then_some((id, TimerName::Loss));
        }
        self.earliest_pto((spaces, i), now, about).map(|(_, id)| (id, TimerName::Probe))
    }

    /// When the path next has something to do by itself.
    #[inline]
    pub fn next_wake(&self, data: &Space) -> Time {
        self.timer.min(self.paced_until).min(self.ack_deadline(data))
    }

    /// When an acknowledgement must go out by itself.
    #[inline]
    pub fn ack_deadline(&self, data: &Space) -> Time {
        // While the anti-amplification limit forbids even that, the next datagram received is what is waited for.
        if !self.validation.validated && self.validation.left() < u64::from(self.mtu.current()) {
            return Time::NEVER;
        }
        if self.acks_held {
            return Time::NEVER;
        }
        data.received.deadline()
    }
}

/// The bucket of tokens of a path that is paced by one.
fn bucket(config: &Config, flow: &Flow) -> Option<Box<TokenBucket>> {
    let depth = match config.pacer {
        Pacing::Bucket => Depth::Datagrams,
        Pacing::ShortBucket => Depth::Short,
        Pacing::Spread => return None,
    };
    config.pacing.then(|| Box::new(TokenBucket::new(flow, depth)))
}

/// The rate that spreads a window over the smoothed RTT, with N = 1.25 (RFC 9002 section 7.7).
#[inline]
pub(super) fn spread(window: u64, srtt: Span) -> Option<Rate> {
    Rate::of(window * 5 / 4, srtt)
}
