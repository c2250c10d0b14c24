//! Weighted round robin: the paths take turns, a packet each, as often as their weights say
//! (draft-bonaventure-iccrg-schedulers-02, Weighted Round-Robin).
//!
//! The draft has a fixed distribution and leaves open where it comes from. Here the weight of a path is its window over its
//! RTT, as they are at each pick; fixed weights can be given. A path without an RTT sample has the least weight of the others.
//! Turns are spread evenly: weights of 5, 1 and 1 give the order 0 0 1 0 2 0 0 (the smooth form that the server nginx made
//! known). A path without room loses its turn.

use super::choice::{candidates, is_ready, wait};
use super::{Demand, Description, Implementation, PathScheduler, Pick};
use crate::path::PathView;
use haltere_net::{PathId, Rate, Time};

pub(super) const ENTRY: Implementation = Implementation::new(
    Description {
        name: "weighted-round-robin",
        summary: "the paths take turns, as often as their window over their RTT says",
        reference: "draft-bonaventure-iccrg-schedulers-02",
    },
    |_| Box::new(WeightedRoundRobin::new()),
);

/// Weighted round robin.
#[derive(Clone, Default, Debug)]
pub struct WeightedRoundRobin {
    /// Fixed weights of paths. Where there are some, other paths have the weight 1.
    weights: Vec<(PathId, u64)>,
    /// The credit of each path, in units of weight.
    credits: Vec<(PathId, i128)>,
}

impl WeightedRoundRobin {
    pub(super) fn new() -> WeightedRoundRobin {
        WeightedRoundRobin::default()
    }

    /// A scheduler with fixed weights. Paths without one have the weight 1. A weight of 0 counts as 1.
    pub fn with_weights(weights: &[(PathId, u64)]) -> WeightedRoundRobin {
        WeightedRoundRobin { weights: weights.to_vec(), credits: Vec::new() }
    }

    fn weight(&self, path: &PathView, least: u64) -> i128 {
        let weight = match &self.weights[..] {
            [] => measured(path).unwrap_or(least),
            fixed => fixed.iter().find(|(id, _)| *id == path.id).map_or(1, |(_, weight)| *weight),
        };
        i128::from(weight.max(1))
    }

    fn credit(&mut self, path: PathId) -> &mut i128 {
        let place = self.credits.iter().position(|(id, _)| *id == path).unwrap_or_else(|| {
            self.credits.push((path, 0));
            self.credits.len() - 1
        });
        &mut self.credits[place].1
    }
}

/// The rate of a window in an RTT, kbit/s: fine enough for a weight.
fn measured(path: &PathView) -> Option<u64> {
    Some(Rate::of(path.window, path.srtt?)?.as_bps() / 1000)
}

impl PathScheduler for WeightedRoundRobin {
    fn ignores_demand(&self) -> bool {
        true
    }

    fn pick(&mut self, paths: &[PathView], _: &Demand, now: Time) -> Pick {
        let ready = || candidates(paths).filter(|path| is_ready(path, now));
        let least = candidates(paths).filter_map(measured).min().unwrap_or(1);
        self.credits.retain(|(id, _)| paths.iter().any(|path| path.id == *id));
        let mut total = 0;
        let mut best: Option<(PathId, i128)> = None;
        for path in ready() {
            let weight = self.weight(path, least);
            total += weight;
            let credit = self.credit(path.id);
            *credit += weight;
            if best.is_none_or(|(_, most)| *credit > most) {
                best = Some((path.id, *credit));
            }
        }
        let Some((id, _)) = best else { return wait(candidates(paths)) };
        *self.credit(id) -= total;
        Pick::On(id)
    }
}

#[cfg(test)]
mod tests {
    use super::super::choice::samples::{full, order, path, pick};
    use super::*;
    use crate::path::PathState;

    fn weights(weights: &[u64]) -> WeightedRoundRobin {
        let all = weights.iter().enumerate();
        WeightedRoundRobin::with_weights(&all.map(|(id, weight)| (PathId(id as u8), *weight)).collect::<Vec<_>>())
    }

    #[test]
    fn turns_are_spread_evenly() {
        let paths = [path(0, 10), path(1, 10), path(2, 10)];
        assert_eq!(order(&mut weights(&[5, 1, 1]), &paths, 7), [0, 0, 1, 0, 2, 0, 0]);
        assert_eq!(order(&mut weights(&[2, 1, 1]), &paths, 8), [0, 1, 2, 0, 0, 1, 2, 0]);
        assert_eq!(order(&mut weights(&[1, 1, 1]), &paths, 6), [0, 1, 2, 0, 1, 2]);
        assert_eq!(order(&mut weights(&[0, 3]), &paths, 5), [1, 0, 1, 2, 1], "1, 3 and, as none is given, 1");
    }

    #[test]
    fn by_default_a_path_has_turns_by_its_window_and_rtt() {
        // 10 segments in 10 ms, 30 in 10 ms, and no sample yet: 1 to 3 to 1.
        let wide = PathView { window: 30_000, capacity: 30_000, ..path(1, 10) };
        let fresh = PathView { srtt: None, ..path(2, 10) };
        let turns = order(&mut WeightedRoundRobin::new(), &[path(0, 10), wide, fresh], 500);
        let of = |id| turns.iter().filter(|turn| **turn == id).count();
        assert_eq!([of(0), of(1), of(2)], [100, 300, 100]);
        // Half the RTT, twice the weight.
        let turns = order(&mut WeightedRoundRobin::new(), &[path(0, 10), path(1, 20)], 300);
        assert_eq!(turns.iter().filter(|turn| **turn == 0).count(), 200);
    }

    #[test]
    fn a_path_without_room_loses_its_turn_and_gains_no_credit() {
        let mut scheduler = weights(&[1, 1]);
        let mut paths = [path(0, 10), full(path(1, 10))];
        assert_eq!(order(&mut scheduler, &paths, 5), [0; 5]);
        paths[1].in_flight = 0;
        assert_eq!(order(&mut scheduler, &paths, 4), [0, 1, 0, 1]);
        assert_eq!(pick(&mut scheduler, &paths.map(full)), Pick::WaitUntil(Time::NEVER));
        paths[0].state = PathState::Abandoned;
        assert_eq!(pick(&mut scheduler, &paths), Pick::On(PathId(1)));
    }
}
