//! The extension module `haltere._core`. Structured data is passed between Python and Rust as JSON text; every function
//! is pure, except `bench`, which measures this machine, `trace` where it writes files, those of `paths`, which read
//! files, and those of `host`, `link` and `peers`, which work with its kernel.

mod bench;
mod gym;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod link;
mod paths;
#[cfg(all(feature = "peers", target_os = "linux"))]
mod peers;
mod place;
mod plugins;
mod scenario;
mod stats;

use haltere_net::trace::RateTrace;
use haltere_sim::contender::Contender;
use haltere_sim::scenario::{Link, Measured};
use haltere_sim::{Fidelity, ScenarioError as Wrong, catalogue};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::json;

create_exception!(haltere._core, ScenarioError, PyValueError, "A scenario that cannot be run: (message, path).");

fn refuse(wrong: Wrong) -> PyErr {
    ScenarioError::new_err((wrong.message, wrong.path))
}

fn to_json<T: serde::Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// The simulator's fidelity called `name`.
fn fidelity(name: &str) -> PyResult<Fidelity> {
    Fidelity::named(name).ok_or_else(|| {
        let known = Fidelity::ALL.map(Fidelity::name).join(", ");
        PyValueError::new_err(format!("the simulator has no fidelity {name:?}: there are {known}"))
    })
}

/// How long after a multiple of 2.048 s of its hosts' count of ticks a run begins, ns.
#[pyfunction]
fn clock_phase(seed: u64, replication: u64) -> u64 {
    haltere_sim::build::clock_phase(&haltere_net::rng::Streams::new(seed, replication)).as_nanos()
}

