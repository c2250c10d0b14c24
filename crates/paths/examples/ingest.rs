//! Traces a second and a CPU-second that go into a lake, bytes a trace there, and how much memory that takes:
//! `ingest LAKE THREADS FILE…`.

use haltere_paths::count::Progress;
use haltere_paths::store::{Lake, Options, ingest, sources};
use std::path::PathBuf;

/// The most memory that this process had, MB, where the system tells.
fn peak_mb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kb = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    kb.unwrap_or(0) / 1000
}

#[allow(clippy::disallowed_methods)] // It measures this machine.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let lake = PathBuf::from(arguments.next().ok_or("the lake is missing")?);
    let threads = arguments.next().ok_or("the number of threads is missing")?.parse()?;
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let (start, cpu) = (std::time::Instant::now(), cpu_time::ProcessTime::now());
    let lake = Lake::open(&lake)?;
    let files = sources(&paths, lake.root())?;
    let reports = ingest(&lake, &files, &Options { source: None, threads }, &Progress::default())?;
    let (s, cpu_s) = (start.elapsed().as_secs_f64(), cpu.elapsed().as_secs_f64());
    let entries: Vec<_> = reports.iter().filter_map(|report| report.entry.as_ref()).collect();
    let parts = entries.iter().flat_map(|entry| &entry.parts);
    let bytes: u64 = parts.map(|part| std::fs::metadata(lake.root().join(part)).map_or(0, |about| about.len())).sum();
    let traces: u64 = entries.iter().map(|entry| entry.rows).sum();
    let n = traces as f64;
    println!("{traces} traces of {} files: {:.0} a second, {:.0} a CPU-second", entries.len(), n / s, n / cpu_s);
    println!("{:.1} bytes a trace, {} MB of memory at most", bytes as f64 / n, peak_mb());
    Ok(())
}
