//! Prague (draft-briscoe-iccrg-prague-congestion-control-04): DCTCP made fit for the Internet, the congestion control of
//! L4S (RFC 9330, RFC 9331).
//!
//! The differences from DCTCP, by section of the draft: the window is a fraction of segments, so that small shares of marks
//! have their effect (2.4.2); it grows by the unmarked part of each acknowledgement, in reductions too (2.4.2); growth and
//! the estimate follow a virtual RTT of at least 25 ms, so that flows of short RTTs do not take the rate of others
//! (2.4.3); packets are paced, and bursts last at most 250 µs (2.4.5). Losses halve the window, as Reno's. The rules and
//! constants are those of the reference implementation (`tcp_prague.c` of the L4S Linux tree). Its rate-based mode for
//! windows below some segments, its choice of smaller segments and the detection of queues that mark as RFC 3168 says
//! are left out: such a queue takes Prague's packets for classic ones and marks them too seldom.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Echo, Implementation, Marks, PathView, SlowStart, Trigger};
use haltere_net::{Rate, Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Prague",
    marks: Marks::L4s,
    ..Implementation::new(
        Description {
            name: "prague",
            summary: "L4S: cuts the window by the share of marked packets (ECT(1)); needs a queue such as dualpi2",
            reference: "draft-briscoe-iccrg-prague-congestion-control-04; tcp_prague.c",
        },
        |config| Box::new(Prague::new(config)),
    )
};

/// The gain g of the estimate.
const GAIN: f64 = 1.0 / 16.0;
/// The least virtual RTT.
const LEAST_RTT: Span = Span::from_millis(25);
/// Round trips after slow start from which the virtual RTT holds.
const TRANSITION: u32 = 4;
/// RTTs above this are not scaled.
const SCALED_RTT: Span = Span::from_millis(100);
/// The longest burst at the pacing rate: 1/4096 s.
const BURST: Span = Span::from_nanos(1_000_000_000 / 4096);
/// The RTT for pacing before there is a sample.
const FIRST_RTT: Span = Span::from_millis(1);
/// The window that is kept, segments.
const LEAST_SEGMENTS: u64 = 2;

/// Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    w: Windows,
    /// The window with its fraction, bytes. `w.window` follows it.
    exact: f64,
    wire: u64,
    /// The estimated share of marked packets.
    alpha: f64,
    /// Whether a mark was seen: the path has a queue that marks.
    marks: bool,
    srtt: Option<Span>,
    in_flight: u64,
    /// Round trips since slow start.
    rounds: u32,
    /// The present observation: until when, and what it began with.
    round_end: u64,
    estimated_at: Time,
    delivered: u64,
    marked: u64,
    /// The marks that the last ACK brought: all marked bytes so far, and those that were new.
    total_marked: u64,
    newly_marked: u64,
    /// The last reduction: when, and the position that ends its round trip.
    reduced_at: Option<Time>,
    reduced_to: u64,
    /// The window before losses that are being repaired.
    before_loss: Option<f64>,
    in_loss: bool,
}

impl Prague {
    pub(super) fn new(config: Config) -> Prague {
        let w = Windows::new(&config, SlowStart::Standard);
        Prague {
            exact: w.window as f64,
            w,
            wire: config.wire,
            alpha: 0.0,
            marks: false,
            srtt: None,
            in_flight: 0,
            rounds: 0,
            round_end: 0,
            estimated_at: Time::ZERO,
            delivered: 0,
            marked: 0,
            total_marked: 0,
            newly_marked: 0,
            reduced_at: None,
            reduced_to: 0,
            before_loss: None,
            in_loss: false,
        }
    }

    /// Whether growth and estimate follow the virtual RTT.
    fn is_rtt_independent(&self) -> bool {
        self.marks && !self.w.in_slow_start() && self.rounds >= TRANSITION
    }

