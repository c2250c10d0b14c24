//! Loads: datagrams beside the flows, that no congestion control of transports holds back.
//!
//! A kind of load is a file here: its [`LoadKind`] says which fields it has and makes its [`Shape`], whose [`Pattern`] the
//! [`Source`] asks when packets leave.

mod ends;

pub use ends::{Sink, Source, Sourced};

use crate::capture::Capture;
use crate::network::fits;
use crate::scenario::beside::{self, Beside, BesideSpec, MAX_PAYLOAD};
use crate::scenario::place::{PlaceSpec, Side};
use crate::scenario::{OfKind, Quantity, ScenarioError, Topology, error};
use haltere_net::registry::{Description, Handle, Registry};
use haltere_net::rng::Stream;
use haltere_net::{Bytes, Rate, Span, Time};
use haltere_transport::datagram::{Datagram, Protocol};
use schemars::{JsonSchema, json_schema};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::json;
use std::fmt::Debug;
use std::sync::Arc;

haltere_net::built_in! {
    LoadKind: "kind of load";
    /// Trains, each of which follows the answers to the one before.
    TRAINS = trains,
    /// A constant rate.
    CONSTANT = constant,
    /// A constant rate in some periods.
    ON_OFF = on_off,
    /// Random times, independent of each other.
    POISSON = poisson,
    /// The packets of a capture.
    REPLAY = replay,
}

/// A kind of load.
pub struct LoadKind {
    /// Its name, summary and reference.
    pub description: Description,
    /// The fields that it has beside those of all loads.
    pub fields: &'static [&'static str],
    /// The meaning of its fields.
    pub shapes: fn(&Fields<'_>) -> Result<Shapes, ScenarioError>,
}

/// The shape of what the sender sends, and of what the receiver sends, if it does.
pub type Shapes = (Arc<dyn Shape>, Option<Arc<dyn Shape>>);

/// A load with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Load {
    /// The name of its kind.
    pub kind: &'static str,
    /// Its shape in time.
    pub shape: Arc<dyn Shape>,
    /// Its hosts and times.
    pub beside: Beside,
}

/// Payload of a datagram, bytes, if nothing is said of it.
pub const PAYLOAD: u32 = 1450;

/// The shape of a load in time.
pub trait Shape: Debug + Send + Sync {
    /// Payload of a datagram, bytes, where packets have no lengths of their own.
    fn payload(&self) -> u32;

    /// Payload of the answer to each packet, bytes, if there are answers.
    fn answer(&self) -> Option<u32> {
        None
    }

    /// When its packets leave. What is random is drawn from `stream`.
    fn pattern(&self, stream: &Stream) -> Box<dyn Pattern>;

    /// The load as programs on real hosts are told of it.
    fn told(&self) -> Told {
        Told::default()
    }

    /// The lengths of its periods in turn, with packets and without; none, if packets leave all the time.
    fn periods(&self, _stream: &Stream) -> Box<dyn Iterator<Item = Span>> {
        Box::new(std::iter::empty())
    }

    /// Whether its packets fit into an MTU.
    ///
    /// # Errors
    ///
    /// At a field of the load, whose path is given.
    fn fits(&self, mtu: u32, path: &str) -> Result<(), ScenarioError> {
        fits(self.payload(), mtu, &format!("{path}.size"))
    }
}

/// The times at which packets leave, in rounds that follow each other.
pub trait Pattern: Send {
    /// A round begins. Returns when its first packet leaves.
    fn begin(&mut self, at: Time) -> Time {
        at
    }

    /// Whether the next packet belongs to another round.
    fn is_over(&self, round: &Round) -> bool;

    /// The packet that leaves next: its conversation and its datagram, which has this number and, if the pattern has no length
    /// of its own, this payload.
    fn packet(&self, _: &Round, number: u64, payload: u32) -> (usize, Datagram) {
        (0, Datagram::new(Protocol::Udp, number, payload))
    }

    /// When the next packet leaves, or the next round begins, after a packet with so many bytes left now.
    fn next(&mut self, round: &Round, now: Time, bytes: u32) -> Time;

