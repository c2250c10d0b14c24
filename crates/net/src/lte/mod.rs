//! A cell of LTE: a base station and users that share its resource blocks.
//!
//! | file | holds |
//! |---|---|
//! | `config` | the configuration of a cell |
//! | `deployment` | the cells around it: places, path loss, antennas, interference |
//! | `fading` | fast fading |
//! | `adaptation` | the spectral efficiency at a signal-to-interference-and-noise ratio |
//! | `user` | a user's way, and the rate of its resource blocks at any time |
//! | `scheduler` | who gets the resource blocks of a TTI |
//! | `lane` | the packets of a user in one direction, and their transport blocks |
//!
//! # What is modelled
//!
//! One cell of 21 is simulated with its users, who share a carrier down and another one up (FDD). In each transmission time interval (TTI)
//! of 1 ms a proportional-fair scheduler gives the resource blocks of each carrier to users with packets. A transport block has
//! as many bytes as its resource blocks carry at the last known quality of the channel; packets are cut at its end. A block that is
//! not decoded is sent again, which takes resource blocks too, and what was sent behind it waits: nothing is lost, and a user's packets keep
//! their order ([`Cellular`]). The other 20 cells interfere with constant power.
//!
//! The quality of a channel is a function of time alone, so a cell has no event in a TTI in which nobody has anything to send.

mod adaptation;
mod config;
mod deployment;
mod fading;
mod lane;
mod scheduler;
mod user;

pub use adaptation::Adaptation;
pub use config::{BLOCK_HZ, CASE_1_RADIUS, CASE_3_RADIUS, LteConfig, MAX_USERS, Sinr, Speed, TTI, User};
pub use fading::FadingModel;
pub use scheduler::{Average, Candidate, share};

use crate::counters::LinkCounters;
use crate::cx::{Cx, Metric};
use crate::element::{Element, Port};
use crate::link::{Cellular, LinkConfig};
use crate::medium::{Carrier, Entry, Medium, MediumCounters};
use crate::occupancy::{Area, Held};
use crate::packet::Packet;
use crate::queue::{DropReason, Place};
use crate::rng::Streams;
use crate::time::{Span, Time};
use crate::topology::Direction;
use crate::units::Rate;
use deployment::Deployment;
use lane::{Lane, Setup};
use std::collections::BTreeMap;
use user::{Quality, Radio};

/// The usual HARQ of LTE: a block error of 10 %, 8 ms, 5 transmissions, and 43 ms until radio link control sends anew (the sources are those
/// of the preset `4g`: 3GPP TS 36.213 section 7.2.3, TS 36.321 section 7.7, TS 36.331 sections 9.2.1.1 and 9.2.2).
pub const HARQ: Cellular = Cellular {
    tti: TTI,
    request_period: Span::ZERO,
    grant: Span::ZERO,
    block_error: 0.1,
    harq: Span::from_millis(8),
    harq_limit: 4,
    rlc: Span::from_millis(43),
};

/// HARQ up, where a user without a grant asks for one every 10 ms and has it 8 ms later (3GPP TS 36.213 table 10.1.5-1, TR 36.912
/// annex B).
pub const HARQ_UP: Cellular = Cellular { request_period: Span::from_millis(10), grant: Span::from_millis(8), ..HARQ };

/// The HARQ of a direction.
pub const fn harq(direction: Direction) -> Cellular {
    match direction {
        Direction::Down => HARQ,
        Direction::Up => HARQ_UP,
    }
}

/// The rate of a carrier at its highest modulation and coding scheme.
pub fn peak_rate(config: &LteConfig, direction: Direction) -> Rate {
    let bits = Adaptation::of(direction).most * BLOCK_HZ * f64::from(config.blocks());
    Rate::from_bps(bits as u64)
}

/// One direction of the cell.
#[derive(Default)]
struct Half {
    /// Its lanes.
    lanes: Vec<usize>,
    /// When its next TTI with something to send begins.
    next: Time,
    /// Resource blocks of later TTIs that are needed to send blocks again.
    reserved: BTreeMap<u64, u32>,
}

/// A cell. Packets enter at the port of their [`Entry`].
pub struct Cell<B> {
    blocks: u32,
    /// The window of the scheduler's averages, in TTIs.
    window: f64,
    radios: Vec<Radio>,
    lanes: Vec<Lane<B>>,
    /// Down and up.
    halves: [Half; 2],
    /// Packets that are passed on, with their entries, by time and in the order of their ends.
    out: BTreeMap<(Time, u64), (u32, Packet<B>)>,
    /// Packets that were put into `out`.
    ended: u64,
    /// The last TTI in which something was sent.
    last: Option<u64>,
    counters: MediumCounters,
}

