//! The words between the simulator and the program inside a kernel: commands one way, events the other. They are records of postcard in
//! Ethernet frames on a card of their own; events stand in a page of memory, which is looked at whenever the kernel waits, as far as that
//! has room: a system call less for each. Both sides read the other's bytes as hostile.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The EtherType of the frames: the first for local experiments (IEEE 802, clause 9.2.4).
pub const ETHER_TYPE: u16 = 0x88b5;
/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// The most bytes of a frame's payload.
pub const ROOM: usize = 1500;
/// The most bytes of records that belong together.
const MOST: usize = 1 << 21;
/// Bytes of the page for events, and those of the length before them.
pub const PAGE: usize = 4096;
/// See [`PAGE`].
pub const LENGTH: usize = 4;
/// The socket that stands for the host itself where an event needs one.
pub const HOST: u32 = u32::MAX;

/// Options of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Options {
    /// It is of MPTCP, which uses the paths that the kernel's path manager knows.
    pub multipath: bool,
    /// TCP paces (`SO_MAX_PACING_RATE`).
    pub paced: bool,
    /// Data is acknowledged as soon as it is read (`TCP_QUICKACK`).
    pub acks_at_once: bool,
    /// Nagle's algorithm stays (`TCP_NODELAY` is not set).
    pub nagle: bool,
    /// The type-of-service byte of its packets; its two ECN bits are TCP's own (`IP_TOS`).
    pub tos: u8,
}

/// Something that the program inside is to do.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Write a value to a file below `/proc/sys/net`.
    Set {
        /// The parameter, such as `net.ipv4.tcp_ecn`.
        name: String,
        /// Its value.
        value: String,
    },
    /// Give a card an address, and use it.
    Address {
        /// The number in its name `eth…`.
        card: u8,
        /// The number of the address among the card's, from 0.
        alias: u8,
        /// The address.
        address: Ipv4Addr,
        /// How many of the address's first bits are those of all hosts that the card leads to.
        prefix: u8,
    },
    /// Tell what is known of the way to a host of the card's network: a route with metrics.
    Route {
        /// The number in the card's name.
        card: u8,
        /// To where.
        to: Ipv4Addr,
        /// The largest segment that is announced, bytes, with options (`advmss`).
        advmss: Option<u32>,
        /// The initial window, segments (`initcwnd`).
        initcwnd: Option<u32>,
    },
    /// Load a module.
    Load {
        /// The bytes of its file.
        image: Vec<u8>,
        /// Values of its parameters, such as `a=1 b=2`.
        options: String,
    },
    /// Let MPTCP's path manager use so many further subflows.
    Subflows(u8),
    /// Tell an address to MPTCP's path manager.
    Endpoint {
        /// The address.
        address: Ipv4Addr,
        /// Its flags: `MPTCP_PM_ADDR_FLAG_…` of linux/mptcp_pm.h.
        flags: u32,
    },
    /// Wait for connections.
    Listen {
        /// The number by which the socket is known from now on.
        socket: u32,
        /// Where.
        local: SocketAddrV4,
        /// The congestion control of its connections, as Linux names it.
        congestion: String,
        /// The options of the socket, or of those that come.
        options: Options,
    },
    /// Open a connection.
    Connect {
        /// The number by which the socket is known from now on.
        socket: u32,
        /// From where.
        local: SocketAddrV4,
        /// To where.
        remote: SocketAddrV4,
        /// Its congestion control, as Linux names it.
        congestion: String,
        /// The options of the socket, or of those that come.
        options: Options,
    },
    /// Write so many bytes, now or as soon as there is room.
    Write {
        /// The socket.
        socket: u32,
        /// The number of bytes.
        bytes: u64,
    },
    /// Send the end of the stream after what was written.
    Finish {
        /// The socket.
        socket: u32,
    },
    /// Forget the socket; what was written is still sent.
    Close {
        /// The socket.
        socket: u32,
    },
    /// Tell the kernel's own state of the connection.
    Sample {
        /// The socket.
        socket: u32,
    },
    /// Make the kernel a machine for programs: the file systems that they expect, the loopback, and one folder of the host's that can be
    /// written.
    Furnish {
        /// The folder, by its path on the host.
        folder: String,
        /// Where it is seen inside, below `/run`.
        at: String,
    },
    /// Start a program.
    Spawn {
        /// The number by which the program is known from now on, among the sockets' numbers.
        child: u32,
        /// How it is started.
        launch: Launch,
    },
    /// Tell when a port is open.
    Await {
        /// The program that is to open it.
        child: u32,
        /// Its protocol.
        protocol: Protocol,
        /// Its number.
        port: u16,
    },
    /// End a program and all that it has started.
    Kill {
        /// The program.
        child: u32,
    },
}

