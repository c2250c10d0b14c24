//! The class of a trace. The study of the evolution of end-to-end paths drops a trace as *inconsistent* when its
//! destination did not answer, when it has more than 30 hops, or when it contains a loop.

use crate::{Address, Hop, Trace};

/// Longest path that counts as consistent, hops.
pub const MAX_HOPS: u8 = 30;

/// Marks of a trace; several may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Marks {
    /// The destination answered.
    pub complete: bool,
    /// It ended because of a loop, or an address answered at two TTLs that are not neighbours.
    pub looped: bool,
    /// An address answered at two TTLs side by side (A A): a router that passes on packets whose TTL it should have
    /// ended, or a box that answers in another's name (Viger et al. 2008, "Detection, understanding, and prevention of
    /// traceroute measurement artifacts", section 4).
    pub adjacent: bool,
    /// An answer came from more than [`MAX_HOPS`] hops away.
    pub too_long: bool,
    /// The destination answered, but a hop before it (from the first TTL probed) was silent.
    pub gap: bool,
    /// Several addresses answered at one TTL.
    pub multi: bool,
    /// The trace is a loop by the definition, but not because of routing: an address answers three times or more in a
    /// row (A A A), silent hops not counted, or at both sides of one hop (A x A), and nothing else makes it a loop; nor
    /// did the trace end because of a loop. Address translation and routers that answer in another's name look like
    /// that (Viger et al. 2008, section 4; Augustin et al. 2006, section 4); packets in a routing loop pass the same
    /// routers again and again.
    pub repeated: bool,
}

haltere_net::named! {
    /// The class in which a trace is counted: the first that holds, in this order. Each trace is in one class, so that the classes
    /// add up to the traces read.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Class {
        /// A loop by the study's definition, which only [`Marks::repeated`] makes; else it would be clean.
        Repeat = "repeat",
        /// Another loop.
        Loop = "loop",
        /// Over [`MAX_HOPS`] hops.
        TooLong = "toolong",
        /// The destination did not answer.
        Incomplete = "incomplete",
        /// None of these: kept by the cleaning.
        Clean = "clean",
    }
}

impl Marks {
    /// Kept by the cleaning.
    pub fn clean(&self) -> bool {
        self.complete && !self.looped && !self.too_long
    }

    /// Kept, and without a silent hop.
    pub fn clean_without_gap(&self) -> bool {
        self.clean() && !self.gap
    }

    /// Kept, without a silent hop, each address at one TTL and each TTL with one address: what load balancers and
    /// address translation may make of a path shows no link that is none.
    pub fn strictly_clean(&self) -> bool {
        self.clean_without_gap() && !self.adjacent && !self.multi
    }

    /// Kept but for what the study's definition calls a loop and only [`Marks::repeated`] makes one.
    pub fn clean_but_for_repeats(&self) -> bool {
        self.repeated && self.complete && !self.too_long
    }

    /// The class in which the trace is counted.
    pub fn class(&self) -> Class {
        match *self {
            _ if self.clean_but_for_repeats() => Class::Repeat,
            Marks { looped: true, .. } => Class::Loop,
            Marks { too_long: true, .. } => Class::TooLong,
            Marks { complete: false, .. } => Class::Incomplete,
            _ => Class::Clean,
        }
    }
}

/// Up to this number of answers, each is compared with every other.
const FEW: usize = 64;

/// Returns the marks of a trace. A pure function of the trace; answers beyond the one that ended the trace do not
/// count.
pub fn classify(trace: &Trace) -> Marks {
    let length = trace.length();
    let mut marks = Marks {
        complete: trace.answered,
        looped: trace.stop == crate::Stop::Loop,
        too_long: length > MAX_HOPS,
        gap: trace.answered && has_gap(trace, length),
        ..Marks::default()
    };
    if trace.hops.len() <= FEW {
        for (at, hop) in trace.path().enumerate() {
            for earlier in trace.path().take(at) {
                marks.pair(earlier, hop);
            }
        }
    } else {
        mark_many(trace, &mut marks);
    }
    marks.repeated = marks.looped && trace.stop != crate::Stop::Loop && only_repeats(trace);
    marks
}

