//! The K shortest valley-free paths between two nodes.
//!
//! Yen's algorithm (Management Science 17, 1971) as improved by Lawler (1972), in the lazy form of
//! [`super::super::Search`], over states in place of nodes. Blocked are nodes, in both phases.

use super::super::NONE;
use super::super::heap::MinHeap;
use super::{Move, Phase, Tree, node_of, state};

/// A fork's initial patience, and the number of moves that are tried before the search from the root starts.
const PATIENCE: u32 = 32;

/// A state on a path found so far; paths with a common beginning share its states.
#[derive(Clone, Copy, Debug)]
struct Fork {
    state: u32,
    /// The one before, [`NONE`] at the beginning.
    before: u32,
    /// Cost from the beginning.
    cost: u64,
    /// The last of the continuations that were taken from here, in `taken`.
    taken: u32,
    /// How many of the state's moves, by rank, are ruled out for good.
    rank: u32,
    /// How many moves a search from here may try whatever their bounds are: twice as many as the search before.
    patience: u32,
}

/// A node that some path continues with, and the one taken before it.
#[derive(Clone, Copy, Debug)]
struct Taken {
    node: u32,
    before: u32,
}

/// A deviation at a fork, ordered by its cost or the lower bound of it; of equal ones, a found one comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Candidate {
    cost: u64,
    /// Where its states begin in `found`; [`NONE`] while only its bound is known. (Found ones sort first.)
    found: u32,
    fork: u32,
}

/// A step of A*, ordered by the lower bound of the cost of a path through it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Trial {
    promise: u64,
    what: What,
    state: u32,
    /// The cost of reaching the state.
    cost: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// Follow the tree from this state: no blocked node is in the way.
    Follow,
    /// Go on from this state.
    Leave,
    /// Try the move of this rank.
    Try(u32),
}

/// The memory of searches; one of them serves any number of pairs, one after the other.
#[derive(Debug, Default)]
pub struct Search {
    forks: Vec<Fork>,
    taken: Vec<Taken>,
    candidates: MinHeap<Candidate>,
    /// The remaining parts of paths, each ended by [`NONE`]: states, and the cost of the link to each.
    found: Vec<Move>,
    /// Nodes are blocked, and states have been reached, if their stamp is the present one.
    stamp: u32,
    blocked: Vec<u32>,
    reached: Vec<(u32, u32, u64)>,
    trials: MinHeap<Trial>,
    back: Back,
}

/// The search from the root: from which states it can be reached past all that is blocked.
#[derive(Debug, Default)]
struct Back {
    /// Reached if the stamp is the present one.
    reached: Vec<u32>,
    stack: Vec<u32>,
    /// The states before the present one.
    before: Vec<Move>,
}

/// The outcome of a step of that search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shown {
    /// Nothing yet.
    Nothing,
    /// The two have met.
    Connected,
    /// They cannot meet.
    Apart,
}

impl Search {
    /// A search with no memory yet.
    pub fn new() -> Search {
        Search::default()
    }

    /// Calls `take` with nodes and cost of each of the `k` shortest loopless valley-free paths from `start` to the
    /// tree's root, in ascending order of cost; of fewer if there are no more. Among paths of equal cost the choice is
    /// deterministic.
    pub fn each(&mut self, tree: &Tree<'_>, start: u32, k: usize, mut take: impl FnMut(&[u32], u64)) {
        self.begin(tree, start);
        let mut route = Vec::new();
        let mut left = k;
        while left > 0
            && let Some(candidate) = self.candidates.pop()
        {
            if candidate.found == NONE {
                self.resolve(tree, candidate.fork);
                continue;
            }
            self.route(candidate, &mut route);
            take(&route, candidate.cost);
            left -= 1;
            if left > 0 {
                self.branch(tree, candidate);
            }
        }
    }

