//! Networks in scenarios: how they are written, and what is meant.

use super::cell::{Cell, CellMedium, CellSpec};
use super::link::{Link, LinkSpec};
use super::lte::LteSpec;
use super::measured::MeasuredSpec;
use super::place::Place;
use super::{OfKind, ScenarioError, error};
use haltere_net::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The largest number of pairs of a dumbbell.
const MAX_PAIRS: u32 = 100_000;
/// The largest number of paths between a server and a client: more than any host has interfaces.
const MAX_PATHS: usize = 64;

/// A network.
#[derive(Clone, Debug)]
pub enum Topology {
    /// Servers and clients at the two ends of one link.
    PointToPoint {
        /// The link, `down` from server to client.
        link: Link,
    },
    /// Servers and clients, each pair with its own access links, across one bottleneck.
    Dumbbell {
        /// The number of pairs.
        pairs: u32,
        /// The link between the routers.
        bottleneck: Link,
        /// The links from servers and clients to their routers.
        access: Box<Link>,
    },
    /// A server and a client with several links between them. Each has an address on each link.
    Multipath {
        /// The links, each `down` from server to client.
        paths: Vec<Path>,
    },
    /// A server, and clients that are stations or users of a cell.
    Cell {
        /// The link from the server to the access point or base station.
        link: Link,
        /// The cell.
        cell: Cell,
    },
    /// Any nodes and links.
    Graph {
        /// The links.
        links: Vec<GraphLink>,
        /// The cells.
        cells: Vec<Cell>,
    },
}

/// A path of a multipath topology.
#[derive(Clone, Debug)]
pub struct Path {
    /// Its link.
    pub link: Link,
    /// Whether it is in reserve.
    pub backup: bool,
}

/// A link of a graph.
#[derive(Clone, Debug)]
pub struct GraphLink {
    /// Its name in results, which also names its random streams.
    pub name: String,
    /// The node at its first end.
    pub from: String,
    /// The node at its second end.
    pub to: String,
    /// Its properties.
    pub link: Link,
}

/// The shapes of networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Servers and clients at the two ends of one link.
    PointToPoint,
    /// n servers and n clients, each pair with its own access links, across one bottleneck.
    Dumbbell,
    /// A server and a client with several links between them. Each has an address on each link.
    Multipath,
    /// A server, and clients that are stations of a cell of IEEE 802.11. A link joins the server with the access point.
    Cell,
    /// A server, and clients that are users of a cell of LTE. A link joins the server with the base station.
    Lte,
    /// Any nodes and links.
    Graph,
}

/// The forms of a scenario's topology in a file. A [`Measured`](super::Measured) one is replaced before a run.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // named by the schema alone
pub(super) enum AnyTopology {
    Given(Box<TopologySpec>),
    Measured(Box<MeasuredSpec>),
}

/// The network.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Topology")]
pub(super) struct TopologySpec {
    /// Its shape.
    kind: Kind,
    /// Dumbbell: number of server-client pairs (default 1).
    pairs: Option<u32>,
    /// Point to point: the link, `down` from server to client. Cell and LTE: the link from the server to the access point or base
    /// station (default 1Gbit/s without delay).
    link: Option<LinkSpec>,
    /// Dumbbell: the link between the routers.
    bottleneck: Option<LinkSpec>,
    /// Dumbbell: the links from servers and clients to their routers (default 1Gbit/s without delay).
    access: Option<LinkSpec>,
    /// Multipath: the links, each `down` from server to client. They are called `path 0`, `path 1`, … A transport with
    /// a single path uses the first.
    paths: Option<Vec<LinkSpec>>,
    /// Graph: the links. The nodes are those that the links and cells name.
    links: Option<Vec<GraphLinkSpec>>,
    /// Cell: the cell. Client k is its station k, which flows choose by `pair`.
    cell: Option<CellSpec>,
    /// LTE: the cell. Client k is its user k, which flows choose by `pair`.
    lte: Option<LteSpec>,
    /// Graph: cells of IEEE 802.11.
    cells: Option<Vec<CellSpec>>,
}

