//! Redundant: the same data on all paths, so that the first copy to arrive counts (A. Frömmgen et al., "ReMP TCP: Low latency
//! multipath TCP", ICC 2016).
//!
//! Each packet goes on the path with the highest rate, and a copy on every other path that has room at that moment, so that
//! the connection is as fast as its fastest path. In the kernel module of the out-of-tree MPTCP (`mptcp_redundant.c`) each
//! subflow sends the whole stream at its own pace and skips what is acknowledged; here what a slower path had no room for never
//! goes on it.

use super::choice::{candidates, is_open, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, PathSet, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "redundant",
        summary: "all data on the path with the highest rate, and copies on every other path that has room",
        reference: "Frömmgen et al., ICC 2016",
    },
    |_| Box::new(Redundant::new()),
);

/// Redundant.
#[derive(Clone, Copy, Default, Debug)]
pub struct Redundant;

impl Redundant {
    pub(super) fn new() -> Redundant {
        Redundant
    }
}

impl PathScheduler for Redundant {
    fn ignores_demand(&self) -> bool {
        true
    }

    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let rate = |path: &&PathView| (path.nominal_rate(), std::cmp::Reverse(path.id.0));
        // A path that neither sends nor waits for an acknowledgement cannot lead.
        let leads = |path: &&PathView| path.held() > 0 || is_open(path);
        let Some(first) = candidates(paths).filter(leads).max_by_key(rate) else { return Pick::WaitUntil(Time::NEVER) };
        if !is_ready(first, now) {
            return wait(std::iter::once(first));
        }
        let ready = || candidates(paths).filter(|path| is_ready(path, now)).map(|path| path.id);
        if ready().count() == 1 { Pick::On(first.id) } else { Pick::Copies(ready().collect::<PathSet>()) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{NOW, full, path, pick};
    use super::*;
    use crate::path::PathState;
    use haltere_net::{PathId, Span};

    #[test]
    fn a_packet_goes_on_the_fastest_path_and_a_copy_on_all_with_room() {
        let standby = PathView { state: PathState::Standby, ..path(3, 10) };
        // The same windows: the shortest RTT has the highest rate.
        let mut paths = [path(0, 20), path(1, 100), path(2, 50), standby];
        let copies = |ids: &[u8]| Pick::Copies(ids.iter().map(|id| PathId(*id)).collect());
        assert_eq!(pick(&mut Redundant, &paths), copies(&[0, 1, 2]));
        paths[1] = full(paths[1]);
        assert_eq!(pick(&mut Redundant, &paths), copies(&[0, 2]));
        paths[2].paced_until = NOW + Span::from_millis(1);
        assert_eq!(pick(&mut Redundant, &paths), Pick::On(PathId(0)));
    }

    #[test]
    fn what_the_fastest_path_has_no_room_for_waits() {
        let mut paths = [full(path(0, 20)), path(1, 100)];
        assert_eq!(pick(&mut Redundant, &paths), Pick::WaitUntil(Time::NEVER));
        paths[0].in_flight = 0;
        paths[0].paced_until = NOW + Span::from_millis(1);
        assert_eq!(pick(&mut Redundant, &paths), Pick::WaitUntil(paths[0].paced_until));
        // Six times the window at five times the RTT.
        paths[1] = PathView { window: 60_000, capacity: 60_000, ..paths[1] };
        assert_eq!(pick(&mut Redundant, &paths), Pick::On(PathId(1)));
    }
}
