//! The meaning of the bytes on streams. Transports count bytes and do not carry them. The writer therefore records
//! beside the stream what its bytes mean, and the reader reads these records as far as the bytes have arrived.

use haltere_net::ConnectionId;
use haltere_transport::StreamId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The meaning of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// A flight of TLS, by its number.
    Flight(usize),
    /// A request for an object.
    Request(usize),
    /// Part of the response with an object: a number of body bytes, and whether they are the last.
    Answer { object: usize, body: u64, last: bool },
}

/// One direction of a stream.
#[derive(Default, Debug)]
struct Line {
    written: u64,
    heard: u64,
    /// The end and the meaning of each part that was not read yet.
    notes: VecDeque<(u64, Note)>,
    /// The position at which the first of them begins.
    begin: u64,
}

/// A stream of one of the connections.
pub(super) type Channel = (ConnectionId, StreamId);

/// One direction of all streams of a visit's connections. Both ends share it.
#[derive(Clone, Default, Debug)]
pub struct Transcript(Arc<Mutex<BTreeMap<Channel, Line>>>);

impl Transcript {
    fn with<T>(&self, channel: Channel, f: impl FnOnce(&mut Line) -> T) -> T {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f(lines.entry(channel).or_default())
    }

    /// Records the meaning of the next `bytes` bytes that are written.
    pub(super) fn write(&self, channel: Channel, bytes: u64, note: Note) {
        self.with(channel, |line| {
            line.written += bytes;
            line.notes.push_back((line.written, note));
        });
    }

    /// Records that this many more bytes were read.
    pub(super) fn hear(&self, channel: Channel, bytes: u64) {
        self.with(channel, |line| line.heard += bytes);
    }

    /// The next record all of whose bytes were read.
    pub(super) fn take(&self, channel: Channel) -> Option<Note> {
        self.with(channel, |line| {
            let (end, note) = *line.notes.front().filter(|n| n.0 <= line.heard)?;
            line.notes.pop_front();
            line.begin = end;
            Some(note)
        })
    }

    /// Whether some bytes of an incomplete response were read.
    pub(super) fn is_within_answer(&self, channel: Channel) -> bool {
        self.with(channel, |line| {
            line.heard > line.begin && matches!(line.notes.front(), Some((_, Note::Answer { .. })))
        })
    }
}
