//! BBR version 1 (to be written).

use super::{Ack, Config, Congestion, CongestionController, Description};

pub(super) const DESCRIPTION: Description = Description { name: "bbr", summary: "", reference: "" };

/// BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    window: u64,
}

impl Bbr {
    pub(super) fn new(config: Config) -> Bbr {
        Bbr { window: config.initial_window }
    }
}

impl CongestionController for Bbr {
    fn on_ack(&mut self, _: &Ack) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_undo(&mut self) {}
    fn window(&self) -> u64 {
        self.window
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn set_mss(&mut self, _: u64, _: u64) {}
}
