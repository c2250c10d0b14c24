//! The words between the simulator and the program inside a kernel: commands one way, events the other. They are records in Ethernet
//! frames on a card of their own; events stand in a page of memory, which is looked at whenever the kernel waits, as far as that has
//! room: a system call less for each. Both sides read the other's bytes as hostile. Numbers are little-endian.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The EtherType of the frames: the first for local experiments (IEEE 802, clause 9.2.4).
pub const ETHER_TYPE: u16 = 0x88b5;
/// Bytes of an Ethernet header.
pub const ETHERNET: usize = 14;
/// The most bytes of records in a frame.
pub const ROOM: usize = 1500;
/// Bytes of the page for events, and those of the length before them.
pub const PAGE: usize = 4096;
/// See [`PAGE`].
pub const LENGTH: usize = 4;
/// The longest text, bytes.
const TEXT: usize = 200;
/// The most bytes of `struct tcp_info`.
const INFO: usize = 512;

/// The socket that stands for the host itself where an event needs one.
pub const HOST: u32 = u32::MAX;

/// Something that the program inside is to do.
#[derive(Clone, PartialEq, Eq, Debug)]
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
        /// The address.
        address: Ipv4Addr,
        /// How many of the address's first bits are those of all hosts that the card leads to.
        prefix: u8,
    },
    /// Wait for connections.
    Listen {
        /// The number by which the socket is known from now on.
        socket: u32,
        /// Where.
        local: SocketAddrV4,
        /// The congestion control of its connections, as Linux names it.
        congestion: String,
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
}

/// Something that happened inside.
#[derive(Clone, PartialEq, Eq, Debug)]
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
}

/// Reads records.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
    fn u8(&mut self) -> Option<u8> {
        self.array().map(u8::from_le_bytes)
    }
    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    fn text(&mut self) -> Option<String> {
        let length = usize::from(self.u8()?);
        let text = std::str::from_utf8(self.bytes(length).filter(|_| length <= TEXT)?).ok()?;
        Some(text.to_owned())
    }
    fn address(&mut self) -> Option<SocketAddrV4> {
        let address = self.array::<4>()?;
        Some(SocketAddrV4::new(address.into(), self.u16()?))
    }
}

