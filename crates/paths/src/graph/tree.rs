//! All shortest paths to one node.

use super::heap::MinHeap;
use super::search::{Escape, Guide, Move};
use super::{Arc, Graph, NONE};

/// The distance of nodes from which no path leads to the root.
const FAR: u64 = u64::MAX;

/// The shortest paths from every node to one, the root (Dijkstra, Numerische Mathematik 1, 1959), and what a search
/// needs that may not follow them: the arcs of each node in the order of the cheapest path to the root through them,
/// and the least cost of leaving the tree.
#[derive(Clone, Debug)]
pub struct Tree<'g> {
    graph: &'g Graph,
    root: u32,
    distance: Vec<u64>,
    /// As in the graph, but the arcs of each node in the order of cost plus distance.
    arcs: Vec<Arc>,
    /// The next node on the shortest path; [`NONE`] at the root.
    next: Vec<u32>,
    escapes: Vec<Escape>,
}

impl<'g> Tree<'g> {
    /// The tree to `root`, a node of the graph.
    pub fn new(graph: &'g Graph, root: u32) -> Tree<'g> {
        let mut distance = vec![FAR; graph.nodes() as usize];
        let mut heap = MinHeap::default();
        if let Some(d) = distance.get_mut(root as usize) {
            *d = 0;
            heap.push((0, root));
        }
        while let Some((d, node)) = heap.pop() {
            if d > distance[node as usize] {
                continue;
            }
            for arc in graph.arcs(node) {
                let through = d + u64::from(arc.cost);
                if through < distance[arc.to as usize] {
                    distance[arc.to as usize] = through;
                    heap.push((through, arc.to));
                }
            }
        }
        let mut arcs = graph.arcs.clone();
        let mut next = vec![NONE; graph.nodes() as usize];
        for node in 0..graph.nodes() {
            let own = &mut arcs[graph.range(node)];
            own.sort_unstable_by_key(|arc| (u64::from(arc.cost).saturating_add(distance[arc.to as usize]), arc.to));
            if node != root && distance[node as usize] != FAR {
                next[node as usize] = own.first().map_or(NONE, |arc| arc.to);
            }
        }
        let escapes = escapes(graph, &distance, &next);
        Tree { graph, root, distance, arcs, next, escapes }
    }
}

/// A node is one state.
impl Guide for Tree<'_> {
    fn nodes(&self) -> usize {
        self.distance.len()
    }
    fn states(&self) -> usize {
        self.distance.len()
    }
    #[inline]
    fn node(&self, state: u32) -> u32 {
        state
    }
    fn start(&self, node: u32) -> u32 {
        node
    }
    fn root(&self) -> u32 {
        self.root
    }
    fn roots(&self) -> impl Iterator<Item = u32> {
        [self.root].into_iter()
    }
    fn distance(&self, node: u32) -> Option<u64> {
        self.distance.get(node as usize).copied().filter(|&d| d != FAR)
    }
    #[inline]
    fn rest(&self, node: u32) -> u64 {
        self.distance[node as usize]
    }
    #[inline]
    fn next(&self, node: u32) -> Option<Move> {
        let to = self.next[node as usize];
        (to != NONE).then(|| Move { to, cost: self.arcs[self.graph.first[node as usize] as usize].cost })
    }
    #[inline]
    fn ranked(&self, node: u32, rank: u32) -> Option<Move> {
        let first = self.graph.first[node as usize] + rank;
        if first >= self.graph.first[node as usize + 1] {
            return None;
        }
        let Arc { to, cost } = self.arcs[first as usize];
        (self.distance[to as usize] != FAR).then_some(Move { to, cost })
    }
    fn entries(&self, node: u32) -> usize {
        self.graph.range(node).len()
    }
    fn entry(&self, node: u32, number: usize) -> Option<u32> {
        self.arcs[self.graph.range(node)].get(number).map(|arc| arc.to)
    }
    #[inline]
    fn escape(&self, node: u32) -> Option<Escape> {
        Some(self.escapes[node as usize])
    }
}

/// The best way out of each node's subtree. The links that are not in the tree are taken in the order of their sums;
/// each is the best for those nodes from its ends up to where the tree joins them that had none before (the replacement
/// paths of Malik, Mittal and Gupta, Operations Research Letters 8, 1989, for all nodes at once).
fn escapes(graph: &Graph, distance: &[u64], next: &[u32]) -> Vec<Escape> {
    let nodes = graph.nodes();
    let mut order: Vec<u32> = (0..nodes).filter(|&node| next[node as usize] != NONE).collect();
    order.sort_unstable_by_key(|&node| (distance[node as usize], node));
    let mut depth = vec![0u32; nodes as usize];
    for &node in &order {
        depth[node as usize] = depth[next[node as usize] as usize] + 1;
    }
    let mut links = Vec::new();
    for a in (0..nodes).filter(|&a| distance[a as usize] != FAR) {
        for arc in graph.arcs(a).iter().filter(|arc| arc.to > a) {
            let b = arc.to;
            if next[a as usize] != b && next[b as usize] != a {
                links.push((distance[a as usize] + u64::from(arc.cost) + distance[b as usize], a, b));
            }
        }
    }
    links.sort_unstable();
    let mut escapes = vec![Escape { sum: Escape::NONE, inside: NONE, outside: NONE }; nodes as usize];
    // The nearest node on the way to the root that has no escape yet.
    let mut open: Vec<u32> = (0..nodes).collect();
    for (sum, a, b) in links {
        let (mut x, mut y) = (find(&mut open, a), find(&mut open, b));
        while x != y {
            let deeper = depth[x as usize] >= depth[y as usize];
            let (node, inside, outside) = if deeper { (x, a, b) } else { (y, b, a) };
            escapes[node as usize] = Escape { sum, inside, outside };
            open[node as usize] = next[node as usize];
            let up = find(&mut open, next[node as usize]);
            if deeper {
                x = up;
            } else {
                y = up;
            }
        }
    }
    escapes
}

/// Follows `open` to its end and shortens the way for later calls (path halving).
fn find(open: &mut [u32], mut node: u32) -> u32 {
    while open[node as usize] != node {
        let up = open[open[node as usize] as usize];
        open[node as usize] = up;
        node = up;
    }
    node
}
