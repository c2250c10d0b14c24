//! Rates and sizes with their units, and the text forms used in scenarios.

use crate::time::Span;
use crate::wide;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A rate in bit/s. In JSON it is the number of bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(pub u64);

impl Rate {
    /// A rate of `bps` bit/s.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// A rate given in bytes a second.
    pub const fn from_bytes_per_sec(bytes: u64) -> Rate {
        Rate(bytes.saturating_mul(8))
    }
    /// bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }
    /// Bytes a second, rounded down.
    pub const fn as_bytes_per_sec(self) -> u64 {
        self.0 / 8
    }
    /// The time to send `bytes` at this rate, rounded down; [`Span::MAX`] at rate zero.
    pub const fn time_for(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::MAX;
        }
        Span::from_nanos(wide::scaled(bytes, 8_000_000_000, self.0))
    }
    /// The bytes sent in `span` at this rate, rounded down.
    pub const fn bytes_in(self, span: Span) -> u64 {
        wide::scaled(self.0, span.as_nanos(), 8_000_000_000)
    }
    /// The rate of `bytes` in `span`; `None` if the span is empty.
    pub const fn of(bytes: u64, span: Span) -> Option<Rate> {
        if span.is_zero() {
            return None;
        }
        Some(Rate(wide::scaled(bytes, 8_000_000_000, span.as_nanos())))
    }
    /// This rate times `num / den`.
    pub const fn scaled(self, num: u64, den: u64) -> Rate {
        Rate(wide::scaled(self.0, num, den))
    }
}

/// An error in the text of a quantity.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QuantityError {
    /// The text as given.
    pub given: String,
    /// A description of a right value, with examples.
    pub expected: &'static str,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not ", self.given)?;
        // The example with the number that was given shows what was meant.
        let number = self.given.trim();
        let example = self.expected.split_once("as in \"").and_then(|(before, rest)| {
            let (example, after) = rest.split_once('"')?;
            let (_, unit) = split(example).filter(|_| matches!(split(number), Some((_, ""))))?;
            Some((before, unit, after))
        });
        match example {
            Some((before, unit, after)) => write!(f, "{before}as in \"{number}{unit}\"{after}"),
            None => f.write_str(self.expected),
        }
    }
}
impl std::error::Error for QuantityError {}

/// Splits `"40 Mbit/s"` into the number and its unit; `None` if there is no plain decimal number in front.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    Some((value, text[end..].trim()))
}

fn quantity(text: &str, expected: &'static str, scale: impl Fn(&str) -> Option<f64>) -> Result<f64, QuantityError> {
    split(text)
        .and_then(|(value, unit)| Some(value * scale(unit)?))
        .filter(|v| v.is_finite() && *v < 9.0e18)
        .ok_or_else(|| QuantityError { given: text.to_string(), expected })
}

/// Parses a rate: `40Mbit/s`, `1Gbit/s`, `500kbit/s`, `9600bit/s` (also `Mbps` and the like).
pub fn parse_rate(text: &str) -> Result<Rate, QuantityError> {
    let expected = "a rate: write a positive number and bit/s, kbit/s, Mbit/s or Gbit/s, as in \"40Mbit/s\"";
    let bps = quantity(text, expected, |unit| match unit {
        "bit/s" | "bps" => Some(1.0),
        "kbit/s" | "kbps" => Some(1e3),
        "Mbit/s" | "Mbps" => Some(1e6),
        "Gbit/s" | "Gbps" => Some(1e9),
        _ => None,
    })?;
    if !(1.0..=1e13).contains(&bps) {
        return Err(QuantityError { given: text.to_string(), expected: "between 1bit/s and 10000Gbit/s" });
    }
    Ok(Rate((bps + 0.5) as u64))
}

/// Parses a span of time: `50ms`, `1.5s`, `200us`, `10ns`, `2min`, `1h`.
pub fn parse_span(text: &str) -> Result<Span, QuantityError> {
    let expected = "a time: write a number and ns, us, ms, s, min or h, as in \"50ms\"";
    let seconds = quantity(text, expected, |unit| match unit {
        "ns" => Some(1e-9),
        "us" | "µs" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    })?;
    if seconds > 1e8 {
        return Err(QuantityError { given: text.to_string(), expected: "a time of at most 100000000s" });
    }
    Ok(Span::from_secs_f64(seconds))
}

/// Parses a number of bytes: `32MiB`, `2MB`, `64kB`, `1500B` (kB = 1000, KiB = 1024).
pub fn parse_bytes(text: &str) -> Result<Bytes, QuantityError> {
    let expected = "a size: write a number and B, kB, MB, GB, KiB, MiB or GiB, as in \"32MiB\"";
    let bytes = quantity(text, expected, |unit| match unit {
        "B" => Some(1.0),
        "kB" => Some(1e3),
        "MB" => Some(1e6),
        "GB" => Some(1e9),
        "KiB" => Some(1024.0),
        "MiB" => Some(1024.0 * 1024.0),
        "GiB" => Some(1024.0 * 1024.0 * 1024.0),
        _ => None,
    })?;
    if bytes > 1e15 {
        return Err(QuantityError { given: text.to_string(), expected: "a size of at most 1000000GB" });
    }
    Ok(Bytes((bytes + 0.5) as u64))
}

