//! The K shortest paths to one node, whether or not they obey a policy.

use super::{Guide, Network, Search, Tree, valley_free};

/// All shortest paths of a network to one node.
#[derive(Clone, Debug)]
pub enum Target<'n> {
    /// Paths of any links.
    Any(Tree<'n>),
    /// Valley-free paths.
    ValleyFree(valley_free::Tree<'n>),
}

impl<'n> Target<'n> {
    /// The shortest paths to `root` that the network's policy allows.
    pub fn new(network: &'n Network, root: u32) -> Target<'n> {
        match network.policy() {
            None => Target::Any(Tree::new(network.graph(), root)),
            Some(policy) => Target::ValleyFree(valley_free::Tree::new(network.graph(), policy, root)),
        }
    }

    /// Where all paths lead.
    pub fn root(&self) -> u32 {
        match self {
            Target::Any(tree) => tree.root(),
            Target::ValleyFree(tree) => tree.root(),
        }
    }
}

/// The memory of searches; one of them serves any number of pairs, one after the other.
#[derive(Debug, Default)]
pub struct Finder(Search);

impl Finder {
    /// A finder with no memory yet.
    pub fn new() -> Finder {
        Finder::default()
    }

    /// Calls `take` with nodes and cost of each of the `k` shortest loopless paths from `start` to the target's root, in
    /// ascending order of cost.
    pub fn each(&mut self, target: &Target<'_>, start: u32, k: usize, take: impl FnMut(&[u32], u64)) {
        match target {
            Target::Any(tree) => self.0.each(tree, start, k, take),
            Target::ValleyFree(tree) => self.0.each(tree, start, k, take),
        }
    }
}
