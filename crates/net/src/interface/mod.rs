//! A network interface: the transmit path of a host or a router below IP, in two stages.
//!
//! Packets wait in a queue discipline, then in the driver's ring, from which they are sent one after the other. The ring
//! has no active queue management: what is in it is sent in order. Packets leave the discipline only while the ring has
//! room, so a long ring takes the decisions out of the discipline's hands. Byte queue limits ([BQL](bql)) keep the ring
//! short.
//!
//! A packet leaves the ring when its serialisation ends, as a driver's completion would say if each packet raised an
//! interrupt. Then its sender is credited (see [`crate::element`]), and the next packets move from the discipline to the
//! ring. With a ring of one packet an interface is a [`Link`] with the same queue.

mod bql;

use crate::counters::{LinkCounters, Stages};
use crate::cx::{ComponentId, Cx, Metric};
use crate::element::{Admission, AnyElement, Credit, Element, Port};
use crate::link::wire::Wire;
use crate::link::{Link, LinkConfig};
use crate::middlebox::{Guarded, Tunnelled};
use crate::occupancy::{Held, HeldStages, Integral};
use crate::packet::{FlowKey, Packet};
use crate::queue::{Backlog, DROP_TAIL, DropReason, Fate, Fates, Place, QueueDiscipline};
use crate::rng::Streams;
use crate::time::Time;
use bql::ByteLimit;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A driver's ring. In JSON: `{"packets": 256, "bql": true}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ring {
    /// The most packets in it, with the one being sent; at least one.
    pub packets: u64,
    /// Whether byte queue limits keep it short (Linux since 3.3, in drivers that support it).
    pub bql: bool,
}

impl Default for Ring {
    fn default() -> Ring {
        Ring { packets: 256, bql: true }
    }
}

/// Whether an interface credits what it has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Crediting {
    /// Sockets above it wait for credits.
    On,
    /// Nobody waits for them, as on a router. This saves a call for each packet.
    Off,
}

/// A packet in the ring. The packet itself is on the wire already, with its time of arrival.
struct Slot {
    /// When its serialisation ends.
    out: Time,
    len: u32,
    flow: FlowKey,
}

/// One direction of a link behind a queue discipline and a driver's ring.
pub struct Interface<B> {
    mtu: u32,
    queue: Box<dyn QueueDiscipline<B>>,
    /// Whether a packet that finds the discipline empty and room in the ring goes past it (Linux: `TCQ_F_CAN_BYPASS`). For
    /// a drop-tail queue this matters only if it is so short that it takes no packet.
    bypass: bool,
    /// When the next packet may leave the discipline, if the ring has room.
    ready: Time,
    ring: VecDeque<Slot>,
    ring_bytes: u64,
    limit: u64,
    bytes: Option<ByteLimit>,
    wire: Wire<B>,
    credits: Option<VecDeque<(Time, Credit)>>,
    admission: Admission,
    counters: LinkCounters,
    stages: Stages,
    held: Integrals,
}

/// Contents over time: of both stages together, without the packet being sent, and of each.
#[derive(Default)]
struct Integrals {
    waiting: Integral,
    qdisc: Integral,
    ring: Integral,
}

