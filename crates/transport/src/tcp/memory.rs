//! The memory that data behind a gap takes in the receiver's buffer.

/// The number of segments that are stored as one (Linux: `MAX_SKB_FRAGS`).
const TOGETHER: u64 = 17;

/// Data that is held behind a gap.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Held {
    /// Its bytes.
    pub bytes: u64,
    /// The number of its contiguous ranges.
    pub ranges: usize,
    /// Bytes of a full segment.
    pub mss: u64,
}

impl Held {
    /// Bytes of memory. Segments that continue a range are stored with it and take no memory beside their data, up to a
    /// number of them (Linux: `tcp_ooo_try_coalesce`, `skb_try_coalesce`). The others take `overhead` each.
    pub(super) fn memory(self, overhead: u64) -> u64 {
        if self.bytes == 0 {
            return 0;
        }
        let stored = self.ranges as u64 + self.bytes / (TOGETHER * self.mss.max(1));
        self.bytes.saturating_add(stored.saturating_mul(overhead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_continue_a_range_take_memory_for_their_data_alone() {
        let memory = |segments: u64, ranges| Held { bytes: segments * 1000, ranges, mss: 1000 }.memory(960);
        assert_eq!(memory(0, 0), 0);
        assert_eq!(memory(3, 1), 3000 + 960);
        assert_eq!(memory(3, 3), 3000 + 3 * 960);
        assert_eq!(memory(18, 1), 18_000 + 2 * 960);
    }
}
