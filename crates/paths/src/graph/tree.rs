//! All shortest paths to one node.

use super::heap::MinHeap;
use super::{Arc, Graph};

/// The distance of nodes from which no path leads to the root.
const FAR: u64 = u64::MAX;

/// The shortest paths from every node to one, the root (Dijkstra, Numerische Mathematik 1, 1959), and the arcs of each node
/// in the order of the cheapest path to the root that begins with them.
#[derive(Clone, Debug)]
pub struct Tree<'g> {
    graph: &'g Graph,
    root: u32,
    distance: Vec<u64>,
    /// As in the graph, but the arcs of each node in the order of cost plus distance.
    arcs: Vec<Arc>,
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
        for node in 0..graph.nodes() {
            arcs[graph.range(node)]
                .sort_unstable_by_key(|arc| (u64::from(arc.cost).saturating_add(distance[arc.to as usize]), arc.to));
        }
        Tree { graph, root, distance, arcs }
    }

    /// Where all paths lead.
    pub fn root(&self) -> u32 {
        self.root
    }

    /// Number of nodes of the graph.
    pub fn nodes(&self) -> u32 {
        self.graph.nodes()
    }

    /// The cost of the shortest path from a node to the root; `None` if there is none.
    pub fn distance(&self, node: u32) -> Option<u64> {
        self.distance.get(node as usize).copied().filter(|&d| d != FAR)
    }

    /// The node's `rank`-th arc by the least cost of a path that begins with it: where it leads and that cost, loops
    /// not minded.
    #[inline]
    pub(super) fn ranked(&self, node: u32, rank: u32) -> Option<(u32, u32, u64)> {
        let first = self.graph.first[node as usize] + rank;
        if first >= self.graph.first[node as usize + 1] {
            return None;
        }
        let arc = self.arcs[first as usize];
        let rest = self.distance[arc.to as usize];
        (rest != FAR).then(|| (arc.to, arc.cost, u64::from(arc.cost) + rest))
    }

    /// The node at the other end of a node's `rank`-th link.
    #[inline]
    pub(super) fn neighbour(&self, node: u32, rank: usize) -> Option<u32> {
        self.arcs[self.graph.range(node)].get(rank).map(|arc| arc.to)
    }

    /// The next node on the shortest path and what the link to it costs; `None` at the root.
    #[inline]
    pub(super) fn next(&self, node: u32) -> Option<(u32, u32)> {
        let arc = (node != self.root).then(|| self.arcs[self.graph.first[node as usize] as usize])?;
        Some((arc.to, arc.cost))
    }
}
