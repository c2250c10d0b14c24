//! DualPI2, the dual-queue coupled AQM of L4S (RFC 9332): one queue for scalable congestion controls (L) with a very short
//! delay and one for classic ones (C), coupled so that both kinds of flows get the same share.
//!
//! A controller adapts a probability p' to hold the delay of the longer queue at a target (RFC 9332 appendix A.1). Classic
//! packets are dropped or marked with p_C = p'² and scalable ones marked with p_CL = k · p', so that p_C = (p_CL / k)²
//! (section 2.1, equation 1). The latter are also marked when they waited longer than `step_thresh`.
//!
//! The behaviour and the defaults are those of Linux 6.17 (`net/sched/sch_dualpi2.c`). Where the RFC's example (appendix A)
//! differs, Linux is followed:
//! - L marks by a step instead of a ramp.
//! - The scheduler is a weighted round robin by bytes, which keeps a tenth of the link for C (the RFC's is a time-shifted
//!   FIFO). Its credit starts anew when the queues are empty; Linux finds them so when it asks after the last packet.
//! - Nothing is dropped or marked at random while less than two MTUs wait in both queues together.
//! - Overload (section 4.2) begins when p_CL is above 1: packets of C are dropped with p_C even if they are ECN-capable, and
//!   so are those of L, of which the rest is marked. Without `drop_on_overload` p_CL stops at 1 and the limit drops.
//!
//! Packets are classified by ECT(1) and CE (section 2.3); there are no filters. Updates are made up for when a packet comes
//! or leaves, each at its own time.

use super::packets::{Fifo, Store, memory};
use super::whole::{Factor, Percent};
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, Value, parameters};
use crate::registry::Description;
use crate::packet::{Ecn, Packet};
use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::units::{self, Bytes, QuantityError};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "dualpi2",
        summary: "L4S: a queue of little delay for scalable congestion controls, coupled to a classic one with a PI controller",
        reference: "RFC 9332; Linux net/sched/sch_dualpi2.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of DualPI2.
    pub struct Config for DualPi2 {
        /// The limit of both queues together.
        limit: Length = Length::Packets(10_000),
        /// The memory of the packets, as Linux accounts it. Without it two MTUs for each packet of the limit.
        memlimit: Option<Bytes> = None,
        /// The delay that the controller holds in the longer queue.
        target: Span = Span::from_millis(15),
        /// The period of the controller.
        tupdate: Span = Span::from_millis(16),
        /// The gain for the deviation from the target, 1/s.
        alpha: f64 = 0.16,
        /// The gain for the change of the delay, 1/s.
        beta: f64 = 3.2,
        /// Scalable packets are marked if they waited longer than this, or if more packets than this wait in L.
        step_thresh: Threshold = Threshold::Time(Span::from_millis(1)),
        /// Scalable packets that find fewer packets than this in L are not marked by the step.
        min_qlen_step: u64 = 0,
        /// The coupling k: scalable packets are marked k times as often as the root of the classic probability.
        coupling_factor: Factor = Factor(2),
        /// Under overload packets are dropped at random in both queues. Otherwise the queue grows to its limit.
        drop_on_overload: bool = true,
        /// Packets are dropped and marked at random when they arrive instead of when they leave.
        drop_enqueue: bool = false,
        /// ECT(0) counts as scalable as well.
        any_ect: bool = false,
        /// The share of the link in percent that C has at least while both queues hold packets.
        classic_protection: Percent = Percent(10),
    }
}

/// The threshold of the step: a time, or packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threshold {
    /// The time that a packet waited.
    Time(Span),
    /// The packets that are left in the queue.
    Packets(u64),
}

impl Value for Threshold {
    const EXAMPLE: &'static str = "1ms";
    fn parse(text: &str) -> Result<Threshold, QuantityError> {
        let expected = "a time such as \"1ms\" or a number of packets such as \"5p\"";
        let packets = text.trim().strip_suffix('p').and_then(|number| number.trim().parse().ok());
        let time = || units::parse_span(text).map(Threshold::Time);
        packets.map_or_else(time, |n| Ok(Threshold::Packets(n))).map_err(|wrong| QuantityError { expected, ..wrong })
    }
    fn text(&self) -> Option<String> {
        Some(match self {
            Threshold::Time(span) => span.to_string(),
            Threshold::Packets(n) => format!("{n}p"),
        })
    }
}

