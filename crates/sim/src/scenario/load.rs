//! Loads in scenarios: datagrams that are sent whatever the network does, beside the flows.

use super::beside::{self, Beside, BesideSpec, MAX_PAYLOAD, SHORTEST};
use super::place::{PlaceSpec, Side};
use super::quantity::Quantity;
use super::topology::Topology;
use super::{OfKind, ScenarioError, error};
use crate::capture::Capture;
use haltere_net::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use std::sync::Arc;

/// Payload of a datagram, bytes, if nothing is said of it.
const PAYLOAD: u32 = 1450;
/// The largest number of packets of a train: 128 bytes of memory each, if they leave at once.
const MAX_PACKETS: u64 = 10_000_000;

/// A load with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Load {
    /// Its shape in time.
    pub pattern: Pattern,
    /// Its hosts and times.
    pub beside: Beside,
}

/// The shape of a load in time.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// A number of UDP datagrams back to back. Each is answered; the next train follows the answers.
    Trains {
        /// Payload of a datagram, bytes.
        payload: u32,
        /// Packets of a train.
        packets: u64,
        /// The rate at which they leave; without it they leave at once.
        rate: Option<Rate>,
        /// Payload of the answer to each packet, bytes.
        answer: u32,
        /// How long an answer is waited for after the last packet or answer.
        timeout: Span,
        /// Time from the last answer to the next train.
        gap: Span,
    },
    /// UDP datagrams at a constant rate.
    Constant {
        /// Payload of a datagram, bytes.
        payload: u32,
        /// The rate.
        rate: Rate,
    },
    /// UDP datagrams at a constant rate in some periods, and none between them.
    OnOff {
        /// Payload of a datagram, bytes.
        payload: u32,
        /// The rate.
        rate: Rate,
        /// The mean length of a period with packets.
        on: Span,
        /// The mean length of a period without packets.
        off: Span,
        /// Whether all periods are as long as the mean.
        periods: Periods,
    },
    /// The packets of a capture at their times, over and over.
    Replay {
        /// The capture.
        capture: Arc<Capture>,
        /// Time from the last packet to the next repetition.
        gap: Span,
    },
}

/// Datagrams from one host to the other. No congestion control holds them back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Load")]
pub(super) struct LoadSpec {
    /// Its shape in time.
    kind: Kind,
    /// Not for `replay`: payload of a UDP datagram (default 1450B); an IP packet is 28 bytes longer.
    size: Option<Quantity<Bytes>>,
    /// The rate at which packets leave, counted in IP packets. Trains without it leave at once.
    rate: Option<Quantity<Rate>>,
    /// Trains: packets of a train.
    packets: Option<u64>,
    /// Trains: payload of the answer to each packet (default 64B).
    answer: Option<Quantity<Bytes>>,
    /// Trains: how long an answer is waited for after the last packet or answer (default 5s).
    timeout: Option<Quantity<Span>>,
    /// Trains: time from the last answer to the next train (default 1s). Replay: time from the last packet to the next
    /// repetition (default 0s).
    gap: Option<Quantity<Span>>,
    /// On-off: the mean length of a period with packets.
    on: Option<Quantity<Span>>,
    /// On-off: the mean length of a period without packets.
    off: Option<Quantity<Span>>,
    /// On-off: whether all periods are as long as the mean, or exponentially distributed (default exponential).
    periods: Option<Periods>,
    /// Replay: the recorded packets. In a file, the name of a capture (pcap or pcapng).
    #[serde(default, deserialize_with = "recorded")]
    #[schemars(with = "Option<Capture>")]
    capture: Option<Arc<Capture>>,
    /// Replay: which packets travel which way (default one).
    ways: Option<Ways>,
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

/// The shape of a load in time.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "LoadKind")]
enum Kind {
    /// A number of UDP datagrams back to back. Each is answered; the next train follows the answers.
    Trains,
    /// UDP datagrams at a constant rate.
    Constant,
    /// UDP datagrams at a constant rate in some periods, and none between them.
    OnOff,
    /// The packets of a capture at their times, over and over.
    Replay,
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
enum Ways {
    /// All packets from the sender to the receiver.
    One,
    /// The packets of those who begin a conversation from the sender to the receiver, and the others back.
    Two,
}

impl Pattern {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        match self {
            Pattern::Trains { .. } => "trains",
            Pattern::Constant { .. } => "constant",
            Pattern::OnOff { .. } => "on-off",
            Pattern::Replay { .. } => "replay",
        }
    }

