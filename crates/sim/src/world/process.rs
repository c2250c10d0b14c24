//! Processes: an application on a node, with its sockets.

use super::rebinding::{Change, Move};
use super::sockets::{SocketId, SocketTable, Sockets, Transports};
use super::tables::{Port, Tables};
use crate::application::{Application, Report};
use crate::radio::{RadioModel, Radios, Usage};
use haltere_net::topology::NodeId;
use haltere_net::{Address, ConnectionId, Cx, PathId, Time};
use haltere_transport::path::PathStatus;
use haltere_transport::{CloseReason, Event, Stats};
use std::collections::VecDeque;

/// Number of a process of a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ProcessId(pub u32);

/// A process before the run.
pub struct Spawn {
    /// Where it runs.
    pub node: NodeId,
    /// Its application.
    pub application: Box<dyn Application>,
    /// Makes its transports.
    pub transports: Box<dyn Transports>,
    /// When it starts; `None` never does by itself: it accepts connections.
    pub start: Option<Time>,
    /// The ports it listens on from the beginning.
    pub ports: Vec<Port>,
    /// The number of the first connection that it opens, so that it does not depend on who else opens one when. The numbers
    /// of a run's processes that have one count from 0.
    pub connection: Option<ConnectionId>,
    /// The DiffServ codepoint of its packets.
    pub class: u8,
    /// The paths of its connections, as own and peer's address. They open on the first; the others are taken up as soon as
    /// both ends allow several. Empty if they open from whichever own address links lead from.
    pub paths: Vec<(Address, Address)>,
    /// Whether each path is in reserve, the first included; a path beyond the list is not.
    pub backups: Vec<bool>,
    /// The changes of its addresses, in the order of time.
    pub moves: Vec<Move>,
    /// The radio of its devices, if it is asked for what they do.
    pub radio: Option<RadioModel>,
}

impl Spawn {
    /// A process that starts by itself. Its connections have numbers that are given when they are opened.
    pub fn client(
        node: NodeId,
        application: Box<dyn Application>,
        transports: Box<dyn Transports>,
        start: Time,
    ) -> Spawn {
        Spawn { start: Some(start), ..Spawn::server(node, application, transports, Vec::new()) }
    }

    /// A process that accepts connections to these ports.
    pub fn server(
        node: NodeId,
        application: Box<dyn Application>,
        transports: Box<dyn Transports>,
        ports: Vec<Port>,
    ) -> Spawn {
        Spawn {
            node,
            application,
            transports,
            start: None,
            ports,
            connection: None,
            class: 0,
            paths: Vec::new(),
            backups: Vec::new(),
            moves: Vec::new(),
            radio: None,
        }
    }
}

/// A process of a run.
// In this order, so that what every packet needs stands together: of many processes, hardly one is in a cache when it is called.
#[repr(C)]
pub struct Process {
    backups: Vec<bool>,
    moves: VecDeque<Move>,
    start: Option<Time>,
    paths: Vec<(Address, Address)>,
    application: Box<dyn Application>,
    /// When it starts, or the next of its moves.
    due: Time,
    alarm: Time,
    pub(super) node: NodeId,
    /// The path that its connections open on, or moved to.
    present: PathId,
    pub(super) class: u8,
    pub(super) table: SocketTable,
}

impl Process {
    pub(super) fn new(spawn: Spawn) -> Process {
        let Spawn { node, application, transports, start, connection, class, paths, backups, moves, radio, .. } = spawn;
        let alarm = application.alarm();
        let mut table = SocketTable::new(transports, connection);
        table.radios = radio.map(|model| Box::new(Radios::new(model)));
        let (moves, present) = (VecDeque::from(moves), PathId(0));
        let mut process =
            Process { node, application, table, start, due: Time::NEVER, alarm, class, paths, backups, moves, present };
        process.due = process.next_due();
        process
    }

    fn next_due(&self) -> Time {
        let next = self.moves.front().map_or(Time::NEVER, |next| next.at);
        self.start.unwrap_or(Time::NEVER).min(next)
    }

    /// When it wants to be called.
    #[inline]
    pub(super) fn wake(&self) -> Time {
        self.table.wake().min(self.due).min(self.alarm)
    }

    /// When it wants to be called for something else than its sockets.
    pub(super) fn own_wake(&self) -> Time {
        self.due.min(self.alarm)
    }

    fn own_sockets<'a>(&'a mut self, me: u32, tables: &'a mut Tables) -> Sockets<'a> {
        let Process { table, node, present, paths, .. } = self;
        Sockets { table, tables, process: me, node: *node, present: *present, paths }
    }

    /// Lets the application act on its sockets.
    #[inline]
    fn act(
        &mut self,
        me: u32,
        tables: &mut Tables,
        cx: &mut Cx<'_>,
        f: impl FnOnce(&mut dyn Application, &mut Sockets<'_>, &mut Cx<'_>),
    ) {
        let Process { application, table, node, present, paths, .. } = self;
        let mut sockets = Sockets { table, tables, process: me, node: *node, present: *present, paths };
        f(application.as_mut(), &mut sockets, cx);
        self.alarm = self.application.alarm();
    }

