//! `red`, random early detection: packets are dropped or marked at random, the more often the longer the queue was on
//! average.
//!
//! Sources: Floyd, Jacobson: Random early detection gateways for congestion avoidance, IEEE/ACM Transactions on
//! Networking 1(4), 1993; Floyd, Gummadi, Shenker: Adaptive RED, 2001 (`adaptive`); Floyd: Recommendation on using the
//! gentle variant of RED, 2000 (`gentle`); Linux net/sched/sch_red.c and include/net/red.h; tc-red(8) and
//! iproute2's tc/tc_red.c, from which the defaults and the derived constants are. The arithmetic is the kernel's, in bytes
//! and in fixed point, with the choices it makes:
//!
//! - The average is updated by each packet that comes. After an idle period it is halved by a table in place of
//!   the paper's power of 1 - W.
//! - From one drop to the next there are a uniformly distributed number of packets (method 2 of the paper's section 7).
//! - Every packet counts the same, whatever its size is (not the paper's byte mode of the probability).
//! - Without `gentle`, which Linux does not have, every packet is dropped from `max` on.
//!
//! `tc` computes the table for idle periods in ticks of 64 ns, and the kernel reads it in microseconds, so that an average
//! decays 15.6 times too slowly there. Here both are microseconds.

use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::units::{Bytes, Rate};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "red",
        summary: "drops or marks at random, the more often the longer the queue was on average",
        reference: "Floyd, Jacobson, IEEE/ACM ToN 1993; Linux net/sched/sch_red.c; tc-red(8)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of RED.
    pub struct Config for Red {
        /// The limit of the queue itself, a few times `max`.
        limit: Length = Length::Bytes(400_000),
        /// The average from which packets may be dropped or marked. Without it a third of `max`.
        min: Option<Bytes> = None,
        /// The average at which the probability is highest. Without it three times `min`, or a quarter of the limit.
        max: Option<Bytes> = None,
        /// The size of an average packet, for the time constant of the average.
        avpkt: Bytes = Bytes(1000),
        /// How many packets may come at once before the average notices, at least min / avpkt. Without it
        /// (2 min + max) / (3 avpkt).
        burst: Option<u64> = None,
        /// The probability of a drop or mark at `max`, above 0 and up to 1.
        probability: f64 = 0.02,
        /// The rate at which the average decays while the queue is idle. Without it the link's rate.
        bandwidth: Option<Rate> = None,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool = false,
        /// Whether packets are dropped even with `ecn` when the average is past `max`.
        harddrop: bool = false,
        /// Whether the probability adapts, between 1 % and 50 %, to keep the average halfway between `min` and `max`.
        adaptive: bool = false,
        /// Whether the probability rises from its value at `max` to 1 at twice `max`, instead of being 1 from `max` on.
        gentle: bool = false,
    }
    check(check)
}

fn check(config: &Config) -> Result<(), String> {
    if !(config.probability > 0.0 && config.probability <= 1.0) {
        return Err(format!("probability: {}: give a number above 0 and up to 1", config.probability));
    }
    let sizes = [("min", config.min), ("max", config.max), ("avpkt", Some(config.avpkt))];
    if let Some((name, _)) = sizes.iter().find(|(_, size)| *size == Some(Bytes(0))) {
        return Err(format!("{name}: 0B: give a positive size"));
    }
    if let (Some(Bytes(min)), Some(Bytes(max))) = (config.min, config.max)
        && min >= max
    {
        return Err(format!("min: {min}B is not below max, {max}B: a third of it is common"));
    }
    if let Some(Bytes(min)) = config.min.filter(|min| *min < config.avpkt) {
        return Err(format!("min: {min}B is below avpkt, {}B: give at least one packet", config.avpkt.0));
    }
    if let (Some(burst), Some(Bytes(min))) = (config.burst, config.min) {
        let least = min.div_ceil(config.avpkt.0);
        if burst < least {
            return Err(format!("burst: {burst} packets of {}B do not come up to min: give at least {least}", config.avpkt.0));
        }
    }
    Ok(())
}

/// Random early detection in front of a FIFO.
#[derive(Clone, Debug)]
pub struct Red<B> {
    limit: Limit,
    ecn: bool,
    harddrop: bool,
    /// When the probability adapts next.
    adapts: Time,
    law: Law,
    stream: Stream,
    packets: VecDeque<Packet<B>>,
    bytes: u64,
}

