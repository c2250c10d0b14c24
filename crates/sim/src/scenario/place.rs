//! The two hosts of a flow, a probe or a load.

use super::{Kind, ScenarioError, Topology, error};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which pairs of a dumbbell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pairs {
    /// All pairs.
    All,
    /// Every second pair, from pair 0 on.
    Even,
    /// Every second pair, from pair 1 on.
    Odd,
}

impl Pairs {
    /// The numbers of these pairs, among `count` pairs.
    pub(super) fn numbers(self, count: u32) -> std::iter::StepBy<std::ops::Range<u32>> {
        match self {
            Pairs::All => (0..count).step_by(1),
            Pairs::Even => (0..count).step_by(2),
            Pairs::Odd => (1..count).step_by(2),
        }
    }
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

/// What a scenario says of the two hosts.
pub(super) struct Place<'a> {
    pub pair: Option<u32>,
    pub pairs: Option<Pairs>,
    pub server: Option<&'a str>,
    pub client: Option<&'a str>,
}

impl Place<'_> {
    /// Checks whether the hosts exist. `what` is what they belong to, such as `flow`.
    pub fn check(&self, path: &str, what: &str, topology: &Topology) -> Result<(), ScenarioError> {
        let graph = topology.kind == Kind::Graph;
        if let Some(pair) = self.pair {
            let pairs = topology.pair_count();
            if graph {
                return Err(error(format!("{path}.pair"), "a graph has no pairs: name the nodes as server and client"));
            }
            if topology.kind == Kind::Cell && pair >= pairs {
                let message = format!("{pair}: the cell has {pairs} stations, numbered from 0 to {}", pairs - 1);
                return Err(error(format!("{path}.pair"), message));
            }
            if topology.kind == Kind::Dumbbell && pair >= pairs {
                let message = format!("{pair}: the dumbbell has {pairs} pairs, numbered from 0 to {}", pairs - 1);
                return Err(error(format!("{path}.pair"), message));
            }
        }
        if let Some(pairs) = self.pairs {
            let field = format!("{path}.pairs");
            if !matches!(topology.kind, Kind::Dumbbell | Kind::Cell) {
                return Err(error(field, "only a dumbbell and a cell have pairs: leave it out"));
            }
            if self.pair.is_some() {
                return Err(error(field, format!("the {what} has a pair already: leave one of pair and pairs out")));
            }
            if pairs.numbers(topology.pair_count()).next().is_none() {
                let message = match topology.kind {
                    Kind::Cell => "the cell has one station, number 0: give topology.cell.stations at least 2",
                    _ => "the dumbbell has one pair, number 0: give topology.pairs at least 2",
                };
                return Err(error(field, message));
            }
        }
        for (field, node) in [("server", self.server), ("client", self.client)] {
            match node {
                None if graph => return Err(error(path, format!("in a graph a {what} names its {field} node"))),
                Some(_) if !graph => {
                    return Err(error(
                        format!("{path}.{field}"),
                        "only a graph names nodes: use pair, or leave it out",
                    ));
                }
                Some(name) if !topology.has_node(name) => {
                    return Err(error(format!("{path}.{field}"), format!("no link joins a node called {name:?}")));
                }
                Some(_) | None => {}
            }
        }
        if graph && self.server == self.client {
            return Err(error(format!("{path}.client"), "server and client are the same node"));
        }
        Ok(())
    }
}
