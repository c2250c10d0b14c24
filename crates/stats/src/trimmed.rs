//! Trimmed means of paired differences: estimate, interval and test of one statistic.
//!
//! Of ten values the smallest and the largest are left out, of twenty two on each side, and so on; of fewer than ten none.
//! One odd value among ten therefore moves neither the estimate nor the verdict.
//!
//! Up to [`EXACT`] values the test flips the signs of the values in all ways: under chance alone each way is as likely
//! (R. A. Fisher, "The Design of Experiments", 1935, section 21). The interval holds every shift that the test does not
//! reject. So the p-value is at most α exactly where the interval of confidence 1 − α leaves out 0. Beyond, both are
//! Student's, with the deviation of the winsorised values (J. W. Tukey, D. H. McLaughlin, "Less vulnerable confidence and
//! significance procedures for location based on a single sample", Sankhyā A 25, 1963).

use crate::interval::{Interval, SAME, TOO_FEW, Unusable, all_same, checked, deviation, mean_of};
use crate::student;

const METHOD: &str = "sign flips of the trimmed mean";
const STUDENT: &str = "Student's t of the trimmed mean";
/// Up to so many values all ways to flip the signs are counted.
pub const EXACT: usize = 13;
/// Halvings of the range in which an end of an interval lies.
const STEPS: usize = 34;
/// By how much two risks that are the same may differ.
const ROUNDING: f64 = 1.0 + 1e-12;

/// How many of `n` values are left out on each side: a tenth.
fn trimmed(n: usize) -> usize {
    n / 10
}

fn freedom(n: usize) -> f64 {
    (n - 2 * trimmed(n) - 1) as f64
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut ordered = values.to_vec();
    ordered.sort_by(f64::total_cmp);
    ordered
}

/// Returns the trimmed mean without an interval, of one value or more.
pub fn trimmed_middle(values: &[f64]) -> f64 {
    let cut = trimmed(values.len());
    mean_of(&sorted(values)[cut..values.len() - cut])
}

/// Returns the trimmed mean with its interval, which is missing if there are too few values for this confidence.
///
/// # Errors
///
/// If there are no values or some are not finite.
pub fn trimmed_mean(values: &[f64], confidence: f64) -> Result<Interval, Unusable> {
    let values = checked(values)?;
    let (n, value) = (values.len(), trimmed_middle(values));
    if n > EXACT {
        let half = student::quantile(freedom(n), f64::midpoint(1.0, confidence)) * error(values);
        return Ok(Interval::new(value, Some((value - half, value + half)), n, confidence, STUDENT));
    }
    let risk = 1.0 - confidence;
    if least_p(n) > risk * ROUNDING {
        return Ok(Interval::new(value, None, n, confidence, TOO_FEW));
    }
    let ordered = sorted(values);
    let ends = (end(values, value, ordered[0], risk), end(values, value, ordered[n - 1], risk));
    Ok(Interval::new(value, Some(ends), n, confidence, METHOD))
}

/// The least p-value of the test that flips signs: the two most extreme of 2^n outcomes.
pub(crate) fn least_p(n: usize) -> f64 {
    libm::exp2(1.0 - n as f64)
}

/// Returns the trimmed mean with its interval, of the logarithms where all values are positive.
///
/// Ratios of pairs are trimmed means of logarithms as well. Values that are all the same are exact; of fewer than six
/// there is no interval.
///
/// # Errors
///
/// If there are no values or some are not finite.
pub fn typical(values: &[f64], confidence: f64) -> Result<Interval, Unusable> {
    let values = checked(values)?;
    if values.len() > 1 && all_same(values) {
        return Ok(Interval::new(values[0], Some((values[0], values[0])), values.len(), confidence, SAME));
    }
    if values.len() == 1 {
        return Ok(Interval::new(values[0], None, 1, confidence, TOO_FEW));
    }
    if values.iter().all(|value| *value > 0.0) {
        let logarithms: Vec<f64> = values.iter().map(|value| libm::log(*value)).collect();
        return Ok(Interval::from_logarithms(trimmed_mean(&logarithms, confidence)?));
    }
    trimmed_mean(values, confidence)
}

