//! The scenario: one run as data. The schema is defined here and nowhere else.
//!
//! Quantities are strings with units. Unknown fields are errors. An error names the field by its path and says what was
//! given and what would be right.

mod cell;
mod flow;
mod link;
mod load;
mod measured;
mod mqtt;
mod place;
mod presets;
mod probe;
mod quantity;

pub use cell::{
    Access, CategorySpec, CellDirection, CellSpec, EdcaSpec, RadioSpec, Retries, StandardName, StationSpec, Stations,
    Unlimited,
};
pub use flow::{App, Flow, Migrate, RadioKind, Rebind, Renewed, Way};
pub use link::{
    CellularSpec, Course, DelaySpec, DelayTable, DirectionSpec, Distribution, JitterSpec, JitterTable, LinkSpec,
    LossName, LossSpec, LossTable, OrbitName, OutagePeriod, OutageSpec, OutageTable, PacketsInOutage, RateSpec,
    RateTable, SatelliteSpec,
};
pub use load::{Load, LoadKind, Periods, Ways};
pub use measured::{Measured, Origin, Shape, Share};
pub use mqtt::{
    Arrival, Batching, BridgeSpec, BridgeTopicSpec, BridgeWay, BrokerSpec, Discard, Forwarding, Mqtt, MqttStreams,
    MqttVersion, PUBLISHERS_START, Session,
};
pub use place::{Pairs, Side};
pub use presets::{Preset, Setting};
pub use probe::{Probe, ProbeKind, ProbeMode};
pub use quantity::{FromText, Probability, Quantity};

use haltere_net::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An error in a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The path of the field, such as `topology.bottleneck.rate` or `flows[0].contender`.
    pub path: String,
    /// The value as given, and the value that would be right.
    pub message: String,
}

impl std::fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}
impl std::error::Error for ScenarioError {}

fn error(path: impl Into<String>, message: impl Into<String>) -> ScenarioError {
    ScenarioError { path: path.into(), message: message.into() }
}

/// A run as data.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Virtual time after which a run with unfinished transfers has failed (default 1h).
    #[serde(default)]
    pub time_limit: Option<Quantity<Span>>,
    /// Stop at this time, whether transfers are finished or not. Unlimited flows need it.
    #[serde(default)]
    pub duration: Option<Quantity<Span>>,
    /// Count goodput from this time on. Needs `duration`.
    #[serde(default)]
    pub measure_from: Option<Quantity<Span>>,
    /// The implementation of the links of a real network: `kernel` (netem; the default) or `haltere` (its emulator).
    /// The model always uses its own links.
    #[serde(default)]
    pub links: Links,
    /// The network, given directly or drawn from measured paths.
    #[schemars(with = "AnyTopology")]
    pub topology: Topology,
    /// The flows, each from a server to a client.
    #[serde(default)]
    pub flows: Vec<Flow>,
    /// Brokers that are not as they are by default, for flows with `mqtt`.
    #[serde(default)]
    pub brokers: Vec<BrokerSpec>,
    /// Small exchanges that measure the round-trip time.
    #[serde(default)]
    pub probes: Vec<Probe>,
    /// Datagrams beside the flows that no congestion control holds back.
    #[serde(default)]
    pub loads: Vec<Load>,
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
    /// Any nodes and links.
    Graph,
}

/// The implementation of the links of a real network.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Links {
    /// The kernel's queue disciplines.
    #[default]
    Kernel,
    /// The emulator, with the simulator's links.
    Haltere,
}

/// The forms of a scenario's topology in a file. A [`Measured`] one is replaced before a run.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)] // named by the schema alone
enum AnyTopology {
    Given(Box<Topology>),
    Measured(Box<Measured>),
}

