//! Traces that look like measured ones, at any size: for benches, for tests, and for demonstrations without data.
//!
//! The network behind them is a tree of routers that the prefixes of destinations span, so that traces share the hops near
//! the monitor and part later, as measured ones do. Shares are those of CAIDA's Ark in order of magnitude: some 15 answers
//! a trace, every twelfth hop silent. They describe no network.

mod files;

pub use files::{Kind, Wanted, files};

use crate::{Address, Hop, Method, Stop, Trace};
use haltere_net::rng::{Stream, Streams};
use std::sync::Arc;

/// Shares and sizes of generated traces.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Mean number of hops.
    pub mean_hops: f64,
    /// Standard deviation of the number of hops.
    pub spread: f64,
    /// Share of destinations that answer.
    pub complete: f64,
    /// Share of hops that keep silent.
    pub silent: f64,
    /// Share of traces that end in a loop.
    pub looped: f64,
    /// Share of hops whose answer carries an MPLS label.
    pub mpls: f64,
    /// Whether addresses are IPv6.
    pub v6: bool,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile { mean_hops: 16.0, spread: 4.5, complete: 0.5, silent: 0.08, looped: 0.02, mpls: 0.03, v6: false }
    }
}

/// Makes one trace after the other; the same seed and monitor make the same traces.
pub struct Generator {
    profile: Profile,
    dice: Stream,
    source: Address,
    clock_us: u64,
    monitor: Arc<str>,
}

impl Generator {
    /// A generator of the traces that `monitor` makes from `start_s` (seconds since the Unix epoch) on.
    pub fn new(seed: u64, monitor: &str, start_s: u64, profile: Profile) -> Generator {
        let mut dice = Streams::new(seed, 0).named(monitor);
        let source = profile.address(dice.bits());
        Generator { profile, dice, source, clock_us: start_s * 1_000_000, monitor: Arc::from(monitor) }
    }

    /// Makes the next traces from `start_s` (seconds since the Unix epoch) on.
    pub fn go_on_at(&mut self, start_s: u64) {
        self.clock_us = start_s * 1_000_000;
    }

    /// Makes the next trace.
    pub fn fill(&mut self, trace: &mut Trace) {
        trace.clear();
        let target = self.dice.bits();
        let hops = (self.profile.mean_hops + self.profile.spread * self.dice.normal()).clamp(2.0, 40.0) as u8;
        let complete = self.dice.chance(self.profile.complete);
        let looped = !complete && self.dice.chance(self.profile.looped / (1.0 - self.profile.complete).max(1e-9));
        trace.source = self.source;
        trace.destination = self.profile.address(target);
        trace.start_us = self.clock_us;
        trace.method = Method::IcmpEchoParis;
        (trace.source_port, trace.destination_port, trace.flags) = (44_249, self.dice.bits() as u16 | 1, 0x20);
        (trace.attempts, trace.gap_limit, trace.gap_action, trace.wait_s) = (2, 5, 1, 5);
        (trace.probe_size, trace.list_id, trace.cycle_id) = (if self.profile.v6 { 64 } else { 44 }, 1, 1);
        trace.set_monitor(Some(&self.monitor.clone()));
        trace.answered = complete;
        self.walk(trace, target, hops);
        if looped && let Some(&hop) = trace.hops.iter().rev().nth(1) {
            let ttl = trace.length() + 1;
            trace.hops.push(Hop { ttl, ..hop });
        }
        trace.stop = match (complete, looped) {
            (true, _) => Stop::Completed,
            (_, true) => Stop::Loop,
            _ => Stop::GapLimit,
        };
        trace.hop_count = u16::from(trace.length()) + if trace.stop == Stop::GapLimit { 5 } else { 0 };
        trace.probes = trace.hop_count + 3;
        self.clock_us += 9_000 + self.dice.below(2_000);
    }

    fn walk(&mut self, trace: &mut Trace, target: u64, hops: u8) {
        let mut rtt_us = 150.0;
        let mut sent_us = trace.start_us;
        for ttl in 1..=hops {
            let last = ttl == hops;
            rtt_us += 8_000.0 * self.dice.unit() * self.dice.unit() * self.dice.unit() + 30.0;
            sent_us += rtt_us as u64 + 2_000;
            if if last { !trace.answered } else { self.dice.chance(self.profile.silent) } {
                continue;
            }
            // A router stands where the first bits of destinations agree: 3 bits more with each hop.
            let prefix = target >> 61_u32.saturating_sub(3 * u32::from(ttl));
            let at = if last { trace.destination } else { self.profile.address(scatter(prefix, ttl)) };
            let size = if last { trace.probe_size } else { 56 };
            trace.hops.push(Hop {
                address: at,
                sent_us,
                rtt_us: (rtt_us * (1.0 + 0.05 * self.dice.unit())) as u32,
                probe_size: trace.probe_size,
                reply_size: size,
                reply_id: self.dice.bits() as u16,
                quoted_size: trace.probe_size,
                ttl,
                attempt: 1 + u8::from(self.dice.chance(0.02)),
                reply_ttl: 255 - ttl,
                flags: 0x10,
                icmp_type: if last { 0 } else { 11 },
                ..Hop::default()
            });
            if self.dice.chance(self.profile.mpls) {
                let label = self.dice.below(1 << 20) as u32;
                trace.add_extension(1, 1, &((label << 12) | 0x0101).to_be_bytes());
            }
        }
    }
}

/// The finaliser of SplitMix64: spreads routers over the address space.
fn scatter(prefix: u64, ttl: u8) -> u64 {
    let z = prefix ^ u64::from(ttl) << 56;
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Profile {
    fn address(&self, bits: u64) -> Address {
        let b = bits.to_be_bytes();
        if self.v6 {
            // 2001:db8::/32 is for documentation (RFC 3849).
            Address::v6([0x20, 0x01, 0x0d, 0xb8, b[0], b[1], b[2], b[3], 0, 0, 0, 0, b[4], b[5], b[6], b[7]])
        } else {
            Address::v4([1 + b[0] % 223, b[1], b[2], b[3]])
        }
    }
}