    /// Its time has come: it starts, its alarm rings, or timers of its sockets are due.
    pub(super) fn on_wake(&mut self, me: u32, tables: &mut Tables, cx: &mut Cx<'_>) {
        if self.due <= cx.now {
            self.on_due(me, tables, cx);
        } else if self.alarm <= cx.now {
            self.act(me, tables, cx, |application, sockets, cx| application.on_alarm(sockets, cx));
        } else {
            self.table.on_wake(cx);
        }
    }

    #[cold]
    fn on_due(&mut self, me: u32, tables: &mut Tables, cx: &mut Cx<'_>) {
        if self.start.is_some_and(|t| t <= cx.now) {
            self.start = None;
            self.act(me, tables, cx, |application, sockets, cx| application.on_start(sockets, cx));
        }
        while let Some(&next) = self.moves.front().filter(|next| next.at <= cx.now) {
            self.moves.pop_front();
            match next.change {
                Change::Rebinding(path, change) => {
                    let path = path.unwrap_or(self.present);
                    self.own_sockets(me, tables).rebind(path, change);
                }
                Change::Migration(path) => self.migrate(path, me, tables, cx),
                Change::End => {
                    for socket in self.table.ids() {
                        self.own_sockets(me, tables).release(socket);
                    }
                }
            }
        }
        self.due = self.next_due();
    }

    /// Leaves the present address for that of a path. A connection that cannot follow ends. New ones open there.
    fn migrate(&mut self, path: PathId, me: u32, tables: &mut Tables, cx: &mut Cx<'_>) {
        let left = std::mem::replace(&mut self.present, path);
        let addresses = self.paths.get(usize::from(path.0)).copied();
        for socket in self.table.ids() {
            let mut sockets = self.own_sockets(me, tables);
            let connection = sockets.connection(socket);
            if sockets.migrate(socket, (left, path), addresses, cx).is_ok() {
                continue;
            }
            let reason = Event::Failed(CloseReason::AddressLeft);
            self.act(me, tables, cx, |application, sockets, cx| {
                application.on_event(socket, reason, sockets, cx);
                // The application may have released it, and have opened another connection.
                if sockets.connection(socket) == connection {
                    sockets.release(socket);
                }
            });
        }
    }

    pub(super) fn on_accept(&mut self, socket: SocketId, me: u32, tables: &mut Tables, cx: &mut Cx<'_>) {
        self.act(me, tables, cx, |application, sockets, cx| application.on_accept(socket, sockets, cx));
    }

    #[inline]
    pub(super) fn on_event(&mut self, socket: SocketId, event: Event, me: u32, tables: &mut Tables, cx: &mut Cx<'_>) {
        if matches!(event, Event::Multipath) {
            self.take_up_paths(socket, me, tables, cx);
        }
        self.act(me, tables, cx, |application, sockets, cx| application.on_event(socket, event, sockets, cx));
    }

    /// The path manager: takes up the further paths of a connection, and puts some in reserve. One that the transport refuses is left out.
    #[cold]
    fn take_up_paths(&mut self, socket: SocketId, me: u32, tables: &mut Tables, cx: &mut Cx<'_>) {
        let Process { table, paths, backups, node, present, .. } = self;
        let mut sockets = Sockets { table, tables, process: me, node: *node, present: *present, paths };
        let opened = usize::from(sockets.opened_on(socket).0);
        for number in 1..paths.len() {
            let k = if number == opened { 0 } else { number };
            let (own, peer) = paths[k];
            let added = sockets.add_path(socket, own, peer, cx);
            if backups.get(k) == Some(&true)
                && let (Ok(path), Some(endpoint)) = (added, sockets.get(socket))
            {
                let _ = endpoint.set_status(path, PathStatus::Backup, cx);
            }
        }
        if backups.get(opened) == Some(&true)
            && let Some(endpoint) = sockets.get(socket)
        {
            let _ = endpoint.set_status(PathId(0), PathStatus::Backup, cx);
        }
    }

    /// The node it runs on.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Whether its application has done what it was to do, or has failed.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.application.is_over()
    }

    /// The report of its application.
    pub fn report(&self) -> Report {
        self.application.report()
    }

    /// The bytes that its application has received so far, if it fetches something.
    pub fn received(&self) -> u64 {
        self.application.received()
    }

    /// The counters of all its connections together.
    pub fn stats(&self) -> Stats {
        self.table.stats()
    }

    /// The counters of its connections to a port together.
    pub fn stats_at(&self, port: Port) -> Stats {
        self.table.stats_at(port)
    }

    /// The usage of its devices' radios up to a time, if it has any.
    pub fn radio(&self, until: Time) -> Option<Usage> {
        self.table.radios.as_ref().map(|radios| radios.usage(until))
    }

    /// The sockets it has now.
    pub fn sockets(&self) -> usize {
        self.table.len()
    }
}
