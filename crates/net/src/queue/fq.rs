//! `fq`, Linux's fair queue: flows are served in turn, new ones before old ones, in three bands with weights; the rate of
//! each flow can be limited.
//!
//! Source: Linux net/sched/sch_fq.c (6.12), tc-fq(8). What it does there for the sockets of its own host is left out,
//! as packets carry no time of departure: pacing at a socket's rate, and the horizon. (Transports pace themselves here.)
//! Flows are told apart exactly, as the kernel does with its own sockets; it hashes forwarded ones into 1024. A flow that
//! gets a packet after a pause waits for the turn of its previous packet's band, and at first for that of the first band,
//! as in the kernel, which lists a flow before it notes the band of the packet.

use super::bands::{Numbers, PrioMap};
use super::drr::{check_quantum, quantum};
use super::hash::FlowTable;
use super::packets::{Fifo, Store};
use super::{Backlog, DropReason, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::{FlowKey, Packet};
use crate::time::{Span, Time};
use crate::units::{Bytes, Rate};
use std::collections::{BTreeMap, VecDeque};

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "fq",
        summary: "serves flows in turn, new ones first, in three bands with weights; can limit the rate of each flow",
        reference: "Linux net/sched/sch_fq.c; tc-fq(8)",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of `fq`.
    pub struct Config for Fq {
        /// The limit of each band.
        limit: Length = Length::Packets(10_000),
        /// The limit of a flow.
        flow_limit: Length = Length::Packets(100),
        /// The bytes that a flow may send in a round, from 256B to 1MiB. Without it twice the link's MTU.
        quantum: Option<Bytes> = None,
        /// The bytes that a new flow may send at first. Without it ten times the link's MTU.
        initial_quantum: Option<Bytes> = None,
        /// The highest rate of a flow. Without it there is none.
        maxrate: Option<Rate> = None,
        /// Up to this rate `maxrate` is kept packet by packet, above it quantum by quantum.
        low_rate_threshold: Rate = Rate::from_bps(550_000),
        /// How long a flow must have been without packets to be given a quantum anew.
        refill_delay: Span = Span::from_millis(40),
        /// Packets that waited for longer are marked if they are ECN-capable. Without it none are.
        ce_threshold: Option<Span> = None,
        /// The band of each priority from 0 to 15.
        priomap: PrioMap = PrioMap::LINUX,
        /// The bytes that each of the three bands may send in a round, at least 16384.
        weights: Numbers<3> = Numbers([9 << 16, 3 << 16, 1 << 16]),
    }
    check(check)
}

fn check(config: &Config) -> Result<(), String> {
    if let Some(band) = config.priomap.0.iter().find(|&&band| band >= BANDS as u64) {
        return Err(format!("priomap: there is no band {band}: {BANDS} bands are numbered 0 to {}", BANDS - 1));
    }
    if let Some(weight) = config.weights.0.iter().find(|weight| !WEIGHT.contains(weight)) {
        return Err(format!("weights: {weight}: give numbers from {} to {}", WEIGHT.start(), WEIGHT.end()));
    }
    check_quantum(config.quantum)
}

const BANDS: usize = 3;
/// The least weight of a band (`FQ_MIN_WEIGHT`), and the largest number that the kernel takes.
const WEIGHT: std::ops::RangeInclusive<u64> = 16_384..=i32::MAX as u64;
/// How many packets can stand before the bands (`fq_fastpath_check`).
const FAST: u64 = 8;
/// The state of a flow without packets is forgotten after this time (`FQ_GC_AGE`), if there are this many.
const FORGOTTEN: Span = Span::from_secs(3);
const MANY: usize = 1024;
/// The longest pause between two packets of a flow.
const LONGEST: Span = Span::from_secs(1);

/// Where a flow stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// In no list, since this time.
    Idle(Time),
    /// Among the new or old flows of a band, with or without packets.
    Listed,
    /// Among those that wait for their time.
    Delayed,
}

#[derive(Clone, Debug)]
struct Flow {
    state: State,
    band: usize,
    packets: Fifo,
    credit: i64,
    /// When its next packet may leave, if its rate is limited.
    next: Time,
}

#[derive(Clone, Debug)]
struct Band {
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    credit: i64,
    weight: i64,
    waiting: Backlog,
}

