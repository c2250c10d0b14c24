//! Counts of what files hold, at a glance.

use crate::input::{self, Opened};
use crate::{Class, Damage, Marks, ReadTraces, Step, Trace, classify};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// How many damaged records are listed one by one; the others are only counted.
pub(crate) const TOLD: usize = 20;

/// How many traces each mark of [`Marks`] holds for; a trace may have several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flags {
    /// The destination answered.
    pub complete: u64,
    /// The destination did not answer.
    pub incomplete: u64,
    /// A silent hop before an answering destination.
    pub gap: u64,
    /// A loop.
    #[serde(rename = "loop")]
    pub looped: u64,
    /// An address at two TTLs side by side.
    pub adjdup: u64,
    /// Over 30 hops.
    pub toolong: u64,
    /// Several addresses at one TTL.
    pub multi: u64,
    /// Complete, no loop, not too long.
    pub clean: u64,
    /// Clean, and without a gap.
    pub clean_nogap: u64,
    /// Clean, without a gap, without neighbours alike and without several addresses at a TTL.
    pub clean_strict: u64,
    /// A loop only because an address comes several times in a row or at both sides of one hop.
    pub repeat: u64,
}

/// How many traces each [`Class`] has; they add up to the traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Classes {
    /// Kept by the cleaning.
    pub clean: u64,
    /// The destination did not answer.
    pub incomplete: u64,
    /// Over 30 hops.
    pub toolong: u64,
    /// Traces with a loop.
    #[serde(rename = "loop")]
    pub looped: u64,
    /// Traces that are loops by the study's definition only because an address repeats; else they would be clean.
    pub repeat: u64,
}

/// Counts of the contents of one file, or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Records of each kind, those included that are no traces.
    pub records: BTreeMap<String, u64>,
    /// Traces read.
    pub traces: u64,
    /// Answers in them.
    pub hop_replies: u64,
    /// How many traces ended for each reason.
    pub stop_reason: BTreeMap<&'static str, u64>,
    /// How many traces each mark holds for.
    pub flags: Flags,
    /// How many traces are in each class.
    pub classes: Classes,
    /// Damaged records, which were skipped.
    pub damaged: u64,
    /// Bytes of the (decompressed) file that were skipped with them.
    pub damaged_bytes: u64,
}

impl Counts {
    /// Counts one trace.
    pub fn add(&mut self, trace: &Trace) {
        self.add_marked(trace, &classify(trace));
    }

    /// Counts one trace of which `marks` hold.
    pub fn add_marked(&mut self, trace: &Trace, marks: &Marks) {
        self.traces += 1;
        self.hop_replies += trace.hops.len() as u64;
        *self.stop_reason.entry(trace.stop.name()).or_default() += 1;
        self.flags.add(marks);
        let class = match marks.class() {
            Class::Clean => &mut self.classes.clean,
            Class::Incomplete => &mut self.classes.incomplete,
            Class::TooLong => &mut self.classes.toolong,
            Class::Loop => &mut self.classes.looped,
            Class::Repeat => &mut self.classes.repeat,
        };
        *class += 1;
    }

    /// Adds what another file holds.
    pub fn merge(&mut self, other: &Counts) {
        other.records.iter().for_each(|(name, n)| *self.records.entry(name.clone()).or_default() += n);
        other.stop_reason.iter().for_each(|(name, n)| *self.stop_reason.entry(name).or_default() += n);
        self.traces += other.traces;
        self.hop_replies += other.hop_replies;
        self.flags.each(&other.flags, |a, b| *a += b);
        let (a, b) = (&mut self.classes, &other.classes);
        a.clean += b.clean;
        a.incomplete += b.incomplete;
        a.toolong += b.toolong;
        a.looped += b.looped;
        a.repeat += b.repeat;
        self.damaged += other.damaged;
        self.damaged_bytes += other.damaged_bytes;
    }
}

impl Flags {
    fn add(&mut self, marks: &Marks) {
        let one = Flags {
            complete: marks.complete.into(),
            incomplete: (!marks.complete).into(),
            gap: marks.gap.into(),
            looped: marks.looped.into(),
            adjdup: marks.adjacent.into(),
            toolong: marks.too_long.into(),
            multi: marks.multi.into(),
            clean: marks.clean().into(),
            clean_nogap: marks.clean_without_gap().into(),
            clean_strict: marks.strictly_clean().into(),
            repeat: marks.repeated.into(),
        };
        self.each(&one, |a, b| *a += b);
    }

