//! The scenario: one run as data. The schema is defined here and nowhere else.
//!
//! Quantities are strings with units. Unknown fields are errors. An error names the field by its path and says what was
//! given and what would be right.

pub(crate) mod beside;
mod cell;
mod changes;
mod flow;
mod link;
mod lte;
mod measured;
mod mqtt;
pub(crate) mod place;
mod presets;
mod probe;
mod quantity;
mod supply;
mod topology;
mod words;

pub use beside::Beside;
pub use cell::{Cell, CellMedium, Station};
pub use changes::{Change, Given, Switching};
pub use flow::{App, Flow, Migrate, RadioKind, Rebind, Renewed, Task, Way};
pub use link::{Link, OutagePeriod};
pub use measured::Measured;
pub use mqtt::{Bridge, Broker, Mqtt};
pub use place::{Place, Side};
pub use presets::{Preset, Setting};
pub use probe::{Probe, ProbeKind, ProbeMode};
pub use quantity::{FromText, Probability, Quantity, split};
pub use supply::Supplied;
pub use topology::{GraphLink, Kind, Path, Topology};
pub use words::LinkInWords;

use crate::load::{Load, LoadSpec};
use crate::noted::STEPS;
use flow::FlowSpec;
use haltere_net::Span;
use mqtt::{BrokerSpec, Totals};
use probe::ProbeSpec;
use schemars::JsonSchema;
use serde::Deserialize;
use topology::{AnyTopology, TopologySpec};

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

pub(crate) fn error(path: impl Into<String>, message: impl Into<String>) -> ScenarioError {
    ScenarioError { path: path.into(), message: message.into() }
}

/// A run as data, with all defaults filled in. What it says can be run; whether there is a route between two hosts, and whether
/// its contenders run at a fidelity, shows when the run is built.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Virtual time after which a run with unfinished transfers has failed, if it is given.
    pub time_limit: Option<Span>,
    /// When the run stops, whether transfers are finished or not.
    pub duration: Option<Duration>,
    /// The length of the windows over which the goodput of flows is measured, if it is.
    pub rate_window: Option<Span>,
    /// The implementation of the links of a real network.
    pub links: Links,
    /// The phases of the hosts' timer ticks.
    pub ticks: Ticks,
    /// The network.
    pub topology: Topology,
    /// The flows, each from a server to a client.
    pub flows: Vec<Flow>,
    /// Brokers that are not as they are by default, and their bridges.
    pub brokers: Vec<Broker>,
    /// Small exchanges that measure the round-trip time.
    pub probes: Vec<Probe>,
    /// Datagrams beside the flows that no congestion control holds back.
    pub loads: Vec<Load>,
}

/// How long a run lasts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Duration {
    /// All of it.
    pub whole: Span,
    /// Goodput counts from this time on, if it is given.
    pub measure_from: Option<Span>,
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

/// How the timer ticks of the hosts lie beside each other.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Ticks {
    /// Each host's have a phase of their own.
    #[default]
    Own,
    /// All hosts tick together, as namespaces of one kernel do.
    Shared,
}

/// A run as data.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Scenario")]
struct ScenarioSpec {
    /// Virtual time after which a run with unfinished transfers has failed (default 1h).
    time_limit: Option<Quantity<Span>>,
    /// Stop at this time, whether transfers are finished or not. Unlimited flows need it.
    duration: Option<Quantity<Span>>,
    /// Count goodput from this time on. Needs `duration`.
    measure_from: Option<Quantity<Span>>,
    /// Also measure how the goodput of flows changes, over windows of this length (at least 10ms): its oscillation, the longest
    /// silence, the times of convergence and response. Only simulated runs have these columns.
    rate_window: Option<Quantity<Span>>,
    /// The implementation of the links of a real network: `kernel` (netem; the default) or `haltere` (its emulator).
    /// The model always uses its own links.
    #[serde(default)]
    links: Links,
    /// The timer ticks of the hosts: each at its `own` phase (the default), or `shared`, as namespaces of one kernel are.
    /// Real networks on one machine always share them.
    #[serde(default)]
    ticks: Ticks,
    /// The network, given directly or drawn from measured paths.
    #[schemars(with = "AnyTopology")]
    topology: TopologySpec,
    /// The flows, each from a server to a client.
    #[serde(default)]
    flows: Vec<FlowSpec>,
    /// Brokers that are not as they are by default, for flows with `mqtt`.
    #[serde(default)]
    brokers: Vec<BrokerSpec>,
    /// Small exchanges that measure the round-trip time.
    #[serde(default)]
    probes: Vec<ProbeSpec>,
    /// Datagrams beside the flows that no congestion control holds back.
    #[serde(default)]
    loads: Vec<LoadSpec>,
}

/// The JSON Schema of a scenario.
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(ScenarioSpec)
}

/// The parts of a scenario that give its other tables their meaning.
struct Frame<'a> {
    topology: &'a Topology,
    duration: Option<Span>,
}

/// A table whose fields depend on its kind.
pub(crate) struct OfKind<'a> {
    pub path: &'a str,
    /// The kind, for errors, such as `a dumbbell`.
    pub what: &'a str,
}

