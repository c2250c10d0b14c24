//! `sfq`, stochastic fairness queueing: flows are hashed into slots that are served in turn; when the queue is full the
//! longest slot loses a packet.
//!
//! Sources: McKenney: Stochastic fairness queueing, INFOCOM 1990; Linux net/sched/sch_sfq.c, tc-sfq(8). Where they
//! differ this is Linux: slots are served by bytes (a quantum a round), the youngest packet of the longest slot is
//! dropped (with `headdrop` the oldest), and a slot holds at most `depth` packets. RED within slots is not modelled.
//! The key of the hash is drawn from the queue's stream, and again every `perturb`; packets that wait are then hashed
//! anew, so that flows stay in order.

use super::drr::{check_quantum, quantum};
use super::hash::{Slots, flow_hash};
use super::packets::{Fifo, Store};
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::units::Bytes;
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "sfq",
        summary: "flows by their hash are served in turn; when the queue is full the longest one loses a packet",
        reference: "McKenney, INFOCOM 1990; Linux net/sched/sch_sfq.c; tc-sfq(8)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

/// The largest depth of a slot, and the largest number of slots (`SFQ_MAX_DEPTH`, `SFQ_MAX_FLOWS`).
const MAX_DEPTH: u64 = 127;
const MAX_FLOWS: u64 = 0x1_0000 - MAX_DEPTH - 1;

parameters! {
    /// The parameters of `sfq`.
    pub struct Config for Sfq {
        /// The limit of all slots together; not more than depth times flows.
        limit: Length = Length::Packets(MAX_DEPTH),
        /// The limit of a slot in packets, at most 127.
        depth: u64 = MAX_DEPTH,
        /// The number of flows that can have packets at the same time, at most 65408.
        flows: u64 = 128,
        /// The number of values of the hash: a power of two up to 65536.
        divisor: u64 = 1024,
        /// The bytes that a flow may send in a round, from 256B to 1MiB. Without it the link's MTU.
        quantum: Option<Bytes> = None,
        /// How often the hash changes. Without it never.
        perturb: Option<Span> = None,
        /// Whether the oldest packet of a slot is dropped instead of the youngest.
        headdrop: bool = false,
    }
    check(check)
}

fn check(config: &Config) -> Result<(), String> {
    if !config.divisor.is_power_of_two() || config.divisor > 65_536 {
        return Err(format!("divisor: {}: give a power of two from 1 to 65536", config.divisor));
    }
    for (name, value) in [("depth", config.depth), ("flows", config.flows)] {
        if value == 0 {
            return Err(format!("{name}: 0: give a number from 1"));
        }
    }
    if config.perturb.is_some_and(|span| span < LEAST_PERIOD) {
        return Err("perturb: give a time from 1ms, or leave it out to keep the hash".to_string());
    }
    check_quantum(config.quantum)
}

/// The least time between two changes of the hash. (Linux counts it in seconds.)
const LEAST_PERIOD: Span = Span::from_millis(1);

/// A slot that has packets.
#[derive(Clone, Debug)]
struct Slot {
    bucket: usize,
    packets: Fifo,
    allot: i64,
    /// Its neighbours among the slots with as many packets.
    next: Option<u32>,
    previous: Option<u32>,
}

/// Which packet of a slot is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Taken {
    Oldest,
    Youngest,
}

/// Stochastic fairness queueing.
#[derive(Debug)]
pub struct Sfq<B> {
    limit: Limit,
    depth: u64,
    flows: usize,
    quantum: i64,
    /// The end of a slot that drops a packet when the queue is full.
    victim: Taken,
    period: Option<Span>,
    /// When the hash changes next.
    change: Time,
    stream: Stream,
    key: u64,
    store: Store<B>,
    slots: Slots<Slot>,
    /// The slots with packets, the next to be served first.
    round: VecDeque<u32>,
    /// For each number of packets the slot that came to it last.
    by_length: Vec<Option<u32>>,
    longest: usize,
    backlog: Backlog,
}

