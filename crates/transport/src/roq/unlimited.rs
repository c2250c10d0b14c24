//! The congestion control that holds nothing back, where the media's own is to be the only one.

use crate::cc::{Ack, Algorithm, Config, Congestion, CongestionController, Implementation};
use crate::path::PathView;
use haltere_net::registry::{Description, Handle};

/// The window, bytes: more than any path holds, and little enough to be multiplied.
const WINDOW: u64 = 1 << 40;

static ENTRY: Implementation = Implementation {
    label: "none",
    ..Implementation::new(
        Description {
            name: "none",
            summary: "a window that holds nothing back",
            reference: "draft-ietf-avtcore-rtp-over-quic-14 section 8.1",
        },
        build,
    )
};

/// No congestion control. It is none of a contender's own, as a connection of its own would flood a path.
pub const UNLIMITED: Algorithm = Handle(&ENTRY);

fn build(_: Config) -> Box<dyn CongestionController> {
    Box::new(Unlimited)
}

struct Unlimited;

impl CongestionController for Unlimited {
    fn on_ack(&mut self, _: &Ack, _: &[PathView]) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_undo(&mut self) {}
    fn window(&self) -> u64 {
        WINDOW
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn owns_recovery(&self) -> bool {
        true
    }
    fn in_slow_start(&self) -> bool {
        false
    }
    fn set_mss(&mut self, _: u64, _: u64) {}
}
