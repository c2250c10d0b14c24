//! The cells around the one that is looked at: where they stand, and how much of their power reaches a place.
//!
//! Seven base stations with three sectors each make 21 cells. A cell is a hexagon with its base station at one corner; its antenna
//! points to the opposite corner, and behind that, at three times the hexagon's side, stands the next base station. The numbers are those
//! of the macro cells of 3GPP TR 25.814 annex A.2.1.1 and TR 36.814 annex A.2.1.1, from memory.

use super::adaptation::from_db;
use super::config::LteConfig;
use crate::rng::Stream;
use std::f64::consts::{FRAC_PI_3, PI, TAU};

/// Base stations.
pub(super) const SITES: usize = 7;
/// Sectors of each.
const SECTORS: usize = 3;

/// Path loss at 2 GHz, dB: this at 1 km, and 10 times the exponent for each factor of 10 in distance.
const LOSS_AT_1KM_DB: f64 = 128.1;
const LOSS_EXPONENT: f64 = 3.76;
/// The least distance of a user from a base station, m.
const LEAST_DISTANCE: f64 = 35.0;
/// Penetration loss, dB: users are inside buildings or cars.
const PENETRATION_DB: f64 = 20.0;
/// The gain of a base station's antenna with its cable, dBi; users have 0 dBi.
const ANTENNA_DBI: f64 = 14.0;
/// The pattern of a sector's antenna: its width at 3 dB, and the most by which it attenuates.
const WIDTH_DEGREES: f64 = 70.0;
const ATTENUATION_DB: f64 = 20.0;
/// How the shadowing of two base stations is correlated; that of the sectors of one is the same.
const SITE_CORRELATION: f64 = 0.5;
/// The distance at which the shadowing of a place has a correlation of 1/e with that of another, m.
pub(super) const CORRELATION_DISTANCE: f64 = 50.0;

/// Noise of a resource block, dBm: -174 dBm/Hz over 180 kHz, and the noise figure of the receiver.
const THERMAL_DBM: f64 = -174.0 + 52.552_725_051_033_06;
const USER_NOISE_DB: f64 = 9.0;
const BASE_NOISE_DB: f64 = 5.0;

/// The most power of a user, dBm: power class 3 (3GPP TS 36.101 section 6.2.2).
const USER_DBM: f64 = 23.0;
/// Open-loop power control (3GPP TS 36.213 section 5.1.1.1): each resource block is sent with P0 + α · path loss. Set 2 of the power control of 3GPP TR
/// 36.942, α = 0.8 and full power of 24 dBm over 16 blocks from a loss of 129 dB on, is P0 = 24 - 10 log 16 - 0.8 · 129 dBm.
/// From memory.
const ALPHA: f64 = 0.8;
const P0_DBM: f64 = 24.0 - 12.041_199_826_559_248 - ALPHA * 129.0;

/// A place, in m.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub fn at(distance: f64, angle: f64) -> Point {
        let (sine, cosine) = libm::sincos(angle);
        Point { x: distance * cosine, y: distance * sine }
    }

    /// The place so many metres further in a direction.
    pub fn moved(self, metres: f64, angle: f64) -> Point {
        let step = Point::at(metres, angle);
        Point { x: self.x + step.x, y: self.y + step.y }
    }
}

/// The shadowing of a place towards each base station, in standard deviations.
pub(super) type Shadows = [f64; SITES];

/// Shadowing that is drawn anew.
pub(super) fn shadows(dice: &mut Stream) -> Shadows {
    let common = dice.normal();
    std::array::from_fn(|_| libm::sqrt(SITE_CORRELATION) * common + libm::sqrt(1.0 - SITE_CORRELATION) * dice.normal())
}

/// The radio conditions of a place, as power ratios for one resource block and one receive antenna.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Conditions {
    /// The mean SINR down.
    pub down: f64,
    /// The mean SINR up.
    pub up: f64,
    /// The resource blocks for which the user's power suffices up.
    pub most_up: f64,
}

