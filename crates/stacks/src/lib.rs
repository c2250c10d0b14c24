//! Production QUIC stacks as endpoints of the simulator, in virtual time.
//!
//! The stacks are taken from the registry as they are: packets are real bytes, sealed by TLS 1.3, that travel through the
//! simulator's links as [`Body::Udp`](haltere_transport::Body::Udp). What a stack reads of its surroundings comes from the
//! run: the time from `Cx` ([`clock`]), its dice from a named stream ([`seeds`]), its certificate from a file ([`tls`]).
//! `docs/stacks.md` says what is not the run's and therefore differs between two runs: the bytes of TLS, not their
//! lengths; with [`Cipher::Null`] not even these.
//!
//! A stack is one implementation of [`machine::Machine`], a thin skin over its own types ([`quinn`], [`noq`]); what all
//! share (streams that count bytes, events, statistics, timers) stands in [`shell`]. A stack that reads the clock itself lives
//! in a program of its own and is the same skin over messages ([`mod@worker`], with the feature of that name).

mod bridge;
mod clock;
mod config;
mod machine;
mod memory;
mod meter;
mod noq;
mod null;
mod quinn;
mod secrets;
mod seeds;
mod shell;
mod tls;
#[cfg_attr(not(all(feature = "worker", unix)), path = "worker/absent.rs")]
mod worker;

pub use bridge::lacks;
pub use config::{Cipher, Config, Congestion, Error, Own, Sink, Stack, Windows};
pub use memory::Memory;
pub use secrets::Secrets;
pub use worker::Worker;

use haltere_transport::Endpoint;

/// One end of a connection of a production stack.
///
/// # Errors
/// If the stack cannot be set up as the configuration asks; the error says what would be right.
pub fn endpoint(config: Config) -> Result<Box<dyn Endpoint>, Error> {
    let secrets = config.secrets.clone();
    match config.stack {
        Stack::Quinn => Ok(Box::new(shell::Shell::new(quinn::parts(config)?, secrets))),
        Stack::Noq => Ok(Box::new(shell::Shell::new(noq::parts(config)?, secrets))),
        Stack::Quiche => worker::endpoint(config),
    }
}
