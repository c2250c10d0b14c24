//! CUBIC (RFC 9438), with HyStart on by default as in Linux.
//!
//! The window follows W(t) = C (t - K)^3 + W_max from each loss on, and is at least the window that Reno would have
//! (section 4.3). Where windows are kept in whole segments, targets are too, as in Linux. This makes small windows
//! behave as they do there.

use super::cubic_quinn::{Arithmetic, QuinnCubic};
use super::reno_friendly::{Friendly, Growth};
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Implementation, PathView, Sent, SlowStart, Startup, Trigger, whole};
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "CUBIC",
    linux: Some("cubic"),
    shade: Some(0),
    slow_start: Startup::SlowStart(SLOW_START),
    heeds: &["growth", "reno-friendly", "emulated-connections"],
    ..Implementation::new(
        Description {
            name: "cubic",
            summary: "window as a cubic function of the time since the last loss; HyStart by default",
            reference: "RFC 9438",
        },
        |config| match config.arithmetic {
            Arithmetic::Linux | Arithmetic::Kernel => Box::new(Cubic::new(config)),
            Arithmetic::Quinn => Box::new(QuinnCubic::new(&config)),
        },
    )
};

/// How slow start ends by default, as in Linux.
pub(super) const SLOW_START: SlowStart = SlowStart::HyStart;
/// C in segments a cubic second (section 5.1).
const C: f64 = 0.4;
/// C as Linux has it, in 1024ths (`bic_scale`), and the binary digits of its units of time, 1024ths of a second (`BICTCP_HZ`).
const KERNEL_C: u64 = 410;
const KERNEL_HZ: u32 = 10;
/// beta_cubic = 0.7 (section 4.6) as the binary fraction Linux uses.
const BETA_NUM: u64 = 717;
const BETA_DEN: u64 = 1024;

/// beta for a window like that of `n` connections of which one meets the loss: (n - 1 + beta) / n, as a fraction of
/// [`BETA_DEN`] (Chromium, `cubic_bytes.cc`).
fn beta(n: u64) -> u64 {
    ((n - 1) * BETA_DEN + BETA_NUM) / n
}

/// Segments to deliver for the Reno-friendly window of `n` connections to grow by a segment, at a window of `window`
/// segments: window / alpha, with alpha = 3 n^2 (1 - beta) / (1 + beta) (section 4.3 for n = 1, which is rounded as in
/// Linux).
fn reno_segments(n: u64, window: u64) -> u64 {
    let segments =
        if n == 1 { window * 15 / 8 } else { window * (BETA_DEN + beta(n)) / (3 * n * n * (BETA_DEN - beta(n))) };
    segments.max(1)
}

/// While the window does not change, the target is recomputed after this time, in whole ticks.
const REFRESH: Span = Span::from_nanos(1_000_000_000 / 32);
/// RTT samples this soon after a reduction describe the queue more than the path.
const SETTLE: Span = Span::from_secs(1);

/// The time between two losses, in which the window follows one cubic curve.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Seconds from the start to the plateau.
    k: f64,
    /// The plateau, bytes.
    origin: u64,
    /// The window Reno would have.
    reno: u64,
    /// Bytes delivered towards its next segment.
    reno_credit: u64,
    /// Segments, and bytes, to deliver for one segment of growth.
    segments: u64,
    per_segment: u64,
    last_window: u64,
    last_update: Time,
}

/// The differences from Linux's CUBIC.
#[derive(Clone, Debug)]
struct Variant {
    /// How many connections the window is like.
    connections: u64,
    /// The rule of the Reno-friendly region, if it is not Linux's.
    friendly: Option<Friendly>,
    /// The curve is computed in Linux's units.
    in_kernel_units: bool,
}

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    w: Windows,
    /// W_max; 0 before the first loss.
    last_max: u64,
    delay_min: Option<Span>,
    epoch: Option<Epoch>,
    /// Tick of the clock, ns, at least 1.
    tick: u32,
    /// From the last tick to the start of the run, ns.
    phase: u32,
    /// The differences from Linux's CUBIC, if there are any.
    variant: Option<Box<Variant>>,
}