/// The cells and their powers.
pub(super) struct Deployment {
    radius: f64,
    shadowing_db: f64,
    sites: [Point; SITES],
    /// The power of a resource block of a base station, mW.
    block_mw: f64,
    activity: f64,
    /// Interference of users of other cells in a resource block at the base station, mW.
    interference_up_mw: f64,
}

/// Users that are drawn in each neighbour cell for the mean of their interference.
const DRAWN: usize = 50;
/// How often a place is drawn until the neighbour cell is the one that serves it.
const TRIES: usize = 20;

impl Deployment {
    /// The cells of a configuration. Places of interfering users are drawn from `dice`.
    pub fn new(config: &LteConfig, dice: &mut Stream) -> Deployment {
        let radius = config.radius.0;
        let sites = std::array::from_fn(|site| match site {
            0 => Point { x: 0.0, y: 0.0 },
            _ => Point::at(3.0 * radius, FRAC_PI_3 * (site - 1) as f64),
        });
        let mut deployment = Deployment {
            radius,
            shadowing_db: config.shadowing_db,
            sites,
            block_mw: from_db(config.power_dbm()) / f64::from(config.blocks()),
            activity: config.activity,
            interference_up_mw: 0.0,
        };
        deployment.interference_up_mw = deployment.interference_up(dice);
        deployment
    }

    /// The place at a distance in a direction from the base station of a sector, whose antenna points to angle 0.
    fn of_sector(&self, cell: usize, place: Point) -> Point {
        let (site, turn) = (self.sites[cell / SECTORS], TAU / 3.0 * (cell % SECTORS) as f64);
        let (sine, cosine) = libm::sincos(turn);
        Point { x: site.x + place.x * cosine - place.y * sine, y: site.y + place.x * sine + place.y * cosine }
    }

    /// A place that is drawn uniformly from the hexagon of the cell of interest.
    pub fn anywhere(&self, dice: &mut Stream) -> Point {
        // Three rhombi make a hexagon: each is spanned by two of three directions from its centre.
        let (third, u, v) = (dice.below(3) as f64, dice.unit(), dice.unit());
        let angle = TAU / 3.0 * third;
        Point { x: self.radius, y: 0.0 }.moved(self.radius * u, angle).moved(self.radius * v, angle + TAU / 3.0)
    }

    /// A place of the cell at this distance from its base station, in a direction that is drawn.
    pub fn at_distance(&self, metres: f64, dice: &mut Stream) -> Point {
        Point::at(metres, (2.0 * dice.unit() - 1.0) * widest(metres / self.radius))
    }

    /// How far it is from a place in the hexagon to its border, in a direction.
    pub fn to_border(&self, from: Point, angle: f64) -> f64 {
        let step = Point::at(1.0, angle);
        let sides = (0..6).filter_map(|side| {
            let normal = Point::at(1.0, FRAC_PI_3 * (f64::from(side) + 0.5));
            let speed = normal.x * step.x + normal.y * step.y;
            let inside = (from.x - self.radius) * normal.x + from.y * normal.y;
            let left = self.radius * libm::sqrt(0.75) - inside;
            (speed > 1e-9).then(|| (left / speed).max(0.0))
        });
        sides.fold(2.0 * self.radius, f64::min)
    }

    /// The power gains from each cell to a place: antenna, path loss, penetration and shadowing.
    fn gains(&self, place: Point, shadows: &Shadows) -> [f64; SITES * SECTORS] {
        let mut gains = [0.0; SITES * SECTORS];
        for (site, (at, shadow)) in self.sites.iter().zip(shadows).enumerate() {
            let (x, y) = (place.x - at.x, place.y - at.y);
            let metres = libm::hypot(x, y).max(LEAST_DISTANCE);
            let loss = LOSS_AT_1KM_DB + 10.0 * LOSS_EXPONENT * libm::log10(metres / 1000.0);
            let whole = ANTENNA_DBI - PENETRATION_DB - loss + self.shadowing_db * shadow;
            let angle = libm::atan2(y, x);
            for sector in 0..SECTORS {
                let off = angle - TAU / 3.0 * sector as f64;
                gains[site * SECTORS + sector] = from_db(whole - pattern_db(off));
            }
        }
        gains
    }

