//! Telling: the fields of an acknowledgement, and the window that it offers.

use super::{DELAY_MIN, Due, Receiver};
use crate::tcp::segment::{Kind, Segment};
use haltere_net::Time;

impl Receiver {
    /// Fills in the acknowledgement fields of a segment that is about to be sent.
    pub(in crate::tcp) fn acknowledge(&mut self, s: &mut Segment) {
        s.ack = self.claimed();
        self.echo.report(s);
        s.echo = self.recent_timestamp;
        // A side that only sends has the same to tell in each segment.
        if self.told {
            debug_assert!(self.tells_the_same(s.ack), "what is told changed unnoticed");
            s.window = self.window.edge - s.ack;
            return;
        }
        self.tell(s);
    }

    fn tell(&mut self, s: &mut Segment) {
        // A window that was promised is that of before the application read: the next one is selected anew.
        let fresh = !self.promised;
        s.window = self.offer_window(s.ack);
        if std::mem::take(&mut self.stale) && s.timestamp != 0 {
            s.timestamp = self.heard;
        }
        // If less than half of the buffer is free, the window is not increased (Linux: `__tcp_select_window`).
        if self.window.is_half_taken(self.stored(), self.elsewhere()) {
            self.quick = 0;
        }
        let counts = self.due != Due::No || self.flush.is_some();
        if self.flush.is_some() || self.duplicate.0 < self.duplicate.1 || !self.recent.list().is_empty() {
            self.report_blocks(s);
        }
        if counts {
            self.quick = self.quick.saturating_sub(1);
            if self.quick == 0 {
                self.delay = self.delay.max(DELAY_MIN);
            }
        }
        self.due = Due::No;
        self.reading = false;
        self.now = false;
        self.pushed = 0;
        self.compressed = 0;
        self.compressed_until = Time::NEVER;
        self.acked = self.next;
        self.told = fresh && self.has_told_all();
    }

    /// Whether an acknowledgement that follows the one just made would differ in nothing.
    fn has_told_all(&self) -> bool {
        self.recent.list().is_empty()
            && self.duplicate.0 >= self.duplicate.1
            && self.shared.is_none()
            && self.misbehaves.is_none()
    }

    /// Whether telling everything would say no more than that `ack` is expected, and change nothing.
    fn tells_the_same(&self, ack: u64) -> bool {
        let mut other = self.clone();
        other.told = false;
        let mut bare = Segment { ack, ..Segment::bare(Kind::Data, 0) };
        other.tell(&mut bare);
        let changed = (other.quick, other.delay, other.acked, other.due, other.window.edge, other.told);
        let kept = (self.quick, self.delay, self.acked, self.due, self.window.edge, true);
        changed == kept && bare.window == self.window.edge - ack && bare.sacks == 0 && !self.stale
    }

    /// Fills in the SACK blocks: those of a compressed acknowledgement, or the data that arrived twice and the newest blocks.
    #[inline(never)]
    fn report_blocks(&mut self, s: &mut Segment) {
        if let Some(blocks) = self.flush.take() {
            return s.set_sack(blocks.into_iter().take(usize::from(self.blocks)));
        }
        let duplicate = Some(std::mem::take(&mut self.duplicate)).filter(|(start, end)| self.dsack && start < end);
        let blocks = duplicate.into_iter().chain(self.recent.list().iter().copied());
        s.set_sack(blocks.take(usize::from(self.blocks)));
    }

    /// Offers a window from `start` on, which is where the data in order ends or beyond.
    pub(in crate::tcp) fn offer_window(&mut self, start: u64) -> u64 {
        if !std::mem::take(&mut self.promised) {
            self.select();
        }
        let window = self.window.scaled(self.window.edge.saturating_sub(start));
        (self.window.edge, self.offered) = (start + window, u32::try_from(window).unwrap_or(u32::MAX));
        window
    }

    /// Selects a window. A former offer is not taken back.
    pub(super) fn select(&mut self) {
        self.window.edge = self.window.edge.max(self.next + self.selected());
    }

    /// The window that an acknowledgement would offer now if none had been before.
    pub(super) fn selected(&self) -> u64 {
        if self.window.given || self.shared.is_some() {
            return self.window.scaled((self.read + self.window.space).saturating_sub(self.next));
        }
        self.window.select(self.buffers.taken(), self.mss)
    }
}
