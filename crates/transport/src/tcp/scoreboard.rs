//! The record of each segment in flight, and the counts derived from these records.
//!
//! Counts are in segments, as in Linux: `in flight = out - (sacked + lost) + retransmitted`.

use super::sender::Outgoing;
use crate::ranges::RangeSet;
use crate::recovery::TxState;
use haltere_net::Time;
use haltere_net::incident::LossSign;
use std::collections::VecDeque;

/// The history of a segment, as a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Marks(u8);

impl Marks {
    /// The peer reported it by SACK.
    pub(super) const SACKED: Marks = Marks(1);
    /// Its last transmission is considered lost.
    pub(super) const LOST: Marks = Marks(2);
    /// A retransmission of it is in flight.
    pub(super) const RETRANS: Marks = Marks(4);
    /// It was retransmitted at least once.
    pub(super) const EVER_RETRANS: Marks = Marks(8);
    /// It was sent with PSH, and every retransmission will be.
    const PUSHED: Marks = Marks(16);

    pub(super) fn has(self, other: Marks) -> bool {
        self.0 & other.0 != 0
    }
    fn set(&mut self, other: Marks) {
        self.0 |= other.0;
    }
    fn clear(&mut self, other: Marks) {
        self.0 &= !other.0;
    }
}

const NONE: u32 = u32::MAX;
/// The number of records for which an idle connection keeps memory: enough for the requests of a dialogue.
const KEPT: usize = 4;

/// One segment in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub seq: u64,
    pub end: u64,
    pub fin: bool,
    /// Whether it begins a new super-segment, so that it cannot be retransmitted together with the segment before it.
    pub begins: bool,
    pub marks: Marks,
    /// When it was last sent.
    pub sent: Time,
    /// Its place in the order of all transmissions, from 1.
    pub order: u64,
    pub tx: TxState,
    /// Neighbours in the order of transmission.
    older: u32,
    newer: u32,
}

/// The effect of one acknowledgement on the scoreboard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Send times of the first and last newly SACKed segments that were never retransmitted.
    pub first_sacked: Option<Time>,
    pub last_sacked: Option<Time>,
    /// Send times of the first and last segments that are newly acknowledged cumulatively and were never retransmitted.
    pub first_acked: Option<Time>,
    pub last_acked: Option<Time>,
    /// Segments acknowledged cumulatively.
    pub acked: u32,
    /// Segments SACKed.
    pub sacked: u32,
    /// Segments delivered: newly SACKed, or acknowledged without having been SACKed.
    pub delivered: u32,
    /// Segments that arrived twice, by a duplicate SACK. They count as delivered, but are no progress.
    pub duplicates: u32,
    /// A retransmitted segment was acknowledged cumulatively.
    pub retransmitted_acked: bool,
    /// A segment below `high_seq` that was never retransmitted was delivered. F-RTO uses this.
    pub original_delivered: bool,
    /// Lowest position of a never-retransmitted segment that was delivered out of order.
    pub reordered_from: Option<u64>,
}

/// The sender's record of the segments in flight.
#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    records: VecDeque<Record>,
    /// How many records begin a super-segment.
    super_segments: u32,
    /// Number of the first record; numbers never repeat within a window.
    base: u32,
    oldest: u32,
    newest: u32,
    sacked_ranges: RangeSet,
    sacked: u32,
    /// Duplicate ACKs of a connection without SACK. Each stands for a segment beyond the head that has arrived (Linux
    /// counts them as `sacked_out` too).
    duplicates: u32,
    lost: u32,
    retransmitted: u32,
    /// The number of transmissions so far.
    transmissions: u64,
    /// No record with a smaller number waits for retransmission.
    hint: u32,
    /// Positions of the segments found lost and how each was found. They are kept only if a probe records losses.
    news: Option<Vec<(u64, LossSign)>>,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Scoreboard {
            records: VecDeque::new(),
            super_segments: 0,
            base: 0,
            oldest: NONE,
            newest: NONE,
            sacked_ranges: RangeSet::default(),
            sacked: 0,
            duplicates: 0,
            lost: 0,
            retransmitted: 0,
            transmissions: 0,
            hint: 0,
            news: None,
        }
    }
}