    fn begin(&mut self, tree: &Tree<'_>, start: u32) {
        self.forks.clear();
        self.taken.clear();
        self.candidates.clear();
        self.found.clear();
        if self.reached.len() != tree.states() {
            (self.stamp, self.blocked) = (0, vec![0; tree.states() / 2]);
            (self.reached, self.back.reached) = (vec![(0, 0, 0); tree.states()], vec![0; tree.states()]);
        }
        let Some(cost) = tree.distance(start) else { return };
        let first = state(start, Phase::Climbing);
        self.forks.push(Fork { state: first, before: NONE, cost: 0, taken: NONE, rank: 0, patience: PATIENCE });
        if start == tree.root() {
            // There is one path, without a link: going on would be a loop.
            self.found.push(Move { to: NONE, cost: 0 });
            self.candidates.push(Candidate { cost: 0, found: 0, fork: 0 });
        } else {
            self.candidates.push(Candidate { cost, found: NONE, fork: 0 });
        }
    }

    /// The nodes of a path that was found.
    fn route(&self, candidate: Candidate, route: &mut Vec<u32>) {
        route.clear();
        let mut at = candidate.fork;
        while at != NONE {
            route.push(node_of(self.forks[at as usize].state));
            at = self.forks[at as usize].before;
        }
        route.reverse();
        let rest = self.found[candidate.found as usize..].iter();
        route.extend(rest.map(|one| one.to).take_while(|&to| to != NONE).map(node_of));
    }

    /// Takes note of a path that was returned: later paths leave it at its fork or behind it.
    fn branch(&mut self, tree: &Tree<'_>, candidate: Candidate) {
        let (mut at, mut place) = (candidate.fork, candidate.found as usize);
        loop {
            let Move { to, cost } = self.found[place];
            if to == NONE {
                return;
            }
            place += 1;
            let fork = self.forks[at as usize];
            self.taken.push(Taken { node: node_of(to), before: fork.taken });
            self.forks[at as usize].taken = (self.taken.len() - 1) as u32;
            self.promise(tree, at);
            let cost = fork.cost + u64::from(cost);
            self.forks.push(Fork { state: to, before: at, cost, taken: NONE, rank: 0, patience: PATIENCE });
            at = (self.forks.len() - 1) as u32;
        }
    }

    /// Queues the deviations at a fork with the lower bound of their cost.
    fn promise(&mut self, tree: &Tree<'_>, at: u32) {
        let mut fork = self.forks[at as usize];
        while let Some(one) = tree.ranked(fork.state, fork.rank) {
            if !self.is_ruled_out(&fork, node_of(one.to)) {
                self.forks[at as usize].rank = fork.rank;
                let cost = fork.cost + u64::from(one.cost) + tree.rest(one.to);
                return self.candidates.push(Candidate { cost, found: NONE, fork: at });
            }
            fork.rank += 1;
        }
    }

    /// Whether a path through `fork` must not go on to `node`: an earlier path did, or it would go straight back.
    fn is_ruled_out(&self, fork: &Fork, node: u32) -> bool {
        let mut at = fork.taken;
        while at != NONE {
            let taken = self.taken[at as usize];
            if taken.node == node {
                return true;
            }
            at = taken.before;
        }
        fork.before != NONE && node_of(self.forks[fork.before as usize].state) == node
    }

    /// Finds the cheapest continuation from a fork that repeats no node and that no path has taken; or returns a better
    /// lower bound of its cost.
    fn resolve(&mut self, tree: &Tree<'_>, at: u32) {
        self.block_path_to(at);
        let fork = self.forks[at as usize];
        let bound = self.candidates.peek().map_or(u64::MAX, |other| other.cost);
        self.trials.clear();
        self.reached[fork.state as usize] = (self.stamp, NONE, fork.cost);
        self.try_move(tree, fork.state, fork.rank, fork.cost);
        let (mut tried, mut shown) = (0, Shown::Nothing);
        while let Some(trial) = self.trials.pop() {
            if trial.cost > self.reached[trial.state as usize].2 {
                continue; // It was reached by a cheaper way since.
            }
            if trial.promise > bound && tried >= fork.patience {
                self.forks[at as usize].patience = tried.saturating_mul(2);
                return self.candidates.push(Candidate { cost: trial.promise, found: NONE, fork: at });
            }
            tried += 1;
            if tried == PATIENCE {
                self.begin_back(tree);
            } else if tried > PATIENCE && shown == Shown::Nothing {
                shown = self.step_back(tree);
                if shown == Shown::Apart {
                    return;
                }
            }
            match trial.what {
                What::Follow => {
                    let found = self.note(tree, fork.state, trial.state);
                    return self.candidates.push(Candidate { cost: trial.promise, found, fork: at });
                }
                What::Leave => self.try_move(tree, trial.state, 0, trial.cost),
                What::Try(rank) => {
                    self.try_move(tree, trial.state, rank + 1, trial.cost);
                    let Some(Move { to, cost }) = tree.ranked(trial.state, rank) else { continue };
                    if trial.state != fork.state || !self.is_ruled_out(&fork, node_of(to)) {
                        self.reach(tree, to, trial.state, trial.cost + u64::from(cost));
                    }
                }
            }
        }
    }

