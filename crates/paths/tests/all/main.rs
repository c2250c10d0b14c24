//! The integration tests of the crate, in one program: each program links everything anew.

mod after_hops;
mod arts;
mod common;
mod dump;
mod json;
mod multipath;
mod samples;
mod scamper;
mod shortest;
#[path = "../../../../tests/rust/skips.rs"]
mod skips;
mod store;
mod text;
mod unpack;
mod valley_free;
mod warts;
