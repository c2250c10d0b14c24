//! A path of a connection: RTT, congestion controller, sent packets, pacer, datagram size.

use super::config::Config;
use super::ecn::Marking;
use super::few::Few;
use super::frame::Ack;
use super::mtu::MtuSearch;
use super::packet::SpaceId;
use super::received::Received;
use super::rtt::Rtt;
use super::sent::{Record, SentPacket, SentPackets};
use super::sizes::{AMPLIFICATION_LIMIT, MIN_DATAGRAM};
use crate::cc::{self, CongestionController, Sent};
use crate::endpoint::Role;
use crate::recovery::{BurstPacer, RateSampler, Told};
use haltere_net::{PathId, Rate, Span, Time};

/// A packet number space of a path (RFC 9000 section 12.3). Paths after the first only use that of application data.
#[derive(Default, Debug)]
pub(super) struct Space {
    pub next_number: u64,
    pub largest_acked: Option<u64>,
    pub sent: SentPackets,
    /// When the first missing packet will be lost (RFC 9002 appendix A.3, `loss_time`).
    pub loss_time: Option<Time>,
    pub received: Received,
    /// Probes that a probe timeout allows beyond the window.
    pub probes: u32,
}

/// What a path must know of the connection to set its timer (RFC 9002 section 6.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub confirmed: bool,
    /// Whether the peer surely takes our address for validated (appendix A.8).
    pub peer_validated: bool,
    pub handshake_keys: bool,
    /// The peer's `max_ack_delay`.
    pub max_ack_delay: Span,
}

/// What the anti-amplification limit counts (RFC 9000 section 8.1), in bytes of UDP payload.
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
    pub rtt: Rtt,
    pub cc: Box<dyn CongestionController>,
    pub sampler: RateSampler,
    pub mtu: MtuSearch,
    pub spaces: [Space; 3],
    pub validation: Validation,
    pub in_flight: u64,
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
    burst: u64,
    pub ip_udp: u32,
    pub packet_threshold: u64,
    idle_restart: bool,
    pub told: Told,
}

impl Path {
    pub fn new(id: PathId, config: &Config) -> Path {
        let mss = u64::from(MIN_DATAGRAM);
        // RFC 9002 section 7.2, for windows of other sizes in the same proportion.
        let initial_window = (config.initial_window * mss).min((1472 * config.initial_window).max(2 * mss));
        let cc = config.algorithm.build(cc::Config {
            mss,
            wire: mss + u64::from(config.ip_udp),
            grain: if config.whole_segments { mss } else { 1 },
            initial_window,
            slow_start: config.slow_start,
            paced: config.pacing,
            // A user-space stack reads an exact clock.
            tick: Span::ZERO,
            phase: Span::ZERO,
            stream: config.stream.clone(),
        });
        Path {
            id,
            rtt: Rtt::new(config),
            cc,
            sampler: RateSampler::default(),
            mtu: MtuSearch::new(u32::from(config.largest_datagram.unwrap_or(config.max_udp_payload))),
            spaces: Default::default(),
            validation: Validation { validated: config.role == Role::Client, received: 0, sent: 0 },
            in_flight: 0,
            recovery_start: None,
            recovering: false,
            episode: None,
            pto_count: 0,
            timer: Time::NEVER,
            paced_until: Time::NEVER,
            window_limited: false,
            undo: config.undo,
            marking: Marking::new(config.ecn),
            // Section 7.7: bursts of the size of the initial window are allowed.
            pacing: config.pacing.then(|| BurstPacer::new(config.unpaced.map_or(initial_window, |n| n * mss))),
            burst: config.burst,
            ip_udp: config.ip_udp,
            packet_threshold: config.packet_threshold,
            idle_restart: config.idle_restart,
            told: Told::default(),
        }
    }

    #[inline]
    pub fn space(&mut self, id: SpaceId) -> &mut Space {
        &mut self.spaces[id as usize]
    }

