//! The stacks that there are. Each states itself in an `ENTRY` beside its adapter, and has a line here.

use crate::config::{Config, Error};
use crate::handles::Handles;
use crate::{remote, worker};
use haltere_net::nearest::meant;
use haltere_net::registry::{Description, Handle};
use haltere_transport::Endpoint;

/// The protocol of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// QUIC.
    Quic,
    /// RTP, as WebRTC has it.
    Rtp,
}

/// A production stack as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name in contenders, summary and reference.
    pub description: Description,
    /// The version that is built in.
    pub version: &'static str,
    /// Its protocol.
    pub protocol: Protocol,
    /// The schedulers of its multipath QUIC by our names for them, the default first; none if it has one path.
    pub schedulers: &'static [&'static str],
    /// Its own congestion controls, as far as they draw no random numbers of their own.
    pub own: &'static [&'static str],
    /// Its own congestion controls that are refused, each with the reason.
    pub refused: &'static [(&'static str, &'static str)],
    /// Whether its connections can carry calls: it has DATAGRAM frames and unidirectional streams here.
    pub calls: bool,
    /// Whether it runs inside the simulator: always there, and with all that stacks have here. Others run in a worker program.
    pub inside: bool,
    /// Makes one end of a connection.
    pub build: fn(Config, Handles) -> Result<Box<dyn Endpoint>, Error>,
}

/// A production stack, as configurations hold it.
pub type Stack = Handle<Implementation>;

impl Implementation {
    /// A stack inside the simulator, with one path. `build` makes one end of a connection.
    pub const fn new(
        description: Description,
        version: &'static str,
        own: &'static [&'static str],
        build: fn(Config, Handles) -> Result<Box<dyn Endpoint>, Error>,
    ) -> Implementation {
        Implementation {
            description,
            version,
            protocol: Protocol::Quic,
            schedulers: &[],
            own,
            refused: &[],
            calls: false,
            inside: true,
            build,
        }
    }

    /// A stack in a worker program, with one path.
    pub const fn in_worker(
        description: Description,
        version: &'static str,
        own: &'static [&'static str],
    ) -> Implementation {
        Implementation { inside: false, ..Implementation::new(description, version, own, remote::endpoint) }
    }

    /// Its own congestion control called `name`.
    ///
    /// # Errors
    /// If it has none of this name, or one whose runs could not be repeated; the error says what would be right.
    pub fn congestion(&self, name: &str) -> Result<&'static str, Error> {
        let stack = self.description.name;
        if let Some(own) = self.own.iter().find(|own| **own == name) {
            return Ok(own);
        }
        let meant = meant(name, self.own.iter().copied());
        let refused = self.refused.iter().find(|(refused, _)| *refused == name);
        Err(Error::new(match refused {
            Some((_, why)) => {
                format!(
                    "{stack}'s own {name} {why}: add +haltere for our algorithm inside {stack}, as in quic@{stack}/bbr+haltere"
                )
            }
            None if self.protocol == Protocol::Rtp => format!(
                "{stack} has no congestion control {name:?}: {meant}there are {}; or write rtp/{name} for the model",
                self.own.join(", ")
            ),
            None if self.inside => format!(
                "{stack} has no congestion control {name:?} of its own: {meant}there are {}; with +haltere, any of ours",
                self.own.join(" and ")
            ),
            None => format!("{stack} has no congestion control {name:?}: {meant}there are {}", self.own.join(", ")),
        }))
    }

    /// Whether it can run here.
    ///
    /// # Errors
    /// If it needs a worker program and that is missing; the error says how to build it.
    pub fn ready(&self) -> Result<(), Error> {
        if self.inside { Ok(()) } else { worker::ready(self.description.name) }
    }
}

/// One end of a connection of a production stack.
///
/// # Errors
/// If the stack cannot be set up as the configuration asks; the error says what would be right.
pub fn endpoint(config: Config, handles: Handles) -> Result<Box<dyn Endpoint>, Error> {
    (config.stack.build)(config, handles)
}

#[cfg(test)]
mod tests {
    use super::{Protocol, Stack};

    #[test]
    fn versions_are_those_that_are_built() {
        let (own, workers) = (include_str!("../../../Cargo.lock"), include_str!("../../worker/Cargo.lock"));
        for stack in Stack::ALL {
            let (lock, suffix) = match stack.protocol {
                Protocol::Quic if stack.inside => (own, "-proto"),
                Protocol::Rtp => (own, ""),
                Protocol::Quic => (workers, ""),
            };
            let entry = format!("name = \"{}{suffix}\"\nversion = \"{}\"\n", stack.name(), stack.version);
            assert!(lock.contains(&entry), "{entry}");
        }
    }
}
