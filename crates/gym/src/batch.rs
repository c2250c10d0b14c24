//! Many environments, stepped at once by several threads.

use crate::environment::{Environment, Outcome};
use crate::interval::FIELDS;
use crate::plan::Plan;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// When an environment whose episode is over is reset (`gymnasium.vector.AutoresetMode`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Autoreset {
    /// By the next step, which ignores its action and has the reward 0.
    NextStep,
    /// In the same step, which returns the first observation of the next episode, and the last one of this beside it.
    SameStep,
    /// By its user.
    Disabled,
}

/// An environment and what it returned last.
struct Slot {
    environment: Environment,
    over: bool,
    outcome: Outcome,
    observation: Vec<f32>,
    /// The observation at the end of an episode, if the step ended one and began the next.
    last: Option<Vec<f32>>,
    rewards: Vec<f64>,
    intervals: Vec<f64>,
}

/// The answers of all environments: for each its part, one after the other.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Outcomes {
    /// Observations, of each agent.
    pub observations: Vec<f32>,
    /// Rewards, of each agent.
    pub rewards: Vec<f64>,
    /// Whether the episode's transfers are done: 0 or 1.
    pub terminated: Vec<u8>,
    /// Whether the episode was cut off: 0 or 1.
    pub truncated: Vec<u8>,
    /// The numbers of the last interval ([`FIELDS`]), of each agent.
    pub intervals: Vec<f64>,
    /// The number of the scenario of each environment's episode.
    pub scenarios: Vec<u32>,
    /// The observations at the end of the episodes that a step ended and followed by others, with the environments' numbers.
    pub last: Vec<(usize, Vec<f32>)>,
}

/// Many environments of one plan.
pub struct Batch {
    slots: Vec<Mutex<Slot>>,
    autoreset: Autoreset,
    threads: usize,
    agents: usize,
}

impl Batch {
    /// `count` environments that are to be reset first. Environment i has the seed `seed` + i. `threads` step them.
    pub fn new(plan: Plan, count: usize, seed: u64, autoreset: Autoreset, threads: usize) -> Batch {
        let plan = Arc::new(plan);
        let agents = plan.agents.len();
        let slot = |i: usize| Slot {
            environment: Environment::new(plan.clone(), seed.wrapping_add(i as u64)),
            over: false,
            outcome: Outcome::default(),
            observation: vec![0.0; plan.terms.observation.len() * agents],
            last: None,
            rewards: vec![0.0; agents],
            intervals: vec![0.0; agents * FIELDS.len()],
        };
        Batch {
            slots: (0..count).map(|i| Mutex::new(slot(i))).collect(),
            autoreset,
            threads: threads.clamp(1, count.max(1)),
            agents,
        }
    }

    /// How many environments there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Begins an episode in each environment for which `which` says so: with the seed that is given for it, or the next one.
    ///
    /// # Errors
    ///
    /// If one cannot begin: its number and why.
    pub fn reset(&mut self, seeds: &[Option<u64>], which: &[bool]) -> Result<Outcomes, String> {
        if seeds.len() != self.len() || which.len() != self.len() {
            return Err(format!("there are {} environments: give each a seed, or none", self.len()));
        }
        self.each(|i, slot| if which[i] { slot.begin(seeds[i]) } else { Ok(()) })?;
        Ok(self.outcomes())
    }

    /// Goes on for an interval in each environment. `actions` has those of all agents of the first environment, then of the next.
    ///
    /// # Errors
    ///
    /// If one cannot go on: its number and why.
    pub fn step(&mut self, actions: &[f64]) -> Result<Outcomes, String> {
        let (agents, autoreset) = (self.agents, self.autoreset);
        if actions.len() != agents * self.len() {
            return Err(format!("there are {} actions: give {}", actions.len(), agents * self.len()));
        }
        self.each(|i, slot| slot.step(&actions[i * agents..(i + 1) * agents], autoreset))?;
        Ok(self.outcomes())
    }

    /// Does something to every environment. The threads take them one by one, as some take longer than others.
    fn each(&self, work: impl Fn(usize, &mut Slot) -> Result<(), String> + Sync) -> Result<(), String> {
        let (next, failure) = (AtomicUsize::new(0), Mutex::new(None::<(usize, String)>));
        let take = || {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(slot) = self.slots.get(i) else { return };
                let done = work(i, &mut slot.lock().unwrap_or_else(PoisonError::into_inner));
                if let Err(message) = done {
                    let mut failure = failure.lock().unwrap_or_else(PoisonError::into_inner);
                    // The first in number is told, whichever thread was faster.
                    if failure.as_ref().is_none_or(|(other, _)| i < *other) {
                        *failure = Some((i, message));
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..self.threads {
                scope.spawn(take);
            }
            take();
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((_, message)) if self.len() == 1 => Err(message),
            Some((i, message)) => Err(format!("environment {i}: {message}")),
        }
    }

    fn outcomes(&mut self) -> Outcomes {
        let mut all = Outcomes::default();
        for (i, slot) in self.slots.iter_mut().enumerate() {
            let slot = slot.get_mut().unwrap_or_else(PoisonError::into_inner);
            all.observations.extend(&slot.observation);
            all.rewards.extend(&slot.rewards);
            all.terminated.push(slot.outcome.terminated.into());
            all.truncated.push(slot.outcome.truncated.into());
            all.intervals.extend(&slot.intervals);
            all.scenarios.push(slot.environment.scenario() as u32);
            all.last.extend(slot.last.take().map(|last| (i, last)));
        }
        all
    }
}

impl Slot {
    fn begin(&mut self, seed: Option<u64>) -> Result<(), String> {
        self.environment.reset(seed)?;
        (self.over, self.outcome) = (false, Outcome::default());
        self.rewards.fill(0.0);
        self.look();
        Ok(())
    }

    fn step(&mut self, actions: &[f64], autoreset: Autoreset) -> Result<(), String> {
        if self.over {
            return match autoreset {
                Autoreset::NextStep => self.begin(None),
                _ => Err("its episode is over: call reset before step".into()),
            };
        }
        let outcome = self.environment.step(actions)?;
        self.rewards.iter_mut().zip(self.environment.rewards()).for_each(|(into, reward)| *into = reward);
        self.look();
        if outcome.is_over() && autoreset == Autoreset::SameStep {
            let (last, rewards, intervals) = (self.observation.clone(), self.rewards.clone(), self.intervals.clone());
            self.begin(None)?;
            // The numbers of the step that ended the episode stay; the observation is that of the next one.
            (self.last, self.rewards, self.intervals) = (Some(last), rewards, intervals);
        } else {
            self.over = outcome.is_over();
        }
        self.outcome = outcome;
        Ok(())
    }

    fn look(&mut self) {
        self.environment.observe(&mut self.observation);
        let parts = self.intervals.chunks_exact_mut(FIELDS.len());
        parts.zip(self.environment.intervals()).for_each(|(into, from)| into.copy_from_slice(&from.values()));
    }
}
