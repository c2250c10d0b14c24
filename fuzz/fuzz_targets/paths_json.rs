//! Reads any bytes as json (`haltere_fuzz::read_traces`).

#![no_main]

use haltere_paths::json::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| haltere_fuzz::read_traces(Reader::new(bytes), bytes));
