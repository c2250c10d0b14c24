//! Measured paths.

mod files;
mod graph;
mod rib;
mod store;
mod watch;

use pyo3::prelude::*;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    files::add(module)?;
    graph::add(module)?;
    rib::add(module)?;
    store::add(module)
}
