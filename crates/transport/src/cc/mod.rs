//! Congestion control: one algorithm per file, shared by all transports.
//!
//! A controller counts in bytes and knows nothing of TCP or QUIC. It receives events ([`Ack`], [`Congestion`]) and
//! returns a window and a pacing rate. The transports decide which packets are lost and how the window is approached
//! during recovery (PRR), and they translate their ACKs.
//!
//! A new algorithm is one new file here, with an `ENTRY`, and one line in the list of `built_in!`. An algorithm of another
//! crate is an [`Implementation`] that is added to a [`Registry`](haltere_net::registry::Registry).

mod agent;
#[cfg(test)]
mod bench;
mod coupled;
mod cubic_quinn;
mod hystart;
mod newreno_quinn;
mod observed;
mod quiche;
mod reno_friendly;
mod shadow;
mod windows;

use crate::Role;
pub use crate::path::PathView;
use crate::recovery::{RateSample, TxState};
pub(crate) use agent::controller;
pub use agent::{Command, Desk, Rtts, Seen, follower};
pub use cubic_quinn::Arithmetic;
use haltere_net::control::PathModel;
use haltere_net::fault::Faults;
pub use haltere_net::registry::Parameter;
use haltere_net::registry::{Description, Entry as _, Handle, Maker};
use haltere_net::rng::Stream;
use haltere_net::{Rate, Span, Time};
pub use reno_friendly::RenoFriendly;
pub use shadow::Shadowed;
pub(crate) use shadow::{Contestant, with_shadows};

/// The facts about its path that a controller is created with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The end of the connection that it is for.
    pub role: Role,
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
    /// How CUBIC and NewReno count.
    pub arithmetic: Arithmetic,
    /// Whether the transport paces window-based algorithms too, so that packets arrive spread over the RTT.
    pub paced: bool,
    /// How many connections the window is to grow and shrink like; 1 for itself. Only [`CUBIC`] heeds it.
    pub connections: u64,
    /// The tick of the clock that algorithms time their epochs with, like the kernel's jiffy; zero for an exact clock.
    pub tick: Span,
    /// The time from the last tick to the start of the run.
    pub phase: Span,
    /// The random stream of algorithms that draw random numbers.
    pub stream: Stream,
    /// The values of the [`Parameter`]s that the algorithm declares, in their order.
    /// [`Implementation::build`] sets them.
    pub values: &'static [f64],
    /// Where loaded code says that it failed and starts timers, if somebody listens.
    pub faults: Option<Faults>,
}

/// A packet that was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct AckedPacket {
    /// When the ACK arrived.
    pub now: Time,
    /// When the packet was sent.
    pub sent: Time,
    /// Its bytes.
    pub bytes: u64,
    /// Whether the window or pacing, and not a lack of data, held the sender back lately.
    pub window_limited: bool,
    /// The smoothed RTT, or the one that is supposed, before this ACK's sample.
    pub rtt: Span,
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

