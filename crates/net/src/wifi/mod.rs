//! A cell of IEEE 802.11: an access point and stations that share one medium.
//!
//! | file | holds |
//! |---|---|
//! | `phy` | the physical layers: times, and air times of frames |
//! | `modulation` | their modulations, with the least signal-to-noise ratio of each |
//! | `radio` | which modulation reaches how far |
//! | `access` | backoff and the parameters of channel access |
//! | `config` | the configuration of a cell |
//! | `lane` | what waits for one receiver |
//! | `exchange` | frames on the air, and what becomes of them |
//!
//! # What is modelled
//!
//! All stations hear each other, so nobody is hidden, and a frame is never captured: if two stations begin to send at one
//! slot boundary, all their frames are lost. Frames begin at slot boundaries, which are counted from the end of the last
//! busy period (clause 10.22.2.4 requires this of EDCA; DCF is held to it too, so that frames that arrive within one slot
//! collide). Each frame is lost by the loss model of its direction; answers (ACK, block acknowledgement) are never lost.
//! Each pair of sender and receiver has the fastest modulation for its distance. There are no beacons, no RTS and no power
//! saving; stations are associated from the beginning.
//!
//! A sender without an answer waits as long as the answer would have taken (the standard lets it give up after SIFS, a slot
//! and a preamble). All stations then count slots from the same instant.
//!
//! The outcome of a transmission is decided when it begins, as nothing can interfere later. So a cell has one event a
//! transmission: the next sender is the one with the fewest slots left.

mod access;
mod config;
mod exchange;
mod lane;
mod modulation;
mod phy;
mod radio;

pub use access::{Category, Parameters, Rule};
pub use config::{Aggregation, BLOCK_ACK_WINDOW, CellConfig};
pub use modulation::Modulation;
pub use phy::{Channel, Phy, Standard, Width};
pub use radio::{Metres, Radio};

use crate::counters::LinkCounters;
use crate::cx::{Cx, Metric};
use crate::element::{Element, Port};
use crate::link::LinkConfig;
use crate::loss::Loss;
use crate::medium::{Entry, Medium, MediumCounters};
use crate::occupancy::{Area, Held};
use crate::packet::Packet;
use crate::queue::{DropReason, Place};
use crate::rng::{Stream, Streams};
use crate::time::Time;
use access::Contender;
use lane::{Lane, Queue};
use std::collections::{BTreeSet, VecDeque};

/// A station that may go on sending without contention.
#[derive(Clone, Copy)]
struct Burst {
    contender: usize,
    until: Time,
}

/// A cell. Packets enter at the port of their [`Entry`], whose queue stands once for each access category.
pub struct Cell<B> {
    phy: Phy,
    rule: Rule,
    retries: Option<u32>,
    extended_space: bool,
    aggregation: Option<Aggregation>,
    /// Access categories: 1 or 4.
    categories: usize,
    lanes: Vec<Lane<B>>,
    /// The lanes of each sender: of the access point, then of each station.
    senders: Vec<Vec<usize>>,
    /// The dice of each sender.
    dice: Vec<Stream>,
    /// The functions that contend: those of a sender side by side, the least important first.
    contenders: Vec<Contender>,
    /// The slot at which the next one sends; `u64::MAX` if none has anything to send.
    next: u64,
    burst: Option<Burst>,
    /// When the medium is idle again.
    free: Time,
    /// When interframe spaces begin to count: later than `free` by EIFS less DIFS after a frame that was not read.
    clear: Time,
    /// Contenders whose queues hold packets back until a time.
    shaped: BTreeSet<(Time, usize)>,
    /// Packets that have been read, with their entries, in the order of time.
    out: VecDeque<(Time, u32, Packet<B>)>,
    counters: MediumCounters,
}

impl<B: Clone + Send + 'static> Cell<B> {
    /// A cell called `name`. The backoff of each sender is drawn from `NAME/access point/backoff` or
    /// `NAME/station K/backoff`, the losses of an entry from `ENTRY/loss`. `entries` are its ports, in order.
    ///
    /// # Errors
    /// As [`CellConfig::check`]; an entry of a station that is not there.
    pub fn new(
        config: &CellConfig,
        name: &str,
        entries: &[Entry<'_>],
        streams: &Streams,
    ) -> Result<Cell<B>, (&'static str, String)> {
        config.check()?;
        let phy = Phy::new(config.channel);
        let categories = config.parameters.len();
        let mut senders = vec![Vec::new(); config.stations.len() + 1];
        let mut lanes = Vec::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            let Some(&distance) = config.stations.get(entry.station) else {
                return Err(("stations", format!("there is no station {}", entry.station)));
            };
            let modulation = config.radio.modulation(&phy, distance).map_err(|message| ("distance", message))?;
            let sender = if entry.downlink { 0 } else { entry.station + 1 };
            senders[sender].push(number);
            let link = LinkConfig { rate: Some(modulation.rate), ..entry.config.clone() };
            let scale = link.scale(link.greatest_delay() * 2);
            let queue = |category: usize| {
                let name = match Category::ALL.get(category).filter(|_| categories > 1) {
                    Some(category) => format!("{}/{}", entry.name, category.name()),
                    None => entry.name.clone(),
                };
                Queue::new(link.queue.build(&Place { scale, name: &name, streams }), config)
            };
            lanes.push(Lane {
                sender,
                mtu: link.mtu,
                modulation,
                propagation: distance.propagation(),
                loss: Loss::new(link.loss.clone(), streams.named(&format!("{}/loss", entry.name))),
                queues: (0..categories).map(queue).collect(),
                counters: LinkCounters { dropped_lifetime: config.lifetime.map(|_| 0), ..LinkCounters::default() },
                waiting: Default::default(),
            });
        }
        let who = |sender: usize| match sender.checked_sub(1) {
            None => format!("{name}/access point/backoff"),
            Some(station) => format!("{name}/station {station}/backoff"),
        };
        let one = |contender: usize| Contender::new(config.parameters[contender % categories]);
        Ok(Cell {
            phy,
            rule: config.rule,
            retries: config.retries,
            extended_space: config.extended_space,
            aggregation: config.aggregation,
            categories,
            lanes,
            dice: (0..senders.len()).map(|sender| streams.named(&who(sender))).collect(),
            contenders: (0..senders.len() * categories).map(one).collect(),
            senders,
            next: u64::MAX,
            burst: None,
            free: Time::ZERO,
            clear: Time::ZERO,
            shaped: BTreeSet::new(),
            out: VecDeque::new(),
            counters: MediumCounters::default(),
        })
    }
}

