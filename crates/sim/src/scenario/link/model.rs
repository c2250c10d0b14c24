//! Converts a link of a scenario to the configuration of a link in the network crate.

use super::{DirectionSpec, Distribution, JitterSpec, LossSpec};
use crate::scenario::ScenarioError;
use haltere_net::Span;
use haltere_net::link::LinkConfig;
use haltere_net::loss::JitterModel;

impl DirectionSpec {
    /// This direction with all defaults filled in. Lengths in bandwidth-delay products are kept. If a rate or a delay
    /// changes with time, `rate` and `delay` have its largest value.
    ///
    /// # Errors
    /// If a function of time is invalid. The error's path begins with `path`.
    pub fn config(&self, path: &str) -> Result<LinkConfig, ScenarioError> {
        let speed = self.rate.as_ref().map(|rate| rate.speed(&format!("{path}.rate"))).transpose()?.unwrap_or_default();
        let course = self.delay.as_ref().map(|delay| delay.course(&format!("{path}.delay"))).transpose()?;
        let (delay, delay_profile, delay_reorders) = course.unwrap_or((Span::ZERO, None, false));
        let outages = self.outage.as_ref().map(|outage| outage.outages(&format!("{path}.outage"))).transpose()?;
        Ok(LinkConfig {
            rate: speed.rate,
            trace: speed.trace,
            rate_profile: speed.profile,
            delay,
            delay_profile,
            orbit: None,
            delay_reorders,
            outages,
            cellular: self.cellular.map(|cellular| cellular.config()),
            mtu: self.mtu.map_or(1500, |q| q.0.0 as u32),
            // Whether `mark` beside the queue is allowed is checked before anything runs.
            queue: self.whole_queue().unwrap_or_default(),
            // So is the ring.
            ring: self.whole_ring().unwrap_or_default(),
            loss: LossSpec::model(self.loss.as_ref()),
            jitter: jitter_model(self.jitter.as_ref()),
            duplication: self.duplication.map_or(0.0, |q| q.0.0),
        })
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