impl<B> Sfq<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Sfq<B> {
        let depth = config.depth.clamp(1, MAX_DEPTH);
        let divisor = config.divisor.clamp(1, 65_536);
        let flows = config.flows.clamp(1, MAX_FLOWS).min(divisor);
        let limit = match config.limit.limit(&place.scale) {
            Limit::Packets(n) => Limit::Packets(n.min(depth * flows)),
            bytes => bytes,
        };
        let mut stream = place.stream();
        Sfq {
            limit,
            depth,
            flows: flows as usize,
            quantum: quantum(config.quantum, place.scale.mtu.into()),
            victim: if config.headdrop { Taken::Oldest } else { Taken::Youngest },
            period: config.perturb.map(|span| span.max(LEAST_PERIOD)),
            change: config.perturb.map_or(Time::NEVER, |span| Time::ZERO + span.max(LEAST_PERIOD)),
            key: stream.bits(),
            stream,
            store: Store::new(),
            slots: Slots::new(divisor as usize),
            round: VecDeque::new(),
            by_length: vec![None; depth as usize + 2],
            longest: 0,
            backlog: Backlog::default(),
        }
    }

    fn length(&self, slot: u32) -> usize {
        self.slots[slot].packets.backlog().packets as usize
    }

    /// Puts a slot among those with as many packets as it has.
    fn link(&mut self, slot: u32) {
        let length = self.length(slot);
        let next = self.by_length[length].replace(slot);
        self.slots[slot].next = next;
        self.slots[slot].previous = None;
        if let Some(next) = next {
            self.slots[next].previous = Some(slot);
        }
        self.longest = self.longest.max(length);
    }

    /// Takes a slot from among those with as many packets.
    fn unlink(&mut self, slot: u32) {
        let length = self.length(slot);
        let (next, previous) = (self.slots[slot].next, self.slots[slot].previous);
        match previous {
            Some(previous) => self.slots[previous].next = next,
            None => self.by_length[length] = next,
        }
        if let Some(next) = next {
            self.slots[next].previous = previous;
        }
        // Slots change by one packet at a time, so the next shorter ones are the longest then.
        if self.longest == length && self.by_length[length].is_none() {
            self.longest -= 1;
        }
    }

    fn push(&mut self, slot: u32, packet: Packet<B>) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        if self.length(slot) > 0 {
            self.unlink(slot);
        }
        self.store.push(&mut self.slots[slot].packets, packet);
        self.link(slot);
    }

    /// Takes a packet from a slot, which leaves the round if it is empty then.
    fn take(&mut self, slot: u32, end: Taken) -> Option<Packet<B>> {
        self.unlink(slot);
        let list = &mut self.slots[slot].packets;
        let packet = match end {
            Taken::Oldest => self.store.pop(list),
            Taken::Youngest => self.store.pop_last(list),
        };
        if let Some(packet) = &packet {
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.len);
        }
        if self.slots[slot].packets.is_empty() {
            let bucket = self.slots[slot].bucket;
            self.slots.give_back(bucket, slot);
            if self.round.front() == Some(&slot) {
                self.round.pop_front();
            } else {
                self.round.retain(|other| *other != slot);
            }
        } else {
            self.link(slot);
        }
        packet
    }

    /// The slot of a packet; `None` if there are as many as there may be.
    fn slot(&mut self, packet: &Packet<B>) -> Option<u32> {
        let bucket = self.slots.bucket(flow_hash(&packet.flow, self.key));
        if let Some(slot) = self.slots.find(bucket) {
            return Some(slot);
        }
        (self.slots.used() < self.flows).then(|| {
            let packets = Fifo::new();
            let slot =
                self.slots.take(bucket, Slot { bucket, packets, allot: self.quantum, next: None, previous: None });
            self.round.push_back(slot);
            slot
        })
    }

    /// Changes the hash if it is time, and hashes the packets that wait anew. Those that find their new slot full, or
    /// none, are dropped.
    fn perturb(&mut self, now: Time, fates: &mut Fates<'_, B>) {
        let Some(period) = self.period.filter(|_| now >= self.change) else { return };
        let periods = now.since(self.change).as_nanos() / period.as_nanos() + 1;
        self.change += Span::from_nanos(period.as_nanos().saturating_mul(periods));
        self.key = self.stream.bits();
        let mut packets = Vec::with_capacity(self.backlog.packets as usize);
        while let Some(&slot) = self.round.front() {
            packets.extend(self.take(slot, Taken::Oldest));
        }
        for packet in packets {
            match self.slot(&packet) {
                Some(slot) if (self.length(slot) as u64) < self.depth => self.push(slot, packet),
                _ => fates.drop(packet, DropReason::QueueFull),
            }
        }
    }

    fn full(&self) -> bool {
        match self.limit {
            Limit::Packets(n) => self.backlog.packets > n,
            Limit::Bytes(n) => self.backlog.bytes > n,
        }
    }
}

