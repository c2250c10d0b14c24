//! Skips a test that this machine cannot run: a program, a device or a privilege is missing.
//!
//! `#[path = "../../../tests/rust/skips.rs"] mod skips;` brings it into a crate's tests. `tests/python/skips.py` does the
//! same for the Python tests, with the same two variables:
//!
//! - `HALTERE_MAY_SKIP`: lines of text. Where it is set, a test may be skipped only if its reason contains one of the
//!   lines; any other skip fails. Where it is not set, every test may be skipped.
//! - `HALTERE_SKIPS`: a file to which each skipped test adds a line, so that they can be counted (`make test` does).

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

static NOTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Notes that the test of this thread is skipped, and why; once, however often it is called. The test must return then.
///
/// # Panics
///
/// If `HALTERE_MAY_SKIP` is set and none of its lines is part of the reason.
pub fn skip(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    if let Ok(allowed) = std::env::var("HALTERE_MAY_SKIP") {
        let allowed = allowed.lines().map(str::trim).any(|line| !line.is_empty() && reason.contains(line));
        assert!(allowed, "must not be skipped here (HALTERE_MAY_SKIP does not name the reason): {reason}");
    }
    let line = format!("skipped: {test}: {reason}\n");
    if !NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(line.clone()) {
        return;
    }
    // Not `eprint!`: the test harness captures that, and shows it for failing tests alone.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(file) = std::env::var_os("HALTERE_SKIPS") {
        let opened = OpenOptions::new().create(true).append(true).open(&file);
        opened.and_then(|mut file| file.write_all(line.as_bytes())).expect("the file named by HALTERE_SKIPS");
    }
}
