//! A kernel that runs when it is told to, at the time that it is told.

use crate::boot::Boot;
use crate::card::{Answer, Card, Memory, Notify};
use crate::error::{Error, Fault};
use crate::pin::{self, Pin};
use crate::process::Process;
use crate::travel::{self, Message, Op, PAGE_BYTES, Page};
use crate::vhost::{self, HEADER, Header};
use haltere_net::{Span, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::{Errno, write};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair, sockopt,
};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use vm_memory::{FileOffset, GuestAddress, GuestMemoryMmap, MmapRegion};

/// How long it is waited before it is looked whether the kernel is alive.
const SLICE: Duration = Duration::from_millis(100);
/// The time of day at which kernels begin, ns since 1970: 2024-01-01. No result depends on it.
const TIME_OF_DAY: u64 = 1_704_067_200_000_000_000;
/// The most times that a kernel may run at one instant, and the most messages before it waits.
const ROUNDS: u32 = 100_000;
/// No ring is to be told anything.
const NO_INTERRUPTS: [bool; vhost::RINGS] = [false; vhost::RINGS];
/// The most frames that it may send at one instant.
const FRAMES: usize = 1 << 20;

/// A card with its socket and the pipe for its interrupts.
struct Slot {
    card: Card,
    socket: OwnedFd,
    pipe: Option<OwnedFd>,
    incoming: VecDeque<Vec<u8>>,
    interrupt: [bool; vhost::RINGS],
}

/// A user-mode Linux whose clock and network cards are ours. It computes only within [`Kernel::boot`] and [`Kernel::run`], and no time
/// passes for it meanwhile, but for the 256 ns that reading the clock costs a process inside, after which it wants to run again.
pub struct Kernel {
    process: Process,
    clock: OwnedFd,
    page: Page,
    slots: Vec<Slot>,
    sent: VecDeque<(usize, Vec<u8>)>,
    /// Times of the kernel's clock, ns.
    now: u64,
    wake: u64,
    /// It runs freely until then.
    window: u64,
    /// When it has sent something in this window.
    sent_at: Option<u64>,
    origin: u64,
    patience: Duration,
    /// Why it has ended.
    over: Option<Error>,
    booting: bool,
    /// When its cards say that they send something.
    notify: Notify,
    dropped: u64,
    rounds: u64,
    requests: u32,
    _pin: Option<Arc<Pin>>,
}

fn host<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> Error {
    move |e| Error::host(what, e)
}

impl Kernel {
    /// Starts a kernel and runs it until it has nothing more to do before the origin of the run.
    ///
    /// # Errors
    /// If it cannot be started, dies, hangs, or was built without what this needs. The error says so, and the remedy.
    pub fn boot(boot: &Boot) -> Result<Kernel, Error> {
        let pin = pin::here();
        let pair =
            |kind| socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map_err(host("make a socket"));
        let (clock, theirs) = pair(SocketType::SEQPACKET)?;
        sockopt::set_socket_timeout(&clock, sockopt::Timeout::Recv, Some(SLICE)).map_err(host("time a socket"))?;
        let shared = memfd_create("clock", MemfdFlags::CLOEXEC).map_err(host("make memory"))?;
        ftruncate(&shared, PAGE_BYTES as u64).map_err(host("make memory"))?;
        let copy = || shared.try_clone().map_err(host("make memory"));
        let (mut slots, mut handed) = (Vec::new(), vec![theirs, copy()?]);
        for identity in &boot.cards {
            let (socket, theirs) = pair(SocketType::STREAM)?;
            handed.push(theirs);
            let card = Card::new(*identity).map_err(|Fault(why)| Error::Broken(why, String::new()))?;
            slots.push(Slot { card, socket, pipe: None, incoming: VecDeque::new(), interrupt: NO_INTERRUPTS });
        }
        let file = File::from(copy()?);
        let memory = MmapRegion::from_file(FileOffset::new(file, 0), PAGE_BYTES).map_err(host("map memory"))?;
        let origin = boot.origin.as_nanos();
        let page = Page::new(memory, origin).map_err(|Fault(why)| Error::Broken(why, String::new()))?;
        let process = Process::start(boot, &handed)?;
        drop(handed);
        let mut kernel = Kernel {
            process,
            clock,
            page,
            slots,
            sent: VecDeque::new(),
            now: 0,
            wake: travel::NEVER,
            window: origin,
            sent_at: None,
            origin,
            patience: boot.patience,
            over: None,
            booting: true,
            notify: Notify::Never,
            dropped: 0,
            rounds: 0,
            requests: 0,
            _pin: pin,
        };
        kernel.come_up(&shared, boot)?;
        Ok(kernel)
    }