impl<B: Clone + Send + 'static> Medium<B> for CellConfig {
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
    /// The first slot boundary at or after `at`; `None` while the medium is busy.
    fn slot_at(&self, at: Time) -> Option<u64> {
        let idle = at.as_nanos().checked_sub((self.clear + self.phy.sifs).as_nanos())?;
        Some(idle.div_ceil(self.phy.slot.as_nanos().max(1)))
    }

    /// When the next transmission begins.
    fn next_start(&self) -> Time {
        if self.burst.is_some() {
            return self.free + self.phy.sifs;
        }
        match self.next {
            u64::MAX => Time::NEVER,
            slot => self.clear + self.phy.sifs + self.phy.slot * slot,
        }
    }

    fn next_decision(&self) -> Time {
        self.next_start().min(self.shaped.first().map_or(Time::NEVER, |(at, _)| *at))
    }

    /// Looks for the next sender.
    fn plan(&mut self) {
        let slots = self.contenders.iter().filter(|contender| contender.active).map(Contender::sends_at);
        self.next = slots.min().unwrap_or(u64::MAX);
    }

    /// Takes every decision that is due by `until`, each at its own time.
    fn advance(&mut self, until: Time, cx: &mut Cx<'_>) {
        loop {
            let at = self.next_decision();
            if at > until || at == Time::NEVER {
                return;
            }
            match self.shaped.first().copied().filter(|(ready, _)| *ready == at) {
                Some(first) => {
                    self.shaped.remove(&first);
                    self.wake(first.1, at);
                }
                None => self.transmit(at),
            }
            self.record(at, cx);
        }
    }

    /// Whether a contender has something to send is looked up anew at `at`, after packets have left its queues.
    fn refresh(&mut self, contender: usize, at: Time) {
        let (sender, category) = (contender / self.categories, contender % self.categories);
        let queues = self.senders[sender].iter().map(|&lane| &self.lanes[lane].queues[category]);
        let ready = queues.map(Queue::ready_at).min().unwrap_or(Time::NEVER);
        self.contenders[contender].active = ready <= at;
        if ready > at && ready != Time::NEVER {
            self.shaped.insert((ready, contender));
        }
    }

    /// A contender may have got something to send at `at`.
    fn wake(&mut self, contender: usize, at: Time) {
        if self.contenders[contender].active {
            return;
        }
        self.refresh(contender, at);
        if self.contenders[contender].active {
            let slot = self.slot_at(at);
            self.contenders[contender].activate(slot, &mut self.dice[contender / self.categories]);
            self.next = self.next.min(self.contenders[contender].sends_at());
        }
    }

    fn record(&self, at: Time, cx: &mut Cx<'_>) {
        if cx.probing() {
            let queues = self.lanes.iter().flat_map(|lane| &lane.queues);
            cx.record_at(at, Metric::Queue, queues.map(|queue| queue.backlog().bytes).sum());
        }
    }
}

impl<B: Send> Element<B> for Cell<B> {
    fn offer(&mut self, port: Port, mut packet: Packet<B>, cx: &mut Cx<'_>) {
        self.advance(cx.now, cx);
        let edca = self.categories > 1;
        let Some(lane) = self.lanes.get_mut(port.0 as usize) else { return };
        lane.counters.offered += 1;
        if packet.len > lane.mtu {
            return lane.counters.count_drop(DropReason::TooBig);
        }
        packet.arrived = cx.now;
        let category = if edca { Category::of_class(packet.class) as usize } else { 0 };
        lane.queues[category].enqueue(packet, cx.now, &mut lane.counters);
        lane.settle(cx.now);
        let contender = lane.sender * self.categories + category;
        self.wake(contender, cx.now);
        self.record(cx.now, cx);
    }

    fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        self.advance(until, cx);
        if self.out.front()?.0 > until {
            return None;
        }
        let (at, lane, packet) = self.out.pop_front()?;
        let counters = &mut self.lanes[lane as usize].counters;
        counters.delivered += 1;
        counters.delivered_bytes += u64::from(packet.len);
        Some((at, packet))
    }

    fn next_wake(&self) -> Time {
        self.next_decision().min(self.out.front().map_or(Time::NEVER, |(at, ..)| *at))
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
        let queues = self.lanes.iter().flat_map(|lane| &lane.queues);
        queues.map(Queue::inside).sum::<u64>() + self.out.len() as u64
    }
}