    /// A packet of this round was answered. Returns when the next packet leaves or the next round begins, if that changes.
    fn on_answer(&mut self, _: &Round, _: Time) -> Option<Time> {
        None
    }
}

/// A train, a period with packets and the one without after it, or a repetition.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its beginning.
    pub since: Time,
    /// Packets of it that were sent.
    pub sent: u64,
    /// Packets of it that were answered.
    pub answered: u64,
    /// When the next packet leaves, or the next round begins.
    pub next: Time,
    /// Whether no other round follows.
    pub last: bool,
}

/// When packet `n` of a series leaves that begins at `since`, with this many bytes each. The remainder of a division is kept,
/// so that the rate is exact.
fn departure(since: Time, n: u64, bytes: u32, rate: Rate) -> Time {
    let ns = u128::from(n) * u128::from(bytes) * 8_000_000_000 / u128::from(rate.as_bps().max(1));
    since + Span::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// The description of a shape for programs on real hosts.
#[derive(Clone, Copy, Debug)]
pub struct Told {
    /// The rate at which packets leave, counted in IP packets.
    pub rate: Option<Rate>,
    /// Packets of a train.
    pub packets: Option<u64>,
    /// Time from the last answer to the next train, or from the last packet to the next repetition.
    pub gap: Span,
    /// How long an answer is waited for.
    pub timeout: Span,
}

impl Default for Told {
    fn default() -> Told {
        Told { rate: None, packets: None, gap: Span::ZERO, timeout: Span::from_secs(5) }
    }
}

/// Datagrams from one host to the other. No congestion control holds them back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Load")]
pub struct LoadSpec {
    /// Its shape in time.
    #[schemars(schema_with = "kinds")]
    kind: String,
    /// Not for `replay`: payload of a UDP datagram (default 1450B; media: at most 1200B); an IP packet is 28 bytes longer.
    pub size: Option<Quantity<Bytes>>,
    /// The rate at which packets leave, counted in IP packets. Trains without it leave at once. Media: the largest rate of the
    /// encoder (default 1.5Mbit/s).
    pub rate: Option<Quantity<Rate>>,
    /// Trains: packets of a train.
    pub packets: Option<u64>,
    /// Trains: payload of the answer to each packet (default 64B).
    pub answer: Option<Quantity<Bytes>>,
    /// Trains: how long an answer is waited for after the last packet or answer (default 5s).
    pub timeout: Option<Quantity<Span>>,
    /// Trains: time from the last answer to the next train (default 1s). Replay: time from the last packet to the next
    /// repetition (default 0s).
    pub gap: Option<Quantity<Span>>,
    /// On-off: the mean length of a period with packets.
    pub on: Option<Quantity<Span>>,
    /// On-off: the mean length of a period without packets.
    pub off: Option<Quantity<Span>>,
    /// On-off: whether all periods are as long as the mean, or exponentially distributed (default exponential).
    pub periods: Option<Periods>,
    /// Replay: the recorded packets. In a file, the name of a capture (pcap or pcapng).
    #[serde(default, deserialize_with = "recorded")]
    #[schemars(with = "Option<Capture>")]
    pub capture: Option<Arc<Capture>>,
    /// Replay: which packets travel which way (default one).
    pub ways: Option<Ways>,
    /// The host that sends (default server: in the data direction).
    from: Option<Side>,
    /// Dumbbell: the number of its pair of hosts (default 0).
    pair: Option<u32>,
    /// Graph: the server's node.
    server: Option<String>,
    /// Graph: the client's node.
    client: Option<String>,
    /// When it starts (default 0s).
    start: Option<Quantity<Span>>,
    /// The largest random delay of the start, uniformly drawn in each replication (default 0s).
    start_spread: Option<Quantity<Span>>,
    /// The number of trains, or of repetitions of a capture. Without it they go on until the run ends.
    count: Option<u64>,
    /// Nothing is sent later than this after the start.
    duration: Option<Quantity<Span>>,
}

/// Reads the packets of a capture. Its file was read before.
fn recorded<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<Capture>>, D::Error> {
    struct Packets;
    impl<'de> Visitor<'de> for Packets {
        type Value = Capture;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the name of a capture")
        }
        fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Capture, E> {
            Err(E::custom(format!("{name:?} was not read: give the packets of the capture, as the Python front does")))
        }
        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Capture, A::Error> {
            Capture::deserialize(MapAccessDeserializer::new(map))
        }
    }
    deserializer.deserialize_any(Packets).map(|capture| Some(Arc::new(capture)))
}

