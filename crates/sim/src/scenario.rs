//! The scenario: one run as data. The schema is defined here and nowhere else.
//!
//! Quantities are strings with units; unknown fields are errors; an error names the field by its path, says what was
//! given and what would be right.

use crate::ack::AckSpec;
use crate::contender::{Contender, Switch, Transport};
use crate::page::Page;
use haltere_net::units::{self, QuantityError};
use haltere_net::{Bytes, Rate, Span};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What is wrong with a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// Where, such as `topology.bottleneck.rate` or `flows[0].contender`.
    pub path: String,
    /// What was given and what would be right.
    pub message: String,
}

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
impl std::error::Error for ScenarioError {}

fn error(path: impl Into<String>, message: impl Into<String>) -> ScenarioError {
    ScenarioError { path: path.into(), message: message.into() }
}

/// A quantity read from a string such as `40Mbit/s`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quantity<T>(pub T);

/// A type that is written as a string with a unit.
pub trait FromText: Sized {
    /// Its name in the schema, and an example.
    const SCHEMA: (&'static str, &'static str);
    /// Reads it.
    fn from_text(text: &str) -> Result<Self, QuantityError>;
}

/// A probability between 0 and 1.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Probability(pub f64);

macro_rules! text_quantity {
    ($type:ty, $name:literal, $example:literal, $parse:expr) => {
        impl FromText for $type {
            const SCHEMA: (&'static str, &'static str) = ($name, $example);
            fn from_text(text: &str) -> Result<Self, QuantityError> {
                $parse(text)
            }
        }
    };
}
text_quantity!(Rate, "Rate", "40Mbit/s", units::parse_rate);
text_quantity!(Span, "Time", "50ms", units::parse_span);
text_quantity!(Bytes, "Bytes", "32MiB", units::parse_bytes);
text_quantity!(Probability, "Probability", "1%", |t: &str| units::parse_probability(t).map(Probability));
text_quantity!(QueueLimit, "Queue", "1000p", QueueLimit::parse);

impl<'de, T: FromText> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<T: FromText> serde::de::Visitor<'_> for Visitor<T> {
            type Value = Quantity<T>;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "a string with a unit, as in {:?}", T::SCHEMA.1)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                T::from_text(text).map(Quantity).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T: FromText> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::SCHEMA.0.into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "examples": [T::SCHEMA.1] })
    }
}

/// How much may wait in a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum QueueLimit {
    /// `1000p`
    Packets(u64),
    /// `64kB`
    Bytes(u64),
    /// `1bdp`: times rate × base RTT of the path.
    Bdp(f64),
}

impl QueueLimit {
    fn parse(text: &str) -> Result<QueueLimit, QuantityError> {
        let expected =
            "a queue length: write packets (\"1000p\"), bytes (\"64kB\") or bandwidth-delay products (\"1bdp\")";
        let wrong = || QuantityError { given: text.to_string(), expected };
        let plain = text.trim();
        if let Some(number) = plain.strip_suffix("bdp") {
            let x: f64 = number.trim().parse().map_err(|_| wrong())?;
            return (x > 0.0 && x <= 1e6).then_some(QueueLimit::Bdp(x)).ok_or_else(wrong);
        }
        if let Some(number) = plain.strip_suffix('p') {
            let n: u64 = number.trim().parse().map_err(|_| wrong())?;
            return (n <= 1_000_000_000).then_some(QueueLimit::Packets(n)).ok_or_else(wrong);
        }
        units::parse_bytes(plain).map(|b| QueueLimit::Bytes(b.0)).map_err(|_| wrong())
    }
}

/// A run as data.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Virtual time after which a run with unfinished transfers has failed (default 1h).
    #[serde(default)]
    pub time_limit: Option<Quantity<Span>>,
    /// Stop here, whether transfers are finished or not; unlimited flows need it.
    #[serde(default)]
    pub duration: Option<Quantity<Span>>,
    /// Count goodput from here on; goes with `duration`.
    #[serde(default)]
    pub measure_from: Option<Quantity<Span>>,
    /// Who makes the links of a real network: `kernel` (netem; the default) or `haltere` (its emulator). The model's links
    /// are its own.
    #[serde(default)]
    pub links: Links,
    /// The network.
    pub topology: Topology,
    /// The flows, each from a server to a client.
    pub flows: Vec<Flow>,
}

