//! Files that are written piece by piece, any number of them at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The number of bytes that are buffered before they are written.
const ENOUGH: usize = 1 << 16;

/// A file that is open only while a piece is written to it. A run of thousands of flows has more files than a process
/// may have open.
///
/// The first failure is kept for [`finish`](Self::finish); after it nothing is written.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    kept: Vec<u8>,
    failure: Option<String>,
}

impl Spool {
    /// Creates an empty file, or empties an existing one.
    pub(super) fn new(path: PathBuf) -> Result<Spool, String> {
        File::create(&path).map_err(|e| unwritable(&path, &e))?;
        Ok(Spool { path, kept: Vec::new(), failure: None })
    }

    /// A folder; it is created if it does not exist.
    pub(super) fn folder(path: &Path) -> Result<(), String> {
        std::fs::create_dir_all(path).map_err(|e| unwritable(path, &e))
    }

    fn write_out(&mut self) {
        if self.failure.is_none() {
            let file = OpenOptions::new().append(true).open(&self.path);
            if let Err(e) = file.and_then(|mut file| file.write_all(&self.kept)) {
                self.failure = Some(unwritable(&self.path, &e));
            }
        }
        self.kept.clear();
    }

    /// Writes the rest; reports the first failure.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.write_out();
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// A stack keeps its file to its end, and reads no result from it.
impl Drop for Spool {
    fn drop(&mut self) {
        if !self.kept.is_empty() {
            self.write_out();
        }
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() >= ENOUGH {
            self.write_out();
        }
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}
