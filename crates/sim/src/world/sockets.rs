//! Sockets: the connections of a process, and how its application works with them.

use super::socket::{Socket, SocketPath};
use super::tables::{Port, Remote, SocketRef, Tables};
use crate::radio::{Radios, Toward};
use crate::schedule::Schedule;
use haltere_net::topology::NodeId;
use haltere_net::{Address, ConnectionId, Cx, FlowKey, PathId, Time};
use haltere_transport::path::{AddressChange, PathError};
use haltere_transport::{CloseReason, Endpoint, Event, Role, Stats};
use std::collections::BTreeMap;

/// Number of a socket of a process. The number of one that was released may be given to another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SocketId(pub u32);

/// Makes the transports of a process's connections.
pub trait Transports: Send {
    /// The transport of one end of a connection to `port`; `number` counts the connections that the process had before.
    ///
    /// # Errors
    /// Why there is none.
    fn endpoint(&mut self, role: Role, number: u32, port: Port) -> Result<Box<dyn Endpoint>, String>;
    /// Whether they are told until when nothing else happens ([`Endpoint::look_ahead`]).
    fn look_ahead(&self) -> bool {
        false
    }
}

/// All sockets of a process.
// As in a process, what every packet needs comes first.
#[repr(C)]
pub(super) struct SocketTable {
    sockets: Vec<Option<Socket>>,
    /// Sockets that may have an event or a packet.
    active: Vec<u32>,
    wake: Time,
    /// The one that sent last: it goes on until it has nothing more, then those after it have their turn.
    turn: u32,
    /// The transports are told until when nothing else happens.
    pub looks_ahead: bool,
    /// When each socket wants to be called, if there is more than one.
    timers: Option<Box<Schedule>>,
    /// The radios of the process's devices, if it is asked for what they do.
    pub radios: Option<Box<Radios>>,
    free: Vec<u32>,
    transports: Box<dyn Transports>,
    /// The number of the first connection that it opens, if that was fixed beforehand.
    pub first: Option<ConnectionId>,
    made: u32,
    /// The counters of released sockets, by the port of their connection.
    released: BTreeMap<Port, Stats>,
}

impl SocketTable {
    pub fn new(transports: Box<dyn Transports>, first: Option<ConnectionId>) -> SocketTable {
        SocketTable {
            sockets: Vec::new(),
            free: Vec::new(),
            active: Vec::new(),
            turn: 0,
            timers: None,
            wake: Time::NEVER,
            looks_ahead: transports.look_ahead(),
            transports,
            first,
            made: 0,
            released: BTreeMap::new(),
            radios: None,
        }
    }

    /// A new socket with a transport of this role, of a connection to this port.
    pub fn make(&mut self, role: Role, connection: ConnectionId, port: Port) -> Result<SocketId, String> {
        let endpoint = self.transports.endpoint(role, self.made, port)?;
        self.made += 1;
        let socket = Some(Socket::new(endpoint, connection, port));
        let id = match self.free.pop() {
            Some(id) => {
                self.sockets[id as usize] = socket;
                id
            }
            None => {
                self.sockets.push(socket);
                self.sockets.len() as u32 - 1
            }
        };
        if self.sockets.len() > 1 {
            let timers = self.timers.get_or_insert_with(|| {
                // Up to here the only socket's time stood in `wake`.
                let mut timers = Box::new(Schedule::new(2));
                timers.set(0, self.wake);
                timers
            });
            timers.grow(self.sockets.len());
        }
        self.activate(id);
        Ok(SocketId(id))
    }

    /// Tells all transports until when nothing else happens.
    #[cold]
    pub fn look_ahead(&mut self, now: Time, until: Time) {
        self.sockets.iter_mut().flatten().for_each(|socket| socket.endpoint.look_ahead(now, until));
    }

    #[inline]
    pub fn get(&self, id: u32) -> Option<&Socket> {
        self.sockets.get(id as usize)?.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, id: u32) -> Option<&mut Socket> {
        self.sockets.get_mut(id as usize)?.as_mut()
    }

