//! scamper's warts: the format of CAIDA's Ark since 2007. Written after `warts(5)` of scamper; what that page does not
//! tell was seen in files.
//!
//! A file is a row of records: magic 0x1205, type (16 bits), length of what follows (32 bits), all big-endian. Files may
//! be joined with `cat`; the identifiers of lists, cycles and addresses begin again then.

mod decode;
mod state;
mod write;

pub use write::{Addresses, Writer};

use crate::Trace;
use crate::reader::{Damage, ReadTraces, Step};
use crate::window::Window;
use decode::Fault;
use state::State;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

pub(crate) const MAGIC: u16 = 0x1205;
const HEADER: usize = 8;

/// Longest record that is believed; a header that claims more is taken for damage. A trace of 65535 hops, more than any
/// tool sends, stays below 8 MiB.
const MAX_RECORD: usize = 16 << 20;

pub(crate) mod kind {
    pub const LIST: u16 = 1;
    pub const CYCLE_START: u16 = 2;
    pub const CYCLE_DEFINITION: u16 = 3;
    pub const CYCLE_STOP: u16 = 4;
    pub const ADDRESS: u16 = 5;
    pub const TRACE: u16 = 6;
}

const NAMES: [&str; 17] = [
    "other",
    "list",
    "cycle-start",
    "cycle-definition",
    "cycle-stop",
    "address",
    "trace",
    "ping",
    "tracelb",
    "dealias",
    "neighbourdisc",
    "tbit",
    "sting",
    "sniff",
    "host",
    "http",
    "udpprobe",
];

/// Types beyond those defined that are believed when a reader looks for the next record after damage.
const PLAUSIBLE_TYPES: u16 = 64;

#[derive(Clone, Copy)]
struct Header {
    kind: u16,
    len: usize,
}

impl Header {
    /// The header at the start of `bytes`, if it begins with the magic number.
    fn at(bytes: &[u8]) -> Option<Header> {
        let b = bytes.first_chunk::<HEADER>()?;
        (u16::from_be_bytes([b[0], b[1]]) == MAGIC).then(|| Header {
            kind: u16::from_be_bytes([b[2], b[3]]),
            len: u32::from_be_bytes([b[4], b[5], b[6], b[7]]) as usize,
        })
    }

    fn plausible(&self) -> bool {
        self.len <= MAX_RECORD && (1..=PLAUSIBLE_TYPES).contains(&self.kind)
    }
}

/// Whether what was read so far begins as a warts file does.
pub(crate) fn detect(start: &[u8]) -> bool {
    start.starts_with(&MAGIC.to_be_bytes())
}

/// A reader of warts from any stream, in memory that depends on the longest record alone.
pub struct Reader<R> {
    window: Window<R>,
    state: State,
    records: BTreeMap<&'static str, u64>,
    counts: [u64; NAMES.len()],
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// A reader of the records in `stream`, which is read in large pieces: there is no need to buffer it.
    pub fn new(stream: R) -> Reader<R> {
        Reader {
            window: Window::new(stream),
            state: State::default(),
            records: BTreeMap::new(),
            counts: [0; NAMES.len()],
            ended: false,
        }
    }

    /// Reads the record at the start of the window, which is there in full; tells how much of its body has a meaning.
    fn record(&mut self, header: Header, trace: &mut Trace) -> Result<usize, Fault> {
        let body = &self.window.bytes()[HEADER..HEADER + header.len];
        match header.kind {
            kind::TRACE => decode::trace(body, trace, &mut self.state),
            kind::LIST => self.state.list(body),
            kind::CYCLE_START | kind::CYCLE_DEFINITION => self.state.cycle(body),
            kind::CYCLE_STOP => self.state.cycle_stop(body),
            kind::ADDRESS => self.state.address(body),
            0 => Err("no record has type 0"),
            // Of other records nothing is known but the length.
            _ => Ok(0),
        }
    }

    /// Whether another record or the end follows the record at `at` of the window.
    fn followed_well(&mut self, at: usize, header: Header) -> bool {
        let next = at + HEADER + header.len;
        if self.window.need(next + 2) {
            self.window.bytes()[next..].starts_with(&MAGIC.to_be_bytes())
        } else {
            // One byte too many is a header cut off.
            true
        }
    }

