//! Scenarios as Python holds them: parsed once, and asked from then on. Structured answers are JSON.

use crate::{fidelity, refuse, to_json};
use haltere_net::rng::Streams;
use haltere_sim::contender::Contender;
use haltere_sim::network::{self, describe, describe_all};
use haltere_sim::scenario::{Change, split};
use haltere_sim::{Fidelity, Files, Pcap};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// A parsed scenario. It equals another if their texts do, and is pickled as its text.
#[pyclass(frozen, eq, hash, module = "haltere._core")]
#[derive(Clone)]
pub(crate) struct Scenario {
    text: String,
    parsed: Arc<haltere_sim::Scenario>,
}

impl Scenario {
    /// The parsed scenario, shared.
    pub(crate) fn shared(&self) -> Arc<haltere_sim::Scenario> {
        self.parsed.clone()
    }
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Scenario) -> bool {
        self.text == other.text
    }
}

impl std::hash::Hash for Scenario {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

#[pymethods]
impl Scenario {
    /// Raises `ScenarioError` if the scenario is wrong.
    #[new]
    fn new(json: String) -> PyResult<Scenario> {
        let parsed = haltere_sim::Scenario::from_json(&json).map_err(refuse)?;
        Ok(Scenario { text: json, parsed: Arc::new(parsed) })
    }

    fn __getnewargs__(&self) -> (&str,) {
        (&self.text,)
    }

    /// The text that it was parsed from.
    #[getter]
    fn json(&self) -> &str {
        &self.text
    }

    /// The paths of its links without a rate, which are unlimited; a dumbbell's access links may well be.
    #[getter]
    fn unlimited(&self) -> Vec<String> {
        let links = self.parsed.topology.links().into_iter();
        let unrated = links.filter(|(_, path, link)| path != "topology.access" && !link.is_rated());
        unrated.map(|(_, path, _)| path).collect()
    }

    /// Raises `ScenarioError` if it cannot run at a fidelity. What rigs lack is checked in Python.
    fn check_at(&self, fidelity: &str) -> PyResult<()> {
        let contenders = Fidelity::named(fidelity).map_or(Ok(()), |at| haltere_sim::check_at(at, &self.parsed));
        let all = contenders.and_then(|()| self.parsed.check_lengths());
        // There may be no links between two hosts, or no such path.
        all.and_then(|()| network::network(&self.parsed, &Streams::new(0, 0)).map(|_| ())).map_err(refuse)
    }

    /// Its network in one run with all defaults filled in: what a rig builds.
    #[pyo3(signature = (seed = 0, replication = 0))]
    fn network(&self, seed: u64, replication: u64) -> PyResult<String> {
        to_json(&describe(&self.parsed, seed, replication).map_err(refuse)?)
    }

    /// Its network as a rig builds it, with what exists in virtual time only: what programs on nodes of the simulator are told.
    #[pyo3(signature = (seed = 0, replication = 0))]
    fn network_of_nodes(&self, seed: u64, replication: u64) -> PyResult<String> {
        to_json(&describe_all(&self.parsed, seed, replication).map_err(refuse)?)
    }

    /// Its links and cells in words, with the values of presets and defaults (`haltere_sim::scenario::LinkInWords`).
    fn links_in_words(&self) -> PyResult<String> {
        to_json(&self.parsed.topology.in_words())
    }

    /// Which of the first `packets` packets of link direction `direction` (2 × link, + 1 for up) a run loses: bit n % 8 of byte
    /// n // 8.
    fn losses(&self, seed: u64, replication: u64, direction: usize, packets: usize) -> PyResult<Vec<u8>> {
        network::losses(&self.parsed, seed, replication, direction, packets).map_err(refuse)
    }

    /// The work of the MQTT clients of each flow in a run (`haltere_sim::network::MqttClients`).
    fn mqtt_clients(&self, seed: u64, replication: u64) -> PyResult<String> {
        to_json(&network::mqtt_clients(&self.parsed, seed, replication).map_err(refuse)?)
    }

    /// The flows of a run that programs carry at a fidelity, and where these are to run (`haltere_sim::build::Placed`).
    fn programs(&self, seed: u64, replication: u64, fidelity: &str) -> PyResult<String> {
        let at = self::fidelity(fidelity)?;
        to_json(&haltere_sim::build::placed(&self.parsed, at, seed, replication).map_err(refuse)?)
    }