/// The shapes of networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Servers and clients at the two ends of one link.
    PointToPoint,
    /// n servers and n clients, each pair with its own access links, across one bottleneck.
    Dumbbell,
    /// Any nodes and links.
    Graph,
}

/// Who makes the links of a real network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// The kernel's queue disciplines.
    #[default]
    Kernel,
    /// The emulator, with the simulator's links.
    Haltere,
}

/// The network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Its shape.
    pub kind: Kind,
    /// Dumbbell: number of server-client pairs (default 1).
    #[serde(default)]
    pub pairs: Option<u32>,
    /// Point to point: the link, `down` from server to client.
    #[serde(default)]
    pub link: Option<LinkSpec>,
    /// Dumbbell: the link between the routers.
    #[serde(default)]
    pub bottleneck: Option<LinkSpec>,
    /// Dumbbell: the links from servers and clients to their routers (default 1Gbit/s without delay).
    #[serde(default)]
    pub access: Option<LinkSpec>,
    /// Graph: the links; nodes are what they name.
    #[serde(default)]
    pub links: Option<Vec<GraphLink>>,
}

/// A link: fields apply to both directions unless `down` or `up` say otherwise.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Serialisation rate of each direction (default: unlimited).
    #[serde(default)]
    pub rate: Option<Quantity<Rate>>,
    /// Propagation delay of each direction (default 0ms).
    #[serde(default)]
    pub delay: Option<Quantity<Span>>,
    /// How much may wait (default 1000p).
    #[serde(default)]
    pub queue: Option<Quantity<QueueLimit>>,
    /// Marks ECN-capable packets that find this much waiting, as DCTCP's switch does (RFC 8257; default: none).
    #[serde(default)]
    pub mark: Option<Quantity<QueueLimit>>,
    /// Largest packet with IP header (default 1500B).
    #[serde(default)]
    pub mtu: Option<Quantity<Bytes>>,
    /// Random loss.
    #[serde(default)]
    pub loss: Option<LossSpec>,
    /// Random extra delay.
    #[serde(default)]
    pub jitter: Option<JitterSpec>,
    /// Probability that a packet arrives twice.
    #[serde(default)]
    pub duplication: Option<Quantity<Probability>>,
    /// Fields of the direction from the link's first end to its second: the data direction.
    #[serde(default)]
    pub down: Option<DirectionSpec>,
    /// Fields of the other direction.
    #[serde(default)]
    pub up: Option<DirectionSpec>,
}

/// One direction's own fields.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionSpec {
    /// Serialisation rate.
    #[serde(default)]
    pub rate: Option<Quantity<Rate>>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Option<Quantity<Span>>,
    /// How much may wait.
    #[serde(default)]
    pub queue: Option<Quantity<QueueLimit>>,
    /// Marks ECN-capable packets that find this much waiting.
    #[serde(default)]
    pub mark: Option<Quantity<QueueLimit>>,
    /// Largest packet with IP header.
    #[serde(default)]
    pub mtu: Option<Quantity<Bytes>>,
    /// Random loss.
    #[serde(default)]
    pub loss: Option<LossSpec>,
    /// Random extra delay.
    #[serde(default)]
    pub jitter: Option<JitterSpec>,
    /// Probability that a packet arrives twice.
    #[serde(default)]
    pub duplication: Option<Quantity<Probability>>,
}

/// A link of a graph.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Its name in results (default: `from-to`).
    #[serde(default)]
    pub name: Option<String>,
    /// The node at its first end.
    pub from: String,
    /// The node at its second end.
    pub to: String,
    /// What it is like.
    #[serde(default)]
    pub link: LinkSpec,
}

/// Random loss: a probability, or a model with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum LossSpec {
    /// Each packet independently.
    Uniform(Probability),
    /// A model.
    Model(LossTable),
}

