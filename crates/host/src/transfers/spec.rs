//! The specification of transfers, and their outcome.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::Ipv4Addr;

/// Transfers to make. Times are nanoseconds from the run's beginning.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// A flow with a size that takes longer than this has failed.
    pub time_limit_ns: u64,
    /// When the run ends; without it, once every flow with a size is done.
    #[serde(default)]
    pub duration_ns: Option<u64>,
    /// Bytes that arrive before do not count for a flow without size.
    #[serde(default)]
    pub measure_from_ns: Option<u64>,
    /// How often the servers' `TCP_INFO` is asked for; without it, only at the end.
    #[serde(default)]
    pub sample_ns: Option<u64>,
    /// The reading of `CLOCK_MONOTONIC` at which the run begins; without it, as soon as the sockets are made.
    #[serde(default)]
    pub epoch_ns: Option<u64>,
}

/// One transfer: the client connects and sends `request` bytes, the server answers with `size`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Its number.
    pub flow: u32,
    /// The end that sends.
    pub server: ServerSpec,
    /// The end that receives.
    pub client: ClientSpec,
    /// The congestion control of both ends, by the kernel's name.
    pub congestion: String,
    /// Bytes of the answer; without end if absent.
    #[serde(default)]
    pub size: Option<u64>,
    /// When the client connects.
    #[serde(default)]
    pub start_ns: u64,
    /// Bytes of the request.
    #[serde(default = "one")]
    pub request: u32,
    /// Departures from the defaults of Linux.
    #[serde(default)]
    pub options: Options,
}

fn one() -> u32 {
    1
}

/// Where a server listens.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Path of its network namespace; the caller's if absent.
    #[serde(default)]
    pub netns: Option<String>,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port, one for each flow of the same address.
    pub port: u16,
}

/// Where a client connects from.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientSpec {
    /// Path of its network namespace; the caller's if absent.
    #[serde(default)]
    pub netns: Option<String>,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port; one that the kernel draws if absent.
    #[serde(default)]
    pub port: Option<u16>,
}

/// Switches of a flow's sockets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The sockets are of MPTCP, which uses the paths that the path manager of their namespaces knows.
    #[serde(default)]
    pub multipath: bool,
    /// TCP paces, whatever the congestion control.
    #[serde(default)]
    pub paced: bool,
    /// The client asks for immediate ACKs after each read. (The route attribute `quickack` is the stricter form.)
    #[serde(default)]
    pub quickack: bool,
    /// `SO_SNDBUF` and `SO_RCVBUF`, bytes; absent leaves the kernel's tuning on.
    #[serde(default)]
    pub buffer: Option<u32>,
    /// The type of service of the packets of both ends (`IP_TOS`); its two ECN bits are TCP's own.
    #[serde(default)]
    pub tos: Option<u8>,
}

/// The outcome of the transfers.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The flows, in the order of the specification.
    pub flows: Vec<FlowOutcome>,
    /// How the servers' metrics changed, if samples were wanted; times from the run's beginning.
    pub series: Vec<Series>,
    /// How long the run took by its own clock, s.
    pub virtual_s: f64,
}

/// The outcome of one transfer; times in seconds from its start unless said otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct FlowOutcome {
    /// Its number.
    pub flow: u32,
    /// `ok` or `failed`.
    pub status: &'static str,
    /// Why it failed.
    pub error: Option<String>,
    /// When the client connected, s from the run's beginning.
    pub start_s: f64,
    /// From connect(2) until the connection was established at the client.
    pub handshake_s: Option<f64>,
    /// From connect(2) until the first byte could be read.
    pub first_byte_s: Option<f64>,
    /// From connect(2) until the last byte was read.
    pub completion_s: Option<f64>,
    /// Bytes read; of a flow without size, those since `measure_from_ns`.
    pub bytes: u64,
    /// The server's port.
    pub server_port: u16,
    /// The client's port, once it has one.
    pub client_port: Option<u16>,
    /// `struct tcp_info` of both ends at the end: the client's when its transfer was done, the server's when the run
    /// was.
    pub tcp_info: Ends,
}

/// A value of each end of a flow.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Ends {
    /// The server's, if it accepted a connection.
    pub server: Option<Value>,
    /// The client's.
    pub client: Option<Value>,
}

/// How one metric changed, as `haltere_sim` gives it.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// `flow 0`.
    pub who: String,
    /// The metric's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Times, s.
    pub t_s: Vec<f64>,
    /// The metric's values at these times.
    pub v: Vec<f64>,
}
