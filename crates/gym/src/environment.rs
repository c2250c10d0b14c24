//! One run in steps.

use crate::agent::Agent;
use crate::interval::Interval;
use crate::plan::{Plan, slowest};
use haltere_net::Rate;
use haltere_net::rng::Streams;
use haltere_sim::steps::{Advance, Steps};
use haltere_transport::cc::Desk;
use std::sync::Arc;

/// How an episode stands after a step.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Outcome {
    /// Whether the transfers are done.
    pub terminated: bool,
    /// Whether it was cut off: the scenario's time is over, or the steps are.
    pub truncated: bool,
}

impl Outcome {
    /// Whether it is over.
    pub fn is_over(self) -> bool {
        self.terminated || self.truncated
    }
}

/// A run in steps, one episode after the other.
pub struct Environment {
    plan: Arc<Plan>,
    seed: u64,
    /// The number of the episode since the seed was set.
    episode: u64,
    /// The scenario of the episode.
    scenario: usize,
    steps: Option<Steps>,
    agents: Vec<Agent>,
    /// The last reward of each.
    rewards: Vec<f64>,
    taken: u32,
}

impl Environment {
    /// An environment that is to be reset first. Its episodes follow from the seed.
    pub fn new(plan: Arc<Plan>, seed: u64) -> Environment {
        Environment {
            plan,
            seed,
            episode: 0,
            scenario: 0,
            steps: None,
            agents: Vec::new(),
            rewards: Vec::new(),
            taken: 0,
        }
    }

    /// Its plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of the scenario of the episode, among those of the plan.
    pub fn scenario(&self) -> usize {
        self.scenario
    }

    /// The number of the episode since the seed was set.
    pub fn episode(&self) -> u64 {
        self.episode
    }

    /// Begins an episode: the first one of a seed, or the next one. It draws its scenario, and runs until the connection of an agent
    /// is established. Episode e of a seed is replication e of the run with this seed.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be run, or ends before a connection is established.
    pub fn reset(&mut self, seed: Option<u64>) -> Result<(), String> {
        match seed {
            Some(seed) => (self.seed, self.episode) = (seed, 0),
            None if self.steps.is_some() => self.episode += 1,
            None => {}
        }
        let plan = self.plan.clone();
        let mut dice = Streams::new(self.seed, self.episode).named("gym/scenario");
        self.scenario = dice.below(plan.scenarios.len() as u64) as usize;
        let desks: Vec<_> = plan.agents.iter().map(|flow| (*flow, Desk::new(plan.terms.action.command()))).collect();
        let at = self.scenario;
        let mut steps = Steps::new(&plan.scenarios[at], (self.seed, self.episode), &desks)
            .map_err(|error| format!("scenarios[{at}].{error}"))?;
        let watched = desks.clone();
        let established = move || watched.iter().any(|(_, desk)| desk.is_established());
        if !matches!(steps.advance(steps.end(), established)?, Advance::Stopped) {
            return Err(format!("scenarios[{at}]: the run is over before a connection of an agent is established"));
        }
        let now = steps.now();
        let link = plan.start.and_then(|range| Some((range, slowest(&plan.scenarios[at])?.0.as_bps() as f64)));
        let mut dice = Streams::new(self.seed, self.episode).named("gym/start");
        let mut start =
            || link.map(|((least, most), bps)| Rate::from_bps((bps * (least + (most - least) * dice.unit())) as u64));
        let agent = |(_, desk)| Agent::new(desk, start(), &plan.terms, now);
        self.agents = desks.into_iter().map(agent).collect();
        self.rewards = vec![0.0; self.agents.len()];
        (self.steps, self.taken) = (Some(steps), 0);
        Ok(())
    }

    /// Goes on for an interval. `actions` has one for each agent.
    ///
    /// # Errors
    ///
    /// If there was no reset, an action is no number, or the run cannot go on.
    pub fn step(&mut self, actions: &[f64]) -> Result<Outcome, String> {
        let plan = &*self.plan;
        let Some(steps) = &mut self.steps else { return Err("it was not reset: call reset before step".into()) };
        if actions.len() != self.agents.len() {
            return Err(format!("there are {} actions for {} agents", actions.len(), self.agents.len()));
        }
        if let Some(at) = actions.iter().position(|action| action.is_nan()) {
            return Err(format!("the action of agent {at} is no number"));
        }
        let began = steps.now();
        let terms = &plan.terms;
        for (agent, action) in self.agents.iter_mut().zip(actions) {
            agent.decide(*action, began, terms);
        }
        let rtt_s = self.agents.iter().map(|agent| agent.last.mean_rtt_s).fold(0.0, f64::max);
        let until = began + terms.pace.next(rtt_s);
        let reached = loop {
            let next = self.agents.iter_mut().filter_map(|agent| agent.act(steps.now(), terms)).min();
            let next = next.map_or(until, |due| due.min(until));
            match steps.advance(next, || false)? {
                Advance::Reached | Advance::Stopped if next < until => {}
                reached => break reached,
            }
        };
        let now = steps.now();
        for (agent, reward) in self.agents.iter_mut().zip(&mut self.rewards) {
            agent.look((began, now), terms);
            *reward = plan.reward.of(&agent.last, &agent.memory);
        }
        self.taken += 1;
        Ok(Outcome {
            terminated: reached == Advance::Finished,
            truncated: reached == Advance::TimeOver || plan.steps == Some(self.taken),
        })
    }

    /// Writes the observations of all agents, one after the other.
    pub fn observe(&self, into: &mut [f32]) {
        let parts = into.chunks_exact_mut(self.plan.terms.observation.len());
        self.agents.iter().zip(parts).for_each(|(agent, part)| agent.observe(part));
    }

    /// The last reward of each agent.
    pub fn rewards(&self) -> impl Iterator<Item = f64> + '_ {
        self.rewards.iter().copied()
    }

    /// The last interval of each agent.
    pub fn intervals(&self) -> impl Iterator<Item = &Interval> + '_ {
        self.agents.iter().map(|agent| &agent.last)
    }
}
