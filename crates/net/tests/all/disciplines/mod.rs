//! A discipline of the tests, which shows what the trait supports: flows, drops of others' packets, drops and marks at
//! dequeue.

use haltere_net::queue::{Backlog, DropReason, Fates, QueueDiscipline};
use haltere_net::{Packet, Span, Time};
use std::collections::VecDeque;

/// Deficit round robin over flows (Shreedhar, Varghese 1996). When full, it drops from the longest flow. At dequeue it
/// drops or marks packets older than `age`, as fair queues with sojourn times do.
pub struct FairAged<B> {
    limit: u64,
    age: Span,
    flows: Vec<Flow<B>>,
    turn: usize,
    backlog: Backlog,
}

struct Flow<B> {
    deficit: i64,
    packets: VecDeque<Packet<B>>,
}

const QUANTUM: i64 = 600;

impl<B> FairAged<B> {
    pub fn new(limit: u64, age: Span) -> FairAged<B> {
        let flows = (0..4).map(|_| Flow { deficit: 0, packets: VecDeque::new() }).collect();
        FairAged { limit, age, flows, turn: 0, backlog: Backlog::default() }
    }

    fn gone(&mut self, packet: &Packet<B>) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
    }
}

impl<B: Send> QueueDiscipline<B> for FairAged<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        let n = packet.flow.connection.0 as usize % self.flows.len();
        self.flows[n].packets.push_back(packet);
        if self.backlog.packets > self.limit {
            let fattest = self.flows.iter_mut().max_by_key(|f| f.packets.len());
            if let Some(victim) = fattest.and_then(|f| f.packets.pop_front()) {
                self.gone(&victim);
                fates.drop(victim, DropReason::QueueFull);
            }
        }
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        while self.backlog.packets > 0 {
            let turn = self.turn;
            let flow = &mut self.flows[turn];
            if flow.packets.is_empty() || flow.deficit <= 0 {
                flow.deficit = if flow.packets.is_empty() { 0 } else { flow.deficit + QUANTUM };
                self.turn = (turn + 1) % self.flows.len();
                continue;
            }
            let Some(mut packet) = flow.packets.pop_front() else { continue };
            self.gone(&packet);
            if now.since(packet.arrived) > self.age && !fates.mark(&mut packet) {
                fates.drop(packet, DropReason::Early);
                continue;
            }
            self.flows[turn].deficit -= i64::from(packet.len);
            return Some(packet);
        }
        None
    }

    fn ready_at(&self) -> Time {
        if self.backlog.packets == 0 { Time::NEVER } else { Time::ZERO }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}
