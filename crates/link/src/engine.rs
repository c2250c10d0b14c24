//! The emulator without the kernel: which link a packet belongs to, when it departs, and where it goes.
//!
//! [`Engine::turn`] is one round of the loop and takes everything from [`Io`]: the kernel in the emulator, a virtual
//! clock in the tests. The clock is read once a round, after the waiting packets were read. This reading is
//! the time of arrival of the packets read, and decides which packets are due. A packet may be dated some microseconds
//! late, but never before it was sent, even if the system stops this thread in the middle. The end of a wait dates
//! nothing: the link says when a packet departs. The lateness of a wake-up is recorded and has no other effect.

use crate::report::Lateness;
use crate::spec::{EmulatorSpec, Manner};
use crate::unit::Unit;
use haltere_net::element::{AnyElement, Element, Port};
use haltere_net::interface::Crediting;
use haltere_net::occupancy::Held;
use haltere_net::rng::Streams;
use haltere_net::topology::Direction;
use haltere_net::{ComponentId, Cx, Ecn, Packet, Time};
use std::ops::Range;
use std::sync::Arc;

/// How many units are read at one port before the clock is read.
const READS: usize = 8;
/// How many rounds are made after the end: as many as empty a full device, and no more, since somebody may go on
/// sending.
const LAST_ROUNDS: usize = crate::tun::WAITING as usize / READS + 1;
/// How many runs are written to one port before it is read again.
const WRITES: usize = 16;

/// The engine's door to the world: the clock, and the ports that it reads and writes.
pub trait Io {
    /// Time since the start.
    fn now(&mut self) -> Time;
    /// The next unit that waits at a port; `None` if there is none.
    fn receive(&mut self, port: usize) -> Option<Unit>;
    /// Sends packets of a unit on from a port, with this ECN field.
    fn send(&mut self, port: usize, unit: &Unit, pieces: Range<u32>, ecn: Ecn);
    /// Sleeps until `until`, until something waits at a port, or for less. False ends the loop.
    fn wait(&mut self, until: Time) -> bool;
}

/// One packet: which piece of which unit.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The unit it was read in.
    pub unit: Arc<Unit>,
    /// Its number in it.
    pub piece: u32,
}

/// One direction of an emulated link.
pub struct Leg {
    /// The link's name.
    pub name: String,
    /// Its direction.
    pub direction: Direction,
    /// The link itself, or an interface with a ring.
    pub link: AnyElement<Frame>,
    /// How late its packets were handed on.
    pub lateness: Lateness,
    /// The port it writes to.
    to: usize,
    /// Whether more was due than one round hands on.
    behind: bool,
}

/// Packets of one unit that are handed on together.
struct Run {
    unit: Arc<Unit>,
    pieces: Range<u32>,
    ecn: Ecn,
}

/// Links and the state of their loop. Link `l` has ports `2 l` and `2 l + 1`; leg `n` reads at port `n`.
pub struct Engine {
    legs: Vec<Leg>,
    coalesce: bool,
    packets: u64,
    /// Units that this round has read, each with the number of its port.
    read: Vec<(usize, Arc<Unit>)>,
}

impl Engine {
    /// The links of a specification, nothing on them.
    pub fn new(spec: &EmulatorSpec) -> Engine {
        let streams = Streams::new(spec.seed, spec.replication);
        let mut legs = Vec::new();
        for link in &spec.links {
            for (direction, config) in [(Direction::Down, &link.down), (Direction::Up, &link.up)] {
                // The names that the simulator gives its streams.
                let name = format!("{}/{}", link.name, direction.name());
                legs.push(Leg {
                    name: link.name.clone(),
                    direction,
                    link: AnyElement::of(config, &name, &streams, Crediting::Off),
                    lateness: Lateness::default(),
                    to: legs.len() ^ 1,
                    behind: false,
                });
            }
        }
        let Manner { coalesce, .. } = spec.manner();
        Engine { legs, coalesce, packets: 0, read: Vec::new() }
    }

    /// Its legs.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The time-weighted content of each leg's link until `now`.
    pub fn held(&mut self, now: Time) -> Vec<Option<Held>> {
        let mut cx = Cx::new(now, ComponentId(0));
        self.legs.iter_mut().map(|leg| leg.link.held(now, &mut cx)).collect()
    }

