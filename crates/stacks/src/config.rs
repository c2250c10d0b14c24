//! The configuration of a stack's endpoint: plain data, which can be copied and compared. Live objects that endpoints
//! share with others are in [`Handles`](crate::Handles).

use crate::addresses::AddressPair;
use haltere_net::PathId;
use haltere_transport::Role;
use haltere_transport::cc::{Algorithm, RenoFriendly, SlowStart};
use haltere_transport::quic::Session;
use std::fmt;

/// Why an endpoint cannot be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(what: impl fmt::Display) -> Error {
        Error(what.to_string())
    }
}
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl std::error::Error for Error {}

/// The stacks there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stack {
    /// quinn-proto.
    Quinn,
    /// noq-proto.
    Noq,
    /// quiche, in a worker program.
    Quiche,
    /// tquic, in a worker program.
    Tquic,
}

/// A stack's own congestion controls, as far as they draw no random numbers of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Own {
    /// CUBIC, the default of both.
    Cubic,
    /// NewReno.
    NewReno,
    /// BBRv2 as quiche has it.
    Bbr2,
    /// BBR as tquic has it.
    Bbr,
    /// BBRv3 as tquic has it.
    Bbr3,
    /// Copa.
    Copa,
}

impl Own {
    /// Its name in contenders.
    pub const fn name(self) -> &'static str {
        match self {
            Own::Cubic => "cubic",
            Own::NewReno => "newreno",
            Own::Bbr2 => "bbr2",
            Own::Bbr => "bbr",
            Own::Bbr3 => "bbr3",
            Own::Copa => "copa",
        }
    }
}

impl Stack {
    /// Stacks that run inside the simulator: always there, and with all that stacks have here.
    pub const ALL: [Stack; 2] = [Stack::Quinn, Stack::Noq];
    /// Stacks that need a worker program.
    pub const WORKERS: [Stack; 2] = [Stack::Quiche, Stack::Tquic];

    /// Its name in contenders, and what it is.
    pub const fn describe(self) -> (&'static str, &'static str) {
        match self {
            Stack::Quinn => ("quinn", "quinn-proto, unmodified: the QUIC of the quinn crate"),
            Stack::Noq => ("noq", "noq-proto, unmodified: descends from quinn"),
            Stack::Quiche => ("quiche", "quiche with BoringSSL, unmodified, in a worker program"),
            Stack::Tquic => ("tquic", "tquic with BoringSSL, unmodified, in a worker program"),
        }
    }

    /// Its crate's version.
    pub const fn version(self) -> &'static str {
        match self {
            Stack::Quinn => "0.11.19",
            Stack::Noq => "1.4.0",
            Stack::Quiche => "0.30.0",
            Stack::Tquic => "1.6.0",
        }
    }

    /// The schedulers of its multipath QUIC by our names for them, the default first; none if it has one path.
    pub const fn schedulers(self) -> &'static [&'static str] {
        match self {
            Stack::Quinn | Stack::Quiche => &[],
            Stack::Noq => &["priority"],
            Stack::Tquic => &["lowest-rtt", "round-robin", "redundant"],
        }
    }

    /// Its own congestion controls.
    pub const fn own(self) -> &'static [Own] {
        match self {
            Stack::Quinn | Stack::Noq => &[Own::Cubic, Own::NewReno],
            Stack::Quiche => &[Own::Cubic, Own::NewReno, Own::Bbr2],
            Stack::Tquic => &[Own::Cubic, Own::Bbr, Own::Bbr3, Own::Copa],
        }
    }

    /// Its own congestion controls that are refused, each with the reason.
    pub const fn refused(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Stack::Quinn => &[(
                "bbr",
                "draws random numbers of the operating system's for its gain cycle: runs could not be repeated",
            )],
            Stack::Noq => &[(
                "bbr3",
                "draws random numbers of the operating system's for its probing times: runs could not be repeated",
            )],
            Stack::Quiche | Stack::Tquic => &[],
        }
    }

    /// The stack called `name`.
    pub fn named(name: &str) -> Option<Stack> {
        Stack::ALL.into_iter().chain(Stack::WORKERS).find(|s| s.describe().0 == name)
    }

    /// Its own congestion control called `name`.
    ///
    /// # Errors
    /// If it has none of this name, or one whose runs could not be repeated; the error says what would be right.
    pub fn congestion(self, name: &str) -> Result<Own, Error> {
        let (stack, _) = self.describe();
        if let Some(own) = self.own().iter().find(|own| own.name() == name) {
            return Ok(*own);
        }
        let refused = self.refused().iter().find(|(refused, _)| *refused == name);
        Err(Error::new(match refused {
            Some((_, why)) => {
                format!("{stack}'s own {name} {why}: write quic@{stack}/bbr+haltere for our algorithm inside {stack}")
            }
            None if Stack::WORKERS.contains(&self) => {
                let own: Vec<_> = self.own().iter().map(|own| own.name()).collect();
                format!("{stack} has no congestion control {name:?}: there are {}", own.join(", "))
            }
            None => format!(
                "{stack} has no congestion control {name:?} of its own: there are cubic and newreno; with +haltere, any of ours"
            ),
        }))
    }
}