    fn come_up(&mut self, page: &OwnedFd, boot: &Boot) -> Result<(), Error> {
        let remedy = |what| {
            let program = boot.program.display();
            Error::Missing(format!("the kernel {program} {what}: build another one by `haltere kernel build`"))
        };
        let start = self.hear().map_err(|e| match e {
            Error::Died(console) => remedy(format!("cannot take its clock from outside ({console})")),
            e => e,
        })?;
        if start.op != Op::Start {
            return Err(self.broken(Fault("its clock does not begin with a start")));
        }
        self.start(start.seq, page)?;
        self.until_it_waits()?;
        if !self.page.is_shared() {
            return Err(remedy("shares no memory with its clock".into()));
        }
        if self.slots.iter().any(|slot| slot.pipe.is_none()) {
            let console = self.process.last_words();
            return Err(remedy(format!("has no network cards of virtio ({console})")));
        }
        self.collect()?;
        self.booting = false;
        Ok(())
    }

    /// Answers the start with the page; a second descriptor is wanted, for a log that the kernel does not write.
    fn start(&mut self, seq: u32, page: &OwnedFd) -> Result<(), Error> {
        let bytes = Message { op: Op::Ack, seq, time: 0 }.bytes();
        let fds = [page.as_fd(), page.as_fd()];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut more = SendAncillaryBuffer::new(&mut room);
        more.push(SendAncillaryMessage::ScmRights(&fds));
        sendmsg(&self.clock, &[IoSlice::new(&bytes)], &mut more, SendFlags::NOSIGNAL).map_err(|e| self.lost(e))?;
        Ok(())
    }

    /// Hands a frame to a card, for the next run. A frame that the kernel has no room for is lost.
    pub fn deliver(&mut self, card: usize, frame: Vec<u8>) {
        if let Some(slot) = self.slots.get_mut(card) {
            slot.incoming.push_back(frame);
        }
    }

    /// Runs the kernel at a time until it has nothing more to do then.
    ///
    /// # Errors
    /// If the kernel dies, hangs, or breaks a protocol. It does not run any more then.
    pub fn run(&mut self, now: Time) -> Result<(), Error> {
        self.run_ahead(now, now).map(|_| ())
    }

    /// Runs the kernel at a time, and on through later instants before `until` as long as it sends nothing. Returns the time of what it has
    /// sent. It has then done all that there was to do at that time, and asks for the next. What it does is the same with any `until`
    /// before which nothing comes to it; a kernel whose programs read the clock often runs faster if it need not ask at each reading.
    ///
    /// # Errors
    /// As [`Kernel::run`].
    pub fn run_ahead(&mut self, now: Time, until: Time) -> Result<Time, Error> {
        if let Some(why) = &self.over {
            return Err(why.clone());
        }
        let [now, until] = [now, until].map(|time| time.as_nanos().saturating_add(self.origin));
        let done = self.run_up_to(now, until.clamp(now.saturating_add(1), travel::NEVER));
        if let Err(why) = &done {
            self.over = Some(why.clone());
            self.wake = travel::NEVER;
        }
        done.map(|at| Time::ZERO + Span::from_nanos(at.saturating_sub(self.origin)))
    }

    fn run_up_to(&mut self, now: u64, until: u64) -> Result<u64, Error> {
        if now < self.now || now >= travel::NEVER {
            return Err(Error::Host(format!("a kernel cannot run at {now} ns: its time is {} ns", self.now)));
        }
        if self.wake < now {
            // A kernel does not survive that its time passes a timer, so timers that are due earlier run first. Frames wait meanwhile.
            let waiting: Vec<_> = self.slots.iter_mut().map(|slot| std::mem::take(&mut slot.incoming)).collect();
            while self.wake < now {
                self.run_at(self.wake, self.wake + 1)?;
            }
            for (slot, frames) in self.slots.iter_mut().zip(waiting) {
                slot.incoming = frames;
            }
        }
        self.run_at(now, until)
    }

