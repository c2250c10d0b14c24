//! From a link as a scenario writes it to what the network below knows of it.

use super::{DirectionSpec, Distribution, JitterSpec, LossName, LossSpec};
use crate::scenario::quantity::{Probability, Quantity};
use haltere_net::Span;
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};

impl DirectionSpec {
    /// This direction with all defaults filled in; lengths in bandwidth-delay products stay such.
    pub fn config(&self) -> LinkConfig {
        LinkConfig {
            rate: self.rate.map(|q| q.0),
            delay: self.delay.map_or(Span::ZERO, |q| q.0),
            mtu: self.mtu.map_or(1500, |q| q.0.0 as u32),
            // Whether the mark beside the queue fits it is checked before anything runs.
            queue: self.whole_queue().unwrap_or_default(),
            loss: loss_model(self.loss.as_ref()),
            jitter: jitter_model(self.jitter.as_ref()),
            duplication: self.duplication.map_or(0.0, |q| q.0.0),
            ..LinkConfig::default()
        }
    }
}

fn loss_model(spec: Option<&LossSpec>) -> LossModel {
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

fn jitter_model(spec: Option<&JitterSpec>) -> JitterModel {
    match spec {
        None => JitterModel::None,
        Some(JitterSpec::Spread(spread)) => JitterModel::Uniform { spread: *spread, reorder: false },
        Some(JitterSpec::Model(t)) => match t.distribution {
            Distribution::Uniform => JitterModel::Uniform { spread: t.spread.0, reorder: t.reorder },
            Distribution::Normal => JitterModel::Normal { sigma: t.spread.0, reorder: t.reorder },
        },
    }
}
