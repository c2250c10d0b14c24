//! Reads any bytes as the text of sc_warts2text (`haltere_fuzz::read_traces`).

#![no_main]

use haltere_paths::text::Reader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| haltere_fuzz::read_traces(Reader::new(bytes), bytes));
