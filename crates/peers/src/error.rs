//! Errors, each with its place.

use std::fmt;

/// A failure: where it happened and what happened there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    place: String,
    what: String,
}

impl Error {
    /// `place` is a file, an address or a step; `what` says what is wrong there and, if it is known, the remedy.
    pub fn new(place: impl fmt::Display, what: impl fmt::Display) -> Error {
        Error { place: place.to_string(), what: what.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for Error {}