/// A link of a graph.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "GraphLink")]
struct GraphLinkSpec {
    /// Its name in results (default: `from-to`).
    name: Option<String>,
    /// The node at its first end.
    from: String,
    /// The node at its second end.
    to: String,
    /// The link's properties.
    #[serde(default)]
    link: LinkSpec,
}

impl LinkSpec {
    /// The link, with lengths in packets. It cannot be in reserve.
    fn only(&self, path: &str) -> Result<Link, ScenarioError> {
        match self.backup {
            None => self.link(path),
            Some(_) => {
                let message = "only a path of a multipath topology can be in reserve: leave it out";
                Err(error(format!("{path}.backup"), message))
            }
        }
    }
}

impl TryFrom<TopologySpec> for Topology {
    type Error = ScenarioError;

    fn try_from(spec: TopologySpec) -> Result<Topology, ScenarioError> {
        let given = [
            ("pairs", spec.pairs.is_some()),
            ("link", spec.link.is_some()),
            ("bottleneck", spec.bottleneck.is_some()),
            ("access", spec.access.is_some()),
            ("paths", spec.paths.is_some()),
            ("links", spec.links.is_some()),
            ("cell", spec.cell.is_some()),
            ("lte", spec.lte.is_some()),
            ("cells", spec.cells.is_some()),
        ];
        let of = |what| OfKind { path: "topology", what };
        let alone = |link: LinkSpec, field: &str| Ok(link.only(&format!("topology.{field}"))?.scaled(Span::ZERO));
        let topology = match spec.kind {
            Kind::PointToPoint => {
                let of = of("a point-to-point");
                let link = of.needs("the table topology.link", spec.link)?;
                of.only(&["link"], &given)?;
                Topology::PointToPoint { link: alone(link, "link")? }
            }
            Kind::Dumbbell => {
                let of = of("a dumbbell");
                let bottleneck = of.needs("the table topology.bottleneck", spec.bottleneck)?;
                of.only(&["pairs", "bottleneck", "access"], &given)?;
                dumbbell(spec.pairs.unwrap_or(1), &bottleneck, spec.access)?
            }
            Kind::Multipath => {
                let of = of("a multipath network");
                let paths = of.needs("the list topology.paths", spec.paths)?;
                of.only(&["paths"], &given)?;
                if !(1..=MAX_PATHS).contains(&paths.len()) {
                    let message = format!("{} paths: give from 1 to {MAX_PATHS}", paths.len());
                    return Err(error("topology.paths", message));
                }
                let path = |(i, path): (usize, &LinkSpec)| {
                    let link = path.link(&format!("topology.paths[{i}]"))?.scaled(Span::ZERO);
                    Ok(Path { link, backup: path.backup == Some(true) })
                };
                Topology::Multipath { paths: paths.iter().enumerate().map(path).collect::<Result<_, _>>()? }
            }
            Kind::Cell => {
                let of = of("a cell");
                let cell = of.needs("the table topology.cell", spec.cell)?;
                of.only(&["link", "cell"], &given)?;
                let link = spec.link.map_or(Ok(Link::wired()), |link| alone(link, "link"))?;
                Topology::Cell { link, cell: cell.cell("topology.cell")? }
            }
            Kind::Lte => {
                let of = of("a cell of LTE");
                of.only(&["link", "lte"], &given)?;
                let link = spec.link.map_or(Ok(Link::wired()), |link| alone(link, "link"))?;
                Topology::Cell { link, cell: spec.lte.unwrap_or_default().cell("topology.lte")? }
            }
            Kind::Graph => {
                if spec.links.is_none() && spec.cells.is_none() {
                    return Err(error("topology", "a graph needs the list topology.links"));
                }
                of("a graph").only(&["links", "cells"], &given)?;
                graph(spec.links.unwrap_or_default(), spec.cells.unwrap_or_default())?
            }
        };
        topology.check_names()?;
        Ok(topology)
    }
}