/// How a program is started.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The program's path, and its arguments.
    pub argv: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
    /// Its working folder.
    pub folder: String,
    /// The file that takes whatever it prints.
    pub log: String,
}

/// A protocol with ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// How a program has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Ending {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Something that happened inside.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Event {
    /// The program has begun.
    Ready {
        /// The physical address of its page for events: their length in bytes (4 bytes), which whoever has read them sets to 0, and the
        /// events. 0 if there is none.
        page: u64,
    },
    /// A connection that was opened is there.
    Connected {
        /// The socket.
        socket: u32,
    },
    /// A connection came in; it is known by `socket` from now on.
    Accepted {
        /// The socket that waits for connections.
        listener: u32,
        /// The new socket; its number is the program's, and has its first bit set.
        socket: u32,
        /// From where.
        remote: SocketAddrV4,
    },
    /// Bytes were read.
    Received {
        /// The socket.
        socket: u32,
        /// Their number.
        bytes: u64,
    },
    /// The peer has ended its stream, all of which was read.
    Finished {
        /// The socket.
        socket: u32,
    },
    /// A command could not be carried out, or a connection has failed; a socket is not known any more then.
    Failed {
        /// The socket, or [`HOST`].
        socket: u32,
        /// The error, as Linux numbers it.
        errno: i32,
    },
    /// The kernel's own state of a connection: `struct tcp_info` of linux/tcp.h.
    Info {
        /// The socket.
        socket: u32,
        /// The structure, as long as the kernel has it.
        info: Vec<u8>,
    },
    /// A port for which somebody waited is open.
    Listening {
        /// The program that opened it.
        child: u32,
    },
    /// A program has ended.
    Exited {
        /// The program; it is not known any more.
        child: u32,
        /// How.
        ending: Ending,
    },
}

/// The records that stand one after the other in these bytes. `None` if there is anything else.
pub fn records<R: DeserializeOwned>(mut bytes: &[u8]) -> Option<Vec<R>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
        all.push(record);
        bytes = rest;
    }
    Some(all)
}

/// Records one after the other, as [`records`] reads them.
pub fn bytes<'a, R: Serialize + 'a>(records: impl IntoIterator<Item = &'a R>) -> Vec<u8> {
    // Only what has no length of its own cannot be written, and no record is such.
    records.into_iter().flat_map(|record| postcard::to_allocvec(record).unwrap_or_default()).collect()
}

/// The payloads of the frames that carry records which belong together. The first byte of each tells whether more frames follow.
pub fn payloads(records: &[u8]) -> Vec<Vec<u8>> {
    let pieces = records.chunks(ROOM - 1);
    let last = pieces.len().saturating_sub(1);
    pieces.enumerate().map(|(at, piece)| [&[u8::from(at < last)], piece].concat()).collect()
}

/// Puts the records of several frames together.
#[derive(Debug)]
pub struct Frames<R> {
    bytes: Vec<u8>,
    kind: PhantomData<R>,
}

impl<R> Default for Frames<R> {
    fn default() -> Frames<R> {
        Frames { bytes: Vec::new(), kind: PhantomData }
    }
}

