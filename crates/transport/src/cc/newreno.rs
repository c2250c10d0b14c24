//! NewReno: slow start and congestion avoidance of RFC 5681, one reduction per episode as in RFC 6582 and RFC 9002.
//!
//! Growth is by bytes delivered (RFC 3465), so that delayed ACKs do not slow it.

use super::cubic_quinn::Arithmetic;
use super::newreno_quinn::QuinnNewReno;
use super::quiche::QuicheNewReno;
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, SlowStart};

pub(super) const ENTRY: Implementation = Implementation {
    label: "NewReno",
    linux: Some("reno"),
    shade: Some(2),
    heeds: &["growth"],
    ..Implementation::new(
        Description {
            name: "newreno",
            summary: "additive increase of one segment an RTT, halving on loss",
            reference: "RFC 5681, RFC 6582, RFC 9002 section 7",
        },
        |config| match config.arithmetic {
            Arithmetic::Exact | Arithmetic::Linux => Box::new(NewReno::new(config)),
            Arithmetic::Quinn | Arithmetic::Noq => Box::new(QuinnNewReno::new(&config)),
            Arithmetic::Quiche => Box::new(QuicheNewReno::new(&config)),
        },
    )
};

/// NewReno.
#[derive(Clone, Debug)]
pub struct NewReno {
    w: Windows,
    /// The largest growth per ACK in slow start, segments.
    step: u64,
}

impl NewReno {
    pub(super) fn new(config: Config) -> NewReno {
        NewReno::with_step(config, u64::MAX)
    }

    /// A controller that adds at most this many segments per ACK in slow start.
    pub(super) fn with_step(config: Config, segments: u64) -> NewReno {
        NewReno { w: Windows::new(&config, SlowStart::Standard), step: segments }
    }
}

impl CongestionController for NewReno {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let mut delivered = self.w.consider_exit(ack, ack.min_rtt);
        if self.w.in_slow_start() {
            delivered = delivered.min(self.step.saturating_mul(self.w.mss));
        }
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive_reno(rest);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
    }
}
