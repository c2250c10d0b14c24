//! Files that are a sequence of records, each with a magic number and its length at its beginning: reading one record
//! after the other, and finding the next one after damage.

use crate::pieces::{Bytes, Resume, Stateful};
use crate::reader::{Damage, ReadTraces, Step, until_some};
use crate::window::Window;
use crate::{Multipath, Trace};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

/// A description of the fault of a record.
pub type Fault = &'static str;

/// A record that was read.
pub struct Meant {
    /// How many bytes of its body were understood; 0 if this kind of record is not known.
    pub bytes: usize,
    /// Its kind.
    pub name: &'static str,
    /// Its contribution to the stream of traces.
    pub gave: Gave,
}

/// The contribution of a record to the stream of traces.
pub enum Gave {
    /// Nothing that is handed over.
    Nothing,
    /// It filled the trace.
    Trace,
    /// A multipath measurement.
    Multipath(Box<Multipath>),
}

/// A format of records.
pub trait Format {
    /// The magic number at the beginning of each record.
    const MAGIC: [u8; 2];
    /// Bytes of a record before its body.
    const HEADER: usize;
    /// The fault that is reported where no record begins.
    const NOTHING: Fault;
    /// Longest body that is accepted, bytes; a header with a greater length counts as damage.
    const MAX_BODY: usize = 16 << 20;

    /// Length of the body, from a header that begins with the magic number.
    fn body(header: &[u8]) -> usize;

    /// Whether a header that was found after damage may be one.
    fn plausible(header: &[u8]) -> bool;

    /// Reads a record; fills the trace if it is one.
    fn record(&mut self, header: &[u8], body: &[u8], trace: &mut Trace) -> Result<Meant, Fault>;

    /// A record was damaged and passed over.
    fn lost(&mut self) {}
}

/// A reader of one format, in memory that depends on the longest record alone.
pub struct Records<R, F> {
    window: Window<R>,
    pub(crate) format: F,
    /// A list and not a map: there are few kinds, and nearly every record is of the first.
    counts: Vec<(&'static str, u64)>,
    records: BTreeMap<&'static str, u64>,
    ended: bool,
}

/// How far a record goes by its header.
#[derive(Clone, Copy)]
struct Extent {
    /// The length of its body, bytes.
    body: usize,
    /// Whether another record begins behind it, or the stream ends.
    well: bool,
}

impl<R: Read, F: Format + Default> Records<R, F> {
    /// A reader of the records in `stream`, which is read in large pieces: there is no need to buffer it.
    pub fn new(stream: R) -> Records<R, F> {
        Records::at(stream, 0, F::default())
    }
}

impl<R: Read, F: Format> Records<R, F> {
    /// A reader of what comes from `offset` on, bytes from the start of the whole stream.
    fn at(stream: R, offset: u64, format: F) -> Records<R, F> {
        let window = Window::new(stream, offset);
        Records { window, format, counts: Vec::new(), records: BTreeMap::new(), ended: false }
    }

    /// Length of the body of the record at `at` of the window, whose header is there.
    fn body_at(&self, at: usize) -> Option<usize> {
        let header = self.window.bytes().get(at..at + F::HEADER)?;
        header.starts_with(&F::MAGIC).then(|| F::body(header))
    }

    /// Whether another record or the end follows the record at `at` of the window.
    fn followed_well(&mut self, at: usize, body: usize) -> bool {
        let next = at + F::HEADER + body;
        self.window.need(next + F::MAGIC.len());
        let follows = self.window.bytes().get(next..).unwrap_or_default();
        // At the end of the file there may be nothing, or the beginning of a header that was cut off.
        follows.starts_with(&F::MAGIC) || F::MAGIC.starts_with(follows)
    }

    /// One record; none if it was not a trace.
    fn step(&mut self, trace: &mut Trace) -> Option<Step> {
        if !self.window.need(F::HEADER) {
            return Some(self.end());
        }
        let body = match self.body_at(0) {
            Some(body) if body <= F::MAX_BODY => body,
            Some(body) => return Some(self.lost(2, format!("a record claims {body} bytes"))),
            None => return Some(self.lost(1, F::NOTHING)),
        };
        if !self.window.need(F::HEADER + body) {
            let there = self.window.bytes().len() - F::HEADER;
            let what = format!("the file ends in a record of {body} bytes, of which {there} are there");
            return Some(self.lost(F::HEADER, what));
        }
        let extent = Extent { body, well: self.followed_well(0, body) };
        let record = &self.window.bytes()[..F::HEADER + body];
        match self.format.record(&record[..F::HEADER], &record[F::HEADER..], trace) {
            Ok(meant) => self.meant(extent, meant),
            // A wrong length may reach, by chance, to the end of a later record.
            Err(what) if extent.well && !self.begins_inside(body) => {
                let skipped = F::HEADER + body;
                let damage = Damage { offset: self.window.offset(), skipped: skipped as u64, what: what.into() };
                self.format.lost();
                self.window.consume(skipped);
                Some(Step::Damaged(damage))
            }
            Err(what) => Some(self.lost(F::HEADER, what)),
        }
    }

