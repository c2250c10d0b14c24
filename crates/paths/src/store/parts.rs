//! Writes one file of traces as Parquet files, one for each day. The memory needed does not depend on the number of
//! traces or days.

use super::key::Keys;
use super::refusal::Refusal;
use super::rows::{self, Rows};
use super::writing::Writing;
use crate::calendar::Day;
use crate::{Marks, Trace};
use std::path::{Path, PathBuf};

/// Limits of what is held in memory and in one part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Rows in memory over all days.
    pub rows: usize,
    /// Answers in these rows; one trace may have thousands.
    pub answers: usize,
    /// Days whose parts are open at a time.
    pub days: usize,
    /// Row groups of a part; the list of them is kept in memory until its end.
    pub groups: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { rows: 100_000, answers: 4_000_000, days: 32, groups: 64 }
    }
}

haltere_net::named! {
    /// The tables of a lake; each has a folder of its name.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Table {
        /// A row a trace.
        Traces = "traces",
        /// A row a link of a multipath measurement.
        Multipath = "multipath",
    }
}

/// A part that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The table that its rows belong to.
    pub table: Table,
    /// The day of its traces; none if it is not known.
    pub day: Option<Day>,
    /// Its number among the file's parts.
    pub number: usize,
    /// Its path until it is published.
    pub file: PathBuf,
    /// How many rows it has.
    pub rows: u64,
}

/// A part that is being written, and the rows that wait for it.
struct Open {
    day: Option<Day>,
    number: usize,
    rows: Rows,
    file: PathBuf,
    groups: usize,
    written: u64,
}

/// Writes the traces of one file. The bytes depend on the traces and their order alone.
pub(super) struct Parts {
    folder: PathBuf,
    bounds: Bounds,
    writing: Writing,
    /// The one used last comes first.
    open: Vec<Open>,
    waiting_rows: usize,
    waiting_answers: usize,
    done: Vec<Part>,
    made: usize,
    keys: Keys,
}

impl Parts {
    /// Parts in `folder`, which must be there, encoded by `threads` threads.
    pub fn new(folder: &Path, bounds: Bounds, threads: usize) -> Result<Parts, Refusal> {
        Ok(Parts {
            folder: folder.to_owned(),
            bounds,
            writing: Writing::new(folder, threads)?,
            open: Vec::new(),
            waiting_rows: 0,
            waiting_answers: 0,
            done: Vec::new(),
            made: 0,
            keys: Keys::default(),
        })
    }

    /// Adds a trace of which `marks` hold.
    pub fn push(&mut self, trace: &Trace, marks: &Marks, monitor: &str) -> Result<(), Refusal> {
        let start_us = rows::start_us(trace);
        self.turn_to(start_us.and_then(Day::of))?;
        let rows = &mut self.open[0].rows;
        let answers = rows.answers();
        rows.push(trace, marks, monitor, start_us, &mut self.keys);
        self.waiting_rows += 1;
        self.waiting_answers += rows.answers() - answers;
        if self.waiting_rows >= self.bounds.rows || self.waiting_answers >= self.bounds.answers {
            self.relieve()?;
        }
        Ok(())
    }

    /// Completes all parts, in the order in which they were begun.
    pub fn finish(mut self) -> Result<Vec<Part>, Refusal> {
        while !self.open.is_empty() {
            self.close(self.open.len() - 1)?;
        }
        self.writing.finish()?;
        self.done.sort_by_key(|part| part.number);
        Ok(self.done)
    }

    /// Puts the part of a day first, begun if there is none.
    fn turn_to(&mut self, day: Option<Day>) -> Result<(), Refusal> {
        match self.open.iter().position(|open| open.day == day) {
            Some(0) => {}
            Some(at) => self.open[..=at].rotate_right(1),
            None => {
                if self.open.len() >= self.bounds.days {
                    self.close(self.open.len() - 1)?;
                }
                let begun = self.begin(day)?;
                self.open.insert(0, begun);
            }
        }
        Ok(())
    }

    fn begin(&mut self, day: Option<Day>) -> Result<Open, Refusal> {
        let number = self.made;
        self.made += 1;
        let file = self.folder.join(format!("{number}.parquet"));
        self.writing.begin(number, &file)?;
        Ok(Open { day, number, rows: Rows::default(), file, groups: 0, written: 0 })
    }

    /// Writes the rows of the day that has most of them.
    fn relieve(&mut self) -> Result<(), Refusal> {
        let most = |at: &usize| (self.open[*at].rows.answers() + self.open[*at].rows.len(), usize::MAX - at);
        let Some(at) = (0..self.open.len()).max_by_key(most) else { return Ok(()) };
        self.write(at)?;
        if self.open[at].groups >= self.bounds.groups { self.close(at) } else { Ok(()) }
    }

    /// Writes the rows that wait for a part as a row group.
    fn write(&mut self, at: usize) -> Result<(), Refusal> {
        let open = &mut self.open[at];
        let rows = std::mem::take(&mut open.rows);
        if rows.len() == 0 {
            return Ok(());
        }
        self.waiting_rows -= rows.len();
        self.waiting_answers -= rows.answers();
        open.written += rows.len() as u64;
        open.groups += 1;
        self.writing.group(open.number, rows)
    }

    fn close(&mut self, at: usize) -> Result<(), Refusal> {
        self.write(at)?;
        let Open { day, number, file, written, .. } = self.open.remove(at);
        self.writing.end(number)?;
        self.done.push(Part { table: Table::Traces, day, number, file, rows: written });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify;
    use crate::generate::{Generator, Profile};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use std::fs::File;

    const BOUNDS: Bounds = Bounds { rows: 100, answers: 1_000, days: 3, groups: 2 };

    /// Writes 900 traces, every tenth `step` days after those before, around a circle of ten days.
    fn write(folder: &Path, step: u32) -> Vec<Part> {
        let mut parts = Parts::new(folder, BOUNDS, 2).unwrap();
        let mut generator = Generator::new(1, "m", 1_300_000_000, Profile::default());
        let mut trace = Trace::default();
        for n in 0..900 {
            generator.fill(&mut trace);
            trace.start_us += u64::from(n / 10 * step % 10) * 86_400_000_000;
            parts.push(&trace, &classify(&trace), "m").unwrap();
            assert!(parts.open.len() <= BOUNDS.days);
            assert!(parts.waiting_rows < BOUNDS.rows && parts.waiting_answers < BOUNDS.answers);
            assert_eq!(parts.waiting_rows, parts.open.iter().map(|open| open.rows.len()).sum::<usize>());
        }
        parts.finish().unwrap()
    }

    #[test]
    fn neither_many_days_nor_many_traces_take_more_memory() {
        for step in [0, 1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let parts = write(folder.path(), step);
            let mut rows = 0;
            for part in &parts {
                let reader = SerializedFileReader::new(File::open(&part.file).unwrap()).unwrap();
                let about = reader.metadata();
                assert!(about.num_row_groups() <= BOUNDS.groups);
                assert_eq!(about.file_metadata().num_rows() as u64, part.rows);
                rows += part.rows;
            }
            assert_eq!(rows, 900, "step {step}");
            let days: std::collections::BTreeSet<_> = parts.iter().map(|part| part.day).collect();
            assert_eq!(days.len(), if step == 0 { 1 } else { 10 });
            assert_eq!(parts.iter().map(|part| part.number).collect::<Vec<_>>(), (0..parts.len()).collect::<Vec<_>>());
        }
    }
}