impl Scoreboard {
    pub(super) fn out(&self) -> u32 {
        self.records.len() as u32
    }
    pub(super) fn sacked(&self) -> u32 {
        self.sacked + self.duplicates
    }
    pub(super) fn lost(&self) -> u32 {
        self.lost
    }
    pub(super) fn retransmitted(&self) -> u32 {
        self.retransmitted
    }
    /// The number of segments believed to be in the network.
    pub(super) fn in_flight(&self) -> u32 {
        (self.out() + self.retransmitted).saturating_sub(self.sacked + self.duplicates + self.lost)
    }
    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
    pub(super) fn head(&self) -> Option<&Record> {
        self.records.front()
    }
    /// Position after the highest segment SACKed, or `una` if there is none.
    pub(super) fn highest_sacked(&self, una: u64) -> u64 {
        self.sacked_ranges.last().map_or(una, |r| r.1).max(una)
    }

    fn at(&self, n: u32) -> Option<&Record> {
        self.records.get(n.wrapping_sub(self.base) as usize)
    }
    fn at_mut(&mut self, n: u32) -> Option<&mut Record> {
        self.records.get_mut(n.wrapping_sub(self.base) as usize)
    }

    /// Puts record `n` at the end of the order of transmission.
    fn link(&mut self, n: u32) {
        let newest = self.newest;
        if let Some(record) = self.at_mut(n) {
            record.older = newest;
            record.newer = NONE;
        }
        self.follow(n);
    }

    /// Links the newest record to record `n`, whose own link to it is set, and makes `n` the newest.
    fn follow(&mut self, n: u32) {
        let newest = self.newest;
        match self.at_mut(newest) {
            Some(record) if newest != NONE => record.newer = n,
            _ => self.oldest = n,
        }
        self.newest = n;
    }

    /// Takes record `n` out of the order of transmission.
    fn unlink(&mut self, n: u32) {
        let Some(record) = self.at_mut(n) else { return };
        let older = std::mem::replace(&mut record.older, NONE);
        let newer = std::mem::replace(&mut record.newer, NONE);
        self.bridge(n, older, newer);
    }

    /// Links the two neighbours of record `n`, which leaves the order of transmission.
    fn bridge(&mut self, n: u32, older: u32, newer: u32) {
        if older == NONE && newer == NONE && self.oldest != n {
            return;
        }
        if older == NONE {
            self.oldest = newer;
        } else if let Some(record) = self.at_mut(older) {
            record.newer = newer;
        }
        if newer == NONE {
            self.newest = older;
        } else if let Some(record) = self.at_mut(newer) {
            record.older = older;
        }
    }

    /// Records a new segment.
    #[inline(always)]
    pub(super) fn push(&mut self, segment: &Outgoing, sent: Time, tx: TxState) {
        let &Outgoing { seq, len, fin, begins, push, .. } = segment;
        let (n, end) = (self.base.wrapping_add(self.records.len() as u32), seq + u64::from(len) + u64::from(fin));
        let marks = if push { Marks::PUSHED } else { Marks::default() };
        self.transmissions += 1;
        let (order, older) = (self.transmissions, self.newest);
        self.super_segments += u32::from(begins);
        if self.records.capacity() == 0 {
            // A connection that sends little has one segment in flight.
            self.records.reserve_exact(1);
        }
        self.records.push_back(Record { seq, end, fin, begins, marks, sent, order, tx, older, newer: NONE });
        self.follow(n);
    }

    /// The number of the first record that ends after `seq`.
    fn find(&self, seq: u64) -> u32 {
        let at = self.records.partition_point(|r| r.end <= seq);
        self.base.wrapping_add(at as u32)
    }

    /// Processes a SACK block. `visit` sees each newly SACKed record in its earlier state.
    pub(super) fn sack(
        &mut self,
        block: (u64, u64),
        high_seq: u64,
        una: u64,
        out: &mut Delivery,
        mut visit: impl FnMut(&Record),
    ) {
        let highest = self.highest_sacked(una);
        let mut ranges = std::mem::take(&mut self.sacked_ranges);
        ranges.insert(block.0, block.1, |start, end| {
            let mut n = self.find(start);
            while let Some(record) = self.at(n).copied().filter(|r| r.seq < end) {
                if record.seq >= start && record.end <= end && !record.marks.has(Marks::SACKED) {
                    visit(&record);
                    self.mark_sacked(n, &record, high_seq, highest, out);
                }
                n = n.wrapping_add(1);
            }
        });
        self.sacked_ranges = ranges;
    }