/// The network.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// Its shape.
    pub kind: Kind,
    /// Dumbbell: number of server-client pairs (default 1).
    #[serde(default)]
    pub pairs: Option<u32>,
    /// Point to point: the link, `down` from server to client. Cell: the link from the server to the access point (default
    /// 1Gbit/s without delay).
    #[serde(default)]
    pub link: Option<LinkSpec>,
    /// Dumbbell: the link between the routers.
    #[serde(default)]
    pub bottleneck: Option<LinkSpec>,
    /// Dumbbell: the links from servers and clients to their routers (default 1Gbit/s without delay).
    #[serde(default)]
    pub access: Option<LinkSpec>,
    /// Multipath: the links, each `down` from server to client. They are called `path 0`, `path 1`, … A transport with
    /// a single path uses the first.
    #[serde(default)]
    pub paths: Option<Vec<LinkSpec>>,
    /// Graph: the links. The nodes are those that the links and cells name.
    #[serde(default)]
    pub links: Option<Vec<GraphLink>>,
    /// Cell: the cell. Client k is its station k, which flows choose by `pair`.
    #[serde(default)]
    pub cell: Option<CellSpec>,
    /// Graph: cells of IEEE 802.11.
    #[serde(default)]
    pub cells: Option<Vec<CellSpec>>,
}

/// A link of a graph.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphLink {
    /// Its name in results (default: `from-to`).
    #[serde(default)]
    pub name: Option<String>,
    /// The node at its first end.
    pub from: String,
    /// The node at its second end.
    pub to: String,
    /// The link's properties.
    #[serde(default)]
    pub link: LinkSpec,
}

/// The text of an error of serde_json without its position, which refers to a text that the user never sees.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(m, _)| m).to_string()
}

/// Parses JSON. An error has the path of the field.
fn read<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, ScenarioError> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|e| {
        let path = e.path().to_string();
        match without_position(e.inner()) {
            message if path == "." => error("", message),
            // What stands where one of several names is wanted, and is no text.
            message if message == "expected value" => error(path, "it is no text: give one of its names, in quotes"),
            message => error(path, message),
        }
    })?;
    deserializer.end().map_err(|e| error("", without_position(&e)))?;
    Ok(value)
}

/// The largest number of flows in a scenario.
const MAX_FLOWS: usize = 100_000;
/// The largest number of paths between a server and a client: more than any host has interfaces.
const MAX_PATHS: usize = 64;

impl Scenario {
    /// Parses a scenario from JSON and checks everything that can be checked without running it.
    pub fn from_json(json: &str) -> Result<Scenario, ScenarioError> {
        let mut scenario: Scenario = read(json)?;
        let topology = &mut scenario.topology;
        for cell in topology.cell.iter_mut().chain(topology.cells.iter_mut().flatten()) {
            cell.fill();
        }
        scenario.check()?;
        let count = scenario.topology.pair_count();
        let copies = |flow: &Flow| flow.copies.unwrap_or(1) as usize;
        let each = |flow: Flow| -> Vec<Flow> {
            let one = Flow { copies: None, pairs: None, ..flow.clone() };
            let pairs = flow.pairs.map(|pairs| pairs.numbers(count).map(|n| Flow { pair: Some(n), ..one.clone() }));
            let flows = pairs.map_or_else(|| vec![one.clone()], Iterator::collect);
            flows.into_iter().flat_map(|one| std::iter::repeat_n(one, copies(&flow))).collect()
        };
        let pairs = |flow: &Flow| flow.pairs.map_or(1, |p| p.numbers(count).len());
        let total = scenario.flows.iter().map(|f| pairs(f).saturating_mul(copies(f))).fold(0, usize::saturating_add);
        if total > MAX_FLOWS {
            return Err(error("flows", format!("{total} flows are too many: at most {MAX_FLOWS}")));
        }
        scenario.flows = scenario.flows.into_iter().flat_map(each).collect();
        scenario.loads = scenario.loads.into_iter().flat_map(Load::split).collect();
        Ok(scenario)
    }

    /// Checks whether there is something else than flows, and whether it ends.
    fn check_without_flows(&self) -> Result<(), ScenarioError> {
        let ends: Vec<bool> = self.probes.iter().map(Probe::ends).chain(self.loads.iter().map(Load::ends)).collect();
        if ends.is_empty() {
            let message = "there is no flow: add a [[flows]] table with a contender, or a [[probes]] table";
            return Err(error("flows", message));
        }
        if self.duration.is_none() && !ends.contains(&true) {
            let message = "nothing ends the run: give the scenario a duration, or a probe or load a count";
            return Err(error("duration", message));
        }
        Ok(())
    }