    fn each(&mut self, other: &Flags, mut with: impl FnMut(&mut u64, u64)) {
        let a = self;
        with(&mut a.complete, other.complete);
        with(&mut a.incomplete, other.incomplete);
        with(&mut a.gap, other.gap);
        with(&mut a.looped, other.looped);
        with(&mut a.adjdup, other.adjdup);
        with(&mut a.toolong, other.toolong);
        with(&mut a.multi, other.multi);
        with(&mut a.clean, other.clean);
        with(&mut a.clean_nogap, other.clean_nogap);
        with(&mut a.clean_strict, other.clean_strict);
        with(&mut a.repeat, other.repeat);
    }
}

/// The counts of one file, and its damage.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FileCounts {
    /// The file, as it was named.
    pub file: String,
    /// Its format.
    pub format: &'static str,
    /// How it is compressed.
    pub compression: &'static str,
    /// Its counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// The first damaged records.
    pub damage: Vec<Lost>,
    /// Why it could not be read at all.
    pub error: Option<String>,
}

/// A damaged record, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lost {
    /// Bytes from the start of the (decompressed) file.
    pub offset: u64,
    /// Bytes passed over.
    pub skipped: u64,
    /// The fault of the record.
    pub what: String,
}

impl From<Damage> for Lost {
    fn from(damage: Damage) -> Lost {
        Lost { offset: damage.offset, skipped: damage.skipped, what: damage.what.into_owned() }
    }
}

/// How far counting has come, and whether it was cancelled. Another thread reads the one and sets the other.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of files read, as they are stored.
    pub bytes: Arc<AtomicU64>,
    /// Files done.
    pub files: AtomicUsize,
    /// Set to stop early.
    pub cancelled: AtomicBool,
}

/// Counts what each file holds, on `threads` threads: as many files at once, or one file by several. The answers come in the order of
/// the files.
pub fn count_files(files: &[PathBuf], threads: usize, progress: &Progress) -> Vec<FileCounts> {
    let done: Mutex<Vec<Option<FileCounts>>> = Mutex::new(vec![None; files.len()]);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, files.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(file) = files.get(index) else { break };
                    if progress.cancelled.load(Ordering::Relaxed) {
                        break;
                    }
                    let counts = count_file(file, decoders(threads, files.len() - index), progress);
                    done.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(counts);
                    progress.files.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

/// On how many of so many threads a file is decoded, if so many files are left, this one included: all of the last file's, one where
/// other files keep the others busy.
pub(crate) fn decoders(threads: usize, left: usize) -> usize {
    threads.div_ceil(left.max(1))
}

/// Counts what one file holds, decoded on so many threads.
pub fn count_file(file: &Path, threads: usize, progress: &Progress) -> FileCounts {
    let mut found = FileCounts { file: file.display().to_string(), ..FileCounts::default() };
    match input::open(file, &progress.bytes, threads) {
        Ok(Opened { mut reader, format, compression }) => {
            (found.format, found.compression) = (format.name(), compression.name());
            count(reader.as_mut(), &mut found, &progress.cancelled);
        }
        Err(e) => found.error = Some(e.to_string()),
    }
    found
}

/// Counts what a reader gives.
pub fn count(reader: &mut dyn ReadTraces, found: &mut FileCounts, cancelled: &AtomicBool) {
    let mut trace = Trace::default();
    while !cancelled.load(Ordering::Relaxed) {
        match reader.read_into(&mut trace) {
            Step::Trace => found.counts.add(&trace),
            // Counted with the records of their kind.
            Step::Multipath(_) => {}
            Step::Damaged(damage) => {
                found.counts.damaged += 1;
                found.counts.damaged_bytes += damage.skipped;
                if found.damage.len() < TOLD {
                    found.damage.push(damage.into());
                }
            }
            Step::End => break,
        }
    }
    found.counts.records = reader.records().iter().map(|(&name, &n)| (name.to_owned(), n)).collect();
}
