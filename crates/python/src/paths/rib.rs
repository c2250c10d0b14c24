//! Dumps of routing tables: which AS originates each prefix.

use haltere_bgp::origins;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::io::{self, Read};

/// How much is asked of a Python file at a time.
const CHUNK: usize = 1 << 20;

/// A binary file of Python's, which unpacks what is packed.
struct File {
    file: Py<PyAny>,
    read: Vec<u8>,
    taken: usize,
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.read.len() {
            let more = Python::attach(|py| {
                py.check_signals()?;
                self.file.call_method1(py, "read", (CHUNK,))?.extract::<Vec<u8>>(py)
            });
            self.read = more.map_err(io::Error::other)?;
            self.taken = 0;
        }
        let n = (&self.read[self.taken..]).read(into)?;
        self.taken += n;
        Ok(n)
    }
}

/// Reads a dump of a routing table from a binary file: prefixes and the ASes that originate them.
#[pyfunction]
fn prefix_origins(py: Python<'_>, file: Py<PyAny>) -> PyResult<Vec<(String, String)>> {
    let file = File { file, read: Vec::new(), taken: 0 };
    py.detach(|| origins(file)).map_err(|error| match error {
        haltere_bgp::DumpError::Io(error) => error.into(),
        damaged => PyValueError::new_err(damaged.to_string()),
    })
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(prefix_origins, module)?)
}
