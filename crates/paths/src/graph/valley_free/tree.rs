//! All shortest valley-free paths to one node.

use super::super::Graph;
use super::super::heap::MinHeap;
use super::{Phase, Policy, Relation, node_of, state};

/// The distance of states from which no path leads to the root.
const FAR: u64 = u64::MAX;

/// A link that a path may follow from a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    /// The state that it leads to.
    pub(super) to: u32,
    pub(super) cost: u32,
}

/// The shortest valley-free paths from every node, in either phase, to one node, the root (Dijkstra, Numerische
/// Mathematik 1, 1959), and the moves of each state in the order of the cheapest path that begins with them.
#[derive(Clone, Debug)]
pub struct Tree<'n> {
    graph: &'n Graph,
    policy: &'n Policy,
    root: u32,
    /// Of each state.
    distance: Vec<u64>,
    /// Where the moves of each state begin; one more at the end.
    first: Vec<usize>,
    moves: Vec<Move>,
}

impl<'n> Tree<'n> {
    /// The tree to `root`, a node of the graph, under this graph's policy.
    pub fn new(graph: &'n Graph, policy: &'n Policy, root: u32) -> Tree<'n> {
        let states = 2 * graph.nodes() as usize;
        let mut tree = Tree { graph, policy, root, distance: vec![FAR; states], first: vec![0], moves: Vec::new() };
        tree.measure();
        tree.order();
        tree
    }

    fn measure(&mut self) {
        if self.root >= self.graph.nodes() {
            return;
        }
        let mut heap = MinHeap::default();
        for phase in Phase::ALL {
            let at = state(self.root, phase);
            self.distance[at as usize] = 0;
            heap.push((0, at));
        }
        let mut before = Vec::new();
        while let Some((d, at)) = heap.pop() {
            if d > self.distance[at as usize] {
                continue;
            }
            self.before(at, &mut before);
            for &Move { to, cost } in &before {
                let through = d + u64::from(cost);
                if through < self.distance[to as usize] {
                    self.distance[to as usize] = through;
                    heap.push((through, to));
                }
            }
        }
    }

    fn order(&mut self) {
        for node in 0..self.graph.nodes() {
            for phase in Phase::ALL {
                let begin = self.moves.len();
                for place in self.graph.range(node) {
                    let arc = self.graph.arcs[place];
                    let Some(next) = phase.after(self.relation(place)) else { continue };
                    let to = state(arc.to, next);
                    if self.distance[to as usize] != FAR {
                        self.moves.push(Move { to, cost: arc.cost });
                    }
                }
                let distance = &self.distance;
                self.moves[begin..]
                    .sort_unstable_by_key(|one| (u64::from(one.cost) + distance[one.to as usize], one.to));
                self.first.push(self.moves.len());
            }
        }
    }

    fn relation(&self, place: usize) -> Relation {
        self.policy.relations[place]
    }

    /// The states from which one link leads to this state, each with the link's cost.
    pub(super) fn before(&self, at: u32, found: &mut Vec<Move>) {
        found.clear();
        let node = node_of(at);
        for place in self.graph.range(node) {
            let arc = self.graph.arcs[place];
            let relation = self.relation(place).reversed();
            for phase in Phase::ALL {
                if phase.after(relation).is_some_and(|next| state(node, next) == at) {
                    found.push(Move { to: state(arc.to, phase), cost: arc.cost });
                }
            }
        }
    }

    /// Where all paths lead.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Number of states of the network: two for each node.
    pub(super) fn states(&self) -> usize {
        self.distance.len()
    }

    /// The cost of the shortest valley-free path from a node to the root; `None` if there is none.
    pub fn distance(&self, node: u32) -> Option<u64> {
        if node >= self.graph.nodes() {
            return None;
        }
        Some(self.rest(state(node, Phase::Climbing))).filter(|&d| d != FAR)
    }

    /// The least cost from a state to the root; only of states from which there is a path.
    #[inline]
    pub(super) fn rest(&self, at: u32) -> u64 {
        self.distance[at as usize]
    }

    /// The state's `rank`-th move by the least cost of a path that begins with it.
    #[inline]
    pub(super) fn ranked(&self, at: u32, rank: u32) -> Option<Move> {
        let own = self.first[at as usize]..self.first[at as usize + 1];
        self.moves[own].get(rank as usize).copied()
    }

    /// The first move of the shortest path; `None` at the root.
    #[inline]
    pub(super) fn next(&self, at: u32) -> Option<Move> {
        if node_of(at) == self.root { None } else { self.ranked(at, 0) }
    }
}
