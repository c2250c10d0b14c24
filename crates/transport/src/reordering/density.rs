//! Reorder density (RFC 5236 section 3): how far packets arrive from their place.

/// The displacement threshold: a packet that is later than this counts as lost (RFC 5236 section 3). A lost packet that is sent
/// again is at least a round trip late, which is more than this where a window has more packets. Below it, a repaired loss
/// counts as reordering.
pub const THRESHOLD: i64 = 128;

/// A packet that counts as lost: its place in the order, and when it arrived after all.
#[derive(Clone, Copy, Debug)]
struct Lost {
    place: u64,
    index: u64,
}

/// Places packets in their order, once all before them are there.
#[derive(Clone, Default, Debug)]
pub(super) struct Places {
    /// Packets that were placed.
    placed: u64,
    /// Lost packets that packets which are not placed yet may have overtaken, by place.
    lost: Vec<Lost>,
    /// The number of lost packets at which those that no longer matter are forgotten.
    many: usize,
}

/// The least number of lost packets at which they are looked through.
const FEW: usize = 8;

impl Places {
    /// All of the first so many packets are placed.
    pub fn restart(&mut self, placed: u64) {
        self.placed = placed;
        self.lost.clear();
    }

    /// Places the next packet in the order, which arrived as number `index` (from 1). Returns its displacement: its place in
    /// the order of arrival less its place in the order. `None` if it counts as lost, or is earlier than the threshold.
    ///
    /// The place in the order of arrival skips the places of packets that count as lost ("receive index", RFC 5236 section 3), if
    /// these come before the packet in the order. The RFC's algorithm, which decides by arrivals, also skips those of lost packets
    /// that come after a late one.
    pub fn place(&mut self, index: u64, threshold: i64) -> Option<i64> {
        self.placed += 1;
        let mut arrival = index;
        for lost in self.lost.iter().filter(|lost| lost.index > index) {
            if lost.place > arrival {
                break;
            }
            arrival += 1;
        }
        let displacement = arrival as i64 - self.placed as i64;
        if displacement > threshold {
            self.lost.push(Lost { place: self.placed, index });
        }
        (displacement.abs() <= threshold).then_some(displacement)
    }

    /// Forgets the lost packets that arrived before all of those that are not placed yet, if there are many. `waiting` has when these
    /// arrived.
    pub fn forget(&mut self, waiting: impl Iterator<Item = u64>) {
        if self.lost.len() > self.many.max(FEW) {
            let first = waiting.min().unwrap_or(u64::MAX);
            self.lost.retain(|lost| lost.index > first);
            self.many = 2 * self.lost.len();
        }
    }
}

/// How many packets have which displacement, those of 0 aside.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Density {
    /// Displacements within the threshold, and packets, ascending.
    counts: Vec<(i16, u32)>,
    /// Where the last packet was counted.
    last: usize,
    /// Packets beyond the threshold.
    pub beyond: u64,
}

impl Density {
    pub fn count(&mut self, displacement: Option<i64>) {
        match displacement {
            Some(0) => {}
            Some(displacement) => self.add(displacement as i16, 1),
            None => self.beyond += 1,
        }
    }

    fn add(&mut self, displacement: i16, packets: u32) {
        if let Some(last) = self.counts.get_mut(self.last).filter(|c| c.0 == displacement) {
            last.1 = last.1.saturating_add(packets);
            return;
        }
        self.last = self.counts.partition_point(|c| c.0 < displacement);
        match self.counts.get_mut(self.last).filter(|c| c.0 == displacement) {
            Some(known) => known.1 = known.1.saturating_add(packets),
            None => self.counts.insert(self.last, (displacement, packets)),
        }
    }

    pub fn merge(&mut self, other: &Density) {
        other.counts.iter().for_each(|&(displacement, packets)| self.add(displacement, packets));
        self.beyond += other.beyond;
    }

    /// Displacements and the share of packets that have them, ascending. Of `packets` in all, those beyond the threshold do not
    /// count.
    pub fn shares(&self, packets: u64) -> Vec<(i64, f64)> {
        let all = packets - self.beyond;
        let mut counts: Vec<(i64, u64)> = self.counts.iter().map(|c| (c.0.into(), c.1.into())).collect();
        let displaced: u64 = counts.iter().map(|c| c.1).sum();
        counts.push((0, all - displaced));
        counts.sort_unstable();
        counts.retain(|c| c.1 > 0);
        counts.into_iter().map(|(displacement, n)| (displacement, n as f64 / all as f64)).collect()
    }
}
