//! Measured paths.

mod files;
mod store;
mod watch;

use pyo3::prelude::*;

pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    files::add(module)?;
    store::add(module)
}
