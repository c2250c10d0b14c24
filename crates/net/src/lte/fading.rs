//! Fast fading: the power of a channel that is scattered around a moving user.
//!
//! Each path is a sum of sinusoids with random phases, whose directions of arrival are spread evenly around the user (R. H. Clarke,
//! "A statistical theory of mobile-radio reception", Bell System Technical Journal 47(6), 1968; M. F. Pop, N. C. Beaulieu,
//! "Limitations of sum-of-sinusoids fading channel simulators", IEEE Transactions on Communications 49(4), 2001, section III). So the
//! envelope is nearly that of Rayleigh, and its autocorrelation over a time t is J0(2 π f t) at the Doppler frequency f. The power at any
//! time is a function of the time alone.

use crate::rng::Stream;
use crate::time::Time;
use std::f64::consts::TAU;

crate::named! {
    /// The fast fading of a cell's users.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum FadingModel {
        /// The channel has its mean power at all times.
        None = "none",
        /// Rayleigh fading that is the same at all frequencies.
        Flat = "flat",
        /// Rayleigh fading of several paths with different delays, so that it differs from one frequency to another: typical urban.
        TypicalUrban = "typical-urban",
    }
}

/// The paths of the typical urban channel with six taps: delay in s and power in dB (COST 207; 3GPP TS 45.005 annex C.3.3, from
/// memory).
const TYPICAL_URBAN: [(f64, f64); 6] =
    [(0.0, -3.0), (0.2e-6, 0.0), (0.5e-6, -2.0), (1.6e-6, -6.0), (2.3e-6, -8.0), (5.0e-6, -10.0)];
const FLAT: [(f64, f64); 1] = [(0.0, 0.0)];

/// The sinusoids of a path. The variance of the power is less than Rayleigh's by one part in so many.
const SINUSOIDS: u32 = 20;
/// The carrier frequency of 3GPP's cases, Hz (TR 25.814 annex A.2.1.1).
const CARRIER_HZ: f64 = 2e9;
/// The speed of light, m/s.
const LIGHT: f64 = 299_792_458.0;

/// A complex number.
type Complex = (f64, f64);

fn polar(angle: f64) -> Complex {
    let (sine, cosine) = libm::sincos(angle);
    (cosine, sine)
}

/// A sinusoid: angular frequency in rad/s, and phase.
#[derive(Clone, Copy, Debug)]
struct Sinusoid {
    frequency: f64,
    phase: f64,
}

/// A path to a receive antenna.
struct Path {
    /// The amplitude of each of its sinusoids.
    amplitude: f64,
    sinusoids: Vec<Sinusoid>,
}

impl Path {
    fn at(&self, seconds: f64) -> Complex {
        let (mut real, mut imaginary) = (0.0, 0.0);
        for one in &self.sinusoids {
            let (x, y) = polar(one.frequency * seconds + one.phase);
            real += x;
            imaginary += y;
        }
        (self.amplitude * real, self.amplitude * imaginary)
    }
}

/// The fading channel between the base station and a user in one direction.
pub struct Fading {
    /// The paths to each receive antenna.
    antennas: Vec<Vec<Path>>,
    /// The rotation of each path at the centre of each subband.
    subbands: Vec<Vec<Complex>>,
}

/// The Doppler frequency at a speed in m/s, Hz.
pub fn doppler_hz(metres_per_second: f64) -> f64 {
    metres_per_second * CARRIER_HZ / LIGHT
}

impl Fading {
    /// A channel to so many receive antennas, which fade independently, at a Doppler frequency. Its power is told at the centres of
    /// subbands, given in Hz; a flat channel has one subband, and a channel without fading has neither paths nor subbands.
    pub fn new(model: FadingModel, antennas: u32, doppler_hz: f64, centres_hz: &[f64], dice: &mut Stream) -> Fading {
        let (taps, centres): (&[(f64, f64)], &[f64]) = match model {
            FadingModel::None => (&[], &[]),
            FadingModel::Flat => (&FLAT, &[0.0]),
            FadingModel::TypicalUrban => (&TYPICAL_URBAN, centres_hz),
        };
        let power = |db: f64| super::adaptation::from_db(db);
        let whole: f64 = taps.iter().map(|(_, db)| power(*db)).sum();
        let mut path = |db: f64| {
            let turn = dice.unit();
            let sinusoids = (0..SINUSOIDS).map(|k| {
                let arrival = TAU * (f64::from(k) + turn) / f64::from(SINUSOIDS);
                Sinusoid { frequency: TAU * doppler_hz * libm::cos(arrival), phase: TAU * dice.unit() }
            });
            let sinusoids = sinusoids.collect();
            Path { amplitude: libm::sqrt(power(db) / (whole * f64::from(SINUSOIDS))), sinusoids }
        };
        let antennas = (0..antennas).map(|_| taps.iter().map(|(_, db)| path(*db)).collect()).collect();
        let rotations = |centre: &f64| taps.iter().map(|(delay, _)| polar(-TAU * centre * delay)).collect();
        Fading { antennas, subbands: centres.iter().map(rotations).collect() }
    }

