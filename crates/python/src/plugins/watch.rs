//! Which threads are inside of a call of a user's class, so that one that loops for ever can be ended (`haltere.plugins.watch`).

use pyo3::prelude::*;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A thread's number in Python, and how often it entered and left a call: odd while it is inside of one.
type Counted = (u64, Arc<AtomicU64>);

static THREADS: Mutex<Vec<Counted>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: OnceCell<Arc<AtomicU64>> = const { OnceCell::new() };
}

/// A call of a user's class, from its begin to its end.
pub(super) struct Inside(Arc<AtomicU64>);

impl Inside {
    pub(super) fn call(py: Python<'_>) -> Inside {
        let own = OWN.with(|own| own.get_or_init(|| counted(py)).clone());
        own.fetch_add(1, Ordering::Relaxed);
        Inside(own)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A count for this thread. Those of threads that ended are let go.
fn counted(py: Python<'_>) -> Arc<AtomicU64> {
    let count = Arc::new(AtomicU64::new(0));
    let number = py.import("threading").and_then(|threading| threading.call_method0("get_ident")?.extract());
    let mut threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    threads.retain(|(_, count)| Arc::strong_count(count) > 1);
    if let Ok(number) = number {
        threads.push((number, count.clone()));
    }
    count
}

/// The threads that are inside of a call of a user's class: their numbers, each with a count that changes when the call ends.
#[pyfunction]
pub(super) fn plugin_calls() -> Vec<(u64, u64)> {
    let threads = THREADS.lock().unwrap_or_else(PoisonError::into_inner);
    let counts = threads.iter().map(|(number, count)| (*number, count.load(Ordering::Relaxed)));
    counts.filter(|(_, count)| count % 2 == 1).collect()
}
