//! Statistics of comparisons: intervals, paired tests, the verdict with its words, and what persons would notice.
//!
//! The Python package calls them through the extension module and the playground through its WebAssembly module, so that
//! both show the same digits. Every function is pure, and its numbers do not depend on the platform.

mod interval;
mod noticed;
mod pairs;
pub mod plain;
mod ranking;
pub mod student;
mod trimmed;
mod verdict;

pub use interval::{Interval, SAME, TOO_FEW, Unusable, mean};
pub use noticed::{Kind, Looked, noticed};
pub use pairs::{Paired, Replications, holm, holm_risks};
pub use ranking::{ALIKE, Lead, Side, leads, replications_needed, side};
pub use trimmed::{EXACT, p_of_shift, trimmed_mean, trimmed_middle, typical};
pub use verdict::{Better, Verdict};
