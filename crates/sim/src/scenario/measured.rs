//! A topology drawn from measured paths, as scenarios write it. It becomes concrete before a run: Python reads the
//! paths, selects one by [`Share`] or at random, and replaces the topology by a point-to-point link or a chain of
//! links.

use super::link::{DirectionSpec, LinkSpec};
use super::{ScenarioError, error, read};
use schemars::JsonSchema;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};
use std::borrow::Cow;

/// Which measured paths a topology is drawn from.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measured {
    /// The data set: a summary that is shipped, a summary's file, or a lake's folder.
    pub paths: String,
    /// Which of its paths, in the order of their round-trip times.
    pub quantile: Share,
    /// The topology made from the path.
    pub kind: Shape,
}

/// A topology drawn from measured paths.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Measured")]
pub(super) struct MeasuredSpec {
    /// The source of the topology.
    #[allow(dead_code, reason = "it has one value")]
    from: Origin,
    /// The data set: a summary that is shipped (see `haltere paths summaries`), a summary's file, or a lake's folder.
    paths: String,
    /// Which of its paths, in the order of their round-trip times (default random: each replication draws one).
    #[serde(default)]
    quantile: Share,
    /// The topology made from the path (default point-to-point).
    #[serde(default)]
    kind: Shape,
    /// The narrow link without its delay. In point-to-point it is the only link; in a graph it is the last hop to the
    /// client, and the other links have a delay and this link's MTU only.
    #[serde(default)]
    link: LinkSpec,
}

/// The source of a topology.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Origin {
    /// Measured paths.
    Paths,
}

/// The topology made from a measured path.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// One link with half the path's round-trip time each way.
    #[default]
    PointToPoint,
    /// A chain from `server` to `client`, with one link per hop. Each direction of a link has half of its hop's share
    /// of the round-trip time.
    Graph,
}

/// Selects one of the paths in the order of their round-trip times: the path at or below which this share of all paths
/// lies (the inverse of the empirical distribution function), or a random one.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum Share {
    /// Each replication draws one.
    #[default]
    Random,
    /// From 0, the smallest, to 1, the largest.
    At(f64),
}

impl Share {
    fn named(text: &str) -> Option<Share> {
        let percentile = |text: &str| text.strip_prefix('p')?.parse::<f64>().ok().map(|p| p / 100.0);
        match text {
            "random" => Some(Share::Random),
            "min" => Some(Share::At(0.0)),
            "median" => Some(Share::At(0.5)),
            "max" => Some(Share::At(1.0)),
            _ => percentile(text).filter(|share| (0.0..=1.0).contains(share)).map(Share::At),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = serde_json::Value::deserialize(deserializer)?;
        let share = match &given {
            serde_json::Value::String(text) => Share::named(text),
            other => other.as_f64().filter(|share| (0.0..=1.0).contains(share)).map(Share::At),
        };
        share.ok_or_else(|| {
            D::Error::custom(format!(
                "{given} is no quantile: give \"random\", \"min\", \"median\", \"max\", a percentile such as \"p95\", or a \
                 number from 0 to 1 such as 0.95"
            ))
        })
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Share::Random => serializer.serialize_none(),
            Share::At(share) => serializer.serialize_f64(*share),
        }
    }
}

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Quantile".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": "string", "pattern": "^(random|min|median|max|p[0-9]+([.][0-9]+)?)$", "examples": ["median", "p95"] },
            { "type": "number", "minimum": 0, "maximum": 1 },
        ] })
    }
}

impl Measured {
    /// Reads the table `topology` of a scenario from JSON and checks everything except whether the paths exist.
    pub fn from_json(json: &str) -> Result<Measured, ScenarioError> {
        let MeasuredSpec { paths, quantile, kind, link, .. } = read(json).map_err(|wrong| {
            let dot = if wrong.path.is_empty() { "" } else { "." };
            error(format!("topology{dot}{}", wrong.path), wrong.message)
        })?;
        let delay = |side: &Option<DirectionSpec>| side.as_ref().is_some_and(|side| side.delay.is_some());
        let delays =
            [("delay", link.delay.is_some()), ("down.delay", delay(&link.down)), ("up.delay", delay(&link.up))];
        if let Some((field, _)) = delays.iter().find(|(_, given)| *given) {
            let message = "the delay comes from the measured path: leave it out, or leave from = \"paths\" out";
            return Err(error(format!("topology.link.{field}"), message));
        }
        link.link("topology.link")?;
        Ok(Measured { paths, quantile, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(json: &str) -> Result<Share, String> {
        let text = format!(r#"{{"from": "paths", "paths": "x", "quantile": {json}}}"#);
        Measured::from_json(&text).map(|m| m.quantile).map_err(|wrong| wrong.to_string())
    }

    #[test]
    fn quantiles_have_names_and_numbers() {
        assert_eq!(share("\"median\""), Ok(Share::At(0.5)));
        assert_eq!(share("\"p95\""), Ok(Share::At(0.95)));
        assert_eq!(share("\"p99.9\""), Ok(Share::At(0.9990000000000001)));
        assert_eq!(share("\"max\""), Ok(Share::At(1.0)));
        assert_eq!(share("0.25"), Ok(Share::At(0.25)));
        assert_eq!(share("1"), Ok(Share::At(1.0)));
        assert_eq!(share("\"random\""), Ok(Share::Random));
        for wrong in ["\"p101\"", "\"p-1\"", "\"pNaN\"", "\"pinf\"", "\"p\"", "1.1", "-0.1", "\"0.5\"", "null", "[]"] {
            let said = share(wrong).unwrap_err();
            assert!(said.starts_with("topology.quantile: ") && said.contains("p95"), "{wrong}: {said}");
        }
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let measured = Measured::from_json(r#"{"from": "paths", "paths": "x"}"#).unwrap();
        assert_eq!((measured.quantile, measured.kind), (Share::Random, Shape::PointToPoint));
    }

    #[test]
    fn an_error_names_the_field() {
        for (table, path) in [
            (r#"{"from": "paths"}"#, "topology"),
            (r#"{"from": "path", "paths": "x"}"#, "topology.from"),
            (r#"{"from": "paths", "paths": "x", "kind": "dumbbell"}"#, "topology.kind"),
            (r#"{"from": "paths", "paths": "x", "links": []}"#, "topology.links"),
            (r#"{"from": "paths", "paths": "x", "link": {"rate": "fast"}}"#, "topology.link.rate"),
            (r#"{"from": "paths", "paths": "x", "link": {"mtu": "100B"}}"#, "topology.link.mtu"),
            (r#"{"from": "paths", "paths": "x", "link": {"delay": "1ms"}}"#, "topology.link.delay"),
            (r#"{"from": "paths", "paths": "x", "link": {"up": {"delay": "1ms"}}}"#, "topology.link.up.delay"),
        ] {
            assert_eq!(Measured::from_json(table).unwrap_err().path, path, "{table}");
        }
    }
}