    /// Runs the kernel from a time on, until another one or until it sends something. Returns the time of what it has sent.
    fn run_at(&mut self, mut at: u64, mut until: u64) -> Result<u64, Error> {
        for _ in 0..ROUNDS {
            self.rounds += 1;
            // Whatever it wants to do later, it asks for.
            self.open_window(at, until)?;
            let more = self.fill()?;
            if more {
                self.open_window(at, at + 1)?;
            }
            let go = Message { op: Op::Run, seq: 0, time: at }.bytes();
            send(&self.clock, &go, SendFlags::NOSIGNAL).map_err(|e| self.lost(e))?;
            self.until_it_waits()?;
            let sent = self.sent.len();
            self.collect()?;
            at = self.sent_at.take().unwrap_or(at);
            if self.sent.len() > sent {
                if self.notify == Notify::AtOnce {
                    return Err(self.broken(Fault("it sends without saying so")));
                }
                until = at + 1;
            }
            if self.wake < until {
                at = at.max(self.wake);
            } else if !more && self.slots.iter().all(|slot| slot.interrupt == NO_INTERRUPTS) {
                self.now = self.window - 1;
                return Ok(at);
            }
        }
        Err(self.broken(Fault("it never has enough of one instant")))
    }

    /// Lets the kernel run freely until a time. If that is more than an instant, it must say when it sends something.
    fn open_window(&mut self, at: u64, until: u64) -> Result<(), Error> {
        (self.now, self.window, self.requests) = (at, until, 0);
        self.page.let_run(at, until);
        self.tell_cards(if until > at + 1 { Notify::AtOnce } else { Notify::Never })
    }

    fn tell_cards(&mut self, notify: Notify) -> Result<(), Error> {
        if std::mem::replace(&mut self.notify, notify) == notify {
            return Ok(());
        }
        let fault = self.slots.iter_mut().find_map(|slot| slot.card.notify(notify).err());
        fault.map_or(Ok(()), |why| Err(self.broken(why)))
    }

    /// The kernel has said that it sends something: it may do what there is to do at this instant, and asks then.
    fn close_window(&mut self) -> Result<(), Error> {
        let told = self.page.told();
        if self.notify == Notify::Never {
            return Ok(());
        }
        if told < self.now || told >= self.window {
            return Err(self.broken(Fault("it tells a time that it was not given")));
        }
        (self.window, self.sent_at) = (told + 1, Some(told));
        self.page.stop_at(told + 1);
        self.tell_cards(Notify::Never)
    }

    /// Puts frames into the cards' rings, as far as there is room, and interrupts the kernel for them. Returns whether some are left.
    fn fill(&mut self) -> Result<bool, Error> {
        let mut left = false;
        for slot in 0..self.slots.len() {
            let slot = &mut self.slots[slot];
            let mut given = 0;
            let mut fault = None;
            while let Some(frame) = slot.incoming.front() {
                match slot.card.deliver(frame) {
                    Ok(true) => given += 1,
                    Ok(false) => break,
                    Err(why) => {
                        fault = Some(why);
                        break;
                    }
                }
                slot.incoming.pop_front();
            }
            if given == 0 {
                // It had its chance to make room.
                self.dropped += slot.incoming.len() as u64;
                slot.incoming.clear();
            }
            slot.interrupt[0] |= given > 0;
            left |= !slot.incoming.is_empty();
            let mut lost = None;
            for (ring, wanted) in slot.interrupt.iter_mut().enumerate() {
                if let (true, Some(pipe)) = (std::mem::take(wanted), &slot.pipe) {
                    lost = write(pipe, &vhost::interrupt(ring)).err().or(lost);
                }
            }
            if let Some(why) = fault {
                return Err(self.broken(why));
            }
            if let Some(why) = lost {
                return Err(self.lost(why));
            }
        }
        Ok(left)
    }

    /// Takes the frames that the kernel has sent.
    fn collect(&mut self) -> Result<(), Error> {
        for card in 0..self.slots.len() {
            let (slot, sent) = (&mut self.slots[card], &mut self.sent);
            let mut any = false;
            let done = slot.card.take(|frame| {
                any = true;
                sent.push_back((card, frame));
            });
            // It waits for room if the ring was full: there is room now.
            slot.interrupt[1] = any && slot.card.wants_room();
            done.map_err(|why| self.broken(why))?;
        }
        if self.sent.len() > FRAMES { Err(self.broken(Fault("it sends without end"))) } else { Ok(()) }
    }

