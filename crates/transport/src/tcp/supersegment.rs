//! Super-segments: groups of segments that a sender with segmentation offload sends together. This file decides how
//! much new data goes out together, and when less than a whole super-segment waits for more (Linux: `tcp_write_xmit`,
//! `tcp_tso_autosize`, `tcp_tso_should_defer`).
//!
//! On the wire there are ordinary segments, back to back. The effect is visible in two places: a sender may wait, at
//! most until the next acknowledgement, to send a millisecond's worth at once; and it paces the group as one.

use super::sender::{Repair, Sender};
use crate::cc::Phase;
use haltere_net::{Span, Time};

/// The largest number of bytes in a super-segment: 64 KiB less one and the room for headers.
pub(super) const LARGEST: u64 = 65_536 - 1 - 320;
/// A super-segment holds the bytes that the pacing rate gives in 2^-10 s (`sk_pacing_shift`).
const SHIFT: u32 = 10;
/// On short paths an allowance is added. It halves with each 2^9 us of RTT (`tcp_tso_rtt_log`).
const SHORT_PATH_SHIFT: u32 = 9;
/// A partial super-segment waits for the next ACK only if that is expected within this time, and only if the last
/// transmission was no longer ago than this.
const PATIENCE: Span = Span::from_millis(1);

/// The super-segment at the head of the send queue.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct SuperSegment {
    /// The number of its segments that are still to be sent now.
    left: u32,
    /// The number of its bytes that were sent.
    bytes: u32,
    /// Whether it is a retransmission.
    again: bool,
    /// The position at which the contiguous part of the data at the head of the queue ends.
    end: u64,
    /// The position of the first whole chunk of the data; and whether the data being written is sent at once.
    origin: u64,
    fresh: bool,
    /// Whether the congestion window blocked the last super-segment.
    waits: bool,
}

impl SuperSegment {
    /// Whether some, but not all, of its segments were sent.
    pub(super) fn is_begun(&self) -> bool {
        self.left > 0
    }

    /// How many of its segments are still to be sent.
    pub(super) fn left(&self) -> u64 {
        self.left.into()
    }

    /// Whether it is a retransmission.
    pub(super) fn is_again(&self) -> bool {
        self.again
    }

    /// Whether its first segment is the next to be sent.
    pub(super) fn begins(&self) -> bool {
        self.bytes == 0
    }

    /// Whether the congestion window blocked the last super-segment. The call clears the flag.
    pub(super) fn waited_for_window(&mut self) -> bool {
        std::mem::take(&mut self.waits)
    }

    /// Data is written after the data that ended at `end`.
    pub(super) fn extend(&mut self, end: u64) {
        if self.end == end {
            self.end = 0;
        }
    }

    /// Whether data is sent while it is written.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Data is written after everything was sent.
    pub(super) fn begin(&mut self) {
        self.fresh = true;
    }

    /// Data is written at `end` after everything was sent on a subflow of MPTCP: it is stored as a whole before any of it is sent, behind what has a mapping and waits
    /// (`mptcp_sendmsg_frag`).
    pub(super) fn begin_mapped(&mut self, end: u64) {
        self.origin = end;
    }

    /// Everything that could be sent at once was sent, up to `nxt`. New data fills the rest of a chunk that was sent
    /// while it was written.
    pub(super) fn settle(&mut self, nxt: u64) {
        if std::mem::take(&mut self.fresh) {
            (self.origin, self.end) = (nxt, 0);
        }
    }

    /// Whether the next segment is the last of several.
    pub(super) fn ends_several(&self) -> bool {
        self.left == 1 && self.bytes > 0
    }

    /// The segment that was sent last, with `len` bytes of data, was not sent after all: the rest of its super-segment is
    /// not sent now. Returns the bytes that were.
    pub(super) fn withdraw(&mut self, len: u64) -> u64 {
        (self.left, self.again) = (0, false);
        u64::from(std::mem::take(&mut self.bytes)).saturating_sub(len)
    }

