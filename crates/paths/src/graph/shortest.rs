//! The K shortest loopless paths between two nodes.
//!
//! Yen's algorithm (Management Science 17, 1971) as improved by Lawler (1972), in its lazy form: a deviation is queued
//! with a lower bound of its cost, which the tree to the target gives at once, and is searched for only when it is the
//! first in the queue (Pascoal, 4OR 4, 2006; Kurz and Mutzel, ISAAC 2016). Most deviations then simply continue along
//! the tree. The others are found by A* (Hart, Nilsson and Raphael, 1968) with the tree's distances as its heuristic,
//! which is admissible and consistent. A node's arcs are tried one at a time in the order of their lower bounds, so
//! that hubs with a thousand links cost no more than other nodes.
//!
//! If the beginning of a path cuts the target off, or leaves only a long detour, A* would visit most of the graph. So
//! A* pauses when its bound exceeds the cost of another candidate. A second search, from the target, runs in step with
//! it and ends both when it can reach no further node.

use super::NONE;
use super::heap::MinHeap;
use super::tree::{Escape, Tree};

/// A path, from its beginning to the tree's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its nodes, both ends included.
    pub nodes: Vec<u32>,
    /// The sum of its links' costs.
    pub cost: u64,
}

/// A fork's initial patience, and the number of arcs that are tried before the search from the target starts.
const PATIENCE: u32 = 32;

/// A node on a path found so far; paths with a common beginning share its nodes.
#[derive(Clone, Copy, Debug)]
struct Fork {
    node: u32,
    /// The one before, [`NONE`] at the beginning.
    before: u32,
    /// Cost from the beginning.
    cost: u64,
    /// The last of the continuations that were taken from here, in `taken`.
    taken: u32,
    /// How many of the node's arcs, by rank, are ruled out for good.
    rank: u32,
    /// How many arcs a search from here may try whatever their bounds are: twice as many as the search before. So all
    /// repeated searches together cost at most twice the last one.
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
    /// Where its nodes begin in `found`; [`NONE`] while only its bound is known. (Found ones sort first.)
    found: u32,
    fork: u32,
}

/// A step of A*, ordered by the lower bound of the cost of a path through it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Trial {
    promise: u64,
    what: What,
    node: u32,
    /// The cost of reaching the node.
    cost: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// Follow the tree from this node: no blocked node is in the way.
    Follow,
    /// Go on from this node.
    Leave,
    /// Try the arc of this rank.
    Arc(u32),
}

/// The memory of searches; one of them serves any number of pairs, one after the other.
#[derive(Debug, Default)]
pub struct Search {
    forks: Vec<Fork>,
    taken: Vec<Taken>,
    candidates: MinHeap<Candidate>,
    /// The remaining parts of paths, each ended by [`NONE`]: nodes, and the cost of the link to each.
    found: Vec<(u32, u32)>,
    /// Nodes are blocked, and have been reached, if their stamp is the present one.
    stamp: u32,
    blocked: Vec<u32>,
    reached: Vec<(u32, u32, u64)>,
    trials: MinHeap<Trial>,
    back: Back,
}

/// The search from the target: which nodes can be reached from there past all that is blocked.
#[derive(Debug, Default)]
struct Back {
    /// Reached if the stamp is the present one.
    reached: Vec<u32>,
    stack: Vec<u32>,
    /// The node whose links are being looked at, and how many have been.
    node: u32,
    rank: usize,
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

impl Back {
    fn begin(&mut self, root: u32, stamp: u32) {
        self.stack.clear();
        (self.node, self.rank) = (root, 0);
        self.reached[root as usize] = stamp;
    }
}

impl Search {
    /// A search with no memory yet.
    pub fn new() -> Search {
        Search::default()
    }

    /// The `k` shortest loopless paths from `start` to the tree's root, in ascending order of cost; fewer if there are
    /// no more. Among paths of equal cost the choice is deterministic.
    pub fn shortest(&mut self, tree: &Tree<'_>, start: u32, k: usize) -> Vec<Route> {
        let mut routes = Vec::new();
        self.each(tree, start, k, |nodes, cost| routes.push(Route { nodes: nodes.to_vec(), cost }));
        routes
    }

    /// Calls `take` with nodes and cost of each of the `k` shortest loopless paths.
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
        let nodes = tree.nodes() as usize;
        if self.blocked.len() != nodes {
            (self.stamp, self.blocked, self.reached) = (0, vec![0; nodes], vec![(0, 0, 0); nodes]);
            self.back.reached = vec![0; nodes];
        }
        if let Some(cost) = tree.distance(start) {
            self.forks.push(Fork { node: start, before: NONE, cost: 0, taken: NONE, rank: 0, patience: PATIENCE });
            if start == tree.root() {
                // There is one path, without a link: going on would be a loop.
                self.found.push((NONE, 0));
                self.candidates.push(Candidate { cost: 0, found: 0, fork: 0 });
            } else {
                self.candidates.push(Candidate { cost, found: NONE, fork: 0 });
            }
        }
    }