impl OfKind<'_> {
    /// Refuses the fields that are given and not among those of the kind.
    pub fn only(&self, fields: &[&str], given: &[(&str, bool)]) -> Result<(), ScenarioError> {
        match given.iter().find(|(field, given)| *given && !fields.contains(field)) {
            None => Ok(()),
            Some((field, _)) => {
                Err(error(format!("{}.{field}", self.path), format!("{} has no {field}: leave it out", self.what)))
            }
        }
    }

    /// The value of a field that the kind needs.
    pub fn needs<T>(&self, field: &str, value: Option<T>) -> Result<T, ScenarioError> {
        value.ok_or_else(|| error(self.path, format!("{} needs {field}", self.what)))
    }
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
/// The most values that are noted of all flows in the steps of windows: 400 MB.
const MOST_NOTED: u64 = 50_000_000;
/// The shortest window over which goodput is measured.
const SHORTEST_WINDOW: Span = Span::from_millis(10);
/// When a run without a duration has failed if the scenario does not say.
const TIME_LIMIT: Span = Span::from_secs(3600);

impl Scenario {
    /// Parses a scenario from JSON.
    ///
    /// # Errors
    /// If something is wrong that shows without running it, with the path of the field.
    pub fn from_json(json: &str) -> Result<Scenario, ScenarioError> {
        let spec: ScenarioSpec = read(json)?;
        let topology = Topology::try_from(spec.topology)?;
        let brokers = parsed(spec.brokers, "brokers", |broker, path| broker.broker(path, &topology))?;
        mqtt::check_brokers(&brokers)?;
        let frame = Frame { topology: &topology, duration: spec.duration.map(|q| q.0) };
        let (mut flows, mut totals) = (Vec::new(), Totals::default());
        for (i, spec) in spec.flows.into_iter().enumerate() {
            let path = format!("flows[{i}]");
            let repeated = spec.flow(&path, &frame)?;
            totals.add(&repeated, &path, &frame)?;
            for mut flow in repeated.flows(&topology) {
                if let Task::Messages(mqtt) = &mut flow.task {
                    mqtt.publishers.flow = flows.len() as u32;
                    mqtt.delivered_qos = mqtt::delivered_qos(&brokers, mqtt, &flow.place.server, &path)?;
                }
                flows.push(flow);
            }
        }
        mqtt::check_used(&brokers, &flows)?;
        let probes = parsed(spec.probes, "probes", |probe, path| probe.probe(path, &topology))?;
        let loads = parsed(spec.loads, "loads", |load, path| load.loads(path, &topology))?.concat();
        let duration = duration(spec.duration.map(|q| q.0), spec.measure_from.map(|q| q.0))?;
        let rate_window = rate_window(spec.rate_window.map(|q| q.0), frame.duration)?;
        let time_limit = spec.time_limit.map(|q| q.0);
        let scenario = Scenario {
            time_limit,
            duration,
            rate_window,
            links: spec.links,
            ticks: spec.ticks,
            topology,
            flows,
            brokers,
            probes,
            loads,
        };
        scenario.check_end()?;
        scenario.check_window()?;
        Ok(scenario)
    }

    /// Checks whether there is something to run, and whether it ends. Flows that do not end were refused before.
    fn check_end(&self) -> Result<(), ScenarioError> {
        let probes = self.probes.iter().map(|probe| probe.beside.ends());
        let ends: Vec<bool> = probes.chain(self.loads.iter().map(|load| load.beside.ends())).collect();
        if !self.flows.is_empty() {
            return Ok(());
        }
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

    /// Checks whether the memory suffices for what is noted in the steps of windows.
    fn check_window(&self) -> Result<(), ScenarioError> {
        let Some(window) = self.rate_window else { return Ok(()) };
        let steps = self.end().as_nanos() / window.scaled(1, STEPS as u64).as_nanos();
        if steps.saturating_mul(self.flows.len() as u64) > MOST_NOTED {
            let end = if self.duration.is_some() { "duration" } else { "time_limit" };
            let message = format!(
                "{window} is too short for {} flows over {}: give a longer one, or a shorter {end}",
                self.flows.len(),
                self.end()
            );
            return Err(error("rate_window", message));
        }
        Ok(())
    }

    /// When the run is over, if nothing ends it before.
    pub fn end(&self) -> Span {
        self.duration.map(|duration| duration.whole).or(self.time_limit).unwrap_or(TIME_LIMIT)
    }

    /// Goodput counts from this time on, if it is given.
    pub fn measure_from(&self) -> Option<Span> {
        self.duration.and_then(|duration| duration.measure_from)
    }

    /// Checks whether there is a bandwidth-delay product wherever a length is given in one.
    ///
    /// # Errors
    /// The path of a length without one, and what is missing.
    pub fn check_lengths(&self) -> Result<(), ScenarioError> {
        self.topology.check_lengths()
    }
}

/// The meaning of each table of a list, which `parse` finds by the table and its path.
fn parsed<S, T>(
    specs: Vec<S>,
    name: &str,
    parse: impl Fn(S, &str) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    specs.into_iter().enumerate().map(|(i, spec)| parse(spec, &format!("{name}[{i}]"))).collect()
}

fn duration(whole: Option<Span>, measure_from: Option<Span>) -> Result<Option<Duration>, ScenarioError> {
    match (whole, measure_from) {
        (None, Some(_)) => Err(error("measure_from", "it goes with duration: set duration too, or leave it out")),
        (Some(whole), Some(from)) if from >= whole => {
            Err(error("measure_from", format!("{from} is not before duration, {whole}")))
        }
        _ => Ok(whole.map(|whole| Duration { whole, measure_from })),
    }
}

fn rate_window(window: Option<Span>, duration: Option<Span>) -> Result<Option<Span>, ScenarioError> {
    match (window, duration) {
        (Some(window), _) if window < SHORTEST_WINDOW => Err(error(
            "rate_window",
            format!("{window} is too short: give at least {SHORTEST_WINDOW}, or leave it out"),
        )),
        (Some(window), Some(duration)) if window > duration => {
            Err(error("rate_window", format!("{window} is longer than duration, {duration}")))
        }
        _ => Ok(window),
    }
}
