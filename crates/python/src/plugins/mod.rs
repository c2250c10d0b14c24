//! Congestion controls, path schedulers and queue disciplines that users bring, as files: Python classes, shared libraries, and
//! trained policies.
//!
//! Which file a name with a digest stands for, and whether its user allowed to load it, is decided in Python (`haltere.plugins`).

mod controller;
mod events;
mod policy;
mod queue;
mod scheduler;
mod watch;

use haltere_net::registry::{Description, Entry, Loader, Maker};
use haltere_transport::cc::{Config, CongestionController, Implementation, Marks, Parameter, SlowStart, Startup};
use pyo3::prelude::*;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The description that a file of Python gives of its class (`haltere.plugins.classes.Described`).
#[derive(FromPyObject)]
struct Described {
    make: Py<PyAny>,
    label: String,
    summary: String,
    reference: String,
    /// Which of the attributes that a class of its kind may have are true.
    flags: HashSet<String>,
    parameters: Vec<Declared>,
    /// How many bytes a path gets for a pick of a scheduler.
    burst: i64,
    /// Its functions, if it is compiled.
    compiled: Option<Functions>,
}

impl Described {
    fn has(&self, flag: &str) -> bool {
        self.flags.contains(flag)
    }

    /// Its description under this name.
    fn description(&mut self, name: &'static str) -> Description {
        let text = |text: &mut String| -> &'static str { std::mem::take(text).leak() };
        Description { name, summary: text(&mut self.summary), reference: text(&mut self.reference) }
    }

    /// Its parameters, and their defaults.
    fn parameters(&mut self) -> (&'static [Parameter], &'static [f64]) {
        let parameter = |declared: Declared| Parameter {
            name: declared.name.leak(),
            default: declared.default,
            least: declared.least,
            most: declared.most,
            summary: declared.summary.leak(),
        };
        let parameters: Vec<_> = std::mem::take(&mut self.parameters).into_iter().map(parameter).collect();
        let defaults: Vec<f64> = parameters.iter().map(|parameter| parameter.default).collect();
        (parameters.leak(), defaults.leak())
    }
}

/// The functions of a class that was compiled (`haltere.plugins.by_numba.Functions`).
#[derive(FromPyObject)]
struct Functions {
    addresses: HashMap<String, usize>,
    /// Gives the bytes of a new state.
    state: Py<PyAny>,
}

/// A parameter of such a class.
#[derive(FromPyObject)]
struct Declared {
    name: String,
    default: f64,
    least: f64,
    most: f64,
    summary: String,
}

/// The name of a file with the digest of what it holds now.
fn named(file: &str) -> Result<String, String> {
    Python::attach(|py| {
        let found = py.import("haltere.plugins").and_then(|module| module.call_method1("named", (file,))?.extract());
        found.map_err(|wrong| message(py, &wrong))
    })
}