impl<B: Clone + Send + 'static> Interface<B> {
    /// An interface with the configuration's queue and this ring. Its random processes draw from the same streams as
    /// those of a link.
    pub fn new(config: &LinkConfig, ring: Ring, name: &str, streams: &Streams, crediting: Crediting) -> Interface<B> {
        let scale = config.scale(config.greatest_delay() * 2);
        let queue = config.queue.build(&Place { scale, name, streams });
        let bypass = config.queue.discipline() == DROP_TAIL;
        Interface { bypass, ..Interface::with_discipline(config, ring, name, streams, crediting, queue) }
    }

    /// An interface with this queue instead of the configuration's.
    pub fn with_discipline(
        config: &LinkConfig,
        ring: Ring,
        name: &str,
        streams: &Streams,
        crediting: Crediting,
        queue: Box<dyn QueueDiscipline<B>>,
    ) -> Interface<B> {
        Interface {
            mtu: config.mtu,
            queue,
            bypass: false,
            ready: Time::NEVER,
            ring: VecDeque::new(),
            ring_bytes: 0,
            limit: ring.packets.max(1),
            bytes: ring.bql.then(ByteLimit::new),
            wire: Wire::new(config, name, streams),
            credits: (crediting == Crediting::On).then(VecDeque::new),
            admission: Admission::Taken,
            counters: LinkCounters::default(),
            stages: Stages::default(),
            held: Integrals::default(),
        }
    }

    fn has_room(&self) -> bool {
        (self.ring.len() as u64) < self.limit && self.bytes.as_ref().is_none_or(ByteLimit::has_room)
    }

    /// When a packet next leaves the ring or the discipline.
    fn next_step(&self) -> Time {
        let completion = self.ring.front().map_or(Time::NEVER, |slot| slot.out);
        if self.has_room() { completion.min(self.ready) } else { completion }
    }

    /// Takes every step that is due by `until`, each at its own time.
    fn advance(&mut self, until: Time, cx: &mut Cx<'_>) {
        loop {
            let at = self.next_step();
            if at > until || at == Time::NEVER {
                return;
            }
            if self.ring.front().is_some_and(|slot| slot.out <= at) {
                self.complete(at);
            }
            self.fill(at);
            self.settle(at, cx);
        }
    }

    /// The packet at the head of the ring was sent.
    fn complete(&mut self, at: Time) {
        let Some(Slot { len, flow, .. }) = self.ring.pop_front() else { return };
        self.ring_bytes -= u64::from(len);
        if let Some(bytes) = &mut self.bytes {
            bytes.complete(len, at);
        }
        credit(&mut self.credits, at, flow, len);
    }

    /// Moves packets from the discipline to the ring while it has room.
    fn fill(&mut self, at: Time) {
        while self.has_room() && self.ready <= at {
            let credits = &mut self.credits;
            let mut listener = |fate: Fate<'_, B>| {
                if let Fate::Dropped(packet, _) = fate {
                    credit(credits, at, packet.flow, packet.len);
                }
            };
            let mut fates = Fates::with_listener(&mut self.counters, &mut listener);
            let packet = self.queue.take(at, &mut self.ready, &mut fates);
            match packet {
                Some(packet) => self.send(at, packet),
                // A discipline that returns nothing although something is ready would be asked forever.
                None if self.ready <= at => self.ready = Time::NEVER,
                None => {}
            }
        }
    }

    /// Puts a packet into the ring. Its departure is known, as the ring sends in order.
    fn send(&mut self, at: Time, packet: Packet<B>) {
        let busy = self.wire.serialiser.busy_until;
        if busy < at || (busy == at && packet.arrived == at) {
            self.wire.serialiser.begin(at);
        }
        let start = busy.max(at);
        let (len, flow, arrived) = (packet.len, packet.flow, packet.arrived);
        self.wire.serve(start, packet, &mut self.counters);
        self.counters.count_wait(arrived, start);
        self.stages.count(arrived, at, start);
        self.ring.push_back(Slot { out: self.wire.serialiser.busy_until, len, flow });
        self.ring_bytes += u64::from(len);
        self.stages.max_ring_packets = self.stages.max_ring_packets.max(self.ring.len() as u64);
        if let Some(bytes) = &mut self.bytes {
            bytes.enter(len);
        }
    }

    /// Puts a packet into the discipline. What it drops is credited at once.
    fn enqueue(&mut self, packet: Packet<B>, now: Time) {
        let (flow, len) = (packet.flow, packet.len);
        let (credits, admission) = (&mut self.credits, &mut self.admission);
        let mut listener = |fate: Fate<'_, B>| {
            let Fate::Dropped(dropped, _) = fate else { return };
            credit(credits, now, dropped.flow, dropped.len);
            if dropped.flow == flow {
                // Packets have no numbers. Of several of one flow and length that came at one instant, it is taken for
                // the last.
                let own = dropped.arrived == now && dropped.len == len;
                *admission = if own { Admission::Refused } else { Admission::Congested };
            }
        };
        let mut fates = Fates::with_listener(&mut self.counters, &mut listener);
        self.ready = self.queue.put(packet, now, &mut fates).0;
    }

    /// The backlog of both stages, without the packet being sent.
    fn waiting(&self) -> Backlog {
        let Backlog { packets, bytes } = self.queue.backlog();
        let sent = self.ring.front().map_or((0, 0), |slot| (1, u64::from(slot.len)));
        Backlog { packets: packets + self.ring.len() as u64 - sent.0, bytes: bytes + self.ring_bytes - sent.1 }
    }

    /// Records what is in the stages from `at` on.
    fn settle(&mut self, at: Time, cx: &mut Cx<'_>) {
        let (waiting, qdisc) = (self.waiting(), self.queue.backlog());
        self.held.waiting.set(at, waiting);
        self.held.qdisc.set(at, qdisc);
        self.held.ring.set(at, Backlog { packets: self.ring.len() as u64, bytes: self.ring_bytes });
        if cx.probing() {
            cx.record_at(at, Metric::Queue, waiting.bytes);
            cx.record_at(at, Metric::Qdisc, qdisc.bytes);
            cx.record_at(at, Metric::QdiscPackets, qdisc.packets);
            cx.record_at(at, Metric::RingPackets, self.ring.len() as u64);
        }
    }
}

