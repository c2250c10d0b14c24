//! The ledger's entry of a file that was ingested.

use crate::count::{Counts, Lost};
use serde::Serialize;
use std::collections::BTreeMap;

/// How many monitors are counted by name; the traces of further ones are counted together.
const MONITORS: usize = 1 << 16;

/// An entry of the ledger: one file, what it held, and the Parquet files that hold it now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The format of the lake.
    pub format: u32,
    /// BLAKE3 of the file's bytes, hexadecimal.
    pub digest: String,
    /// The file's name when it was read.
    pub name: String,
    /// Its size as it was stored, bytes.
    pub bytes: u64,
    /// The platform that measured.
    pub source: String,
    /// The file's format.
    pub kind: &'static str,
    /// How it was compressed.
    pub compression: &'static str,
    /// Its counts, as `haltere paths count` gives them.
    #[serde(flatten)]
    pub counts: Counts,
    /// Multipath measurements.
    pub multipaths: u64,
    /// Links that they found: rows of the lake.
    pub links: u64,
    /// Records that were neither and are not kept.
    pub other_records: u64,
    /// The first damaged records.
    pub damage: Vec<Lost>,
    /// Traces of each monitor.
    pub monitors: BTreeMap<String, u64>,
    /// Number of traces of the other monitors.
    pub other_monitors: u64,
    /// Rows written, of each day.
    pub days: BTreeMap<String, u64>,
    /// Rows written.
    pub rows: u64,
    /// The files of Parquet, below the lake's folder.
    pub parts: Vec<String>,
}

impl Entry {
    /// Counts a trace of this monitor.
    pub(super) fn count_monitor(&mut self, monitor: &str) {
        if let Some(n) = self.monitors.get_mut(monitor) {
            *n += 1;
        } else if self.monitors.len() < MONITORS {
            self.monitors.insert(monitor.to_owned(), 1);
        } else {
            self.other_monitors += 1;
        }
    }

    /// Whether each trace is in one class, in one row and of one monitor.
    pub fn adds_up(&self) -> bool {
        let Counts { traces, classes, .. } = &self.counts;
        let classes = classes.clean + classes.incomplete + classes.toolong + classes.looped + classes.repeat;
        let monitors = self.monitors.values().sum::<u64>() + self.other_monitors;
        let days = self.days.values().sum::<u64>();
        [classes, self.rows, monitors, days].iter().all(|n| n == traces)
    }
}
