//! Reads files of traceroutes into a lake.

use super::files::Source;
use super::lake::{FORMAT, Lake, make_folder, remove_if_empty, replace};
use super::ledger::Entry;
use super::links::Links;
use super::parts::{Bounds, Part, Parts, Table};
use super::refusal::Refusal;
use super::rows;
use crate::count::{Progress, TOLD, decoders};
use crate::input::{self, Format, Opened};
use crate::{Step, Trace, classify};
use serde::Serialize;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How files are ingested.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The platform that measured; if none is given, it follows from the file's format.
    pub source: Option<String>,
    /// Files read at once; if there are fewer, each is decoded by several.
    pub threads: usize,
}

/// The outcome of a file's ingest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Became {
    /// Its traces are in the lake now.
    Ingested,
    /// They were there already, perhaps from a file of another name.
    Known,
    /// It could not be read at all, or is no file of traceroutes.
    Unreadable,
}

/// The outcome of one file's ingest, and the entry of its contents.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The file, as it was named.
    pub file: String,
    /// The outcome.
    pub became: Became,
    /// Its entry, if it was ingested now.
    pub entry: Option<Entry>,
    /// A remark for the user.
    pub note: Option<String>,
}

/// Why a file is not in the lake.
enum Wrong {
    /// The file cannot be read.
    File(String),
    /// The lake cannot be written to.
    Lake(Refusal),
    /// It was cancelled.
    Cancelled,
}

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Wrong {
        Wrong::Lake(refusal)
    }
}

/// The state that all threads share.
struct Run<'a> {
    lake: &'a Lake,
    options: &'a Options,
    progress: &'a Progress,
    /// How many files there are.
    files: usize,
    bounds: Bounds,
    /// The first of the files that have these bytes.
    first: Mutex<HashMap<String, usize>>,
    /// Why no further file can be written.
    refusal: Mutex<Option<Refusal>>,
    stopped: AtomicBool,
}