    /// Payload of a datagram, bytes. Those of a capture have their own lengths.
    pub const fn payload(&self) -> u32 {
        match self {
            Pattern::Trains { payload, .. } | Pattern::Constant { payload, .. } | Pattern::OnOff { payload, .. } => {
                *payload
            }
            Pattern::Replay { .. } => PAYLOAD,
        }
    }

    /// Payload of the answer to each packet, bytes, if there are answers.
    pub const fn answer(&self) -> Option<u32> {
        if let Pattern::Trains { answer, .. } = self { Some(*answer) } else { None }
    }
}

impl LoadSpec {
    /// The loads that are meant, each with one sender.
    pub fn loads(self, path: &str, topology: &Topology) -> Result<Vec<Load>, ScenarioError> {
        let pattern = self.pattern(path)?;
        let LoadSpec { from, pair, server, client, start, start_spread, count, duration, .. } = self;
        let place = PlaceSpec { pair, server, client };
        let beside = BesideSpec { place, from, start, start_spread, count, duration };
        let beside = beside.beside(path, "load", Side::Server, topology)?;
        match &pattern {
            Pattern::Replay { capture, gap } if self.ways == Some(Ways::Two) => {
                let (there, back) = capture.split();
                let one = |capture, from| Load {
                    pattern: Pattern::Replay { capture: Arc::new(capture), gap: *gap },
                    beside: Beside { from, ..beside.clone() },
                };
                Ok(vec![one(there, beside.from), one(back, beside.from.other())])
            }
            _ => Ok(vec![Load { pattern, beside }]),
        }
    }

    fn pattern(&self, path: &str) -> Result<Pattern, ScenarioError> {
        let given = [
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
        ];
        let (name, fields): (_, &[&str]) = match self.kind {
            Kind::Trains => ("trains", &["size", "rate", "packets", "answer", "timeout", "gap", "count"]),
            Kind::Constant => ("constant", &["size", "rate"]),
            Kind::OnOff => ("on-off", &["size", "rate", "on", "off", "periods"]),
            Kind::Replay => ("replay", &["capture", "ways", "gap", "count"]),
        };
        let of = OfKind { path, what: &format!("a load of kind {name:?}") };
        of.only(fields, &given)?;
        let at = |field: &str| format!("{path}.{field}");
        let payload = beside::payload(self.size, PAYLOAD, MAX_PAYLOAD, &at("size"))?;
        let rate = || Ok(of.needs("the field rate", self.rate)?.0);
        match self.kind {
            Kind::Trains => {
                let packets = of.needs("the field packets", self.packets)?;
                if !(1..=MAX_PACKETS).contains(&packets) {
                    let message = format!("{packets} packets: give a number from 1 to {MAX_PACKETS}");
                    return Err(error(at("packets"), message));
                }
                Ok(Pattern::Trains {
                    payload,
                    packets,
                    rate: self.rate.map(|q| q.0),
                    answer: beside::payload(self.answer, 64, MAX_PAYLOAD, &at("answer"))?,
                    timeout: beside::time(self.timeout, Span::from_secs(5), &at("timeout"))?,
                    gap: beside::time(self.gap, Span::from_secs(1), &at("gap"))?,
                })
            }
            Kind::Constant => Ok(Pattern::Constant { payload, rate: rate()? }),
            Kind::OnOff => {
                let (rate, on) = (rate()?, of.needs("the field on", self.on)?);
                Ok(Pattern::OnOff {
                    payload,
                    rate,
                    on: beside::time(Some(on), Span::from_secs(1), &at("on"))?,
                    off: of.needs("the field off", self.off)?.0,
                    periods: self.periods.unwrap_or(Periods::Exponential),
                })
            }
            Kind::Replay => {
                let capture = of.needs("the field capture", self.capture.clone())?;
                capture.check().map_err(|message| error(at("capture"), message))?;
                let gap = self.gap.map_or(Span::ZERO, |q| q.0);
                if capture.span() + gap < SHORTEST {
                    let message =
                        "the capture is over at once, and would be repeated without end: give a gap, such as 1s";
                    return Err(error(at("gap"), message));
                }
                Ok(Pattern::Replay { capture, gap })
            }
        }
    }
}
