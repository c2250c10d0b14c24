//! The playground's module: the model, and the statistics of comparisons, behind one function from JSON to JSON.
//!
//! It is built for `wasm32-unknown-unknown` by `make playground`. The same function answers natively, which is how tests
//! compare the two. Production stacks are no part of it, as the feature `stacks` of `haltere-sim` is off.

mod lines;
mod memory;
mod question;

pub use question::answer;
