//! Files written piece by piece, any number at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes kept before they are written.
const ENOUGH: usize = 1 << 16;

/// A file that is open only while a piece is written to it: a run of thousands of flows has more files than a process may
/// have open.
///
/// The first failure is kept for [`finish`](Self::finish), and nothing is written after it.
#[derive(Debug)]
pub(super) struct Spool {
    path: PathBuf,
    kept: Vec<u8>,
    failure: Option<String>,
}

impl Spool {
    /// An empty file, in the place of one that was there.
    pub(super) fn new(path: PathBuf) -> Result<Spool, String> {
        File::create(&path).map_err(|e| unwritable(&path, &e))?;
        Ok(Spool { path, kept: Vec::new(), failure: None })
    }

    /// A folder, made if it is not there.
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

    /// Writes what is left; tells what failed first.
    pub(super) fn finish(mut self) -> Result<(), String> {
        self.write_out();
        self.failure.map_or(Ok(()), Err)
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
