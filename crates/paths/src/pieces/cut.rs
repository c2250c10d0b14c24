//! Where a stream is cut into pieces.

use super::Bytes;
use super::line::{Slot, Stage};
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Sender, SyncSender};

/// Bytes of a piece, about: few enough for its traces to stay in a core's cache. A test has pieces of a few records.
pub(super) const PIECE: usize = if cfg!(test) { 4 * 1024 } else { 256 << 10 };
/// Bytes in which no record begins that make a piece nevertheless. No record is so long.
const LONGEST: usize = 32 << 20;

/// Where a piece ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cutting {
    /// Its length, bytes; never 0.
    pub bytes: usize,
    /// Whether a record begins behind it (or the stream ends), so that a reader may take the piece for a whole stream.
    pub sound: bool,
}

/// Bytes of a stream that are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether there are no more.
    pub end: bool,
}

/// Finds where pieces end. It need not be right: a piece that begins elsewhere than a record does is not used.
pub(crate) trait Cut: Send {
    /// The state that a reader needs at the beginning of a piece.
    type State;

    /// Where the piece at the start of the bytes ends, which should not be far behind [`Cut::WANTED`]; none if more bytes are
    /// needed.
    fn cut(&mut self, seen: Seen<'_>) -> Option<Cutting>;

    /// All of the bytes, if they are the stream's last ones and few enough for one piece.
    fn rest(Seen { bytes, end }: Seen<'_>) -> Option<Cutting> {
        (end && bytes.len() <= Self::WANTED).then_some(Cutting { bytes: bytes.len(), sound: true })
    }

    /// The state at the start of what is cut next.
    fn state(&self) -> Self::State;

    /// Bytes of a piece, about.
    const WANTED: usize = PIECE;
}

/// Cuts a stream until it ends or nobody wants more of it. Each piece goes to those that decode, and to who wants them in
/// their order.
pub(super) fn cut_all<S>(
    mut stream: Bytes,
    mut cutter: impl Cut<State = S>,
    work: &Sender<Arc<Slot<S>>>,
    line: &SyncSender<Arc<Slot<S>>>,
) {
    let (mut bytes, mut offset, mut end, mut failure) = (Vec::new(), 0, false, None);
    let mut wanted = PIECE + PIECE / 8;
    loop {
        if !end && bytes.len() < wanted {
            match fill(&mut stream, &mut bytes, wanted) {
                Ok(there) => end = !there,
                Err(e) => (end, failure) = (true, Some(e)),
            }
        }
        if end && bytes.is_empty() && failure.is_none() {
            return;
        }
        let state = cutter.state();
        let last = end && failure.is_none();
        let whole = Cutting { bytes: bytes.len(), sound: last };
        let cutting = match cutter.cut(Seen { bytes: &bytes, end: last }) {
            Some(cutting) => cutting,
            None if end || bytes.len() >= LONGEST => whole,
            None => {
                wanted = bytes.len() * 2;
                continue;
            }
        };
        wanted = PIECE + PIECE / 8;
        let rest = bytes.split_off(cutting.bytes);
        let last = end && rest.is_empty();
        let stage = if cutting.sound { Stage::Waiting } else { Stage::Done(None) };
        let slot = Arc::new(Slot::new(offset, bytes, state, stage, failure.take_if(|_| last)));
        offset = slot.end();
        bytes = rest;
        // A piece that is not sound is read by a single reader alone.
        let decoded_by_others = !cutting.sound || work.send(Arc::clone(&slot)).is_ok();
        if !decoded_by_others || line.send(slot).is_err() || last {
            return;
        }
    }
}

/// Reads until there are so many bytes; false if the stream ends before.
fn fill(stream: &mut Bytes, bytes: &mut Vec<u8>, wanted: usize) -> io::Result<bool> {
    bytes.reserve(wanted - bytes.len());
    let missing = (wanted - bytes.len()) as u64;
    stream.take(missing).read_to_end(bytes)?;
    Ok(bytes.len() == wanted)
}
