//! Gives Python the emulator; on Linux only.

use crate::to_json;
use haltere_link::shell::{Shell, ShellSpec};
use haltere_link::{Emulator as Links, EmulatorError, EmulatorSpec};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError};

create_exception!(haltere._core, LinkError, PyValueError, "A link that cannot be emulated: (message, path).");

fn refuse(wrong: EmulatorError) -> PyErr {
    LinkError::new_err((wrong.message, wrong.path))
}

/// Emulated links between TUN devices; see `EmulatorSpec`.
#[pyclass(frozen)]
struct Emulator(Mutex<Links>);

impl Emulator {
    fn with<T: Send>(&self, py: Python<'_>, what: impl FnOnce(&mut Links) -> T + Send) -> T {
        py.detach(|| what(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl Emulator {
    /// Makes the devices and brings them up.
    #[new]
    fn new(py: Python<'_>, spec_json: &str) -> PyResult<Emulator> {
        let made = py.detach(|| Links::new(EmulatorSpec::from_json(spec_json)?));
        Ok(Emulator(Mutex::new(made.map_err(refuse)?)))
    }

    /// Starts the links: their time begins, or does so at `at_ns` of the monotonic clock.
    #[pyo3(signature = (at_ns = None))]
    fn start(&self, py: Python<'_>, at_ns: Option<u64>) -> PyResult<()> {
        let start = |links: &mut Links| match at_ns {
            Some(at) => links.start_at(at),
            None => links.start(),
        };
        self.with(py, start).map_err(refuse)
    }

    /// Stops the links, removes the devices and returns the counters as JSON.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&self.with(py, Links::stop).map_err(refuse)?)
    }
}

/// A link of which one end lies in a new namespace, for a command; see `ShellSpec`.
#[pyclass(frozen)]
struct LinkShell {
    shell: Mutex<Option<Shell>>,
    #[pyo3(get)]
    base: String,
    #[pyo3(get)]
    address: String,
    #[pyo3(get)]
    apart: bool,
}

#[pymethods]
impl LinkShell {
    #[new]
    fn new(py: Python<'_>, spec_json: &str) -> PyResult<LinkShell> {
        let shell = py.detach(|| Shell::new(ShellSpec::from_json(spec_json)?)).map_err(refuse)?;
        let (base, address, apart) = (shell.base().to_string(), shell.own().to_string(), shell.apart());
        Ok(LinkShell { shell: Mutex::new(Some(shell)), base, address, apart })
    }

    /// Runs a command behind the link; returns its exit code and the counters as JSON.
    fn run(&self, py: Python<'_>, command: Vec<String>) -> PyResult<(i32, String)> {
        let shell = self.shell.lock().unwrap_or_else(PoisonError::into_inner).take();
        let shell = shell.ok_or_else(|| LinkError::new_err(("it ran before: make another one", "")))?;
        let (code, report) = py.detach(|| shell.run(&command)).map_err(refuse)?;
        Ok((code, to_json(&report)?))
    }
}

/// Adds the emulator to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("LinkError", module.py().get_type::<LinkError>())?;
    module.add_class::<Emulator>()?;
    module.add_class::<LinkShell>()
}
