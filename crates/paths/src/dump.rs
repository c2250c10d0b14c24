//! The text that `sc_analysis_dump` of scamper prints, and skitter's `sk_analysis_dump` before it: a line a trace, its
//! fields separated by tabs. Source: the manual page `sc_analysis_dump(1)` and the comments at the top of its output,
//! which name the fields; options leave some out or add others. Without these comments the fields are those of a call
//! without options.

use crate::json::microseconds;
use crate::pieces::{Bytes, Cut, Cutting, Resume, Seen};
use crate::reader::{Damage, ReadTraces, Step, end, until_some};
use crate::text::{Lines, Row, beginnings};
use crate::{Address, Hop, Stop, Trace};
use std::collections::BTreeMap;
use std::io::Read;

/// A field before those of the hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Key,
    Source,
    Destination,
    List,
    Cycle,
    User,
    Timestamp,
    Replied,
    Rtt,
    RequestTtl,
    ReplyTtl,
    Halt,
    HaltData,
    Complete,
}

impl Field {
    /// The names that the comments give them, in the order in which they stand.
    const NAMED: [(&'static str, Field); 14] = [
        ("Key", Field::Key),
        ("Source", Field::Source),
        ("Destination", Field::Destination),
        ("ListId", Field::List),
        ("CycleId", Field::Cycle),
        ("UserId", Field::User),
        ("Timestamp", Field::Timestamp),
        ("DestReplied", Field::Replied),
        ("DestRTT", Field::Rtt),
        ("RequestTTL", Field::RequestTtl),
        ("ReplyTTL", Field::ReplyTtl),
        ("HaltReason", Field::Halt),
        ("HaltReasonData", Field::HaltData),
        ("PathComplete", Field::Complete),
    ];

    /// The field that a comment such as `#  2. Source -- …` names.
    fn of_comment(line: &str) -> Option<Field> {
        let (number, rest) = line.strip_prefix('#')?.trim_start().split_once(". ")?;
        number.parse::<u16>().ok()?;
        let name = rest.split_once(" -- ")?.0;
        Field::NAMED.iter().find(|(known, _)| *known == name).map(|&(_, field)| field)
    }

    /// The fields of a call without options.
    fn usual() -> Vec<Field> {
        Field::NAMED.iter().map(|&(_, field)| field).filter(|&field| field != Field::User).collect()
    }
}

/// Whether what was read so far begins as such a text does.
pub(crate) fn detect(start: &[u8]) -> bool {
    let start = String::from_utf8_lossy(start);
    let first = start.lines().find(|line| !line.trim_start_matches(['#', '=', ' ']).is_empty()).unwrap_or_default();
    first.starts_with("# This file contains an ASCII representation of the IP paths")
        || first.starts_with("T\t") && first.matches('\t').count() >= 3
}

/// The fields of the lines, as the comments above them name them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    fields: Vec<Field>,
    /// Whether the comments are being read that name the fields.
    naming: bool,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout { fields: Field::usual(), naming: false }
    }
}

impl Layout {
    fn comment(&mut self, line: &str) {
        if line.starts_with("# This file contains") {
            // Texts joined with `cat` have comments each.
            self.fields.clear();
            self.naming = true;
        }
        if self.naming {
            self.fields.extend(Field::of_comment(line));
        }
    }
}

/// A reader of such a text from any stream, in memory that depends on the longest line alone.
pub struct Reader<R> {
    lines: Lines<R>,
    layout: Layout,
    counts: BTreeMap<&'static str, u64>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// A reader of the traces in `stream`, which is read in large pieces: there is no need to buffer it.
    pub fn new(stream: R) -> Reader<R> {
        Reader::at(stream, 0, Layout::default())
    }

    /// A reader of what comes from `offset` on, bytes from the start of the whole stream.
    fn at(stream: R, offset: u64, layout: Layout) -> Reader<R> {
        Reader { lines: Lines::new(stream, offset), layout, counts: BTreeMap::new(), ended: false }
    }

    /// The next trace or damage; none if the line was neither.
    fn step(&mut self, trace: &mut Trace) -> Option<Step> {
        let offset = self.lines.offset();
        let text = match self.lines.row() {
            Row::Text(text) => text,
            Row::TooLong { offset, skipped } => {
                return Some(Step::Damaged(Damage { offset, skipped, what: "a line that does not end".into() }));
            }
            Row::End => {
                self.ended = true;
                return Some(end(offset, self.lines.take_failure()));
            }
        };
        let line = text.trim_end_matches('\r');
        if line.starts_with('#') {
            self.layout.comment(line);
            return None;
        }
        if line.is_empty() {
            return None;
        }
        Some(match read(line, &self.layout.fields, trace) {
            Ok(()) => {
                *self.counts.entry("trace").or_default() += 1;
                Step::Trace
            }
            Err(what) => Step::Damaged(Damage { offset, skipped: self.lines.offset() - offset, what: what.into() }),
        })
    }
}

/// The destination's answer, from the fields before the hops.
#[derive(Default)]
struct Reply {
    rtt_us: Option<u32>,
    request_ttl: u8,
    reply_ttl: u8,
    halt: char,
}

