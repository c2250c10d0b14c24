//! The receive buffer: how its size follows what is read, and what of it a subflow of MPTCP shares.

use super::Receiver;
use crate::tcp::ticks::{timestamp, whole_micros};
use haltere_net::{Span, Time};

impl Receiver {
    /// The connection is established: the first round trip of its buffer begins (Linux: `tcp_init_buffer_space`).
    pub(in crate::tcp) fn open(&mut self, now: Time) {
        self.window.since = whole_micros(now);
    }

    /// The application has read `bytes`, which is all that was in order. The buffer is looked at when the first buffer is copied
    /// (Linux: `tcp_recvmsg_locked`).
    pub(super) fn tune(&mut self, now: Time, bytes: u64) {
        if bytes == 0 {
            return;
        }
        if self.compressed_until != Time::NEVER {
            self.heard = timestamp(now);
        }
        let first = self.read - bytes + self.buffers.read().min(bytes);
        if self.shared.is_none() {
            let waiting = self.rtt.taken_off(self.next - first);
            self.window.adjust(now, self.rtt.whole(), first, waiting);
        }
    }

    /// The bytes that the connection holds elsewhere, if this is a subflow of MPTCP.
    pub(super) fn elsewhere(&self) -> u64 {
        self.shared.map_or(0, |all| all.saturating_sub(self.held))
    }

    /// Whether arrived data is to be told: an MPTCP connection looks by itself.
    pub(in crate::tcp) fn has_news(&self) -> bool {
        self.shared.is_none() && self.readable() > 0
    }

    /// The window is that of an MPTCP connection.
    pub(in crate::tcp) fn share_window(&mut self) {
        (self.shared, self.told) = (Some(0), false);
    }

    /// The window is the own again, and nothing else takes the room of SACK blocks.
    pub(in crate::tcp) fn be_alone(&mut self, blocks: u32) {
        (self.shared, self.told) = (None, false);
        self.blocks = if self.blocks > 0 { blocks as u8 } else { 0 };
    }

    /// The buffer has room for a window of `clamp` bytes, of which the connection holds `held`.
    pub(in crate::tcp) fn set_room(&mut self, clamp: u64, held: u64) {
        if self.window.is_measured() {
            self.window.clamp = self.window.clamp.max(clamp);
        }
        self.shared = Some(held);
    }

    /// The window that arrivals have opened.
    pub(in crate::tcp) fn space(&self) -> u64 {
        self.window.space
    }

    /// The acknowledgement that is being sent offers this window instead of the own.
    pub(in crate::tcp) fn offer(&mut self, window: u64) {
        self.window.edge = self.window.edge.max(self.next + window);
    }

    /// The RTT from the timestamps that the peer echoes, if there was a sample.
    pub(in crate::tcp) fn rtt(&self) -> Option<Span> {
        let rtt = self.rtt.get();
        (!rtt.is_zero()).then_some(rtt)
    }
}
