//! In the place of [`crate::worker`] in a build without the feature of that name.

use crate::config::{Config, Error, Stack};
use haltere_transport::Endpoint;

/// A worker program that the ends of one run share; there is none in this build.
#[derive(Clone, Default, Debug)]
pub struct Worker(());

pub(crate) fn ready(stack: Stack) -> Result<(), Error> {
    let name = stack.describe().0;
    Err(Error::new(format!(
        "{name} runs in a worker program, and this build leaves that out: run `make worker`, or write quic@quinn/…"
    )))
}

pub(crate) fn endpoint(config: Config) -> Result<Box<dyn Endpoint>, Error> {
    Err(match ready(config.stack) {
        Err(error) => error,
        Ok(()) => Error::new("there is no worker program in this build"),
    })
}
