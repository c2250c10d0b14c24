//! One direction of a link: a queue, a rate, a propagation delay and random impairments.
//!
//! A link is a state machine. [`Link::offer`] takes a packet. [`Link::poll`] returns those that have arrived at the far
//! end by a given time. [`Link::next_wake`] returns the time of the next arrival. Calling `poll` at more instants than
//! needed, or late, changes neither which packets come out nor their timestamps.
//!
//! The stages of a link, in order: MTU check, queue, serialisation, loss, duplication, propagation with jitter.

mod ahead;
mod cellular;
mod config;
mod fifo;
mod impairments;
mod pipe;
pub(crate) mod wire;

pub use crate::counters::LinkCounters;
pub use cellular::Cellular;
pub use config::LinkConfig;

use crate::cx::{Cx, Metric};
use crate::occupancy::{Held, Integral};
use crate::packet::Packet;
use crate::queue::{DropReason, Fates, Place, QueueDiscipline};
use crate::rng::Streams;
use crate::time::Time;
use ahead::Sent;
use fifo::Fifo;
use wire::Wire;

/// How packets wait.
enum Waiting<B> {
    DropTail(Fifo),
    Discipline(Box<Served<B>>),
}

/// A queue that is served.
struct Served<B> {
    queue: Box<dyn QueueDiscipline<B>>,
    /// When the next packet is due to leave the queue: the serialiser is free and the discipline allows it.
    next: Time,
    held: Integral,
}

impl<B: Clone> Served<B> {
    /// Starts every serialisation that is due by `until`, each at its own time.
    #[inline]
    fn dequeue_until(&mut self, until: Time, wire: &mut Wire<B>, counters: &mut LinkCounters, cx: &mut Cx<'_>) {
        while self.next <= until && self.next != Time::NEVER {
            self.dequeue(wire, counters, cx);
        }
    }

    /// Starts the serialisation that is due next.
    fn dequeue(&mut self, wire: &mut Wire<B>, counters: &mut LinkCounters, cx: &mut Cx<'_>) {
        let at = self.next;
        let mut ready = Time::NEVER;
        let packet = self.queue.take(at, &mut ready, &mut Fates::new(counters));
        let backlog = self.queue.backlog();
        self.held.set(at, backlog);
        cx.record_at(at, Metric::Queue, backlog.bytes);
        let Some(packet) = packet else {
            // A discipline that returns nothing although something is ready would be asked forever.
            self.next = if ready <= at { Time::NEVER } else { ready };
            return;
        };
        counters.count_wait(packet.arrived, at);
        if at > wire.serialiser.busy_until {
            wire.serialiser.begin(at);
        }
        wire.serve(at, packet, counters);
        self.next = if ready == Time::NEVER { ready } else { ready.max(wire.serialiser.busy_until) };
    }
}

/// One direction of a link.
// In this order, as in its parts, so that what every packet needs stands together, and the rest behind it: of many links, hardly one
// is in a cache when its next packet comes.
#[repr(C)]
pub struct Link<B> {
    waiting: Waiting<B>,
    wire: Wire<B>,
    mtu: u32,
    /// The last packet that arrived at the far end, and when it did.
    left: Sent,
    counters: LinkCounters,
    /// The last packet that was taken ahead of time.
    ahead: Sent,
}

