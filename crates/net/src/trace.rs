//! Packet-delivery traces: a recorded rate in mahimahi's format.
//!
//! Each line of such a file is a whole number of milliseconds since the file's start: an opportunity to deliver
//! [`OPPORTUNITY`] bytes. The file repeats, its last number being its length. (Netravali et al.: Mahimahi, USENIX ATC
//! 2015, section 3.3; `src/frontend/link_queue.cc` of mahimahi has the rules that the paper leaves open.)

use crate::time::{Span, Time};
use crate::units::Rate;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The bytes that one opportunity delivers: a packet of 1500 bytes and the four of [`FRAMING`].
pub const OPPORTUNITY: u64 = 1504;
/// The bytes that mahimahi adds to a packet's IP length: the header of its TUN device.
pub const FRAMING: u64 = 4;
/// The latest millisecond a trace may name: eleven days.
const LATEST_MS: u64 = 1_000_000_000;
const NS_PER_MS: u64 = 1_000_000;

/// A recorded rate: when packets may be delivered. In JSON a list of milliseconds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Vec<u64>", into = "Vec<u64>")]
pub struct RateTrace {
    ms: Arc<[u64]>,
    period_ms: u64,
}

/// An error in a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceError {
    /// The line, from 1; for a list, its position.
    pub line: usize,
    /// The text or number found there.
    pub given: String,
    /// A description of a right value.
    pub expected: &'static str,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {:?} is not {}", self.line, self.given, self.expected)
    }
}
impl std::error::Error for TraceError {}

impl TryFrom<Vec<u64>> for RateTrace {
    type Error = TraceError;

    /// A trace of these milliseconds.
    ///
    /// # Errors
    /// If there are none, if one is less than the one before it or beyond 10^9, or if the last is 0.
    fn try_from(ms: Vec<u64>) -> Result<RateTrace, TraceError> {
        let wrong = |at: usize, expected| {
            let given = ms.get(at).map_or(String::new(), u64::to_string);
            Err(TraceError { line: at + 1, given, expected })
        };
        if let Some(at) = ms.windows(2).position(|w| w[1] < w[0]) {
            return wrong(at + 1, "at least the number before it: sort the lines");
        }
        match ms.last() {
            None => wrong(0, "a trace: write one number of milliseconds a line"),
            Some(0) => wrong(ms.len() - 1, "a length of time: a trace ends after 0 ms"),
            Some(&last) if last > LATEST_MS => wrong(ms.len() - 1, "at most 1000000000 milliseconds"),
            Some(&period_ms) => Ok(RateTrace { ms: ms.into(), period_ms }),
        }
    }
}

impl From<RateTrace> for Vec<u64> {
    fn from(trace: RateTrace) -> Vec<u64> {
        trace.ms.to_vec()
    }
}

impl RateTrace {
    /// Parses the text of a mahimahi trace file.
    ///
    /// # Errors
    ///
    /// Mahimahi's errors: an empty line, a line that is no number, a number less than the one before, a trace of zero
    /// length.
    pub fn parse(text: &str) -> Result<RateTrace, TraceError> {
        let number = |(n, line): (usize, &str)| {
            let digits = line.trim_end();
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let ms = if plain { digits.parse::<u64>().ok() } else { None };
            let expected = "a whole number of milliseconds, as mahimahi's traces have on each line";
            ms.ok_or_else(|| TraceError { line: n + 1, given: line.chars().take(40).collect(), expected })
        };
        RateTrace::try_from(text.lines().enumerate().map(number).collect::<Result<Vec<u64>, TraceError>>()?)
    }

    /// The number of opportunities before the trace repeats.
    pub fn opportunities(&self) -> usize {
        self.ms.len()
    }

    /// Its mean rate, from whole opportunities.
    pub fn mean(&self) -> Rate {
        Rate::of(OPPORTUNITY.saturating_mul(self.ms.len() as u64), self.period()).unwrap_or_default()
    }

    /// The period with which it repeats.
    pub fn period(&self) -> Span {
        Span::from_millis(self.period_ms)
    }

    /// The time of opportunity number `at.1` of repetition `at.0`.
    fn time(&self, at: (u64, usize)) -> Time {
        let offset = self.ms.get(at.1).copied().unwrap_or(self.period_ms);
        Time::from_nanos(at.0.saturating_mul(self.period_ms).saturating_add(offset).saturating_mul(NS_PER_MS))
    }

