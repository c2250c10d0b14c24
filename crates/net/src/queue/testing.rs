//! A bench that the tests of disciplines share: a queue made from its word, driven at times in nanoseconds.

use super::{Backlog, Fate, Fates, Place, QueueConfig, QueueDiscipline, Scale};
use crate::counters::LinkCounters;
use crate::packet::{ConnectionId, Ecn, FlowKey, Packet};
use crate::rng::Streams;
use crate::time::{Span, Time};
use crate::units::Rate;

/// Packet number `n` of a flow, not ECN-capable.
pub(super) fn packet(n: u32, len: u32, flow: u32) -> Packet<u32> {
    Packet::new(len, n).with(|p| p.flow = FlowKey { connection: ConnectionId(flow), ..FlowKey::default() })
}

/// Packet number `n` of a flow, ECN-capable.
pub(super) fn capable(n: u32, len: u32, flow: u32) -> Packet<u32> {
    packet(n, len, flow).with(|p| p.ecn = Ecn::Ect0)
}

/// A discipline under test on a link of 8 Mbit/s with packets of up to 1500 bytes.
pub(super) struct Bench {
    pub(super) queue: Box<dyn QueueDiscipline<u32>>,
    pub(super) counters: LinkCounters,
    dropped: Vec<u32>,
    marked: Vec<u32>,
}

impl Bench {
    pub(super) fn new(word: &str) -> Bench {
        Bench::seeded(word, 1)
    }

    pub(super) fn seeded(word: &str, seed: u64) -> Bench {
        let config = QueueConfig::from_word(word).unwrap();
        let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(100), mtu: 1500 };
        let queue = config.build(&Place { scale, name: "l/down", streams: &Streams::new(seed, 0) });
        Bench { queue, counters: LinkCounters::default(), dropped: Vec::new(), marked: Vec::new() }
    }

    fn with<T>(&mut self, act: impl FnOnce(&mut dyn QueueDiscipline<u32>, &mut Fates<'_, u32>) -> T) -> T {
        let (dropped, marked) = (&mut self.dropped, &mut self.marked);
        let mut listener = |fate: Fate<'_, u32>| match fate {
            Fate::Dropped(packet, _) => dropped.push(packet.body),
            Fate::Marked(packet) => marked.push(packet.body),
        };
        act(&mut *self.queue, &mut Fates::with_listener(&mut self.counters, &mut listener))
    }

    /// Enqueues a packet at `ns`.
    pub(super) fn put(&mut self, ns: u64, packet: Packet<u32>) {
        let now = Time::from_nanos(ns);
        self.with(|queue, fates| queue.enqueue(packet.with(|p| p.arrived = now), now, fates));
    }

    /// Dequeues at `ns`, which must not be too early.
    pub(super) fn take(&mut self, ns: u64) -> Option<Packet<u32>> {
        let now = Time::from_nanos(ns);
        assert!(self.queue.ready_at() <= now, "it is not ready");
        self.with(|queue, fates| queue.dequeue(now, fates))
    }

    /// Dequeues all packets from `ns` on, each as soon as it is ready, and returns their numbers.
    pub(super) fn drain(&mut self, ns: u64) -> Vec<u32> {
        self.departures(ns).into_iter().map(|(_, n)| n).collect()
    }

    /// Dequeues all packets with the times of departure, ns.
    pub(super) fn departures(&mut self, ns: u64) -> Vec<(u64, u32)> {
        let (mut now, mut all) = (ns, Vec::new());
        while self.queue.ready_at() != Time::NEVER {
            now = now.max(self.queue.ready_at().as_nanos());
            if let Some(packet) = self.take(now) {
                all.push((now, packet.body));
            }
        }
        assert_eq!(self.queue.backlog(), Backlog::default());
        all
    }

    /// The numbers of the packets that were dropped since the last call.
    pub(super) fn dropped(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.dropped)
    }

    /// The numbers of the packets that were marked since the last call.
    pub(super) fn marked(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.marked)
    }
}