    /// The conditions of a place. The strongest cell serves it, and the others interfere.
    pub fn conditions(&self, place: Point, shadows: &Shadows) -> Conditions {
        let gains = self.gains(place, shadows);
        let (best, all) = gains.iter().fold((0.0, 0.0), |(best, all), gain| (f64::max(best, *gain), all + gain));
        let noise = from_db(THERMAL_DBM + USER_NOISE_DB);
        let down = self.block_mw * best / (noise + self.activity * self.block_mw * (all - best).max(0.0));
        let (block_mw, most_up) = power_up(best);
        let up = block_mw * best / (from_db(THERMAL_DBM + BASE_NOISE_DB) + self.interference_up_mw);
        Conditions { down, up, most_up }
    }

    /// The mean power of a resource block that the users of all neighbour cells cause at the base station.
    fn interference_up(&self, dice: &mut Stream) -> f64 {
        let mut sum = 0.0;
        for cell in 1..SITES * SECTORS {
            for _ in 0..DRAWN {
                let found = (0..TRIES).find_map(|_| {
                    let place = self.of_sector(cell, self.anywhere(dice));
                    let gains = self.gains(place, &shadows(dice));
                    let best = gains.iter().copied().fold(0.0, f64::max);
                    // A user to whom the cell of interest is the strongest would be its own.
                    (gains[0] < best).then(|| power_up(best).0 * gains[0])
                });
                sum += found.unwrap_or(0.0);
            }
        }
        self.activity * sum / DRAWN as f64
    }
}

/// The power of a user's resource block, mW, and the blocks for which its whole power suffices: at least one.
fn power_up(gain: f64) -> (f64, f64) {
    let (wanted, whole) = (from_db(P0_DBM) * libm::pow(gain, -ALPHA), from_db(USER_DBM));
    let blocks = (whole / wanted).max(1.0);
    (wanted.min(whole), blocks)
}

/// By how much a sector's antenna attenuates at an angle from its axis, dB.
fn pattern_db(angle: f64) -> f64 {
    // Angles go round.
    let off = libm::fabs(libm::remainder(angle, TAU));
    let relative = off * 180.0 / PI / WIDTH_DEGREES;
    (12.0 * relative * relative).min(ATTENUATION_DB)
}

