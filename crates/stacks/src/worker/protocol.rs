//! The frames between the simulator and a worker program: a length and a record each.
//!
//! A frame is its length (32 bits) and so many bytes, all numbers little-endian. Each side says hello once; from then
//! on the simulator sends [`Turn`]s and gets one [`Answer`] for each. A turn carries the time of the run: a worker has
//! no other. Both sides are built from this one file; [`VERSION`] tells when they were built from different versions of
//! it.

use std::io::{self, Read, Write};

/// Grows with every change of this file that shows on the wire.
pub const VERSION: u32 = 2;
/// How a hello of each side begins.
pub const SIMULATOR: &str = "haltere simulator";
pub const WORKER: &str = "haltere worker";
/// The longest frame, bytes: one turn may free a window of datagrams.
const LONGEST: u32 = 1 << 28;
/// No time.
pub const NEVER: u64 = u64::MAX;

/// A frame that is not what this side expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// A value in its bytes.
pub trait Wire: Sized {
    /// Appends it.
    fn put(&self, into: &mut Vec<u8>);
    /// Takes it off the front.
    fn get(from: &mut &[u8]) -> Result<Self, Malformed>;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(impl Wire for $type {
        fn put(&self, into: &mut Vec<u8>) {
            into.extend_from_slice(&self.to_le_bytes());
        }
        fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
            let (bytes, rest) = from.split_first_chunk().ok_or(Malformed)?;
            *from = rest;
            Ok(<$type>::from_le_bytes(*bytes))
        }
    })* };
}
numbers! { u8 u16 u32 u64 }

impl Wire for bool {
    fn put(&self, into: &mut Vec<u8>) {
        u8::from(*self).put(into);
    }
    fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
        match u8::get(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }
}

/// Bytes as they are.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Blob(pub Vec<u8>);

impl Wire for Blob {
    fn put(&self, into: &mut Vec<u8>) {
        (self.0.len() as u32).put(into);
        into.extend_from_slice(&self.0);
    }
    fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
        let len = u32::get(from)? as usize;
        let (bytes, rest) = from.split_at_checked(len).ok_or(Malformed)?;
        *from = rest;
        Ok(Blob(bytes.to_vec()))
    }
}

impl Wire for String {
    fn put(&self, into: &mut Vec<u8>) {
        (self.len() as u32).put(into);
        into.extend_from_slice(self.as_bytes());
    }
    fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
        String::from_utf8(Blob::get(from)?.0).map_err(|_| Malformed)
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, into: &mut Vec<u8>) {
        (self.len() as u32).put(into);
        self.iter().for_each(|item| item.put(into));
    }
    fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
        // No item is shorter than a byte: a length that was made up allocates nothing.
        let len = u32::get(from)? as usize;
        if len > from.len() {
            return Err(Malformed);
        }
        (0..len).map(|_| T::get(from)).collect()
    }
}

macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($(#[$said:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Default, Debug)]
        pub struct $name { $($(#[$said])* pub $field: $type,)* }
        impl Wire for $name {
            fn put(&self, into: &mut Vec<u8>) {
                $(self.$field.put(into);)*
            }
            fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
                Ok($name { $($field: <$type>::get(from)?,)* })
            }
        }
    };
}

/// Kinds of a closed set: a number, and what goes with it.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident { $($(#[$said:meta])* $number:literal => $kind:ident { $($field:ident: $type:ty),* },)* }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum $name { $($(#[$said])* $kind { $($field: $type),* },)* }
        impl Wire for $name {
            fn put(&self, into: &mut Vec<u8>) {
                match self {
                    $($name::$kind { $($field),* } => {
                        into.push($number);
                        $($field.put(into);)*
                    })*
                }
            }
            fn get(from: &mut &[u8]) -> Result<Self, Malformed> {
                match u8::get(from)? {
                    $($number => Ok($name::$kind { $($field: <$type>::get(from)?),* }),)*
                    _ => Err(Malformed),
                }
            }
        }
    };
}

