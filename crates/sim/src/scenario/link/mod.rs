//! Links in scenarios, with their losses and jitter.

mod boxes;
mod loss;
mod radio;
mod varying;

use boxes::{BreakerSpec, TunnelSpec};
pub(super) use loss::LossSpec;
use radio::{CellularSpec, SatelliteSpec};
use varying::{Delay, DelaySpec, OutageSpec, Speed};

use super::presets::Preset;
use super::quantity::{Probability, Quantity};
use super::{ScenarioError, error, read};
use haltere_net::interface::Ring;
use haltere_net::link::{Cellular, LinkConfig};
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::middlebox::{Breaker, Tunnel};
use haltere_net::queue::{DROP_TAIL, Discipline, Length, QueueConfig};
use haltere_net::varying::Outages;
use haltere_net::{Bytes, Rate, Span, units};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::borrow::Cow;

/// The rate of wired links that a scenario says nothing of.
const WIRED: Rate = Rate::from_bps(1_000_000_000);

/// Parses a string or a table, and keeps the error message of a table's own parser.
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
pub(super) use text_or_table;
pub use varying::OutagePeriod;
pub(super) use varying::RateSpec;

/// Declares the tables in which fields of a link's directions are written, each after the table's own fields.
macro_rules! directions {
    ($($(#[$about:meta])* struct $name:ident { $($(#[$own_about:meta])* $own:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(super) struct $name {
            $($(#[$own_about])* pub(super) $own: Option<$type>,)*
            /// Serialisation rate (default: unlimited).
            rate: Option<RateSpec>,
            /// Propagation delay (default 0ms).
            pub(super) delay: Option<DelaySpec>,
            /// When the link carries nothing (default: never).
            outage: Option<OutageSpec>,
            /// A cellular base station's scheduler and retransmissions. Those of a direction replace all of the link's.
            cellular: Option<CellularSpec>,
            /// The queue discipline and its limit (default 1000p).
            #[schemars(with = "Option<QueueSchema>")]
            queue: Option<QueueConfig>,
            /// Marks ECN-capable packets that find this much waiting, as DCTCP's switch does (RFC 8257; default: none). The
            /// same as `mark` in the queue's table.
            mark: Option<Quantity<Length>>,
            /// The driver's ring between the queue discipline and the wire, in packets with the one being sent, such as "256p"
            /// (default: none; packets leave the queue one by one). Senders on a node whose link has a ring are pushed back as
            /// in Linux.
            ring: Option<Quantity<Length>>,
            /// Whether byte queue limits keep the ring short, as in Linux since 3.3 (default true).
            bql: Option<bool>,
            /// Largest packet with IP header (default 1500B).
            mtu: Option<Quantity<Bytes>>,
            /// A tunnel through the link: packets have an outer header on it, whose ECN field the queue marks (default: none).
            tunnel: Option<TunnelSpec>,
            /// A circuit breaker (RFC 8084) that measures what each flow loses on the link, and ends it (default: none).
            breaker: Option<BreakerSpec>,
            /// Random loss.
            loss: Option<LossSpec>,
            /// Random extra delay.
            jitter: Option<JitterSpec>,
            /// Probability that a packet arrives twice.
            duplication: Option<Quantity<Probability>>,
        }

        impl $name {
            /// The values of the fields that are given; `path` is that of the table.
            fn given(&self, path: &str) -> Result<Given, ScenarioError> {
                if let Some(Quantity(mtu)) = self.mtu.filter(|m| !(1280..=65_535).contains(&m.0.0)) {
                    let message =
                        format!("{}B: give an MTU from 1280B (the least QUIC works with) to 65535B", mtu.0);
                    return Err(error(format!("{path}.mtu"), message));
                }
                Ok(Given {
                    path: path.to_string(),
                    loss: self.loss.as_ref().map(|loss| loss.model(&format!("{path}.loss"))).transpose()?,
                    rate: self.rate.as_ref().map(|rate| rate.speed(&format!("{path}.rate"))).transpose()?,
                    delay: self.delay.as_ref().map(|delay| delay.course(&format!("{path}.delay"))).transpose()?,
                    outage: self.outage.as_ref().map(|out| out.outages(&format!("{path}.outage"))).transpose()?,
                    cellular: self.cellular.map(|cellular| cellular.config()),
                    queue: self.queue.clone(),
                    mark: self.mark.map(|q| q.0),
                    ring: self.ring.map(|q| q.0),
                    bql: self.bql,
                    mtu: self.mtu.map(|q| q.0.0 as u32),
                    tunnel: self.tunnel.map(|tunnel| tunnel.config()),
                    breaker: self.breaker.map(|breaker| breaker.config()),
                    jitter: self.jitter.as_ref().map(JitterSpec::model),
                    duplication: self.duplication.map(|q| q.0.0),
                })
            }
        }
    )*};
}

directions! {
    /// A link: fields apply to both directions unless `down` or `up` say otherwise.
    struct LinkSpec {
        /// The preset whose values the fields have that are not given: `4g`, `5g`, `geo`, `leo` or `lorawan-backhaul` (`haltere
        /// presets`).
        preset: Preset,
        /// Satellites, whose distance is added to the delay.
        satellite: SatelliteSpec,
        /// Whether a middlebox on the link removes MPTCP's options in both directions, so that `mptcp` falls back to TCP or opens
        /// no subflow there (default false).
        strip_options: bool,
        /// Whether a path of a multipath topology is in reserve: mptcp and mpquic send data on it only while no other path can
        /// carry any (default false).
        backup: bool,
        /// Fields of the data direction, from the link's first end to its second.
        down: DirectionSpec,
        /// Fields of the other direction.
        up: DirectionSpec,
    }

    /// Fields of one direction alone.
    struct DirectionSpec {}
}

/// The values that one table gives a direction.
#[derive(Default)]
struct Given {
    path: String,
    rate: Option<Speed>,
    delay: Option<Delay>,
    outage: Option<Outages>,
    cellular: Option<Cellular>,
    queue: Option<QueueConfig>,
    mark: Option<Length>,
    ring: Option<Length>,
    bql: Option<bool>,
    mtu: Option<u32>,
    tunnel: Option<Tunnel>,
    breaker: Option<Breaker>,
    loss: Option<LossModel>,
    jitter: Option<JitterModel>,
    duplication: Option<f64>,
}

/// A link with all defaults filled in.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    /// From its first end to its second.
    pub down: LinkConfig,
    /// From its second end to its first.
    pub up: LinkConfig,
    /// Whether a middlebox on it removes MPTCP's options.
    pub strips_options: bool,
    /// Whether it has a delay, be it one of zero.
    pub(super) delayed: bool,
    /// Where a length in bandwidth-delay products is given for a direction without a rate, and for any direction.
    pub(super) products: [Option<String>; 2],
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

text_or_table!(JitterSpec, JitterTable, |t: &str| units::parse_span(t).map(JitterSpec::Spread), "Jitter");

impl JitterSpec {
    fn model(&self) -> JitterModel {
        match self {
            JitterSpec::Spread(spread) => JitterModel::Uniform { spread: *spread, reorder: false },
            JitterSpec::Model(t) => match t.distribution {
                Distribution::Uniform => JitterModel::Uniform { spread: t.spread.0, reorder: t.reorder },
                Distribution::Normal => JitterModel::Normal { sigma: t.spread.0, reorder: t.reorder },
            },
        }
    }
}

impl Link {
    /// A single link for the emulator, from a table such as `topology.link` as JSON.
    ///
    /// # Errors
    /// If a field is wrong, with its path.
    pub fn from_json(json: &str) -> Result<Link, ScenarioError> {
        let link = read::<LinkSpec>(json)?.link("");
        let link = link.map_err(|wrong| error(wrong.path.trim_start_matches('.'), wrong.message))?;
        if link.strips_options {
            return Err(error("strip_options", "only the simulator has middleboxes: leave it out"));
        }
        Ok(link.scaled(Span::ZERO))
    }

    /// Whether both directions have a rate.
    pub fn is_rated(&self) -> bool {
        [&self.down, &self.up].iter().all(|config| rated(config))
    }

    /// A wired link that a scenario does not describe.
    pub(super) fn wired() -> Link {
        let wire = LinkConfig { rate: Some(WIRED), ..LinkConfig::default() };
        Link { down: wire.clone(), up: wire, strips_options: false, delayed: false, products: [None, None] }
    }

    /// The link with lengths in packets instead of bandwidth-delay products. `outside` is the base RTT of a path beyond this
    /// link.
    pub(super) fn scaled(mut self, outside: Span) -> Link {
        let furthest = |config: &LinkConfig| config.delay + config.orbit.map_or(Span::ZERO, |orbit| orbit.longest());
        let rtt = furthest(&self.down) + furthest(&self.up) + outside;
        for config in [&mut self.down, &mut self.up] {
            let scale = config.scale(rtt);
            config.queue.resolve(&scale);
        }
        self
    }
}

/// Whether a direction has a rate.
fn rated(config: &LinkConfig) -> bool {
    config.rate.is_some() || config.trace.is_some()
}

impl LinkSpec {
    /// The link that is meant, with lengths as they are given.
    ///
    /// # Errors
    /// If a field is wrong. The error's path begins with `path`.
    pub(super) fn link(&self, path: &str) -> Result<Link, ScenarioError> {
        let preset = self.preset.map_or(Ok(LinkSpec::default()), |preset| preset.link(path))?;
        let (own, usual) = (self.given(path)?, preset.given(path)?);
        let satellite = self.satellite.or(preset.satellite);
        let (mut delayed, mut products) = (satellite.is_some(), [None, None]);
        let mut direction = |name: &str, side: &Option<DirectionSpec>, preset: &Option<DirectionSpec>| {
            let of = |side: &Option<DirectionSpec>, path: &str| {
                side.as_ref().map_or(Ok(Given::default()), |side| side.given(path))
            };
            let (side, preset) = (of(side, &format!("{path}.{name}"))?, of(preset, path)?);
            let tables = Tables { path, all: [&side, &own, &preset, &usual] };
            let mut config = tables.config()?;
            if let Some(satellite) = satellite {
                satellite.apply(&mut config, path)?;
            }
            tables.check(&config)?;
            delayed |= tables.all.iter().any(|given| given.delay.is_some());
            if let Some(place) = tables.product() {
                products[usize::from(rated(&config))].get_or_insert(place);
            }
            Ok(config)
        };
        let down = direction("down", &self.down, &preset.down)?;
        let up = direction("up", &self.up, &preset.up)?;
        Ok(Link { down, up, strips_options: self.strip_options == Some(true), delayed, products })
    }
}

/// The tables that a direction's fields come from; the first that gives one counts.
struct Tables<'a> {
    path: &'a str,
    /// The direction's own, the link's, and those of the preset.
    all: [&'a Given; 4],
}

impl Tables<'_> {
    /// The path of a field, in the table that gives it.
    fn place(&self, field: &str, gives: fn(&Given) -> bool) -> String {
        let path = self.all.iter().find(|given| gives(given)).map_or(self.path, |given| &given.path);
        format!("{path}.{field}")
    }

    /// The direction with all defaults filled in. Lengths in bandwidth-delay products are kept. If a rate or a delay changes
    /// with time, `rate` and `delay` have its largest value.
    fn config(&self) -> Result<LinkConfig, ScenarioError> {
        macro_rules! first {
            ($field:ident) => {
                self.all.iter().find_map(|given| given.$field.clone())
            };
        }
        let (speed, delay) = (first!(rate).unwrap_or_default(), first!(delay).unwrap_or_default());
        Ok(LinkConfig {
            rate: speed.rate,
            trace: speed.trace,
            rate_profile: speed.profile,
            delay: delay.longest,
            delay_profile: delay.profile,
            orbit: None,
            delay_reorders: delay.reorders,
            outages: first!(outage),
            cellular: first!(cellular),
            mtu: first!(mtu).unwrap_or(1500),
            tunnel: first!(tunnel),
            breaker: first!(breaker),
            queue: self.queue(first!(queue).unwrap_or_default(), first!(mark))?,
            ring: self.ring(first!(ring), first!(bql))?,
            loss: first!(loss).unwrap_or(LossModel::None),
            jitter: first!(jitter).unwrap_or(JitterModel::None),
            duplication: first!(duplication).unwrap_or(0.0),
        })
    }

    /// The queue, with the field `mark` beside it.
    fn queue(&self, mut queue: QueueConfig, mark: Option<Length>) -> Result<QueueConfig, ScenarioError> {
        let Some(mark) = mark else { return Ok(queue) };
        let set = match queue.get("mark") {
            Some(own) => {
                Err(format!("{mark}, and the table of the queue says mark = {own:?} too: leave one of the two out"))
            }
            None => queue.set("mark", &mark.to_string()),
        };
        set.map_err(|message| error(self.place("mark", |given| given.mark.is_some()), message))?;
        Ok(queue)
    }

    /// The driver's ring, if there is one.
    fn ring(&self, ring: Option<Length>, bql: Option<bool>) -> Result<Option<Ring>, ScenarioError> {
        match (ring, bql) {
            (Some(Length::Packets(packets)), _) if packets > 0 => Ok(Some(Ring { packets, bql: bql.unwrap_or(true) })),
            (Some(other), _) => {
                let message = format!("{other}: a ring is counted in packets, at least one: write \"256p\"");
                Err(error(self.place("ring", |given| given.ring.is_some()), message))
            }
            (None, Some(_)) => {
                let message = "byte queue limits are of a ring: give one, such as ring = \"256p\"";
                Err(error(self.place("bql", |given| given.bql.is_some()), message))
            }
            (None, None) => Ok(None),
        }
    }

    /// Checks the fields against each other.
    fn check(&self, config: &LinkConfig) -> Result<(), ScenarioError> {
        config.check().map_err(|wrong| {
            let place = match wrong.field {
                "outages" => self.place("outage", |given| given.outage.is_some()),
                cellular if cellular.starts_with("cellular.") => self.place(cellular, |given| given.cellular.is_some()),
                tunnel if tunnel.starts_with("tunnel.") => self.place(tunnel, |given| given.tunnel.is_some()),
                breaker if breaker.starts_with("breaker.") => self.place(breaker, |given| given.breaker.is_some()),
                "ring" => self.place("ring", |given| given.ring.is_some()),
                _ => self.place("rate", |given| given.rate.is_some()),
            };
            error(place, wrong.message)
        })
    }

    /// Where a length in bandwidth-delay products is given.
    fn product(&self) -> Option<String> {
        let queue = self.all.iter().find_map(|given| given.queue.as_ref());
        if queue.is_some_and(QueueConfig::has_bdp) {
            return Some(self.place("queue", |given| given.queue.is_some()));
        }
        let mark = self.all.iter().find_map(|given| given.mark);
        matches!(mark, Some(Length::Bdp(_))).then(|| self.place("mark", |given| given.mark.is_some()))
    }
}

/// How a queue is written, for the schema.
pub(super) struct QueueSchema;

impl JsonSchema for QueueSchema {
    fn schema_name() -> Cow<'static, str> {
        "Queue".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<_> = Discipline::ALL.iter().map(|d| d.describe().name).collect();
        let mut forms = vec![schemars::json_schema!({
            "description": "the limit of a drop-tail queue, or a discipline with the parameters that have not their defaults",
            "type": "string",
            "examples": ["1000p", "64kB", "1bdp", "head-drop", "drop-tail:limit=1000p,mark=65p", "./mine.py:limit=100p"],
        })];
        forms.extend(Discipline::ALL.iter().map(|discipline| {
            let about = discipline.describe();
            let mut properties = serde_json::Map::new();
            properties.insert("discipline".to_string(), serde_json::json!({ "const": about.name }));
            for parameter in discipline.parameters() {
                let default = parameter.default.map_or("none".to_string(), |text| text);
                let value = serde_json::json!({
                    "description": format!("{} (default {default})", parameter.summary.trim_end_matches('.')),
                    "type": ["string", "number", "boolean"],
                    "examples": [parameter.example],
                });
                properties.insert(parameter.name.to_string(), value);
            }
            let required: &[&str] = if *discipline == DROP_TAIL { &[] } else { &["discipline"] };
            schemars::json_schema!({
                "description": format!("{} ({})", about.summary, about.reference),
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        }));
        forms.push(schemars::json_schema!({
            "description": "a discipline of a file of code, with the parameters that it declares",
            "type": "object",
            "properties": {
                "discipline": { "type": "string", "pattern": "^\\.{0,2}/" },
                "limit": { "description": "The limit of the queue (default 1000p)", "type": ["string", "number"] },
            },
            "required": ["discipline"],
            "additionalProperties": { "type": ["string", "number"] },
        }));
        schemars::json_schema!({
            "description": format!("a queue discipline: one of {}", names.join(", ")),
            "anyOf": forms,
        })
    }
}
