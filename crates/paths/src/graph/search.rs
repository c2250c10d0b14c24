//! The K shortest loopless paths between two nodes, along a tree of shortest paths ([`Guide`]).
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
//!
//! The search runs over states. A node is one state, or several where a policy asks how a path came to it. Blocked are
//! nodes, in all their states.

use super::NONE;
use super::heap::MinHeap;

/// A link that a path may follow from a state.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// The state that it leads to.
    pub(super) to: u32,
    pub(super) cost: u32,
}

/// The best way out of a state's subtree other than the tree's own link: a link from a state inside to one outside.
#[derive(Clone, Copy, Debug)]
pub struct Escape {
    /// The distance of `inside`, the link's cost and the distance of `outside`, in all; [`Escape::NONE`] if there is no
    /// such link. This sum minus its own distance is the cost for a state above `inside` that may not follow the tree.
    pub(super) sum: u64,
    pub(super) inside: u32,
    pub(super) outside: u32,
}

impl Escape {
    /// The sum if there is no way out.
    pub(super) const NONE: u64 = u64::MAX;
}

/// All shortest paths to one node, the root, which guide the search.
pub trait Guide {
    /// Number of nodes.
    fn nodes(&self) -> usize;
    /// Number of states.
    fn states(&self) -> usize;
    /// The node of a state.
    fn node(&self, state: u32) -> u32;
    /// The state in which paths begin at a node.
    fn start(&self, node: u32) -> u32;
    /// Where all paths lead.
    fn root(&self) -> u32;
    /// The states of the root.
    fn roots(&self) -> impl Iterator<Item = u32>;
    /// The cost of the shortest path from a node; `None` if there is none.
    fn distance(&self, node: u32) -> Option<u64>;
    /// The least cost from a state to the root; only of states from which there is a path.
    fn rest(&self, state: u32) -> u64;
    /// The first move of the shortest path; `None` at the root.
    fn next(&self, state: u32) -> Option<Move>;
    /// The state's `rank`-th move by the least cost of a path that begins with it. The path may contain a loop.
    fn ranked(&self, state: u32, rank: u32) -> Option<Move>;
    /// The number of links by which the state may be entered.
    fn entries(&self, state: u32) -> usize;
    /// The state from which such a link leads; `None` if no path may follow the link.
    fn entry(&self, state: u32, number: usize) -> Option<u32>;
    /// The best way out of the state's subtree; `None` if that is not known.
    fn escape(&self, state: u32) -> Option<Escape>;
}

/// A path, from its beginning to the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its nodes, both ends included.
    pub nodes: Vec<u32>,
    /// The sum of its links' costs.
    pub cost: u64,
}

/// A fork's initial patience, and the number of moves that are tried before the search from the root starts.
const PATIENCE: u32 = 32;
/// The end of a path in [`Search::found`].
const END: Move = Move { to: NONE, cost: 0 };

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
    /// How many moves a search from here may try whatever their bounds are: twice as many as the search before. So all
    /// repeated searches together cost at most twice the last one.
    patience: u32,
}

impl Fork {
    fn new(state: u32, before: u32, cost: u64) -> Fork {
        Fork { state, before, cost, taken: NONE, rank: 0, patience: PATIENCE }
    }
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
    /// The remaining parts of paths, each ended by [`END`].
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
    /// The state whose links are being looked at, and how many have been.
    state: u32,
    number: usize,
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

    /// The `k` shortest loopless paths from `start` to the root, in ascending order of cost; fewer if there are no more.
    /// Among paths of equal cost the choice is deterministic.
    pub fn shortest(&mut self, guide: &impl Guide, start: u32, k: usize) -> Vec<Route> {
        let mut routes = Vec::new();
        self.each(guide, start, k, |nodes, cost| routes.push(Route { nodes: nodes.to_vec(), cost }));
        routes
    }

    /// Calls `take` with nodes and cost of each of the `k` shortest loopless paths.
    pub fn each(&mut self, guide: &impl Guide, start: u32, k: usize, mut take: impl FnMut(&[u32], u64)) {
        self.begin(guide, start);
        let mut route = Vec::new();
        let mut left = k;
        while left > 0
            && let Some(candidate) = self.candidates.pop()
        {
            if candidate.found == NONE {
                self.resolve(guide, candidate.fork);
                continue;
            }
            self.route(guide, candidate, &mut route);
            take(&route, candidate.cost);
            left -= 1;
            if left > 0 {
                self.branch(guide, candidate);
            }
        }
    }

    fn begin(&mut self, guide: &impl Guide, start: u32) {
        self.forks.clear();
        self.taken.clear();
        self.candidates.clear();
        self.found.clear();
        let (nodes, states) = (guide.nodes(), guide.states());
        if (self.blocked.len(), self.reached.len()) != (nodes, states) {
            (self.stamp, self.blocked) = (0, vec![0; nodes]);
            (self.reached, self.back.reached) = (vec![(0, 0, 0); states], vec![0; states]);
        }
        let Some(cost) = guide.distance(start) else { return };
        self.forks.push(Fork::new(guide.start(start), NONE, 0));
        if start == guide.root() {
            // There is one path, without a link: going on would be a loop.
            self.found.push(END);
            self.candidates.push(Candidate { cost: 0, found: 0, fork: 0 });
        } else {
            self.candidates.push(Candidate { cost, found: NONE, fork: 0 });
        }
    }

