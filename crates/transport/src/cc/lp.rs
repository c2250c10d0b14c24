//! TCP-LP (A. Kuzmanovic, E. W. Knightly, "TCP-LP: a distributed algorithm for low priority data transfer", INFOCOM 2003).
//!
//! Reno that yields to other traffic. When the smoothed one-way delay exceeds the smallest by 15 % of the range seen so
//! far, the window is halved and does not grow for three RTTs. A second sign within them reduces it to one segment
//! (section III). Slow start is Reno's; the range is learnt during it.
//!
//! The paper measures one-way delays by TCP's timestamps. QUIC has none, so the RTT is used there (as in `ledbat.rs`).
//! Where windows are in whole segments this is the kernel's module (Linux 6.12, `tcp_lp.c`) with its errors, because of
//! which it does not yield. It takes the difference between the timestamps of two clocks for a delay, without
//! subtracting its smallest value. Since Linux 4.13 a host's timestamps begin at random, so this difference is a number
//! of up to 32 bits, and 15 % of it are days. The kernel smooths it in eighths of 32 bits, which cuts off the upper
//! three. In seven connections of eight the smoothed delay is therefore less than the smallest one; in the eighth the
//! window is halved once at the start. The result is Reno.

use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Phase, SlowStart, Stamps, Trigger, whole};
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "LP",
    linux: Some("lp"),
    prompt_rtts: true,
    ..Implementation::new(
        Description {
            name: "lp",
            summary: "low priority by early signs of delay (TCP: the kernel's, which is Reno but for its name)",
            reference: "Kuzmanovic, Knightly, INFOCOM 2003; Linux 6.12 tcp_lp.c",
        },
        |config| Box::new(Lp::new(config)),
    )
};

/// The part of the range of delays above which the path is congested, per cent (delta = 0.15).
const THRESHOLD: u32 = 15;
/// The weight of a new delay in the smoothed one (gamma = 1/8).
const GAMMA_SHIFT: u32 = 3;
/// The number of RTTs for which the window does not grow after an early sign.
const INFERENCE_RTTS: u64 = 3;
/// The ticks a second that the kernel assumes for a clock of timestamps.
const CLOCK_HZ: u32 = 1000;

/// TCP-LP.
#[derive(Clone, Debug)]
pub struct Lp {
    w: Windows,
    /// Smoothed, least and largest delay, ns.
    smoothed: Option<f64>,
    range: Option<(Span, Span)>,
    last_sign: Option<Time>,
    linux: Linux,
}

impl Lp {
    pub(super) fn new(mut config: Config) -> Lp {
        Lp {
            w: Windows::new(&config, SlowStart::Standard),
            smoothed: None,
            range: None,
            last_sign: None,
            linux: Linux::new(config.stream.bits() as u32),
        }
    }

    /// Processes a delay; returns whether it is an early sign of congestion.
    fn is_sign(&mut self, delay: Span) -> bool {
        let (least, largest) = self.range.map_or((delay, delay), |(a, b)| (a.min(delay), b.max(delay)));
        self.range = Some((least, largest));
        let gamma = 1.0 / f64::from(1 << GAMMA_SHIFT);
        let new = delay.as_nanos() as f64;
        let smoothed = self.smoothed.map_or(new, |old| (1.0 - gamma) * old + gamma * new);
        self.smoothed = Some(smoothed);
        let span = (largest - least).as_nanos() as f64;
        smoothed > least.as_nanos() as f64 + f64::from(THRESHOLD) / 100.0 * span
    }

    /// The paper's reaction; returns whether the window may grow.
    fn infer(&mut self, ack: &Ack) -> bool {
        let (Some(delay), Some(srtt)) = (ack.rtt, ack.srtt) else { return self.last_sign.is_none() };
        let within = self.last_sign.is_some_and(|at| ack.now.since(at) < srtt * INFERENCE_RTTS);
        if !self.is_sign(delay) || self.w.in_slow_start() {
            return !within;
        }
        // All signs within one RTT count as one, because the effect of a reaction takes an RTT to be seen.
        if self.last_sign.is_none_or(|at| ack.now.since(at) >= srtt) {
            self.last_sign = Some(ack.now);
            let target = if within { 0 } else { whole(self.w.window / 2, self.w.grain) };
            self.yield_to(target.max(self.w.mss));
        }
        false
    }