    /// Segments by which the window grows in a round trip: (RTT / virtual RTT)², so that the rate grows as that of a flow
    /// of the virtual RTT.
    fn increase(&self) -> f64 {
        match self.srtt {
            Some(rtt) if self.is_rtt_independent() && rtt < LEAST_RTT.min(SCALED_RTT) => {
                let ratio = rtt.as_secs_f64() / LEAST_RTT.as_secs_f64();
                ratio * ratio
            }
            _ => 1.0,
        }
    }

    fn least(&self) -> f64 {
        (LEAST_SEGMENTS * self.w.mss) as f64
    }

    /// Ends an observation: alpha = (1 - g) alpha + g F.
    fn estimate(&mut self, echo: &Echo) {
        if self.marks {
            let delivered = echo.total_delivered.saturating_sub(self.delivered).max(1);
            let marked = echo.total_marked.saturating_sub(self.marked).min(delivered);
            self.alpha += GAIN * (marked as f64 / delivered as f64 - self.alpha);
            self.estimated_at = echo.now;
        }
        self.round_end = echo.sent_to;
        self.delivered = echo.total_delivered;
        self.marked = echo.total_marked;
        self.rounds = if self.w.in_slow_start() { 0 } else { self.rounds.saturating_add(1) };
    }

    /// Reduces the window for marks: by half the first time, then by half of alpha, once a (virtual) round trip.
    fn heed(&mut self, echo: &Echo) {
        if !std::mem::replace(&mut self.marks, true) {
            self.estimated_at = echo.now;
            self.reduced_at = Some(echo.now);
            self.reduced_to = echo.sent_to;
            self.cut(0.5);
            return;
        }
        let waits = self.is_rtt_independent() && self.reduced_at.is_some_and(|at| echo.now.since(at) < LEAST_RTT);
        if echo.acked_to >= self.reduced_to && !waits && !self.in_loss {
            self.reduced_at = Some(echo.now);
            self.reduced_to = echo.sent_to;
            self.cut(self.alpha / 2.0);
        }
    }

    /// Reduces the window for a full local queue, which the reference implementation does as for a mark
    /// (`prague_enter_cwr`): by half of alpha, which counts as 1 until a mark was seen, once a (virtual) round trip.
    fn heed_local(&mut self, now: Time) {
        let waits = self.is_rtt_independent() && self.reduced_at.is_some_and(|at| now.since(at) < LEAST_RTT);
        if !waits && !self.in_loss {
            self.reduced_at = Some(now);
            self.cut(if self.marks { self.alpha / 2.0 } else { 0.5 });
        }
    }

    /// Takes this share off the window, and ends slow start.
    fn cut(&mut self, share: f64) {
        self.exact = (self.exact * (1.0 - share)).max(self.least());
        self.w.ssthresh = self.w.ssthresh.min(self.exact as u64).max(LEAST_SEGMENTS * self.w.mss);
    }

    /// Lets the window follow its exact value: at once, or by a segment an ACK where windows are whole segments.
    fn follow(&mut self) {
        let (step, least) = (self.w.mss, LEAST_SEGMENTS * self.w.mss);
        if !self.w.as_linux() {
            self.w.window = (self.exact as u64).max(least);
            return;
        }
        let aim = ((self.exact / step as f64).ceil() as u64 * step).max(least);
        if self.w.window > aim {
            self.w.window = (self.w.window - step).max(least);
            self.w.ssthresh = self.w.window;
        } else if self.w.window < aim {
            self.w.window += step;
        }
    }
}

impl CongestionController for Prague {
    by_windows!(window, ssthresh);