    /// The nodes of a path that was found.
    fn route(&self, guide: &impl Guide, candidate: Candidate, route: &mut Vec<u32>) {
        route.clear();
        let mut at = candidate.fork;
        while at != NONE {
            route.push(guide.node(self.forks[at as usize].state));
            at = self.forks[at as usize].before;
        }
        route.reverse();
        let rest = self.found[candidate.found as usize..].iter();
        route.extend(rest.map(|one| one.to).take_while(|&to| to != NONE).map(|to| guide.node(to)));
    }

    /// Takes note of a path that was returned: later paths leave it at its fork or behind it.
    fn branch(&mut self, guide: &impl Guide, candidate: Candidate) {
        let (mut at, mut place) = (candidate.fork, candidate.found as usize);
        loop {
            let Move { to, cost } = self.found[place];
            if to == NONE {
                return;
            }
            place += 1;
            let fork = self.forks[at as usize];
            self.taken.push(Taken { node: guide.node(to), before: fork.taken });
            self.forks[at as usize].taken = (self.taken.len() - 1) as u32;
            self.promise(guide, at);
            self.forks.push(Fork::new(to, at, fork.cost + u64::from(cost)));
            at = (self.forks.len() - 1) as u32;
        }
    }

    /// Queues the deviations at a fork with the lower bound of their cost.
    fn promise(&mut self, guide: &impl Guide, at: u32) {
        let mut fork = self.forks[at as usize];
        let mut least = 0;
        if self.may_not_follow(guide, &fork)
            && let Some(escape) = guide.escape(fork.state)
        {
            if escape.sum == Escape::NONE {
                return;
            }
            least = escape.sum - guide.rest(fork.state);
        }
        while let Some(one) = guide.ranked(fork.state, fork.rank) {
            if !self.is_ruled_out(guide, &fork, one.to) {
                self.forks[at as usize].rank = fork.rank;
                let cost = fork.cost + least.max(promise(guide, one));
                return self.candidates.push(Candidate { cost, found: NONE, fork: at });
            }
            fork.rank += 1;
        }
    }

    /// Whether a path through `fork` must not go on to `to`: an earlier path did, or it would go straight back.
    fn is_ruled_out(&self, guide: &impl Guide, fork: &Fork, to: u32) -> bool {
        let node = guide.node(to);
        let mut at = fork.taken;
        while at != NONE {
            let taken = self.taken[at as usize];
            if taken.node == node {
                return true;
            }
            at = taken.before;
        }
        fork.before != NONE && guide.node(self.forks[fork.before as usize].state) == node
    }

    /// Whether a path through `fork` must not follow the tree.
    fn may_not_follow(&self, guide: &impl Guide, fork: &Fork) -> bool {
        guide.next(fork.state).is_some_and(|next| self.is_ruled_out(guide, fork, next.to))
    }