    /// Calls `each` with the power in each subband at a time, relative to the mean power of one antenna: the receiver adds up
    /// what its antennas receive (maximum ratio combining). A channel without fading has one subband with the number of antennas.
    pub fn powers(&self, at: Time, mut each: impl FnMut(f64)) {
        let seconds = at.as_secs_f64();
        if self.subbands.is_empty() {
            return each(self.antennas.len() as f64);
        }
        let now = |paths: &Vec<Path>| -> Vec<Complex> { paths.iter().map(|path| path.at(seconds)).collect() };
        let antennas: Vec<Vec<Complex>> = self.antennas.iter().map(now).collect();
        for rotations in &self.subbands {
            let power = antennas.iter().map(|paths| {
                let turned = paths.iter().zip(rotations).map(|((x, y), (c, s))| (x * c - y * s, x * s + y * c));
                let (real, imaginary) = turned.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
                real * real + imaginary * imaginary
            });
            each(power.sum());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::time::Span;

    fn channel(model: FadingModel, antennas: u32, number: u64) -> Fading {
        let mut dice = Streams::new(1, number).named("fading");
        // 30 km/h.
        Fading::new(model, antennas, doppler_hz(30.0 / 3.6), &[-2e6, 2e6], &mut dice)
    }

    fn powers(fading: &Fading, at: Time) -> Vec<f64> {
        let mut all = Vec::new();
        fading.powers(at, |power| all.push(power));
        all
    }

    #[test]
    fn the_doppler_frequency_is_that_of_2_ghz() {
        assert!((doppler_hz(30.0 / 3.6) - 55.6).abs() < 0.1 && doppler_hz(0.0) == 0.0);
    }

    /// The power of a Rayleigh channel is an exponential deviate: P(power > x) = exp(-x). With two antennas it is a sum of two.
    #[test]
    fn the_power_is_that_of_rayleigh() {
        for (model, antennas) in [(FadingModel::Flat, 1), (FadingModel::TypicalUrban, 1), (FadingModel::Flat, 2)] {
            let seen: Vec<f64> = (0..20_000)
                .map(|number| powers(&channel(model, antennas, number), Time::ZERO + Span::from_secs(7))[0])
                .collect();
            let mean = seen.iter().sum::<f64>() / seen.len() as f64;
            assert!((mean - f64::from(antennas)).abs() < 0.04, "{model:?}, {antennas}: {mean}");
            for x in [0.1, 0.5, 1.0, 2.0, 4.0] {
                let above = seen.iter().filter(|power| **power > x).count() as f64 / seen.len() as f64;
                let expected = libm::exp(-x) * if antennas == 1 { 1.0 } else { 1.0 + x };
                assert!((above - expected).abs() < 0.015, "{model:?}, {antennas}: {above} above {x}, not {expected}");
            }
        }
    }

    /// The autocorrelation of the complex gain is J0 (Clarke). That of the power is its square, less the part that a finite number of sinusoids
    /// lacks.
    #[test]
    fn the_autocorrelation_is_that_of_clarke() {
        let (f, n) = (doppler_hz(30.0 / 3.6), 20_000);
        for millis in [0u64, 1, 3, 5, 7, 10, 14] {
            let later = Time::ZERO + Span::from_millis(millis);
            let (mut gains, mut squares) = (0.0, 0.0);
            for number in 0..n {
                let fading = channel(FadingModel::Flat, 1, number);
                let [a, b] = [0.0, later.as_secs_f64()].map(|seconds| fading.antennas[0][0].at(seconds));
                gains += a.0 * b.0 + a.1 * b.1;
                squares += powers(&fading, Time::ZERO)[0] * powers(&fading, later)[0];
            }
            let j0 = libm::j0(TAU * f * later.as_secs_f64());
            let (gain, power) = (gains / n as f64, squares / n as f64 - 1.0);
            assert!((gain - j0).abs() < 0.02, "after {millis} ms: {gain}, not {j0}");
            let expected = j0 * j0 - 1.0 / f64::from(SINUSOIDS);
            assert!((power - expected).abs() < 0.05, "after {millis} ms: {power}, not {expected}");
        }
    }

    /// The correlation of the powers at two frequencies is the squared magnitude of the Fourier transform of the power delay profile.
    #[test]
    fn paths_with_delays_fade_differently_at_other_frequencies() {
        let (mut product, n) = (0.0, 20_000);
        for number in 0..n {
            let [low, high] = powers(&channel(FadingModel::TypicalUrban, 1, number), Time::ZERO)[..] else { panic!() };
            product += low * high;
        }
        let seen = product / f64::from(n as u32) - 1.0;
        let power = |db: f64| libm::pow(10.0, db / 10.0);
        let whole: f64 = TYPICAL_URBAN.iter().map(|(_, db)| power(*db)).sum();
        let at = |turn: fn(f64) -> f64| -> f64 {
            TYPICAL_URBAN.iter().map(|(delay, db)| power(*db) * turn(TAU * 4e6 * delay)).sum::<f64>() / whole
        };
        let expected = at(f64::cos).powi(2) + at(f64::sin).powi(2);
        assert!((seen - expected).abs() < 0.05, "{seen}, not {expected}");
        assert_eq!(powers(&channel(FadingModel::None, 2, 0), Time::ZERO), [2.0]);
    }
}