/// Returns the two-sided p-value of the test that the values lie symmetrically around a shift.
///
/// # Errors
///
/// If there are no values or some are not finite.
pub fn p_of_shift(values: &[f64], shift: f64) -> Result<f64, Unusable> {
    Ok(p_of(checked(values)?, shift))
}

fn p_of(values: &[f64], shift: f64) -> f64 {
    let moved: Vec<f64> = values.iter().map(|value| value - shift).collect();
    let n = moved.len();
    if n > EXACT {
        let (middle, error) = (trimmed_middle(&moved), error(&moved));
        if error == 0.0 {
            return if middle == 0.0 { 1.0 } else { 0.0 };
        }
        return 2.0 * student::below(freedom(n), -middle.abs() / error);
    }
    if moved.iter().all(|value| *value == 0.0) {
        return 1.0;
    }
    let sizes: Vec<f64> = moved.iter().map(|value| value.abs()).collect();
    let scale: f64 = sizes.iter().sum();
    let own = extremity(&sizes, own_way(&moved), scale) - 1e-12 * scale;
    let ways = 1_u32 << (n - 1);
    let as_far = (0..ways).filter(|way| extremity(&sizes, *way, scale) >= own).count();
    as_far as f64 / f64::from(ways)
}

/// How far from 0 the trimmed sum is if the signs of the values are those of `way`, whose bits are the negative ones.
///
/// The last value keeps its sign, as flipping all of them changes no distance from 0. Ways whose sums are the same are told
/// apart by how many signs agree; sums in another order differ by rounding.
fn extremity(sizes: &[f64], way: u32, scale: f64) -> f64 {
    let (mut sum, mut agreeing) = (0.0, 0.0);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for (place, size) in sizes.iter().enumerate() {
        let sign = if way >> place & 1 == 1 { -1.0 } else { 1.0 };
        let value = sign * size;
        sum += value;
        // A value of 0 has no sign.
        agreeing += if *size > 0.0 { sign } else { 0.0 };
        least = f64::min(least, value);
        most = f64::max(most, value);
    }
    // Of up to `EXACT` values one is left out on each side.
    if trimmed(sizes.len()) > 0 {
        sum -= most + least;
    }
    let side = if sum == 0.0 { 0.0 } else { sum.signum() };
    sum.abs() + 1e-9 * scale * side * agreeing
}

/// The way of flipping signs that gives these values, or all of them flipped.
fn own_way(values: &[f64]) -> u32 {
    let flipped = values[values.len() - 1] < 0.0;
    let bits = values.iter().enumerate().map(|(place, value)| u32::from((*value < 0.0) != flipped) << place);
    bits.sum()
}

/// The standard error of the trimmed mean.
fn error(values: &[f64]) -> f64 {
    let (n, cut) = (values.len(), trimmed(values.len()));
    let mut ordered = sorted(values);
    let (low, high) = (ordered[cut], ordered[n - cut - 1]);
    ordered[..cut].fill(low);
    ordered[n - cut..].fill(high);
    deviation(&ordered) * (n as f64).sqrt() / (n - 2 * cut) as f64
}

/// The shift between the estimate and a value beyond all others where the test begins to reject.
fn end(values: &[f64], value: f64, outer: f64, risk: f64) -> f64 {
    let (mut accepted, mut rejected) = (value, outer + (outer - value) * 1e-6);
    if f64::min(value, outer) <= 0.0 && f64::max(value, outer) >= 0.0 {
        // Whether 0 is outside decides the verdict: the end lies on that side of it.
        if p_of(values, 0.0) > risk * ROUNDING {
            accepted = 0.0;
        } else {
            rejected = 0.0;
        }
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(accepted, rejected);
        if p_of(values, middle) > risk * ROUNDING {
            accepted = middle;
        } else {
            rejected = middle;
        }
    }
    accepted
}
