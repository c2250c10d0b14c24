//! The packets between the base station and a user in one direction.

use super::scheduler::Average;
use crate::counters::LinkCounters;
use crate::link::Cellular;
use crate::occupancy::Integral;
use crate::packet::Packet;
use crate::queue::{Fates, QueueDiscipline};
use crate::rng::Stream;
use crate::time::{Span, Time};

/// The way from the base station to a user, or back: an entry of the cell.
pub(super) struct Lane<B> {
    pub user: usize,
    pub mtu: u32,
    discipline: Box<dyn QueueDiscipline<B>>,
    /// When the discipline next gives a packet.
    ready: Time,
    /// The packet that is being sent, with the bytes of it that are left.
    head: Option<(Packet<B>, u64)>,
    /// When the user may send: without packets it has no grant up.
    granted: Time,
    pub average: Average,
    cellular: Cellular,
    dice: Stream,
    /// When all blocks so far have been passed on.
    complete: Time,
    pub counters: LinkCounters,
    pub waiting: Integral,
}

/// The parts of a lane that the configuration of its cell does not have.
pub(super) struct Setup<B> {
    pub user: usize,
    pub mtu: u32,
    pub discipline: Box<dyn QueueDiscipline<B>>,
    pub cellular: Cellular,
    pub dice: Stream,
}

/// A transport block.
pub(super) struct Block {
    /// Its bytes.
    pub bytes: u64,
    /// When it and all before it have been passed on.
    pub complete: Time,
}

impl<B> Lane<B> {
    pub fn new(Setup { user, mtu, discipline, cellular, dice }: Setup<B>) -> Lane<B> {
        Lane {
            user,
            mtu,
            discipline,
            ready: Time::NEVER,
            head: None,
            granted: Time::ZERO,
            average: Average::default(),
            cellular,
            dice,
            complete: Time::ZERO,
            counters: LinkCounters::default(),
            waiting: Integral::default(),
        }
    }

    /// From when on the scheduler may serve it; [`Time::NEVER`] if nothing waits.
    pub fn due(&self) -> Time {
        match self.head {
            Some(_) => self.granted,
            None if self.ready == Time::NEVER => Time::NEVER,
            None => self.ready.max(self.granted),
        }
    }

    /// Bytes that are to be sent.
    pub fn backlog(&self) -> u64 {
        self.discipline.backlog().bytes + self.head.as_ref().map_or(0, |(_, left)| *left)
    }

    /// Bytes that wait in its queue.
    pub fn queued(&self) -> u64 {
        self.discipline.backlog().bytes
    }

    /// Packets in it.
    pub fn inside(&self) -> u64 {
        self.discipline.backlog().packets + u64::from(self.head.is_some())
    }

    pub fn enqueue(&mut self, packet: Packet<B>, now: Time) {
        if self.due() == Time::NEVER {
            self.granted = self.cellular.granted(now);
        }
        self.ready = self.discipline.put(packet, now, &mut Fates::new(&mut self.counters)).0;
        self.settle(now);
    }

    /// Sends a block with at most so many bytes at `at`, the beginning of a TTI. Packets that end in it go to `ended`; `again` is told
    /// how much later it is sent again, each time. There is no block if the discipline dropped all that it had.
    pub fn send(
        &mut self,
        (at, most, tti): (Time, u64, Span),
        ended: &mut Vec<Packet<B>>,
        again: impl FnMut(Span),
    ) -> Option<Block> {
        let mut left = most;
        while left > 0 {
            let Some((packet, rest)) = self.head.take().or_else(|| self.take(at)) else { break };
            let sent = rest.min(left);
            left -= sent;
            match rest - sent {
                0 => ended.push(packet),
                rest => self.head = Some((packet, rest)),
            }
        }
        self.settle(at);
        if left == most {
            return None;
        }
        let late = self.cellular.late(&mut self.dice, again);
        self.complete = self.complete.max(at + tti + late);
        Some(Block { bytes: most - left, complete: self.complete })
    }

    /// The next packet of the discipline, with its bytes.
    fn take(&mut self, at: Time) -> Option<(Packet<B>, u64)> {
        while self.ready <= at {
            let packet = self.discipline.take(at, &mut self.ready, &mut Fates::new(&mut self.counters));
            if let Some(packet) = packet {
                self.counters.served += 1;
                self.counters.count_wait(packet.arrived, at);
                let bytes = u64::from(packet.len.max(1));
                return Some((packet, bytes));
            }
            if self.ready <= at {
                // A discipline that returns nothing although something is ready would be asked forever.
                self.ready = Time::NEVER;
            }
        }
        None
    }

    /// Notes what waits from `at` on.
    fn settle(&mut self, at: Time) {
        let backlog = self.discipline.backlog();
        self.counters.max_queue_packets = self.counters.max_queue_packets.max(backlog.packets);
        self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(backlog.bytes);
        self.waiting.set(at, backlog);
    }
}