record! {
    /// Who speaks.
    Hello {
        /// [`SIMULATOR`] or [`WORKER`].
        who: String,
        /// [`VERSION`].
        version: u32,
        /// The stacks that the worker has, such as `quiche`.
        stacks: Vec<String>,
    }
}

record! {
    /// One end of a connection as it is to be.
    Setup {
        /// One of the worker's stacks.
        stack: String,
        /// Whether it is the server's.
        server: bool,
        /// The stack's congestion control, by the name that the simulator has for it.
        congestion: String,
        /// The seed of the end's random numbers.
        seed: u64,
        /// The largest UDP payload to be looked for, bytes.
        max_udp_payload: u16,
        /// Receive windows at the start, bytes: of a stream, of the connection.
        stream_window: u64,
        connection_window: u64,
        /// Whether the stack's own qlog is wanted.
        qlog: bool,
        /// How many paths the connection may use at the same time; path `k` is between 10.0.k.2:50000, the client, and
        /// 10.0.k.1:443, the server.
        paths: u8,
        /// Which path a packet takes, by our name for the stack's scheduler; empty for a single path.
        scheduler: String,
    }
}

choice! {
    /// An order to an end.
    Command {
        /// To come into being.
        0 => Make { setup: Setup },
        /// To begin the handshake.
        1 => Connect {},
        /// To take a datagram that came on a path.
        2 => Receive { path: u8, ecn: u8, datagram: Blob },
        /// To run its timers.
        3 => Wake {},
        /// To send so many bytes more of a stream.
        4 => Write { stream: u64, bytes: u64 },
        /// To end a stream after what was written.
        5 => Finish { stream: u64 },
        /// To close the connection.
        6 => Close {},
        /// To hand out the datagrams that may go. A worker does it unasked where nothing that it tells calls for the
        /// application.
        7 => Send {},
        /// To open a path as soon as the peer allows it.
        8 => AddPath { path: u8 },
        /// To give a path up.
        9 => AbandonPath { path: u8 },
    }
}

record! {
    /// The commands to one end at one instant.
    Turn {
        /// The number that the simulator has given the end.
        end: u32,
        /// Time of the run, ns.
        now: u64,
        commands: Vec<Command>,
    }
}

choice! {
    /// An event that an end reports.
    Notice {
        /// Streams may be written.
        0 => Connected {},
        /// So many more bytes of a stream were read; the last of them, if it has ended.
        1 => Read { stream: u64, bytes: u64, ended: bool },
        /// All of a stream that was ended is acknowledged.
        2 => Delivered { stream: u64 },
        /// The peer closed in good order.
        3 => Closed {},
        /// Nothing was heard for the idle timeout.
        4 => IdleTimeout {},
        /// The connection failed with a code of RFC 9000 section 20.1.
        5 => Failed { code: u64 },
        /// Paths may be opened.
        6 => Multipath {},
    }
}

record! {
    /// A datagram.
    Outgoing {
        /// When it may go, ns; never before an earlier one.
        at: u64,
        /// The path that it takes.
        path: u8,
        datagram: Blob,
    }
}

record! {
    /// The counters of an end so far; zero where the stack tells nothing.
    Figures {
        sent_packets: u64,
        lost_packets: u64,
        spurious: u64,
        timeouts: u64,
        /// Of each path that there was so far, by its number.
        paths: Vec<PathFigures>,
    }
}

record! {
    /// The figures of a path's congestion control; zero where the stack tells nothing.
    PathFigures {
        /// Bytes.
        window: u64,
        in_flight: u64,
        /// Smoothed and smallest, ns.
        rtt: u64,
        min_rtt: u64,
    }
}

record! {
    /// The outcome of a turn.
    Answer {
        /// Why the turn could not be taken; empty if it could.
        refused: String,
        /// Whether every datagram received was something to the end.
        taken: bool,
        notices: Vec<Notice>,
        /// Whether datagrams were handed out.
        sent: bool,
        outgoing: Vec<Outgoing>,
        /// When the end wants to be woken, ns.
        wake: u64,
        /// How many more streams may be opened.
        openable: u64,
        figures: Figures,
        /// Lines for a key log.
        secrets: String,
        qlog: Blob,
    }
}

