//! The loop, and what commands do.

use crate::children::{self, Children};
use crate::netlink;
use crate::sys::{self, Page};
use haltere_kernel::control::{self, Command, ETHER_TYPE, ETHERNET, Event, Frames, HOST, LENGTH, Options, PAGE, ROOM};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, write};
use rustix::mount::{MountFlags, mount};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketFlags, SocketType, acceptfrom_with, bind, connect, ipproto,
    listen, netdevice, recv, send, shutdown, socket_with, sockopt,
};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

/// The number in epoll's data that stands for the card of commands.
const CONTROL: u64 = u64::MAX;
/// The numbers of connections that came in have this bit.
const INCOMING: u32 = 1 << 31;
/// Connections that came in and wait, at most.
const BACKLOG: i32 = 4096;
/// The most bytes that are written in one call.
const PIECE: usize = 1 << 18;
static ZEROS: [u8; PIECE] = [0; PIECE];

struct Socket {
    fd: OwnedFd,
    kind: Kind,
    options: Options,
    /// Bytes to write.
    waiting: u64,
    /// The end of the stream follows them.
    ends: bool,
    /// Nobody listens any more: it is forgotten once all is written.
    closed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Listener,
    Connecting,
    Open,
    /// The peer's stream was read to its end.
    Read,
}

struct Program {
    epoll: OwnedFd,
    control: OwnedFd,
    frames: Frames<Command>,
    sockets: BTreeMap<u32, Socket>,
    accepted: u32,
    events: Vec<Event>,
    /// The page for events, if there is one.
    page: Option<Page>,
    /// Sockets of which the last frame told something.
    told: Vec<u32>,
    /// The programs, once the kernel is a machine for them.
    children: Option<Children>,
}

pub fn run() -> io::Result<()> {
    mount("proc", "/proc", "proc", MountFlags::empty(), None)?;
    let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::empty(), None)?;
    sys::switch_on(any.as_fd(), "eth0")?;
    let control = sys::packet_socket("eth0", ETHER_TYPE)?;
    let page = Page::new().ok();
    let events = vec![Event::Ready { page: page.as_ref().map_or(0, Page::address) }];
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, &control, EventData::new_u64(CONTROL), EventFlags::IN)?;
    let mut program = Program {
        epoll,
        control,
        frames: Frames::default(),
        sockets: BTreeMap::new(),
        accepted: 0,
        events,
        page: None,
        told: Vec::new(),
        children: None,
    };
    program.say()?;
    program.page = page;
    let mut ready = Vec::with_capacity(64);
    loop {
        ready.clear();
        match epoll::wait(&program.epoll, rustix::buffer::spare_capacity(&mut ready), None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        for event in &ready {
            match event.data.u64() {
                CONTROL => program.obey()?,
                children::ENDED => program.reap(),
                children::LOOK => program.look()?,
                socket => program.serve(socket as u32, event.flags),
            }
        }
        program.say()?;
    }
}

