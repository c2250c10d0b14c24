//! Packets of many flows in one block of memory, as lists. It is as large as the largest backlog so far.

use super::Backlog;
use crate::packet::Packet;

/// No node.
const NONE: u32 = u32::MAX;

/// The packets of all lists.
#[derive(Debug)]
pub(super) struct Store<B> {
    nodes: Vec<Node<B>>,
    /// The first free node. Free nodes are linked by `next`.
    free: u32,
}

#[derive(Debug)]
struct Node<B> {
    next: u32,
    previous: u32,
    packet: Option<Packet<B>>,
}

/// A list of packets in a [`Store`]: first in, first out, and the youngest can be taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    first: u32,
    last: u32,
    backlog: Backlog,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE, backlog: Backlog { packets: 0, bytes: 0 } }
    }
}

impl List {
    pub(super) fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }
}

impl<B> Default for Store<B> {
    fn default() -> Store<B> {
        Store { nodes: Vec::new(), free: NONE }
    }
}

impl<B> Store<B> {
    /// Appends a packet to a list.
    #[inline]
    pub(super) fn push(&mut self, list: &mut List, packet: Packet<B>) {
        list.backlog.packets += 1;
        list.backlog.bytes += u64::from(packet.len);
        let node = Node { next: NONE, previous: list.last, packet: Some(packet) };
        let n = self.free;
        let n = if let Some(slot) = self.nodes.get_mut(n as usize) {
            self.free = slot.next;
            *slot = node;
            n
        } else {
            self.nodes.push(node);
            (self.nodes.len() - 1) as u32
        };
        match self.nodes.get_mut(list.last as usize) {
            Some(last) => last.next = n,
            None => list.first = n,
        }
        list.last = n;
    }

    /// The oldest packet of a list.
    #[inline]
    pub(super) fn first(&self, list: &List) -> Option<&Packet<B>> {
        self.nodes.get(list.first as usize)?.packet.as_ref()
    }

    /// Takes the oldest packet of a list.
    #[inline]
    pub(super) fn pop(&mut self, list: &mut List) -> Option<Packet<B>> {
        let n = list.first;
        let node = self.nodes.get_mut(n as usize)?;
        let (packet, next) = (node.packet.take(), node.next);
        node.next = self.free;
        self.free = n;
        list.first = next;
        match self.nodes.get_mut(next as usize) {
            Some(next) => next.previous = NONE,
            None => list.last = NONE,
        }
        List::taken(list, packet)
    }

    /// Takes the youngest packet of a list.
    pub(super) fn pop_last(&mut self, list: &mut List) -> Option<Packet<B>> {
        let n = list.last;
        let node = self.nodes.get_mut(n as usize)?;
        let (packet, previous) = (node.packet.take(), node.previous);
        node.next = self.free;
        self.free = n;
        list.last = previous;
        match self.nodes.get_mut(previous as usize) {
            Some(previous) => previous.next = NONE,
            None => list.first = NONE,
        }
        List::taken(list, packet)
    }
}

impl List {
    fn taken<B>(list: &mut List, packet: Option<Packet<B>>) -> Option<Packet<B>> {
        let len = packet.as_ref().map_or(0, |packet| u64::from(packet.len));
        list.backlog.packets -= 1;
        list.backlog.bytes -= len;
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_share_the_memory_of_the_largest_backlog() {
        let (mut store, mut a, mut b) = (Store::default(), List::default(), List::default());
        for n in 0..6u32 {
            store.push(if n % 2 == 0 { &mut a } else { &mut b }, Packet::new(100 + n, n));
        }
        assert_eq!(a.backlog(), Backlog { packets: 3, bytes: 306 });
        assert_eq!(store.first(&a).map(|p| p.body), Some(0));
        let bodies = |p: Option<Packet<u32>>| p.map(|p| p.body);
        assert_eq!([bodies(store.pop(&mut a)), bodies(store.pop_last(&mut a))], [Some(0), Some(4)]);
        assert_eq!([bodies(store.pop(&mut a)), bodies(store.pop(&mut a))], [Some(2), None]);
        assert!(a.is_empty() && store.pop_last(&mut a).is_none());
        for n in 6..9 {
            store.push(&mut a, Packet::new(1, n));
        }
        assert_eq!(store.nodes.len(), 6);
        let left: Vec<u32> = std::iter::from_fn(|| bodies(store.pop(&mut a))).collect();
        assert_eq!(left, [6, 7, 8]);
        let left: Vec<u32> = std::iter::from_fn(|| bodies(store.pop_last(&mut b))).collect();
        assert_eq!(left, [5, 3, 1]);
    }
}
