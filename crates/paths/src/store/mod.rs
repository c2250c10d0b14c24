//! The store: traces of any number of files as Parquet, a row each, in a folder that is called a lake.
//!
//! ```text
//! lake/lake.json                                          which format
//! lake/traces/source=NAME/day=YYYY-MM-DD/DIGEST-N.parquet the traces; day=unknown where no time is said
//! lake/ingested/DIGEST.json                               what was read, an entry a file
//! lake/unfinished/                                        what is being written
//! ```
//!
//! A file is known by the digest of its bytes. What it becomes depends on nothing else, so files are read at the same time
//! and in any order, and the same files make the same bytes. Its entry is written last: what has none is not in the lake,
//! and is removed when the next ingest begins.

mod files;
mod ingest;
mod key;
mod lake;
mod ledger;
mod parts;
mod refusal;
mod rows;
mod schema;

pub use files::{Source, sources};
pub use ingest::{Became, FileReport, Options, ingest};
pub use lake::{FORMAT, Lake};
pub use ledger::Entry;
pub use refusal::Refusal;
