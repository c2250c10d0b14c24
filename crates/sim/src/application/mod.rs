//! Applications: what runs on the nodes of a network and uses its transports.
//!
//! An application owns sockets. It may open, accept, lose and re-open any number of them. It receives the events of
//! each, and uses them through [`Sockets`].

mod copy;
mod dialogue;
mod feed;
mod mqtt;
mod probe;
mod program;

pub use copy::{Channel, CopyClient, CopyServer};
pub use dialogue::Dialogue;
pub(crate) use mqtt::topics_of;
pub use mqtt::{
    Arrivals, BrokerProcess, Framing, Ledger, MARK, Messages, PUBLISHER_LEVELS, Plan as PublisherPlan, Publishers,
    Subscriber, Traffic,
};
pub use probe::{Carrier, Echo, Pace, Plan, Probed, Prober, Sample};
pub use program::{ProgramClient, ProgramPublishers, ProgramServer};

use crate::call::{Encoded, Viewed};
use crate::load::Sourced;
use crate::video::Watched;
use crate::world::{SocketId, Sockets};
use haltere_net::{Cx, Span, Time};
use haltere_transport::{CloseReason, Event};

/// A program on a node.
pub trait Application: Send {
    /// The start time has come. An application that only accepts connections need not be started.
    fn on_start(&mut self, _sockets: &mut Sockets<'_>, _cx: &mut Cx<'_>) {}
    /// A connection was accepted on a port on which the application listens.
    fn on_accept(&mut self, _socket: SocketId, _sockets: &mut Sockets<'_>, _cx: &mut Cx<'_>) {}
    /// A socket has an event.
    fn on_event(&mut self, socket: SocketId, event: Event, sockets: &mut Sockets<'_>, cx: &mut Cx<'_>);
    /// When the application wants to be called without an event, or [`Time::NEVER`].
    fn alarm(&self) -> Time {
        Time::NEVER
    }
    /// The alarm time has come.
    fn on_alarm(&mut self, _sockets: &mut Sockets<'_>, _cx: &mut Cx<'_>) {}
    /// Whether it has completed its task, or has failed. An application that only answers others never finishes.
    fn is_over(&self) -> bool {
        false
    }
    /// Its report so far.
    fn report(&self) -> Report;
    /// The bytes that it has received so far, if it fetches something. One whose report is large says it here.
    fn received(&self) -> u64 {
        self.report().fetch().map_or(0, |fetch| fetch.received)
    }
}

/// An application's report on itself. Each kind has fields of its own.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// It fetched something.
    Fetch(Fetch),
    /// It fetched the objects of a page. Each has the time at which it was complete.
    Page(Fetch, Vec<Option<Time>>),
    /// It answered others.
    Serve(Serve),
    /// It sent probes.
    Probed(Probed),
    /// It sent a load.
    Sourced(Sourced),
    /// It received messages.
    Messages(Box<Messages>),
    /// It viewed a call.
    Call(Box<Viewed>),
    /// It sent the video of a call.
    Encoded(Box<Encoded>),
    /// It watched a film.
    Video(Box<Watched>),
    /// Another kind of application, with named numbers.
    Values(Vec<(&'static str, f64)>),
}

impl Report {
    /// The report of the fetch, if it is one.
    pub fn fetch(&self) -> Option<&Fetch> {
        match self {
            Report::Fetch(fetch) | Report::Page(fetch, _) => Some(fetch),
            Report::Messages(messages) => Some(&messages.fetch),
            Report::Call(viewed) => Some(&viewed.fetch),
            Report::Video(watched) => Some(&watched.fetch),
            Report::Encoded(_) | Report::Serve(_) | Report::Probed(_) | Report::Sourced(_) | Report::Values(_) => None,
        }
    }
}

/// The outcome of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Fetch {
    /// When the first request could be sent: the handshakes before it were complete, or early data may go before that.
    pub ready: Option<Time>,
    /// When the first byte of the response was read.
    pub first_byte: Option<Time>,
    /// When the last byte of the response was read.
    pub completed: Option<Time>,
    /// Bytes of the response that were read so far.
    pub received: u64,
    /// When bytes of the response were read last.
    pub last: Option<Time>,
    /// The longest time between two reads of the response.
    pub longest_gap: Span,
    /// Why the connection failed, if it did.
    pub failed: Option<CloseReason>,
}

impl Fetch {
    /// Bytes of the response are read.
    #[inline]
    pub fn note_read(&mut self, now: Time) {
        let last = self.last.replace(now).unwrap_or(now);
        self.longest_gap = self.longest_gap.max(now.since(last));
    }

    /// Whether the fetch is complete or has failed.
    pub fn is_over(&self) -> bool {
        self.completed.is_some() || self.failed.is_some()
    }
}

/// The outcome of answering.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Serve {
    /// When a connection was ready for data for the first time.
    pub connected: Option<Time>,
    /// Why a connection failed, if one did.
    pub failed: Option<CloseReason>,
}