    fn yield_to(&mut self, target: u64) {
        self.w.window = target;
        self.w.ssthresh = self.w.ssthresh.min(target.max(2 * self.w.mss));
        self.w.credit = 0;
    }
}

/// The kernel's module. Its arithmetic has 32 bits and wraps.
#[derive(Clone, Copy, Debug)]
struct Linux {
    /// Where the peer's timestamps begin.
    origin: u32,
    /// Ticks a second of the peer's clock, as estimated, and the timestamps that the next estimate begins with.
    hz: u32,
    reference: Option<Stamps>,
    /// Smoothed delay times 8, the least one, and the largest but one and the largest.
    smoothed: u32,
    least: u32,
    largest: u32,
    reserve: u32,
    last_drop: u32,
    inference: u32,
}

impl Linux {
    fn new(origin: u32) -> Linux {
        Linux {
            origin,
            hz: 0,
            reference: None,
            smoothed: 0,
            least: u32::MAX,
            largest: 0,
            reserve: 0,
            last_drop: 0,
            inference: 0,
        }
    }

    /// `tcp_lp_remote_hz_estimator`; 63/64 of the old and 1/64 of the new, rounded down.
    fn estimate_clock(&mut self, s: Stamps) {
        let before = self.reference.replace(s);
        let Some(before) = before.filter(|b| b.value != s.value && b.echo != s.echo) else { return };
        let ticks = s.value.wrapping_sub(before.value);
        let new = i64::from(CLOCK_HZ.wrapping_mul(ticks) / s.echo.wrapping_sub(before.echo));
        let old = i64::from(self.hz);
        self.hz = if old > 0 { ((old << 6) + new - old) >> 6 } else { new } as u32;
    }

    /// `tcp_lp_rtt_sample`, given the difference of the clocks.
    fn sample(&mut self, s: Stamps) {
        self.estimate_clock(s);
        if self.hz == 0 {
            return;
        }
        let delay = s.value.wrapping_mul(CLOCK_HZ / self.hz).wrapping_sub(s.echo);
        if delay == 0 {
            return;
        }
        self.least = self.least.min(delay);
        if delay > self.reserve {
            self.largest = if self.reserve == 0 { delay } else { self.reserve };
            self.reserve = delay;
        } else if delay > self.largest {
            self.largest = delay;
        }
        self.smoothed = if self.smoothed == 0 {
            delay << GAMMA_SHIFT
        } else {
            self.smoothed.wrapping_add(delay.wrapping_sub(self.smoothed >> GAMMA_SHIFT))
        };
    }

    /// `tcp_lp_pkts_acked`: whether growth pauses, and whether the window is to be cut.
    fn on_ack(&mut self, stamps: Option<Stamps>, rtt: Option<Span>) -> (bool, bool) {
        let Some(mut s) = stamps else { return (false, false) };
        s.value = s.value.wrapping_add(self.origin);
        if rtt.is_some() {
            self.sample(s);
        }
        let rtt = s.now.wrapping_sub(s.echo);
        if rtt > 0 && rtt < 1 << 31 {
            // The peer chooses what it echoes: the product wraps, as the kernel's does.
            self.inference = (INFERENCE_RTTS as u32).wrapping_mul(rtt);
        }
        let rests = self.last_drop != 0 && s.now.wrapping_sub(self.last_drop) < self.inference;
        let smoothed = self.smoothed >> GAMMA_SHIFT;
        let above = THRESHOLD.wrapping_mul(self.largest.wrapping_sub(self.least)) / 100;
        if smoothed < self.least.wrapping_add(above) {
            return (rests, false);
        }
        self.least = smoothed;
        self.largest = self.smoothed >> (GAMMA_SHIFT - 1);
        self.reserve = self.largest;
        self.last_drop = s.now;
        (rests, true)
    }
}

