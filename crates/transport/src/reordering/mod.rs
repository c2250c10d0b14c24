//! Reordering of data at a receiver (RFC 4737, RFC 5236): which packets arrive after data that follows theirs, how late they
//! are, and for how long early data waits for them.
//!
//! The order is that of the data, not that in which packets were sent: positions in TCP's byte stream, in MPTCP's data, in a QUIC
//! stream. A repaired loss therefore counts as reordering: its data arrives after data that follows it. A packet that brings
//! nothing new does not count (RFC 4737 section 3.3 discards duplicates). On a path that neither loses nor reorders packets all is
//! zero.
//!
//! [`Sequence`] follows one order, as an observer. It keeps what is missing and what waits, so its memory is bounded by the
//! receive buffer. [`Reordering`] has the counts of any number of them.

mod density;
mod pieces;

pub use density::THRESHOLD;
use density::{Density, Places};

use crate::histogram::Histogram;
use haltere_net::{Span, Time};
use pieces::{Handle, Piece, Pieces};
use std::collections::VecDeque;

/// A packet that is so often preceded by later ones makes TCP retransmit (RFC 4737 section 5.3, RFC 5681: three duplicate
/// acknowledgements).
const DUPLICATES: u64 = 3;

/// The number of pieces for which an undisturbed sequence keeps memory.
const MANY: usize = 4;

/// Counts of packets and of their reordering.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reordering {
    packets: u64,
    bytes: u64,
    /// Whether reorder density is counted.
    dense: bool,
    disorder: Option<Box<Disorder>>,
}

/// Counts of packets out of order.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Disorder {
    reordered: u64,
    triple: u64,
    extents: Histogram<16>,
    extent_sum: u64,
    extent_max: u64,
    density: Density,
    /// Nanoseconds that data waited, by bytes; those that did not wait aside.
    waits: Histogram<16>,
    /// Bytes times nanoseconds.
    waited: u128,
}

impl Reordering {
    /// Counts reorder density from now on. It takes longer than all other counts: on unlike paths each packet is compared with
    /// those that are late.
    pub fn count_density(&mut self) {
        self.dense = true;
    }

    /// Packets that brought new data.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    fn of(&self, value: impl Fn(&Disorder) -> u64) -> u64 {
        self.disorder.as_deref().map_or(0, value)
    }

    /// Packets of which the data follows on less than had arrived (RFC 4737 section 3.4, Type-P-Reordered).
    pub fn reordered(&self) -> u64 {
        self.of(|d| d.reordered)
    }

    /// Packets that arrived directly after at least three packets of later data (RFC 4737 section 5.2, n-reordering with n =
    /// 3). Without selective acknowledgements TCP takes them for lost.
    pub fn three_reordered(&self) -> u64 {
        self.of(|d| d.triple)
    }

    /// The share of reordered packets (RFC 4737 section 4.1); `None` without packets.
    pub fn ratio(&self) -> Option<f64> {
        self.share(self.reordered())
    }

    /// The share of packets that are 3-reordered.
    pub fn three_ratio(&self) -> Option<f64> {
        self.share(self.three_reordered())
    }

    fn share(&self, packets: u64) -> Option<f64> {
        (self.packets > 0).then(|| packets as f64 / self.packets as f64)
    }

    /// The mean of the extents of reordered packets, in packets (RFC 4737 section 4.2.1): how many packets ago the first
    /// arrived that has later data. 0 if none is reordered.
    pub fn mean_extent(&self) -> f64 {
        self.of(|d| d.extent_sum) as f64 / self.reordered().max(1) as f64
    }

    /// The largest extent.
    pub fn max_extent(&self) -> u64 {
        self.of(|d| d.extent_max)
    }

    /// The extent that 95 % of the reordered packets do not exceed, within a sixteenth.
    pub fn p95_extent(&self) -> f64 {
        self.disorder.as_deref().map_or(0.0, |d| d.extents.quantile(0.95, 0).min(d.extent_max as f64))
    }

    /// The mean time for which a byte waited at the receiver for missing data before it (out-of-order delay), those that did not
    /// wait included.
    pub fn mean_delay(&self) -> Span {
        let waited = self.disorder.as_deref().map_or(0, |d| d.waited);
        Span::from_nanos((waited / u128::from(self.bytes.max(1))) as u64)
    }

    /// The out-of-order delay that 95 % of the bytes do not exceed, within a sixteenth.
    pub fn p95_delay(&self) -> Span {
        let Some(disorder) = self.disorder.as_deref() else { return Span::ZERO };
        let at_once = self.bytes.saturating_sub(disorder.waits.weight());
        Span::from_nanos(disorder.waits.quantile(0.95, at_once) as u64)
    }

    /// Reorder density (RFC 5236 section 3): displacements, ascending, and the share of packets that have them. Negative ones are
    /// early. Packets that are displaced by more than [`THRESHOLD`] do not count. Empty if it was not counted.
    pub fn density(&self) -> Vec<(i64, f64)> {
        match self.disorder.as_deref() {
            _ if self.packets == 0 => Vec::new(),
            None => vec![(0, 1.0)],
            Some(_) if !self.dense => Vec::new(),
            Some(disorder) => disorder.density.shares(self.packets),
        }
    }

    /// The packets displaced by more than [`THRESHOLD`].
    pub fn beyond_threshold(&self) -> u64 {
        self.of(|d| d.density.beyond)
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Reordering) {
        self.packets += other.packets;
        self.bytes += other.bytes;
        self.dense |= other.dense;
        let Some(theirs) = other.disorder.as_deref() else { return };
        let own = self.disorder.get_or_insert_default();
        own.reordered += theirs.reordered;
        own.triple += theirs.triple;
        own.extents.merge(&theirs.extents);
        own.extent_sum += theirs.extent_sum;
        own.extent_max = own.extent_max.max(theirs.extent_max);
        own.density.merge(&theirs.density);
        own.waits.merge(&theirs.waits);
        own.waited += theirs.waited;
    }
}

