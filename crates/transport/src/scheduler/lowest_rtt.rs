//! Lowest RTT first. It was the first scheduler of Linux's MPTCP, and most comparisons start from it (C. Paasch et al.,
//! "Experimental evaluation of multipath TCP schedulers", CSWS 2014, section 3).

use super::{Demand, Description, PathScheduler, Pick};
use crate::path::{PathState, PathView};
use haltere_net::{Span, Time};

pub(super) const DESCRIPTION: Description = Description {
    name: "lowest-rtt",
    summary: "the path with the lowest smoothed RTT whose window has room; standby paths if no other is left",
    reference: "Paasch et al. 2014, section 3",
};

/// Lowest RTT first.
#[derive(Clone, Copy, Default, Debug)]
pub struct LowestRtt;

impl LowestRtt {
    pub(super) fn new() -> LowestRtt {
        LowestRtt
    }
}

impl PathScheduler for LowestRtt {
    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        // Standby paths are used only if no active path is left, whether or not an active path has room.
        let active = paths.iter().any(|p| p.state == PathState::Active);
        let wanted = if active { PathState::Active } else { PathState::Standby };
        let open = || paths.iter().filter(|p| p.state == wanted && p.has_room());
        // Paths without an RTT sample come after those with one.
        let rtt = |p: &&PathView| (p.srtt.unwrap_or(Span::MAX), p.id);
        if let Some(path) = open().filter(|p| p.can_send(now)).min_by_key(rtt) {
            return Pick::On(path.id);
        }
        Pick::WaitUntil(open().map(|p| p.paced_until).min().unwrap_or(Time::NEVER))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::PathId;

    const NOW: Time = Time::from_nanos(1_000_000);

    fn path(id: u8, rtt_ms: u64) -> PathView {
        PathView {
            id: PathId(id),
            state: PathState::Active,
            own: false,
            window: 10_000,
            ssthresh: u64::MAX,
            in_flight: 0,
            queued: 0,
            capacity: 10_000,
            mss: 1000,
            srtt: Some(Span::from_millis(rtt_ms)),
            min_rtt: Some(Span::from_millis(rtt_ms)),
            rtt_variation: Span::ZERO,
            delivery_rate: None,
            pacing_rate: None,
            paced_until: Time::ZERO,
            in_slow_start: true,
            since_loss: 0,
            between_losses: 0,
        }
    }

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
