//! A tin of `cake`: the flows of one class, found by an 8-way set-associative hash, and the hosts that they belong to.
//!
//! As in Linux a tin has 1024 queues in sets of eight. A flow goes to the queue of its hash, or to another one of the set if
//! that is taken, so that flows share a queue only if a whole set is taken. Hosts are found the same way.

use super::cobalt;
use super::flows::{Chain, Flows};
use super::hash::{flow_hash, pair_hash};
use crate::packet::FlowKey;
use crate::rng::Stream;
use crate::time::Time;

const QUEUES: u32 = 1024;
const WAYS: u32 = 8;

/// Between what the link is shared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowMode {
    /// There is one queue only.
    Flowblind,
    /// Source addresses.
    SrcHost,
    /// Destination addresses.
    DstHost,
    /// Pairs of source and destination.
    Hosts,
    /// Flows.
    Flows,
    /// Source addresses, and the flows of each.
    DualSrcHost,
    /// Destination addresses, and the flows of each.
    DualDstHost,
    /// Source and destination addresses, and flows.
    TripleIsolate,
}

impl FlowMode {
    /// Whether shares are computed by source and by destination.
    fn sides(self) -> [bool; 2] {
        use FlowMode::{DualDstHost, DualSrcHost, TripleIsolate};
        [matches!(self, DualSrcHost | TripleIsolate), matches!(self, DualDstHost | TripleIsolate)]
    }

    /// The hashes of a flow's queue and of its two hosts.
    fn hashes(self, perturbation: u64, key: &FlowKey) -> (u32, [u32; 2]) {
        let hosts =
            [pair_hash(key.source.0, 1, perturbation) as u32, pair_hash(key.destination.0, 2, perturbation) as u32];
        let queue = match self {
            FlowMode::Flowblind => 0,
            FlowMode::SrcHost => hosts[0],
            FlowMode::DstHost => hosts[1],
            FlowMode::Hosts => hosts[0] ^ hosts[1],
            _ => flow_hash(key, perturbation) as u32,
        };
        (queue, hosts)
    }
}

/// How a queue counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Set {
    /// It is not in use.
    #[default]
    Unused,
    /// Its flow sends little.
    Sparse,
    /// It has used up its quantum and waits among the bulk flows for the next one.
    SparseWait,
    /// Its flow has a queue.
    Bulk,
    /// It is empty, and its COBALT not at rest yet.
    Decaying,
}

/// The state of a flow's queue.
#[derive(Clone, Default, Debug)]
pub(super) struct Queue {
    pub(super) cobalt: cobalt::State,
    pub(super) set: Set,
    /// The places of its hosts: source and destination.
    hosts: [u16; 2],
}

/// A place for a queue.
#[derive(Clone, Copy, Default, Debug)]
struct QueuePlace {
    tag: u32,
    /// The index of the queue plus one; 0 if the place was never used.
    queue: u32,
}

/// A place for a source address and for a destination address.
#[derive(Clone, Copy, Default, Debug)]
struct Host {
    tags: [u32; 2],
    /// How many flows of the host have a queue.
    bulk: [u16; 2],
}

/// The flows of one class.
#[derive(Clone, Debug)]
pub(super) struct Tin {
    pub(super) control: cobalt::Control,
    pub(super) flows: Flows<Queue>,
    /// Packets in the tin.
    pub(super) packets: u64,
    /// Queues that are sparse and bulk; as many are to be served.
    sparse: u64,
    pub(super) bulk: u64,
    /// The rate of the class in bit/s; 0 if nothing is shaped.
    pub(super) bps: u64,
    /// When the class may send by its own rate.
    pub(super) next: Time,
    /// The bytes that it may send a round if nothing is shaped, and what is left of them.
    pub(super) quantum: i64,
    pub(super) deficit: i64,
    /// The bytes that a flow may send a round.
    flow_quantum: u64,
    places: Vec<QueuePlace>,
    hosts: Vec<Host>,
    mode: FlowMode,
    perturbation: u64,
}

impl Tin {
    /// An empty tin. Its tables are made for the first packet.
    pub(super) fn new(control: cobalt::Control, bps: u64, quantum: i64, mode: FlowMode, perturbation: u64) -> Tin {
        let flow_quantum = if bps == 0 { 1514 } else { (bps / 8 / 4096).clamp(300, 1514) };
        Tin {
            control,
            flows: Flows::new(),
            packets: 0,
            sparse: 0,
            bulk: 0,
            bps,
            next: Time::ZERO,
            quantum,
            deficit: 0,
            flow_quantum,
            places: Vec::new(),
            hosts: Vec::new(),
            mode,
            perturbation,
        }
    }

    /// Whether a flow is to be served.
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    fn set_at(&self, place: u32) -> Set {
        self.places[place as usize].queue.checked_sub(1).map_or(Set::Unused, |queue| self.flows.get(queue).state.set)
    }

