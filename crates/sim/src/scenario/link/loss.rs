//! Random loss in scenarios.

use super::text_or_table;
use crate::scenario::quantity::{Probability, Quantity};
use crate::scenario::{OfKind, ScenarioError, error};
use haltere_net::loss::LossModel;
use haltere_net::units;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use std::borrow::Cow;

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
    /// The name of the model.
    pub model: LossName,
    /// uniform: the probability.
    pub rate: Option<Quantity<Probability>>,
    /// gilbert-elliott: probability of going from the good state to the bad one, for each packet.
    pub good_to_bad: Option<Quantity<Probability>>,
    /// gilbert-elliott: probability of going back.
    pub bad_to_good: Option<Quantity<Probability>>,
    /// gilbert-elliott: loss probability in the bad state (default 100%).
    pub loss_in_bad: Option<Quantity<Probability>>,
    /// gilbert-elliott: loss probability in the good state (default 0%).
    pub loss_in_good: Option<Quantity<Probability>>,
    /// periodic: lose every n-th packet.
    pub every: Option<u64>,
    /// list: lose these packets, counted from 1.
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

text_or_table!(
    LossSpec,
    LossTable,
    |t: &str| units::parse_probability(t).map(|p| LossSpec::Uniform(Probability(p))),
    "Loss"
);

impl LossSpec {
    /// The loss model of a link; `path` is the path of the field.
    pub(in crate::scenario) fn model(&self, path: &str) -> Result<LossModel, ScenarioError> {
        match self {
            LossSpec::Uniform(Probability(p)) => Ok(LossModel::Uniform { p: *p }),
            LossSpec::Model(table) => table.model(path),
        }
    }
}

impl LossTable {
    fn model(&self, path: &str) -> Result<LossModel, ScenarioError> {
        let of = OfKind { path, what: "this loss model" };
        let given = [
            ("rate", self.rate.is_some()),
            ("good_to_bad", self.good_to_bad.is_some()),
            ("bad_to_good", self.bad_to_good.is_some()),
            ("loss_in_bad", self.loss_in_bad.is_some()),
            ("loss_in_good", self.loss_in_good.is_some()),
            ("every", self.every.is_some()),
            ("packets", self.packets.is_some()),
        ];
        of.only(
            match self.model {
                LossName::Uniform => &["rate"],
                LossName::GilbertElliott => &["good_to_bad", "bad_to_good", "loss_in_bad", "loss_in_good"],
                LossName::Periodic => &["every"],
                LossName::List => &["packets"],
            },
            &given,
        )?;
        match self.model {
            LossName::Uniform => Ok(LossModel::Uniform { p: of.needs("rate", self.rate)?.0.0 }),
            LossName::GilbertElliott => Ok(LossModel::GilbertElliott {
                good_to_bad: of.needs("good_to_bad", self.good_to_bad)?.0.0,
                bad_to_good: of.needs("bad_to_good", self.bad_to_good)?.0.0,
                loss_in_bad: self.loss_in_bad.map_or(1.0, |q| q.0.0),
                loss_in_good: self.loss_in_good.map_or(0.0, |q| q.0.0),
            }),
            LossName::Periodic => match of.needs("every", self.every)? {
                0 => Err(error(
                    format!("{path}.every"),
                    "0: give the number of packets from one loss to the next, from 1",
                )),
                every => Ok(LossModel::Periodic { every }),
            },
            LossName::List => {
                let packets = of.needs("packets", self.packets.clone())?;
                if packets.first() == Some(&0) || packets.windows(2).any(|w| w[0] >= w[1]) {
                    return Err(error(format!("{path}.packets"), "give ascending numbers, counted from 1"));
                }
                Ok(LossModel::List { packets })
            }
        }
    }
}