    /// The congestion window. A controller that counts bytes may ask for less than a datagram, which could never be
    /// used up: RFC 9002 section 7.2 has two datagrams as the least (`kMinimumWindow`).
    #[inline]
    pub fn window(&self) -> u64 {
        self.cc.window().max(2 * u64::from(self.mtu.current()))
    }

    /// Whether a full datagram may be sent now under congestion control and pacing.
    #[inline]
    pub fn clearance(&mut self, now: Time) -> Clearance {
        if self.in_flight + u64::from(self.mtu.current()) > self.window() {
            return Clearance::Window;
        }
        match self.pacing.as_mut().and_then(|p| p.blocked(now)) {
            Some(until) => Clearance::Paced(until),
            None => Clearance::Free,
        }
    }

    /// Numbers a packet that goes out and keeps what it carries. `paced` bytes of UDP payload are charged to the pacer.
    pub fn on_sent(&mut self, now: Time, id: SpaceId, size: u32, records: Few<Record>, eliciting: bool, padded: bool) {
        // RFC 9002 section 2: packets with PADDING count as in flight even if nobody will acknowledge them.
        let in_flight = eliciting || padded;
        let tx = self.sampler.on_sent(now, self.in_flight).with_in_flight(self.in_flight + u64::from(size));
        let mut packet = SentPacket::new(now, size, tx, records);
        packet.ack_eliciting = eliciting;
        packet.in_flight = in_flight;
        if in_flight {
            let last = self.spaces[id as usize].sent.last_eliciting();
            self.cc.on_sent(&Sent {
                now,
                in_flight: self.in_flight,
                total_delivered: self.sampler.delivered(),
                after_idle: last.filter(|_| self.in_flight == 0).map(|at| now.since(at)),
                app_limited: self.sampler.is_app_limited(),
                timeout: if self.idle_restart { self.rtt.pto() } else { Span::MAX },
            });
            self.in_flight += u64::from(size);
            if id == SpaceId::Data {
                self.charge(now, u64::from(size));
            }
        }
        self.marking.on_sent(id);
        let space = &mut self.spaces[id as usize];
        space.next_number += 1;
        space.sent.push(packet);
        if eliciting {
            space.probes = space.probes.saturating_sub(1);
        }
    }

    /// A probe of the datagram size goes out.
    pub fn on_mtu_probe_sent(&mut self, now: Time, size: u32) {
        self.mtu.on_sent(size);
        let mut packet = SentPacket::new(now, size, self.sampler.on_sent(now, self.in_flight), Few::default());
        packet.ack_eliciting = true;
        packet.in_flight = true;
        packet.mtu_probe = true;
        self.in_flight += u64::from(size);
        self.charge(now, u64::from(size));
        self.marking.on_sent(SpaceId::Data);
        let space = self.space(SpaceId::Data);
        space.next_number += 1;
        space.sent.push(packet);
    }

    #[inline]
    fn charge(&mut self, now: Time, size: u64) {
        let quantum = match self.cc.send_quantum() {
            0 => self.burst * u64::from(self.mtu.current()),
            quantum => quantum,
        };
        if let Some(rate) = self.pacing_rate()
            && let Some(pacing) = &mut self.pacing
        {
            pacing.on_sent(now, size, rate, quantum);
        }
    }

    /// The rate packets are paced at: the controller's or, with N = 1.25, that of RFC 9002 section 7.7.
    #[inline]
    pub fn pacing_rate(&self) -> Option<Rate> {
        self.pacing.as_ref()?;
        let own = || self.rtt.smoothed().and_then(|srtt| Rate::of(self.window() * 5 / 4, srtt));
        self.cc.pacing_rate().or_else(own)
    }

    /// When pacing lets the next datagram go.
    pub fn next_departure(&self) -> Time {
        self.pacing.as_ref().map_or(Time::ZERO, BurstPacer::next)
    }

