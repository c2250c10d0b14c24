//! Rates, delays and outages as functions of time in scenarios.

use super::text_or_table;
use crate::scenario::quantity::Quantity;
use crate::scenario::{ScenarioError, error};
use haltere_net::trace::RateTrace;
use haltere_net::varying::{Between, InOutage, Outages, Period, Profile, VaryingError};
use haltere_net::{Rate, Span, units};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::borrow::Cow;

/// A rate: a constant, a function of time, or a recorded trace.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSpec {
    /// A constant rate.
    Constant(Rate),
    /// A function of time or a trace.
    Model(RateTable),
}

/// A rate that changes with time: points, or a trace.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateTable {
    /// Times of the points, ascending from "0s".
    pub at: Option<Vec<Quantity<Span>>>,
    /// The rate from each of them on.
    pub value: Option<Vec<Quantity<Rate>>>,
    /// How the rate changes from one point to the next (default step).
    pub between: Option<Course>,
    /// The period with which the function repeats (default: never; the last value stays).
    pub repeat: Option<Quantity<Span>>,
    /// A packet-delivery trace of mahimahi instead of points: milliseconds, each an opportunity to deliver 1504 bytes.
    /// A study gives the name of a file.
    #[schemars(with = "Option<Vec<u64>>")]
    pub trace: Option<RateTrace>,
}

/// A propagation delay: a constant, or a function of time.
#[derive(Clone, Debug, PartialEq)]
pub enum DelaySpec {
    /// A constant delay.
    Constant(Span),
    /// A function of time.
    Model(DelayTable),
}

/// A propagation delay that changes with time.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayTable {
    /// Times of the points, ascending from "0s".
    pub at: Vec<Quantity<Span>>,
    /// The delay from each of them on.
    pub value: Vec<Quantity<Span>>,
    /// How the delay changes from one point to the next (default step).
    pub between: Option<Course>,
    /// The period with which the function repeats (default: never; the last value stays).
    pub repeat: Option<Quantity<Span>>,
    /// Whether packets overtake earlier ones when the delay falls (default false: they arrive together with them).
    #[serde(default)]
    pub reorder: bool,
}

/// How a function of time changes from one point to the next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Course {
    /// It keeps the value of the point before.
    #[default]
    Step,
    /// It changes linearly to the value of the next point.
    Ramp,
}

/// Outages: a list of them, or a table.
#[derive(Clone, Debug, PartialEq)]
pub struct OutageSpec(pub OutageTable);

/// Outages with all parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageTable {
    /// When the link is out, in order.
    pub periods: Vec<OutagePeriod>,
    /// The fate of packets in an outage (default drop).
    #[serde(default)]
    pub packets: PacketsInOutage,
    /// The period with which the outages repeat (default: never).
    pub repeat: Option<Quantity<Span>>,
}

/// An outage.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutagePeriod {
    /// When it begins.
    pub from: Quantity<Span>,
    /// When the link is back.
    pub to: Quantity<Span>,
}

/// The fate of packets in an outage.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PacketsInOutage {
    /// The link continues to send, and the packets are lost.
    #[default]
    Drop,
    /// The link stops, and packets wait.
    Hold,
}

text_or_table!(RateSpec, RateTable, |t: &str| units::parse_rate(t).map(RateSpec::Constant), "LinkRate");
text_or_table!(DelaySpec, DelayTable, |t: &str| units::parse_span(t).map(DelaySpec::Constant), "Delay");

impl<'de> Deserialize<'de> for OutageSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if value.is_array() {
            let periods = serde_json::from_value(value).map_err(D::Error::custom)?;
            return Ok(OutageSpec(OutageTable { periods, packets: PacketsInOutage::default(), repeat: None }));
        }
        serde_json::from_value(value).map(OutageSpec).map_err(D::Error::custom)
    }
}

