//! A kernel with the program inside that opens connections as it is told (`src/bin/haltere-node`).

use crate::boot::Boot;
use crate::card::Identity;
use crate::control::{self, Command, ETHER_TYPE, ETHERNET, Event, Frames, LENGTH, PAGE};
use crate::error::{Error, Fault};
use crate::kernel::Kernel;
use haltere_net::Time;
use std::collections::VecDeque;
use vm_memory::{Bytes, GuestAddress};

/// The card of commands and events.
const CONTROL: usize = 0;
const IPV4: u16 = 0x0800;

/// A host: a kernel that is told by commands what to do, and whose cards carry IP packets. Card `n` is `eth`n inside; the cards of the
/// network begin with 1. Cards need no neighbours' addresses: their links have two ends.
pub struct Node {
    kernel: Kernel,
    cards: Vec<Identity>,
    commands: Vec<Command>,
    events: VecDeque<Event>,
    frames: Frames<Event>,
    packets: VecDeque<(usize, Vec<u8>)>,
    /// The physical address of the page for events, if there is one.
    page: Option<GuestAddress>,
}

/// An Ethernet header to a card, from nobody.
fn header(card: Identity, kind: u16) -> [u8; ETHERNET] {
    let mut header = [0; ETHERNET];
    header[..6].copy_from_slice(&card.mac);
    header[6] = 2;
    header[12..].copy_from_slice(&kind.to_be_bytes());
    header
}

impl Node {
    /// Boots a kernel, with a card for commands before those that `boot` asks for, and waits for the program inside.
    ///
    /// # Errors
    /// As [`Kernel::boot`]; if `boot.init` is not the program, too.
    pub fn boot(boot: &Boot) -> Result<Node, Error> {
        let mut boot = boot.clone();
        boot.cards.insert(CONTROL, Identity { mac: [2, 0, 0, 0xc0, 0, 0], mtu: 1500 });
        let kernel = Kernel::boot(&boot)?;
        let (commands, events, packets) = (Vec::new(), VecDeque::new(), VecDeque::new());
        let frames = Frames::default();
        let mut node = Node { kernel, cards: boot.cards, commands, events, frames, packets, page: None };
        node.sort()?;
        if let Some(Event::Ready { page }) = node.events.pop_front() {
            node.page = Some(GuestAddress(page)).filter(|page| page.0 != 0);
        } else {
            let console = node.kernel.last_words();
            let init = boot.init.display();
            return Err(Error::Missing(format!(
                "the program {init} does not answer from inside a kernel: build it anew (console: {console})"
            )));
        }
        Ok(node)
    }

    /// Tells the program something, which it learns in the next run.
    pub fn command(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Whether there is something for the next run.
    pub fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Hands an IPv4 packet to a card, for the next run.
    pub fn deliver(&mut self, card: usize, packet: &[u8]) {
        if let Some(identity) = self.cards.get(card) {
            self.kernel.deliver(card, [&header(*identity, IPV4), packet].concat());
        }
    }

    /// Runs the kernel at a time until it has nothing more to do then.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    pub fn run(&mut self, now: Time) -> Result<(), Error> {
        self.run_ahead(now, now).map(|_| ())
    }

    /// Runs the kernel as [`Kernel::run_ahead`] does. The program inside must be one that tells its events in frames.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    pub fn run_ahead(&mut self, now: Time, until: Time) -> Result<Time, Error> {
        if !self.commands.is_empty() {
            let header = header(self.cards[CONTROL], ETHER_TYPE);
            for payload in control::payloads(&control::bytes(&std::mem::take(&mut self.commands))) {
                self.kernel.deliver(CONTROL, [&header[..], &payload].concat());
            }
        }
        let at = self.kernel.run_ahead(now, until)?;
        self.sort()?;
        Ok(at)
    }

    /// Parts events from packets.
    fn sort(&mut self) -> Result<(), Error> {
        while let Some((card, mut frame)) = self.kernel.take() {
            let kind = frame.get(12..ETHERNET).map(|kind| u16::from_be_bytes([kind[0], kind[1]]));
            match (card, kind) {
                (CONTROL, Some(ETHER_TYPE)) => {
                    let events = self.frames.take(&frame[ETHERNET..]).ok_or_else(|| self.garbled())?;
                    self.events.extend(events);
                }
                (CONTROL, _) => {}
                (_, Some(IPV4)) => {
                    frame.drain(..ETHERNET);
                    self.packets.push_back((card, frame));
                }
                // Nothing else is spoken on these links.
                _ => {}
            }
        }
        match self.read_page() {
            Some(true) => Ok(()),
            _ => Err(self.garbled()),
        }
    }

    /// Takes the events from their page. `None` if they are none, and false if the page is not in the kernel's memory.
    fn read_page(&mut self) -> Option<bool> {
        let (Some(page), Some(memory)) = (self.page, self.kernel.memory()) else { return Some(true) };
        let Ok(length) = memory.read_obj::<u32>(page) else { return Some(false) };
        let length = u32::from_le(length) as usize;
        if length == 0 {
            return Some(true);
        }
        let mut bytes = vec![0; length.min(PAGE - LENGTH)];
        let read = memory.read_slice(&mut bytes, GuestAddress(page.0.checked_add(LENGTH as u64)?));
        let done = read.and_then(|()| memory.write_obj(0u32, page));
        self.events.extend(control::records::<Event>(&bytes)?);
        Some(done.is_ok())
    }

    fn garbled(&mut self) -> Error {
        let Fault(why) = Fault("the program inside says what nobody understands: build it anew");
        Error::Broken(why, self.kernel.last_words())
    }

    /// The next IPv4 packet that the kernel has sent, with its card.
    pub fn take(&mut self) -> Option<(usize, Vec<u8>)> {
        self.packets.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When the kernel wants to run next, or [`Time::NEVER`].
    pub fn next_wake(&self) -> Time {
        self.kernel.next_wake()
    }

    /// The kernel's own time at the latest.
    pub fn passed(&self) -> Time {
        self.kernel.passed()
    }

    /// The last lines of the kernel's console, in one.
    pub fn last_words(&mut self) -> String {
        self.kernel.last_words()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }
}