    /// The first opportunity after `now`.
    fn after(&self, now: Time) -> (u64, usize) {
        let ms = now.as_nanos() / NS_PER_MS;
        // An opportunity at 0 of one repetition follows the one at the end of the repetition before, at the same time.
        let (round, offset) = (ms / self.period_ms, ms % self.period_ms);
        match self.ms.partition_point(|&t| t <= offset) {
            n if n < self.ms.len() => (round, n),
            _ => (round + 1, 0),
        }
    }

    fn following(&self, at: (u64, usize)) -> (u64, usize) {
        if at.1 + 1 < self.ms.len() { (at.0, at.1 + 1) } else { (at.0.saturating_add(1), 0) }
    }
}

/// Serves packets at a trace's opportunities.
#[derive(Clone, Debug)]
pub(crate) struct TraceServer {
    trace: RateTrace,
    /// The opportunity in use, and its remaining bytes.
    at: (u64, usize),
    left: u64,
}

impl TraceServer {
    pub(crate) fn new(trace: RateTrace) -> TraceServer {
        TraceServer { trace, at: (0, 0), left: 0 }
    }

    /// A packet arrives at `now` and finds no packet before it. The rest of earlier opportunities is lost.
    pub(crate) fn begin(&mut self, now: Time) {
        self.at = self.trace.after(now);
        self.left = OPPORTUNITY;
    }

    /// Serves a packet of `len` bytes after the earlier ones, and returns when it is serialised.
    pub(crate) fn send(&mut self, len: u32) -> Time {
        let mut need = u64::from(len) + FRAMING;
        loop {
            if self.left == 0 {
                self.at = self.trace.following(self.at);
                self.left = OPPORTUNITY;
            }
            let sent = need.min(self.left);
            self.left -= sent;
            need -= sent;
            if need == 0 {
                return self.trace.time(self.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(t: Time) -> u64 {
        t.as_nanos() / NS_PER_MS
    }

    #[test]
    fn opportunities_are_used_as_mahimahi_does() {
        let trace = RateTrace::parse("2\n2\n5\n").unwrap();
        assert_eq!((trace.opportunities(), trace.period()), (3, Span::from_millis(5)));
        let mut server = TraceServer::new(trace);
        server.begin(Time::ZERO);
        // A full packet takes one opportunity. Two half packets share one. A large packet takes several. Then the trace
        // repeats.
        assert_eq!([1500, 748, 748, 2000, 900].map(|len| ms(server.send(len))), [2, 2, 2, 7, 7]);
        // A packet that arrives exactly at an opportunity has missed it; one that arrives just before has not.
        server.begin(Time::from_nanos(12_000_000));
        assert_eq!(ms(server.send(40)), 15);
        server.begin(Time::from_nanos(11_999_999));
        assert_eq!(ms(server.send(40)), 12);
    }

    #[test]
    fn what_is_no_trace_is_refused_with_its_line() {
        for (text, line) in [
            ("", 1),
            ("1\n\n2\n", 2),
            ("1\n-2\n", 2),
            ("3\n4\n2", 3),
            ("0\n0\n", 2),
            ("+1", 1),
            ("99999999999999999999", 1),
            ("2000000000", 1),
        ] {
            assert_eq!(RateTrace::parse(text).unwrap_err().line, line, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_breaks_the_parser(text in "[0-9 \n\r.+x-]{0,60}", other: String) {
            let _ = RateTrace::parse(&other);
            if let Ok(trace) = RateTrace::parse(&text) {
                let written: String = Vec::from(trace.clone()).iter().map(|t| format!("{t}\n")).collect();
                prop_assert_eq!(RateTrace::parse(&written), Ok(trace));
            }
        }

        /// Compares the first opportunity after a time with the result of a linear search.
        #[test]
        fn the_next_opportunity_is_found(mut gaps in prop::collection::vec(0u64..4, 1..12), now in 0u64..200_000_000) {
            gaps.push(1);
            let mut t = 0;
            let list: Vec<u64> = gaps.iter().map(|g| { t += g; t }).collect();
            let trace = RateTrace::try_from(list).unwrap();
            let now = Time::from_nanos(now);
            let mut at = (0, 0);
            while trace.time(at) <= now {
                at = trace.following(at);
            }
            prop_assert_eq!(trace.after(now), at);
        }
    }
}
