//! Traceroutes as JSON: results of RIPE Atlas, what `sc_warts2json` writes, and mtr's reports. Objects may stand a line
//! each, in one array, or one after the other, and objects of several kinds in one file.

mod atlas;
pub(crate) mod mtr;
mod pull;
mod scamper;
mod tracelb;
mod word;
mod write;

pub use write::atlas;

use crate::pieces::{Bytes, Cut, Cutting, Resume, Seen};
use crate::reader::{Damage, ReadTraces, Step, end, until_some};
use crate::window::Window;
use crate::{Multipath, Trace};
use atlas::Kind;
use pull::Pull;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use word::Word;

/// Longest object that is accepted, bytes.
const MAX_OBJECT: usize = 16 << 20;
/// Bytes in memory before an object is read: with fewer, many objects would have to be read a second time.
const AHEAD: usize = 64 * 1024;
/// Upper bound of how often a byte is looked at, on average. Without it, nested objects that never end would take a
/// time that grows with the square of the file's length.
const MAX_EFFORT: u64 = 16;

/// A trace of scamper or a report of mtr; fields that are not named here are ignored.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Any<'a> {
    // scamper.
    #[serde(borrow)]
    src: Word<'a>,
    dst: Word<'a>,
    rtr: Word<'a>,
    method: Word<'a>,
    sport: Word<'a>,
    dport: Word<'a>,
    icmp_sum: Word<'a>,
    stop_reason: Word<'a>,
    stop_data: Word<'a>,
    start: scamper::Instant,
    hop_count: Word<'a>,
    attempts: Word<'a>,
    hoplimit: Word<'a>,
    firsthop: Word<'a>,
    wait: Word<'a>,
    wait_probe: Word<'a>,
    tos: Word<'a>,
    probe_size: Word<'a>,
    probe_count: Word<'a>,
    userid: Word<'a>,
    hops: Vec<scamper::Hop<'a>>,
    extra_hops: Vec<scamper::Hop<'a>>,
    // scamper's tracelb.
    confidence: Word<'a>,
    probec: Word<'a>,
    nodes: Vec<tracelb::Node<'a>>,
    // mtr.
    report: Option<mtr::Report<'a>>,
}

/// An object that was read.
struct Was {
    name: &'static str,
    is_trace: bool,
    multipath: Option<Box<Multipath>>,
    bytes: usize,
}

/// Why an object could not be read.
enum Wrong {
    /// It is longer than the bytes in memory.
    Unfinished,
    /// It is not an object, or of a kind that is not read.
    Broken(String),
}

impl From<pull::Wrong> for Wrong {
    fn from(wrong: pull::Wrong) -> Wrong {
        match wrong {
            pull::Wrong::Unfinished => Wrong::Unfinished,
            pull::Wrong::Broken(what) => Wrong::Broken(what.to_owned()),
        }
    }
}

/// Reads the object at the start of `bytes`; adds to `effort` how many bytes were looked at.
fn object(bytes: &[u8], trace: &mut Trace, effort: &mut u64) -> Result<Was, Wrong> {
    let mut pull = Pull::new(bytes);
    let read = atlas::read(&mut pull, trace);
    *effort += pull.position().min(bytes.len()) as u64;
    let kind = read?;
    let end = pull.position();
    let is = |name, is_trace| Was { name, is_trace, multipath: None, bytes: end };
    let broken = |what: &str| Wrong::Broken(what.to_owned());
    match kind.map_err(broken)? {
        Kind::Traceroute => Ok(is("traceroute", true)),
        Kind::Typed(b"trace") => scamper::fill(&any(&bytes[..end])?, trace).map(|()| is("trace", true)).map_err(broken),
        Kind::Typed(b"tracelb") => {
            let found = tracelb::read(&any(&bytes[..end])?).map_err(broken)?;
            Ok(Was { multipath: Some(Box::new(found)), ..is("tracelb", false) })
        }
        Kind::Report => mtr::fill(&any(&bytes[..end])?, trace).map(|()| is("mtr", true)).map_err(broken),
        Kind::Typed(other) => Ok(is(name_of(other), false)),
        Kind::Untyped => Err(broken("an object without a type")),
    }
}

