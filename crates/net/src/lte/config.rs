//! The configuration of a cell of LTE.

use super::fading::FadingModel;
use crate::time::Span;
use crate::wifi::{Metres, Width};

/// A speed in m/s.
#[derive(Clone, Copy, PartialEq, PartialOrd, Default, Debug)]
pub struct Speed(pub f64);

/// A signal-to-interference-and-noise ratio, dB.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub struct Sinr(pub f64);

/// The transmission time interval (TTI), a subframe (3GPP TS 36.211 section 4).
pub const TTI: Span = Span::from_millis(1);
/// The bandwidth of a resource block, Hz: 12 subcarriers of 15 kHz (3GPP TS 36.211 section 5.2.3).
pub const BLOCK_HZ: f64 = 180e3;
/// The most users of a cell.
pub const MAX_USERS: usize = 200;

/// The carriers of LTE and their resource blocks (3GPP TS 36.101 table 5.6-1), and the power of a base station, dBm (3GPP TR 25.814
/// table A.2.1.1-2: 43 dBm up to 5 MHz, 46 dBm at 10 MHz; the rest by the same power per MHz, as in TR 36.814 table A.2.1.1-2; from memory).
const CARRIERS: [(u32, u32, f64); 5] = [(3, 15, 43.0), (5, 25, 43.0), (10, 50, 46.0), (15, 75, 46.0), (20, 100, 49.0)];

/// The cases of 3GPP's macro cells (TR 25.814 table A.2.1.1-1): the distance of two sites is 500 m or 1732 m. A cell is a hexagon
/// whose side is a third of that.
pub const CASE_1_RADIUS: Metres = Metres(500.0 / 3.0);
/// Case 3.
pub const CASE_3_RADIUS: Metres = Metres(1732.0 / 3.0);

/// A user of a cell.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct User {
    /// Its distance from the base station at the start; without one it is anywhere in the cell.
    pub distance: Option<Metres>,
    /// Its mean SINR at each receive antenna in both directions, wherever it is. Without one it follows from its place.
    pub sinr: Option<Sinr>,
}

/// A cell of LTE with its users: one of the three sectors of a base station that six others surround.
#[derive(Clone, PartialEq, Debug)]
pub struct LteConfig {
    /// The width of the carrier in each direction (FDD).
    pub width: Width,
    /// The side of the cell's hexagon: a third of the distance of two base stations.
    pub radius: Metres,
    /// The share of their resource blocks that the neighbour cells use, from 0 to 1.
    pub activity: f64,
    /// The speed of the users.
    pub speed: Speed,
    /// The standard deviation of shadowing, dB.
    pub shadowing_db: f64,
    /// Fast fading.
    pub fading: FadingModel,
    /// Receive antennas of users and base stations.
    pub antennas: u32,
    /// The window of the scheduler's averages.
    pub window: Span,
    /// The users.
    pub users: Vec<User>,
}

impl LteConfig {
    /// A cell of 3GPP's case 1 with a carrier of 10 MHz, whose neighbours use all of theirs, and users that walk at 3 km/h.
    pub fn new(users: Vec<User>) -> LteConfig {
        LteConfig {
            width: Width(10),
            radius: CASE_1_RADIUS,
            activity: 1.0,
            speed: Speed(3.0 / 3.6),
            shadowing_db: 8.0,
            fading: FadingModel::TypicalUrban,
            antennas: 2,
            window: Span::from_millis(100),
            users,
        }
    }

    /// The resource blocks of its carrier, which are 15 for a width that LTE does not have.
    pub fn blocks(&self) -> u32 {
        self.carrier().map_or(CARRIERS[0].1, |(_, blocks, _)| *blocks)
    }

    /// The power of a base station, dBm.
    pub(super) fn power_dbm(&self) -> f64 {
        self.carrier().map_or(CARRIERS[0].2, |(_, _, power)| *power)
    }

    fn carrier(&self) -> Option<&(u32, u32, f64)> {
        CARRIERS.iter().find(|(mhz, ..)| *mhz == self.width.0)
    }

    /// Checks the fields.
    ///
    /// # Errors
    /// The field, and what would be right.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if self.carrier().is_none() {
            return Err(("bandwidth", format!("{}MHz: give 3MHz, 5MHz, 10MHz, 15MHz or 20MHz", self.width.0)));
        }
        let within = |field: &'static str, value: f64, (least, most): (f64, f64), unit: &str| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            Err((field, format!("{value}{unit}: give from {least}{unit} to {most}{unit}")))
        };
        within("radius", self.radius.0, (50.0, 5000.0), "m")?;
        within("activity", self.activity * 100.0, (0.0, 100.0), "%")?;
        within("speed", self.speed.0 * 3.6, (0.0, 500.0), "km/h")?;
        within("shadowing_db", self.shadowing_db, (0.0, 20.0), "")?;
        within("antennas", f64::from(self.antennas), (1.0, 8.0), "")?;
        within("window", self.window.as_secs_f64(), (0.001, 100.0), "s")?;
        if !(1..=MAX_USERS).contains(&self.users.len()) {
            return Err(("users", format!("{}: give from 1 to {MAX_USERS}", self.users.len())));
        }
        for user in &self.users {
            if let Some(distance) = user.distance {
                within("distance", distance.0, (0.0, 2.0 * self.radius.0), "m")?;
            }
            if let Some(sinr) = user.sinr {
                within("sinr_db", sinr.0, (-30.0, 60.0), "")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_refused_with_its_field() {
        let usual = || LteConfig::new(vec![User::default()]);
        let field = |config: LteConfig| config.check().unwrap_err().0;
        assert_eq!((usual().check(), usual().blocks()), (Ok(()), 50));
        assert_eq!(field(LteConfig { width: Width(7), ..usual() }), "bandwidth");
        assert_eq!(field(LteConfig { radius: Metres(f64::NAN), ..usual() }), "radius");
        assert_eq!(field(LteConfig { activity: 1.1, ..usual() }), "activity");
        assert_eq!(field(LteConfig { speed: Speed(-1.0), ..usual() }), "speed");
        assert_eq!(field(LteConfig { window: Span::ZERO, ..usual() }), "window");
        assert_eq!(field(LteConfig { antennas: 0, ..usual() }), "antennas");
        assert_eq!(field(LteConfig { users: vec![], ..usual() }), "users");
        let far = User { distance: Some(Metres(334.0)), sinr: None };
        assert_eq!(field(LteConfig { users: vec![far], ..usual() }), "distance");
        let odd = User { sinr: Some(Sinr(f64::NAN)), distance: None };
        assert_eq!(field(LteConfig { users: vec![odd], ..usual() }), "sinr_db");
    }
}
