//! How one end of a connection on a kernel is set up.

use haltere_net::Span;
use haltere_net::fault::Faults;
use haltere_transport::Role;

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

/// One end of a connection.
#[derive(Clone, Debug)]
pub struct End {
    /// Which end it is.
    pub role: Role,
    /// The node on whose kernel it is.
    pub node: u32,
    /// The node of its peer.
    pub peer: u32,
    /// The server's port, one of [`Kernels::port`].
    pub port: u16,
    /// The congestion control, one of [`CONGESTION`].
    pub congestion: &'static str,
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