impl Disorder {
    fn late(&mut self, extent: u64, degree: u64) {
        self.reordered += 1;
        self.triple += u64::from(degree >= DUPLICATES);
        self.extents.add(extent, 1);
        self.extent_sum += extent;
        self.extent_max = self.extent_max.max(extent);
    }

    fn waited(&mut self, bytes: u64, span: Span) {
        if !span.is_zero() {
            self.waits.add(span.as_nanos(), bytes);
            self.waited += u128::from(bytes) * u128::from(span.as_nanos());
        }
    }
}

/// Data that has not arrived, below data that has.
#[derive(Clone, Copy, Debug)]
struct Gap {
    start: u64,
    end: u64,
    /// The number of the first packet beyond it.
    opened: u64,
    /// The last piece below it.
    below: Handle,
}

/// The gaps and the data that waits, while the order is disturbed.
#[derive(Clone, Default, Debug)]
struct Apart {
    /// Ascending. The first are filled first.
    gaps: VecDeque<Gap>,
    /// Ascending.
    pieces: Pieces,
    /// Late packets, as position and number, both ascending: for each position the newest packet below it is the last of them
    /// that is below it. Between two of them there is a gap.
    below: Vec<(u64, u64)>,
    places: Places,
}

/// When data that is in order is delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// On arrival.
    AtOnce,
    /// Later: it waits for something else.
    Later,
}

/// The arrival of packets of one sequence of data.
#[derive(Clone, Default, Debug)]
pub struct Sequence {
    /// The end of all data that has arrived (RFC 4737 section 3.3: NextExp, by bytes).
    expected: u64,
    /// Packets with new data.
    packets: u64,
    /// Whether something is missing or waits.
    disturbed: bool,
    /// Kept from one disturbance to the next.
    apart: Option<Box<Apart>>,
}

impl Sequence {
    /// Packets with new data so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// A packet arrived with the data from `start` to `end`.
    #[inline]
    pub fn arrive(&mut self, start: u64, end: u64, release: Release, now: Time, counts: &mut Reordering) {
        if start == self.expected && !self.disturbed && release == Release::AtOnce {
            self.packets += 1;
            self.expected = end;
            counts.packets += 1;
            counts.bytes += end - start;
        } else {
            self.arrive_disturbed(start, end, release, now, counts);
        }
    }

