//! Where nodes are, and how much longer paths are than the great circle between their ends.

/// Mean radius of the earth, kilometres: (2a + b) / 3 of GRS 80 (Moritz, Journal of Geodesy 74, 2000; IUGG 1980).
pub const EARTH_KM: f64 = 6371.0088;

/// Speed of light in a vacuum, kilometres a second (SI).
pub const LIGHT_KM_S: f64 = 299_792.458;

/// The speed of light in fibre as a share of that in a vacuum (Percacci and Vespignani, "Scale-free behavior of the
/// Internet global performance", European Physical Journal B 32, 2003).
pub const IN_FIBRE: f64 = 2.0 / 3.0;

/// A node's place: latitude and longitude in radians, and the latitude's cosine; NaN if not known.
#[derive(Clone, Copy, Debug)]
struct Location {
    latitude: f64,
    longitude: f64,
    cosine: f64,
}

impl Location {
    fn is_known(&self) -> bool {
        !self.cosine.is_nan()
    }

    /// The great circle between two places, kilometres: the haversine (Sinnott, Sky and Telescope 68, 1984), which
    /// unlike the law of cosines keeps its digits where places are near.
    fn distance_km(&self, other: &Location) -> f64 {
        let half = |angle: f64| {
            let sine = libm::sin(angle / 2.0);
            sine * sine
        };
        let across = half(self.longitude - other.longitude);
        let share = half(self.latitude - other.latitude) + self.cosine * other.cosine * across;
        2.0 * EARTH_KM * libm::asin(libm::sqrt(share.min(1.0)))
    }
}

/// Error: the coordinates of this node are not valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoPlace {
    /// The node.
    pub node: usize,
    /// Its latitude as given, degrees.
    pub latitude: f64,
    /// Its longitude as given, degrees.
    pub longitude: f64,
}

impl std::fmt::Display for NoPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let NoPlace { node, latitude, longitude } = self;
        write!(
            f,
            "node {node} is at no place on earth: latitude {latitude}, longitude {longitude}; give degrees from "
        )?;
        f.write_str("-90 to 90 and -180 to 180, or NaN where they are not known")
    }
}
impl std::error::Error for NoPlace {}

/// The places of all nodes of a graph.
#[derive(Clone, Debug)]
pub struct Places(Vec<Location>);

/// The geography of a path; a value that is not known is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geography {
    /// D_p: the great circles between its located nodes, one after the other, kilometres; NaN if there are fewer than
    /// two.
    pub path_km: f64,
    /// D_r: the great circle between its ends, kilometres; NaN if one of them is not located.
    pub direct_km: f64,
    /// The share of its nodes that are located.
    pub located: f64,
}

impl Places {
    /// Takes a latitude and a longitude in degrees for each node; NaN means that the node is not located.
    ///
    /// Errors name the first node whose coordinates are out of range, or the first that lacks one of the two.
    pub fn new(latitudes: &[f64], longitudes: &[f64]) -> Result<Places, NoPlace> {
        let given = |of: &[f64], node: usize| of.get(node).copied().unwrap_or(f64::INFINITY);
        let nodes = 0..latitudes.len().max(longitudes.len());
        let place = |node: usize| {
            let (latitude, longitude) = (given(latitudes, node), given(longitudes, node));
            if latitude.abs() > 90.0 || longitude.abs() > 180.0 {
                return Err(NoPlace { node, latitude, longitude });
            }
            // One NaN makes all of it unknown.
            let radians = latitude.to_radians();
            Ok(Location {
                latitude: radians,
                longitude: longitude.to_radians(),
                cosine: libm::cos(radians) + 0.0 * longitude,
            })
        };
        Ok(Places(nodes.map(place).collect::<Result<_, _>>()?))
    }

    /// The geography of a path, given by its nodes.
    pub fn geography(&self, path: &[u32]) -> Geography {
        let place = |node: &u32| self.0.get(*node as usize).filter(|place| place.is_known());
        let (mut path_km, mut before, mut located) = (0.0, None::<&Location>, 0usize);
        for here in path.iter().filter_map(place) {
            path_km += before.map_or(0.0, |before| before.distance_km(here));
            (before, located) = (Some(here), located + 1);
        }
        let ends = path.first().and_then(place).zip(path.last().and_then(place));
        Geography {
            path_km: if located < 2 { f64::NAN } else { path_km },
            direct_km: ends.map_or(f64::NAN, |(first, last)| first.distance_km(last)),
            located: located as f64 / path.len() as f64,
        }
    }
}

