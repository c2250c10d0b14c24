//! A run that stands still between steps, so that an agent outside can look at its flows and decide for them.

use crate::build::{Beside, Run, build};
use crate::fidelity::Fidelity;
use crate::run::Ends;
use crate::scenario::{Scenario, ScenarioError};
use haltere_net::Time;
use haltere_transport::cc::Desk;

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Advance {
    /// Its time came.
    Reached,
    /// It was stopped before its time.
    Stopped,
    /// All transfers are done.
    Finished,
    /// The scenario's time is over.
    TimeOver,
}

/// Whether agents can decide for flows of a scenario. `agents` has the desk of each with the number of its flow.
///
/// # Errors
///
/// The first flow for which none can, and why.
pub fn check(scenario: &Scenario, agents: &[(usize, Desk)]) -> Result<(), ScenarioError> {
    crate::build::agents::check(agents, &scenario.flows, Fidelity::Model)
}

/// A run in steps. It is the same run as [`crate::run()`] makes if the agents decide what its congestion controls would.
pub struct Steps {
    run: Run,
    ends: Ends,
    end: Time,
}

impl Steps {
    /// A run of the model at time zero. `agents` has the desk of each agent with the number of its flow.
    ///
    /// # Errors
    ///
    /// If the scenario cannot be run, or an agent cannot decide for its flow.
    pub fn new(
        scenario: &Scenario,
        seed_and_replication: (u64, u64),
        agents: &[(usize, Desk)],
    ) -> Result<Steps, ScenarioError> {
        let run = build(Fidelity::Model, scenario, seed_and_replication, Beside { agents, ..Beside::default() })?;
        Ok(Steps { ends: Ends::of(&run), run, end: Time::ZERO + scenario.end() })
    }

    /// The time of the run.
    pub fn now(&self) -> Time {
        self.run.world.now()
    }

    /// When the run is over at the latest.
    pub fn end(&self) -> Time {
        self.end
    }

    /// Runs until a time, and not beyond the scenario's end. `stop` is asked after each call of a process whether to stop there.
    ///
    /// # Errors
    ///
    /// If the run cannot go on: why.
    pub fn advance(&mut self, until: Time, mut stop: impl FnMut() -> bool) -> Result<Advance, String> {
        let (ends, mut finished) = (&mut self.ends, false);
        let outcome = self.run.world.run_ahead(until.min(self.end), |processes, called| {
            finished = ends.reached(processes, called);
            finished || stop()
        });
        if let Some(failure) = self.run.faults.raised() {
            return Err(failure.to_string());
        }
        match outcome {
            Err(stall) => Err(self.run.stalled(stall)),
            Ok(true) if finished => Ok(Advance::Finished),
            Ok(true) => Ok(Advance::Stopped),
            Ok(false) if until >= self.end => Ok(Advance::TimeOver),
            Ok(false) => Ok(Advance::Reached),
        }
    }
}
