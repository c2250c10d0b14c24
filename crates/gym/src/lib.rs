//! Environments in which agents learn congestion control.
//!
//! An [`Environment`] is a run that stands still at decisions: each agent decides for the congestion control of one flow, the
//! run goes on for an interval, and the agent is given what its flow saw, and a reward. A [`Batch`] steps many environments at
//! once. What an environment returns depends on its plan, its seed and the actions alone, and on nothing beside it. A [`Policy`] is
//! an agent that decides by itself in any run.
//!
//! | file | holds |
//! |---|---|
//! | `interval` | what a flow saw between two decisions |
//! | `action` | what the number means that an agent decides |
//! | `observation` | what an agent is given of the intervals |
//! | `reward` | the rewards of papers |
//! | `plan` | all that is fixed for an environment |
//! | `agent` | an agent's seat: what it is given, and what becomes of its actions |
//! | `environment` | one run in steps |
//! | `batch` | many, and when they are reset |
//! | `policy` | an agent as a congestion control of any run |

mod action;
mod agent;
mod batch;
mod environment;
mod interval;
mod observation;
mod plan;
mod policy;
mod reward;

pub use action::{Action, Limits};
pub use batch::{Autoreset, Batch, Outcomes};
pub use environment::{Environment, Outcome};
pub use interval::{FIELDS, Field, Interval};
pub use observation::{Observation, Stacked};
pub use plan::{Pace, Plan, Terms};
pub use policy::{Decide, Policy};
pub use reward::Reward;
