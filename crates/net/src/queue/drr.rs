//! `drr`, deficit round robin: each class of flows is served in turn with as many bytes as the others, whatever the sizes
//! of its packets are.
//!
//! Sources: Shreedhar, Varghese: Efficient fair queuing using deficit round robin, SIGCOMM 1995; Linux
//! net/sched/sch_drr.c, tc-drr(8). Where they differ this is Linux: a class gets its first quantum when its first packet
//! comes (in the paper when its turn comes), and each class is a drop-tail queue with a limit of its own (in the paper
//! the longest queue loses a packet when the buffer is full). In Linux filters choose the class of a packet; here it is
//! the hash of its flow, as with Linux's filter `flow hash`.

use super::hash::{Slots, flow_hash};
use super::packets::{Fifo, Store};
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::time::Time;
use crate::units::Bytes;
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "drr",
        summary: "deficit round robin over classes of flows by their hash; each is a drop-tail queue",
        reference: "Shreedhar, Varghese, SIGCOMM 1995; Linux net/sched/sch_drr.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of `drr`.
    pub struct Config for Drr {
        /// The limit of each class.
        limit: Length = Length::Packets(1000),
        /// The bytes that a class may send in a round, from 256B to 1MiB. Without it the link's MTU.
        quantum: Option<Bytes> = None,
        /// The number of classes into which flows are hashed, from 1 to 65536.
        flows: u64 = 1024,
    }
    check(check)
}

fn check(config: &Config) -> Result<(), String> {
    if !(1..=65_536).contains(&config.flows) {
        return Err(format!("flows: {}: give a number of classes from 1 to 65536", config.flows));
    }
    check_quantum(config.quantum)
}

/// The least and the largest quantum that Linux's fair queues take (`sch_fq.c`).
pub(super) const QUANTUM: std::ops::RangeInclusive<u64> = 256..=1 << 20;

pub(super) fn check_quantum(quantum: Option<Bytes>) -> Result<(), String> {
    match quantum {
        Some(Bytes(n)) if !QUANTUM.contains(&n) => Err(format!("quantum: {n}B: give a size from 256B to 1MiB")),
        _ => Ok(()),
    }
}

/// A quantum, or this number of bytes if it is not given.
pub(super) fn quantum(given: Option<Bytes>, otherwise: u64) -> i64 {
    given.map_or(otherwise, |Bytes(n)| n).clamp(*QUANTUM.start(), *QUANTUM.end()) as i64
}

/// A class that has packets.
#[derive(Clone, Debug)]
struct Class {
    bucket: usize,
    packets: Fifo,
    deficit: i64,
}

/// Deficit round robin.
#[derive(Debug)]
pub struct Drr<B> {
    limit: Limit,
    quantum: i64,
    key: u64,
    store: Store<B>,
    classes: Slots<Class>,
    /// The classes with packets, the next to be served first.
    round: VecDeque<u32>,
    backlog: Backlog,
}

impl<B> Drr<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Drr<B> {
        Drr {
            limit: config.limit.limit(&place.scale),
            quantum: quantum(config.quantum, place.scale.mtu.into()),
            key: place.stream().bits(),
            store: Store::new(),
            classes: Slots::new(config.flows.clamp(1, 65_536) as usize),
            round: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }
}

impl<B: Send> QueueDiscipline<B> for Drr<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        let bucket = self.classes.bucket(flow_hash(&packet.flow, self.key));
        let found = self.classes.find(bucket);
        let waiting = found.map_or(Backlog::default(), |class| self.classes[class].packets.backlog());
        if !self.limit.admits(waiting, packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        let class = found.unwrap_or_else(|| {
            let new = Class { bucket, packets: Fifo::new(), deficit: self.quantum };
            let class = self.classes.take(bucket, new);
            self.round.push_back(class);
            class
        });
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        self.store.push(&mut self.classes[class].packets, packet);
    }

    fn dequeue(&mut self, _: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        loop {
            let &turn = self.round.front()?;
            let class = &mut self.classes[turn];
            let len = i64::from(self.store.front(&class.packets)?.len);
            if len > class.deficit {
                class.deficit += self.quantum;
                self.round.rotate_left(1);
                continue;
            }
            class.deficit -= len;
            let packet = self.store.pop(&mut class.packets)?;
            self.backlog.packets -= 1;
            self.backlog.bytes -= u64::from(packet.len);
            if class.packets.is_empty() {
                let bucket = class.bucket;
                self.classes.give_back(bucket, turn);
                self.round.pop_front();
            }
            return Some(packet);
        }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
mod tests {
    use crate::queue::testing::{Bench, packet};
    use crate::queue::QueueConfig;

    /// Worked by hand from the kernel's rule, quantum 1000: flow 0 has packets of 600 bytes, flow 1 of 1000.
    #[test]
    fn what_a_quantum_leaves_over_is_kept_for_the_next_round() {
        let mut queue = Bench::new("drr:quantum=1000B");
        for n in 0..5 {
            queue.put(0, packet(n, 600, 0));
            queue.put(0, packet(10 + n, 1000, 1));
        }
        // 0: 400 over. 10. 0 again, with 1400: 1, 2; 200 over. 11. 0, with 1200: 3, 4. Then flow 1 is alone.
        assert_eq!(queue.drain(0), [0, 10, 1, 2, 11, 3, 4, 12, 13, 14]);
    }

    /// The paper's theorem: over any time in which two flows have packets their bytes differ by less than a quantum and
    /// two of the longest packets.
    #[test]
    fn flows_get_the_same_bytes_whatever_the_sizes_of_their_packets() {
        let mut queue = Bench::new("drr:limit=100000p");
        let sizes = [64, 1500, 577, 1400];
        for _ in 0..20_000 {
            for (flow, len) in (0u32..).zip(sizes) {
                queue.put(0, packet(flow, len, flow));
            }
        }
        let mut sent = [0i64; 4];
        for _ in 0..2000 {
            let packet = queue.take(0).unwrap();
            sent[packet.body as usize] += i64::from(packet.len);
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            assert!(most - least <= 1500 + 2 * 1500, "{sent:?}");
        }
        assert!(sent.iter().all(|&bytes| bytes > 100_000), "{sent:?}");
    }

    #[test]
    fn each_class_has_the_limit_and_one_that_emptied_starts_anew() {
        let mut queue = Bench::new("drr:limit=2p");
        for n in 0..6 {
            queue.put(0, packet(n, 100, n % 2));
        }
        assert_eq!(queue.dropped(), [4, 5]);
        assert_eq!(queue.drain(0), [0, 2, 1, 3]);
        queue.put(0, packet(6, 1500, 0));
        assert_eq!(queue.drain(0), [6]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (word, hint) in [
            ("drr:quantum=100B", "quantum: 100B: give a size from 256B"),
            ("drr:flows=0", "flows: 0: give a number of classes from 1 to 65536"),
        ] {
            assert!(QueueConfig::from_word(word).unwrap_err().contains(hint));
        }
    }
}