    /// The next frame that the kernel has sent, with its card.
    pub fn take(&mut self) -> Option<(usize, Vec<u8>)> {
        self.sent.pop_front()
    }

    /// The kernel's memory. Whatever is read there is to be taken as hostile.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        self.slots.first()?.card.memory()
    }

    /// When the kernel wants to run next, or [`Time::NEVER`].
    pub fn next_wake(&self) -> Time {
        match self.wake {
            travel::NEVER => Time::NEVER,
            wake => Time::ZERO + Span::from_nanos(wake.saturating_sub(self.origin)),
        }
    }

    /// The kernel's own time at the latest. It cannot run earlier any more.
    pub fn passed(&self) -> Time {
        Time::ZERO + Span::from_nanos(self.now.saturating_sub(self.origin))
    }

    /// Frames that the kernel had no room for.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How often it was told to run.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The number of its process on the host.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The last lines of its console, in one.
    pub fn last_words(&mut self) -> String {
        self.process.last_words()
    }

    /// Serves the kernel until it waits, and notes when it wants to run next.
    fn until_it_waits(&mut self) -> Result<(), Error> {
        for _ in 0..ROUNDS {
            let message = self.hear()?;
            let time = match message.op {
                Op::Wait => {
                    self.wake = self.page.request();
                    return Ok(());
                }
                Op::TimeOfDay => TIME_OF_DAY,
                Op::Get => self.now,
                Op::Request | Op::Update => 0,
                Op::Ack | Op::Start | Op::Run => return Err(self.broken(Fault("its clock says what only we say"))),
            };
            let answer = Message { op: Op::Ack, seq: message.seq, time }.bytes();
            send(&self.clock, &answer, SendFlags::NOSIGNAL).map_err(|e| self.lost(e))?;
        }
        Err(self.broken(Fault("it asks for the time without end")))
    }

    /// The next message of its clock. Meanwhile its cards are served: while it boots or may say that it sends something, and otherwise when
    /// it says nothing for long.
    fn hear(&mut self) -> Result<Message, Error> {
        let mut bytes = [0; travel::MESSAGE + 1];
        let mut waited = Duration::ZERO;
        loop {
            let serving = self.booting || self.notify == Notify::AtOnce;
            if serving && !self.serve(SLICE)? {
                waited += SLICE;
            }
            let flags = if serving { RecvFlags::DONTWAIT } else { RecvFlags::empty() };
            match recv(&self.clock, &mut bytes[..], flags) {
                Ok((_, 0)) => return Err(self.lost(Errno::PIPE)),
                Ok((_, length)) => {
                    return Message::parse(bytes.get(..length).unwrap_or(&bytes)).map_err(|why| self.broken(why));
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if serving => {}
                Err(Errno::AGAIN) => {
                    waited += SLICE;
                    self.serve(Duration::ZERO)?;
                }
                Err(why) => return Err(self.lost(why)),
            }
            if waited >= self.patience {
                return Err(Error::Hangs(self.process.last_words()));
            }
            if waited > Duration::ZERO && self.process.has_ended() {
                return Err(self.lost(Errno::PIPE));
            }
        }
    }

    /// Waits for a message, at most for `time`, and answers one request of each card. Returns whether there was anything.
    fn serve(&mut self, time: Duration) -> Result<bool, Error> {
        let time = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: i64::from(time.subsec_nanos()) };
        let mut fds = vec![PollFd::new(&self.clock, PollFlags::IN)];
        fds.extend(self.slots.iter().map(|slot| PollFd::new(&slot.socket, PollFlags::IN)));
        let any = match poll(&mut fds, Some(&time)) {
            Ok(number) => number > 0,
            Err(Errno::INTR) => false,
            Err(why) => return Err(Error::host("wait for a kernel", why)),
        };
        let ready: Vec<bool> = fds[1..].iter().map(|fd| !fd.revents().is_empty()).collect();
        for (card, _) in ready.into_iter().enumerate().filter(|(_, ready)| *ready) {
            self.request(card)?;
        }
        Ok(any)
    }

    /// Reads a request of a card, with the descriptors that come along.
    fn request(&mut self, card: usize) -> Result<(), Error> {
        self.requests += 1;
        if self.requests > ROUNDS {
            return Err(self.broken(Fault("a network card is set up without end")));
        }
        let socket = &self.slots[card].socket;
        let mut head = [0; HEADER];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut more = RecvAncillaryBuffer::new(&mut room);
        let flags = RecvFlags::WAITALL | RecvFlags::CMSG_CLOEXEC;
        let got = recvmsg(socket, &mut [IoSliceMut::new(&mut head)], &mut more, flags);
        let fds: Vec<OwnedFd> = more
            .drain()
            .filter_map(|message| if let RecvAncillaryMessage::ScmRights(fds) = message { Some(fds) } else { None })
            .flatten()
            .collect();
        match got {
            Ok(got) if got.bytes == HEADER => {}
            Err(Errno::INTR | Errno::AGAIN) => return Ok(()),
            _ => return Err(self.lost(Errno::PIPE)),
        }
        // The kernel writes header and payload in one.
        let whole = Header::parse(&head).and_then(|header| {
            let mut payload = vec![0; header.payload];
            if payload.is_empty() {
                return Ok((header, header.request(&[])?));
            }
            match recv(socket, &mut payload[..], RecvFlags::DONTWAIT) {
                Ok((_, length)) if length == header.payload => Ok((header, header.request(&payload)?)),
                _ => Err(Fault("a request of a network card is cut off")),
            }
        });
        let (header, request) = whole.map_err(|why| self.broken(why))?;
        if request == vhost::Request::Kick && !self.booting {
            self.close_window()?;
        }
        let answer = self.slots[card].card.answer(header, request).map_err(|why| self.broken(why))?;
        self.answer(card, answer, fds)
    }

    fn answer(&mut self, card: usize, answer: Answer, mut fds: Vec<OwnedFd>) -> Result<(), Error> {
        let bytes = match answer {
            Answer::Nothing => None,
            Answer::Bytes(bytes) => Some(bytes),
            Answer::Pipe(bytes) => {
                let pipe = fds.pop().ok_or_else(|| self.broken(Fault("a network card has no pipe for interrupts")))?;
                self.slots[card].pipe = Some(pipe);
                bytes
            }
            Answer::Memory(regions, bytes) => {
                let memory = map(&regions, fds).map_err(|why| self.broken(why))?;
                self.slots[card].card.remember(memory);
                bytes
            }
        };
        if let Some(bytes) = bytes {
            send(&self.slots[card].socket, &bytes, SendFlags::NOSIGNAL).map_err(|e| self.lost(e))?;
        }
        Ok(())
    }

    fn broken(&mut self, Fault(why): Fault) -> Error {
        Error::Broken(why, self.process.last_words())
    }

    fn lost(&mut self, why: Errno) -> Error {
        match why {
            Errno::PIPE | Errno::CONNRESET => Error::Died(self.process.how_it_ended()),
            why => Error::host("speak with a kernel", why),
        }
    }
}

/// Maps a kernel's memory, each region in the file that came along for it.
fn map(regions: &[vhost::Region], fds: Vec<OwnedFd>) -> Result<GuestMemoryMmap, Fault> {
    const WRONG: Fault = Fault("a kernel's memory cannot be mapped");
    if fds.len() != regions.len() {
        return Err(WRONG);
    }
    let mut ranges = Vec::new();
    for (region, fd) in regions.iter().zip(fds) {
        let file = File::from(fd);
        let there = file.metadata().map_err(|_| WRONG)?.len();
        // Beyond a file's end there is a mapping, and no memory.
        if region.offset.checked_add(region.bytes).is_none_or(|end| end > there) {
            return Err(Fault("a kernel's memory is longer than its file"));
        }
        let bytes = usize::try_from(region.bytes).map_err(|_| WRONG)?;
        ranges.push((GuestAddress(region.address), bytes, Some(FileOffset::new(file, region.offset))));
    }
    ranges.sort_by_key(|(address, ..)| *address);
    GuestMemoryMmap::from_ranges_with_files(&ranges).map_err(|_| WRONG)
}
