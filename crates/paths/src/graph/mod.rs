//! Graphs of addresses, and the shortest loopless paths in them.
//!
//! A graph is undirected and made of the links that traces show. Its nodes are numbers from 0, the caller keeps the
//! addresses. [`Tree`] holds all shortest paths to one node; with it, [`Search`] finds the K shortest loopless paths
//! from any other and, along the tree of [`valley_free`], those that obey the routing policy of ASes.
//!
//! The graph is made from traces ([`Observed`], [`view`]). [`Network`] is that graph with the hops and delays of its
//! links, and [`routes`] measures the K shortest paths of many pairs.

pub mod difference;
mod finder;
pub mod geography;
mod heap;
mod network;
pub mod routes;
mod search;
mod tree;
pub mod valley_free;
pub mod view;

pub use finder::{Finder, Target};
pub use geography::Places;
pub use network::{Cost, Link, Network};
pub use routes::{Pairs, Progress, Row};
pub use search::{Guide, Route, Search};
pub use tree::Tree;
pub use view::{Gaps, Links, Observed};

/// Stands for "no node" and "no time".
pub(crate) const NONE: u32 = u32::MAX;

/// Why links cannot be those of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// This link, counted from 0, names a node that does not exist.
    NoSuchNode(usize),
    /// This link has cost 0, which would leave the order of paths undefined.
    NoCost(usize),
    /// This link joins the same two nodes as an earlier one.
    Twice(usize),
    /// More links, or more nodes under a policy, than the graph's numbers can count.
    TooLarge,
}

impl std::fmt::Display for GraphError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GraphError::NoSuchNode(link) => write!(f, "link {link} names a node that the graph has not"),
            GraphError::NoCost(link) => write!(f, "link {link} costs 0: give each link a cost of at least 1"),
            GraphError::Twice(link) => {
                write!(f, "link {link} joins the nodes of an earlier one: give each pair one link")
            }
            GraphError::TooLarge => {
                f.write_str("more links, or nodes under a policy, than a graph here can have: at most 2 147 483 647")
            }
        }
    }
}
impl std::error::Error for GraphError {}

/// A link seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Arc {
    to: u32,
    cost: u32,
}

/// An undirected graph with a cost for each link. Of several links between two nodes only the cheapest is kept.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Where the arcs of each node begin; one more at the end.
    first: Vec<u32>,
    arcs: Vec<Arc>,
}

impl Graph {
    /// The graph of `nodes` nodes and these links, each with its two ends and its cost (1, a delay in microseconds, …).
    /// Links of a node with itself are left out.
    pub fn new(nodes: u32, links: &[(u32, u32, u32)]) -> Result<Graph, GraphError> {
        if links.len() > (i32::MAX as usize) {
            return Err(GraphError::TooLarge);
        }
        for (i, &(a, b, cost)) in links.iter().enumerate() {
            if a >= nodes || b >= nodes {
                return Err(GraphError::NoSuchNode(i));
            }
            if cost == 0 {
                return Err(GraphError::NoCost(i));
            }
        }
        let both = links.iter().filter(|(a, b, _)| a != b).flat_map(|&(a, b, cost)| [(a, b, cost), (b, a, cost)]);
        let mut all: Vec<(u32, u32, u32)> = both.collect();
        all.sort_unstable();
        all.dedup_by_key(|arc| (arc.0, arc.1));
        let mut first = vec![0; nodes as usize + 1];
        for arc in &all {
            first[arc.0 as usize + 1] += 1;
        }
        for i in 1..first.len() {
            first[i] += first[i - 1];
        }
        Ok(Graph { first, arcs: all.into_iter().map(|(_, to, cost)| Arc { to, cost }).collect() })
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        (self.first.len() - 1) as u32
    }

    /// Number of links.
    pub fn links(&self) -> usize {
        self.arcs.len() / 2
    }

    /// Number of links at a node.
    pub fn degree(&self, node: u32) -> usize {
        self.range(node).len()
    }

    /// The index of the arc from `a` to `b`.
    fn place(&self, a: u32, b: u32) -> Option<usize> {
        let at = self.arcs(a).binary_search_by_key(&b, |arc| arc.to).ok()?;
        Some(self.first[a as usize] as usize + at)
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        self.first[node as usize] as usize..self.first[node as usize + 1] as usize
    }

    fn arcs(&self, node: u32) -> &[Arc] {
        &self.arcs[self.range(node)]
    }

    /// The component of each node, numbered by size: 0 is the largest; of equal ones the one with the lowest node comes
    /// first.
    pub fn components(&self) -> Vec<u32> {
        const NONE: u32 = u32::MAX;
        let mut component = vec![NONE; self.nodes() as usize];
        let (mut sizes, mut stack) = (Vec::new(), Vec::new());
        for start in 0..self.nodes() {
            if component[start as usize] != NONE {
                continue;
            }
            let number = sizes.len() as u32;
            let mut size = 0u32;
            component[start as usize] = number;
            stack.push(start);
            while let Some(node) = stack.pop() {
                size += 1;
                for arc in self.arcs(node) {
                    if component[arc.to as usize] == NONE {
                        component[arc.to as usize] = number;
                        stack.push(arc.to);
                    }
                }
            }
            sizes.push(size);
        }
        let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
        order.sort_by_key(|&c| std::cmp::Reverse(sizes[c as usize]));
        let mut rank = vec![0; order.len()];
        for (place, &c) in order.iter().enumerate() {
            rank[c as usize] = place as u32;
        }
        component.iter().map(|&c| rank[c as usize]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_links_between_two_nodes_are_the_cheapest_of_them() {
        let graph = Graph::new(3, &[(0, 1, 5), (1, 0, 3), (1, 2, 1), (2, 2, 9)]).unwrap();
        assert_eq!((graph.nodes(), graph.links(), graph.degree(1)), (3, 2, 2));
        assert_eq!(graph.arcs(0), [Arc { to: 1, cost: 3 }]);
    }

    #[test]
    fn components_are_numbered_by_size() {
        let graph = Graph::new(6, &[(0, 1, 1), (2, 3, 1), (3, 4, 1)]).unwrap();
        assert_eq!(graph.components(), [1, 1, 0, 0, 0, 2]);
        assert!(Graph::new(0, &[]).unwrap().components().is_empty());
    }

    #[test]
    fn what_cannot_be_a_graph_is_refused_with_the_links_number() {
        assert_eq!(Graph::new(2, &[(0, 1, 1), (1, 2, 1)]).unwrap_err(), GraphError::NoSuchNode(1));
        assert_eq!(Graph::new(2, &[(0, 1, 0)]).unwrap_err(), GraphError::NoCost(0));
    }
}
