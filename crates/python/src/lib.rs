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

use haltere_net::queue::{Discipline, Parameter};
use haltere_net::trace::RateTrace;
use haltere_sim::contender::{BUNDLES, Bundle, Contender, SETTINGS, Setting, Transport, catalogue as mechanisms};
use haltere_sim::scenario::{Link, Measured, Preset};
use haltere_sim::stack::{Entry, catalogue};
use haltere_sim::{Fidelity, ScenarioError as Wrong};
use haltere_transport::cc::Algorithm;
use haltere_transport::scheduler::Scheduler;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde_json::{Value, json};

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

/// A name for a setting of switches, as JSON.
fn setting(setting: &Setting) -> Value {
    let applies: Vec<&str> = setting.transports.iter().map(|t| t.describe().0).collect();
    json!({ "name": setting.name, "applies_to": applies, "means": setting.means() })
}

fn bundle(bundle: &Bundle) -> Value {
    let sets: Vec<_> = bundle
        .sets
        .iter()
        .map(|part| json!({ "name": part.name, "value": bundle.shown(part), "source": part.source }))
        .collect();
    json!({
        "name": bundle.name, "applies_to": [bundle.transport.describe().0], "summary": bundle.summary,
        "means": bundle.means(), "lacks": bundle.lacks, "sets": sets
    })
}

/// The known transports, congestion controls, path schedulers, production stacks, switches, names of settings and bundles as JSON.
#[pyfunction]
fn algorithms() -> PyResult<String> {
    let transports = Transport::ALL.map(|t| json!({ "name": t.describe().0, "summary": t.describe().1 }));
    let algorithm = |a: &Algorithm| {
        let d = a.describe();
        json!({
            "name": d.name, "summary": d.summary, "reference": d.reference, "label": a.label, "shade": a.shade,
            "linux": a.linux, "needs_ecn": a.needs_ecn(), "l4s": a.is_l4s(), "coupled": a.coupled
        })
    };
    let congestion: Vec<_> = Algorithm::ALL.iter().map(algorithm).collect();
    let scheduler = |s: &Scheduler| {
        let d = s.describe();
        json!({ "name": d.name, "summary": d.summary, "reference": d.reference })
    };
    let schedulers: Vec<_> = Scheduler::ALL.iter().map(scheduler).collect();
    let settings: Vec<_> = SETTINGS.iter().map(setting).collect();
    let stack = |s: &Entry| {
        let refused: Vec<_> = s.refused.iter().map(|(name, why)| json!({ "name": name, "why": why })).collect();
        json!({
            "name": s.name, "version": s.version, "congestion": s.congestion, "schedulers": s.schedulers,
            "refused": refused, "summary": s.summary
        })
    };
    let stacks: Vec<_> = catalogue().iter().map(stack).collect();
    to_json(&json!({
        "transports": transports, "congestion": congestion, "schedulers": schedulers, "stacks": stacks,
        "switches": mechanisms(), "settings": settings, "bundles": BUNDLES.iter().map(bundle).collect::<Vec<_>>()
    }))
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
    let discipline = |discipline: &Discipline| {
        let about = discipline.describe();
        let parameter =
            |p: &Parameter| json!({ "name": p.name, "default": p.default, "example": p.example, "summary": p.summary });
        let parameters: Vec<_> = discipline.parameters().iter().map(parameter).collect();
        json!({ "name": about.name, "summary": about.summary, "reference": about.reference, "parameters": parameters })
    };
    to_json(&Discipline::ALL.iter().map(discipline).collect::<Vec<_>>())
}

/// The presets of links and cells with their numbers and sources as JSON.
#[pyfunction]
fn presets() -> PyResult<String> {
    let preset = |preset: &Preset| {
        let (name, summary) = preset.describe();
        let of = if preset.is_cell() { "cell" } else { "link" };
        json!({ "name": name, "also": preset.also(), "of": of, "summary": summary, "settings": preset.settings() })
    };
    to_json(&Preset::ALL.iter().map(preset).collect::<Vec<_>>())
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
    module.add_function(wrap_pyfunction!(clock_phase, module)?)?;
    module.add_function(wrap_pyfunction!(probe_result, module)?)?;
    module.add_function(wrap_pyfunction!(columns, module)?)?;
    module.add_function(wrap_pyfunction!(run_result, module)?)?;
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
        module.add_function(wrap_pyfunction!(peers::make_certificate, module)?)?;
    }
    #[cfg(target_os = "linux")]
    host::register(module)?;
    Ok(())
}
