//! `tbf`, the token bucket filter: packets leave at a rate, with bursts. A second bucket can limit the rate in bursts.
//!
//! Source: Linux net/sched/sch_tbf.c, tc-tbf(8). Tokens are counted without rounding; the kernel rounds the time of each
//! packet down to a nanosecond. A packet that is longer than the bucket is dropped, as in the kernel.

use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::{Span, Time};
use crate::units::{Bytes, Rate};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "tbf",
        summary: "a shaper: packets leave at a rate, with bursts, from a drop-tail queue",
        reference: "Linux net/sched/sch_tbf.c; tc-tbf(8)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of `tbf`.
    pub struct Config for Tbf {
        /// The rate at which tokens come. Without it they come at the link's rate.
        rate: Option<Rate> = None,
        /// The size of the bucket; longer packets are dropped. Without it the link's MTU.
        burst: Option<Bytes> = None,
        /// The limit of what waits for tokens.
        limit: Length = Length::Packets(1000),
        /// The rate that bursts do not exceed, higher than the rate. Without it they leave at once.
        peakrate: Option<Rate> = None,
        /// The size of the peak rate's bucket; longer packets are dropped. Without it the link's MTU.
        mtu: Option<Bytes> = None,
    }
    check(check)
}

fn check(config: &Config) -> Result<(), String> {
    for (name, size) in [("burst", config.burst), ("mtu", config.mtu)] {
        if size == Some(Bytes(0)) {
            return Err(format!("{name}: 0B lets nothing pass: give at least the length of the longest packet"));
        }
    }
    match (config.rate, config.peakrate) {
        (Some(rate), Some(peak)) if peak <= rate => {
            Err(format!("peakrate: {peak} is not higher than the rate, {rate}: give a higher one, or leave it out"))
        }
        _ => Ok(()),
    }
}

/// Tokens of one byte, counted in bit-nanoseconds: the product of a rate in bit/s and a time in ns is exact.
const BYTE: u128 = 8_000_000_000;

/// A bucket of tokens.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    bps: u128,
    /// How many tokens it holds at most, and holds now, in bit-nanoseconds.
    size: u128,
    tokens: u128,
}

impl Bucket {
    fn full(rate: Rate, size: u64) -> Bucket {
        let size = u128::from(size) * BYTE;
        Bucket { bps: u128::from(rate.as_bps().max(1)), size, tokens: size }
    }

    fn fill(&mut self, span: Span) {
        self.tokens = (self.tokens + u128::from(span.as_nanos()) * self.bps).min(self.size);
    }

    fn spend(&mut self, len: u32) {
        self.tokens = self.tokens.saturating_sub(u128::from(len) * BYTE);
    }

    /// How long the tokens for a packet of this length take to come.
    fn wait(&self, len: u32) -> Span {
        let lacking = (u128::from(len) * BYTE).saturating_sub(self.tokens);
        Span::from_nanos(u64::try_from(lacking.div_ceil(self.bps)).unwrap_or(u64::MAX))
    }
}

/// A token bucket in front of a FIFO.
#[derive(Clone, Debug)]
pub struct Tbf<B> {
    limit: Limit,
    /// The bucket, `None` without a rate, and that of the peak rate.
    buckets: [Option<Bucket>; 2],
    longest: u64,
    /// When the tokens were counted.
    filled: Time,
    packets: VecDeque<Packet<B>>,
    bytes: u64,
}

