//! Path schedulers: they choose the path of the next packet. One scheduler per file.
//!
//! A scheduler is used only if a connection has several paths. When a path fails, the connection itself sends the data
//! in flight on other paths.
//!
//! A new scheduler is one new file here, with an `ENTRY`, and one line in the list of `built_in!`. A scheduler of another
//! crate is an [`Implementation`] that is added to a [`Registry`](haltere_net::registry::Registry).

mod choice;

use crate::path::PathView;
use haltere_net::fault::Faults;
use haltere_net::registry::{Description, Entry as _, Handle, Maker, Parameter};
use haltere_net::rng::Stream;
use haltere_net::{PathId, Time};

pub use weighted_round_robin::WeightedRoundRobin;

/// The decision of a scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// Send the next packet on this path.
    On(PathId),
    /// Send nothing now. The scheduler is asked again at this time, or earlier if an acknowledgement arrives or a timer
    /// expires. [`Time::NEVER`] sets no time.
    WaitUntil(Time),
    /// Send the same data on each of these paths.
    Copies(PathSet),
    /// Send on this path the data that follows after so many bytes of what no path was given yet; these bytes are left to other
    /// paths. If less waits, the last packet of it is sent. Data that is to be sent again goes first, as for [`Pick::On`].
    Ahead(PathId, u64),
}

impl Pick {
    /// The path, if there is only one.
    pub fn path(self) -> Option<PathId> {
        match self {
            Pick::On(path) | Pick::Ahead(path, _) => Some(path),
            Pick::WaitUntil(_) | Pick::Copies(_) => None,
        }
    }
}

/// A set of paths.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PathSet([u64; 4]);

impl PathSet {
    /// Adds a path.
    pub fn insert(&mut self, path: PathId) {
        self.0[usize::from(path.0 / 64)] |= 1 << (path.0 % 64);
    }
    /// Whether the set contains a path.
    pub fn contains(&self, path: PathId) -> bool {
        self.0[usize::from(path.0 / 64)] & 1 << (path.0 % 64) != 0
    }
}

impl FromIterator<PathId> for PathSet {
    fn from_iter<T: IntoIterator<Item = PathId>>(paths: T) -> PathSet {
        let mut set = PathSet::default();
        paths.into_iter().for_each(|path| set.insert(path));
        set
    }
}

/// The data that a connection as a whole has to send, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Demand {
    /// Data that no path was given yet.
    pub waiting: u64,
    /// Data that paths were given and that the peer has not acknowledged to the connection.
    pub outstanding: u64,
    /// The bytes that the peer's flow control of the connection allows beyond those that paths were given.
    pub window: u64,
    /// Data of the application for which the connection's send buffer has no room yet.
    pub beyond: u64,
}

impl Demand {
    /// The peer's window for the connection, bytes: what may be outstanding.
    pub fn send_window(&self) -> u64 {
        self.outstanding.saturating_add(self.window)
    }
}

/// A scheduler. All calls are in the order of time.
pub trait PathScheduler: Send {
    /// Chooses the path of the next data at `now`. `paths` holds all paths of the connection, in the order of their
    /// numbers. If the chosen path does not take a packet now ([`PathView::takes`]), the pick means
    /// [`Pick::WaitUntil`] the time at which it does.
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick;

    /// The path that was picked took this many bytes of new data.
    fn on_given(&mut self, _path: PathId, _bytes: u64, _now: Time) {}

    /// The peer's flow control of the connection keeps data back, and `head` carries the oldest data that is not
    /// acknowledged: the other paths wait for it. Called at most once for each time that the window closes.
    fn on_blocked(&mut self, _head: PathId, _now: Time) {}

    /// Whether its picks do not depend on what there is to send, so that a connection need not count it for each packet.
    fn ignores_demand(&self) -> bool {
        false
    }

    /// How many bytes of data a path gets for a pick, if it takes them; 0 means one packet. QUIC asks for each packet.
    fn burst(&self) -> u64 {
        0
    }
}

/// The surroundings of a scheduler, from which it is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// The random stream of schedulers that draw random numbers. Those that come with this project draw none.
    pub stream: Stream,
    /// The values of the [`Parameter`]s that the scheduler declares, in their order. [`Implementation::build`] sets them.
    pub values: &'static [f64],
    /// Where loaded code says that it failed, if somebody listens.
    pub faults: Option<Faults>,
}

/// A scheduler as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name, summary and reference.
    pub description: Description,
    /// The numbers by which it can be tuned.
    pub parameters: &'static [Parameter],
    /// The values of these parameters, in their order.
    pub values: &'static [f64],
    /// Makes a scheduler for a connection.
    pub build: Maker<Config, Box<dyn PathScheduler>>,
}

/// A path scheduler, as configurations hold it.
pub type Scheduler = Handle<Implementation>;

impl Implementation {
    /// A scheduler without parameters.
    pub const fn new(description: Description, build: fn(Config) -> Box<dyn PathScheduler>) -> Implementation {
        Implementation { description, parameters: &[], values: &[], build: Maker::BuiltIn(build) }
    }

    /// A scheduler for a connection. It draws from `stream`, and loaded code says by `faults` that it failed.
    pub fn build(&self, stream: Stream, faults: Option<Faults>) -> Box<dyn PathScheduler> {
        self.build.make(Config { stream, values: self.values, faults })
    }

    /// The scheduler with other values of its parameters. Its name has those that are not the default.
    ///
    /// # Errors
    ///
    /// If it has no parameter of a name, or a value is outside its range.
    pub fn tuned(&'static self, given: &[(&str, f64)]) -> Result<Scheduler, String> {
        let values = Parameter::values(self.parameters, given)?;
        let tail = Parameter::tail(self.parameters, &values);
        if tail.is_empty() {
            return Ok(Handle(self));
        }
        let name = format!("{}{tail}", self.description.name);
        Implementation::shelf().find_or(&name, || {
            let description = Description { name: name.clone().leak(), ..self.description };
            Ok(Box::leak(Box::new(Implementation { description, values: values.leak(), ..*self })))
        })
    }
}

haltere_net::built_in! {
    Implementation: "path scheduler";
    /// Lowest RTT first.
    LOWEST_RTT = lowest_rtt,
    /// The default of Linux's MPTCP.
    LINUX = linux,
    /// Round robin.
    ROUND_ROBIN = round_robin,
    /// Every packet on every path.
    REDUNDANT = redundant,
    /// Strict priority.
    PRIORITY = priority,
    /// Weighted round robin.
    WEIGHTED_ROUND_ROBIN = weighted_round_robin,
    /// Earliest completion first.
    ECF = ecf,
    /// Blocking estimation.
    BLEST = blest,
    /// Delay-aware packet scheduling.
    DAPS = daps,
    /// Out-of-order transmission for in-order arrival.
    OTIAS = otias,
    /// Forward-delay-based packet scheduling.
    FDPS = fdps,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scheduler_is_found_by_its_name() {
        for scheduler in Scheduler::ALL {
            assert_eq!(Scheduler::named(scheduler.describe().name), Some(*scheduler));
        }
        assert_eq!(Scheduler::named("none"), None);
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: PathSet = [PathId(0), PathId(63), PathId(64), PathId(255)].into_iter().collect();
        let held: Vec<u8> = (0..=255).filter(|id| set.contains(PathId(*id))).collect();
        assert_eq!(held, [0, 63, 64, 255]);
    }
}
