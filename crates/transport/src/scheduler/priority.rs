//! Strict priority: the first path that has room, in the order of their numbers (draft-bonaventure-iccrg-schedulers-02,
//! Strict Priority). The QUIC stack `noq` 1.4 sends on its available paths in this order too.

use super::choice::{candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "priority",
        summary: "the path with the lowest number that has room",
        reference: "draft-bonaventure-iccrg-schedulers-02",
    },
    |_| Box::new(Priority::new()),
);

/// Strict priority.
#[derive(Clone, Copy, Default, Debug)]
pub struct Priority;

impl Priority {
    pub(super) fn new() -> Priority {
        Priority
    }
}

impl PathScheduler for Priority {
    fn ignores_demand(&self) -> bool {
        true
    }

    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let first = candidates(paths).filter(|path| is_ready(path, now)).min_by_key(|path| path.id.0);
        first.map_or_else(|| wait(candidates(paths)), |path| Pick::On(path.id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{NOW, full, path, pick};
    use super::*;
    use crate::path::PathState;
    use haltere_net::{PathId, Span};

    #[test]
    fn the_lowest_number_with_room_goes_first() {
        let mut paths = [path(0, 100), path(1, 10), path(2, 1)];
        for id in 0..3 {
            assert_eq!(pick(&mut Priority, &paths), Pick::On(PathId(id)));
            paths[usize::from(id)] = full(paths[usize::from(id)]);
        }
        assert_eq!(pick(&mut Priority, &paths), Pick::WaitUntil(Time::NEVER));
        paths[2].in_flight = 0;
        paths[2].paced_until = NOW + Span::from_millis(1);
        assert_eq!(pick(&mut Priority, &paths), Pick::WaitUntil(paths[2].paced_until));
    }

    #[test]
    fn standby_counts_more_than_the_number() {
        let mut paths = [PathView { state: PathState::Standby, ..path(0, 10) }, full(path(1, 10))];
        assert_eq!(pick(&mut Priority, &paths), Pick::WaitUntil(Time::NEVER));
        paths[1].state = PathState::Suspect;
        assert_eq!(pick(&mut Priority, &paths), Pick::On(PathId(0)));
    }
}
