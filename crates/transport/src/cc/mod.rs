//! Congestion control: one algorithm per file, shared by all transports.
//!
//! A controller counts in bytes and knows nothing of TCP or QUIC. It receives events ([`Ack`], [`Congestion`]) and
//! returns a window and a pacing rate. The transports decide which packets are lost and how the window is approached
//! during recovery (PRR), and they translate their ACKs.
//!
//! A new algorithm is one new file here and one line in the list of `algorithms!`.

#[cfg(test)]
mod bench;
mod coupled;
mod hystart;
mod observed;
mod reno_friendly;
mod shadow;
mod windows;

pub use crate::path::PathView;
use crate::recovery::{RateSample, TxState};
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
pub use reno_friendly::RenoFriendly;
pub use shadow::Shadowed;
pub(crate) use shadow::with_shadows;

/// The facts about its path that a controller is created with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Segment size: the bytes of data in a full packet (TCP's SMSS, QUIC's maximum datagram size).
    pub mss: u64,
    /// Bytes of such a packet on the wire, IP header included.
    pub wire: u64,
    /// The granularity of windows: `mss` if the sender counts whole segments, as Linux does, otherwise 1.
    pub grain: u64,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// How slow start ends before the first loss; `None` leaves it to the algorithm.
    pub slow_start: Option<SlowStart>,
    /// How CUBIC grows where Reno would have the larger window.
    pub reno_friendly: RenoFriendly,
    /// Whether the transport paces window-based algorithms too, so that packets arrive spread over the RTT.
    pub paced: bool,
    /// How many connections the window is to grow and shrink like; 1 for itself. Only [`Algorithm::Cubic`] heeds it.
    pub connections: u64,
    /// The tick of the clock that algorithms time their epochs with, like the kernel's jiffy; zero for an exact clock.
    pub tick: Span,
    /// The time from the last tick to the start of the run.
    pub phase: Span,
    /// The random stream of algorithms that draw random numbers.
    pub stream: Stream,
}

/// How slow start ends early.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SlowStart {
    /// Only by a loss.
    #[default]
    Standard,
    /// HyStart (Ha, Rhee 2011) as Linux has it: ACK trains and delay increase.
    HyStart,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
}

/// The phase of loss recovery of the path (Linux: the congestion-avoidance state).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Phase {
    /// No disorder and no loss.
    #[default]
    Open,
    /// Data arrived out of order; no loss is declared yet.
    Disorder,
    /// The window is being reduced as marks asked for (Linux: CWR); nothing is known to be lost.
    Reducing,
    /// Losses found by acknowledgements are being repaired.
    Recovery,
    /// Losses found by a timeout are being repaired.
    Loss,
}

/// The handshake is complete and data may flow.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When that happened.
    pub now: Time,
    /// The RTT that the handshake's packets measured, if they did.
    pub rtt: Option<Span>,
}

/// An ACK that delivered data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Bytes newly delivered by it, cumulatively or selectively.
    pub delivered: u64,
    /// Bytes found lost with it.
    pub lost: u64,
    /// The newest RTT sample that it gave, without the peer's delay.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Minimum RTT as loss recovery tracks it.
    pub min_rtt: Option<Span>,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Whether the window, and not a lack of data, limited the sender recently.
    pub window_limited: bool,
    /// Whether recovery lets the window grow on this ACK.
    pub may_grow: bool,
    /// Phase of loss recovery after the ACK.
    pub phase: Phase,
    /// A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
    pub acked_to: u64,
    /// The position that will be sent next.
    pub sent_to: u64,
    /// The delivery-rate sample.
    pub rate: RateSample,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Bytes found lost since the start, by this ACK or otherwise.
    pub total_lost: u64,
    /// When pacing allows the next packet ([`crate::recovery::Pacer::next`]); at or before `now` if it may go at once.
    /// The bytes now in flight will have decreased by then.
    pub next_departure: Time,
    /// Whether the receiver's delayed-ACK timer, and not the path, delayed the acknowledged data.
    pub delayed: bool,
    /// Timestamps, where the transport has them.
    pub stamps: Option<Stamps>,
}

/// Timestamps of an ACK (RFC 7323 section 3), milliseconds that wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// The present time, by the sender's clock.
    pub now: u32,
    /// When the ACK was sent, by the peer's clock.
    pub value: u32,
    /// When the segment was sent that the ACK answers, by the sender's clock.
    pub echo: u32,
}