    /// The nodes of a path that was found.
    fn route(&self, candidate: Candidate, route: &mut Vec<u32>) {
        route.clear();
        let mut at = candidate.fork;
        while at != NONE {
            route.push(self.forks[at as usize].node);
            at = self.forks[at as usize].before;
        }
        route.reverse();
        let rest = self.found[candidate.found as usize..].iter();
        route.extend(rest.map(|&(node, _)| node).take_while(|&node| node != NONE));
    }

    /// Takes note of a path that was returned: later paths leave it at its fork or behind it.
    fn branch(&mut self, tree: &Tree<'_>, candidate: Candidate) {
        let (mut at, mut place) = (candidate.fork, candidate.found as usize);
        loop {
            let (node, link) = self.found[place];
            if node == NONE {
                return;
            }
            place += 1;
            let fork = self.forks[at as usize];
            self.taken.push(Taken { node, before: fork.taken });
            self.forks[at as usize].taken = (self.taken.len() - 1) as u32;
            self.promise(tree, at);
            let cost = fork.cost + u64::from(link);
            self.forks.push(Fork { node, before: at, cost, taken: NONE, rank: 0, patience: PATIENCE });
            at = (self.forks.len() - 1) as u32;
        }
    }

    /// Queues the deviations at a fork with the lower bound of their cost.
    fn promise(&mut self, tree: &Tree<'_>, at: u32) {
        let mut fork = self.forks[at as usize];
        let mut least = 0;
        if self.is_ruled_out(&fork, tree.next(fork.node)) {
            let sum = tree.escape(fork.node).sum;
            if sum == Escape::NONE {
                return;
            }
            least = sum - tree.rest(fork.node);
        }
        while let Some((to, _, promise)) = tree.ranked(fork.node, fork.rank) {
            if !self.is_ruled_out(&fork, to) {
                self.forks[at as usize].rank = fork.rank;
                return self.candidates.push(Candidate { cost: fork.cost + promise.max(least), found: NONE, fork: at });
            }
            fork.rank += 1;
        }
    }

    /// Whether a path through `fork` must not go on to `to`: an earlier path did, or it would go straight back.
    fn is_ruled_out(&self, fork: &Fork, to: u32) -> bool {
        let mut at = fork.taken;
        while at != NONE {
            let taken = self.taken[at as usize];
            if taken.node == to {
                return true;
            }
            at = taken.before;
        }
        fork.before != NONE && self.forks[fork.before as usize].node == to
    }

    /// Finds the cheapest continuation from a fork that repeats no node and that no path has taken; or returns a better
    /// lower bound of its cost.
    fn resolve(&mut self, tree: &Tree<'_>, at: u32) {
        self.block_path_to(at);
        let fork = self.forks[at as usize];
        if let Some(found) = self.escape(tree, &fork) {
            let cost = fork.cost + tree.escape(fork.node).sum - tree.rest(fork.node);
            return self.candidates.push(Candidate { cost, found, fork: at });
        }
        let bound = self.candidates.peek().map_or(u64::MAX, |other| other.cost);
        self.trials.clear();
        self.reached[fork.node as usize] = (self.stamp, NONE, fork.cost);
        self.try_arc(tree, fork.node, fork.rank, fork.cost, 0);
        let (mut tried, mut shown) = (0, Shown::Nothing);
        while let Some(trial) = self.trials.pop() {
            if trial.cost > self.reached[trial.node as usize].2 {
                continue; // It was reached by a cheaper way since.
            }
            if trial.promise > bound && tried >= fork.patience {
                self.forks[at as usize].patience = 2 * tried;
                return self.candidates.push(Candidate { cost: trial.promise, found: NONE, fork: at });
            }
            tried += 1;
            if tried == PATIENCE {
                self.back.begin(tree.root(), self.stamp);
            } else if tried > PATIENCE && shown == Shown::Nothing {
                shown = self.step_back(tree);
                if shown == Shown::Apart {
                    return;
                }
            }
            match trial.what {
                What::Follow => {
                    let found = self.note(tree, fork.node, trial.node);
                    return self.candidates.push(Candidate { cost: trial.promise, found, fork: at });
                }
                What::Leave => self.try_arc(tree, trial.node, 0, trial.cost, trial.promise),
                What::Arc(rank) => {
                    self.try_arc(tree, trial.node, rank + 1, trial.cost, trial.promise);
                    let Some((to, cost, _)) = tree.ranked(trial.node, rank) else { continue };
                    if trial.node != fork.node || !self.is_ruled_out(&fork, to) {
                        self.reach(tree, to, trial.node, trial.cost + u64::from(cost));
                    }
                }
            }
        }
    }

