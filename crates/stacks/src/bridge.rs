//! One of our congestion controllers inside a stack.
//!
//! The stacks call a controller packet by packet; ours wants one event an ACK. So acknowledgements are gathered here
//! until the stack says that a frame is through. What the stacks' traits do not report is replaced as follows:
//!
//! - the ACK delay: RTT samples contain it, so that TCP-LP is refused: it takes 15 % of the range of delays for
//!   congestion, and once its window is one packet, whose ACK is delayed by 25 ms, it would stay there;
//! - losses come after the acknowledgements that showed them, and as one sum: [`Ack::lost`] is that of the ACK before,
//!   and there is one [`Lost`] without a number for all packets found lost at once, with the state of the last of them;
//! - which bytes were marked: marks are a sign of congestion only, so that DCTCP is refused;
//! - whether the window was used: it was, unless the stack calls itself short of data;
//! - when pacing lets the next packet go: at once; RTT variance, for the timeout after which a sender counts as idle:
//!   half the smoothed RTT, as after a first sample (RFC 9002 section 5.3);
//! - PRR and the peer's delayed-ACK timer: there is none;
//! - the other paths, which coupled algorithms want to see: the controllers of a connection share what each knows of its own
//!   ([`Siblings`]). A path counts from its first acknowledgement until the stack drops its controller. A path that fails
//!   counts until then, for the stack does not say that it suspects one.
//!
//! Sent packets are found again by the time at which they were sent, which packets of one burst share; their states in
//! the delivery-rate sampler are the same.

use crate::clock::Clock;
use crate::meter::Meter;
use haltere_net::fault::Faults;
use haltere_net::rng::Stream;
use haltere_net::{PathId, Span, Time};
use haltere_transport::Role;
use haltere_transport::cc::{
    Ack, Algorithm, Arithmetic, Ask, Config, Congestion, CongestionController, Established, Lost, Phase, RenoFriendly,
    Sent, SlowStart, Trigger,
};
use haltere_transport::path::{PathState, PathView};
use haltere_transport::quic::sizes::IP_UDP;
use haltere_transport::recovery::{RateSampler, TxState};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// RFC 9002 section 7.2: ten datagrams of the size a path begins with.
pub(crate) const INITIAL_WINDOW: u64 = 10 * 1200;
/// A stack sends only while what is in flight stays below the window; ours count up to it.
const MARGIN: u64 = 1;

/// The feedback that an algorithm needs and stacks do not report; none if it works inside stacks.
pub fn lacks(algorithm: Algorithm) -> Option<&'static str> {
    let delays = algorithm.prompt_rtts.then_some("RTTs without the peer's ACK delay");
    delays.or(algorithm.needs_ecn().then_some("which bytes were marked"))
}

/// The parts from which a controller is made.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub role: Role,
    pub algorithm: Algorithm,
    pub slow_start: Option<SlowStart>,
    pub reno_friendly: RenoFriendly,
    pub stream: Stream,
    pub faults: Option<Faults>,
    pub clock: Clock,
    pub meter: Meter,
    pub siblings: Siblings,
}

/// The views that the controllers of a connection share of their paths, in the order of the paths' numbers.
#[derive(Clone, Default, Debug)]
pub(crate) struct Siblings(Arc<Mutex<Vec<PathView>>>);

impl Siblings {
    fn views(&self) -> MutexGuard<'_, Vec<PathView>> {
        // A lock is poisoned by a panic while it was held, and nobody panics then.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells of a path.
    fn tell(&self, view: PathView) {
        let mut views = self.views();
        match views.binary_search_by_key(&view.id, |known| known.id) {
            Ok(at) => views[at] = view,
            Err(at) => views.insert(at, view),
        }
    }

    /// Forgets a path.
    fn forget(&self, path: PathId) {
        self.views().retain(|view| view.id != path);
    }

    /// All paths, as the controller of `own` is to see them.
    fn seen_by(&self, own: PathId) -> Vec<PathView> {
        let views = self.views();
        views.iter().map(|view| PathView { own: view.id == own, ..*view }).collect()
    }
}

