//! One end of a connection of a kernel: what is known of it, what it has sent, and what is to be told.

use super::program::Traffic;
use crate::direction::Direction;
use crate::end::{End, ip};
use crate::tcp_info::TcpInfo;
use haltere_net::{ComponentId, Ecn, PathId, Time};
use haltere_transport::{CloseReason, Event, Stats, StreamId};
use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

/// `ETIMEDOUT` of Linux.
const TIMED_OUT: i32 = 110;

/// The own address and port and the peer's.
pub(super) type Tuple = (SocketAddrV4, SocketAddrV4);

/// A packet that the kernel has sent, on a path.
pub(super) type Sent = (PathId, Ecn, Vec<u8>);

/// Takes the first of what happened, if it did by now.
pub(super) fn first<T>(all: &mut VecDeque<(Time, T)>, now: Time) -> Option<T> {
    all.front().filter(|(at, _)| *at <= now)?;
    all.pop_front().map(|(_, one)| one)
}

/// One end of a connection.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    /// The machine of the simulator's process, once it was called.
    pub(super) machine: Option<ComponentId>,
    /// The server's port.
    pub(super) port: u16,
    /// Its paths: the own address and the peer's.
    pub(super) ways: Vec<[Ipv4Addr; 2]>,
    /// The addresses and ports of the connection, or of its first subflow, once they are known.
    pub(super) tuple: Option<Tuple>,
    /// The program's number for it, once there is one.
    pub(super) socket: Option<u32>,
    /// The packets that the kernel has sent, and when.
    pub(super) packets: VecDeque<(Time, Sent)>,
    /// The events that are to be told, and since when.
    pub(super) events: VecDeque<(Time, Event)>,
    /// The time of what happens.
    pub(super) at: Time,
    pub readable: u64,
    /// The peer has ended its stream, all of which was read by the program.
    pub(super) ended: bool,
    pub(super) finished_told: bool,
    pub(super) closed_told: bool,
    pub connected: bool,
    pub written: u64,
    pub low_water: u64,
    /// Somebody records it.
    pub(super) watched: bool,
    /// The kernel's own state, as it was told last.
    pub info: Option<TcpInfo>,
    /// The segments that it has sent, by subflow.
    pub(super) directions: BTreeMap<Tuple, Direction>,
    pub stats: Stats,
    /// The packets of a flow whose ends are programs.
    pub(super) traffic: Option<Box<Traffic>>,
}

impl Connection {
    /// When there is something to send or to tell, if there is.
    pub(super) fn output(&self) -> Option<Time> {
        let (packet, event) = (self.packets.front().map(|one| one.0), self.events.front().map(|one| one.0));
        packet.into_iter().chain(event).min()
    }

    /// Notes what is to be told to the application.
    pub fn tell(&mut self, event: Event) {
        self.events.push_back((self.at, event));
    }

    /// Bytes that were written and never sent. What MPTCP sends on two subflows counts twice.
    pub fn unsent(&self) -> u64 {
        self.written.saturating_sub(self.directions.values().map(Direction::data_sent).sum())
    }

    /// Bytes in flight, of all subflows.
    pub fn in_flight(&self) -> u64 {
        self.directions.values().map(Direction::in_flight).sum()
    }

    /// The path of a packet: the one with both its addresses. A further subflow of MPTCP may join addresses that are no pair: it takes
    /// the path of that address which is not the first.
    pub(super) fn path(&self, own: Ipv4Addr, peer: Ipv4Addr) -> PathId {
        let fits = |wanted: [bool; 2]| {
            let same =
                |way: &[Ipv4Addr; 2]| [way[0] == own, way[1] == peer].iter().zip(wanted).all(|(is, it)| *is || !it);
            self.ways.iter().rposition(same)
        };
        let own_first = self.ways.first().is_none_or(|way| way[0] == own);
        let one = if own_first { [false, true] } else { [true, false] };
        let found = fits([true, true]).or_else(|| fits(one)).unwrap_or(0);
        PathId(u8::try_from(found).unwrap_or(0))
    }

    pub fn tell_writable(&mut self) {
        if self.unsent() < self.low_water {
            self.low_water = 0;
            self.tell(Event::Writable(StreamId(0)));
        }
    }

    pub fn tell_ends(&mut self) {
        if !self.ended || self.readable > 0 {
            return;
        }
        if !std::mem::replace(&mut self.finished_told, true) {
            self.tell(Event::Finished(StreamId(0)));
        }
        if self.directions.values().any(Direction::has_finished) && !std::mem::replace(&mut self.closed_told, true) {
            self.tell(Event::Closed);
        }
    }

    pub(super) fn open(&mut self, now: Time) {
        if !std::mem::replace(&mut self.connected, true) {
            self.stats.connected_at = Some(now);
            self.tell(Event::Connected);
        }
    }

    pub(super) fn fail(&mut self, errno: i32) {
        let reason = match (errno, self.connected) {
            (TIMED_OUT, false) => CloseReason::HandshakeTimeout,
            (TIMED_OUT, true) => CloseReason::RetransmissionTimeout,
            _ => CloseReason::ProtocolViolation("the kernel has given the connection up"),
        };
        if !std::mem::replace(&mut self.closed_told, true) {
            self.tell(Event::Failed(reason));
        }
    }
}

impl Connection {
    /// A connection with counters.
    pub fn new(end: &End, stats: Stats) -> Connection {
        let ways = end.ways.iter().map(|way| [way.own, way.peer].map(ip)).collect();
        Connection { port: end.port, ways, stats, ..Connection::default() }
    }
}
