//! Flow queues: the flows of a discipline and the lists on which they wait for their turn. The shared part of the disciplines with a queue for each flow (`fq_codel`, `fq_pie`, `cake`).
//!
//! The lists are linked by indices into a vector, which grows with the number of buckets that were ever used.

use super::hash::flow_hash;
use super::packets::Fifo;
use super::whole::FlowCount;
use crate::packet::FlowKey;
use crate::units::Bytes;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A list that a flow can be on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Chain {
    /// Flows that have just become active. They go first.
    New,
    /// Flows that have used up a quantum.
    Old,
    /// Empty flows whose state has not come to rest (`cake`).
    Decaying,
}

/// A flow with its queue and the state `S` of what manages it.
#[derive(Clone, Debug)]
pub(super) struct Flow<S> {
    pub(super) fifo: Fifo,
    /// The bytes that it may send before the next flow's turn.
    pub(super) deficit: i64,
    pub(super) state: S,
    chain: Option<Chain>,
    previous: u32,
    next: u32,
}

/// The flows of a discipline and their lists.
#[derive(Clone, Debug)]
pub(super) struct Flows<S> {
    flows: Vec<Flow<S>>,
    /// The first and last flow of each list.
    chains: [(u32, u32); 3],
}

impl<S> Flows<S> {
    pub(super) fn new() -> Flows<S> {
        Flows { flows: Vec::new(), chains: [(NONE, NONE); 3] }
    }

    /// Adds a flow, which is empty and on no list, and returns its index.
    pub(super) fn add(&mut self, state: S) -> u32 {
        let flow = Flow { fifo: Fifo::new(), deficit: 0, state, chain: None, previous: NONE, next: NONE };
        self.flows.push(flow);
        (self.flows.len() - 1) as u32
    }

    /// The flow of an index that [`Flows::add`] returned.
    #[inline]
    pub(super) fn at(&mut self, flow: u32) -> &mut Flow<S> {
        &mut self.flows[flow as usize]
    }

    /// The flow, to look at.
    #[inline]
    pub(super) fn get(&self, flow: u32) -> &Flow<S> {
        &self.flows[flow as usize]
    }

    /// The first flow of a list.
    #[inline]
    pub(super) fn first(&self, chain: Chain) -> Option<u32> {
        Some(self.chains[chain as usize].0).filter(|&flow| flow != NONE)
    }

    /// The list that a flow is on.
    #[inline]
    pub(super) fn chain(&self, flow: u32) -> Option<Chain> {
        self.flows[flow as usize].chain
    }

    /// Takes a flow off its list.
    #[inline]
    pub(super) fn remove(&mut self, flow: u32) {
        let Flow { chain, previous, next, .. } = &mut self.flows[flow as usize];
        let (Some(chain), previous, next) = (chain.take(), *previous, *next) else { return };
        match self.flows.get_mut(previous as usize) {
            Some(before) => before.next = next,
            None => self.chains[chain as usize].0 = next,
        }
        match self.flows.get_mut(next as usize) {
            Some(after) => after.previous = previous,
            None => self.chains[chain as usize].1 = previous,
        }
    }

    /// Moves a flow to the end of a list.
    #[inline]
    pub(super) fn append(&mut self, flow: u32, chain: Chain) {
        self.remove(flow);
        let last = std::mem::replace(&mut self.chains[chain as usize].1, flow);
        match self.flows.get_mut(last as usize) {
            Some(before) => before.next = flow,
            None => self.chains[chain as usize].0 = flow,
        }
        let appended = &mut self.flows[flow as usize];
        (appended.chain, appended.previous, appended.next) = (Some(chain), last, NONE);
    }

    /// A packet has come for a flow. If the flow is on no list, it becomes a new one with a quantum of credit.
    #[inline]
    pub(super) fn activate(&mut self, flow: u32, quantum: i64) {
        if self.chain(flow).is_none() {
            self.at(flow).deficit = quantum;
            self.append(flow, Chain::New);
        }
    }

    /// The flow whose turn it is (RFC 8290 section 4.2): the first new one or else the first old one that has credit. A
    /// flow without credit gets a quantum and goes to the end of the old flows.
    #[inline]
    pub(super) fn turn(&mut self, quantum: i64) -> Option<u32> {
        loop {
            let first = self.first(Chain::New).or_else(|| self.first(Chain::Old))?;
            let flow = self.at(first);
            if flow.deficit > 0 {
                return Some(first);
            }
            flow.deficit += quantum;
            self.append(first, Chain::Old);
        }
    }

