//! The packets that wait at a station for one receiver, and those that a receiver holds back.

use super::config::CellConfig;
use super::modulation::Modulation;
use crate::counters::LinkCounters;
use crate::loss::Loss;
use crate::occupancy::Integral;
use crate::packet::Packet;
use crate::queue::{Backlog, DropReason, Fates, QueueDiscipline};
use crate::time::{Span, Time};
use std::collections::{BTreeMap, VecDeque};

/// A frame of the MAC with a packet in it.
pub(super) struct Part<B> {
    pub packet: Packet<B>,
    /// Its number in its queue.
    pub number: u64,
    /// How often it has been sent without an acknowledgement.
    pub tries: u32,
}

/// The packets of one access category from a sender to a receiver.
pub(super) struct Queue<B> {
    discipline: Box<dyn QueueDiscipline<B>>,
    /// When the discipline next gives a packet.
    ready: Time,
    /// Frames that have left the discipline and are to be sent, again or for the first time, in order.
    staged: VecDeque<Part<B>>,
    /// Whether block acknowledgements are asked for.
    requests: bool,
    /// How often one has been asked for without an answer; `None` if there is nothing to ask for.
    pub request: Option<u32>,
    /// How long a packet may wait; `None` for ever.
    lifetime: Option<Span>,
    /// The number of the next packet.
    next: u64,
    /// Packets that have arrived behind missing frames. The receiver of a block acknowledgement agreement passes frames
    /// on in order (clause 10.24.7.6).
    held: BTreeMap<u64, Packet<B>>,
}

impl<B> Queue<B> {
    pub fn new(discipline: Box<dyn QueueDiscipline<B>>, config: &CellConfig) -> Queue<B> {
        Queue {
            discipline,
            ready: Time::NEVER,
            staged: VecDeque::new(),
            requests: config.block_ack_request,
            request: None,
            lifetime: config.lifetime,
            next: 0,
            held: BTreeMap::new(),
        }
    }

    fn is_over(&self, packet: &Packet<B>, at: Time) -> bool {
        self.lifetime.is_some_and(|lifetime| at.since(packet.arrived) > lifetime)
    }

    /// The next transmission is a request for a block acknowledgement, if this cell has them: none came, or a frame was dropped that
    /// had been sent, and the receiver must not wait for it.
    pub fn will_request(&mut self) {
        if self.requests {
            self.request = self.request.or(Some(0));
        }
    }

    /// Whether a block acknowledgement is to be asked for at `at`. Nobody asks before there is something to send.
    pub fn asks(&self, at: Time) -> bool {
        self.request.is_some() && self.has(at)
    }

    /// Whether it has something to send at `at`.
    pub fn has(&self, at: Time) -> bool {
        !self.staged.is_empty() || self.ready <= at
    }

    /// When it next has something to send.
    pub fn ready_at(&self) -> Time {
        if self.staged.is_empty() { self.ready } else { Time::ZERO }
    }

    pub fn backlog(&self) -> Backlog {
        self.discipline.backlog()
    }

    /// Packets in it, waiting or held back.
    pub fn inside(&self) -> u64 {
        self.backlog().packets + (self.staged.len() + self.held.len()) as u64
    }

    pub fn enqueue(&mut self, packet: Packet<B>, now: Time, counters: &mut LinkCounters) {
        self.ready = self.discipline.put(packet, now, &mut Fates::new(counters)).0;
    }

    /// The next frame to send. A packet leaves the discipline when its frame is first sent.
    pub fn take(&mut self, at: Time, counters: &mut LinkCounters) -> Option<Part<B>> {
        while let Some(part) = self.staged.pop_front() {
            if !self.is_over(&part.packet, at) {
                return Some(part);
            }
            counters.count_drop(DropReason::Lifetime);
            self.will_request();
        }
        while self.ready <= at {
            let packet = self.discipline.take(at, &mut self.ready, &mut Fates::new(counters));
            if let Some(packet) = packet {
                if self.is_over(&packet, at) {
                    counters.count_drop(DropReason::Lifetime);
                    continue;
                }
                counters.served += 1;
                counters.count_wait(packet.arrived, at);
                self.next += 1;
                return Some(Part { packet, number: self.next - 1, tries: 0 });
            }
            if self.ready <= at {
                // A discipline that returns nothing although something is ready would be asked forever.
                self.ready = Time::NEVER;
            }
        }
        None
    }

    /// Frames are to be sent before all others, the last of these first.
    pub fn put_back(&mut self, parts: impl IntoIterator<Item = Part<B>>) {
        for part in parts {
            self.staged.push_front(part);
        }
    }

    /// A frame has arrived.
    pub fn receive(&mut self, part: Part<B>) {
        self.held.insert(part.number, part.packet);
    }

    /// The next packet that the receiver passes on, with no frame missing before it.
    pub fn release(&mut self) -> Option<Packet<B>> {
        let missing = self.staged.front().map_or(self.next, |part| part.number);
        let first = self.held.first_entry()?;
        (*first.key() < missing).then(|| first.remove())
    }
}

/// The way from a sender to a receiver: an entry of the cell.
pub(super) struct Lane<B> {
    /// 0 for the access point, otherwise the station's number and 1.
    pub sender: usize,
    pub mtu: u32,
    pub modulation: Modulation,
    pub propagation: Span,
    pub loss: Loss,
    /// One for each access category.
    pub queues: Vec<Queue<B>>,
    pub counters: LinkCounters,
    pub waiting: Integral,
}

impl<B> Lane<B> {
    /// Notes what waits from `at` on.
    pub fn settle(&mut self, at: Time) {
        let backlog = self.queues.iter().map(Queue::backlog).fold(Backlog::default(), |sum, b| Backlog {
            packets: sum.packets + b.packets,
            bytes: sum.bytes + b.bytes,
        });
        self.counters.max_queue_packets = self.counters.max_queue_packets.max(backlog.packets);
        self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(backlog.bytes);
        self.waiting.set(at, backlog);
    }
}
