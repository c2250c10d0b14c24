//! Nodes, links between them, and shortest-path routes.

use crate::link::LinkConfig;

/// Number of a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// One direction of a link between two nodes.
#[derive(Clone, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: NodeId,
    /// Where it ends.
    pub to: NodeId,
    /// Its name in results, shared by both directions, such as `bottleneck`.
    pub name: String,
    /// Its direction, `down` or `up`.
    pub direction: Direction,
    /// What it is like.
    pub config: LinkConfig,
}

/// The two directions of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the link's first node to its second: the data direction of a download.
    Down,
    /// The other way.
    Up,
}

impl Direction {
    /// `down` or `up`.
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }
}

/// A network of named nodes.
#[derive(Clone, Default, Debug)]
pub struct Topology {
    nodes: Vec<String>,
    edges: Vec<Edge>,
}

impl Topology {
    /// No nodes, no links.
    pub fn new() -> Topology {
        Topology::default()
    }

    /// The node called `name`, made if it is new.
    pub fn node(&mut self, name: &str) -> NodeId {
        match self.find(name) {
            Some(id) => id,
            None => {
                self.nodes.push(name.to_string());
                NodeId(self.nodes.len() as u32 - 1)
            }
        }
    }

    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|n| n == name).map(|i| NodeId(i as u32))
    }

    /// Joins two nodes: `down` goes from `a` to `b`, `up` back.
    pub fn join(&mut self, name: &str, a: NodeId, b: NodeId, down: LinkConfig, up: LinkConfig) {
        let name = name.to_string();
        self.edges.push(Edge { from: a, to: b, name: name.clone(), direction: Direction::Down, config: down });
        self.edges.push(Edge { from: b, to: a, name, direction: Direction::Up, config: up });
    }

    /// All link directions; their position is their number in routes.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The route with the fewest links, among those the one of the least propagation delay, then of the lowest link
    /// numbers; `None` if the nodes are not connected.
    pub fn route(&self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        type Cost = (u64, u64);
        let n = self.nodes.len();
        let mut best: Vec<Option<(Cost, Option<u32>)>> = vec![None; n];
        let mut done = vec![false; n];
        best[from.0 as usize] = Some(((0, 0), None));
        loop {
            let open = (0..n).filter(|&i| !done[i]);
            let Some((i, cost)) = open.filter_map(|i| best[i].map(|(c, _)| (i, c))).min_by_key(|&(i, c)| (c, i)) else {
                break;
            };
            done[i] = true;
            for (k, edge) in self.edges.iter().enumerate().filter(|(_, e)| e.from.0 as usize == i) {
                let next = (cost.0 + 1, cost.1.saturating_add(edge.config.delay.as_nanos()));
                let at = &mut best[edge.to.0 as usize];
                if at.is_none_or(|(c, _)| next < c) {
                    *at = Some((next, Some(k as u32)));
                }
            }
        }
        let mut route = Vec::new();
        let mut at = to;
        while at != from {
            let edge = best[at.0 as usize]?.1?;
            route.push(edge);
            at = self.edges[edge as usize].from;
        }
        route.reverse();
        Some(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    fn with_delay(ms: u64) -> LinkConfig {
        LinkConfig { delay: Span::from_millis(ms), ..LinkConfig::default() }
    }

    #[test]
    fn routes_have_the_fewest_links_then_the_least_delay() {
        let mut net = Topology::new();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
        net.join("ab", a, b, with_delay(5), with_delay(5));
        net.join("ac", a, c, with_delay(1), with_delay(1));
        net.join("bd", b, d, with_delay(5), with_delay(5));
        net.join("cd", c, d, with_delay(1), with_delay(1));
        assert_eq!(net.route(a, d), Some(vec![2, 6]));
        assert_eq!(net.route(d, a), Some(vec![7, 3]));
        assert_eq!(net.route(a, a), Some(vec![]));
        let alone = net.node("alone");
        assert_eq!(net.route(a, alone), None);
        assert_eq!(net.node("a"), a);
    }
}
