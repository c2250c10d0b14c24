//! Redundant: the same data on every path that has room, so that the first copy to arrive counts (A. Frömmgen et al.,
//! "ReMP TCP: Low latency multipath TCP", ICC 2016).
//!
//! A path without room does not get the packet later. The kernel module of the out-of-tree MPTCP (`mptcp_redundant.c`)
//! differs there: each of its subflows sends the whole stream at its own pace, and skips only what is acknowledged.

use super::choice::{candidates, is_ready, wait};
use super::{Demand, Description, PathScheduler, PathSet, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const DESCRIPTION: Description = Description {
    name: "redundant",
    summary: "the same data on every path that has room",
    reference: "Frömmgen et al., ICC 2016",
};

/// Redundant.
#[derive(Clone, Copy, Default, Debug)]
pub struct Redundant;

impl Redundant {
    pub(super) fn new() -> Redundant {
        Redundant
    }
}

impl PathScheduler for Redundant {
    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let ready = || candidates(paths).filter(|path| is_ready(path, now)).map(|path| path.id);
        match (ready().next(), ready().count()) {
            (None, _) => wait(candidates(paths)),
            (Some(only), 1) => Pick::On(only),
            _ => Pick::Copies(ready().collect::<PathSet>()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{full, path, pick};
    use super::*;
    use crate::path::PathState;
    use haltere_net::PathId;

    #[test]
    fn every_active_path_with_room_gets_a_copy() {
        let standby = PathView { state: PathState::Standby, ..path(3, 10) };
        let mut paths = [path(0, 10), path(1, 100), path(2, 50), standby];
        let copies = |ids: &[u8]| Pick::Copies(ids.iter().map(|id| PathId(*id)).collect());
        assert_eq!(pick(&mut Redundant, &paths), copies(&[0, 1, 2]));
        paths[1] = full(paths[1]);
        assert_eq!(pick(&mut Redundant, &paths), copies(&[0, 2]));
        paths[2] = full(paths[2]);
        assert_eq!(pick(&mut Redundant, &paths), Pick::On(PathId(0)));
        paths[0] = full(paths[0]);
        assert_eq!(pick(&mut Redundant, &paths), Pick::WaitUntil(Time::NEVER));
    }
}
