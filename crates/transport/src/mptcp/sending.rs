//! The data that a connection has to send: what no subflow was given, what is outstanding, what is to be sent again.

use crate::ranges::RangeSet;
use haltere_net::Time;

/// The sending side of the data.
#[derive(Debug)]
pub(super) struct Sending {
    /// The end of what the application wrote.
    pub written: u64,
    /// Whether the application ended the data.
    pub finished: bool,
    /// The end of what the send buffer of the connection has taken.
    pub accepted: u64,
    /// The end of what subflows were given.
    pub next: u64,
    /// Everything below is acknowledged by DATA_ACK.
    pub una: u64,
    /// The end of the peer's receive window.
    pub edge: u64,
    /// Data that subflows were given and that is to be given to others, too.
    pub again: RangeSet,
    /// Whether DATA_FIN is to be sent, and whether it was acknowledged.
    pub fin_due: bool,
    pub fin_acked: bool,
    /// Whether the scheduler was told that the window is closed.
    pub told_blocked: bool,
    /// When the data-level retransmission timer expires.
    pub timer: Time,
    /// Bytes that were given to a subflow again.
    pub reinjected: u64,
    /// Where the last repair of a full window began, so that it is not repeated.
    pub repaired: Option<u64>,
}

impl Sending {
    pub fn new() -> Sending {
        Sending {
            written: 0,
            finished: false,
            accepted: 0,
            next: 0,
            una: 0,
            edge: 0,
            again: RangeSet::default(),
            fin_due: false,
            fin_acked: false,
            told_blocked: false,
            timer: Time::NEVER,
            reinjected: 0,
            repaired: None,
        }
    }

    /// Bytes that no subflow was given.
    pub fn unsent(&self) -> u64 {
        self.written - self.next
    }

    /// Bytes of the send buffer that no subflow was given.
    pub fn unassigned(&self) -> u64 {
        self.accepted.saturating_sub(self.next)
    }

    /// The send buffer has room for `buffer` bytes. An application that wrote until it was full goes on when a third of it
    /// is free (Linux: `sk_stream_is_writeable`).
    pub fn fill(&mut self, buffer: u64) {
        let held = self.accepted.saturating_sub(self.una);
        if held <= buffer / 3 * 2 {
            self.accepted = self.accepted.max(self.una.saturating_add(buffer)).min(self.written);
        }
    }

    /// Bytes that subflows were given and that are not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Whether there is something to give to subflows.
    pub fn is_waiting(&self) -> bool {
        self.next < self.written || !self.again.is_empty()
    }

    /// Whether the peer owes an acknowledgement.
    pub fn is_outstanding(&self) -> bool {
        self.una < self.next || (self.fin_sent() && !self.fin_acked)
    }

    /// Whether everything was given to subflows, so that DATA_FIN goes with the last of it.
    pub fn fin_sent(&self) -> bool {
        self.finished && self.next == self.written
    }

    /// Whether the peer may acknowledge up to this position.
    pub fn may_acknowledge(&self, position: u64) -> bool {
        position <= self.next + u64::from(self.fin_sent())
    }

    /// Takes a DATA_ACK and the window that came with it. Returns whether something new was acknowledged.
    pub fn acknowledge(&mut self, position: u64, window: u64) -> bool {
        if position < self.una {
            return false;
        }
        self.edge = self.edge.max(position.saturating_add(window));
        let fin = position > self.written;
        let progress = position.min(self.written) > self.una || (fin && !self.fin_acked);
        self.una = self.una.max(position.min(self.written));
        self.fin_acked |= fin && self.fin_sent();
        self.fin_due &= !self.fin_acked;
        if progress {
            self.again.remove_below(self.una);
        }
        progress
    }

    /// The data from `start` to `end` is to be given to another subflow, as far as it is not acknowledged.
    pub fn give_again(&mut self, start: u64, end: u64) {
        let (start, end) = (start.max(self.una), end.min(self.next));
        if start < end {
            self.again.insert_all(start, end);
        }
    }

    pub fn has_finished(&self) -> bool {
        self.fin_acked
    }
}
