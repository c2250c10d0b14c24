//! Reno (RFC 5681; V. Jacobson, "Modified TCP congestion avoidance algorithm", end2end-interest, 30 April 1990).
//!
//! Reno and NewReno differ in loss recovery: Reno's recovery ends with the first ACK of new data, so that several
//! losses in a window cause several halvings or a timeout. Our transports know from selective acknowledgements (TCP:
//! RFC 2018, QUIC: ACK ranges) what is missing, and repair all of it in one recovery. With them Reno and NewReno are
//! the same, as they are in Linux, whose module `reno` is this one. Where bytes are counted one difference is left:
//! slow start adds at most one segment per ACK (RFC 5681 equation 2), where NewReno adds what was delivered (RFC 3465,
//! RFC 9002).

use super::newreno::NewReno;
use super::{Config, Description, Implementation};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Reno",
    linux: Some("reno"),
    shade: Some(2),
    ..Implementation::new(
        Description {
            name: "reno",
            summary: "as newreno, which selective ACKs make it equal to; over QUIC a slower slow start with delayed ACKs",
            reference: "RFC 5681",
        },
        |config| Box::new(Reno::new(config)),
    )
};

/// Reno.
pub struct Reno;

impl Reno {
    /// A NewReno with Reno's slow start.
    #[allow(clippy::new_ret_no_self)]
    pub(super) fn new(config: Config) -> NewReno {
        let as_linux = config.grain == config.mss;
        NewReno::with_step(config, if as_linux { u64::MAX } else { 1 })
    }
}