    /// Forgets a packet number space whose keys are discarded (RFC 9002 section 6.4).
    pub fn discard(&mut self, id: SpaceId) {
        let space = self.space(id);
        let bytes = space.sent.discard();
        space.loss_time = None;
        space.probes = 0;
        space.received = Received::default();
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.pto_count = 0;
    }

    /// The space whose packets will first be lost by time.
    fn earliest_loss(&self) -> Option<(Time, SpaceId)> {
        SpaceId::ALL.into_iter().filter_map(|id| Some((self.spaces[id as usize].loss_time?, id))).min()
    }

    /// The space whose probe timeout ends first, and when (RFC 9002 appendix A.8, `GetPtoTimeAndSpace`).
    fn earliest_pto(&self, now: Time, about: &Situation) -> Option<(Time, SpaceId)> {
        let backoff = 1u64 << self.pto_count.min(30);
        let mut duration = self.rtt.pto() * backoff;
        // Section 6.2.2.1: nothing is in flight, but the server may be held back by the anti-amplification limit.
        let deadlock = (!about.peer_validated)
            .then(|| (now + duration, if about.handshake_keys { SpaceId::Handshake } else { SpaceId::Initial }));
        if !self.spaces.iter().any(|s| s.sent.awaits()) {
            return deadlock;
        }
        let mut earliest = None;
        for id in SpaceId::ALL {
            let space = &self.spaces[id as usize];
            if !space.sent.awaits() {
                continue;
            }
            if id == SpaceId::Data {
                if !about.confirmed {
                    break;
                }
                duration += about.max_ack_delay * backoff;
            }
            let at = space.sent.last_eliciting()? + duration;
            if earliest.is_none_or(|(t, _)| at < t) {
                earliest = Some((at, id));
            }
        }
        // Where only 0-RTT packets are in flight, they have no timer before the handshake is confirmed.
        earliest.or(deadlock)
    }

    /// Sets the loss-detection timer (appendix A.8).
    #[inline]
    pub fn set_timer(&mut self, now: Time, about: &Situation) {
        if about.confirmed {
            // The common case: one space left.
            let space = &self.spaces[SpaceId::Data as usize];
            self.timer = match (space.loss_time, space.sent.last_eliciting()) {
                (Some(at), _) => at,
                (None, Some(last)) if space.sent.awaits() => {
                    last + (self.rtt.pto() + about.max_ack_delay) * (1 << self.pto_count.min(30))
                }
                _ => Time::NEVER,
            };
            return;
        }
        self.timer = match self.earliest_loss() {
            Some((at, _)) => at,
            None if self.validation.left() < u64::from(MIN_DATAGRAM) => Time::NEVER,
            None => self.earliest_pto(now, about).map_or(Time::NEVER, |(at, _)| at),
        };
    }

    /// What the timer, now due, stands for: a loss in this space (true) or its probe timeout (false).
    pub fn due(&self, now: Time, about: &Situation) -> Option<(SpaceId, bool)> {
        if let Some((at, id)) = self.earliest_loss() {
            return (at <= now).then_some((id, true));
        }
        self.earliest_pto(now, about).map(|(_, id)| (id, false))
    }

    /// When an acknowledgement must go out by itself.
    #[inline]
    pub fn ack_deadline(&self) -> Time {
        // While the anti-amplification limit forbids even that, the next datagram received is what is waited for.
        if !self.validation.validated && self.validation.left() < u64::from(self.mtu.current()) {
            return Time::NEVER;
        }
        self.spaces[SpaceId::Data as usize].received.deadline()
    }

    /// Whether an ACK could be for packets that were sent.
    pub fn check_ack(&self, id: SpaceId, ack: &Ack) -> Result<u64, &'static str> {
        if !ack.well_formed() {
            return Err("FRAME_ENCODING_ERROR: an ACK frame's ranges are out of order");
        }
        match ack.largest() {
            Some(largest) if largest < self.spaces[id as usize].next_number => Ok(largest),
            _ => Err("PROTOCOL_VIOLATION: a packet was acknowledged that was never sent"),
        }
    }
}
