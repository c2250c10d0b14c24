//! Paired comparisons: two contenders under the same losses, replication by replication.

use crate::interval::{Interval, Unusable, all_same, mean};
use crate::trimmed::{least_p, p_of_shift, trimmed_mean, trimmed_middle};

/// Whether replications differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replications {
    /// Every replication gave the same pair of values: the difference is then a fact, not an estimate.
    Same,
    /// Some gave others.
    Varied,
}

/// How one compares with another, by the logarithms of their ratio in each replication.
///
/// Estimate, interval and p-value are of the logarithms' trimmed mean, so that the p-value is at most 1 − confidence exactly
/// where the interval of the ratio leaves out 1.
#[derive(Clone, PartialEq, Debug)]
pub struct Paired {
    logarithms: Vec<f64>,
    exact: bool,
    confidence: f64,
}

impl Paired {
    /// Compares positive values of two contenders; those at one place come from the same replication.
    ///
    /// # Errors
    ///
    /// If the lists differ in length, are empty, or hold a value that is not positive and finite.
    pub fn new(a: &[f64], b: &[f64], confidence: f64) -> Result<Paired, Unusable> {
        if a.len() != b.len() {
            return Err(Unusable::Unpaired);
        }
        if a.is_empty() {
            return Err(Unusable::Empty);
        }
        if !a.iter().chain(b).all(|value| value.is_finite() && *value > 0.0) {
            return Err(Unusable::NotPositive);
        }
        let logarithms = a.iter().zip(b).map(|(x, y)| libm::log(x / y)).collect();
        Ok(Paired { logarithms, exact: all_same(a) && all_same(b), confidence })
    }

    /// Makes a comparison from its parts.
    ///
    /// # Errors
    ///
    /// If there is no logarithm or one is not finite.
    pub fn of(logarithms: Vec<f64>, replications: Replications, confidence: f64) -> Result<Paired, Unusable> {
        crate::interval::checked(&logarithms)?;
        Ok(Paired { logarithms, exact: replications == Replications::Same, confidence })
    }

    /// Returns the comparison with an interval of another confidence.
    pub(crate) fn at(self, confidence: f64) -> Paired {
        Paired { confidence, ..self }
    }

    /// The logarithm of the ratio in each replication.
    pub fn logarithms(&self) -> &[f64] {
        &self.logarithms
    }

    /// Whether every replication gave the same pair of values: the difference is then a fact, not an estimate.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// The confidence of the ratio's interval.
    pub fn confidence(&self) -> f64 {
        self.confidence
    }

    /// The number of replications.
    pub fn n(&self) -> usize {
        self.logarithms.len()
    }

    /// The two-sided p-value; none where every pair is the same and no test is needed.
    pub fn p(&self) -> Option<f64> {
        (!self.exact).then(|| usable(p_of_shift(&self.logarithms, 0.0)))
    }

    /// The trimmed geometric mean of the ratio, with its interval.
    pub fn ratio(&self) -> Interval {
        let estimate = if self.exact { mean } else { trimmed_mean };
        Interval::from_logarithms(usable(estimate(&self.logarithms, self.confidence)))
    }

    /// Whether the interval of the ratio lies between two ratios around its estimate.
    pub fn within(&self, least: f64, most: f64) -> bool {
        if self.exact {
            return self.n() > 1 && (least..=most).contains(&self.ratio().value);
        }
        let rejected = |end: &f64| usable(p_of_shift(&self.logarithms, libm::log(*end))) <= 1.0 - self.confidence;
        (least..=most).contains(&libm::exp(self.middle())) && [least, most].iter().all(rejected)
    }

    /// The trimmed mean of the logarithms.
    pub(crate) fn middle(&self) -> f64 {
        trimmed_middle(&self.logarithms)
    }

    /// Whether the difference is real: yes, no (there is no evidence of one), or none (there are too few pairs to say).
    pub fn real(&self) -> Option<bool> {
        let risk = 1.0 - self.confidence;
        match self.p() {
            None => (self.n() > 1).then(|| self.ratio().value != 1.0),
            Some(p) if p <= risk => Some(true),
            Some(_) => (least_p(self.n()) <= risk).then_some(false),
        }
    }
}

/// A comparison's logarithms have been checked when it was made.
fn usable<T>(found: Result<T, Unusable>) -> T {
    found.expect("a comparison has one finite logarithm or more")
}

/// Returns p-values adjusted for having made several comparisons.
///
/// Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scand. J. Statist. 6(2), 1979.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0;
    for (rank, at) in ascending(p_values).into_iter().enumerate() {
        largest = f64::max(largest, f64::min(1.0, p_values[at] * (p_values.len() - rank) as f64));
        adjusted[at] = largest;
    }
    adjusted
}

/// Returns the risk at which Holm's method tests each p-value: the adjusted one is at most `risk` where it is met.
///
/// The smallest of m p-values is tested at risk / m, the next at risk / (m − 1), and so on; from the first that is not
/// significant on, all are tested at its risk, so that none of them is.
pub fn holm_risks(p_values: &[f64], risk: f64) -> Vec<f64> {
    let mut risks = vec![risk; p_values.len()];
    let mut failed = None;
    for (rank, at) in ascending(p_values).into_iter().enumerate() {
        risks[at] = failed.unwrap_or(risk / (p_values.len() - rank) as f64);
        if failed.is_none() && p_values[at] > risks[at] {
            failed = Some(risks[at]);
        }
    }
    risks
}

fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order
}