    /// The queue of a packet's flow.
    pub(super) fn find(&mut self, key: &FlowKey) -> u32 {
        if self.places.is_empty() {
            self.places = vec![QueuePlace::default(); QUEUES as usize];
            self.hosts = vec![Host::default(); QUEUES as usize];
        }
        let (tag, hosts) = self.mode.hashes(self.perturbation, key);
        let direct = tag % QUEUES;
        let at = self.places[direct as usize];
        if at.tag == tag && self.set_at(direct) != Set::Unused {
            return at.queue - 1;
        }
        let own = ways(direct).find(|&place| self.places[place as usize].tag == tag);
        let place = own.or_else(|| ways(direct).find(|&place| self.set_at(place) == Set::Unused)).unwrap_or(direct);
        let set = self.set_at(place);
        let at = &mut self.places[place as usize];
        at.tag = tag;
        if at.queue == 0 {
            at.queue = self.flows.add(Queue::default()) + 1;
        }
        let queue = at.queue - 1;
        if own.is_none() || set == Set::Unused {
            // The queue changes hands. If it holds packets of another flow, they count for the new hosts from now on.
            if set == Set::Bulk {
                self.leave_hosts(queue);
            }
            let found = [self.find_host(0, hosts[0]), self.find_host(1, hosts[1])];
            self.flows.at(queue).state.hosts = found;
            if set == Set::Bulk {
                self.join_hosts(queue);
            }
        }
        queue
    }

    fn find_host(&mut self, side: usize, tag: u32) -> u16 {
        let direct = tag % QUEUES;
        let own = ways(direct).find(|&place| self.hosts[place as usize].tags[side] == tag);
        let free = || ways(direct).find(|&place| self.hosts[place as usize].bulk[side] == 0);
        let place = own.or_else(free).unwrap_or(direct);
        self.hosts[place as usize].tags[side] = tag;
        place as u16
    }

    /// A flow counts as one of its hosts' flows with a queue.
    fn join_hosts(&mut self, queue: u32) {
        let hosts = self.flows.at(queue).state.hosts;
        for side in (0..2).filter(|&side| self.mode.sides()[side]) {
            let bulk = &mut self.hosts[usize::from(hosts[side])].bulk[side];
            *bulk = (*bulk + 1).min(QUEUES as u16);
        }
    }

    fn leave_hosts(&mut self, queue: u32) {
        let hosts = self.flows.at(queue).state.hosts;
        for side in (0..2).filter(|&side| self.mode.sides()[side]) {
            let bulk = &mut self.hosts[usize::from(hosts[side])].bulk[side];
            *bulk = bulk.saturating_sub(1);
        }
    }

    /// The bytes of a flow's turn: its share of its busier host's. What is lost by rounding is drawn for.
    fn share(&mut self, queue: u32, stream: &mut Stream) -> i64 {
        let hosts = self.flows.at(queue).state.hosts;
        let sides = (0..2).filter(|&side| self.mode.sides()[side]);
        let load = sides.map(|side| self.hosts[usize::from(hosts[side])].bulk[side]).max().unwrap_or(0).max(1);
        ((self.flow_quantum * 65_536 / u64::from(load) + (stream.bits() & 0xffff)) >> 16) as i64
    }

    fn change(&mut self, queue: u32, set: Set) {
        let before = std::mem::replace(&mut self.flows.at(queue).state.set, set);
        let counts = |set| (u64::from(matches!(set, Set::Sparse | Set::SparseWait)), u64::from(set == Set::Bulk));
        self.sparse = self.sparse + counts(set).0 - counts(before).0;
        self.bulk = self.bulk + counts(set).1 - counts(before).1;
        match (before == Set::Bulk, set == Set::Bulk) {
            (false, true) => self.join_hosts(queue),
            (true, false) => self.leave_hosts(queue),
            _ => {}
        }
    }