    fn mark_sacked(&mut self, n: u32, record: &Record, high_seq: u64, highest: u64, out: &mut Delivery) {
        let mut marks = record.marks;
        if marks.has(Marks::RETRANS) {
            // The segment is not marked lost again: the retransmission may still arrive, and counts as in flight.
            if marks.has(Marks::LOST) {
                marks.clear(Marks::LOST);
                marks.clear(Marks::RETRANS);
                self.lost -= 1;
                self.retransmitted -= 1;
            }
        } else {
            if !marks.has(Marks::EVER_RETRANS) {
                if record.seq < highest {
                    out.reordered_from = Some(out.reordered_from.map_or(record.seq, |r| r.min(record.seq)));
                }
                out.original_delivered |= record.end <= high_seq;
                out.first_sacked = out.first_sacked.or(Some(record.sent));
                out.last_sacked = Some(record.sent);
            }
            if marks.has(Marks::LOST) {
                marks.clear(Marks::LOST);
                self.lost -= 1;
            }
        }
        marks.set(Marks::SACKED);
        self.sacked += 1;
        out.sacked += 1;
        out.delivered += 1;
        self.unlink(n);
        if let Some(r) = self.at_mut(n) {
            r.marks = marks;
        }
    }

    /// Processes a D-SACK: this segment, old or still outstanding, arrived twice. Its retransmission is not in flight.
    pub(super) fn duplicate(&mut self, block: (u64, u64)) {
        let mut n = self.find(block.0);
        while let Some(record) = self.at_mut(n).filter(|r| r.seq < block.1) {
            if record.marks.has(Marks::RETRANS) && record.marks.has(Marks::SACKED) {
                record.marks.clear(Marks::RETRANS);
                self.retransmitted -= 1;
            }
            n = n.wrapping_add(1);
        }
    }

    /// Removes everything below `una`, which is acknowledged. `visit` sees each record that is removed.
    pub(super) fn acknowledge(&mut self, una: u64, high_seq: u64, out: &mut Delivery, mut visit: impl FnMut(&Record)) {
        while let Some(record) = self.records.front().filter(|r| r.end <= una) {
            let n = self.base;
            let Record { marks, older, newer, begins, .. } = *record;
            self.super_segments -= u32::from(begins);
            if marks.has(Marks::EVER_RETRANS) {
                if marks.has(Marks::RETRANS) {
                    self.retransmitted -= 1;
                }
                out.retransmitted_acked = true;
            } else if !marks.has(Marks::SACKED) {
                if out.first_acked.is_none() {
                    // The records that follow are higher.
                    out.first_acked = Some(record.sent);
                    out.reordered_from = Some(out.reordered_from.map_or(record.seq, |r| r.min(record.seq)));
                    out.original_delivered |= record.end <= high_seq;
                }
                out.last_acked = Some(record.sent);
            }
            if marks.has(Marks::SACKED) {
                self.sacked -= 1;
            } else {
                out.delivered += 1;
            }
            if marks.has(Marks::LOST) {
                self.lost -= 1;
            }
            visit(record);
            out.acked += 1;
            self.bridge(n, older, newer);
            self.records.pop_front();
            self.base = self.base.wrapping_add(1);
            if self.hint == n {
                self.hint = self.base;
            }
        }
        self.sacked_ranges.remove_below(una);
    }

    /// How many super-segments are kept. One counts as long as its first segment is.
    pub(super) fn super_segments(&self) -> u64 {
        u64::from(self.super_segments)
    }

    /// Frees the memory of a long flight if nothing is in flight.
    pub(super) fn release(&mut self) {
        if self.records.is_empty() && self.records.capacity() > KEPT {
            self.records.shrink_to(KEPT);
        }
    }

    /// Starts to record what is found lost, for [`take_news`](Self::take_news).
    pub(super) fn listen(&mut self) {
        self.news.get_or_insert_default();
    }

