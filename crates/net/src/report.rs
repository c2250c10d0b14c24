//! The counters of a link, in the units and under the names of the result tables.

use crate::columns::{About, Better, Comparison, METRIC, MS, OWN_LINKS, PACKETS, PLAIN, PURE, Scale, Shown};
use crate::counters::Stages;
use crate::link::LinkCounters;
use crate::occupancy::{Area, Held};
use crate::time::{Span, Time};
use crate::topology::Direction;

/// Columns that a run has of its bottleneck.
const BOTTLENECK: About = About { better: Better::Lower, bottleneck: true, ..PLAIN };
/// Such columns that only our own links count.
const STAGE: About = About { at: OWN_LINKS, ..BOTTLENECK };
const OWN: About = About { at: OWN_LINKS, ..PLAIN };
const COUNT: About = About { unit: Some("packets"), ..BOTTLENECK };

const fn compared(name: &'static str, label: &'static str, scale: Scale) -> Shown {
    Shown { name, label, scale, comparison: Comparison::Difference { alike: 1.0, full: 100.0 }, ..METRIC }
}

crate::columns! {
    /// One direction of a link.
    #[of(Link)]
    pub struct LinkResult {
        /// The link's name.
        pub link: String,
        /// `down` or `up`.
        pub direction: &'static str,
        /// Packets offered to it.
        pub offered_packets: u64,
        /// Packets that arrived at its end.
        pub delivered_packets: u64 = About { better: Better::Neither, ..BOTTLENECK },
        /// Their bytes.
        pub delivered_bytes: u64 = About { better: Better::Neither, ..BOTTLENECK },
        /// Packets that its full queue dropped, without those that its discipline dropped early.
        pub dropped_queue: u64 = About { metrics: &[compared("drops", "Drops", PACKETS)], ..COUNT },
        /// Packets lost at random.
        pub dropped_loss: u64 = COUNT,
        /// Packets dropped because they were longer than the MTU.
        pub dropped_mtu: u64 = About { bottleneck: false, ..COUNT },
        /// Packets marked for congestion (ECN).
        pub marked_packets: u64 = About { better: Better::Neither, ..BOTTLENECK },
        /// Copies made.
        pub duplicated_packets: u64,
        /// The longest queue, packets.
        pub max_queue_packets: u64 = BOTTLENECK,
        /// The longest queue, bytes.
        pub max_queue_bytes: u64 = BOTTLENECK,
        /// Mean time that packets that were sent waited in it, in all its queues.
        pub mean_queueing_delay_s: f64 =
            About { metrics: &[compared("queueing_delay", "Queueing delay", MS)], ..BOTTLENECK },
        /// Packets dropped by the queue discipline before the queue was full.
        pub dropped_early: u64 = COUNT,
        /// Packets lost in an outage.
        pub dropped_outage: u64 = COUNT,
        /// Packets dropped by a wireless sender after the last retry.
        pub dropped_retries: u64 = About { bottleneck: false, at: OWN_LINKS, ..COUNT },
        /// The longest time that a packet that was sent waited in it, in all its queues.
        pub max_queueing_delay_s: f64 =
            About { metrics: &[compared("queueing_delay_max", "Longest queueing delay", MS)], ..BOTTLENECK },
        /// The effects of its tunnel and its circuit breaker, if it has them.
        #[serde(flatten)]
        pub boxes: BoxesResult,
        /// Contents of its queue discipline and its ring, if it has a ring.
        #[serde(flatten)]
        pub stages: StagesResult,
        /// Its mean contents over time.
        #[serde(flatten)]
        pub occupancy: OccupancyResult,
    }
}

crate::columns! {
    /// The effects of boxes at the ends of a link, and of lifetimes. All are left out for a link without.
    #[of(Link)]
    #[derive(Default, PartialEq)]
    pub struct BoxesResult {
        /// Packets dropped by a wireless sender at the end of their lifetime.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dropped_lifetime: Option<u64> = About { bottleneck: false, at: OWN_LINKS, ..COUNT },
        /// Packets dropped at the end of its tunnel: marked ones whose own header is not ECN-capable.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dropped_tunnel: Option<u64> = About { at: OWN_LINKS, ..COUNT },
        /// Packets dropped by its circuit breaker.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub dropped_breaker: Option<u64> = About { at: OWN_LINKS, ..COUNT },
        /// Flows that its circuit breaker ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tripped_flows: Option<u64> = About {
            metrics: &[compared("tripped_flows", "Flows ended by the circuit breaker", PURE)],
            ..STAGE
        },
        /// When its circuit breaker ended the first, s.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tripped_s: Option<f64> = STAGE,
    }
}

impl From<&LinkCounters> for BoxesResult {
    fn from(c: &LinkCounters) -> BoxesResult {
        BoxesResult {
            dropped_lifetime: c.dropped_lifetime,
            dropped_tunnel: c.dropped_tunnel,
            dropped_breaker: c.dropped_breaker,
            tripped_flows: c.tripped,
            tripped_s: c.first_tripped.map(Time::as_secs_f64),
        }
    }
}