/// An object that is not RIPE Atlas's.
fn any(bytes: &[u8]) -> Result<Any<'_>, Wrong> {
    // Lines are the file's, not the object's: the offset tells the place.
    let told = |e: serde_json::Error| e.to_string().split(" at line ").next().unwrap_or_default().to_owned();
    serde_json::from_slice(bytes).map_err(|e| Wrong::Broken(told(e)))
}

/// Types of objects that are known and are not traceroutes.
fn name_of(kind: &[u8]) -> &'static str {
    const KNOWN: [&str; 10] =
        ["cycle-start", "cycle-stop", "cycle-def", "ping", "tracelb", "dealias", "dns", "http", "sslcert", "ntp"];
    KNOWN.iter().find(|&&known| known.as_bytes() == kind).unwrap_or(&"other")
}

/// A reader of JSON from any stream, in memory that depends on the longest object alone.
pub struct Reader<R> {
    window: Window<R>,
    counts: BTreeMap<&'static str, u64>,
    /// Bytes that were looked at, some of them more than once.
    effort: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// A reader of the objects in `stream`, which is read in large pieces: there is no need to buffer it.
    pub fn new(stream: R) -> Reader<R> {
        Reader::at(stream, 0, 0)
    }

    /// A reader of what comes from `offset` on, bytes from the start of the whole stream.
    fn at(stream: R, offset: u64, effort: u64) -> Reader<R> {
        Reader { window: Window::new(stream, offset), counts: BTreeMap::new(), effort, ended: false }
    }

    /// Goes on to the next object; returns as damage what stands before it and is no object.
    fn seek_object(&mut self) -> Option<Damage> {
        let offset = self.window.offset();
        let mut odd = 0;
        loop {
            let bytes = self.window.bytes();
            // A byte order mark is three bytes.
            let between = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b',' | b'[' | b']' | 0xef | 0xbb | 0xbf);
            let skipped = bytes.iter().position(|b| *b == b'{').unwrap_or(bytes.len());
            odd += bytes[..skipped].iter().filter(|b| !between(b)).count();
            let found = skipped < bytes.len();
            self.window.consume(skipped);
            if found || !self.window.refill() {
                break;
            }
        }
        let skipped = self.window.offset() - offset;
        (odd > 0).then(|| Damage { offset, skipped, what: "text between objects".into() })
    }

    fn step(&mut self, trace: &mut Trace) -> Option<Step> {
        if let Some(damage) = self.seek_object() {
            return Some(Step::Damaged(damage));
        }
        if self.window.bytes().is_empty() {
            self.ended = true;
            return Some(end(self.window.offset(), self.window.take_failure()));
        }
        let mut wanted = AHEAD;
        loop {
            let all = !self.window.need(wanted);
            let before = self.effort;
            match object(first(self.window.bytes(), wanted), trace, &mut self.effort) {
                Ok(was) => {
                    // What holds no damage costs nothing, wherever one begins to read.
                    self.effort = before;
                    self.window.consume(was.bytes);
                    *self.counts.entry(was.name).or_default() += 1;
                    return was.multipath.map(Step::Multipath).or(was.is_trace.then_some(Step::Trace));
                }
                Err(Wrong::Unfinished) if !all && wanted < MAX_OBJECT => wanted *= 2,
                Err(Wrong::Unfinished) if all => return Some(self.lost("the file ends in an object")),
                Err(Wrong::Unfinished) => return Some(self.lost("an object that does not end")),
                Err(Wrong::Broken(what)) => return Some(self.lost(what)),
            }
        }
    }

    /// Skips the object at this place, up to the next line or element that begins an object of a known kind.
    fn lost(&mut self, what: impl Into<Cow<'static, str>>) -> Step {
        let offset = self.window.offset();
        let mut scratch = Trace::default();
        let mut what = what.into();
        loop {
            self.window.consume(1);
            self.window.need(AHEAD);
            if self.effort > MAX_EFFORT * (self.window.offset() + MAX_OBJECT as u64) {
                what = format!("{what}; what follows is too damaged to be searched").into();
                while !self.window.bytes().is_empty() {
                    self.window.consume(usize::MAX);
                    self.window.refill();
                }
                break;
            }
            let bytes = self.window.bytes();
            let begins = |w: &[u8]| w[1] == b'{' && matches!(w[0], b'\n' | b',' | b' ');
            match bytes.windows(2).position(begins) {
                Some(at) => {
                    self.window.consume(at + 1);
                    self.window.need(AHEAD);
                    let known = match object(first(self.window.bytes(), AHEAD), &mut scratch, &mut self.effort) {
                        Ok(was) => was.is_trace || was.name != "other",
                        Err(Wrong::Unfinished) => starts_a_line(self.window.bytes()),
                        Err(Wrong::Broken(_)) => false,
                    };
                    if known {
                        break;
                    }
                }
                None => {
                    self.window.consume(bytes.len().saturating_sub(2));
                    if !self.window.refill() {
                        let left = self.window.bytes().len();
                        self.window.consume(left);
                        break;
                    }
                }
            }
        }
        Step::Damaged(Damage { offset, skipped: self.window.offset() - offset, what })
    }
}