impl JsonSchema for OutageSpec {
    fn schema_name() -> Cow<'static, str> {
        "Outages".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let (list, table) = (generator.subschema_for::<Vec<OutagePeriod>>(), generator.subschema_for::<OutageTable>());
        schemars::json_schema!({ "anyOf": [list, table] })
    }
}

fn under(path: &str) -> impl Fn(VaryingError) -> ScenarioError + '_ {
    move |wrong| error(format!("{path}.{}", wrong.field), wrong.message)
}

fn profile(
    at: &[Quantity<Span>],
    value: &[u64],
    between: Option<Course>,
    repeat: Option<Quantity<Span>>,
) -> Result<Profile, VaryingError> {
    let at: Vec<Span> = at.iter().map(|q| q.0).collect();
    let between = match between.unwrap_or_default() {
        Course::Step => Between::Step,
        Course::Ramp => Between::Ramp,
    };
    Profile::new(&at, value, between, repeat.map(|q| q.0))
}

/// A link's rate.
#[derive(Clone, Default)]
pub(in crate::scenario) struct Speed {
    pub(in crate::scenario) rate: Option<Rate>,
    pub(in crate::scenario) profile: Option<Profile>,
    pub(in crate::scenario) trace: Option<RateTrace>,
}

/// A link's delay.
#[derive(Clone, Default)]
pub(super) struct Delay {
    /// The delay, or the largest one of the profile.
    pub(super) longest: Span,
    pub(super) profile: Option<Profile>,
    pub(super) reorders: bool,
}

impl RateSpec {
    /// The link's rate. If it is a function of time, `rate` is its largest value.
    pub(in crate::scenario) fn speed(&self, path: &str) -> Result<Speed, ScenarioError> {
        let table = match self {
            RateSpec::Constant(rate) => return Ok(Speed { rate: Some(*rate), ..Speed::default() }),
            RateSpec::Model(table) => table,
        };
        let points = table.at.is_some() || table.value.is_some() || table.between.is_some() || table.repeat.is_some();
        match (&table.trace, &table.at, &table.value) {
            (Some(_), ..) if points => Err(error(
                format!("{path}.trace"),
                "a trace has its own times: leave at, value, between and repeat out",
            )),
            (Some(trace), ..) => Ok(Speed { trace: Some(trace.clone()), ..Speed::default() }),
            (None, Some(at), Some(value)) => {
                let value: Vec<u64> = value.iter().map(|q| q.0.as_bps()).collect();
                let profile = profile(at, &value, table.between, table.repeat).map_err(under(path))?;
                let rate = Some(Rate::from_bps(profile.greatest()));
                Ok(Speed { rate, profile: Some(profile), trace: None })
            }
            _ => Err(error(
                path,
                "give at and value, as in { at = [\"0s\", \"10s\"], value = [\"10Mbit/s\", \"2Mbit/s\"] }, or trace",
            )),
        }
    }
}

impl DelaySpec {
    /// The link's delay.
    pub(super) fn course(&self, path: &str) -> Result<Delay, ScenarioError> {
        match self {
            DelaySpec::Constant(delay) => Ok(Delay { longest: *delay, ..Delay::default() }),
            DelaySpec::Model(table) => {
                let value: Vec<u64> = table.value.iter().map(|q| q.0.as_nanos()).collect();
                let profile = profile(&table.at, &value, table.between, table.repeat).map_err(under(path))?;
                let longest = Span::from_nanos(profile.greatest());
                Ok(Delay { longest, profile: Some(profile), reorders: table.reorder })
            }
        }
    }
}

impl OutageSpec {
    pub(super) fn outages(&self, path: &str) -> Result<Outages, ScenarioError> {
        let OutageSpec(table) = self;
        let periods = table.periods.iter().map(|p| Period { from: p.from.0, to: p.to.0 }).collect();
        let packets = match table.packets {
            PacketsInOutage::Drop => InOutage::Drop,
            PacketsInOutage::Hold => InOutage::Hold,
        };
        Outages::new(periods, packets, table.repeat.map(|q| q.0)).map_err(under(path))
    }
}