/// Whether every address that answered at several TTLs did so in a row, or at both sides of one hop whose own address
/// does not come again there.
fn only_repeats(trace: &Trace) -> bool {
    let mut answered = [false; 256];
    trace.path().for_each(|h| answered[usize::from(h.ttl)] = true);
    let mut seen: Vec<(Address, u8)> = trace.path().map(|h| (h.address, h.ttl)).collect();
    seen.sort_unstable();
    seen.dedup();
    let mut spans: Vec<(u8, u8)> = Vec::new();
    for of_one in seen.chunk_by(|a, b| a.0 == b.0).filter(|of_one| of_one.len() > 1) {
        let silent_between =
            |w: &[(Address, u8)]| !answered[usize::from(w[0].1) + 1..usize::from(w[1].1)].contains(&true);
        let both_sides = of_one.len() == 2 && of_one[1].1 - of_one[0].1 == 2;
        if !both_sides && !of_one.windows(2).all(silent_between) {
            return false;
        }
        spans.push((of_one[0].1, of_one[of_one.len() - 1].1));
    }
    spans.sort_unstable();
    // A B A B is a loop of two routers, though each is at both sides of the other.
    spans.windows(2).all(|w| w[0].1 < w[1].0)
}

impl Marks {
    #[inline]
    fn pair(&mut self, a: &Hop, b: &Hop) {
        let distance = a.ttl.abs_diff(b.ttl);
        if a.address == b.address {
            self.adjacent |= distance == 1;
            self.looped |= distance > 1;
        } else {
            self.multi |= distance == 0;
        }
    }
}

/// Sets the marks of a trace with many answers (a file may hold any number): once answers are sorted, comparing
/// neighbours is enough.
fn mark_many(trace: &Trace, marks: &mut Marks) {
    let mut seen: Vec<(Address, u8)> = trace.path().map(|h| (h.address, h.ttl)).collect();
    seen.sort_unstable();
    seen.dedup();
    for of_one in seen.chunk_by(|a, b| a.0 == b.0) {
        let (first, last) = (of_one[0].1, of_one[of_one.len() - 1].1);
        marks.looped |= last - first > 1;
        marks.adjacent |= of_one.windows(2).any(|w| w[1].1 - w[0].1 == 1);
    }
    seen.sort_unstable_by_key(|&(address, ttl)| (ttl, address));
    marks.multi |= seen.windows(2).any(|w| w[0].1 == w[1].1);
}

