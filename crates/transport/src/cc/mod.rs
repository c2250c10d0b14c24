//! Congestion control: one algorithm a file, shared by all transports.
//!
//! A controller counts in bytes and knows nothing of TCP or QUIC. It is told events ([`Ack`], [`Congestion`]) and asked
//! for a window and a pacing rate. Which packets are lost, how a window is approached during recovery (PRR) and what an
//! ACK looks like are the transports' affair.
//!
//! A new algorithm is one new file here and one line in the list of `algorithms!`.

#[cfg(test)]
mod bench;
mod hystart;
mod observed;
mod windows;

pub use crate::path::PathView;
use crate::recovery::{RateSample, TxState};
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};

/// What a controller must know of its path at birth.
#[derive(Clone, Debug)]
pub struct Config {
    /// Segment size: the bytes of data in a full packet (TCP's SMSS, QUIC's maximum datagram size).
    pub mss: u64,
    /// Bytes of such a packet on the wire, IP header included.
    pub wire: u64,
    /// The grain in which windows are kept: `mss` where the sender counts whole segments, as Linux does, or 1.
    pub grain: u64,
    /// Initial window, bytes.
    pub initial_window: u64,
    /// Slow start's early exit; `None` leaves it to the algorithm.
    pub slow_start: Option<SlowStart>,
    /// Whether the transport paces window-based algorithms too, so that packets arrive spread over the RTT.
    pub paced: bool,
    /// The tick of the clock that algorithms date their epochs by, as a kernel's jiffy; zero for an exact clock.
    pub tick: Span,
    /// How long after a tick the run begins.
    pub phase: Span,
    /// Dice for algorithms that draw.
    pub stream: Stream,
}

/// How slow start ends before the first loss.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SlowStart {
    /// By loss only.
    #[default]
    Standard,
    /// HyStart (Ha, Rhee 2011) as Linux has it: ACK trains and delay increase.
    HyStart,
    /// HyStart++ (RFC 9406).
    HyStartPlusPlus,
}

/// In which phase of loss recovery the path is (Linux: the congestion-avoidance state).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Phase {
    /// Nothing is amiss.
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

/// The handshake is over and data may flow.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When.
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
    /// The newest RTT sample it gave, peer's delay taken off.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Minimum RTT as loss recovery tracks it.
    pub min_rtt: Option<Span>,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Whether the window, and not a lack of data, held the sender back lately.
    pub window_limited: bool,
    /// Whether recovery lets the window grow on this ACK.
    pub may_grow: bool,
    /// Phase of loss recovery after the ACK.
    pub phase: Phase,
    /// A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
    pub acked_to: u64,
    /// The position of the next thing to be sent.
    pub sent_to: u64,
    /// The delivery-rate sample.
    pub rate: RateSample,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Bytes found lost since the start, by this ACK or otherwise.
    pub total_lost: u64,
    /// When pacing lets the next packet go ([`crate::recovery::Pacer::next`]); up to `now` if it may go at once. What
    /// is in flight now will have sunk by then.
    pub next_departure: Time,
    /// Whether the data acknowledged was held back by the receiver's delayed-ACK timer rather than by the path.
    pub delayed: bool,
    /// Timestamps, where the transport has them.
    pub stamps: Option<Stamps>,
}

/// Timestamps of an ACK (RFC 7323 section 3), milliseconds that wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamps {
    /// Now, by the sender's clock.
    pub now: u32,
    /// When the ACK was sent, by the peer's clock.
    pub value: u32,
    /// When that was sent which it answers, by the sender's clock.
    pub echo: u32,
}

/// What an algorithm asks of the transport.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Ask {
    /// Nothing.
    #[default]
    Nothing,
    /// To mark delivery-rate samples as if data were short, as the algorithm holds the sender back so far
    /// ([`crate::recovery::RateSampler::on_app_limited`]).
    MarkAppLimited,
    /// To reduce the window as for a mark, of its own accord ([`Trigger::Delay`]). Only TCP does: over QUIC, where windows
    /// come down at once, an algorithm does so itself.
    Reduce,
}

/// An ACK of a connection that uses ECN, and what it delivered (RFC 8257 section 3.3 counts it before it looks).
#[derive(Clone, Copy, Debug)]
pub struct Echo {
    /// When.
    pub now: Time,
    /// A position in the sender's sequence: everything below it is acknowledged.
    pub acked_to: u64,
    /// The position of the next thing to be sent.
    pub sent_to: u64,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Of these, bytes whose ACKs told of marks.
    pub total_marked: u64,
}

