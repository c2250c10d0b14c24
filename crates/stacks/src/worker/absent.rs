//! In the place of `process.rs` in a build without the feature `worker`, and on systems other than Unix.

use super::protocol::{Answer, Turn};
use super::variable_and_target;
use crate::config::Error;

/// A worker program that the ends of one run share; there is none in this build.
#[derive(Clone, Default, Debug)]
pub struct Worker(());

impl Worker {
    pub(crate) fn new_end(&self, stack: &str) -> Result<u32, Error> {
        ready(stack).map(|()| 0)
    }

    pub(crate) fn turn(&self, _: &str, _: &Turn) -> Result<Answer, &'static str> {
        Err("there is no worker program in this build")
    }
}

pub(crate) fn ready(stack: &str) -> Result<(), Error> {
    let (_, target) = variable_and_target(stack);
    Err(Error::new(format!(
        "{stack} runs in a worker program, and this build leaves that out: run `make {target}`, or write quic@quinn/…"
    )))
}