fn read(line: &str, fields: &[Field], trace: &mut Trace) -> Result<(), &'static str> {
    trace.clear();
    if !fields.contains(&Field::Destination) {
        return Err("lines without a destination (the text was made with the option -d or -o)");
    }
    let mut words = line.split('\t');
    let mut reply = Reply::default();
    for field in fields {
        let word = words.next().ok_or("a line that ends before its fields do")?;
        take(*field, word, trace, &mut reply)?;
    }
    trace.stop = match reply.halt {
        'U' => Stop::Unreach,
        'L' => Stop::Loop,
        'G' => Stop::GapLimit,
        _ if trace.answered => Stop::Completed,
        _ => Stop::None,
    };
    for (at, word) in words.enumerate() {
        let ttl = u8::try_from(at + 1).map_err(|_| "more than 255 hops")?;
        if word != "q" {
            word.split(';').try_for_each(|answer| add(answer, ttl, trace))?;
        }
    }
    if trace.answered && reply.request_ttl > 0 {
        // The option -e prints this answer once more, at a TTL that may be wrong (the manual page, "Bugs").
        let (address, rtt_us) = (trace.destination, reply.rtt_us.unwrap_or(Hop::NO_RTT));
        if trace.hops.last().is_some_and(|h| (h.address, h.rtt_us) == (address, rtt_us)) {
            trace.hops.pop();
        }
        trace.hops.push(Hop { address, ttl: reply.request_ttl, rtt_us, reply_ttl: reply.reply_ttl, ..Hop::default() });
    }
    trace.hop_count = trace.length().into();
    Ok(())
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, &'static str> {
    word.parse().map_err(|_| "a number that is none")
}

fn address(word: &str) -> Result<Address, &'static str> {
    word.parse().map_err(|_| "an address that is none")
}

fn milliseconds(word: &str) -> Result<Option<u32>, &'static str> {
    number::<f64>(word).map(microseconds)
}

fn take(field: Field, word: &str, trace: &mut Trace, reply: &mut Reply) -> Result<(), &'static str> {
    match field {
        Field::Key if word != "T" => return Err("a line that is no trace"),
        Field::Key | Field::Complete => {}
        Field::Source => trace.source = address(word)?,
        Field::Destination => trace.destination = address(word)?,
        Field::List => trace.list_id = number(word)?,
        Field::Cycle => trace.cycle_id = number(word)?,
        Field::User => trace.user_id = number(word)?,
        Field::Timestamp => trace.start_us = number::<u64>(word)?.saturating_mul(1_000_000),
        Field::Replied => trace.answered = word == "R",
        Field::Rtt => reply.rtt_us = milliseconds(word)?,
        Field::RequestTtl => reply.request_ttl = number(word)?,
        Field::ReplyTtl => reply.reply_ttl = number(word)?,
        Field::Halt => reply.halt = word.chars().next().unwrap_or(' '),
        Field::HaltData => trace.stop_data = number(word)?,
    }
    Ok(())
}

/// Adds an answer: `IP,RTT,nTries`, further fields with a letter each, or with the option `-i` the address alone.
fn add(answer: &str, ttl: u8, trace: &mut Trace) -> Result<(), &'static str> {
    let mut words = answer.split(',');
    let mut hop = Hop { address: address(words.next().unwrap_or_default())?, ttl, ..Hop::default() };
    let mut labels = Vec::new();
    let (mut plain, mut mpls) = (0, false);
    for word in words {
        match (word.split_once('|'), plain) {
            (Some(("Q", "-")), _) => {}
            (Some(("Q", quoted)), _) => hop.quoted_ttl = number(quoted)?,
            (Some(("T", of)), _) => hop.reply_ttl = number(of)?,
            (Some(("M", entry)), _) => {
                labels.extend_from_slice(&label(entry)?);
                mpls = true;
            }
            (None, 0) => (hop.rtt_us, plain) = (milliseconds(word)?.unwrap_or(Hop::NO_RTT), 1),
            (None, 1) => (hop.attempt, plain) = (number(word)?, 2),
            _ => return Err("an answer with a field that is not known"),
        }
    }
    trace.hops.push(hop);
    if mpls {
        trace.add_extension(1, 1, &labels);
    }
    Ok(())
}

/// `ttl|label|exp|s` as an entry of a label stack (RFC 3032, section 2.1).
fn label(entry: &str) -> Result<[u8; 4], &'static str> {
    let mut words = entry.split('|');
    let mut next = || words.next().ok_or("a label without all its fields").and_then(number::<u32>);
    let (ttl, label, class, bottom) = (next()?, next()?, next()?, next()?);
    if ttl > 255 || label >= 1 << 20 || class > 7 || bottom > 1 {
        return Err("a label with a number that is too large");
    }
    Ok(((label << 12) | (class << 9) | (bottom << 8) | ttl).to_be_bytes())
}

impl Resume for Reader<Bytes> {
    type State = Layout;

    fn resume(stream: Bytes, offset: u64, layout: Layout) -> Self {
        Reader::at(stream, offset, layout)
    }

    fn place(&self) -> Option<u64> {
        (!self.ended).then(|| self.lines.offset())
    }

    fn state(&self) -> Layout {
        self.layout.clone()
    }

    fn behind(now: &Layout, start: &Layout, end: &Layout) -> Option<Layout> {
        (now == start).then(|| end.clone())
    }
}

/// Cuts between lines.
#[derive(Default)]
pub(crate) struct Cutter(Layout);

impl Cut for Cutter {
    type State = Layout;

    fn cut(&mut self, seen: Seen<'_>) -> Option<Cutting> {
        let bytes = seen.bytes;
        let behind = || beginnings(bytes, Self::WANTED).next().map(|bytes| Cutting { bytes, sound: true });
        let cut = Self::rest(seen).or_else(behind)?;
        for line in bytes[..cut.bytes].split(|&b| b == b'\n').filter(|line| line.starts_with(b"#")) {
            self.0.comment(String::from_utf8_lossy(line).trim_end_matches('\r'));
        }
        Some(cut)
    }

    fn state(&self) -> Layout {
        self.0.clone()
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
