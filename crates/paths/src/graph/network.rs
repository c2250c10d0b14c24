//! A graph whose links have a number of hops and a delay.

use super::valley_free::{Policy, Relation};
use super::{Graph, GraphError, NONE};

/// A link of the graph in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// How many hops it stands for, at least 1.
    pub hops: u8,
    /// Its delay there and back, microseconds, at least 1; `None` if no time was taken.
    pub delay_us: Option<u32>,
}

/// The cost by which paths are short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Cost {
    /// In hops.
    #[default]
    Hops,
    /// In delay: links whose delay is not known are left out.
    Delay,
}

/// Hops and delay of an arc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Like {
    hops: u8,
    /// [`NONE`] if not known.
    delay_us: u32,
}

/// A graph whose links have hops and delays.
#[derive(Clone, Debug)]
pub struct Network {
    graph: Graph,
    /// Hops and delay of each arc of the graph.
    likes: Vec<Like>,
    /// Paths are valley-free if there is one.
    policy: Option<Policy>,
}

impl Network {
    /// The network of `nodes` nodes and these links, at most one between two nodes; links of a node with itself are
    /// left out. Paths are short in `cost`.
    ///
    /// The error names the first link that is not valid: one of its nodes does not exist, it has 0 hops or a delay of
    /// 0, or it has the same ends as an earlier one.
    pub fn new(nodes: u32, links: &[Link], cost: Cost) -> Result<Network, GraphError> {
        let priced = |(i, link): (usize, &Link)| match (link.hops, link.delay_us, cost) {
            (0, ..) | (_, Some(0), _) => Err(GraphError::NoCost(i)),
            (hops, _, Cost::Hops) => Ok(Some((link.a, link.b, u32::from(hops)))),
            (_, delay_us, Cost::Delay) => Ok(delay_us.map(|d| (link.a, link.b, d))),
        };
        let used: Vec<Option<(u32, u32, u32)>> = links.iter().enumerate().map(priced).collect::<Result<_, _>>()?;
        if let Some(i) = links.iter().position(|link| link.a >= nodes || link.b >= nodes) {
            return Err(GraphError::NoSuchNode(i));
        }
        let graph = Graph::new(nodes, &used.iter().copied().flatten().collect::<Vec<_>>())?;
        let mut likes = vec![Like { hops: 0, delay_us: NONE }; graph.arcs.len()];
        for (i, link) in links.iter().enumerate().filter(|&(i, _)| used[i].is_some()) {
            let like = Like { hops: link.hops, delay_us: link.delay_us.unwrap_or(NONE) };
            for (from, to) in [(link.a, link.b), (link.b, link.a)] {
                let Some(place) = graph.place(from, to) else { continue };
                if std::mem::replace(&mut likes[place], like).hops != 0 {
                    return Err(GraphError::Twice(i));
                }
            }
        }
        Ok(Network { graph, likes, policy: None })
    }

    /// This network with paths that are valley-free under these relations ([`Policy::new`]).
    pub fn under(self, links: &[(u32, u32, Relation)]) -> Result<Network, GraphError> {
        let policy = Some(Policy::new(&self.graph, links)?);
        Ok(Network { policy, ..self })
    }

    /// The policy that paths obey; `None` if any path will do.
    pub fn policy(&self) -> Option<&Policy> {
        self.policy.as_ref()
    }

    /// The graph, each link at its cost.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// Hops and delay of a path of this network, microseconds there and back; the delay is `None` if that of a link is
    /// not known.
    pub fn along(&self, path: &[u32]) -> (u32, Option<u64>) {
        let (mut hops, mut delay) = (0, Some(0));
        for ends in path.windows(2) {
            if let Some(like) = self.like(ends[0], ends[1]) {
                hops += u32::from(like.hops);
                delay = delay.filter(|_| like.delay_us != NONE).map(|d| d + u64::from(like.delay_us));
            }
        }
        (hops, delay)
    }

    /// Hops and delay of the link between two nodes, searched for at the node that has fewer links.
    fn like(&self, a: u32, b: u32) -> Option<Like> {
        let (a, b) = if self.graph.degree(a) <= self.graph.degree(b) { (a, b) } else { (b, a) };
        self.graph.place(a, b).map(|place| self.likes[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(a: u32, b: u32, hops: u8, delay_us: Option<u32>) -> Link {
        Link { a, b, hops, delay_us }
    }

    #[test]
    fn hops_and_delays_add_up_along_a_path() {
        let links = [link(1, 0, 2, Some(30)), link(1, 2, 1, Some(4)), link(3, 2, 1, None), link(3, 3, 1, None)];
        let network = Network::new(4, &links, Cost::Hops).unwrap();
        assert_eq!(network.along(&[0, 1, 2]), (3, Some(34)));
        assert_eq!(network.along(&[0, 1, 2, 3]), (4, None));
        assert_eq!(network.along(&[0]), (0, Some(0)));
        assert_eq!(network.graph().links(), 3);
        let timed = Network::new(4, &links, Cost::Delay).unwrap();
        assert_eq!((timed.graph().links(), timed.along(&[2, 1])), (2, (1, Some(4))));
    }

    #[test]
    fn links_that_cannot_be_are_refused_with_their_numbers() {
        let refused = |links: &[Link]| Network::new(2, links, Cost::Hops).unwrap_err();
        let good = link(0, 1, 1, None);
        assert_eq!(refused(&[good, link(0, 1, 0, None)]), GraphError::NoCost(1));
        assert_eq!(refused(&[link(0, 1, 1, Some(0))]), GraphError::NoCost(0));
        assert_eq!(refused(&[good, link(1, 2, 1, None)]), GraphError::NoSuchNode(1));
        assert_eq!(refused(&[good, link(1, 0, 3, None)]), GraphError::Twice(1));
    }
}
