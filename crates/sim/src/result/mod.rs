//! The results of a run.

mod cells;
mod loads;
mod messages;
mod probes;
mod radio;
mod shadows;
mod summary;

use crate::recorder::Carried;
pub use cells::CellResult;
pub use haltere_net::report::LinkResult;
use haltere_transport::reordering::{Reordering, THRESHOLD};
pub use loads::LoadResult;
pub use messages::{MessagesResult, SeenMessages};
pub use probes::{ProbeResult, Seen};
pub use radio::RadioResult;
use serde::Serialize;
pub(crate) use shadows::series as shadow_series;
pub use shadows::{Both, DecisionResult, EventResult, PartingResult, ShadowResult};
pub(crate) use summary::Baseline;

/// The result of a run; the columns of the result tables.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// `ok`, or `failed` if a transfer did not finish.
    pub status: &'static str,
    /// Why the run failed.
    pub error: Option<String>,
    /// Virtual time at the end, s.
    pub virtual_s: f64,
    /// Number of calls of machines.
    pub events: u64,
    /// Packets with data delivered to clients.
    pub data_packets: u64,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowResult>,
    /// The directions of links.
    pub links: Vec<LinkResult>,
    /// The cells of IEEE 802.11, in the order of the scenario.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<CellResult>,
    /// The probes, in the scenario's order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeResult>,
    /// The loads, in the scenario's order. A capture whose packets travel both ways counts as two.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadResult>,
}

/// One flow's result.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// Its number.
    pub flow: u32,
    /// Its contender, as the scenario writes it.
    pub contender: String,
    /// Its pair of hosts.
    pub pair: u32,
    /// Which way the object travels: `down` or `up`.
    pub direction: &'static str,
    /// When the client connected, s.
    pub start_s: f64,
    /// Time from the connect to the last byte read, s.
    pub completion_s: Option<f64>,
    /// Time from the connect to the end of the transport's handshake at the client, s. With MQTT: until CONNACK at the
    /// publisher.
    pub handshake_s: Option<f64>,
    /// Time from the connect to the first byte of the response, s.
    pub first_byte_s: Option<f64>,
    /// The longest time between two reads of the object by the client, s.
    pub longest_gap_s: Option<f64>,
    /// Bytes of the object received. Those of a flow that is not complete count since `measure_from`, here and on the wire.
    pub bytes: u64,
    /// Application bytes a second, bit/s.
    pub goodput_bps: Option<f64>,
    /// All bytes on the wire a second at the client, bit/s.
    pub throughput_bps: Option<f64>,
    /// Bytes on the wire received by the client, IP headers included.
    pub wire_bytes: u64,
    /// The part of these bytes that is not the object; 0 if less arrived in the measured time than was read in it.
    pub overhead_bytes: u64,
    /// Packets the server sent that carried data.
    pub sent_packets: u64,
    /// How many of these were retransmissions.
    pub retransmitted_packets: u64,
    /// Packets the server declared lost.
    pub lost_packets: u64,
    /// Retransmissions that were not needed.
    pub spurious_retransmissions: u64,
    /// Bytes of data that the server sent again on another path. `None` for production stacks, which do not tell.
    pub reinjected_bytes: Option<u64>,
    /// The time for which the receiver held data behind missing data (head-of-line blocking), and the most bytes of it at
    /// a time. `None` for production stacks, which do not tell.
    pub blocked_s: Option<f64>,
    /// The most bytes that the receiver held so.
    pub most_held_bytes: Option<u64>,
    /// The mean of the bytes that it held so, from the start until the transfer was complete.
    pub mean_held_bytes: Option<f64>,
    /// The mean time for which a byte was held so, s (out-of-order delay).
    pub out_of_order_delay_mean_s: Option<f64>,
    /// The out-of-order delay that 95 % of the bytes do not exceed, s.
    pub out_of_order_delay_p95_s: Option<f64>,
    /// The share of packets whose data came after data that follows it (RFC 4737 section 4.1).
    pub reordered_ratio: Option<f64>,
    /// The share of packets that came directly after three or more packets of later data (section 5.2).
    pub three_reordered_ratio: Option<f64>,
    /// How many packets before a reordered one the first of later data came, on average (section 4.2.1); 0 if none is reordered.
    pub reordering_extent_mean: Option<f64>,
    /// The extent that 95 % of the reordered packets do not exceed.
    pub reordering_extent_p95: Option<f64>,
    /// The largest extent.
    pub reordering_extent_max: Option<u64>,
    /// Retransmission timeouts (TCP) or persistent congestion (QUIC).
    pub timeouts: u64,
    /// The server's smallest RTT sample, s.
    pub min_rtt_s: Option<f64>,
    /// The mean of its RTT samples, s.
    pub mean_rtt_s: Option<f64>,
    /// The value that 95 % of its RTT samples do not exceed, s, within one part in 128; not of flows with MQTT.
    pub rtt_p95_s: Option<f64>,
    /// Time from the client's connect until each object of a page was complete, s; null for an object that was not.
    pub objects_s: Option<Vec<Option<f64>>>,
    /// What the radio of its client, or of its publishers, did, if it has one.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub radio: Option<RadioResult>,
    /// What became of its messages, with MQTT.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessagesResult>,
    /// `ok` or `failed`.
    pub status: &'static str,
    /// Why the flow failed.
    pub error: Option<String>,
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
}
