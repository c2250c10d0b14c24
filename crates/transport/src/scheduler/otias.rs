//! OTIAS, out-of-order transmission for in-order arrival (F. Yang, Q. Wang, P. Amer, "Out-of-order transmission for in-order
//! arrival scheduling for multipath TCP", WAINA 2014).
//!
//! Each packet goes to the path on which it would arrive first: after half an RTT, and an RTT more for each window that it has
//! to wait for behind what is queued there. A packet may be queued on a path whose window is full. Whole RTTs are counted as
//! in Ferlin's kernel module (`mptcp_otias.c`), rounded up.
//!
//! A path of QUIC queues nothing, and a send buffer may be full. The packets that would be queued wait at the connection then, for
//! the paths that are best for them, and another path sends what lies behind them: the first packet that would arrive sooner there.

use super::choice::{candidates, is_ready, this_one};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::Time;

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "otias",
        summary: "the path on which the packet would arrive first, the time in its queue counted; waits if that one is full",
        reference: "Yang, Wang, Amer, WAINA 2014",
    },
    |_| Box::new(Otias::new()),
);

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

/// How many bytes would arrive on `path` before the packet that would arrive at `time` on the path of number `other`.
fn sooner(path: &PathView, time: u128, other: u8) -> u64 {
    let Some(rtt) = path.srtt.map(|rtt| u128::from(rtt.as_nanos()).max(1)) else { return 0 };
    // Of equal times the path with the lower number is first.
    let latest = if path.id.0 < other { time } else { time.saturating_sub(1) };
    let Some(rounds) = (latest / rtt).checked_sub(1).map(|halves| u64::try_from(halves / 2).unwrap_or(u64::MAX)) else {
        return 0;
    };
    let sendable = path.window.saturating_sub(path.in_flight);
    rounds.saturating_mul(path.window.max(path.mss)).saturating_add(sendable).saturating_sub(path.queued)
}

impl PathScheduler for Otias {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        let rank = |path: &&PathView| (arrival(path), path.id.0);
        let Some(first) = candidates(paths).min_by_key(rank) else { return Pick::WaitUntil(Time::NEVER) };
        let pick = this_one(first, now);
        // Pacing is over soon: what is to go on the best path waits for it.
        if matches!(pick, Pick::On(_)) || first.has_capacity() {
            return pick;
        }
        let all = demand.waiting.saturating_add(demand.beyond);
        let Some(next) = candidates(paths).filter(|path| is_ready(path, now)).min_by_key(rank) else { return pick };
        let others = candidates(paths).filter(|path| path.id != next.id);
        let ahead = others.map(|path| sooner(path, arrival(next), next.id.0)).fold(0, u64::saturating_add);
        if next.srtt.is_some() && ahead < all { Pick::Ahead(next.id, ahead) } else { pick }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{MSS, NOW, demand, full, path, pick};
    use super::*;
    use haltere_net::{PathId, Span};

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
    fn where_nothing_can_be_queued_another_path_sends_what_would_be_queued_no_more() {
        // Packets 1 to 10 would arrive on the full path after 15 ms, 31 to 40 after 45 ms and the next ones after 55 ms; on the
        // other they arrive after 50 ms, or after 14 ms.
        let fast = full(path(0, 10));
        assert_eq!(pick(&mut Otias, &[fast, path(1, 100)]), Pick::Ahead(PathId(1), 40 * MSS));
        assert_eq!(pick(&mut Otias, &[fast, path(1, 28)]), Pick::On(PathId(1)));
        // Of equal times the path with the lower number is first.
        assert_eq!(pick(&mut Otias, &[fast, path(1, 90)]), Pick::Ahead(PathId(1), 40 * MSS));
        assert_eq!(pick(&mut Otias, &[path(0, 90), PathView { id: PathId(1), ..fast }]), Pick::Ahead(PathId(0), 30 * MSS));
        // A third path takes ten of the packets that wait, after 45 ms.
        let third = full(path(2, 30));
        assert_eq!(pick(&mut Otias, &[fast, path(1, 100), third]), Pick::Ahead(PathId(1), 50 * MSS));
    }

    #[test]
    fn it_waits_if_all_would_arrive_sooner_on_the_better_path() {
        let paths = [full(path(0, 10)), path(1, 100)];
        let at = |waiting, beyond| Otias.pick(&paths, &Demand { waiting, beyond, ..demand() }, NOW);
        assert_eq!(at(40 * MSS, 0), Pick::WaitUntil(Time::NEVER));
        assert_eq!(at(40 * MSS, 1), Pick::Ahead(PathId(1), 40 * MSS), "the send buffer does not hold all");
        // Pacing ends soon.
        let paced = PathView { paced_until: NOW + Span::from_millis(1), ..path(0, 10) };
        assert_eq!(pick(&mut Otias, &[paced, path(1, 100)]), Pick::WaitUntil(paced.paced_until));
    }

    #[test]
    fn a_path_without_a_sample_comes_last() {
        let fresh = PathView { srtt: None, ..path(0, 10) };
        assert_eq!(pick(&mut Otias, &[fresh, path(1, 100)]), Pick::On(PathId(1)));
        assert_eq!(pick(&mut Otias, &[fresh]), Pick::On(PathId(0)));
    }
}
