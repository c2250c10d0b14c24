//! The configuration of a stack's endpoint: plain data, which can be copied and compared. Live objects that endpoints
//! share with others are in [`Handles`](crate::Handles).

use crate::addresses::AddressPair;
use crate::stack::Stack;
use haltere_net::{PathId, Rate};
use haltere_transport::Role;
use haltere_transport::cc::{Algorithm, RenoFriendly, SlowStart};
use haltere_transport::quic::Session;
use haltere_transport::roq::Mapping;
use haltere_transport::rtp;
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

/// The congestion control inside a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// The stack's own, one of [`Implementation::own`](crate::Implementation).
    Own(&'static str),
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

/// The part of an end in a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// It sends frames.
    Sends,
    /// It receives frames.
    Receives,
    /// It sends and receives.
    Both,
}

/// The estimates of the path's rate that an encoder follows.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Estimate {
    /// The stack's own word to its application: str0m tells the mean of the estimates of 3 s when it has changed by 5 %.
    #[default]
    Told,
    /// Each that the congestion control makes, seen 20 times a second in its statistics.
    Raw,
}

/// An end of a call, for stacks that carry media.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The part of this end.
    pub part: Part,
    /// The rate that its congestion control begins with. Default: 300 kbit/s, as libwebrtc begins (`kDefaultStartBitrateBps`).
    pub start: Rate,
    /// The rate that the frames would have if the path allowed it, for which the congestion control probes. Default: 2.5 Mbit/s.
    pub most: Rate,
    /// The estimates that the encoder follows.
    pub estimate: Estimate,
}

impl Call {
    /// The defaults: the server sends.
    pub const fn new(role: Role) -> Call {
        let part = match role {
            Role::Client => Part::Receives,
            Role::Server => Part::Sends,
        };
        Call { part, start: Rate::from_bps(300_000), most: Rate::from_bps(2_500_000), estimate: Estimate::Told }
    }
}

/// An end of a call over QUIC, for stacks that carry one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OverQuic {
    /// The call. Its packets are made no longer than the stack's DATAGRAM frames carry on every path.
    pub media: rtp::Config,
    /// Which frames of QUIC carry media.
    pub mapping: Mapping,
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
    /// Which of several paths a packet takes, by the name of one of the stack's schedulers; the
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
    /// The call, for stacks that carry media by themselves.
    pub call: Call,
    /// The call that the connection carries, if it carries one.
    pub over_quic: Option<OverQuic>,
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
            call: Call::new(role),
            over_quic: None,
        }
    }
}
