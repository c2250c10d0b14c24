//! Two nodes and the link between them.

use haltere_kernel::control::{Command, Event, Options};
use haltere_kernel::{Boot, Error, Identity, Node};
use haltere_net::{Span, Time};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

pub const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];

/// How a kernel is started, or why it cannot be here.
pub fn boot(dice: u64) -> Result<Boot, Error> {
    let init = PathBuf::from(env!("CARGO_BIN_EXE_haltere-node"));
    let found = Boot::kernel_found()?;
    let cards = vec![Identity { mac: [2, 0, 0, 0, 0, dice as u8], mtu: 1500 }];
    Ok(Boot { init, dice, cards, patience: Duration::from_secs(20), ..found })
}

/// A link of one direction: packets on their way, with their times of arrival.
#[derive(Default)]
struct Direction {
    flying: VecDeque<(Time, Vec<u8>)>,
    /// When the transmitter is free.
    free: Time,
    waiting: usize,
}

/// Two nodes with a link between their cards.
pub struct Wire {
    pub nodes: [Node; 2],
    pub now: Time,
    delay: Span,
    /// ns a byte, and the most packets in flight.
    pace: Option<(u64, usize)>,
    directions: [Direction; 2],
    pub events: Vec<(Time, usize, Event)>,
    /// A hash over every packet, with its time and its sender.
    pub hash: DefaultHasher,
    pub packets: u64,
    received: [u64; 2],
    /// The first packets, with their times and senders.
    pub first: Vec<(Time, usize, Vec<u8>)>,
    pub dropped: u64,
}

impl Wire {
    pub fn new(nodes: [Node; 2], delay: Span) -> Wire {
        let (now, events, hash) = (Time::ZERO, Vec::new(), DefaultHasher::new());
        let directions = [Direction::default(), Direction::default()];
        Wire {
            nodes,
            now,
            delay,
            pace: None,
            directions,
            events,
            hash,
            packets: 0,
            received: [0; 2],
            first: Vec::new(),
            dropped: 0,
        }
    }

    /// Two nodes that have addresses.
    pub fn booted(delay: Span) -> Result<Wire, Error> {
        Ok(Wire::new([Node::boot(&boot(1)?)?, Node::boot(&boot(2)?)?], delay).addressed())
    }

    pub fn addressed(mut self) -> Wire {
        for (node, address) in self.nodes.iter_mut().zip(ADDRESSES) {
            node.command(Command::Address { card: 1, alias: 0, address, prefix: 8 });
        }
        self
    }

    pub fn paced(mut self, ns_a_byte: u64, most: usize) -> Wire {
        self.pace = Some((ns_a_byte, most));
        self
    }

    pub fn listen(&mut self, congestion: &str) {
        let local = SocketAddrV4::new(ADDRESSES[1], 80);
        self.nodes[1].command(Command::Listen {
            socket: 1,
            local,
            congestion: congestion.into(),
            options: Options::default(),
        });
    }

    pub fn connect(&mut self, socket: u32, congestion: &str) {
        let (local, remote) =
            (SocketAddrV4::new(ADDRESSES[0], 40_000 + socket as u16), SocketAddrV4::new(ADDRESSES[1], 80));
        self.nodes[0].command(Command::Connect {
            socket,
            local,
            remote,
            congestion: congestion.into(),
            options: Options::default(),
        });
    }

    /// Runs a node now, and puts what it sends on the link.
    fn run(&mut self, which: usize) -> Result<(), Error> {
        self.nodes[which].run(self.now)?;
        while let Some((_, packet)) = self.nodes[which].take() {
            (self.now, which, &packet).hash(&mut self.hash);
            self.packets += 1;
            if self.first.len() < 10 {
                self.first.push((self.now, which, packet.clone()));
            }
            let direction = &mut self.directions[which];
            let mut leaves = self.now;
            if let Some((pace, most)) = self.pace {
                let passed = |(arrives, _): &(Time, Vec<u8>)| *arrives <= self.now + self.delay;
                let queued = direction.flying.iter().rev().take_while(|one| !passed(one)).count();
                if queued >= most {
                    self.dropped += 1;
                    continue;
                }
                direction.waiting = direction.waiting.max(queued);
                leaves = direction.free.max(self.now) + Span::from_nanos(pace * packet.len() as u64);
                direction.free = leaves;
            }
            direction.flying.push_back((leaves + self.delay, packet));
        }
        while let Some(event) = self.nodes[which].poll_event() {
            if let Event::Received { bytes, .. } = event {
                self.received[which] += bytes;
            }
            self.events.push((self.now, which, event));
        }
        Ok(())
    }

    /// Runs both until nothing is left to do before a time, or `done`.
    pub fn run_until(&mut self, end: Time, mut done: impl FnMut(&Wire) -> bool) -> Result<(), Error> {
        while !done(self) {
            let arrival = |which: usize| self.directions[1 - which].flying.front().map_or(Time::NEVER, |(at, _)| *at);
            let next = |which: usize| match self.nodes[which].has_commands() {
                true => self.now,
                false => arrival(which).min(self.nodes[which].next_wake()),
            };
            let which = usize::from(next(1) < next(0));
            let at = next(which).max(self.now);
            if at > end {
                return Ok(());
            }
            self.now = at;
            let flying = &mut self.directions[1 - which].flying;
            while flying.front().is_some_and(|(arrives, _)| *arrives <= at) {
                if let Some((_, packet)) = flying.pop_front() {
                    self.nodes[which].deliver(1, &packet);
                }
            }
            self.run(which)?;
        }
        Ok(())
    }

    /// Bytes that the programs of a node have read.
    pub fn received(&self, which: usize) -> u64 {
        self.received[which]
    }
}
