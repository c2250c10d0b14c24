//! CoDel, controlled delay (RFC 8289): one queue, from whose head packets are dropped, or marked, while the time that
//! packets wait stays above a target for longer than an interval.
//!
//! The behaviour and the defaults are those of Linux (`net/sched/sch_codel.c`): a limit of 1000 packets, a target of
//! 5 ms, an interval of 100 ms, ECN off. [`codel_control`](super::codel_control) says where its algorithm departs from
//! the RFC.

use super::codel_control::{Control, State};
use super::packets::{Fifo, Store};
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "codel",
        summary: "controlled delay: drops or marks at the head, more and more often while the delay stays above a target",
        reference: "RFC 8289; Linux net/sched/sch_codel.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of CoDel.
    pub struct Config for Codel {
        /// The limit of the queue.
        limit: Length = Length::Packets(1000),
        /// The delay that may stand (RFC 8289 section 4.4).
        target: Span = Span::from_millis(5),
        /// How long the delay may be above the target before the first drop: the greatest usual RTT (section 4.3).
        interval: Span = Span::from_millis(100),
        /// ECN-capable packets are marked instead of dropped.
        ecn: bool = false,
        /// ECN-capable packets that waited for longer than this are marked in any case.
        ce_threshold: Option<Span> = None,
    }
}

/// CoDel on one queue.
#[derive(Clone, Debug)]
pub struct Codel<B> {
    limit: Limit,
    control: Control,
    state: State,
    fifo: Fifo,
    store: Store<B>,
}

impl<B> Codel<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Codel<B> {
        let control = Control {
            target: config.target,
            interval: config.interval,
            ce_threshold: config.ce_threshold,
            mtu: u64::from(place.scale.mtu),
            ecn: config.ecn,
        };
        let limit = config.limit.limit(&place.scale);
        Codel { limit, control, state: State::default(), fifo: Fifo::new(), store: Store::new() }
    }
}

impl<B: Send> QueueDiscipline<B> for Codel<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        if !self.limit.admits(self.store.backlog(), packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        self.store.push(&mut self.fifo, packet);
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.control.dequeue(&mut self.state, &mut self.store, &mut self.fifo, now, fates)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
#[path = "codel_tests.rs"]
mod tests;
