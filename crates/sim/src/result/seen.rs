//! Results of runs on real hosts, from what was seen there: the same columns as the simulator's, null where real hosts do
//! not tell.

use super::calls::SeenCall;
use super::labels::{Named, labels};
use super::summary::rate;
use super::{FlowResult, LinkResult, RunResult};
use haltere_net::columns;
use haltere_net::columns::{About, Column, PLAIN, REAL, WALL_CLOCK};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const ON_REAL: About = About { at: REAL, ..PLAIN };
const ON_CLOCK: About = About { at: WALL_CLOCK, ..PLAIN };

columns! {
    /// Columns that only runs on real hosts have.
    #[of(Run)]
    pub struct RealResult {
        /// The version of the kernel.
        pub kernel: String = ON_REAL,
        /// How often the run was made, since the machine disturbed it.
        pub attempts: u64 = ON_CLOCK,
        /// Whether the machine disturbed this one.
        pub disturbed: bool = ON_CLOCK,
        /// How late packets left the links: the median.
        pub lateness_p50_s: f64 = ON_CLOCK,
        /// The lateness that 99 % of the packets do not exceed.
        pub lateness_p99_s: f64 = ON_CLOCK,
        /// The largest lateness.
        pub lateness_max_s: f64 = ON_CLOCK,
        /// CPU time of the emulator.
        pub emulator_cpu_s: f64 = ON_CLOCK,
        /// CPU time of the flows' ends.
        pub endpoints_cpu_s: f64 = ON_CLOCK,
    }
}

/// Values of a row by the names of their columns.
type Row = Map<String, Value>;

/// All that was seen of a run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenRun {
    /// The length of the measured time, if the scenario gives it, s.
    measured_s: Option<f64>,
    /// Packets that the capture lost.
    lost_records: u64,
    /// The flows.
    flows: Vec<SeenFlow>,
    /// The directions of links. Values that are no columns are left out.
    links: Vec<Row>,
    /// The run's own columns.
    run: Row,
}

/// All that was seen of a flow.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenFlow {
    label: Option<String>,
    contender: String,
    pair: u32,
    direction: String,
    carrier: Carrier,
    /// Whether programs transfer its object, which need not report times.
    program: bool,
    /// Whether its object has a size.
    finite: bool,
    /// How long after its start the measured time begins, s.
    #[serde(default)]
    measure_from_s: f64,
    report: Report,
    packets: Packets,
}

/// The transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Carrier {
    Tcp,
    Mptcp,
    Quic,
    Mpquic,
    Rtp,
}

/// The report of a flow's ends.
#[derive(Debug, Deserialize)]
struct Report {
    flow: u32,
    start_s: f64,
    completion_s: Option<f64>,
    handshake_s: Option<f64>,
    first_byte_s: Option<f64>,
    bytes: u64,
    status: String,
    error: Option<String>,
    messages: Option<Row>,
    /// The frames of a call, as its programs say.
    #[serde(default)]
    call: Option<SeenCall>,
    tcp_info: Option<Value>,
}

/// Counts and times of a flow's packets at a tap.
#[derive(Debug, Deserialize)]
struct Packets {
    wire_bytes: u64,
    #[serde(default)]
    measured_wire_bytes: u64,
    sent_packets: u64,
    retransmitted_packets: u64,
    received_data_packets: u64,
    spurious_retransmissions: Option<u64>,
    plain_packets: u64,
    completion_s: Option<f64>,
    min_rtt_s: Option<f64>,
    mean_rtt_s: Option<f64>,
    rtt_p95_s: Option<f64>,
}

/// A row with a value for each column, null where there is none; and the names that are no columns.
fn complete(columns: &[Column], mut seen: Row) -> (Row, Row) {
    let value = |column: &Column| {
        let name = column.name.to_string();
        let value = seen.remove(&name).unwrap_or(Value::Null);
        (name, value)
    };
    let row = columns.iter().map(value).collect();
    (row, seen)
}

impl SeenFlow {
    /// Why the flow failed.
    fn error(&self) -> Option<String> {
        let (plain, sent) = (self.packets.plain_packets, self.packets.sent_packets);
        let fell_back = self.carrier == Carrier::Mptcp && plain > 0;
        let fallen = || format!("MPTCP fell back to TCP: {plain} of {sent} packets with data have no option of MPTCP");
        self.report.error.clone().or_else(|| fell_back.then(fallen))
    }

