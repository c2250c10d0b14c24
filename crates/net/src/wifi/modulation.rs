//! The modulations of IEEE 802.11, with the least signal-to-noise ratio of each.
//!
//! Clauses and tables are those of IEEE Std 802.11-2016.

use super::phy::{Channel, Standard};
use crate::units::Rate;

/// A modulation with its coding rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Modulation {
    /// Its data rate.
    pub rate: Rate,
    /// Data bits a symbol (N_DBPS); 0 without symbols.
    pub(super) bits: u64,
    /// The least signal-to-noise ratio at which it is used, dB.
    pub least_snr_db: f64,
}

/// The implementation margin and noise figure that the standard's sensitivities assume: 5 dB and 10 dB (clause 17.3.10.2).
/// The least SNR of a modulation is its sensitivity without the margin, over the thermal noise of 20 MHz with that noise
/// figure: -174 + 73 + 10 = -91 dBm.
const SENSITIVITY_TO_SNR_DB: f64 = 91.0 - 5.0;

/// Sensitivities at 20 MHz, dBm, by modulation and coding scheme (tables 19-23 and 21-25; 802.11a and g: table 17-18, where
/// BPSK 3/4 has -81). Each doubling of the width adds 3 dB of noise and 3 dB of sensitivity.
const SENSITIVITIES: [f64; 10] = [-82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0];

/// Coded bits a subcarrier and the coding rate of each scheme (tables 19-27 to 19-30, 21-30).
const SCHEMES: [(u64, u64, u64); 10] =
    [(1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6), (8, 3, 4), (8, 5, 6)];

/// An OFDM modulation with this number of data bits a symbol.
fn symbols(bits: u64, tenths_us: u64, sensitivity: f64) -> Modulation {
    // Bits a symbol of tenths of a microsecond.
    let rate = Rate::from_bps(bits * 10_000_000 / tenths_us);
    Modulation { rate, bits, least_snr_db: sensitivity + SENSITIVITY_TO_SNR_DB }
}

/// A modulation without symbols.
pub(super) fn plain(kbps: u64, least_snr_db: f64) -> Modulation {
    Modulation { rate: Rate::from_bps(kbps * 1000), bits: 0, least_snr_db }
}

/// The modulations of 802.11a: 48 data subcarriers and symbols of 4 µs (table 17-4).
pub(super) fn ofdm() -> Vec<Modulation> {
    let schemes =
        [(24, -82.0), (36, -81.0), (48, -79.0), (72, -77.0), (96, -74.0), (144, -70.0), (192, -66.0), (216, -65.0)];
    schemes.iter().map(|&(bits, sensitivity)| symbols(bits, 40, sensitivity)).collect()
}

/// The mandatory rates of 802.11a: 6, 12 and 24 Mbit/s (clause 17.2.2.3).
pub(super) fn ofdm_basic() -> Vec<Modulation> {
    ofdm().into_iter().filter(|m| [24, 48, 96].contains(&m.bits)).collect()
}

/// The modulations of 802.11n and 802.11ac.
pub(super) fn high_throughput(channel: Channel) -> Vec<Modulation> {
    let very = channel.standard == Standard::Ac;
    // Data subcarriers (tables 19-6 and 21-5).
    let subcarriers = match channel.width.0 {
        40 => 108,
        80 => 234,
        160 => 468,
        _ => 52,
    };
    let tenths_us = if channel.short_guard { 36 } else { 40 };
    let count = if very { 10 } else { 8 };
    let schemes = (0..).zip(SCHEMES.iter().zip(SENSITIVITIES)).take(count);
    // Some combinations have no whole number of bits a symbol and do not exist, such as scheme 9 at 20 MHz with 1 stream.
    let exists = |(scheme, ((coded, num, den), _)): &(u32, (&(u64, u64, u64), f64))| {
        *scheme < 8 || (subcarriers * coded * u64::from(channel.streams) * num).is_multiple_of(*den)
    };
    let all = schemes.filter(exists);
    all.map(|(_, ((coded, num, den), sensitivity))| {
        symbols(subcarriers * coded * u64::from(channel.streams) * num / den, tenths_us, sensitivity)
    })
    .collect()
}
