//! Westwood+ (S. Mascolo et al., "TCP Westwood: bandwidth estimation for enhanced transport over wireless links",
//! MobiCom 2001; L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
//! congestion control", ACM CCR 34(2), 2004).
//!
//! Reno, except that a loss sets the window to what the path has carried: the rate of acknowledgements, sampled once
//! per RTT and smoothed, times the smallest RTT. Linux samples in ticks, over at least 50 ms, smooths twice by 7/8,
//! aims at half the window during recovery and applies the estimate at its end.

use super::observed::Ticks;
use super::windows::{Windows, by_windows};
use super::{Ack, Config, Congestion, CongestionController, Description, Established, Implementation, PathView, SlowStart, Trigger};
use haltere_net::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    label: "Westwood+",
    linux: Some("westwood"),
    ..Implementation::new(
        Description {
            name: "westwood",
            summary: "Reno whose backoff goes to the estimated bandwidth times the least RTT",
            reference: "Mascolo et al., MobiCom 2001; Grieco, Mascolo, ACM CCR 34(2), 2004",
        },
        |config| Box::new(Westwood::new(config)),
    )
};

/// The weight of the old estimate (Grieco, Mascolo, section 2.1).
const MEMORY: f64 = 0.9;
/// The shortest sample (Linux).
const SAMPLE_LEAST: Span = Span::from_millis(50);

/// Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    w: Windows,
    bandwidth: Bandwidth,
    rtt: Option<Span>,
    least_rtt: Option<Span>,
    /// Set when the smallest RTT must be measured again.
    forget_rtt: bool,
    linux: Linux,
    /// Whether losses found by ACKs are being repaired, and whether the repair has just ended.
    recovering: bool,
    recovered: bool,
}

/// The sample being taken, and the estimate: bytes a second, in Linux bytes a tick.
#[derive(Clone, Copy, Default, Debug)]
struct Bandwidth {
    since: Option<Time>,
    bytes: u64,
    first: f64,
    smoothed: f64,
    has_sample: bool,
}

/// Counts as the kernel's module does.
#[derive(Clone, Copy, Debug)]
struct Linux {
    ticks: Ticks,
    acked_to: u64,
    /// Bytes counted for duplicate ACKs before they were acknowledged.
    accounted: u64,
}

impl Linux {
    /// Bytes that an ACK delivered, from the cumulative ACK alone. A duplicate counts as a segment, for which later
    /// acknowledgements do not count again.
    fn count(&mut self, ack: &Ack, mss: u64) -> u64 {
        let mut bytes = ack.acked_to.saturating_sub(self.acked_to);
        self.acked_to = self.acked_to.max(ack.acked_to);
        if bytes == 0 {
            self.accounted += mss;
            return mss;
        }
        if bytes > mss {
            if self.accounted >= bytes {
                self.accounted -= bytes;
                bytes = mss;
            } else {
                bytes -= self.accounted;
                self.accounted = 0;
            }
        }
        bytes
    }
}

impl Westwood {
    pub(super) fn new(config: Config) -> Westwood {
        Westwood {
            w: Windows::new(&config, SlowStart::Standard),
            bandwidth: Bandwidth::default(),
            rtt: None,
            least_rtt: None,
            forget_rtt: true,
            linux: Linux { ticks: Ticks::new(&config), acked_to: 0, accounted: 0 },
            recovering: false,
            recovered: false,
        }
    }

    fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.rtt = Some(rtt);
        }
        let as_linux = self.w.as_linux();
        let since = *self.bandwidth.since.get_or_insert(ack.now);
        if let Some(rtt) = self.rtt {
            if let Some(sample) = if as_linux { self.sample_linux(since, ack.now, rtt) } else { self.sample(since, ack) }
            {
                self.take(sample, ack.now);
            }
            let least = self.least_rtt.filter(|_| !self.forget_rtt).map_or(rtt, |least| least.min(rtt));
            self.least_rtt = Some(least);
            self.forget_rtt = false;
        }
        self.bandwidth.bytes += if as_linux { self.linux.count(ack, self.w.mss) } else { ack.delivered };
    }

    /// Smooths the estimate with a sample.
    fn take(&mut self, sample: f64, now: Time) {
        let Bandwidth { first, smoothed, has_sample, .. } = self.bandwidth;
        let (first, smoothed) = if !has_sample {
            (sample, sample)
        } else if self.w.as_linux() {
            let first = libm::floor((7.0 * first + sample) / 8.0);
            (first, libm::floor((7.0 * smoothed + first) / 8.0))
        } else {
            (first, MEMORY * smoothed + (1.0 - MEMORY) * sample)
        };
        let has_sample = smoothed > 0.0 || first > 0.0;
        self.bandwidth = Bandwidth { since: Some(now), bytes: 0, first, smoothed, has_sample };
    }

    /// A sample of bytes a second, if an RTT has passed.
    fn sample(&self, since: Time, ack: &Ack) -> Option<f64> {
        let span = ack.now.since(since);
        (span >= ack.srtt? && !span.is_zero()).then(|| self.bandwidth.bytes as f64 / span.as_secs_f64())
    }

    /// A sample of bytes a tick, if an RTT has passed and 50 ms.
    fn sample_linux(&self, since: Time, now: Time, rtt: Span) -> Option<f64> {
        let ticks = &self.linux.ticks;
        let span = ticks.at(now).saturating_sub(ticks.at(since));
        let least = ticks.of(rtt).max(SAMPLE_LEAST.as_nanos() / ticks.length().as_nanos());
        (span > least).then(|| (self.bandwidth.bytes / span.max(1)) as f64)
    }

    fn adopt(&mut self) {
        self.w.ssthresh = self.capacity();
        self.w.window = self.w.ssthresh;
    }

    /// The capacity of the path: bandwidth times smallest RTT, bytes.
    fn capacity(&self) -> u64 {
        let least = self.least_rtt.unwrap_or(Span::ZERO);
        let span = if self.w.as_linux() { self.linux.ticks.of(least) as f64 } else { least.as_secs_f64() };
        let bytes = (self.bandwidth.smoothed * span) as u64;
        (bytes / self.w.grain * self.w.grain).max(2 * self.w.mss)
    }
}

impl CongestionController for Westwood {
    by_windows!(on_sent, on_undo, window, ssthresh, set_mss, set_window);

    fn on_established(&mut self, event: &Established) {
        self.bandwidth.since = Some(event.now);
    }

    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        self.observe(ack);
        if std::mem::take(&mut self.recovered) {
            // The ACK that ends recovery counts in the estimate (Linux 6.12.y: `tcp_in_ack_event` comes first).
            self.adopt();
        }
        let delivered = self.w.consider_exit(ack, ack.min_rtt);
        if let Some(rest) = self.w.grow(ack, delivered) {
            self.w.additive_reno(rest);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let timeout = event.trigger == Trigger::Timeout;
        let target = if self.w.as_linux() && !timeout { self.w.window / 2 } else { self.capacity() };
        self.w.reduce(event, target);
        self.recovering = !timeout;
        self.recovered = false;
        self.forget_rtt |= timeout && self.w.as_linux() && event.new_episode;
    }

    fn on_recovered(&mut self, _: Time) {
        if self.w.as_linux() && std::mem::take(&mut self.recovering) {
            self.adopt();
            self.recovered = true;
        }
    }
}