fn text(into: &mut Vec<u8>, text: &str) {
    let mut end = text.len().min(TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    into.push(end as u8);
    into.extend_from_slice(&text.as_bytes()[..end]);
}

fn address(into: &mut Vec<u8>, address: SocketAddrV4) {
    into.extend_from_slice(&address.ip().octets());
    into.extend_from_slice(&address.port().to_le_bytes());
}

/// A record of one of the two directions.
pub trait Record: Sized {
    /// Appends it. Texts are cut at 200 bytes.
    fn write(&self, into: &mut Vec<u8>);
    #[doc(hidden)]
    fn read(kind: u8, body: &[u8]) -> Option<(Self, usize)>;
}

fn rest<T>(body: &[u8], read: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<(T, usize)> {
    let mut reader = Reader(body);
    let record = read(&mut reader)?;
    Some((record, body.len() - reader.0.len()))
}

/// The records of a frame's payload. `None` if it holds anything else.
pub fn records<R: Record>(mut bytes: &[u8]) -> Option<Vec<R>> {
    let mut all = Vec::new();
    while let Some((kind, body)) = bytes.split_first() {
        let (record, read) = R::read(*kind, body)?;
        all.push(record);
        bytes = body.get(read..)?;
    }
    Some(all)
}

impl Record for Command {
    fn write(&self, into: &mut Vec<u8>) {
        let socket_alone = |into: &mut Vec<u8>, kind: u8, socket: u32| {
            into.push(kind);
            into.extend_from_slice(&socket.to_le_bytes());
        };
        match self {
            Command::Set { name, value } => {
                into.push(0);
                text(into, name);
                text(into, value);
            }
            Command::Address { card, address, prefix } => {
                into.extend_from_slice(&[1, *card, *prefix]);
                into.extend_from_slice(&address.octets());
            }
            Command::Listen { socket, local, congestion } => {
                socket_alone(into, 2, *socket);
                address(into, *local);
                text(into, congestion);
            }
            Command::Connect { socket, local, remote, congestion } => {
                socket_alone(into, 3, *socket);
                address(into, *local);
                address(into, *remote);
                text(into, congestion);
            }
            Command::Write { socket, bytes } => {
                socket_alone(into, 4, *socket);
                into.extend_from_slice(&bytes.to_le_bytes());
            }
            Command::Finish { socket } => socket_alone(into, 5, *socket),
            Command::Close { socket } => socket_alone(into, 6, *socket),
            Command::Sample { socket } => socket_alone(into, 7, *socket),
        }
    }

    fn read(kind: u8, body: &[u8]) -> Option<(Command, usize)> {
        rest(body, |r| {
            Some(match kind {
                0 => Command::Set { name: r.text()?, value: r.text()? },
                1 => {
                    let (card, prefix) = (r.u8()?, r.u8()?);
                    let address = Ipv4Addr::from(r.array::<4>()?);
                    (prefix <= 32).then_some(Command::Address { card, address, prefix })?
                }
                2 => Command::Listen { socket: r.u32()?, local: r.address()?, congestion: r.text()? },
                3 => Command::Connect {
                    socket: r.u32()?,
                    local: r.address()?,
                    remote: r.address()?,
                    congestion: r.text()?,
                },
                4 => Command::Write { socket: r.u32()?, bytes: r.u64()? },
                5 => Command::Finish { socket: r.u32()? },
                6 => Command::Close { socket: r.u32()? },
                7 => Command::Sample { socket: r.u32()? },
                _ => return None,
            })
        })
    }
}

impl Record for Event {
    fn write(&self, into: &mut Vec<u8>) {
        let socket_alone = |into: &mut Vec<u8>, kind: u8, socket: u32| {
            into.push(kind);
            into.extend_from_slice(&socket.to_le_bytes());
        };
        match self {
            Event::Ready { page } => {
                into.push(0);
                into.extend_from_slice(&page.to_le_bytes());
            }
            Event::Connected { socket } => socket_alone(into, 1, *socket),
            Event::Accepted { listener, socket, remote } => {
                socket_alone(into, 2, *listener);
                into.extend_from_slice(&socket.to_le_bytes());
                address(into, *remote);
            }
            Event::Received { socket, bytes } => {
                socket_alone(into, 3, *socket);
                into.extend_from_slice(&bytes.to_le_bytes());
            }
            Event::Finished { socket } => socket_alone(into, 4, *socket),
            Event::Failed { socket, errno } => {
                socket_alone(into, 5, *socket);
                into.extend_from_slice(&errno.to_le_bytes());
            }
            Event::Info { socket, info } => {
                socket_alone(into, 6, *socket);
                let info = &info[..info.len().min(INFO)];
                into.extend_from_slice(&(info.len() as u16).to_le_bytes());
                into.extend_from_slice(info);
            }
        }
    }

    fn read(kind: u8, body: &[u8]) -> Option<(Event, usize)> {
        rest(body, |r| {
            Some(match kind {
                0 => Event::Ready { page: r.u64()? },
                1 => Event::Connected { socket: r.u32()? },
                2 => Event::Accepted { listener: r.u32()?, socket: r.u32()?, remote: r.address()? },
                3 => Event::Received { socket: r.u32()?, bytes: r.u64()? },
                4 => Event::Finished { socket: r.u32()? },
                5 => Event::Failed { socket: r.u32()?, errno: i32::from_le_bytes(r.array()?) },
                6 => {
                    let (socket, length) = (r.u32()?, usize::from(r.u16()?));
                    Event::Info { socket, info: r.bytes(length).filter(|_| length <= INFO)?.to_vec() }
                }
                _ => return None,
            })
        })
    }
}

/// Packs records into payloads of frames, as many into each as it has room for.
pub fn payloads<'a, R: Record + 'a>(records: impl IntoIterator<Item = &'a R>) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for record in records {
        let mut one = Vec::new();
        record.write(&mut one);
        match all.last_mut() {
            Some(last) if last.len() + one.len() <= ROOM => last.extend_from_slice(&one),
            _ => all.push(one),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn commands() -> Vec<Command> {
        let local = "10.0.0.1:7".parse().unwrap();
        vec![
            Command::Set { name: "net.ipv4.tcp_ecn".into(), value: "1".into() },
            Command::Address { card: 1, address: Ipv4Addr::new(10, 0, 0, 1), prefix: 8 },
            Command::Listen { socket: 1, local, congestion: "cubic".into() },
            Command::Connect { socket: 2, local, remote: local, congestion: "bbr".into() },
            Command::Write { socket: 2, bytes: 1 << 40 },
            Command::Finish { socket: 2 },
            Command::Close { socket: 2 },
            Command::Sample { socket: 2 },
        ]
    }

    #[test]
    fn records_come_back() {
        let payloads = payloads(&commands());
        assert_eq!(payloads.len(), 1);
        assert_eq!(records::<Command>(&payloads[0]), Some(commands()));
        let events = [
            Event::Ready { page: 1 << 20 },
            Event::Connected { socket: 9 },
            Event::Accepted { listener: 1, socket: 1 << 31, remote: "10.0.0.2:80".parse().unwrap() },
            Event::Received { socket: 1, bytes: 77 },
            Event::Finished { socket: 1 },
            Event::Failed { socket: HOST, errno: 110 },
            Event::Info { socket: 4, info: vec![5; 232] },
        ];
        let mut bytes = Vec::new();
        events.iter().for_each(|event| event.write(&mut bytes));
        assert_eq!(records::<Event>(&bytes), Some(events.to_vec()));
        let cut = bytes.len() - 1;
        assert_eq!(records::<Event>(&bytes[..cut]), None);
    }

    #[test]
    fn many_records_take_several_frames() {
        let many: Vec<Event> = (0..400).map(|socket| Event::Received { socket, bytes: 1 }).collect();
        let payloads = payloads(&many);
        assert!(payloads.iter().all(|payload| payload.len() <= ROOM));
        let back: Vec<Event> = payloads.iter().flat_map(|p| records::<Event>(p).unwrap()).collect();
        assert_eq!(back, many);
    }

    proptest! {
        #[test]
        fn any_bytes_are_records_or_nothing(bytes in proptest::collection::vec(0u8..12, 0..100)) {
            let (commands, events) = (records::<Command>(&bytes), records::<Event>(&bytes));
            let mut back = Vec::new();
            if let Some(commands) = commands {
                commands.iter().for_each(|one| one.write(&mut back));
                prop_assert_eq!(&back, &bytes);
            }
            if let Some(events) = events {
                back.clear();
                events.iter().for_each(|one| one.write(&mut back));
                prop_assert_eq!(&back, &bytes);
            }
        }
    }
}
