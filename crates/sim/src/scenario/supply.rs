//! How fast an application has data to send.

use super::link::{OutagePeriod, RateSpec, text_or_table};
use super::quantity::Quantity;
use super::{ScenarioError, error};
use haltere_net::varying::{InOutage, Outages, Period, Supply};
use haltere_net::{Bytes, units};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::borrow::Cow;

/// Bytes that an application writes at once, if nothing is said of it.
const WRITE: Bytes = Bytes(4096);
/// The most, so that the size counted in bits is a number of 64 bits with room.
const MOST: Bytes = Bytes(1 << 30);

/// The data of an application over time, with all defaults filled in.
#[derive(Clone, Debug)]
pub struct Supplied {
    /// When each byte is there.
    pub supply: Supply,
    /// Bytes that are written at once.
    pub write: Bytes,
}

/// How fast the sending application has data: a constant rate, or a table.
#[derive(Clone, Debug)]
pub(super) enum SupplySpec {
    Constant(RateSpec),
    Model(SupplyTable),
}

/// How fast the sending application has data, and when it has none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SupplyTable")]
pub(super) struct SupplyTable {
    /// The rate.
    rate: RateSpec,
    /// When the application pauses, in order (default: never).
    #[serde(default)]
    pauses: Vec<OutagePeriod>,
    /// How much it writes at once (default 4096B).
    write: Option<Quantity<Bytes>>,
}

text_or_table!(
    SupplySpec,
    SupplyTable,
    |t: &str| units::parse_rate(t).map(|rate| SupplySpec::Constant(RateSpec::Constant(rate))),
    "Supply"
);

impl SupplySpec {
    /// The supply with all defaults; `path` is the path of the field.
    pub(super) fn supplied(&self, path: &str) -> Result<Supplied, ScenarioError> {
        let at = |field: &str| {
            if matches!(self, SupplySpec::Constant(_)) { path.to_string() } else { format!("{path}.{field}") }
        };
        let (rate, pauses, write) = match self {
            SupplySpec::Constant(rate) => (rate, [].as_slice(), WRITE),
            SupplySpec::Model(table) => (&table.rate, table.pauses.as_slice(), table.write.map_or(WRITE, |q| q.0)),
        };
        let speed = rate.speed(&at("rate"))?;
        if speed.trace.is_some() {
            return Err(error(at("rate.trace"), "an application has no trace: give a rate, or at and value"));
        }
        let Some(rate) = speed.rate.filter(|rate| rate.as_bps() > 0) else {
            return Err(error(at("rate"), "0: give a positive rate, and pauses for times without data"));
        };
        if write.0 == 0 || write > MOST {
            return Err(error(at("write"), format!("{}B: give from 1B to {}B", write.0, MOST.0)));
        }
        let periods: Vec<Period> = pauses.iter().map(|p| Period { from: p.from.0, to: p.to.0 }).collect();
        let pauses = (!periods.is_empty()).then(|| Outages::new(periods, InOutage::Hold, None)).transpose();
        let pauses = pauses.map_err(|wrong| error(at("pauses"), wrong.message))?;
        Ok(Supplied { supply: Supply::of_application(rate, speed.profile, pauses), write })
    }
}
