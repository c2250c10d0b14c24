//! Counts of files of traceroutes, and their traces as text.

use super::watch::watched;
use crate::to_json;
use haltere_paths::count::{Counts, Progress, count_files};
use haltere_paths::input::{self, Opened};
use haltere_paths::show::Shown;
use haltere_paths::{Step, Trace};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use serde_json::json;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Counts what files of traceroutes hold, `threads` at once; `on_progress` is called with the bytes read so far.
#[pyfunction]
#[pyo3(signature = (files, threads = 1, on_progress = None))]
fn count_paths(
    py: Python<'_>,
    files: Vec<PathBuf>,
    threads: usize,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let progress = Progress::default();
    let tell = |py: Python<'_>| {
        let bytes = progress.bytes.load(Ordering::Relaxed);
        on_progress.as_ref().map_or(Ok(()), |f| f.call1(py, (bytes,)).map(drop))
    };
    let counted = watched(py, &progress, tell, || count_files(&files, threads, &progress))?;
    let mut total = Counts::default();
    counted.iter().for_each(|file| total.merge(&file.counts));
    to_json(&json!({ "files": counted, "total": total }))
}

/// The traces of a file as text: an iterator of texts of many traces each.
#[pyclass(frozen)]
struct PathTexts(Mutex<Texts>);

struct Texts {
    opened: Opened,
    trace: Trace,
    left: u64,
}

/// A text is handed over when it is this long, bytes.
const TEXT: usize = 64 * 1024;

impl Texts {
    fn next(&mut self) -> Option<String> {
        let mut text = String::new();
        while text.len() < TEXT && self.left > 0 {
            let written = match self.opened.reader.read_into(&mut self.trace) {
                Step::Trace => write!(text, "{}", Shown(&self.trace)),
                Step::Multipath(found) => write!(text, "{found}"),
                Step::Damaged(d) => {
                    writeln!(text, "damaged record at byte {}: {} ({} bytes lost)", d.offset, d.what, d.skipped)
                }
                Step::End => break,
            };
            self.left -= 1;
            if written.is_err() {
                break;
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

#[pymethods]
impl PathTexts {
    #[new]
    #[pyo3(signature = (file, limit = None))]
    fn new(file: PathBuf, limit: Option<u64>) -> PyResult<PathTexts> {
        let opened =
            input::open(&file, &Progress::default().bytes, 1).map_err(|e| PyOSError::new_err(e.to_string()))?;
        Ok(PathTexts(Mutex::new(Texts { opened, trace: Trace::default(), left: limit.unwrap_or(u64::MAX) })))
    }

    fn __iter__(slf: Py<PathTexts>) -> Py<PathTexts> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).next())
    }
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PathTexts>()?;
    module.add_function(wrap_pyfunction!(count_paths, module)?)
}