crate::columns! {
    /// Mean occupancies over the measured time. All are empty where that has no length.
    #[of(Link)]
    #[derive(Default, PartialEq)]
    pub struct OccupancyResult {
        /// Packets that wait on average over the measured time, in both stages if there is a ring, without the one being sent.
        pub mean_queue_packets: Option<f64> = STAGE,
        /// Bytes that wait so.
        pub mean_queue_bytes: Option<f64> = OWN,
        /// Packets in its queue discipline on average over the measured time, if there is a ring.
        pub mean_qdisc_packets: Option<f64> =
            About { metrics: &[compared("qdisc_occupancy", "Queue discipline", PACKETS)], ..STAGE },
        /// Bytes in the queue discipline on average.
        pub mean_qdisc_bytes: Option<f64> = OWN,
        /// Packets in its ring on average over the measured time, with the one being sent.
        pub mean_ring_packets: Option<f64> = About { metrics: &[compared("ring_occupancy", "Ring", PACKETS)], ..STAGE },
        /// Bytes in the ring on average.
        pub mean_ring_bytes: Option<f64> = OWN,
    }
}

impl OccupancyResult {
    /// The means over a time of this length at whose beginning and end an element had `held` this.
    pub fn new(before: Held, after: Held, time: Span) -> OccupancyResult {
        let mean = |area: u128| (time > Span::ZERO).then(|| area as f64 / time.as_nanos() as f64);
        let means = |before: Area, after: Area| {
            let area = after - before;
            (mean(area.packet_ns), mean(area.byte_ns))
        };
        let (mean_queue_packets, mean_queue_bytes) = means(before.queue, after.queue);
        let stages = after.stages.map(|after| {
            let before = before.stages.unwrap_or_default();
            (means(before.qdisc, after.qdisc), means(before.ring, after.ring))
        });
        let ((mean_qdisc_packets, mean_qdisc_bytes), (mean_ring_packets, mean_ring_bytes)) = stages.unwrap_or_default();
        OccupancyResult {
            mean_queue_packets,
            mean_queue_bytes,
            mean_qdisc_packets,
            mean_qdisc_bytes,
            mean_ring_packets,
            mean_ring_bytes,
        }
    }
}

crate::columns! {
    /// The stages of a network interface. All are empty for a link without a ring.
    #[of(Link)]
    #[derive(Default)]
    pub struct StagesResult {
        /// The most packets in the queue discipline.
        pub max_qdisc_packets: Option<u64> = STAGE,
        /// The most bytes in the queue discipline.
        pub max_qdisc_bytes: Option<u64> = OWN,
        /// Mean time in the queue discipline of the packets that entered the ring.
        pub mean_qdisc_delay_s: Option<f64> = STAGE,
        /// The longest of these times.
        pub max_qdisc_delay_s: Option<f64> = OWN,
        /// The most packets in the ring, with the one being sent.
        pub max_ring_packets: Option<u64> = STAGE,
        /// Mean time in the ring until the serialisation began.
        pub mean_ring_delay_s: Option<f64> = STAGE,
        /// The longest of these times.
        pub max_ring_delay_s: Option<f64> = OWN,
    }
}

impl From<Stages> for StagesResult {
    fn from(stages: Stages) -> StagesResult {
        let mean = |ns: u128| Some(ns as f64 * 1e-9 / stages.ringed.max(1) as f64);
        StagesResult {
            max_qdisc_packets: Some(stages.max_qdisc_packets),
            max_qdisc_bytes: Some(stages.max_qdisc_bytes),
            mean_qdisc_delay_s: mean(stages.qdisc_ns),
            max_qdisc_delay_s: Some(stages.max_qdisc.as_secs_f64()),
            max_ring_packets: Some(stages.max_ring_packets),
            mean_ring_delay_s: mean(stages.ring_ns),
            max_ring_delay_s: Some(stages.max_ring.as_secs_f64()),
        }
    }
}

impl LinkResult {
    /// The result of one direction of the link called `link`.
    pub fn new(link: &str, direction: Direction, c: LinkCounters) -> LinkResult {
        LinkResult {
            link: link.to_string(),
            direction: direction.name(),
            offered_packets: c.offered,
            delivered_packets: c.delivered,
            delivered_bytes: c.delivered_bytes,
            dropped_queue: c.dropped_queue,
            dropped_loss: c.dropped_loss,
            dropped_mtu: c.dropped_mtu,
            marked_packets: c.marked,
            duplicated_packets: c.duplicated,
            max_queue_packets: c.max_queue_packets,
            max_queue_bytes: c.max_queue_bytes,
            mean_queueing_delay_s: c.queueing_ns as f64 * 1e-9 / c.served.max(1) as f64,
            dropped_early: c.dropped_early,
            dropped_outage: c.dropped_outage,
            dropped_retries: c.dropped_retries,
            max_queueing_delay_s: c.max_queueing.as_secs_f64(),
            boxes: BoxesResult::from(&c),
            stages: StagesResult::default(),
            occupancy: OccupancyResult::default(),
        }
    }

    /// The result with the stages of a network interface, if it has a ring.
    #[must_use]
    pub fn with_stages(self, stages: Option<Stages>) -> LinkResult {
        LinkResult { stages: stages.map(StagesResult::from).unwrap_or_default(), ..self }
    }

    /// The result with mean occupancies, if they were counted.
    #[must_use]
    pub fn with_occupancy(self, occupancy: Option<OccupancyResult>) -> LinkResult {
        LinkResult { occupancy: occupancy.unwrap_or_default(), ..self }
    }
}
