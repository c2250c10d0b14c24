//! The size of the peer's segments, as those that arrive tell it.

use super::Receiver;
use crate::tcp::segment::Segment;

/// The least size that is supposed, bytes of data (Linux: `TCP_MIN_MSS`).
pub(super) const LEAST_MSS: u64 = 88;
/// The size that is supposed before a larger segment arrives, bytes of data (Linux: `TCP_MSS_DEFAULT`).
pub(super) const USUAL_MSS: u64 = 536;
/// The options of a segment of data, bytes.
const OPTIONS: u64 = 12;

impl Receiver {
    /// Learns from a segment how large the peer's are. After a full one that was pushed, or a small one, the peer may pause. Two small
    /// ones of the same size in a row are full, if their size is not that of the end of what was written (Linux:
    /// `tcp_measure_rcv_mss`).
    #[inline]
    pub(super) fn measure(&mut self, s: &Segment) {
        let len = u64::from(s.len);
        if len >= self.mss {
            if len > self.mss {
                self.window.measure(len);
                self.mss = len.min(self.window.announced());
            }
            self.small = 0;
            if s.push {
                self.pushed = self.pushed.max(1);
            }
        } else if len > 0 {
            self.measure_small(s);
        } else if s.push {
            self.pushed = self.pushed.max(1);
        }
    }

    fn measure_small(&mut self, s: &Segment) {
        let before = std::mem::take(&mut self.small);
        let len = u64::from(s.len) + OPTIONS;
        if len >= USUAL_MSS || (len >= LEAST_MSS && !s.push && !s.fin) {
            self.small = s.len as u16;
            if self.small == before {
                self.mss = s.len.into();
                return;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
    }
}