    /// Its row.
    fn row(self, label: String, measured_s: Option<f64>, columns: &[Column]) -> Row {
        let error = self.error();
        let SeenFlow { report, packets, measure_from_s, .. } = self;
        let call = report.call.map(|call| call.result(measure_from_s));
        let bytes = call.as_ref().map_or(report.bytes, |call| call.bytes);
        let ok = report.status == "ok" && error.is_none();
        // Encrypted packets look alike: of QUIC, packets show only when the first and the last one came.
        let completion = report.completion_s.or(packets.completion_s.filter(|_| self.program && ok && self.finite));
        let lasted = completion.filter(|s| *s > 0.0);
        let seconds = lasted.or(measured_s).filter(|s| *s > 0.0);
        let wire = if lasted.is_some() { packets.wire_bytes } else { packets.measured_wire_bytes };
        let kernel = matches!(self.carrier, Carrier::Tcp | Carrier::Mptcp);
        let timeouts = report.tcp_info.as_ref().and_then(|info| info.pointer("/server/total_rto"));
        let seen = json!({
            "flow": report.flow,
            "contender": self.contender,
            "label": label,
            "pair": self.pair,
            "direction": self.direction,
            "start_s": report.start_s,
            "completion_s": completion,
            // Packets of TLS are encrypted: its end is known only from the client's report.
            "handshake_s": report.handshake_s,
            "first_byte_s": report.first_byte_s,
            "bytes": bytes,
            "goodput_bps": rate(bytes, seconds),
            "throughput_bps": rate(wire, seconds),
            "wire_bytes": wire,
            "overhead_bytes": wire.saturating_sub(bytes),
            "sent_packets": packets.sent_packets,
            // Packets of QUIC are encrypted: a tap does not see what they repeat.
            "retransmitted_packets": kernel.then_some(packets.retransmitted_packets),
            "spurious_retransmissions": packets.spurious_retransmissions,
            "timeouts": timeouts,
            "min_rtt_s": packets.min_rtt_s,
            "mean_rtt_s": packets.mean_rtt_s,
            "rtt_p95_s": packets.rtt_p95_s,
            "status": if ok { "ok" } else { "failed" },
            "error": error,
        });
        let Value::Object(mut seen) = seen else { return Row::new() };
        seen.extend(report.messages.unwrap_or_default());
        seen.extend(call.map(|call| call.row).unwrap_or_default());
        complete(columns, seen).0
    }
}

impl SeenRun {
    /// The result of the run: its row, with `flows`, `links` and whatever else was given of it.
    pub fn result(self) -> Row {
        let columns = [RunResult::declared(), RealResult::declared()].concat();
        let (flow, link) = (FlowResult::declared(), LinkResult::declared());
        let data_packets: u64 = self.flows.iter().map(|flow| flow.packets.received_data_packets).sum();
        let failed = self.flows.iter().find_map(|flow| Some(format!("flow {}: {}", flow.report.flow, flow.error()?)));
        let lost = (self.lost_records > 0)
            .then(|| format!("the capture lost {} records: its counts are too small", self.lost_records));
        let error = failed.or(lost);
        let named = self.flows.iter().map(|flow| Named {
            own: flow.label.as_deref(),
            contender: &flow.contender,
            direction: &flow.direction,
        });
        let labels = labels(&named.collect::<Vec<_>>());
        let labelled = labels.into_iter().zip(self.flows);
        let flows: Vec<Row> = labelled.map(|(label, seen)| seen.row(label, self.measured_s, &flow)).collect();
        let links: Vec<Row> = self.links.into_iter().map(|seen| complete(&link, seen).0).collect();
        let (mut row, more) = complete(&columns, self.run);
        row.insert("status".into(), if error.is_some() { "failed" } else { "ok" }.into());
        row.insert("error".into(), error.into());
        row.insert("data_packets".into(), data_packets.into());
        row.insert("flows".into(), json!(flows));
        row.insert("links".into(), json!(links));
        row.extend(more);
        row
    }
}
