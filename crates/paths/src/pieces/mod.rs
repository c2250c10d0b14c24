//! One file that several threads decode.
//!
//! A thread cuts the stream into pieces at places where a record seems to begin, others decode them, and [`Pieces`] hands their
//! traces over in the order of the file. What comes out is, to the byte, what one reader gives: a piece counts only if it is
//! exactly where a single reader would stand, if that reader would be in the state that the piece was decoded from, and if
//! the piece holds no damage. Elsewhere a single reader goes on until it stands at the beginning of such a piece.

mod cut;
mod line;
mod records;
#[cfg(test)]
mod tests;

pub(crate) use cut::{Cut, Cutting, Seen};
pub(crate) use records::{Stateful, Walk};

use crate::reader::{ReadTraces, Step};
use crate::{Multipath, Trace};
use line::{Line, Slot, Stream};
use std::collections::BTreeMap;
use std::collections::vec_deque::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// A stream that is read by whoever has it.
pub(crate) type Bytes = Box<dyn Read + Send>;

/// A reader that can begin in the middle of a stream.
pub(crate) trait Resume: ReadTraces + Send + Sized + 'static {
    /// The reader's knowledge of earlier records; the default is that of a stream's beginning.
    type State: Clone + Default + Send + Sync + 'static;

    /// A reader of what comes from `offset` on (bytes from the start of the whole stream), in a state.
    fn resume(stream: Bytes, offset: u64, state: Self::State) -> Self;

    /// Where another reader in the same state would go on as this one does; none if there is no such place now.
    fn place(&self) -> Option<u64>;

    /// Its state there.
    fn state(&self) -> Self::State;

    /// The state behind a piece without damage that was decoded from `start` to `end`, for a reader that comes to it in the
    /// state `now`; none if that reader would have read something else.
    fn behind(now: &Self::State, start: &Self::State, end: &Self::State) -> Option<Self::State>;
}

/// The contents of one piece without damage.
pub(crate) struct Decoded<S> {
    traces: Vec<Trace>,
    /// Multipath measurements, each with the number of traces before it.
    multipaths: VecDeque<(usize, Box<Multipath>)>,
    records: BTreeMap<&'static str, u64>,
    end: S,
}

/// Traces that were handed over, to be filled again.
pub(crate) type Spare = Arc<Mutex<Vec<Vec<Trace>>>>;

/// Decodes a piece; none if it is damaged, as only a reader of the whole stream knows how far the damage goes.
fn decode<F: Resume>(stream: Bytes, offset: u64, state: F::State, mut traces: Vec<Trace>) -> Option<Decoded<F::State>> {
    let mut reader = F::resume(stream, offset, state);
    let (mut filled, mut multipaths) = (0, VecDeque::new());
    loop {
        if filled == traces.len() {
            traces.push(Trace::default());
        }
        match reader.read_into(&mut traces[filled]) {
            Step::Trace => filled += 1,
            Step::Multipath(found) => multipaths.push_back((filled, found)),
            Step::Damaged(_) => return None,
            Step::End => break,
        }
    }
    traces.truncate(filled);
    Some(Decoded { traces, multipaths, records: reader.records().clone(), end: reader.state() })
}

/// The piece whose traces are being handed over.
struct Current<S> {
    decoded: Decoded<S>,
    given: usize,
    /// Where it ends, bytes from the start of the stream.
    end: u64,
    /// The state there.
    state: S,
}

/// A reader of a stream that several threads decode.
pub(crate) struct Pieces<F: Resume> {
    line: Arc<Mutex<Line<F::State>>>,
    spare: Spare,
    offset: u64,
    state: F::State,
    current: Option<Current<F::State>>,
    /// Reads what no piece gives.
    single: Option<F>,
    records: BTreeMap<&'static str, u64>,
    ended: bool,
    #[cfg(test)]
    taken: usize,
}