/// A request of the algorithm to the transport.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Ask {
    /// No request.
    #[default]
    Nothing,
    /// Mark delivery-rate samples as application-limited, because the algorithm has limited the sender so far
    /// ([`crate::recovery::RateSampler::on_app_limited`]).
    MarkAppLimited,
    /// Reduce the window as for a mark, on the algorithm's own decision ([`Trigger::Delay`]). Only TCP does this. Over
    /// QUIC, where windows are reduced at once, an algorithm reduces its window itself.
    Reduce,
}

/// An ACK of a connection that uses ECN, and what it delivered (RFC 8257 section 3.3 counts it before other
/// processing).
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// When it arrived.
    pub now: Time,
    /// A position in the sender's sequence: everything below it is acknowledged.
    pub acked_to: u64,
    /// The position that will be sent next.
    pub sent_to: u64,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// How many of these bytes were acknowledged by ACKs that echoed marks.
    pub total_marked: u64,
}

/// A packet was found lost. All losses of one event are reported in the order in which the packets were sent, before
/// the congestion ([`Congestion`]) and before the ACK that showed them ([`Ack`]).
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it was found.
    pub now: Time,
    /// Its range in the sender's sequence, in bytes or packet numbers: the start …
    pub from: u64,
    /// … and the end.
    pub to: u64,
    /// Its size, bytes.
    pub bytes: u64,
    /// The delivery state when it was sent.
    pub sent: TxState,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Bytes found lost since the start, this packet included.
    pub total_lost: u64,
}

/// The cause of a congestion event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trigger {
    /// Losses found by acknowledgements.
    Loss,
    /// A retransmission timeout.
    Timeout,
    /// Persistent congestion (RFC 9002 section 7.6).
    PersistentCongestion,
    /// ECN marks.
    Ecn,
    /// The host's own interface had no room for a packet. It was not sent, and nothing is lost.
    Local,
    /// The algorithm itself, because of delays ([`Ask::Reduce`]).
    Delay,
}

/// Congestion was detected.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When it was detected.
    pub now: Time,
    /// Its cause.
    pub trigger: Trigger,
    /// Whether it begins a new episode; a timeout within an episode does not reduce the target again.
    pub new_episode: bool,
    /// Bytes in flight.
    pub in_flight: u64,
    /// Bytes found lost so far in this event.
    pub lost: u64,
}

/// A packet is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When it is sent.
    pub now: Time,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Whether the path was idle for lack of data and now sends again.
    pub after_idle: Option<Span>,
    /// Whether the sender is in an application-limited phase.
    pub app_limited: bool,
    /// The retransmission timeout (QUIC: PTO). A sender that was idle for longer starts from a restart window (RFC 5681
    /// section 4.1).
    pub timeout: Span,
}

/// A congestion-control algorithm.
pub trait CongestionController: Send {
    /// The handshake is complete. If this is never called, the algorithm begins with the first packet or ACK.
    fn on_established(&mut self, _event: &Established) {}
    /// A data packet is about to be sent.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// An ACK delivered data. `siblings` are all paths of the connection in their state after the ACK, in the order of
    /// their numbers, with [`PathView::own`] set on the controller's own. A coupled algorithm uses them. The slice is
    /// empty if the connection has a single path.
    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]);
    /// An ACK arrived on a connection that uses ECN. The call precedes [`on_congestion`](Self::on_congestion) for the
    /// ACK's marks.
    fn on_echo(&mut self, _echo: &Echo) {}
    /// A packet was found lost.
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Congestion was detected.
    fn on_congestion(&mut self, event: &Congestion);
    /// The last congestion event proved spurious: undo its reduction.
    fn on_undo(&mut self);
    /// Recovery ended at `now` with its losses repaired.
    fn on_recovered(&mut self, _now: Time) {}

    /// The congestion window, bytes.
    fn window(&self) -> u64;
    /// The slow-start threshold, bytes; `u64::MAX` if it is not set.
    fn ssthresh(&self) -> u64;
    /// The pacing rate; `None` if the algorithm does not pace.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// How many bytes may be sent back to back when paced.
    fn send_quantum(&self) -> u64 {
        0
    }
    /// Whether the algorithm sets its window during recovery itself. Otherwise the transport applies PRR.
    fn owns_recovery(&self) -> bool {
        false
    }
    /// The algorithm's request since the last ACK. Called after each [`on_ack`](Self::on_ack).
    fn asks(&self) -> Ask {
        Ask::Nothing
    }
    /// Whether the window grows exponentially.
    fn in_slow_start(&self) -> bool {
        self.window() < self.ssthresh()
    }
    /// The segment size changed, for instance because a larger path MTU was found.
    fn set_mss(&mut self, mss: u64, wire: u64);
    /// The controller together with those in its shadow, if it has any.
    fn shadows(&mut self) -> Option<&mut Shadowed> {
        None
    }
}

