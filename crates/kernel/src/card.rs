//! A virtio network card of a kernel as its device: what the kernel set up, and frames that pass through its two rings (virtio
//! 1.2, sections 2.7 and 5.1). The memory is the kernel's own. Every address, length and index in it is checked before it is
//! used: `virtio-queue` follows the descriptors, `vm-memory` reads and writes.

use crate::checksum;
use crate::error::Fault;
use crate::vhost::{self, Header, RINGS, Request};
use std::sync::atomic::Ordering;
use virtio_queue::{Queue, QueueOwnedT, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

/// The memory of a kernel.
pub type Memory = GuestMemoryMmap;

/// The ring of frames for the kernel, and that of its own.
const RECEIVE: usize = 0;
const SEND: usize = 1;
/// The most descriptors of a ring (`MAX_SUPPORTED_QUEUE_SIZE` of `virtio_uml.c`).
const DESCRIPTORS: u16 = 256;
/// Bytes of `struct virtio_net_hdr_v1`, which stands before each frame.
const PREFIX: usize = 12;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`, and `VIRTIO_NET_HDR_F_DATA_VALID`.
const NEEDS_CHECKSUM: u8 = 1;
const CHECKED: u8 = 2;
/// `VRING_AVAIL_F_NO_INTERRUPT`.
const NO_INTERRUPT: u16 = 1;
/// The longest frame, with its prefix: a card without segmentation offload sends no longer ones.
const LONGEST: usize = 1 << 16;

/// A card's own numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// Its MAC address.
    pub mac: [u8; 6],
    /// The longest IP packet, bytes; 68 to 1500.
    pub mtu: u16,
}

/// The answer to the kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing.
    Nothing,
    /// These bytes.
    Bytes(Vec<u8>),
    /// Its memory is to be mapped before [`Card::remember`] is called; then these bytes, if any.
    Memory(Vec<vhost::Region>, Option<Vec<u8>>),
    /// The descriptor that came along is the pipe for interrupts; then these bytes, if any.
    Pipe(Option<Vec<u8>>),
}

/// When a kernel says that it sends something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Notify {
    /// As soon as it does.
    AtOnce,
    /// Never: its ring is looked at when it waits.
    Never,
}

/// A card.
#[derive(Debug)]
pub struct Card {
    identity: Identity,
    memory: Option<Memory>,
    rings: [Queue; RINGS],
}

impl Card {
    /// A card that no kernel has set up yet.
    ///
    /// # Errors
    /// None happens; the number of descriptors is a power of two.
    pub fn new(identity: Identity) -> Result<Card, Fault> {
        let ring = || Queue::new(DESCRIPTORS).map_err(|_| Fault("a ring cannot be made"));
        Ok(Card { identity, memory: None, rings: [ring()?, ring()?] })
    }

    /// Carries out a request of the kernel's driver.
    ///
    /// # Errors
    /// If the request contradicts what was set up before, or a ring is not in the kernel's memory.
    pub fn answer(&mut self, header: Header, request: Request) -> Result<Answer, Fault> {
        let number = |value: u64| Ok(Answer::Bytes(header.answer(&value.to_ne_bytes())));
        match request {
            Request::Features => return number(vhost::FEATURES),
            Request::Protocol => return number(vhost::PROTOCOL),
            Request::Configuration(size) => {
                let Identity { mac, mtu } = self.identity;
                return Ok(Answer::Bytes(header.answer(&vhost::configuration(mac, mtu, size))));
            }
            Request::UseFeatures(chosen) if chosen & !vhost::FEATURES != 0 => {
                return Err(Fault("a network card is to have features that were not offered"));
            }
            Request::Memory(regions) => return Ok(Answer::Memory(regions, header.done())),
            Request::Back => return Ok(Answer::Pipe(header.done())),
            Request::Size { ring, size } => {
                let size = u16::try_from(size).map_err(|_| Fault("a ring is too long"))?;
                self.rings[ring].try_set_size(size).map_err(|_| Fault("a ring has no proper length"))?;
            }
            Request::Base { ring, base } => {
                self.rings[ring].set_next_avail(base as u16);
                self.rings[ring].set_next_used(base as u16);
            }
            Request::Addresses { ring, descriptors, used, available } => {
                let ring = &mut self.rings[ring];
                ring.try_set_desc_table_address(GuestAddress(descriptors))
                    .and_then(|()| ring.try_set_avail_ring_address(GuestAddress(available)))
                    .and_then(|()| ring.try_set_used_ring_address(GuestAddress(used)))
                    .map_err(|_| Fault("a ring is not aligned"))?;
            }
            Request::Enable { ring, on } => self.enable(ring, on)?,
            Request::UseFeatures(_) | Request::UseProtocol(_) | Request::Kick | Request::Nothing => {}
        }
        Ok(header.done().map_or(Answer::Nothing, Answer::Bytes))
    }

    /// Takes the kernel's memory, which was mapped.
    pub fn remember(&mut self, memory: Memory) {
        self.memory = Some(memory);
    }

    /// The kernel's memory, once it is known.
    pub fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    fn enable(&mut self, number: usize, on: bool) -> Result<(), Fault> {
        let ring = &mut self.rings[number];
        ring.set_ready(on);
        let Some(memory) = self.memory.as_ref().filter(|_| on) else { return Ok(()) };
        if !ring.is_valid(memory) {
            ring.set_ready(false);
            return Err(Fault("a ring is not in the kernel's memory"));
        }
        // Rings are looked at whenever the kernel waits: it need not say that it has put something there.
        ring.disable_notification(memory).map_err(|_| Fault("a ring is not in the kernel's memory"))
    }

    /// Has the kernel say at once that it sends something, or not say it any more.
    ///
    /// # Errors
    /// If the ring is not in the kernel's memory.
    pub fn notify(&mut self, wanted: Notify) -> Result<(), Fault> {
        let (ring, Some(memory)) = (&mut self.rings[SEND], &self.memory) else { return Ok(()) };
        if !ring.ready() {
            return Ok(());
        }
        let done = match wanted {
            Notify::AtOnce => ring.enable_notification(memory).map(|_| ()),
            Notify::Never => ring.disable_notification(memory),
        };
        done.map_err(|_| Fault("a ring is not in the kernel's memory"))
    }

    /// Hands a frame to the kernel. Returns whether there was room for it.
    ///
    /// # Errors
    /// If the kernel's buffer cannot be written to, or is too short.
    pub fn deliver(&mut self, frame: &[u8]) -> Result<bool, Fault> {
        let Some(memory) = &self.memory else { return Ok(false) };
        match next(&mut self.rings[RECEIVE], memory)? {
            None => Ok(false),
            Some(chain) => {
                let head = chain.head_index();
                let mut prefix = [0; PREFIX];
                (prefix[0], prefix[10]) = (CHECKED, 1);
                let written = fill(memory, chain, &prefix, frame)?;
                self.rings[RECEIVE]
                    .add_used(memory, head, written)
                    .map_err(|_| Fault("a ring cannot be written to"))?;
                Ok(true)
            }
        }
    }

    /// Takes the frames that the kernel has sent, in their order.
    ///
    /// # Errors
    /// If a frame's buffers are not in the kernel's memory, are to be written to, or are too long or too short.
    pub fn take(&mut self, mut give: impl FnMut(Vec<u8>)) -> Result<(), Fault> {
        let Some(memory) = &self.memory else { return Ok(()) };
        while let Some(chain) = next(&mut self.rings[SEND], memory)? {
            let head = chain.head_index();
            let frame = frame(memory, chain)?;
            self.rings[SEND].add_used(memory, head, 0).map_err(|_| Fault("a ring cannot be written to"))?;
            give(frame);
        }
        Ok(())
    }

    /// Whether the kernel waits for room to send: it wants an interrupt once its frames were taken.
    pub fn wants_room(&self) -> bool {
        let flags =
            self.memory.as_ref().filter(|_| self.rings[SEND].ready()).and_then(|memory| {
                memory.load::<u16>(GuestAddress(self.rings[SEND].avail_ring()), Ordering::Acquire).ok()
            });
        flags.is_some_and(|flags| u16::from_le(flags) & NO_INTERRUPT == 0)
    }
}

type Chain<'a> = virtio_queue::DescriptorChain<&'a GuestMemoryMmap>;

/// The next chain of descriptors of a ring. A ring that is not used yet has none.
fn next<'a>(ring: &mut Queue, memory: &'a GuestMemoryMmap) -> Result<Option<Chain<'a>>, Fault> {
    if !ring.ready() {
        return Ok(None);
    }
    Ok(ring.iter(memory).map_err(|_| Fault("a ring says that it has more than it can hold"))?.next())
}

/// Writes a frame and its prefix to the buffers of a chain; returns the number of bytes.
fn fill(memory: &GuestMemoryMmap, chain: Chain<'_>, prefix: &[u8], frame: &[u8]) -> Result<u32, Fault> {
    let whole = prefix.len() + frame.len();
    let mut done = 0;
    for descriptor in chain {
        if !descriptor.is_write_only() {
            return Err(Fault("a buffer for a frame cannot be written to"));
        }
        let (mut at, mut room) = (descriptor.addr(), descriptor.len() as usize);
        while room > 0 && done < whole {
            let from = if done < prefix.len() { &prefix[done..] } else { &frame[done - prefix.len()..] };
            let part = &from[..from.len().min(room)];
            memory.write_slice(part, at).map_err(|_| Fault("a buffer for a frame is not in the kernel's memory"))?;
            (done, room, at) =
                (done + part.len(), room - part.len(), GuestAddress(at.0.saturating_add(part.len() as u64)));
        }
    }
    if done < whole { Err(Fault("a buffer for a frame is too short")) } else { Ok(done as u32) }
}

/// Reads the frame in the buffers of a chain, and completes its checksum.
fn frame(memory: &GuestMemoryMmap, chain: Chain<'_>) -> Result<Vec<u8>, Fault> {
    let mut bytes: Vec<u8> = Vec::with_capacity(PREFIX + 1514);
    for descriptor in chain {
        let (from, part) = (bytes.len(), descriptor.len() as usize);
        if descriptor.is_write_only() || part > LONGEST - from.min(LONGEST) {
            return Err(Fault("a frame of the kernel is too long"));
        }
        bytes.resize(from + part, 0);
        let room = &mut bytes[from..];
        memory.read_slice(room, descriptor.addr()).map_err(|_| Fault("a frame is not in the kernel's memory"))?;
    }
    let prefix: [u8; PREFIX] = bytes
        .get(..PREFIX)
        .and_then(|prefix| prefix.try_into().ok())
        .ok_or(Fault("a frame of the kernel is too short"))?;
    bytes.drain(..PREFIX);
    let [flags, kind, _, _, _, _, start_low, start_high, offset_low, offset_high, ..] = prefix;
    if kind != 0 {
        return Err(Fault("a frame is to be cut into several, which was not offered"));
    }
    if flags & NEEDS_CHECKSUM != 0 {
        let start = usize::from(u16::from_le_bytes([start_low, start_high]));
        let offset = usize::from(u16::from_le_bytes([offset_low, offset_high]));
        checksum::complete(&mut bytes, start, offset).ok_or(Fault("a frame has no room for its checksum"))?;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BYTES: usize = 1 << 16;
    const TABLES: [[u64; 3]; 2] = [[0, 0x1000, 0x2000], [0x3000, 0x4000, 0x5000]];

    /// A card whose rings have eight descriptors each at `TABLES`: descriptors, available, used.
    fn card() -> (Card, GuestMemoryMmap) {
        let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(0), BYTES)]).unwrap();
        let mut card = Card::new(Identity { mac: [2, 0, 0, 0, 0, 1], mtu: 1500 }).unwrap();
        card.remember(memory.clone());
        for (ring, [descriptors, available, used]) in TABLES.into_iter().enumerate() {
            let header = Header::parse(&[3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]).unwrap();
            for request in [
                Request::Size { ring, size: 8 },
                Request::Addresses { ring, descriptors, used, available },
                Request::Enable { ring, on: true },
            ] {
                assert_eq!(card.answer(header, request), Ok(Answer::Nothing));
            }
        }
        (card, memory)
    }

    /// Makes descriptor `index` of a ring available: `bytes` at `address`, and what follows it.
    fn offer(memory: &GuestMemoryMmap, ring: usize, [index, flags, next]: [u16; 3], address: u64, bytes: u32) {
        let at = TABLES[ring][0] + 16 * u64::from(index);
        memory.write_obj(address, GuestAddress(at)).unwrap();
        memory.write_obj(bytes, GuestAddress(at + 8)).unwrap();
        memory.write_obj([flags, next], GuestAddress(at + 12)).unwrap();
    }

    fn available(memory: &GuestMemoryMmap, ring: usize, heads: &[u16]) {
        let at = TABLES[ring][1];
        for (k, head) in heads.iter().enumerate() {
            memory.write_obj(*head, GuestAddress(at + 4 + 2 * k as u64)).unwrap();
        }
        memory.write_obj(heads.len() as u16, GuestAddress(at + 2)).unwrap();
    }

    #[test]
    fn a_frame_goes_through_each_ring() {
        let (mut card, memory) = card();
        assert_eq!(card.deliver(&[7; 60]), Ok(false), "the kernel has no buffer");
        offer(&memory, RECEIVE, [0, 2, 0], 0x8000, 1530);
        available(&memory, RECEIVE, &[0]);
        assert_eq!(card.deliver(&[7; 60]), Ok(true));
        let mut there = [0; 73];
        memory.read_slice(&mut there, GuestAddress(0x8000)).unwrap();
        assert!(there[0] == CHECKED && there[12..72] == [7; 60] && there[72] == 0);

        memory.write_slice(&[0; 12], GuestAddress(0x9000)).unwrap();
        memory.write_slice(&[9; 40], GuestAddress(0xa000)).unwrap();
        offer(&memory, SEND, [1, 1, 2], 0x9000, 12);
        offer(&memory, SEND, [2, 0, 0], 0xa000, 40);
        available(&memory, SEND, &[1]);
        let mut frames = Vec::new();
        card.take(|frame| frames.push(frame)).unwrap();
        assert_eq!(frames, [vec![9; 40]]);
        assert!(card.wants_room(), "the flag against interrupts is not set");
    }

    #[test]
    fn a_frame_elsewhere_or_without_end_is_a_fault() {
        for (address, bytes) in [(0xffff_0000, 100), (0x9000, 5), (0x9000, u32::MAX), (u64::MAX - 4, 60)] {
            let (mut card, memory) = card();
            offer(&memory, SEND, [0, 0, 0], address, bytes);
            available(&memory, SEND, &[0]);
            assert!(card.take(|_| ()).is_err(), "{address:#x} {bytes}");
        }
        // A chain that goes round in a circle ends after as many descriptors as the ring has.
        let (mut card, memory) = card();
        offer(&memory, SEND, [0, 1, 0], 0x9000, 12);
        available(&memory, SEND, &[0]);
        assert!(card.take(|frame| assert!(frame.len() <= 8 * 12)).is_ok());
    }

    proptest! {
        #[test]
        fn whatever_is_in_its_memory_a_card_ends(
            seeds in proptest::collection::vec((0u64..BYTES as u64, any::<u64>()), 0..200),
            small in proptest::collection::vec((0u64..0x6000, 0u16..9), 0..200),
        ) {
            let (mut card, memory) = card();
            for (at, value) in seeds {
                let _ = memory.write_obj(value, GuestAddress(at));
            }
            for (at, value) in small {
                let _ = memory.write_obj(value, GuestAddress(at));
            }
            for _ in 0..4 {
                let _ = card.deliver(&[5; 1514]);
                let _ = card.take(|frame| assert!(frame.len() <= LONGEST));
                let _ = card.wants_room();
            }
        }
    }
}
