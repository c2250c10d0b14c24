//! Lowest RTT first. It was the first scheduler of Linux's MPTCP, and most comparisons start from it (C. Paasch et al.,
//! "Experimental evaluation of multipath TCP schedulers", CSWS 2014, section 3).

use super::choice::{by_rtt, candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "lowest-rtt",
        summary: "the path with the lowest smoothed RTT whose window has room; standby paths if no other is left",
        reference: "Paasch et al. 2014, section 3",
    },
    |_| Box::new(LowestRtt::new()),
);

/// Lowest RTT first.
#[derive(Clone, Copy, Default, Debug)]
pub struct LowestRtt;

impl LowestRtt {
    pub(super) fn new() -> LowestRtt {
        LowestRtt
    }
}

impl PathScheduler for LowestRtt {
    fn ignores_demand(&self) -> bool {
        true
    }

    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let ready = candidates(paths).filter(|path| is_ready(path, now));
        ready.min_by_key(by_rtt).map_or_else(|| wait(candidates(paths)), |path| Pick::On(path.id))
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{NOW, path};
    use super::*;
    use crate::path::PathState;
    use haltere_net::{PathId, Span};

    fn pick(paths: &[PathView]) -> Pick {
        LowestRtt::new().pick(paths, &Demand { waiting: 1_000_000, ..Demand::default() }, NOW)
    }

    #[test]
    fn the_lowest_rtt_goes_first_and_the_next_when_its_window_is_full() {
        let mut paths = [path(0, 50), path(1, 20), path(2, 30)];
        assert_eq!(pick(&paths), Pick::On(PathId(1)));
        paths[1].in_flight = 9001;
        assert_eq!(pick(&paths), Pick::On(PathId(2)));
        paths[2].in_flight = 9001;
        assert_eq!(pick(&paths), Pick::On(PathId(0)));
        paths[0].in_flight = 9001;
        assert_eq!(pick(&paths), Pick::WaitUntil(Time::NEVER));
    }

    #[test]
    fn where_pacing_holds_all_back_it_waits_for_the_first() {
        let mut paths = [path(0, 50), path(1, 20)];
        paths[1].paced_until = NOW + Span::from_millis(2);
        assert_eq!(pick(&paths), Pick::On(PathId(0)));
        paths[0].paced_until = NOW + Span::from_millis(1);
        assert_eq!(pick(&paths), Pick::WaitUntil(NOW + Span::from_millis(1)));
    }

    #[test]
    fn paths_that_are_not_active_carry_nothing_but_standby_ones_where_no_other_is_left() {
        let mut paths = [path(0, 50), path(1, 20), path(2, 10)];
        paths[1].state = PathState::Standby;
        paths[2].state = PathState::Validating;
        assert_eq!(pick(&paths), Pick::On(PathId(0)));
        paths[0].in_flight = 10_000;
        assert_eq!(pick(&paths), Pick::WaitUntil(Time::NEVER), "a full window is no reason to use a standby path");
        paths[0].state = PathState::Suspect;
        assert_eq!(pick(&paths), Pick::On(PathId(1)));
        paths[1].state = PathState::Abandoned;
        assert_eq!(pick(&paths), Pick::WaitUntil(Time::NEVER));
    }

    #[test]
    fn a_path_without_a_sample_comes_last() {
        let mut paths = [path(0, 500), path(1, 20)];
        paths[1].srtt = None;
        assert_eq!(pick(&paths), Pick::On(PathId(0)));
    }
}
