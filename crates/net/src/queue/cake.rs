//! CAKE, common applications kept enhanced (Høiland-Jørgensen, Täht, Morton: Piece of CAKE: a comprehensive queue
//! management solution for home gateways, LANMAN 2018): a shaper, classes called tins, fairness between hosts and between
//! the flows of each, and COBALT on each flow's queue.
//!
//! The behaviour and the defaults are those of Linux (`net/sched/sch_cake.c`):
//! - The shaper counts what packets take on the line and keeps no tokens: the time of the next packet moves on with each
//!   one that leaves. Its times are exact here; Linux rounds a byte's time to 34 bits.
//! - A tin is chosen by the DiffServ codepoint ([`Packet::class`]). With a rate, the highest tin that is within its own
//!   share of the rate goes first, else the one that is so soonest. Without, tins take turns by their weights.
//! - Flows take turns as in FQ-CoDel, with a quantum that is divided by the number of flows with a queue of their busier
//!   host ([`cake_tin`](super::cake_tin)).
//! - Target and interval grow with the time of a packet at the tin's rate ([`cobalt`]).
//! - If the memory is exceeded, the head of the queue with the most bytes of all tins is dropped. There is no limit in
//!   packets. The last packet of a queue is never dropped by COBALT.
//!
//! Left out: eight tins, `autorate-ingress`, `ack-filter`, `nat`, `wash`, and firewall marks, as a packet here has no
//! headers but those that a queue reads. Sizes are those of the IP packet; Linux counts 14 bytes more on an Ethernet
//! interface unless an overhead is given.

use super::cake_shaper::{Framing, Line, Shaper};
use super::cake_tin::{FlowMode, Tin};
use super::cobalt;
use super::packets::Store;
use super::{Backlog, DropReason, Fates, Implementation, Maker, Place, QueueDiscipline, Value, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::units::{Bytes, QuantityError, Rate};

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "cake",
        summary: "a shaper with classes, equal shares for hosts and for the flows of each, and COBALT on each flow",
        reference: "Høiland-Jørgensen, Täht, Morton, LANMAN 2018; Linux net/sched/sch_cake.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of CAKE.
    pub struct Config for Cake {
        /// The rate of the shaper. Without it packets leave as fast as the link takes them.
        bandwidth: Option<Rate> = None,
        /// The tins: besteffort (one), diffserv3 or diffserv4.
        diffserv: Tins = Tins::Diffserv3,
        /// Between what the rate is shared: flowblind, srchost, dsthost, hosts, flows, dual-srchost, dual-dsthost or
        /// triple-isolate.
        flowmode: FlowMode = FlowMode::TripleIsolate,
        /// The interval of COBALT: the greatest usual RTT. The target is a twentieth of it.
        rtt: Span = Span::from_millis(100),
        /// Bytes that the line adds to an IP packet, from -64B to 256B.
        overhead: LineBytes<-64> = LineBytes(0),
        /// The size on the line of the smallest packet, up to 256B.
        mpu: LineBytes<0> = LineBytes(0),
        /// The framing of the line: noatm, atm or ptm.
        atm: Framing = Framing::Noatm,
        /// Packets that are dropped count for the rate as well, as those do that came over the line in front of the shaper.
        ingress: bool = false,
        /// The memory of the packets, as Linux accounts it. Without it what four BDPs of rate and rtt take, at least 4 MiB
        /// and at most 10 240 MTUs.
        memlimit: Option<Bytes> = None,
    }
}

/// The classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tins {
    /// One for all packets.
    Besteffort,
    /// Best effort, bulk, latency-sensitive.
    Diffserv3,
    /// Best effort, bulk, video, voice.
    Diffserv4,
}

impl Tins {
    /// For each tin by how many bits its rate and weight are shifted down (a sixteenth for bulk and so on).
    fn shifts(self) -> &'static [u32] {
        match self {
            Tins::Besteffort => &[0],
            Tins::Diffserv3 => &[0, 4, 2],
            Tins::Diffserv4 => &[0, 4, 1, 2],
        }
    }

    /// The tin of a DiffServ codepoint.
    fn of(self, dscp: u8) -> usize {
        match (self, dscp) {
            (Tins::Besteffort, _) => 0,
            // LE, CS1.
            (_, 1 | 8) => 1,
            // CS6, CS7, EF, VA, and the ToS of minimum delay.
            (Tins::Diffserv3, 48 | 56 | 46 | 44 | 4) => 2,
            // CS4 to CS7, EF, VA.
            (Tins::Diffserv4, 32 | 40 | 48 | 56 | 46 | 44) => 3,
            // CS2, CS3, AF2x to AF4x, and the ToS of minimum delay.
            (Tins::Diffserv4, 16 | 24 | 18 | 20 | 22 | 26 | 28 | 30 | 34 | 36 | 38 | 4) => 2,
            _ => 0,
        }
    }
}

