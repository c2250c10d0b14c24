//! One run in steps.

use crate::interval::Interval;
use crate::observation::{History, Memory};
use crate::plan::{Plan, slowest};
use haltere_net::rng::Streams;
use haltere_net::{Rate, Time};
use haltere_sim::steps::{Advance, Steps};
use haltere_transport::cc::{Desk, Seen};
use std::collections::VecDeque;
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

/// An agent and its flow.
struct Agent {
    desk: Desk,
    /// The look at the flow when the interval began.
    before: Seen,
    last: Interval,
    memory: Memory,
    history: History,
    reward: f64,
    /// The rate at which its flow is to begin, if that is given.
    start: Option<Rate>,
    /// Whether its flow began: others may begin later.
    began: bool,
    /// Actions that have no effect yet, with the times at which they get it.
    pending: VecDeque<(Time, f64)>,
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
    taken: u32,
}

impl Environment {
    /// An environment that is to be reset first. Its episodes follow from the seed.
    pub fn new(plan: Arc<Plan>, seed: u64) -> Environment {
        Environment { plan, seed, episode: 0, scenario: 0, steps: None, agents: Vec::new(), taken: 0 }
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
        let desks: Vec<_> = plan.agents.iter().map(|flow| (*flow, Desk::new(plan.action.command()))).collect();
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
        let agent = |(_, desk)| Agent::new(desk, start(), &plan, now);
        self.agents = desks.into_iter().map(agent).collect();
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
        let due = began + plan.delay;
        for (agent, action) in self.agents.iter_mut().zip(actions) {
            agent.pending.push_back((due, *action));
        }
        let rtt_s = self.agents.iter().map(|agent| agent.last.mean_rtt_s).fold(0.0, f64::max);
        let until = began + plan.pace.next(rtt_s);
        let reached = loop {
            let next = self.agents.iter_mut().filter_map(|agent| agent.act(steps.now(), plan)).min();
            let next = next.map_or(until, |due| due.min(until));
            match steps.advance(next, || false)? {
                Advance::Reached | Advance::Stopped if next < until => {}
                reached => break reached,
            }
        };
        let now = steps.now();
        for agent in &mut self.agents {
            agent.look((began, now), plan);
        }
        self.taken += 1;
        Ok(Outcome {
            terminated: reached == Advance::Finished,
            truncated: reached == Advance::TimeOver || plan.steps == Some(self.taken),
        })
    }

    /// Writes the observations of all agents, one after the other.
    pub fn observe(&self, into: &mut [f32]) {
        let parts = into.chunks_exact_mut(self.plan.observation.len());
        self.agents.iter().zip(parts).for_each(|(agent, part)| agent.history.write(part));
    }

    /// The last reward of each agent.
    pub fn rewards(&self) -> impl Iterator<Item = f64> + '_ {
        self.agents.iter().map(|agent| agent.reward)
    }

    /// The last interval of each agent.
    pub fn intervals(&self) -> impl Iterator<Item = &Interval> + '_ {
        self.agents.iter().map(|agent| &agent.last)
    }
}

impl Agent {
    fn new(desk: Desk, start: Option<Rate>, plan: &Plan, now: Time) -> Agent {
        let began = desk.is_established();
        if began {
            plan.action.begin(start, &desk);
        }
        desk.begin(now);
        let before = desk.seen();
        Agent {
            last: Interval::between((now, &before), (now, &before), &Interval::default()),
            before,
            memory: Memory::default(),
            history: History::new(&plan.observation),
            reward: 0.0,
            start,
            began,
            pending: VecDeque::new(),
            desk,
        }
    }

    /// Gives effect to the actions whose time has come. Returns when the next one has its effect.
    fn act(&mut self, now: Time, plan: &Plan) -> Option<Time> {
        if !self.began && self.desk.is_established() {
            plan.action.begin(self.start, &self.desk);
            self.began = true;
        }
        while let Some((due, action)) = self.pending.front().copied() {
            if due > now {
                return Some(due);
            }
            self.pending.pop_front();
            // Before its connection is established, a flow has no rate or window that could be changed.
            if self.began {
                plan.action.apply(action, &self.desk);
            }
        }
        None
    }

    /// Looks at the interval that is over.
    fn look(&mut self, (began, now): (Time, Time), plan: &Plan) {
        let seen = self.desk.seen();
        self.last = Interval::between((began, &self.before), (now, &seen), &self.last);
        self.memory.note(&self.last);
        self.history.push(&plan.observation, &self.last, &self.memory);
        self.reward = plan.reward.of(&self.last, &self.memory);
        self.before = seen;
        self.desk.begin(now);
    }
}
