//! What tests of readers share.
#![allow(dead_code)] // Each test file uses some of it.

use haltere_paths::generate::{Generator, Profile};
use haltere_paths::warts::{Addresses, Writer};
use haltere_paths::{Damage, ReadTraces, Step, Trace};

/// So many generated traces.
pub fn traces(count: usize, profile: Profile) -> Vec<Trace> {
    let mut generator = Generator::new(7, "m0", 1_300_000_000, profile);
    let mut trace = Trace::default();
    let mut made = Vec::new();
    for _ in 0..count {
        generator.fill(&mut trace);
        made.push(trace.clone());
    }
    made
}

/// A file of them: a list, a cycle, the traces, the cycle's end.
pub fn warts(traces: &[Trace], addresses: Addresses) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), addresses);
    writer.list(1, 1, "tests", None).unwrap();
    writer.cycle(1, 1, 1, 1_300_000_000, Some("m0")).unwrap();
    traces.iter().for_each(|t| writer.trace(t, 1, 1).unwrap());
    writer.cycle_stop(1, 1_300_000_100).unwrap();
    writer.finish().unwrap()
}

/// All that a reader gives. It must end: a step that gives nothing new is followed by others, but not for ever.
pub fn read_all(reader: &mut dyn ReadTraces) -> (Vec<Trace>, Vec<Damage>) {
    let (mut traces, mut damage, mut trace) = (Vec::new(), Vec::new(), Trace::default());
    loop {
        match reader.read_into(&mut trace) {
            Step::Trace => traces.push(trace.clone()),
            Step::Damaged(one) => damage.push(one),
            Step::End => return (traces, damage),
        }
    }
}