/// Linux's fair queue.
#[derive(Debug)]
pub struct Fq<B> {
    config: Config,
    limit: Limit,
    flow_limit: Limit,
    quantum: i64,
    initial_quantum: i64,
    store: Store<B>,
    table: FlowTable<u32>,
    flows: Vec<Flow>,
    free: Vec<u32>,
    /// How many flows there are when idle ones are forgotten next.
    many: usize,
    /// Packets that came while no flow was waiting. They leave first.
    fast: Fifo,
    bands: [Band; BANDS],
    /// The band whose turn it is.
    turn: usize,
    /// How many flows have packets and are not delayed.
    eligible: usize,
    /// Flows that are delayed, by time and by the order in which they became so.
    delayed: BTreeMap<(Time, u64), u32>,
    delays: u64,
    backlog: Backlog,
}

impl<B> Fq<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Fq<B> {
        let mtu = u64::from(place.scale.mtu);
        let initial = config.initial_quantum.map_or(10 * mtu, |Bytes(n)| n).min(1 << 20);
        let band = |n: usize| Band {
            new: VecDeque::new(),
            old: VecDeque::new(),
            credit: 0,
            weight: config.weights.0[n].clamp(*WEIGHT.start(), *WEIGHT.end()) as i64,
            waiting: Backlog::default(),
        };
        Fq {
            config: config.clone(),
            limit: config.limit.limit(&place.scale),
            flow_limit: config.flow_limit.limit(&place.scale),
            quantum: quantum(config.quantum, 2 * mtu),
            initial_quantum: initial as i64,
            store: Store::new(),
            table: FlowTable::default(),
            flows: Vec::new(),
            free: Vec::new(),
            many: MANY,
            fast: Fifo::new(),
            bands: [band(0), band(1), band(2)],
            turn: 0,
            eligible: 0,
            delayed: BTreeMap::new(),
            delays: 0,
            backlog: Backlog::default(),
        }
    }

    /// Whether a packet may stand before all flows: none of them could send now, and only few packets stand there.
    fn passes_fast(&self) -> bool {
        let few = self.eligible == 0 && self.fast.backlog().packets < FAST;
        self.config.maxrate.is_none() && (self.backlog.packets == 0 || few)
    }

    /// The flow of a packet. One that is not known has its first credit.
    fn flow(&mut self, key: FlowKey, now: Time) -> u32 {
        if let Some(&flow) = self.table.get(&key) {
            return flow;
        }
        if self.table.len() >= self.many {
            self.forget(now);
        }
        let credit = self.initial_quantum;
        let new = Flow { state: State::Idle(now), band: 0, packets: Fifo::new(), credit, next: Time::ZERO };
        let flow = match self.free.pop() {
            Some(flow) => {
                self.flows[flow as usize] = new;
                flow
            }
            None => {
                self.flows.push(new);
                (self.flows.len() - 1) as u32
            }
        };
        self.table.insert(key, flow);
        flow
    }

    /// Forgets flows that have been without packets for long.
    fn forget(&mut self, now: Time) {
        let (flows, free) = (&self.flows, &mut self.free);
        self.table.retain(|_, &mut flow| {
            let old = matches!(flows[flow as usize].state, State::Idle(since) if now.since(since) > FORGOTTEN);
            if old {
                free.push(flow);
            }
            !old
        });
        self.many = MANY.max(2 * self.table.len());
    }

    /// Puts flows whose time has come among the old ones.
    fn release(&mut self, now: Time) {
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let flow = first.remove();
            self.flows[flow as usize].state = State::Listed;
            self.eligible += 1;
            self.bands[self.flows[flow as usize].band].old.push_back(flow);
        }
    }

    /// The band whose turn it is and whether its new flows are next. A band without credit or flows passes its turn on;
    /// `None` if no band has flows.
    fn turn(&mut self) -> Option<(usize, bool)> {
        let mut passed = 0;
        loop {
            let band = &self.bands[self.turn];
            if band.credit > 0 && !(band.new.is_empty() && band.old.is_empty()) {
                return Some((self.turn, !band.new.is_empty()));
            }
            passed += 1;
            if passed > BANDS {
                return None;
            }
            self.turn = (self.turn + 1) % BANDS;
            let band = &mut self.bands[self.turn];
            band.credit = (band.credit + band.weight).min(band.weight);
            if band.credit <= 0 {
                passed = 0;
            }
        }
    }

    /// Takes the first packet of a flow that may send.
    fn send(&mut self, flow: u32, band: usize, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let own = &mut self.flows[flow as usize];
        let mut packet = self.store.pop(&mut own.packets)?;
        let late = now.since(packet.arrived.max(own.next));
        if self.config.ce_threshold.is_some_and(|threshold| late > threshold) {
            fates.mark(&mut packet);
        }
        if own.packets.is_empty() {
            self.eligible -= 1;
        }
        let len = i64::from(packet.len);
        own.credit -= len;
        if let Some(rate) = self.config.maxrate {
            let spaced = if rate <= self.config.low_rate_threshold { Spaced::Packets } else { Spaced::Credit(self.quantum) };
            own.limit(len, rate, spaced, now);
        }
        self.bands[band].credit -= len;
        let waiting = &mut self.bands[self.config.priomap.band(packet.class, BANDS - 1)].waiting;
        waiting.packets -= 1;
        waiting.bytes -= u64::from(packet.len);
        Some(packet)
    }

    fn left(&mut self, packet: Packet<B>) -> Packet<B> {
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        packet
    }
}