fn dumbbell(pairs: u32, bottleneck: &LinkSpec, access: Option<LinkSpec>) -> Result<Topology, ScenarioError> {
    if !(1..=MAX_PAIRS).contains(&pairs) {
        return Err(error("topology.pairs", format!("{pairs} pairs: give a number from 1 to {MAX_PAIRS}")));
    }
    let bottleneck = bottleneck.only("topology.bottleneck")?;
    let access = access.map_or(Ok(Link::wired()), |access| access.only("topology.access"))?.scaled(Span::ZERO);
    // Each path crosses two access links.
    let outside = (access.down.delay + access.up.delay) * 2;
    Ok(Topology::Dumbbell { pairs, bottleneck: bottleneck.scaled(outside), access: Box::new(access) })
}

fn graph(links: Vec<GraphLinkSpec>, cells: Vec<CellSpec>) -> Result<Topology, ScenarioError> {
    let link = |(i, GraphLinkSpec { name, from, to, link }): (usize, GraphLinkSpec)| {
        let path = format!("topology.links[{i}]");
        if from == to {
            return Err(error(path, format!("it joins {from:?} with itself")));
        }
        let link = link.only(&format!("{path}.link"))?.scaled(Span::ZERO);
        Ok(GraphLink { name: name.unwrap_or_else(|| format!("{from}-{to}")), from, to, link })
    };
    let cell = |(i, cell): (usize, CellSpec)| cell.cell(&format!("topology.cells[{i}]"));
    Ok(Topology::Graph {
        links: links.into_iter().enumerate().map(link).collect::<Result<_, _>>()?,
        cells: cells.into_iter().enumerate().map(cell).collect::<Result<_, _>>()?,
    })
}

impl Topology {
    /// Checks whether links, cells and nodes have names of their own.
    fn check_names(&self) -> Result<(), ScenarioError> {
        let mut names = BTreeSet::new();
        if let Topology::Cell { cell, .. } = self {
            names.insert("link".to_string());
            if cell.nodes().any(|node| node == "server") {
                let message =
                    "\"server\" is the node behind the link: give the access point and the stations other names";
                return Err(error("topology.cell", message));
            }
        }
        if let Topology::Graph { links, .. } = self {
            for (i, link) in links.iter().enumerate() {
                if !names.insert(link.name.clone()) {
                    let message = format!("a link before it is called {:?} too: give this one another name", link.name);
                    return Err(error(format!("topology.links[{i}]"), message));
                }
            }
        }
        for (path, cell) in self.all_cells() {
            let own = cell.stations.iter().map(|station| self.station_link(cell, &station.node));
            let mut all = [cell.name.clone()].into_iter().chain(own);
            if let Some(name) = all.find(|name| !names.insert(name.clone())) {
                let message = format!("a link or a cell before it is called {name:?} too: give this one another name");
                return Err(error(format!("{path}.name"), message));
            }
        }
        Ok(())
    }

    /// Its shape.
    pub const fn kind(&self) -> Kind {
        match self {
            Topology::PointToPoint { .. } => Kind::PointToPoint,
            Topology::Dumbbell { .. } => Kind::Dumbbell,
            Topology::Multipath { .. } => Kind::Multipath,
            Topology::Cell { cell: Cell { medium: CellMedium::Wifi(_), .. }, .. } => Kind::Cell,
            Topology::Cell { cell: Cell { medium: CellMedium::Lte(_), .. }, .. } => Kind::Lte,
            Topology::Graph { .. } => Kind::Graph,
        }
    }

