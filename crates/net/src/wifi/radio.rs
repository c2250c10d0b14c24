//! Which modulation reaches how far: log-distance path loss over a noise floor.

use super::modulation::Modulation;
use super::phy::{Phy, Standard};
use crate::time::Span;

/// The radio of every station of a cell. The defaults are those of ns-3: its Wi-Fi model sends at 16.0206 dBm (40 mW) with a
/// noise figure of 7 dB, and its log-distance model loses 46.6777 dB at 1 m (free space at 5.15 GHz), with an exponent of 3.
/// In the band of 2.4 GHz the loss at 1 m is that of free space at 2.437 GHz (channel 6): 40.18 dB.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Radio {
    /// Transmit power with antenna gains, dBm.
    pub power_dbm: f64,
    /// Path loss at 1 m, dB.
    pub loss_at_1m_db: f64,
    /// By how much the path loss grows: 10 times this for each factor of 10 in distance, dB.
    pub exponent: f64,
    /// The receiver's noise above the thermal noise, dB.
    pub noise_figure_db: f64,
}

impl Radio {
    /// The defaults in the band of a standard.
    pub const fn of(standard: Standard) -> Radio {
        let loss_at_1m_db = match standard {
            Standard::Fhss | Standard::B | Standard::G => 40.18,
            Standard::A | Standard::N | Standard::Ac => 46.6777,
        };
        Radio { power_dbm: 16.0206, loss_at_1m_db, exponent: 3.0, noise_figure_db: 7.0 }
    }
}

/// Thermal noise of 20 MHz at 290 K: -174 dBm/Hz and 73 dB.
const THERMAL_DBM: f64 = -174.0 + 73.010_299_956_639_81;

/// A distance in metres.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Metres(pub f64);

impl Metres {
    /// The time light takes, rounded to the nanosecond.
    pub fn propagation(self) -> Span {
        Span::from_secs_f64(self.0 / 299_792_458.0)
    }
}

impl Radio {
    /// The signal-to-noise ratio at a distance, dB. Closer than 1 m it is that at 1 m.
    pub fn snr_db(&self, phy: &Phy, distance: Metres) -> f64 {
        let loss = self.loss_at_1m_db + 10.0 * self.exponent * libm::log10(distance.0.max(1.0));
        self.power_dbm - loss - (THERMAL_DBM + phy.width_db + self.noise_figure_db)
    }

    /// The fastest modulation whose least signal-to-noise ratio is met at a distance.
    ///
    /// # Errors
    /// If not even the slowest one is: what the ratio is, and how far the cell reaches.
    pub fn modulation(&self, phy: &Phy, distance: Metres) -> Result<Modulation, String> {
        let snr = self.snr_db(phy, distance);
        if let Some(modulation) = phy.modulations.iter().rev().find(|m| m.least_snr_db <= snr) {
            return Ok(*modulation);
        }
        let least = phy.modulations[0].least_snr_db;
        let at_1m = self.snr_db(phy, Metres(1.0));
        let reach = libm::pow(10.0, (at_1m - least) / (10.0 * self.exponent));
        Err(format!(
            "{}m: the signal-to-noise ratio there is {snr:.1} dB, and the slowest rate needs {least} dB: give at most {:.0}m, \
             or the radio more power",
            distance.0,
            reach.floor()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::phy::Channel;
    use super::*;

    #[test]
    fn the_rate_falls_with_the_distance_and_ends() {
        let (radio, phy) = (Radio::of(Standard::A), Phy::new(Channel::of(Standard::A)));
        let rate = |m| radio.modulation(&phy, Metres(m)).map(|m| m.rate.as_bps() / 1_000_000);
        // 16.02 - 46.68 + 93.99 = 63.33 dB at 1 m; 54 Mbit/s needs 21 dB, so it reaches 10^(42.33 / 30) = 25.8 m.
        assert!((radio.snr_db(&phy, Metres(1.0)) - 63.33).abs() < 0.01);
        assert_eq!([1.0, 25.7, 25.9, 60.0, 94.0].map(rate), [Ok(54), Ok(54), Ok(48), Ok(18), Ok(6)]);
        let said = rate(100.0).unwrap_err();
        assert!(said.contains("at most 95m"), "{said}");
        // Free space: 20 log (4 π f / c) at 1 m.
        let free_space = |hz: f64| 20.0 * (4.0 * std::f64::consts::PI * hz / 299_792_458.0).log10();
        assert!((Radio::of(Standard::G).loss_at_1m_db - free_space(2.437e9)).abs() < 0.005);
        // ns-3 computes it with 3 · 10^8 m/s.
        assert!((radio.loss_at_1m_db - free_space(5.15e9)).abs() < 0.01);
    }
}
