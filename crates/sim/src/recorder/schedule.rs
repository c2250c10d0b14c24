//! Which path of a connection carried which data when.

use haltere_net::{PathId, Time};
use std::collections::BTreeMap;

/// Data that a packet carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried {
    /// When it was sent.
    pub at: Time,
    /// On which path.
    pub path: PathId,
    /// The stream of the data.
    pub stream: u64,
    /// The position of its first byte.
    pub start: u64,
    /// Bytes.
    pub len: u32,
    /// Whether it was sent before.
    pub again: bool,
}

/// The packets that each process sent, in the order of sending. Connections with a single path have no schedule.
#[derive(Clone, Default, Debug)]
pub struct Schedules {
    by_process: BTreeMap<u32, Vec<Carried>>,
}

impl Schedules {
    /// A packet of a process carries data.
    pub fn add(&mut self, process: u32, carried: Carried) {
        self.by_process.entry(process).or_default().push(carried);
    }

    /// The packets that a process sent.
    pub fn of(&self, process: u32) -> &[Carried] {
        self.by_process.get(&process).map_or(&[], Vec::as_slice)
    }
}
