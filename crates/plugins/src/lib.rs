//! Congestion controls, path schedulers and queue disciplines of users: code that is loaded while a program runs, and called through the interface of our own.
//!
//! | file | holds |
//! |---|---|
//! | `abi` | the C interface, a file that users are given: `haltere.rs` of the package, from which `haltere.h` is generated |
//! | `convert` | our events as the interface has them |
//! | `calls` | a controller behind the interface's functions |
//! | `scheduler` | a path scheduler behind them, and its picks, checked |
//! | `queue` | a queue discipline: the packets are here, the decisions those of loaded code |
//! | `queue_calls` | such decisions behind the interface's functions |
//! | `declared` | the texts and parameters of libraries |
//! | `library` | a shared library, and what it says of itself |
//! | `trust` | whether loaded code still decides |
//! | `checked` | the decisions of a controller, checked before a transport sees them |
//!
//! A library is native code of its user: it can do what the process can. Loading it is therefore never done unasked; who asks is
//! decided above this crate.

#[path = "../../../python/haltere/plugins/include/haltere.rs"]
pub mod abi;
mod calls;
mod checked;
mod convert;
mod declared;
mod library;
pub mod queue;
mod queue_calls;
mod scheduler;
mod trust;

pub use calls::{Addresses, compiled};
pub use checked::{Decisions, UNDECIDED, Verdict};
pub use convert::{Event, time};
pub use library::{load, load_queue, load_scheduler};
pub use scheduler::{UNPICKED, burst, picked};
pub use trust::Trust;
