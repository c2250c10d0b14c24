//! Why a lake cannot be used, and what would be right.

use parquet::errors::ParquetError;
use serde::Serialize;
use std::fmt;
use std::io;
use std::path::Path;

/// Why a lake cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The file or folder, or the option.
    pub place: String,
    /// The fault of the place.
    pub problem: String,
    /// The remedy.
    pub right: String,
}

impl Refusal {
    pub(super) fn new(place: &Path, problem: impl Into<String>, right: impl Into<String>) -> Refusal {
        Refusal { place: place.display().to_string(), problem: problem.into(), right: right.into() }
    }

    /// The operating system refused to create, write or rename a file.
    pub fn system(place: &Path, error: &io::Error) -> Refusal {
        let right = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "room on the disk; what was finished is there, and the same command goes on"
            }
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "a folder that this user may write to"
            }
            io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => "the path of a folder, or of none yet",
            _ => "a folder on a disk that works; what was finished is there, and the same command goes on",
        };
        Refusal::new(place, format!("cannot be written: {error}"), right)
    }

    /// The writer of Parquet refused to write a file.
    pub(super) fn parquet(place: &Path, error: &ParquetError) -> Refusal {
        let io = match error {
            ParquetError::External(source) => source.downcast_ref::<io::Error>(),
            _ => None,
        };
        io.map_or_else(
            || {
                Refusal::new(
                    place,
                    format!("cannot be written: {error}"),
                    "please report it: this is a fault of haltere's",
                )
            },
            |io| Refusal::system(place, io),
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  right: {}", self.place, self.problem, self.right)
    }
}

impl std::error::Error for Refusal {}