    /// Records that a segment with `len` bytes of data was sent. If it was the last, returns the bytes of the whole
    /// super-segment.
    pub(super) fn charge(&mut self, len: u64) -> Option<u64> {
        self.bytes += len as u32;
        self.left = self.left.saturating_sub(1);
        self.again &= self.left > 0;
        (self.left == 0).then(|| std::mem::take(&mut self.bytes).into())
    }
}

impl Sender {
    /// Whether new data is sent now, if the congestion window has room for some segments. If so, stores how many
    /// segments go together.
    pub(super) fn begin_together(&mut self, window: u64, room: u64, now: Time) -> bool {
        let mss = self.mss;
        let (len, quota, most) = self.next_together(window, room);
        self.together.waits = false;
        if len > mss && self.waits_for_more(window, room * mss, most * mss, len, now) {
            return false;
        }
        let segments = len.div_ceil(mss).clamp(1, quota.max(1));
        if self.is_held_back(segments, Repair::No) {
            return false;
        }
        self.together.left = segments as u32;
        true
    }

    /// New data is sent now, and waits for nothing.
    pub(super) fn fill_together(&mut self, window: u64, room: u64) {
        let (len, quota, _) = self.next_together(window, room);
        self.together.left = len.div_ceil(self.mss).clamp(1, quota.max(1)) as u32;
    }

    /// The bytes of new data that can go together, for how many segments the window has room, and how many at most go together.
    // Inside its caller the three numbers need no memory.
    #[inline(always)]
    fn next_together(&mut self, window: u64, room: u64) -> (u64, u64, u64) {
        let mss = self.mss;
        let most = self.largest_together(window);
        // At least two super-segments should be in flight at a time.
        let quota = room.min((window / mss / 2).max(1)).min(most);
        if self.mapped && (1..=self.nxt).contains(&self.together.end) {
            self.together.origin = self.nxt;
        }
        let (origin, chunk) = (self.together.origin, (LARGEST / mss).max(1) * mss);
        // The application's data is stored in chunks. Data that is too small is filled up from the next chunk.
        let written = self.written.min(self.cuts.next());
        let next_end = |at: u64| (origin + ((at - origin) / chunk + 1) * chunk).min(written);
        if self.together.end <= self.nxt {
            self.together.end = next_end(self.nxt);
        }
        let wanted = self.nxt + quota * mss;
        // Chunks with mappings of their own stay apart (`mptcp_skb_can_collapse`).
        if self.together.end < wanted && !self.mapped {
            self.together.end = wanted.min(next_end(self.together.end));
        }
        (self.together.end - self.nxt, quota, most)
    }

    /// The next lost segment is to be retransmitted, together with lost segments of the same group
    /// (`tcp_xmit_retransmit_queue`).
    pub(super) fn begin_again(&mut self) {
        let window = self.window();
        let room = window.saturating_sub(self.in_flight()) / self.mss;
        let most = room.min(self.largest_together(window));
        self.together.left = self.board.lost_together(most.max(1)) as u32;
        self.together.again = true;
    }

    /// The largest number of segments in a super-segment (`tcp_tso_segs`).
    fn largest_together(&self, window: u64) -> u64 {
        let (limit, least) = (u64::from(self.rules.tso), u64::from(self.rules.tso_least));
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

    /// `tcp_tso_should_defer`: `room` bytes of the congestion window are free, a whole super-segment has `most` bytes,
    /// and the data at the head has `len`.
    fn waits_for_more(&mut self, window: u64, room: u64, most: u64, len: u64, now: Time) -> bool {
        let divisor = u64::from(self.rules.tso_defer);
        if divisor == 0
            || self.phase >= Phase::Recovery
            || self.clock.read(now).since(self.clock.read(self.last_send).max(self.pacer.next())) > PATIENCE
        {
            return false;
        }
        let offered = self.window_end.saturating_sub(self.nxt);
        let limit = room.min(offered);
        let last = self.together.end == self.written && !self.more;
        let window = window.min(self.window_end.saturating_sub(self.una));
        if limit >= most || (!last && limit >= len) || limit >= window / divisor {
            return false;
        }
        let (Some(head), Some(srtt)) = (self.board.head(), self.rtt.srtt_exactly()) else { return false };
        if (self.clock.read(head.sent) + srtt).since(self.clock.read(now)) > (srtt / 2).min(PATIENCE) {
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
