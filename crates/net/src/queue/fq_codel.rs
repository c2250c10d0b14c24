//! FQ-CoDel (RFC 8290): a queue for each flow, deficit round robin between them, in which flows that send little go first,
//! and CoDel on each queue.
//!
//! The behaviour and the defaults are those of Linux (`net/sched/sch_fq_codel.c`): packets are dropped, or marked, at
//! dequeue. If the limit or the memory is exceeded, packets are dropped at the head of the flow with the most bytes: half
//! of them, at most `drop_batch` (RFC 8290 section 4.1 drops half, at most 64). CoDel drops nothing while the packets of
//! *all* flows are no more than one MTU. Sizes are those of IP packets, so that the quantum is the MTU; in Linux both count
//! an Ethernet header of 14 bytes as well. The control of a flow's queue is that of `codel`, with ECN on.

use super::codel_control::{Control, State};
use super::flows::{Buckets, Flows, quantum};
use super::packets::Store;
use super::whole::FlowCount;
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::{Span, Time};
use crate::units::Bytes;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "fq_codel",
        summary: "flows share equally, flows that send little go first, and CoDel controls the delay of each",
        reference: "RFC 8290; Linux net/sched/sch_fq_codel.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of FQ-CoDel.
    pub struct Config for FqCodel {
        /// The limit of all flows together. The flow with the most bytes loses what is too much.
        limit: Length = Length::Packets(10_240),
        /// The memory of the packets, as Linux accounts it: 2304 bytes for one of 1500.
        memory_limit: Bytes = Bytes(32 << 20),
        /// The number of buckets into which flows are hashed.
        flows: FlowCount = FlowCount(1024),
        /// The delay that may stand in a flow's queue.
        target: Span = Span::from_millis(5),
        /// How long the delay may be above the target before the first drop: the greatest usual RTT.
        interval: Span = Span::from_millis(100),
        /// The bytes that a flow may send a turn, at least 256. Without it the link's MTU.
        quantum: Option<Bytes> = None,
        /// ECN-capable packets are marked instead of dropped.
        ecn: bool = true,
        /// ECN-capable packets that waited for longer than this are marked in any case.
        ce_threshold: Option<Span> = None,
        /// The most packets that are dropped at once when the limit is exceeded.
        drop_batch: u64 = 64,
    }
}

/// Deficit round robin over flows with CoDel on each.
#[derive(Clone, Debug)]
pub struct FqCodel<B> {
    limit: Limit,
    memory_limit: u64,
    quantum: i64,
    drop_batch: u64,
    control: Control,
    buckets: Buckets,
    flows: Flows<State>,
    store: Store<B>,
}

impl<B> FqCodel<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> FqCodel<B> {
        let control = Control {
            target: config.target,
            interval: config.interval,
            ce_threshold: config.ce_threshold,
            mtu: u64::from(place.scale.mtu),
            ecn: config.ecn,
        };
        FqCodel {
            limit: config.limit.limit(&place.scale),
            memory_limit: config.memory_limit.0,
            quantum: quantum(config.quantum, place.scale.mtu),
            drop_batch: config.drop_batch,
            control,
            buckets: Buckets::new(config.flows, place.stream().bits()),
            flows: Flows::new(),
            store: Store::new(),
        }
    }

    /// Drops half of the bytes of the flow with the most, at its head. Returns whether there was such a flow.
    #[cold]
    fn drop_from_fattest(&mut self, fates: &mut Fates<'_, B>) -> bool {
        let Some(fattest) = self.flows.fattest() else { return false };
        let flow = self.flows.at(fattest);
        let half = flow.fifo.backlog().bytes / 2;
        let (mut packets, mut bytes) = (0, 0);
        while let Some(packet) = self.store.pop(&mut flow.fifo) {
            packets += 1;
            bytes += u64::from(packet.len);
            fates.drop(packet, DropReason::QueueFull);
            if packets >= self.drop_batch || bytes >= half {
                break;
            }
        }
        // CoDel shall signal more strongly as well.
        flow.state.count = flow.state.count.saturating_add(packets as u32);
        true
    }

    fn is_over(&self) -> bool {
        let Backlog { packets, bytes } = self.store.backlog();
        let over = match self.limit {
            Limit::Packets(limit) => packets > limit,
            Limit::Bytes(limit) => bytes > limit,
        };
        over || self.store.memory() > self.memory_limit
    }
}

impl<B: Send> QueueDiscipline<B> for FqCodel<B> {
    #[inline]
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        let index = self.buckets.find(&packet.flow, &mut self.flows);
        let quantum = self.quantum;
        let flow = self.flows.at(index);
        self.store.push(&mut flow.fifo, packet);
        self.flows.activate(index, quantum);
        while self.is_over() && self.drop_from_fattest(fates) {}
    }

    #[inline]
    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        while let Some(index) = self.flows.turn(self.quantum) {
            let flow = self.flows.at(index);
            let packet = self.control.dequeue(&mut flow.state, &mut self.store, &mut flow.fifo, now, fates);
            let Some(packet) = packet else {
                self.flows.found_empty(index);
                continue;
            };
            flow.deficit -= i64::from(packet.len);
            if self.store.backlog().packets == 0 {
                self.flows.clear(State::rest);
            }
            return Some(packet);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
