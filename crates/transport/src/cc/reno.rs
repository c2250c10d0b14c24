//! Reno (RFC 5681; V. Jacobson, "Modified TCP congestion avoidance algorithm", end2end-interest, 30 April 1990).
//!
//! What sets Reno apart from NewReno is loss recovery: the first ACK of new data ends it, so that several losses in a
//! window cost several halvings or a timeout. Our transports know by selective acknowledgements (TCP: RFC 2018, QUIC:
//! ACK ranges) what is missing, and repair all of it in one recovery; there Reno and NewReno are the same, as they are in
//! Linux, whose module `reno` is this one. Where bytes are counted one difference is left: slow start adds at most one
//! segment an ACK (RFC 5681 equation 2), where NewReno adds what was delivered (RFC 3465, RFC 9002).

use super::windows::Windows;
use super::{Ack, Config, Congestion, CongestionController, Description, Sent, SlowStart};

pub(super) const DESCRIPTION: Description = Description {
    name: "reno",
    summary: "as newreno, which selective ACKs make it equal to; over QUIC a slower slow start with delayed ACKs",
    reference: "RFC 5681",
    slow_start: true,
};

/// Reno.
#[derive(Clone, Debug)]
pub struct Reno {
    w: Windows,
}

impl Reno {
    pub(super) fn new(config: Config) -> Reno {
        Reno { w: Windows::new(&config, SlowStart::Standard) }
    }
}

impl CongestionController for Reno {
    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let mut delivered = self.w.consider_exit(ack, ack.min_rtt);
        if self.w.in_slow_start() && !self.w.as_linux() {
            delivered = delivered.min(self.w.mss);
        }
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive_reno(rest);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
    }

    fn on_undo(&mut self) {
        self.w.undo();
    }

    fn window(&self) -> u64 {
        self.w.window
    }

    fn ssthresh(&self) -> u64 {
        self.w.ssthresh
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        self.w.set_mss(mss);
    }
}
