//! Nodes, links between them, and shortest-path routes.

use crate::link::LinkConfig;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

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
    names: BTreeMap<String, NodeId>,
    edges: Vec<Edge>,
    /// Numbers of the edges out of and into each node.
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
}

impl Topology {
    /// No nodes, no links.
    pub fn new() -> Topology {
        Topology::default()
    }

    /// The node called `name`, made if it is new.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = NodeId(self.out.len() as u32);
        self.names.insert(name.to_string(), id);
        self.out.push(Vec::new());
        self.into.push(Vec::new());
        id
    }

    /// The node called `name`.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    /// The names of all nodes, in the order of their numbers.
    pub fn nodes(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<(&NodeId, &String)> = self.names.iter().map(|(name, id)| (id, name)).collect();
        names.sort();
        names.into_iter().map(|(_, name)| name.as_str())
    }

    /// Joins two nodes: `down` goes from `a` to `b`, `up` back.
    pub fn join(&mut self, name: &str, a: NodeId, b: NodeId, down: LinkConfig, up: LinkConfig) {
        for (from, to, direction, config) in [(a, b, Direction::Down, down), (b, a, Direction::Up, up)] {
            let number = self.edges.len() as u32;
            self.out[from.0 as usize].push(number);
            self.into[to.0 as usize].push(number);
            self.edges.push(Edge { from, to, name: name.to_string(), direction, config });
        }
    }

    /// All link directions; their position is their number in routes.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// A finder of routes that remembers what it found.
    pub fn router(&self) -> Router<'_> {
        Router { net: self, found: BTreeMap::new() }
    }
}

/// Finds shortest routes: those with the fewest links, among them the one of the least propagation delay, then of the
/// lowest link numbers.
#[derive(Clone, Debug)]
pub struct Router<'a> {
    net: &'a Topology,
    found: BTreeMap<(NodeId, NodeId), Option<Vec<u32>>>,
}

impl Router<'_> {
    /// The links of the route from one node to another; `None` if they are not connected.
    pub fn route(&mut self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        let (mut from, mut to) = (from, to);
        let (mut first, mut last) = (None, None);
        // A host on a single link shares its neighbour's routes: thousands of hosts then cost a few searches.
        if let ([only], false) = (&self.net.out[from.0 as usize][..], from == to) {
            first = Some(*only);
            from = self.net.edges[*only as usize].to;
        }
        if let ([only], false) = (&self.net.into[to.0 as usize][..], from == to) {
            last = Some(*only);
            to = self.net.edges[*only as usize].from;
        }
        if !self.found.contains_key(&(from, to)) {
            let route = self.search(from, to);
            self.found.insert((from, to), route);
        }
        let middle = self.found.get(&(from, to))?.as_ref()?;
        Some(first.into_iter().chain(middle.iter().copied()).chain(last).collect())
    }

    /// Dijkstra's algorithm over (links, delay, link number).
    fn search(&self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        type Cost = (u64, u64);
        let edges = &self.net.edges;
        let mut best: Vec<Option<(Cost, u32)>> = vec![None; self.net.out.len()];
        let mut done = vec![false; best.len()];
        let mut open: BinaryHeap<Reverse<(Cost, u32)>> = BinaryHeap::from([Reverse(((0, 0), from.0))]);
        while let Some(Reverse((cost, node))) = open.pop() {
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            if node == to.0 {
                break;
            }
            for &number in &self.net.out[node as usize] {
                let edge = &edges[number as usize];
                let next: Cost = (cost.0 + 1, cost.1.saturating_add(edge.config.delay.as_nanos()));
                let at = &mut best[edge.to.0 as usize];
                if edge.to != from && at.is_none_or(|known| (next, number) < known) {
                    *at = Some((next, number));
                    open.push(Reverse((next, edge.to.0)));
                }
            }
        }
        let mut route = Vec::new();
        let mut at = to;
        while at != from {
            let (_, number) = best[at.0 as usize]?;
            route.push(number);
            at = edges[number as usize].from;
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
        let alone = net.node("alone");
        assert_eq!(net.node("a"), a);
        let mut router = net.router();
        assert_eq!(router.route(a, d), Some(vec![2, 6]));
        assert_eq!(router.route(d, a), Some(vec![7, 3]));
        assert_eq!(router.route(a, a), Some(vec![]));
        assert_eq!(router.route(a, alone), None);
        assert_eq!(router.route(alone, a), None);
    }

    #[test]
    fn a_pair_of_hosts_apart_from_the_rest_has_no_route_to_it() {
        let mut net = Topology::new();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
        net.join("ab", a, b, with_delay(1), with_delay(1));
        net.join("cd", c, d, with_delay(1), with_delay(1));
        let mut router = net.router();
        assert_eq!(router.route(a, c), None);
        assert_eq!(router.route(a, b), Some(vec![0]));
        assert_eq!(router.route(b, a), Some(vec![1]));
    }

    #[test]
    fn hosts_on_one_link_share_the_routes_of_their_routers() {
        let mut net = Topology::new();
        let (near, far) = (net.node("near"), net.node("far"));
        net.join("middle", near, far, with_delay(1), with_delay(1));
        let hosts: Vec<NodeId> = (0..4).map(|i| net.node(&format!("host {i}"))).collect();
        for (i, &host) in hosts.iter().enumerate() {
            let router = if i < 2 { near } else { far };
            net.join(&format!("access {i}"), host, router, with_delay(0), with_delay(0));
        }
        let mut router = net.router();
        assert_eq!(router.route(hosts[0], hosts[3]), Some(vec![2, 0, 9]));
        assert_eq!(router.route(hosts[1], hosts[0]), Some(vec![4, 3]));
        assert_eq!(router.route(hosts[2], near), Some(vec![6, 1]));
    }
}
