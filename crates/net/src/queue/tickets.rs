//! Disciplines of other crates: they queue tickets, and the packets wait beside them.
//!
//! A discipline is generic over what packets carry, and the kind is known only where a network is built. A discipline that
//! is found in a registry at run time cannot be compiled for it. It gets a [`Ticket`] as the body instead, in a packet with
//! the length, flow, class, mark and arrival of the true one.

use super::{Backlog, Fate, Fates, QueueDiscipline};
use crate::counters::LinkCounters;
use crate::packet::{Contents, Packet};
use crate::time::Time;

/// Stands for a packet that waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ticket(usize);

/// The packets whose tickets are in a queue.
struct Waiting<B> {
    packets: Vec<Option<Packet<B>>>,
    free: Vec<usize>,
}

impl<B> Waiting<B> {
    fn put(&mut self, packet: Packet<B>) -> Packet<Ticket> {
        let number = self.free.pop().unwrap_or_else(|| {
            self.packets.push(None);
            self.packets.len() - 1
        });
        let Contents { len, flow, route, hop, ecn, inner, class, path, arrived, body: _ } = *packet;
        self.packets[number] = Some(packet);
        Packet::new(len, Ticket(number)).with(|p| {
            (p.flow, p.route, p.hop, p.ecn) = (flow, route, hop, ecn);
            (p.inner, p.class, p.path, p.arrived) = (inner, class, path, arrived);
        })
    }

    fn take(&mut self, Ticket(number): Ticket) -> Option<Packet<B>> {
        let packet = self.packets.get_mut(number)?.take();
        self.free.extend(packet.is_some().then_some(number));
        packet
    }
}

/// A queue of packets by a discipline that queues tickets.
pub(super) struct Ticketed<B> {
    queue: Box<dyn QueueDiscipline<Ticket>>,
    waiting: Waiting<B>,
}

impl<B> Ticketed<B> {
    pub(super) fn new(queue: Box<dyn QueueDiscipline<Ticket>>) -> Ticketed<B> {
        Ticketed { queue, waiting: Waiting { packets: Vec::new(), free: Vec::new() } }
    }
}

/// Calls a discipline of tickets and does to the packets what it does to their tickets.
fn relay<B, T>(
    waiting: &mut Waiting<B>,
    fates: &mut Fates<'_, B>,
    call: impl FnOnce(&mut Fates<'_, Ticket>) -> T,
) -> T {
    let mut listener = |fate: Fate<'_, Ticket>| match fate {
        Fate::Dropped(ticket, reason) => {
            if let Some(packet) = waiting.take(ticket.body) {
                fates.drop(packet, reason);
            }
        }
        Fate::Marked(ticket) => {
            if let Some(Some(packet)) = waiting.packets.get_mut(ticket.body.0) {
                fates.mark(packet);
            }
        }
    };
    // The true packets are counted by `fates`.
    let mut uncounted = LinkCounters::default();
    call(&mut Fates::with_listener(&mut uncounted, &mut listener))
}

impl<B: Send> QueueDiscipline<B> for Ticketed<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        let ticket = self.waiting.put(packet);
        relay(&mut self.waiting, fates, |fates| self.queue.enqueue(ticket, now, fates));
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let ticket = relay(&mut self.waiting, fates, |fates| self.queue.dequeue(now, fates))?;
        self.waiting.take(ticket.body)
    }

    fn ready_at(&self) -> Time {
        self.queue.ready_at()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, capable, packet};
    use super::*;
    use crate::queue::{Discipline, Place, Scale};
    use crate::rng::Streams;
    use crate::units::Rate;

    /// The fates of packets of five flows that come twice as fast as they leave: numbers and marks of those that leave,
    /// those that are dropped, those that are marked on the way, and the counters.
    fn course(bench: &mut Bench) -> String {
        let (mut left, mut ns) = (Vec::new(), 0);
        for n in 0..4000 {
            ns += 500_000;
            let make = if n % 3 == 0 { packet } else { capable };
            bench.put(ns, make(n, 200 + n % 7 * 200, n % 5));
            if n % 2 == 1 && bench.queue.ready_at().as_nanos() <= ns {
                left.extend(bench.take(ns).map(|packet| (packet.body, packet.ecn, packet.arrived)));
            }
        }
        let rest = bench.drain(ns);
        format!("{left:?} {rest:?} {:?} {:?} {:?}", bench.dropped(), bench.marked(), bench.counters)
    }

    #[test]
    fn packets_fare_behind_tickets_as_they_do_themselves() {
        for &discipline in Discipline::ALL {
            let mut compiled = Bench::seeded(discipline.name(), 7);
            let mut ticketed = Bench::seeded(discipline.name(), 7);
            let scale =
                Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: crate::time::Span::from_millis(100), mtu: 1500 };
            let place = Place { scale, name: "l/down", streams: &Streams::new(7, 0) };
            ticketed.queue = Box::new(Ticketed::new(discipline.defaults.make(()).build(&place)));
            assert_eq!(course(&mut ticketed), course(&mut compiled), "{discipline:?}");
        }
    }
}
