//! In the place of `process.rs` in a build without the feature `worker`, and on systems other than Unix.

use super::Program;
use super::protocol::{Answer, Turn};
use crate::config::{Error, Stack};

/// A worker program that the ends of one run share; there is none in this build.
#[derive(Clone, Default, Debug)]
pub struct Worker(());

impl Worker {
    pub(crate) fn new_end(&self, stack: Stack) -> Result<u32, Error> {
        ready(stack).map(|()| 0)
    }

    pub(crate) fn turn(&self, _: Stack, _: &Turn) -> Result<Answer, &'static str> {
        Err("there is no worker program in this build")
    }
}

pub(crate) fn ready(stack: Stack) -> Result<(), Error> {
    let (name, target) = (stack.describe().0, Program::of(stack).target);
    Err(Error::new(format!(
        "{name} runs in a worker program, and this build leaves that out: run `make {target}`, or write quic@quinn/…"
    )))
}