    /// All links that are not a station's, with their names in results and their paths. The access links of a dumbbell are one.
    pub fn links(&self) -> Vec<(String, String, &Link)> {
        let of = |name: &str, link| (name.to_string(), format!("topology.{name}"), link);
        match self {
            Topology::PointToPoint { link } | Topology::Cell { link, .. } => vec![of("link", link)],
            Topology::Dumbbell { bottleneck, access, .. } => vec![of("bottleneck", bottleneck), of("access", access)],
            Topology::Multipath { paths } => {
                let paths = paths.iter().enumerate();
                paths.map(|(i, path)| (format!("path {i}"), format!("topology.paths[{i}]"), &path.link)).collect()
            }
            Topology::Graph { links, .. } => {
                let links = links.iter().enumerate();
                links.map(|(i, one)| (one.name.clone(), format!("topology.links[{i}].link"), &one.link)).collect()
            }
        }
    }

    /// Whether a middlebox on the link of this name, as in results, removes MPTCP's options.
    pub fn strips_options(&self, name: &str) -> bool {
        match self {
            Topology::Dumbbell { access, .. } if name != "bottleneck" => access.strips_options,
            _ => self.links().iter().any(|(own, _, link)| own == name && link.strips_options),
        }
    }

    /// Checks whether there is a bandwidth-delay product wherever a length is given in one. The rate is that of the queue's own
    /// direction; the delay may be that of any link, as the base RTT is the path's.
    ///
    /// # Errors
    /// The path of a length without one.
    pub(super) fn check_lengths(&self) -> Result<(), ScenarioError> {
        if let Topology::Cell { .. } = self {
            return Ok(());
        }
        let links = self.links();
        let delayed = links.iter().any(|(.., link)| link.delayed);
        for (.., link) in links {
            let [unrated, rated] = &link.products;
            let missing = match (unrated, rated) {
                (Some(place), _) => Some((place, "the link has no rate")),
                (None, Some(place)) if !delayed => Some((place, "no link has a delay")),
                _ => None,
            };
            if let Some((place, missing)) = missing {
                let message = format!(
                    "{missing}, so that there is no bandwidth-delay product: give the link one, or the queue a length in \
                     packets, such as 1000p"
                );
                return Err(error(place, message));
            }
        }
        Ok(())
    }

    /// Whether links or cells of a graph name a node.
    pub(super) fn has_node(&self, name: &str) -> bool {
        let Topology::Graph { links, cells } = self else { return false };
        links.iter().any(|l| l.from == name || l.to == name) || cells.iter().any(|cell| cell.nodes().any(|n| n == name))
    }

    /// All cells, with their paths.
    pub(crate) fn all_cells(&self) -> Vec<(String, &Cell)> {
        match self {
            Topology::Cell { cell, .. } if self.kind() == Kind::Lte => vec![("topology.lte".into(), cell)],
            Topology::Cell { cell, .. } => vec![("topology.cell".into(), cell)],
            Topology::Graph { cells, .. } => {
                cells.iter().enumerate().map(|(i, cell)| (format!("topology.cells[{i}]"), cell)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The name in results of the link of a station.
    pub(crate) fn station_link(&self, cell: &Cell, station: &str) -> String {
        if let Topology::Graph { .. } = self { format!("{}/{station}", cell.name) } else { station.to_string() }
    }

    /// How many pairs of hosts there are to choose from.
    pub fn pair_count(&self) -> u32 {
        match self {
            Topology::Dumbbell { pairs, .. } => *pairs,
            Topology::Cell { cell, .. } => cell.stations.len() as u32,
            _ => 1,
        }
    }

    /// The hosts of a pair, if there is one of this number. In a network without pairs all numbers mean the same two.
    pub fn pair(&self, pair: u32) -> Option<Place> {
        let (server, client) = match self {
            Topology::PointToPoint { .. } | Topology::Multipath { .. } => ("server".into(), "client".into()),
            Topology::Dumbbell { pairs, .. } if pair < *pairs => (format!("server {pair}"), format!("client {pair}")),
            Topology::Cell { cell, .. } => ("server".into(), cell.stations.get(pair as usize)?.node.clone()),
            Topology::Dumbbell { .. } | Topology::Graph { .. } => return None,
        };
        Some(Place { pair, server: server.into(), client: client.into() })
    }
}
