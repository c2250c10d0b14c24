//! BBR's fixed-point numbers: gains in 1/256 and bandwidth in segments a microsecond, scaled by 2^24.
//!
//! The divisions round where Linux rounds (`tcp_bbr.c`: `BW_SCALE`, `BBR_SCALE`), so that a window computed here equals
//! the kernel's to the segment.

use haltere_net::wide::saturating_product;

/// The gain 1 (`BBR_UNIT`).
pub(super) const UNIT: u64 = 1 << GAIN_SHIFT;
const GAIN_SHIFT: u32 = 8;
const BANDWIDTH_SHIFT: u32 = 24;
/// The pacing rate as a share of the estimated bandwidth, per cent (`bbr_pacing_margin_percent` is the rest).
const PACED_PERCENT: u64 = 99;
const MICROS_PER_SEC: u64 = 1_000_000;

/// A bandwidth, in segments a microsecond times 2^24.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(super) struct Bandwidth(pub u64);

impl Bandwidth {
    /// The bandwidth at which `bytes` in segments of `mss` take `micros`; `None` for an empty interval.
    pub(super) fn of(bytes: u64, mss: u64, micros: u64) -> Option<Bandwidth> {
        let scaled = saturating_product(bytes, 1 << BANDWIDTH_SHIFT).checked_div(mss)?;
        scaled.checked_div(micros).map(Bandwidth)
    }

    /// Whole segments delivered in `micros`.
    pub(super) fn segments_in(self, micros: u64) -> u64 {
        saturating_product(self.0, micros) >> BANDWIDTH_SHIFT
    }

    /// `gain` times the segments delivered in `micros`, rounded up. Rounding down would let a small window reduce the
    /// bandwidth from which the window is computed.
    pub(super) fn segments_ceil(self, micros: u64, gain: u64) -> u64 {
        let scaled = saturating_product(saturating_product(self.0, micros), gain) >> GAIN_SHIFT;
        scaled.div_ceil(1 << BANDWIDTH_SHIFT)
    }

    /// `gain` times this bandwidth less the pacing margin, in bytes of data a second.
    pub(super) fn paced(self, mss: u64, gain: u64) -> u64 {
        let gained = saturating_product(saturating_product(self.0, mss), gain) >> GAIN_SHIFT;
        saturating_product(gained, MICROS_PER_SEC / 100 * PACED_PERCENT) >> BANDWIDTH_SHIFT
    }

    /// This bandwidth in bytes of data a second.
    pub(super) fn bytes_a_second(self, mss: u64) -> u64 {
        saturating_product(saturating_product(self.0, mss), MICROS_PER_SEC) >> BANDWIDTH_SHIFT
    }

    /// This bandwidth times a gain.
    pub(super) fn scaled(self, gain: u64) -> Bandwidth {
        Bandwidth(saturating_product(self.0, gain) >> GAIN_SHIFT)
    }

    /// The rate in bytes, counted in segments of another size.
    pub(super) fn resized(self, from: u64, to: u64) -> Bandwidth {
        Bandwidth(saturating_product(self.0, from) / to.max(1))
    }
}
