//! Super-segments of the scoreboard: which segments one descriptor of the host's memory holds.

use super::{Marks, Record, Scoreboard};

impl Scoreboard {
    /// How many super-segments are kept. One counts as long as its last segment is (Linux: `tcp_trim_head` keeps its rest).
    pub(in crate::tcp) fn super_segments(&self) -> u64 {
        u64::from(self.super_segments) + u64::from(self.records.front().is_some_and(|first| !first.begins))
    }

    /// How many segments can be retransmitted together, at most `most`: the next one to retransmit and those that
    /// follow it in the same super-segment. The rest begins a super-segment of its own.
    pub(in crate::tcp) fn lost_together(&mut self, most: u64) -> u64 {
        let waits = |m: Marks| m.has(Marks::LOST) && !m.has(Marks::SACKED) && !m.has(Marks::RETRANS);
        let mut count = 1;
        while let Some(record) = self.at_mut(self.hint.wrapping_add(count)) {
            if record.begins || !waits(record.marks) {
                break;
            }
            if u64::from(count) >= most {
                record.begins = true;
                self.super_segments += 1;
                break;
            }
            count += 1;
        }
        u64::from(count)
    }

    /// SACKs newly report the data from `start` to `end`: splits the super-segments that they report in part, and joins those that are
    /// reported whole with the one before, if that was reported, too (Linux: `tcp_match_skb_to_sack`, `tcp_shift_skb_data`).
    pub(super) fn regroup(&mut self, start: u64, end: u64) {
        let first = self.records.partition_point(|r| r.seq < start);
        let mut joined = false;
        let mut at = first;
        while self.records.get(at).is_some_and(|r| r.end <= end) {
            if self.records.get(at).is_some_and(|r| r.begins) {
                joined = self.joins(at);
                if joined {
                    self.join(at);
                }
            } else if at == first {
                self.split(at);
            }
            at += 1;
        }
        let Some(next) = self.records.get(at).filter(|_| at > first) else { return };
        if !next.marks.has(Marks::SACKED) {
            // The rest of a super-segment of which the beginning was reported.
            self.split(at);
        } else if joined && self.joins(at) {
            self.join(at);
        }
    }

    /// The segment at this place begins a super-segment of its own.
    fn split(&mut self, at: usize) {
        if let Some(record) = self.records.get_mut(at).filter(|r| !r.begins) {
            record.begins = true;
            self.super_segments += 1;
        }
    }

    /// The super-segment that begins at this place goes on the one before.
    fn join(&mut self, at: usize) {
        if let Some(record) = self.records.get_mut(at).filter(|r| r.begins) {
            record.begins = false;
            self.super_segments -= 1;
        }
    }

    /// Whether the reported super-segment that begins at this place can be joined with the one before. Both consist of segments of the
    /// same length, and no retransmission of either is in flight.
    fn joins(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).and_then(|n| self.records.get(n)) else { return false };
        let Some(record) = self.records.get(at) else { return false };
        let settled = |r: &Record| r.marks.has(Marks::SACKED) && !r.marks.has(Marks(Marks::RETRANS.0 | Marks::LOST.0));
        let len = |r: &Record| r.end - r.seq;
        // Only the last segment of several can be shorter.
        let full = at.checked_sub(2).and_then(|n| self.records.get(n)).filter(|_| !before.begins).unwrap_or(before);
        settled(before) && settled(record) && !record.marks.has(Marks::APART) && len(full) == len(record)
    }
}
