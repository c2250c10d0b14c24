//! Endpoints of the stacks that there are.

use crate::addresses::Addresses;
use crate::config::{Config, Error, Stack};
use crate::endpoint::StackEndpoint;
use crate::handles::Handles;
use crate::{noq, quinn, remote, worker};
use haltere_transport::Endpoint;

/// One end of a connection of a production stack.
///
/// # Errors
/// If the stack cannot be set up as the configuration asks; the error says what would be right.
pub fn endpoint(config: Config, handles: Handles) -> Result<Box<dyn Endpoint>, Error> {
    let secrets = handles.secrets.clone();
    let addresses = Addresses::new(config.addresses.clone()).map_err(Error::new)?;
    Ok(match config.stack {
        Stack::Quinn => Box::new(StackEndpoint::new(quinn::parts(config, handles)?, addresses, secrets)),
        Stack::Noq => Box::new(StackEndpoint::new(noq::parts(config, handles)?, addresses, secrets)),
        Stack::Quiche | Stack::Tquic => {
            Box::new(StackEndpoint::new(remote::parts(config, handles)?, addresses, secrets))
        }
    })
}

/// Whether a stack can run here.
///
/// # Errors
/// If it needs a worker program and that is missing; the error says how to build it.
pub fn ready(stack: Stack) -> Result<(), Error> {
    if Stack::WORKERS.contains(&stack) { worker::ready(stack) } else { Ok(()) }
}