/// The most updates that are made up for one by one. Those of a longer pause in which something still changes are left
/// out.
const MADE_UP: u64 = 100_000;

/// The two queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Which {
    L,
    C,
}

/// The dual queue.
#[derive(Clone, Debug)]
pub struct DualPi2<B> {
    limit: Limit,
    memory_limit: u64,
    mtu: u64,
    target: Span,
    tupdate: Span,
    alpha: f64,
    beta: f64,
    step: Threshold,
    min_qlen_step: u64,
    coupling: f64,
    drop_on_overload: bool,
    drop_enqueue: bool,
    any_ect: bool,
    /// The weight of C in percent.
    weight: i64,
    /// The turn: that of L while it is not positive.
    credit: i64,
    /// p'.
    probability: f64,
    last_delay: Span,
    updates: u64,
    stream: Stream,
    l: Fifo,
    c: Fifo,
    /// Whether the step may mark, for each packet in L.
    steps: VecDeque<bool>,
    store: Store<B>,
}

impl<B> DualPi2<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> DualPi2<B> {
        let (limit, mtu) = (config.limit.limit(&place.scale), u64::from(place.scale.mtu));
        let usual = match limit {
            Limit::Packets(packets) => packets.saturating_mul(2 * mtu),
            Limit::Bytes(_) => u64::MAX,
        };
        let mut queue = DualPi2 {
            limit,
            memory_limit: config.memlimit.map_or(usual, |bytes| bytes.0),
            mtu,
            target: config.target,
            tupdate: config.tupdate,
            alpha: config.alpha,
            beta: config.beta,
            step: config.step_thresh,
            min_qlen_step: config.min_qlen_step,
            coupling: f64::from(config.coupling_factor.0),
            drop_on_overload: config.drop_on_overload,
            drop_enqueue: config.drop_enqueue,
            any_ect: config.any_ect,
            weight: i64::from(config.classic_protection.0),
            credit: 0,
            probability: 0.0,
            last_delay: Span::ZERO,
            updates: 0,
            stream: place.stream(),
            l: Fifo::new(),
            c: Fifo::new(),
            steps: VecDeque::new(),
            store: Store::new(),
        };
        queue.reset_credit();
        queue
    }

    /// The credit of empty queues: one MTU at the difference of the weights.
    fn reset_credit(&mut self) {
        self.credit = self.mtu as i64 * (2 * self.weight - 100);
    }

    /// Makes up for the updates that were due by `now`.
    fn update_until(&mut self, now: Time) {
        if self.tupdate.is_zero() {
            return;
        }
        let due = now.as_nanos() / self.tupdate.as_nanos();
        if due <= self.updates {
            return;
        }
        let last = due.min(self.updates.saturating_add(MADE_UP));
        while self.updates < last {
            self.updates += 1;
            let before = (self.probability, self.last_delay);
            let grows = self.update(Time::ZERO + self.tupdate * self.updates);
            // Of an empty queue nothing changes any more. In one that stands the delay grows and the probability does not.
            let stands = grows && self.alpha >= 0.0 && self.probability == before.0;
            if stands || before == (self.probability, self.last_delay) {
                break;
            }
        }
        if self.updates < due {
            self.last_delay = self.delay(Time::ZERO + self.tupdate * due);
            self.updates = due;
        }
    }

    /// The age of the oldest packet at `at`.
    fn delay(&self, at: Time) -> Span {
        let age = |fifo| self.store.front(fifo).map_or(Span::ZERO, |packet| at.since(packet.arrived));
        age(&self.l).max(age(&self.c))
    }

    /// An update of p' at `at` (RFC 9332 appendix A.1). Returns whether it was to grow.
    fn update(&mut self, at: Time) -> bool {
        let delay = self.delay(at);
        let seconds = |a: Span, b: Span| a.as_secs_f64() - b.as_secs_f64();
        let change = self.alpha * seconds(delay, self.target) + self.beta * seconds(delay, self.last_delay);
        // Gains beyond any sense can be infinite together.
        let change = if change.is_nan() { 0.0 } else { change };
        self.last_delay = delay;
        let most = if self.drop_on_overload { 1.0 } else { 1.0 / self.coupling };
        self.probability = (self.probability + change).clamp(0.0, most);
        change > 0.0
    }

    /// Which queue a packet belongs to (RFC 9332 section 2.3).
    fn classify(&self, ecn: Ecn) -> Which {
        match ecn {
            Ecn::Ect1 | Ecn::Ce => Which::L,
            Ecn::Ect0 if self.any_ect => Which::L,
            Ecn::Ect0 | Ecn::NotEct => Which::C,
        }
    }

    /// p'²: both of two draws hit.
    fn draws_twice(&mut self) -> bool {
        self.stream.chance(self.probability) && self.stream.chance(self.probability)
    }

    /// Whether a packet must be dropped. It may be marked instead.
    fn must_drop(&mut self, packet: &mut Packet<B>, which: Which, fates: &mut Fates<'_, B>) -> bool {
        if self.store.backlog().bytes < 2 * self.mtu {
            return false;
        }
        let scalable = self.probability * self.coupling;
        let overload = scalable > 1.0;
        let drops = (which == Which::C || overload && self.drop_on_overload) && self.draws_twice();
        match which {
            Which::C => drops && (overload || !fates.mark(packet)),
            Which::L if drops => true,
            Which::L => (overload || self.stream.chance(scalable)) && !fates.mark(packet),
        }
    }

    /// Takes the next packet of the queue whose turn it is, and returns how the credit changes if it leaves.
    fn pick(&mut self) -> Option<(Packet<B>, Which, i64)> {
        let waits = |fifo: &Fifo| fifo.backlog().packets > 0;
        let (l, c) = (waits(&self.l), waits(&self.c));
        if l && (!c || self.credit <= 0) {
            let packet = self.store.pop(&mut self.l)?;
            let change = if c { self.weight * i64::from(packet.len) } else { 0 };
            return Some((packet, Which::L, change));
        }
        let packet = self.store.pop(&mut self.c)?;
        let change = if l { (self.weight - 100) * i64::from(packet.len) } else { 0 };
        Some((packet, Which::C, change))
    }

    /// Whether the step marks a packet that leaves L.
    fn steps(&mut self, packet: &Packet<B>, now: Time) -> bool {
        let may = self.steps.pop_front();
        debug_assert!(may.is_some(), "every packet of L has an entry");
        let may = may.unwrap_or(false);
        let over = match self.step {
            Threshold::Time(threshold) => now.since(packet.arrived) > threshold,
            Threshold::Packets(threshold) => self.l.backlog().packets > threshold,
        };
        may && over
    }
}