impl<F: Resume> Pieces<F> {
    /// Begins to cut the stream and to decode it on `threads` threads.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn new(stream: Bytes, cutter: impl Cut<State = F::State> + 'static, threads: usize) -> io::Result<Pieces<F>> {
        let spare = Spare::default();
        let line = line::begin::<F>(stream, cutter, threads, &spare)?;
        Ok(Pieces {
            line: Arc::new(Mutex::new(line)),
            spare,
            offset: 0,
            state: F::State::default(),
            current: None,
            single: None,
            records: BTreeMap::new(),
            ended: false,
            #[cfg(test)]
            taken: 0,
        })
    }

    /// The piece that begins at `place`; none if there is none, or the stream ends.
    fn piece_at(&self, place: u64) -> Option<Arc<Slot<F::State>>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner).at(place)
    }

    /// Turns to a piece, if a reader in the state `now` would read it as it was decoded.
    fn turn_to(&mut self, slot: &Slot<F::State>, now: &F::State) -> bool {
        let Some(decoded) = slot.wait() else { return false };
        let Some(state) = F::behind(now, &slot.state, &decoded.end) else { return false };
        self.line.lock().unwrap_or_else(PoisonError::into_inner).pass(slot.end());
        self.current = Some(Current { decoded, given: 0, end: slot.end(), state });
        #[cfg(test)]
        (self.taken += 1);
        true
    }

    /// The next of what the current piece holds; none if that was all.
    fn of_piece(&mut self, trace: &mut Trace) -> Option<Step> {
        let current = self.current.as_mut()?;
        if current.decoded.multipaths.front().is_some_and(|(before, _)| *before == current.given) {
            return current.decoded.multipaths.pop_front().map(|(_, found)| Step::Multipath(found));
        }
        if let Some(next) = current.decoded.traces.get_mut(current.given) {
            current.given += 1;
            std::mem::swap(trace, next);
            return Some(Step::Trace);
        }
        let Current { decoded, end, state, .. } = self.current.take()?;
        add(&mut self.records, &decoded.records);
        (self.offset, self.state) = (end, state);
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(decoded.traces);
        None
    }

    /// Gives up the single reader where a piece goes on.
    fn of_single_to_piece(&mut self) {
        let Some((place, state)) = self.single.as_ref().and_then(|single| Some((single.place()?, single.state())))
        else {
            return;
        };
        if place > self.offset
            && let Some(slot) = self.piece_at(place)
            && self.turn_to(&slot, &state)
            && let Some(mut single) = self.single.take()
        {
            add(&mut self.records, single.records());
        }
    }
}

fn add(all: &mut BTreeMap<&'static str, u64>, more: &BTreeMap<&'static str, u64>) {
    more.iter().for_each(|(name, n)| *all.entry(name).or_default() += n);
}

impl<F: Resume> ReadTraces for Pieces<F> {
    fn read_into(&mut self, trace: &mut Trace) -> Step {
        loop {
            if let Some(step) = self.of_piece(trace) {
                return step;
            }
            if self.ended {
                return Step::End;
            }
            if self.single.is_some() {
                self.of_single_to_piece();
                if self.current.is_some() {
                    continue;
                }
            } else {
                let slot = self.piece_at(self.offset);
                let now = self.state.clone();
                if slot.as_ref().is_some_and(|slot| self.turn_to(slot, &now)) {
                    continue;
                }
                let stream = Stream::from(Arc::clone(&self.line), self.offset);
                self.single = Some(F::resume(Box::new(stream), self.offset, now));
            }
            if let Some(single) = &mut self.single {
                let step = single.read_into(trace);
                if step == Step::End {
                    self.ended = true;
                    let found = self.single.take().map(|mut single| single.records().clone());
                    add(&mut self.records, &found.unwrap_or_default());
                }
                return step;
            }
        }
    }

    fn records(&mut self) -> &BTreeMap<&'static str, u64> {
        &self.records
    }
}