    /// Whether a run at a fidelity has Linux kernels.
    fn has_kernels(&self, fidelity: &str) -> PyResult<bool> {
        Ok(haltere_sim::build::has_kernels(&self.parsed, self::fidelity(fidelity)?))
    }

    /// Runs it at a fidelity of the simulator and returns its `RunResult`; the interpreter is free meanwhile. `programs` has those of
    /// flows that programs carry, by the number of the flow (`haltere_kernel::Programs`).
    #[pyo3(signature = (seed, replication, fidelity = "model", programs = "{}"))]
    fn run(&self, py: Python<'_>, seed: u64, replication: u64, fidelity: &str, programs: &str) -> PyResult<String> {
        let (at, programs) = (self::fidelity(fidelity)?, prepared(programs)?);
        let ran = py.detach(|| haltere_sim::run_with(at, &self.parsed, (seed, replication), &programs));
        to_json(&ran.map_err(refuse)?)
    }

    /// Runs it and returns its result and every change of every metric; writes qlog files and captures of links (all if none is
    /// named) into the folders that are given. `shadows` are congestion controls in the shadow of each flow's; without `metrics`
    /// nobody is asked for these.
    #[pyo3(signature = (seed, replication, fidelity = "model", *, qlog=None, pcap=None, links=Vec::new(), shadows=Vec::new(), metrics=true, programs="{}"))]
    #[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "Python's keywords")]
    fn trace(
        &self,
        py: Python<'_>,
        seed: u64,
        replication: u64,
        fidelity: &str,
        qlog: Option<PathBuf>,
        pcap: Option<PathBuf>,
        links: Vec<String>,
        shadows: Vec<String>,
        metrics: bool,
        programs: &str,
    ) -> PyResult<String> {
        let (at, programs) = (self::fidelity(fidelity)?, prepared(programs)?);
        let files = Files { qlog, pcap: pcap.map(|folder| Pcap { folder, links }), shadows, packets_alone: !metrics };
        let traced = py.detach(|| haltere_sim::trace_with(at, &self.parsed, (seed, replication), &files, &programs));
        to_json(&traced.map_err(refuse)?)
    }
}

/// The programs of flows, from JSON.
fn prepared(programs: &str) -> PyResult<haltere_sim::build::Programs> {
    serde_json::from_str(programs).map_err(|e| PyValueError::new_err(format!("programs: {e}")))
}

/// The document of the same scenario with one thing done differently (`haltere_sim::scenario::Change`); `None` if it would be the
/// same. The document may be one over measured paths.
#[pyfunction]
fn changed(scenario_json: &str, change_json: &str, fidelity: &str) -> PyResult<Option<String>> {
    let wrong = |e: serde_json::Error| PyValueError::new_err(e.to_string());
    let change: Change = serde_json::from_str(change_json).map_err(wrong)?;
    let mut document: Value = serde_json::from_str(scenario_json).map_err(wrong)?;
    let at = Fidelity::named(fidelity).unwrap_or_default();
    Ok(if change.apply(&mut document, at) { Some(to_json(&document)?) } else { None })
}

/// A contender in its parts.
#[pyfunction]
fn contender(text: &str) -> PyResult<String> {
    let parsed = Contender::parse(text);
    let parsed = parsed.map_err(|message| crate::ScenarioError::new_err((message, "contender")))?;
    to_json(&json!({
        "transport": parsed.transport.describe().0, "implementation": parsed.implementation,
        "congestion": parsed.congestion, "switches": parsed.switched(),
    }))
}

/// The number and the unit of a quantity such as `40Mbit/s`; `None` for other texts.
#[pyfunction]
fn quantity(text: &str) -> Option<(f64, &str)> {
    split(text)
}

/// A time such as `50ms`, in ns.
#[pyfunction]
fn nanoseconds(text: &str) -> PyResult<u64> {
    let time = haltere_net::units::parse_span(text);
    time.map(|time| time.as_nanos()).map_err(|e| PyValueError::new_err(e.to_string()))
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Scenario>()?;
    module.add_function(wrap_pyfunction!(changed, module)?)?;
    module.add_function(wrap_pyfunction!(contender, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(nanoseconds, module)?)
}
