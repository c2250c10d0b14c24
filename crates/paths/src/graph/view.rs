//! The partial view of the Internet: the graph of the links that a sample of traces shows.
//!
//! The path of a trace is its source, at TTL 0, and the first answer of each TTL. Answers at neighbouring TTLs are
//! joined by a link; what happens across silent TTLs is the caller's choice ([`Gaps`]).

use super::{Link, NONE};

/// How two answers with silent TTLs between them are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Gaps {
    /// They are joined by a link of as many hops as TTLs it passes, so that graphs stay connected and lengths true.
    #[default]
    Span,
    /// They are not joined.
    Cut,
}

/// Traces as arrays of numbers, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The node of each trace's source; [`u32::MAX`] if it is not known.
    pub sources: &'a [u32],
    /// Where the answers of each trace begin in the other arrays; one more at the end.
    pub offsets: &'a [u64],
    /// The TTL of each answer.
    pub ttls: &'a [u8],
    /// The node that answered.
    pub nodes: &'a [u32],
    /// Its round-trip time, microseconds; [`u32::MAX`] where no time was taken.
    pub rtts_us: &'a [u32],
}

/// Why arrays cannot be traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObservedError {
    /// The number of offsets is not the number of sources plus one.
    Offsets,
    /// This trace's answers, counted from 0, end before they begin or after the arrays' end.
    Trace(usize),
    /// The arrays of answers have different lengths.
    Lengths,
}

impl std::fmt::Display for ObservedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ObservedError::Offsets => f.write_str("give one offset more than there are traces"),
            ObservedError::Trace(i) => write!(f, "trace {i} has no place in the arrays of answers: mend its offsets"),
            ObservedError::Lengths => f.write_str("TTLs, nodes and times must be as many"),
        }
    }
}
impl std::error::Error for ObservedError {}

/// The links that traces show, sorted by their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The links.
    pub links: Vec<Link>,
    /// How many traces show each.
    pub traces: Vec<u32>,
    /// For how many links the delay was raised to 1 µs: it was below because the nearer end had answered later.
    pub raised: usize,
}

/// A link as one trace shows it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The lower node, then the higher one.
    ends: (u32, u32),
    trace: u32,
    hops: u8,
    /// How much later the farther end answered, microseconds, if both were timed.
    later: Option<i64>,
}

impl Observed<'_> {
    /// The links of the partial view. Of a link that is seen several times, hops are the fewest; its delay is the
    /// median over traces (the mean of the two in the middle, rounded down) of the difference of its ends' round-trip
    /// times, at least 1 µs. Neighbouring answers of one node are no link. The order of traces changes nothing.
    pub fn links(&self, gaps: Gaps) -> Result<Links, ObservedError> {
        self.check()?;
        let mut seen = Vec::with_capacity(self.nodes.len());
        for trace in 0..self.sources.len() {
            self.look(trace, gaps, &mut seen);
        }
        // Stable, so that of a trace that passes a link twice the first time comes first.
        seen.sort_by_key(|s| s.ends);
        let mut links = Links::default();
        for of_one in seen.chunk_by_mut(|a, b| a.ends == b.ends) {
            links.add(of_one);
        }
        Ok(links)
    }

    fn check(&self) -> Result<(), ObservedError> {
        let answers = self.ttls.len();
        if self.offsets.len() != self.sources.len() + 1 || u32::try_from(self.sources.len()).is_err() {
            return Err(ObservedError::Offsets);
        }
        if self.nodes.len() != answers || self.rtts_us.len() != answers {
            return Err(ObservedError::Lengths);
        }
        match self.offsets.windows(2).position(|w| w[0] > w[1] || w[1] > answers as u64) {
            Some(trace) => Err(ObservedError::Trace(trace)),
            None => Ok(()),
        }
    }

    /// Adds the links of a trace.
    fn look(&self, trace: usize, gaps: Gaps, seen: &mut Vec<Seen>) {
        let mut path = [(NONE, NONE); 256];
        if self.sources[trace] != NONE {
            path[0] = (self.sources[trace], 0);
        }
        for at in self.offsets[trace] as usize..self.offsets[trace + 1] as usize {
            let place = &mut path[usize::from(self.ttls[at])];
            if place.0 == NONE {
                *place = (self.nodes[at], self.rtts_us[at]);
            }
        }
        let mut before: Option<(usize, u32, u32)> = None;
        for (ttl, &(node, rtt)) in path.iter().enumerate().filter(|(_, (node, _))| *node != NONE) {
            if let Some((from_ttl, from, from_rtt)) = before {
                let hops = (ttl - from_ttl) as u8;
                let timed = rtt != NONE && from_rtt != NONE;
                let later = timed.then(|| i64::from(rtt) - i64::from(from_rtt));
                if from != node && (hops == 1 || gaps == Gaps::Span) {
                    seen.push(Seen { ends: (from.min(node), from.max(node)), trace: trace as u32, hops, later });
                }
            }
            before = Some((ttl, node, rtt));
        }
    }
}

impl Links {
    /// Adds a link, given all its observations in the order of the traces.
    fn add(&mut self, seen: &mut [Seen]) {
        let mut traces = 0;
        let mut delays = Vec::new();
        for of_trace in seen.chunk_by(|a, b| a.trace == b.trace) {
            traces += 1;
            delays.extend(of_trace[0].later);
        }
        let hops = seen.iter().map(|s| s.hops).min().unwrap_or(1);
        let delay = median(&mut delays);
        self.raised += usize::from(delay.is_some_and(|d| d < 1));
        let delay_us = delay.map(|d| d.max(1) as u32);
        let (a, b) = seen[0].ends;
        self.links.push(Link { a, b, hops, delay_us });
        self.traces.push(traces);
    }
}

