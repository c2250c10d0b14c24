//! Random loss in scenarios.

use super::text_or_table;
use crate::scenario::quantity::{Probability, Quantity};
use crate::scenario::{ScenarioError, error};
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

text_or_table!(
    LossSpec,
    LossTable,
    |t: &str| units::parse_probability(t).map(|p| LossSpec::Uniform(Probability(p))),
    "Loss"
);

impl LossSpec {
    /// Checks whether the model has its parameters.
    pub(in crate::scenario) fn check(&self, path: &str) -> Result<(), ScenarioError> {
        match self {
            LossSpec::Uniform(_) => Ok(()),
            LossSpec::Model(table) => table.check(path),
        }
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

impl LossSpec {
    /// The loss model of a link; none if nothing is given.
    pub(in crate::scenario) fn model(spec: Option<&LossSpec>) -> LossModel {
        let or = |q: Option<Quantity<Probability>>, default: f64| q.map_or(default, |q| q.0.0);
        match spec {
            None => LossModel::None,
            Some(LossSpec::Uniform(Probability(p))) => LossModel::Uniform { p: *p },
            Some(LossSpec::Model(t)) => match t.model {
                LossName::Uniform => LossModel::Uniform { p: or(t.rate, 0.0) },
                LossName::GilbertElliott => LossModel::GilbertElliott {
                    good_to_bad: or(t.good_to_bad, 0.0),
                    bad_to_good: or(t.bad_to_good, 1.0),
                    loss_in_bad: or(t.loss_in_bad, 1.0),
                    loss_in_good: or(t.loss_in_good, 0.0),
                },
                LossName::Periodic => LossModel::Periodic { every: t.every.unwrap_or(1) },
                LossName::List => LossModel::List { packets: t.packets.clone().unwrap_or_default() },
            },
        }
    }
}
