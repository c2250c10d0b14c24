//! The memory that data behind a gap takes in the receiver's buffer.

use super::config::NetworkCard;

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
    /// Bytes of memory. Segments that continue a range are stored with it, up to a number of them (Linux: `tcp_ooo_try_coalesce`,
    /// `skb_try_coalesce`), and take less beside their data than the others.
    pub(super) fn memory(self, card: NetworkCard) -> u64 {
        if self.bytes == 0 {
            return 0;
        }
        let mss = self.mss.max(1);
        let stored = self.ranges as u64 + self.bytes / (card.together() * mss);
        let appended = self.bytes.div_ceil(mss).saturating_sub(stored);
        let beside = stored.saturating_mul(card.overhead()).saturating_add(appended.saturating_mul(card.appended()));
        self.bytes.saturating_add(beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_continue_a_range_take_less_memory_beside_their_data() {
        let memory = |segments: u64, ranges, card| Held { bytes: segments * 1000, ranges, mss: 1000 }.memory(card);
        let veth = |segments, ranges| memory(segments, ranges, NetworkCard::Veth);
        assert_eq!(veth(0, 0), 0);
        assert_eq!(veth(3, 1), 3000 + 960);
        assert_eq!(veth(3, 3), 3000 + 3 * 960);
        assert_eq!(veth(18, 1), 18_000 + 2 * 960);
        let virtio = |segments, ranges| memory(segments, ranges, NetworkCard::Virtio);
        assert_eq!(virtio(3, 1), 3000 + 728 + 2 * 472);
        assert_eq!(virtio(3, 3), 3000 + 3 * 728);
        assert_eq!(virtio(18, 1), 18_000 + 2 * 728 + 16 * 472);
    }
}