impl<B> Tbf<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Tbf<B> {
        let size = |size: Option<Bytes>| size.map_or(u64::from(place.scale.mtu), |Bytes(n)| n).max(1);
        let (burst, mtu) = (size(config.burst), size(config.mtu));
        let bucket = config.rate.or(place.scale.rate).map(|rate| Bucket::full(rate, burst));
        let peak = config.peakrate.map(|rate| Bucket::full(rate, mtu));
        let longest = if peak.is_some() { burst.min(mtu) } else { burst };
        let limit = config.limit.limit(&place.scale);
        Tbf { limit, buckets: [bucket, peak], longest, filled: Time::ZERO, packets: VecDeque::new(), bytes: 0 }
    }

    fn waiting(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

impl<B: Send> QueueDiscipline<B> for Tbf<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        if u64::from(packet.len) > self.longest {
            return fates.drop(packet, DropReason::TooBig);
        }
        if !self.limit.admits(self.waiting(), packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        for bucket in self.buckets.iter_mut().flatten() {
            bucket.fill(now.since(self.filled));
            bucket.spend(packet.len);
        }
        self.filled = now;
        Some(packet)
    }

    fn ready_at(&self) -> Time {
        let Some(first) = self.packets.front() else { return Time::NEVER };
        let wait = self.buckets.iter().flatten().map(|bucket| bucket.wait(first.len)).max().unwrap_or(Span::ZERO);
        (self.filled + wait).min(Time::NEVER.saturating_sub(Span::from_nanos(1)))
    }

    fn backlog(&self) -> Backlog {
        self.waiting()
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::QueueConfig;
    use crate::queue::testing::{Bench, packet};

    fn train(word: &str, len: u32, count: u32) -> Vec<u64> {
        let mut queue = Bench::new(word);
        for n in 0..count {
            queue.put(0, packet(n, len, 0));
        }
        queue.departures(0).into_iter().map(|(at, _)| at).collect()
    }

    /// Tokens for 3000 bytes at once, then 3 Mbit/s: a packet of 1000 bytes every 8/3 ms, without drift.
    #[test]
    fn a_full_bucket_leaves_at_once_and_the_rest_at_the_rate() {
        let times = train("tbf:rate=3Mbit/s,burst=3000B", 1000, 303);
        assert_eq!(times[..6], [0, 0, 0, 2_666_667, 5_333_334, 8_000_000]);
        assert_eq!(times[302], 800_000_000);
    }

    /// 8 Mbit/s within the burst: a packet every millisecond, until the bucket of 3000 bytes, which 4 Mbit/s fills
    /// meanwhile, is empty; then one every two.
    #[test]
    fn the_peak_rate_limits_bursts() {
        let times = train("tbf:rate=4Mbit/s,burst=3000B,peakrate=8Mbit/s,mtu=1000B", 1000, 8);
        assert_eq!(times.iter().map(|ns| ns / 1_000_000).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 6, 8, 10]);
    }

    #[test]
    fn tokens_gather_while_the_queue_is_empty_up_to_the_bucket() {
        let mut queue = Bench::new("tbf:rate=8Mbit/s,burst=2000B");
        for n in 0..3 {
            queue.put(0, packet(n, 1000, 0));
        }
        assert_eq!(queue.departures(0), [(0, 0), (0, 1), (1_000_000, 2)]);
        // 500 bytes' worth after half a millisecond: a short packet leaves at once, a long one waits for the rest.
        queue.put(1_500_000, packet(3, 500, 0));
        queue.put(1_500_000, packet(4, 1000, 0));
        assert_eq!(queue.departures(1_500_000), [(1_500_000, 3), (2_500_000, 4)]);
        for n in 5..8 {
            queue.put(1_000_000_000, packet(n, 1000, 0));
        }
        assert_eq!(queue.departures(1_000_000_000), [(1_000_000_000, 5), (1_000_000_000, 6), (1_001_000_000, 7)]);
    }

    #[test]
    fn what_is_longer_than_the_bucket_or_finds_the_queue_full_is_dropped() {
        let mut queue = Bench::new("tbf:rate=1Mbit/s,burst=1000B,limit=2500B");
        for (n, len) in [1000, 1001, 1000, 1000].into_iter().enumerate() {
            queue.put(0, packet(n as u32, len, 0));
        }
        assert_eq!(queue.dropped(), [1, 3]);
        assert_eq!((queue.counters.dropped_mtu, queue.counters.dropped_queue), (1, 1));
    }

    #[test]
    fn without_a_rate_tokens_come_at_that_of_the_link() {
        assert_eq!(train("tbf", 1000, 4), [0, 500_000, 1_500_000, 2_500_000]);
    }

    #[test]
    fn a_peak_rate_that_is_no_peak_is_refused() {
        let refused = QueueConfig::from_word("tbf:rate=2Mbit/s,peakrate=1Mbit/s").unwrap_err();
        assert!(refused.starts_with("peakrate: 1Mbit/s is not higher than the rate, 2Mbit/s"), "{refused}");
        assert!(QueueConfig::from_word("tbf:burst=0B").is_err());
    }
}
