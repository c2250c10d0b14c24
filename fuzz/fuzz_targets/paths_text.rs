//! Reads any bytes as text: no panic, and no more bytes are reported as damaged than there are.

#![no_main]

use haltere_paths::{ReadTraces, Step, Trace, classify, show::Shown, text::Reader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = Reader::new(bytes);
    let (mut trace, mut lost) = (Trace::default(), 0);
    loop {
        match reader.read_into(&mut trace) {
            Step::Trace => {
                let _ = (classify(&trace), Shown(&trace).to_string(), trace.rtt(), trace.time_us());
            }
            Step::Multipath(_) => {}
            Step::Damaged(damage) => lost += damage.skipped,
            Step::End => break,
        }
    }
    assert!(lost <= bytes.len() as u64);
});
