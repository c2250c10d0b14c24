//! What passes between a stack and its congestion controller, counted on the way.
//!
//! Stacks keep RTT samples, bytes in flight and the controller's state to themselves; the controller is the one place
//! where they can be seen. The stack owns it behind a trait that wants `Sync`, so the figures stand in atomic cells:
//! there is one writer, and no order between cells matters.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
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
    damaged: AtomicU64,
    window: AtomicU64,
    ssthresh: AtomicU64,
    pacing: AtomicU64,
}

/// Reads and writes the figures.
#[derive(Clone, Default, Debug)]
pub(crate) struct Meter(Arc<Cells>);

fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Meter {
    /// `bytes` were sent.
    #[inline]
    pub fn sent(&self, bytes: u64) {
        add(&self.0.in_flight, bytes);
    }
    /// The acknowledgements of one frame are through: so much is in flight, and the newest packet took so long.
    #[inline]
    pub fn acknowledged(&self, in_flight: u64, rtt: Option<Duration>) {
        self.0.in_flight.store(in_flight, Relaxed);
        if let Some(rtt) = rtt {
            let ns = rtt.as_nanos() as u64;
            add(&self.0.rtt_sum, ns);
            add(&self.0.rtt_samples, 1);
            self.0.rtt_last.store(ns, Relaxed);
            let least = self.0.rtt_min.load(Relaxed);
            if least == 0 || ns < least {
                self.0.rtt_min.store(ns, Relaxed);
            }
        }
    }
    /// `bytes` were given up for lost.
    pub fn lost(&self, bytes: u64, persistent: bool) {
        let left = self.0.in_flight.load(Relaxed).saturating_sub(bytes);
        self.0.in_flight.store(left, Relaxed);
        add(&self.0.persistent, u64::from(persistent));
    }
    /// A packet could not be opened.
    pub fn damaged(&self) {
        add(&self.0.damaged, 1);
    }
    /// The controller's window, threshold and pacing rate (bytes, bytes, bit/s) after an event.
    #[inline]
    pub fn control(&self, window: u64, ssthresh: Option<u64>, pacing: Option<u64>) {
        self.0.window.store(window, Relaxed);
        self.0.ssthresh.store(ssthresh.unwrap_or(u64::MAX), Relaxed);
        self.0.pacing.store(pacing.unwrap_or(0), Relaxed);
    }

    pub fn in_flight(&self) -> u64 {
        self.0.in_flight.load(Relaxed)
    }
    /// Sum in ns and number of the RTT samples, and the last and least of them in ns, if there are any.
    pub fn rtt(&self) -> Option<(u64, u64, u64, u64)> {
        let samples = self.0.rtt_samples.load(Relaxed);
        let read = |cell: &AtomicU64| cell.load(Relaxed);
        (samples > 0).then(|| (read(&self.0.rtt_sum), samples, read(&self.0.rtt_last), read(&self.0.rtt_min)))
    }
    /// Packets that could not be opened.
    pub fn damages(&self) -> u64 {
        self.0.damaged.load(Relaxed)
    }
    pub fn persistent(&self) -> u64 {
        self.0.persistent.load(Relaxed)
    }
    /// Window, threshold (`u64::MAX` for none) and pacing rate (0 for none).
    pub fn controls(&self) -> (u64, u64, u64) {
        (self.0.window.load(Relaxed), self.0.ssthresh.load(Relaxed), self.0.pacing.load(Relaxed))
    }
}
