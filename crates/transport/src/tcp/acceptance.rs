//! Decides which segments belong to the connection: RFC 9293 section 3.10.7, and RFC 5961 against blind attacks.
//!
//! Other segments are dropped and counted. If such a segment may still come from the peer, it is answered by an
//! acknowledgement.

use super::connection::{Connection, State};
use super::segment::{Kind, Segment};
use super::window::MOST_WINDOW;
use crate::endpoint::Role;

/// The end of all positions: more than any run reaches, and far below the largest value of the type.
const MOST_POSITION: u64 = 1 << 62;

impl Connection {
    /// Whether a segment that arrived in a packet of `len` bytes is acceptable.
    #[inline]
    pub(crate) fn accepts(&self, s: &Segment, len: u32) -> bool {
        if s.damaged || s.len > len || s.seq > MOST_POSITION || s.window > MOST_WINDOW {
            return false;
        }
        match s.kind {
            Kind::Data => match self.state {
                State::Established | State::Closed | State::SynReceived => {
                    self.tx.may_acknowledge(s.ack) && self.rx.may_hold(s)
                }
                State::Idle | State::SynSent | State::Failed => false,
            },
            // A later SYN is a duplicate if it begins where the stream begins.
            Kind::Syn => self.config.role == Role::Server && s.seq == 0,
            // RFC 9293 section 3.10.7.3: it must not acknowledge anything that was not sent.
            Kind::SynAck => self.config.role == Role::Client && s.seq == 0 && s.ack <= self.tx.nxt,
            // RFC 5961 section 3.2: the position must be exactly the next one; in SYN-SENT it must acknowledge the SYN.
            Kind::Reset => match self.state {
                State::Idle | State::Failed => false,
                State::SynSent => s.ack <= self.tx.nxt,
                _ => s.seq == self.rx.next,
            },
        }
    }

    /// Counts a segment that was not accepted. If it is intact and plausible, the peer is sent the connection's present
    /// position (the challenge ACK of RFC 5961).
    pub(super) fn refuse(&mut self, s: &Segment) {
        self.tx.stats.invalid_packets += 1;
        if !s.damaged && matches!(self.state, State::Established | State::Closed) {
            self.rx.acknowledge_now();
        }
    }
}
