//! One processor for a kernel and the thread that drives it. Only one of the two ever runs, and each hands over to the other some
//! hundred thousand times a second: on one processor that is nearly three times as fast as on two.

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The thread that drives kernels stays on one processor as long as this lives.
#[derive(Debug)]
pub(crate) struct Pin {
    thread: Pid,
    before: CpuSet,
    cpu: usize,
}

static PINS: Mutex<BTreeMap<i32, Weak<Pin>>> = Mutex::new(BTreeMap::new());

/// Keeps the calling thread on one processor; kernels that it starts meanwhile run there, too. `None` if the host does not let it.
pub(crate) fn here() -> Option<Arc<Pin>> {
    let thread = gettid();
    let mut pins = PINS.lock().unwrap_or_else(PoisonError::into_inner);
    pins.retain(|_, pin| pin.strong_count() > 0);
    if let Some(pin) = pins.get(&thread.as_raw_pid()).and_then(Weak::upgrade) {
        return Some(pin);
    }
    let before = sched_getaffinity(None).ok()?;
    let used: Vec<usize> = pins.values().filter_map(Weak::upgrade).map(|pin| pin.cpu).collect();
    let free = |cpu: &usize| before.is_set(*cpu) && !used.contains(cpu);
    let own = sched_getcpu();
    let cpu = Some(own).filter(free).or_else(|| (0..CpuSet::MAX_CPU).find(free)).unwrap_or(own);
    sched_setaffinity(None, &one(cpu)).ok()?;
    let pin = Arc::new(Pin { thread, before, cpu });
    pins.insert(thread.as_raw_pid(), Arc::downgrade(&pin));
    Some(pin)
}

fn one(cpu: usize) -> CpuSet {
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    cpus
}

/// The processor to which the calling thread is pinned.
pub(crate) fn cpus() -> Option<CpuSet> {
    let pins = PINS.lock().unwrap_or_else(PoisonError::into_inner);
    pins.get(&gettid().as_raw_pid()).and_then(Weak::upgrade).map(|pin| one(pin.cpu))
}

impl Drop for Pin {
    fn drop(&mut self) {
        // It fails if the thread has ended.
        let _ = sched_setaffinity(Some(self.thread), &self.before);
    }
}
