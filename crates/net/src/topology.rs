//! Nodes, links between them, and shortest-path routes.

use crate::link::LinkConfig;
use crate::packet::Address;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

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
    pub name: Arc<str>,
    /// Its direction, `down` or `up`.
    pub direction: Direction,
    /// Its configuration, which links of one kind share.
    pub config: Arc<LinkConfig>,
}

crate::named! {
    /// The two directions of a link.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Direction {
        /// From the link's first node to its second: the data direction of a download.
        Down = "down",
        /// The opposite direction.
        Up = "up",
    }
}

/// An interface of a node, which has an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interface {
    /// The node of the interface.
    pub node: NodeId,
    /// The link of the interface, by its number; `None` if the node has one address on all its links.
    pub link: Option<u32>,
}

/// Links that share a [`Medium`](crate::medium::Medium).
#[derive(Clone, Debug)]
pub struct Shared {
    /// The medium's name in results.
    pub name: String,
    /// The links by number, `down` from the node that they have in common.
    pub links: Vec<u32>,
}

/// A network of named nodes. A node has an address, and may have one for each of its links.
#[derive(Clone, Default, Debug)]
pub struct Topology {
    names: BTreeMap<String, NodeId>,
    edges: Vec<Edge>,
    /// Numbers of the edges out of and into each node.
    out: Vec<Vec<u32>>,
    into: Vec<Vec<u32>>,
    interfaces: Vec<Interface>,
    /// The addresses of each node. The first one is the node's main address.
    addresses: Vec<Vec<Address>>,
    media: Vec<Shared>,
}

impl Topology {
    /// A network without nodes and links.
    pub fn new() -> Topology {
        Topology::default()
    }

    /// The node called `name`. A new node is created with an address.
    pub fn node(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.find(name) {
            return id;
        }
        let id = NodeId(self.out.len() as u32);
        self.names.insert(name.to_string(), id);
        self.out.push(Vec::new());
        self.into.push(Vec::new());
        self.addresses.push(Vec::new());
        self.address(id, None);
        id
    }

    fn address(&mut self, node: NodeId, link: Option<u32>) -> Address {
        let address = Address(self.interfaces.len() as u32);
        self.interfaces.push(Interface { node, link });
        self.addresses[node.0 as usize].push(address);
        address
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

    /// Joins two nodes: `down` goes from `a` to `b`, `up` back. Returns the link's number.
    pub fn join(
        &mut self,
        name: &str,
        a: NodeId,
        b: NodeId,
        down: impl Into<Arc<LinkConfig>>,
        up: impl Into<Arc<LinkConfig>>,
    ) -> u32 {
        let name: Arc<str> = name.into();
        for (from, to, direction, config) in [(a, b, Direction::Down, down.into()), (b, a, Direction::Up, up.into())] {
            let number = self.edges.len() as u32;
            self.out[from.0 as usize].push(number);
            self.into[to.0 as usize].push(number);
            self.edges.push(Edge { from, to, name: name.clone(), direction, config });
        }
        self.edges.len() as u32 / 2 - 1
    }

    /// Lets links share a medium.
    pub fn share(&mut self, links: Shared) {
        self.media.push(links);
    }

    /// How many network elements there are: one for each link direction that is by itself, and one for each medium.
    pub fn elements(&self) -> usize {
        let shared: usize = self.media.iter().map(|medium| 2 * medium.links.len()).sum();
        self.edges.len() - shared + self.media.len()
    }

    /// The media that links share.
    pub fn media(&self) -> &[Shared] {
        &self.media
    }

    /// Gives a node's end of a link an address of its own. Packets from this address leave on this link, and packets to
    /// it arrive on it. The first address that is assigned in this way becomes the node's first address.
    pub fn interface(&mut self, node: NodeId, link: u32) -> Address {
        let first = self.addresses[node.0 as usize][0];
        let known = &mut self.interfaces[first.0 as usize].link;
        if known.is_none() {
            *known = Some(link);
            return first;
        }
        self.address(node, Some(link))
    }

    /// All interfaces. The position of each is its address.
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The addresses of a node, its main address first.
    pub fn addresses(&self, node: NodeId) -> &[Address] {
        &self.addresses[node.0 as usize]
    }

    /// All link directions. The position of each is its number in routes.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }
}

/// Finds shortest routes: those with the fewest links, among them the one with the smallest propagation delay, then the
/// one with the lowest link numbers. It caches the results, so each router is for one network.
#[derive(Clone, Default, Debug)]
pub struct Router {
    found: BTreeMap<(NodeId, NodeId), Option<Vec<u32>>>,
}

impl Router {
    /// A router with an empty cache.
    pub fn new() -> Router {
        Router::default()
    }

