//! The pieces in which the send buffer keeps data.

use std::collections::VecDeque;

/// The memory from which pieces are cut, bytes (Linux: `SKB_FRAG_PAGE_ORDER`), and that of the header of each (`mptcp_data_frag`).
const PAGES: u64 = 32 << 10;
const HEADER: u64 = 40;
/// A piece begins in what is left of the memory if that holds a header and so many bytes (`sk_page_frag_refill`).
const LEAST: u64 = 32;
/// Headers begin at multiples of so many bytes.
const ALIGNED: u64 = 8;
/// A process writes at most so many bytes with one call, and what waits is given to subflows at its end (`mptcp_sendmsg`).
const CALL: u64 = 1 << 20;

/// Linux keeps the data of a connection in pieces, each with a header (`mptcp_data_frag`). A subflow gets a piece as a whole, and one is
/// sent again at a data-level timeout. Data goes on in a piece while its memory has room and a part of the data waits for a subflow.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// The ends of those that are not acknowledged.
    ends: VecDeque<u64>,
    /// The bytes that are left of the memory of the last one.
    room: u64,
    /// The end of what the process writes with its call, and whether it waits for memory.
    call: u64,
    blocked: bool,
    /// Whether it makes another call, as its last one wrote a part.
    again: bool,
}

impl Pieces {
    /// The end of the piece that holds the byte at `position`.
    pub fn end(&self, position: u64) -> u64 {
        let at = self.ends.partition_point(|&end| end <= position);
        self.ends.get(at).copied().unwrap_or(u64::MAX)
    }

    /// The memory of all headers, bytes.
    pub fn headers(&self) -> u64 {
        self.ends.len() as u64 * HEADER
    }

    /// Whether the process makes a call at once, without waiting for memory: its last one wrote a part of what it was to write. Programs
    /// write until they are refused.
    pub fn calls_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// Whether a process that waits for memory finds too little of it: a third of `buffer` bytes must be free beside the `memory` that is
    /// taken (Linux: `sk_stream_is_writeable`).
    pub fn waits(&self, memory: u64, buffer: u64) -> bool {
        self.blocked && memory > buffer / 3 * 2
    }

    /// The process goes on to write at `position`, up to `written` at most. Returns where its call ends.
    pub fn call(&mut self, position: u64, written: u64) -> u64 {
        if self.call <= position {
            self.call = written.min(position + CALL);
        }
        self.call
    }

    /// The call that wrote `bytes` ended at `position`: what it did not write waits for memory.
    pub fn rest(&mut self, position: u64, bytes: u64) {
        self.blocked = position < self.call;
        self.again = self.blocked && bytes > 0;
        self.call = position;
    }

    /// Takes at most `most` bytes of data that follow those up to `position`, of which `unassigned` bytes wait for a subflow. Returns how
    /// many it took.
    pub fn take(&mut self, position: u64, most: u64, unassigned: u64) -> u64 {
        let last = self.ends.back_mut().filter(|end| **end == position && unassigned > 0 && self.room > 0);
        let len = if let Some(last) = last {
            let len = self.room.min(most);
            *last += len;
            len
        } else {
            self.room = if self.room < LEAST + HEADER { PAGES } else { self.room - self.room % ALIGNED } - HEADER;
            let len = self.room.min(most);
            self.ends.push_back(position + len);
            len
        };
        self.room -= len;
        len
    }

    /// Everything below `una` is acknowledged.
    pub fn forget_below(&mut self, una: u64) {
        while self.ends.front().is_some_and(|&end| end <= una) {
            self.ends.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_goes_on_in_a_piece_only_while_some_of_it_waits() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.take(0, 100_000, 0), PAGES - HEADER);
        assert_eq!(pieces.take(32_728, 1000, 32_728), 1000);
        assert_eq!(pieces.take(33_728, 500, 33_728), 500);
        assert_eq!((pieces.end(0), pieces.end(32_728), pieces.end(34_228)), (32_728, 34_228, u64::MAX));
        // Everything was given: the rest of the memory gets another header.
        assert_eq!(pieces.take(34_228, 100_000, 0), PAGES - HEADER - 1500 - HEADER - 4);
        assert_eq!(pieces.headers(), 3 * HEADER);
        pieces.forget_below(34_228);
        assert_eq!(pieces.headers(), HEADER);
    }

    #[test]
    fn a_process_that_was_kept_waiting_needs_a_third_of_the_buffer() {
        let mut pieces = Pieces::default();
        assert_eq!(pieces.call(0, 2 * CALL), CALL);
        pieces.rest(CALL, CALL);
        assert!(!pieces.waits(90, 90) && !pieces.calls_again(), "its call wrote everything");
        assert_eq!(pieces.call(CALL, 2 * CALL), 2 * CALL);
        pieces.rest(CALL + 1000, 1000);
        assert!(pieces.calls_again(), "it does not know yet that it has to wait");
        assert_eq!(pieces.call(CALL + 1000, 4 * CALL), 2 * CALL + 1000);
        pieces.rest(CALL + 1000, 0);
        assert!(!pieces.calls_again());
        assert!(pieces.waits(61, 90) && !pieces.waits(60, 90));
    }
}
