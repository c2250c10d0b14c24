//! Link adaptation: which spectral efficiency a signal-to-interference-and-noise ratio (SINR) allows.

use crate::topology::Direction;

/// An attenuated Shannon bound: a share of log2(1 + SINR), nothing below a least SINR, and no more than the highest modulation and
/// coding scheme carries.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Adaptation {
    /// The share of the bound that an implementation reaches.
    pub attenuation: f64,
    /// The SINR of the lowest modulation and coding scheme, dB; below it nothing is received.
    pub least_sinr_db: f64,
    /// The spectral efficiency of the highest one, bit/s/Hz.
    pub most: f64,
}

impl Adaptation {
    /// The parameters of LTE (3GPP TR 36.942 annex A.2, from memory): from one transmit antenna in a channel of typical urban
    /// propagation at 3 km/h (down) or 10 km/h (up), with link adaptation and HARQ.
    pub const fn of(direction: Direction) -> Adaptation {
        match direction {
            Direction::Down => Adaptation { attenuation: 0.6, least_sinr_db: -10.0, most: 4.4 },
            Direction::Up => Adaptation { attenuation: 0.4, least_sinr_db: -10.0, most: 2.0 },
        }
    }

    /// The spectral efficiency at a SINR that is given as a ratio, bit/s/Hz.
    pub fn efficiency(&self, sinr: f64) -> f64 {
        if sinr.is_nan() || sinr < from_db(self.least_sinr_db) {
            return 0.0;
        }
        (self.attenuation * libm::log2(1.0 + sinr)).min(self.most)
    }
}

/// The ratio of so many decibels.
pub(super) fn from_db(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// A ratio in decibels.
pub(super) fn to_db(ratio: f64) -> f64 {
    10.0 * libm::log10(ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_efficiency_is_attenuated_and_bounded() {
        let (down, up) = (Adaptation::of(Direction::Down), Adaptation::of(Direction::Up));
        assert_eq!((down.efficiency(1.0), up.efficiency(1.0)), (0.6, 0.4));
        assert_eq!((down.efficiency(from_db(40.0)), up.efficiency(from_db(40.0))), (4.4, 2.0));
        // log2(1 + 0.1) = 0.1375.
        assert!((down.efficiency(from_db(-9.999_999)) - 0.0825).abs() < 1e-4);
        assert_eq!([from_db(-10.01), 0.0, -1.0, f64::NAN].map(|sinr| down.efficiency(sinr)), [0.0; 4]);
    }
}