    /// A packet has been put into a queue.
    pub(super) fn arrived(&mut self, queue: u32, stream: &mut Stream) {
        match self.flows.at(queue).state.set {
            Set::Unused | Set::Decaying => {
                self.flows.append(queue, Chain::New);
                self.change(queue, Set::Sparse);
                self.flows.at(queue).deficit = self.share(queue, stream);
            }
            Set::SparseWait => self.change(queue, Set::Bulk),
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The queue that is looked at next: new before old ones, then those that decay.
    pub(super) fn next_queue(&self) -> Option<u32> {
        [Chain::New, Chain::Old, Chain::Decaying].into_iter().find_map(|chain| self.flows.first(chain))
    }

    /// The queue that has decayed for longest.
    pub(super) fn decaying(&self) -> Option<u32> {
        self.flows.first(Chain::Decaying)
    }

    /// A queue has used up its turn: it gets the next one behind the others.
    pub(super) fn end_turn(&mut self, queue: u32, stream: &mut Stream) {
        let flow = self.flows.at(queue);
        if flow.state.set == Set::Sparse {
            let waits = flow.fifo.backlog().packets > 0;
            self.change(queue, if waits { Set::Bulk } else { Set::SparseWait });
        }
        let share = self.share(queue, stream);
        self.flows.at(queue).deficit += share;
        self.flows.append(queue, Chain::Old);
    }

    /// It was a queue's turn and it was empty.
    pub(super) fn found_empty(&mut self, queue: u32, now: Time) {
        let cobalt = &mut self.flows.at(queue).state.cobalt;
        cobalt.found_empty(&self.control, now);
        if cobalt.is_at_rest(now) {
            self.flows.remove(queue);
            self.change(queue, Set::Unused);
        } else {
            self.flows.append(queue, Chain::Decaying);
            self.change(queue, Set::Decaying);
        }
    }
}

/// The places of a set, from the one of the hash on.
fn ways(direct: u32) -> impl Iterator<Item = u32> {
    let (first, way) = (direct - direct % WAYS, direct % WAYS);
    (0..WAYS).map(move |n| first + (way + n) % WAYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Address, ConnectionId};
    use crate::rng::Streams;
    use crate::time::Span;
    use std::collections::BTreeSet;

    fn tin(mode: FlowMode) -> Tin {
        let control =
            cobalt::Control { target: Span::ZERO, interval: Span::ZERO, mtu_time: Span::ZERO, competitors: 0 };
        Tin::new(control, 0, 65_535, mode, 99)
    }

    fn key(source: u32, destination: u32, connection: u32) -> FlowKey {
        let (source, destination) = (Address(source), Address(destination));
        FlowKey { source, destination, connection: ConnectionId(connection) }
    }

    /// How many queues are used by these flows, each of which has a packet.
    fn used(mode: FlowMode, keys: impl Iterator<Item = FlowKey>) -> usize {
        let (mut tin, mut stream) = (tin(mode), Streams::new(1, 0).named("cake"));
        let queues: BTreeSet<u32> = keys
            .map(|key| {
                let queue = tin.find(&key);
                tin.arrived(queue, &mut stream);
                assert_eq!(tin.find(&key), queue);
                queue
            })
            .collect();
        queues.len()
    }

    /// With one place for each hash, 200 flows in 1024 queues would collide some 19 times.
    #[test]
    fn flows_share_a_queue_only_when_a_set_is_full() {
        assert_eq!(used(FlowMode::Flows, (0..200).map(|n| key(1, 2, n))), 200);
        assert_eq!(used(FlowMode::Flows, (0..20_000).map(|n| key(1, 2, n))), 1024);
    }

    #[test]
    fn queues_are_those_of_the_mode() {
        let keys = || (0..24).map(|n| key(n % 2, n % 3, n));
        for (mode, queues) in [
            (FlowMode::Flowblind, 1),
            (FlowMode::SrcHost, 2),
            (FlowMode::DstHost, 3),
            (FlowMode::Hosts, 6),
            (FlowMode::Flows, 24),
            (FlowMode::DualSrcHost, 24),
            (FlowMode::TripleIsolate, 24),
        ] {
            assert_eq!(used(mode, keys()), queues, "{mode:?}");
        }
    }

    #[test]
    fn a_flow_gets_its_part_of_the_share_of_its_busier_host() {
        let mut stream = Streams::new(1, 0).named("cake");
        for (mode, load) in
            [(FlowMode::Flows, 1), (FlowMode::DualSrcHost, 4), (FlowMode::DualDstHost, 8), (FlowMode::TripleIsolate, 8)]
        {
            let mut tin = tin(mode);
            // Two sources with four flows each, all to one destination.
            for n in 0..8 {
                let queue = tin.find(&key(n % 2, 7, n));
                tin.arrived(queue, &mut stream);
                tin.change(queue, Set::Bulk);
            }
            let queue = tin.find(&key(0, 7, 0));
            let mean = (0..4000).map(|_| tin.share(queue, &mut stream)).sum::<i64>() as f64 / 4000.0;
            assert!((mean - 1514.0 / f64::from(load)).abs() < 0.1, "{mode:?}: {mean}");
        }
    }

    #[test]
    fn a_queue_that_changes_hands_counts_for_its_new_hosts() {
        let (mut tin, mut stream) = (tin(FlowMode::TripleIsolate), Streams::new(1, 0).named("cake"));
        for n in 0..20_000 {
            let queue = tin.find(&key(n, n / 2, n));
            tin.arrived(queue, &mut stream);
            if tin.flows.at(queue).state.set == Set::Sparse {
                tin.change(queue, Set::Bulk);
            }
        }
        for side in 0..2 {
            let counted: u64 = tin.hosts.iter().map(|host| u64::from(host.bulk[side])).sum();
            assert_eq!((counted, tin.bulk), (1024, 1024));
        }
    }
}
