//! Errors before or around a run.

use std::fmt;

/// A specification that cannot be carried out, or a system call that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostError {
    /// Where: the path of a field (`flows[0].congestion`), or empty if no field is to blame.
    pub path: String,
    /// The problem, and the value that would be right.
    pub message: String,
}

impl HostError {
    pub(crate) fn at(path: impl Into<String>, message: impl Into<String>) -> HostError {
        HostError { path: path.into(), message: message.into() }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.path, self.message) }
    }
}

impl std::error::Error for HostError {}

/// Reads a specification; an error carries the field's path.
pub(crate) fn parse<'a, T: serde::Deserialize<'a>>(json: &'a str) -> Result<T, HostError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut reader).map_err(|e| {
        let path = e.path().to_string();
        let path = if path == "." { String::new() } else { path };
        HostError::at(path, e.into_inner().to_string())
    })
}

/// Says what a system call was for, and why it failed.
#[cfg(target_os = "linux")]
pub(crate) trait Context<T> {
    /// Turns the error into one at `path` that says what could not be done.
    fn doing(self, path: &str, what: impl FnOnce() -> String) -> Result<T, HostError>;
}

#[cfg(target_os = "linux")]
impl<T, E: Into<std::io::Error>> Context<T> for Result<T, E> {
    fn doing(self, path: &str, what: impl FnOnce() -> String) -> Result<T, HostError> {
        self.map_err(|e| HostError::at(path, format!("cannot {}: {}", what(), e.into())))
    }
}
