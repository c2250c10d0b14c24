//! Traces as text: what traceroute (Linux, BSD, Junos, Cisco), Windows' tracert, `sc_warts2text` and
//! `mtr --report` print. Host names are ignored: a hop is known by its address.

mod hop;
mod lines;

pub(crate) use lines::{Lines, Row, beginnings};

use crate::json::mtr::{finish, host};
use crate::pieces::{Bytes, Cut, Cutting, Resume, Seen};
use crate::reader::{Damage, ReadTraces, Step, end};
use crate::{Address, Stop, Trace};
use hop::Line;
use std::collections::BTreeMap;
use std::io::Read;

/// The content of the first line of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Opening {
    /// A traceroute's destination, and its source if it is given.
    Traceroute { source: Address, destination: Address },
    /// The head of mtr's table.
    Mtr,
}

/// How the line begins that names the destination.
const TO: [&str; 4] = ["traceroute to ", "traceroute6 to ", "Tracing route to ", "Tracing the route to "];

/// Whether a line opens a trace but cannot be read: one that begins as it should without a destination, or one with
/// the end of Linux's and BSD's whose beginning is another. A command that was typed is none.
fn is_damaged_opening(line: &str) -> bool {
    let line = line.trim_start();
    TO.iter().any(|start| line.starts_with(start))
        || line.starts_with("traceroute from ")
        || line.contains(" hops max, ")
        || line.contains(" byte packets")
}

/// Reads the line that opens a trace; none if this is not one.
fn opening(line: &str) -> Option<Opening> {
    let line = line.trim_start();
    if line.starts_with("HOST:") && line.contains("Loss%") {
        return Some(Opening::Mtr);
    }
    let mut source = Address::NONE;
    let rest = match TO.iter().find_map(|start| line.strip_prefix(start)) {
        Some(rest) => rest,
        // sc_warts2text tells both ends.
        None => {
            let (from, rest) = line.strip_prefix("traceroute from ")?.split_once(" to ")?;
            source = from.parse().unwrap_or_default();
            rest
        }
    };
    // A name stands before its address in brackets; the destination ends where the sentence goes on.
    let clause = rest.split([',', '\r']).next().unwrap_or(rest);
    let bracketed = clause.split(['(', '[']).nth(1).and_then(|inside| inside.split([')', ']']).next());
    let plain = clause.split_whitespace().next();
    let destination = bracketed.into_iter().chain(plain).find_map(|text| text.parse().ok())?;
    Some(Opening::Traceroute { source, destination })
}

/// Whether a text holds a line that opens a trace.
pub(crate) fn detect(start: &[u8]) -> bool {
    String::from_utf8_lossy(start).lines().any(|line| opening(line).is_some())
}

/// A reader of text from any stream, in memory that depends on the longest line alone.
pub struct Reader<R> {
    lines: Lines<R>,
    counts: BTreeMap<&'static str, u64>,
    /// The opening of the next trace, if it was read already.
    next: Option<(u64, Opening)>,
    /// Where lines began that belong to a trace whose opening is lost, and what is wrong with them.
    lost: Option<(u64, &'static str)>,
    ended: bool,
}

/// The fault of lines behind an opening that cannot be read.
const NO_OPENING: &str = "hops of a trace whose first line cannot be read";

impl<R: Read> Reader<R> {
    /// A reader of the traces in `stream`, which is read in large pieces: there is no need to buffer it.
    pub fn new(stream: R) -> Reader<R> {
        Reader::at(stream, 0)
    }

    /// A reader of what comes from `offset` on, bytes from the start of the whole stream.
    fn at(stream: R, offset: u64) -> Reader<R> {
        Reader { lines: Lines::new(stream, offset), counts: BTreeMap::new(), next: None, lost: None, ended: false }
    }

    fn count(&mut self, name: &'static str) -> Step {
        *self.counts.entry(name).or_default() += 1;
        Step::Trace
    }

