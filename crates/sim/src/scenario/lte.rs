//! Cells of LTE in scenarios: how they are written, and what is meant.

use super::cell::{Cell, CellMedium, Station};
use super::link::QueueSchema;
use super::quantity::{Probability, Quantity};
use super::{ScenarioError, error};
use haltere_net::link::{Cellular, LinkConfig};
use haltere_net::lte::{self, CASE_1_RADIUS, CASE_3_RADIUS, FadingModel, LteConfig, MAX_USERS, Sinr, Speed, User};
use haltere_net::queue::QueueConfig;
use haltere_net::topology::Direction;
use haltere_net::wifi::{Metres, Width};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// A cell of LTE: a base station and users that share its resource blocks. It is one of 21 cells, of which the others interfere.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LteSpec {
    /// Its name in results (default: `lte`).
    pub name: Option<String>,
    /// The users: how many, or a list with their distances (default 1). They are called `user 0`, …
    pub users: Option<Users>,
    /// The deployment of 3GPP: 1, with 500 m from one base station to the next, or 3, with 1732 m (default 1).
    pub case: Option<u32>,
    /// In the place of a case: the side of the cell's hexagon, which is a third of the distance of two base stations, from 50m to 5km.
    pub radius: Option<Quantity<Metres>>,
    /// The width of the carrier in each direction: "3MHz", "5MHz", "10MHz" (the default), "15MHz" or "20MHz".
    pub bandwidth: Option<Quantity<Width>>,
    /// The share of their resource blocks that the neighbour cells use (default 100%).
    pub activity: Option<Quantity<Probability>>,
    /// The speed of the users, at most "500km/h" (default 3km/h). They go to and fro on straight lines across the cell.
    pub speed: Option<Quantity<Speed>>,
    /// The standard deviation of shadowing, dB, from 0 to 20 (default 8).
    pub shadowing_db: Option<f64>,
    /// Fast fading (default `typical-urban`).
    pub fading: Option<FadingName>,
    /// Receive antennas of users and base stations, from 1 to 8 (default 2).
    pub antennas: Option<u32>,
    /// The window of the scheduler's averages, from "1ms" to "100s" (default 100ms).
    pub window: Option<Quantity<Span>>,
    /// The probability that a transmission of a block is not decoded, from 0% to 90% (default 10%). It delays packets and loses none.
    pub block_error: Option<Quantity<Probability>>,
    /// The queue of each direction of each user (default 1000p).
    #[schemars(with = "Option<QueueSchema>")]
    pub queue: Option<QueueConfig>,
    /// Largest packet with IP header, from 576B to 9000B (default 1500B).
    pub mtu: Option<Quantity<Bytes>>,
    /// Fields of the direction from the base station to the users.
    pub down: Option<LteDirection>,
    /// Fields of the direction from the users to the base station.
    pub up: Option<LteDirection>,
}

/// Fields of one direction of a cell of LTE.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LteDirection {
    /// The queue.
    #[schemars(with = "Option<QueueSchema>")]
    pub queue: Option<QueueConfig>,
    /// The probability that a transmission of a block is not decoded.
    pub block_error: Option<Quantity<Probability>>,
}

/// The users of a cell.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of users, or a list of tables with a distance or a sinr_db")]
pub enum Users {
    /// So many, anywhere in the cell.
    Count(u32),
    /// Each with its own place.
    List(Vec<UserSpec>),
}

/// A user.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UserSpec {
    /// Its distance from the base station at the start, at most twice the radius (default: anywhere in the cell).
    pub distance: Option<Quantity<Metres>>,
    /// Its mean signal-to-interference-and-noise ratio at each antenna, dB, from -30 to 60, wherever it is (default: by its place).
    pub sinr_db: Option<f64>,
}

/// The fast fading of users.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FadingName {
    /// None: the channel has its mean power at all times.
    None,
    /// Rayleigh fading that is the same at all frequencies.
    Flat,
    /// Rayleigh fading of six paths with different delays.
    TypicalUrban,
}

impl LteSpec {
    /// The cell that is meant.
    ///
    /// # Errors
    /// If a field is wrong. The error's path begins with `path`.
    pub(in crate::scenario) fn cell(self, path: &str) -> Result<Cell, ScenarioError> {
        let config = self.config(path)?;
        let [down, up] = [
            self.direction((path, "down"), &config, Direction::Down, self.down.as_ref())?,
            self.direction((path, "up"), &config, Direction::Up, self.up.as_ref())?,
        ];
        let station = |k| Station { node: format!("user {k}"), down: down.clone(), up: up.clone() };
        let stations = (0..config.users.len()).map(station).collect();
        let name = self.name.unwrap_or_else(|| "lte".into());
        Ok(Cell { name, access_point: "base station".into(), medium: CellMedium::Lte(config), stations })
    }

