//! The acknowledgement-frequency extension (draft-ietf-quic-ack-frequency): the sender of data says how often it wants to
//! hear of them.

use super::Verdict;
use super::connection::Connection;
use super::frame::AckFrequency;
use haltere_net::{Span, Time};

/// The `min_ack_delay` that this end advertises: `kGranularity` of RFC 9002 section 6.1.2.
pub(super) const MIN_ACK_DELAY: Span = Span::from_millis(1);
/// The longest that may be asked for: what `max_ack_delay` can state (RFC 9000 section 18.2).
const LONGEST_DELAY: Span = Span::from_millis(1 << 14);
/// Acknowledgements that a sender asks for in a round trip: the draft (section 8.1) wants one at least; four leave a
/// window-based controller its clock.
const ACKS_A_ROUND: u64 = 4;
/// The reordering threshold asked for: packets out of order are acknowledged at once, as without the extension (RFC 9000
/// section 13.2.1).
const REORDERING: u64 = 1;
/// Steps smaller than a quarter are not worth a frame.
const WORTH: u64 = 4;

/// The requests of one end to the other, and of the other to it.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Frequency {
    /// The peer's `min_ack_delay`, if it has the extension and so have we.
    peer: Option<Span>,
    /// Number of the next frame, and whether it is to be sent.
    sequence: u64,
    pub pending: bool,
    /// When to ask anew at the earliest.
    next: Time,
    threshold: u64,
    /// The delay asked for, and that of the frame last acknowledged.
    asked: Span,
    confirmed: Span,
    /// The largest number of a frame of the peer's, plus one.
    heard: u64,
}

impl Frequency {
    /// The handshake told the peer's parameters.
    pub fn on_parameters(&mut self, max_ack_delay: Span, min_ack_delay: Option<Span>) {
        self.peer = min_ack_delay;
        self.asked = max_ack_delay;
        self.confirmed = max_ack_delay;
        self.threshold = 1;
    }

    /// The longest time by which the peer may delay acknowledgements. While a change is on its way, this is the longer of the
    /// old and the new time (section 7).
    #[inline]
    pub fn max_ack_delay(&self) -> Span {
        self.confirmed.max(self.asked)
    }

    /// Whether the peer has been asked to acknowledge more seldom than it would by itself.
    pub fn relaxed(&self) -> bool {
        self.threshold > 1
    }

    /// An acknowledgement came, once an RTT: how often is it to be from now on?
    #[inline]
    pub fn review(&mut self, now: Time, window_packets: u64, srtt: Option<Span>) {
        let (Some(least), Some(srtt)) = (self.peer, srtt) else { return };
        if now < self.next {
            return;
        }
        self.next = now + srtt;
        let threshold = (window_packets / ACKS_A_ROUND).max(1);
        let delay = (srtt / ACKS_A_ROUND).max(least);
        let changed = threshold.abs_diff(self.threshold) * WORTH >= self.threshold
            || delay.max(self.asked) - delay.min(self.asked) >= self.asked / WORTH;
        if changed && !self.pending {
            (self.threshold, self.asked, self.pending) = (threshold, delay, true);
        }
    }

    /// The frame that is to be sent.
    pub fn frame(&mut self) -> AckFrequency {
        self.pending = false;
        self.sequence += 1;
        let (sequence, threshold) = (self.sequence - 1, self.threshold);
        AckFrequency { sequence, threshold, max_delay: self.asked, reordering: REORDERING }
    }

    /// The peer has the frame with this number.
    pub fn on_acked(&mut self, sequence: u64) {
        if sequence + 1 == self.sequence {
            self.confirmed = self.asked;
        }
    }

    /// The frame with this number was lost; section 4: sent again as it would be now, unless a later one was.
    pub fn on_lost(&mut self, sequence: u64) {
        self.pending |= sequence + 1 == self.sequence;
    }
}

impl Connection {
    /// The peer asks.
    pub(super) fn on_ack_frequency(&mut self, frame: &AckFrequency) -> Verdict {
        if !self.config.ack_frequency {
            return Err("FRAME_ENCODING_ERROR: an ACK_FREQUENCY frame without min_ack_delay");
        }
        if frame.max_delay < MIN_ACK_DELAY || frame.max_delay > LONGEST_DELAY {
            return Err(
                "PROTOCOL_VIOLATION: a max_ack_delay was asked for that is below min_ack_delay or above 2^14 ms",
            );
        }
        // Section 5: older ones that come late are ignored.
        if frame.sequence < self.frequency.heard {
            return Ok(());
        }
        self.frequency.heard = frame.sequence.saturating_add(1);
        self.acks.every = u32::try_from(frame.threshold).unwrap_or(u32::MAX).saturating_add(1);
        self.acks.max_delay = frame.max_delay;
        self.acks.reordering = frame.reordering;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    #[test]
    fn four_acknowledgements_a_round_are_asked_for_and_steps_worth_a_frame() {
        let mut frequency = Frequency::default();
        frequency.review(Time::ZERO, 100, Some(MS(80)));
        assert!(!frequency.pending, "the peer has no such extension");
        frequency.on_parameters(MS(25), Some(MS(1)));
        frequency.review(Time::ZERO, 100, Some(MS(80)));
        let frame = frequency.frame();
        assert_eq!((frame.sequence, frame.threshold, frame.max_delay), (0, 25, MS(20)));
        // Until it is acknowledged the longer delay holds.
        assert_eq!(frequency.max_ack_delay(), MS(25));
        frequency.on_acked(0);
        assert_eq!(frequency.max_ack_delay(), MS(20));
        frequency.review(Time::ZERO + MS(79), 1000, Some(MS(80)));
        assert!(!frequency.pending, "not within an RTT");
        frequency.review(Time::ZERO + MS(80), 120, Some(MS(80)));
        assert!(!frequency.pending, "not for a fifth more");
        frequency.review(Time::ZERO + MS(160), 200, Some(MS(80)));
        assert_eq!((frequency.frame().threshold, frequency.pending), (50, false));
        frequency.on_lost(0);
        assert!(!frequency.pending);
        frequency.on_lost(1);
        assert_eq!((frequency.pending, frequency.frame().sequence), (true, 2));
    }
}