/// The code of a name such as `./mine.py#3fa94c1b2d5e6f70`, which is to be an entry of this kind.
fn load<E: Entry>(
    name: &str,
    of_library: fn(&'static str, &'static str, &Path) -> Result<&'static E, String>,
    of_class: fn(&'static str, Described) -> Result<&'static E, String>,
    of_policy: fn(&'static str, policy::Trained) -> Result<&'static E, String>,
) -> Result<&'static E, String> {
    let name: &'static str = name.to_string().leak();
    Python::attach(|py| {
        let found = py.import("haltere.plugins").and_then(|module| module.call_method1("loaded", (name, E::KIND)));
        let found = found.map_err(|wrong| message(py, &wrong))?;
        if let Ok(library) = found.extract::<PathBuf>() {
            return of_library(shown(name), name, &library);
        }
        if let Ok(trained) = found.extract::<policy::Trained>() {
            return of_policy(name, trained);
        }
        of_class(name, found.extract().map_err(|wrong| message(py, &wrong))?)
    })
}

/// Refuses a trained policy where it is of no use.
fn no_policy<E: Entry>(name: &'static str, _: policy::Trained) -> Result<&'static E, String> {
    Err(format!(
        "{} is a trained policy, which is a congestion control and no {}: give a class of Python or a library",
        shown(name),
        E::KIND
    ))
}

/// The name without its digest, for messages.
fn shown(name: &'static str) -> &'static str {
    name.split_once(haltere_net::registry::DIGEST).map_or(name, |(file, _)| file)
}

/// The message of an error of Python.
fn message(py: Python<'_>, error: &PyErr) -> String {
    error.value(py).to_string()
}

fn implementation(name: &'static str, mut class: Described) -> Result<&'static Implementation, String> {
    let (parameters, values) = class.parameters();
    let description = class.description(name);
    let heeds = class.has("heeds_slow_start");
    let marks = match (class.has("l4s"), class.has("needs_ecn")) {
        (true, _) => Marks::L4s,
        (false, true) => Marks::Needed,
        (false, false) => Marks::Optional,
    };
    let (coupled, prompt_rtts) = (class.has("coupled"), class.has("prompt_rtts"));
    let build: &'static (dyn Fn(Config) -> Box<dyn CongestionController> + Send + Sync) = match class.compiled {
        Some(functions) => compiled(shown(name), parameters, functions)?,
        None => {
            let make = class.make;
            Box::leak(Box::new(move |config| -> Box<dyn CongestionController> {
                Box::new(controller::Controller::new(shown(name), &make, parameters, config))
            }))
        }
    };
    Ok(Box::leak(Box::new(Implementation {
        description,
        label: class.label.leak(),
        shade: None,
        linux: None,
        slow_start: if heeds { Startup::SlowStart(SlowStart::Standard) } else { Startup::Own },
        marks,
        coupled,
        prompt_rtts,
        send_windows: 2,
        heeds: &[],
        parameters,
        values,
        build: Maker::Loaded(build),
    })))
}

/// Makes the function by which controllers of a compiled class are made.
fn compiled(
    shown: &'static str,
    parameters: &'static [Parameter],
    functions: Functions,
) -> Result<&'static (dyn Fn(Config) -> Box<dyn CongestionController> + Send + Sync), String> {
    let address = |name: &str| functions.addresses.get(name).copied().unwrap_or(0);
    let addresses = haltere_plugins::Addresses {
        sync: address("sync"),
        on_ack: address("on_ack"),
        on_congestion: address("on_congestion"),
        on_established: address("on_established"),
        on_sent: address("on_sent"),
        on_echo: address("on_echo"),
        on_arrival: address("on_arrival"),
        on_lost: address("on_lost"),
        on_undo: address("on_undo"),
        on_recovered: address("on_recovered"),
        set_mss: address("set_mss"),
    };
    let state = functions.state;
    haltere_plugins::compiled(shown, &addresses, move |config| {
        Python::attach(|py| {
            let values: Vec<(&str, f64)> =
                parameters.iter().map(|parameter| parameter.name).zip(config.values.iter().copied()).collect();
            let made = state.bind(py).call1((events::Config::new(config), values));
            made.and_then(|made| made.extract::<Vec<u8>>()).map_err(|wrong| reason(py, &wrong))
        })
    })
}

/// An exception in one line, with the line of the user's file.
fn reason(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    // Until Python 3.12 an exception that was caught holds its traceback apart.
    let traced = error.traceback(py).map_or(Ok(()), |traceback| value.setattr("__traceback__", traceback));
    let said =
        traced.and_then(|()| py.import("haltere.plugins")).and_then(|plugins| plugins.call_method1("reason", (value,)));
    said.map_or_else(|_| error.to_string(), |said| said.to_string())
}

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let load_control = |name: &str| load(name, haltere_plugins::load, implementation, policy::implementation);
    Implementation::shelf().load_by(Loader { named, load: load_control });
    let load_scheduler = |name: &str| load(name, haltere_plugins::load_scheduler, scheduler::implementation, no_policy);
    haltere_transport::scheduler::Implementation::shelf().load_by(Loader { named, load: load_scheduler });
    let load_queue = |name: &str| load(name, haltere_plugins::load_queue, queue::implementation, no_policy);
    haltere_net::queue::Implementation::shelf().load_by(Loader { named, load: load_queue });
    module.add_function(wrap_pyfunction!(watch::plugin_calls, module)?)?;
    events::add(module)
}
