//! Probes in scenarios: requests and answers whose round-trip times are recorded.

use super::place::{Place, Side};
use super::quantity::Quantity;
use super::{Scenario, ScenarioError, error};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The largest payload, bytes: that of the largest IPv4 packet.
const MAX_PAYLOAD: u64 = 65_535 - 28;

/// The shortest interval and time-out.
const SHORTEST: Span = Span::from_micros(1);

/// Requests from one host to the other at an interval. The other host answers each with as many bytes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// The protocol.
    pub kind: ProbeKind,
    /// Payload of a request, and of its answer. An ICMP or UDP packet has 28 bytes of headers beside it (default 56B, as
    /// ping's).
    #[serde(default)]
    pub size: Option<Quantity<Bytes>>,
    /// The shortest time from one request to the next (default 1s).
    #[serde(default)]
    pub interval: Option<Quantity<Span>>,
    /// Whether a request waits for the last one's answer (default stop-and-wait).
    #[serde(default)]
    pub mode: ProbeMode,
    /// How long an answer is waited for (default 5s). A request without an answer in this time is lost.
    #[serde(default)]
    pub timeout: Option<Quantity<Span>>,
    /// The host that sends the requests (default client: the answers travel in the data direction).
    #[serde(default)]
    pub from: Option<Side>,
    /// Dumbbell: the number of its pair of hosts (default 0).
    #[serde(default)]
    pub pair: Option<u32>,
    /// Graph: the server's node.
    #[serde(default)]
    pub server: Option<String>,
    /// Graph: the client's node.
    #[serde(default)]
    pub client: Option<String>,
    /// When the first request is sent (default 0s).
    #[serde(default)]
    pub start: Option<Quantity<Span>>,
    /// The largest random delay of the start, uniformly drawn in each replication (default 0s).
    #[serde(default)]
    pub start_spread: Option<Quantity<Span>>,
    /// The number of requests. The run then waits until all are answered or lost. Without it, requests are sent until the
    /// run ends.
    #[serde(default)]
    pub count: Option<u64>,
    /// No request is sent later than this after the start.
    #[serde(default)]
    pub duration: Option<Quantity<Span>>,
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
    /// After the interval, but not before the last request was answered or its time-out has passed.
    #[default]
    StopAndWait,
    /// After the interval, as ping and irtt do.
    FreeRunning,
}

impl Probe {
    /// Payload of a request, bytes.
    pub fn payload(&self) -> u32 {
        self.size.map_or(56, |q| q.0.0 as u32)
    }

    /// The shortest time from one request to the next.
    pub fn interval(&self) -> Span {
        self.interval.map_or(Span::from_secs(1), |q| q.0)
    }

    /// How long an answer is waited for.
    pub fn timeout(&self) -> Span {
        self.timeout.map_or(Span::from_secs(5), |q| q.0)
    }

    /// The host that sends the requests.
    pub fn from(&self) -> Side {
        self.from.unwrap_or(Side::Client)
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        self.count.is_some() || self.duration.is_some()
    }

    pub(super) fn check(&self, path: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let Probe { pair, server, client, .. } = self;
        let place = Place { pair: *pair, pairs: None, server: server.as_deref(), client: client.as_deref() };
        place.check(path, "probe", &scenario.topology)?;
        let most = if self.kind == ProbeKind::Tcp { u64::from(u32::MAX) } else { MAX_PAYLOAD };
        match self.size {
            Some(Quantity(Bytes(size))) if size > most => {
                let message = format!("{size}B: give at most {most}B");
                return Err(error(format!("{path}.size"), message));
            }
            Some(Quantity(Bytes(0))) if self.kind == ProbeKind::Tcp => {
                return Err(error(format!("{path}.size"), "0B: TCP sends nothing then, so give at least 1B"));
            }
            _ => {}
        }
        for (field, given, default) in [("interval", self.interval, "1s"), ("timeout", self.timeout, "5s")] {
            if let Some(Quantity(time)) = given.filter(|q| q.0 < SHORTEST) {
                let message = format!("{time} is too short: give at least {SHORTEST}, such as {default}");
                return Err(error(format!("{path}.{field}"), message));
            }
        }
        if self.count == Some(0) {
            return Err(error(format!("{path}.count"), "0: give at least 1, or leave the probe out"));
        }
        Ok(())
    }
}
