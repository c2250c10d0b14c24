//! Differences between contenders that a person would notice, on a call or before a film, in words.
//!
//! A difference counts if it is large enough to be noticed, and if chance does not explain it: the interval of its trimmed
//! mean over the replications, in pairs, leaves out equality. The intervals of all pairs of contenders, and of all that is
//! looked at, hold together, so that of equal contenders a difference is seldom told.

use crate::interval::{Interval, Unusable};
use crate::plain::general;
use crate::trimmed::{trimmed_mean, typical};

const CONFIDENCE: f64 = 0.95;
/// Aspects of what is looked at.
const ASPECTS: usize = 3;
/// Up to this time from mouth to ear, and so from glass to glass, hardly anybody is disturbed (ITU-T G.114), ms.
const LATE_MS: f64 = 150.0;
/// A tenth more of a latency is taken for a difference that is seen.
const LATER: f64 = 1.1;
/// A freeze more is.
const FREEZES: f64 = 1.0;
/// A tenth of the pictures less is.
const SLOWER: f64 = 0.9;
/// Viewers begin to leave when a film has not begun after this time, and more do with each further second.
///
/// Krishnan, Sitaraman, Video Stream Quality Impacts Viewer Behavior, IMC 2012; from memory.
const START_S: f64 = 2.0;
/// A second more before a film begins is taken for a difference that is seen.
const LONGER_S: f64 = 1.0;
/// A second more in stalls is.
const STALLED_S: f64 = 1.0;
/// A fifth of the bit rate less is: more than half of the way to the next lower bit rate of the film that is the default.
const COARSER: f64 = 0.8;
/// Mean stalls below this are said to be none.
const SHORTEST_S: f64 = 0.05;

/// The things that persons look at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A call: the time that 95 % of its pictures are behind at most, ms; its freezes; and the frames shown in a second.
    Call,
    /// A film: the time until it begins, s; the time that it stalls in all, s; and its bit rate, Mbit/s.
    Film,
}

/// One that is looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct Looked {
    /// Its name.
    pub name: String,
    /// Its aspects, a replication each; none where it failed or showed nothing.
    pub aspects: Vec<Option<[f64; ASPECTS]>>,
    /// Whether something was seen of it, measured or not.
    pub shown: bool,
}

/// An aspect: whether more of it is worse (1) or better (-1), the least difference to a value that is noticed, and the words.
struct Aspect {
    worse: f64,
    noticed_from: fn(f64) -> f64,
    said: fn(f64) -> String,
    other: fn(f64) -> String,
}

/// The words for a kind; `{}` stands for an aspect's.
struct Words {
    who: &'static str,
    nothing: &'static str,
    unmeasured: &'static str,
    alone: &'static str,
    seen: &'static str,
    ranges: &'static str,
    aspects: [Aspect; ASPECTS],
}

const CALL: Words = Words {
    who: "A person on the call",
    nothing: "no frame was shown",
    unmeasured: "How late pictures were was not measured, so nothing is said of what a person on the call would notice.",
    alone: "On this call the picture {}.",
    seen: "{} (95 %), {} and {}",
    ranges: "pictures are up to {} behind (95 %), freeze {} and show {} frames a second",
    aspects: [
        Aspect {
            worse: 1.0,
            noticed_from: |best| LATE_MS.max(LATER * best) - best,
            said: |value| format!("is up to {value:.0} ms behind"),
            other: |value| format!("{value:.0} ms"),
        },
        Aspect {
            worse: 1.0,
            noticed_from: |_| FREEZES,
            said: |value| format!("freezes {}", times(value)),
            other: times,
        },
        Aspect {
            worse: -1.0,
            noticed_from: |best| (1.0 - SLOWER) * best,
            said: |value| format!("shows {} frames a second", general(value, 3)),
            other: |value| general(value, 3),
        },
    ],
};

