//! Bands of packets by priority, as Linux's disciplines with bands derive it from the IP header.

use super::config::Value;
use crate::units::QuantityError;
use std::fmt;

/// The priority of each value of the ToS field's four bits (Linux net/ipv4/route.c, `ip_tos2prio`; RFC 1349).
const PRIORITIES: [u8; 16] = [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];

/// The priority of a packet of this class (a DiffServ codepoint, see [`crate::Packet::class`]), from 0 to 15: Linux reads
/// the ToS byte as RFC 1349 defined it, and leaves the precedence aside.
pub(super) fn priority(class: u8) -> usize {
    PRIORITIES[usize::from(class << 2 & 0x1e) >> 1].into()
}

/// Numbers that a discipline is given as one parameter, separated by spaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbers<const N: usize>(pub [u64; N]);

/// The band of each priority (0 is served first).
pub type PrioMap = Numbers<16>;

impl PrioMap {
    /// Linux's own map (net/sched/sch_generic.c, `sch_default_prio2band`).
    pub const LINUX: PrioMap = Numbers([1, 2, 2, 2, 1, 2, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);

    /// The band of a packet of this class, at most `last`.
    pub(super) fn band(&self, class: u8, last: usize) -> usize {
        usize::try_from(self.0[priority(class)]).map_or(last, |band| band.min(last))
    }
}

impl<const N: usize> fmt::Display for Numbers<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, number) in self.0.iter().enumerate() {
            write!(f, "{}{number}", if n == 0 { "" } else { " " })?;
        }
        Ok(())
    }
}

fn numbers<const N: usize>(text: &str, expected: &'static str) -> Result<Numbers<N>, QuantityError> {
    let wrong = || QuantityError { given: text.to_string(), expected };
    let numbers: Result<Vec<u64>, _> = text.split_whitespace().map(str::parse).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).map(Numbers).ok_or_else(wrong)
}

impl Value for PrioMap {
    const EXAMPLE: &'static str = "1 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1";
    fn parse(text: &str) -> Result<PrioMap, QuantityError> {
        numbers(text, "a map of priorities: write the bands of the priorities 0 to 15, 16 numbers with spaces between")
    }
    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for Numbers<3> {
    const EXAMPLE: &'static str = "589824 196608 65536";
    fn parse(text: &str) -> Result<Numbers<3>, QuantityError> {
        numbers(text, "three weights: write three whole numbers with spaces between")
    }
    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

/// The number of bands of a discipline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bands(pub u8);

impl Value for Bands {
    const EXAMPLE: &'static str = "3";
    fn parse(text: &str) -> Result<Bands, QuantityError> {
        let wrong = || QuantityError { given: text.to_string(), expected: "a number of bands: write 2 to 16" };
        text.trim().parse().ok().filter(|n| (2..=16).contains(n)).map(Bands).ok_or_else(wrong)
    }
    fn text(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of tc-prio(8), whose column `Band` follows from ToS, Linux priority and the default map.
    #[test]
    fn the_bands_of_all_tos_values_are_those_of_the_manual_page() {
        for (tos, expected, band) in [
            (0x00, 0, 1), // normal service
            (0x04, 0, 1), // maximise reliability
            (0x08, 2, 2), // maximise throughput
            (0x0c, 2, 2),
            (0x10, 6, 0), // minimise delay
            (0x14, 6, 0),
            (0x18, 4, 1), // minimise delay, maximise throughput
            (0x1c, 4, 1),
        ] {
            assert_eq!((priority(tos >> 2), PrioMap::LINUX.band(tos >> 2, 2)), (expected, band), "{tos:#x}");
            // The precedence changes nothing: expedited forwarding, 0xb8, is in the last but one band.
            assert_eq!(priority((tos | 0xa0) >> 2), expected);
        }
        assert_eq!(PrioMap::LINUX.band(46, 2), 1);
    }

    #[test]
    fn lists_of_numbers_are_read_as_they_are_shown() {
        assert_eq!(PrioMap::parse(PrioMap::EXAMPLE), Ok(PrioMap::LINUX));
        assert_eq!(PrioMap::LINUX.to_string(), PrioMap::EXAMPLE);
        assert!(PrioMap::parse("1 2 3").is_err_and(|e| e.to_string().contains("16 numbers")));
        assert!(Numbers::<3>::parse("1 2 3 4").is_err() && Numbers::<3>::parse("1 2 -3").is_err());
        assert!(Bands::parse("1").is_err() && Bands::parse("17").is_err() && Bands::parse("16") == Ok(Bands(16)));
    }
}