/// An algorithm's entry where algorithms are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// The name in contenders.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub reference: &'static str,
    /// Whether it begins with the standard slow start, whose early exit can then be chosen ([`SlowStart`]).
    pub slow_start: bool,
}

/// Declares the algorithms. Each entry names its module and the controller in it, which has `new(Config)`.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $module:ident :: $controller:ident,)*) => {
        $(mod $module;)*

        /// All algorithms.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Algorithm {
            $($(#[$doc])* $controller,)*
        }

        impl Algorithm {
            /// All of them.
            pub const ALL: &[Algorithm] = &[$(Algorithm::$controller),*];

            /// Its name and references.
            pub const fn describe(self) -> Description {
                match self {
                    $(Algorithm::$controller => $module::DESCRIPTION,)*
                }
            }

            /// A controller for a path.
            pub fn build(self, config: Config) -> Box<dyn CongestionController> {
                match self {
                    $(Algorithm::$controller => Box::new($module::$controller::new(config)),)*
                }
            }
        }
    };
}

algorithms! {
    /// NewReno.
    newreno::NewReno,
    /// CUBIC.
    cubic::Cubic,
    /// BBR version 1.
    bbr::Bbr,
    // Reno and its predecessor.
    /// Tahoe.
    tahoe::Tahoe,
    /// Reno.
    reno::Reno,
    // Loss-based, for paths of large bandwidth-delay product.
    /// BIC.
    bic::Bic,
    /// HighSpeed.
    highspeed::HighSpeed,
    /// Scalable.
    scalable::Scalable,
    /// H-TCP.
    htcp::Htcp,
    /// Hybla.
    hybla::Hybla,
    // Loss-based, informed by delay or rate.
    /// Illinois.
    illinois::Illinois,
    /// Westwood+.
    westwood::Westwood,
    /// Veno.
    veno::Veno,
    /// YeAH.
    yeah::Yeah,
    // Delay-based, or for the background.
    /// Vegas.
    vegas::Vegas,
    /// LEDBAT.
    ledbat::Ledbat,
    /// LEDBAT++.
    ledbatpp::LedbatPlusPlus,
    /// NV.
    nv::Nv,
    /// CDG.
    cdg::Cdg,
    /// TCP-LP.
    lp::Lp,
    /// Copa.
    copa::Copa,
    /// BBR version 3.
    bbr3::Bbr3,
    /// DCTCP.
    dctcp::Dctcp,
    /// Prague.
    prague::Prague,
    // Coupled, for connections with several paths.
    /// LIA.
    lia::Lia,
    /// OLIA.
    olia::Olia,
    /// BALIA.
    balia::Balia,
    /// wVegas.
    wvegas::WVegas,
}

impl Algorithm {
    /// Whether it depends on marks, so that its packets are always ECN-capable and marks are echoed one by one (Linux:
    /// `TCP_CONG_NEEDS_ECN`).
    pub fn needs_ecn(self) -> bool {
        matches!(self, Algorithm::Dctcp | Algorithm::Prague)
    }

    /// Whether its packets ask the network for L4S treatment (ECT(1); RFC 9331).
    pub fn is_l4s(self) -> bool {
        self == Algorithm::Prague
    }

    /// How slow start ends where nothing else is set; `None` if the algorithm has an exit or a startup of its own.
    pub fn slow_start(self) -> Option<SlowStart> {
        match self {
            Algorithm::Cubic => Some(cubic::SLOW_START),
            Algorithm::Cdg => None,
            _ => self.describe().slow_start.then_some(SlowStart::Standard),
        }
    }

    /// Whether it looks at the other paths of a connection.
    pub fn is_coupled(self) -> bool {
        matches!(self, Algorithm::Lia | Algorithm::Olia | Algorithm::Balia | Algorithm::WVegas)
    }

    /// The algorithm called `name`.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.iter().copied().find(|a| a.describe().name == name)
    }
}

/// `bytes` rounded down to whole units of the granularity.
fn whole(bytes: u64, grain: u64) -> u64 {
    bytes / grain * grain
}
