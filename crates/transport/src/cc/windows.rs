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

    /// Sets the window, in whole units and to one at least.
    pub(super) fn set_window(&mut self, bytes: u64) {
        self.window = whole(bytes, self.grain).max(self.grain);
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

    /// Lowers the target of a reduction that goes on.
    pub(super) fn lower(&mut self, ssthresh: u64) {
        self.ssthresh = whole(ssthresh, self.grain).max(2 * self.mss);
        self.window = self.window.min(self.ssthresh);
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
    (@set_window) => {
        fn set_window(&mut self, bytes: u64) -> bool {
            self.w.set_window(bytes);
            true
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
    use crate::cc::bench::{MSS, ack, config};
    use haltere_net::Time;

    /// Windows in segments of 1448 bytes, paced; slow start ends as it is told.
    fn windows(segments: u64, usual: SlowStart) -> Windows {
        Windows { window: segments * MSS, ..Windows::new(&config(), usual) }
    }

    /// The window and the threshold.
    fn both(w: &Windows) -> (u64, u64) {
        (w.window, w.ssthresh)
    }

    fn event(trigger: Trigger) -> Congestion {
        Congestion { now: Time::ZERO, trigger, new_episode: true, in_flight: 0, lost: MSS }
    }

    /// Windows of 100 segments after an idle time and with a retransmission timeout, both in ms.
    fn idle(idle_ms: u64, timeout_ms: u64) -> Windows {
        let mut w = windows(100, SlowStart::Standard);
        w.ssthresh = 50 * MSS;
        let (timeout, after_idle) = (Span::from_millis(timeout_ms), Some(Span::from_millis(idle_ms)));
        w.restart_after(&Sent {
            now: Time::ZERO,
            bytes: 1000,
            in_flight: 0,
            total_delivered: 0,
            after_idle,
            app_limited: true,
            timeout,
        });
        w
    }

    #[test]
    fn a_long_idle_time_halves_the_window_a_timeout_down_to_the_initial_one() {
        let after = |idle_ms| idle(idle_ms, 250).window / MSS;
        assert_eq!([200, 250, 300, 800, 60_000].map(after), [100, 100, 50, 12, 10]);
        assert_eq!(idle(300, 250).ssthresh, 75 * MSS, "three quarters of the window are remembered");
        assert_eq!(both(&idle(300, 0)), (100 * MSS, 50 * MSS), "no timeout is known yet");
        let mut small = windows(4, SlowStart::Standard);
        let sent = Sent { after_idle: Some(Span::from_secs(9)), ..sent_after_a_second() };
        small.restart_after(&sent);
        assert_eq!(small.window, 4 * MSS, "a window below the initial one is kept");
    }

    fn sent_after_a_second() -> Sent {
        let timeout = Span::from_secs(1);
        Sent {
            now: Time::ZERO,
            bytes: 1000,
            in_flight: 0,
            total_delivered: 0,
            after_idle: None,
            app_limited: true,
            timeout,
        }
    }

    #[test]
    fn slow_start_grows_up_to_the_threshold_and_leaves_the_rest() {
        let mut w = windows(10, SlowStart::Standard);
        w.ssthresh = 11 * MSS;
        let may = |limited, may_grow| ack(|ack| (ack.window_limited, ack.may_grow) = (limited, may_grow));
        assert_eq!([w.grow(&may(false, true), MSS), w.grow(&may(true, false), MSS)], [None, None]);
        assert_eq!(w.window, 10 * MSS, "a window that is not used does not grow");
        assert_eq!((w.grow(&may(true, true), 3 * MSS), w.window), (Some(2 * MSS), 11 * MSS));
        assert_eq!((w.grow(&may(true, true), MSS), w.window), (Some(MSS), 11 * MSS));
    }

    #[test]
    fn linear_growth_adds_a_segment_for_each_window_and_keeps_the_rest_as_credit() {
        let mut w = windows(10, SlowStart::Standard);
        w.additive(25 * MSS, 10 * MSS);
        assert_eq!((w.window, w.credit), (12 * MSS, 5 * MSS));
        w.additive(4 * MSS, 10 * MSS);
        assert_eq!((w.window, w.credit), (12 * MSS, 9 * MSS));
        w.additive(MSS, 3 * MSS);
        assert_eq!((w.window, w.credit), (13 * MSS, MSS), "old credit is worth one segment");
        w.additive_reno(12 * MSS);
        assert_eq!((w.window, w.credit), (14 * MSS, 0));
    }

    #[test]
    fn a_loss_keeps_the_old_windows_until_it_is_undone() {
        let mut w = windows(20, SlowStart::Standard);
        w.credit = 9;
        w.reduce(&event(Trigger::Loss), 10 * MSS + 1);
        assert_eq!((both(&w), w.credit), ((10 * MSS, 10 * MSS), 0), "whole segments");
        w.reduce(&Congestion { new_episode: false, ..event(Trigger::Loss) }, MSS);
        assert_eq!(both(&w), (10 * MSS, 10 * MSS), "one reduction an episode");
        w.undo();
        assert_eq!(both(&w), (20 * MSS, u64::MAX));
        w.ssthresh = 5 * MSS;
        w.reduce(&event(Trigger::Loss), 10 * MSS);
        w.undo();
        assert_eq!(both(&w), (20 * MSS, 15 * MSS), "at least three quarters of the window");
        w.reduce(&event(Trigger::Loss), MSS);
        assert_eq!(both(&w), (2 * MSS, 2 * MSS), "never below two segments");
        w.undo();
        w.undo();
        assert_eq!(w.window, 20 * MSS, "there is one thing to undo");
    }

    #[test]
    fn after_a_timeout_a_segment_more_than_is_in_flight_may_be_sent_and_persistent_congestion_leaves_two() {
        let mut w = windows(20, SlowStart::Standard);
        w.reduce(&Congestion { in_flight: 3 * MSS + 7, ..event(Trigger::Timeout) }, 10 * MSS);
        assert_eq!(both(&w), (4 * MSS, 10 * MSS));
        w.reduce(&event(Trigger::PersistentCongestion), 10 * MSS);
        assert_eq!(w.window, 2 * MSS);
    }

    /// Ten ACKs of a round whose RTT is this many ms; the RTT before was 100 ms.
    fn round(w: &mut Windows, rtt_ms: u64, end: u64) -> Vec<u64> {
        let ms = Span::from_millis;
        let acks = (1..=10).map(|i| {
            ack(|ack| {
                (ack.now, ack.rtt) = (Time::ZERO + ms(3 * (end + i)), Some(ms(rtt_ms)));
                (ack.acked_to, ack.sent_to, ack.delivered) = (end - 10 + i, end, 100 * MSS);
            })
        });
        acks.map(|ack| w.consider_exit(&ack, Some(ms(100)))).collect()
    }

    #[test]
    fn an_exit_slows_bounds_or_ends_slow_start() {
        let mut w = windows(20, SlowStart::HyStartPlusPlus);
        assert_eq!(round(&mut w, 100, 10), [100 * MSS; 10]);
        assert_eq!(round(&mut w, 120, 20)[7..], [25 * MSS; 3], "a quarter, once the RTT has risen");
        let mut unpaced = Windows { paced: false, ..windows(20, SlowStart::HyStartPlusPlus) };
        assert_eq!(round(&mut unpaced, 100, 10), [8 * MSS; 10]);
        let mut hystart = windows(20, SlowStart::HyStart);
        assert_eq!((round(&mut hystart, 120, 10), hystart.ssthresh), (vec![100 * MSS; 10], 20 * MSS));
        assert!(!hystart.in_slow_start());
        // After a timeout HyStart watches again.
        hystart.reduce(&Congestion { in_flight: 20 * MSS, ..event(Trigger::Timeout) }, 90 * MSS);
        round(&mut hystart, 120, 20);
        assert_eq!(both(&hystart), (21 * MSS, 21 * MSS));
    }

    #[test]
    fn a_longer_segment_is_the_new_unit_and_two_of_them_the_least_window() {
        let mut w = windows(1, SlowStart::Standard);
        w.set_mss(9000);
        assert_eq!((w.window, w.mss, w.grain), (18_000, 9000, 9000));
        let mut bytes = Windows { grain: 1, ..windows(100, SlowStart::Standard) };
        bytes.set_mss(9000);
        assert_eq!((bytes.window, bytes.mss, bytes.grain), (100 * MSS, 9000, 1));
    }
}
