//! The specification of a capture: where to listen and what to measure; and the answer.

use crate::meters::{ClientCounts, LinkCounts, ServerCounts};
use serde::{Deserialize, Serialize};
use std::net::{Ipv4Addr, SocketAddrV4};

/// The flows and links to capture, and how.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The interfaces to listen at.
    pub taps: Vec<TapSpec>,
    /// The flows to measure.
    #[serde(default)]
    pub flows: Vec<FlowSpec>,
    /// The directions of links to measure.
    #[serde(default)]
    pub links: Vec<LinkSpec>,
    /// The reading of `CLOCK_MONOTONIC` that is time zero of the answer; the capture's start if absent.
    #[serde(default)]
    pub epoch_ns: Option<u64>,
    /// Headers of all packets are written to `PREFIX.TAP.INTERFACE.pcap`.
    #[serde(default)]
    pub pcap: Option<String>,
    /// Memory for what each tap has not read yet, bytes.
    #[serde(default = "ring_bytes")]
    pub ring_bytes: u32,
}

fn ring_bytes() -> u32 {
    4 << 20
}

/// An interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TapSpec {
    /// Path of its network namespace; the caller's if absent.
    #[serde(default)]
    pub netns: Option<String>,
    /// Its name there.
    pub interface: String,
}

/// The transport of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// A flow: all packets between two ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Its number.
    pub flow: u32,
    /// Its transport.
    pub protocol: Transport,
    /// The sender.
    pub server: EndSpec,
    /// The receiver.
    pub client: EndSpec,
    /// The measured time begins so long after the client's first packet, ns.
    #[serde(default)]
    pub measure_after_ns: u64,
}

/// One end of a flow, and where it is watched.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndSpec {
    /// Number of the tap at this end.
    pub tap: usize,
    /// Its address.
    pub address: Ipv4Addr,
    /// Its port; any if absent.
    #[serde(default)]
    pub port: Option<u16>,
    /// Its further addresses, each with its tap: the ends of other subflows of MPTCP. They have the same port.
    #[serde(default)]
    pub others: Vec<OtherSpec>,
    /// Whether the tap is not at this end's own interface but at the neighbour's interface that faces it.
    #[serde(default)]
    pub facing: bool,
}

/// A further address of an end, and where it is watched.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OtherSpec {
    /// Number of the tap there.
    pub tap: usize,
    /// The address.
    pub address: Ipv4Addr,
}

impl EndSpec {
    /// Its taps.
    pub(super) fn taps(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.tap).chain(self.others.iter().map(|other| other.tap))
    }

    /// Whether it has this address and port.
    pub(super) fn is(&self, at: SocketAddrV4) -> bool {
        let own = self.address == *at.ip() || self.others.iter().any(|other| other.address == *at.ip());
        own && self.port.is_none_or(|port| port == at.port())
    }
}

/// One direction of a link, and where it is watched.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Its name.
    pub link: String,
    /// `down` or `up`.
    pub direction: String,
    /// The taps where packets enter; several interfaces may lead to a link.
    pub offered: Points,
    /// The tap where they have left the queue; if absent, their arrival counts.
    #[serde(default)]
    pub departed: Option<Points>,
    /// The tap where they leave the link.
    pub arrived: Points,
    /// Only packets to these addresses count; all if absent.
    #[serde(default)]
    pub to: Option<Vec<Ipv4Addr>>,
    /// The link's rate, bit/s; without it its queue is not measured.
    #[serde(default)]
    pub rate_bps: Option<u64>,
    /// How long after the end of serialisation packets are seen to depart, ns.
    #[serde(default)]
    pub delay_ns: u64,
}

/// One place or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Points {
    /// One place.
    One(Point),
    /// Several places.
    Several(Vec<Point>),
}

impl Points {
    pub(super) fn all(&self) -> &[Point] {
        match self {
            Points::One(point) => std::slice::from_ref(point),
            Points::Several(points) => points,
        }
    }
}

/// Packets of one direction at a tap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// Number of the tap.
    pub tap: usize,
    /// The direction of the packets there.
    pub heading: Heading,
}

/// A direction at an interface, as its host sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Heading {
    /// Received.
    Incoming,
    /// Sent.
    Outgoing,
}

/// The answer of a capture: counts of its flows and links.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The flows, in the order of the specification.
    pub flows: Vec<FlowAnswer>,
    /// The directions of links.
    pub links: Vec<LinkAnswer>,
    /// Packets read.
    pub records: u64,
    /// Packets for which there was no room; if it is not zero, all counts are too low.
    pub lost_records: u64,
    /// Why the answer is doubtful, if it is.
    pub error: Option<String>,
}

/// One flow. Times are in seconds from the client's first packet unless said otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct FlowAnswer {
    /// Its number.
    pub flow: u32,
    /// The client's first packet, s from time zero.
    pub start_s: Option<f64>,
    /// The server's SYN-ACK arrived (TCP).
    pub handshake_s: Option<f64>,
    /// The server's first byte in order arrived.
    pub first_byte_s: Option<f64>,
    /// The last new payload arrived, before the client closed.
    pub completion_s: Option<f64>,
    /// The data that the client received.
    #[serde(flatten)]
    pub received: ClientCounts,
    /// The data that the server sent.
    #[serde(flatten)]
    pub sent: ServerCounts,
    /// The server's smallest RTT sample, s (TCP).
    pub min_rtt_s: Option<f64>,
    /// The mean of its RTT samples, s.
    pub mean_rtt_s: Option<f64>,
    /// The value that 95 % of them do not exceed, s.
    pub rtt_p95_s: Option<f64>,
}

/// One direction of a link.
#[derive(Clone, Debug, Serialize)]
pub struct LinkAnswer {
    /// Its name.
    pub link: String,
    /// `down` or `up`.
    pub direction: String,
    /// Its packets, drops and delays.
    #[serde(flatten)]
    pub counts: LinkCounts,
}