impl Geography {
    /// Geographic dispersion D_g = (D_p - D_r) / D_r; 0 means straight. NaN if the ends are not located or are at the
    /// same place. Not below 0 but for rounding, by the triangle inequality.
    pub fn dispersion(&self) -> f64 {
        if self.direct_km > 0.0 { max_0((self.path_km - self.direct_km) / self.direct_km) } else { f64::NAN }
    }

    /// The least delay there and back that light in fibre between the ends takes, microseconds; NaN if these are not
    /// located.
    pub fn least_us(&self) -> f64 {
        2.0 * self.direct_km / (IN_FIBRE * LIGHT_KM_S) * 1e6
    }

    /// ρ: a delay over the least possible; NaN if that is 0 or not known.
    pub fn delay_dispersion(&self, delay_us: f64) -> f64 {
        let least = self.least_us();
        if least > 0.0 { delay_us / least } else { f64::NAN }
    }
}

/// The value raised to 0 if it is negative; NaN stays NaN.
fn max_0(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) -> bool {
        (a - b).abs() <= by
    }

    #[test]
    fn known_distances() {
        // A quarter of a meridian and of the equator are a quarter of 2 pi R; antipodes are half of it.
        let quarter = std::f64::consts::FRAC_PI_2 * EARTH_KM;
        let places = Places::new(&[0.0, 90.0, 0.0, 0.0, 0.0], &[0.0, 77.0, 90.0, -179.0, 1.0]).unwrap();
        for (path, km) in [([0, 1], quarter), ([0, 2], quarter), ([1, 2], quarter), ([3, 4], 2.0 * quarter)] {
            assert!(near(places.geography(&path).direct_km, km, 1e-6), "{path:?}");
        }
        // Across the date line: 358 degrees are 2.
        let line = Places::new(&[0.0, 0.0], &[-179.0, 179.0]).unwrap();
        assert!(near(line.geography(&[0, 1]).direct_km, 2.0f64.to_radians() * EARTH_KM, 1e-9));
        // A millimetre is not rounded away.
        let metre = 1e-6 / EARTH_KM;
        let close = Places::new(&[45.0, 45.0 + metre.to_degrees()], &[9.0, 9.0]).unwrap();
        assert!(near(close.geography(&[0, 1]).direct_km, 1e-6, 1e-11));
    }

    #[test]
    fn a_straight_path_has_no_dispersion_and_the_least_delay() {
        let places = Places::new(&[0.0; 4], &[0.0, 13.3, 30.0, 71.7]).unwrap();
        let path = places.geography(&[0, 1, 2, 3]);
        assert!(near(path.dispersion(), 0.0, 1e-12) && path.dispersion() >= 0.0, "{}", path.dispersion());
        assert!(near(places.geography(&[0, 3, 0, 3]).dispersion(), 2.0, 1e-12));
        // 1000 km and back at 199 861.64 km/s are 10.007 ms.
        let km = Geography { path_km: 1000.0, direct_km: 1000.0, located: 1.0 };
        assert!(near(km.least_us(), 10_006.923, 1e-3), "{}", km.least_us());
        assert!(near(km.delay_dispersion(20_013.846), 2.0, 1e-6));
    }

    #[test]
    fn what_cannot_be_said_is_nan_and_never_infinite() {
        let places = Places::new(&[0.0, f64::NAN, 0.0, 0.0], &[0.0, 5.0, f64::NAN, 90.0]).unwrap();
        let through = places.geography(&[0, 1, 2, 3]);
        assert_eq!((through.located, through.path_km), (0.5, through.direct_km), "those between are passed over");
        let open = places.geography(&[1, 0, 3]);
        assert!(open.direct_km.is_nan() && open.dispersion().is_nan() && open.least_us().is_nan());
        assert!(open.path_km > 0.0 && open.delay_dispersion(5.0).is_nan());
        let alone = places.geography(&[0, 1]);
        assert!(alone.path_km.is_nan() && alone.dispersion().is_nan());
        let round = places.geography(&[0, 3, 0]);
        assert_eq!(round.direct_km, 0.0);
        assert!(round.dispersion().is_nan() && round.delay_dispersion(1.0).is_nan());
        assert!(places.geography(&[]).located.is_nan() && places.geography(&[99]).path_km.is_nan());
    }

    #[test]
    fn coordinates_that_are_none_are_refused_with_their_node() {
        let node = |latitudes: &[f64], longitudes: &[f64]| Places::new(latitudes, longitudes).unwrap_err().node;
        assert_eq!(node(&[0.0, 90.5], &[0.0, 0.0]), 1);
        assert_eq!(node(&[0.0, 0.0], &[0.0, -181.0]), 1);
        assert_eq!(node(&[0.0, 0.0, 0.0], &[0.0, 0.0]), 2, "one longitude is missing");
        assert_eq!(node(&[f64::INFINITY], &[0.0]), 0);
    }
}
