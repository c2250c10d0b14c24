//! The worker programs (`crates/worker`), in which the stacks run that read the clock themselves; their clock is replaced
//! by the run's. Each of them has one stack, as two BoringSSLs do not fit into one program.
//!
//! Here are its process and the messages that pass: safe code without a dependency. One process serves all ends of a
//! run that share a [`Worker`]; it is started with the first and ends with the last. [`crate::remote`] makes an end of
//! it.

#[cfg_attr(not(all(feature = "worker", unix)), path = "absent.rs")]
mod process;
#[allow(dead_code, reason = "each side reads what the other writes")]
pub(crate) mod protocol;

pub use process::Worker;
pub(crate) use process::ready;
#[cfg(all(test, feature = "worker", unix))]
pub(crate) use process::tests::worker_that;

/// The environment variable that names a stack's worker program, and the target of make that builds it.
fn variable_and_target(stack: &str) -> (String, String) {
    (format!("HALTERE_WORKER_{}", stack.to_uppercase()), format!("worker-{stack}"))
}