fn credit(credits: &mut Option<VecDeque<(Time, Credit)>>, at: Time, flow: FlowKey, bytes: u32) {
    if let Some(credits) = credits {
        credits.push_back((at, Credit { port: Port(0), flow, bytes }));
    }
}

impl<B: Clone + Send + 'static> Element<B> for Interface<B> {
    fn offer(&mut self, _: Port, mut packet: Packet<B>, cx: &mut Cx<'_>) {
        self.advance(cx.now, cx);
        self.counters.offered += 1;
        self.admission = Admission::Taken;
        if packet.len > self.mtu {
            credit(&mut self.credits, cx.now, packet.flow, packet.len);
            return self.counters.count_drop(DropReason::TooBig);
        }
        packet.arrived = cx.now;
        if self.bypass && self.has_room() && self.queue.backlog().packets == 0 {
            self.send(cx.now, packet);
        } else {
            self.enqueue(packet, cx.now);
        }
        // With an unlimited rate the ring is empty again at the same instant.
        self.fill(cx.now);
        self.advance(cx.now, cx);
        let waiting = self.waiting();
        self.counters.max_queue_packets = self.counters.max_queue_packets.max(waiting.packets);
        self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(waiting.bytes);
        self.stages.hold(self.queue.backlog());
        self.settle(cx.now, cx);
    }

    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        self.advance(until, cx);
        let (at, packet) = self.wire.pipe.pop(until)?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(packet.len);
        Some((at, packet))
    }

    fn next_wake(&self) -> Time {
        let arrival = self.wire.pipe.first();
        let Some(credits) = &self.credits else {
            // Packets from the queue arrive after all those in the pipe, so the queue can wait until then.
            let settled = self.wire.pipe.len() > 0 && !self.wire.overtaking;
            return if settled { arrival } else { arrival.min(self.next_step()) };
        };
        let credit = credits.front().map_or(Time::NEVER, |(at, _)| *at);
        arrival.min(credit).min(self.next_step())
    }

    fn credits(&self) -> bool {
        self.credits.is_some()
    }

    fn poll_credit(&mut self, until: Time) -> Option<(Time, Credit)> {
        // Metrics are recorded by `poll`, which a driver that records calls first.
        self.advance(until, &mut Cx::new(until, ComponentId(0)));
        let credits = self.credits.as_mut()?;
        if credits.front()?.0 > until {
            return None;
        }
        credits.pop_front()
    }

    fn admission(&self) -> Admission {
        self.admission
    }

    fn counters(&self) -> LinkCounters {
        self.counters
    }

    fn stages(&self) -> Option<Stages> {
        Some(self.stages)
    }

    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.advance(until, cx);
        let Integrals { waiting, qdisc, ring } = &self.held;
        let stages = HeldStages { qdisc: qdisc.until(until), ring: ring.until(until) };
        Some(Held { queue: waiting.until(until), stages: Some(stages) })
    }

    fn inside(&self) -> u64 {
        self.queue.backlog().packets + self.wire.pipe.len() as u64
    }
}

impl<B: Clone + Send + 'static> AnyElement<B> {
    /// The element of a link direction: an [`Interface`] if it has a ring, otherwise a [`Link`].
    pub fn of(config: &LinkConfig, name: &str, streams: &Streams, crediting: Crediting) -> AnyElement<B> {
        let mut element = match config.ring {
            Some(ring) => AnyElement::Other(Box::new(Interface::new(config, ring, name, streams, crediting))),
            None => Link::new(config, name, streams).into(),
        };
        if let Some(tunnel) = config.tunnel {
            element = AnyElement::Other(Box::new(Tunnelled::new(tunnel, element)));
        }
        if let Some(breaker) = config.breaker {
            element = AnyElement::Other(Box::new(Guarded::new(breaker, element)));
        }
        element
    }
}