/// The first beginning of a TTI at or after a time.
fn boundary(at: Time) -> Time {
    match at.as_nanos().checked_next_multiple_of(TTI.as_nanos()) {
        Some(ns) if at != Time::NEVER => Time::from_nanos(ns),
        _ => Time::NEVER,
    }
}

/// The first beginning of a TTI after a time.
fn after(at: Time) -> Time {
    if at == Time::NEVER { at } else { boundary(at + Span::from_nanos(1)) }
}

/// The number of a TTI that begins at `at`.
fn tti(at: Time) -> u64 {
    at.as_nanos() / TTI.as_nanos()
}

impl<B: Clone + Send + 'static> Cell<B> {
    /// A cell called `name`. The place of user K, its shadowing and its fading are drawn from streams whose names begin with
    /// `NAME/user K`, the users of other cells from `NAME/neighbours`, and block errors from `ENTRY/harq`. `entries` are its ports, in
    /// order; HARQ is that of their `cellular`, if they have one.
    ///
    /// # Errors
    /// As [`LteConfig::check`]; an entry of a user that is not there.
    pub fn new(
        config: &LteConfig,
        name: &str,
        entries: &[Entry<'_>],
        streams: &Streams,
    ) -> Result<Cell<B>, (&'static str, String)> {
        config.check()?;
        let cells = Deployment::new(config, &mut streams.named(&format!("{name}/neighbours")));
        let radio = |(number, user)| Radio::new(config, user, &format!("{name}/user {number}"), &cells, streams);
        let radios: Vec<Radio> = config.users.iter().enumerate().map(radio).collect();
        let mut halves = [(); 2].map(|()| Half { next: Time::NEVER, ..Half::default() });
        let mut lanes = Vec::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            if entry.station >= radios.len() {
                return Err(("users", format!("there is no user {}", entry.station)));
            }
            let direction = if entry.downlink { Direction::Down } else { Direction::Up };
            halves[direction as usize].lanes.push(number);
            let link = LinkConfig { rate: Some(peak_rate(config, direction)), ..entry.config.clone() };
            let scale = link.scale(link.greatest_delay() * 2);
            lanes.push(Lane::new(Setup {
                user: entry.station,
                mtu: link.mtu,
                discipline: link.queue.build(&Place { scale, name: &entry.name, streams }),
                cellular: link.cellular.unwrap_or(harq(direction)),
                dice: streams.named(&format!("{}/harq", entry.name)),
            }));
        }
        Ok(Cell {
            blocks: config.blocks(),
            window: (config.window.as_secs_f64() / TTI.as_secs_f64()).max(1.0),
            radios,
            lanes,
            halves,
            out: BTreeMap::new(),
            ended: 0,
            last: None,
            counters: MediumCounters {
                carriers: Some([Carrier { blocks: config.blocks(), ..Carrier::default() }; 2]),
                ..MediumCounters::default()
            },
        })
    }
}

impl<B: Clone + Send + 'static> Medium<B> for LteConfig {
    fn element(
        &self,
        name: &str,
        entries: &[Entry<'_>],
        streams: &Streams,
    ) -> Result<Box<dyn Element<B>>, (&'static str, String)> {
        Ok(Box::new(Cell::new(self, name, entries, streams)?))
    }
}

impl<B> Cell<B> {
    fn next_decision(&self) -> Time {
        self.halves.iter().map(|half| half.next).min().unwrap_or(Time::NEVER)
    }

    /// Takes every decision that is due by `until`, each at its own time.
    fn advance(&mut self, until: Time, cx: &mut Cx<'_>) {
        loop {
            let at = self.next_decision();
            if at > until || at == Time::NEVER {
                return;
            }
            for direction in Direction::ALL {
                if self.halves[direction as usize].next == at {
                    self.schedule(direction, at);
                }
            }
            self.record(at, cx);
        }
    }

    /// Shares the resource blocks of the TTI that begins at `at`, and sends what they carry.
    fn schedule(&mut self, direction: Direction, at: Time) {
        let now = tti(at);
        let half = &mut self.halves[direction as usize];
        half.reserved = half.reserved.split_off(&now);
        let free = self.blocks.saturating_sub(half.reserved.get(&now).copied().unwrap_or(0));
        let mut candidates = Vec::with_capacity(half.lanes.len());
        let mut bits = Vec::with_capacity(half.lanes.len());
        for &number in &half.lanes {
            let lane = &self.lanes[number];
            if lane.due() > at {
                continue;
            }
            let Quality { bits: each, most } = self.radios[lane.user].quality(direction, at);
            let wanted = libm::ceil(lane.backlog() as f64 * 8.0 / each.max(1e-9)).min(f64::from(most));
            let average = lane.average.before(now, self.window);
            candidates.push(Candidate { user: number, bits: each, average, most: wanted as u32 });
            bits.push((number, each));
        }
        for (number, blocks) in share(&candidates, free) {
            let each = bits.iter().find(|(lane, _)| *lane == number).map_or(0.0, |(_, each)| *each);
            self.send(direction, (number, at), (blocks, each));
        }
        let unheard = |number: usize| bits.iter().any(|(lane, each)| *lane == number && *each <= 0.0);
        let Cell { halves, lanes, radios, .. } = self;
        let half = &mut halves[direction as usize];
        let due = half.lanes.iter().map(|&number| match lanes[number].due() {
            due if unheard(number) => due.max(radios[lanes[number].user].next_heard(direction, at)),
            due => due,
        });
        half.next = boundary(due.min().unwrap_or(Time::NEVER)).max(after(at));
    }

