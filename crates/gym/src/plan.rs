//! All that is fixed for an environment.

use crate::action::Action;
use crate::observation::Stacked;
use crate::reward::Reward;
use haltere_net::{Rate, Span};
use haltere_sim::scenario::ScenarioError;
use haltere_sim::{Scenario, steps};
use haltere_transport::cc::Desk;
use std::collections::BTreeSet;
use std::sync::Arc;

/// When agents decide.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// After a time.
    Every(Span),
    /// After so many mean RTTs of the last interval; with several agents, the largest of theirs counts.
    Rtts(f64),
}

/// The shortest interval by RTTs.
const SHORTEST: Span = Span::from_millis(1);
/// The RTT that is assumed before the first sample, s (RFC 6298 section 2.1).
const UNKNOWN_RTT_S: f64 = 1.0;

impl Pace {
    /// The length of the next interval; `rtt_s` is the RTT that counts.
    pub(crate) fn next(self, rtt_s: f64) -> Span {
        match self {
            Pace::Every(span) => span,
            Pace::Rtts(times) if rtt_s == 0.0 => Span::from_secs_f64(times * UNKNOWN_RTT_S).max(SHORTEST),
            Pace::Rtts(times) => Span::from_secs_f64(times * rtt_s).max(SHORTEST),
        }
    }
}

/// The terms on which an agent decides, wherever it does: in an environment, or as a [policy](crate::Policy) in any run.
#[derive(Clone, PartialEq, Debug)]
pub struct Terms {
    /// The observations of an agent.
    pub observation: Stacked,
    /// The meaning of its actions.
    pub action: Action,
    /// When it decides.
    pub pace: Pace,
    /// How long it takes from an observation until the action that answers it has effect.
    pub delay: Span,
}

fn wrong<T>(path: &str, message: &str) -> Result<T, ScenarioError> {
    Err(ScenarioError { path: path.into(), message: message.into() })
}

impl Terms {
    /// Whether an agent can decide on these terms.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong; the path is `observation`, `interval` or `rates`.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.observation.is_empty() {
            return wrong("observation", "it has no numbers: name a field, and a history of 1 at least");
        }
        match self.pace {
            Pace::Every(Span::ZERO) => return wrong("interval", "it is no time: give 1ns at least"),
            Pace::Rtts(times) if !(times > 0.0 && times.is_finite()) => {
                return wrong("interval", "it is no time: give a positive number of RTTs");
            }
            Pace::Every(_) | Pace::Rtts(_) => {}
        }
        match self.action.limits() {
            Some(limits) if limits.least > limits.most || limits.least == Rate::from_bps(0) => {
                wrong("rates", "the least is not between 0 and the most: give two rates, the smaller one first")
            }
            _ => Ok(()),
        }
    }
}

/// All that is fixed for an environment.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenarios of which each episode draws one.
    pub scenarios: Vec<Arc<Scenario>>,
    /// The number of each agent's flow.
    pub agents: Vec<usize>,
    /// When agents decide, on what grounds, and about what.
    pub terms: Terms,
    /// The rewards of an agent.
    pub reward: Reward,
    /// The rate at which a flow begins whose rate an agent decides: uniformly drawn between these two times the rate of the slowest
    /// link. Without it, a flow begins with the initial window per RTT.
    pub start: Option<(f64, f64)>,
    /// After so many steps an episode is cut off.
    pub steps: Option<u32>,
}

impl Plan {
    /// Whether environments can be made of it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong; the path is that of a field of the plan, `scenarios[i]` or a field of a scenario behind that.
    pub fn check(&self) -> Result<(), ScenarioError> {
        if self.scenarios.is_empty() {
            return wrong("scenarios", "there is none: give one at least");
        }
        if self.agents.is_empty() {
            return wrong("agents", "there is none: give the number of a flow, counted from 0");
        }
        self.terms.check()?;
        if self.steps == Some(0) {
            return wrong("steps", "an episode has no step: give 1 at least, or none for no limit");
        }
        if let Some((least, most)) = self.start
            && !(0.0 < least && least <= most && most.is_finite())
        {
            return wrong("start", "it is no range above 0: give two numbers, the smaller one first");
        }
        for (i, scenario) in self.scenarios.iter().enumerate() {
            self.check_scenario(scenario)
                .map_err(|error| ScenarioError { path: format!("scenarios[{i}].{}", error.path), ..error })?;
        }
        Ok(())
    }

    /// The names of the congestion controls in whose place agents decide, each once.
    pub fn controls(&self) -> Vec<String> {
        let flows =
            self.scenarios.iter().flat_map(|scenario| self.agents.iter().filter_map(|flow| scenario.flows.get(*flow)));
        let names: BTreeSet<_> = flows.map(|flow| flow.contender.congestion.clone()).collect();
        names.into_iter().collect()
    }

    fn check_scenario(&self, scenario: &Scenario) -> Result<(), ScenarioError> {
        let agents: Vec<_> = self.agents.iter().map(|flow| (*flow, Desk::new(self.terms.action.command()))).collect();
        steps::check(scenario, &agents)?;
        let wrong = |message: String| Err(ScenarioError { path: "topology".into(), message });
        match (self.terms.action.limits(), slowest(scenario)) {
            (Some(limits), Some((rate, name))) if rate > limits.most => wrong(format!(
                "an agent may send at most {}, and all links are faster; {name} has {rate}: give other rates",
                limits.most
            )),
            (_, None) if self.start.is_some() => {
                wrong("no link has a rate of which a flow could begin with a part: give one, or leave start out".into())
            }
            _ => Ok(()),
        }
    }
}

/// The rate of the slowest link whose rate does not change, with its name.
pub(crate) fn slowest(scenario: &Scenario) -> Option<(Rate, String)> {
    let links = scenario.topology.links().into_iter();
    links.filter_map(|(name, _, link)| Some((link.down.rate?, name))).min()
}
