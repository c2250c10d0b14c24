//! What happened on the medium of a cell.

use crate::time::Span;

/// The counters of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CellCounters {
    /// Transmissions of data: single frames and aggregates.
    pub transmissions: u64,
    /// Frames in them.
    pub frames: u64,
    /// How many of these had been sent before.
    pub retries: u64,
    /// Times at which several stations began to send together.
    pub collisions: u64,
    /// Transmissions that were lost so.
    pub collided: u64,
    /// Frames that were dropped because the retry limit was reached.
    pub given_up: u64,
    /// How long the medium carried frames or acknowledgements, with the space between the two.
    pub busy: Span,
}
