//! Packet number spaces (RFC 9000 section 12.3): Initial and Handshake once a connection, application data once a path
//! (draft-ietf-quic-multipath section 2.2: each path numbers its own 1-RTT packets).

use super::frame::{Ack, LowerRanges};
use super::packet::SpaceId;
use super::received::Received;
use super::sent::SentPackets;
use haltere_net::Time;
use std::ops::Range;
use std::sync::Arc;

/// A packet number space.
#[derive(Default, Debug)]
pub(super) struct Space {
    pub next_number: u64,
    pub largest_acked: Option<u64>,
    /// The ranges of the last ACK below its first.
    pub acked: Option<Arc<LowerRanges>>,
    pub sent: SentPackets,
    /// When the first missing packet will be lost (RFC 9002 appendix A.3, `loss_time`).
    pub loss_time: Option<Time>,
    pub received: Received,
    /// Probes that a probe timeout allows beyond the window.
    pub probes: u32,
}

impl Space {
    /// Whether an ACK could be for packets that were sent; its largest number.
    ///
    /// # Errors
    /// The transport error that it makes if not.
    pub fn check_ack(&self, ack: &Ack) -> Result<u64, &'static str> {
        if !ack.well_formed() {
            return Err("FRAME_ENCODING_ERROR: an ACK frame's ranges are out of order");
        }
        match ack.largest() {
            Some(largest) if largest < self.next_number => Ok(largest),
            _ => Err("PROTOCOL_VIOLATION: a packet was acknowledged that was never sent"),
        }
    }

    /// The ranges of an ACK below its first, unless the ACK before had the very same: these say nothing new.
    #[inline]
    pub fn news<'a>(&mut self, ack: &'a Ack) -> &'a [Range<u64>] {
        match (ack.shared(), &self.acked) {
            (None, None) => &[],
            (Some(lower), Some(before)) if Arc::ptr_eq(lower, before) => &[],
            (lower, _) => {
                self.acked = lower.cloned();
                ack.lower()
            }
        }
    }

    /// Forgets what was sent and received (RFC 9002 section 6.4); returns the bytes that were in flight.
    pub fn discard(&mut self) -> u64 {
        self.loss_time = None;
        self.acked = None;
        self.probes = 0;
        self.received = Received::default();
        self.sent.discard()
    }
}

/// The packet number spaces of a connection.
#[derive(Default, Debug)]
pub(super) struct Spaces {
    /// Initial and Handshake. Their packets travel on path 0 and count towards its window.
    pub handshake: [Space; 2],
    /// Application data, of each path by its place in the connection's list.
    pub data: Vec<Space>,
}

impl Spaces {
    /// The packet number spaces of a connection with one path.
    pub fn new() -> Spaces {
        Spaces { handshake: Default::default(), data: vec![Space::default()] }
    }

    /// The space of this kind; that of application data of the path at place `i`.
    #[inline]
    pub fn of(&self, id: SpaceId, i: usize) -> &Space {
        match id {
            SpaceId::Initial => &self.handshake[0],
            SpaceId::Handshake => &self.handshake[1],
            SpaceId::Data => &self.data[i],
        }
    }

    /// The space of this kind, to be changed.
    #[inline]
    pub fn of_mut(&mut self, id: SpaceId, i: usize) -> &mut Space {
        match id {
            SpaceId::Initial => &mut self.handshake[0],
            SpaceId::Handshake => &mut self.handshake[1],
            SpaceId::Data => &mut self.data[i],
        }
    }

    /// All that packets on the path at place `i` can be of, in the order of their use.
    #[inline]
    pub fn on_path(&self, i: usize) -> impl Iterator<Item = (SpaceId, &Space)> {
        let handshake = if i == 0 { &self.handshake[..] } else { &[] };
        SpaceId::ALL.into_iter().zip(handshake).chain(std::iter::once((SpaceId::Data, &self.data[i])))
    }
}