fn has_gap(trace: &Trace, length: u8) -> bool {
    let mut answered = [false; 256];
    trace.path().for_each(|h| answered[usize::from(h.ttl)] = true);
    let (first, last) = (usize::from(trace.first_ttl.max(1)), usize::from(length));
    first < last && answered[first..last].contains(&false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stop;

    /// A trace whose hops answer with these addresses, `.` for silence; the destination is the last one.
    fn trace(path: &str) -> Trace {
        let hop = |(i, c): (usize, char)| Hop {
            address: Address::v4([10, 0, 0, c as u8]),
            ttl: i as u8 + 1,
            ..Hop::default()
        };
        let hops = path.chars().enumerate().filter(|&(_, c)| c != '.').map(hop).collect();
        Trace { answered: true, stop: Stop::Completed, hops, first_ttl: 1, ..Trace::default() }
    }

    fn of(path: &str) -> Marks {
        classify(&trace(path))
    }

    #[test]
    fn a_path_of_different_addresses_is_clean() {
        let marks = of("abcdef");
        assert_eq!(marks, Marks { complete: true, ..Marks::default() });
        assert_eq!(marks.class(), Class::Clean);
    }

    #[test]
    fn an_address_at_ttls_that_are_not_neighbours_is_a_loop() {
        assert!(of("abad").looped);
        assert!(of("ab.ac").looped);
        assert!(of("abbbc").looped, "A A A is at TTLs 2 and 4");
        assert_eq!(of("abcad").class(), Class::Loop);
    }

    #[test]
    fn an_address_in_a_row_or_at_both_sides_of_a_hop_is_no_routing_loop() {
        for path in ["abbbc", "abbbbbc", "abad", "ab..bc", "a.aad", "aaabbbc", "abacdc"] {
            let marks = of(path);
            assert!(marks.looped, "{path}: the study's definition stays");
            assert!(!marks.clean(), "{path}");
            assert!(marks.repeated, "{path}");
            assert_eq!(marks.class(), Class::Repeat, "{path}");
        }
        for path in ["abcabc", "ababab", "abab", "abcad", "aabaac", "abaca"] {
            assert!(!of(path).repeated, "{path}");
            assert_eq!(of(path).class(), Class::Loop, "{path}");
        }
        assert!(!of("abbc").repeated, "neighbours alike are no loop");
        let looped = Trace { stop: Stop::Loop, ..trace("abbbc") };
        assert_eq!(classify(&looped).class(), Class::Loop);
        let incomplete = Trace { answered: false, stop: Stop::GapLimit, ..trace("abbbc") };
        assert!(classify(&incomplete).repeated);
        assert_eq!(classify(&incomplete).class(), Class::Loop);
    }

    #[test]
    fn several_addresses_at_a_ttl_are_not_strictly_clean() {
        let mut several = trace("abcd");
        several.hops.insert(2, Hop { address: Address::v4([10, 0, 0, b'z']), ttl: 2, ..Hop::default() });
        assert!(classify(&several).multi && classify(&several).clean_without_gap());
        assert!(!classify(&several).strictly_clean());
    }

    #[test]
    fn neighbours_alike_are_no_loop() {
        let marks = of("abbc");
        assert!(marks.adjacent && !marks.looped);
        assert!(marks.clean() && !marks.strictly_clean());
    }

    #[test]
    fn a_reason_to_stop_is_believed() {
        let looped = Trace { stop: Stop::Loop, answered: false, ..trace("abc") };
        assert_eq!(classify(&looped).class(), Class::Loop);
        let silent = Trace { stop: Stop::GapLimit, answered: false, ..trace("abc") };
        assert_eq!(classify(&silent).class(), Class::Incomplete);
    }

    #[test]
    fn thirty_hops_are_not_too_long() {
        let letters: String = (1..=31).map(|i| char::from(i as u8 + 64)).collect();
        assert_eq!(of(&letters[..30]).class(), Class::Clean);
        assert_eq!(of(&letters).class(), Class::TooLong);
    }

    #[test]
    fn a_gap_is_a_silent_hop_before_an_answering_destination() {
        assert!(of("ab.d").gap);
        assert!(of(".bcd").gap);
        let later = Trace { first_ttl: 2, ..trace(".bcd") };
        assert!(!classify(&later).gap, "hops that were not probed are not silent");
        let incomplete = Trace { answered: false, ..trace("ab.d") };
        assert!(!classify(&incomplete).gap);
    }

    #[test]
    fn answers_beyond_the_end_do_not_count() {
        let ran_ahead = Trace { stop_hop: 3, ..trace("abcddd") };
        assert_eq!(classify(&ran_ahead), Marks { complete: true, ..Marks::default() });
    }

    #[test]
    fn many_answers_are_judged_as_few_are() {
        for path in ["abcdef", "abad", "abbc", "ab.d", "abbbc", "abab", "abcabc"] {
            let few = trace(path);
            let mut many = few.clone();
            while many.hops.len() <= FEW {
                many.hops.extend_from_slice(&few.hops);
            }
            assert_eq!(classify(&many), classify(&few), "{path}");
        }
        let mut several = trace("abc");
        several.hops[1].ttl = 1;
        assert!(classify(&several).multi);
        let mut many = several.clone();
        (0..FEW).for_each(|_| many.hops.push(several.hops[0]));
        assert!(classify(&many).multi);
    }
}
