//! The common part of probes and loads: their hosts, which of them sends, and when.

use super::place::{Place, PlaceSpec, Side};
use super::quantity::Quantity;
use super::topology::Topology;
use super::{ScenarioError, error};
use haltere_net::{Bytes, Span};

/// The largest payload of a datagram, bytes: that of the largest IPv4 packet.
pub(crate) const MAX_PAYLOAD: u64 = 65_535 - 28;
/// The shortest time between two packets, and the shortest time-out.
pub(crate) const SHORTEST: Span = Span::from_micros(1);

/// The two hosts of a probe or load, and when it sends.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The hosts.
    pub place: Place,
    /// The one that sends.
    pub from: Side,
    /// When it starts.
    pub start: Span,
    /// The largest random delay of the start.
    pub spread: Span,
    /// How often it sends, if that is limited.
    pub count: Option<u64>,
    /// How long it sends, if that is limited.
    pub duration: Option<Span>,
}

impl Beside {
    /// Whether it ends by itself.
    pub const fn ends(&self) -> bool {
        self.count.is_some() || self.duration.is_some()
    }
}

/// The fields of a table that say it.
pub(crate) struct BesideSpec {
    pub place: PlaceSpec,
    pub from: Option<Side>,
    pub start: Option<Quantity<Span>>,
    pub start_spread: Option<Quantity<Span>>,
    pub count: Option<u64>,
    pub duration: Option<Quantity<Span>>,
}

impl BesideSpec {
    /// The meaning of a table; `what` is `probe` or `load`, and `usual` the host that sends by default.
    pub fn beside(self, path: &str, what: &str, usual: Side, topology: &Topology) -> Result<Beside, ScenarioError> {
        if self.count == Some(0) {
            return Err(error(format!("{path}.count"), format!("0: give at least 1, or leave the {what} out")));
        }
        Ok(Beside {
            place: self.place.place(path, what, topology)?,
            from: self.from.unwrap_or(usual),
            start: self.start.map_or(Span::ZERO, |q| q.0),
            spread: self.start_spread.map_or(Span::ZERO, |q| q.0),
            count: self.count,
            duration: self.duration.map(|q| q.0),
        })
    }
}

/// A payload of at most so many bytes; `path` is that of the field.
pub(crate) fn payload(
    given: Option<Quantity<Bytes>>,
    default: u32,
    most: u64,
    path: &str,
) -> Result<u32, ScenarioError> {
    match given {
        None => Ok(default),
        Some(Quantity(Bytes(size))) if size <= most => Ok(size as u32),
        Some(Quantity(Bytes(size))) => Err(error(path, format!("{size}B: give at most {most}B"))),
    }
}

/// A time that is not too short; `path` is that of the field, and `default` what it is if it is not given.
pub(crate) fn time(given: Option<Quantity<Span>>, default: Span, path: &str) -> Result<Span, ScenarioError> {
    match given {
        None => Ok(default),
        Some(Quantity(time)) if time >= SHORTEST => Ok(time),
        Some(Quantity(time)) => {
            Err(error(path, format!("{time} is too short: give at least {SHORTEST}, such as {default}")))
        }
    }
}
