//! The packets of a discipline with one queue or many: all of them stand in one store.
//!
//! The queues are linked by indices into a vector. Memory grows with what stands in them, not with a limit.

use super::Backlog;
use crate::packet::Packet;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// The memory that Linux accounts for a packet of `len` bytes (`truesize`), in bytes: the buffer with the shared
/// information of 320 bytes behind it, rounded up to what the allocator gives, and the packet's descriptor of 256 bytes
/// (Linux `include/linux/skbuff.h`, `SKB_TRUESIZE`, on 64-bit machines). 2304 bytes for a packet of 1500.
pub(super) fn memory(len: u32) -> u64 {
    (u64::from(len) + 320).next_power_of_two() + 256
}

/// The packets of all queues of a discipline.
#[derive(Clone, Debug)]
pub(super) struct Store<B> {
    slots: Vec<Slot<B>>,
    free: u32,
    backlog: Backlog,
    memory: u64,
}

#[derive(Clone, Debug)]
struct Slot<B> {
    next: u32,
    previous: u32,
    packet: Option<Packet<B>>,
}

/// A queue of packets in a [`Store`]: first in, first out, and the last one can be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
    backlog: Backlog,
}

impl<B> Store<B> {
    pub(super) fn new() -> Store<B> {
        Store { slots: Vec::new(), free: NONE, backlog: Backlog::default(), memory: 0 }
    }

    /// The packets of all queues.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Their memory in bytes, as Linux accounts it.
    #[inline]
    pub(super) fn memory(&self) -> u64 {
        self.memory
    }

    /// Appends a packet to a queue.
    #[inline]
    pub(super) fn push(&mut self, fifo: &mut Fifo, packet: Packet<B>) {
        let bytes = u64::from(packet.len);
        self.memory += memory(packet.len);
        let new = Slot { next: NONE, previous: fifo.tail, packet: Some(packet) };
        let slot = match self.slots.get_mut(self.free as usize) {
            Some(slot) => {
                let at = self.free;
                self.free = slot.next;
                *slot = new;
                at
            }
            None => {
                self.slots.push(new);
                (self.slots.len() - 1) as u32
            }
        };
        match self.slots.get_mut(fifo.tail as usize) {
            Some(last) => last.next = slot,
            None => fifo.head = slot,
        }
        fifo.tail = slot;
        for backlog in [&mut fifo.backlog, &mut self.backlog] {
            backlog.packets += 1;
            backlog.bytes += bytes;
        }
    }

    /// Takes the first packet of a queue.
    #[inline]
    pub(super) fn pop(&mut self, fifo: &mut Fifo) -> Option<Packet<B>> {
        let at = fifo.head;
        let slot = self.slots.get_mut(at as usize)?;
        let packet = slot.packet.take()?;
        fifo.head = std::mem::replace(&mut slot.next, self.free);
        self.free = at;
        match self.slots.get_mut(fifo.head as usize) {
            Some(next) => next.previous = NONE,
            None => fifo.tail = NONE,
        }
        self.uncount(fifo, &packet);
        Some(packet)
    }

    /// Takes the last packet of a queue.
    pub(super) fn pop_last(&mut self, fifo: &mut Fifo) -> Option<Packet<B>> {
        let at = fifo.tail;
        let slot = self.slots.get_mut(at as usize)?;
        let packet = slot.packet.take()?;
        fifo.tail = slot.previous;
        slot.next = std::mem::replace(&mut self.free, at);
        match self.slots.get_mut(fifo.tail as usize) {
            Some(last) => last.next = NONE,
            None => fifo.head = NONE,
        }
        self.uncount(fifo, &packet);
        Some(packet)
    }

    #[inline]
    fn uncount(&mut self, fifo: &mut Fifo, packet: &Packet<B>) {
        self.memory -= memory(packet.len);
        for backlog in [&mut fifo.backlog, &mut self.backlog] {
            backlog.packets -= 1;
            backlog.bytes -= u64::from(packet.len);
        }
    }

    /// The first packet of a queue.
    pub(super) fn front(&self, fifo: &Fifo) -> Option<&Packet<B>> {
        self.slots.get(fifo.head as usize)?.packet.as_ref()
    }
}

impl Fifo {
    pub(super) fn new() -> Fifo {
        Fifo { head: NONE, tail: NONE, backlog: Backlog::default() }
    }

    /// The packets of this queue.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Whether no packet waits in it.
    pub(super) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_takes_the_memory_that_linux_accounts() {
        assert_eq!([40, 192, 193, 1500, 9000].map(memory), [768, 768, 1280, 2304, 16_640]);
    }

    #[test]
    fn queues_share_a_store_that_uses_slots_again() {
        let (mut store, mut a, mut b) = (Store::new(), Fifo::new(), Fifo::new());
        for round in 0..3 {
            for n in 0..4 {
                store.push(if n % 2 == 0 { &mut a } else { &mut b }, Packet::new(100 + n, round * 10 + n));
            }
            assert_eq!((store.backlog().bytes, a.backlog().bytes, b.backlog().packets), (406, 202, 2));
            let bodies = |store: &mut Store<u32>, fifo: &mut Fifo| -> Vec<u32> {
                std::iter::from_fn(|| store.pop(fifo).map(|packet| packet.body)).collect()
            };
            assert_eq!(store.front(&b).map(|packet| packet.body), Some(round * 10 + 1));
            assert_eq!(bodies(&mut store, &mut a), [round * 10, round * 10 + 2]);
            assert_eq!(bodies(&mut store, &mut b), [round * 10 + 1, round * 10 + 3]);
            assert_eq!((store.backlog(), store.memory()), (Backlog::default(), 0));
        }
        assert_eq!(store.slots.len(), 4);
    }

    #[test]
    fn the_last_packet_of_a_queue_can_be_taken_back() {
        let (mut store, mut a, mut b) = (Store::new(), Fifo::new(), Fifo::new());
        for n in 0..6u32 {
            store.push(if n % 2 == 0 { &mut a } else { &mut b }, Packet::new(100 + n, n));
        }
        let bodies = |p: Option<Packet<u32>>| p.map(|p| p.body);
        assert_eq!([bodies(store.pop(&mut a)), bodies(store.pop_last(&mut a))], [Some(0), Some(4)]);
        assert_eq!([bodies(store.pop_last(&mut a)), bodies(store.pop(&mut a))], [Some(2), None]);
        assert!(a.is_empty() && store.pop_last(&mut a).is_none());
        for n in 6..9 {
            store.push(&mut a, Packet::new(1, n));
        }
        assert_eq!(store.slots.len(), 6);
        let left: Vec<u32> = std::iter::from_fn(|| bodies(store.pop(&mut a))).collect();
        assert_eq!(left, [6, 7, 8]);
        let left: Vec<u32> = std::iter::from_fn(|| bodies(store.pop_last(&mut b))).collect();
        assert_eq!(left, [5, 3, 1]);
    }
}