/// A stack's estimates as a packet is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate {
    /// The smoothed RTT.
    pub smoothed: Duration,
    /// Whether the stack calls itself short of data.
    pub app_limited: bool,
}

/// The state of a stack after the acknowledgements of one frame.
pub(crate) struct EndOfAcks {
    pub in_flight: u64,
    pub app_limited: bool,
    /// The largest number acknowledged.
    pub largest: Option<u64>,
}

/// Packets that a stack has given up; none if marks told of congestion.
pub(crate) struct GivenUp {
    /// When the last of them was sent.
    pub sent: Instant,
    pub bytes: u64,
    pub persistent: bool,
}

/// An acknowledgement being put together.
#[derive(Clone, Copy, Default)]
struct Gathering {
    bytes: u64,
    newest: Option<Time>,
    prior_in_flight: Option<u64>,
}

/// A controller, and the state from which its events are made.
pub(crate) struct Driver {
    plan: Plan,
    /// Behind a lock because the stack requires `Sync`; it is never contended.
    cc: Mutex<Box<dyn CongestionController>>,
    sampler: RateSampler,
    sent: VecDeque<(Time, TxState)>,
    mtu: u64,
    in_flight: u64,
    last_sent: Option<Time>,
    next_number: u64,
    gathering: Gathering,
    smoothed: Option<Span>,
    least: Option<Span>,
    lost: u64,
    /// Bytes delivered at the last two losses.
    losses: (u64, u64),
    recovery_start: Option<Time>,
    recovering: bool,
    app_limited: bool,
    established: bool,
    window: u64,
    pacing: Option<haltere_net::Rate>,
    quantum: u64,
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.plan.siblings.forget(self.path());
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("algorithm", &self.plan.algorithm).field("window", &self.window).finish()
    }
}

fn span(d: Duration) -> Span {
    Span::from_nanos(d.as_nanos() as u64)
}

impl Driver {
    pub fn new(plan: Plan, mtu: u16) -> Driver {
        let cc = plan.algorithm.build(Config {
            role: plan.role,
            mss: u64::from(mtu),
            wire: u64::from(mtu) + u64::from(IP_UDP),
            grain: 1,
            connections: 1,
            initial_window: INITIAL_WINDOW,
            slow_start: plan.slow_start,
            reno_friendly: plan.reno_friendly,
            arithmetic: Arithmetic::default(),
            paced: true,
            tick: Span::ZERO,
            phase: Span::ZERO,
            stream: plan.stream.clone(),
            values: &[],
            faults: plan.faults.clone(),
        });
        let mut driver = Driver {
            plan,
            cc: Mutex::new(cc),
            sampler: RateSampler::default(),
            sent: VecDeque::new(),
            mtu: u64::from(mtu),
            in_flight: 0,
            last_sent: None,
            next_number: 0,
            gathering: Gathering::default(),
            smoothed: None,
            least: None,
            lost: 0,
            losses: (0, 0),
            recovery_start: None,
            recovering: false,
            app_limited: false,
            established: false,
            window: 0,
            pacing: None,
            quantum: 0,
        };
        driver.look();
        driver
    }

    /// A controller as new, for a path that the connection moves to (RFC 9002 section 9.4 resets it).
    pub fn anew(&self) -> Driver {
        Driver::new(self.plan.clone(), self.mtu as u16)
    }