    /// Notes that a state can be reached at this cost.
    fn reach(&mut self, tree: &Tree<'_>, to: u32, before: u32, cost: u64) {
        let reached = self.reached[to as usize];
        if self.is_blocked(to) || (reached.0 == self.stamp && reached.2 <= cost) {
            return;
        }
        self.reached[to as usize] = (self.stamp, before, cost);
        let what = if self.is_clear(tree, to) { What::Follow } else { What::Leave };
        self.trials.push(Trial { promise: cost + tree.rest(to), what, state: to, cost });
    }

    fn is_blocked(&self, at: u32) -> bool {
        self.blocked[node_of(at) as usize] == self.stamp
    }

    /// Whether the tree leads from a state to the root past all blocked nodes.
    fn is_clear(&self, tree: &Tree<'_>, mut at: u32) -> bool {
        while let Some(next) = tree.next(at) {
            at = next.to;
            if self.is_blocked(at) {
                return false;
            }
        }
        true
    }

    #[inline]
    fn try_move(&mut self, tree: &Tree<'_>, from: u32, rank: u32, cost: u64) {
        if let Some(one) = tree.ranked(from, rank) {
            let promise = cost + u64::from(one.cost) + tree.rest(one.to);
            self.trials.push(Trial { promise, what: What::Try(rank), state: from, cost });
        }
    }

    fn begin_back(&mut self, tree: &Tree<'_>) {
        self.back.stack.clear();
        self.back.before.clear();
        for phase in Phase::ALL {
            let root = state(tree.root(), phase);
            self.back.reached[root as usize] = self.stamp;
            self.back.stack.push(root);
        }
    }

    /// Follows one more link from the root's side.
    fn step_back(&mut self, tree: &Tree<'_>) -> Shown {
        let Some(Move { to, .. }) = self.back.before.pop() else {
            let Some(next) = self.back.stack.pop() else { return Shown::Apart };
            tree.before(next, &mut self.back.before);
            return Shown::Nothing;
        };
        if self.reached[to as usize].0 == self.stamp {
            return Shown::Connected;
        }
        if !self.is_blocked(to) && self.back.reached[to as usize] != self.stamp {
            self.back.reached[to as usize] = self.stamp;
            self.back.stack.push(to);
        }
        Shown::Nothing
    }

    /// Blocks the nodes up to a fork.
    fn block_path_to(&mut self, at: u32) {
        self.stamp = match self.stamp.checked_add(1) {
            Some(next) => next,
            None => {
                self.blocked.fill(0);
                self.reached.fill((0, 0, 0));
                self.back.reached.fill(0);
                1
            }
        };
        let mut at = at;
        while at != NONE {
            let fork = self.forks[at as usize];
            self.blocked[node_of(fork.state) as usize] = self.stamp;
            at = fork.before;
        }
    }

    /// Stores how `to` was reached from `from`, and how the tree goes on from there. Returns the position of its start.
    fn note(&mut self, tree: &Tree<'_>, from: u32, to: u32) -> u32 {
        let begin = self.found.len();
        let mut at = to;
        while at != from {
            let (_, before, cost) = self.reached[at as usize];
            self.found.push(Move { to: at, cost: (cost - self.reached[before as usize].2) as u32 });
            at = before;
        }
        self.found[begin..].reverse();
        let mut at = to;
        while let Some(next) = tree.next(at) {
            self.found.push(next);
            at = next.to;
        }
        self.found.push(Move { to: NONE, cost: 0 });
        begin as u32
    }
}
