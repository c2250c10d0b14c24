//! Files of generated traces, one a monitor and day, as CAIDA distributes measured ones.

use super::{Generator, Profile};
use crate::calendar::Day;
use crate::warts::Addresses;
use crate::{Trace, arts, json, warts};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

haltere_net::named! {
    /// The format of a file of generated traces.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kind {
        /// scamper's warts.
        Warts = "warts",
        /// skitter's ARTS of version 3; IPv4 alone.
        Arts = "arts",
        /// RIPE Atlas's results, a line each.
        Atlas = "atlas",
    }
}

impl Kind {
    /// The ending of its files' names.
    fn suffix(self) -> &'static str {
        match self {
            Kind::Warts => "warts.gz",
            Kind::Arts => "arts.gz",
            Kind::Atlas => "json.gz",
        }
    }
}

/// Which files are wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Number of traces in all. The numbers of traces a monitor and day differ by at most one.
    pub traces: u64,
    /// Seed of all random numbers: files are the same for the same seed.
    pub seed: u64,
    /// How many monitors measure.
    pub monitors: u32,
    /// The first day.
    pub start: Day,
    /// How many days.
    pub days: u32,
    /// The files' format.
    pub kind: Kind,
    /// Shares and sizes of the traces.
    pub profile: Profile,
}

/// Writes files of generated traces into `folder`, those of `threads` monitors at once; adds to `made` the traces written.
/// Returns the files in the order of their names; only some of them if it was cancelled.
///
/// # Errors
/// If a file cannot be written, or a day is beyond the calendar.
pub fn files(
    folder: &Path,
    wanted: &Wanted,
    threads: usize,
    made: &AtomicU64,
    cancelled: &AtomicBool,
) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(folder)?;
    let next = AtomicU32::new(0);
    let done = Mutex::new(Ok(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, wanted.monitors.max(1) as usize) {
            scope.spawn(|| {
                loop {
                    let monitor = next.fetch_add(1, Ordering::Relaxed);
                    if monitor >= wanted.monitors || cancelled.load(Ordering::Relaxed) {
                        break;
                    }
                    let written = of_monitor(folder, wanted, monitor, made, cancelled);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    match (&mut *done, written) {
                        (Ok(files), Ok(more)) => files.extend(more),
                        (Ok(_), Err(e)) => *done = Err(e),
                        (Err(_), _) => {}
                    }
                    if done.is_err() {
                        break;
                    }
                }
            });
        }
    });
    let mut files = done.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    files.sort();
    Ok(files)
}

/// The files of one monitor: its days follow one another.
fn of_monitor(
    folder: &Path,
    wanted: &Wanted,
    monitor: u32,
    made: &AtomicU64,
    cancelled: &AtomicBool,
) -> io::Result<Vec<PathBuf>> {
    let name = format!("mon-{:02}", monitor + 1);
    let mut generator = Generator::new(wanted.seed, &name, wanted.start.start_s(), wanted.profile);
    let mut files = Vec::new();
    let all = u128::from(wanted.monitors) * u128::from(wanted.days);
    for number in 0..wanted.days {
        let beyond = || io::Error::other("the days go beyond the year 9999");
        let day = wanted.start.after(number).ok_or_else(beyond)?;
        generator.go_on_at(day.start_s());
        let before = u128::from(number) * u128::from(wanted.monitors) + u128::from(monitor);
        let share = |n: u128| (u128::from(wanted.traces) * n / all) as u64;
        let file = folder.join(format!("{day}.{name}.{}", wanted.kind.suffix()));
        let mut sink = Sink::new(&file, wanted.kind, &name, number + 1, day)?;
        let mut trace = Trace::default();
        for _ in share(before)..share(before + 1) {
            if cancelled.load(Ordering::Relaxed) {
                fs::remove_file(&file)?;
                return Ok(files);
            }
            generator.fill(&mut trace);
            (trace.cycle_id, trace.probe_id) = (number + 1, monitor + 1);
            sink.put(&trace)?;
            made.fetch_add(1, Ordering::Relaxed);
        }
        sink.finish(day)?;
        files.push(file);
    }
    Ok(files)
}

type Packed = BufWriter<GzEncoder<File>>;

/// A file that is being written.
enum Sink {
    Warts(warts::Writer<Packed>),
    Arts(arts::Writer<Packed>),
    Atlas(Packed),
}

impl Sink {
    fn new(file: &Path, kind: Kind, monitor: &str, cycle: u32, day: Day) -> io::Result<Sink> {
        let out = BufWriter::new(GzEncoder::new(File::create(file)?, Compression::fast()));
        Ok(match kind {
            Kind::Warts => {
                let mut writer = warts::Writer::new(out, Addresses::Embedded);
                writer.list(1, 1, "generated", Some(monitor))?;
                writer.cycle(1, 1, cycle, day.start_s() as u32, Some(monitor))?;
                Sink::Warts(writer)
            }
            Kind::Arts => Sink::Arts(arts::Writer::new(out, 3)),
            Kind::Atlas => Sink::Atlas(out),
        })
    }

    fn put(&mut self, trace: &Trace) -> io::Result<()> {
        match self {
            Sink::Warts(writer) => writer.trace(trace, 1, 1),
            Sink::Arts(writer) => writer.trace(trace),
            Sink::Atlas(out) => writeln!(out, "{}", json::atlas(trace)),
        }
    }

    fn finish(self, day: Day) -> io::Result<()> {
        let out = match self {
            Sink::Warts(mut writer) => {
                writer.cycle_stop(1, day.start_s() as u32 + 86_399)?;
                writer.finish()?
            }
            Sink::Arts(writer) => writer.finish()?,
            Sink::Atlas(out) => out,
        };
        out.into_inner().map_err(io::IntoInnerError::into_error)?.finish().map(drop)
    }
}
