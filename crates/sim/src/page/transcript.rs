//! What the bytes of streams mean. Transports count bytes and do not carry them; so the writer notes beside the stream what
//! it says, and the reader reads the notes as far as the bytes have come.

use haltere_net::ConnectionId;
use haltere_transport::StreamId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// What some bytes mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Note {
    /// A flight of TLS, by its number.
    Flight(usize),
    /// A request for an object.
    Request(usize),
    /// Part of the response with an object: bytes of its body, and whether they are the last.
    Answer { object: usize, body: u64, last: bool },
}

/// One direction of a stream.
#[derive(Default, Debug)]
struct Line {
    written: u64,
    heard: u64,
    /// What ends where, of what was not read yet.
    notes: VecDeque<(u64, Note)>,
    /// Where the first of them begins.
    begin: u64,
}

/// A stream of one of the connections.
pub(super) type Channel = (ConnectionId, StreamId);

/// One direction of all streams of a visit's connections, which both ends hold.
#[derive(Clone, Default, Debug)]
pub struct Transcript(Arc<Mutex<BTreeMap<Channel, Line>>>);

impl Transcript {
    fn with<T>(&self, channel: Channel, f: impl FnOnce(&mut Line) -> T) -> T {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f(lines.entry(channel).or_default())
    }

    /// The next `bytes` bytes that are written mean this.
    pub(super) fn write(&self, channel: Channel, bytes: u64, note: Note) {
        self.with(channel, |line| {
            line.written += bytes;
            line.notes.push_back((line.written, note));
        });
    }

    /// So many more bytes were read.
    pub(super) fn hear(&self, channel: Channel, bytes: u64) {
        self.with(channel, |line| line.heard += bytes);
    }

    /// The next note of which all bytes were read.
    pub(super) fn take(&self, channel: Channel) -> Option<Note> {
        self.with(channel, |line| {
            let (end, note) = *line.notes.front().filter(|n| n.0 <= line.heard)?;
            line.notes.pop_front();
            line.begin = end;
            Some(note)
        })
    }

    /// Whether some bytes of a response were read that is not whole yet.
    pub(super) fn is_within_answer(&self, channel: Channel) -> bool {
        self.with(channel, |line| {
            line.heard > line.begin && matches!(line.notes.front(), Some((_, Note::Answer { .. })))
        })
    }
}
