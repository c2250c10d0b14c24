//! The worker program (`crates/worker`), in which the stacks run that read the clock themselves; its clock is replaced
//! by the run's.
//!
//! Here are its process and the messages that pass: safe code without a dependency. One process serves all ends of a
//! run that share a [`Worker`]; it is started with the first and ends with the last. [`crate::remote`] makes an end of
//! it.

use crate::config::Stack;

#[cfg_attr(not(all(feature = "worker", unix)), path = "absent.rs")]
mod process;
#[allow(dead_code, reason = "each side reads what the other writes")]
pub(crate) mod protocol;

pub use process::Worker;
pub(crate) use process::ready;
#[cfg(all(test, feature = "worker", unix))]
pub(crate) use process::tests::worker_that;

/// A worker program. Each has a BoringSSL of its own, and two do not fit into one program.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Program {
    /// The environment variable that names it.
    variable: &'static str,
    /// The target of make that builds it.
    target: &'static str,
}

impl Program {
    /// The one in which a stack runs.
    const fn of(stack: Stack) -> Program {
        match stack {
            Stack::Tquic => Program { variable: "HALTERE_WORKER_TQUIC", target: "worker-tquic" },
            Stack::Quinn | Stack::Noq | Stack::Quiche => Program { variable: "HALTERE_WORKER", target: "worker" },
        }
    }
}