/// Returns the result of a probe, as JSON, from what was seen of it (`haltere_sim::result::Seen`).
#[pyfunction]
fn probe_result(seen_json: &str) -> PyResult<String> {
    let seen: haltere_sim::result::Seen =
        serde_json::from_str(seen_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    to_json(&haltere_sim::result::ProbeResult::from(seen))
}

/// The columns of all result tables with their metrics, as JSON (`haltere_net::columns::Column`).
#[pyfunction]
fn columns() -> PyResult<String> {
    to_json(&haltere_sim::result::all_columns())
}

/// Returns the result of a run on real hosts, as JSON, from what was seen of it (`haltere_sim::result::SeenRun`).
#[pyfunction]
fn run_result(seen_json: &str) -> PyResult<String> {
    let seen: haltere_sim::result::SeenRun =
        serde_json::from_str(seen_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    to_json(&seen.result())
}

/// Returns the result of a run, as JSON, with what the clients of programs report of their transfers
/// (`haltere_sim::result::ClientReport`).
#[pyfunction]
fn with_reports(result_json: &str, reports_json: &str) -> PyResult<String> {
    let wrong = |e: serde_json::Error| PyValueError::new_err(e.to_string());
    let result = serde_json::from_str(result_json).map_err(wrong)?;
    let reports = serde_json::from_str(reports_json).map_err(wrong)?;
    to_json(&haltere_sim::result::with_reports(result, reports))
}

/// Returns what results hold of a flow's messages, as JSON, from what clients saw (`haltere_sim::result::SeenMessages`).
#[pyfunction]
fn messages_result(seen_json: &str) -> PyResult<String> {
    let seen: haltere_sim::result::SeenMessages =
        serde_json::from_str(seen_json).map_err(|e| PyValueError::new_err(e.to_string()))?;
    to_json(&haltere_sim::result::MessagesResult::from(seen))
}

/// The table `topology` of a scenario that is drawn from measured paths, as JSON: `{"paths", "quantile" (from 0
/// to 1, null for random), "kind"}`.
#[pyfunction]
fn measured_topology(topology_json: &str) -> PyResult<String> {
    to_json(&Measured::from_json(topology_json).map_err(refuse)?)
}

/// The first number, uniform in [0, 1), of the random stream called `name`.
#[pyfunction]
fn uniform(seed: u64, replication: u64, name: &str) -> f64 {
    haltere_net::rng::Streams::new(seed, replication).named(name).unit()
}

/// Both directions of a link, given as a table like a scenario's `topology.link`, as JSON.
#[pyfunction]
fn link_config(link_json: &str) -> PyResult<String> {
    let link = Link::from_json(link_json).map_err(refuse)?;
    to_json(&json!({ "down": link.down, "up": link.up }))
}

/// The milliseconds of a mahimahi trace file, as JSON. An error's path is the number of the line.
#[pyfunction]
fn rate_trace(text: &str) -> PyResult<String> {
    let trace = RateTrace::parse(text);
    let wrong = |e: haltere_net::trace::TraceError| Wrong {
        message: format!("{:?} is not {}", e.given, e.expected),
        path: e.line.to_string(),
    };
    to_json(&trace.map_err(|e| refuse(wrong(e)))?)
}

/// The packets of a capture (the bytes of a pcap or pcapng file) as JSON, as a replay of a scenario has them.
#[pyfunction]
fn capture(py: Python<'_>, file: &[u8]) -> PyResult<String> {
    let read = py.detach(|| haltere_sim::capture::Capture::read(file));
    to_json(&read.map_err(|message| refuse(Wrong { message, path: String::new() }))?)
}

/// The JSON Schema of a scenario.
#[pyfunction]
fn scenario_schema() -> PyResult<String> {
    to_json(&haltere_sim::scenario::schema())
}

/// Line and column (both from 1) of the value at `path` in a TOML text, or of its nearest parent.
#[pyfunction]
fn locate(toml_text: &str, path: &str) -> (usize, usize) {
    place::of(toml_text, path)
}

/// The known transports, congestion controls, path schedulers, production stacks, switches, names of settings and bundles as JSON.
#[pyfunction]
fn algorithms() -> PyResult<String> {
    to_json(&catalogue::algorithms())
}

/// The parts and switches that a contender has at a fidelity, as JSON.
#[pyfunction]
fn effective(contender: &str, fidelity: &str) -> PyResult<String> {
    let at = self::fidelity(fidelity)?;
    let found = Contender::parse(contender).and_then(|c| c.effective(at));
    to_json(&found.map_err(|message| ScenarioError::new_err((message, "contender")))?)
}

/// The queue disciplines with their parameters as JSON.
#[pyfunction]
fn queues() -> PyResult<String> {
    to_json(&catalogue::queues())
}

/// The presets of links and cells with their numbers and sources as JSON.
#[pyfunction]
fn presets() -> PyResult<String> {
    to_json(&catalogue::presets())
}

/// Runs the benchmark cases and returns their figures as JSON; the interpreter is free meanwhile.
#[pyfunction]
#[pyo3(name = "bench")]
fn run_bench(py: Python<'_>) -> PyResult<String> {
    to_json(&py.detach(bench::all).map_err(refuse)?)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    #[cfg(target_os = "linux")]
    link::add(module)?;
    gym::add(module)?;
    paths::add(module)?;
    plugins::add(module)?;
    scenario::add(module)?;
    stats::add(module)?;
    module.add_function(wrap_pyfunction!(clock_phase, module)?)?;
    module.add_function(wrap_pyfunction!(probe_result, module)?)?;
    module.add_function(wrap_pyfunction!(columns, module)?)?;
    module.add_function(wrap_pyfunction!(run_result, module)?)?;
    module.add_function(wrap_pyfunction!(with_reports, module)?)?;
    module.add_function(wrap_pyfunction!(messages_result, module)?)?;
    module.add_function(wrap_pyfunction!(measured_topology, module)?)?;
    module.add_function(wrap_pyfunction!(uniform, module)?)?;
    module.add_function(wrap_pyfunction!(link_config, module)?)?;
    module.add_function(wrap_pyfunction!(rate_trace, module)?)?;
    module.add_function(wrap_pyfunction!(capture, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(locate, module)?)?;
    module.add_function(wrap_pyfunction!(algorithms, module)?)?;
    module.add_function(wrap_pyfunction!(effective, module)?)?;
    module.add_function(wrap_pyfunction!(queues, module)?)?;
    module.add_function(wrap_pyfunction!(presets, module)?)?;
    module.add_function(wrap_pyfunction!(run_bench, module)?)?;
    #[cfg(all(feature = "peers", target_os = "linux"))]
    {
        module.add_function(wrap_pyfunction!(peers::peer, module)?)?;
        module.add_function(wrap_pyfunction!(peers::messages_seen, module)?)?;
        module.add_function(wrap_pyfunction!(peers::make_certificate, module)?)?;
    }
    #[cfg(target_os = "linux")]
    host::register(module)?;
    Ok(())
}
