//! Tahoe (V. Jacobson, "Congestion avoidance and control", SIGCOMM 1988, section 3 and appendices): after any loss the
//! window is one segment, and slow start leads up to half of the former window.
//!
//! The sender of 1988 assumed that everything in flight was lost. Our senders know what is in flight, so that a window
//! of one segment would delay even the repair until nothing is in flight. The bytes in flight at the loss are therefore
//! added to the window until they have arrived. Beyond them one segment may be in flight, then two, as with Tahoe. Data
//! that arrived is not sent again, which a sender without selective acknowledgements did. A reduction is never undone.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, SlowStart, Trigger};
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation {
    label: "Tahoe",
    ..Implementation::new(
        Description {
            name: "tahoe",
            summary: "a window of one segment and slow start after every loss",
            reference: "V. Jacobson, SIGCOMM 1988",
        },
        |config| Box::new(Tahoe::new(config)),
    )
};

/// Tahoe.
#[derive(Clone, Debug)]
pub struct Tahoe {
    w: Windows,
    /// Bytes in flight that were sent before the last loss and may still arrive.
    stale: u64,
    /// When that was counted.
    counted: Time,
}

impl Tahoe {
    pub(super) fn new(config: Config) -> Tahoe {
        Tahoe { w: Windows::new(&config, SlowStart::Standard), stale: 0, counted: Time::ZERO }
    }
}

impl CongestionController for Tahoe {
    by_windows!(on_sent, ssthresh, set_mss);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        if ack.phase < Phase::Recovery {
            self.stale = 0;
        }
        // The data delivered by the ACK that showed the loss was no longer in flight.
        let delivered = if ack.now == self.counted { 0 } else { ack.delivered };
        let fresh = delivered.saturating_sub(self.stale);
        self.stale = self.stale.saturating_sub(delivered + ack.lost);
        let fresh = self.w.consider_exit(&Ack { delivered: fresh, ..*ack }, ack.min_rtt);
        // Slow start continues through recovery, with the data sent since the loss.
        let ack = Ack { may_grow: ack.may_grow || self.owns_recovery(), ..*ack };
        if let Some(rest) = self.w.grow(&ack, fresh) {
            self.w.additive_reno(rest);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
        self.w.window = self.w.mss;
        self.counted = event.now;
        self.stale = match event.trigger {
            // A timeout finds everything lost that is older than an RTT. The rest is added to the window in the same
            // way.
            Trigger::Loss | Trigger::Ecn | Trigger::Local | Trigger::Delay | Trigger::Timeout => event.in_flight,
            Trigger::PersistentCongestion => 0,
        };
    }

    fn on_undo(&mut self) {}

    fn window(&self) -> u64 {
        self.w.window + self.stale
    }

    fn in_slow_start(&self) -> bool {
        self.w.in_slow_start()
    }

    /// TCP's PRR aims at the threshold. QUIC reduces the window at once and needs no PRR; there a loss of data sent
    /// since the last one must be reported.
    fn owns_recovery(&self) -> bool {
        self.w.as_linux()
    }
}