    fn on_echo(&mut self, echo: &Echo) {
        self.newly_marked = echo.total_marked.saturating_sub(self.total_marked);
        self.total_marked = echo.total_marked;
        if self.newly_marked > 0 {
            self.heed(echo);
        }
        let waits = self.is_rtt_independent() && echo.now.since(self.estimated_at) < LEAST_RTT;
        if echo.acked_to >= self.round_end && !waits {
            self.estimate(echo);
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.srtt = ack.srtt.or(self.srtt);
        self.in_flight = ack.in_flight;
        let unmarked = ack.delivered.saturating_sub(std::mem::take(&mut self.newly_marked));
        if unmarked > 0 && !self.in_loss && ack.window_limited {
            let mut rest = unmarked;
            if self.w.in_slow_start() {
                let counted = self.w.consider_exit(ack, ack.min_rtt).min(unmarked);
                rest = self.w.slow_start(counted);
                self.exact = self.w.window as f64;
            }
            if rest > 0 && !self.w.in_slow_start() {
                self.exact += rest as f64 * self.increase() * self.w.mss as f64 / self.exact;
            }
        }
        if !self.w.in_slow_start() || self.in_loss {
            self.follow();
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match event.trigger {
            // Marks are heeded as they are counted.
            Trigger::Ecn | Trigger::Delay => return,
            Trigger::Local => return self.heed_local(event.now),
            Trigger::Loss | Trigger::Timeout => {
                if event.new_episode {
                    self.before_loss = Some(self.exact);
                    self.cut(0.5);
                }
            }
            Trigger::PersistentCongestion => self.exact = self.least(),
        }
        self.in_loss = true;
        match event.trigger {
            Trigger::Timeout => self.w.window = event.in_flight / self.w.grain * self.w.grain + self.w.mss,
            _ if !self.w.as_linux() => self.w.window = self.exact as u64,
            _ => {}
        }
    }

    fn on_undo(&mut self) {
        if let Some(before) = self.before_loss.take() {
            self.exact = self.exact.max(before);
            self.w.window = self.w.window.max(before as u64 / self.w.grain * self.w.grain);
        }
        self.in_loss = false;
    }

    fn on_recovered(&mut self, _: Time) {
        self.in_loss = false;
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let bytes = self.w.window.max(self.in_flight) * self.wire / self.w.mss.max(1);
        let double = self.w.window < self.w.ssthresh / 2;
        Rate::of(if double { 2 * bytes } else { bytes }, self.srtt.unwrap_or(FIRST_RTT))
    }

    fn send_quantum(&self) -> u64 {
        self.pacing_rate().map_or(0, |rate| rate.bytes_in(BURST)).max(self.w.mss)
    }

    /// The window follows its exact value by itself, in reductions too.
    fn owns_recovery(&self) -> bool {
        true
    }

    fn set_mss(&mut self, mss: u64, wire: u64) {
        self.w.set_mss(mss);
        self.wire = wire;
        self.exact = self.exact.max(self.least());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack, config};

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// A Prague out of slow start, with a window of 100 segments kept in bytes, that has seen marks.
    fn steady(alpha: f64) -> Prague {
        let mut cc = Prague::new(Config { grain: 1, ..config() });
        (cc.exact, cc.w.window, cc.w.ssthresh) = ((100 * MSS) as f64, 100 * MSS, 100 * MSS);
        (cc.marks, cc.alpha, cc.rounds) = (true, alpha, TRANSITION);
        cc
    }

    /// A round trip at `at` in which 100 segments were delivered, `marked` of them marked.
    fn round(cc: &mut Prague, at: Time, marked: u64) {
        let end = cc.round_end.max(cc.reduced_to);
        cc.on_echo(&Echo {
            now: at,
            acked_to: end,
            sent_to: end + 100,
            total_delivered: cc.delivered + 100 * MSS,
            total_marked: cc.total_marked + marked * MSS,
        });
    }

    #[test]
    fn the_first_mark_halves_the_window_and_ends_slow_start() {
        let mut cc = Prague::new(Config { grain: 1, ..config() });
        (cc.exact, cc.w.window) = ((100 * MSS) as f64, 100 * MSS);
        round(&mut cc, ms(100), 1);
        assert_eq!((cc.exact, cc.w.in_slow_start()), ((50 * MSS) as f64, false));
        // The share of the first round trip is 1 %, a sixteenth of which counts.
        assert!((cc.alpha - 0.01 / 16.0).abs() < 1e-12, "{}", cc.alpha);
    }

    /// `prague_enter_cwr`: alpha is 1 until a mark was seen.
    #[test]
    fn a_full_local_queue_cuts_as_a_mark_does() {
        let local = |cc: &mut Prague, at| {
            let now = ms(at);
            cc.on_congestion(&Congestion { now, trigger: Trigger::Local, new_episode: true, in_flight: 0, lost: 0 });
        };
        let mut cc = Prague::new(Config { grain: 1, ..config() });
        (cc.exact, cc.w.window) = ((100 * MSS) as f64, 100 * MSS);
        local(&mut cc, 100);
        assert_eq!((cc.exact, cc.w.in_slow_start(), cc.in_loss), ((50 * MSS) as f64, false, false));
        let mut cc = steady(0.1);
        local(&mut cc, 100);
        local(&mut cc, 124);
        assert!((cc.exact / (100 * MSS) as f64 - 0.95).abs() < 1e-9, "{}", cc.exact);
        local(&mut cc, 125);
        assert!((cc.exact / (95 * MSS) as f64 - 0.95).abs() < 1e-9, "{}", cc.exact);
    }

    #[test]
    fn marks_cut_by_half_of_alpha_even_less_than_a_segment() {
        let mut cc = steady(0.001);
        round(&mut cc, ms(100), 3);
        assert!((cc.exact / (100 * MSS) as f64 - 0.9995).abs() < 1e-9, "{}", cc.exact);
        let mut cc = steady(1.0);
        round(&mut cc, ms(100), 100);
        assert_eq!(cc.exact, (50 * MSS) as f64);
    }

    /// Section 2.4.3: reductions and the estimate wait for the virtual RTT of 25 ms.
    #[test]
    fn within_a_virtual_round_trip_there_is_one_reduction() {
        let mut cc = steady(0.5);
        round(&mut cc, ms(100), 10);
        let once = cc.exact;
        round(&mut cc, ms(110), 10);
        assert_eq!(cc.exact, once);
        round(&mut cc, ms(126), 10);
        assert!(cc.exact < once);
    }

    #[test]
    fn a_short_rtt_grows_as_a_flow_of_the_virtual_one() {
        let grown = |rtt: u64| {
            let mut cc = steady(0.0);
            let acked = Ack { delivered: 100 * MSS, srtt: Some(Span::from_millis(rtt)), ..ack(|_| {}) };
            cc.on_ack(&acked, &[]);
            (cc.exact - (100 * MSS) as f64) / MSS as f64
        };
        assert!((grown(5) - 0.04).abs() < 1e-9, "(5/25)²: {}", grown(5));
        assert!((grown(25) - 1.0).abs() < 1e-9);
        assert!((grown(80) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn marked_packets_do_not_grow_the_window() {
        let mut cc = steady(0.0);
        (cc.newly_marked, cc.srtt) = (60 * MSS, Some(Span::from_millis(50)));
        cc.on_ack(&Ack { delivered: 100 * MSS, srtt: cc.srtt, ..ack(|_| {}) }, &[]);
        assert!(((cc.exact - (100 * MSS) as f64) / MSS as f64 - 0.4).abs() < 1e-9);
    }

    #[test]
    fn losses_halve_the_window_and_can_be_undone() {
        let mut cc = steady(0.0);
        let loss = Congestion {
            now: ms(100),
            trigger: Trigger::Loss,
            new_episode: true,
            in_flight: 100 * MSS,
            lost: MSS,
        };
        cc.on_congestion(&loss);
        assert_eq!(cc.window(), 50 * MSS);
        cc.on_undo();
        assert_eq!(cc.window(), 100 * MSS);
    }
}