    fn check(&self) -> Result<(), ScenarioError> {
        self.topology.check()?;
        if self.flows.is_empty() {
            self.check_without_flows()?;
        }
        for (i, flow) in self.flows.iter().enumerate() {
            flow.check(&format!("flows[{i}]"), self)?;
        }
        for (i, broker) in self.brokers.iter().enumerate() {
            broker.check(&format!("brokers[{i}]"), self)?;
        }
        self.check_all_counts()?;
        self.check_bridges()?;
        for (i, probe) in self.probes.iter().enumerate() {
            probe.check(&format!("probes[{i}]"), self)?;
        }
        for (i, load) in self.loads.iter().enumerate() {
            load.check(&format!("loads[{i}]"), self)?;
        }
        if self.measure_from.is_some() && self.duration.is_none() {
            return Err(error("measure_from", "it goes with duration: set duration too, or leave it out"));
        }
        if let (Some(from), Some(duration)) = (self.measure_from, self.duration)
            && from.0 >= duration.0
        {
            return Err(error("measure_from", format!("{} is not before duration, {}", from.0, duration.0)));
        }
        Ok(())
    }
}

/// Only paths can be in reserve.
fn no_backup(link: &LinkSpec, path: &str) -> Result<(), ScenarioError> {
    match link.backup {
        None => Ok(()),
        Some(_) => {
            let message = "only a path of a multipath topology can be in reserve: leave it out";
            Err(error(format!("{path}.backup"), message))
        }
    }
}

