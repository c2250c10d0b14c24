//! The choices that schedulers share: which paths they choose among, which of these take a packet now, and how long to wait.

use super::Pick;
use crate::path::{PathState, PathView};
use haltere_net::{Span, Time};

/// Whether the path can take data at some time: now, after pacing, or after an acknowledgement.
fn is_live(path: &PathView) -> bool {
    path.state.usable() && path.paced_until != Time::NEVER && (path.held() > 0 || path.has_capacity())
}

/// The paths to choose among: the active ones, or those on standby if no active path is left.
pub(super) fn candidates(paths: &[PathView]) -> impl Iterator<Item = &PathView> + Clone {
    let active = paths.iter().any(|path| path.state == PathState::Active && is_live(path));
    let wanted = if active { PathState::Active } else { PathState::Standby };
    paths.iter().filter(move |path| path.state == wanted && is_live(path))
}

/// Whether window and capacity have room for a full packet. A path that holds nothing always has, whatever its window is:
/// no acknowledgement would come to open it.
pub(super) fn is_open(path: &PathView) -> bool {
    path.has_capacity() && (path.held() == 0 || path.has_room())
}

/// Whether the path sends a full packet at `now`: it is open, and pacing does not block it.
pub(super) fn is_ready(path: &PathView, now: Time) -> bool {
    is_open(path) && path.takes(now)
}

/// The order of paths by RTT: those without a sample come last; equal ones in the order of their numbers.
pub(super) fn by_rtt(path: &&PathView) -> (Span, u8) {
    (path.srtt.unwrap_or(Span::MAX), path.id.0)
}

/// Waits for the first of the paths that pacing alone blocks, or for an acknowledgement if there is none.
pub(super) fn wait<'a>(paths: impl Iterator<Item = &'a PathView>) -> Pick {
    Pick::WaitUntil(paths.filter(|path| is_open(path)).map(|path| path.paced_until).min().unwrap_or(Time::NEVER))
}

/// Picks the path if it takes a packet, to send or to queue it; waits for it if not.
pub(super) fn this_one(path: &PathView, now: Time) -> Pick {
    if path.takes(now) {
        return Pick::On(path.id);
    }
    Pick::WaitUntil(if path.has_capacity() { path.paced_until } else { Time::NEVER })
}

#[cfg(test)]
pub(super) mod samples {
    //! Paths for the tests of schedulers.

    use super::*;
    use crate::scheduler::{Demand, PathScheduler};
    use haltere_net::{PathId, Rate};

    pub const NOW: Time = Time::from_nanos(1_000_000);
    pub const MSS: u64 = 1000;

    /// An idle, active path with a window of ten segments.
    pub fn path(id: u8, rtt_ms: u64) -> PathView {
        PathView {
            id: PathId(id),
            window: 10 * MSS,
            ssthresh: u64::MAX,
            capacity: 10 * MSS,
            mss: MSS,
            srtt: Some(Span::from_millis(rtt_ms)),
            min_rtt: Some(Span::from_millis(rtt_ms)),
            in_slow_start: true,
            ..PathView::default()
        }
    }

    /// A path with this pacing rate.
    pub fn paced(id: u8, mbps: u64) -> PathView {
        PathView { pacing_rate: Some(Rate::from_bps(mbps * 1_000_000)), ..path(id, 20) }
    }

    /// That path with a full window.
    pub fn full(path: PathView) -> PathView {
        PathView { in_flight: path.window, ..path }
    }

    /// A large demand.
    pub fn demand() -> Demand {
        Demand { waiting: 1_000_000, outstanding: 0, window: 1_000_000, beyond: 0 }
    }

    /// The numbers of the paths that `picks` packets of a segment take, with nothing else changing.
    pub fn order(scheduler: &mut dyn PathScheduler, paths: &[PathView], picks: usize) -> Vec<u8> {
        let mut one = || match scheduler.pick(paths, &demand(), NOW) {
            Pick::On(id) => {
                scheduler.on_given(id, MSS, NOW);
                id.0
            }
            other => panic!("no path: {other:?}"),
        };
        (0..picks).map(|_| one()).collect()
    }

    /// A pick for the large demand.
    pub fn pick(scheduler: &mut dyn PathScheduler, paths: &[PathView]) -> Pick {
        scheduler.pick(paths, &demand(), NOW)
    }
}
