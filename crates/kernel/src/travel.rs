//! The messages by which a user-mode Linux with `time-travel=ext` asks for time (`include/uapi/linux/um_timetravel.h`), and
//! the page that it shares with whoever gives it. Pure, but for the page's mapping.

use crate::error::Fault;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};
use vm_memory::{MmapRegion, VolatileMemory};

/// Bytes of a message.
pub const MESSAGE: usize = 16;

/// A request that can never come true: the kernel sleeps for good (`S64_MAX`).
pub const NEVER: u64 = i64::MAX as u64;

/// The request in a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// An answer.
    Ack,
    /// The kernel begins.
    Start,
    /// It wants to run at a time; only without shared memory.
    Request,
    /// It has nothing more to do.
    Wait,
    /// It asks for the time; only without shared memory.
    Get,
    /// It tells its time; only without shared memory.
    Update,
    /// The kernel may run.
    Run,
    /// It asks for the time of day.
    TimeOfDay,
}

const OPS: [(u32, Op); 8] = [
    (0, Op::Ack),
    (1, Op::Start),
    (2, Op::Request),
    (3, Op::Wait),
    (4, Op::Get),
    (5, Op::Update),
    (6, Op::Run),
    (8, Op::TimeOfDay),
];

/// A message, `struct um_timetravel_msg`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message {
    /// The request in it.
    pub op: Op,
    /// The number that its answer must have.
    pub seq: u32,
    /// A time, ns.
    pub time: u64,
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// If it has another length, or asks for what no kernel with shared memory asks for.
    pub fn parse(bytes: &[u8]) -> Result<Message, Fault> {
        let whole: &[u8; MESSAGE] = bytes.try_into().map_err(|_| Fault("a message of its clock is cut off"))?;
        let [a, b, c, d, e, f, g, h, time @ ..] = *whole;
        let code = u32::from_ne_bytes([a, b, c, d]);
        let op = OPS.iter().find(|(number, _)| *number == code).map(|(_, op)| *op);
        let op = op.ok_or(Fault("its clock asks for something unknown"))?;
        Ok(Message { op, seq: u32::from_ne_bytes([e, f, g, h]), time: u64::from_ne_bytes(time) })
    }

    /// Its bytes.
    pub fn bytes(self) -> [u8; MESSAGE] {
        let code = OPS.iter().find(|(_, op)| *op == self.op).map_or(0, |(number, _)| *number);
        let mut bytes = [0; MESSAGE];
        bytes[..4].copy_from_slice(&code.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.seq.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }
}

/// Bytes of the page: the header's page and one client's, rounded up to pages.
pub const PAGE_BYTES: usize = 8192;
/// The version of `struct um_timetravel_schedshm`.
const VERSION: u32 = 2;
/// Where the only client stands, and where its fields are.
const CLIENT: usize = 4096;
const CAPABILITIES: usize = CLIENT;
const FLAGS: usize = CLIENT + 4;
const REQUEST: usize = CLIENT + 8;
const FREE_UNTIL: usize = 8;
const CURRENT: usize = 16;
const RUNNING: usize = 24;
const CLIENTS: usize = 26;
/// Not of the kernel: its own interrupts lower `free_until`, and this is what it was. `python/haltere/rig/preloaded.c` puts it back.
const WINDOW: usize = 64;
/// `UM_TIMETRAVEL_SCHEDSHM_FLAGS_REQ_RUN`.
const WANTS_TO_RUN: u32 = 1;

/// `struct um_timetravel_schedshm` of one kernel alone, whose client has number 0 and is always the one that runs.
pub struct Page(MmapRegion);

impl Page {
    /// Fills in a page of zeros. The kernel's time begins at 0, and it runs freely until `free_until`, ns.
    ///
    /// # Errors
    /// If the mapping is too short.
    pub fn new(memory: MmapRegion, free_until: u64) -> Result<Page, Fault> {
        if memory.size() < PAGE_BYTES {
            return Err(Fault("the page shared with its clock is too short"));
        }
        let page = Page(memory);
        page.set32(0, VERSION);
        page.set32(4, PAGE_BYTES as u32);
        page.set16(RUNNING, 0);
        page.set16(CLIENTS, 1);
        page.let_run(0, free_until);
        Ok(page)
    }

    // The offsets are those of this file and aligned, and the mapping is long enough: no access fails.
    fn set16(&self, at: usize, value: u16) {
        if let Ok(cell) = self.0.get_atomic_ref::<AtomicU16>(at) {
            cell.store(value, Ordering::Release);
        }
    }
    fn set32(&self, at: usize, value: u32) {
        if let Ok(cell) = self.0.get_atomic_ref::<AtomicU32>(at) {
            cell.store(value, Ordering::Release);
        }
    }
    fn set64(&self, at: usize, value: u64) {
        if let Ok(cell) = self.0.get_atomic_ref::<AtomicU64>(at) {
            cell.store(value, Ordering::Release);
        }
    }
    fn get32(&self, at: usize) -> u32 {
        self.0.get_atomic_ref::<AtomicU32>(at).map_or(0, |cell| cell.load(Ordering::Acquire))
    }

    /// Sets the time, and the time from which on the kernel must ask, ns.
    pub fn let_run(&self, now: u64, free_until: u64) {
        self.set64(CURRENT, now);
        self.set64(FREE_UNTIL, free_until);
        self.set64(WINDOW, free_until);
    }

    /// Has the kernel ask from this time on, ns. It must be no later than before.
    pub fn stop_at(&self, free_until: u64) {
        self.set64(FREE_UNTIL, free_until);
    }

    /// The time that a kernel told last, ns: it does so whenever it notifies a card.
    pub fn told(&self) -> u64 {
        self.0.get_atomic_ref::<AtomicU64>(CURRENT).map_or(0, |cell| cell.load(Ordering::Acquire))
    }

    /// When a waiting kernel wants to run, ns; [`NEVER`] if it does not.
    pub fn request(&self) -> u64 {
        if self.get32(FLAGS) & WANTS_TO_RUN == 0 {
            return NEVER;
        }
        self.0.get_atomic_ref::<AtomicU64>(REQUEST).map_or(NEVER, |cell| cell.load(Ordering::Acquire)).min(NEVER)
    }

    /// Whether the kernel has taken the page.
    pub fn is_shared(&self) -> bool {
        self.get32(CAPABILITIES) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_page_says_when_its_kernel_wants_to_run() {
        let page = Page::new(MmapRegion::new(PAGE_BYTES).unwrap(), 7).unwrap();
        assert!(!page.is_shared() && page.request() == NEVER);
        page.set64(REQUEST, 12);
        assert_eq!(page.request(), NEVER, "a request counts with its flag alone");
        page.set32(FLAGS, WANTS_TO_RUN);
        assert_eq!(page.request(), 12);
        page.set64(REQUEST, u64::MAX);
        assert_eq!(page.request(), NEVER);
        assert!(Page::new(MmapRegion::new(4096).unwrap(), 0).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_a_fault(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(message) = Message::parse(&bytes) {
                prop_assert_eq!(message.bytes().to_vec(), bytes);
            }
        }
    }
}
