//! Environments in which agents learn congestion control.
//!
//! An [`Environment`] is a run that stands still at decisions: each agent decides for the congestion control of one flow, the
//! run goes on for an interval, and the agent is given what its flow saw, and a reward. A [`Batch`] steps many environments at
//! once. What an environment returns depends on its plan, its seed and the actions alone, and on nothing beside it.
//!
//! | file | holds |
//! |---|---|
//! | `interval` | what a flow saw between two decisions |
//! | `action` | what the number means that an agent decides |
//! | `observation` | what an agent is given of the intervals |
//! | `reward` | the rewards of papers |
//! | `plan` | all that is fixed for an environment |
//! | `environment` | one run in steps |
//! | `batch` | many, and when they are reset |

mod action;
mod batch;
mod environment;
mod interval;
mod observation;
mod plan;
mod reward;

pub use action::{Action, Limits};
pub use batch::{Autoreset, Batch, Outcomes};
pub use environment::{Environment, Outcome};
pub use interval::{FIELDS, Field, Interval};
pub use observation::{Observation, Stacked};
pub use plan::{Pace, Plan};
pub use reward::Reward;
