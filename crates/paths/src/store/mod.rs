//! The store: traces of any number of files as Parquet, a row each, in a folder that is called a lake.
//!
//! ```text
//! lake/lake.json                                          the format's version
//! lake/traces/source=NAME/day=YYYY-MM-DD/DIGEST-N.parquet the traces; day=unknown where no time is said
//! lake/multipath/source=NAME/day=YYYY-MM-DD/…            links that multipath measurements found, in files named so, too
//! lake/ingested/DIGEST.json                               the ledger: one entry for each file that was read
//! lake/unfinished/                                        files that are being written
//! ```
//!
//! A file is known by the digest of its bytes. Its part of the lake depends on nothing else, so files can be read at
//! the same time and in any order, and the same files give the same bytes. Its entry is written last: Parquet files
//! without an entry do not count, and are removed when the next ingest begins.

mod columns;
mod files;
mod ingest;
mod key;
mod lake;
mod ledger;
mod links;
mod parts;
mod refusal;
mod rows;
mod schema;
mod writing;

pub use files::{Source, sources};
pub use ingest::{Became, FileReport, Options, ingest};
pub use lake::{FORMAT, Lake};
pub use ledger::Entry;
pub use refusal::Refusal;
