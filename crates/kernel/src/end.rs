//! How one end of a connection on a kernel is set up.

use crate::control::Options;
use crate::programs::Module;
use haltere_net::fault::Faults;
use haltere_net::{Address, Span};
use haltere_transport::Role;
use haltere_transport::mechanisms::linux::Settings;
use std::net::Ipv4Addr;

/// The congestion controls of Linux that `haltere kernel build` builds in.
pub const CONGESTION: [&str; 17] = [
    "cubic",
    "reno",
    "bbr",
    "bic",
    "cdg",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// The address inside kernels of an address of the network.
pub fn ip(address: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(10 << 24 | (address.0 & 0xffff) << 8 | 1)
}

/// A path of a connection, as one of its ends sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// The end's own address.
    pub own: Address,
    /// The peer's.
    pub peer: Address,
    /// Whether it is in reserve.
    pub backup: bool,
}

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct End {
    /// Which end it is.
    pub role: Role,
    /// The node on whose kernel it is.
    pub node: u32,
    /// The paths to its peer, that on which it connects first.
    pub ways: Vec<Way>,
    /// The server's port, which no other flow has.
    pub port: u16,
    /// The congestion control, one of [`CONGESTION`] or that of the module.
    pub congestion: String,
    /// The module of the congestion control, if it is a file's.
    pub module: Option<Module>,
    /// Who asks for the settings, for errors.
    pub contender: String,
    /// How its host is set up.
    pub settings: Settings,
    /// The options of its socket.
    pub options: Options,
    /// The longest IP packet, bytes.
    pub mtu: u32,
    /// Whether the distribution of RTT samples is kept for results.
    pub rtts: bool,
    /// Where a kernel says that it has failed.
    pub faults: Faults,
    /// Where the random numbers of the node's kernel begin. The first end on a node decides.
    pub dice: u64,
    /// How far the kernel's time is past a tick of the coarsest timers when the run begins. The first end on a node decides.
    pub phase: Span,
}