const FILM: Words = Words {
    who: "A viewer",
    nothing: "no film began",
    unmeasured: "When films began was not measured, so nothing is said of what a viewer would notice.",
    alone: "This film {}.",
    seen: "{}, {} and {}",
    ranges: "films begin after {}, stalls last {} in all, and the bit rate is {}",
    aspects: [
        Aspect {
            worse: 1.0,
            noticed_from: |best| START_S.max(best + LONGER_S) - best,
            said: |value| format!("begins after {value:.1} s"),
            other: |value| format!("{value:.1} s"),
        },
        Aspect {
            worse: 1.0,
            noticed_from: |_| STALLED_S,
            said: |value| {
                if value >= SHORTEST_S { format!("stalls for {}", stalled(value)) } else { "never stalls".to_owned() }
            },
            other: stalled,
        },
        Aspect {
            worse: -1.0,
            noticed_from: |best| (1.0 - COARSER) * best,
            said: |value| format!("plays at {} Mbit/s", general(value, 3)),
            other: |value| format!("{} Mbit/s", general(value, 3)),
        },
    ],
};

fn times(count: f64) -> String {
    if count < 0.05 {
        return "never".to_owned();
    }
    let text = format!("{count:.1}");
    match text.strip_suffix(".0").unwrap_or(&text) {
        "1" => "once".to_owned(),
        rounded => format!("{rounded} times"),
    }
}

fn stalled(seconds: f64) -> String {
    if seconds >= SHORTEST_S { format!("{seconds:.1} s") } else { "0 s".to_owned() }
}

/// Puts texts in the places of `{}`.
fn filled(pattern: &str, texts: &[String]) -> String {
    texts.iter().fold(pattern.to_owned(), |told, text| told.replacen("{}", text, 1))
}

/// One of which something was seen, with the typical value of each aspect.
struct Seen<'a> {
    looked: &'a Looked,
    means: [f64; ASPECTS],
}

impl Seen<'_> {
    fn of(looked: &Looked) -> Result<Seen<'_>, Unusable> {
        let mut means = [0.0; ASPECTS];
        for (at, mean) in means.iter_mut().enumerate() {
            let values: Vec<f64> = looked.aspects.iter().flatten().map(|own| own[at]).collect();
            *mean = typical(&values, CONFIDENCE)?.value;
        }
        Ok(Seen { looked, means })
    }

    /// How much worse this one is in an aspect, over the replications that both have; none if there are none.
    fn worse_by(
        &self,
        other: &Seen<'_>,
        (at, worse): (usize, f64),
        confidence: f64,
    ) -> Result<Option<Interval>, Unusable> {
        let both = self.looked.aspects.iter().zip(&other.looked.aspects);
        let pairs: Vec<f64> = both.filter_map(|(own, theirs)| Some(worse * ((*own)?[at] - (*theirs)?[at]))).collect();
        if pairs.is_empty() { Ok(None) } else { trimmed_mean(&pairs, confidence).map(Some) }
    }
}

impl Words {
    fn said(&self, one: &Seen<'_>) -> String {
        let each: Vec<String> = self.aspects.iter().zip(one.means).map(|(aspect, mean)| (aspect.said)(mean)).collect();
        filled(self.seen, &each)
    }

    /// The least and the largest mean of an aspect.
    fn range(&self, seen: &[Seen<'_>], at: usize) -> String {
        let means = || seen.iter().map(|one| one.means[at]);
        let ends = [means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max)];
        let [low, high] = ends.map(self.aspects[at].other);
        if low == high { low } else { format!("{low} to {high}") }
    }

