//! Transfers and packet taps on real hosts, for the rig. JSON goes in and out.

use haltere_host::HostError;
use haltere_net::Span;
use pyo3::create_exception;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

create_exception!(haltere._core, RigError, PyRuntimeError, "What real hosts refuse: (message, path).");

fn refuse(wrong: HostError) -> PyErr {
    RigError::new_err((wrong.message, wrong.path))
}

/// Makes TCP transfers over the kernel's stack and returns their outcome; the interpreter is free meanwhile.
#[pyfunction]
fn transfers(py: Python<'_>, spec_json: &str) -> PyResult<String> {
    py.detach(|| haltere_host::transfers::run_json(spec_json)).map_err(refuse)
}

/// The congestion controls that this kernel offers.
#[pyfunction]
fn congestion_controls() -> PyResult<Vec<String>> {
    haltere_host::congestion_controls().map_err(refuse)
}

/// Packet taps, listening from `start` to `stop`.
#[pyclass]
struct Capture(haltere_host::capture::Capture);

#[pymethods]
impl Capture {
    #[new]
    fn new(spec_json: &str) -> PyResult<Capture> {
        haltere_host::capture::Capture::new(spec_json).map(Capture).map_err(refuse)
    }

    /// Opens the taps; returns once they listen.
    fn start(&mut self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.0.start()).map_err(refuse)
    }

    /// Closes the taps and returns what was seen.
    #[pyo3(signature = (until_ns=None))]
    fn stop(&mut self, py: Python<'_>, until_ns: Option<u64>) -> PyResult<String> {
        py.detach(|| self.0.stop_json(until_ns.map(Span::from_nanos))).map_err(refuse)
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("RigError", module.py().get_type::<RigError>())?;
    module.add_class::<Capture>()?;
    module.add_function(wrap_pyfunction!(transfers, module)?)?;
    module.add_function(wrap_pyfunction!(congestion_controls, module)?)
}
