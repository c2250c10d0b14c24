//! Applications: what runs on the nodes of a network and uses its transports.
//!
//! An application owns sockets, and may open, accept, lose and re-open as many as it likes. It is told what happens on each,
//! and works on them through [`Sockets`].

mod dialogue;

pub use dialogue::Dialogue;

use crate::world::{SocketId, Sockets};
use haltere_net::{Cx, Time};
use haltere_transport::{CloseReason, Event};

/// A program on a node.
pub trait Application: Send {
    /// The time has come at which it starts; one that only accepts connections need not be started.
    fn on_start(&mut self, _sockets: &mut Sockets<'_>, _cx: &mut Cx<'_>) {}
    /// A connection was accepted on a port that it listens on.
    fn on_accept(&mut self, _socket: SocketId, _sockets: &mut Sockets<'_>, _cx: &mut Cx<'_>) {}
    /// A socket has news.
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>);
    /// When it wants to be called without an event, or [`Time::NEVER`].
    fn alarm(&self) -> Time {
        Time::NEVER
    }
    /// That time has come.
    fn on_alarm(&mut self, _sockets: &mut Sockets<'_>, _cx: &mut Cx<'_>) {}
    /// Whether it has done what it was to do, or has failed. One that only answers others never is over.
    fn is_over(&self) -> bool {
        false
    }
    /// What came of it so far.
    fn report(&self) -> Report;
}

/// What an application reports of itself; each kind has what it alone can tell.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// It fetched something.
    Fetch(Fetch),
    /// It fetched the objects of a page; each with the time at which it had come whole.
    Page(Fetch, Vec<Option<Time>>),
    /// It answered others.
    Serve(Serve),
    /// Named numbers of a kind of its own.
    Values(Vec<(&'static str, f64)>),
}

impl Report {
    /// The fetch in it, if it is one.
    pub fn fetch(&self) -> Option<&Fetch> {
        match self {
            Report::Fetch(fetch) | Report::Page(fetch, _) => Some(fetch),
            Report::Serve(_) | Report::Values(_) => None,
        }
    }
}

/// How a fetch went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fetch {
    /// When the connection was ready for data.
    pub connected: Option<Time>,
    /// When the first byte of the response was read.
    pub first_byte: Option<Time>,
    /// When the last byte was read.
    pub completed: Option<Time>,
    /// Bytes of the response that were read so far.
    pub received: u64,
    /// Why the connection failed, if it did.
    pub failed: Option<CloseReason>,
}

impl Fetch {
    /// Whether it is completed or has failed.
    pub fn is_over(&self) -> bool {
        self.completed.is_some() || self.failed.is_some()
    }
}

/// How answering went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Serve {
    /// When a connection was ready for data for the first time.
    pub connected: Option<Time>,
    /// Why a connection failed, if one did.
    pub failed: Option<CloseReason>,
}