/// The lengths of the periods of an on-off load.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Periods {
    /// Exponentially distributed.
    Exponential,
    /// All alike.
    Constant,
}

/// Which packets of a capture travel which way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ways {
    /// All packets from the sender to the receiver.
    One,
    /// The packets of those who begin a conversation from the sender to the receiver, and the others back.
    Two,
}

/// The schema of the name of a kind.
fn kinds(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let one = |kind: Handle<LoadKind>| json!({"const": kind.name(), "description": kind.description.summary});
    json_schema!({"type": "string", "oneOf": Registry::default().iter().map(one).collect::<Vec<_>>()})
}

impl LoadSpec {
    /// The loads that are meant, each with one sender.
    pub fn loads(self, path: &str, topology: &Topology) -> Result<Vec<Load>, ScenarioError> {
        let kind = Registry::<LoadKind>::default().named(&self.kind);
        let kind = kind.map_err(|message| error(format!("{path}.kind"), message))?;
        let what = format!("a load of kind {:?}", kind.name());
        let of = OfKind { path, what: &what };
        of.only(kind.fields, &self.given())?;
        let (there, back) = (kind.shapes)(&Fields { given: &self, of })?;
        let LoadSpec { from, pair, server, client, start, start_spread, count, duration, .. } = self;
        let place = PlaceSpec { pair, server, client };
        let beside = BesideSpec { place, from, start, start_spread, count, duration };
        let beside = beside.beside(path, "load", Side::Server, topology)?;
        let back = back.map(|shape| (shape, Beside { from: beside.from.other(), ..beside.clone() }));
        let load = |(shape, beside)| Load { kind: kind.name(), shape, beside };
        Ok(std::iter::once((there, beside)).chain(back).map(load).collect())
    }

    /// The fields that only some kinds have, and whether they are given.
    fn given(&self) -> [(&'static str, bool); 12] {
        [
            ("size", self.size.is_some()),
            ("rate", self.rate.is_some()),
            ("packets", self.packets.is_some()),
            ("answer", self.answer.is_some()),
            ("timeout", self.timeout.is_some()),
            ("gap", self.gap.is_some()),
            ("on", self.on.is_some()),
            ("off", self.off.is_some()),
            ("periods", self.periods.is_some()),
            ("capture", self.capture.is_some()),
            ("ways", self.ways.is_some()),
            ("count", self.count.is_some()),
        ]
    }
}

/// The fields of a load of some kind.
pub struct Fields<'a> {
    /// As they are given.
    pub given: &'a LoadSpec,
    of: OfKind<'a>,
}

impl Fields<'_> {
    /// The value of a field without which there is no such load.
    ///
    /// # Errors
    ///
    /// If it is not given.
    pub fn needs<T>(&self, field: &str, value: Option<T>) -> Result<T, ScenarioError> {
        self.of.needs(&format!("the field {field}"), value)
    }

    /// The payload of a datagram, bytes; `default`, if it is not given.
    ///
    /// # Errors
    ///
    /// If no datagram has so much.
    pub fn payload(&self, field: &str, value: Option<Quantity<Bytes>>, default: u32) -> Result<u32, ScenarioError> {
        beside::payload(value, default, MAX_PAYLOAD, &self.at(field))
    }

    /// A time; `default`, if it is not given.
    ///
    /// # Errors
    ///
    /// If it is so short that packets would have no end.
    pub fn time(&self, field: &str, value: Option<Quantity<Span>>, default: Span) -> Result<Span, ScenarioError> {
        beside::time(value, default, &self.at(field))
    }

    /// An error at a field.
    pub fn error(&self, field: &str, message: impl Into<String>) -> ScenarioError {
        error(self.at(field), message)
    }

    fn at(&self, field: &str) -> String {
        format!("{}.{field}", self.of.path)
    }
}