impl CongestionController for Lp {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let may_grow = if self.w.as_linux() {
            let (rests, cuts) = self.linux.on_ack(ack.stamps, ack.rtt);
            // While losses are repaired PRR sets the window, and the window before is not used afterwards.
            if cuts && !matches!(ack.phase, Phase::Reducing | Phase::Recovery) {
                self.w.window = if rests { 0 } else { whole(self.w.window / 2, self.w.grain) }.max(self.w.mss);
            }
            !rests
        } else {
            self.infer(ack)
        };
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if may_grow && let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive_reno(rest);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.w.reduce(event, self.w.window / 2);
        if event.trigger == Trigger::Timeout {
            self.smoothed = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack, config};

    /// An LP with 40 segments that has seen delays of 100 to 200 ms and smoothed them to 100 ms.
    fn settled() -> Lp {
        let mut cc = Lp::new(Config { grain: 1, ..config() });
        (cc.w.window, cc.w.ssthresh) = (40 * MSS, 40 * MSS);
        cc.range = Some((Span::from_millis(100), Span::from_millis(200)));
        cc.smoothed = Some(1e8);
        cc
    }

    fn at(cc: &mut Lp, ms: u64, rtt: u64) -> u64 {
        cc.on_ack(&ack(|a| {
            a.now = Time::from_nanos(ms * 1_000_000);
            a.rtt = Some(Span::from_millis(rtt));
        }), &[]);
        cc.w.window / MSS
    }

    #[test]
    fn the_smoothed_delay_is_a_sign_from_15_per_cent_of_the_range_on() {
        // One of 200 ms moves the smoothed delay by an eighth of 100 ms, to 112.5, two to 123.4.
        let mut cc = settled();
        assert_eq!(at(&mut cc, 1000, 200), 40);
        assert_eq!(at(&mut cc, 1000, 200), 20);
    }

    #[test]
    fn timestamps_that_a_hostile_peer_chooses_overflow_nothing() {
        let chosen = [0, 1, 2, 1000, u32::MAX / 3, u32::MAX / 2, u32::MAX - 1, u32::MAX];
        let mut linux = Linux::new(17);
        for now in chosen {
            for value in chosen {
                for echo in chosen {
                    linux.on_ack(Some(Stamps { now, value, echo }), Some(Span::ZERO));
                }
            }
        }
        let mut linux = Linux::new(0);
        linux.on_ack(Some(Stamps { now: u32::MAX / 2, value: 1, echo: 0 }), None);
        assert_eq!(linux.inference, (u32::MAX / 2).wrapping_mul(3));
    }

    #[test]
    fn after_a_sign_the_window_rests_for_three_rtts_and_another_takes_it_to_one() {
        let mut cc = settled();
        cc.smoothed = Some(1.2e8);
        at(&mut cc, 1000, 120);
        let halved = cc.w.window;
        cc.smoothed = Some(1e8);
        for ms in [1001, 1150, 1299] {
            at(&mut cc, ms, 100);
        }
        assert_eq!(cc.w.window, halved, "no growth within 300 ms");
        let mut again = cc.clone();
        again.smoothed = Some(1.5e8);
        assert_eq!(at(&mut again, 1250, 150), 1);
        for _ in 0..20 {
            at(&mut cc, 1301, 100);
        }
        assert!(cc.w.window > halved, "growth after it");
    }

    /// Delays of 50 ms, then of 400 ms. The peer's clock begins at `origin`.
    fn kernel(origin: u32) -> Vec<bool> {
        let mut linux = Linux::new(origin);
        let stamps = |i: u32, delay: u32| Stamps { now: 100 + 10 * i + 2 * delay, value: 100 + 10 * i + delay, echo: 100 + 10 * i };
        let rtt = Some(Span::ZERO);
        (0..100).map(|i| linux.on_ack(Some(stamps(i, if i < 50 { 50 } else { 400 })), rtt).1).collect()
    }

    #[test]
    fn the_kernels_threshold_is_lost_in_the_origin_of_the_peers_clock() {
        // With clocks that agree, the difference is a delay. The first delay counts as a sign, because it is not below
        // itself.
        let agreed = kernel(0);
        assert!(agreed[1] && !agreed[2..50].contains(&true) && agreed[50..].contains(&true));
        // An origin below 2^29: halved once, and never again.
        let small = kernel(1 << 28);
        assert_eq!(small.iter().filter(|cut| **cut).count(), 1);
        // Above: the smoothed delay has lost its upper bits.
        assert!(!kernel(1 << 31).contains(&true));
    }
}
