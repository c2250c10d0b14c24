//! The data that a connection has to send: what no subflow was given, what is outstanding, what is to be sent again.

use super::repair::LEAST_TIMEOUT;
use crate::ranges::RangeSet;
use haltere_net::{Span, Time};

/// Linux keeps the data of a connection in pieces (`mptcp_data_frag`): a header and data fill 32 KiB of memory. A subflow gets
/// a piece as a whole, and one is sent again at a data-level timeout.
const PIECE: u64 = (32 << 10) - PIECE_HEADER;
const PIECE_HEADER: u64 = 40;
/// The part of the send buffer that does not depend on subflows, bytes (`net.ipv4.tcp_wmem`, the first of three).
pub(super) const LEAST_BUFFER: u64 = 4096;

/// The end of the piece that holds the byte at `position`.
pub(super) fn piece_end(position: u64) -> u64 {
    (position / PIECE + 1).saturating_mul(PIECE)
}

/// The sending side of the data.
#[derive(Debug)]
pub(super) struct Sending {
    /// The end of what the application wrote.
    pub written: u64,
    /// Whether the application ended the data.
    pub finished: bool,
    /// The end of what the send buffer of the connection has taken.
    pub accepted: u64,
    /// The end of what subflows were given, `skipped` left out.
    pub next: u64,
    /// Data below `next` that no subflow was given: the scheduler took data from further back.
    pub skipped: RangeSet,
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
    /// For how long it is set.
    pub interval: Span,
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
            skipped: RangeSet::default(),
            una: 0,
            edge: 0,
            again: RangeSet::default(),
            fin_due: false,
            fin_acked: false,
            told_blocked: false,
            timer: Time::NEVER,
            interval: LEAST_TIMEOUT,
            reinjected: 0,
            repaired: None,
        }
    }

    /// Bytes that no subflow was given.
    pub fn unsent(&self) -> u64 {
        self.written - self.next + self.left_out()
    }

    /// Bytes below `next` that no subflow was given.
    fn left_out(&self) -> u64 {
        self.skipped.iter().map(|(start, end)| end - start).sum()
    }

    /// Where the data begins that follows after `skip` bytes of what no subflow was given, and how many bytes it has; at least
    /// `least` if there are so many. The window allows data up to `edge`.
    pub fn further_back(&self, skip: u64, least: u64) -> (u64, u64) {
        let end = self.accepted.min(self.edge);
        let all = self.left_out() + end.saturating_sub(self.next);
        let mut skip = skip.min(all.saturating_sub(least));
        let beyond = (end > self.next).then_some((self.next, end));
        for (start, end) in self.skipped.iter().chain(beyond) {
            if skip < end - start {
                return (start + skip, end - start - skip);
            }
            skip -= end - start;
        }
        (self.next, 0)
    }

    /// A subflow was given the data from `start` to `end`. Returns how much of it subflows were given before.
    pub fn account(&mut self, start: u64, end: u64) -> u64 {
        self.again.remove(start, end);
        let below = self.next.min(end).saturating_sub(start);
        let left = if self.skipped.is_empty() { 0 } else { self.left_out() };
        if left > 0 {
            self.skipped.remove(start, end);
        }
        let fresh = if left > 0 { left - self.left_out() } else { 0 };
        if start > self.next {
            self.skipped.insert_all(self.next, start);
        }
        self.next = self.next.max(end);
        below - fresh
    }

    /// Bytes of the send buffer that no subflow was given.
    pub fn unassigned(&self) -> u64 {
        self.accepted.saturating_sub(self.next) + self.left_out()
    }

    /// The send buffer has room for `buffer` bytes. An application that wrote until it was full goes on when a third of it
    /// is free (Linux: `sk_stream_is_writeable`). A buffer that is not full takes a piece as a whole (`mptcp_sendmsg`).
    pub fn fill(&mut self, buffer: u64) {
        if self.memory() > buffer / 3 * 2 {
            return;
        }
        while self.accepted < self.written && self.memory() < buffer {
            self.accepted = piece_end(self.accepted).min(self.written);
        }
    }

    /// The memory that the send buffer takes, bytes.
    fn memory(&self) -> u64 {
        let pieces = self.accepted.div_ceil(PIECE).saturating_sub(self.una / PIECE);
        self.accepted.saturating_sub(self.una) + pieces * PIECE_HEADER
    }

    /// Whether the application has more than the send buffer took.
    pub fn is_full(&self) -> bool {
        self.accepted < self.written
    }

    /// Bytes that subflows were given and that are not acknowledged.
    pub fn outstanding(&self) -> u64 {
        self.next - self.una - self.left_out()
    }

    /// Whether there is something to give to subflows.
    pub fn is_waiting(&self) -> bool {
        self.next < self.written || !self.again.is_empty() || !self.skipped.is_empty()
    }

    /// Whether the peer owes an acknowledgement.
    pub fn is_outstanding(&self) -> bool {
        self.una < self.next || (self.fin_sent() && !self.fin_acked)
    }

    /// Whether everything was given to subflows, so that DATA_FIN goes with the last of it.
    pub fn fin_sent(&self) -> bool {
        self.finished && self.next == self.written
    }

    /// The end of the data, once everything was given to subflows.
    pub fn end(&self) -> Option<u64> {
        self.fin_sent().then_some(self.written)
    }

    /// Whether the peer may acknowledge up to this position: it cannot have what no subflow was given.
    pub fn may_acknowledge(&self, position: u64) -> bool {
        match self.skipped.first() {
            Some((first, _)) => position <= first,
            None => position <= self.next + u64::from(self.fin_sent()),
        }
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
            for (start, end) in self.skipped.iter() {
                self.again.remove(start, end);
            }
        }
    }

    pub fn has_finished(&self) -> bool {
        self.fin_acked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_from_further_back_leaves_what_comes_before_it_to_others() {
        let mut s = Sending::new();
        (s.written, s.accepted, s.edge) = (1000, 600, 500);
        assert_eq!(s.further_back(200, 100), (200, 300), "up to the window's edge");
        assert_eq!(s.account(200, 300), 0);
        assert_eq!((s.unsent(), s.unassigned(), s.outstanding()), (900, 500, 100));
        // 200 bytes were skipped; 50 bytes of what waits lie before the next piece.
        assert_eq!(s.further_back(250, 100), (350, 150));
        assert_eq!(s.further_back(1000, 100), (400, 100), "as far back as a full packet allows");
        assert_eq!(s.further_back(150, 100), (150, 50));
        assert_eq!(s.account(150, 200), 0);
        assert_eq!(s.skipped.iter().collect::<Vec<_>>(), [(0, 150)]);
        s.give_again(100, 300);
        assert_eq!(s.again.iter().collect::<Vec<_>>(), [(150, 300)], "what nobody was given is not given again");
        assert_eq!(s.account(100, 200), 50);
        assert_eq!((s.skipped.first(), s.again.first()), (Some((0, 100)), Some((200, 300))));
        assert!(s.may_acknowledge(0) && !s.may_acknowledge(1), "nobody was given the first byte");
        s.account(0, 100);
        assert!(s.may_acknowledge(300) && !s.may_acknowledge(301));
    }
}
