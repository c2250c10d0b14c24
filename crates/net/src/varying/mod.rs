//! Links that change with time: rates and delays as functions of time, and outages. All are known in advance, so the
//! departure of a packet is known when it arrives.

mod orbit;
mod outage;
mod profile;
mod supply;

pub use orbit::{GEOSTATIONARY_KM, Orbit, bent_pipe, slant_range_km};
pub use outage::{InOutage, Outages, Period};
pub use profile::{Between, Profile};
pub use supply::Supply;

use std::fmt;

/// An error in a function of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VaryingError {
    /// Its field, such as `at`.
    pub field: &'static str,
    /// The problem, and the value that would be right.
    pub message: String,
}

impl VaryingError {
    pub(crate) fn new(field: &'static str, message: impl Into<String>) -> VaryingError {
        VaryingError { field, message: message.into() }
    }
}

impl fmt::Display for VaryingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}
impl std::error::Error for VaryingError {}
