//! Parts that window-based algorithms share: slow start with its exits, additive increase, reduction, undo, restart.

use super::hystart::{Advice, Exit, View};
use super::{Ack, Config, Congestion, Sent, SlowStart, Trigger, whole};
use haltere_net::Span;

/// The windows before an episode, which are restored if it proves spurious.
#[derive(Clone, Copy, Debug)]
struct Before {
    window: u64,
    ssthresh: u64,
}

/// The window arithmetic that Reno-like algorithms share: slow start, additive increase, undo.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub window: u64,
    pub ssthresh: u64,
    pub mss: u64,
    pub grain: u64,
    initial: u64,
    /// Bytes delivered towards the next segment of growth.
    pub credit: u64,
    before: Option<Before>,
    exit: Exit,
    paced: bool,
}

impl Windows {
    /// The windows of a path. Slow start ends as the configuration says, otherwise by `usual`.
    pub(super) fn new(config: &Config, usual: SlowStart) -> Windows {
        Windows {
            window: whole(config.initial_window, config.grain).max(config.grain),
            ssthresh: u64::MAX,
            mss: config.mss,
            grain: config.grain,
            initial: whole(config.initial_window, config.grain).max(config.grain),
            credit: 0,
            before: None,
            exit: Exit::new(config.slow_start.unwrap_or(usual)),
            paced: config.paced,
        }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.window < self.ssthresh
    }

    /// Whether windows are kept in whole segments, as Linux keeps them. Such a sender follows the kernel's module of
    /// its algorithm where the module departs from the paper.
    pub(super) fn as_linux(&self) -> bool {
        self.grain == self.mss
    }

    /// The window in segments, rounded down.
    pub(super) fn segments(&self) -> u64 {
        self.window / self.mss
    }

    /// Passes an ACK to slow start's exit; returns the bytes that count for growth. `delay_min` is the algorithm's own
    /// estimate of the path's smallest delay.
    pub(super) fn consider_exit(&mut self, ack: &Ack, delay_min: Option<Span>) -> u64 {
        if !self.in_slow_start() {
            return ack.delivered;
        }
        let view = View { window: self.window, mss: self.mss, paced: self.paced };
        match self.exit.on_ack(ack, delay_min, view) {
            Advice::Grow => ack.delivered,
            Advice::GrowSlowly(by) => ack.delivered / by,
            Advice::GrowAtMost(most) => ack.delivered.min(most),
            Advice::Exit => {
                self.ssthresh = self.window;
                ack.delivered
            }
        }
    }

    /// Grows as slow start does if growth is allowed; returns the bytes left for congestion avoidance, if any.
    pub(super) fn grow(&mut self, ack: &Ack, delivered: u64) -> Option<u64> {
        if !ack.window_limited || !ack.may_grow {
            return None;
        }
        let rest = if self.in_slow_start() { self.slow_start(delivered) } else { delivered };
        (rest > 0).then_some(rest)
    }

    /// Grows exponentially up to the threshold and returns the bytes that are left for linear growth.
    pub(super) fn slow_start(&mut self, delivered: u64) -> u64 {
        let grown = (self.window + delivered).min(self.ssthresh);
        let used = grown - self.window;
        self.window = grown;
        delivered - used
    }

    /// Adds one segment for each `per` bytes delivered.
    pub(super) fn additive(&mut self, delivered: u64, per: u64) {
        let per = per.max(1);
        if self.credit >= per {
            // Credit from a time when a segment of growth cost more is worth one segment.
            self.credit = 0;
            self.window += self.mss;
        }
        self.credit += delivered;
        let segments = self.credit / per;
        self.credit -= segments * per;
        self.window += segments * self.mss;
    }

    /// Adds one segment for each window delivered.
    pub(super) fn additive_reno(&mut self, delivered: u64) {
        self.additive(delivered, self.window);
    }