/// The median; of an even number of values the mean of the two in the middle, rounded down.
fn median(values: &mut [i64]) -> Option<i64> {
    values.sort_unstable();
    let (low, high) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values[low] + values[high]).div_euclid(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTIMED: u32 = u32::MAX;

    /// TTL, node, round-trip time.
    type Answer = (u8, u32, u32);

    /// Traces given as source and answers.
    fn links(traces: &[(u32, &[Answer])], gaps: Gaps) -> Links {
        let (mut offsets, mut answers) = (vec![0], Vec::new());
        for (_, hops) in traces {
            answers.extend_from_slice(hops);
            offsets.push(answers.len() as u64);
        }
        let sources: Vec<u32> = traces.iter().map(|t| t.0).collect();
        let ttls: Vec<u8> = answers.iter().map(|a| a.0).collect();
        let nodes: Vec<u32> = answers.iter().map(|a| a.1).collect();
        let rtts_us: Vec<u32> = answers.iter().map(|a| a.2).collect();
        let observed = Observed { sources: &sources, offsets: &offsets, ttls: &ttls, nodes: &nodes, rtts_us: &rtts_us };
        observed.links(gaps).unwrap()
    }

    fn link(a: u32, b: u32, hops: u8, delay_us: Option<u32>) -> Link {
        Link { a, b, hops, delay_us }
    }

    #[test]
    fn first_answers_of_neighbouring_ttls_are_joined() {
        let trace: &[_] = &[(1, 5, 100), (2, 7, 250), (2, 8, 900), (3, 6, 240)];
        let found = links(&[(0, trace)], Gaps::Cut);
        assert_eq!(found.links, [link(0, 5, 1, Some(100)), link(5, 7, 1, Some(150)), link(6, 7, 1, Some(1))]);
        assert_eq!((found.traces.as_slice(), found.raised), ([1, 1, 1].as_slice(), 1));
        assert_eq!(links(&[(NONE, trace)], Gaps::Cut).links.len(), 2, "no source, no link from it");
    }

    #[test]
    fn a_gap_is_a_link_of_several_hops_or_none() {
        let trace: &[_] = &[(2, 1, 10), (5, 2, 40)];
        let spanned = links(&[(0, trace)], Gaps::Span);
        assert_eq!(spanned.links, [link(0, 1, 2, Some(10)), link(1, 2, 3, Some(30))]);
        assert_eq!(links(&[(0, trace)], Gaps::Cut).links, []);
        // Another trace saw who was silent, or came a shorter way.
        let shorter = links(&[(0, trace), (NONE, &[(7, 1, 10), (8, 2, 70)])], Gaps::Span);
        assert_eq!((shorter.links[1], shorter.traces[1]), (link(1, 2, 1, Some(45)), 2));
    }

    #[test]
    fn delays_are_medians_over_traces_in_both_directions() {
        let with = |rtt| [(1, 1, 100), (2, 2, rtt)];
        let (a, b, c, d) = (with(110), with(130), with(60), [(4, 2, 500), (5, 1, 507)]);
        let traces: [(u32, &[_]); 4] = [(NONE, &a), (NONE, &b), (NONE, &c), (NONE, &d)];
        assert_eq!(links(&traces[..3], Gaps::Span).links, [link(1, 2, 1, Some(10))]);
        assert_eq!(links(&traces, Gaps::Span).links, [link(1, 2, 1, Some(8))], "of 7 and 10");
        let untimed: [(u32, &[_]); 2] = [(NONE, &[(1, 1, UNTIMED), (2, 2, 5)]), (NONE, &a)];
        assert_eq!(links(&untimed[..1], Gaps::Span).links, [link(1, 2, 1, None)]);
        assert_eq!(
            (links(&untimed, Gaps::Span).links[0].delay_us, links(&untimed, Gaps::Span).traces[0]),
            (Some(10), 2)
        );
    }

    #[test]
    fn a_node_twice_is_no_link_and_a_link_twice_is_one_trace() {
        let found = links(&[(NONE, &[(1, 1, 5), (2, 1, 6), (3, 2, 9), (4, 1, 99)])], Gaps::Span);
        assert_eq!((found.links, found.traces), (vec![link(1, 2, 1, Some(3))], vec![1]));
        assert_eq!(links(&[], Gaps::Span), Links::default());
        assert_eq!(links(&[(3, &[])], Gaps::Span), Links::default());
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let of = |sources: &[u32], offsets: &[u64], ttls: &[u8]| {
            Observed { sources, offsets, ttls, nodes: &[1, 2], rtts_us: &[1, 2] }.links(Gaps::Span).unwrap_err()
        };
        assert_eq!(of(&[0], &[0], &[1, 2]), ObservedError::Offsets);
        assert_eq!(of(&[0], &[0, 2], &[1]), ObservedError::Lengths);
        assert_eq!(of(&[0, 0], &[0, 2, 3], &[1, 2]), ObservedError::Trace(1));
        assert_eq!(of(&[0, 0], &[0, 2, 1], &[1, 2]), ObservedError::Trace(1));
    }
}
