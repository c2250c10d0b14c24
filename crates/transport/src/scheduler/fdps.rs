//! FDPS, forward-delay-based packet scheduling (T.-A. Le, L. X. Bui, "Forward delay-based packet scheduling algorithm for multipath
//! TCP", arXiv:1501.03196, 2015).
//!
//! The path with the lowest forward delay carries the data in order. A slower path carries data from further back, which is in
//! order when it arrives: it leaves out what the faster paths deliver in the time by which its own forward delay is longer, at a
//! window for each RTT. Where the faster paths deliver all that there is within that time, it carries nothing.
//!
//! The authors estimate the differences of forward delays by the timestamps of acknowledgements. Here the forward delay is half the
//! smoothed RTT, as in DAPS. A path without an RTT sample carries data only if no other has room, and in order.

use super::choice::{by_rtt, candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "fdps",
        summary: "the fastest path carries data in order, slower ones data from further back, which is in order when it arrives",
        reference: "Le, Bui, arXiv:1501.03196, 2015",
    },
    |_| Box::new(Fdps::new()),
);

/// FDPS.
#[derive(Clone, Copy, Default, Debug)]
pub struct Fdps;

impl Fdps {
    pub(super) fn new() -> Fdps {
        Fdps
    }
}

/// The bytes that the faster of these paths deliver before a packet that is sent on `path` now arrives.
fn before<'a>(path: &PathView, others: impl Iterator<Item = &'a PathView>) -> u64 {
    let Some(own) = path.srtt else { return 0 };
    let delivered = others.filter_map(|other| {
        let rtt = other.srtt.filter(|rtt| *rtt < own)?.as_nanos().max(1);
        let longer = (own.as_nanos() - rtt) / 2;
        Some(u128::from(other.window) * u128::from(longer) / u128::from(rtt))
    });
    u64::try_from(delivered.fold(0, u128::saturating_add)).unwrap_or(u64::MAX)
}

impl PathScheduler for Fdps {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        let all = demand.waiting.saturating_add(demand.beyond);
        let pick = |path: &PathView| match before(path, candidates(paths)) {
            0 => Some((by_rtt(&path), Pick::On(path.id))),
            ahead => (ahead < all).then_some((by_rtt(&path), Pick::Ahead(path.id, ahead))),
        };
        let ready = candidates(paths).filter(|path| is_ready(path, now));
        // A path that is ready and was passed over is nothing to wait for.
        let others = || candidates(paths).filter(|path| path.paced_until > now);
        ready.filter_map(pick).min_by_key(|(rank, _)| *rank).map_or_else(|| wait(others()), |(_, pick)| pick)
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{MSS, NOW, demand, full, path, pick};
    use super::*;
    use haltere_net::PathId;

    #[test]
    fn a_slower_path_leaves_out_what_the_faster_ones_deliver_meanwhile() {
        // Ten segments in 20 ms: in the 40 ms by which the forward delay of 50 ms is longer than 10 ms they deliver 20.
        let (fast, slow) = (path(0, 20), path(1, 100));
        assert_eq!(pick(&mut Fdps, &[fast, slow]), Pick::On(PathId(0)));
        assert_eq!(pick(&mut Fdps, &[full(fast), slow]), Pick::Ahead(PathId(1), 20 * MSS));
        // A third path of 60 ms: ten segments in 60 ms, 20 ms earlier than the slow one: 3333 bytes more.
        let third = path(2, 60);
        assert_eq!(pick(&mut Fdps, &[full(fast), slow, full(third)]), Pick::Ahead(PathId(1), 20 * MSS + 3333));
        assert_eq!(pick(&mut Fdps, &[full(fast), slow, third]), Pick::Ahead(PathId(2), 10 * MSS));
    }

    #[test]
    fn equal_paths_share_the_data_in_order() {
        assert_eq!(pick(&mut Fdps, &[full(path(0, 40)), path(1, 40)]), Pick::On(PathId(1)));
    }

    #[test]
    fn a_slower_path_carries_nothing_that_the_faster_ones_deliver_before() {
        let paths = [full(path(0, 20)), path(1, 100)];
        let at = |waiting, beyond| Fdps.pick(&paths, &Demand { waiting, beyond, ..demand() }, NOW);
        assert_eq!(at(20 * MSS, 0), Pick::WaitUntil(Time::NEVER));
        assert_eq!(at(20 * MSS, 1), Pick::Ahead(PathId(1), 20 * MSS), "the send buffer does not hold all");
        assert_eq!(at(20 * MSS + 1, 0), Pick::Ahead(PathId(1), 20 * MSS));
    }

    #[test]
    fn a_path_without_a_sample_comes_last_and_in_order() {
        let fresh = PathView { srtt: None, ..path(0, 10) };
        assert_eq!(pick(&mut Fdps, &[fresh, path(1, 100)]), Pick::On(PathId(1)));
        assert_eq!(pick(&mut Fdps, &[fresh, full(path(1, 100))]), Pick::On(PathId(0)));
    }
}
