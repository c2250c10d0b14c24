//! Does long work without the interpreter, and reports progress at intervals.

use haltere_paths::count::Progress;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::Duration;

/// How often progress is reported.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Does `work` while the interpreter is free, and calls `tell` at intervals. An exception there, or a signal such as
/// Ctrl-C, asks the work to stop and is raised once it has.
pub(super) fn watched<T: Send>(
    py: Python<'_>,
    progress: &Progress,
    tell: impl Fn(Python<'_>) -> PyResult<()> + Sync,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let tell = || Python::attach(|py| py.check_signals().and_then(|()| tell(py)));
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, wait) = mpsc::channel();
            scope.spawn(move || done.send(work()));
            let mut told = Ok(());
            loop {
                match wait.recv_timeout(TELL_EVERY) {
                    Ok(result) => return told.map(|()| result),
                    // The work has panicked, which the scope makes known.
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return told.and_then(|()| Err(PyRuntimeError::new_err("the work ended without a result")));
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) if told.is_ok() => {
                        told = tell();
                        progress.cancelled.store(told.is_err(), Ordering::Relaxed);
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                }
            }
        })
    })
}
