//! Packets that were read: those that are sent use their memory again, so that a run at its pace allocates none.

use crate::Body;
use haltere_net::Packet;

/// How many are kept at most. In a run, packets are mostly on their way, and few are between two uses.
const MOST: usize = 128;

/// Packets that were read. One end of a transfer reads more packets than it sends, and the other one fewer, so a driver has one
/// store for all its endpoints.
#[derive(Clone, Debug, Default)]
pub struct Spares(Vec<Packet<Body>>);

impl Spares {
    /// Keeps a packet that was read.
    #[inline]
    pub fn keep(&mut self, packet: Packet<Body>) {
        if self.0.len() < MOST {
            self.0.push(packet);
        }
    }

    /// One whose memory is to be used again.
    #[inline]
    pub fn take(&mut self) -> Option<Packet<Body>> {
        self.0.pop()
    }
}
