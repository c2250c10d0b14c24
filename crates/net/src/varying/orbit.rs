//! The delay of a link over a satellite: the way up to the satellite and down to a ground station ("bent pipe").

use super::{Between, Profile};
use crate::rng::Stream;
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// Mean radius of the Earth, km (IUGG).
const EARTH_KM: f64 = 6371.0;
/// The speed of light, km/s.
const LIGHT_KM_S: f64 = 299_792.458;
/// Altitude of the geostationary orbit, km (ITU-R S.1503).
pub const GEOSTATIONARY_KM: f64 = 35_786.0;
/// How many satellites follow each other before the sequence begins anew: an hour at 15 s.
const SATELLITES: u64 = 240;

/// Satellites in a low orbit. In each interval another one serves the terminal. In JSON: `{"altitude_km": 550.0,
/// "least_elevation_deg": 25.0, "interval_ns": 15000000000}`.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orbit {
    /// The altitude of the satellites, km.
    pub altitude_km: f64,
    /// The least elevation above the horizon at which a satellite serves, degrees.
    pub least_elevation_deg: f64,
    /// How long one satellite serves.
    #[serde(rename = "interval_ns")]
    pub interval: Span,
}

/// How far a satellite is away that is seen at an elevation, km.
pub fn slant_range_km(altitude_km: f64, elevation_deg: f64) -> f64 {
    let sine = libm::sin(elevation_deg.to_radians());
    let (r, h) = (EARTH_KM, altitude_km);
    libm::sqrt(r * r * sine * sine + 2.0 * r * h + h * h) - r * sine
}

/// The propagation delay from a terminal over a satellite to a ground station, which see it at these elevations.
pub fn bent_pipe(altitude_km: f64, elevations_deg: [f64; 2]) -> Span {
    let km: f64 = elevations_deg.iter().map(|&elevation| slant_range_km(altitude_km, elevation)).sum();
    Span::from_secs_f64(km / LIGHT_KM_S)
}

impl Orbit {
    /// The longest delay: both ends see the satellite at the least elevation.
    pub fn longest(&self) -> Span {
        bent_pipe(self.altitude_km, [self.least_elevation_deg; 2])
    }

    /// The delay over time, added to `ground`. In each interval, terminal and ground station see the satellite at elevations
    /// drawn uniformly from the least one to the zenith. It is constant during an interval: in 15 s a satellite at 550 km
    /// comes nearer or goes away by at most 0.4 ms.
    pub(crate) fn profile(&self, ground: Span, stream: &mut Stream) -> Option<Profile> {
        let mut elevation = || self.least_elevation_deg + (90.0 - self.least_elevation_deg) * stream.unit();
        let value = (0..SATELLITES).map(|_| {
            let elevations = [elevation(), elevation()];
            (ground + bent_pipe(self.altitude_km, elevations)).as_nanos()
        });
        let value: Vec<u64> = value.collect();
        let at: Vec<Span> = (0..SATELLITES).map(|n| self.interval * n).collect();
        Profile::new(&at, &value, Between::Step, Some(self.interval * SATELLITES)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;
    use crate::time::Time;

    /// RFC 2488 section 2: 119.8 ms up to a geostationary satellite or down from it where it stands in the zenith, and 279.0
    /// ms for both ways at the edge of the area that sees it.
    #[test]
    fn geostationary_delays_are_those_of_rfc_2488() {
        let ms = |elevation| bent_pipe(GEOSTATIONARY_KM, [elevation; 2]).as_secs_f64() * 1e3;
        assert!((ms(90.0) - 239.6).abs() < 1.0, "{}", ms(90.0));
        assert!((ms(0.0) - 279.0).abs() < 1.0, "{}", ms(0.0));
    }

    /// G. Huston, "A transport protocol's view of Starlink", 2024: to a satellite at 550 km and back are 3.7 ms, and 7.5 ms at
    /// an elevation of 25 degrees.
    #[test]
    fn low_orbits_have_the_delays_that_were_published() {
        let ms = |elevation| bent_pipe(550.0, [elevation; 2]).as_secs_f64() * 1e3;
        assert!((ms(90.0) - 3.7).abs() < 0.05, "{}", ms(90.0));
        assert!((ms(25.0) - 7.5).abs() < 0.1, "{}", ms(25.0));
    }

    #[test]
    fn each_interval_has_another_satellite() {
        let orbit = Orbit { altitude_km: 550.0, least_elevation_deg: 25.0, interval: Span::from_secs(15) };
        let profile = orbit.profile(Span::from_millis(10), &mut Streams::new(1, 0).named("link/orbit")).unwrap();
        let value = |s: f64| profile.value(Time::ZERO + Span::from_secs_f64(s));
        assert_eq!(value(0.0), value(14.9));
        assert_ne!(value(14.9), value(15.0));
        let all: Vec<u64> = (0..240).map(|n| value(15.0 * f64::from(n))).collect();
        let (least, most) =
            (Span::from_millis(10) + bent_pipe(550.0, [90.0; 2]), Span::from_millis(10) + orbit.longest());
        assert!(all.iter().all(|&ns| (least.as_nanos()..=most.as_nanos()).contains(&ns)));
        assert!(all.iter().any(|&ns| ns > 16_000_000) && all.iter().any(|&ns| ns < 14_500_000));
    }
}
