//! Reads any bytes as arts (`haltere_fuzz::read_traces`).

#![no_main]

use haltere_paths::arts::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| haltere_fuzz::read_traces(Reader::new(bytes), bytes));