    /// Takes the losses recorded since the last call.
    pub(super) fn take_news(&mut self) -> Vec<(u64, LossSign)> {
        self.news.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Marks record `n` lost; returns whether it was not lost before.
    fn mark_lost(&mut self, n: u32, sign: LossSign) -> bool {
        let base = self.base;
        let Some(record) = self.at_mut(n) else { return false };
        if record.marks.has(Marks::SACKED) {
            return false;
        }
        let seq = record.seq;
        let news = if record.marks.has(Marks::LOST) {
            let again = record.marks.has(Marks::RETRANS);
            record.marks.clear(Marks::RETRANS);
            self.retransmitted -= u32::from(again);
            again
        } else {
            record.marks.set(Marks::LOST);
            self.lost += 1;
            true
        };
        if n.wrapping_sub(base) < self.hint.wrapping_sub(base) {
            self.hint = n;
        }
        if let (true, Some(found)) = (news, &mut self.news) {
            found.push((seq, sign));
        }
        news
    }

    /// Visits the records in the order of transmission until `judge` says to stop. Marks those lost that `judge` finds
    /// lost, and passes those that are newly lost on.
    pub(super) fn detect_lost(&mut self, mut judge: impl FnMut(&Record) -> Judgement, mut news: impl FnMut(&Record)) {
        let mut n = self.oldest;
        while n != NONE {
            let Some(record) = self.at(n).copied() else { break };
            match judge(&record) {
                Judgement::Stop => break,
                Judgement::Wait => {}
                Judgement::Lost => {
                    self.unlink(n);
                    if self.mark_lost(n, LossSign::Time) {
                        news(&record);
                    }
                }
            }
            n = record.newer;
        }
    }

    /// Records a duplicate ACK without SACK: one more segment beyond the head has arrived.
    pub(super) fn count_duplicate(&mut self) {
        self.duplicates += 1;
        self.keep_duplicates(u32::MAX);
    }

    /// Limits the count of duplicate ACKs to this number and to less than the segments outstanding (Linux:
    /// `tcp_limit_reno_sacked`).
    pub(super) fn keep_duplicates(&mut self, most: u32) {
        let room = self.out().saturating_sub(self.lost.max(1));
        self.duplicates = self.duplicates.min(most).min(room);
    }

    /// Marks the first segment lost and passes it on, unless it is already marked.
    pub(super) fn mark_head_lost(&mut self, news: impl FnOnce(&Record)) {
        let head = self.head().copied().filter(|r| !r.marks.has(Marks::LOST));
        if let Some(record) = head.filter(|_| self.mark_lost(self.base, LossSign::Reordering)) {
            news(&record);
            self.keep_duplicates(u32::MAX);
        }
    }

    /// Marks each segment lost that was not retransmitted and has at least `threshold` segments SACKed above it; passes
    /// each of them on.
    pub(super) fn detect_lost_below(&mut self, threshold: u32, mut news: impl FnMut(&Record)) {
        let sacked = self.records.iter().rev().enumerate().filter(|(_, r)| r.marks.has(Marks::SACKED));
        let Some((above, _)) = sacked.into_iter().nth(threshold.max(1) as usize - 1) else { return };
        for i in 0..(self.records.len() - 1 - above) as u32 {
            let n = self.base.wrapping_add(i);
            let Some(record) = self.at(n).copied() else { break };
            let settled = Marks(Marks::SACKED.0 | Marks::LOST.0 | Marks::RETRANS.0);
            if !record.marks.has(settled) && self.mark_lost(n, LossSign::Reordering) {
                news(&record);
            }
        }
    }

    /// After a timeout: marks the head lost, and every other record that `judge` finds lost. Passes those that are
    /// newly lost on.
    pub(super) fn mark_all_lost(&mut self, judge: impl Fn(&Record) -> bool, mut news: impl FnMut(&Record)) {
        for i in 0..self.records.len() as u32 {
            let n = self.base.wrapping_add(i);
            let Some(record) = self.at(n).copied() else { continue };
            if (i == 0 || judge(&record)) && self.mark_lost(n, LossSign::Timeout) {
                news(&record);
            }
        }
        self.hint = self.base;
    }

    /// Removes all loss marks.
    pub(super) fn unmark_lost(&mut self) {
        for i in 0..self.records.len() as u32 {
            let n = self.base.wrapping_add(i);
            let Some(record) = self.at_mut(n) else { continue };
            if record.marks.has(Marks::LOST) {
                record.marks.clear(Marks::LOST);
                // Linux leaves such segments out of the order of transmission until they are retransmitted. Only a
                // timeout can find them lost.
            }
        }
        self.lost = 0;
        self.hint = self.base;
    }

    /// The next segment to retransmit: the lowest that is lost and has no retransmission in flight.
    pub(super) fn next_lost(&mut self) -> Option<Record> {
        if self.retransmitted >= self.lost {
            return None;
        }
        while let Some(record) = self.at(self.hint) {
            let m = record.marks;
            if m.has(Marks::LOST) && !m.has(Marks::SACKED) && !m.has(Marks::RETRANS) {
                return Some(*record);
            }
            self.hint = self.hint.wrapping_add(1);
        }
        None
    }

    /// How many segments can be retransmitted together, at most `most`: the next one to retransmit and those that
    /// follow it in the same super-segment. The rest begins a super-segment of its own.
    pub(super) fn lost_together(&mut self, most: u64) -> u64 {
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

    /// The segment that was sent last carries PSH.
    pub(super) fn mark_pushed(&mut self) {
        if let Some(record) = self.at_mut(self.newest) {
            record.marks.set(Marks::PUSHED);
        }
    }

    /// Records that the segment at `seq` was retransmitted, as a repair or a probe. Returns whether it carries PSH, which a
    /// segment that was ever sent with PSH always does.
    pub(super) fn send_again(&mut self, seq: u64, now: Time, tx: TxState) -> bool {
        let n = self.find(seq);
        self.transmissions += 1;
        let order = self.transmissions;
        debug_assert!(self.at(n).is_some_and(|r| r.seq == seq), "{seq} is not in flight");
        let Some(record) = self.at_mut(n) else { return false };
        record.sent = now;
        record.order = order;
        record.tx = tx;
        record.marks.set(Marks::EVER_RETRANS);
        let pushed = record.marks.has(Marks::PUSHED);
        self.unlink(n);
        self.link(n);
        pushed
    }

    /// Records that the retransmission at `seq` was a repair, which is in flight now.
    pub(super) fn mark_retransmitted(&mut self, seq: u64) {
        let n = self.find(seq);
        let Some(record) = self.at_mut(n) else { return };
        let again = record.marks.has(Marks::RETRANS);
        record.marks.set(Marks::RETRANS);
        self.retransmitted += u32::from(!again);
    }

    /// Takes the newest segment back, which was not sent after all. Returns false, and takes nothing back, if the segment
    /// at `seq` is not the newest or was sent before.
    pub(super) fn withdraw(&mut self, seq: u64) -> bool {
        let first = |r: &&Record| r.seq == seq && !r.marks.has(Marks::EVER_RETRANS);
        if self.records.back().filter(first).is_none() {
            return false;
        }
        self.unlink(self.base.wrapping_add(self.records.len() as u32 - 1));
        self.records.pop_back();
        true
    }

    /// The retransmission at `seq` was not sent after all. Returns whether it was a repair.
    pub(super) fn withdraw_retransmission(&mut self, seq: u64) -> bool {
        let (n, base) = (self.find(seq), self.base);
        let Some(record) = self.at_mut(n) else { return false };
        let repair = record.marks.has(Marks::RETRANS);
        record.marks.clear(Marks::RETRANS);
        self.retransmitted -= u32::from(repair);
        if n.wrapping_sub(base) < self.hint.wrapping_sub(base) {
            self.hint = n;
        }
        repair
    }

    pub(super) fn last(&self) -> Option<&Record> {
        self.records.back()
    }

    /// Checks the counts against the marks; for tests.
    #[cfg(test)]
    pub(super) fn is_consistent(&self) -> bool {
        let count = |m: Marks| self.records.iter().filter(|r| r.marks.has(m)).count() as u32;
        let both = self.records.iter().filter(|r| r.marks.has(Marks::SACKED) && r.marks.has(Marks::LOST)).count();
        self.sacked == count(Marks::SACKED)
            && self.lost == count(Marks::LOST)
            && self.retransmitted == count(Marks::RETRANS)
            && both == 0
    }
}

/// A loss detector's verdict on a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judgement {
    /// Lost.
    Lost,
    /// Not lost yet; it may be later.
    Wait,
    /// Neither this one nor any segment sent after it is lost.
    Stop,
}

#[cfg(test)]
mod tests;