impl Cubic {
    pub(super) fn new(config: Config) -> Cubic {
        let w = Windows::new(&config, SLOW_START);
        // A tick is a second at most; only how far the clock moves is asked, so whole ticks before the start are left out.
        let tick = config.tick.as_nanos().clamp(1, u32::MAX.into());
        let connections = config.connections.max(1);
        let friendly = Friendly::new(config.reno_friendly, connections);
        let in_kernel_units = config.arithmetic == Arithmetic::Kernel;
        let differs = connections > 1 || friendly.is_some() || in_kernel_units;
        Cubic {
            w,
            last_max: 0,
            delay_min: None,
            epoch: None,
            tick: tick as u32,
            phase: (config.phase.as_nanos() % tick) as u32,
            variant: differs.then(|| Box::new(Variant { connections, friendly, in_kernel_units })),
        }
    }

    /// The part of the window that a loss leaves, as a fraction of [`BETA_DEN`].
    fn beta(&self) -> u64 {
        beta(self.connections())
    }

    fn connections(&self) -> u64 {
        self.variant.as_ref().map_or(1, |variant| variant.connections)
    }

    fn friendly(&mut self) -> Option<&mut Friendly> {
        self.variant.as_mut()?.friendly.as_mut()
    }

    /// The clock's reading at `now`.
    fn clock(&self, now: Time) -> Time {
        Time::from_nanos(whole(now.as_nanos() + u64::from(self.phase), self.tick.into()))
    }

    /// Section 4.2: begins an epoch at the present window.
    fn begin_epoch(&self, now: Time, delivered: u64) -> Epoch {
        let window = self.w.window;
        let below = self.last_max.saturating_sub(window) as f64 / self.w.mss as f64;
        Epoch {
            start: now,
            k: libm::cbrt(below / C),
            origin: self.last_max.max(window),
            reno: window,
            reno_credit: delivered,
            segments: 0,
            per_segment: 0,
            last_window: window,
            last_update: now,
        }
    }

    /// The target as Linux computes it (`bictcp_update`), but for the cube root, which there errs by some thousandths.
    fn target_in_kernel_units(&self, epoch: &Epoch, now: Time) -> u64 {
        let (tick, second) = (u64::from(self.tick), 1_000_000_000);
        let ahead = self.delay_min.map_or(0, |d| (d.as_micros().max(1) * 1000).next_multiple_of(tick));
        let units = |nanos: u64| (u128::from(nanos) << KERNEL_HZ) / second;
        let t = units(now.since(epoch.start).as_nanos() + ahead);
        let k = whole((epoch.k * libm::cbrt(C * 1024.0 / KERNEL_C as f64) * f64::from(1 << KERNEL_HZ)) as u64, 1);
        let offset = t.abs_diff(u128::from(k));
        let segments = (u128::from(KERNEL_C).saturating_mul(offset.saturating_pow(3))) >> (10 + 3 * KERNEL_HZ);
        let offset = u64::try_from(segments).unwrap_or(u64::MAX).saturating_mul(self.w.mss);
        if t < u128::from(k) { epoch.origin.saturating_sub(offset) } else { epoch.origin.saturating_add(offset) }
    }

    /// Section 4.2: the target for one minimum RTT, in whole ticks, from now.
    fn target(&self, epoch: &Epoch, now: Time) -> u64 {
        if self.variant.as_ref().is_some_and(|variant| variant.in_kernel_units) {
            return self.target_in_kernel_units(epoch, now);
        }
        let ahead = self.delay_min.map_or(0, |d| d.as_nanos().next_multiple_of(self.tick.into()));
        let t = (now.since(epoch.start) + Span::from_nanos(ahead)).as_secs_f64() - epoch.k;
        let offset = whole((C * libm::fabs(t * t * t) * self.w.mss as f64) as u64, self.w.grain);
        if t < 0.0 { epoch.origin.saturating_sub(offset) } else { epoch.origin.saturating_add(offset) }
    }

