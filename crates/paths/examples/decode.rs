//! Traces a CPU-second that are read from files: `decode THREADS FILE…`, each read into memory before. The CPU time is that of all
//! threads.
//! `decode generate warts|warts-old|arts|atlas COUNT FILE` writes a file of generated traces.

use haltere_paths::generate::{Generator, Profile};
use haltere_paths::input::open_stream;
use haltere_paths::warts::Addresses;
use haltere_paths::{ReadTraces, Step, Trace, arts, json, warts};
use std::fs::File;
use std::io::{BufWriter, Cursor, Error, Result, Write};

/// 13 March 2011, in the middle of one of the study's years.
const START_S: u32 = 1_300_000_000;

fn generate(kind: &str, count: u64, file: &str) -> Result<()> {
    let mut generator = Generator::new(1, "bench", START_S.into(), Profile::default());
    let mut trace = Trace::default();
    let mut each = |put: &mut dyn FnMut(&Trace) -> Result<()>| {
        (0..count).try_for_each(|_| {
            generator.fill(&mut trace);
            put(&trace)
        })
    };
    let mut out = BufWriter::new(File::create(file)?);
    match kind {
        "warts" | "warts-old" => {
            let addresses = if kind == "warts" { Addresses::Embedded } else { Addresses::Global };
            let mut writer = warts::Writer::new(out, addresses);
            writer.list(1, 1, "bench", None)?;
            writer.cycle(1, 1, 1, START_S, Some("bench"))?;
            each(&mut |trace| writer.trace(trace, 1, 1))?;
            writer.cycle_stop(1, START_S + 1)?;
            writer.finish()?.flush()
        }
        "arts" => {
            let mut writer = arts::Writer::new(out, 3);
            each(&mut |trace| writer.trace(trace))?;
            writer.finish()?.flush()
        }
        "atlas" => {
            each(&mut |trace| writeln!(out, "{}", json::atlas(trace)))?;
            out.flush()
        }
        _ => Err(Error::other("what can be generated is warts, warts-old, arts and atlas")),
    }
}

fn decode(reader: &mut dyn ReadTraces) -> (u64, usize, u64) {
    let (mut trace, mut traces, mut answers, mut damaged) = (Trace::default(), 0, 0, 0);
    loop {
        match reader.read_into(&mut trace) {
            Step::Trace => {
                traces += 1;
                answers += trace.hops.len();
            }
            Step::Multipath(_) => {}
            Step::Damaged(_) => damaged += 1,
            Step::End => return (traces, answers, damaged),
        }
    }
}

#[allow(clippy::disallowed_methods)] // It measures this machine.
fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, kind, count, file] = &arguments[..]
        && word == "generate"
    {
        return generate(kind, count.parse().map_err(Error::other)?, file);
    }
    let [threads, files @ ..] = &arguments[..] else { return Err(Error::other("decode THREADS FILE…")) };
    let threads = threads.parse().map_err(Error::other)?;
    for file in files {
        let bytes = std::fs::read(file)?;
        let mb = bytes.len() as f64 / 1e6;
        let (start, clock) = (cpu_time::ProcessTime::now(), std::time::Instant::now());
        let mut opened = open_stream(Cursor::new(bytes), threads)?;
        let (traces, answers, damaged) = decode(opened.reader.as_mut());
        let (s, clock_s) = (start.elapsed().as_secs_f64(), clock.elapsed().as_secs_f64());
        let (kind, pack) = (opened.format.name(), opened.compression.name());
        let (rate, speed) = (traces as f64 / s, mb / s);
        println!("{file} ({kind}, {pack}): {traces} traces, {answers} answers, {damaged} damaged");
        println!("  {rate:.0} traces a CPU-second, {speed:.0} MB of the file; {s:.3} s of CPU, {clock_s:.3} s in all");
    }
    Ok(())
}