    /// Reads the lines of a trace up to the line that opens the next one, or the end. A line that is garbled makes the
    /// trace a damaged one.
    fn lines(&mut self, start: u64, opened: Opening, trace: &mut Trace) -> Step {
        trace.clear();
        if let Opening::Traceroute { source, destination } = opened {
            (trace.source, trace.destination) = (source, destination);
        }
        let mut ttl = 0;
        let mut wrong = None;
        loop {
            let at = self.lines.offset();
            let text = match self.lines.row() {
                Row::Text(text) => text,
                Row::TooLong { offset, skipped } => {
                    return Step::Damaged(Damage { offset, skipped, what: "a line that does not end".into() });
                }
                Row::End => break,
            };
            if let Some(next) = opening(&text) {
                self.next = Some((at, next));
                break;
            }
            if is_damaged_opening(&text) {
                self.lost = Some((at, NO_OPENING));
                break;
            }
            match (opened, Line::of(&text)) {
                (Opening::Traceroute { .. }, Line::Other) if hop::holds_an_answer(&text) => {
                    wrong = wrong.or(Some("a hop without a TTL"));
                }
                (_, Line::Other) => {}
                (Opening::Mtr, Line::Hop { ttl, rest }) => mtr_row(trace, ttl, rest),
                (Opening::Mtr, Line::More(_)) => {}
                (_, Line::Hop { ttl: of, rest }) => {
                    if ttl > 0 && of <= ttl {
                        if of == trace.first_ttl {
                            // The lines of another trace, whose first line does not look like one any more.
                            self.lost = Some((at, NO_OPENING));
                            break;
                        }
                        wrong = wrong.or(Some("TTLs that do not rise"));
                    }
                    ttl = of;
                    if trace.hop_count == 0 {
                        trace.first_ttl = ttl;
                    }
                    trace.hop_count = trace.hop_count.max(u16::from(ttl));
                    wrong = wrong.or(hop::answers(trace, ttl, rest).err());
                }
                (_, Line::More(rest)) if !hop::goes_on(rest) => {
                    wrong = wrong.or(Some("a hop whose TTL cannot be read"))
                }
                (_, Line::More(rest)) if ttl > 0 && hop::holds_an_answer(rest) => {
                    wrong = wrong.or(hop::answers(trace, ttl, rest).err());
                }
                (_, Line::More(_)) => {}
            }
        }
        if let Some(what) = wrong {
            let end = self.next.map(|(at, _)| at).or(self.lost.map(|(at, _)| at));
            let skipped = end.unwrap_or(self.lines.offset()) - start;
            return Step::Damaged(Damage { offset: start, skipped, what: what.into() });
        }
        if opened == Opening::Mtr {
            finish(trace, None);
            return self.count("mtr");
        }
        trace.answered = trace.hops.iter().any(|h| h.address == trace.destination);
        trace.stop = match (trace.answered, trace.hops.last()) {
            (true, _) => Stop::Completed,
            (_, Some(last)) if last.icmp_type == if last.address.is_v4() { 3 } else { 1 } => Stop::Unreach,
            _ => Stop::None,
        };
        self.count("traceroute")
    }
}

/// A row of mtr's table: `1.|-- host  Loss%  Snt  Last  Avg  Best  Wrst  StDev`.
fn mtr_row(trace: &mut Trace, ttl: u8, rest: &str) {
    trace.hop_count = trace.hop_count.max(u16::from(ttl));
    let rest = rest.trim_start_matches(['.', '|', '-', '?']).trim();
    let Some((name, figures)) =
        rest.split_once('%').and_then(|(before, after)| Some((before.rsplit_once(' ')?.0, after)))
    else {
        return;
    };
    let Some(address) = host(name) else { return };
    let best = figures.split_whitespace().nth(3).and_then(|text| text.parse::<f64>().ok());
    let rtt_us = best.and_then(crate::json::microseconds).unwrap_or(crate::Hop::NO_RTT);
    trace.hops.push(crate::Hop { address, ttl, rtt_us, ..crate::Hop::default() });
}

fn lost(at: u64, end: u64, what: &'static str) -> Damage {
    Damage { offset: at, skipped: end - at, what: what.into() }
}

impl Resume for Reader<Bytes> {
    type State = ();

    fn resume(stream: Bytes, offset: u64, (): ()) -> Self {
        Reader::at(stream, offset)
    }

    fn place(&self) -> Option<u64> {
        let next = self.next.map_or(self.lines.offset(), |(at, _)| at);
        (!self.ended && self.lost.is_none()).then_some(next)
    }

    fn state(&self) {}

    fn behind((): &(), (): &(), (): &()) -> Option<()> {
        Some(())
    }
}

/// Cuts before lines that open a trace.
#[derive(Default)]
pub(crate) struct Cutter;

impl Cut for Cutter {
    type State = ();

    fn cut(&mut self, seen: Seen<'_>) -> Option<Cutting> {
        let bytes = seen.bytes;
        if let Some(rest) = Self::rest(seen) {
            return Some(rest);
        }
        let opens = |&at: &usize| {
            let line = bytes[at..].split(|&b| b == b'\n').next().unwrap_or_default();
            // A line that does not end may go on so that it opens none.
            (at + line.len() < bytes.len() || seen.end) && opening(&String::from_utf8_lossy(line)).is_some()
        };
        beginnings(bytes, Self::WANTED).find(opens).map(|bytes| Cutting { bytes, sound: true })
    }

    fn state(&self) {}
}

impl<R: Read> ReadTraces for Reader<R> {
    fn read_into(&mut self, trace: &mut Trace) -> Step {
        loop {
            if let Some((start, opened)) = self.next.take() {
                if let Some(damage) = self.lost.take().map(|(at, what)| lost(at, start, what)) {
                    self.next = Some((start, opened));
                    return Step::Damaged(damage);
                }
                return self.lines(start, opened, trace);
            }
            if self.ended {
                let end = self.lines.offset();
                return self.lost.take().map_or(Step::End, |(at, what)| Step::Damaged(lost(at, end, what)));
            }
            let at = self.lines.offset();
            match self.lines.row() {
                Row::Text(text) => {
                    self.next = opening(&text).map(|opened| (at, opened));
                    let orphan = || is_damaged_opening(&text) || hop::holds_an_answer(&text);
                    if self.next.is_none() && self.lost.is_none() && orphan() {
                        self.lost = Some((at, NO_OPENING));
                    }
                }
                Row::TooLong { offset, skipped } => {
                    return Step::Damaged(Damage { offset, skipped, what: "a line that does not end".into() });
                }
                Row::End => {
                    self.ended = true;
                    if let Some(failure) = self.lines.take_failure() {
                        return end(self.lines.offset(), Some(failure));
                    }
                }
            }
        }
    }

    fn records(&mut self) -> &BTreeMap<&'static str, u64> {
        &self.counts
    }
}