    /// One record; none if it was not a trace.
    fn step(&mut self, trace: &mut Trace) -> Option<Step> {
        if !self.window.need(HEADER) {
            return Some(self.end());
        }
        let header = match Header::at(self.window.bytes()) {
            Some(header) if header.len <= MAX_RECORD => header,
            Some(header) => return Some(self.lost(2, format!("a record claims {} bytes", header.len))),
            None => return Some(self.lost(1, "no record begins here (0x1205 is missing)")),
        };
        if !self.window.need(HEADER + header.len) {
            let there = self.window.bytes().len() - HEADER;
            let what = format!("the file ends in a record of {} bytes, of which {there} are there", header.len);
            return Some(self.lost(HEADER, what));
        }
        let well = self.followed_well(0, header);
        match self.record(header, trace) {
            Ok(meant) => {
                // A length that is too long swallows what follows; a record that was cut goes over into another.
                let rest = &self.window.bytes()[HEADER + meant..HEADER + header.len];
                let swallowed = meant > 0 && rest.starts_with(&MAGIC.to_be_bytes());
                let whole = rest.is_empty() && (well || !self.begins_inside(header));
                if !well && !swallowed && !whole {
                    return Some(self.lost(HEADER, "no record begins where this one says that it ends"));
                }
                let index = usize::from(header.kind);
                self.counts[if index < NAMES.len() { index } else { 0 }] += 1;
                self.window.consume(HEADER + if swallowed { meant } else { header.len });
                (header.kind == kind::TRACE).then_some(Step::Trace)
            }
            Err(what) if well => {
                let damage = Damage {
                    offset: self.window.offset(),
                    skipped: (HEADER + header.len) as u64,
                    what: Cow::Borrowed(what),
                };
                self.state.lost_record();
                self.window.consume(HEADER + header.len);
                Some(Step::Damaged(damage))
            }
            Err(what) => Some(self.lost(HEADER, what)),
        }
    }

    fn end(&mut self) -> Step {
        self.ended = true;
        let left = self.window.bytes().len();
        if let Some(failure) = self.window.take_failure() {
            return self.rest_lost(left, format!("the file cannot be read further: {failure}"));
        }
        if left > 0 {
            return self.rest_lost(left, "the file ends in the header of a record");
        }
        Step::End
    }

    fn rest_lost(&mut self, left: usize, what: impl Into<Cow<'static, str>>) -> Step {
        let damage = Damage { offset: self.window.offset(), skipped: left as u64, what: what.into() };
        self.window.consume(left);
        Step::Damaged(damage)
    }

    /// Passes over `from` bytes and on to where a record begins that is followed by another or by the end of the file.
    fn lost(&mut self, from: usize, what: impl Into<Cow<'static, str>>) -> Step {
        let offset = self.window.offset();
        self.window.consume(from);
        self.state.lost_record();
        loop {
            let bytes = self.window.bytes();
            let found = bytes.windows(2).position(|w| w == MAGIC.to_be_bytes());
            match found {
                Some(at) => {
                    self.window.consume(at);
                    if self.begins(0) {
                        break;
                    }
                    self.window.consume(1);
                }
                None => {
                    self.window.consume(bytes.len().saturating_sub(1));
                    if !self.window.refill() {
                        let last = self.window.bytes().len();
                        self.window.consume(last);
                        break;
                    }
                }
            }
        }
        let mut what = what.into();
        if let Some(failure) = self.window.take_failure() {
            what = Cow::Owned(format!("{what}; the file cannot be read further: {failure}"));
        }
        Step::Damaged(Damage { offset, skipped: self.window.offset() - offset, what })
    }

    /// Whether a record begins at `at` of the window that is followed by another or by the end.
    fn begins(&mut self, at: usize) -> bool {
        if !self.window.need(at + HEADER) {
            return false;
        }
        match Header::at(&self.window.bytes()[at..]) {
            Some(header) if header.plausible() => {
                self.window.need(at + HEADER + header.len) && self.followed_well(at, header)
            }
            _ => false,
        }
    }

    /// Whether a record begins inside the one at the start of the window: then that one was cut.
    fn begins_inside(&mut self, header: Header) -> bool {
        let end = HEADER + header.len;
        (HEADER..end).any(|at| self.window.bytes()[at..].starts_with(&MAGIC.to_be_bytes()) && self.begins(at))
    }
}

impl<R: Read> ReadTraces for Reader<R> {
    fn read_into(&mut self, trace: &mut Trace) -> Step {
        loop {
            if self.ended {
                return Step::End;
            }
            if let Some(step) = self.step(trace) {
                return step;
            }
        }
    }

    fn records(&mut self) -> &BTreeMap<&'static str, u64> {
        let met = NAMES.iter().zip(self.counts).filter(|&(_, n)| n > 0);
        self.records = met.map(|(&name, n)| (name, n)).collect();
        &self.records
    }
}