/// Bytes on the line, from `LEAST` to 256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineBytes<const LEAST: i16>(i16);

impl<const LEAST: i16> Value for LineBytes<LEAST> {
    const EXAMPLE: &'static str = "18B";
    fn parse(text: &str) -> Result<LineBytes<LEAST>, QuantityError> {
        let plain = text.trim();
        let number = plain.strip_suffix('B').unwrap_or(plain).trim_end().parse().ok();
        let expected =
            if LEAST < 0 { "a number of bytes from -64B to 256B" } else { "a number of bytes from 0B to 256B" };
        let wrong = || QuantityError { given: text.to_string(), expected };
        number.filter(|bytes| (LEAST..=256).contains(bytes)).map(LineBytes).ok_or_else(wrong)
    }
    fn text(&self) -> Option<String> {
        Some(format!("{}B", self.0))
    }
}

macro_rules! words {
    ($($type:ty, $expected:literal: $first:literal => $value:expr, $($word:literal => $other:expr,)*;)*) => {$(
        impl Value for $type {
            const EXAMPLE: &'static str = $first;
            fn parse(text: &str) -> Result<$type, QuantityError> {
                match text.trim() {
                    $first => Ok($value),
                    $($word => Ok($other),)*
                    _ => Err(QuantityError { given: text.to_string(), expected: $expected }),
                }
            }
            fn text(&self) -> Option<String> {
                let all = [($value, $first), $(($other, $word)),*];
                all.into_iter().find(|(value, _)| value == self).map(|(_, word)| word.to_string())
            }
        }
    )*};
}

words! {
    Tins, "besteffort, diffserv3 or diffserv4":
        "besteffort" => Tins::Besteffort,
        "diffserv3" => Tins::Diffserv3,
        "diffserv4" => Tins::Diffserv4,;
    FlowMode, "flowblind, srchost, dsthost, hosts, flows, dual-srchost, dual-dsthost or triple-isolate":
        "dual-srchost" => FlowMode::DualSrcHost,
        "dual-dsthost" => FlowMode::DualDstHost,
        "triple-isolate" => FlowMode::TripleIsolate,
        "flowblind" => FlowMode::Flowblind,
        "srchost" => FlowMode::SrcHost,
        "dsthost" => FlowMode::DstHost,
        "hosts" => FlowMode::Hosts,
        "flows" => FlowMode::Flows,;
    Framing, "noatm, atm or ptm":
        "atm" => Framing::Atm,
        "ptm" => Framing::Ptm,
        "noatm" => Framing::Noatm,;
}

/// The slowest rate of a tin in Linux, 64 bytes a second.
const SLOWEST: u64 = 512;

/// Shaper, tins and flows.
#[derive(Clone, Debug)]
pub struct Cake<B> {
    classes: Tins,
    line: Line,
    ingress: bool,
    memory_limit: u64,
    shaper: Shaper,
    tins: Vec<Tin>,
    /// The tin whose turn it is if nothing is shaped.
    turn: usize,
    stream: Stream,
    store: Store<B>,
}

