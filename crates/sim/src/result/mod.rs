//! The results of a run.

mod calls;
mod cells;
mod declared;
mod labels;
mod loads;
mod messages;
mod probes;
mod radio;
mod rates;
mod reports;
mod seen;
mod shadows;
mod summary;
mod videos;

use crate::recorder::Carried;
pub use calls::CallResult;
pub use cells::CellResult;
pub use declared::all as all_columns;
use haltere_net::columns;
use haltere_net::columns::{
    About, Better, Comparison, MB, MBIT_S, METRIC, MS, PACKETS, PERCENT, PLAIN, S, SIMULATED, Shown, Whole,
};
pub use haltere_net::report::LinkResult;
use haltere_transport::reordering::{Reordering, THRESHOLD};
pub use loads::LoadResult;
pub use messages::{MessagesResult, SeenMessages};
pub use probes::{ProbeResult, Seen};
pub use radio::RadioResult;
pub use rates::{RateResult, ReachedResult};
pub use reports::{ClientReport, with_reports};
pub use seen::{RealResult, SeenRun};
use serde::Serialize;
pub(crate) use shadows::series as shadow_series;
pub use shadows::{Both, DecisionResult, EventResult, PartingResult, ShadowResult};
pub(crate) use summary::Baseline;
pub use videos::VideoResult;

const SIMULATION: About = About { at: SIMULATED, ..PLAIN };
/// Columns whose values should be low.
const COST: About = About { better: Better::Lower, ..PLAIN };
const COUNT: About = About { unit: Some("packets"), whole: Whole::Sum, ..COST };
const TIME: About = About { whole: Whole::Mean, ..COST };
/// Columns that only our own transports tell.
const OF_ORDER: About = About { at: SIMULATED, ..COST };
const EXTENT: About = About { unit: Some("packets"), ..OF_ORDER };

const COUNTED: Comparison = Comparison::Difference { alike: 1.0, full: 100.0 };
/// A share of the packets that the server sent.
const OF_SENT: Shown = Shown {
    scale: PERCENT,
    comparison: Comparison::Difference { alike: 0.5, full: 5.0 },
    share_of: Some("sent_packets"),
    ..METRIC
};

columns! {
    /// The result of a run.
    #[of(Run)]
    pub struct RunResult {
        /// `ok`, or `failed` if a transfer did not finish.
        pub status: &'static str,
        /// Why the run failed.
        pub error: Option<String>,
        /// Virtual time at the end, s.
        pub virtual_s: f64,
        /// Number of calls of machines.
        pub events: u64 = SIMULATION,
        /// Packets with data delivered to clients.
        pub data_packets: u64,
        /// How fast the flows reached a state, if the scenario gives the length of windows.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub reached: Option<ReachedResult>,
        /// The flows, in the scenario's order.
        pub flows: Vec<FlowResult>,
        /// The directions of links.
        pub links: Vec<LinkResult>,
        /// The cells of IEEE 802.11 and of LTE, in the order of the scenario.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub cells: Vec<CellResult>,
        /// The probes, in the scenario's order.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub probes: Vec<ProbeResult>,
        /// The loads, in the scenario's order. A capture whose packets travel both ways counts as two.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub loads: Vec<LoadResult>,
    }
}