/// A loss model with its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LossTable {
    /// Which one.
    pub model: LossName,
    /// uniform: the probability.
    #[serde(default)]
    pub rate: Option<Quantity<Probability>>,
    /// gilbert-elliott: probability of going from the good state to the bad one, for each packet.
    #[serde(default)]
    pub good_to_bad: Option<Quantity<Probability>>,
    /// gilbert-elliott: probability of going back.
    #[serde(default)]
    pub bad_to_good: Option<Quantity<Probability>>,
    /// gilbert-elliott: loss probability in the bad state (default 100%).
    #[serde(default)]
    pub loss_in_bad: Option<Quantity<Probability>>,
    /// gilbert-elliott: loss probability in the good state (default 0%).
    #[serde(default)]
    pub loss_in_good: Option<Quantity<Probability>>,
    /// periodic: lose every n-th packet.
    #[serde(default)]
    pub every: Option<u64>,
    /// list: lose these packets, counted from 1.
    #[serde(default)]
    pub packets: Option<Vec<u64>>,
}

/// The loss models.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossName {
    /// Each packet independently.
    Uniform,
    /// Two states.
    GilbertElliott,
    /// Every n-th packet.
    Periodic,
    /// Named packets.
    List,
}

/// Random extra delay: its spread, or a table.
#[derive(Clone, Debug, PartialEq)]
pub enum JitterSpec {
    /// Uniform between 0 and this, order kept.
    Spread(Span),
    /// With all its parameters.
    Model(JitterTable),
}

/// Random extra delay with its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// The largest extra delay (uniform) or the standard deviation (normal).
    pub spread: Quantity<Span>,
    /// Its distribution (default uniform).
    #[serde(default)]
    pub distribution: Distribution,
    /// Whether packets may overtake each other (default false).
    #[serde(default)]
    pub reorder: bool,
}

/// Distributions of jitter.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Uniform between 0 and the spread.
    #[default]
    Uniform,
    /// The absolute value of a normal deviate.
    Normal,
}

/// Reads either a string or a table, and leaves a table's own error its words.
macro_rules! text_or_table {
    ($type:ty, $table:ty, $text:expr, $schema_name:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                match serde_json::Value::deserialize(deserializer)? {
                    serde_json::Value::String(text) => $text(&text).map_err(D::Error::custom),
                    table @ serde_json::Value::Object(_) => {
                        <$table>::deserialize(table).map(<$type>::Model).map_err(D::Error::custom)
                    }
                    other => Err(D::Error::custom(format!("{other} is neither a string with a unit nor a table"))),
                }
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $schema_name.into()
            }
            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let table = generator.subschema_for::<$table>();
                schemars::json_schema!({ "anyOf": [{ "type": "string" }, table] })
            }
        }
    };
}
text_or_table!(
    LossSpec,
    LossTable,
    |t: &str| units::parse_probability(t).map(|p| LossSpec::Uniform(Probability(p))),
    "Loss"
);
text_or_table!(JitterSpec, JitterTable, |t: &str| units::parse_span(t).map(JitterSpec::Spread), "Jitter");

/// A transfer from a server to a client.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// `transport[@implementation]/congestion[-switch|+switch…]`.
    pub contender: String,
    /// Dumbbell: which pair of hosts (default 0).
    #[serde(default)]
    pub pair: Option<u32>,
    /// Dumbbell: one such flow for each of these pairs, instead of `pair`.
    #[serde(default)]
    pub pairs: Option<Pairs>,
    /// Graph: the server's node.
    #[serde(default)]
    pub server: Option<String>,
    /// Graph: the client's node.
    #[serde(default)]
    pub client: Option<String>,
    /// What is said on the connection (default https).
    #[serde(default)]
    pub app: App,
    /// Size of the object; without it the flow is unlimited.
    #[serde(default)]
    pub size: Option<Quantity<Bytes>>,
    /// A page instead of one object. In a study also the name of a HAR file, as browsers export it.
    #[serde(default)]
    pub page: Option<Page>,
    /// When the client connects (default 0s).
    #[serde(default)]
    pub start: Option<Quantity<Span>>,
    /// When its ends acknowledge.
    #[serde(default)]
    pub ack: Option<AckSpec>,
    /// The client connects up to this much later, uniformly drawn in each replication (default 0s).
    #[serde(default)]
    pub start_spread: Option<Quantity<Span>>,
}

/// Which pairs of a dumbbell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// All of them.
    All,
    /// Every second one from pair 0 on.
    Even,
    /// Every second one from pair 1 on.
    Odd,
}

