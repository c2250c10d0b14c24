//! Code that fuzz targets share.

use haltere_paths::show::Shown;
use haltere_paths::{ReadTraces, Step, Trace, classify};

/// Reads any bytes as traceroutes: no panic, and no more bytes are reported as damaged than there are.
pub fn read_traces(mut reader: impl ReadTraces, bytes: &[u8]) {
    let (mut trace, mut lost) = (Trace::default(), 0);
    loop {
        match reader.read_into(&mut trace) {
            Step::Trace => {
                let _ = (classify(&trace), Shown(&trace).to_string(), trace.rtt(), trace.time_us());
            }
            Step::Multipath(found) => drop(found.to_string()),
            Step::Damaged(damage) => lost += damage.skipped,
            Step::End => break,
        }
    }
    assert!(lost <= bytes.len() as u64);
}
