//! Why a kernel cannot be started, or its run has ended.

use std::fmt;

/// A deed of a kernel that no sound kernel does. It ends the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault(pub &'static str);

/// Why a kernel cannot be started, or why its run has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// It cannot be started: the thing that is missing, with the remedy.
    Missing(String),
    /// A program inside does not do its part: which, how, with its last lines.
    Program(String),
    /// A system call for it failed.
    Host(String),
    /// It has died: how, with the last lines of its console.
    Died(String),
    /// It did not wait within the limit on the machine's clock, with the last lines of its console.
    Hangs(String),
    /// It or the program inside broke a protocol, with the last lines of its console.
    Broken(&'static str, String),
}

impl Error {
    pub(crate) fn host(what: &str, why: impl fmt::Display) -> Error {
        Error::Host(format!("cannot {what}: {why}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, console) = match self {
            Error::Missing(what) | Error::Host(what) | Error::Program(what) => return f.write_str(what),
            Error::Died(how) => return write!(f, "a kernel has died: {how}"),
            Error::Hangs(console) => ("a kernel gave no answer for too long and was ended", console),
            Error::Broken(what, console) => {
                write!(f, "a kernel or the program inside it cannot be trusted: {what}")?;
                return if console.is_empty() { Ok(()) } else { write!(f, "; its console ends with: {console}") };
            }
        };
        match console.as_str() {
            "" => write!(f, "{what}; its console is empty"),
            console => write!(f, "{what}; its console ends with: {console}"),
        }
    }
}

impl std::error::Error for Error {}
