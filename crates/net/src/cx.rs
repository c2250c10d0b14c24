//! The context of a component: it gives the time and receives the component's reports.

use crate::control::{BbrState, ShadowReport};
use crate::incident::Incident;
use crate::packet::PathId;
use crate::time::Time;

/// Number of a component (a link direction, an endpoint) within a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ComponentId(pub u32);

crate::named! {
    /// The quantities whose changes a component may report. Every kind of trace column is declared here and nowhere
    /// else, in the order in which figures show them.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
    pub enum Metric {
        /// Congestion window, bytes.
        Cwnd = "cwnd",
        /// Slow-start threshold, bytes; `u64::MAX` if it is not set.
        Ssthresh = "ssthresh",
        /// Bytes sent that are neither acknowledged nor declared lost.
        BytesInFlight = "bytes_in_flight",
        /// The latest RTT sample, ns.
        Rtt = "rtt",
        /// The latest delivery-rate sample, bit/s.
        DeliveryRate = "delivery_rate",
        /// Pacing rate, bit/s.
        PacingRate = "pacing_rate",
        /// Bytes that a receiver holds behind missing ones. While there are any, the application waits (head-of-line blocking).
        Held = "held",
        /// Bytes waiting in a queue, without the packet being sent.
        Queue = "queue",
        /// Bytes waiting in the queue discipline of a network interface with a ring.
        Qdisc = "qdisc",
        /// Packets waiting there.
        QdiscPackets = "qdisc_packets",
        /// Packets in the ring of a network interface, with the one being sent.
        RingPackets = "ring_packets",
        /// The state of BBR, the position of a [`BbrState`](crate::control::BbrState) in the list of them.
        BbrState = "bbr_state",
        /// The largest bandwidth in BBR's filter, bit/s of what its transport delivers.
        MaxBandwidth = "max_bw",
        /// BBR's short-term bound of the bandwidth, bit/s; `u64::MAX` if it is not set.
        ShortTermBandwidth = "bw_shortterm",
        /// BBR's long-term bound of the bytes in flight; `u64::MAX` if it is not set.
        LongTermInflight = "inflight_longterm",
        /// BBR's short-term bound of the bytes in flight; `u64::MAX` if it is not set.
        ShortTermInflight = "inflight_shortterm",
        /// BBR's estimate of how many bytes beyond the bandwidth ACKs bring at once.
        ExtraAcked = "extra_acked",
        /// The least RTT in BBR's filter, ns; 0 before the first.
        MinRtt = "min_rtt",
        /// Round trips as BBR counts them.
        Rounds = "round_count",
        /// Rounds in which the bandwidth did not grow, of those after which BBR takes the path for full.
        FullRounds = "full_bw_count",
        /// The rate that a call's encoder is to write, bit/s of RTP payload.
        TargetRate = "target_rate",
        /// The time from the camera to the picture of the frame that is shown, ns.
        GlassToGlass = "glass_to_glass",
    }
}

impl Metric {
    /// The column's unit in tables.
    pub const fn unit(self) -> &'static str {
        match self {
            Metric::Cwnd | Metric::Ssthresh | Metric::BytesInFlight | Metric::Held | Metric::Queue | Metric::Qdisc => {
                "B"
            }
            Metric::LongTermInflight | Metric::ShortTermInflight | Metric::ExtraAcked => "B",
            Metric::QdiscPackets | Metric::RingPackets => "packets",
            Metric::Rtt | Metric::MinRtt | Metric::GlassToGlass => "s",
            Metric::DeliveryRate
            | Metric::PacingRate
            | Metric::MaxBandwidth
            | Metric::ShortTermBandwidth
            | Metric::TargetRate => "bit/s",
            Metric::Rounds | Metric::FullRounds => "rounds",
            Metric::BbrState => "",
        }
    }

    /// Whether it is of the end that receives.
    pub const fn of_receiver(self) -> bool {
        matches!(self, Metric::Held | Metric::GlassToGlass)
    }

    /// The names of its values, if they are positions in a list of names.
    pub fn values(self) -> Vec<&'static str> {
        match self {
            Metric::BbrState => BbrState::ALL.map(BbrState::name).to_vec(),
            _ => Vec::new(),
        }
    }
}

/// Receives the reports of components.
pub trait Probe {
    /// Reports that `metric` of `path` of component `who` changed to `value` (in the unit [`Metric`] states) at `at`.
    /// Components with a single path, or with none, such as links, report path 0.
    fn record(&mut self, at: Time, who: ComponentId, path: PathId, metric: Metric, value: u64);
    /// Reports that an incident happened to component `who` at `at`. A probe that only needs metrics need not implement
    /// it.
    fn happened(&mut self, _at: Time, _who: ComponentId, _incident: Incident) {}
    /// Reports about a congestion controller that runs in the shadow of another. Only a probe that asked for shadows gets
    /// such reports.
    fn shadowed(&mut self, _at: Time, _who: ComponentId, _report: ShadowReport<'_>) {}
}

/// Discards all reports.
#[derive(Clone, Copy, Default, Debug)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn record(&mut self, _: Time, _: ComponentId, _: PathId, _: Metric, _: u64) {}
}

/// The context of a call of a component: the time, the component's number, and where to report.
///
/// Random streams are not here. A component that draws random numbers owns a [`crate::rng::Stream`] from its creation,
/// so that one process's draws never change another's.
pub struct Cx<'a> {
    /// The time now.
    pub now: Time,
    /// The component that is called.
    pub me: ComponentId,
    probe: Option<&'a mut dyn Probe>,
}

impl<'a> Cx<'a> {
    /// A context without observation.
    pub fn new(now: Time, me: ComponentId) -> Cx<'a> {
        Cx { now, me, probe: None }
    }
    /// A context whose reports go to `probe`, if there is one.
    pub fn with_probe(now: Time, me: ComponentId, probe: Option<&'a mut dyn Probe>) -> Cx<'a> {
        Cx { now, me, probe }
    }
    /// Whether a probe is attached. A component can skip the computation of its reports if not.
    #[inline]
    pub fn probing(&self) -> bool {
        self.probe.is_some()
    }
    /// Reports that `metric` is now `value`.
    #[inline]
    pub fn record(&mut self, metric: Metric, value: u64) {
        self.record_at(self.now, metric, value);
    }
    /// Reports that `metric` of one of several paths is now `value`.
    #[inline]
    pub fn record_on(&mut self, path: PathId, metric: Metric, value: u64) {
        if let Some(probe) = self.probe.as_deref_mut() {
            probe.record(self.now, self.me, path, metric, value);
        }
    }
    /// Reports that `metric` became `value` at the earlier time `at`.
    #[inline]
    pub fn record_at(&mut self, at: Time, metric: Metric, value: u64) {
        if let Some(probe) = self.probe.as_deref_mut() {
            probe.record(at, self.me, PathId(0), metric, value);
        }
    }
    /// Reports about a congestion controller in the shadow.
    pub fn shadow(&mut self, report: ShadowReport<'_>) {
        if let Some(probe) = self.probe.as_deref_mut() {
            probe.shadowed(self.now, self.me, report);
        }
    }
    /// Reports that something happened.
    #[inline]
    pub fn tell(&mut self, incident: Incident) {
        if let Some(probe) = self.probe.as_deref_mut() {
            probe.happened(self.now, self.me, incident);
        }
    }
}
