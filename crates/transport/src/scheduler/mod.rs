//! Path schedulers: they choose the path of the next packet. One scheduler per file.
//!
//! A scheduler is used only if a connection has several paths. When a path fails, the connection itself sends the data
//! in flight on other paths.
//!
//! A new scheduler is one new file here and one line in the list of `schedulers!`.

use crate::path::PathView;
use haltere_net::{PathId, Time};

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

/// A scheduler.
pub trait PathScheduler: Send {
    /// Chooses the path of the next data packet at `now`. `waiting` is the number of bytes to be sent. `paths` holds
    /// all paths of the connection, in the order of their numbers. If the chosen path cannot send now
    /// ([`PathView::can_send`]), the pick means [`Pick::WaitUntil`] the time at which it can.
    fn pick(&mut self, paths: &[PathView], waiting: u64, now: Time) -> Pick;
}

/// A scheduler's entry where schedulers are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// A description in one line.
    pub summary: &'static str,
    /// Where it is specified.
    pub reference: &'static str,
}

/// Declares the schedulers. Each entry names its module and the type in it, which has `new()`.
macro_rules! schedulers {
    ($($(#[$doc:meta])* $module:ident :: $scheduler:ident,)*) => {
        $(mod $module;)*

        /// All schedulers.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Scheduler {
            $($(#[$doc])* $scheduler,)*
        }

        impl Scheduler {
            /// All of them.
            pub const ALL: &[Scheduler] = &[$(Scheduler::$scheduler),*];

            /// Its name and references.
            pub const fn describe(self) -> Description {
                match self {
                    $(Scheduler::$scheduler => $module::DESCRIPTION,)*
                }
            }

            /// A scheduler for a connection.
            pub fn build(self) -> Box<dyn PathScheduler> {
                match self {
                    $(Scheduler::$scheduler => Box::new($module::$scheduler::new()),)*
                }
            }
        }
    };
}

schedulers! {
    /// Lowest RTT first.
    lowest_rtt::LowestRtt,
}

impl Scheduler {
    /// The scheduler with the name `name`.
    pub fn named(name: &str) -> Option<Scheduler> {
        Scheduler::ALL.iter().copied().find(|s| s.describe().name == name)
    }
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
