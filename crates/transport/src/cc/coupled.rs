//! The view that coupled algorithms share: the paths of a connection as they see them.

use crate::path::{PathState, PathView};

/// A path that counts. Windows are in bytes, RTTs in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    pub window: f64,
    pub rtt: f64,
    /// Bytes acknowledged since the last loss, or between the last two, whichever are more.
    pub volume: f64,
    pub own: bool,
}

impl Flow {
    /// The rate that the window gives, bytes a second.
    pub fn rate(&self) -> f64 {
        self.window / self.rtt
    }

    fn of(path: &PathView) -> Option<Flow> {
        let rtt = path.srtt.filter(|rtt| !rtt.is_zero())?.as_secs_f64();
        let volume = path.since_loss.max(path.between_losses) as f64;
        Some(Flow { window: path.window as f64, rtt, volume, own: path.own })
    }
}

/// The paths that count: the own one, the active ones, and those on standby that have data in flight, if their RTT is known.
pub(super) fn flows(siblings: &[PathView]) -> impl Iterator<Item = Flow> + Clone {
    let counts = |path: &&PathView| {
        path.own || path.state == PathState::Active || (path.state == PathState::Standby && path.held() > 0)
    };
    siblings.iter().filter(counts).filter_map(Flow::of)
}

/// The own path, if there are others that count; `None` if the algorithm is to do as on a single path.
pub(super) fn own(siblings: &[PathView]) -> Option<Flow> {
    let own = flows(siblings).find(|flow| flow.own && flow.window > 0.0)?;
    (flows(siblings).count() > 1).then_some(own)
}

/// The sum of all rates, bytes a second.
pub(super) fn total_rate(siblings: &[PathView]) -> f64 {
    flows(siblings).map(|flow| flow.rate()).sum()
}

#[cfg(test)]
pub(super) mod samples {
    //! Connections for the tests of coupled algorithms.

    use super::super::bench::{MSS, ack};
    use super::super::{Algorithm, Config, CongestionController};
    use super::*;
    use haltere_net::{PathId, Span, Time};

    /// Paths of these windows, in segments, and RTTs, in ms; that of number `own` is the controller's.
    pub fn paths(paths: &[(u64, u64)], own: usize) -> Vec<PathView> {
        let view = |(id, (segments, rtt_ms)): (usize, &(u64, u64))| PathView {
            id: PathId(id as u8),
            own: id == own,
            window: segments * MSS,
            ssthresh: segments * MSS,
            capacity: segments * MSS,
            mss: MSS,
            srtt: Some(Span::from_millis(*rtt_ms)),
            min_rtt: Some(Span::from_millis(*rtt_ms)),
            ..PathView::default()
        };
        paths.iter().enumerate().map(view).collect()
    }

    /// A controller in congestion avoidance with a window of so many segments.
    pub fn avoiding(algorithm: Algorithm, segments: u64) -> Box<dyn CongestionController> {
        let initial_window = 2 * segments * MSS;
        let mut cc = algorithm.build(Config { initial_window, ..super::super::bench::config() });
        cc.on_congestion(&super::super::Congestion {
            now: Time::ZERO,
            trigger: super::super::Trigger::Loss,
            new_episode: true,
            in_flight: 0,
            lost: MSS,
        });
        assert_eq!(cc.window(), segments * MSS);
        cc
    }

    /// How many ACKs of a segment it takes until the window changes, negative if it shrinks; `None` if it does not change in
    /// 100 000.
    pub fn acks_to_change(algorithm: Algorithm, views: &[PathView]) -> Option<i32> {
        let window = PathView::own(views)?.window;
        let mut cc = avoiding(algorithm, window / MSS);
        (1..100_000).find_map(|n| {
            cc.on_ack(&ack(|_| ()), views);
            (cc.window() != window).then(|| if cc.window() > window { n } else { -n })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::samples::paths;
    use super::*;

    #[test]
    fn only_paths_that_carry_data_count() {
        let mut views = paths(&[(10, 50), (20, 100), (30, 100)], 0);
        assert!(own(&views).is_some() && flows(&views).count() == 3);
        views[1].state = PathState::Standby;
        views[2].state = PathState::Suspect;
        assert!(own(&views).is_none(), "alone");
        views[1].in_flight = 1000;
        assert!(own(&views).is_some() && flows(&views).count() == 2);
        views[1].srtt = None;
        assert!(own(&views).is_none());
        // The own path counts while it is suspected: an ACK on it has just arrived.
        views[0].state = PathState::Suspect;
        views[2].state = PathState::Active;
        assert!(own(&views).is_some());
        assert!(own(&[]).is_none());
    }
}
