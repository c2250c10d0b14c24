//! Loads in scenarios: datagrams that are sent whatever the network does, beside the flows.

use super::place::{Place, Side};
use super::quantity::Quantity;
use super::{Scenario, ScenarioError, error};
use crate::capture::Capture;
use haltere_net::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The largest payload, bytes: that of the largest IPv4 packet.
const MAX_PAYLOAD: u64 = 65_535 - 28;
/// The largest number of packets of a train: 128 bytes of memory each, if they leave at once.
const MAX_PACKETS: u64 = 10_000_000;

/// Datagrams from one host to the other. No congestion control holds them back.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Load {
    /// Its shape in time.
    pub kind: LoadKind,
    /// Not for `replay`: payload of a UDP datagram (default 1450B); an IP packet is 28 bytes longer.
    #[serde(default)]
    pub size: Option<Quantity<Bytes>>,
    /// The rate at which packets leave, counted in IP packets. Trains without it leave at once.
    #[serde(default)]
    pub rate: Option<Quantity<Rate>>,
    /// Trains: packets of a train.
    #[serde(default)]
    pub packets: Option<u64>,
    /// Trains: payload of the answer to each packet (default 64B).
    #[serde(default)]
    pub answer: Option<Quantity<Bytes>>,
    /// Trains: how long an answer is waited for after the last packet or answer (default 5s).
    #[serde(default)]
    pub timeout: Option<Quantity<Span>>,
    /// Trains: time from the last answer to the next train (default 1s). Replay: time from the last packet to the next
    /// repetition (default 0s).
    #[serde(default)]
    pub gap: Option<Quantity<Span>>,
    /// On-off: the mean length of a period with packets.
    #[serde(default)]
    pub on: Option<Quantity<Span>>,
    /// On-off: the mean length of a period without packets.
    #[serde(default)]
    pub off: Option<Quantity<Span>>,
    /// On-off: whether all periods are as long as the mean, or exponentially distributed (default exponential).
    #[serde(default)]
    pub periods: Option<Periods>,
    /// Replay: the recorded packets. In a file, the name of a capture (pcap or pcapng).
    #[serde(default, deserialize_with = "recorded")]
    #[schemars(with = "Option<Capture>")]
    pub capture: Option<Arc<Capture>>,
    /// Replay: which packets travel which way (default one).
    #[serde(default)]
    pub ways: Option<Ways>,
    /// The host that sends (default server: in the data direction).
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
    /// When it starts (default 0s).
    #[serde(default)]
    pub start: Option<Quantity<Span>>,
    /// The largest random delay of the start, uniformly drawn in each replication (default 0s).
    #[serde(default)]
    pub start_spread: Option<Quantity<Span>>,
    /// The number of trains, or of repetitions of a capture. Without it they go on until the run ends.
    #[serde(default)]
    pub count: Option<u64>,
    /// Nothing is sent later than this after the start.
    #[serde(default)]
    pub duration: Option<Quantity<Span>>,
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoadKind {
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
pub enum Ways {
    /// All packets from the sender to the receiver.
    One,
    /// The packets of those who begin a conversation from the sender to the receiver, and the others back.
    Two,
}

impl LoadKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            LoadKind::Trains => "trains",
            LoadKind::Constant => "constant",
            LoadKind::OnOff => "on-off",
            LoadKind::Replay => "replay",
        }
    }

    /// The fields that belong to some kinds only, and whether this kind takes or needs each.
    fn takes(self, field: &str) -> Takes {
        use LoadKind::{Constant, OnOff, Replay, Trains};
        match (self, field) {
            (Trains, "packets") | (Constant | OnOff, "rate") | (OnOff, "on" | "off") | (Replay, "capture") => {
                Takes::Needs
            }
            (Trains, "rate" | "answer" | "timeout" | "gap" | "count" | "size") => Takes::May,
            (Constant | OnOff, "size") | (OnOff, "periods") | (Replay, "gap" | "ways" | "count") => Takes::May,
            _ => Takes::Not,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Needs,
    May,
    Not,
}

impl Load {
    /// Payload of a datagram, bytes.
    pub fn payload(&self) -> u32 {
        self.size.map_or(1450, |q| q.0.0 as u32)
    }

    /// Trains: payload of the answer to each packet, bytes; the other kinds are not answered.
    pub fn answer(&self) -> Option<u32> {
        (self.kind == LoadKind::Trains).then(|| self.answer.map_or(64, |q| q.0.0 as u32))
    }

    /// Time from the last answer to the next train, or from the last packet to the next repetition of a capture.
    pub fn gap(&self) -> Span {
        let default = if self.kind == LoadKind::Trains { Span::from_secs(1) } else { Span::ZERO };
        self.gap.map_or(default, |q| q.0)
    }

    /// How long an answer is waited for.
    pub fn timeout(&self) -> Span {
        self.timeout.map_or(Span::from_secs(5), |q| q.0)
    }

    /// The host that sends.
    pub fn from(&self) -> Side {
        self.from.unwrap_or(Side::Server)
    }

    /// Whether it ends by itself.
    pub fn ends(&self) -> bool {
        self.count.is_some() || self.duration.is_some()
    }

    /// The loads that stand for it, each with one sender.
    pub(super) fn split(self) -> Vec<Load> {
        let Some(capture) = self.capture.as_ref().filter(|_| self.ways == Some(Ways::Two)) else { return vec![self] };
        let (there, back) = capture.split();
        let other = match self.from() {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let one =
            |capture, from| Load { capture: Some(Arc::new(capture)), ways: None, from: Some(from), ..self.clone() };
        vec![one(there, self.from()), one(back, other)]
    }

    pub(super) fn check(&self, path: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let Load { pair, server, client, .. } = self;
        let place = Place { pair: *pair, pairs: None, server: server.as_deref(), client: client.as_deref() };
        place.check(path, "load", &scenario.topology)?;
        self.check_fields(path)?;
        for (field, size) in [("size", self.size), ("answer", self.answer)] {
            if let Some(Quantity(Bytes(size))) = size.filter(|q| q.0.0 > MAX_PAYLOAD) {
                return Err(error(format!("{path}.{field}"), format!("{size}B: give at most {MAX_PAYLOAD}B")));
            }
        }
        if let Some(packets) = self.packets.filter(|n| !(1..=MAX_PACKETS).contains(n)) {
            let message = format!("{packets} packets: give a number from 1 to {MAX_PACKETS}");
            return Err(error(format!("{path}.packets"), message));
        }
        for (field, given) in [("on", self.on), ("timeout", self.timeout)] {
            if given.is_some_and(|q| q.0 < Span::from_micros(1)) {
                return Err(error(format!("{path}.{field}"), "too short: give at least 1us"));
            }
        }
        if self.count == Some(0) {
            return Err(error(format!("{path}.count"), "0: give at least 1, or leave the load out"));
        }
        if self.kind == LoadKind::Trains && self.gap.is_some_and(|q| q.0 < Span::from_micros(1)) {
            return Err(error(format!("{path}.gap"), "too short: give at least 1us, such as 1s"));
        }
        if let Some(capture) = &self.capture {
            capture.check().map_err(|message| error(format!("{path}.capture"), message))?;
            if capture.span() + self.gap.map_or(Span::ZERO, |q| q.0) < Span::from_micros(1) {
                let message = "the capture is over at once, and would be repeated without end: give a gap, such as 1s";
                return Err(error(format!("{path}.gap"), message));
            }
        }
        Ok(())
    }

    /// Checks whether its fields are those of its kind.
    fn check_fields(&self, path: &str) -> Result<(), ScenarioError> {
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
        let kind = self.kind.name();
        for (field, given) in given {
            match (self.kind.takes(field), given) {
                (Takes::Needs, false) => {
                    return Err(error(path, format!("a load of kind {kind:?} needs the field {field}")));
                }
                (Takes::Not, true) => {
                    let message = format!("a load of kind {kind:?} has no {field}: leave it out");
                    return Err(error(format!("{path}.{field}"), message));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
