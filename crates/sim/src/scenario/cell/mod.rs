//! Cells of IEEE 802.11 in scenarios: how they are written. What they mean stands in `config`.

mod config;

pub use config::{Cell, CellMedium, Station};

use super::link::{LossSpec, QueueSchema};
use super::presets::Preset;
use super::quantity::Quantity;
use haltere_net::queue::QueueConfig;
use haltere_net::wifi::{Metres, Width};
use haltere_net::{Bytes, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// A cell of IEEE 802.11: an access point and stations that share one medium.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellSpec {
    /// The preset whose values the fields have that are not given: `wifi` or `ns3` (`haltere presets`).
    pub preset: Option<Preset>,
    /// Its name in results (default: `cell`).
    pub name: Option<String>,
    /// Graph: the node that is the access point (default: `access point`).
    pub access_point: Option<String>,
    /// The stations: how many, or a list with their names and distances. Without names they are called `station 0`, …
    pub stations: Option<Stations>,
    /// The distance of the stations from the access point that have no distance of their own, such as "5m" (default 1m).
    /// With it the signal falls, and with that the rate.
    pub distance: Option<Quantity<Metres>>,
    /// The physical layer (default 802.11n).
    pub standard: Option<StandardName>,
    /// The width of the channel: "20MHz" (the default), and more for 802.11n and 802.11ac.
    pub width: Option<Quantity<Width>>,
    /// Spatial streams, for 802.11n and 802.11ac (default 1).
    pub streams: Option<u32>,
    /// Whether the guard interval is 400 ns, for 802.11n and 802.11ac (default false).
    pub short_guard: Option<bool>,
    /// Channel access (default `edca` for 802.11n and 802.11ac, otherwise `dcf`).
    pub access: Option<Access>,
    /// dcf: the first contention window, such as 15 (default: the standard's).
    pub cw_min: Option<u32>,
    /// dcf: the largest contention window, such as 1023.
    pub cw_max: Option<u32>,
    /// edca: parameters that are not the standard's default, by access category.
    pub edca: Option<EdcaSpec>,
    /// How often a frame is sent again before it is dropped (default 6, which is 7 attempts), or "unlimited". With 0 each loss is left to the
    /// transport.
    pub retries: Option<Retries>,
    /// The most frames in an aggregate, for 802.11n and 802.11ac; 1 for none (default 64).
    pub aggregate: Option<u32>,
    /// Whether stations wait for EIFS after a frame that they could not read (default true).
    pub eifs: Option<bool>,
    /// Whether a sender asks for a block acknowledgement that did not come (BlockAckReq) before it sends the frames again
    /// (default false). 802.11n and 802.11ac only.
    pub block_ack_request: Option<bool>,
    /// How long a packet may wait to be sent, or sent again, before it is dropped, such as "500ms" (default: for ever).
    pub lifetime: Option<Quantity<Span>>,
    /// The radio of all stations.
    pub radio: Option<RadioSpec>,
    /// The queue of each direction of each station; with `edca` it stands once for each access category (default 1000p).
    #[schemars(with = "Option<QueueSchema>")]
    pub queue: Option<QueueConfig>,
    /// Largest packet with IP header (default 1500B).
    pub mtu: Option<Quantity<Bytes>>,
    /// Frame errors: the loss of each frame on the air, before retries (default none).
    pub loss: Option<LossSpec>,
    /// Fields of the direction from the access point to the stations.
    pub down: Option<CellDirection>,
    /// Fields of the direction from the stations to the access point.
    pub up: Option<CellDirection>,
}

/// Parameters of EDCA by access category.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EdcaSpec {
    /// User priorities 1 and 2.
    pub background: Option<CategorySpec>,
    /// User priorities 0 and 3.
    pub best_effort: Option<CategorySpec>,
    /// User priorities 4 and 5.
    pub video: Option<CategorySpec>,
    /// User priorities 6 and 7.
    pub voice: Option<CategorySpec>,
}

/// Parameters of an access category. What is left out has the standard's default.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CategorySpec {
    /// Slots after SIFS before the backoff counts (AIFSN).
    pub aifsn: Option<u32>,
    /// The first contention window.
    pub cw_min: Option<u32>,
    /// The largest contention window.
    pub cw_max: Option<u32>,
    /// How long a station may go on sending once it has the medium; "0ms" for one frame or aggregate.
    pub txop: Option<Quantity<Span>>,
}

/// Fields of one direction of a cell.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CellDirection {
    /// The queue.
    #[schemars(with = "Option<QueueSchema>")]
    pub queue: Option<QueueConfig>,
    /// Frame errors.
    pub loss: Option<LossSpec>,
}

/// The stations of a cell.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of stations, or a list of tables with a name and a distance")]
pub enum Stations {
    /// So many, all at one distance.
    Count(u32),
    /// Each with its own name and distance.
    List(Vec<StationSpec>),
}

/// A station.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StationSpec {
    /// Graph: its node (default: `station K`).
    pub name: Option<String>,
    /// Its distance from the access point.
    pub distance: Option<Quantity<Metres>>,
}

/// The physical layers of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
pub enum StandardName {
    /// Frequency hopping at 1 Mbit/s, with the values of Bianchi's paper of 2000.
    #[serde(rename = "802.11-fhss")]
    Fhss,
    /// Up to 11 Mbit/s, 2.4 GHz.
    #[serde(rename = "802.11b")]
    B,
    /// Up to 54 Mbit/s, 5 GHz.
    #[serde(rename = "802.11a")]
    A,
    /// Up to 54 Mbit/s, 2.4 GHz.
    #[serde(rename = "802.11g")]
    G,
    /// Up to 600 Mbit/s, 5 GHz.
    #[serde(rename = "802.11n")]
    N,
    /// Up to 6933 Mbit/s, 5 GHz.
    #[serde(rename = "802.11ac")]
    Ac,
}

/// Channel access.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    /// One queue a station (distributed coordination function).
    Dcf,
    /// Four queues a station, by DiffServ codepoint (enhanced distributed channel access).
    Edca,
}

/// A retry limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a number of retries from 0, or \"unlimited\"")]
pub enum Retries {
    /// So many.
    Limit(u32),
    /// For ever.
    Word(Unlimited),
}

/// The word for no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unlimited {
    /// No limit.
    Unlimited,
}

/// The radio of all stations of a cell.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RadioSpec {
    /// Transmit power with antenna gains, dBm (default 16.0206, which is 40 mW).
    pub power_dbm: Option<f64>,
    /// Path loss at 1 m, dB (default that of free space: 46.6777 at 5.15 GHz, 40.18 at 2.437 GHz).
    pub loss_at_1m_db: Option<f64>,
    /// Exponent of the path loss (default 3).
    pub path_loss_exponent: Option<f64>,
    /// The receiver's noise above the thermal noise, dB (default 7).
    pub noise_figure_db: Option<f64>,
}
