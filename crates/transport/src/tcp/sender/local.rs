//! The way of a packet below the socket on its own node: TCP small queues, the send buffer, and packets that the network
//! interface refuses.
//!
//! Bytes are counted as packets have them on the wire. Linux counts the memory that a packet takes, headers of its own
//! included (`truesize`).

use super::{Sender, Timer};
use crate::cc::Trigger;
use crate::tcp::segment::Segment;
use haltere_net::{Span, Time};

/// How long a sender waits to repeat a retransmission that its own interface refused (Linux:
/// `TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE_INTERVAL: Span = Span::from_millis(500);
/// A connection keeps the bytes that its pacing rate gives in 2^-10 s below it (Linux: `sk_pacing_shift`).
const SHIFT: u32 = 10;

/// Whether a segment repairs a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::tcp) enum Repair {
    No,
    Yes,
}

/// The state of what is below the socket. It stays as it is if the interface does not credit.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Local {
    /// Bytes in the interface.
    bytes: u64,
    /// Whether small queues hold data back.
    held_back: bool,
    /// Whether a packet was refused, so that nothing is sent until an acknowledgement or a timer.
    refused: bool,
}

impl Local {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }
    pub(super) fn is_refused(&self) -> bool {
        self.refused
    }
    /// Packets that were refused may be tried again.
    pub(super) fn retry(&mut self) {
        self.refused = false;
    }
}

impl Sender {
    /// Bytes of data that may be sent and not acknowledged, as far as the send buffer is concerned.
    pub(super) fn buffer(&self) -> u64 {
        self.rules.send_buffer
    }

    /// The position up to which the peer's window and the send buffer let data be sent.
    pub(super) fn sendable_end(&self) -> u64 {
        self.window_end.min(self.una.saturating_add(self.buffer()))
    }

    /// Whether TCP small queues hold back a super-segment (`tcp_small_queue_check`): two super-segments, or a millisecond
    /// at the pacing rate, may be below the socket. Twice as much may be there for repairs, and with nothing in flight
    /// everything may.
    pub(in crate::tcp) fn is_held_back(&mut self, segments: u64, repair: Repair) -> bool {
        if self.local.bytes == 0 || self.rules.small_queue == 0 {
            return false;
        }
        let rate = self.nominal_rate().map_or(0, |rate| rate.as_bps() >> (SHIFT + 3));
        let mut limit = rate.max(2 * segments * self.rules.wire);
        if !self.paced {
            limit = limit.min(self.rules.small_queue);
        }
        limit <<= u32::from(repair == Repair::Yes);
        self.local.held_back = self.local.bytes > limit && !self.board.is_empty();
        self.local.held_back
    }

    /// The interface holds this many bytes now. Returns whether data was held back for that (`tcp_wfree`).
    pub(in crate::tcp) fn on_local_backlog(&mut self, bytes: u64) -> bool {
        let fewer = bytes < self.local.bytes;
        self.local.bytes = bytes;
        let resume = fewer && std::mem::take(&mut self.local.held_back);
        self.local.refused &= !resume;
        resume
    }

    /// Whether a refused packet left nothing in flight whose acknowledgement would be the time to try again.
    pub(in crate::tcp) fn is_refused_and_idle(&self) -> bool {
        self.local.refused && self.board.is_empty() && self.unsent() > 0
    }

    /// Packets that were refused may be tried again.
    pub(in crate::tcp) fn retry(&mut self) -> bool {
        std::mem::take(&mut self.local.refused)
    }

    /// The interface congested: the window is reduced once per round trip, as by a mark (`tcp_enter_cwr`).
    pub(in crate::tcp) fn on_local_congestion(&mut self, now: Time) {
        self.begin_reduction(Trigger::Local, now);
    }

    /// The interface refused the segment that was sent last. It counts as not sent: new data stays at the head of what is
    /// to be sent, and what was lost stays to be retransmitted.
    pub(in crate::tcp) fn take_back(&mut self, s: &Segment, now: Time) {
        let len = u64::from(s.len);
        self.local.refused = true;
        self.stats.sent_packets -= 1;
        let sent = self.together.withdraw(len);
        if let Some(rate) = self.pacing_rate().filter(|_| sent > 0) {
            self.pacer.on_sent(self.clock.read(now), sent, rate);
        }
        let probe = self.tlp.filter(|tlp| tlp.high_seq == self.nxt && self.last_send == now);
        let new = s.seq + len + u64::from(s.fin) == self.nxt && self.board.withdraw(s.seq);
        let repair = if new {
            self.cuts.withdraw(self.nxt);
            self.nxt = s.seq;
            false
        } else {
            self.stats.retransmitted_packets -= 1;
            self.board.withdraw_retransmission(s.seq)
        };
        if let (true, Some(prr)) = (new || repair, &mut self.prr) {
            prr.on_withdrawn(self.mss);
        }
        if repair {
            self.episode.on_withdrawn();
            if s.seq == self.una && self.timer() == Some(Timer::Rto) {
                self.set_timer(Timer::Rto, now, self.rto().min(RESOURCE_PROBE_INTERVAL));
            }
        } else if probe.is_some() {
            // A tail loss probe: the retransmission timer, which it set, stays.
            self.tlp = None;
            self.stats.probes -= 1;
        }
    }
}