columns! {
    /// One flow's result.
    #[of(Flow)]
    pub struct FlowResult {
        /// Its number.
        pub flow: u32,
        /// Its contender, as the scenario writes it.
        pub contender: String,
        /// Its label, by which metrics and figures ask for it: its contender, and its direction where flows go both ways.
        pub label: String,
        /// Its pair of hosts.
        pub pair: u32,
        /// Which way the object travels: `down` or `up`.
        pub direction: &'static str,
        /// When the client connected, s.
        pub start_s: f64,
        /// Time from the client's connect to the last byte of the object read by the client, handshakes included; the
        /// same as the total transmission time.
        pub completion_s: Option<f64> = About {
            whole: Whole::Span,
            metrics: &[Shown { name: "completion_time", label: "Completion time", scale: S, ..METRIC }],
            ..COST
        },
        /// Time from the connect until the client may send its first request: the handshakes of the transport and of TLS, or
        /// of SSH, come before it, but not before early data; with MQTT, to CONNACK at the publisher. Of programs on real
        /// hosts it is known as far as they report it.
        pub handshake_s: Option<f64> =
            About { metrics: &[Shown { name: "setup_time", label: "Set-up time", scale: MS, ..METRIC }], ..TIME },
        /// Time from the connect to the first byte of the response.
        pub first_byte_s: Option<f64> = TIME,
        /// The longest time between two reads of the object by the client.
        pub longest_gap_s: Option<f64> = About { whole: Whole::Largest, ..OF_ORDER },
        /// Bytes of the object received. Those of a flow that is not complete count since `measure_from`, here and on the
        /// wire.
        pub bytes: u64 = About { whole: Whole::Sum, ..PLAIN },
        /// Bits of the object alone, divided by the completion time.
        pub goodput_bps: Option<f64> = About {
            better: Better::Higher,
            whole: Whole::Rate("bytes"),
            metrics: &[Shown { name: "goodput", label: "Goodput", scale: MBIT_S, ..METRIC }],
            ..PLAIN
        },
        /// All bits of the IP packets the client received, overhead included, divided by the completion time.
        pub throughput_bps: Option<f64> = About {
            better: Better::Higher,
            whole: Whole::Rate("wire_bytes"),
            metrics: &[Shown { name: "throughput", label: "Throughput", scale: MBIT_S, ..METRIC }],
            ..PLAIN
        },
        /// Bytes of the IP packets the client received, headers included. 1 MB = 1 000 000 B.
        pub wire_bytes: u64 = About {
            whole: Whole::Sum,
            metrics: &[Shown { name: "volume", label: "Bytes on the wire", scale: MB, ..METRIC }],
            ..COST
        },
        /// Bytes of the IP packets the client received beyond those of the object itself: headers of every layer,
        /// handshakes, acknowledgements, framing, cryptographic tags, and data received more than once. 0 if less arrived
        /// in the measured time than was read in it. 1 MB = 1 000 000 B.
        pub overhead_bytes: u64 = About {
            whole: Whole::Sum,
            metrics: &[Shown { name: "overhead", label: "Overhead", scale: MB, ..METRIC }],
            ..COST
        },
        /// Packets the server sent that carried data.
        pub sent_packets: u64 = About { whole: Whole::Sum, ..PLAIN },
        /// Packets by which the server sent data again that it had sent before. Packets of QUIC are encrypted, so that it
        /// is not known on real hosts.
        pub retransmitted_packets: u64 = About {
            metrics: &[
                Shown {
                    name: "retransmissions",
                    label: "Retransmissions",
                    scale: PACKETS,
                    comparison: COUNTED,
                    meaning: Some("Packets by which the server sent data again that it had sent before."),
                    ..METRIC
                },
                Shown {
                    name: "retransmission_rate",
                    label: "Retransmission rate",
                    meaning: Some("Packets by which the server sent data again, as a share of all that it sent."),
                    ..OF_SENT
                },
            ],
            ..COUNT
        },
        /// Packets that the server declared lost.
        pub lost_packets: u64 = About {
            at: SIMULATED,
            metrics: &[
                Shown { name: "losses", label: "Lost packets", scale: PACKETS, comparison: COUNTED, ..METRIC },
                Shown {
                    name: "loss_rate",
                    label: "Loss rate",
                    meaning: Some("Packets that the server declared lost, as a share of all that it sent."),
                    ..OF_SENT
                },
            ],
            ..COUNT
        },
        /// Retransmissions that were not needed; not of kernels as nodes, whose packets do not tell.
        pub spurious_retransmissions: Option<u64> = COUNT,
        /// Bytes of data that the server sent again on another path; not of production stacks, which do not tell.
        pub reinjected_bytes: Option<u64> = About { whole: Whole::Sum, ..OF_ORDER },
        /// Bytes that the receiver acknowledged and handed to the application though they never arrived, if it does so
        /// (`+optimistic-acks`). They count neither as received nor for goodput.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub concealed_bytes: Option<u64> = About { whole: Whole::Sum, ..OF_ORDER },
        /// The time for which the receiver held data behind missing data (head-of-line blocking); not of production
        /// stacks, which do not tell.
        pub blocked_s: Option<f64> = OF_ORDER,
        /// The most bytes that the receiver held so.
        pub most_held_bytes: Option<u64> = About { whole: Whole::Largest, ..OF_ORDER },
        /// The mean of the bytes that it held so, from the start until the transfer was complete.
        pub mean_held_bytes: Option<f64> = OF_ORDER,
        /// The mean time for which a byte was held so (out-of-order delay).
        pub out_of_order_delay_mean_s: Option<f64> = OF_ORDER,
        /// The out-of-order delay that 95 % of the bytes do not exceed.
        pub out_of_order_delay_p95_s: Option<f64> = OF_ORDER,
        /// The share of packets whose data came after data that follows it (RFC 4737 section 4.1).
        pub reordered_ratio: Option<f64> = OF_ORDER,
        /// The share of packets that came directly after three or more packets of later data (RFC 4737 section 5.2).
        pub three_reordered_ratio: Option<f64> = OF_ORDER,
        /// How many packets before a reordered one the first of later data came, on average (RFC 4737 section 4.2.1); 0 if
        /// none is reordered.
        pub reordering_extent_mean: Option<f64> = EXTENT,
        /// The extent that 95 % of the reordered packets do not exceed.
        pub reordering_extent_p95: Option<f64> = EXTENT,
        /// The largest extent.
        pub reordering_extent_max: Option<u64> = About { whole: Whole::Largest, ..EXTENT },
        /// Retransmission timeouts (TCP) or persistent congestion (QUIC); not of kernels as nodes, whose packets do not tell.
        pub timeouts: Option<u64> = About { whole: Whole::Sum, ..COST },
        /// The shortest round-trip time that the flow's own sender measured.
        pub min_rtt_s: Option<f64> = About {
            whole: Whole::Least,
            metrics: &[Shown { name: "least_rtt", label: "Least RTT of the flow", scale: MS, ..METRIC }],
            ..COST
        },
        /// Mean of the round-trip times that the flow's own sender measured.
        pub mean_rtt_s: Option<f64> =
            About { metrics: &[Shown { name: "rtt", label: "RTT of the flow", scale: MS, ..METRIC }], ..TIME },
        /// The 95th percentile of the round-trip times that the flow's own sender measured, within one part in 128; not of
        /// flows with MQTT.
        pub rtt_p95_s: Option<f64> = About {
            metrics: &[Shown { name: "rtt_p95", label: "RTT of the flow, 95th percentile", scale: MS, ..METRIC }],
            ..TIME
        },
        /// The 99th percentile of the round-trip times that the flow's own sender measured, within one part in 128; not of
        /// flows with MQTT.
        pub rtt_p99_s: Option<f64> = About {
            at: SIMULATED,
            metrics: &[Shown { name: "rtt_p99", label: "RTT of the flow, 99th percentile", scale: MS, ..METRIC }],
            ..TIME
        },
        /// Time from the client's connect until each object of a page was complete; null for an object that was not.
        pub objects_s: Option<Vec<Option<f64>>> = SIMULATION,
        /// How its goodput changed, if the scenario gives the length of windows.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub rates: Option<RateResult>,
        /// The use of the radio of its client, or of its publishers, if it has one.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub radio: Option<RadioResult>,
        /// The fate of its messages, with MQTT.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub messages: Option<MessagesResult>,
        /// The picture at the viewer, of a call.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub call: Option<CallResult>,
        /// The film at its viewer, of video on demand.
        #[serde(flatten, skip_serializing_if = "Option::is_none")]
        pub video: Option<VideoResult>,
        /// `ok` or `failed`.
        pub status: &'static str,
        /// Why the flow failed.
        pub error: Option<String>,
    }
}

