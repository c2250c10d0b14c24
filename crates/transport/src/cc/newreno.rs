//! NewReno: slow start and congestion avoidance of RFC 5681, one reduction an episode as in RFC 6582 and RFC 9002.
//!
//! Growth is by bytes delivered (RFC 3465), so that delayed ACKs do not slow it.

use super::hystart::{Advice, Exit, View};
use super::{Ack, Config, Congestion, CongestionController, Description, Sent, Trigger, whole};

pub(super) const DESCRIPTION: Description = Description {
    name: "newreno",
    summary: "additive increase of one segment an RTT, halving on loss",
    reference: "RFC 5681, RFC 6582, RFC 9002 section 7",
};

/// Where windows stand before an episode, to be put back if it proves false.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub window: u64,
    pub ssthresh: u64,
}

/// The window arithmetic that Reno-like algorithms share: slow start, additive increase, undo.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    pub window: u64,
    pub ssthresh: u64,
    pub mss: u64,
    pub grain: u64,
    initial: u64,
    credit: u64,
    before: Option<Before>,
}

impl Windows {
    pub(super) fn new(config: &Config) -> Windows {
        Windows {
            window: whole(config.initial_window, config.grain).max(config.grain),
            ssthresh: u64::MAX,
            mss: config.mss,
            grain: config.grain,
            initial: whole(config.initial_window, config.grain).max(config.grain),
            credit: 0,
            before: None,
        }
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
            // Credit from a time when more was asked for a segment is good for one.
            self.credit = 0;
            self.window += self.mss;
        }
        self.credit += delivered;
        let segments = self.credit / per;
        self.credit -= segments * per;
        self.window += segments * self.mss;
    }

    /// Sets the target after congestion and remembers what was before; after a timeout one segment more than what is
    /// in flight may be out.
    pub(super) fn reduce(&mut self, event: &Congestion, ssthresh: u64) {
        if event.new_episode {
            // An undone episode leaves a threshold of three quarters of the window at least (Linux).
            let kept = self.ssthresh.max(self.window - self.window / 4);
            self.before = Some(Before { window: self.window, ssthresh: kept });
            self.ssthresh = whole(ssthresh, self.grain).max(2 * self.mss);
            self.credit = 0;
        }
        self.window = match event.trigger {
            Trigger::Timeout => whole(event.in_flight, self.grain) + self.mss,
            Trigger::PersistentCongestion => 2 * self.mss,
            Trigger::Loss | Trigger::Ecn => self.ssthresh.min(self.window),
        };
    }

    /// Puts back what the last reduction took, if the window has not grown beyond it.
    pub(super) fn undo(&mut self) {
        if let Some(before) = self.before.take() {
            self.window = self.window.max(before.window);
            self.ssthresh = self.ssthresh.max(before.ssthresh);
        }
    }

    /// After an idle time longer than the retransmission timeout the window says little of the path: it is halved for
    /// each timeout that passed, down to the initial window (RFC 5681 section 4.1; RFC 7661's concern, Linux's form).
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

    /// A segment has another size; windows keep at least two of them.
    pub(super) fn set_mss(&mut self, mss: u64) {
        if self.grain == self.mss {
            self.grain = mss;
        }
        self.mss = mss;
        self.window = self.window.max(2 * mss);
    }
}

/// NewReno.
#[derive(Clone, Debug)]
pub struct NewReno {
    w: Windows,
    exit: Exit,
    paced: bool,
}

impl NewReno {
    pub(super) fn new(config: Config) -> NewReno {
        let exit = Exit::new(config.slow_start.unwrap_or_default());
        NewReno { w: Windows::new(&config), exit, paced: config.paced }
    }
}

impl CongestionController for NewReno {
    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let mut delivered = ack.delivered;
        if self.in_slow_start() {
            let view = View { window: self.w.window, mss: self.w.mss, paced: self.paced };
            match self.exit.on_ack(ack, ack.min_rtt, view) {
                Advice::Grow => {}
                Advice::GrowSlowly(by) => delivered /= by,
                Advice::Exit => self.w.ssthresh = self.w.window,
            }
        }
        if !ack.window_limited || !ack.may_grow {
            return;
        }
        let rest = if self.in_slow_start() { self.w.slow_start(delivered) } else { delivered };
        if rest > 0 {
            self.w.additive(rest, self.w.window);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.trigger == Trigger::Timeout {
            self.exit.restart();
        }
        let half = self.w.window / 2;
        self.w.reduce(event, half);
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

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::rng::Streams;
    use haltere_net::{Span, Time};

    #[test]
    fn a_long_idle_time_halves_the_window_a_timeout_down_to_the_initial_one() {
        let stream = Streams::new(1, 0).named("cc");
        let (slow_start, paced, tick) = (None, false, Span::ZERO);
        let config =
            Config { mss: 1000, wire: 1052, grain: 1000, initial_window: 10_000, slow_start, paced, tick, stream };
        let after = |idle: u64| {
            let mut w = Windows::new(&config);
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
