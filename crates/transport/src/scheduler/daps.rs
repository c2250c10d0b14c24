//! DAPS, delay-aware packet scheduling (N. Kuhn, E. Lochin, A. Mifdaoui, G. Sarwar, O. Mehani, R. Boreli, "DAPS: Intelligent
//! Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014, Algorithm 1).
//!
//! A schedule is planned for as long as the least common multiple of the paths' forward delays: at each multiple of its delay
//! a path gets a window of packets, the faster path first where several get theirs. The schedule is then carried out packet by
//! packet, and the next is planned. Windows are those of the time of planning.
//!
//! As in Ferlin's kernel module (`mptcp_daps.c`) the forward delay is half the smoothed RTT, rounded to a multiple of 4 ms so
//! that schedules stay short, and a path in the schedule is given its packets even if its window is full, as far as it queues
//! them. If it takes none, the scheduler waits. Paths without an RTT sample are not in the schedule; if there are only such
//! paths, the first one with room is picked. If a path comes or goes, a new schedule is planned.

use super::choice::{candidates, is_ready, this_one, wait};
use super::{Demand, Description, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{PathId, Span, Time};

pub(super) const DESCRIPTION: Description = Description {
    name: "daps",
    summary: "a planned order in which each path gets a window per forward delay; waits for the path whose turn it is",
    reference: "Kuhn et al., ICC 2014, Algorithm 1",
};

/// Delays are rounded to multiples of this.
const STEP: Span = Span::from_millis(4);

/// A path in a schedule.
#[derive(Clone, Copy, Debug)]
struct Share {
    id: PathId,
    /// Forward delay in units of [`STEP`], at least 1.
    delay: u64,
    /// What it gets each time, bytes.
    window: u64,
}

/// DAPS.
#[derive(Clone, Default, Debug)]
pub struct Daps {
    /// The paths, by their delays.
    shares: Vec<Share>,
    /// The time in the schedule, in units of [`STEP`], and its end.
    time: u64,
    end: u64,
    /// Whose turn it is, and the bytes that are left of it.
    turn: usize,
    left: u64,
}

impl Daps {
    pub(super) fn new() -> Daps {
        Daps::default()
    }

    fn plan<'a>(&mut self, paths: impl Iterator<Item = &'a PathView>) {
        self.shares.clear();
        for path in paths {
            let Some(rtt) = path.srtt else { continue };
            // Rounded to the nearest multiple.
            let delay = (rtt.as_nanos() / 2 + STEP.as_nanos() / 2) / STEP.as_nanos();
            self.shares.push(Share { id: path.id, delay: delay.max(1), window: path.window.max(path.mss).max(1) });
        }
        self.shares.sort_by_key(|share| (share.delay, share.id.0));
        self.end = self.shares.iter().fold(1, |all, share| least_common_multiple(all, share.delay));
        (self.time, self.turn, self.left) = (0, self.shares.len(), 0);
    }

    /// Goes on to the next turn of the schedule; `false` if there is none left.
    fn advance(&mut self) -> bool {
        let later = |share: &Share| (self.time / share.delay).saturating_add(1).saturating_mul(share.delay);
        let same = (self.turn + 1..self.shares.len()).find(|&i| self.time.is_multiple_of(self.shares[i].delay));
        let (time, turn) = match same {
            Some(turn) => (self.time, turn),
            None => match (0..self.shares.len()).min_by_key(|&i| (later(&self.shares[i]), i)) {
                Some(turn) => (later(&self.shares[turn]), turn),
                None => return false,
            },
        };
        if time > self.end || time == u64::MAX {
            return false;
        }
        (self.time, self.turn, self.left) = (time, turn, self.shares[turn].window);
        true
    }
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor.max(1)).saturating_mul(b)
}

impl PathScheduler for Daps {
    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let sampled = || candidates(paths).filter(|path| path.srtt.is_some());
        let planned = |id: PathId| self.shares.iter().any(|share| share.id == id);
        if sampled().count() != self.shares.len() || !sampled().all(|path| planned(path.id)) {
            self.plan(sampled());
        }
        if self.left == 0 && !self.advance() {
            self.plan(sampled());
            self.advance();
        }
        let share = self.shares.get(self.turn);
        if let Some(path) = share.and_then(|share| candidates(paths).find(|path| path.id == share.id)) {
            return this_one(path, now);
        }
        let first = candidates(paths).find(|path| is_ready(path, now));
        first.map_or_else(|| wait(candidates(paths)), |path| Pick::On(path.id))
    }

    fn on_given(&mut self, path: PathId, bytes: u64, _: Time) {
        if self.shares.get(self.turn).is_some_and(|share| share.id == path) {
            self.left = self.left.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{MSS, full, order, path, pick};
    use super::*;

    fn with_window(view: PathView, segments: u64) -> PathView {
        PathView { window: segments * MSS, capacity: 1_000_000, ..view }
    }

    #[test]
    fn each_path_gets_a_window_per_forward_delay() {
        // Forward delays of 8 and 24 ms: the least common multiple is 24 ms, three windows of the one and one of the other.
        let paths = [with_window(path(0, 48), 1), with_window(path(1, 16), 2)];
        let once = [1, 1, 1, 1, 1, 1, 0];
        assert_eq!(order(&mut Daps::new(), &paths, 14), [once, once].concat());
    }

    #[test]
    fn delays_that_do_not_divide_each_other_take_their_common_multiple() {
        // 8 and 12 ms: turns at 8, 12, 16, 24 and 24 ms, where the faster path is first.
        let paths = [with_window(path(0, 16), 1), with_window(path(1, 24), 1)];
        assert_eq!(order(&mut Daps::new(), &paths, 10), [0, 1, 0, 0, 1, 0, 1, 0, 0, 1]);
        assert_eq!(least_common_multiple(2, 3), 6);
        assert_eq!(least_common_multiple(u64::MAX, u64::MAX - 1), u64::MAX);
    }

    #[test]
    fn delays_are_rounded_to_four_milliseconds() {
        // 5 and 6 ms become 4 and 8 ms.
        let paths = [with_window(path(0, 10), 1), with_window(path(1, 12), 1)];
        assert_eq!(order(&mut Daps::new(), &paths, 6), [0, 0, 1, 0, 0, 1]);
    }

    #[test]
    fn windows_are_those_of_the_plan() {
        let mut scheduler = Daps::new();
        let mut paths = [with_window(path(0, 8), 2), with_window(path(1, 8), 1)];
        assert_eq!(order(&mut scheduler, &paths, 1), [0]);
        paths[0].window = 5 * MSS;
        assert_eq!(order(&mut scheduler, &paths, 8), [0, 1, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn it_waits_for_the_path_whose_turn_it_is_and_plans_anew_without_it() {
        let mut scheduler = Daps::new();
        let mut paths = [full(path(0, 8)), path(1, 8)];
        assert_eq!(pick(&mut scheduler, &paths), Pick::WaitUntil(Time::NEVER));
        paths[0].state = crate::path::PathState::Suspect;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(1)));
        paths[1].srtt = None;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(1)));
    }
}