    /// How many bytes must be delivered for the window to grow by a segment.
    fn bytes_per_segment(&mut self, now: Time, delivered: u64) -> u64 {
        let now = self.clock(now);
        let (window, mss) = (self.w.window, self.w.mss);
        let fresh = self.epoch.is_none();
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(now, delivered));
        if !fresh {
            epoch.reno_credit += delivered;
            let refresh = whole(REFRESH.as_nanos(), self.tick.into());
            if epoch.last_window == window && now.since(epoch.last_update).as_nanos() <= refresh {
                self.epoch = Some(epoch);
                return epoch.per_segment;
            }
        }
        // The curve is evaluated at most once per tick.
        if fresh || self.tick == 1 || now != epoch.last_update {
            epoch.last_window = window;
            epoch.last_update = now;
            let target = self.target(&epoch, now);
            let rise = target.saturating_sub(window);
            epoch.segments = window.checked_div(rise).unwrap_or(100 * window / mss);
            if self.last_max == 0 {
                // There was no loss yet, so there is no curve: grow by at least 5 % per RTT.
                epoch.segments = epoch.segments.min(20);
            }
        }
        let step = reno_segments(self.connections(), window / mss) * mss;
        while epoch.reno_credit > step {
            epoch.reno_credit -= step;
            epoch.reno += mss;
        }
        if epoch.reno > window && self.friendly().is_none() {
            epoch.segments = epoch.segments.min(window / (epoch.reno - window));
        }
        // Never grow by more than half per RTT.
        epoch.segments = epoch.segments.max(2);
        epoch.per_segment = epoch.segments * mss;
        self.epoch = Some(epoch);
        epoch.per_segment
    }

    /// Sets the window by another rule than Linux's; whether that was all there is to do on this ACK.
    fn follow_reno(&mut self, ack: &Ack, delivered: u64) -> bool {
        let (Some(epoch), true) = (self.epoch, self.friendly().is_some()) else { return false };
        let cubic = self.target(&epoch, self.clock(ack.now));
        let (window, mss) = (self.w.window, self.w.mss);
        let growth = Growth { now: ack.now, delivered, window, mss, cubic, srtt: ack.srtt };
        let found = self.friendly().and_then(|friendly| friendly.follow(&growth));
        self.w.window = found.map_or(window, |to| whole(to, self.w.grain).max(window));
        found.is_some()
    }
}

impl CongestionController for Cubic {
    by_windows!(on_undo, window, ssthresh, set_mss, set_window);

    fn on_sent(&mut self, sent: &Sent) {
        self.w.restart_after(sent);
        let Some(idle) = sent.after_idle else { return };
        let now = self.clock(sent.now);
        // After idle time the curve continues where it stopped.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let mut delivered = ack.delivered;
        let settled = self.epoch.is_none_or(|e| self.clock(ack.now).since(e.start) >= SETTLE);
        if let (Some(rtt), true) = (ack.rtt, settled) {
            self.delay_min = Some(self.delay_min.map_or(rtt, |m| m.min(rtt)));
            delivered = self.w.consider_exit(ack, self.delay_min);
        }
        if let Some(rest) = self.w.grow(ack, delivered) {
            let per = self.bytes_per_segment(ack.now, rest);
            if !self.follow_reno(ack, rest) {
                self.w.additive(rest, per);
            }
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let window = self.w.window;
        if event.new_episode {
            self.epoch = None;
            // Section 4.7: fast convergence.
            let releasing = window < self.last_max;
            self.last_max =
                if releasing { whole(window * (BETA_DEN + self.beta()) / (2 * BETA_DEN), self.w.grain) } else { window };
            let last_max = self.last_max;
            if let Some(friendly) = self.friendly() {
                friendly.on_loss(event.now, window, last_max);
            }
        }
        self.w.reduce(event, window * self.beta() / BETA_DEN);
        if event.trigger == Trigger::Timeout {
            // As in Linux, a timeout discards the curve.
            self.last_max = 0;
            self.delay_min = None;
            self.epoch = None;
            if let Some(friendly) = self.friendly() {
                friendly.restart();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_has_the_constants_of_linux_and_two_those_of_chromium() {
        assert_eq!((beta(1), reno_segments(1, 80), reno_segments(1, 0)), (717, 150, 1));
        assert_eq!(beta(2), 870);
        // alpha = 3 n^2 (1 - beta) / (1 + beta)
        for (n, beta, alpha) in [(2.0_f64, 0.85, 0.973), (5.0, 0.94, 2.320), (10.0, 0.97, 4.569)] {
            let segments = reno_segments(n as u64, 10_000) as f64;
            assert!((10_000.0 / segments / alpha - 1.0).abs() < 0.02, "{n}");
            assert!((super::beta(n as u64) as f64 / BETA_DEN as f64 - beta).abs() < 0.001, "{n}");
        }
    }
}
