//! The default scheduler of Linux's MPTCP (`mptcp_subflow_get_send` in `net/mptcp/protocol.c`, Linux 6.12).
//!
//! It picks the subflow that would send all it holds soonest: bytes held over the average of its pacing rate, the *linger
//! time*. If the send buffer of that subflow is full it waits, even if another has room. A pick is for a burst of up to
//! 65428 bytes, after which the average moves towards the socket's present pacing rate, the more the less the subflow held.
//!
//! One thing differs. A socket has a pacing
//! rate from the start, a path only after its first RTT sample ([`PathView::nominal_rate`]); until then it is passed over
//! if another path has one.

use super::choice::{candidates, this_one};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{PathId, Rate, Time};

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "linux",
        summary: "the path that would send what it holds soonest, at its average pacing rate; waits if its send buffer is full",
        reference: "Linux 6.12 net/mptcp/protocol.c, mptcp_subflow_get_send",
    },
    |_| Box::new(Linux::new()),
);

/// `MPTCP_SEND_BURST_SIZE`: the largest segment less the headers of TCP and IPv6 with all options, bytes.
const BURST: u64 = 65_428;

/// Linux's default.
#[derive(Clone, Default, Debug)]
pub struct Linux {
    /// `avg_pacing_rate` of each path.
    averages: Vec<(PathId, Rate)>,
    /// The path of the burst that is under way, when it began, and the bytes that are left of it (`snd_burst`).
    burst: Option<(PathId, Time, u64)>,
}

impl Linux {
    pub(super) fn new() -> Linux {
        Linux::default()
    }

    /// The average rate of a path; it begins with the rate that the path has.
    fn average(&mut self, path: &PathView) -> Option<Rate> {
        let is_rate = |rate: &Rate| *rate != Rate::default();
        if let Some((_, rate)) = self.averages.iter().find(|(id, rate)| *id == path.id && is_rate(rate)) {
            return Some(*rate);
        }
        let rate = path.nominal_rate().filter(is_rate)?;
        self.averages.retain(|(id, _)| *id != path.id);
        self.averages.push((path.id, rate));
        Some(rate)
    }

    /// The linger time of a path: shorter is smaller. `None` if its rate is unknown.
    fn linger(&mut self, path: &PathView) -> Option<u128> {
        let rate = self.average(path)?;
        Some((u128::from(path.memory()) << 64) / u128::from(rate.as_bps()))
    }

    fn move_average(&mut self, path: &PathView, burst: u64) {
        let Some(now) = path.nominal_rate() else { return };
        let (held, given) = (u128::from(path.memory()), u128::from(burst));
        if let Some((_, average)) = self.averages.iter_mut().find(|(id, _)| *id == path.id) {
            let weigh = |rate: Rate, by: u128| u128::from(rate.as_bps()).saturating_mul(by);
            let sum = weigh(*average, held).saturating_add(weigh(now, given));
            *average = Rate::from_bps(u64::try_from(sum / (held + given).max(1)).unwrap_or(u64::MAX));
        }
    }
}

impl PathScheduler for Linux {
    fn pick(&mut self, paths: &[PathView], demand: &Demand, now: Time) -> Pick {
        if let Some((id, since, left)) = self.burst
            && left > 0
            && since == now
            && candidates(paths).any(|path| path.id == id && path.takes(now))
        {
            return Pick::On(id);
        }
        self.burst = None;
        let rated = candidates(paths).filter_map(|path| Some((self.linger(path)?, path)));
        let soonest = rated.min_by_key(|(linger, _)| *linger).map(|(_, path)| path);
        let Some(path) = soonest.or_else(|| candidates(paths).min_by_key(|path| (!path.takes(now), path.paced_until)))
        else {
            return Pick::WaitUntil(Time::NEVER);
        };
        let burst = BURST.min(demand.window);
        if path.takes(now) && burst > 0 {
            self.move_average(path, burst);
            self.burst = Some((path.id, now, burst));
        }
        this_one(path, now)
    }

    fn on_given(&mut self, path: PathId, bytes: u64, _: Time) {
        if let Some((id, _, left)) = &mut self.burst
            && *id == path
        {
            *left = left.saturating_sub(bytes);
        }
    }

