//! Measured paths.

mod files;
mod graph;
mod store;
mod watch;

use pyo3::prelude::*;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    files::add(module)?;
    graph::add(module)?;
    store::add(module)
}
