//! Policies: agents that no longer learn, as congestion controls of any run.
//!
//! A policy sees, decides and acts by the same code as an agent in an [environment](crate::Environment), at the same times: when its
//! connection is established, and at the end of each interval. A flow with it sends the packets that it would send there.

use crate::agent::Agent;
use crate::plan::Terms;
use haltere_net::Time;
use haltere_net::fault::{Faults, Timer};
use haltere_net::registry::{Description, Maker};
use haltere_transport::Role;
use haltere_transport::cc::{self, Algorithm, Command, Config, CongestionController, Desk, Implementation, Startup};
use haltere_transport::mechanisms::settable_window;
use std::fmt;

/// Returns the action that answers an observation, or why there is none.
pub type Decide = Box<dyn Fn(&[f32]) -> Result<f64, String> + Send + Sync>;

/// A policy, and how it is used.
pub struct Policy {
    /// Its name in contenders, summary and reference.
    pub description: Description,
    /// Its name in messages.
    pub shown: &'static str,
    /// Its name in figures.
    pub label: &'static str,
    /// When it decides, on what grounds, and about what.
    pub terms: Terms,
    /// The congestion control in whose place it decides. The other end of the connection has this one, and with the action
    /// [`Orca`](crate::Action::Orca) its window is what the policy changes.
    pub control: Algorithm,
    /// The policy itself.
    pub decide: Decide,
}

impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Policy { shown, terms, control, .. } = self;
        f.debug_struct("Policy").field("shown", shown).field("terms", terms).field("control", control).finish()
    }
}

impl Policy {
    /// The policy as a congestion control. It decides for the end that serves, as an agent of an environment does, with a state of its
    /// own for each path.
    ///
    /// # Errors
    ///
    /// If it cannot decide on these terms; the error names what is wrong.
    pub fn implementation(self) -> Result<Implementation, String> {
        self.terms.check().map_err(|error| error.to_string())?;
        let adjusts = self.terms.action.command() == Command::Adjustment;
        if adjusts && !settable_window(self.control) {
            let name = self.control.name();
            return Err(format!(
                "control: {name} has no window that could be adjusted: give a window-based one, as cubic"
            ));
        }
        let policy: &'static Policy = Box::leak(Box::new(self));
        Ok(Implementation {
            description: policy.description,
            label: policy.label,
            shade: None,
            linux: None,
            slow_start: if adjusts { policy.control.slow_start } else { Startup::Own },
            heeds: if adjusts { policy.control.heeds } else { &[] },
            parameters: &[],
            values: &[],
            build: Maker::Loaded(Box::leak(Box::new(move |config| policy.controller(config)))),
            ..*policy.control.0
        })
    }

    fn controller(&'static self, config: Config) -> Box<dyn CongestionController> {
        if config.role == Role::Client {
            return self.control.build(config);
        }
        let desk = Desk::new(self.terms.action.command());
        let seat = Seat {
            policy: self,
            arriving: Some(desk.clone()),
            agent: None,
            interval: (Time::ZERO, Time::ZERO),
            effect: None,
            observation: vec![0.0; self.terms.observation.len()],
            faults: config.faults.clone().unwrap_or_default(),
            failed: false,
        };
        cc::follower(desk, Box::new(seat), self.control, config)
    }
}

/// A policy at the desk of a path.
struct Seat {
    policy: &'static Policy,
    /// The desk, until the first call.
    arriving: Option<Desk>,
    agent: Option<Agent>,
    /// When the interval began, and when it ends.
    interval: (Time, Time),
    /// When an action has its effect next.
    effect: Option<Time>,
    observation: Vec<f32>,
    faults: Faults,
    failed: bool,
}

impl Timer for Seat {
    fn due(&self) -> Option<Time> {
        let agent = self.agent.as_ref().filter(|agent| !self.failed && !agent.is_alone());
        agent.map(|_| self.effect.map_or(self.interval.1, |effect| effect.min(self.interval.1)))
    }

    fn fire(&mut self, now: Time) {
        let terms = &self.policy.terms;
        if let Some(desk) = self.arriving.take() {
            self.agent = Some(Agent::new(desk, None, terms, now));
            self.interval = (now, now);
        }
        let Some(agent) = &mut self.agent else { return };
        let (began, ends) = self.interval;
        if now >= ends {
            if began < now {
                agent.look((began, now), terms);
            }
            agent.observe(&mut self.observation);
            match (self.policy.decide)(&self.observation) {
                Ok(action) if !action.is_nan() => agent.decide(action, now, terms),
                decided => {
                    let reason = decided.err().unwrap_or_else(|| nan(&self.observation));
                    let at = now.as_secs_f64();
                    self.faults.raise(format!("{}: at {at:.3} s: {reason}", self.policy.shown));
                    self.failed = true;
                    return;
                }
            }
            self.interval = (now, now + terms.pace.next(agent.last.mean_rtt_s));
        }
        self.effect = agent.act(now, terms);
    }
}

/// The message that an observation was answered by no number.
fn nan(observation: &[f32]) -> String {
    let most = observation.iter().copied().fold(0.0, |most: f32, x| most.max(x.abs()));
    format!(
        "its action is no number (NaN); the largest number of its observation was {most}: bound what the model computes with"
    )
}
