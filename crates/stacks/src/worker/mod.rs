//! Stacks that read the clock themselves, in a worker program of their own whose clock is interposed (`crates/worker`).
//!
//! Here is only the client of that program: safe code without a dependency. One process serves all ends of a run that
//! share a [`Worker`]; it is started with the first and ends with the last. Each end is a [`Machine`](crate::machine::Machine) that speaks to
//! it ([`remote`]), by the frames of [`protocol`].

mod process;
#[allow(dead_code, reason = "each side reads what the other writes")]
pub(crate) mod protocol;
mod remote;

use crate::config::{Config, Error, Stack};
use crate::shell::Shell;
use haltere_transport::Endpoint;
pub use process::Worker;

/// The environment variable that names the worker program.
pub const PROGRAM: &str = "HALTERE_WORKER";

/// Whether a stack's worker program is named.
///
/// # Errors
/// If it is not; the error says how to build it.
pub(crate) fn ready(stack: Stack) -> Result<(), Error> {
    process::program(stack).map(|_| ())
}

/// One end of a connection of such a stack.
pub(crate) fn endpoint(config: Config) -> Result<Box<dyn Endpoint>, Error> {
    let secrets = config.secrets.clone();
    Ok(Box::new(Shell::new(remote::Remote::parts(config)?, secrets)))
}
