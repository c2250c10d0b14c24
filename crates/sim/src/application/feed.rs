//! The last message of a server, written as fast as its application has it.

use crate::scenario::Supplied;
use haltere_net::{Bytes, Time};

/// A message that is written piece by piece.
#[derive(Clone, Debug)]
pub(super) struct Feed {
    from: Supplied,
    /// Bytes that are still to be written.
    left: u64,
    /// When the next piece is there.
    next: Time,
    /// Less than a nanosecond's work that is left of the piece before.
    rest: u64,
}

impl Feed {
    /// A message of so many bytes, none of which is there before it is `begun`.
    pub(super) fn new(from: &Supplied, bytes: u64) -> Feed {
        Feed { from: from.clone(), left: bytes, next: Time::NEVER, rest: 0 }
    }

    /// The application begins to have data.
    pub(super) fn begin(&mut self, now: Time) {
        if self.next == Time::NEVER && self.left > 0 {
            self.wait(now);
        }
    }

    /// When the next piece is there, or [`Time::NEVER`].
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Whether all was written.
    pub(super) fn is_over(&self) -> bool {
        self.left == 0
    }

    /// The bytes of the piece that is there now.
    pub(super) fn take(&mut self, now: Time) -> u64 {
        let bytes = self.piece();
        self.left -= bytes;
        if self.left == 0 {
            self.next = Time::NEVER
        } else {
            self.wait(now)
        }
        bytes
    }

    fn piece(&self) -> u64 {
        self.from.write.0.min(self.left)
    }

    fn wait(&mut self, since: Time) {
        (self.next, self.rest) = self.from.supply.after(since, Bytes(self.piece()), self.rest);
    }
}