impl<R: DeserializeOwned> Frames<R> {
    /// The records that are whole with this payload: none while more frames follow. `None` if nobody understands them.
    pub fn take(&mut self, payload: &[u8]) -> Option<Vec<R>> {
        let (follows, piece) = payload.split_first()?;
        if *follows > 1 || self.bytes.len() + piece.len() > MOST {
            return None;
        }
        self.bytes.extend_from_slice(piece);
        if *follows == 1 {
            return Some(Vec::new());
        }
        records(&std::mem::take(&mut self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A program with more words than a frame has room for.
    fn launch() -> Launch {
        let argv = (0..100).map(|n| format!("--option-with-a-long-name={n}")).collect();
        let environment = vec![("PATH".into(), "/bin".into())];
        Launch { argv, environment, folder: "/run".into(), log: "/run/log".into() }
    }

    fn commands() -> Vec<Command> {
        let local = "10.0.0.1:7".parse().unwrap();
        vec![
            Command::Set { name: "net.ipv4.tcp_ecn".into(), value: "1".into() },
            Command::Address { card: 1, alias: 0, address: Ipv4Addr::new(10, 0, 0, 1), prefix: 8 },
            Command::Listen { socket: 1, local, congestion: "cubic".into(), options: Options::default() },
            Command::Connect { socket: 2, local, remote: local, congestion: "bbr".into(), options: Options::default() },
            Command::Route { card: 1, to: Ipv4Addr::new(10, 0, 0, 2), advmss: None, initcwnd: Some(32) },
            Command::Load { image: vec![0x7f; 5000], options: "a=1".into() },
            Command::Subflows(8),
            Command::Endpoint { address: Ipv4Addr::new(10, 0, 0, 2), flags: 2 },
            Command::Write { socket: 2, bytes: 1 << 40 },
            Command::Finish { socket: 2 },
            Command::Close { socket: 2 },
            Command::Sample { socket: 2 },
            Command::Furnish { folder: "/tmp/run".into(), at: "/run/haltere".into() },
            Command::Spawn { child: 3, launch: launch() },
            Command::Await { child: 3, protocol: Protocol::Udp, port: 443 },
            Command::Kill { child: 3 },
        ]
    }

    #[test]
    fn records_come_back() {
        let written = bytes(&commands());
        assert_eq!(records::<Command>(&written), Some(commands()));
        let events = [
            Event::Ready { page: 1 << 20 },
            Event::Connected { socket: 9 },
            Event::Accepted { listener: 1, socket: 1 << 31, remote: "10.0.0.2:80".parse().unwrap() },
            Event::Received { socket: 1, bytes: 77 },
            Event::Finished { socket: 1 },
            Event::Failed { socket: HOST, errno: 110 },
            Event::Info { socket: 4, info: vec![5; 232] },
            Event::Listening { child: 3 },
            Event::Exited { child: 3, ending: Ending::Status(-1) },
            Event::Exited { child: 4, ending: Ending::Signal(9) },
        ];
        let bytes = bytes(&events);
        assert_eq!(records::<Event>(&bytes), Some(events.to_vec()));
        let cut = bytes.len() - 1;
        assert_eq!(records::<Event>(&bytes[..cut]), None);
    }

    #[test]
    fn many_records_take_several_frames() {
        let many: Vec<Event> = (0..4000).map(|socket| Event::Received { socket, bytes: 1 }).collect();
        let payloads = payloads(&bytes(&many));
        assert!(payloads.len() > 5 && payloads.iter().all(|payload| payload.len() <= ROOM));
        let mut frames = Frames::<Event>::default();
        let back: Vec<Event> = payloads.iter().flat_map(|p| frames.take(p).unwrap()).collect();
        assert_eq!(back, many);
    }

    #[test]
    fn the_words_of_a_program_may_take_several_frames() {
        let payloads = payloads(&bytes(&commands()));
        assert!(payloads.len() > 1);
        let mut frames = Frames::<Command>::default();
        let back: Vec<Command> = payloads.iter().flat_map(|p| frames.take(p).unwrap()).collect();
        assert_eq!(back, commands());
    }

    #[test]
    fn frames_without_an_end_are_refused() {
        let mut frames = Frames::<Command>::default();
        let piece = [&[1][..], &[0; ROOM - 1]].concat();
        assert!((0..MOST).any(|_| frames.take(&piece).is_none()));
        assert_eq!(Frames::<Command>::default().take(&[]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_records_or_nothing(bytes in proptest::collection::vec(0u8..12, 0..100)) {
            let mut frames = Frames::<Command>::default();
            let whole = frames.take(&[&[0], &bytes[..]].concat());
            prop_assert_eq!(whole, records::<Command>(&bytes));
            if let Some(events) = records::<Event>(&bytes) {
                prop_assert_eq!(records::<Event>(&super::bytes(&events)), Some(events));
            }
        }
    }
}