impl<B> Red<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Red<B> {
        Red {
            limit: config.limit.limit(&place.scale),
            ecn: config.ecn,
            harddrop: config.harddrop,
            adapts: if config.adaptive { Time::ZERO + ADAPTATION } else { Time::NEVER },
            law: Law::new(config, place),
            stream: place.stream(),
            packets: VecDeque::new(),
            bytes: 0,
        }
    }

    fn waiting(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Adapts the probability for each half second up to `now`.
    fn adapt(&mut self, now: Time) {
        while self.adapts <= now {
            let settled = !self.law.adapt(self.adapts) && self.law.rests(self.adapts);
            // If it is settled nothing changes until the next packet.
            let periods = if settled { now.since(self.adapts).as_nanos() / ADAPTATION.as_nanos() } else { 0 };
            self.adapts += Span::from_nanos(periods * ADAPTATION.as_nanos()) + ADAPTATION;
        }
    }
}

impl<B: Send> QueueDiscipline<B> for Red<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        self.adapt(now);
        self.law.arrives(self.bytes, now);
        let spares = match self.law.decide(&mut self.stream) {
            Verdict::Pass => true,
            Verdict::Early => self.ecn && fates.mark(&mut packet),
            Verdict::Always => self.ecn && !self.harddrop && fates.mark(&mut packet),
        };
        if !spares {
            fates.drop(packet, DropReason::Early);
        } else if !self.limit.admits(self.waiting(), packet.len) {
            fates.drop(packet, DropReason::QueueFull);
        } else {
            self.bytes += u64::from(packet.len);
            self.packets.push_back(packet);
        }
        if self.packets.is_empty() {
            self.law.idle_since = Some(now);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.adapt(now);
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        if self.packets.is_empty() {
            self.law.idle_since = Some(now);
        }
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.waiting()
    }
}

/// The decision on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// It is enqueued.
    Pass,
    /// It is dropped or marked, by chance.
    Early,
    /// It is dropped or marked, as all are.
    Always,
}

/// How often the probability adapts, and within what bounds (`red_adaptative_algo`), in 2^-32.
const ADAPTATION: Span = Span::from_millis(500);
const PERCENT: u64 = (ONE + 50) / 100;
const ONE: u64 = 1 << 32;

/// The average queue and the chance of a drop.
#[derive(Clone, Debug)]
struct Law {
    /// Thresholds, bytes.
    min: u64,
    max: u64,
    gentle: bool,
    /// The weight of a new value in the average is 2^-weight.
    weight: u32,
    /// The average, bytes · 2^weight.
    average: u128,
    /// The probability at `max`, in 2^-32.
    probability: u64,
    idle_since: Option<Time>,
    damping: Damping,
    /// Packets since the last drop; -1 if the average was outside the range in which they are counted.
    count: i64,
    /// The random number of the next drop, 32 bits, and the same in bytes: the average above `min` times the number of
    /// packets since the last drop, from which on one is dropped.
    draw: u64,
    threshold: u64,
}

impl Law {
    fn new(config: &Config, place: &Place<'_>) -> Law {
        let limit = match config.limit.limit(&place.scale) {
            Limit::Bytes(n) => n,
            Limit::Packets(n) => n.saturating_mul(place.scale.mtu.into()),
        };
        let max = match (config.max, config.min) {
            (Some(Bytes(max)), _) => max,
            (None, Some(Bytes(min))) => min.saturating_mul(3),
            (None, None) => limit / 4,
        };
        let min = config.min.map_or(max / 3, |Bytes(min)| min);
        let packet = config.avpkt.0.max(1);
        let burst = config.burst.unwrap_or((2 * u128::from(min) + u128::from(max)) as u64 / packet / 3);
        // `tc` refuses a burst that does not come up to `min`, and a `min` of less than a packet.
        let weight = weight(min, burst.max(min.div_ceil(packet)), packet.min(min.max(1)));
        let rate = config.bandwidth.or(place.scale.rate).unwrap_or(Rate::from_bps(10_000_000));
        Law {
            min,
            max,
            gentle: config.gentle,
            weight,
            average: 0,
            probability: ((config.probability * ONE as f64) as u64).clamp(1, ONE - 1),
            idle_since: Some(Time::ZERO),
            damping: Damping::new(weight, packet, rate),
            count: -1,
            draw: 0,
            threshold: 0,
        }
    }

    fn range(&self) -> u64 {
        self.max.saturating_sub(self.min).max(1)
    }

    /// The average in bytes.
    fn bytes(&self) -> u64 {
        (self.average >> self.weight) as u64
    }