    /// Finds the cheapest continuation from a fork that repeats no node and that no path has taken; or returns a better
    /// lower bound of its cost.
    fn resolve(&mut self, guide: &impl Guide, at: u32) {
        self.block_path_to(guide, at);
        let fork = self.forks[at as usize];
        if let Some((found, rest)) = self.escape(guide, &fork) {
            return self.candidates.push(Candidate { cost: fork.cost + rest, found, fork: at });
        }
        let bound = self.candidates.peek().map_or(u64::MAX, |other| other.cost);
        self.trials.clear();
        self.reached[fork.state as usize] = (self.stamp, NONE, fork.cost);
        self.attempt(guide, fork.state, fork.rank, fork.cost, 0);
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
                self.begin_back(guide);
            } else if tried > PATIENCE && shown == Shown::Nothing {
                shown = self.step_back(guide);
                if shown == Shown::Apart {
                    return;
                }
            }
            match trial.what {
                What::Follow => {
                    let found = self.note(guide, fork.state, trial.state);
                    return self.candidates.push(Candidate { cost: trial.promise, found, fork: at });
                }
                What::Leave => self.attempt(guide, trial.state, 0, trial.cost, trial.promise),
                What::Try(rank) => {
                    self.attempt(guide, trial.state, rank + 1, trial.cost, trial.promise);
                    let Some(Move { to, cost }) = guide.ranked(trial.state, rank) else { continue };
                    if trial.state != fork.state || !self.is_ruled_out(guide, &fork, to) {
                        self.reach(guide, to, trial.state, trial.cost + u64::from(cost));
                    }
                }
            }
        }
    }

    /// The best way out of the fork's subtree, if the tree's next state is ruled out and no blocked node is in the way:
    /// none is cheaper. Returns its position in `found` and its cost.
    fn escape(&mut self, guide: &impl Guide, fork: &Fork) -> Option<(u32, u64)> {
        let Escape { sum, inside, outside } = guide.escape(fork.state)?;
        if sum == Escape::NONE || !self.may_not_follow(guide, fork) || self.rest(guide, outside)?.1 == What::Leave {
            return None;
        }
        let begin = self.found.len();
        let mut at = inside;
        while at != fork.state {
            let next = guide.next(at).filter(|_| !self.is_blocked(guide, at));
            let Some(Move { to, cost }) = next else {
                self.found.truncate(begin);
                return None;
            };
            self.found.push(Move { to: at, cost });
            at = to;
        }
        self.found[begin..].reverse();
        if self.is_ruled_out(guide, fork, self.found.get(begin).map_or(outside, |first| first.to)) {
            self.found.truncate(begin);
            return None;
        }
        let link = sum - guide.rest(inside) - guide.rest(outside);
        self.found.push(Move { to: outside, cost: link as u32 });
        self.follow(guide, outside);
        Some((begin as u32, sum - guide.rest(fork.state)))
    }

    /// Notes that a state can be reached at this cost.
    fn reach(&mut self, guide: &impl Guide, state: u32, before: u32, cost: u64) {
        let reached = self.reached[state as usize];
        if self.is_blocked(guide, state) || (reached.0 == self.stamp && reached.2 <= cost) {
            return;
        }
        if let Some((rest, what)) = self.rest(guide, state) {
            self.reached[state as usize] = (self.stamp, before, cost);
            self.trials.push(Trial { promise: cost + rest, what, state, cost });
        }
    }

    #[inline]
    fn is_blocked(&self, guide: &impl Guide, state: u32) -> bool {
        self.blocked[guide.node(state) as usize] == self.stamp
    }

    /// The lower bound of the rest of a path from `state`, and whether that rest simply follows the tree. Where the tree
    /// leads through a blocked node, the path has to leave that one's subtree elsewhere; `None` if it cannot.
    fn rest(&self, guide: &impl Guide, state: u32) -> Option<(u64, What)> {
        let distance = guide.rest(state);
        let (mut least, mut what, mut at) = (distance, What::Follow, state);
        loop {
            if self.is_blocked(guide, at) {
                what = What::Leave;
                match guide.escape(at) {
                    None => return Some((least, what)),
                    Some(Escape { sum: Escape::NONE, .. }) => return None,
                    Some(Escape { sum, .. }) => least = least.max(sum.saturating_sub(distance)),
                }
            }
            match guide.next(at) {
                Some(next) => at = next.to,
                None => return Some((least, what)),
            }
        }
    }

    /// Queues the move of a rank; `least` is another lower bound of what follows.
    #[inline]
    fn attempt(&mut self, guide: &impl Guide, state: u32, rank: u32, cost: u64, least: u64) {
        if let Some(one) = guide.ranked(state, rank) {
            let promise = least.max(cost + promise(guide, one));
            self.trials.push(Trial { promise, what: What::Try(rank), state, cost });
        }
    }

    fn begin_back(&mut self, guide: &impl Guide) {
        self.back.stack.clear();
        self.back.stack.extend(guide.roots());
        for &root in &self.back.stack {
            self.back.reached[root as usize] = self.stamp;
        }
        (self.back.state, self.back.number) = (self.back.stack.pop().unwrap_or(NONE), 0);
    }

    /// Follows one more link from the root's side.
    fn step_back(&mut self, guide: &impl Guide) -> Shown {
        if self.back.number >= guide.entries(self.back.state) {
            let Some(next) = self.back.stack.pop() else { return Shown::Apart };
            (self.back.state, self.back.number) = (next, 0);
            return Shown::Nothing;
        }
        let from = guide.entry(self.back.state, self.back.number);
        self.back.number += 1;
        let Some(from) = from else { return Shown::Nothing };
        if self.reached[from as usize].0 == self.stamp {
            return Shown::Connected;
        }
        if !self.is_blocked(guide, from) && self.back.reached[from as usize] != self.stamp {
            self.back.reached[from as usize] = self.stamp;
            self.back.stack.push(from);
        }
        Shown::Nothing
    }

    /// Blocks the nodes up to a fork.
    fn block_path_to(&mut self, guide: &impl Guide, at: u32) {
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
            self.blocked[guide.node(fork.state) as usize] = self.stamp;
            at = fork.before;
        }
    }

    /// Stores how `to` was reached from `from`, and how the tree goes on from there. Returns the position of its start.
    fn note(&mut self, guide: &impl Guide, from: u32, to: u32) -> u32 {
        let begin = self.found.len();
        let mut at = to;
        while at != from {
            let (_, before, cost) = self.reached[at as usize];
            self.found.push(Move { to: at, cost: (cost - self.reached[before as usize].2) as u32 });
            at = before;
        }
        self.found[begin..].reverse();
        self.follow(guide, to);
        begin as u32
    }

    /// Stores how the tree goes on from a state.
    fn follow(&mut self, guide: &impl Guide, mut state: u32) {
        while let Some(next) = guide.next(state) {
            self.found.push(next);
            state = next.to;
        }
        self.found.push(END);
    }
}

/// The least cost of a path that begins with a move.
#[inline]
fn promise(guide: &impl Guide, one: Move) -> u64 {
    u64::from(one.cost) + guide.rest(one.to)
}
