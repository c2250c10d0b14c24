//! All shortest valley-free paths to one node.

use super::super::Graph;
use super::super::heap::MinHeap;
use super::super::search::{Escape, Guide, Move};
use super::{Phase, Policy, Relation, node_of, state};

/// The distance of states from which no path leads to the root.
const FAR: u64 = u64::MAX;

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
        while let Some((d, at)) = heap.pop() {
            if d > self.distance[at as usize] {
                continue;
            }
            for number in 0..self.entries(at) {
                let Some(Move { to, cost }) = self.entering(at, number) else { continue };
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

    /// The links by which a state may be entered, each with the phase before it: the state from there, and the cost.
    fn entering(&self, at: u32, number: usize) -> Option<Move> {
        let node = node_of(at);
        let place = self.graph.range(node).nth(number / Phase::ALL.len())?;
        let phase = Phase::ALL[number % Phase::ALL.len()];
        let next = phase.after(self.relation(place).reversed())?;
        let arc = self.graph.arcs[place];
        (state(node, next) == at).then(|| Move { to: state(arc.to, phase), cost: arc.cost })
    }
}

/// A node is two states, one for each phase.
impl Guide for Tree<'_> {
    fn nodes(&self) -> usize {
        self.graph.nodes() as usize
    }
    fn states(&self) -> usize {
        self.distance.len()
    }
    #[inline]
    fn node(&self, at: u32) -> u32 {
        node_of(at)
    }
    fn start(&self, node: u32) -> u32 {
        state(node, Phase::Climbing)
    }
    fn root(&self) -> u32 {
        self.root
    }
    fn roots(&self) -> impl Iterator<Item = u32> {
        Phase::ALL.into_iter().map(|phase| state(self.root, phase))
    }
    fn distance(&self, node: u32) -> Option<u64> {
        if node >= self.graph.nodes() {
            return None;
        }
        Some(self.rest(self.start(node))).filter(|&d| d != FAR)
    }
    #[inline]
    fn rest(&self, at: u32) -> u64 {
        self.distance[at as usize]
    }
    #[inline]
    fn next(&self, at: u32) -> Option<Move> {
        if node_of(at) == self.root { None } else { self.ranked(at, 0) }
    }
    #[inline]
    fn ranked(&self, at: u32, rank: u32) -> Option<Move> {
        let own = self.first[at as usize]..self.first[at as usize + 1];
        self.moves[own].get(rank as usize).copied()
    }
    fn entries(&self, at: u32) -> usize {
        Phase::ALL.len() * self.graph.range(node_of(at)).len()
    }
    fn entry(&self, at: u32, number: usize) -> Option<u32> {
        self.entering(at, number).map(|one| one.to)
    }
    fn escape(&self, _: u32) -> Option<Escape> {
        None
    }
}
