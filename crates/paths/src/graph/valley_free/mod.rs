//! Shortest paths that obey the routing policy of autonomous systems (ASes): valley-free ones.
//!
//! A path is valley-free if it climbs from customers to providers, then follows at most one link between peers, then
//! descends from providers to customers (L. Gao, "On inferring autonomous system relationships in the Internet",
//! IEEE/ACM Transactions on Networking 9(6), 2001, theorem 1). Links within an AS, and between siblings, may stand
//! anywhere. So a path is in one of two phases: it may still climb, or it descends ([`Phase`]). The search runs over
//! pairs of a node and a phase, which are called states. The phase follows from the nodes, so that a path of nodes is
//! one path of states.
//!
//! A path repeats no node, in whatever phase. The shortest way from a state to the root never does: every way onwards
//! that is open to a descending path is open to a climbing one, so that a loop could be cut out. This holds beside
//! blocked nodes too, and makes each step of Yen's algorithm ([`Search`](super::Search)) a shortest path between states.
//!
//! A valley-free path is valley-free in reverse as well.

mod tree;

pub use tree::Tree;

use super::{Graph, GraphError};

/// The policy of a link, as a path sees it that follows the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Relation {
    /// Within an AS or between siblings: any path may follow it.
    #[default]
    Free,
    /// From a customer to its provider.
    Up,
    /// From a provider to its customer.
    Down,
    /// From a peer to a peer.
    Peer,
    /// No path may follow it.
    Refused,
}

impl Relation {
    /// The relation to a path that follows the link the other way.
    #[must_use]
    pub fn reversed(self) -> Relation {
        match self {
            Relation::Up => Relation::Down,
            Relation::Down => Relation::Up,
            other => other,
        }
    }
}

/// The policy of a graph: the relation of each of its links.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Of each arc of the graph.
    relations: Vec<Relation>,
}

impl Policy {
    /// The policy of a graph: of each link its ends and its relation to a path from the first end to the second. Other
    /// links of the graph are free; a link that the graph has not changes nothing.
    ///
    /// The error names the first link of which an end does not exist, or says that the graph has too many nodes.
    pub fn new(graph: &Graph, links: &[(u32, u32, Relation)]) -> Result<Policy, GraphError> {
        if graph.nodes() > i32::MAX as u32 {
            return Err(GraphError::TooLarge);
        }
        let mut relations = vec![Relation::Free; graph.arcs.len()];
        for (i, &(a, b, relation)) in links.iter().enumerate() {
            if a >= graph.nodes() || b >= graph.nodes() {
                return Err(GraphError::NoSuchNode(i));
            }
            for (from, to, seen) in [(a, b, relation), (b, a, relation.reversed())] {
                if let Some(place) = graph.place(from, to) {
                    relations[place] = seen;
                }
            }
        }
        Ok(Policy { relations })
    }
}

/// The part of a valley-free path that has been reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It has only climbed: it may do anything.
    Climbing,
    /// It has crossed between peers or descended: it may only descend.
    Descending,
}

impl Phase {
    /// Both phases.
    pub const ALL: [Phase; 2] = [Phase::Climbing, Phase::Descending];

    /// The phase after a link of this relation; `None` if the path may not follow it.
    pub fn after(self, relation: Relation) -> Option<Phase> {
        match (relation, self) {
            (Relation::Free, phase) => Some(phase),
            (Relation::Up, Phase::Climbing) => Some(Phase::Climbing),
            (Relation::Peer, Phase::Climbing) | (Relation::Down, _) => Some(Phase::Descending),
            (Relation::Up | Relation::Peer, Phase::Descending) | (Relation::Refused, _) => None,
        }
    }
}

/// The number of a state.
fn state(node: u32, phase: Phase) -> u32 {
    2 * node + u32::from(phase == Phase::Descending)
}

/// The node of a state.
fn node_of(state: u32) -> u32 {
    state / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a path of these relations may be followed.
    fn allowed(relations: &[Relation]) -> bool {
        relations.iter().try_fold(Phase::Climbing, |phase, &one| phase.after(one)).is_some()
    }

    #[test]
    fn paths_climb_cross_once_and_descend() {
        use Relation::{Down, Free, Peer, Refused, Up};
        for good in [&[][..], &[Up, Up], &[Up, Peer, Down], &[Peer], &[Free, Up, Free, Peer, Free, Down, Free], &[Down]]
        {
            assert!(allowed(good), "{good:?}");
            let back: Vec<Relation> = good.iter().rev().map(|one| one.reversed()).collect();
            assert!(allowed(&back), "{back:?}");
        }
        for bad in [&[Down, Up][..], &[Peer, Peer], &[Down, Free, Peer], &[Peer, Up], &[Refused], &[Up, Refused]] {
            assert!(!allowed(bad), "{bad:?}");
        }
    }
}