impl<B: Send> QueueDiscipline<B> for DualPi2<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        self.update_until(now);
        let which = self.classify(packet.ecn);
        let fits = self.limit.admits(self.store.backlog(), packet.len)
            && self.store.memory() + memory(packet.len) <= self.memory_limit;
        if !fits {
            return fates.drop(packet, DropReason::QueueFull);
        }
        if self.drop_enqueue && self.must_drop(&mut packet, which, fates) {
            return fates.drop(packet, DropReason::Early);
        }
        match which {
            Which::L => {
                self.steps.push_back(self.l.backlog().packets >= self.min_qlen_step);
                self.store.push(&mut self.l, packet);
            }
            Which::C => self.store.push(&mut self.c, packet),
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.update_until(now);
        let mut left = None;
        while let Some((mut packet, which, change)) = self.pick() {
            let steps = which == Which::L && self.steps(&packet, now);
            let drops = !self.drop_enqueue && self.must_drop(&mut packet, which, fates);
            if drops || steps && !fates.mark(&mut packet) {
                fates.drop(packet, DropReason::Early);
                continue;
            }
            self.credit += change;
            left = Some(packet);
            break;
        }
        if self.store.backlog().packets == 0 {
            self.reset_credit();
        }
        left
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
#[path = "dualpi2_tests.rs"]
mod tests;