    /// A socket that somebody works on, so that it may have something to say or to send.
    #[inline]
    fn open(&mut self, id: u32) -> Option<&mut Socket> {
        self.activate(id);
        self.get_mut(id)
    }

    #[inline]
    pub fn activate(&mut self, id: u32) {
        if let Some(Some(socket)) = self.sockets.get_mut(id as usize)
            && !std::mem::replace(&mut socket.active, true)
        {
            self.active.push(id);
        }
    }

    /// The next socket in the list from position `from` on that may have something to say.
    #[inline]
    pub fn active(&self, from: usize) -> Option<u32> {
        self.active.get(from).copied()
    }

    /// Whether it is the only one in that list.
    #[inline]
    pub fn is_only(&self, id: u32) -> bool {
        self.active[..] == [id]
    }

    /// The socket whose turn it is to send, of those that may have something to send.
    #[inline]
    pub fn sender(&self) -> Option<u32> {
        if let &[only] = &self.active[..] {
            return Some(only);
        }
        let turn = self.turn;
        self.active.iter().copied().min_by_key(|&id| (id < turn, id))
    }

    #[inline]
    pub fn has_sent(&mut self, id: u32) {
        self.turn = id;
    }

    /// A packet of a socket is on the air, if the process's devices have radios.
    #[inline]
    pub fn note_on_radio(&mut self, id: u32, way: Toward, bytes: u32, now: Time) {
        if let Some(radios) = &mut self.radios {
            radios.on_packet(id, way, bytes, now);
        }
    }

    /// The next news of a socket.
    #[inline]
    pub fn poll_event(&mut self, id: u32) -> Option<Event> {
        self.get_mut(id)?.endpoint.poll_event()
    }

    /// A socket has nothing more to send: it waits for its time.
    #[inline(always)]
    pub fn rest(&mut self, id: u32) {
        match &self.active[..] {
            [_] => self.active.clear(),
            _ => self.active.retain(|&other| other != id),
        }
        let Some(Some(socket)) = self.sockets.get_mut(id as usize) else { return };
        socket.active = false;
        let wake = socket.endpoint.next_wake();
        self.set_timer(id, wake);
    }

    /// A socket may not send until a credit lets it: meanwhile it has no timers, as a program that is blocked in a system
    /// call has none.
    pub fn block(&mut self, id: u32) {
        self.rest(id);
        if let Some(socket) = self.get_mut(id) {
            socket.blocked = true;
            self.set_timer(id, Time::NEVER);
        }
    }

    /// Asks the sockets that rest when they want to be called.
    pub fn look_again(&mut self) {
        for id in 0..self.sockets.len() as u32 {
            if let Some(socket) = self.get(id).filter(|socket| !socket.active && !socket.blocked) {
                let wake = socket.endpoint.next_wake();
                self.set_timer(id, wake);
            }
        }
    }

    #[inline]
    fn set_timer(&mut self, id: u32, at: Time) {
        self.wake = match &mut self.timers {
            None => at,
            Some(timers) => {
                timers.set(id, at);
                timers.peek().map_or(Time::NEVER, |(at, _)| at)
            }
        };
    }

    /// When the next of them wants to be called.
    #[inline]
    pub fn wake(&self) -> Time {
        self.wake
    }