    /// The link directions from one address to another, by their position in [`Topology::edges`]; `None` if no links lead
    /// there.
    pub fn route(&mut self, net: &Topology, from: Address, to: Address) -> Option<Vec<u32>> {
        let (from, to) = (net.interfaces.get(from.0 as usize)?, net.interfaces.get(to.0 as usize)?);
        if from.node == to.node {
            return Some(Vec::new());
        }
        // A host with a single link shares its neighbour's routes. Thousands of hosts then cost only a few searches.
        let first = the_only(&net.out[from.node.0 as usize], from.link)?;
        let last = the_only(&net.into[to.node.0 as usize], to.link)?;
        let start = first.map_or(from.node, |edge| net.edges[edge as usize].to);
        if start == to.node {
            // Over its only link the packet arrives, on any interface.
            return Some(first.into_iter().collect()).filter(|_| last.is_none() || last == first);
        }
        let end = last.map_or(to.node, |edge| net.edges[edge as usize].from);
        let middle = self.found.entry((start, end)).or_insert_with(|| net.search(start, end)).as_ref()?;
        let route: Vec<u32> = first.into_iter().chain(middle.iter().copied()).chain(last).collect();
        // If a link is prescribed, the shortest route may lead back through the sender, or through the receiver's other
        // link.
        let is_end = |edge: &&u32| [from.node, to.node].contains(&net.edges[**edge as usize].to);
        Some(route).filter(|route| route.iter().filter(is_end).count() == 1)
    }
}

/// Which of a node's link directions must be used: that of a given link, or the only one. `Some(None)` if any may be
/// used; `None` if there is none.
fn the_only(edges: &[u32], link: Option<u32>) -> Option<Option<u32>> {
    match (link, edges) {
        (Some(link), _) => edges.iter().find(|&&edge| edge / 2 == link).map(|&edge| Some(edge)),
        (None, []) => None,
        (None, [only]) => Some(Some(*only)),
        (None, _) => Some(None),
    }
}

impl Topology {
    /// Dijkstra's algorithm over (links, delay, link number).
    fn search(&self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        type Cost = (u64, u64);
        let edges = &self.edges;
        let mut best: Vec<Option<(Cost, u32)>> = vec![None; self.out.len()];
        let mut done = vec![false; best.len()];
        let mut open: BinaryHeap<Reverse<(Cost, u32)>> = BinaryHeap::from([Reverse(((0, 0), from.0))]);
        while let Some(Reverse((cost, node))) = open.pop() {
            if std::mem::replace(&mut done[node as usize], true) {
                continue;
            }
            if node == to.0 {
                break;
            }
            for &number in &self.out[node as usize] {
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
        let mut found = Router::new();
        let mut route = |from: NodeId, to: NodeId| found.route(&net, net.addresses(from)[0], net.addresses(to)[0]);
        assert_eq!(route(a, d), Some(vec![2, 6]));
        assert_eq!(route(d, a), Some(vec![7, 3]));
        assert_eq!(route(a, a), Some(vec![]));
        assert_eq!(route(a, alone), None);
        assert_eq!(route(alone, a), None);
    }

    #[test]
    fn a_pair_of_hosts_apart_from_the_rest_has_no_route_to_it() {
        let mut net = Topology::new();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|n| net.node(n));
        net.join("ab", a, b, with_delay(1), with_delay(1));
        net.join("cd", c, d, with_delay(1), with_delay(1));
        let mut found = Router::new();
        let mut route = |from: NodeId, to: NodeId| found.route(&net, net.addresses(from)[0], net.addresses(to)[0]);
        assert_eq!(route(a, c), None);
        assert_eq!(route(a, b), Some(vec![0]));
        assert_eq!(route(b, a), Some(vec![1]));
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
        let mut found = Router::new();
        let mut route = |from: NodeId, to: NodeId| found.route(&net, net.addresses(from)[0], net.addresses(to)[0]);
        assert_eq!(route(hosts[0], hosts[3]), Some(vec![2, 0, 9]));
        assert_eq!(route(hosts[1], hosts[0]), Some(vec![4, 3]));
        assert_eq!(route(hosts[2], near), Some(vec![6, 1]));
    }

    #[test]
    fn an_address_of_a_link_is_left_and_reached_on_that_link() {
        let mut net = Topology::new();
        let [a, b, c] = ["a", "b", "c"].map(|n| net.node(n));
        let direct = net.join("direct", a, b, with_delay(1), with_delay(1));
        let near = net.join("near", a, c, with_delay(1), with_delay(1));
        let far = net.join("far", c, b, with_delay(1), with_delay(1));
        let [a0, a1] = [direct, near].map(|link| net.interface(a, link));
        let [b0, b1] = [direct, far].map(|link| net.interface(b, link));
        assert_eq!((net.addresses(a), net.addresses(b)), (&[a0, a1][..], &[b0, b1][..]));
        assert_eq!(net.interfaces()[a1.0 as usize], Interface { node: a, link: Some(near) });
        let mut router = Router::new();
        assert_eq!(router.route(&net, a0, b0), Some(vec![0]));
        assert_eq!(router.route(&net, b1, a1), Some(vec![5, 3]));
        // The first link leads to b, but not to the requested interface.
        assert_eq!(router.route(&net, a0, b1), None);
        assert_eq!(router.route(&net, a1, b0), None);
        assert_eq!(router.route(&net, a1, net.addresses(c)[0]), Some(vec![2]));
    }
}
