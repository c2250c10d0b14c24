//! Queue lengths: in packets, in bytes, or in bandwidth-delay products of the path.

use super::Backlog;
use crate::time::Span;
use crate::units::{QuantityError, Rate, parse_bytes};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The limit of a queue; the packet being sent does not count. In JSON:
/// `{"packets": 1000}` or `{"bytes": 64000}`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `len` bytes may join `backlog`.
    #[inline]
    pub fn admits(self, backlog: Backlog, len: u32) -> bool {
        match self {
            Limit::Packets(n) => backlog.packets < n,
            Limit::Bytes(n) => backlog.bytes.saturating_add(u64::from(len)) <= n,
        }
    }
}

/// A limit as it is configured: written `1000p`, `64kB` or `1bdp`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Length {
    /// Packets.
    Packets(u64),
    /// Bytes.
    Bytes(u64),
    /// Bandwidth-delay products: times rate × base RTT, in packets of the MTU.
    Bdp(f64),
}

/// The path from which a length in bandwidth-delay products is computed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scale {
    /// The link's rate. An unlimited link has no bandwidth-delay product; such a length is then one packet.
    pub rate: Option<Rate>,
    /// The path's base RTT.
    pub rtt: Span,
    /// The link's MTU, bytes.
    pub mtu: u32,
}

impl Length {
    /// Parses `1000p`, `64kB`, `1bdp`.
    ///
    /// # Errors
    ///
    /// If it is none of these. The error says what would be right.
    pub fn parse(text: &str) -> Result<Length, QuantityError> {
        let expected =
            "a queue length: write packets (\"1000p\"), bytes (\"64kB\") or bandwidth-delay products (\"1bdp\")";
        let wrong = || QuantityError { given: text.to_string(), expected };
        let plain = text.trim();
        if let Some(number) = plain.strip_suffix("bdp") {
            let x: f64 = number.trim().parse().map_err(|_| wrong())?;
            return (x > 0.0 && x <= 1e6).then_some(Length::Bdp(x)).ok_or_else(wrong);
        }
        if let Some(number) = plain.strip_suffix('p') {
            let n: u64 = number.trim().parse().map_err(|_| wrong())?;
            return (n <= 1_000_000_000).then_some(Length::Packets(n)).ok_or_else(wrong);
        }
        parse_bytes(plain).map(|b| Length::Bytes(b.0)).map_err(|_| wrong())
    }

    /// The limit for a path.
    pub fn limit(self, scale: &Scale) -> Limit {
        match self {
            Length::Packets(n) => Limit::Packets(n),
            Length::Bytes(n) => Limit::Bytes(n),
            Length::Bdp(times) => {
                let bytes = scale.rate.map_or(0, |r| r.bytes_in(scale.rtt)) as f64 * times;
                Limit::Packets(((bytes / f64::from(scale.mtu.max(1))).round() as u64).max(1))
            }
        }
    }
}

impl From<Limit> for Length {
    fn from(limit: Limit) -> Length {
        match limit {
            Limit::Packets(n) => Length::Packets(n),
            Limit::Bytes(n) => Length::Bytes(n),
        }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Length::Packets(n) => write!(f, "{n}p"),
            Length::Bytes(n) => write!(f, "{n}B"),
            Length::Bdp(times) => write!(f, "{times}bdp"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_shown_with_their_units() {
        for (text, length) in
            [("1000p", Length::Packets(1000)), ("64 kB", Length::Bytes(64_000)), ("0.5bdp", Length::Bdp(0.5))]
        {
            assert_eq!(Length::parse(text), Ok(length));
            assert_eq!(Length::parse(&length.to_string()), Ok(length));
        }
        for wrong in ["", "p", "-1p", "1.5p", "0bdp", "nanbdp", "12", "9999999999p"] {
            assert!(Length::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bandwidth_delay_product_is_counted_in_full_packets() {
        let scale = Scale { rate: Some(Rate::from_bps(12_000_000)), rtt: Span::from_millis(100), mtu: 1500 };
        assert_eq!(Length::Bdp(1.0).limit(&scale), Limit::Packets(100));
        assert_eq!(Length::Bdp(0.001).limit(&scale), Limit::Packets(1));
        assert_eq!(Length::Bdp(2.0).limit(&Scale { rate: None, ..scale }), Limit::Packets(1));
    }
}
