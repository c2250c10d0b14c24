//! Reads files of traceroutes into a lake, and writes files of generated ones.

use super::watch::watched;
use crate::to_json;
use haltere_paths::calendar::Day;
use haltere_paths::count::Progress;
use haltere_paths::generate::{self, Kind, Profile, Wanted};
use haltere_paths::store::{FileReport, Lake, Options, Refusal, ingest, sources};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads files and folders into a lake, `threads` files at once; `on_progress` is called with the bytes read so far and
/// all bytes. Returns the outcome of each file, or why the lake cannot be used.
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

/// Writes files of generated traces, one a monitor and day; `on_progress` is called with the traces written so far and
/// all traces. Returns the files' paths, or why they cannot be written.
#[pyfunction]
#[pyo3(signature = (folder, kind, traces, seed, monitors, start, days, *, ipv6, threads = 1, on_progress = None))]
#[expect(clippy::too_many_arguments, clippy::fn_params_excessive_bools, reason = "Python's keywords")]
fn generate_paths(
    py: Python<'_>,
    folder: PathBuf,
    kind: &str,
    traces: u64,
    seed: u64,
    monitors: u32,
    start: &str,
    days: u32,
    ipv6: bool,
    threads: usize,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let unknown = |what: &str| PyValueError::new_err(format!("{what:?} is not known"));
    let kind = Kind::named(kind).ok_or_else(|| unknown(kind))?;
    let start = Day::named(start).ok_or_else(|| unknown(start))?;
    let profile = Profile { v6: ipv6, ..Profile::default() };
    let wanted = Wanted { traces, seed, monitors, start, days, kind, profile };
    let (progress, made) = (Progress::default(), AtomicU64::new(0));
    let tell = |py: Python<'_>| {
        let numbers = (made.load(Ordering::Relaxed), traces);
        on_progress.as_ref().map_or(Ok(()), |f| f.call1(py, numbers).map(drop))
    };
    let work = || generate::files(&folder, &wanted, threads, &made, &progress.cancelled);
    to_json(&match watched(py, &progress, tell, work)? {
        Ok(files) => json!({ "files": files }),
        Err(e) => json!({ "refused": Refusal::system(&folder, &e) }),
    })
}

pub(super) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(generate_paths, module)?)?;
    module.add_function(wrap_pyfunction!(ingest_paths, module)?)
}
