//! Links in scenarios, with their losses and jitter.

mod loss;
mod model;
mod radio;
mod varying;

pub use loss::{LossName, LossSpec, LossTable};
pub use radio::{CellularSpec, OrbitName, SatelliteSpec};
pub use varying::{
    Course, DelaySpec, DelayTable, OutagePeriod, OutageSpec, OutageTable, PacketsInOutage, RateSpec, RateTable,
};

use super::presets::Preset;
use super::quantity::{Probability, Quantity};
use super::{ScenarioError, error, read};
use haltere_net::interface::Ring;
use haltere_net::queue::{DROP_TAIL, Discipline, Length, QueueConfig};
use haltere_net::varying::VaryingError;
use haltere_net::{Bytes, Span, units};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::borrow::Cow;

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
use text_or_table;

/// A link: fields apply to both directions unless `down` or `up` say otherwise.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The preset whose values the fields have that are not given: `4g`, `5g`, `geo`, `leo` or `lorawan-backhaul` (`haltere
    /// presets`).
    #[serde(default)]
    pub preset: Option<Preset>,
    /// Serialisation rate of each direction (default: unlimited).
    #[serde(default)]
    pub rate: Option<RateSpec>,
    /// Propagation delay of each direction (default 0ms).
    #[serde(default)]
    pub delay: Option<DelaySpec>,
    /// When the link carries nothing (default: never).
    #[serde(default)]
    pub outage: Option<OutageSpec>,
    /// A cellular base station's scheduler and retransmissions.
    #[serde(default)]
    pub cellular: Option<CellularSpec>,
    /// Satellites, whose distance is added to the delay.
    #[serde(default)]
    pub satellite: Option<SatelliteSpec>,
    /// The queue discipline and its limit (default 1000p).
    #[serde(default)]
    #[schemars(with = "Option<QueueSchema>")]
    pub queue: Option<QueueConfig>,
    /// Marks ECN-capable packets that find this much waiting, as DCTCP's switch does (RFC 8257; default: none). The
    /// same as `mark` in the queue's table.
    #[serde(default)]
    pub mark: Option<Quantity<Length>>,
    /// The driver's ring between the queue discipline and the wire, in packets with the one being sent, such as "256p"
    /// (default: none; packets leave the queue one by one). Senders on a node whose link has a ring are pushed back as in
    /// Linux.
    #[serde(default)]
    pub ring: Option<Quantity<Length>>,
    /// Whether byte queue limits keep the ring short, as in Linux since 3.3 (default true).
    #[serde(default)]
    pub bql: Option<bool>,
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
    /// Whether a middlebox on the link removes MPTCP's options in both directions, so that `mptcp` falls back to TCP or opens no
    /// subflow there (default false).
    #[serde(default)]
    pub strip_options: Option<bool>,
    /// Whether a path of a multipath topology is in reserve: mptcp and mpquic send data on it only while no other path can carry
    /// any (default false).
    #[serde(default)]
    pub backup: Option<bool>,
    /// Fields of the data direction, from the link's first end to its second.
    #[serde(default)]
    pub down: Option<DirectionSpec>,
    /// Fields of the other direction.
    #[serde(default)]
    pub up: Option<DirectionSpec>,
}

/// Fields of one direction alone.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DirectionSpec {
    /// Serialisation rate.
    #[serde(default)]
    pub rate: Option<RateSpec>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Option<DelaySpec>,
    /// When the link carries nothing.
    #[serde(default)]
    pub outage: Option<OutageSpec>,
    /// A cellular base station's scheduler and retransmissions; these replace all of the link's.
    #[serde(default)]
    pub cellular: Option<CellularSpec>,
    /// The queue discipline and its limit.
    #[serde(default)]
    #[schemars(with = "Option<QueueSchema>")]
    pub queue: Option<QueueConfig>,
    /// Marks ECN-capable packets that find this much waiting.
    #[serde(default)]
    pub mark: Option<Quantity<Length>>,
    /// The driver's ring between the queue discipline and the wire.
    #[serde(default)]
    pub ring: Option<Quantity<Length>>,
    /// Whether byte queue limits keep the ring short.
    #[serde(default)]
    pub bql: Option<bool>,
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

impl LinkSpec {
    /// Parses a link from JSON, a table such as `topology.link`, and checks it.
    pub fn from_json(json: &str) -> Result<LinkSpec, ScenarioError> {
        let spec: LinkSpec = read(json)?;
        spec.check("").map_err(|wrong| error(wrong.path.trim_start_matches('.'), wrong.message))?;
        Ok(spec)
    }