/// An ACK arrived, and what it delivered and its RTT are known. Losses have not been looked for yet: [`Congestion`] that it
/// shows, the end of recovery and [`Ack`] follow. Linux tells its algorithms at this place (`pkts_acked`).
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it arrived.
    pub now: Time,
    /// The newest RTT sample that it gave, without the peer's delay.
    pub rtt: Option<Span>,
    /// Smoothed RTT.
    pub srtt: Option<Span>,
    /// Minimum RTT as loss recovery tracks it.
    pub min_rtt: Option<Span>,
    /// A position in the sender's sequence (bytes or packet numbers): everything below it is acknowledged.
    pub acked_to: u64,
    /// The position that will be sent next.
    pub sent_to: u64,
    /// Bytes delivered since the start.
    pub total_delivered: u64,
    /// Bytes that had been delivered when the newest packet was sent that the ACK delivered; `None` if it delivered none.
    pub prior_delivered: Option<u64>,
    /// Bytes in flight, among them those that will be found lost.
    pub in_flight: u64,
    /// Timestamps, where the transport has them.
    pub stamps: Option<Stamps>,
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
    /// Its size: TCP's data, or a QUIC packet.
    pub bytes: u64,
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
    /// Whether [`on_packet_acked`](Self::on_packet_acked) is to be called. Asked once.
    fn wants_packets(&self) -> bool {
        false
    }
    /// QUIC: an ack-eliciting packet was acknowledged. The calls for the packets of an ACK go in the order of their numbers, and
    /// before the ACK's sample of the RTT is taken and its losses are looked for.
    fn on_packet_acked(&mut self, _packet: &AckedPacket) {}
    /// An ACK arrived on a connection that uses ECN. The call precedes [`on_congestion`](Self::on_congestion) for the
    /// ACK's marks.
    fn on_echo(&mut self, _echo: &Echo) {}
    /// An ACK arrived, and its losses have not been looked for yet. The call follows [`on_echo`](Self::on_echo) for the ACK.
    fn on_arrival(&mut self, _arrival: &Arrival) {}
    /// A packet was found lost.
    fn on_lost(&mut self, _lost: &Lost) {}
    /// Congestion was detected.
    fn on_congestion(&mut self, event: &Congestion);
    /// Losses were found while the window, which is at `window` bytes, still falls to the target of a mark. The call follows
    /// [`on_congestion`](Self::on_congestion) for them. Most algorithms keep the target (Linux: those without `set_state`).
    fn on_loss_while_reducing(&mut self, _window: u64) {}
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
    /// Bytes that may be in flight beyond the window, where packets are cut to what is left of it.
    fn allowance(&self) -> u64 {
        0
    }
    /// QUIC: whether a loss found among packets of which the last was `sent` then begins a recovery period. The transport's last one
    /// began at `start`.
    fn begins_recovery(&self, start: Option<Time>, sent: Time) -> bool {
        start.is_none_or(|start| sent > start)
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
    /// Goes on from this window, bytes, which somebody outside set (Linux: `TCP_BPF_SND_CWND` writes `snd_cwnd`). Returns whether
    /// the algorithm has a window that can be set; one that does not ignores the call.
    fn set_window(&mut self, _bytes: u64) -> bool {
        false
    }
    /// The model that the algorithm has of its path, if it is a BBR. It is asked for only while a run is recorded.
    fn path_model(&self) -> Option<PathModel> {
        None
    }
    /// The controller together with those in its shadow, if it has any.
    fn shadows(&mut self) -> Option<&mut Shadowed> {
        None
    }
}

/// How an algorithm begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Startup {
    /// With the standard slow start. How it ends can be chosen; this is the default.
    SlowStart(SlowStart),
    /// With the standard slow start. How it ends can be chosen; by default the algorithm has an exit of its own.
    OwnExit,
    /// With a startup of its own.
    Own,
}

/// An algorithm's need of ECN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// It takes a mark for a loss, where ECN is in use.
    Optional,
    /// It depends on marks. Its packets are always ECN-capable and marks are echoed one by one (Linux:
    /// `TCP_CONG_NEEDS_ECN`).
    Needed,
    /// It depends on marks, and its packets ask the network for L4S treatment (ECT(1); RFC 9331).
    L4s,
}

/// A congestion control as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name in contenders, summary and reference.
    pub description: Description,
    /// Its name in figures.
    pub label: &'static str,
    /// The shade of its transport's colour in figures, counted from the darkest; `None` if a figure chooses.
    pub shade: Option<u8>,
    /// The name of the Linux kernel's module, if there is one.
    pub linux: Option<&'static str>,
    /// How it begins.
    pub slow_start: Startup,
    /// Its need of ECN.
    pub marks: Marks,
    /// Whether it looks at the other paths of a connection.
    pub coupled: bool,
    /// Whether it needs RTTs without the peer's ACK delay.
    pub prompt_rtts: bool,
    /// How many windows Linux makes room for in a send buffer (`tcp_sndbuf_expand`).
    pub send_windows: u64,
    /// The mechanisms that it heeds and other algorithms do not.
    pub heeds: &'static [&'static str],
    /// The numbers by which it can be tuned.
    pub parameters: &'static [Parameter],
    /// The values of these parameters, in their order.
    pub values: &'static [f64],
    /// Makes a controller for a path.
    pub build: Maker<Config, Box<dyn CongestionController>>,
}

/// A congestion control, as configurations hold it.
pub type Algorithm = Handle<Implementation>;

impl Implementation {
    /// An algorithm with the standard slow start, for one path, without need of marks. `build` makes its controller for a
    /// path.
    pub const fn new(description: Description, build: fn(Config) -> Box<dyn CongestionController>) -> Implementation {
        Implementation {
            description,
            label: description.name,
            shade: None,
            linux: None,
            slow_start: Startup::SlowStart(SlowStart::Standard),
            marks: Marks::Optional,
            coupled: false,
            prompt_rtts: false,
            send_windows: 2,
            heeds: &[],
            parameters: &[],
            values: &[],
            build: Maker::BuiltIn(build),
        }
    }