    fn cc(&mut self) -> &mut dyn CongestionController {
        // A lock is poisoned by a panic while it was held, and nobody holds it.
        self.cc.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()).as_mut()
    }

    /// Reads off what the stack will ask for, which it must get without changing anything.
    fn look(&mut self) {
        let cc = self.cc();
        let (window, ssthresh, pacing, quantum) = (cc.window(), cc.ssthresh(), cc.pacing_rate(), cc.send_quantum());
        let model = cc.path_model();
        (self.window, self.pacing, self.quantum) = (window, pacing, quantum);
        self.plan.meter.control(window, Some(ssthresh), pacing.map(haltere_net::Rate::as_bps));
        self.plan.meter.model_is(model);
        if self.plan.algorithm.coupled {
            let view = self.view(ssthresh);
            self.plan.siblings.tell(view);
        }
    }

    /// The path's number.
    fn path(&self) -> PathId {
        PathId(self.plan.meter.path())
    }

    /// The path as other controllers are to see it.
    fn view(&mut self, ssthresh: u64) -> PathView {
        let delivered = self.sampler.delivered();
        PathView {
            id: self.path(),
            state: if self.least.is_some() { PathState::Active } else { PathState::Validating },
            own: false,
            window: self.window,
            ssthresh,
            in_flight: self.in_flight,
            queued: 0,
            capacity: self.window,
            overhead: 0,
            mss: self.mtu,
            srtt: self.smoothed,
            min_rtt: self.least,
            rtt_variation: self.smoothed.map_or(Span::ZERO, |smoothed| smoothed / 2),
            delivery_rate: None,
            pacing_rate: self.pacing,
            paced_until: Time::ZERO,
            in_slow_start: self.cc().in_slow_start(),
            since_loss: delivered - self.losses.1,
            between_losses: self.losses.1 - self.losses.0,
        }
    }

    pub fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        let now = self.plan.clock.time(now);
        let in_flight = self.in_flight;
        let tx = self.sampler.on_sent(now, in_flight).with_in_flight(in_flight + bytes);
        if self.sent.back().is_none_or(|(at, _)| *at < now) {
            self.sent.push_back((now, tx));
        }
        let smoothed = self.smoothed.unwrap_or(Span::from_millis(333));
        let event = Sent {
            now,
            bytes,
            in_flight,
            total_delivered: self.sampler.delivered(),
            after_idle: self.last_sent.filter(|_| in_flight == 0).map(|last| now.since(last)),
            app_limited: self.app_limited,
            timeout: smoothed + smoothed * 2,
        };
        self.cc().on_sent(&event);
        self.in_flight += bytes;
        self.last_sent = Some(now);
        self.next_number = number + 1;
        self.plan.meter.sent(bytes);
        self.look();
    }

    pub fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, estimate: Estimate) {
        let (now, sent) = (self.plan.clock.time(now), self.plan.clock.time(sent));
        self.gathering.prior_in_flight.get_or_insert(self.in_flight);
        self.gathering.bytes += bytes;
        self.gathering.newest = self.gathering.newest.max(Some(sent));
        self.app_limited = estimate.app_limited;
        if self.least.is_some() {
            self.smoothed = Some(span(estimate.smoothed));
        }
        let tx = self.state_at(now, sent);
        self.sampler.on_delivered(now, bytes, sent, tx);
    }

    pub fn on_end_acks(&mut self, now: Instant, EndOfAcks { in_flight, app_limited, largest }: EndOfAcks) {
        let now = self.plan.clock.time(now);
        self.in_flight = in_flight;
        let gathered = std::mem::take(&mut self.gathering);
        let rtt = gathered.newest.map(|sent| now.since(sent));
        self.plan.meter.acknowledged(in_flight, rtt.map(|r| Duration::from_nanos(r.as_nanos())));
        let (Some(newest), Some(rtt)) = (gathered.newest, rtt) else { return };
        self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        let smoothed = *self.smoothed.get_or_insert(rtt);
        if app_limited {
            self.sampler.on_app_limited(in_flight);
        }
        if !self.established {
            self.established = true;
            self.cc().on_established(&Established { now, rtt: Some(rtt) });
        }
        if self.recovering && self.recovery_start.is_none_or(|start| newest > start) {
            self.recovering = false;
            self.cc().on_recovered(now);
        }
        let ack = Ack {
            now,
            delivered: gathered.bytes,
            lost: std::mem::take(&mut self.lost),
            rtt: Some(rtt),
            srtt: Some(smoothed),
            min_rtt: self.least,
            in_flight,
            prior_in_flight: gathered.prior_in_flight.unwrap_or(in_flight),
            window_limited: !app_limited,
            may_grow: !self.recovering,
            phase: if self.recovering { Phase::Recovery } else { Phase::Open },
            acked_to: largest.map_or(0, |n| n + 1),
            sent_to: self.next_number,
            rate: self.sampler.sample(self.least),
            total_delivered: self.sampler.delivered(),
            total_lost: self.sampler.lost(),
            next_departure: now,
            delayed: false,
            stamps: None,
        };
        let siblings = if self.plan.algorithm.coupled {
            self.look();
            self.plan.siblings.seen_by(self.path())
        } else {
            Vec::new()
        };
        self.cc().on_ack(&ack, &siblings);
        if self.cc().asks() == Ask::MarkAppLimited {
            self.sampler.on_app_limited(in_flight);
        }
        self.forget(newest, smoothed);
        self.look();
    }

    /// The state of delivery when the packets of time `sent` left. Packets that the stack has not announced, such as
    /// probes of the path's MTU, count as sent now.
    fn state_at(&mut self, now: Time, sent: Time) -> TxState {
        let at = self.sent.partition_point(|(at, _)| *at < sent);
        let own = self.sent.get(at).filter(|(at, _)| *at == sent).map(|(_, tx)| *tx);
        own.unwrap_or_else(|| self.sampler.clone().on_sent(now, self.in_flight.max(1)))
    }

    /// Forgets packets that were sent so long before the newest acknowledged that they are lost or acknowledged.
    fn forget(&mut self, newest: Time, smoothed: Span) {
        let before = newest.saturating_sub(smoothed * 2);
        while self.sent.front().is_some_and(|(at, _)| *at < before) {
            self.sent.pop_front();
        }
    }

    /// The stack has found congestion.
    pub fn on_congestion(&mut self, now: Instant, given_up: GivenUp) {
        let GivenUp { sent, persistent, bytes: lost_bytes } = given_up;
        let (now, sent) = (self.plan.clock.time(now), self.plan.clock.time(sent));
        self.in_flight = self.in_flight.saturating_sub(lost_bytes);
        self.plan.meter.lost(lost_bytes, persistent.into());
        self.sampler.on_lost(lost_bytes);
        self.lost += lost_bytes;
        if lost_bytes > 0 {
            let lost = Lost {
                now,
                from: self.next_number,
                to: self.next_number,
                bytes: lost_bytes,
                sent: self.state_at(now, sent),
                total_delivered: self.sampler.delivered(),
                total_lost: self.sampler.lost(),
            };
            self.cc().on_lost(&lost);
            self.losses = (self.losses.1, self.sampler.delivered());
        }
        let trigger = if lost_bytes == 0 { Trigger::Ecn } else { Trigger::Loss };
        let event = Congestion { now, trigger, new_episode: true, in_flight: self.in_flight, lost: lost_bytes };
        if self.recovering && self.cc().owns_recovery() {
            // As in the model: such an algorithm's recovery lasts until a round trip without losses.
            self.recovery_start = Some(now);
        } else if self.recovery_start.is_none_or(|start| sent > start) {
            self.recovery_start = Some(now);
            self.recovering = true;
            self.cc().on_congestion(&event);
        }
        if persistent {
            self.recovery_start = None;
            self.recovering = false;
            let event = Congestion { trigger: Trigger::PersistentCongestion, new_episode: false, ..event };
            self.cc().on_congestion(&event);
        }
        self.look();
    }

    /// Every loss of the last episode was none.
    pub fn on_undo(&mut self) {
        self.recovery_start = None;
        self.recovering = false;
        self.cc().on_undo();
        self.look();
    }

    pub fn on_mtu(&mut self, mtu: u16) {
        self.mtu = u64::from(mtu);
        self.cc().set_mss(u64::from(mtu), u64::from(mtu) + u64::from(IP_UDP));
        self.look();
    }

    pub fn window(&self) -> u64 {
        self.window + MARGIN
    }

    /// Pacing rate in bit/s and burst in bytes, where the algorithm says.
    pub fn pacing(&self) -> (Option<u64>, u64) {
        (self.pacing.map(haltere_net::Rate::as_bps), self.quantum)
    }
}