    /// The best way out of the fork's subtree, if the tree's next node is ruled out and no blocked node is in the way:
    /// none is cheaper. Returns its position in `found`.
    fn escape(&mut self, tree: &Tree<'_>, fork: &Fork) -> Option<u32> {
        let Escape { sum, inside, outside } = tree.escape(fork.node);
        if sum == Escape::NONE
            || !self.is_ruled_out(fork, tree.next(fork.node))
            || self.rest(tree, outside)?.1 == What::Leave
        {
            return None;
        }
        let begin = self.found.len();
        let mut node = inside;
        while node != fork.node {
            if self.blocked[node as usize] == self.stamp {
                self.found.truncate(begin);
                return None;
            }
            self.found.push((node, tree.step(node)));
            node = tree.next(node);
        }
        self.found[begin..].reverse();
        if self.is_ruled_out(fork, self.found.get(begin).map_or(outside, |&(first, _)| first)) {
            self.found.truncate(begin);
            return None;
        }
        let link = sum - tree.rest(inside) - tree.rest(outside);
        self.found.push((outside, link as u32));
        self.follow(tree, outside);
        Some(begin as u32)
    }

    /// Notes that a node can be reached at this cost.
    fn reach(&mut self, tree: &Tree<'_>, node: u32, before: u32, cost: u64) {
        let reached = self.reached[node as usize];
        if self.blocked[node as usize] == self.stamp || (reached.0 == self.stamp && reached.2 <= cost) {
            return;
        }
        if let Some((rest, what)) = self.rest(tree, node) {
            self.reached[node as usize] = (self.stamp, before, cost);
            self.trials.push(Trial { promise: cost + rest, what, node, cost });
        }
    }

    /// The lower bound of the rest of a path from `node`, and whether that rest simply follows the tree. Where the tree
    /// leads through a blocked node, the path has to leave that one's subtree elsewhere; `None` if it cannot.
    fn rest(&self, tree: &Tree<'_>, node: u32) -> Option<(u64, What)> {
        let distance = tree.rest(node);
        let (mut least, mut what, mut at) = (distance, What::Follow, node);
        while at != NONE {
            if self.blocked[at as usize] == self.stamp {
                let sum = tree.escape(at).sum;
                if sum == Escape::NONE {
                    return None;
                }
                what = What::Leave;
                least = least.max(sum.saturating_sub(distance));
            }
            at = tree.next(at);
        }
        Some((least, what))
    }

    #[inline]
    fn try_arc(&mut self, tree: &Tree<'_>, node: u32, rank: u32, cost: u64, least: u64) {
        if let Some((_, _, promise)) = tree.ranked(node, rank) {
            self.trials.push(Trial { promise: least.max(cost + promise), what: What::Arc(rank), node, cost });
        }
    }

    /// Follows one more link from the target's side.
    fn step_back(&mut self, tree: &Tree<'_>) -> Shown {
        let Some(next) = tree.neighbour(self.back.node, self.back.rank) else {
            let Some(node) = self.back.stack.pop() else { return Shown::Apart };
            (self.back.node, self.back.rank) = (node, 0);
            return Shown::Nothing;
        };
        self.back.rank += 1;
        let (stamp, next_at) = (self.stamp, next as usize);
        if self.reached[next_at].0 == stamp {
            return Shown::Connected;
        }
        if self.blocked[next_at] != stamp && self.back.reached[next_at] != stamp {
            self.back.reached[next_at] = stamp;
            self.back.stack.push(next);
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
            self.blocked[fork.node as usize] = self.stamp;
            at = fork.before;
        }
    }

    /// Stores how `to` was reached from `from`, and how the tree goes on from there. Returns the position of its start.
    fn note(&mut self, tree: &Tree<'_>, from: u32, to: u32) -> u32 {
        let begin = self.found.len();
        let mut node = to;
        while node != from {
            let (_, before, cost) = self.reached[node as usize];
            self.found.push((node, (cost - self.reached[before as usize].2) as u32));
            node = before;
        }
        self.found[begin..].reverse();
        self.follow(tree, to);
        begin as u32
    }

    /// Stores how the tree goes on from `node`.
    fn follow(&mut self, tree: &Tree<'_>, mut node: u32) {
        while tree.next(node) != NONE {
            let link = tree.step(node);
            node = tree.next(node);
            self.found.push((node, link));
        }
        self.found.push((NONE, 0));
    }
}