impl Pairs {
    /// Their numbers, of `count` pairs.
    fn numbers(self, count: u32) -> std::iter::StepBy<std::ops::Range<u32>> {
        match self {
            Pairs::All => (0..count).step_by(1),
            Pairs::Even => (0..count).step_by(2),
            Pairs::Odd => (1..count).step_by(2),
        }
    }
}

/// What is said on a connection.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum App {
    /// One object: TLS 1.3 and HTTP/2 over TCP, HTTP/3 over QUIC.
    #[default]
    Https,
    /// TLS 1.3 and HTTP/1.1 over TCP; a page over up to six connections.
    Http1,
    /// A one-byte request and the bytes back, with neither TLS nor HTTP.
    Raw,
}

/// The words of an error of serde_json without its position, which is one in a text the user never sees.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(m, _)| m).to_string()
}

/// Reads JSON; an error has the path of the field.
fn read<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, ScenarioError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|e| {
        let path = e.path().to_string();
        error(if path == "." { String::new() } else { path }, without_position(e.inner()))
    })?;
    deserializer.end().map_err(|e| error("", without_position(&e)))?;
    Ok(value)
}

/// How many flows a scenario may have.
const MAX_FLOWS: usize = 100_000;

impl Scenario {
    /// Reads a scenario from JSON and checks all that can be checked without running it.
    pub fn from_json(json: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario = read(json)?;
        scenario.check()?;
        let count = scenario.topology.pairs.unwrap_or(1);
        let each = |flow: Flow| -> Vec<Flow> {
            let Some(pairs) = flow.pairs else { return vec![flow] };
            pairs.numbers(count).map(|n| Flow { pair: Some(n), pairs: None, ..flow.clone() }).collect()
        };
        let total: usize = scenario.flows.iter().map(|f| f.pairs.map_or(1, |p| p.numbers(count).len())).sum();
        if total > MAX_FLOWS {
            return Err(error("flows", format!("{total} flows are too many: at most {MAX_FLOWS}")));
        }
        scenario.flows = scenario.flows.into_iter().flat_map(each).collect();
        Ok(scenario)
    }

    fn check(&self) -> Result<(), ScenarioError> {
        self.topology.check()?;
        if self.flows.is_empty() {
            return Err(error("flows", "there is no flow: add a [[flows]] table with a contender"));
        }
        for (i, flow) in self.flows.iter().enumerate() {
            flow.check(&format!("flows[{i}]"), self)?;
        }
        if self.measure_from.is_some() && self.duration.is_none() {
            return Err(error("measure_from", "it goes with duration: set duration too, or leave it out"));
        }
        if let (Some(from), Some(duration)) = (self.measure_from, self.duration)
            && from.0 >= duration.0
        {
            return Err(error("measure_from", format!("{} is not before duration, {}", from.0, duration.0)));
        }
        Ok(())
    }
}

impl Topology {
    fn check(&self) -> Result<(), ScenarioError> {
        let required = match self.kind {
            Kind::PointToPoint => ("link", self.link.is_some()),
            Kind::Dumbbell => ("bottleneck", self.bottleneck.is_some()),
            Kind::Graph => ("links", self.links.is_some()),
        };
        let name = match self.kind {
            Kind::PointToPoint => "point-to-point",
            Kind::Dumbbell => "dumbbell",
            Kind::Graph => "graph",
        };
        if !required.1 {
            return Err(error("topology", format!("a {name} needs the table topology.{}", required.0)));
        }
        let given = [
            ("pairs", self.pairs.is_some(), Kind::Dumbbell),
            ("link", self.link.is_some(), Kind::PointToPoint),
            ("bottleneck", self.bottleneck.is_some(), Kind::Dumbbell),
            ("access", self.access.is_some(), Kind::Dumbbell),
            ("links", self.links.is_some(), Kind::Graph),
        ];
        if let Some((field, ..)) = given.iter().find(|(_, present, kind)| *present && *kind != self.kind) {
            return Err(error(format!("topology.{field}"), format!("a {name} has no {field}: leave it out")));
        }
        if let Some(pairs) = self.pairs.filter(|p| !(1..=100_000).contains(p)) {
            return Err(error("topology.pairs", format!("{pairs} pairs: give a number from 1 to 100000")));
        }
        let named = [("link", &self.link), ("bottleneck", &self.bottleneck), ("access", &self.access)];
        for (field, spec) in named.into_iter().filter_map(|(f, s)| s.as_ref().map(|s| (f, s))) {
            spec.check(&format!("topology.{field}"))?;
        }
        let mut names = std::collections::BTreeSet::new();
        for (i, link) in self.links.iter().flatten().enumerate() {
            let name = link.name();
            if !names.insert(name.clone()) {
                let message = format!("a link before it is called {name:?} too: give this one another name");
                return Err(error(format!("topology.links[{i}]"), message));
            }
            if link.from == link.to {
                return Err(error(format!("topology.links[{i}]"), format!("it joins {:?} with itself", link.from)));
            }
            link.link.check(&format!("topology.links[{i}].link"))?;
        }
        Ok(())
    }
}

