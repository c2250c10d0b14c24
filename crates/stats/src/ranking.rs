//! The first of several contenders against the others, corrected for having picked it after the fact.
//!
//! Who is first is known only once all values are there, so each of the k(k − 1)/2 pairs could have been the one that is
//! looked at. Every pair is tested by itself, by the trimmed mean of its ratios within replications, and the p-values are
//! corrected for all pairs by Holm's method. This holds the false-alarm rate whatever the spread of each contender is and
//! however many of them are equal. The interval of a pair has the confidence at which Holm's method tests it, so that it
//! leaves out equality exactly where the corrected p-value is significant.
//!
//! A comparison is *alike* if its whole interval lies within the margin of practical equivalence. Otherwise one side is
//! ahead if the interval lies wholly on one side of equality. Anything else is unclear.

use crate::interval::Unusable;
use crate::pairs::{Paired, holm, holm_risks};
use crate::trimmed::EXACT;
use std::collections::BTreeMap;

/// The margin of practical equivalence of ratios: 1/1.05 to 1.05 makes no practical difference.
pub const ALIKE: f64 = 0.05;

/// Where an interval stands: above equality, below it, within the margin, or not decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Above equality.
    Above,
    /// Below equality.
    Below,
    /// Within the margin of practical equivalence.
    Alike,
    /// Not decided.
    Unclear,
}

impl Side {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Side::Above => "above",
            Side::Below => "below",
            Side::Alike => "alike",
            Side::Unclear => "unclear",
        }
    }
}

/// Returns where a comparison stands, by its interval; without one it is unclear. `margin` are the ends of the margin of
/// practical equivalence, `equal` the value of two that are equal: 1 for ratios, 0 for differences.
pub fn side(ends: Option<(f64, f64)>, margin: (f64, f64), equal: f64) -> Side {
    match ends {
        None => Side::Unclear,
        Some((low, high)) if margin.0 <= low && high <= margin.1 => Side::Alike,
        Some((low, _)) if low > equal => Side::Above,
        Some((_, high)) if high < equal => Side::Below,
        Some(_) => Side::Unclear,
    }
}

/// How the first stands against another contender.
#[derive(Clone, PartialEq, Debug)]
pub struct Lead {
    /// The other's place in the list.
    pub other: usize,
    /// The first's values against the other's in the replications that both have; its interval is corrected as `p` is.
    pub pair: Paired,
    /// The p-value, corrected for all pairs; none if every replication gave the same two values.
    pub p: Option<f64>,
    /// How many pairs it was corrected for.
    pub pairs: usize,
    /// Above or below if the difference is real and not within the margin.
    pub stands: Side,
    /// The replications from which a real difference could be shown, if there are too few.
    pub needed: Option<usize>,
}

impl Lead {
    /// Whether every replication gave the same two values: the ratio is then a fact, not an estimate.
    pub fn exact(&self) -> bool {
        self.p.is_none()
    }

    /// Whether the difference is real, and its interval not wholly inside what counts as alike.
    pub fn ahead(&self) -> bool {
        matches!(self.stands, Side::Above | Side::Below)
    }
}

/// Returns the replications from which the smallest p-value of the test of a pair, corrected, can be significant.
///
/// The smallest is 2^(1 − n), as the two outcomes in which all signs agree are the most extreme of 2^n. Where more than
/// [`EXACT`] replications would be needed the test is Student's, whose p-values have no least one.
pub fn replications_needed(pairs: usize, confidence: f64) -> usize {
    let least = libm::ceil(1.0 + libm::log2(pairs as f64 / (1.0 - confidence)) - 1e-9);
    if least > EXACT as f64 { EXACT + 1 } else { least as usize }
}

/// Compares one contender, which was picked by its values, with each of the others that has a replication in common with it.
///
/// `values` are those of each contender, of one replication at the same place, none where it failed; `first` is the place of
/// the one that was picked; `alike` is the margin of practical equivalence as a share of the ratio; `confidence` is that of
/// each interval, and of all real differences together.
///
/// # Errors
///
/// If a value is not positive and finite.
pub fn leads(values: &[Vec<Option<f64>>], first: usize, alike: f64, confidence: f64) -> Result<Vec<Lead>, Unusable> {
    let mut tests = BTreeMap::new();
    for a in 0..values.len() {
        for b in a + 1..values.len() {
            let both = values[a].iter().zip(&values[b]).filter_map(|(x, y)| Some(((*x)?, (*y)?)));
            let (x, y): (Vec<f64>, Vec<f64>) = both.unzip();
            if !x.is_empty() {
                tests.insert((a, b), (Paired::new(&x, &y, confidence)?, Paired::new(&y, &x, confidence)?));
            }
        }
    }
    let raw: Vec<((usize, usize), f64)> =
        tests.iter().filter_map(|(pair, (test, _))| Some((*pair, test.p()?))).collect();
    let p_values: Vec<f64> = raw.iter().map(|(_, p)| *p).collect();
    let (corrected, risks) = (holm(&p_values), holm_risks(&p_values, 1.0 - confidence));
    let to_test = tests.values().filter(|(test, _)| !test.exact() || test.n() == 1).count();
    let needed = replications_needed(to_test.max(1), confidence);
    let mut found = Vec::new();
    for other in (0..values.len()).filter(|other| *other != first) {
        let pair = (first.min(other), first.max(other));
        let Some((forward, backward)) = tests.get(&pair) else { continue };
        let tested = raw.iter().position(|(one, _)| *one == pair);
        let risk = tested.map_or(1.0 - confidence, |at| risks[at]);
        let one = if first < other { forward } else { backward }.clone().at(1.0 - risk);
        let stands = stands(&one, alike);
        let few = stands == Side::Unclear && one.n() < if one.exact() { 2 } else { needed };
        let p = tested.map(|at| corrected[at]);
        found.push(Lead { other, pair: one, p, pairs: raw.len(), stands, needed: few.then_some(needed) });
    }
    Ok(found)
}

/// The side on which the interval lies, by the tests that it rests on: the interval itself takes longer.
fn stands(one: &Paired, alike: f64) -> Side {
    let (least, most) = (1.0 / (1.0 + alike), 1.0 + alike);
    if one.exact() {
        let ratio = one.ratio().value;
        return side((one.n() > 1).then_some((ratio, ratio)), (least, most), 1.0);
    }
    if one.within(least, most) {
        return Side::Alike;
    }
    match one.p() {
        Some(p) if p <= 1.0 - one.confidence() => {
            if one.middle() > 0.0 {
                Side::Above
            } else {
                Side::Below
            }
        }
        _ => Side::Unclear,
    }
}