/// Sends a record.
///
/// # Errors
/// The error of the pipe.
pub fn send<T: Wire>(record: &T, to: &mut impl Write, room: &mut Vec<u8>) -> io::Result<()> {
    room.clear();
    0u32.put(room);
    record.put(room);
    let len = u32::try_from(room.len() - 4).map_err(|_| io::ErrorKind::InvalidInput)?;
    room[..4].copy_from_slice(&len.to_le_bytes());
    to.write_all(room)
}

/// Receives a record; `None` if the other side has gone.
///
/// # Errors
/// The error of the pipe; `InvalidData` for a frame that is not such a record.
pub fn receive<T: Wire>(from: &mut impl Read, room: &mut Vec<u8>) -> io::Result<Option<T>> {
    let mut len = [0; 4];
    if let Err(error) = from.read_exact(&mut len) {
        return if error.kind() == io::ErrorKind::UnexpectedEof { Ok(None) } else { Err(error) };
    }
    let len = u32::from_le_bytes(len);
    if len > LONGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    room.clear();
    from.take(len.into()).read_to_end(room)?;
    if room.len() < len as usize {
        return Ok(None);
    }
    let mut rest = room.as_slice();
    match T::get(&mut rest) {
        Ok(record) if rest.is_empty() => Ok(Some(record)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn() -> Turn {
        let setup = Setup { stack: "quiche".into(), server: true, max_udp_payload: 1472, ..Setup::default() };
        let commands = vec![
            Command::Make { setup },
            Command::Connect {},
            Command::Receive { path: 1, ecn: 2, datagram: Blob(vec![7; 1200]) },
            Command::Write { stream: 4, bytes: u64::MAX },
            Command::Send {},
        ];
        Turn { end: 3, now: 5, commands }
    }

    #[test]
    fn records_come_back_as_they_went() {
        let (mut wire, mut room) = (Vec::new(), Vec::new());
        send(&turn(), &mut wire, &mut room).unwrap();
        let notices = vec![Notice::Read { stream: 4, bytes: 9, ended: true }, Notice::Failed { code: 10 }];
        let outgoing = vec![Outgoing { at: 1, path: 1, datagram: Blob(vec![1]) }];
        let answer = Answer {
            notices,
            outgoing,
            figures: Figures { paths: vec![PathFigures::default()], ..Figures::default() },
            secrets: "line\n".into(),
            wake: NEVER,
            ..Answer::default()
        };
        send(&answer, &mut wire, &mut room).unwrap();
        let mut wire = wire.as_slice();
        assert_eq!(receive::<Turn>(&mut wire, &mut room).unwrap(), Some(turn()));
        assert_eq!(receive::<Answer>(&mut wire, &mut room).unwrap(), Some(answer));
        assert_eq!(receive::<Answer>(&mut wire, &mut room).unwrap(), None);
    }

    #[test]
    fn a_damaged_frame_is_an_error_and_never_more() {
        let (mut wire, mut room) = (Vec::new(), Vec::new());
        send(&turn(), &mut wire, &mut room).unwrap();
        for at in 0..wire.len().min(120) {
            for value in [0, 1, 0x7f, 0xff] {
                let mut damaged = wire.clone();
                damaged[at] = value;
                // A length that is too large is the end of what comes; all else is read or refused.
                let _ = receive::<Turn>(&mut damaged.as_slice(), &mut room);
            }
            assert_eq!(receive::<Turn>(&mut &wire[..at], &mut room).unwrap(), None, "cut at {at}");
        }
        let kind = [5, 0, 0, 0, 9, 0, 0, 0, 0];
        assert!(receive::<Command>(&mut kind.as_slice(), &mut room).is_err());
    }
}
