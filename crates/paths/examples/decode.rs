//! Traces a second that one core reads from a file, or from files of generated traces: `decode [FILE]…`.
//! With `generate COUNT FILE`, writes a file of that many.

use haltere_paths::generate::{Generator, Profile};
use haltere_paths::warts::{Addresses, Reader, Writer};
use haltere_paths::{ReadTraces, Step, Trace};
use std::fs::File;
use std::io::{BufWriter, Result};

fn generate(count: u64, file: &str) -> Result<()> {
    let mut writer = Writer::new(BufWriter::new(File::create(file)?), Addresses::Embedded);
    let mut generator = Generator::new(1, "bench", 1_300_000_000, Profile::default());
    let mut trace = Trace::default();
    writer.list(1, 1, "bench", None)?;
    writer.cycle(1, 1, 1, 1_300_000_000, Some("bench"))?;
    for _ in 0..count {
        generator.fill(&mut trace);
        writer.trace(&trace, 1, 1)?;
    }
    writer.cycle_stop(1, 1_300_000_001)?;
    writer.finish().map(drop)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, count, file] = &arguments[..]
        && word == "generate"
    {
        return generate(count.parse().map_err(std::io::Error::other)?, file);
    }
    for file in &arguments {
        let bytes = std::fs::read(file)?;
        #[allow(clippy::disallowed_methods)] // A bench measures this machine.
        let start = std::time::Instant::now();
        let mut reader = Reader::new(&bytes[..]);
        let (mut trace, mut traces, mut hops, mut damaged) = (Trace::default(), 0u64, 0usize, 0u64);
        loop {
            match reader.read_into(&mut trace) {
                Step::Trace => {
                    traces += 1;
                    hops += trace.hops.len();
                }
                Step::Damaged(_) => damaged += 1,
                Step::End => break,
            }
        }
        let s = start.elapsed().as_secs_f64();
        let (rate, mb) = (traces as f64 / s, bytes.len() as f64 / s / 1e6);
        println!("{file}: {traces} traces, {hops} answers, {damaged} damaged; {rate:.0} traces/s, {mb:.0} MB/s");
    }
    Ok(())
}