    /// The flow at whose turn nothing was left leaves its list. A new one passes through the old flows first, if there
    /// are any, so that it cannot come back as a new one at once and starve them (RFC 8290 section 4.2).
    pub(super) fn found_empty(&mut self, flow: u32) {
        if self.chain(flow) == Some(Chain::New) && self.first(Chain::Old).is_some() {
            self.append(flow, Chain::Old);
        } else {
            self.remove(flow);
        }
    }

    /// Takes every flow off its list when no packet is left. Linux asks a discipline again after its last packet, and the
    /// lists are emptied then.
    pub(super) fn clear(&mut self, mut each: impl FnMut(&mut S)) {
        for chain in [Chain::New, Chain::Old] {
            while let Some(flow) = self.first(chain) {
                self.remove(flow);
                each(&mut self.at(flow).state);
            }
        }
    }

    /// The flow with the most bytes waiting.
    pub(super) fn fattest(&self) -> Option<u32> {
        let bytes = |flow: &Flow<S>| flow.fifo.backlog().bytes;
        let mut best: Option<(u32, u64)> = None;
        for (n, flow) in self.flows.iter().enumerate() {
            if bytes(flow) > best.map_or(0, |(_, most)| most) {
                best = Some((n as u32, bytes(flow)));
            }
        }
        best.map(|(flow, _)| flow)
    }
}

/// Buckets into which flows are hashed. Flows with one hash share a bucket.
#[derive(Clone, Debug)]
pub(super) struct Buckets {
    perturbation: u64,
    count: u32,
    /// For each bucket the index of its flow plus one; 0 if it was never used. Made for the first packet.
    table: Vec<u32>,
}

impl Buckets {
    /// Buckets under a perturbation, which is drawn at random so that which flows collide differs between replications.
    pub(super) fn new(count: FlowCount, perturbation: u64) -> Buckets {
        Buckets { perturbation, count: count.0, table: Vec::new() }
    }

    /// The index of the flow in whose bucket a packet's flow is.
    #[inline]
    pub(super) fn find<S: Default>(&mut self, key: &FlowKey, flows: &mut Flows<S>) -> u32 {
        if self.table.is_empty() {
            self.table = vec![0; self.count as usize];
        }
        let bucket = ((flow_hash(key, self.perturbation) >> 32) * u64::from(self.count)) >> 32;
        let flow = &mut self.table[bucket as usize];
        if *flow == 0 {
            *flow = flows.add(S::default()) + 1;
        }
        *flow - 1
    }
}

/// The quantum of deficit round robin, bytes: the one given, at least 256, or the MTU.
pub(super) fn quantum(given: Option<Bytes>, mtu: u32) -> i64 {
    let bytes = given.map_or(u64::from(mtu), |bytes| bytes.0);
    bytes.clamp(256, 1 << 20) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Address, ConnectionId};

    #[test]
    fn a_flow_can_be_taken_from_any_place_of_a_list() {
        let mut flows: Flows<()> = Flows::new();
        let [a, b, c] = [(); 3].map(|state| flows.add(state));
        let order = |flows: &Flows<()>, chain| {
            let next = |&flow: &u32| Some(flows.flows[flow as usize].next).filter(|&next| next != NONE);
            std::iter::successors(flows.first(chain), next).collect::<Vec<_>>()
        };
        for flow in [a, b, c] {
            flows.append(flow, Chain::Old);
        }
        flows.append(b, Chain::New);
        assert_eq!((order(&flows, Chain::Old), order(&flows, Chain::New)), (vec![a, c], vec![b]));
        flows.append(a, Chain::Old);
        assert_eq!(order(&flows, Chain::Old), [c, a]);
        flows.remove(a);
        flows.remove(a);
        flows.append(b, Chain::Old);
        assert_eq!((order(&flows, Chain::Old), flows.chain(a)), (vec![c, b], None));
    }

    #[test]
    fn flows_spread_over_the_buckets_and_stay_in_theirs() {
        let (mut flows, mut buckets) = (Flows::<u8>::new(), Buckets::new(FlowCount(1024), 7));
        let key = |n: u32| FlowKey { source: Address(n % 3), destination: Address(9), connection: ConnectionId(n) };
        let found: Vec<u32> = (0..1000).map(|n| buckets.find(&key(n), &mut flows)).collect();
        assert!((0..1000).all(|n| buckets.find(&key(n), &mut flows) == found[n as usize]));
        // 1000 balls into 1024 boxes fill 1024 (1 - exp(-1000/1024)) = 638 of them.
        assert!((600..676).contains(&flows.flows.len()), "{}", flows.flows.len());
        let other = Buckets::new(FlowCount(1024), 8);
        assert_ne!(flow_hash(&key(1), other.perturbation), flow_hash(&key(1), buckets.perturbation));
    }
}