    /// A controller for a path.
    pub fn build(&self, config: Config) -> Box<dyn CongestionController> {
        self.build.make(Config { values: self.values, ..config })
    }

    /// The algorithm with other values of its parameters. Its name has those that are not the default.
    ///
    /// # Errors
    ///
    /// If it has no such parameter, or a value is outside its range. The error says what would be right.
    pub fn tuned(&'static self, given: &[(&str, f64)]) -> Result<Algorithm, String> {
        let values = Parameter::values(self.parameters, given)?;
        let tail = Parameter::tail(self.parameters, &values);
        if tail.is_empty() {
            return Ok(Handle(self));
        }
        let name = format!("{}{tail}", self.description.name);
        Implementation::shelf().find_or(&name, || {
            let description = Description { name: name.clone().leak(), ..self.description };
            let label = format!("{}{tail}", self.label).leak();
            Ok(Box::leak(Box::new(Implementation { description, label, values: values.leak(), ..*self })))
        })
    }

    /// Whether it depends on marks.
    pub fn needs_ecn(&self) -> bool {
        self.marks != Marks::Optional
    }

    /// Whether its packets ask the network for L4S treatment.
    pub fn is_l4s(&self) -> bool {
        self.marks == Marks::L4s
    }
}

haltere_net::built_in! {
    Implementation: "congestion control";
    /// NewReno.
    NEWRENO = newreno,
    /// CUBIC.
    CUBIC = cubic,
    /// BBR version 1.
    BBR = bbr,
    // Reno and its predecessor.
    /// Tahoe.
    TAHOE = tahoe,
    /// Reno.
    RENO = reno,
    // Loss-based, for paths of large bandwidth-delay product.
    /// BIC.
    BIC = bic,
    /// HighSpeed.
    HIGHSPEED = highspeed,
    /// Scalable.
    SCALABLE = scalable,
    /// H-TCP.
    HTCP = htcp,
    /// Hybla.
    HYBLA = hybla,
    // Loss-based, informed by delay or rate.
    /// Illinois.
    ILLINOIS = illinois,
    /// Westwood+.
    WESTWOOD = westwood,
    /// Veno.
    VENO = veno,
    /// YeAH.
    YEAH = yeah,
    // Delay-based, or for the background.
    /// Vegas.
    VEGAS = vegas,
    /// LEDBAT.
    LEDBAT = ledbat,
    /// LEDBAT++.
    LEDBATPP = ledbatpp,
    /// NV.
    NV = nv,
    /// CDG.
    CDG = cdg,
    /// TCP-LP.
    LP = lp,
    /// Copa.
    COPA = copa,
    /// BBR version 2.
    BBR2 = bbr2,
    /// BBR version 3.
    BBR3 = bbr3,
    /// DCTCP.
    DCTCP = dctcp,
    /// Prague.
    PRAGUE = prague,
    // Coupled, for connections with several paths.
    /// LIA.
    LIA = lia,
    /// OLIA.
    OLIA = olia,
    /// BALIA.
    BALIA = balia,
    /// wVegas.
    WVEGAS = wvegas,
}

/// `bytes` rounded down to whole units of the granularity.
fn whole(bytes: u64, grain: u64) -> u64 {
    bytes / grain * grain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dctcp_needs_marks_and_prague_asks_for_l4s_as_well() {
        let wants = |algorithm: Algorithm| (algorithm.needs_ecn(), algorithm.is_l4s());
        assert_eq!([CUBIC, DCTCP, PRAGUE].map(wants), [(false, false), (true, false), (true, true)]);
    }

    #[test]
    fn a_controller_that_says_nothing_of_itself_has_no_quantum_asks_nothing_and_leaves_recovery_to_the_transport() {
        let silent = NEWRENO.build(bench::config());
        assert_eq!((silent.send_quantum(), silent.owns_recovery(), silent.asks()), (0, false, Ask::Nothing));
    }

    #[test]
    fn windows_are_cut_to_whole_units() {
        assert_eq!((whole(4500, 1448), whole(1448, 1448), whole(1447, 1448)), (4344, 1448, 0));
    }
}