/// Reads files into a lake, several at once; returns the outcome of each, in their order. Files that cannot be read are
/// skipped. After a cancellation the files that were finished are in the lake, and no others.
///
/// # Errors
/// If the lake cannot be written to, or the source's name cannot be that of a folder.
pub fn ingest(
    lake: &Lake,
    files: &[Source],
    options: &Options,
    progress: &Progress,
) -> Result<Vec<FileReport>, Refusal> {
    if let Some(name) = &options.source {
        check_name(name)?;
    }
    let run = Run {
        lake,
        options,
        progress,
        files: files.len(),
        bounds: Bounds::default(),
        first: Mutex::default(),
        refusal: Mutex::default(),
        stopped: AtomicBool::new(false),
    };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<FileReport>>> = Mutex::new(vec![None; files.len()]);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, files.len().max(1)) {
            scope.spawn(|| {
                while let index = next.fetch_add(1, Ordering::Relaxed)
                    && let Some(source) = files.get(index)
                    && let Some(report) = run.one(index, source)
                {
                    lock(&done)[index] = Some(report);
                    progress.files.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    remove_if_empty(&lake.unfinished());
    let mut reports: Vec<_> = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(refusal) = run.refusal.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(refusal);
    }
    let first = run.first.into_inner().unwrap_or_else(PoisonError::into_inner);
    call_as_first(lake, files, &first, &mut reports)?;
    Ok(reports.into_iter().flatten().collect())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the entry of a file the name of the first of several identical files. Any of these may have been ingested, and the
/// name must not depend on timing.
fn call_as_first(
    lake: &Lake,
    files: &[Source],
    first: &HashMap<String, usize>,
    reports: &mut [Option<FileReport>],
) -> Result<(), Refusal> {
    for entry in reports.iter_mut().flatten().filter_map(|r| r.entry.as_mut()) {
        let name = first.get(&entry.digest).and_then(|&index| files.get(index)).map(|source| &source.name);
        if let Some(name) = name.filter(|&name| *name != entry.name) {
            entry.name.clone_from(name);
            write_entry(lake, entry)?;
        }
    }
    Ok(())
}

fn check_name(name: &str) -> Result<(), Refusal> {
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    let fine = name.bytes().all(letters) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.len() <= 64;
    if fine {
        return Ok(());
    }
    let right = "up to 64 letters, digits, `.`, `_` and `-`, the first a letter or digit, such as ark";
    Err(Refusal {
        place: "--source".to_owned(),
        problem: format!("{name:?} names no platform"),
        right: right.to_owned(),
    })
}

impl Run<'_> {
    /// Ingests a file and returns the outcome; none if it was cancelled or the lake cannot be written to.
    fn one(&self, index: usize, source: &Source) -> Option<FileReport> {
        let file = source.path.display().to_string();
        let report = |became, entry, note| Some(FileReport { file, became, entry, note });
        if self.over() {
            return None;
        }
        match self.take_in(index, source) {
            Ok(Some(entry)) => report(Became::Ingested, Some(entry), None),
            Ok(None) => report(Became::Known, None, None),
            Err(Wrong::File(what)) => report(Became::Unreadable, None, Some(what)),
            Err(Wrong::Lake(refusal)) => {
                lock(&self.refusal).get_or_insert(refusal);
                self.stopped.store(true, Ordering::Relaxed);
                None
            }
            Err(Wrong::Cancelled) => None,
        }
    }

    fn over(&self) -> bool {
        self.progress.cancelled.load(Ordering::Relaxed) || self.stopped.load(Ordering::Relaxed)
    }

    /// Ingests a file; none if the lake has it already.
    fn take_in(&self, index: usize, source: &Source) -> Result<Option<Entry>, Wrong> {
        let told = |e: io::Error| Wrong::File(e.to_string());
        let mut file = if fs::metadata(&source.path).is_ok_and(|about| about.is_file()) {
            File::open(&source.path).map_err(told)?
        } else {
            self.spool(index, &source.path)?
        };
        let before = stamp(&file).map_err(told)?;
        let (digest, bytes) = self.digest(&mut file)?;
        let claimed = {
            let mut first = lock(&self.first);
            let claimed = first.get(&digest).copied();
            first.insert(digest.clone(), claimed.map_or(index, |other| other.min(index)));
            claimed.is_some()
        };
        let known = self.lake.known(&digest)?;
        let said_otherwise =
            known.as_ref().is_some_and(|k| self.options.source.as_ref().is_some_and(|s| *s != k.source));
        if claimed || said_otherwise || known.as_ref().is_some_and(|known| self.lake.is_whole(known)) {
            self.progress.bytes.fetch_add(bytes, Ordering::Relaxed);
            return match (known.map(|known| known.source), &self.options.source) {
                (Some(was), Some(said)) if was != *said => Err(Wrong::File(format!(
                    "its traces are in the lake already, as measured by {was}; remove {} to ingest them as {said}'s",
                    self.lake.entry_path(&digest).display(),
                ))),
                _ => Ok(None),
            };
        }
        // Parts that are missing or cut are made again, under the same names.
        let was = known.map(|known| known.source).unwrap_or_default();
        let entry = Entry { format: FORMAT, digest, name: source.name.clone(), bytes, source: was, ..Entry::default() };
        let staging = self.lake.unfinished().join(&entry.digest);
        let written = self.write(&file, before, entry, &staging, decoders(self.options.threads, self.files - index));
        // What is left there is of a file that was not finished.
        let _ = fs::remove_dir_all(&staging);
        written.map(Some)
    }

    /// Stores what comes from a pipe in a file, as it is read twice.
    fn spool(&self, index: usize, path: &Path) -> Result<File, Wrong> {
        let told = |e: io::Error| Wrong::File(e.to_string());
        let mut from: Box<dyn Read> =
            if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path).map_err(told)?) };
        make_folder(&self.lake.unfinished())?;
        let spool = self.lake.unfinished().join(format!("spool-{index}"));
        let refused = |e: io::Error| Wrong::Lake(Refusal::system(&spool, &e));
        let mut options = File::options();
        let mut file = options.read(true).write(true).create(true).truncate(true).open(&spool).map_err(refused)?;
        // The file lives as long as it is open.
        fs::remove_file(&spool).map_err(refused)?;
        let mut buffer = vec![0; 1 << 18];
        loop {
            if self.over() {
                return Err(Wrong::Cancelled);
            }
            match from.read(&mut buffer).map_err(told)? {
                0 => break,
                n => io::Write::write_all(&mut file, &buffer[..n]).map_err(refused)?,
            }
        }
        file.rewind().map_err(refused)?;
        Ok(file)
    }

    /// The digest of a file and its size, bytes; the file stands at its beginning again.
    fn digest(&self, file: &mut File) -> Result<(String, u64), Wrong> {
        let told = |e: io::Error| Wrong::File(e.to_string());
        let (mut hasher, mut bytes, mut buffer) = (blake3::Hasher::new(), 0, vec![0; 1 << 18]);
        loop {
            if self.over() {
                return Err(Wrong::Cancelled);
            }
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    hasher.update(&buffer[..n]);
                    bytes += n as u64;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(told(e)),
            }
        }
        file.rewind().map_err(told)?;
        Ok((hasher.finalize().to_hex().to_string(), bytes))
    }

    /// Reads a file, writes its parts, publishes them and makes the entry.
    fn write(
        &self,
        file: &File,
        before: Stamp,
        mut entry: Entry,
        staging: &Path,
        threads: usize,
    ) -> Result<Entry, Wrong> {
        let told = |e: io::Error| Wrong::File(e.to_string());
        let file_again = file.try_clone().map_err(told)?;
        let opened = input::open_file(file_again, &self.progress.bytes, threads).map_err(told)?;
        (entry.kind, entry.compression) = (opened.format.name(), opened.compression.name());
        make_folder(staging)?;
        let format = opened.format;
        let parts = self.read(opened, &mut entry, Parts::new(staging, self.bounds, threads)?, Links::new(staging))?;
        if stamp(file).map_err(told)? != before {
            return Err(Wrong::File("was written to while it was read; ingest it again when it is whole".to_owned()));
        }
        if let Some(source) = &self.options.source {
            entry.source.clone_from(source);
        } else if entry.source.is_empty() {
            entry.source = platform(format, &entry).to_owned();
        }
        for part in &parts {
            let day = part.day.map_or_else(|| "unknown".to_owned(), |day| day.to_string());
            entry.parts.push(format!(
                "{}/source={}/day={day}/{}-{}.parquet",
                part.table.name(),
                entry.source,
                entry.digest,
                part.number
            ));
            if part.table == Table::Multipath {
                entry.links += part.rows;
                continue;
            }
            *entry.days.entry(day).or_default() += part.rows;
            entry.rows += part.rows;
        }
        if !entry.adds_up() {
            let right = "please report it: this is a fault of haltere's";
            return Err(Wrong::Lake(Refusal::new(staging, "the counts of what was read and written differ", right)));
        }
        self.publish(&parts, &entry)?;
        Ok(entry)
    }

    /// Reads all traces of a file.
    fn read(&self, opened: Opened, entry: &mut Entry, mut parts: Parts, mut links: Links) -> Result<Vec<Part>, Wrong> {
        let Opened { mut reader, .. } = opened;
        let (mut trace, mut scratch) = (Trace::default(), String::new());
        loop {
            if self.over() {
                return Err(Wrong::Cancelled);
            }
            match reader.read_into(&mut trace) {
                Step::Trace => {
                    let marks = classify(&trace);
                    entry.counts.add_marked(&trace, &marks);
                    let monitor = rows::monitor(&trace, &mut scratch);
                    entry.count_monitor(monitor);
                    parts.push(&trace, &marks, monitor)?;
                }
                Step::Multipath(found) => {
                    entry.multipaths += 1;
                    links.push(&found)?;
                }
                Step::Damaged(damage) => {
                    entry.counts.damaged += 1;
                    entry.counts.damaged_bytes += damage.skipped;
                    if entry.damage.len() < TOLD {
                        entry.damage.push(damage.into());
                    }
                }
                Step::End => break,
            }
        }
        entry.counts.records = reader.records().iter().map(|(&name, &n)| (name.to_owned(), n)).collect();
        if let (Some(first), true) = (entry.damage.first(), entry.counts.records.is_empty()) {
            return Err(Wrong::File(format!("nothing in it can be read: at byte {}: {}", first.offset, first.what)));
        }
        let kept = entry.counts.traces + entry.multipaths;
        entry.other_records = entry.counts.records.values().sum::<u64>().saturating_sub(kept);
        let mut all = parts.finish()?;
        all.extend(links.finish()?);
        Ok(all)
    }

    /// Gives parts their names in the lake, and the file its entry.
    fn publish(&self, parts: &[Part], entry: &Entry) -> Result<(), Refusal> {
        let names: Vec<PathBuf> = entry.parts.iter().map(|name| self.lake.root().join(name)).collect();
        let publish = || {
            for (part, name) in parts.iter().zip(&names) {
                name.parent().map_or(Ok(()), make_folder)?;
                fs::rename(&part.file, name).map_err(|e| Refusal::system(name, &e))?;
            }
            write_entry(self.lake, entry)
        };
        publish().inspect_err(|_| {
            // Those that have no name yet are none of these.
            names.iter().for_each(|name| drop(fs::remove_file(name)));
        })
    }
}

fn write_entry(lake: &Lake, entry: &Entry) -> Result<(), Refusal> {
    let path = lake.entry_path(&entry.digest);
    let text = serde_json::to_string_pretty(entry)
        .map_err(|e| Refusal::new(&path, format!("cannot be written: {e}"), "please report it"))?;
    replace(&path, (text + "\n").as_bytes())
}

/// Size and time of the last change, by which a file is seen to have been written to meanwhile.
type Stamp = (u64, Option<std::time::SystemTime>);

fn stamp(file: &File) -> io::Result<Stamp> {
    let about = file.metadata()?;
    Ok((about.len(), about.modified().ok()))
}

/// The platform that a file's traces come from, as far as its format says.
fn platform(format: Format, entry: &Entry) -> &'static str {
    let most = || entry.counts.records.iter().max_by_key(|&(_, n)| n).map_or("", |(name, _)| name.as_str());
    match format {
        Format::Empty => "unknown",
        Format::Warts => "ark",
        Format::Arts => "skitter",
        Format::Dump | Format::Text => "text",
        Format::Json => match most() {
            "trace" => "scamper",
            "mtr" => "mtr",
            _ => "atlas",
        },
    }
}
