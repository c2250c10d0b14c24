//! Which segments are part of the connection: RFC 9293 section 3.10.7, and RFC 5961 against those who guess.
//!
//! What is not is dropped, counted and, where it might be the peer's after all, answered by an acknowledgement.

use super::connection::{Connection, State};
use super::segment::{Kind, Segment};
use crate::endpoint::Role;

/// Positions end here: more than any run moves, and far enough from the end of their type.
const MOST_POSITION: u64 = 1 << 62;
/// The largest window that can be told (RFC 7323 section 2.3).
const MOST_WINDOW: u64 = 65_535 << 14;

impl Connection {
    /// Whether a segment that came in a packet of `len` bytes is to be read.
    #[inline]
    pub(super) fn accepts(&self, s: &Segment, len: u32) -> bool {
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
            // Later ones are duplicates if they begin where the stream does.
            Kind::Syn => self.config.role == Role::Server && s.seq == 0,
            // RFC 9293 section 3.10.7.3: it must acknowledge nothing that was not sent.
            Kind::SynAck => self.config.role == Role::Client && s.seq == 0 && s.ack <= self.tx.nxt,
            // RFC 5961 section 3.2: exactly the next position; in SYN-SENT it must acknowledge the SYN.
            Kind::Reset => match self.state {
                State::Idle | State::Failed => false,
                State::SynSent => s.ack <= self.tx.nxt,
                _ => s.seq == self.rx.next,
            },
        }
    }

    /// What was not accepted is counted. If it is intact and within reason, the peer is told where the connection stands
    /// (the challenge ACK of RFC 5961).
    pub(super) fn refuse(&mut self, s: &Segment) {
        self.tx.stats.invalid_packets += 1;
        if !s.damaged && matches!(self.state, State::Established | State::Closed) {
            self.rx.acknowledge_now();
        }
    }
}