    /// Runs the timers that are due.
    pub fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if self.timers.is_none() {
            return self.on_wake_of(0, cx);
        }
        while let Some((_, id)) = self.timers.as_ref().and_then(|timers| timers.peek()).filter(|(at, _)| *at <= cx.now)
        {
            self.set_timer(id, Time::NEVER);
            self.on_wake_of(id, cx);
        }
    }

    fn on_wake_of(&mut self, id: u32, cx: &mut Cx<'_>) {
        if let Some(socket) = self.get_mut(id) {
            socket.endpoint.on_wake(cx);
            self.activate(id);
        }
    }

    fn release(&mut self, id: u32) -> Option<ConnectionId> {
        let socket = self.sockets.get_mut(id as usize)?.take()?;
        self.active.retain(|&other| other != id);
        self.free.push(id);
        let released = self.released.entry(socket.port).or_default();
        *released = std::mem::take(released).and(socket.endpoint.stats());
        self.set_timer(id, Time::NEVER);
        Some(socket.connection)
    }

    /// The counters of all its sockets, released ones included.
    pub fn stats(&self) -> Stats {
        let released = self.released.values().cloned();
        let present = self.sockets.iter().flatten().map(|s| s.endpoint.stats());
        released.chain(present).reduce(Stats::and).unwrap_or_default()
    }

    /// The counters of its sockets for connections to a port, released ones included.
    pub fn stats_at(&self, port: Port) -> Stats {
        let released = self.released.get(&port).cloned().unwrap_or_default();
        let those = self.sockets.iter().flatten().filter(|s| s.port == port);
        those.map(|s| s.endpoint.stats()).fold(released, Stats::and)
    }

    /// The numbers of all sockets.
    pub fn ids(&self) -> Vec<SocketId> {
        let there = self.sockets.iter().enumerate().filter(|(_, socket)| socket.is_some());
        there.map(|(id, _)| SocketId(id as u32)).collect()
    }

    /// How many sockets there are.
    pub fn len(&self) -> usize {
        self.sockets.len() - self.free.len()
    }
}

/// The sockets of a process in the hands of its application.
pub struct Sockets<'a> {
    pub(super) table: &'a mut SocketTable,
    pub(super) tables: &'a mut Tables,
    pub(super) process: u32,
    pub(super) node: NodeId,
    /// The path on which connections open.
    pub(super) present: PathId,
    /// The paths that the process has, as own and peer's address.
    pub(super) paths: &'a [(Address, Address)],
}