/// A packet was found lost. All of an event's are told, in the order of their sending, before congestion is
/// ([`Congestion`]) and before the ACK that showed them ([`Ack`]).
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it was found.
    pub now: Time,
    /// Its place in the sender's sequence: bytes or packet numbers from here...
    pub from: u64,
    /// ...to here.
    pub to: u64,
    /// Its size, bytes.
    pub bytes: u64,
    /// What was true when it was sent.
    pub sent: TxState,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Bytes found lost since the start, with it.
    pub total_lost: u64,
}

/// What told of congestion.
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
    /// The algorithm itself, by delays ([`Ask::Reduce`]).
    Delay,
}

/// Congestion was detected.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// By what.
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
    /// When.
    pub now: Time,
    /// Bytes in flight before it.
    pub in_flight: u64,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Whether the path was idle for want of data and sends again now.
    pub after_idle: Option<Span>,
    /// Whether the sender is in a phase short of data.
    pub app_limited: bool,
    /// The retransmission timeout (QUIC: PTO): a sender idle for longer starts from a restart window (RFC 5681
    /// section 4.1).
    pub timeout: Span,
}

/// A congestion-control algorithm.
pub trait CongestionController: Send {
    /// The handshake is over. An algorithm that is not told begins with the first packet or ACK.
    fn on_established(&mut self, _event: &Established) {}
    /// A data packet is about to be sent.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// An ACK delivered data. `siblings` are all paths of the connection as they are after it, in the order of their numbers,
    /// with [`PathView::own`] set on the controller's own; an algorithm that couples paths goes by them. The slice is empty
    /// where the connection has a single path.
    fn on_ack(&mut self, ack: &Ack, siblings: &[PathView]);
    /// An ACK arrived on a connection that uses ECN; it comes before [`on_congestion`](Self::on_congestion) is told of its
    /// marks.
    fn on_echo(&mut self, _echo: &Echo) {}
    /// A packet was found lost.
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Congestion was detected.
    fn on_congestion(&mut self, event: &Congestion);
    /// The last congestion event turned out to be false: put back what it took.
    fn on_undo(&mut self);
    /// Recovery ended at `now` with its losses repaired.
    fn on_recovered(&mut self, _now: Time) {}

    /// The congestion window, bytes.
    fn window(&self) -> u64;
    /// The slow-start threshold, bytes; `u64::MAX` while there is none.
    fn ssthresh(&self) -> u64;
    /// The rate to pace at; `None` does not pace.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }
    /// How many bytes may go back to back when paced.
    fn send_quantum(&self) -> u64 {
        0
    }
    /// Whether the algorithm sets its window during recovery itself; otherwise the transport applies PRR.
    fn owns_recovery(&self) -> bool {
        false
    }
    /// What the algorithm asks of the transport since the last ACK. Called after each [`on_ack`](Self::on_ack).
    fn asks(&self) -> Ask {
        Ask::Nothing
    }
    /// Whether the window grows exponentially.
    fn in_slow_start(&self) -> bool {
        self.window() < self.ssthresh()
    }
    /// The segment size changed, as when a larger path MTU was found.
    fn set_mss(&mut self, mss: u64, wire: u64);
}

/// What is told of an algorithm where algorithms are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// The name in contenders.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it is specified.
    pub reference: &'static str,
    /// Whether it begins with slow start as such, whose early exit can then be chosen ([`SlowStart`]).
    pub slow_start: bool,
}

/// Declares the algorithms: for each its module and the controller in it, which has `new(Config)`.
macro_rules! algorithms {
    ($($(#[$doc:meta])* $module:ident :: $controller:ident,)*) => {
        $(mod $module;)*

        /// The algorithms there are.
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
    // Reno and its forerunner.
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
}

impl Algorithm {
    /// Whether it works by marks, so that its packets are always ECN-capable and marks are echoed one by one (Linux:
    /// `TCP_CONG_NEEDS_ECN`).
    pub fn needs_ecn(self) -> bool {
        self == Algorithm::Dctcp
    }

    /// The algorithm called `name`.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.iter().copied().find(|a| a.describe().name == name)
    }
}

/// `bytes` rounded down to whole grains.
fn whole(bytes: u64, grain: u64) -> u64 {
    bytes / grain * grain
}
