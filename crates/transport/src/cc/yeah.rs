//! YeAH (A. Baiocchi, A. P. Castellani, F. Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007, section III).
//!
//! Once per round the queue Q = window (RTT - base RTT) / RTT is estimated from the round's smallest RTT. With Q up to
//! 80 segments and an RTT less than an eighth above its base, YeAH is fast and grows as Scalable TCP does. Otherwise it
//! is slow and grows as Reno does. When Q is above 80, it is subtracted from the window, down to the window that Reno
//! would have. A loss subtracts Q, but at least an eighth and at most half of the window; or half, if other greedy
//! flows seem to be present, that is, after 16 slow rounds.

use super::observed::{Rounds, Rtts};
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, Sent, SlowStart, Trigger, whole};

pub(super) const ENTRY: Implementation = Implementation {
    label: "YeAH",
    linux: Some("yeah"),
    ..Implementation::new(
        Description {
            name: "yeah",
            summary: "Scalable TCP on a short queue, Reno that drains it on a long one",
            reference: "Baiocchi, Castellani, Vacirca, PFLDnet 2007",
        },
        |config| Box::new(Yeah::new(config)),
    )
};

/// Q_max, segments.
const QUEUE_MOST: u64 = 80;
/// phi: the queueing delay up to which YeAH is fast is this part of the base RTT.
const PHI: u64 = 8;
/// The largest part (epsilon) of the window that draining removes, and the smallest part (delta) that a loss removes.
const DRAINED_MOST: u64 = 2;
const LOST_LEAST: u64 = 8;
/// rho: the number of slow rounds after which other flows are assumed to compete.
const COMPETING: u32 = 16;
/// zeta: the number of fast rounds after which Reno's window is reset.
const FORGET: u32 = 50;
/// Segments to deliver for one of growth while fast, or a window if that is less.
const PER_SEGMENT: u64 = 100;
/// The number of RTT samples that a round needs.
const SAMPLES: u32 = 2;

/// YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    w: Windows,
    rtts: Rtts,
    rounds: Rounds,
    phase: Phase,
    /// Successive slow rounds, and fast rounds since the last loss.
    slow: u32,
    fast: u32,
    /// The queue as last estimated, and the window that Reno would have, bytes.
    queue: u64,
    reno: u64,
}

impl Yeah {
    pub(super) fn new(config: Config) -> Yeah {
        let w = Windows::new(&config, SlowStart::Standard);
        let reno = 2 * w.mss;
        Yeah {
            w,
            rtts: Rtts::default(),
            rounds: Rounds::default(),
            phase: Phase::Open,
            slow: 0,
            fast: 0,
            queue: 0,
            reno,
        }
    }

    fn forget_round(&mut self) {
        self.rtts.forget_least();
        self.rtts.samples = 0;
    }

    fn half(&self) -> u64 {
        whole(self.w.window / 2, self.w.grain).max(2 * self.w.mss)
    }

    /// A round has ended: estimates the queue and decides how to react.
    fn judge(&mut self) {
        let (Some((base, least)), Some(queue)) = (self.rtts.both(), self.rtts.backlog(self.w.window)) else { return };
        let queue = whole(queue, self.w.grain);
        let limit = QUEUE_MOST * self.w.mss;
        if queue > limit || least.saturating_sub(base) > base / PHI {
            if queue > limit && self.w.window > self.reno {
                let drained = queue.min(whole(self.w.window / DRAINED_MOST, self.w.grain));
                self.w.window = (self.w.window - drained).max(self.reno);
                self.w.ssthresh = self.w.window;
            }
            self.reno = if self.reno <= 2 * self.w.mss { self.half() } else { self.reno + self.w.mss };
            self.slow = self.slow.saturating_add(1);
        } else {
            self.slow = 0;
            self.fast += 1;
            if self.fast > FORGET {
                self.fast = 0;
                self.reno = 2 * self.w.mss;
            }
        }
        self.queue = queue;
    }
}

impl CongestionController for Yeah {
    by_windows!(on_undo, window, ssthresh, set_mss, set_window);

    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
        if sent.in_flight == 0 {
            // After idle time the path may have changed (as in Vegas).
            self.rtts.forget_base();
            self.forget_round();
            self.rounds = Rounds::default();
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.rtts.observe(ack);
        let before = std::mem::replace(&mut self.phase, ack.phase);
        if before != Phase::Open && ack.phase == Phase::Open {
            self.forget_round();
            self.rounds.begin(ack);
        }
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if !ack.window_limited || !ack.may_grow {
            return;
        }
        if let Some(rest) = self.w.grow(ack, delivered) {
            let fast = self.w.window.min(PER_SEGMENT * self.w.mss);
            self.w.additive(rest, if self.slow == 0 { fast } else { self.w.window });
        }
        if self.rounds.ended(ack) {
            if self.rtts.samples > SAMPLES {
                self.judge();
            }
            self.forget_round();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let mut lost = self.half();
        if self.slow < COMPETING {
            lost = lost.min(self.queue).max(whole(self.w.window / LOST_LEAST, self.w.grain));
        }
        if event.new_episode {
            self.fast = 0;
            self.reno = whole(self.reno / 2, self.w.grain).max(2 * self.w.mss);
        }
        self.w.reduce(event, self.w.window.saturating_sub(lost));
        if event.trigger == Trigger::Timeout {
            self.phase = Phase::Loss;
        }
    }
}
