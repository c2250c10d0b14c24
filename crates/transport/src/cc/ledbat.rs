//! LEDBAT: Low Extra Delay Background Transport (RFC 6817).
//!
//! The window grows or shrinks in proportion to how far the queueing delay is below or above a target, at most as fast
//! as Reno grows. The RFC measures one-way delays by a clock in each packet. Our transports only know the RTT, so the
//! queue on the return path counts too, and so do delayed ACKs, except for the filter (the RFC's appendix A leaves the
//! protocol open; draft-irtf-iccrg-ledbat-plus-plus section 4.1 uses the RTT for this reason).
//!
//! There is no slow start: section 2.4.2 begins with two segments and adds at most one each RTT. The congestion timeout
//! of that section is the transport's own.

use super::windows::Windows;
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Sent, SlowStart, Startup, Trigger, whole};
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "LEDBAT",
    slow_start: Startup::Own,
    ..Implementation::new(
        Description {
            name: "ledbat",
            summary: "for background transfers: at most 100 ms of queueing delay, by RTT, without slow start",
            reference: "RFC 6817",
        },
        |config| Box::new(Ledbat::new(config)),
    )
};

/// The target of the queueing delay (section 2.5: 100 ms at most).
const TARGET: Span = Span::from_millis(100);
/// Segments gained an RTT when there is no queue (section 2.5: 1 at most).
const GAIN: f64 = 1.0;
/// The number of segments by which the window may exceed the bytes in flight (section 2.5).
const ALLOWED_INCREASE: u64 = 1;
/// The initial and the smallest window, segments (section 2.5).
pub(super) const MIN_SEGMENTS: u64 = 2;
/// The number of minutes whose smallest delays are kept (section 2.5).
const BASE_HISTORY: usize = 10;
const MINUTE: Span = Span::from_secs(60);
/// The present delay is the smallest of this many samples (`CURRENT_FILTER`).
const CURRENT_FILTER: usize = 4;

/// Recent delays, and the smallest ones of the last minutes (section 2.4.2, `update_base_delay`,
/// `update_current_delay`).
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    base: [Option<Span>; BASE_HISTORY],
    minute: usize,
    minute_end: Time,
    current: [Option<Span>; CURRENT_FILTER],
    next: usize,
}

impl Delays {
    /// Processes a sample.
    pub(super) fn sample(&mut self, now: Time, delay: Span) {
        if now >= self.minute_end {
            self.minute = (self.minute + 1) % BASE_HISTORY;
            self.base[self.minute] = None;
            self.minute_end = now + MINUTE;
        }
        let least = &mut self.base[self.minute];
        *least = Some(least.map_or(delay, |d| d.min(delay)));
        self.current[self.next] = Some(delay);
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// The base delay.
    pub(super) fn base(&self) -> Option<Span> {
        self.base.iter().flatten().min().copied()
    }

    /// The queueing delay.
    pub(super) fn queueing(&self) -> Option<Span> {
        Some(self.current.iter().flatten().min()?.saturating_sub(self.base()?))
    }
}

/// A window of at least two segments that keeps fractions of its granularity. Both LEDBATs use it.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub w: Windows,
    /// The window, bytes.
    pub bytes: f64,
}

impl Exact {
    /// Two segments.
    pub(super) fn new(config: &Config) -> Exact {
        let mut w = Windows::new(config, SlowStart::Standard);
        w.window = w.window.min(MIN_SEGMENTS * w.mss);
        Exact { bytes: w.window as f64, w }
    }

    pub(super) fn set(&mut self, bytes: f64) {
        self.bytes = bytes.max((MIN_SEGMENTS * self.w.mss) as f64);
        self.w.window = whole(self.bytes as u64, self.w.grain);
    }

    pub(super) fn restart_after(&mut self, sent: &Sent) {
        if sent.after_idle.is_some() {
            self.w.restart_after(sent);
            self.bytes = self.bytes.min((self.w.window + self.w.grain) as f64);
        }
    }

    pub(super) fn reduce(&mut self, event: &Congestion, ssthresh: u64) {
        self.w.reduce(event, ssthresh);
        self.bytes = self.w.window as f64;
    }

    pub(super) fn undo(&mut self) {
        self.w.undo();
        self.bytes = self.w.window as f64;
    }

    pub(super) fn set_mss(&mut self, mss: u64) {
        self.w.set_mss(mss);
        self.bytes = self.bytes.max(self.w.window as f64);
    }
}

/// LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    exact: Exact,
    delays: Delays,
}

impl Ledbat {
    pub(super) fn new(config: Config) -> Ledbat {
        Ledbat { exact: Exact::new(&config), delays: Delays::default() }
    }

