//! Counts the events between a stack and its congestion controller.
//!
//! Stacks keep RTT samples, bytes in flight and the controller's state to themselves; the controller is the one place
//! where they can be seen. The stack owns it behind a trait that wants `Sync`, so the figures stand in atomic cells:
//! there is one writer, and no order between cells matters.
//!
//! A stack makes the controller of a path without saying which path it is. So the adapter says beforehand which path the
//! stack is about to work on ([`Meter::turn_to`]).

use crate::config::Config;
use haltere_net::control::PathModel;
use haltere_transport::endpoint::Rtts;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Figures of one path; all zero before the first event.
#[derive(Default, Debug)]
pub(crate) struct Cells {
    in_flight: AtomicU64,
    rtt_sum: AtomicU64,
    rtt_samples: AtomicU64,
    rtt_last: AtomicU64,
    rtt_min: AtomicU64,
    persistent: AtomicU64,
    window: AtomicU64,
    ssthresh: AtomicU64,
    pacing: AtomicU64,
    model: Mutex<Option<PathModel>>,
    /// `None` if the distribution was not asked for.
    rtts: Option<Mutex<Rtts>>,
}

/// The figures of a connection.
#[derive(Debug)]
struct Shared {
    damaged: AtomicU64,
    /// The path that the stack works on.
    current: AtomicUsize,
    paths: Box<[Cells]>,
}

/// Reads and writes the figures of one path of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    shared: Arc<Shared>,
    path: usize,
}

impl Default for Meter {
    fn default() -> Meter {
        Meter::with(1, Cells::default)
    }
}

fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Meter {
    /// The meter of the first of so many paths of an end that is set up so.
    pub fn new(paths: usize, config: &Config) -> Meter {
        Meter::with(paths, || Cells { rtts: config.rtts.then(Mutex::default), ..Cells::default() })
    }

    fn with(paths: usize, cells: impl Fn() -> Cells) -> Meter {
        let paths = (0..paths.max(1)).map(|_| cells()).collect();
        Meter { shared: Arc::new(Shared { damaged: AtomicU64::new(0), current: AtomicUsize::new(0), paths }), path: 0 }
    }
    /// The meter of a path; that of the first, if the connection has no such path.
    pub fn of(&self, path: usize) -> Meter {
        let path = if path < self.shared.paths.len() { path } else { 0 };
        Meter { shared: self.shared.clone(), path }
    }
    /// The number of its path.
    pub fn path(&self) -> u8 {
        self.path as u8
    }
    /// Number of paths.
    pub fn paths(&self) -> usize {
        self.shared.paths.len()
    }
    /// The stack works on this path from now on.
    pub fn turn_to(&self, path: usize) {
        self.shared.current.store(path, Relaxed);
    }
    /// The meter of the path that the stack works on.
    pub fn current(&self) -> Meter {
        self.of(self.path_in_hand())
    }
    /// The number of that path.
    pub fn path_in_hand(&self) -> usize {
        self.shared.current.load(Relaxed)
    }
    #[inline]
    fn cells(&self) -> &Cells {
        debug_assert!(self.path < self.shared.paths.len(), "`of` sees to it");
        &self.shared.paths[self.path]
    }
    /// `bytes` were sent.
    #[inline]
    pub fn sent(&self, bytes: u64) {
        add(&self.cells().in_flight, bytes);
    }
    /// The acknowledgements of one frame are through: so much is in flight, and the newest packet took so long.
    #[inline]
    pub fn acknowledged(&self, in_flight: u64, rtt: Option<Duration>) {
        self.cells().in_flight.store(in_flight, Relaxed);
        if let Some(rtt) = rtt {
            let ns = rtt.as_nanos() as u64;
            add(&self.cells().rtt_sum, ns);
            add(&self.cells().rtt_samples, 1);
            if let Some(rtts) = &self.cells().rtts {
                rtts.lock().unwrap_or_else(PoisonError::into_inner).add(ns, 1);
            }
            self.cells().rtt_last.store(ns, Relaxed);
            let least = self.cells().rtt_min.load(Relaxed);
            if least == 0 || ns < least {
                self.cells().rtt_min.store(ns, Relaxed);
            }
        }
    }
    /// `bytes` were given up for lost, so often in persistent congestion.
    pub fn lost(&self, bytes: u64, persistent: u64) {
        let left = self.cells().in_flight.load(Relaxed).saturating_sub(bytes);
        self.cells().in_flight.store(left, Relaxed);
        add(&self.cells().persistent, persistent);
    }
    /// A packet could not be opened.
    pub fn damaged(&self) {
        add(&self.shared.damaged, 1);
    }
    /// The controller's window, threshold and pacing rate (bytes, bytes, bit/s) after an event.
    #[inline]
    pub fn control(&self, window: u64, ssthresh: Option<u64>, pacing: Option<u64>) {
        self.cells().window.store(window, Relaxed);
        self.cells().ssthresh.store(ssthresh.unwrap_or(u64::MAX), Relaxed);
        self.cells().pacing.store(pacing.unwrap_or(0), Relaxed);
    }

    /// The controller's model of the path after an event, if it is a BBR of ours.
    pub fn model_is(&self, model: Option<PathModel>) {
        *self.cells().model.lock().unwrap_or_else(PoisonError::into_inner) = model;
    }
    /// That model.
    pub fn model(&self) -> Option<PathModel> {
        *self.cells().model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn in_flight(&self) -> u64 {
        self.cells().in_flight.load(Relaxed)
    }
    /// The last RTT sample in ns; 0 if there was none.
    pub fn last_rtt(&self) -> u64 {
        self.cells().rtt_last.load(Relaxed)
    }
    /// Sum in ns and number of the RTT samples of all paths, and the least of them in ns, if there are any.
    pub fn rtt(&self) -> Option<(u64, u64, u64)> {
        let read = |cell: &AtomicU64| cell.load(Relaxed);
        let sampled = self.shared.paths.iter().filter(|cells| read(&cells.rtt_samples) > 0);
        let all = sampled.map(|cells| (read(&cells.rtt_sum), read(&cells.rtt_samples), read(&cells.rtt_min)));
        all.reduce(|a, b| (a.0 + b.0, a.1 + b.1, a.2.min(b.2)))
    }
    /// How the RTT samples of all paths are distributed, ns; `None` if it was not asked for.
    pub fn rtts(&self) -> Option<Box<Rtts>> {
        let each = self.shared.paths.iter().filter_map(|cells| cells.rtts.as_ref());
        each.map(|rtts| rtts.lock().unwrap_or_else(PoisonError::into_inner)).fold(None, |all, one| {
            let mut all = all.unwrap_or_else(Box::<Rtts>::default);
            all.merge(&one);
            Some(all)
        })
    }
    /// Packets that could not be opened.
    pub fn damages(&self) -> u64 {
        self.shared.damaged.load(Relaxed)
    }
    /// How often congestion was persistent, on all paths.
    pub fn persistent(&self) -> u64 {
        self.shared.paths.iter().map(|cells| cells.persistent.load(Relaxed)).sum()
    }
    /// Window, threshold (`u64::MAX` for none) and pacing rate (0 for none).
    pub fn controls(&self) -> (u64, u64, u64) {
        (self.cells().window.load(Relaxed), self.cells().ssthresh.load(Relaxed), self.cells().pacing.load(Relaxed))
    }
}
