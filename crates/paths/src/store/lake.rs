//! The folder of a lake.

use super::parts::Table;
use super::refusal::Refusal;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The format of lakes that this version writes and reads.
pub const FORMAT: u32 = 2;

/// A lake that this process alone writes to.
#[derive(Debug)]
pub struct Lake {
    root: PathBuf,
    /// The lock, held while the process writes; the system releases it if the process is killed.
    _lock: File,
}

/// The content of `lake.json`.
#[derive(Deserialize)]
struct About {
    format: u32,
}

/// The fields that an entry of the ledger must contain.
#[derive(Deserialize)]
pub(super) struct Known {
    pub digest: String,
    pub source: String,
    /// The format of its parts.
    #[serde(default)]
    pub format: u32,
    #[serde(default)]
    pub parts: Vec<String>,
}

impl Lake {
    /// Opens a lake to write to it, makes it if there is none, and removes what an ingest left behind that was killed.
    ///
    /// # Errors
    /// If the folder holds something else, is of a newer format, is being written to, or cannot be written to.
    pub fn open(root: &Path) -> Result<Lake, Refusal> {
        let about = root.join("lake.json");
        if !about.exists() {
            Lake::begin(root)?;
        }
        let format = check(&about)?;
        let lock = Lake::lock(root)?;
        if format < FORMAT {
            replace(&about, about_text().as_bytes())?;
        }
        let lake = Lake { root: root.to_owned(), _lock: lock };
        lake.sweep()?;
        Ok(lake)
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn begin(root: &Path) -> Result<(), Refusal> {
        make_folder(root)?;
        let mut inside = fs::read_dir(root).map_err(|e| Refusal::system(root, &e))?;
        // A lake whose making was cut short has its lock or its first file's temporary name.
        if inside.any(|entry| entry.is_ok_and(|e| !e.file_name().as_encoded_bytes().starts_with(b"."))) {
            return Err(Refusal::new(
                root,
                "is a folder of other things, without a lake.json",
                "an empty folder, the path of none yet, or a lake",
            ));
        }
        replace(&root.join("lake.json"), about_text().as_bytes())
    }

    fn lock(root: &Path) -> Result<File, Refusal> {
        let path = root.join(".lock");
        let file = File::create(&path).map_err(|e| Refusal::system(&path, &e))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => {
                Err(Refusal::new(root, "another ingest is writing to this lake", "to wait until it has ended"))
            }
            Err(TryLockError::Error(e)) => Err(Refusal::system(&path, &e)),
        }
    }

    /// Where the parts of a file are written.
    pub(super) fn unfinished(&self) -> PathBuf {
        self.root.join("unfinished")
    }

    pub(super) fn entry_path(&self, digest: &str) -> PathBuf {
        self.root.join("ingested").join(format!("{digest}.json"))
    }

    /// The ledger's entry of the file with this digest, if there is one.
    ///
    /// # Errors
    /// If its entry cannot be read.
    pub(super) fn known(&self, digest: &str) -> Result<Option<Known>, Refusal> {
        let path = self.entry_path(digest);
        let right = "the entry as it was written; without it, the file that it tells of can be ingested again";
        match fs::read(&path) {
            Ok(bytes) => match serde_json::from_slice::<Known>(&bytes) {
                Ok(known) if known.digest == digest => Ok(Some(known)),
                Ok(_) => Err(Refusal::new(&path, "is the entry of another file", right)),
                Err(e) => Err(Refusal::new(&path, format!("is no entry of the ledger: {e}"), right)),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Refusal::new(&path, format!("cannot be read: {e}"), right)),
        }
    }

    /// Whether all parts of a file are there, were written to their end and have the columns of this format.
    pub(super) fn is_whole(&self, known: &Known) -> bool {
        known.format == FORMAT && known.parts.iter().all(|part| ends_as_parquet(&self.root.join(part)).unwrap_or(false))
    }

    /// Removes the Parquet files that belong to no file in the ledger.
    fn sweep(&self) -> Result<(), Refusal> {
        let unfinished = self.unfinished();
        match fs::remove_dir_all(&unfinished) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(Refusal::system(&unfinished, &e)),
            _ => {}
        }
        let ingested = self.root.join("ingested");
        make_folder(&ingested)?;
        let mut known = BTreeSet::new();
        for path in list(&ingested)? {
            if is_temporary(&path) {
                fs::remove_file(&path).map_err(|e| Refusal::system(&path, &e))?;
            } else if path.extension().is_some_and(|e| e == "json") {
                known.insert(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
            }
        }
        make_folder(&self.root.join(Table::Traces.name()))?;
        for table in Table::ALL {
            self.sweep_table(&self.root.join(table.name()), &known)?;
        }
        Ok(())
    }

    fn sweep_table(&self, table: &Path, known: &BTreeSet<String>) -> Result<(), Refusal> {
        for source in list(table)? {
            for day in list(&source)? {
                for part in list(&day)? {
                    if part_of(&part).is_some_and(|digest| !known.contains(digest)) {
                        fs::remove_file(&part).map_err(|e| Refusal::system(&part, &e))?;
                    }
                }
                remove_if_empty(&day);
            }
            remove_if_empty(&source);
        }
        Ok(())
    }
}

/// The digest of the file that a part belongs to, if this is the name of a part.
fn part_of(path: &Path) -> Option<&str> {
    let (digest, number) = path.file_name()?.to_str()?.strip_suffix(".parquet")?.split_once('-')?;
    let is_part = digest.len() == 64 && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_part.then_some(digest)
}

/// Whether a file ends with Parquet's magic number, as a whole one does (Parquet's README, section "File format").
fn ends_as_parquet(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut end = [0; 4];
    file.seek(SeekFrom::End(-4))?;
    file.read_exact(&mut end)?;
    Ok(&end == b"PAR1")
}

/// The content of `lake.json`.
fn about_text() -> String {
    format!("{{\n \"format\": {FORMAT},\n \"what\": \"traceroutes, a row each; see docs/reference/traces.md\"\n}}\n")
}

/// The format of a lake, which this version knows.
fn check(about: &Path) -> Result<u32, Refusal> {
    let right = "a lake that this version of haltere wrote";
    let bytes = fs::read(about).map_err(|e| Refusal::new(about, format!("cannot be read: {e}"), right))?;
    let said: About = serde_json::from_slice(&bytes)
        .map_err(|e| Refusal::new(about, format!("does not say which format the lake has: {e}"), right))?;
    if (1..=FORMAT).contains(&said.format) {
        return Ok(said.format);
    }
    let problem = format!("the lake has format {}, this version of haltere knows formats 1 to {FORMAT}", said.format);
    Err(Refusal::new(about, problem, "the version of haltere that wrote it, or a newer one"))
}

/// The entries of a folder in the order of their names; none if it is a file.
fn list(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let told = |e: io::Error| Refusal::system(folder, &e);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(told)? {
        paths.push(entry.map_err(told)?.path());
    }
    paths.sort();
    Ok(paths)
}

pub(super) fn make_folder(folder: &Path) -> Result<(), Refusal> {
    fs::create_dir_all(folder).map_err(|e| Refusal::system(folder, &e))
}

/// Removes a folder if it is empty and not in use.
pub(super) fn remove_if_empty(folder: &Path) {
    let _ = fs::remove_dir(folder);
}

const TEMPORARY: &str = ".writing-";

fn is_temporary(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(TEMPORARY.as_bytes()))
}

/// Writes a file so that it is there completely or not at all.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!("{TEMPORARY}{name}"));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(&temporary, path)
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&temporary);
        Refusal::system(path, &e)
    })
}
