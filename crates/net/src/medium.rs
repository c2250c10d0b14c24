//! Media: elements that several links share.

use crate::element::Element;
use crate::link::LinkConfig;
use crate::rng::Streams;
use crate::time::Span;

/// A medium as it is configured, for packets with the body `B`. An implementation and its [`Element`] are all that a new
/// medium needs here; [`wifi`](crate::wifi) and [`lte`](crate::lte) are two.
pub trait Medium<B>: Send + Sync {
    /// The element of a medium called `name`. Packets enter at the port of their entry: `entries` are the ports, in order.
    ///
    /// # Errors
    /// The field of the configuration, and what would be right.
    fn element(
        &self,
        name: &str,
        entries: &[Entry<'_>],
        streams: &Streams,
    ) -> Result<Box<dyn Element<B>>, (&'static str, String)>;
}

/// One direction of a link that shares a medium.
pub struct Entry<'a> {
    /// The number of the link among those that share the medium.
    pub station: usize,
    /// Whether it is the direction from the node that all these links have in common.
    pub downlink: bool,
    /// Its queue, MTU and loss model.
    pub config: &'a LinkConfig,
    /// Its name, with which the names of its random streams begin.
    pub name: String,
}

/// The counters of a medium. Those that have no meaning on it stay zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct MediumCounters {
    /// Transmissions of data: single frames and aggregates.
    pub transmissions: u64,
    /// Frames in them.
    pub frames: u64,
    /// How many of these had been sent before.
    pub retries: u64,
    /// Times at which several stations began to send together.
    pub collisions: u64,
    /// Transmissions that were lost so.
    pub collided: u64,
    /// Frames that were dropped because the retry limit was reached.
    pub given_up: u64,
    /// How long the medium carried frames or acknowledgements, with the space between the two.
    pub busy: Span,
    /// The carriers down and up, of a medium that has a scheduler.
    pub carriers: Option<[Carrier; 2]>,
}

/// The counters of a carrier, whose resource blocks a scheduler gives to users.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Carrier {
    /// Its resource blocks in each transmission time interval.
    pub blocks: u32,
    /// Resource blocks that were used, in all intervals together.
    pub used: u64,
    /// Bytes that were sent in them, not counted again where they were sent again.
    pub bytes: u64,
}