/// The first bytes of those in memory, of which there may be more: what is found does not depend on how many.
fn first(bytes: &[u8], wanted: usize) -> &[u8] {
    &bytes[..wanted.min(bytes.len())]
}

/// Whether an object whose end is missing begins like one that is read.
fn starts_a_line(bytes: &[u8]) -> bool {
    [&b"{\"fw\":"[..], b"{\"type\":", b"{\"msm_id\":", b"{\"af\":"].iter().any(|start| bytes.starts_with(start))
}

impl Resume for Reader<Bytes> {
    /// The effort that damage has cost.
    type State = u64;

    fn resume(stream: Bytes, offset: u64, effort: u64) -> Self {
        Reader::at(stream, offset, effort)
    }

    fn place(&self) -> Option<u64> {
        (!self.ended).then(|| self.window.offset())
    }

    fn state(&self) -> u64 {
        self.effort
    }

    fn behind(now: &u64, _start: &u64, _end: &u64) -> Option<u64> {
        Some(*now)
    }
}

/// Cuts between two objects, behind the first.
#[derive(Default)]
pub(crate) struct Cutter {
    /// How the first object of the stream begins, to its first colon; objects of an array in one line are found by it.
    beginning: Vec<u8>,
}

impl Cut for Cutter {
    type State = u64;

    fn cut(&mut self, seen: Seen<'_>) -> Option<Cutting> {
        let bytes = seen.bytes;
        if self.beginning.is_empty() {
            let start = bytes.iter().position(|&b| b == b'{')?;
            let length = bytes[start..].iter().position(|&b| b == b':').filter(|&n| n < 64)?;
            self.beginning = bytes[start..start + length].to_vec();
        }
        if let Some(rest) = Self::rest(seen) {
            return Some(rest);
        }
        let begins = |at: usize| bytes[at - 1] == b'\n' || bytes[at..].starts_with(&self.beginning);
        // The last in the bytes that are wanted, or the first behind them.
        let here = (1..Self::WANTED.min(bytes.len())).rev().filter(|&at| bytes[at] == b'{' && begins(at));
        let behind = (Self::WANTED..bytes.len()).filter(|&at| bytes[at] == b'{' && begins(at));
        let last = |at: usize| {
            let last = bytes[..at].iter().rposition(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b','))?;
            (bytes[last] == b'}').then_some(Cutting { bytes: last + 1, sound: true })
        };
        here.chain(behind).find_map(last)
    }

    fn state(&self) -> u64 {
        0
    }
}

impl<R: Read> ReadTraces for Reader<R> {
    fn read_into(&mut self, trace: &mut Trace) -> Step {
        until_some(|| if self.ended { Some(Step::End) } else { self.step(trace) })
    }

    fn records(&mut self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }
}

/// The number as an integer type that is small; 0 if it is missing or out of range.
fn small<T: TryFrom<u64> + Default>(word: &Word<'_>) -> T {
    word.number().filter(|n| *n >= 0.0).and_then(|n| T::try_from(n as u64).ok()).unwrap_or_default()
}

/// Milliseconds as whole microseconds; none if the value is negative or not a number.
pub(crate) fn microseconds(ms: f64) -> Option<u32> {
    let us = (ms * 1000.0).round();
    (us >= 0.0 && us <= f64::from(crate::Hop::LONGEST_RTT)).then_some(us as u32)
}

/// The address; none if the text is not one.
fn address(word: &Word<'_>) -> crate::Address {
    word.text().and_then(|text| text.parse().ok()).unwrap_or_default()
}
