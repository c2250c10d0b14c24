//! Probes in scenarios: requests and answers whose round-trip times are recorded.

use super::beside::{self, Beside, BesideSpec, MAX_PAYLOAD};
use super::place::{PlaceSpec, Side};
use super::quantity::Quantity;
use super::topology::Topology;
use super::{ScenarioError, error};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A probe with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The protocol.
    pub kind: ProbeKind,
    /// Payload of a request, and of its answer, bytes.
    pub payload: u32,
    /// The shortest time from one request to the next.
    pub interval: Span,
    /// Whether a request waits for the last one's answer.
    pub mode: ProbeMode,
    /// How long an answer is waited for.
    pub timeout: Span,
    /// Its hosts and times; the one that sends the requests is named.
    pub beside: Beside,
}

/// Requests from one host to the other at an interval. The other host answers each with as many bytes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Probe")]
pub(super) struct ProbeSpec {
    /// The protocol.
    kind: ProbeKind,
    /// Payload of a request, and of its answer. An ICMP or UDP packet has 28 bytes of headers beside it (default 56B, as
    /// ping's).
    size: Option<Quantity<Bytes>>,
    /// The time from one request to the next (default 1s); of stop-and-wait the shortest.
    interval: Option<Quantity<Span>>,
    /// Whether a request waits for the last one's answer (default free-running: it does not).
    #[serde(default)]
    mode: ProbeMode,
    /// How long an answer is waited for (default 5s). A request without an answer in this time is lost.
    timeout: Option<Quantity<Span>>,
    /// The host that sends the requests (default client: the answers travel in the data direction).
    from: Option<Side>,
    /// Dumbbell: the number of its pair of hosts (default 0).
    pair: Option<u32>,
    /// Graph: the server's node.
    server: Option<String>,
    /// Graph: the client's node.
    client: Option<String>,
    /// When the first request is sent (default 0s).
    start: Option<Quantity<Span>>,
    /// The largest random delay of the start, uniformly drawn in each replication (default 0s).
    start_spread: Option<Quantity<Span>>,
    /// The number of requests. The run then waits until all are answered or lost. Without it, requests are sent until the
    /// run ends.
    count: Option<u64>,
    /// No request is sent later than this after the start.
    duration: Option<Quantity<Span>>,
}

/// The protocol of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKind {
    /// ICMP echo requests, answered by the host, as ping's.
    Icmp,
    /// UDP datagrams, answered by a program, as irtt's.
    Udp,
    /// Messages on one TCP connection (CUBIC), which is opened first.
    Tcp,
}

impl ProbeKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            ProbeKind::Icmp => "icmp",
            ProbeKind::Udp => "udp",
            ProbeKind::Tcp => "tcp",
        }
    }
}

/// When a probe sends its next request.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeMode {
    /// After the interval, as ping and irtt do.
    #[default]
    FreeRunning,
    /// After the interval, but not before the last request was answered or its time-out has passed.
    StopAndWait,
}

impl ProbeSpec {
    /// The probe that is meant.
    pub fn probe(self, path: &str, topology: &Topology) -> Result<Probe, ScenarioError> {
        let ProbeSpec { kind, size, mode, from, pair, server, client, start, start_spread, count, duration, .. } = self;
        let place = PlaceSpec { pair, server, client };
        let beside = BesideSpec { place, from, start, start_spread, count, duration };
        let most = if kind == ProbeKind::Tcp { u64::from(u32::MAX) } else { MAX_PAYLOAD };
        let payload = beside::payload(size, 56, most, &format!("{path}.size"))?;
        if payload == 0 && kind == ProbeKind::Tcp {
            return Err(error(format!("{path}.size"), "0B: TCP sends nothing then, so give at least 1B"));
        }
        Ok(Probe {
            kind,
            payload,
            interval: beside::time(self.interval, Span::from_secs(1), &format!("{path}.interval"))?,
            mode,
            timeout: beside::time(self.timeout, Span::from_secs(5), &format!("{path}.timeout"))?,
            beside: beside.beside(path, "probe", Side::Client, topology)?,
        })
    }
}
