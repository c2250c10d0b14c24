//! Drop-tail: first in, first out. A packet that finds the queue full is dropped.

use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::Time;
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "drop-tail",
        summary: "first in, first out; a packet that finds the queue full is dropped",
        reference: "Linux net/sched/sch_fifo.c; RFC 8257 section 3.1 (mark)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of drop-tail.
    pub struct Config for DropTail {
        /// The limit of the queue.
        limit: Length = Length::Packets(1000),
        /// ECN-capable packets that find this much waiting are marked. Without it none are.
        mark: Option<Length> = None,
    }
}

/// First in, first out. A packet that finds the queue full is dropped, and one that finds more than a threshold waiting
/// can be marked.
#[derive(Clone, Debug)]
pub struct DropTail<B> {
    limit: Limit,
    mark: Option<Limit>,
    packets: VecDeque<Packet<B>>,
    bytes: u64,
}

impl<B> DropTail<B> {
    /// An empty queue of this limit. It marks an ECN-capable packet that would not find room below `mark`. This is the
    /// switch of DCTCP, which marks by the instantaneous length, with one threshold (RFC 8257 section 3.1). Other
    /// packets pass unmarked.
    pub fn new(limit: Limit, mark: Option<Limit>) -> DropTail<B> {
        DropTail { limit, mark, packets: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn at(config: &Config, place: &Place<'_>) -> DropTail<B> {
        DropTail::new(config.limit.limit(&place.scale), config.mark.map(|mark| mark.limit(&place.scale)))
    }
}

impl<B: Send> QueueDiscipline<B> for DropTail<B> {
    #[inline]
    fn enqueue(&mut self, mut packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        let backlog = self.backlog();
        if !self.limit.admits(backlog, packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        if self.mark.is_some_and(|mark| !mark.admits(backlog, packet.len)) {
            fates.mark(&mut packet);
        }
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
    }

    #[inline]
    fn dequeue(&mut self, _: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.bytes -= self.packets.front().map_or(0, |packet| u64::from(packet.len));
        self.packets.pop_front()
    }

    #[inline]
    fn ready_at(&self) -> Time {
        if self.packets.is_empty() { Time::NEVER } else { Time::ZERO }
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