/// Parses a distance, in metres: `5m`, `0.5m`, `2km`.
pub fn parse_metres(text: &str) -> Result<f64, QuantityError> {
    quantity(text, "a distance: write a number and m or km, as in \"5m\"", |unit| match unit {
        "m" => Some(1.0),
        "km" => Some(1000.0),
        _ => None,
    })
}

/// Parses a speed, in m/s: `3km/h`, `1.5m/s`.
pub fn parse_speed(text: &str) -> Result<f64, QuantityError> {
    quantity(text, "a speed: write a number and km/h or m/s, as in \"3km/h\"", |unit| match unit {
        "km/h" => Some(1.0 / 3.6),
        "m/s" => Some(1.0),
        _ => None,
    })
}

/// Parses the width of a channel, in MHz: `20MHz`.
pub fn parse_mhz(text: &str) -> Result<u32, QuantityError> {
    let expected = "the width of a channel: write a whole number and MHz, as in \"20MHz\"";
    let mhz = quantity(text, expected, |unit| (unit == "MHz").then_some(1.0))?;
    let whole = mhz as u32;
    if f64::from(whole) == mhz { Ok(whole) } else { Err(QuantityError { given: text.to_string(), expected }) }
}

/// Parses a probability: `1%` or a fraction below 1 such as `0.01`. A number alone from 1 on is refused: `1` may mean one per cent
/// or all.
pub fn parse_probability(text: &str) -> Result<f64, QuantityError> {
    let expected = "a probability: write a percentage, as in \"1%\", or a fraction below 1, such as 0.01";
    let p = match split(text) {
        Some((fraction, "")) if fraction < 1.0 => fraction,
        _ => quantity(text, expected, |unit| (unit == "%").then_some(0.01))?,
    };
    if p > 1.0 {
        return Err(QuantityError { given: text.to_string(), expected: "a probability from 0% to 100%" });
    }
    Ok(p)
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bps = self.0;
        match bps {
            0 => write!(f, "0bit/s"),
            _ if bps.is_multiple_of(1_000_000_000) => write!(f, "{}Gbit/s", bps / 1_000_000_000),
            _ if bps.is_multiple_of(1_000_000) => write!(f, "{}Mbit/s", bps / 1_000_000),
            _ if bps.is_multiple_of(1_000) => write!(f, "{}kbit/s", bps / 1_000),
            _ => write!(f, "{bps}bit/s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_with_their_units() {
        assert_eq!(parse_rate("40Mbit/s"), Ok(Rate::from_bps(40_000_000)));
        assert_eq!(parse_rate("1.5 Gbit/s"), Ok(Rate::from_bps(1_500_000_000)));
        assert_eq!(parse_span("0.5ms"), Ok(Span::from_micros(500)));
        assert_eq!(parse_span("1h"), Ok(Span::from_secs(3600)));
        assert_eq!(parse_bytes("32MiB"), Ok(Bytes(32 << 20)));
        assert_eq!(parse_bytes("2MB"), Ok(Bytes(2_000_000)));
        assert_eq!((parse_speed("36km/h"), parse_speed("2 m/s")), (Ok(10.0), Ok(2.0)));
        assert_eq!(parse_probability("1%"), Ok(0.01));
        assert_eq!(parse_probability("0.05"), Ok(0.05));
        assert_eq!([parse_probability("0"), parse_probability("100%")], [Ok(0.0), Ok(1.0)]);
    }

    #[test]
    fn a_number_without_a_unit_is_refused_with_the_unit_that_it_lacks() {
        let said = |wrong: QuantityError| wrong.to_string();
        assert!(said(parse_rate("50").unwrap_err()).ends_with("as in \"50Mbit/s\""));
        assert!(said(parse_span(" 50 ").unwrap_err()).ends_with("as in \"50ms\""));
        assert!(said(parse_bytes("32").unwrap_err()).ends_with("as in \"32MiB\""));
        for (given, meant) in [("1", "as in \"1%\""), ("1.0", "as in \"1.0%\""), ("5", "as in \"5%\"")] {
            let error = said(parse_probability(given).unwrap_err());
            assert!(error.contains(meant) && error.contains("0.01"), "{error}");
        }
        assert!(said(parse_rate("fast").unwrap_err()).ends_with("as in \"40Mbit/s\""));
    }

    #[test]
    fn what_is_no_quantity_is_refused_with_the_remedy() {
        for bad in
            ["", "40", "Mbit/s", "-1Mbit/s", "0Mbit/s", "4e9Mbit/s", "40MB/s", "nan", "1..2Mbit/s", "99999999Gbit/s"]
        {
            let error = parse_rate(bad).unwrap_err();
            assert_eq!(error.given, bad);
        }
        assert!(parse_rate("40").unwrap_err().to_string().contains("40Mbit/s"));
        assert!(parse_probability("101%").is_err());
        assert!(parse_bytes("12 parsecs").is_err());
    }

    #[test]
    fn serialisation_time_is_exact() {
        assert_eq!(Rate::from_bps(40_000_000).time_for(1500), Span::from_micros(300));
        assert_eq!(Rate::of(1500, Span::from_micros(300)), Some(Rate::from_bps(40_000_000)));
        assert_eq!(Rate::from_bps(0).time_for(1), Span::MAX);
    }
}
