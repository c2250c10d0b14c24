//! Measured Internet paths: readers of traceroutes in the forms in which they are published, and the class of each
//! trace.
//!
//! Every reader streams: it keeps one record in memory, fills the same [`Trace`] again and again, and reports a damaged
//! record with its place instead of giving up. Nothing here knows of transports or of the simulator.

mod address;
mod ahead;
pub mod arts;
pub mod calendar;
mod class;
pub mod count;
mod cursor;
pub mod dump;
mod framed;
pub mod generate;
pub mod graph;
pub mod input;
pub mod json;
mod multipath;
mod pieces;
mod reader;
pub mod show;
pub mod store;
pub mod text;
mod trace;
mod unpack;
pub mod warts;
mod window;

pub use address::Address;
pub use class::{Class, MAX_HOPS, Marks, classify};
pub use multipath::{FlowLink, Multipath};
pub use reader::{Damage, ReadTraces, Step};
pub use trace::{Extension, Hop, Label, Method, Stop, Trace};
