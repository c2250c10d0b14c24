//! The news of loaded code to its run: that it failed, and that it wants to be called at times.

use crate::{ComponentId, Time};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Loaded code that is called at times, such as a policy at the end of each of its intervals. The run stands still meanwhile: all
/// that is due at or before such a time has happened, but for the first call, which follows the turn that started the timer.
pub trait Timer: Send {
    /// When it is to be called next, later than its last call; `None` if not any more.
    fn due(&self) -> Option<Time>;
    /// The time has come.
    fn fire(&mut self, now: Time);
}

/// The news of loaded code to its run. All that a run makes of such code has a clone of one handle. The run looks at it after each
/// turn of a process.
#[derive(Clone, Default)]
pub struct Faults(Arc<Told>);

#[derive(Default)]
struct Told {
    /// Whether there is something to look at: one load tells the run that there is nothing.
    anything: AtomicBool,
    failure: OnceLock<String>,
    started: Mutex<Vec<Box<dyn Timer>>>,
    rung: Mutex<Vec<ComponentId>>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("raised", &self.raised()).finish_non_exhaustive()
    }
}

impl Faults {
    /// Notes a failure, in a sentence that names the code and says what is wrong. Only the first one is kept. The run ends as failed
    /// after the turn.
    pub fn raise(&self, message: String) {
        self.0.failure.get_or_init(|| message);
        self.0.anything.store(true, Ordering::Release);
    }

    /// The failure, if there is one.
    #[inline]
    pub fn raised(&self) -> Option<&str> {
        self.0.failure.get().map(String::as_str)
    }

    /// Starts a timer, which is called after the turn, and then when it is due.
    pub fn start(&self, timer: Box<dyn Timer>) {
        self.0.started.lock().unwrap_or_else(PoisonError::into_inner).push(timer);
        self.0.anything.store(true, Ordering::Release);
    }

    /// Whether there is a failure, or a timer was started that nobody took.
    #[inline]
    pub fn anything(&self) -> bool {
        self.0.anything.load(Ordering::Acquire)
    }

    /// A component may want to be called earlier than it said, because of what happened to another: the ends of connections on one kernel
    /// share it. It is asked again after the turn.
    pub fn ring(&self, component: ComponentId) {
        let mut rung = self.0.rung.lock().unwrap_or_else(PoisonError::into_inner);
        if !rung.contains(&component) {
            rung.push(component);
        }
        self.0.anything.store(true, Ordering::Release);
    }

    /// Takes the components that are to be asked again, in the order in which they were rung for.
    pub fn take_rung(&self) -> Vec<ComponentId> {
        std::mem::take(&mut self.0.rung.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the timers that were started, for the run that will call them.
    pub fn take_started(&self) -> Vec<Box<dyn Timer>> {
        let mut started = self.0.started.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.anything.store(self.raised().is_some(), Ordering::Release);
        std::mem::take(&mut started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Never;

    impl Timer for Never {
        fn due(&self) -> Option<Time> {
            None
        }
        fn fire(&mut self, _now: Time) {}
    }

    #[test]
    fn the_first_failure_is_kept_and_seen_by_all() {
        let (first, second) = (Faults::default(), Faults::default());
        let clone = first.clone();
        assert_eq!((first.raised(), first.anything()), (None, false));
        clone.raise("one".into());
        first.raise("two".into());
        assert_eq!((first.raised(), clone.raised(), second.raised()), (Some("one"), Some("one"), None));
        assert_eq!((first.anything(), second.anything()), (true, false));
    }

    #[test]
    fn timers_are_taken_once_and_a_failure_stays() {
        let faults = Faults::default();
        faults.start(Box::new(Never));
        faults.clone().start(Box::new(Never));
        assert!(faults.anything());
        assert_eq!((faults.take_started().len(), faults.take_started().len(), faults.anything()), (2, 0, false));
        faults.raise("one".into());
        assert_eq!((faults.take_started().len(), faults.anything()), (0, true));
    }
}