impl Topology {
    /// Whether a middlebox on the link of this name, as in results, removes MPTCP's options.
    pub fn strips_options(&self, name: &str) -> bool {
        let of_paths = self.paths.iter().flatten().enumerate().find(|(k, _)| name == format!("path {k}"));
        let of_graph = self.links.iter().flatten().find(|link| link.name() == name);
        let link = match self.kind {
            Kind::PointToPoint => self.link.as_ref(),
            Kind::Cell => self.link.as_ref().filter(|_| name == "link"),
            Kind::Dumbbell if name == "bottleneck" => self.bottleneck.as_ref(),
            Kind::Dumbbell => self.access.as_ref(),
            Kind::Multipath => of_paths.map(|(_, link)| link),
            Kind::Graph => of_graph.map(|link| &link.link),
        };
        link.is_some_and(|link| link.strip_options == Some(true))
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let required = match self.kind {
            Kind::PointToPoint => ("link", self.link.is_some()),
            Kind::Dumbbell => ("bottleneck", self.bottleneck.is_some()),
            Kind::Multipath => ("paths", self.paths.is_some()),
            Kind::Cell => ("cell", self.cell.is_some()),
            Kind::Graph => ("links", self.links.is_some() || self.cells.is_some()),
        };
        let name = match self.kind {
            Kind::PointToPoint => "point-to-point",
            Kind::Dumbbell => "dumbbell",
            Kind::Multipath => "multipath network",
            Kind::Cell => "cell",
            Kind::Graph => "graph",
        };
        if !required.1 {
            let what = if matches!(self.kind, Kind::Multipath | Kind::Graph) { "list" } else { "table" };
            return Err(error("topology", format!("a {name} needs the {what} topology.{}", required.0)));
        }
        let given = [
            ("pairs", self.pairs.is_some(), [Kind::Dumbbell].as_slice()),
            ("link", self.link.is_some(), &[Kind::PointToPoint, Kind::Cell]),
            ("bottleneck", self.bottleneck.is_some(), &[Kind::Dumbbell]),
            ("access", self.access.is_some(), &[Kind::Dumbbell]),
            ("paths", self.paths.is_some(), &[Kind::Multipath]),
            ("links", self.links.is_some(), &[Kind::Graph]),
            ("cell", self.cell.is_some(), &[Kind::Cell]),
            ("cells", self.cells.is_some(), &[Kind::Graph]),
        ];
        if let Some((field, ..)) = given.iter().find(|(_, present, kinds)| *present && !kinds.contains(&self.kind)) {
            return Err(error(format!("topology.{field}"), format!("a {name} has no {field}: leave it out")));
        }
        if let Some(pairs) = self.pairs.filter(|p| !(1..=100_000).contains(p)) {
            return Err(error("topology.pairs", format!("{pairs} pairs: give a number from 1 to 100000")));
        }
        let named = [("link", &self.link), ("bottleneck", &self.bottleneck), ("access", &self.access)];
        for (field, spec) in named.into_iter().filter_map(|(f, s)| s.as_ref().map(|s| (f, s))) {
            no_backup(spec, &format!("topology.{field}"))?;
            spec.check(&format!("topology.{field}"))?;
        }
        if let Some(paths) = &self.paths {
            if !(1..=MAX_PATHS).contains(&paths.len()) {
                let message = format!("{} paths: give from 1 to {MAX_PATHS}", paths.len());
                return Err(error("topology.paths", message));
            }
            for (i, path) in paths.iter().enumerate() {
                path.check(&format!("topology.paths[{i}]"))?;
            }
        }
        let mut names = std::collections::BTreeSet::new();
        for (i, link) in self.links.iter().flatten().enumerate() {
            let name = link.name();
            if !names.insert(name.clone()) {
                let message = format!("a link before it is called {name:?} too: give this one another name");
                return Err(error(format!("topology.links[{i}]"), message));
            }
            if link.from == link.to {
                return Err(error(format!("topology.links[{i}]"), format!("it joins {:?} with itself", link.from)));
            }
            no_backup(&link.link, &format!("topology.links[{i}]"))?;
            link.link.check(&format!("topology.links[{i}].link"))?;
        }
        if self.kind == Kind::Cell {
            names.insert("link".to_string());
        }
        for (path, cell) in self.all_cells() {
            cell.check(&path)?;
            let mut nodes = cell.station_names().chain([cell.access_point().to_string()]);
            if self.kind == Kind::Cell && nodes.any(|node| node == "server") {
                let message =
                    "\"server\" is the node behind the link: give the access point and the stations other names";
                return Err(error(path, message));
            }
            let own = [cell.name().to_string()].into_iter();
            let all = own.chain(cell.station_names().map(|station| self.station_link(cell, &station)));
            if let Some(name) = all.into_iter().find(|name| !names.insert(name.clone())) {
                let message = format!("a link or a cell before it is called {name:?} too: give this one another name");
                return Err(error(format!("{path}.name"), message));
            }
        }
        Ok(())
    }

    /// Whether links or cells of a graph name a node.
    fn has_node(&self, name: &str) -> bool {
        let linked = self.links.iter().flatten().any(|l| l.from == name || l.to == name);
        let mut cells = self.cells.iter().flatten();
        linked || cells.any(|cell| cell.access_point() == name || cell.station_names().any(|station| station == name))
    }

    /// All cells, with their paths.
    pub(crate) fn all_cells(&self) -> impl Iterator<Item = (String, &CellSpec)> {
        let one = self.cell.iter().map(|cell| ("topology.cell".to_string(), cell));
        let several = self.cells.iter().flatten().enumerate();
        one.chain(several.map(|(i, cell)| (format!("topology.cells[{i}]"), cell)))
    }

    /// How many pairs of hosts there are to choose from.
    pub(crate) fn pair_count(&self) -> u32 {
        match &self.cell {
            Some(cell) => cell.count() as u32,
            None => self.pairs.unwrap_or(1),
        }
    }

    /// The name in results of the link of a station.
    pub(crate) fn station_link(&self, cell: &CellSpec, station: &str) -> String {
        if self.kind == Kind::Cell { station.to_string() } else { format!("{}/{station}", cell.name()) }
    }
}

impl GraphLink {
    /// Its name in results, which also names its random streams.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| format!("{}-{}", self.from, self.to))
    }
}