/// The congestion control inside a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// The stack's own.
    Own(Own),
    /// One of ours, through the stack's controller trait, with slow start's exit if one is chosen, and CUBIC's rule where
    /// Reno would have the larger window.
    Ours(Algorithm, Option<SlowStart>, RenoFriendly),
}

/// The cipher of packets.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Cipher {
    /// TLS 1.3 by rustls and ring.
    #[default]
    Tls,
    /// Nothing: the same lengths, plain bytes, a checksum for a tag.
    Null,
}

/// Flow-control windows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Windows {
    /// So large that nothing but congestion control limits a flow: see [`Windows::WIDE`]. Streams are then read as
    /// bytes come and put in order here, for the stacks hold no more than 1024 pieces beyond a gap and end the
    /// connection when there are more (`assembler.rs`, `MAX_CHUNKS`), which one slow start on a fast long path brings
    /// about.
    #[default]
    Wide,
    /// The stack's own: 1.25 MB a stream, 10 MB unacknowledged, for 100 Mbit/s × 100 ms; read in order, as programs do.
    Stock,
}

impl Windows {
    /// Receive windows of a stream and of the connection, and the send window, bytes: what the model's windows may grow
    /// to ([`haltere_transport::quic::Config`]), from the start, for the stacks' do not grow; the send window holds
    /// both.
    pub const WIDE: (u32, u32, u64) = (64 << 20, 96 << 20, 128 << 20);
}

/// One end of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which end it is.
    pub role: Role,
    /// The stack.
    pub stack: Stack,
    /// The congestion control.
    pub congestion: Congestion,
    /// The cipher of packets.
    pub cipher: Cipher,
    /// Flow-control windows.
    pub windows: Windows,
    /// The addresses of the connection's paths: path `k` has the `k`-th pair. The handshake is made on path 0.
    pub addresses: Vec<AddressPair>,
    /// Whether the connection may use all its paths at the same time (multipath QUIC). Otherwise it has one path, and the
    /// further addresses are those to which the client may move.
    pub multipath: bool,
    /// Which of several paths a packet takes, by the name of one of the stack's schedulers ([`Stack::schedulers`]); the
    /// first of them, if none is named.
    pub scheduler: Option<&'static str>,
    /// The largest UDP payload that path MTU discovery looks for, bytes; at least 1200.
    pub max_udp_payload: u16,
    /// Whether the session of an earlier connection is resumed, and whether streams may be opened before the handshake
    /// is over. Both ends must agree, and need the [`Memory`](crate::Memory) of that connection.
    pub session: Session,
    /// Whether the server validates addresses by a Retry packet (RFC 9000 section 8.1.2). The client then keeps no
    /// address tokens, which would make the Retry packet unnecessary.
    pub retry: bool,
    /// Whether the client tries draft-29 first, and the server supports version 1 alone (section 6). The stacks end
    /// such a connection; another is begun in its place.
    pub unknown_version: bool,
    /// Whether the distribution of RTT samples is kept for results, not only their mean. Default false.
    pub rtts: bool,
}

impl Config {
    /// The defaults of an end.
    pub fn new(role: Role, stack: Stack, congestion: Congestion) -> Config {
        Config {
            role,
            stack,
            congestion,
            cipher: Cipher::default(),
            windows: Windows::default(),
            addresses: vec![AddressPair::of_path(role, PathId(0))],
            multipath: false,
            scheduler: None,
            max_udp_payload: 1472,
            session: Session::default(),
            retry: false,
            unknown_version: false,
            rtts: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_are_built() {
        let lock = include_str!("../../../Cargo.lock");
        for stack in Stack::ALL {
            let entry = format!("name = \"{}-proto\"\nversion = \"{}\"\n", stack.describe().0, stack.version());
            assert!(lock.contains(&entry), "{entry}");
        }
    }
}
