//! Estimates with their intervals, and the mean with Student's.

use crate::student;

/// The method of an interval of values that are all the same.
pub const SAME: &str = "identical values";
/// The method where there is no interval.
pub const TOO_FEW: &str = "too few values";
/// The end of a method's name if the interval was made of logarithms.
const OF_LOGARITHMS: &str = " of logarithms";

/// Why nothing can be said of some values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusable {
    /// There is no value.
    Empty,
    /// A value is infinite or no number.
    NotFinite,
    /// A value of which the logarithm is needed is not above 0.
    NotPositive,
    /// Two lists that are compared in pairs differ in length.
    Unpaired,
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unusable::Empty => "there are no values: give at least one",
            Unusable::NotFinite => "a value is not finite: leave it out",
            Unusable::NotPositive => "a paired comparison needs positive finite values",
            Unusable::Unpaired => "a paired comparison needs two lists of the same length",
        })
    }
}

impl std::error::Error for Unusable {}

/// An estimate and its confidence interval, which is missing if there are too few values.
#[derive(Clone, PartialEq, Debug)]
pub struct Interval {
    /// The estimate.
    pub value: f64,
    /// Both ends.
    pub ends: Option<(f64, f64)>,
    /// How many values there are.
    pub n: usize,
    /// The confidence of the interval.
    pub confidence: f64,
    /// How the interval was made.
    pub method: String,
}

impl Interval {
    pub(crate) fn new(value: f64, ends: Option<(f64, f64)>, n: usize, confidence: f64, method: &str) -> Interval {
        Interval { value, ends, n, confidence, method: method.to_owned() }
    }

    /// Whether every value was the same.
    pub fn exact(&self) -> bool {
        self.method == SAME
    }

    /// Returns an interval of logarithms as one of what they are the logarithms of.
    pub(crate) fn from_logarithms(found: Interval) -> Interval {
        let ends = found.ends.map(|(low, high)| (libm::exp(low), libm::exp(high)));
        let method = if found.exact() { found.method } else { found.method + OF_LOGARITHMS };
        Interval { value: libm::exp(found.value), ends, method, ..found }
    }
}

pub(crate) fn checked(values: &[f64]) -> Result<&[f64], Unusable> {
    match values {
        [] => Err(Unusable::Empty),
        some if some.iter().all(|value| value.is_finite()) => Ok(some),
        _ => Err(Unusable::NotFinite),
    }
}

pub(crate) fn all_same(values: &[f64]) -> bool {
    values.iter().all(|value| *value == values[0])
}

pub(crate) fn mean_of(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

/// The sum in pairs, whose error grows with the logarithm of the count (N. J. Higham, SIAM J. Sci. Comput. 14(4), 1993). The
/// order is numpy's, so that Python's other means have the same last digit.
fn sum(values: &[f64]) -> f64 {
    const EACH: usize = 8;
    const BLOCK: usize = 128;
    if values.len() < EACH {
        return values.iter().fold(0.0, |sum, value| sum + value);
    }
    if values.len() > BLOCK {
        let half = values.len() / 2;
        let (first, second) = values.split_at(half - half % EACH);
        return sum(first) + sum(second);
    }
    let (eights, rest) = values.as_chunks::<EACH>();
    let mut sums = [0.0; EACH];
    for eight in eights {
        for (sum, value) in sums.iter_mut().zip(eight) {
            *sum += value;
        }
    }
    let [a, b, c, d, e, f, g, h] = sums;
    rest.iter().fold(((a + b) + (c + d)) + ((e + f) + (g + h)), |sum, value| sum + value)
}

/// The standard deviation with n - 1.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let middle = mean_of(values);
    let squares: Vec<f64> = values.iter().map(|value| (value - middle) * (value - middle)).collect();
    (sum(&squares) / (values.len() - 1) as f64).sqrt()
}

/// Returns the mean with Student's t interval.
///
/// # Errors
///
/// If there are no values or some are not finite.
pub fn mean(values: &[f64], confidence: f64) -> Result<Interval, Unusable> {
    let values = checked(values)?;
    let n = values.len();
    if n >= 2 && all_same(values) {
        return Ok(Interval::new(values[0], Some((values[0], values[0])), n, confidence, SAME));
    }
    let value = mean_of(values);
    if n < 3 {
        return Ok(Interval::new(value, None, n, confidence, TOO_FEW));
    }
    let error = deviation(values) / (n as f64).sqrt();
    let half = student::quantile((n - 1) as f64, f64::midpoint(1.0, confidence)) * error;
    Ok(Interval::new(value, Some((value - half, value + half)), n, confidence, "Student's t"))
}