/// After what a flow whose rate is limited pauses: each packet, or a credit of so many bytes.
enum Spaced {
    Packets,
    Credit(i64),
}

impl Flow {
    /// Sets the time of the next packet after one of `len` bytes: at low rates after each packet, otherwise when the
    /// credit is used up.
    fn limit(&mut self, len: i64, rate: Rate, spaced: Spaced, now: Time) {
        let bytes = match spaced {
            Spaced::Packets => {
                self.credit = 0;
                len
            }
            Spaced::Credit(_) if self.credit > 0 => return,
            Spaced::Credit(quantum) => len.max(quantum),
        };
        let pause = rate.time_for(bytes as u64).min(LONGEST);
        // A packet that left late does not delay the next one by all of that.
        let late = if self.next == Time::ZERO { Span::ZERO } else { now.since(self.next) };
        self.next = now + (pause - late.min(pause / 2));
    }
}

impl<B: Send> QueueDiscipline<B> for Fq<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        let band = self.config.priomap.band(packet.class, BANDS - 1);
        if !self.limit.admits(self.bands[band].waiting, packet.len) {
            return fates.drop(packet, DropReason::QueueFull);
        }
        let len = u64::from(packet.len);
        if self.passes_fast() {
            self.store.push(&mut self.fast, packet);
        } else {
            let n = self.flow(packet.flow, now);
            let flow = &mut self.flows[n as usize];
            if !self.flow_limit.admits(flow.packets.backlog(), packet.len) {
                return fates.drop(packet, DropReason::QueueFull);
            }
            if let State::Idle(since) = flow.state {
                self.bands[flow.band].new.push_back(n);
                flow.state = State::Listed;
                if now.since(since) > self.config.refill_delay {
                    flow.credit = flow.credit.max(self.quantum);
                }
            }
            if flow.packets.is_empty() {
                self.eligible += 1;
            }
            flow.band = band;
            self.bands[band].waiting.packets += 1;
            self.bands[band].waiting.bytes += len;
            self.store.push(&mut flow.packets, packet);
        }
        self.backlog.packets += 1;
        self.backlog.bytes += len;
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        if self.backlog.packets == 0 {
            return None;
        }
        if let Some(packet) = self.store.pop(&mut self.fast) {
            return Some(self.left(packet));
        }
        self.release(now);
        loop {
            let (band, new) = self.turn()?;
            let list = if new { &mut self.bands[band].new } else { &mut self.bands[band].old };
            let &n = list.front()?;
            let flow = &mut self.flows[n as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                list.pop_front();
                self.bands[flow.band].old.push_back(n);
                continue;
            }
            if flow.packets.is_empty() {
                list.pop_front();
                if new {
                    // A new flow passes through the old ones once, so that it cannot starve them.
                    self.bands[flow.band].old.push_back(n);
                } else {
                    flow.state = State::Idle(now);
                }
                continue;
            }
            if now < flow.next {
                list.pop_front();
                flow.state = State::Delayed;
                self.eligible -= 1;
                self.delays += 1;
                self.delayed.insert((flow.next, self.delays), n);
                continue;
            }
            let packet = self.send(n, band, now, fates)?;
            return Some(self.left(packet));
        }
    }

    fn ready_at(&self) -> Time {
        if self.backlog.packets == 0 {
            return Time::NEVER;
        }
        if self.eligible > 0 || !self.fast.is_empty() {
            return Time::ZERO;
        }
        self.delayed.first_key_value().map_or(Time::NEVER, |((time, _), _)| *time)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

#[cfg(test)]
#[path = "fq_tests.rs"]
mod tests;
