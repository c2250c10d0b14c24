//! Super-segments, which the segments of a sender with segmentation offload leave in: how much new data goes out together,
//! and when less than a whole one waits for more (Linux: `tcp_write_xmit`, `tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! On the wire there are segments as ever, one right after the other. What shows is where a sender waits for a
//! millisecond's worth to go at once, up to the next acknowledgement, and what it paces as one.

use super::sender::Sender;
use crate::cc::Phase;
use haltere_net::{Span, Time};

/// Bytes of a super-segment at most: 64 KiB less one and the headers' room.
const LARGEST: u64 = 65_536 - 1 - 320;
/// A super-segment is what the pacing rate gives in 2^-10 s (`sk_pacing_shift`) …
const SHIFT: u32 = 10;
/// … and on short paths more: an allowance that halves with each 2^9 us of RTT (`tcp_tso_rtt_log`).
const SHORT_PATH_SHIFT: u32 = 9;
/// What an ACK that is expected later than this would bring is not waited for, nor after so long without sending.
const PATIENCE: Span = Span::from_millis(1);

/// The super-segment at the head of what is to be sent.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SuperSegment {
    /// Segments of it that are still to go out now.
    left: u64,
    /// Bytes of it that went out.
    bytes: u64,
    /// Whether it is sent again.
    again: bool,
    /// Where the data at the head of the queue ends, that is, the part of it that lies together in memory.
    end: u64,
    /// Where the first whole chunk of the data begins, and whether data is being written that goes out at once.
    origin: u64,
    fresh: bool,
    /// Whether it is the congestion window that held the last one back.
    waits: bool,
}

impl SuperSegment {
    /// Whether it has begun to go out, and not ended.
    pub(super) fn is_begun(&self) -> bool {
        self.left > 0
    }

    /// Whether it is retransmitted.
    pub(super) fn is_again(&self) -> bool {
        self.again
    }

    /// Whether its first segment is the next.
    pub(super) fn begins(&self) -> bool {
        self.bytes == 0
    }

    /// Whether it was the congestion window that held the last one back; told once.
    pub(super) fn waited_for_window(&mut self) -> bool {
        std::mem::take(&mut self.waits)
    }

    /// Data is written after what ended at `end`; `idle` if that has all gone.
    pub(super) fn extend(&mut self, end: u64, idle: bool) {
        if self.end == end {
            self.end = 0;
        }
        self.fresh |= idle;
    }

    /// What could go at once has gone, up to `nxt`. What was left of a chunk that went out as it was written is filled up.
    pub(super) fn settle(&mut self, nxt: u64) {
        if std::mem::take(&mut self.fresh) {
            (self.origin, self.end) = (nxt, 0);
        }
    }

    /// Whether the segment that goes next is the last of several.
    pub(super) fn ends_several(&self) -> bool {
        self.left == 1 && self.bytes > 0
    }

    /// A segment with `len` bytes of data was sent. Returns the bytes of the whole if it was the last.
    pub(super) fn charge(&mut self, len: u64) -> Option<u64> {
        self.bytes += len;
        self.left = self.left.saturating_sub(1);
        self.again &= self.left > 0;
        (self.left == 0).then(|| std::mem::take(&mut self.bytes))
    }
}

impl Sender {
    /// Whether new data goes out now, given that the congestion window has room for some segments; if so, how much together
    /// is noted.
    pub(super) fn begin_together(&mut self, window: u64, room: u64, now: Time) -> bool {
        let mss = self.mss;
        let most = self.largest_together(window);
        // Two of them at least are to be on their way at a time.
        let quota = room.min((window / mss / 2).max(1)).min(most);
        let (origin, chunk) = (self.together.origin, (LARGEST / mss).max(1) * mss);
        // The application's data lies in chunks; what is too small is filled from the next one.
        let next_end = |at: u64| (origin + ((at - origin) / chunk + 1) * chunk).min(self.written);
        if self.together.end <= self.nxt {
            self.together.end = next_end(self.nxt);
        }
        let wanted = self.nxt + quota * mss;
        if self.together.end < wanted {
            self.together.end = wanted.min(next_end(self.together.end));
        }
        let len = self.together.end - self.nxt;
        self.together.waits = false;
        if len > mss && self.waits_for_more(window, room * mss, most * mss, len, now) {
            return false;
        }
        self.together.left = len.div_ceil(mss).clamp(1, quota.max(1));
        true
    }

    /// The next lost segment is to be retransmitted, and with it what was lost together (`tcp_xmit_retransmit_queue`).
    pub(super) fn begin_again(&mut self) {
        let window = self.window();
        let room = window.saturating_sub(self.in_flight()) / self.mss;
        let most = room.min(self.largest_together(window));
        self.together.left = self.board.lost_together(most.max(1));
        self.together.again = true;
    }

    /// Segments of a super-segment at most (`tcp_tso_segs`).
    fn largest_together(&self, window: u64) -> u64 {
        let (limit, least) = (self.rules.tso, self.rules.tso_least);
        if limit < self.mss {
            return 1;
        }
        if self.cc.pacing_rate().is_some() {
            return self.cc.send_quantum().min(limit) / self.mss;
        }
        let paced = self.window_rate(window).map_or(0, |rate| rate.as_bps() >> (SHIFT + 3));
        let halvings = self.rtt.min().map_or(u64::MAX, |rtt| rtt.as_micros() >> SHORT_PATH_SHIFT);
        let short_path = if halvings < 32 { LARGEST >> halvings } else { 0 };
        ((paced + short_path).min(limit) / self.mss).max(least)
    }

    /// `tcp_tso_should_defer`: `room` bytes of the congestion window are free, a whole super-segment has `most`, and the
    /// data at the head `len`.
    fn waits_for_more(&mut self, window: u64, room: u64, most: u64, len: u64, now: Time) -> bool {
        let divisor = self.rules.tso_defer;
        if divisor == 0 || self.phase >= Phase::Recovery || now.since(self.last_send.max(self.pacer.next())) > PATIENCE
        {
            return false;
        }
        let offered = self.window_end.saturating_sub(self.nxt);
        let limit = room.min(offered);
        let last = self.together.end == self.written;
        let window = window.min(self.window_end.saturating_sub(self.una));
        if limit >= most || (!last && limit >= len) || limit >= window / divisor {
            return false;
        }
        let (Some(head), Some(srtt)) = (self.board.head(), self.rtt.srtt()) else { return false };
        if (head.sent + srtt).since(now) > (srtt / 2).min(PATIENCE) {
            return false;
        }
        if room < offered {
            if room <= len {
                self.together.waits = true;
                return true;
            }
        } else if offered <= len {
            return true;
        }
        !(last && self.fin)
    }
}
