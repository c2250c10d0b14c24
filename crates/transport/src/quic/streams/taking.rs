//! Data of applications that are taken no faster than the window has room, as in quiche (quiche 0.30.0, `lib.rs`, `update_tx_cap`).
//!
//! A datagram that arrives says how much may be taken until the next one comes. Headers take room as well, so that more is taken in time
//! than can go; at first, and when the window has grown since, the sender runs out of data although the application has more.

use super::Streams;

/// The data that applications have written, where it is taken by the window.
#[derive(Default, Debug)]
pub(super) struct Taking {
    /// Bytes that may be taken yet, that wait for it, and that were taken.
    cap: u64,
    waiting: u64,
    end: u64,
    /// The limit that the peer sets.
    max_data: u64,
}

impl Streams {
    /// The peer takes new data up to this offset of the connection.
    pub fn raise_max_data(&mut self, limit: u64) {
        match &mut self.taking {
            None => self.data_limit = self.data_limit.max(limit),
            Some(taking) => {
                taking.max_data = taking.max_data.max(limit);
                self.data_limit = taking.end.min(taking.max_data);
            }
        }
    }

    /// The limit that the peer sets.
    #[inline]
    pub(super) fn max_data(&self) -> u64 {
        self.taking.as_ref().map_or(self.data_limit, |taking| taking.max_data)
    }

    /// Whether what applications write is taken by the window.
    #[inline]
    pub fn takes_by_window(&self) -> bool {
        self.taking.is_some()
    }

    /// A datagram arrived, and the window has `room` bytes left: so much may be taken until the next.
    #[cold]
    pub fn take_up_to(&mut self, room: u64) {
        if let Some(taking) = &mut self.taking {
            taking.cap = room;
            self.take();
        }
    }

    /// The application has written so many bytes.
    #[cold]
    pub fn offer(&mut self, bytes: u64) {
        if let Some(taking) = &mut self.taking {
            taking.waiting = taking.waiting.saturating_add(bytes);
            self.take();
        }
    }

    #[cold]
    fn take(&mut self) {
        let Some(taking) = &mut self.taking else { return };
        let taken = taking.waiting.min(taking.cap);
        taking.waiting -= taken;
        taking.cap -= taken;
        taking.end += taken;
        self.data_limit = taking.end.min(taking.max_data);
    }
}
