//! Round robin: the paths take turns, a packet each (draft-bonaventure-iccrg-schedulers-02, Round-Robin).
//!
//! A path whose window is full, or which pacing blocks, loses its turn.

use super::choice::{candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{PathId, Time};

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "round-robin",
        summary: "the paths take turns, a packet each; a path without room loses its turn",
        reference: "draft-bonaventure-iccrg-schedulers-02",
    },
    |_| Box::new(RoundRobin::new()),
);

/// Round robin.
#[derive(Clone, Copy, Default, Debug)]
pub struct RoundRobin {
    /// The path that had the last turn.
    last: Option<PathId>,
}

impl RoundRobin {
    pub(super) fn new() -> RoundRobin {
        RoundRobin::default()
    }
}

impl PathScheduler for RoundRobin {
    fn ignores_demand(&self) -> bool {
        true
    }

    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let ready = || candidates(paths).filter(|path| is_ready(path, now)).map(|path| path.id);
        let next = ready().find(|id| self.last.is_some_and(|last| id.0 > last.0)).or_else(|| ready().next());
        match next {
            Some(id) => {
                self.last = Some(id);
                Pick::On(id)
            }
            None => wait(candidates(paths)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{full, order, path, pick};
    use super::*;
    use crate::path::PathState;

    #[test]
    fn paths_take_turns_whatever_their_rtts() {
        let paths = [path(0, 10), path(1, 100), path(2, 50)];
        assert_eq!(order(&mut RoundRobin::new(), &paths, 7), [0, 1, 2, 0, 1, 2, 0]);
    }

    #[test]
    fn a_full_path_loses_its_turn() {
        let mut scheduler = RoundRobin::new();
        let mut paths = [path(0, 10), full(path(1, 100)), path(2, 50)];
        assert_eq!(order(&mut scheduler, &paths, 3), [0, 2, 0]);
        paths[1].in_flight = 0;
        assert_eq!(order(&mut scheduler, &paths, 3), [1, 2, 0]);
        assert_eq!(pick(&mut scheduler, &paths.map(full)), Pick::WaitUntil(Time::NEVER));
    }

    #[test]
    fn paths_on_standby_have_no_turn() {
        let paths = [path(0, 10), PathView { state: PathState::Standby, ..path(1, 1) }, path(2, 50)];
        assert_eq!(order(&mut RoundRobin::new(), &paths, 3), [0, 2, 0]);
    }
}