impl Program {
    /// Tells what happened: in the page, or in frames when it is full. Its events come first then.
    fn say(&mut self) -> io::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let mut records = control::bytes(&std::mem::take(&mut self.events));
        if let Some(page) = &mut self.page {
            let length = u32::from_le_bytes([0, 1, 2, 3].map(|at| page.get(at))) as usize;
            if LENGTH + length + records.len() <= PAGE {
                page.put(LENGTH + length, &records);
                page.put(0, &((length + records.len()) as u32).to_le_bytes());
                return Ok(());
            }
            let before: Vec<u8> = (LENGTH..LENGTH + length).map(|at| page.get(at)).collect();
            page.put(0, &[0; LENGTH]);
            records.splice(0..0, before);
        }
        for payload in control::payloads(&records) {
            let mut frame = [0; ETHERNET + ROOM];
            frame[..6].fill(0xff);
            frame[6] = 2;
            frame[12..ETHERNET].copy_from_slice(&ETHER_TYPE.to_be_bytes());
            let end = ETHERNET + payload.len();
            frame[ETHERNET..end].copy_from_slice(&payload);
            send(&self.control, &frame[..end], SendFlags::empty())?;
        }
        Ok(())
    }

    /// Carries out the commands of the next frame. A frame that nobody understands is answered by an error.
    fn obey(&mut self) -> io::Result<()> {
        let mut frame = [0; ETHERNET + ROOM];
        let length = match recv(&self.control, &mut frame[..], RecvFlags::DONTWAIT) {
            Ok((_, length)) => length,
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let commands = frame.get(ETHERNET..length).and_then(|payload| self.frames.take(payload));
        let Some(commands) = commands else {
            self.fail(HOST, Errno::PROTO);
            return Ok(());
        };
        for command in commands {
            let (socket, done) = self.carry_out(command);
            if let Err(error) = done {
                self.fail(socket, error);
            }
        }
        // All that was told is known by now: what belongs together is written in one.
        for socket in std::mem::take(&mut self.told) {
            self.write(socket);
        }
        Ok(())
    }

    fn fail(&mut self, socket: u32, error: Errno) {
        self.sockets.remove(&socket);
        self.events.push(Event::Failed { socket, errno: error.raw_os_error() });
    }

    fn carry_out(&mut self, command: Command) -> (u32, Result<(), Errno>) {
        match command {
            Command::Set { name, value } => (HOST, set(&name, &value)),
            Command::Address { card, alias, address, prefix } => (HOST, give_address((card, alias), address, prefix)),
            Command::Route { card, to, advmss, initcwnd } => (HOST, set_route(card, to, advmss, initcwnd)),
            Command::Load { image, options } => (HOST, load(&image, &options)),
            Command::Subflows(most) => (HOST, netlink::subflows(most).map_err(errno)),
            Command::Endpoint { address, flags } => (HOST, netlink::endpoint(address, flags).map_err(errno)),
            Command::Listen { socket, local, congestion, options } => {
                (socket, self.listen(socket, local, &congestion, options))
            }
            Command::Connect { socket, local, remote, congestion, options } => {
                (socket, self.connect(socket, (local, remote), &congestion, options))
            }
            Command::Write { socket, bytes } => {
                if let Some(one) = self.sockets.get_mut(&socket) {
                    one.waiting = one.waiting.saturating_add(bytes);
                    self.told.push(socket);
                }
                (socket, Ok(()))
            }
            Command::Finish { socket } => {
                if let Some(one) = self.sockets.get_mut(&socket) {
                    one.ends = true;
                    self.told.push(socket);
                }
                (socket, Ok(()))
            }
            Command::Close { socket } => {
                if let Some(one) = self.sockets.get_mut(&socket) {
                    one.closed = true;
                    self.told.push(socket);
                }
                (socket, Ok(()))
            }
            Command::Sample { socket } => {
                if let Some(info) = self.sockets.get(&socket).and_then(|one| sys::tcp_info(one.fd.as_fd()).ok()) {
                    self.events.push(Event::Info { socket, info });
                }
                (socket, Ok(()))
            }
            Command::Furnish { folder, at } => (HOST, self.furnish(&folder, &at)),
            Command::Spawn { child, launch } => (child, self.with_children(|all| all.spawn(child, &launch))),
            Command::Await { child, protocol, port } => {
                (child, self.with_children(|all| all.wait_for(child, protocol, port)))
            }
            Command::Kill { child } => (
                child,
                self.with_children(|all| {
                    all.kill(child);
                    Ok(())
                }),
            ),
        }
    }

    /// Makes the kernel a machine for programs, once. All events come in frames from now on: frames tell when they were sent, also while the
    /// kernel runs ahead.
    fn furnish(&mut self, folder: &str, at: &str) -> Result<(), Errno> {
        if self.children.is_none() {
            self.page = None;
            self.children = Some(children::furnish(&self.epoll, folder, at)?);
        }
        Ok(())
    }

    fn with_children(&mut self, act: impl FnOnce(&mut Children) -> Result<(), Errno>) -> Result<(), Errno> {
        self.children.as_mut().map_or(Err(Errno::NODEV), act)
    }

    fn reap(&mut self) {
        if let Some(children) = &mut self.children {
            children.reap(&mut self.events);
        }
    }

    fn look(&mut self) -> io::Result<()> {
        match &mut self.children {
            Some(children) => Ok(children.look(&mut self.events)?),
            None => Ok(()),
        }
    }

    fn listen(&mut self, socket: u32, local: SocketAddrV4, congestion: &str, options: Options) -> Result<(), Errno> {
        let fd = new_socket(local, congestion, options)?;
        listen(&fd, BACKLOG)?;
        self.keep(socket, fd, Kind::Listener, options)
    }

    fn connect(
        &mut self,
        socket: u32,
        (local, remote): (SocketAddrV4, SocketAddrV4),
        congestion: &str,
        options: Options,
    ) -> Result<(), Errno> {
        let fd = new_socket(local, congestion, options)?;
        match connect(&fd, &remote) {
            Ok(()) | Err(Errno::INPROGRESS) => self.keep(socket, fd, Kind::Connecting, options),
            Err(error) => Err(error),
        }
    }

    fn keep(&mut self, socket: u32, fd: OwnedFd, kind: Kind, options: Options) -> Result<(), Errno> {
        // Each change is told once: what is told is done at once, and as far as it can be.
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(&self.epoll, &fd, EventData::new_u64(u64::from(socket)), flags)?;
        self.sockets.insert(socket, Socket { fd, kind, options, waiting: 0, ends: false, closed: false });
        Ok(())
    }

    /// Does what a socket is ready for.
    fn serve(&mut self, socket: u32, ready: EventFlags) {
        let Some(one) = self.sockets.get_mut(&socket) else { return };
        if one.kind == Kind::Listener {
            return self.accept(socket);
        }
        if ready.intersects(EventFlags::ERR) {
            let error = match sockopt::socket_error(&one.fd) {
                Ok(Err(error)) | Err(error) => error,
                Ok(Ok(())) => Errno::CONNRESET,
            };
            return self.fail(socket, error);
        }
        if one.kind == Kind::Connecting && ready.intersects(EventFlags::OUT) {
            one.kind = Kind::Open;
            self.events.push(Event::Connected { socket });
        }
        if ready.intersects(EventFlags::IN | EventFlags::RDHUP | EventFlags::HUP) {
            self.read(socket, ready.intersects(EventFlags::RDHUP | EventFlags::HUP));
        }
        if ready.intersects(EventFlags::OUT) {
            self.write(socket);
        }
    }

    /// Reads all there is, and the end of the stream if there is one.
    fn read(&mut self, socket: u32, to_the_end: bool) {
        let Some(one) = self.sockets.get_mut(&socket).filter(|one| one.kind == Kind::Open) else { return };
        loop {
            match sys::discard(one.fd.as_fd()) {
                Ok(0) => {
                    one.kind = Kind::Read;
                    return self.events.push(Event::Finished { socket });
                }
                Ok(bytes) => {
                    if one.options.acks_at_once {
                        let _ = sockopt::set_tcp_quickack(&one.fd, true);
                    }
                    self.events.push(Event::Received { socket, bytes });
                    if !to_the_end {
                        return;
                    }
                }
                Err(error) => {
                    return match Errno::from_io_error(&error) {
                        Some(Errno::AGAIN | Errno::INTR) => {}
                        error => self.fail(socket, error.unwrap_or(Errno::IO)),
                    };
                }
            }
        }
    }

    /// Writes what waits, as far as there is room.
    fn write(&mut self, socket: u32) {
        let Some(one) = self.sockets.get_mut(&socket).filter(|one| matches!(one.kind, Kind::Open | Kind::Read)) else {
            return;
        };
        while one.waiting > 0 {
            let piece = usize::try_from(one.waiting).unwrap_or(PIECE).min(PIECE);
            // The last bytes wait for the end of the stream, which then goes with them. MPTCP's goes apart.
            let last = one.ends && piece as u64 == one.waiting;
            let more = if last && !one.options.multipath { SendFlags::MORE } else { SendFlags::empty() };
            match send(&one.fd, &ZEROS[..piece], SendFlags::DONTWAIT | SendFlags::NOSIGNAL | more) {
                Ok(written) => one.waiting -= written as u64,
                Err(Errno::AGAIN) => return,
                Err(Errno::INTR) => {}
                Err(error) => return self.fail(socket, error),
            }
        }
        if std::mem::take(&mut one.ends) {
            let _ = shutdown(&one.fd, Shutdown::Write);
        }
        if one.closed {
            self.sockets.remove(&socket);
        }
    }

    /// Takes the connections that came in.
    fn accept(&mut self, listener: u32) {
        while let Some(one) = self.sockets.get(&listener) {
            let Ok((fd, remote)) = acceptfrom_with(&one.fd, SocketFlags::NONBLOCK) else { return };
            let options = one.options;
            let remote = remote.and_then(|address| SocketAddrV4::try_from(address).ok());
            let socket = INCOMING | self.accepted;
            self.accepted = (self.accepted + 1) & !INCOMING;
            let Some(remote) = remote else { continue };
            self.events.push(Event::Accepted { listener, socket, remote });
            let ready = sockopt::set_tcp_nodelay(&fd, !options.nagle);
            if let Err(error) = ready.and_then(|()| self.keep(socket, fd, Kind::Open, options)) {
                self.fail(socket, error);
            }
        }
    }
}