impl<B> Cake<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Cake<B> {
        let mut stream = place.stream();
        let perturbation = stream.bits();
        let rate = config.bandwidth.map_or(0, |rate| rate.as_bps().max(SLOWEST));
        let tin = |&shift: &u32| {
            let bps = if rate == 0 { 0 } else { (rate >> shift).max(SLOWEST) };
            let control = control(bps, place.scale.mtu, config.rtt);
            let quantum = if config.diffserv == Tins::Besteffort { 65_535 } else { 1024 >> shift };
            Tin::new(control, bps, quantum, config.flowmode, perturbation)
        };
        Cake {
            classes: config.diffserv,
            line: Line { overhead: i64::from(config.overhead.0), mpu: i64::from(config.mpu.0).unsigned_abs(), framing: config.atm },
            ingress: config.ingress,
            memory_limit: memory_limit(config, rate, place.scale.mtu),
            shaper: Shaper::new(rate),
            tins: config.diffserv.shifts().iter().map(tin).collect(),
            turn: 0,
            stream,
            store: Store::new(),
        }
    }

    /// Drops the head of the queue with the most bytes. Returns whether there was one.
    #[cold]
    fn drop_from_fattest(&mut self, now: Time, fates: &mut Fates<'_, B>) -> bool {
        let bytes = |tin: &Tin| tin.flows.fattest().map(|queue| (tin.flows.get(queue).fifo.backlog().bytes, queue));
        let fattest = self.tins.iter().enumerate().filter_map(|(n, tin)| Some((bytes(tin)?, n)));
        let Some(((_, queue), n)) = fattest.max_by_key(|&((bytes, _), n)| (bytes, std::cmp::Reverse(n))) else {
            return false;
        };
        let tin = &mut self.tins[n];
        let flow = tin.flows.at(queue);
        let Some(packet) = self.store.pop(&mut flow.fifo) else { return false };
        flow.state.cobalt.overflowed(&tin.control, now);
        tin.packets -= 1;
        if self.ingress {
            let bytes = self.line.bytes(packet.len);
            charge_tin(tin, bytes, now);
            self.shaper.dropped(bytes);
        }
        fates.drop(packet, DropReason::QueueFull);
        true
    }

    /// The tin that is served next, if one has packets.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if !self.tins.iter().any(Tin::is_active) {
            return None;
        }
        if self.shaper.bps > 0 {
            let active = self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active());
            // The last one that is within its share, or that is so soonest.
            return active.min_by_key(|&(n, tin)| (tin.next.max(now), std::cmp::Reverse(n))).map(|(n, _)| n);
        }
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit >= 0 && tin.is_active() {
                return Some(self.turn);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.quantum;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }

    /// Serves a tin until a packet leaves or a queue is found empty.
    fn serve(&mut self, n: usize, decaying: &mut bool, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let tin = &mut self.tins[n];
        'turn: while let Some(queue) = std::mem::take(decaying).then(|| tin.decaying()).flatten().or_else(|| tin.next_queue()) {
            if tin.flows.at(queue).deficit <= 0 {
                tin.end_turn(queue, &mut self.stream);
                continue;
            }
            tin.control.competitors = if self.ingress { tin.bulk } else { 0 };
            let flow = tin.flows.at(queue);
            while let Some(mut packet) = self.store.pop(&mut flow.fifo) {
                tin.packets -= 1;
                let cobalt = &mut flow.state.cobalt;
                let hits = cobalt.hits(&tin.control, &mut packet, now, &mut self.stream, fates);
                let last = flow.fifo.backlog().packets == 0;
                let bytes = self.line.bytes(packet.len);
                if !hits || last {
                    flow.deficit -= bytes as i64;
                    tin.deficit -= if self.shaper.bps == 0 { bytes as i64 } else { 0 };
                    charge_tin(tin, bytes, now);
                    self.shaper.sent(bytes);
                    return Some(packet);
                }
                fates.drop(packet, DropReason::Early);
                if self.ingress {
                    flow.deficit -= bytes as i64;
                    tin.deficit -= if self.shaper.bps == 0 { bytes as i64 } else { 0 };
                    charge_tin(tin, bytes, now);
                    self.shaper.dropped(bytes);
                    continue 'turn;
                }
            }
            tin.found_empty(queue, now);
            return None;
        }
        None
    }
}

/// A tin has sent so many bytes of its share of the rate.
fn charge_tin(tin: &mut Tin, bytes: u64, now: Time) {
    if tin.bps > 0 {
        let takes = Rate::from_bps(tin.bps).time_for(bytes);
        tin.next = if tin.next < now { tin.next + takes } else { tin.next.max(now + takes) };
    }
}

/// COBALT's times at a rate: they allow for the time that a packet takes.
fn control(bps: u64, mtu: u32, rtt: Span) -> cobalt::Control {
    let mtu_time = if bps == 0 { Span::ZERO } else { Rate::from_bps(bps).time_for(u64::from(mtu)) };
    let usual = rtt / 20;
    let target = usual.max(mtu_time.scaled(3, 2));
    cobalt::Control { target, interval: (rtt + target - usual).max(target * 2), mtu_time, competitors: 0 }
}

fn memory_limit(config: &Config, bps: u64, mtu: u32) -> u64 {
    if let Some(Bytes(limit)) = config.memlimit {
        return limit;
    }
    let usual = match bps {
        0 => u64::MAX,
        _ => Rate::from_bps(bps).bytes_in(config.rtt).saturating_mul(4).max(4 << 20),
    };
    usual.min(10_240 * u64::from(mtu))
}

impl<B: Send> QueueDiscipline<B> for Cake<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        let tin = &mut self.tins[self.classes.of(packet.class)];
        let queue = tin.find(&packet.flow);
        if tin.packets == 0 {
            tin.next = tin.next.max(now);
            if self.store.backlog().packets == 0 {
                self.shaper.begin(now);
            }
        }
        tin.packets += 1;
        self.store.push(&mut tin.flows.at(queue).fifo, packet);
        tin.arrived(queue, &mut self.stream);
        while self.store.memory() > self.memory_limit && self.drop_from_fattest(now, fates) {}
    }

    fn dequeue(&mut self, now: Time, fates: &mut Fates<'_, B>) -> Option<Packet<B>> {
        let mut decaying = true;
        while self.ready_at() <= now {
            let tin = self.choose(now)?;
            if let Some(packet) = self.serve(tin, &mut decaying, now, fates) {
                return Some(packet);
            }
        }
        None
    }

    fn ready_at(&self) -> Time {
        match self.store.backlog().packets {
            0 => Time::NEVER,
            _ if self.shaper.bps == 0 => Time::ZERO,
            _ => self.shaper.ready_at(),
        }
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
#[path = "cake_tests.rs"]
mod tests;
