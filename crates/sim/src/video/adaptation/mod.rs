//! Rate adaptation: which bit rate a chunk is fetched at. One algorithm per file.
//!
//! A new algorithm is one new file here, with an `ENTRY`, and one line in the list of `built_in!`.

mod throughputs;

use super::Film;
use haltere_net::Span;
use haltere_net::registry::{Description, Handle};

/// A chunk that has come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fetched {
    /// The bytes of its body.
    pub bytes: u64,
    /// The time from its request to its last byte.
    pub took: Span,
}

/// The state of a player that is about to ask for a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The film.
    pub film: &'a Film,
    /// The number of the chunk.
    pub chunk: usize,
    /// The number of the bit rate of the chunk before; `None` for the first.
    pub last: Option<usize>,
    /// How much of the film is in the buffer.
    pub level: Span,
}

/// A rate adaptation at work.
pub trait Adaptation: Send {
    /// A chunk has come.
    fn on_chunk(&mut self, _fetched: Fetched) {}
    /// The number of the bit rate for the next chunk, from 0, the lowest.
    fn choose(&mut self, moment: &Moment<'_>) -> usize;
}

/// A rate adaptation as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct Implementation {
    /// Its name in scenarios, summary and reference.
    pub description: Description,
    /// Makes one for a viewing.
    pub build: fn() -> Box<dyn Adaptation>,
}

/// A rate adaptation, as configurations hold it.
pub type RateAdaptation = Handle<Implementation>;

haltere_net::built_in! {
    Implementation: "rate adaptation";
    /// BBA-0.
    BBA = bba,
    /// By throughput.
    THROUGHPUT = throughput,
    /// RobustMPC.
    MPC = mpc,
}