    // What follows all other data is most frequent on unlike paths: it needs few registers, if the rest is apart.
    #[inline(never)]
    fn arrive_disturbed(&mut self, start: u64, end: u64, release: Release, now: Time, counts: &mut Reordering) {
        match self.apart.as_deref_mut() {
            Some(apart) if self.disturbed && start == self.expected && start < end => {
                self.packets += 1;
                self.expected = end;
                counts.packets += 1;
                counts.bytes += end - start;
                apart.pieces.push(Piece { start, end, at: now, index: self.packets });
            }
            Some(apart) if apart.fills_first_gap(start, end) => self.arrive_late(start, end, release, now, counts),
            _ => self.arrive_apart(start, end, release, now, counts),
        }
    }

    /// The earliest data that is missing arrived, but not all of its gap. [`Sequence::arrive_apart`] would do the same in more steps.
    #[inline(never)]
    fn arrive_late(&mut self, start: u64, end: u64, release: Release, now: Time, counts: &mut Reordering) {
        let Some(apart) = self.apart.as_deref_mut() else { return };
        let index = self.packets + 1;
        let newest = apart.newest_below(start);
        let Some(gap) = apart.gaps.front_mut() else { return };
        let disorder = counts.disorder.get_or_insert_default();
        disorder.late(index - gap.opened, index - newest.max(gap.opened - 1) - 1);
        if release == Release::Later || counts.dense || apart.pieces.front().is_some_and(|other| other.start < start) {
            gap.below = apart.pieces.insert_after(gap.below, Piece { start, end, at: now, index });
        }
        gap.start = end;
        // No gap is below it.
        apart.below.clear();
        apart.below.push((start, index));
        self.packets = index;
        counts.packets += 1;
        counts.bytes += end - start;
    }

    #[inline(never)]
    fn arrive_apart(&mut self, start: u64, end: u64, release: Release, now: Time, counts: &mut Reordering) {
        let packets = self.packets;
        let expected = self.expected;
        if !self.disturbed && end <= expected {
            return;
        }
        let apart = self.apart.get_or_insert_default();
        if !std::mem::replace(&mut self.disturbed, true) {
            apart.places.restart(packets);
        }
        let index = packets + 1;
        let disorder = counts.disorder.get_or_insert_default();
        let mut number = index;
        let mut fresh = 0;
        if start < expected
            && let Some((extent, degree)) = apart.lateness(start, end, index)
        {
            disorder.late(extent, degree);
            // Without density nothing is counted of a packet that is delivered at once.
            let release = if counts.dense { Release::Later } else { release };
            fresh += apart.fill(Piece { start, end, at: now, index }, &mut number, release);
        }
        if end > expected {
            let first = start.max(expected);
            if first > expected {
                let below = apart.pieces.last();
                apart.gaps.push_back(Gap { start: expected, end: first, opened: index, below });
            }
            apart.pieces.push(Piece { start: first, end, at: now, index: number });
            fresh += end - first;
            self.expected = end;
        }
        if fresh > 0 {
            self.packets = index;
            counts.packets += 1;
            counts.bytes += fresh;
        }
    }

    /// All data below `position` was delivered in order at `now`.
    #[inline]
    pub fn deliver(&mut self, position: u64, now: Time, counts: &mut Reordering) {
        if self.disturbed {
            self.deliver_apart(position, now, counts);
        }
    }

