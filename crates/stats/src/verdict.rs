//! The verdict of a comparison: who is first, against whom it was tested, and whether the difference is real.
//!
//! The table's values, the one that is first and the ratios are of one kind: trimmed means, geometric where all values are
//! positive.

use crate::interval::{Interval, Unusable};
use crate::plain::{self, Style, number, per_cent};
use crate::ranking::{Lead, Side, leads};
use crate::trimmed::typical;

const CONFIDENCE: f64 = 0.95;

/// Which values of a metric are the better ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Lower ones, as of times.
    Lower,
    /// Higher ones, as of rates.
    Higher,
}

/// How those that were compared stand by one metric.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The name of each.
    pub names: Vec<String>,
    /// Of each a value a replication; none where it failed.
    pub values: Vec<Vec<Option<f64>>>,
    /// Which values are better.
    pub better: Better,
    /// The margin that makes no practical difference, as a share of a ratio.
    pub alike: f64,
    /// The words for the best value, such as `the lowest mean time`.
    pub has: String,
    /// The words for the metric in a ratio, such as `time`.
    pub of: String,
    /// Whether each is compared with each, or only the first with the others.
    pub every: bool,
}

impl Verdict {
    /// The trimmed mean of each with its interval; none where all failed.
    ///
    /// # Errors
    ///
    /// If a value is not finite.
    pub fn typical(&self) -> Result<Vec<Option<Interval>>, Unusable> {
        let there = self.values.iter().map(|own| own.iter().flatten().copied().collect::<Vec<f64>>());
        there.map(|own| if own.is_empty() { Ok(None) } else { typical(&own, CONFIDENCE).map(Some) }).collect()
    }

    /// The places of those that have values, the best first, and after these those that failed in a replication.
    ///
    /// A mean over the runs that did not fail says nothing beside means over all.
    ///
    /// # Errors
    ///
    /// If a value is not finite.
    pub fn order(&self) -> Result<Vec<usize>, Unusable> {
        let typical = self.typical()?;
        let mut order: Vec<usize> = (0..typical.len()).filter(|at| typical[*at].is_some()).collect();
        let value = |at: usize| typical[at].as_ref().map_or(0.0, |one| one.value);
        order.sort_by(|a, b| {
            let by_value = match self.better {
                Better::Lower => value(*a).total_cmp(&value(*b)),
                Better::Higher => value(*b).total_cmp(&value(*a)),
            };
            self.failed(*a).cmp(&self.failed(*b)).then(by_value).then(a.cmp(b))
        });
        Ok(order)
    }

    fn failed(&self, at: usize) -> bool {
        self.values[at].contains(&None)
    }

    /// Who was compared with whom, each with the place of the better one; all corrected together.
    ///
    /// # Errors
    ///
    /// If a value is not positive and finite.
    pub fn leads(&self) -> Result<Vec<(usize, Lead)>, Unusable> {
        let order = self.order()?;
        let ranked = if self.every { order.len().saturating_sub(1) } else { order.len().min(1) };
        let mut found = Vec::new();
        for (at, better) in order[..ranked].iter().enumerate() {
            let behind = &order[at + 1..];
            let all = leads(&self.values, *better, self.alike, CONFIDENCE)?;
            found.extend(all.into_iter().filter(|lead| behind.contains(&lead.other)).map(|lead| (*better, lead)));
        }
        Ok(found)
    }

    /// Whether the better one of two is ahead by more than chance and more than the margin.
    pub fn is_ahead(&self, lead: &Lead) -> bool {
        lead.stands
            == match self.better {
                Better::Lower => Side::Below,
                Better::Higher => Side::Above,
            }
    }

    /// The verdict in sentences: a headline, and a line about each comparison.
    ///
    /// # Errors
    ///
    /// If a value is not positive and finite.
    pub fn lines(&self) -> Result<Vec<String>, Unusable> {
        let order = self.order()?;
        let Some(first) = order.first().filter(|_| self.names.len() > 1) else { return Ok(Vec::new()) };
        let (name, leads) = (&self.names[*first], self.leads()?);
        if leads.is_empty() {
            return Ok(vec![format!("only {name} completed")]);
        }
        let about = |better: &usize, lead: &Lead| {
            let (ratio, judged) = (ratio(lead), judged(lead, self.alike));
            let other = &self.names[lead.other];
            if self.every {
                format!("{} gets {ratio} times the {} of {other}: {judged}", self.names[*better], self.of)
            } else {
                format!("  {ratio} of {other}'s {}: {judged}", self.of)
            }
        };
        let lines = leads.iter().map(|(better, lead)| about(better, lead));
        if self.every {
            return Ok(lines.collect());
        }
        let some_failed = order.iter().any(|at| self.failed(*at)) && order.iter().any(|at| !self.failed(*at));
        let has = if some_failed { format!("{} of those that never failed", self.has) } else { self.has.clone() };
        let head = if leads.iter().all(|(_, lead)| self.is_ahead(lead)) {
            format!("{name} wins: it has {has}, and is ahead of every other")
        } else if leads.iter().any(|(_, lead)| self.is_ahead(lead)) {
            format!("{name} has {has}, but is not shown to be ahead of every other")
        } else if leads.iter().all(|(_, lead)| lead.stands == Side::Alike) {
            format!("no winner: all are within {} % of {name}, which has {has}", per_cent(self.alike))
        } else {
            format!("no winner is shown; {name} has {has}")
        };
        Ok(std::iter::once(head + ":").chain(lines).collect())
    }
}

/// The ratio with its interval, with as many digits as show on which side of 1 an end lies.
fn ratio(lead: &Lead) -> String {
    let found = lead.pair.ratio();
    let ends = found.ends.map(|(low, high)| [low, high]);
    let is_shown = |digits: usize, end: f64| end == 1.0 || format!("{end:.*}", digits - 1).parse() != Ok(1.0);
    let digits = (3..6).find(|digits| ends.iter().flatten().all(|end| is_shown(*digits, *end))).unwrap_or(6);
    plain::interval(&found, Style { digits, ..Style::default() })
}

/// Whether a lead is real, with its test, or how many replications could tell.
fn judged(lead: &Lead, alike: f64) -> String {
    let n = lead.pair.n();
    let corrected = if lead.pairs > 1 { format!(" corrected for all {} pairs", lead.pairs) } else { String::new() };
    let tested = format!("paired over {n} replications, p = {}{corrected}", number(lead.p.unwrap_or(0.0), 2));
    let needed = lead.needed.unwrap_or(0);
    if n == 1 {
        return format!("one replication cannot tell; {needed} could");
    }
    if lead.stands == Side::Alike {
        let within = format!("within the margin of {} %", per_cent(alike));
        if lead.exact() {
            return format!("alike: {within}, the same in every replication");
        }
        let shown = if lead.pair.real() == Some(true) { "more than chance, but " } else { "" };
        return format!("alike: {shown}{within} ({tested})");
    }
    if lead.exact() {
        return "exact, as nothing random happened and every replication was the same".to_owned();
    }
    if lead.ahead() {
        return format!("a real difference ({tested})");
    }
    match lead.needed {
        Some(needed) => format!("undecided: {n} replications cannot tell, {needed} could ({tested})"),
        None => format!("not shown to be a real difference, as the interval holds 1 ({tested})"),
    }
}