    pub(super) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        if let Some(preset) = self.preset.filter(|preset| preset.is_cell()) {
            let name = preset.describe().0;
            let message =
                format!("{name:?} is a cell, not a link: give the topology the kind \"cell\" and cell.preset");
            return Err(error(format!("{path}.preset"), message));
        }
        let common = self.direction(None);
        common.check(path)?;
        for (name, side) in [("down", &self.down), ("up", &self.up)] {
            if let Some(side) = side {
                side.check(&format!("{path}.{name}"))?;
            }
        }
        let (down, up) = self.configs(path)?;
        for (name, side, config) in [("down", &self.down, down), ("up", &self.up, up)] {
            let merged = self.whole(|link| if name == "down" { &link.down } else { &link.up });
            let wrong = |w: VaryingError| {
                let own = side.as_ref().is_some_and(|side| side.rate.is_some() || side.outage.is_some());
                let place = if own { format!("{path}.{name}") } else { path.to_string() };
                let field = match w.field {
                    "outages" => "outage",
                    cellular if cellular.starts_with("cellular.") => cellular,
                    _ => "rate",
                };
                let own_cellular = side.as_ref().is_some_and(|side| side.cellular.is_some());
                let place = match (field.starts_with("cellular."), own_cellular) {
                    (true, true) => format!("{path}.{name}"),
                    (true, false) => path.to_string(),
                    _ => place,
                };
                error(format!("{place}.{field}"), w.message)
            };
            config.check().map_err(wrong)?;
            let marks_here = side.as_ref().is_some_and(|side| side.mark.is_some());
            let place = if marks_here { format!("{path}.{name}.mark") } else { format!("{path}.mark") };
            merged.whole_queue().map_err(|wrong| error(place, wrong))?;
            let here =
                |field: &str, own: bool| if own { format!("{path}.{name}.{field}") } else { format!("{path}.{field}") };
            merged.whole_ring().map_err(|wrong| {
                let bql_here = side.as_ref().is_some_and(|side| side.bql.is_some());
                let ring_here = side.as_ref().is_some_and(|side| side.ring.is_some());
                error(if merged.ring.is_some() { here("ring", ring_here) } else { here("bql", bql_here) }, wrong)
            })?;
        }
        Ok(())
    }

    /// One direction's fields: its own, then the link's, then those of the preset.
    fn whole(&self, side: impl Fn(&LinkSpec) -> &Option<DirectionSpec>) -> DirectionSpec {
        let given = self.direction(side(self).as_ref());
        let Some(preset) = self.preset else { return given };
        let link = preset.link();
        given.or(&link.direction(side(&link).as_ref()))
    }

    /// One direction's fields. Where it has none of its own, the link's fields apply.
    fn direction(&self, own: Option<&DirectionSpec>) -> DirectionSpec {
        let link = DirectionSpec {
            rate: self.rate.clone(),
            delay: self.delay.clone(),
            outage: self.outage.clone(),
            cellular: self.cellular,
            queue: self.queue.clone(),
            mark: self.mark,
            ring: self.ring,
            bql: self.bql,
            mtu: self.mtu,
            loss: self.loss.clone(),
            jitter: self.jitter.clone(),
            duplication: self.duplication,
        };
        own.cloned().unwrap_or_default().or(&link)
    }
}

impl DirectionSpec {
    /// These fields, and those of `other` where there are none.
    fn or(self, other: &DirectionSpec) -> DirectionSpec {
        DirectionSpec {
            rate: self.rate.or_else(|| other.rate.clone()),
            delay: self.delay.or_else(|| other.delay.clone()),
            outage: self.outage.or_else(|| other.outage.clone()),
            cellular: self.cellular.or(other.cellular),
            queue: self.queue.or_else(|| other.queue.clone()),
            mark: self.mark.or(other.mark),
            ring: self.ring.or(other.ring),
            bql: self.bql.or(other.bql),
            mtu: self.mtu.or(other.mtu),
            loss: self.loss.or_else(|| other.loss.clone()),
            jitter: self.jitter.or_else(|| other.jitter.clone()),
            duplication: self.duplication.or(other.duplication),
        }
    }

    /// The queue, with the field `mark` beside it.
    pub(crate) fn whole_queue(&self) -> Result<QueueConfig, String> {
        let mut queue = self.queue.clone().unwrap_or_default();
        if let Some(Quantity(mark)) = self.mark {
            if let Some(own) = queue.get("mark") {
                return Err(format!(
                    "{mark}, and the table of the queue says mark = {own:?} too: leave one of the two out"
                ));
            }
            queue.set("mark", &mark.to_string())?;
        }
        Ok(queue)
    }

    /// The driver's ring, if there is one.
    pub(crate) fn whole_ring(&self) -> Result<Option<Ring>, String> {
        let bql = self.bql.unwrap_or(true);
        match (self.ring.map(|ring| ring.0), self.bql) {
            (Some(Length::Packets(packets)), _) if packets > 0 => Ok(Some(Ring { packets, bql })),
            (Some(other), _) => Err(format!("{other}: a ring is counted in packets, at least one: write \"256p\"")),
            (None, Some(_)) => Err("byte queue limits are of a ring: give one, such as ring = \"256p\"".into()),
            (None, None) => Ok(None),
        }
    }

    fn check(&self, path: &str) -> Result<(), ScenarioError> {
        if let Some(Quantity(mtu)) = self.mtu.filter(|m| !(1280..=65_535).contains(&m.0.0)) {
            return Err(error(
                format!("{path}.mtu"),
                format!("{}B: give an MTU from 1280B (the least QUIC works with) to 65535B", mtu.0),
            ));
        }
        if let Some(loss) = &self.loss {
            loss.check(&format!("{path}.loss"))?;
        }
        self.config(path).map(|_| ())
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
            "examples": ["1000p", "64kB", "1bdp", "head-drop", "drop-tail:limit=1000p,mark=65p"],
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
        schemars::json_schema!({
            "description": format!("a queue discipline: one of {}", names.join(", ")),
            "anyOf": forms,
        })
    }
}
