//! A network transport circuit breaker (RFC 8084): it measures what each flow loses between the two ends of a link, and ends
//! a flow that goes on losing much.
//!
//! A meter at each end counts the packets of each flow (RFC 8084 section 3.1). At the end of each interval the two counts are
//! compared. A flow that lost more than a share of its packets in so many intervals one after the other is ended: from then on
//! its packets are dropped at the first end. The meters are compared without delay, and what is under way at the end of an
//! interval counts as lost in it and is made up for in the next.

use crate::counters::{LinkCounters, Stages};
use crate::cx::Cx;
use crate::element::{Admission, AnyElement, Element, Port};
use crate::occupancy::Held;
use crate::packet::{FlowKey, Packet};
use crate::time::{Span, Time};
use crate::varying::VaryingError;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// A circuit breaker. In JSON: `{"loss": 0.1, "interval_ns": 1000000000, "intervals": 3, "reset_ns": null}`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Breaker {
    /// The share of packets lost in an interval beyond which it counts against the flow.
    pub loss: f64,
    /// The interval of measurement. It must be longer than congestion controls take to react (RFC 8084 section 4), so several
    /// RTTs.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
    /// So many intervals one after the other end the flow.
    pub intervals: u32,
    /// The time after which a flow that was ended may go on; `None` for never.
    #[serde(rename = "reset_ns")]
    pub reset: Option<Span>,
}

/// The shortest interval.
const SHORTEST: Span = Span::from_millis(10);
/// Fewer packets in an interval say nothing of its losses.
const FEWEST: u64 = 10;

impl Breaker {
    /// Checks the fields.
    ///
    /// # Errors
    /// With the field, and what would be right.
    pub fn check(&self) -> Result<(), VaryingError> {
        let wrong = |field: &'static str, message: &str| Err(VaryingError::new(field, message));
        if !(self.loss > 0.0 && self.loss < 1.0) {
            return wrong("breaker.loss", "give a share of packets above 0% and below 100%, such as \"10%\"");
        }
        if self.interval < SHORTEST {
            return wrong("breaker.interval", "give an interval of several round-trip times, at least 10ms");
        }
        if self.intervals == 0 {
            return wrong("breaker.intervals", "0: give the number of intervals that end a flow, from 1");
        }
        Ok(())
    }
}

/// The counts of one flow.
#[derive(Clone, Copy, Default, Debug)]
struct Meter {
    /// Packets at the first end and at the second, in this interval.
    entered: u64,
    left: u64,
    /// Intervals with too many losses until now, one after the other.
    over: u32,
    /// When it was ended, if it is.
    tripped: Option<Time>,
}

/// A link between the two meters of a circuit breaker.
pub struct Guarded<B> {
    breaker: Breaker,
    link: AnyElement<B>,
    flows: BTreeMap<FlowKey, Meter>,
    /// When the interval ends.
    ends: Time,
    /// Packets that have left the link and that nobody has asked for.
    ready: VecDeque<(Time, Packet<B>)>,
    /// Bytes of these.
    ready_bytes: u64,
    /// Packets dropped.
    refused: u64,
    /// How many flows were ended so far, and when the first was.
    tripped: (u64, Option<Time>),
}

impl<B: Clone + Send + 'static> Guarded<B> {
    /// The link, guarded.
    pub fn new(breaker: Breaker, link: AnyElement<B>) -> Guarded<B> {
        Guarded {
            breaker,
            link,
            flows: BTreeMap::new(),
            ends: Time::ZERO + breaker.interval,
            ready: VecDeque::new(),
            ready_bytes: 0,
            refused: 0,
            tripped: (0, None),
        }
    }

    /// Ends all intervals that are over by `now`. What left the link until the end of one is counted in it.
    fn advance(&mut self, now: Time, cx: &mut Cx<'_>) {
        while self.ends <= now {
            while let Some((at, packet)) = self.link.poll(self.ends, cx) {
                self.count(&packet);
                self.ready_bytes += u64::from(packet.len);
                self.ready.push_back((at, packet));
            }
            let at = self.ends;
            let (breaker, tripped) = (self.breaker, &mut self.tripped);
            self.flows.retain(|_, meter| {
                if meter.judge(&breaker, at) {
                    *tripped = (tripped.0 + 1, tripped.1.or(Some(at)));
                }
                meter.is_known()
            });
            self.ends += breaker.interval * self.eventless(now);
        }
    }

    /// In how many intervals until `now`, the next one included, nothing can happen that they would tell; at least 1.
    fn eventless(&self, now: Time) -> u64 {
        let quiet =
            |meter: &Meter| (meter.entered, meter.left, meter.over) == (0, 0, 0) && self.breaker.reset.is_none();
        if !self.flows.values().all(quiet) {
            return 1;
        }
        let until = now.min(self.link.next_wake());
        (until.since(self.ends).as_nanos() / self.breaker.interval.as_nanos().max(1)).max(1)
    }

    fn count(&mut self, packet: &Packet<B>) {
        self.flows.entry(packet.flow).or_default().left += 1;
    }
}