impl<B: Clone + Send + 'static> Link<B> {
    /// A link; its random processes draw from the streams `name/loss`, `name/jitter`, `name/duplication`, `name/queue`.
    pub fn new(config: &LinkConfig, name: &str, streams: &Streams) -> Link<B> {
        let scale = config.scale(config.greatest_delay() * 2);
        if let Some((limit, mark)) = config.queue.as_drop_tail() {
            let (limit, mark) = (limit.limit(&scale), mark.map(|mark| mark.limit(&scale)));
            return Link::with_waiting(config, name, streams, Waiting::DropTail(Fifo::new(limit, mark)));
        }
        Link::with_discipline(config, name, streams, config.queue.build(&Place { scale, name, streams }))
    }

    /// A link with this queue instead of the configuration's. The queue decides on each packet when it leaves.
    pub fn with_discipline(
        config: &LinkConfig,
        name: &str,
        streams: &Streams,
        queue: Box<dyn QueueDiscipline<B>>,
    ) -> Link<B> {
        let waiting = Waiting::Discipline(Box::new(Served { queue, next: Time::NEVER, held: Integral::default() }));
        Link::with_waiting(config, name, streams, waiting)
    }

    fn with_waiting(config: &LinkConfig, name: &str, streams: &Streams, waiting: Waiting<B>) -> Link<B> {
        let wire = Wire::new(config, name, streams);
        let (counters, ahead, left) = (LinkCounters::default(), Sent::default(), Sent::default());
        Link { mtu: config.mtu, waiting, wire, counters, ahead, left }
    }

    /// Puts a packet onto the link at `cx.now`.
    #[inline(always)]
    pub fn offer(&mut self, mut packet: Packet<B>, cx: &mut Cx<'_>) {
        self.counters.offered += 1;
        if packet.len > self.mtu {
            self.counters.count_drop(DropReason::TooBig);
            return;
        }
        packet.arrived = cx.now;
        let Waiting::DropTail(queue) = &mut self.waiting else { return self.offer_served(packet, cx) };
        let (of, serialiser) = ((packet.len, &mut packet.ecn), &mut self.wire.serialiser);
        if let Some(start) = queue.admit(of, serialiser, &mut self.counters, cx) {
            self.wire.serve(start, packet, &mut self.counters);
        }
    }

    // This is not inlined, so that the fast path of drop-tail needs few registers.
    #[inline(never)]
    fn offer_served(&mut self, packet: Packet<B>, cx: &mut Cx<'_>) {
        let Waiting::Discipline(served) = &mut self.waiting else { return };
        served.dequeue_until(cx.now, &mut self.wire, &mut self.counters, cx);
        let free = self.wire.serialiser.busy_until.max(cx.now);
        if served.next == Time::NEVER && free == cx.now {
            self.wire.serialiser.begin(cx.now);
        }
        let (ready, backlog) = served.queue.put(packet, cx.now, &mut Fates::new(&mut self.counters));
        served.held.set(cx.now, backlog);
        if ready == Time::NEVER {
            served.next = Time::NEVER;
            return;
        }
        served.next = ready.max(free);
        let backlog = if served.next > cx.now {
            backlog
        } else {
            served.dequeue_until(cx.now, &mut self.wire, &mut self.counters, cx);
            if served.next == Time::NEVER {
                return;
            }
            served.queue.backlog()
        };
        self.counters.max_queue_packets = self.counters.max_queue_packets.max(backlog.packets);
        self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(backlog.bytes);
        cx.record(Metric::Queue, backlog.bytes);
    }

    /// When the link next has something to do, or [`Time::NEVER`].
    #[inline]
    pub fn next_wake(&self) -> Time {
        let arrival = self.wire.pipe.first();
        match &self.waiting {
            Waiting::DropTail(_) => arrival,
            // Packets from the queue arrive after all those in the pipe, so the queue can wait until then.
            Waiting::Discipline(_) if self.wire.pipe.len() > 0 && !self.wire.overtaking => arrival,
            Waiting::Discipline(served) => arrival.min(served.next),
        }
    }

    /// The next packet that has arrived by `until`, with its time of arrival.
    #[inline(always)]
    pub fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        if let Waiting::Discipline(served) = &mut self.waiting {
            served.dequeue_until(until, &mut self.wire, &mut self.counters, cx);
        }
        let (at, packet) = self.wire.pipe.pop(until)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(packet.len);
        self.left = Sent { until: at, len: packet.len };
        Some((at, packet))
    }

    /// The counters so far.
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Packets inside: waiting in a discipline, being serialised or propagating. (A drop-tail link holds those that
    /// wait in its pipe already.)
    pub fn inside(&self) -> u64 {
        let waiting = match &self.waiting {
            Waiting::DropTail(_) => 0,
            Waiting::Discipline(served) => served.queue.backlog().packets,
        };
        waiting + self.wire.pipe.len() as u64
    }

    /// The contents over time from the beginning until `until`. Until then, queues are served as [`Link::poll`] does.
    pub fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Held {
        let queue = match &mut self.waiting {
            Waiting::DropTail(queue) => queue.held(until, self.counters.queueing_ns),
            Waiting::Discipline(served) => {
                served.dequeue_until(until, &mut self.wire, &mut self.counters, cx);
                served.held.until(until)
            }
        };
        Held { queue, stages: None }
    }

    /// Whether every packet that was made or lost was counted with a cause.
    pub fn conserves(&self) -> bool {
        let c = &self.counters;
        c.offered + c.duplicated == c.delivered + c.dropped() + self.inside()
    }
}