impl Sockets<'_> {
    /// Opens a connection to a port of a node, on the path on which the process is; if it has none, from the first of the
    /// own node's addresses that links lead from.
    ///
    /// # Errors
    /// If no links lead there, or if there is no transport to be had.
    pub fn connect(&mut self, to: Remote, cx: &mut Cx<'_>) -> Result<SocketId, CloseReason> {
        let path = self.present;
        let (own, destination) = match self.paths.get(usize::from(path.0)) {
            Some(&(own, peer)) => (vec![own], peer),
            None => (self.tables.topology().addresses(self.node).to_vec(), to.address),
        };
        let route = own.into_iter().find_map(|from| Some((from, self.tables.route(from, destination)?)));
        let (source, (route, first)) = route.ok_or(CloseReason::Unreachable)?;
        let connection = match self.table.first.take() {
            Some(connection) => connection,
            None => self.tables.reserve(),
        };
        let flow = FlowKey { source, destination, connection };
        let socket = self.table.make(Role::Client, connection, to.port).map_err(|_| CloseReason::NoTransport)?;
        self.tables.open(connection, SocketRef { process: self.process, socket: socket.0 }, self.node, to.port);
        if let Some(made) = self.table.get_mut(socket.0) {
            made.opened_on = path;
            made.learn(PathId(0), SocketPath { route, first, flow });
            made.endpoint.connect(cx);
        }
        Ok(socket)
    }

    /// The packets of a socket are those of one of the process's devices, by its number: each has a radio.
    pub fn set_device(&mut self, socket: SocketId, device: u32) {
        if let Some(radios) = &mut self.table.radios {
            radios.give(socket.0, device);
        }
    }

    /// Takes up another path of a connection, between two addresses. It carries data once the peer has answered on it.
    ///
    /// # Errors
    /// If no links lead from one to the other, or why the transport does not take it.
    pub fn add_path(
        &mut self,
        socket: SocketId,
        from: Address,
        to: Address,
        cx: &mut Cx<'_>,
    ) -> Result<PathId, PathError> {
        let own = self.tables.topology().addresses(self.node).contains(&from);
        let way = if own { self.tables.route(from, to) } else { None };
        let (route, first) = way.ok_or(PathError::Unreachable)?;
        let socket = self.table.open(socket.0).ok_or(PathError::NoSuchPath)?;
        let path = PathId(u8::try_from(socket.paths.len()).map_err(|_| PathError::TooMany)?);
        socket.endpoint.add_path(path, cx)?;
        let flow = FlowKey { source: from, destination: to, connection: socket.connection };
        socket.paths.push(Some(SocketPath { route, first, flow }));
        Ok(path)
    }

    /// Gives up a path of a connection: what is in flight on it is sent again on others.
    ///
    /// # Errors
    /// Why the transport does not.
    pub fn abandon_path(&mut self, socket: SocketId, path: PathId, cx: &mut Cx<'_>) -> Result<(), PathError> {
        self.table.open(socket.0).ok_or(PathError::NoSuchPath)?.endpoint.abandon_path(path, cx)
    }

    /// The path of the process on which a connection opened.
    pub(super) fn opened_on(&self, socket: SocketId) -> PathId {
        self.table.get(socket.0).map_or(PathId(0), |socket| socket.opened_on)
    }

    /// Moves a connection from the address of one path of the process to that of another, which lies between these addresses. A transport with several paths gives up the one that it leaves.
    ///
    /// # Errors
    /// If the connection cannot go on from there.
    pub(super) fn migrate(
        &mut self,
        socket: SocketId,
        (left, path): (PathId, PathId),
        addresses: Option<(Address, Address)>,
        cx: &mut Cx<'_>,
    ) -> Result<(), PathError> {
        let way = addresses.map(|(from, to)| self.tables.route(from, to).map(|way| (from, to, way)));
        let socket = self.table.open(socket.0).ok_or(PathError::NoSuchPath)?;
        let (left, path) = (socket.own_number(left), socket.own_number(path));
        match socket.endpoint.migrate(path, cx) {
            Err(PathError::Several) if left != path => return socket.endpoint.abandon_path(left, cx),
            Err(PathError::Several) => return Ok(()),
            other => other?,
        }
        if let Some(way) = way {
            let (source, destination, (route, first)) = way.ok_or(PathError::Unreachable)?;
            let flow = FlowKey { source, destination, connection: socket.connection };
            socket.learn(path, SocketPath { route, first, flow });
        }
        Ok(())
    }

    /// A NAT gives the packets of all connections on a path other ports, or addresses.
    pub(super) fn rebind(&mut self, path: PathId, change: AddressChange) {
        for id in self.table.ids() {
            let Some(socket) = self.table.get_mut(id.0) else { continue };
            let path = socket.own_number(path);
            let Some(Some(known)) = socket.paths.get_mut(usize::from(path.0)) else { continue };
            let client = SocketRef { process: self.process, socket: id.0 };
            if let Some(flow) = self.tables.rebind(client, path, (socket.connection, known.flow), change) {
                known.flow = flow;
            }
        }
    }

    /// Accepts connections to a port of this node from now on.
    pub fn listen(&mut self, port: Port) {
        self.tables.listen(self.node, port, self.process);
    }

    /// The transport of a socket, to read, write, open streams and close. `None` if the socket was released.
    #[inline]
    pub fn get(&mut self, socket: SocketId) -> Option<&mut (dyn Endpoint + 'static)> {
        self.table.open(socket.0).map(|s| s.endpoint.as_mut())
    }

    /// Which connection a socket is one end of. Both ends know it by this number.
    pub fn connection(&self, socket: SocketId) -> Option<ConnectionId> {
        self.table.get(socket.0).map(|s| s.connection)
    }

    /// The port that a socket's connection was opened to.
    pub fn port(&self, socket: SocketId) -> Option<Port> {
        self.table.get(socket.0).map(|s| s.port)
    }

    /// Forgets a socket, whatever its state: nothing is sent any more, and what comes for it is dropped and counted.
    pub fn release(&mut self, socket: SocketId) {
        if let Some(connection) = self.table.release(socket.0) {
            self.tables.close(connection, SocketRef { process: self.process, socket: socket.0 });
        }
    }
}