impl GraphLink {
    /// Its name in results, which also names its random streams.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{}-{}", self.from, self.to))
    }
}

impl LinkSpec {
    /// Reads a link from JSON, a table such as `topology.link`, and checks it.
    pub fn from_json(json: &str) -> Result<LinkSpec, ScenarioError> {
        let spec: LinkSpec = read(json)?;
        spec.check("").map_err(|wrong| error(wrong.path.trim_start_matches('.'), wrong.message))?;
        Ok(spec)
    }

    fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let common = DirectionSpec { mtu: self.mtu, loss: self.loss.clone(), ..DirectionSpec::default() };
        common.check(path)?;
        for (name, side) in [("down", &self.down), ("up", &self.up)] {
            if let Some(side) = side {
                side.check(&format!("{path}.{name}"))?;
            }
        }
        Ok(())
    }

    /// One direction's fields: its own where it has them, else the link's.
    pub fn direction(&self, own: Option<&DirectionSpec>) -> DirectionSpec {
        let none = DirectionSpec::default();
        let own = own.unwrap_or(&none);
        DirectionSpec {
            rate: own.rate.or(self.rate),
            delay: own.delay.or(self.delay),
            queue: own.queue.or(self.queue),
            mark: own.mark.or(self.mark),
            mtu: own.mtu.or(self.mtu),
            loss: own.loss.clone().or_else(|| self.loss.clone()),
            jitter: own.jitter.clone().or_else(|| self.jitter.clone()),
            duplication: own.duplication.or(self.duplication),
        }
    }
}

impl DirectionSpec {
    fn check(&self, path: &str) -> Result<(), ScenarioError> {
        if let Some(Quantity(mtu)) = self.mtu.filter(|m| !(1280..=65_535).contains(&m.0.0)) {
            return Err(error(
                format!("{path}.mtu"),
                format!("{}B: give an MTU from 1280B (the least QUIC works with) to 65535B", mtu.0),
            ));
        }
        if let Some(LossSpec::Model(table)) = &self.loss {
            table.check(&format!("{path}.loss"))?;
        }
        Ok(())
    }
}

impl LossTable {
    fn check(&self, path: &str) -> Result<(), ScenarioError> {
        let all = [
            ("rate", self.rate.is_some(), LossName::Uniform),
            ("good_to_bad", self.good_to_bad.is_some(), LossName::GilbertElliott),
            ("bad_to_good", self.bad_to_good.is_some(), LossName::GilbertElliott),
            ("loss_in_bad", self.loss_in_bad.is_some(), LossName::GilbertElliott),
            ("loss_in_good", self.loss_in_good.is_some(), LossName::GilbertElliott),
            ("every", self.every.is_some(), LossName::Periodic),
            ("packets", self.packets.is_some(), LossName::List),
        ];
        if let Some((field, ..)) = all.iter().find(|(_, present, model)| *present && *model != self.model) {
            return Err(error(format!("{path}.{field}"), "this loss model has no such parameter: leave it out"));
        }
        let optional = ["loss_in_bad", "loss_in_good"];
        let missing = all.iter().find(|(f, present, model)| !present && *model == self.model && !optional.contains(f));
        if let Some((field, ..)) = missing {
            return Err(error(path, format!("this loss model needs {field}")));
        }
        if self.every == Some(0) {
            return Err(error(
                format!("{path}.every"),
                "0: give the number of packets from one loss to the next, from 1",
            ));
        }
        if let Some(packets) = &self.packets
            && (packets.first() == Some(&0) || packets.windows(2).any(|w| w[0] >= w[1]))
        {
            return Err(error(format!("{path}.packets"), "give ascending numbers, counted from 1"));
        }
        Ok(())
    }
}

