//! DAPS, delay-aware packet scheduling (N. Kuhn, E. Lochin, A. Mifdaoui, G. Sarwar, O. Mehani, R. Boreli, "DAPS: Intelligent
//! Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014, Algorithm 1).
//!
//! A schedule is planned for as long as the least common multiple of the paths' forward delays: at each multiple of its delay
//! a path gets a window of packets, the faster path first where several get theirs. The schedule is then carried out packet by
//! packet, and the next is planned. Windows are those of the time of planning.
//!
//! As in Ferlin's kernel module (`mptcp_daps.c`) the forward delay is half the smoothed RTT, rounded to a multiple of 4 ms so
//! that schedules stay short, and a path in the schedule is given its packets even if its window is full, as far as it queues
//! them. If it takes none, the next path whose window has room is given the data of its own next turn, which lies further back.
//! Without such a turn in the schedule the scheduler waits. Paths without an RTT sample are not in the schedule; if there are only
//! such paths, the first one with room is picked. If a path comes or goes, a new schedule is planned.

use super::choice::{candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{PathId, Span, Time};
use std::collections::VecDeque;

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "daps",
        summary: "a planned order in which each path gets a window per forward delay, and sends its part of the data as it can",
        reference: "Kuhn et al., ICC 2014, Algorithm 1",
    },
    |_| Box::new(Daps::new()),
);

/// Delays are rounded to multiples of this.
const STEP: Span = Span::from_millis(4);
/// The most turns that are planned beyond the one that is under way.
const MOST_TURNS: usize = 1000;

/// A path in a schedule.
#[derive(Clone, Copy, Debug)]
struct Share {
    id: PathId,
    /// Forward delay in units of [`STEP`], at least 1.
    delay: u64,
    /// The bytes that it gets each time.
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
    /// The place of the path whose turn was planned last.
    turn: usize,
    /// Turns that are planned and not over: the path, and the bytes that are left.
    turns: VecDeque<(PathId, u64)>,
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
        (self.time, self.turn) = (0, self.shares.len());
        self.turns.clear();
    }

    /// Plans the next turn of the schedule; `false` if there is none left.
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
        if time > self.end || time == u64::MAX || self.turns.len() >= MOST_TURNS {
            return false;
        }
        (self.time, self.turn) = (time, turn);
        self.turns.push_back((self.shares[turn].id, self.shares[turn].window));
        true
    }

    /// The first turn of a path that takes data, and the bytes of all turns before it. A path whose turn it is may queue its data;
    /// others take data if they send it at once.
    fn next_turn(&mut self, paths: &[PathView], now: Time) -> Option<(PathId, u64)> {
        let (mut at, mut before) = (0, 0u64);
        while at < self.turns.len() || self.advance() {
            let (id, left) = self.turns[at];
            let takes = |path: &PathView| if at == 0 { path.takes(now) } else { is_ready(path, now) };
            if candidates(paths).any(|path| path.id == id && takes(path)) {
                return Some((id, before));
            }
            (at, before) = (at + 1, before.saturating_add(left));
        }
        None
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
        if self.shares.is_empty() {
            let first = candidates(paths).find(|path| is_ready(path, now));
            return first.map_or_else(|| wait(candidates(paths)), |path| Pick::On(path.id));
        }
        if self.turns.is_empty() && !self.advance() {
            self.plan(sampled());
        }
        match sampled().any(|path| path.takes(now)).then(|| self.next_turn(paths, now)).flatten() {
            Some((id, 0)) => Pick::On(id),
            Some((id, before)) => Pick::Ahead(id, before),
            None => wait(candidates(paths).filter(|path| path.paced_until > now)),
        }
    }

    fn on_given(&mut self, path: PathId, bytes: u64, _: Time) {
        if let Some(at) = self.turns.iter().position(|(id, _)| *id == path) {
            let left = self.turns[at].1.saturating_sub(bytes);
            match left {
                0 => drop(self.turns.remove(at)),
                _ => self.turns[at].1 = left,
            }
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
    fn a_path_sends_its_part_while_that_whose_turn_it_is_takes_nothing() {
        // Forward delays of 4 and 8 ms: two windows of the one, then one of the other.
        let mut scheduler = Daps::new();
        let mut paths = [full(path(0, 8)), path(1, 16)];
        assert_eq!(pick(&mut scheduler, &paths), Pick::Ahead(PathId(1), 20 * MSS));
        scheduler.on_given(PathId(1), 10 * MSS, Time::ZERO);
        assert_eq!(pick(&mut scheduler, &paths), Pick::WaitUntil(Time::NEVER), "its part of the schedule is sent");
        paths[0].in_flight = 0;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(0)));
        paths[0].state = crate::path::PathState::Suspect;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(1)), "a new schedule without the other path");
        paths[1].srtt = None;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(1)));
    }
}