    /// Tells of several: each beside the best in each aspect. The same runs say which one that is, so all pairs count.
    fn told(&self, seen: &[Seen<'_>]) -> Result<String, Unusable> {
        let comparisons = ASPECTS * seen.len() * (seen.len() - 1) / 2;
        // Šidák's confidence of each of so many intervals, as in `haltere.stats.intervals.together`.
        let confidence = libm::pow(CONFIDENCE, 1.0 / comparisons as f64);
        let mut told: Vec<(&str, Vec<String>)> = Vec::new();
        let (mut unsure, mut alike) = (false, true);
        for one in seen {
            for (at, aspect) in self.aspects.iter().enumerate() {
                let badness = |other: &Seen<'_>| aspect.worse * other.means[at];
                let best = seen.iter().reduce(|a, b| if badness(b) < badness(a) { b } else { a }).unwrap_or(one);
                if std::ptr::eq(one, best) {
                    continue;
                }
                let least = (aspect.noticed_from)(best.means[at]);
                let found = one.worse_by(best, (at, aspect.worse), confidence)?;
                let ends = found.as_ref().and_then(|found| found.ends);
                alike = alike && ends.is_some_and(|(_, high)| high < least);
                if found.is_none_or(|found| found.value < least) {
                    continue;
                }
                if ends.is_none_or(|(low, _)| low <= 0.0) {
                    unsure = true;
                    continue;
                }
                let (said, other) = ((aspect.said)(one.means[at]), (aspect.other)(best.means[at]));
                let text = format!("{said} ({}: {other})", best.looked.name);
                match told.iter_mut().find(|(name, _)| *name == one.looked.name) {
                    Some((_, own)) => own.push(text),
                    None => told.push((&one.looked.name, vec![text])),
                }
            }
        }
        if !told.is_empty() {
            let each: Vec<String> = told.iter().map(|(name, own)| format!("{name} {}", own.join(" and "))).collect();
            let more = if unsure { "; the runs cannot tell whether there is more" } else { "" };
            return Ok(format!("{} would notice that {}{more}.", self.who, each.join("; ")));
        }
        if alike {
            let ranges: Vec<String> = (0..ASPECTS).map(|at| self.range(seen, at)).collect();
            return Ok(format!("{} would notice no difference: {}.", self.who, filled(self.ranges, &ranges)));
        }
        let each: Vec<String> = seen.iter().map(|one| format!("{} {}", one.looked.name, self.said(one))).collect();
        let who = self.who.replacen('A', "a", 1);
        let doubt = "would notice a difference (more replications may)";
        Ok(format!("The runs cannot tell whether {who} {doubt}: {}.", each.join("; ")))
    }
}

/// Returns a sentence on what a person would notice of several.
///
/// # Errors
///
/// If a value is not finite.
pub fn noticed(kind: Kind, all: &[Looked]) -> Result<String, Unusable> {
    let words = match kind {
        Kind::Call => CALL,
        Kind::Film => FILM,
    };
    let there = all.iter().filter(|one| one.aspects.iter().any(Option::is_some));
    let seen = there.map(Seen::of).collect::<Result<Vec<_>, _>>()?;
    match seen.as_slice() {
        [] if all.iter().any(|one| one.shown) => Ok(words.unmeasured.to_owned()),
        [] => Ok(format!("{} would see nothing: {}.", words.who, words.nothing)),
        [one] => Ok(filled(words.alone, &[words.said(one)])),
        several => words.told(several),
    }
}

#[cfg(test)]
mod tests {
    use super::{Kind, Looked, noticed};

    fn of(name: &str, aspects: [f64; 3]) -> Looked {
        Looked { name: name.to_owned(), aspects: vec![Some(aspects); 10], shown: true }
    }

    #[test]
    fn a_difference_is_told_once_for_each_aspect_and_a_small_one_is_none() {
        let [fine, frozen] = [of("a", [80.0, 0.0, 30.0]), of("b", [120.0, 0.25, 20.0])];
        let said = noticed(Kind::Call, &[fine.clone(), frozen]).unwrap();
        assert_eq!(said, "A person on the call would notice that b shows 20 frames a second (a: 30).");
        let said = noticed(Kind::Call, &[fine.clone(), of("b", [140.0, 0.25, 29.0])]).unwrap();
        assert!(said.contains("behind (95 %), freeze never to 0.2 times and show 29 to 30 frames"), "{said}");
        let said = noticed(Kind::Call, &[fine]).unwrap();
        assert_eq!(
            said,
            "On this call the picture is up to 80 ms behind (95 %), freezes never and shows 30 frames a second."
        );
    }

    #[test]
    fn few_runs_tell_nothing_and_none_are_said() {
        let [mut fine, mut late] = [of("a", [0.5, 0.0, 3.0]), of("b", [4.0, 0.0, 3.0])];
        late.aspects.truncate(3);
        for (at, own) in late.aspects.iter_mut().flatten().enumerate() {
            own[0] += at as f64;
        }
        let said = noticed(Kind::Film, &[fine.clone(), late]).unwrap();
        assert!(said.starts_with("The runs cannot tell whether a viewer would notice a difference"), "{said}");
        fine.aspects = vec![None];
        assert!(noticed(Kind::Film, &[fine.clone()]).unwrap().starts_with("When films began was not measured"));
        fine.shown = false;
        assert_eq!(noticed(Kind::Film, &[fine]).unwrap(), "A viewer would see nothing: no film began.");
    }
}