fn new_socket(local: SocketAddrV4, congestion: &str, options: Options) -> Result<OwnedFd, Errno> {
    let protocol = options.multipath.then_some(ipproto::MPTCP);
    let fd = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::NONBLOCK, protocol)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    sockopt::set_tcp_nodelay(&fd, !options.nagle)?;
    sockopt::set_tcp_congestion(&fd, congestion)?;
    if options.paced {
        sys::pace(fd.as_fd()).map_err(errno)?;
    }
    if options.tos != 0 {
        sockopt::set_ip_tos(&fd, options.tos)?;
    }
    bind(&fd, &local)?;
    Ok(fd)
}

fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}

/// Writes a parameter of the network, whose name is checked: it names a file below `/proc/sys/net`.
fn set(name: &str, value: &str) -> Result<(), Errno> {
    let fits =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if !name.starts_with("net.") || !name.split('.').all(fits) {
        return Err(Errno::INVAL);
    }
    let path = format!("/proc/sys/{}", name.replace('.', "/"));
    let file = openat(CWD, path, OFlags::WRONLY, Mode::empty())?;
    write(&file, value.as_bytes()).map(|_| ())
}

fn give_address((card, alias): (u8, u8), address: Ipv4Addr, prefix: u8) -> Result<(), Errno> {
    let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::empty(), None)?;
    let name = if alias == 0 { format!("eth{card}") } else { format!("eth{card}:{alias}") };
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
    sys::set_address(any.as_fd(), &name, address, Ipv4Addr::from_bits(mask)).map_err(errno)?;
    if alias == 0 { sys::switch_on(any.as_fd(), &name).map_err(errno) } else { Ok(()) }
}

fn load(image: &[u8], options: &str) -> Result<(), Errno> {
    let options = std::ffi::CString::new(options).map_err(|_| Errno::INVAL)?;
    rustix::system::init_module(image, &options)
}

fn set_route(card: u8, to: Ipv4Addr, advmss: Option<u32>, initcwnd: Option<u32>) -> Result<(), Errno> {
    let any = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::empty(), None)?;
    let index = netdevice::name_to_index(&any, &format!("eth{card}"))?;
    netlink::route(index, to, advmss, initcwnd).map_err(errno)
}