impl<B: Send> QueueDiscipline<B> for Sfq<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        self.perturb(now, fates);
        let Some(slot) = self.slot(&packet) else { return fates.drop(packet, DropReason::QueueFull) };
        if self.length(slot) as u64 >= self.depth {
            if self.victim == Taken::Youngest {
                return fates.drop(packet, DropReason::QueueFull);
            }
            // The new packet takes the place of the oldest; the slot keeps its length and its turn.
            if let Some(oldest) = self.store.pop(&mut self.slots[slot].packets) {
                self.backlog.bytes = self.backlog.bytes - u64::from(oldest.len) + u64::from(packet.len);
                self.store.push(&mut self.slots[slot].packets, packet);
                fates.drop(oldest, DropReason::QueueFull);
            }
        } else {
            self.push(slot, packet);
        }
        while self.full() {
            // If all have a single packet, the one whose turn it is loses it.
            let longest = if self.longest > 1 { self.by_length[self.longest] } else { self.round.front().copied() };
            let Some(victim) = longest.and_then(|slot| self.take(slot, self.victim)) else { break };
            fates.drop(victim, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.perturb(now, fates);
        loop {
            let &turn = self.round.front()?;
            let slot = &mut self.slots[turn];
            if slot.allot <= 0 {
                slot.allot += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            let packet = self.take(turn, Taken::Oldest)?;
            // A slot that is empty has been given back; the next packet gives it a new allotment.
            self.slots[turn].allot -= i64::from(packet.len);
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::QueueConfig;
    use crate::queue::testing::{Bench, packet};

    #[test]
    fn the_longest_slot_loses_its_youngest_packet() {
        let mut queue = Bench::new("sfq:limit=6p,quantum=1000B");
        for n in 0..4 {
            queue.put(0, packet(n, 1000, 0));
        }
        queue.put(0, packet(10, 1000, 1));
        queue.put(0, packet(20, 1000, 2));
        assert!(queue.dropped().is_empty());
        queue.put(0, packet(21, 1000, 2));
        assert_eq!(queue.dropped(), [3]);
        // A packet of the longest flow itself is the youngest there.
        queue.put(0, packet(4, 1000, 0));
        assert_eq!(queue.dropped(), [4]);
        assert_eq!(queue.drain(0), [0, 10, 20, 1, 21, 2]);
    }

    #[test]
    fn with_head_drop_the_oldest_goes() {
        let mut queue = Bench::new("sfq:limit=4p,headdrop=true,depth=3,quantum=1000B");
        for n in 0..4 {
            queue.put(0, packet(n, 1000, 0));
        }
        assert_eq!(queue.dropped(), [0], "the slot is full");
        queue.put(0, packet(10, 1000, 1));
        queue.put(0, packet(11, 1000, 1));
        assert_eq!(queue.dropped(), [1], "the queue is full");
        assert_eq!(queue.drain(0), [2, 10, 3, 11]);
    }

    #[test]
    fn if_all_slots_have_one_packet_the_one_whose_turn_it_is_loses_it() {
        let mut queue = Bench::new("sfq:limit=3p");
        for n in 0..4 {
            queue.put(0, packet(n, 1000, n));
        }
        assert_eq!(queue.dropped(), [0]);
        assert_eq!(queue.drain(0), [1, 2, 3]);
    }

    /// A slot may send while it has an allotment left, so it exceeds it by less than a packet and pays that back.
    #[test]
    fn slots_are_served_by_bytes() {
        let mut queue = Bench::new("sfq:quantum=1000B,limit=1000p,flows=128");
        for n in 0..120 {
            queue.put(0, packet(0, 250, 0));
            queue.put(0, packet(1, 1000, 1));
            queue.put(0, packet(2, 1500, 2));
            assert!(queue.dropped().is_empty(), "{n}");
        }
        let mut sent = [0i64; 3];
        for _ in 0..150 {
            let packet = queue.take(0).unwrap();
            sent[packet.body as usize] += i64::from(packet.len);
        }
        assert!(sent.iter().all(|bytes| (bytes - 26_000).abs() <= 1500), "{sent:?}");
    }

    #[test]
    fn a_slot_holds_its_depth_and_there_are_as_many_as_flows() {
        let mut queue = Bench::new("sfq:depth=2,flows=2,limit=100p");
        for n in 0..9 {
            queue.put(0, packet(n, 100, n % 3));
        }
        // Flow 2 has no slot; flows 0 and 1 have two packets each, which is depth times flows.
        assert_eq!(queue.dropped(), [2, 5, 6, 7, 8]);
        assert_eq!(queue.drain(0), [0, 3, 1, 4]);
    }

    /// With two values of the hash some of the flows share a slot at any time, and others after a change.
    #[test]
    fn the_hash_changes_as_often_as_asked_and_flows_stay_in_order() {
        let together = |queue: &mut Bench, at: u64| {
            for n in 0..24 {
                queue.put(at, packet(n, 1000, n % 8));
            }
            let order = queue.drain(at + 2_000_000_000);
            let mut of_flow = [0; 8];
            for n in &order {
                assert!(n / 8 >= of_flow[*n as usize % 8], "{order:?}");
                of_flow[*n as usize % 8] = n / 8;
            }
            order
        };
        let (mut fixed, mut changing) = (Bench::new("sfq:divisor=2"), Bench::new("sfq:divisor=2,perturb=1s"));
        let rounds = |queue: &mut Bench| (0..9).map(|n| together(queue, n * 3_000_000_000)).collect::<Vec<_>>();
        let (fixed, changing) = (rounds(&mut fixed), rounds(&mut changing));
        assert!(fixed.iter().all(|order| *order == fixed[0]));
        assert!(changing.iter().any(|order| *order != changing[0]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (word, hint) in [
            ("sfq:divisor=1000", "divisor: 1000: give a power of two"),
            ("sfq:depth=0", "depth: 0: give a number from 1"),
            ("sfq:perturb=10us", "perturb: give a time from 1ms"),
            ("sfq:quantum=2MiB", "quantum: 2097152B: give a size"),
        ] {
            assert!(QueueConfig::from_word(word).unwrap_err().contains(hint), "{word}");
        }
    }
}