/// A traced run.
#[derive(Clone, Debug, Serialize)]
pub struct TraceResult {
    /// The result.
    pub result: RunResult,
    /// The recorded series.
    pub series: Vec<SeriesResult>,
    /// Which path carried which data when, of flows with several paths.
    pub schedule: Vec<ScheduleResult>,
    /// How far packets of each flow arrived from their place.
    pub reordering: Vec<DensityResult>,
    /// Congestion controls in the shadow of others, and where they parted.
    pub shadows: Vec<ShadowResult>,
}

/// The data that the server of a flow sent, as columns: an entry for each packet and stream.
#[derive(Clone, Debug, Serialize)]
pub struct ScheduleResult {
    /// The flow.
    pub flow: u32,
    /// When the packet was sent, s.
    pub t_s: Vec<f64>,
    /// On which path.
    pub path: Vec<u8>,
    /// The stream of the data.
    pub stream: Vec<u64>,
    /// The position of its first byte.
    pub start: Vec<u64>,
    /// Bytes.
    pub bytes: Vec<u32>,
    /// Whether it was sent before, on this path or another.
    pub again: Vec<bool>,
}

impl ScheduleResult {
    /// The schedule of a flow.
    pub(crate) fn new(flow: usize, sent: &[Carried]) -> ScheduleResult {
        ScheduleResult {
            flow: flow as u32,
            t_s: sent.iter().map(|c| c.at.as_secs_f64()).collect(),
            path: sent.iter().map(|c| c.path.0).collect(),
            stream: sent.iter().map(|c| c.stream).collect(),
            start: sent.iter().map(|c| c.start).collect(),
            bytes: sent.iter().map(|c| c.len).collect(),
            again: sent.iter().map(|c| c.again).collect(),
        }
    }
}

/// Reorder density at the client of a flow (RFC 5236).
#[derive(Clone, Debug, Serialize)]
pub struct DensityResult {
    /// The flow.
    pub flow: u32,
    /// Packets that are later than this count as lost.
    pub threshold: i64,
    /// Packets with new data.
    pub packets: u64,
    /// Packets displaced by more than the threshold.
    pub beyond: u64,
    /// Displacements, ascending, negative for early packets, and the share of the other packets that have them.
    pub density: Vec<(i64, f64)>,
}

impl DensityResult {
    /// The density of a flow.
    pub fn new(flow: usize, reordering: &Reordering) -> DensityResult {
        DensityResult {
            flow: flow as u32,
            threshold: THRESHOLD,
            packets: reordering.packets(),
            beyond: reordering.beyond_threshold(),
            density: reordering.density(),
        }
    }
}

/// One metric of one component over time.
#[derive(Clone, Debug, Serialize)]
pub struct SeriesResult {
    /// `flow 0`, `flow 0 path 1` for a path after the first, `flow 0 shadow 1`, `flow 0 controller` for what its congestion
    /// control asks for where it has shadows, or `bottleneck down`.
    pub who: String,
    /// The metric's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Times, s.
    pub t_s: Vec<f64>,
    /// Values.
    pub v: Vec<f64>,
    /// The names of the values, if they are positions in this list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<&'static str>,
}
