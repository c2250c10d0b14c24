//! CUBIC (RFC 9438), with HyStart on by default as in Linux.
//!
//! The window follows W(t) = C (t - K)^3 + W_max from each loss on, and is at least the window that Reno would have
//! (section 4.3). Where windows are kept in whole segments, targets are too, as in Linux. This makes small windows
//! behave as they do there.

use super::cubic_quinn::{Arithmetic, QuinnCubic};
use super::quiche::QuicheCubic;
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
            Arithmetic::Exact | Arithmetic::Linux => Box::new(Cubic::new(config)),
            Arithmetic::Quinn | Arithmetic::Noq => Box::new(QuinnCubic::new(&config)),
            Arithmetic::Quiche => Box::new(QuicheCubic::new(&config)),
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
/// A segment over C, in cubed units of time (`cube_factor`).
const KERNEL_FACTOR: u64 = (1 << (10 + 3 * KERNEL_HZ)) / KERNEL_C;
/// Sixty-four times the cube root of each number below 64, nearly: Linux's figures (`cubic_root`), which were adjusted by hand so that
/// one step of Newton's method errs little.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173, 176, 179, 181, 185,
    187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221, 222, 224, 225, 227, 229, 231, 232, 234,
    236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];
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

/// The cube root of `of` as Linux finds it (`cubic_root`): from a table, with one step of Newton's method. Small roots err by some per cent, and large ones by less than one.
fn linux_root(of: u64) -> u64 {
    let digits = u64::BITS - of.leading_zeros();
    if digits < 7 {
        return (u64::from(ROOTS[of as usize]) + 35) >> 6;
    }
    let threes = ((digits * 84) >> 8) - 1;
    let top = (of >> (3 * threes)) as usize;
    let guess = ((u64::from(ROOTS[top]) + 10) << threes) >> 6;
    // A third is 341/1024 here.
    ((2 * guess + of / (guess * (guess - 1))) * 341) >> 10
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
}

/// The last evaluation of the curve.
#[derive(Clone, Copy, Debug, Default)]
struct Evaluated {
    at: Time,
    /// The window then, bytes.
    window: u64,
    /// Segments, and bytes, to deliver for one segment of growth.
    segments: u64,
    per_segment: u64,
}

/// The differences from Linux's CUBIC.
#[derive(Clone, Debug)]
struct Variant {
    /// How many connections the window is like.
    connections: u64,
    /// The rule of the Reno-friendly region, if it is not Linux's.
    friendly: Option<Friendly>,
}

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    w: Windows,
    /// W_max; 0 before the first loss.
    last_max: u64,
    delay_min: Option<Span>,
    epoch: Option<Epoch>,
    evaluated: Evaluated,
    /// Tick of the clock, ns, at least 1.
    tick: u32,
    /// From the last tick to the start of the run, ns.
    phase: u32,
    /// The curve is computed in Linux's units.
    in_kernel_units: bool,
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
        let differs = connections > 1 || friendly.is_some();
        Cubic {
            w,
            last_max: 0,
            delay_min: None,
            epoch: None,
            evaluated: Evaluated::default(),
            tick: tick as u32,
            phase: (config.phase.as_nanos() % tick) as u32,
            in_kernel_units: config.arithmetic == Arithmetic::Linux,
            variant: differs.then(|| Box::new(Variant { connections, friendly })),
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
        let below = self.last_max.saturating_sub(window);
        let k = if self.in_kernel_units {
            linux_root(KERNEL_FACTOR.saturating_mul(below / self.w.mss)) as f64 / f64::from(1 << KERNEL_HZ)
        } else {
            libm::cbrt(below as f64 / self.w.mss as f64 / C)
        };
        Epoch {
            start: now,
            k,
            origin: self.last_max.max(window),
            reno: window,
            reno_credit: delivered,
        }
    }

    /// The target as Linux computes it (`bictcp_update`).
    fn target_in_kernel_units(&self, epoch: &Epoch, now: Time) -> u64 {
        let (tick, second) = (u64::from(self.tick), 1_000_000_000);
        let ahead = self.delay_min.map_or(0, |d| (d.as_micros().max(1) * 1000).next_multiple_of(tick));
        let units = |nanos: u64| (u128::from(nanos) << KERNEL_HZ) / second;
        let t = units(now.since(epoch.start).as_nanos() + ahead);
        let k = (epoch.k * f64::from(1 << KERNEL_HZ)) as u64;
        let offset = t.abs_diff(u128::from(k));
        let segments = (u128::from(KERNEL_C).saturating_mul(offset.saturating_pow(3))) >> (10 + 3 * KERNEL_HZ);
        let offset = u64::try_from(segments).unwrap_or(u64::MAX).saturating_mul(self.w.mss);
        if t < u128::from(k) { epoch.origin.saturating_sub(offset) } else { epoch.origin.saturating_add(offset) }
    }

    /// Section 4.2: the target for one minimum RTT, in whole ticks, from now.
    fn target(&self, epoch: &Epoch, now: Time) -> u64 {
        if self.in_kernel_units {
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
        if let Some(epoch) = &mut self.epoch {
            epoch.reno_credit += delivered;
        }
        // Linux remembers this over a loss: where the window is soon what it was, the epoch begins later.
        if !fresh || self.in_kernel_units {
            let refresh = whole(REFRESH.as_nanos(), self.tick.into());
            if self.evaluated.window == window && now.since(self.evaluated.at).as_nanos() <= refresh {
                return self.evaluated.per_segment;
            }
        }
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(now, delivered));
        // The curve is evaluated at most once per tick.
        if fresh || self.tick == 1 || now != self.evaluated.at {
            let target = self.target(&epoch, now);
            let rise = target.saturating_sub(window);
            let mut segments = window.checked_div(rise).unwrap_or(100 * window / mss);
            if self.last_max == 0 {
                // There was no loss yet, so there is no curve: grow by at least 5 % per RTT.
                segments = segments.min(20);
            }
            self.evaluated = Evaluated { at: now, window, segments, ..self.evaluated };
        }
        let step = reno_segments(self.connections(), window / mss) * mss;
        while epoch.reno_credit > step {
            epoch.reno_credit -= step;
            epoch.reno += mss;
        }
        let mut segments = self.evaluated.segments;
        if epoch.reno > window && self.friendly().is_none() {
            segments = segments.min(window / (epoch.reno - window));
        }
        // Never grow by more than half per RTT.
        segments = segments.max(2);
        self.epoch = Some(epoch);
        (self.evaluated.segments, self.evaluated.per_segment) = (segments, segments * mss);
        self.evaluated.per_segment
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
            self.evaluated = Evaluated::default();
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
    fn the_cube_root_is_nearly_exact() {
        assert_eq!((linux_root(0), linux_root(1), linux_root(63)), (0, 1, 4));
        for digits in 0..u64::BITS - 6 {
            let of = u64::MAX >> digits;
            assert!((linux_root(of) as f64 / libm::cbrt(of as f64) - 1.0).abs() < 0.3, "{of}");
        }
        let errors: Vec<f64> = (0..4000)
            .map(|step| libm::exp2(6.0 + f64::from(step) * 0.014) as u64)
            .map(|of| (linux_root(of) as f64 / libm::cbrt(of as f64) - 1.0).abs())
            .collect();
        let large = errors[2000..].iter().copied();
        let mean = large.clone().sum::<f64>() / 2000.0;
        assert!((0.0001..0.001).contains(&mean), "{mean}");
        assert!(large.fold(0.0, f64::max) < 0.012);
    }

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
