//! Path schedulers: which path the next packet takes, one scheduler a file.
//!
//! A scheduler is asked only where a connection has several paths. What is in flight on a path that is lost is sent again
//! on others without its doing.
//!
//! A new scheduler is one new file here and one line in the list of `schedulers!`.

use crate::path::PathView;
use haltere_net::{PathId, Time};

/// What a scheduler decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pick {
    /// The next packet goes on this path.
    On(PathId),
    /// Nothing goes now. The scheduler is asked again at this time, or earlier if an acknowledgement comes or a timer ends;
    /// [`Time::NEVER`] leaves it to those.
    WaitUntil(Time),
    /// The same data go on each of these paths.
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
    /// Whether a path is in it.
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
    /// The path of the next packet of data, of which `waiting` bytes are there, at `now`. `paths` are all that the
    /// connection has, in the order of their numbers. A pick that cannot send now ([`PathView::can_send`]) counts as
    /// [`Pick::WaitUntil`] that path can.
    fn pick(&mut self, paths: &[PathView], waiting: u64, now: Time) -> Pick;
}

/// What is told of a scheduler where schedulers are listed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Description {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Where it is specified.
    pub reference: &'static str,
}

/// Declares the schedulers: for each its module and the type in it, which has `new()`.
macro_rules! schedulers {
    ($($(#[$doc:meta])* $module:ident :: $scheduler:ident,)*) => {
        $(mod $module;)*

        /// The schedulers there are.
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
    /// The scheduler called `name`.
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
