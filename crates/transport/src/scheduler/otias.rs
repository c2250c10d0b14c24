//! OTIAS, out-of-order transmission for in-order arrival (F. Yang, Q. Wang, P. Amer, "Out-of-order transmission for in-order
//! arrival scheduling for multipath TCP", WAINA 2014).
//!
//! Each packet goes to the path on which it would arrive first: after half an RTT, and an RTT more for each window that it has
//! to wait for behind what is queued there. A packet may be queued on a path whose window is full. Whole RTTs are counted as
//! in Ferlin's kernel module (`mptcp_otias.c`), rounded up.
//!
//! A path of QUIC queues nothing. There a packet waits at the connection for the path that is best for it, and those behind it
//! wait too, so that a slower path is used only if half its RTT is less than one and a half of the fastest path's.

use super::choice::{candidates, this_one};
use super::{Demand, Description, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const DESCRIPTION: Description = Description {
    name: "otias",
    summary: "the path on which the packet would arrive first, the time in its queue counted; waits if that one is full",
    reference: "Yang, Wang, Amer, WAINA 2014",
};

/// OTIAS.
#[derive(Clone, Copy, Default, Debug)]
pub struct Otias;

impl Otias {
    pub(super) fn new() -> Otias {
        Otias
    }
}

/// When a further packet would arrive, in halves of nanoseconds from now; the largest number if there is no RTT sample.
fn arrival(path: &PathView) -> u128 {
    let Some(rtt) = path.srtt.map(|rtt| u128::from(rtt.as_nanos())) else { return u128::MAX };
    let sendable = path.window.saturating_sub(path.in_flight);
    let behind = path.queued.saturating_add(path.mss).saturating_sub(sendable);
    let rounds = u128::from(behind.div_ceil(path.window.max(path.mss).max(1)));
    rtt.saturating_mul(2 * rounds + 1)
}

impl PathScheduler for Otias {
    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let first = candidates(paths).min_by_key(|path| (arrival(path), path.id.0));
        first.map_or(Pick::WaitUntil(Time::NEVER), |path| this_one(path, now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{MSS, full, path, pick};
    use super::*;
    use haltere_net::PathId;

    /// A path that queues behind a full window.
    fn queueing(id: u8, rtt_ms: u64, segments: u64) -> PathView {
        PathView { queued: segments * MSS, capacity: 1_000_000, ..full(path(id, rtt_ms)) }
    }

    #[test]
    fn a_packet_goes_where_it_arrives_first_after_its_wait() {
        // With a window of ten segments and an RTT of 10 ms, packets 1 to 10 of the queue arrive after 15 ms, 11 to 20 after
        // 25 ms, 31 to 40 after 45 ms and the next ones after 55 ms. The other path delivers after 50 ms.
        let slow = path(1, 100);
        for (queued, picked) in [(0, 0), (9, 0), (10, 0), (39, 0), (40, 1)] {
            assert_eq!(pick(&mut Otias, &[queueing(0, 10, queued), slow]), Pick::On(PathId(picked)), "{queued}");
        }
    }

    #[test]
    fn a_window_with_room_costs_no_wait() {
        let open = |queued: u64| PathView { queued: queued * MSS, capacity: 1_000_000, ..path(0, 40) };
        // 20 ms while the window takes it; 60 ms for the eleventh packet.
        assert_eq!(pick(&mut Otias, &[open(9), path(1, 100)]), Pick::On(PathId(0)));
        assert_eq!(pick(&mut Otias, &[open(10), path(1, 100)]), Pick::On(PathId(1)));
    }

    #[test]
    fn where_nothing_can_be_queued_it_waits_for_the_better_path() {
        // 15 ms against 50 ms, and against 14 ms.
        assert_eq!(pick(&mut Otias, &[full(path(0, 10)), path(1, 100)]), Pick::WaitUntil(Time::NEVER));
        assert_eq!(pick(&mut Otias, &[full(path(0, 10)), path(1, 28)]), Pick::On(PathId(1)));
    }

    #[test]
    fn a_path_without_a_sample_comes_last() {
        let fresh = PathView { srtt: None, ..path(0, 10) };
        assert_eq!(pick(&mut Otias, &[fresh, path(1, 100)]), Pick::On(PathId(1)));
        assert_eq!(pick(&mut Otias, &[fresh]), Pick::On(PathId(0)));
    }
}