    /// Updates the average when a packet arrives and finds `backlog` bytes (`red_calc_qavg`).
    fn arrives(&mut self, backlog: u64, now: Time) {
        self.average = match self.idle_since.take() {
            Some(since) => self.damping.damp(self.average, now.since(since)),
            None => self.average - (self.average >> self.weight) + u128::from(backlog),
        };
    }

    /// Decides on the packet that has arrived (`red_action`).
    fn decide(&mut self, stream: &mut Stream) -> Verdict {
        let average = self.bytes();
        if average < self.min {
            self.count = -1;
            return Verdict::Pass;
        }
        let past = average >= self.max;
        if past && !(self.gentle && average / 2 < self.max) {
            self.count = -1;
            return Verdict::Always;
        }
        self.count += 1;
        if self.count == 0 {
            self.draw(stream);
            return Verdict::Pass;
        }
        let count = self.count as u128;
        let strikes = if past {
            let beyond = u128::from(ONE - self.probability) * u128::from(average - self.max) / u128::from(self.max);
            (u128::from(self.probability) + beyond) * count >= u128::from(self.draw)
        } else {
            u128::from(average - self.min) * count >= u128::from(self.threshold)
        };
        if !strikes {
            return Verdict::Pass;
        }
        self.count = 0;
        self.draw(stream);
        Verdict::Early
    }

    fn draw(&mut self, stream: &mut Stream) {
        self.draw = stream.bits() >> 32;
        self.threshold = self.draw / (self.probability / self.range()).max(1);
    }

    /// Adapts the probability to the average at `now` and returns whether it changed (`red_adaptative_algo`).
    fn adapt(&mut self, now: Time) -> bool {
        let average = match self.idle_since {
            Some(since) => self.damping.damp(self.average, now.since(since)),
            None => self.average,
        };
        let average = (average >> self.weight) as u64;
        let before = self.probability;
        if average > self.min + self.range() / 5 * 3 && self.probability <= 50 * PERCENT {
            self.probability += PERCENT.min(self.probability / 4);
        } else if average < self.min + self.range() / 5 * 2 && self.probability >= PERCENT {
            self.probability = self.probability / 10 * 9;
        }
        self.probability != before
    }

    /// Whether the average stays as it is until the next packet.
    fn rests(&self, now: Time) -> bool {
        self.idle_since.is_none_or(|since| self.damping.longest() <= now.since(since))
    }
}

/// The exponent of the weight with which a burst of so many packets, from an empty queue, brings the average up to `min`
/// (`tc_red_eval_ewma`; the paper's equation 3).
fn weight(min: u64, burst: u64, packet: u64) -> u32 {
    let above = burst as f64 + 1.0 - min as f64 / packet as f64;
    let reaches = |exponent: &u32| {
        let weight = 1.0 / (1u64 << exponent) as f64;
        above <= (1.0 - libm::pow(1.0 - weight, burst as f64)) / weight
    };
    (1..32).find(reaches).unwrap_or(31)
}

/// The effect of an idle period on the average (`red_calc_qavg_from_idle_time`, `tc_red_eval_idle_damping`).
#[derive(Clone, Debug)]
struct Damping {
    /// A cell of the table stands for 2^cell µs.
    cell: u32,
    /// How often the average is halved.
    halvings: Box<[u8; 256]>,
}

impl Damping {
    fn new(weight: u32, packet: u64, rate: Rate) -> Damping {
        let packet_us = packet as f64 * 8e6 / rate.as_bps().max(1) as f64;
        let per_us = -libm::log1p(-1.0 / (1u64 << weight) as f64) / packet_us;
        let cell = (0..32).find(|cell| 31.0 / per_us / ((1u64 << cell) as f64) < 512.0).unwrap_or(31);
        let mut halvings = Box::new([0; 256]);
        for (n, halvings) in halvings.iter_mut().enumerate() {
            *halvings = (((n as u64) << cell) as f64 * per_us).min(31.0) as u8;
        }
        halvings[255] = 31;
        Damping { cell, halvings }
    }

    /// The longest idle period that makes a difference.
    fn longest(&self) -> Span {
        Span::from_micros(255 << self.cell)
    }

    fn damp(&self, average: u128, idle: Span) -> u128 {
        let us = idle.min(self.longest()).as_micros();
        let halvings = self.halvings[(us >> self.cell) as usize & 255];
        if halvings > 0 {
            return average >> halvings;
        }
        // The first part of the exponential is a straight line.
        let less = (average * u128::from(us)) >> self.cell;
        if less < average >> 1 { average - less } else { average >> 1 }
    }
}

#[cfg(test)]
#[path = "red_tests.rs"]
mod tests;