    fn meant(&mut self, Extent { body, well }: Extent, meant: Meant) -> Option<Step> {
        // A length that is too long swallows what follows; a record that was cut goes over into another.
        let rest = &self.window.bytes()[F::HEADER + meant.bytes..F::HEADER + body];
        let swallowed = meant.bytes > 0 && rest.starts_with(&F::MAGIC);
        let whole = rest.is_empty() && (well || !self.begins_inside(body));
        if !well && !swallowed && !whole {
            return Some(self.lost(F::HEADER, "no record begins where this one says that it ends"));
        }
        match self.counts.iter_mut().find(|(name, _)| *name == meant.name) {
            Some((_, n)) => *n += 1,
            None => self.counts.push((meant.name, 1)),
        }
        self.window.consume(F::HEADER + if swallowed { meant.bytes } else { body });
        match meant.gave {
            Gave::Nothing => None,
            Gave::Trace => Some(Step::Trace),
            Gave::Multipath(found) => Some(Step::Multipath(found)),
        }
    }

    fn end(&mut self) -> Step {
        self.ended = true;
        let left = self.window.bytes().len();
        let what: Cow<'static, str> = match self.window.take_failure() {
            Some(failure) => format!("the file cannot be read further: {failure}").into(),
            None if left > 0 => "the file ends in the header of a record".into(),
            None => return Step::End,
        };
        let damage = Damage { offset: self.window.offset(), skipped: left as u64, what };
        self.window.consume(left);
        Step::Damaged(damage)
    }

    /// Skips `from` bytes, and then up to a record that is followed by another record or by the end of the file.
    fn lost(&mut self, from: usize, what: impl Into<Cow<'static, str>>) -> Step {
        let offset = self.window.offset();
        self.window.consume(from);
        self.format.lost();
        while !self.at_beginning() {}
        let mut what = what.into();
        if let Some(failure) = self.window.take_failure() {
            what = Cow::Owned(format!("{what}; the file cannot be read further: {failure}"));
        }
        Step::Damaged(Damage { offset, skipped: self.window.offset() - offset, what })
    }

    /// Goes on to the next place where a record may begin; true if one does, or at the end.
    fn at_beginning(&mut self) -> bool {
        let bytes = self.window.bytes();
        if let Some(at) = bytes.windows(2).position(|w| w == F::MAGIC) {
            self.window.consume(at);
            let begins = self.begins(0);
            self.window.consume(usize::from(!begins));
            return begins;
        }
        // A last byte may be the first of a magic number.
        self.window.consume(bytes.len().saturating_sub(1));
        if self.window.refill() {
            return false;
        }
        let last = self.window.bytes().len();
        self.window.consume(last);
        true
    }

    /// Whether a record begins at `at` of the window that is followed by another or by the end.
    fn begins(&mut self, at: usize) -> bool {
        if !self.window.need(at + F::HEADER) {
            return false;
        }
        match self.body_at(at) {
            Some(body) if body <= F::MAX_BODY && F::plausible(&self.window.bytes()[at..at + F::HEADER]) => {
                self.window.need(at + F::HEADER + body) && self.followed_well(at, body)
            }
            _ => false,
        }
    }

    /// Whether a record begins inside the one at the start of the window, which was then cut short.
    fn begins_inside(&mut self, body: usize) -> bool {
        (F::HEADER..F::HEADER + body).any(|at| self.window.bytes()[at..].starts_with(&F::MAGIC) && self.begins(at))
    }
}

impl<R: Read, F: Format> ReadTraces for Records<R, F> {
    fn read_into(&mut self, trace: &mut Trace) -> Step {
        until_some(|| if self.ended { Some(Step::End) } else { self.step(trace) })
    }

    fn records(&mut self) -> &BTreeMap<&'static str, u64> {
        self.records = self.counts.iter().copied().collect();
        &self.records
    }
}

impl<F: Stateful + Default + Sync + 'static> Resume for Records<Bytes, F> {
    type State = F;

    fn resume(stream: Bytes, offset: u64, state: F) -> Self {
        Records::at(stream, offset, state)
    }

    fn place(&self) -> Option<u64> {
        (!self.ended).then(|| self.window.offset())
    }

    fn state(&self) -> F {
        self.format.clone()
    }

    fn behind(now: &F, start: &F, end: &F) -> Option<F> {
        F::behind(now, start, end)
    }
}