    #[inline(never)]
    fn deliver_apart(&mut self, position: u64, now: Time, counts: &mut Reordering) {
        let Some(apart) = self.apart.as_deref_mut() else { return };
        let disorder = counts.disorder.get_or_insert_default();
        // Beyond a gap nothing is in order.
        let position = apart.gaps.front().map_or(position, |gap| position.min(gap.start));
        while apart.pieces.front().is_some_and(|piece| piece.end <= position) {
            let Some((handle, piece)) = apart.pieces.pop_front() else { break };
            if let Some(gap) = apart.gaps.front_mut().filter(|gap| gap.below == handle) {
                gap.below = Handle::NONE;
            }
            disorder.waited(piece.end - piece.start, now.since(piece.at));
            if piece.index > 0 && counts.dense {
                disorder.density.count(apart.places.place(piece.index, THRESHOLD));
            }
        }
        if counts.dense {
            apart.places.forget(apart.pieces.iter().map(|piece| piece.index).filter(|index| *index > 0));
        }
        if apart.gaps.is_empty() && apart.pieces.is_empty() {
            self.disturbed = false;
            apart.below.clear();
            if apart.pieces.capacity() > MANY {
                self.apart = None;
            }
        }
    }
}

/// The first gap that ends beyond a position: mostly the first of all.
#[inline]
fn gap_at(gaps: &VecDeque<Gap>, position: u64) -> usize {
    match gaps.front() {
        Some(first) if first.end <= position => gaps.partition_point(|gap| gap.end <= position),
        _ => 0,
    }
}

impl Apart {
    /// Whether this is the earliest data that is missing, and not all of its gap.
    #[inline]
    fn fills_first_gap(&self, start: u64, end: u64) -> bool {
        self.gaps.front().is_some_and(|gap| gap.start == start && start < end && end < gap.end)
    }

    /// If a packet has data of a gap: its extent (RFC 4737 section 4.2.1), and how many packets directly before it have later data
    /// (section 5.2). The first packet with later data is the one that opened the gap: what was there before it is
    /// below the gap.
    fn lateness(&self, start: u64, end: u64, index: u64) -> Option<(u64, u64)> {
        let gap = self.gaps.get(gap_at(&self.gaps, start))?;
        let first = start.max(gap.start);
        if first >= end {
            return None;
        }
        Some((index - gap.opened, index - self.newest_below(first).max(gap.opened - 1) - 1))
    }

    /// The number of the newest late packet below a position; 0 if there is none.
    #[inline]
    fn newest_below(&self, position: u64) -> u64 {
        self.below.iter().rev().find(|late| late.0 < position).map_or(0, |late| late.1)
    }

    /// Fills gaps with the data from `start` to `end`. The first part is the packet's piece with its `number`, further parts have
    /// none. A packet that is released at once if it is the earliest of what is missing is not kept. Returns how many bytes
    /// were missing.
    fn fill(&mut self, piece: Piece, number: &mut u64, release: Release) -> u64 {
        let Piece { start, end, .. } = piece;
        let mut at = gap_at(&self.gaps, start);
        let mut fresh = 0;
        while let Some(gap) = self.gaps.get(at).copied().filter(|gap| gap.start < end) {
            let (from, to) = (start.max(gap.start), end.min(gap.end));
            let index = std::mem::take(number);
            let first = at == 0 && from == gap.start && self.pieces.front().is_none_or(|other| other.start > from);
            let last = match first && release == Release::AtOnce && to == end {
                true => gap.below,
                false => self.pieces.insert_after(gap.below, Piece { start: from, end: to, index, ..piece }),
            };
            if index > 0 {
                self.note(from, index);
            }
            fresh += to - from;
            if from == gap.start && to < gap.end {
                // The common case: the earliest of what is missing.
                (self.gaps[at].start, self.gaps[at].below) = (to, last);
                break;
            }
            self.gaps.remove(at);
            for rest in [Gap { end: from, ..gap }, Gap { start: to, below: last, ..gap }] {
                if rest.start < rest.end {
                    self.gaps.insert(at, rest);
                    at += 1;
                }
            }
        }
        fresh
    }

    /// Notes the newest late packet. Those that no gap separates from it, and those beyond it, are of no use any more.
    fn note(&mut self, position: u64, index: u64) {
        let missing = |from: u64| self.gaps.get(gap_at(&self.gaps, from));
        while let Some(&(last, _)) = self.below.last() {
            if last < position && missing(last).is_some_and(|gap| gap.start < position) {
                break;
            }
            self.below.pop();
        }
        self.below.push((position, index));
    }
}

#[cfg(test)]
mod tests;