impl Meter {
    /// Ends an interval at `at`. Returns whether that ends the flow.
    fn judge(&mut self, breaker: &Breaker, at: Time) -> bool {
        let lost = self.entered.saturating_sub(self.left);
        let much = self.entered >= FEWEST && lost as f64 > breaker.loss * self.entered as f64;
        (self.entered, self.left) = (0, 0);
        self.over = if much { self.over + 1 } else { 0 };
        if let Some(since) = self.tripped {
            self.over = 0;
            let over = breaker.reset.is_some_and(|reset| at.since(since) >= reset);
            self.tripped = self.tripped.filter(|_| !over);
            return false;
        }
        let trips = self.over >= breaker.intervals;
        if trips {
            (self.over, self.tripped) = (0, Some(at));
        }
        trips
    }

    /// Whether there is anything to remember.
    fn is_known(&self) -> bool {
        self.over > 0 || self.tripped.is_some()
    }
}

impl<B: Clone + Send + 'static> Element<B> for Guarded<B> {
    fn offer(&mut self, port: Port, packet: Packet<B>, cx: &mut Cx<'_>) {
        self.advance(cx.now, cx);
        let meter = self.flows.entry(packet.flow).or_default();
        if meter.tripped.is_some() {
            self.refused += 1;
            return;
        }
        meter.entered += 1;
        self.link.offer(port, packet, cx);
    }

    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        self.advance(until, cx);
        if let Some((at, packet)) = self.ready.pop_front() {
            self.ready_bytes -= u64::from(packet.len);
            return Some((at, packet));
        }
        let (at, packet) = self.link.poll(until, cx)?;
        self.count(&packet);
        Some((at, packet))
    }

    fn next_wake(&self) -> Time {
        self.ready.front().map_or(self.link.next_wake(), |(at, _)| *at)
    }
    fn room(&self, port: Port) -> u64 {
        self.link.room(port)
    }
    fn admission(&self) -> Admission {
        self.link.admission()
    }
    fn counters(&self) -> LinkCounters {
        let mut counters = self.link.counters();
        counters.offered += self.refused;
        counters.delivered -= self.ready.len() as u64;
        counters.delivered_bytes -= self.ready_bytes;
        counters.dropped_breaker = Some(self.refused);
        counters.tripped = Some(self.tripped.0);
        counters.first_tripped = self.tripped.1;
        counters
    }
    fn stages(&self) -> Option<Stages> {
        self.link.stages()
    }
    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.link.held(until, cx)
    }
    fn inside(&self) -> u64 {
        self.link.inside() + self.ready.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BREAKER: Breaker =
        Breaker { loss: 0.1, interval: Span::from_secs(1), intervals: 3, reset: Some(Span::from_secs(5)) };

    /// The seconds at whose end a flow is ended that loses so much in each second.
    fn trips(breaker: &Breaker, intervals: &[(u64, u64)]) -> Vec<u64> {
        let (mut meter, mut ended) = (Meter::default(), Vec::new());
        for (second, &(entered, left)) in (1..).zip(intervals) {
            (meter.entered, meter.left) = (entered, left);
            if meter.judge(breaker, Time::ZERO + Span::from_secs(second)) {
                ended.push(second);
            }
        }
        ended
    }

    #[test]
    fn losses_end_a_flow_when_they_persist() {
        let (bad, good) = ((100, 89), (100, 90));
        assert_eq!(trips(&BREAKER, &[bad, bad, bad]), [3]);
        assert_eq!(trips(&BREAKER, &[bad, bad, good, bad, bad]), [0u64; 0]);
        // Too few packets say nothing, and are no excess.
        assert_eq!(trips(&BREAKER, &[bad, bad, (9, 0), bad, bad]), [0u64; 0]);
        // More may leave than entered, which was under way before.
        assert_eq!(trips(&BREAKER, &[(100, 120); 5]), [0u64; 0]);
    }

    #[test]
    fn a_flow_goes_on_after_the_reset_and_can_be_ended_again() {
        let bad = (100, 50);
        assert_eq!(trips(&BREAKER, &[bad; 12]), [3, 11]);
        assert_eq!(trips(&Breaker { reset: None, ..BREAKER }, &[bad; 12]), [3]);
    }

    #[test]
    fn wrong_fields_are_named() {
        let field = |breaker: Breaker| breaker.check().unwrap_err().field;
        assert_eq!(BREAKER.check(), Ok(()));
        assert_eq!(field(Breaker { loss: 0.0, ..BREAKER }), "breaker.loss");
        assert_eq!(field(Breaker { interval: Span::ZERO, ..BREAKER }), "breaker.interval");
        assert_eq!(field(Breaker { intervals: 0, ..BREAKER }), "breaker.intervals");
    }
}
