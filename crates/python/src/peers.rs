//! Gives Python the crate `haltere-peers`: our own servers and clients, which a forked process runs.

use haltere_peers::certificate::{self, Kind};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// Runs a server or client with these arguments in this thread and returns its exit status.
#[pyfunction]
pub fn peer(py: Python<'_>, arguments: Vec<String>) -> i32 {
    py.detach(|| haltere_peers::run(arguments))
}

/// Writes `ca.pem`, `cert.pem` and `key.pem` into a folder; `kind` is `p256` or `ed25519`.
#[pyfunction]
#[pyo3(name = "certificate")]
pub fn make_certificate(py: Python<'_>, folder: PathBuf, kind: &str) -> PyResult<()> {
    let kind = match kind {
        "p256" => Kind::P256,
        "ed25519" => Kind::Ed25519,
        _ => return Err(PyValueError::new_err(format!("there is no certificate {kind:?}; right: p256 or ed25519"))),
    };
    py.detach(|| certificate::write(&folder, kind)).map_err(|e| PyOSError::new_err(e.to_string()))
}

/// The report of a flow with MQTT, as JSON, from the files that its publishers and then its subscriber have written, or from the one of both;
/// the measured time begins at `since` (`haltere_peers::mqtt::Seen`).
#[pyfunction]
pub fn messages_seen(py: Python<'_>, files: Vec<PathBuf>, since: u64) -> PyResult<String> {
    let seen = py.detach(|| haltere_peers::mqtt::Seen::read(&files, since));
    crate::to_json(&seen.map_err(|e| PyOSError::new_err(e.to_string()))?)
}
