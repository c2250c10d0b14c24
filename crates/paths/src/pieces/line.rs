//! Pieces on their way: cut, decoded by any thread, and taken in their order.

use super::cut::{self, Cut};
use super::{Bytes, Decoded, Resume, Spare, decode};
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;

/// Pieces before the last one that was read which are kept. A single reader holds no more bytes than they have, unless a record
/// is longer; then it goes on alone for some more pieces.
const KEPT: usize = 4;

/// How far the decoding of a piece has come.
pub(super) enum Stage<S> {
    Waiting,
    /// None if it holds damage.
    Done(Option<Decoded<S>>),
}

/// A piece of the stream.
pub(super) struct Slot<S> {
    offset: u64,
    bytes: Vec<u8>,
    /// The state that it is decoded from.
    pub state: S,
    /// Why the stream cannot be read behind it.
    failure: Option<io::Error>,
    stage: Mutex<Stage<S>>,
    done: Condvar,
}

impl<S> Slot<S> {
    pub fn new(offset: u64, bytes: Vec<u8>, state: S, stage: Stage<S>, failure: Option<io::Error>) -> Slot<S> {
        Slot { offset, bytes, state, failure, stage: Mutex::new(stage), done: Condvar::new() }
    }

    /// Where it ends, bytes from the start of the stream.
    pub fn end(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// Waits until it is decoded, and takes what it holds; none if it is damaged or what it holds was taken.
    pub fn wait(&self) -> Option<Decoded<S>> {
        let mut stage = self.stage.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &mut *stage {
                Stage::Done(decoded) => return decoded.take(),
                Stage::Waiting => stage = self.done.wait(stage).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn decoded(&self, what: Option<Decoded<S>>) {
        *self.stage.lock().unwrap_or_else(PoisonError::into_inner) = Stage::Done(what);
        self.done.notify_all();
    }
}

/// The bytes of a piece.
struct Inside<S>(Arc<Slot<S>>, usize);

impl<S> Read for Inside<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = (&self.0.bytes[self.1..]).read(buffer)?;
        self.1 += n;
        Ok(n)
    }
}

/// The pieces in their order.
pub(super) struct Line<S> {
    coming: Receiver<Arc<Slot<S>>>,
    here: VecDeque<Arc<Slot<S>>>,
}

impl<S> Line<S> {
    /// Takes one more from the thread that cuts; false if there is none.
    fn pull(&mut self) -> bool {
        self.coming.recv().map(|slot| self.here.push_back(slot)).is_ok()
    }

    /// The piece that begins at a place of the stream; those before it are given up.
    pub fn at(&mut self, place: u64) -> Option<Arc<Slot<S>>> {
        self.pass(place);
        if self.here.is_empty() {
            self.pull();
        }
        self.here.front().filter(|slot| slot.offset == place).cloned()
    }

    /// Gives up the pieces that end before a place of the stream, or there.
    pub fn pass(&mut self, place: u64) {
        // One behind which the stream cannot be read has yet to say so.
        while self.here.front().is_some_and(|slot| slot.end() <= place && slot.failure.is_none()) {
            self.here.pop_front();
        }
    }
}

/// The bytes of the stream from a place on.
pub(super) struct Stream<S> {
    line: Arc<Mutex<Line<S>>>,
    at: u64,
    failed: bool,
}

impl<S> Stream<S> {
    pub fn from(line: Arc<Mutex<Line<S>>>, at: u64) -> Stream<S> {
        Stream { line, at, failed: false }
    }
}

impl<S> Read for Stream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let line = &mut *line;
        loop {
            let found = line.here.iter().position(|slot| slot.end() > self.at);
            if let Some(number) = found {
                let slot = &line.here[number];
                let from = self.at.saturating_sub(slot.offset) as usize;
                let n = (&slot.bytes[from..]).read(buffer)?;
                self.at += n as u64;
                line.here.drain(..number.saturating_sub(KEPT));
                return Ok(n);
            }
            let failure = line.here.back().and_then(|slot| slot.failure.as_ref()).filter(|_| !self.failed);
            if let Some(failure) = failure {
                self.failed = true;
                return Err(io::Error::new(failure.kind(), failure.to_string()));
            }
            if !line.pull() {
                return Ok(0);
            }
        }
    }
}

/// Begins to cut a stream and to decode its pieces on `threads` threads.
pub(super) fn begin<F: Resume>(
    stream: Bytes,
    cutter: impl Cut<State = F::State> + 'static,
    threads: usize,
    spare: &Spare,
) -> io::Result<Line<F::State>> {
    let (to_line, coming) = sync_channel(2 * threads + 1);
    let (to_work, work) = channel();
    let work = Arc::new(Mutex::new(work));
    for number in 0..threads {
        let (work, spare) = (Arc::clone(&work), Arc::clone(spare));
        thread::Builder::new().name(format!("decode {number}")).spawn(move || decode_all::<F>(&work, &spare))?;
    }
    thread::Builder::new().name("cut".to_owned()).spawn(move || cut::cut_all(stream, cutter, &to_work, &to_line))?;
    Ok(Line { coming, here: VecDeque::new() })
}

/// Decodes pieces until there are no more.
fn decode_all<F: Resume>(work: &Mutex<Receiver<Arc<Slot<F::State>>>>, spare: &Spare) {
    loop {
        let next = work.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(slot) = next else { return };
        let traces = spare.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        let guard = Guard(&slot);
        let decoded = decode::<F>(Box::new(Inside(Arc::clone(&slot), 0)), slot.offset, slot.state.clone(), traces);
        guard.0.decoded(decoded);
    }
}

/// Whoever waits for a piece is not left waiting if its decoding comes to an unforeseen end.
struct Guard<'a, S>(&'a Slot<S>);

impl<S> Drop for Guard<'_, S> {
    fn drop(&mut self) {
        let mut stage = self.0.stage.lock().unwrap_or_else(PoisonError::into_inner);
        if let Stage::Waiting = *stage {
            *stage = Stage::Done(None);
            self.0.done.notify_all();
        }
    }
}