    /// The window after an ACK (section 2.4.2).
    fn adjust(&mut self, ack: &Ack, queueing: Span) {
        let (mss, window) = (self.exact.w.mss, self.exact.bytes);
        let off_target = 1.0 - queueing.as_secs_f64() / TARGET.as_secs_f64();
        if off_target > 0.0 && !ack.window_limited {
            return;
        }
        let wanted = window + GAIN * off_target * ack.delivered as f64 * mss as f64 / window;
        let allowed = (ack.prior_in_flight + ALLOWED_INCREASE * mss) as f64;
        self.exact.set(wanted.min(allowed.max(window)));
    }
}

impl CongestionController for Ledbat {
    fn on_sent(&mut self, sent: &Sent) {
        self.exact.restart_after(sent);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        if let Some(rtt) = ack.rtt {
            self.delays.sample(ack.now, rtt);
        }
        if let (Some(queueing), true) = (self.delays.queueing(), ack.may_grow) {
            self.adjust(ack, queueing);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.exact.reduce(event, self.exact.w.window / 2);
        if event.trigger == Trigger::Timeout {
            // Section 2.4.2: one segment; additive growth starts again from there.
            self.exact.w.ssthresh = self.exact.w.window;
        }
    }

    fn on_undo(&mut self) {
        self.exact.undo();
    }

    fn window(&self) -> u64 {
        self.exact.w.window
    }

    fn ssthresh(&self) -> u64 {
        self.exact.w.ssthresh
    }

    fn in_slow_start(&self) -> bool {
        false
    }

    fn set_mss(&mut self, mss: u64, _: u64) {
        self.exact.set_mss(mss);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{Bench, MSS, Path, ack, config};

    /// A LEDBAT of 20 segments whose base delay is 50 ms.
    fn ledbat() -> Ledbat {
        let mut cc = Ledbat::new(Config { grain: 1, ..config() });
        cc.delays.sample(Time::ZERO, Span::from_millis(50));
        (cc.exact.bytes, cc.exact.w.window) = (20.0 * MSS as f64, 20 * MSS);
        cc
    }

    /// The growth, in segments, over a window of ACKs at this queueing delay.
    fn growth(queueing_ms: u64) -> f64 {
        let mut cc = ledbat();
        cc.delays.current = [Some(Span::from_millis(50 + queueing_ms)); CURRENT_FILTER];
        for _ in 0..20 {
            cc.on_ack(&ack(|a| {
                a.rtt = Some(Span::from_millis(50 + queueing_ms));
                a.prior_in_flight = 20 * MSS;
            }), &[]);
        }
        cc.exact.bytes / MSS as f64 - 20.0
    }

    #[test]
    fn an_rtt_gives_the_share_of_the_target_that_is_left() {
        for (queueing, want) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (200, -1.0)] {
            let got = growth(queueing);
            assert!((got - want).abs() < 0.03, "{queueing} ms: {got}");
        }
    }

    #[test]
    fn the_window_begins_with_two_segments_and_never_has_fewer() {
        let mut cc = Ledbat::new(config());
        assert_eq!(cc.window(), 2 * MSS);
        cc.delays.sample(Time::ZERO, Span::from_millis(1));
        cc.delays.current = [Some(Span::from_secs(1)); CURRENT_FILTER];
        cc.on_ack(&ack(|a| a.rtt = Some(Span::from_secs(1))), &[]);
        assert_eq!(cc.window(), 2 * MSS);
    }

    #[test]
    fn the_window_exceeds_the_flight_by_a_segment_at_most() {
        let mut cc = ledbat();
        for _ in 0..100 {
            cc.on_ack(&ack(|a| {
                a.rtt = Some(Span::from_millis(50));
                a.prior_in_flight = 20 * MSS;
            }), &[]);
        }
        assert_eq!(cc.window(), 21 * MSS);
    }

    #[test]
    fn the_base_delay_is_the_least_of_ten_minutes() {
        let mut delays = Delays::default();
        let at = |minute: u64| Time::from_nanos(minute * 60_000_000_000);
        delays.sample(at(0), Span::from_millis(30));
        for minute in 1..10 {
            delays.sample(at(minute), Span::from_millis(40));
        }
        assert_eq!(delays.base(), Some(Span::from_millis(30)));
        delays.sample(at(10), Span::from_millis(50));
        assert_eq!(delays.base(), Some(Span::from_millis(40)));
        assert_eq!(delays.queueing(), Some(Span::ZERO), "the least of four samples is the present delay");
    }

    #[test]
    fn the_queue_comes_to_rest_at_the_target() {
        let path = Path::new(10, 40);
        let mut bench = Bench::with(Ledbat::new(config()), path);
        bench.run(Span::from_secs(120), |_| {});
        let (mut least, mut most) = (usize::MAX, 0);
        bench.run(Span::from_secs(10), |b| {
            let queued = b.queued();
            (least, most) = (least.min(queued), most.max(queued));
        });
        // 100 ms at 10 Mbit/s are 83 packets.
        assert!(least >= 75 && most <= 90, "{least} to {most}");
        assert_eq!(bench.lost_packets, 0);
    }
}
