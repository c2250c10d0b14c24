//! Files of traceroutes into a lake.

use super::watch::watched;
use crate::to_json;
use haltere_paths::count::Progress;
use haltere_paths::store::{FileReport, Lake, Options, Refusal, ingest, sources};
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads files and folders into a lake, `threads` files at once; `on_progress` is called with the bytes read so far and
/// all bytes. What becomes of each file, or what stands in the way of all.
#[pyfunction]
#[pyo3(signature = (paths, lake, source = None, threads = 1, on_progress = None))]
fn ingest_paths(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    lake: PathBuf,
    source: Option<String>,
    threads: usize,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let (progress, everything) = (Progress::default(), AtomicU64::new(0));
    let tell = |py: Python<'_>| {
        let numbers = (progress.bytes.load(Ordering::Relaxed), everything.load(Ordering::Relaxed));
        on_progress.as_ref().map_or(Ok(()), |f| f.call1(py, numbers).map(drop))
    };
    let options = Options { source, threads };
    let work = || work(&paths, &lake, &options, &progress, &everything);
    to_json(&match watched(py, &progress, tell, work)? {
        Ok(files) => json!({ "files": files }),
        Err(refusal) => json!({ "refused": refusal }),
    })
}

fn work(
    paths: &[PathBuf],
    lake: &Path,
    options: &Options,
    progress: &Progress,
    everything: &AtomicU64,
) -> Result<Vec<FileReport>, Refusal> {
    let lake = Lake::open(lake)?;
    let files = sources(paths, lake.root())?;
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |about| about.len());
    everything.store(files.iter().map(|file| size(&file.path)).sum(), Ordering::Relaxed);
    ingest(&lake, &files, options, progress)
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(ingest_paths, module)?)
}