    fn users(&self, path: &str) -> Result<Vec<User>, ScenarioError> {
        let count = match &self.users {
            None => 1,
            Some(Users::Count(n)) => *n as usize,
            Some(Users::List(list)) => list.len(),
        };
        if !(1..=MAX_USERS).contains(&count) {
            return Err(error(format!("{path}.users"), format!("{count}: give from 1 to {MAX_USERS}")));
        }
        let Some(Users::List(list)) = &self.users else { return Ok(vec![User::default(); count]) };
        let user = |(k, one): (usize, &UserSpec)| {
            if one.distance.is_some() && one.sinr_db.is_some() {
                let message = "the distance has its own ratio: leave it or the distance out";
                return Err(error(format!("{path}.users[{k}].sinr_db"), message));
            }
            Ok(User { distance: one.distance.map(|q| q.0), sinr: one.sinr_db.map(Sinr) })
        };
        list.iter().enumerate().map(user).collect()
    }

    fn radius(&self, path: &str) -> Result<Metres, ScenarioError> {
        match (self.case, self.radius) {
            (Some(_), Some(_)) => {
                Err(error(format!("{path}.radius"), "a case has its own radius: leave it or the case out"))
            }
            (None, Some(radius)) => Ok(radius.0),
            (None | Some(1), None) => Ok(CASE_1_RADIUS),
            (Some(3), None) => Ok(CASE_3_RADIUS),
            (Some(other), None) => {
                Err(error(format!("{path}.case"), format!("{other}: give 1 or 3, or a radius in its place")))
            }
        }
    }

    /// The cell with all defaults filled in.
    fn config(&self, path: &str) -> Result<LteConfig, ScenarioError> {
        let usual = LteConfig::new(self.users(path)?);
        let config = LteConfig {
            radius: self.radius(path)?,
            width: self.bandwidth.map_or(usual.width, |q| q.0),
            activity: self.activity.map_or(usual.activity, |q| q.0.0),
            speed: self.speed.map_or(usual.speed, |q| q.0),
            shadowing_db: self.shadowing_db.unwrap_or(usual.shadowing_db),
            fading: match self.fading {
                None => usual.fading,
                Some(FadingName::None) => FadingModel::None,
                Some(FadingName::Flat) => FadingModel::Flat,
                Some(FadingName::TypicalUrban) => FadingModel::TypicalUrban,
            },
            antennas: self.antennas.unwrap_or(usual.antennas),
            window: self.window.map_or(usual.window, |q| q.0),
            ..usual
        };
        config.check().map_err(|(field, message)| error(format!("{path}.{field}"), message))?;
        Ok(config)
    }

    /// The links of all users in one direction, which stands in the table `way`.
    fn direction(
        &self,
        (path, way): (&str, &str),
        config: &LteConfig,
        direction: Direction,
        own: Option<&LteDirection>,
    ) -> Result<LinkConfig, ScenarioError> {
        let mtu = self.mtu.map_or(Bytes(1500), |q| q.0);
        if !(576..=9000).contains(&mtu.0) {
            return Err(error(format!("{path}.mtu"), format!("{}B: give an MTU from 576B to 9000B", mtu.0)));
        }
        let mut cellular: Cellular = lte::harq(direction);
        let rate = Some(lte::peak_rate(config, direction));
        let mut link = LinkConfig { mtu: mtu.0 as u32, rate, ..LinkConfig::default() };
        let of_cell = (path.to_string(), self.queue.as_ref(), self.block_error);
        let of_way = own.map(|own| (format!("{path}.{way}"), own.queue.as_ref(), own.block_error));
        for (place, queue, block_error) in [of_cell].into_iter().chain(of_way) {
            if let Some(queue) = queue {
                if queue.has_bdp() {
                    let message = "users share the cell and their rates change, so that it has no bandwidth-delay product: give \
                                   packets (\"1000p\") or bytes (\"64kB\")";
                    return Err(error(format!("{place}.queue"), message));
                }
                link.queue = queue.clone();
            }
            if let Some(q) = block_error {
                cellular.block_error = q.0.0;
                cellular.check().map_err(|_| {
                    error(format!("{place}.block_error"), format!("{}%: give from 0% to 90%", q.0.0 * 100.0))
                })?;
            }
        }
        link.cellular = Some(cellular);
        let scale = link.scale(Span::ZERO);
        link.queue.resolve(&scale);
        Ok(link)
    }
}
