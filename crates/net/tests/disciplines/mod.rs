//! Disciplines of the tests, which show what the trait supports: a shaper, bands, drops and marks at dequeue.

use haltere_net::queue::{Backlog, DropReason, Fates, QueueDiscipline};
use haltere_net::{Packet, Rate, Span, Time};
use std::collections::VecDeque;

/// A token bucket in front of a FIFO: packets leave at `rate` with bursts of `burst` bytes.
pub struct TokenBucket<B> {
    rate: Rate,
    burst: u64,
    limit: u64,
    packets: VecDeque<Packet<B>>,
    bytes: u64,
    /// Tokens at `filled`, in bit-nanoseconds, so that nothing is rounded.
    tokens: u128,
    filled: Time,
}

const BYTE: u128 = 8_000_000_000;

impl<B> TokenBucket<B> {
    pub fn new(rate: Rate, burst: u64, limit: u64) -> TokenBucket<B> {
        let tokens = u128::from(burst) * BYTE;
        TokenBucket { rate, burst, limit, packets: VecDeque::new(), bytes: 0, tokens, filled: Time::ZERO }
    }

    fn fill(&mut self, now: Time) {
        let came = u128::from(now.since(self.filled).as_nanos()) * u128::from(self.rate.as_bps());
        self.tokens = (self.tokens + came).min(u128::from(self.burst) * BYTE);
        self.filled = now;
    }
}

impl<B: Send> QueueDiscipline<B> for TokenBucket<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        let too_long = u64::from(packet.len) > self.burst;
        if self.packets.len() as u64 >= self.limit || too_long {
            return fates.drop(packet, if too_long { DropReason::TooBig } else { DropReason::QueueFull });
        }
        if self.packets.is_empty() {
            self.fill(now);
        }
        self.bytes += u64::from(packet.len);
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        assert!(now >= self.ready_at(), "asked before it was ready");
        self.fill(now);
        let packet = self.packets.pop_front()?;
        self.bytes -= u64::from(packet.len);
        self.tokens -= u128::from(packet.len) * BYTE;
        Some(packet)
    }

    fn ready_at(&self) -> Time {
        let Some(head) = self.packets.front() else { return Time::NEVER };
        let lacking = (u128::from(head.len) * BYTE).saturating_sub(self.tokens);
        self.filled + Span::from_nanos(lacking.div_ceil(u128::from(self.rate.as_bps())) as u64)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

/// Two bands: packets of class 1 always leave first. If a packet of class 1 finds the queue full, the youngest of the
/// other band is dropped.
pub struct StrictPriority<B> {
    limit: usize,
    bands: [VecDeque<Packet<B>>; 2],
}

impl<B> StrictPriority<B> {
    pub fn new(limit: usize) -> StrictPriority<B> {
        StrictPriority { limit, bands: [VecDeque::new(), VecDeque::new()] }
    }
}

impl<B: Send> QueueDiscipline<B> for StrictPriority<B> {
    fn enqueue(&mut self, packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        let band = usize::from(packet.class.min(1));
        self.bands[band].push_back(packet);
        if self.bands[0].len() + self.bands[1].len() > self.limit {
            let last = self.bands[0].pop_back().or_else(|| self.bands[1].pop_back());
            if let Some(last) = last {
                fates.drop(last, DropReason::QueueFull);
            }
        }
    }

    fn dequeue(&mut self, _: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.bands[1].pop_front().or_else(|| self.bands[0].pop_front())
    }

    fn ready_at(&self) -> Time {
        if self.bands.iter().all(VecDeque::is_empty) { Time::NEVER } else { Time::ZERO }
    }

    fn backlog(&self) -> Backlog {
        let all = || self.bands.iter().flatten();
        Backlog { packets: all().count() as u64, bytes: all().map(|p| u64::from(p.len)).sum() }
    }
}

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
