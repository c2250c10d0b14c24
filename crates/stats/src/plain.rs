//! Numbers and intervals as sentences and tables of a terminal have them.

use crate::interval::Interval;

/// An end that is nearer to 0 than this share of the value is written as 0.
const NOTHING: f64 = 1e-6;

/// How an interval is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Style<'a> {
    /// The factor of the value and of both ends.
    pub scale: f64,
    /// Significant digits.
    pub digits: usize,
    /// The text between the value and the ends.
    pub between: &'a str,
}

impl Default for Style<'_> {
    fn default() -> Self {
        Style { scale: 1.0, digits: 4, between: " " }
    }
}

/// Returns a number with some significant digits, without exponent; a whole number stays one.
///
/// A narrow space separates thousands, as a comma would look like another number of an interval.
pub fn number(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value == 0.0 || value.is_infinite() {
        // Rust writes an infinity as Python does.
        return value.to_string();
    }
    if value == libm::trunc(value) && value.abs() < libm::pow(10.0, digits as f64) {
        return format!("{value:.0}");
    }
    let decimals = digits as f64 - 1.0 - libm::floor(libm::log10(value.abs()));
    grouped(&format!("{value:.*}", decimals.max(0.0) as usize))
}

/// Puts narrow spaces between the thousands of a number that is written without them.
fn grouped(text: &str) -> String {
    let (whole, rest) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
    let digits = whole.trim_start_matches('-');
    let mut out = String::from(if whole.starts_with('-') { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    match rest {
        Some(rest) => out + "." + rest,
        None => out,
    }
}

/// Returns `7.21 [7.10, 7.35]`, or the bare value if there is no interval or nothing varies.
pub fn interval(estimate: &Interval, style: Style<'_>) -> String {
    let value = number(estimate.value * style.scale, style.digits);
    let Some((low, high)) = estimate.ends.filter(|_| !estimate.exact()) else { return value };
    let end = |end: f64| {
        let shown = if end.abs() < NOTHING * estimate.value.abs() { 0.0 } else { end };
        number(shown * style.scale, style.digits)
    };
    format!("{value}{}[{}, {}]", style.between, end(low), end(high))
}

/// A share as per cent, with at most six significant digits: 5 for 0.05.
pub(crate) fn per_cent(share: f64) -> String {
    general(100.0 * share, 6)
}

/// A number with at most so many significant digits, without zeros at its end.
pub(crate) fn general(value: f64, digits: u32) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (f64::from(digits) - 1.0 - libm::floor(libm::log10(value.abs()))).max(0.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::{Style, interval, number, per_cent};
    use crate::interval::Interval;

    #[test]
    fn numbers_have_significant_digits_and_no_exponent() {
        for (value, digits, expected) in [
            (0.0, 4, "0"),
            (7.0, 4, "7"),
            (7.213_6, 4, "7.214"),
            (0.001_234_56, 4, "0.001235"),
            (12_345.6, 4, "12\u{202f}346"),
            (-1_234_567.8, 4, "-1\u{202f}234\u{202f}568"),
            (0.003_906_25, 2, "0.0039"),
            (10_000.0, 4, "10\u{202f}000"),
        ] {
            assert_eq!(number(value, digits), expected);
        }
    }

    #[test]
    fn an_end_that_is_nothing_beside_the_value_is_zero() {
        let found = Interval::new(1000.0, Some((1e-9, 2000.0)), 10, 0.95, "some");
        assert_eq!(interval(&found, Style::default()), "1000 [0, 2000]");
        let same = Interval::new(2.5, Some((2.5, 2.5)), 10, 0.95, crate::SAME);
        assert_eq!(interval(&same, Style { scale: 1e3, ..Style::default() }), "2500");
    }

    #[test]
    fn shares_are_written_short() {
        for (share, expected) in [(0.05, "5"), (0.025, "2.5"), (0.1, "10"), (1.0, "100"), (0.0, "0")] {
            assert_eq!(per_cent(share), expected);
        }
    }
}
