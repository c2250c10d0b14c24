//! Several threads read what one thread reads, of whole streams and of damaged ones.

use super::{Bytes, Cut, Pieces, Resume, Walk};
use crate::framed::Records;
use crate::generate::{Generator, Profile};
use crate::reader::{ReadTraces, Step};
use crate::warts::Addresses;
use crate::{Trace, arts, dump, json, show, text, warts};
use haltere_net::rng::{Stream, Streams};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};

type Found = (Vec<(Step, Option<Trace>)>, BTreeMap<&'static str, u64>);

fn all(reader: &mut impl ReadTraces) -> Found {
    let (mut steps, mut trace) = (Vec::new(), Trace::default());
    loop {
        let step = reader.read_into(&mut trace);
        let end = step == Step::End;
        let filled = (step == Step::Trace).then(|| trace.clone());
        steps.push((step, filled));
        if end {
            return (steps, reader.records().clone());
        }
    }
}

fn traces(count: usize) -> Vec<Trace> {
    let mut generator = Generator::new(7, "mon", 1_300_000_000, Profile::default());
    let mut trace = Trace::default();
    let made = (0..count).map(|_| {
        generator.fill(&mut trace);
        trace.clone()
    });
    made.collect()
}

fn warts_of(traces: &[Trace], addresses: Addresses) -> Vec<u8> {
    let mut writer = warts::Writer::new(Vec::new(), addresses);
    writer.list(1, 1, "list", Some("mon")).unwrap();
    writer.cycle(1, 1, 1, 1_300_000_000, Some("mon")).unwrap();
    traces.iter().for_each(|trace| writer.trace(trace, 1, 1).unwrap());
    writer.cycle_stop(1, 1_300_000_001).unwrap();
    writer.finish().unwrap()
}

fn arts_of(traces: &[Trace]) -> Vec<u8> {
    let mut writer = arts::Writer::new(Vec::new(), 3);
    traces.iter().for_each(|trace| writer.trace(trace).unwrap());
    writer.finish().unwrap()
}

/// Changes, removes or adds some bytes.
fn damage(bytes: &mut Vec<u8>, dice: &mut Stream) {
    let at = (dice.bits() as usize) % bytes.len();
    match dice.bits() % 5 {
        0 => bytes[at] ^= 1 << (dice.bits() % 8),
        1 => drop(bytes.drain(at..(at + 1 + dice.bits() as usize % 3000).min(bytes.len()))),
        2 => drop(bytes.splice(at..at, (0..dice.bits() % 2000).map(|n| n as u8))),
        3 => bytes.truncate(at),
        // A part comes again, as after a failed copy.
        _ => {
            let again = bytes[at..(at + 20_000).min(bytes.len())].to_vec();
            drop(bytes.splice(at..at, again));
        }
    }
    if bytes.is_empty() {
        bytes.push(0);
    }
}

/// Compares what one thread and what several read; returns how many pieces were of use.
fn compare<F: Resume>(bytes: &[u8], cutter: impl Cut<State = F::State> + 'static, threads: usize) -> usize {
    let stream = || -> Bytes { Box::new(Cursor::new(bytes.to_vec())) };
    let one = all(&mut F::resume(stream(), 0, F::State::default()));
    let mut pieces = Pieces::<F>::new(stream(), cutter, threads).unwrap();
    let several = all(&mut pieces);
    assert!(one == several, "{} and {} steps", one.0.len(), several.0.len());
    pieces.taken
}

/// Whole, cut and damaged.
fn compare_all<F: Resume, C: Cut<State = F::State> + 'static>(bytes: &[u8], cutter: impl Fn() -> C) {
    let pieces = bytes.len() / C::WANTED;
    assert!(pieces >= 8);
    for threads in [1, 2, 5] {
        assert!(compare::<F>(bytes, cutter(), threads) >= pieces * 3 / 4);
    }
    let mut dice = Streams::new(3, 0).named("damage");
    let mut used = 0;
    for _ in 0..150 {
        let mut damaged = bytes.to_vec();
        (0..1 + dice.bits() % 3).for_each(|_| damage(&mut damaged, &mut dice));
        used += compare::<F>(&damaged, cutter(), 2);
    }
    assert!(used > 150 * pieces / 4, "only {used} pieces were of use behind damage");
}

#[test]
fn warts_is_read_alike() {
    let bytes = warts_of(&traces(150), Addresses::Embedded);
    compare_all::<Records<_, warts::State>, _>(&bytes, || Walk(warts::State::default()));
}

#[test]
fn warts_with_addresses_in_records_of_their_own_is_read_alike() {
    let mut bytes = warts_of(&traces(150), Addresses::Global);
    // Another file was joined, in which numbers begin again.
    bytes.extend(warts_of(&traces(40), Addresses::Global));
    compare_all::<Records<_, warts::State>, _>(&bytes, || Walk(warts::State::default()));
}

#[test]
fn arts_is_read_alike() {
    compare_all::<Records<_, arts::Arts>, _>(&arts_of(&traces(400)), || Walk(arts::Arts));
}

#[test]
fn json_is_read_alike_a_line_each_and_in_an_array() {
    let objects: Vec<String> = traces(60).iter().map(json::atlas).collect();
    for (begin, between, end) in [("", "\n", "\n"), ("[", ",", "]"), ("[\n", ",\n", "\n]\n")] {
        let bytes = format!("{begin}{}{end}", objects.join(between)).into_bytes();
        compare_all::<json::Reader<_>, _>(&bytes, json::Cutter::default);
    }
}

#[test]
fn text_is_read_alike() {
    let mut bytes = Vec::new();
    for trace in traces(120) {
        bytes.extend(show::Shown(&trace).to_string().into_bytes());
    }
    compare_all::<text::Reader<_>, _>(&bytes, || text::Cutter);
}

#[test]
fn dumps_are_read_alike() {
    let mut bytes = b"# This file contains an ASCII representation of the IP paths\n".to_vec();
    bytes.extend(b"#  1. Key -- T\n#  2. Source -- a\n#  3. Destination -- b\n#  4. Timestamp -- c\n");
    for n in 0..2000_u32 {
        let hops = ["10.0.0.1,0.5,1\tq\t10.0.0.2,1.5,1"; 2][..1 + n as usize % 2].join("\t");
        bytes.extend(format!("T\t192.0.2.1\t198.51.{}.{}\t{}\t{hops}\n", n >> 8, n & 255, 1_300_000_000 + n).bytes());
    }
    compare_all::<dump::Reader<_>, _>(&bytes, dump::Cutter::default);
}

/// Gives some bytes and then an error.
struct Broken(Cursor<Vec<u8>>);

impl Read for Broken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::other("broken")),
            n => Ok(n),
        }
    }
}

#[test]
fn a_stream_that_cannot_be_read_further_is_told_alike() {
    let bytes = warts_of(&traces(100), Addresses::Embedded);
    for end in [0, 1, 9, 5_000, 40_000, bytes.len()] {
        let stream = || -> Bytes { Box::new(Broken(Cursor::new(bytes[..end].to_vec()))) };
        let one = all(&mut Records::<_, warts::State>::resume(stream(), 0, warts::State::default()));
        let walk = Walk(warts::State::default());
        let mut pieces = Pieces::<Records<_, warts::State>>::new(stream(), walk, 2).unwrap();
        assert_eq!(one, all(&mut pieces), "after {end} bytes");
        assert!(matches!(&one.0[one.0.len() - 2].0, Step::Damaged(told) if told.what.contains("broken")));
    }
}
