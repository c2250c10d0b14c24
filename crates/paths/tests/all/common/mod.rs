//! Helpers that tests of readers share.
#![allow(dead_code)] // Each test file uses some of it.

use haltere_paths::generate::{Generator, Profile};
use haltere_paths::warts::{Addresses, Writer};
use haltere_paths::{Damage, Hop, Method, ReadTraces, Step, Stop, Trace};

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
            Step::Multipath(_) => {}
            Step::Damaged(one) => damage.push(one),
            Step::End => return (traces, damage),
        }
    }
}

/// A trace as an ARTS file of this version can hold it.
pub fn as_arts(trace: &Trace, version: u8) -> Trace {
    let mut said = Trace {
        source: trace.source,
        destination: trace.destination,
        start_us: trace.start_us / 1_000_000 * 1_000_000,
        stop: trace.stop,
        answered: trace.answered,
        method: Method::IcmpEcho,
        first_ttl: 1,
        hop_count: u16::from(trace.length()),
        ..Trace::default()
    };
    if version >= 3 {
        (said.list_id, said.cycle_id) = (trace.list_id, trace.cycle_id);
    }
    if version == 1 && !trace.answered {
        said.stop = Stop::None;
    }
    for (at, hop) in trace.hops.iter().enumerate() {
        let replied = trace.answered && at + 1 == trace.hops.len();
        let base = Hop { address: hop.address, ttl: hop.ttl, rtt_us: hop.rtt_us, ..Hop::default() };
        said.hops.push(if replied {
            Hop { reply_ttl: if version >= 2 { hop.reply_ttl } else { 0 }, icmp_type: 0, ..base }
        } else {
            Hop { icmp_type: 11, attempt: hop.attempt, ..base }
        });
    }
    if said.hops.is_empty() {
        said.hop_count = 0;
    }
    said
}

/// An ARTS file of traces.
pub fn arts(traces: &[Trace], version: u8) -> Vec<u8> {
    let mut writer = haltere_paths::arts::Writer::new(Vec::new(), version);
    traces.iter().for_each(|t| writer.trace(t).unwrap());
    writer.finish().unwrap()
}
