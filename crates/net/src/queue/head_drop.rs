//! Head drop: first in, first out. If the queue is full, the oldest packets are dropped to make room for a new one.
//!
//! A drop at the head signals congestion to the sender sooner, by the time that a full queue takes to drain (Lakshman,
//! Neidhardt, Ott: The drop from front strategy in TCP and in TCP over ATM, INFOCOM 1996).

use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::Time;
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "head-drop",
        summary: "first in, first out; a packet that finds the queue full takes the place of the oldest",
        reference: "Linux net/sched/sch_fifo.c (pfifo_head_drop); Lakshman, Neidhardt, Ott, INFOCOM 1996",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of head drop.
    pub struct Config for HeadDrop {
        /// The limit of the queue.
        limit: Length = Length::Packets(1000),
    }
}

/// First in, first out. A packet that finds the queue full replaces the oldest ones.
#[derive(Clone, Debug)]
pub struct HeadDrop<B> {
    limit: Limit,
    packets: VecDeque<Packet<B>>,
    bytes: u64,
}

impl<B> HeadDrop<B> {
    /// An empty queue of this limit.
    pub fn new(limit: Limit) -> HeadDrop<B> {
        HeadDrop { limit, packets: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn at(config: &Config, place: &Place<'_>) -> HeadDrop<B> {
        HeadDrop::new(config.limit.limit(&place.scale))
    }

    fn waiting(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn pop(&mut self) -> Option<Packet<B>> {
        self.bytes -= self.packets.front().map_or(0, |packet| u64::from(packet.len));
        self.packets.pop_front()
    }
}

impl<B: Send> QueueDiscipline<B> for HeadDrop<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        if !self.limit.admits(Backlog::default(), packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        while !self.limit.admits(self.waiting(), packet.len) {
            let Some(oldest) = self.pop() else { break };
            fates.drop(oldest, DropReason::QueueFull);
        }
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, _: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.pop()
    }

    fn backlog(&self) -> Backlog {
        self.waiting()
    }
}