impl Flow {
    /// Bytes it moves in all, if it is not unlimited.
    pub fn total(&self) -> Option<u64> {
        self.page.as_ref().map(Page::total).or(self.size.map(|s| s.0.0))
    }

    fn check_page(&self, page: &Page, path: &str) -> Result<(), ScenarioError> {
        if self.size.is_some() {
            return Err(error(format!("{path}.size"), "a page has the sizes of its objects: leave size or page out"));
        }
        if self.app == App::Raw {
            let message = "a page is loaded over HTTP: give app = \"https\" or \"http1\", or leave page out";
            return Err(error(format!("{path}.app"), message));
        }
        page.check(&format!("{path}.page"))
    }

    fn check(&self, path: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
        let contender = Contender::parse(&self.contender).map_err(|m| error(format!("{path}.contender"), m))?;
        let of_tls = [Switch::Tls12, Switch::Resumed, Switch::EarlyData];
        if self.app == App::Raw
            && contender.transport == Transport::Tcp
            && let Some(switch) = contender.switches.iter().find(|s| of_tls.contains(s))
        {
            let name = switch.describe().0;
            let message = format!("{name} is a switch of TLS, which app = \"raw\" has not: leave one of them out");
            return Err(error(format!("{path}.contender"), message));
        }
        if self.app == App::Http1 && contender.transport == Transport::Quic {
            let message = "HTTP/1.1 goes over TCP: give a tcp contender, or app = \"https\"";
            return Err(error(format!("{path}.app"), message));
        }
        if let Some(page) = &self.page {
            self.check_page(page, path)?;
        }
        if let Some(ack) = &self.ack {
            ack.check(&format!("{path}.ack"), &contender)?;
        }
        let topology = &scenario.topology;
        let graph = topology.kind == Kind::Graph;
        if let Some(pair) = self.pair {
            let pairs = topology.pairs.unwrap_or(1);
            if graph {
                return Err(error(format!("{path}.pair"), "a graph has no pairs: name the nodes as server and client"));
            }
            if topology.kind == Kind::Dumbbell && pair >= pairs {
                let message = format!("{pair}: the dumbbell has {pairs} pairs, numbered from 0 to {}", pairs - 1);
                return Err(error(format!("{path}.pair"), message));
            }
        }
        if let Some(pairs) = self.pairs {
            let field = format!("{path}.pairs");
            if topology.kind != Kind::Dumbbell {
                return Err(error(field, "only a dumbbell has pairs: leave it out"));
            }
            if self.pair.is_some() {
                return Err(error(field, "the flow has a pair already: leave one of pair and pairs out"));
            }
            if pairs.numbers(topology.pairs.unwrap_or(1)).next().is_none() {
                return Err(error(field, "the dumbbell has one pair, number 0: give topology.pairs at least 2"));
            }
        }
        for (field, node) in [("server", &self.server), ("client", &self.client)] {
            match node {
                None if graph => return Err(error(path, format!("in a graph a flow names its {field} node"))),
                Some(_) if !graph => {
                    return Err(error(
                        format!("{path}.{field}"),
                        "only a graph names nodes: use pair, or leave it out",
                    ));
                }
                Some(name) => {
                    let known = topology.links.iter().flatten().any(|l| l.from == *name || l.to == *name);
                    if !known {
                        return Err(error(format!("{path}.{field}"), format!("no link joins a node called {name:?}")));
                    }
                }
                None => {}
            }
        }
        if graph && self.server == self.client {
            return Err(error(format!("{path}.client"), "server and client are the same node"));
        }
        match self.size {
            None if self.page.is_some() => Ok(()),
            None if scenario.duration.is_none() => {
                Err(error(path, "an unlimited flow needs an end: give it a size, or the scenario a duration"))
            }
            Some(Quantity(Bytes(0))) => Err(error(format!("{path}.size"), "0B: give at least 1B")),
            _ => Ok(()),
        }
    }
}