    /// Sets the target after congestion and stores the former values. After a timeout one segment more than the data in
    /// flight may be sent.
    pub(super) fn reduce(&mut self, event: &Congestion, ssthresh: u64) {
        if event.trigger == Trigger::Timeout {
            self.exit.restart();
        }
        if event.new_episode {
            // An undone episode leaves a threshold of at least three quarters of the window (Linux).
            let kept = self.ssthresh.max(self.window - self.window / 4);
            self.before = Some(Before { window: self.window, ssthresh: kept });
            self.ssthresh = whole(ssthresh, self.grain).max(2 * self.mss);
            self.credit = 0;
        }
        self.window = match event.trigger {
            Trigger::Timeout => whole(event.in_flight, self.grain) + self.mss,
            Trigger::PersistentCongestion => 2 * self.mss,
            Trigger::Loss | Trigger::Ecn | Trigger::Local | Trigger::Delay => self.ssthresh.min(self.window),
        };
    }

    /// Restores the windows from before the last reduction, if the window has not grown beyond them.
    pub(super) fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.window = self.window.max(before.window);
            self.ssthresh = self.ssthresh.max(before.ssthresh);
        }
    }

    /// After an idle time longer than the retransmission timeout the window is out of date. It is halved for each
    /// timeout that passed, down to the initial window (RFC 5681 section 4.1; RFC 7661; the form is Linux's).
    pub(super) fn restart_after(&mut self, sent: &Sent) {
        let Some(idle) = sent.after_idle.filter(|idle| *idle > sent.timeout && !sent.timeout.is_zero()) else { return };
        self.ssthresh = self.ssthresh.max(self.window - self.window / 4);
        let mut timeouts = idle.as_nanos() / sent.timeout.as_nanos();
        let floor = self.initial.min(self.window);
        while timeouts > 0 && self.window > floor {
            self.window = whole(self.window / 2, self.grain);
            timeouts -= 1;
        }
        self.window = self.window.max(floor);
    }

    /// The segment size changed. Windows keep at least two segments.
    pub(super) fn set_mss(&mut self, mss: u64) {
        if self.grain == self.mss {
            self.grain = mss;
        }
        self.mss = mss;
        self.window = self.window.max(2 * mss);
    }
}

/// Implements the methods of a controller that do no more than its `w: Windows` does.
macro_rules! by_windows {
    ($($method:ident),*) => { $(by_windows! { @$method })* };
    (@on_sent) => {
        fn on_sent(&mut self, sent: &$crate::cc::Sent) {
            self.w.restart_after(sent);
        }
    };
    (@on_undo) => {
        fn on_undo(&mut self) {
            self.w.undo();
        }
    };
    (@window) => {
        fn window(&self) -> u64 {
            self.w.window
        }
    };
    (@ssthresh) => {
        fn ssthresh(&self) -> u64 {
            self.w.ssthresh
        }
    };
    (@set_mss) => {
        fn set_mss(&mut self, mss: u64, _: u64) {
            self.w.set_mss(mss);
        }
    };
}
pub(super) use by_windows;

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::Time;
    use haltere_net::rng::Streams;

    #[test]
    fn a_long_idle_time_halves_the_window_a_timeout_down_to_the_initial_one() {
        let stream = Streams::new(1, 0).named("cc");
        let (slow_start, paced, tick, phase) = (None, false, Span::ZERO, Span::ZERO);
        let config = Config {
            mss: 1000,
            wire: 1052,
            grain: 1000,
            connections: 1,
            initial_window: 10_000,
            slow_start,
            reno_friendly: super::super::RenoFriendly::default(),
            paced,
            tick,
            phase,
            stream,
        };
        let after = |idle: u64| {
            let mut w = Windows::new(&config, SlowStart::Standard);
            w.window = 100_000;
            let timeout = Span::from_millis(250);
            let after_idle = Some(Span::from_millis(idle));
            let now = Time::ZERO;
            w.restart_after(&Sent { now, in_flight: 0, total_delivered: 0, after_idle, app_limited: true, timeout });
            w.window
        };
        assert_eq!(after(200), 100_000);
        assert_eq!(after(300), 50_000);
        assert_eq!(after(800), 12_000);
        assert_eq!(after(60_000), 10_000);
    }
}