    /// Packets handed on.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// One round: read what waits, hand on what is due, and sleep if neither left anything to do.
    pub fn turn(&mut self, io: &mut impl Io) -> bool {
        let mut busy = false;
        for port in 0..self.legs.len() {
            busy |= self.read(port, io);
        }
        let now = io.now();
        self.offer_all(now);
        for leg in 0..self.legs.len() {
            busy |= self.deliver(leg, now, io);
        }
        let next = self.next_wake();
        if busy || next <= now { io.wait(Time::ZERO) } else { io.wait(next) }
    }

    /// The end: what had been sent before it is still offered, and what is due is handed on. Without this the counters
    /// would depend on how soon this thread learns of the end. What is under way stays on its link.
    pub fn finish(&mut self, io: &mut impl Io) {
        for _ in 0..LAST_ROUNDS {
            let more = (0..self.legs.len()).fold(false, |more, port| self.read(port, io) | more);
            let now = io.now();
            self.offer_all(now);
            let due = (0..self.legs.len()).fold(false, |due, leg| self.deliver(leg, now, io) | due);
            if !more && !due {
                break;
            }
        }
    }

    /// When the next packet departs.
    pub fn next_wake(&self) -> Time {
        self.legs.iter().map(|leg| leg.link.next_wake()).min().unwrap_or(Time::NEVER)
    }

    /// Reads what waits at a port, unless packets of its leg are overdue, which reading would delay further. Returns
    /// whether there may be more.
    fn read(&mut self, port: usize, io: &mut impl Io) -> bool {
        if self.legs[port].behind {
            return true;
        }
        for _ in 0..READS {
            let Some(unit) = io.receive(port) else { return false };
            self.read.push((port, Arc::new(unit)));
        }
        true
    }

    /// Offers what this round has read.
    fn offer_all(&mut self, now: Time) {
        let mut read = std::mem::take(&mut self.read);
        for (port, unit) in read.drain(..) {
            self.offer(port, now, unit);
        }
        self.read = read;
    }

    fn offer(&mut self, port: usize, now: Time, unit: Arc<Unit>) {
        let (flow, ecn, class) = (unit.flow(), unit.ecn(), unit.class());
        let mut cx = Cx::new(now, ComponentId(port as u32));
        for piece in 0..unit.pieces() {
            let body = Frame { unit: Arc::clone(&unit), piece };
            let len = body.unit.len(piece);
            let packet = Packet::new(len, body).with(|p| {
                p.flow = flow;
                p.ecn = ecn;
                p.class = class;
            });
            self.legs[port].link.offer(Port(0), packet, &mut cx);
        }
    }

    /// Hands on the packets that are due on a leg; returns whether there may be more.
    fn deliver(&mut self, leg: usize, now: Time, io: &mut impl Io) -> bool {
        let leg = &mut self.legs[leg];
        let mut cx = Cx::new(now, ComponentId(0));
        let mut run: Option<Run> = None;
        let mut runs = 0;
        let more = loop {
            if runs == WRITES {
                break true;
            }
            let Some((at, packet)) = leg.link.poll(now, &mut cx) else { break false };
            leg.lateness.record(now.since(at));
            self.packets += 1;
            let packet = packet.into_contents();
            let Frame { unit, piece } = packet.body;
            match &mut run {
                Some(r) if self.coalesce && r.follows(&unit, piece, packet.ecn) => r.pieces.end += 1,
                _ => {
                    let next = Run { unit, pieces: piece..piece + 1, ecn: packet.ecn };
                    if let Some(r) = run.replace(next) {
                        io.send(leg.to, &r.unit, r.pieces, r.ecn);
                        runs += 1;
                    }
                }
            }
        };
        if let Some(r) = run {
            io.send(leg.to, &r.unit, r.pieces, r.ecn);
        }
        leg.behind = more;
        more
    }
}

impl Run {
    fn follows(&self, unit: &Arc<Unit>, piece: u32, ecn: Ecn) -> bool {
        self.pieces.end == piece && self.ecn == ecn && Arc::ptr_eq(&self.unit, unit)
    }
}
