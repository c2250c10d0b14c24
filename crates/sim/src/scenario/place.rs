//! The two hosts of a flow, a probe or a load.

use super::topology::{Kind, Topology};
use super::{ScenarioError, error};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The two hosts of a flow, a probe or a load.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The number of their pair, 0 in a graph.
    pub pair: u32,
    /// The server's node.
    pub server: Arc<str>,
    /// The client's node.
    pub client: Arc<str>,
}

/// Which pairs of a dumbbell, or stations of a cell.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "\"all\", \"even\", \"odd\", or a list of the pairs' numbers, such as [0, 1, 2]")]
pub(crate) enum Pairs {
    /// A word names them.
    Named(NamedPairs),
    /// Their numbers are given.
    Numbered(Vec<u32>),
}

/// A word for several pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NamedPairs {
    /// All pairs.
    All,
    /// Every second pair, from pair 0 on.
    Even,
    /// Every second pair, from pair 1 on.
    Odd,
}

impl Pairs {
    /// The numbers of these pairs, among those of a topology; `path` is the path of the field.
    pub fn numbers(&self, path: &str, topology: &Topology) -> Result<Vec<u32>, ScenarioError> {
        let remedy = match topology.kind() {
            Kind::Dumbbell => "the dumbbell has one pair, number 0: give topology.pairs at least 2",
            Kind::Cell => "the cell has one station, number 0: give topology.cell.stations at least 2",
            Kind::Lte => "the cell has one user, number 0: give topology.lte.users at least 2",
            _ => return Err(error(path, "only a dumbbell and a cell have pairs: leave it out")),
        };
        let count = topology.pair_count();
        let numbers: Vec<u32> = match self {
            Pairs::Named(NamedPairs::All) => (0..count).collect(),
            Pairs::Named(NamedPairs::Even) => (0..count).step_by(2).collect(),
            Pairs::Named(NamedPairs::Odd) => (1..count).step_by(2).collect(),
            Pairs::Numbered(numbers) if numbers.is_empty() => {
                return Err(error(path, "the list is empty: give the number of at least one pair"));
            }
            Pairs::Numbered(numbers) => numbers.clone(),
        };
        if numbers.is_empty() {
            return Err(error(path, remedy));
        }
        let mut met = BTreeSet::new();
        for number in &numbers {
            if *number >= count {
                return Err(error(path, no_pair(*number, topology)));
            }
            if !met.insert(number) {
                return Err(error(
                    path,
                    format!("pair {number} stands twice: give it once, and copies = 2 for two flows"),
                ));
            }
        }
        Ok(numbers)
    }
}

/// Says that a topology has no pair of a number.
fn no_pair(number: u32, topology: &Topology) -> String {
    let (kind, parts) = match topology.kind() {
        Kind::Cell => ("cell", "stations"),
        Kind::Lte => ("cell", "users"),
        _ => ("dumbbell", "pairs"),
    };
    let count = topology.pair_count();
    format!("{number}: the {kind} has {count} {parts}, numbered from 0 to {}", count.saturating_sub(1))
}

/// One of the two hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// The server's host.
    Server,
    /// The client's host.
    Client,
}

impl Side {
    /// The other one.
    pub const fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// The fields of a table that say which the two hosts are.
pub(crate) struct PlaceSpec {
    pub pair: Option<u32>,
    pub server: Option<String>,
    pub client: Option<String>,
}

impl PlaceSpec {
    /// The hosts that are meant; `what` is what they belong to, such as `flow`.
    pub fn place(self, path: &str, what: &str, topology: &Topology) -> Result<Place, ScenarioError> {
        if topology.kind() == Kind::Graph {
            return self.nodes(path, what, topology);
        }
        for (field, node) in [("server", &self.server), ("client", &self.client)] {
            if node.is_some() {
                return Err(error(format!("{path}.{field}"), "only a graph names nodes: use pair, or leave it out"));
            }
        }
        let pair = self.pair.unwrap_or(0);
        topology.pair(pair).ok_or_else(|| error(format!("{path}.pair"), no_pair(pair, topology)))
    }

    /// The nodes of a graph.
    fn nodes(self, path: &str, what: &str, topology: &Topology) -> Result<Place, ScenarioError> {
        if self.pair.is_some() {
            return Err(error(format!("{path}.pair"), "a graph has no pairs: name the nodes as server and client"));
        }
        let node = |field: &str, name: Option<String>| {
            let name = name.ok_or_else(|| error(path, format!("in a graph a {what} names its {field} node")))?;
            if !topology.has_node(&name) {
                return Err(error(format!("{path}.{field}"), format!("no link joins a node called {name:?}")));
            }
            Ok(name)
        };
        let (server, client) = (node("server", self.server)?, node("client", self.client)?);
        if server == client {
            return Err(error(format!("{path}.client"), "server and client are the same node"));
        }
        Ok(Place { pair: 0, server: server.into(), client: client.into() })
    }
}