/// The largest angle from its axis at which a hexagon, with its base station at a corner, still is at a distance of so many sides.
fn widest(sides: f64) -> f64 {
    let root = libm::sqrt(3.0);
    if sides <= 1.0 {
        FRAC_PI_3
    } else if sides <= root {
        libm::asin((root / 2.0 / sides).min(1.0))
    } else {
        (PI / 6.0 - libm::acos((root / sides).min(1.0))).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::adaptation::to_db;
    use super::super::config::{CASE_3_RADIUS, User};
    use super::*;
    use crate::rng::Streams;

    fn case_1() -> LteConfig {
        LteConfig::new(vec![User::default()])
    }

    fn deployment(config: &LteConfig) -> Deployment {
        Deployment::new(config, &mut Streams::new(1, 0).named("neighbours"))
    }

    /// Whether a place is in the hexagon of the cell of interest.
    fn inside(radius: f64, place: Point) -> bool {
        let (x, y) = ((place.x - radius).abs(), place.y.abs());
        let root = f64::sqrt(3.0);
        y <= root / 2.0 * radius + 1e-6 && root * x + y <= root * radius + 1e-6
    }

    #[test]
    fn places_are_all_over_the_hexagon_and_nowhere_else() {
        let (all, mut dice) = (deployment(&case_1()), Streams::new(1, 0).named("places"));
        let radius = 500.0 / 3.0;
        let (mut x, mut y, mut squares) = (0.0, 0.0, 0.0);
        let n = 20_000;
        for _ in 0..n {
            let place = all.anywhere(&mut dice);
            assert!(inside(radius, place), "{place:?}");
            (x, y, squares) = (x + place.x, y + place.y, squares + place.y * place.y);
            let angle = TAU * dice.unit();
            let border = all.to_border(place, angle);
            assert!(inside(radius, place.moved(border, angle)) && !inside(radius, place.moved(border + 0.01, angle)));
        }
        let n = f64::from(n);
        // The second moment of a hexagon of side a about an axis through its centre is 5 a² / 24 times its area.
        assert!((x / n - radius).abs() < 2.0 && (y / n).abs() < 2.0, "{x} {y}");
        assert!((squares / n / (5.0 / 24.0 * radius * radius) - 1.0).abs() < 0.03, "{squares}");
        for sides in [0.3, 1.0, 1.2, 1.5, 1.72, 1.75, 1.9, 2.0] {
            for _ in 0..200 {
                let place = all.at_distance(sides * radius, &mut dice);
                assert!(inside(radius, place) && (f64::hypot(place.x, place.y) - sides * radius).abs() < 1e-6);
            }
        }
    }

    /// Behind the corner opposite to the base station stands the next one, whose sectors touch it.
    #[test]
    fn the_hexagons_of_all_cells_tile_the_plane() {
        let (all, mut dice) = (deployment(&case_1()), Streams::new(2, 0).named("places"));
        let radius = 500.0 / 3.0;
        for _ in 0..2000 {
            let place = all.anywhere(&mut dice);
            for cell in 1..SITES * SECTORS {
                let other = all.of_sector(cell, place);
                let depth = radius - f64::max(f64::hypot(other.x - radius, other.y), 0.0);
                assert!(!inside(radius, other) || depth < 1e-6, "{other:?} of cell {cell}");
            }
        }
    }

    #[test]
    fn a_sector_attenuates_to_its_sides_and_behind() {
        let at = |degrees: f64| pattern_db(degrees.to_radians());
        assert!((at(35.0) - 3.0).abs() < 1e-9 && (at(-35.0) - 3.0).abs() < 1e-9 && (at(325.0) - 3.0).abs() < 1e-9);
        assert_eq!((at(0.0), at(180.0), at(-120.0)), (0.0, 20.0, 20.0));
    }

    /// On the axis of the antenna, without shadowing and neighbours, the SNR is that of the link budget.
    #[test]
    fn the_snr_is_that_of_the_link_budget() {
        let config = LteConfig { activity: 0.0, shadowing_db: 0.0, ..case_1() };
        let seen = deployment(&config).conditions(Point { x: 200.0, y: 0.0 }, &[0.0; SITES]);
        let loss = 128.1 + 37.6 * f64::log10(0.2) + 20.0 - 14.0;
        let per_block = 46.0 - 10.0 * f64::log10(50.0);
        assert!((to_db(seen.down) - (per_block - loss + 174.0 - 52.5527 - 9.0)).abs() < 1e-3, "{seen:?}");
        let power = 24.0 - 12.0412 - 0.8 * 129.0 + 0.8 * loss;
        assert!((to_db(seen.up) - (power - loss + 174.0 - 52.5527 - 5.0)).abs() < 1e-3, "{seen:?}");
        assert!((to_db(seen.most_up) - (23.0 - power)).abs() < 1e-3, "{seen:?}");
    }

    /// The median SINR down and the mean SINR up fall where neighbours are active, and in cells so wide that noise counts.
    #[test]
    fn wide_cells_and_active_neighbours_lower_the_sinr() {
        let mean = |config: &LteConfig| {
            let (all, mut dice) = (deployment(config), Streams::new(4, 0).named("places"));
            let sinr = |_| {
                let place = all.anywhere(&mut dice);
                let seen = all.conditions(place, &shadows(&mut dice));
                (to_db(seen.down), to_db(seen.up))
            };
            let mut all: Vec<(f64, f64)> = (0..4000).map(sinr).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            let up = all.iter().map(|one| one.1).sum::<f64>() / 4000.0;
            (all[2000].0, up)
        };
        let full = mean(&case_1());
        let idle = mean(&LteConfig { activity: 0.0, ..case_1() });
        let wide = mean(&LteConfig { radius: CASE_3_RADIUS, ..case_1() });
        assert!(idle.0 > full.0 + 10.0 && idle.1 > full.1 + 1.0, "{idle:?} {full:?}");
        assert!(wide.0 < full.0 - 0.5 && wide.1 < full.1 - 1.0, "{wide:?} {full:?}");
    }
}