    fn burst(&self) -> u64 {
        self.burst.map_or(BURST, |(_, _, left)| left)
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{NOW, demand, paced, path, pick};
    use super::*;
    use crate::path::PathState;
    use haltere_net::Span;

    /// A path with this rate that holds this many bytes of a send buffer of a megabyte.
    fn holding(id: u8, mbps: u64, bytes: u64) -> PathView {
        PathView { queued: bytes, capacity: 1_000_000, ..paced(id, mbps) }
    }

    #[test]
    fn the_path_that_sends_what_it_holds_soonest_goes_first() {
        // 40 kB at 40 Mbit/s take 8 ms, 15 kB at 10 Mbit/s take 12 ms.
        let mut paths = [holding(0, 10, 15_000), holding(1, 40, 40_000)];
        assert_eq!(pick(&mut Linux::new(), &paths), Pick::On(PathId(1)));
        // 61 kB take 12.2 ms.
        paths[1].queued = 61_000;
        assert_eq!(pick(&mut Linux::new(), &paths), Pick::On(PathId(0)));
        // Equal times: the first in the list.
        paths[1].queued = 60_000;
        assert_eq!(pick(&mut Linux::new(), &paths), Pick::On(PathId(0)));
    }

    #[test]
    fn a_full_send_buffer_makes_it_wait_even_if_another_has_room() {
        let mut paths = [holding(0, 1, 20_000), holding(1, 100, 40_000)];
        paths[1].capacity = 40_000;
        assert_eq!(pick(&mut Linux::new(), &paths), Pick::WaitUntil(Time::NEVER));
    }

    #[test]
    fn a_burst_stays_on_its_path_and_the_average_moves_with_its_size() {
        let mut scheduler = Linux::new();
        let mut paths = [holding(0, 10, 0), holding(1, 10, 0)];
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(0)));
        assert_eq!(scheduler.burst(), 65_428);
        scheduler.on_given(PathId(0), 60_000, NOW);
        paths[0].queued = 60_000;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(0)), "5428 bytes of the burst are left");
        assert_eq!(scheduler.burst(), 5428);
        scheduler.on_given(PathId(0), 5428, NOW);
        paths[0].queued = 65_428;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(1)));
        // The average of path 0 is 10 Mbit/s; its rate is 30 Mbit/s now and it holds as much as a burst: 20 Mbit/s.
        paths[0].pacing_rate = Some(Rate::from_bps(30_000_000));
        paths[1].state = PathState::Suspect;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(0)));
        assert_eq!(scheduler.averages[0], (PathId(0), Rate::from_bps(20_000_000)));
    }

    #[test]
    fn a_burst_ends_with_the_call_and_at_the_connections_window() {
        let mut scheduler = Linux::new();
        let mut paths = [holding(0, 10, 0), holding(1, 10, 0)];
        let small = Demand { window: 3000, ..demand() };
        assert_eq!(scheduler.pick(&paths, &small, NOW), Pick::On(PathId(0)));
        assert_eq!(scheduler.burst(), 3000);
        scheduler.on_given(PathId(0), 1000, NOW);
        paths[0].queued = 1000;
        assert_eq!(scheduler.pick(&paths, &small, NOW + Span::from_nanos(1)), Pick::On(PathId(1)));
        // Without window the path is picked, and the average stays.
        let none = Demand { window: 0, ..demand() };
        paths[0].pacing_rate = Some(Rate::from_bps(1));
        assert_eq!(Linux::new().pick(&paths[..1], &none, NOW), Pick::On(PathId(0)));
    }

    #[test]
    fn backups_serve_only_without_an_active_path_and_paths_without_a_rate_only_without_another() {
        let mut paths = [PathView { state: PathState::Standby, ..holding(0, 100, 0) }, holding(1, 1, 50_000)];
        assert_eq!(pick(&mut Linux::new(), &paths), Pick::On(PathId(1)));
        paths[1].state = PathState::Abandoned;
        assert_eq!(pick(&mut Linux::new(), &paths), Pick::On(PathId(0)));
        let fresh = PathView { srtt: None, ..path(0, 10) };
        assert_eq!(pick(&mut Linux::new(), &[fresh, holding(1, 1, 50_000)]), Pick::On(PathId(1)));
        assert_eq!(pick(&mut Linux::new(), &[fresh]), Pick::On(PathId(0)));
    }

    #[test]
    fn an_unpaced_path_has_the_rate_that_its_window_gives() {
        // 10 kB in 10 ms are 8 Mbit/s: twice that in slow start, 1.2 times as much after it.
        let mut view = path(0, 10);
        assert_eq!(view.nominal_rate(), Some(Rate::from_bps(16_000_000)));
        view.ssthresh = 20_000;
        assert_eq!(view.nominal_rate(), Some(Rate::from_bps(9_600_000)));
        view.srtt = None;
        assert_eq!(view.nominal_rate(), None);
    }
}