    /// Sends a transport block of a lane: so many resource blocks with so many bits each.
    fn send(&mut self, direction: Direction, (number, at): (usize, Time), (blocks, bits): (u32, f64)) {
        let now = tti(at);
        let lane = &mut self.lanes[number];
        let half = &mut self.halves[direction as usize];
        let (mut ended, mut sent) = (Vec::new(), 1u64);
        let most = (f64::from(blocks) * bits / 8.0) as u64;
        let block = lane.send((at, most, TTI), &mut ended, |later| {
            sent += 1;
            *half.reserved.entry(tti(at + later)).or_default() += blocks;
        });
        let Some(block) = block else { return };
        lane.average.serve(now, block.bytes as f64 * 8.0, self.window);
        if let Some(carrier) = self.counters.carriers.as_mut().map(|both| &mut both[direction as usize]) {
            carrier.used += sent * u64::from(blocks);
            carrier.bytes += block.bytes;
        }
        self.counters.transmissions += sent;
        self.counters.retries += sent - 1;
        self.counters.frames += ended.len() as u64;
        if self.last != Some(now) {
            self.last = Some(now);
            self.counters.busy += TTI;
        }
        for packet in ended {
            self.out.insert((block.complete, self.ended), (number as u32, packet));
            self.ended += 1;
        }
    }

    fn record(&self, at: Time, cx: &mut Cx<'_>) {
        if cx.probing() {
            cx.record_at(at, Metric::Queue, self.lanes.iter().map(Lane::queued).sum());
        }
    }
}

impl<B: Send> Element<B> for Cell<B> {
    fn offer(&mut self, port: Port, mut packet: Packet<B>, cx: &mut Cx<'_>) {
        self.advance(cx.now, cx);
        let Some(lane) = self.lanes.get_mut(port.0 as usize) else { return };
        lane.counters.offered += 1;
        if packet.len > lane.mtu {
            return lane.counters.count_drop(DropReason::TooBig);
        }
        packet.arrived = cx.now;
        lane.enqueue(packet, cx.now);
        // A packet that arrives within a TTI, or at its beginning, is sent in the next one.
        let due = boundary(lane.due()).max(after(cx.now));
        if let Some(half) = self.halves.iter_mut().find(|half| half.lanes.contains(&(port.0 as usize))) {
            half.next = half.next.min(due);
        }
        self.record(cx.now, cx);
    }

    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        self.advance(until, cx);
        let ((at, _), _) = self.out.first_key_value()?;
        if *at > until {
            return None;
        }
        let ((at, _), (lane, packet)) = self.out.pop_first()?;
        let counters = &mut self.lanes[lane as usize].counters;
        counters.delivered += 1;
        counters.delivered_bytes += u64::from(packet.len);
        Some((at, packet))
    }

    fn next_wake(&self) -> Time {
        self.next_decision().min(self.out.first_key_value().map_or(Time::NEVER, |((at, _), _)| *at))
    }

    fn counters(&self) -> LinkCounters {
        self.lanes.iter().fold(LinkCounters::default(), |sum, lane| sum.and(&lane.counters))
    }

    fn counters_at(&self, port: Port) -> LinkCounters {
        self.lanes.get(port.0 as usize).map_or_else(LinkCounters::default, |lane| lane.counters)
    }

    fn held(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.advance(until, cx);
        let mut queue = Area::default();
        for lane in &self.lanes {
            queue += lane.waiting.until(until);
        }
        Some(Held { queue, stages: None })
    }

    fn held_at(&mut self, port: Port, until: Time, cx: &mut Cx<'_>) -> Option<Held> {
        self.advance(until, cx);
        let lane = self.lanes.get(port.0 as usize)?;
        Some(Held { queue: lane.waiting.until(until), stages: None })
    }

    fn medium(&self) -> Option<MediumCounters> {
        Some(self.counters)
    }

    fn inside(&self) -> u64 {
        self.lanes.iter().map(Lane::inside).sum::<u64>() + self.out.len() as u64
    }
}
