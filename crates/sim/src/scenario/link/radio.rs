//! Cellular links and satellites in scenarios.

use crate::scenario::quantity::{Probability, Quantity};
use crate::scenario::{ScenarioError, error};
use haltere_net::Span;
use haltere_net::link::{Cellular, LinkConfig};
use haltere_net::varying::{GEOSTATIONARY_KM, InOutage, Orbit, Outages, Period, bent_pipe};
use haltere_net::wifi::Metres;
use schemars::JsonSchema;
use serde::Deserialize;

/// The scheduler and the retransmissions of a cellular base station. What is left out is not there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellularSpec {
    /// The transmission time interval, at whose end packets arrive, such as "1ms" (LTE).
    pub tti: Option<Quantity<Span>>,
    /// The distance of two opportunities of an idle sender to ask for a grant, such as "10ms".
    pub request_period: Option<Quantity<Span>>,
    /// The time from such a request to the first transmission, such as "8ms".
    pub grant: Option<Quantity<Span>>,
    /// The probability that a transmission of a block is not decoded, such as "10%". It delays packets and loses none.
    pub block_error: Option<Quantity<Probability>>,
    /// The time from a transmission of a block to the next one, such as "8ms".
    pub harq: Option<Quantity<Span>>,
    /// How often a block is sent again before radio link control must do so (default 3).
    pub harq_limit: Option<u32>,
    /// The time that radio link control takes to send a block anew, such as "40ms".
    pub rlc: Option<Quantity<Span>>,
}

impl CellularSpec {
    pub(super) fn config(&self) -> Cellular {
        let span = |q: Option<Quantity<Span>>| q.map_or(Span::ZERO, |q| q.0);
        Cellular {
            tti: span(self.tti),
            request_period: span(self.request_period),
            grant: span(self.grant),
            block_error: self.block_error.map_or(0.0, |q| q.0.0),
            harq: span(self.harq),
            harq_limit: self.harq_limit.unwrap_or(3),
            rlc: span(self.rlc),
        }
    }
}

/// The kinds of orbits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OrbitName {
    /// Geostationary: one satellite that stands still.
    Geo,
    /// Low: satellites that follow each other.
    Leo,
}

/// A link over satellites. Its delay is the way up and down, beside the link's own `delay` for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SatelliteSpec {
    /// The orbit.
    pub orbit: OrbitName,
    /// geo: the elevation at which terminal and ground station see the satellite, degrees (default 35).
    pub elevation: Option<f64>,
    /// leo: the altitude of the satellites (default 550km).
    pub altitude: Option<Quantity<Metres>>,
    /// leo: the least elevation of a satellite that serves, degrees (default 25).
    pub least_elevation: Option<f64>,
    /// leo: how long one satellite serves (default 15s).
    pub interval: Option<Quantity<Span>>,
    /// leo: how long packets wait at each handover (default 40ms; "0ms" for none).
    pub handover: Option<Quantity<Span>>,
}

/// As in measurements of Starlink: G. Huston, "A transport protocol's view of Starlink", APNIC, 2024: satellites at 550 km are
/// tracked from 25 degrees on and change every 15 s, when the RTT is 30 to 50 ms longer for a moment.
const ALTITUDE_KM: f64 = 550.0;
const LEAST_ELEVATION: f64 = 25.0;
const INTERVAL: Span = Span::from_secs(15);
const HANDOVER: Span = Span::from_millis(40);
/// The elevation of a geostationary satellite in its meridian, seen from a latitude of 48 degrees.
const GEO_ELEVATION: f64 = 35.0;

impl SatelliteSpec {
    /// Adds the satellites to a direction of a link.
    pub(super) fn apply(&self, config: &mut LinkConfig, path: &str) -> Result<(), ScenarioError> {
        let wrong = |field: &str, message: String| Err(error(format!("{path}.satellite.{field}"), message));
        let of_leo = [
            ("altitude", self.altitude.is_some()),
            ("least_elevation", self.least_elevation.is_some()),
            ("interval", self.interval.is_some()),
            ("handover", self.handover.is_some()),
        ];
        for (field, degrees) in [("elevation", self.elevation), ("least_elevation", self.least_elevation)] {
            if let Some(degrees) = degrees.filter(|degrees| !(0.0..=90.0).contains(degrees)) {
                return wrong(field, format!("{degrees}: give an elevation from 0 to 90 degrees"));
            }
        }
        if self.orbit == OrbitName::Geo {
            if let Some((field, _)) = of_leo.iter().find(|(_, given)| *given) {
                return wrong(
                    field,
                    "a geostationary satellite has none: leave it out, or choose orbit = \"leo\"".into(),
                );
            }
            let elevation = self.elevation.unwrap_or(GEO_ELEVATION);
            let bent = bent_pipe(GEOSTATIONARY_KM, [elevation; 2]);
            config.delay += bent;
            if config.delay_profile.is_some() {
                return Err(error(format!("{path}.delay"), "it must be constant beside a satellite: give one delay"));
            }
            return Ok(());
        }
        if self.elevation.is_some() {
            let message = "satellites in a low orbit have several: give least_elevation, or choose orbit = \"geo\"";
            return wrong("elevation", message.into());
        }
        if config.delay_profile.is_some() || config.outages.is_some() {
            let field = if config.outages.is_some() { "outage" } else { "delay" };
            let message = "satellites in a low orbit make it themselves: leave it out, or leave satellite out";
            return Err(error(format!("{path}.{field}"), message));
        }
        let altitude_km = self.altitude.map_or(ALTITUDE_KM, |q| q.0.0 / 1000.0);
        if !(100.0..=GEOSTATIONARY_KM).contains(&altitude_km) {
            return wrong("altitude", format!("{altitude_km}km: give an altitude from 100km to {GEOSTATIONARY_KM}km"));
        }
        let interval = self.interval.map_or(INTERVAL, |q| q.0);
        if !(Span::from_secs(1)..=Span::from_secs(86_400)).contains(&interval) {
            return wrong("interval", format!("{interval}: give a time from 1s to 24h"));
        }
        let handover = self.handover.map_or(HANDOVER, |q| q.0);
        if handover >= interval {
            return wrong("handover", format!("{handover} is not shorter than the interval, {interval}"));
        }
        let least_elevation_deg = self.least_elevation.unwrap_or(LEAST_ELEVATION);
        config.orbit = Some(Orbit { altitude_km, least_elevation_deg, interval });
        if !handover.is_zero() {
            let period = Period { from: interval - handover, to: interval };
            // A trace has no rate that could stand still: there, what is sent meanwhile is lost.
            let packets = if config.trace.is_some() { InOutage::Drop } else { InOutage::Hold };
            let outages = Outages::new(vec![period], packets, Some(interval));
            config.outages = Some(outages.map_err(|w| error(format!("{path}.satellite.handover"), w.message))?);
        }
        Ok(())
    }
}
