//! The configuration of a cell.

use super::access::{Category, Parameters, Rule};
use super::phy::{Channel, Phy, Standard};
use super::radio::{Metres, Radio};
use crate::time::Span;

/// How frames are aggregated (A-MPDU).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Aggregation {
    /// The most frames in an aggregate; at most 64, the window of a compressed block acknowledgement.
    pub frames: u32,
    /// The most bytes.
    pub bytes: u32,
}

/// The window of a block acknowledgement (clause 9.3.1.9.3).
pub const BLOCK_ACK_WINDOW: u32 = 64;

/// A cell: an access point and the stations around it, which all hear each other.
#[derive(Clone, PartialEq, Debug)]
pub struct CellConfig {
    /// The physical layer.
    pub channel: Channel,
    /// The rule of channel access.
    pub rule: Rule,
    /// The parameters of channel access: one set for DCF, one for each category for EDCA, in the order of
    /// [`Category::ALL`].
    pub parameters: Vec<Parameters>,
    /// How often a frame is sent again before it is dropped; `None` for ever.
    pub retries: Option<u32>,
    /// Whether stations wait for EIFS, not DIFS, after a frame that they could not read (clause 10.3.2.3.7).
    pub extended_space: bool,
    /// Whether a sender without a block acknowledgement asks for it (BlockAckReq) before it sends the frames again
    /// (clause 10.24.7.7), and does not send them at once.
    pub block_ack_request: bool,
    /// How long a packet may wait to be sent, or sent again, before it is dropped (dot11EDCATableMSDULifetime,
    /// clause 10.22.2.11); `None` for ever.
    pub lifetime: Option<Span>,
    /// How frames are aggregated, if they are.
    pub aggregation: Option<Aggregation>,
    /// The radio of all stations.
    pub radio: Radio,
    /// The distance of each station from the access point.
    pub stations: Vec<Metres>,
}

/// A frame is given up when as many attempts have failed as dot11ShortRetryLimit says: 7 (annex C, clause 10.3.4.4). The first
/// of them is no retry.
const RETRIES: u32 = 7 - 1;

impl CellConfig {
    /// A cell with the defaults of its standard: EDCA and aggregation for 802.11n and 802.11ac, otherwise DCF.
    pub fn new(channel: Channel, stations: Vec<Metres>) -> CellConfig {
        let phy = Phy::new(channel);
        let edca = channel.standard.aggregates();
        let bytes = phy.aggregate_bytes;
        CellConfig {
            channel,
            rule: if edca { Rule::Edca } else { Rule::Dcf },
            parameters: if edca {
                Category::ALL.iter().map(|&category| Parameters::edca(&phy, category)).collect()
            } else {
                vec![Parameters::dcf(&phy)]
            },
            retries: Some(RETRIES),
            extended_space: true,
            block_ack_request: false,
            lifetime: None,
            aggregation: edca.then_some(Aggregation { frames: BLOCK_ACK_WINDOW, bytes }),
            radio: Radio::of(channel.standard),
            stations,
        }
    }

    /// Checks the fields against each other.
    ///
    /// # Errors
    /// The field, and what would be right.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        self.channel.check()?;
        for parameters in &self.parameters {
            parameters.check()?;
        }
        let wanted = if self.rule == Rule::Dcf { 1 } else { Category::ALL.len() };
        if self.parameters.len() != wanted {
            return Err(("parameters", format!("{} sets: this rule has {wanted}", self.parameters.len())));
        }
        let standard: Standard = self.channel.standard;
        if let Some(aggregation) = self.aggregation {
            if !standard.aggregates() {
                let message = format!("{} does not aggregate frames: leave it out, or choose 802.11n", standard.name());
                return Err(("aggregation", message));
            }
            if !(1..=BLOCK_ACK_WINDOW).contains(&aggregation.frames) {
                let message = format!("{} frames: give from 1 to {BLOCK_ACK_WINDOW}", aggregation.frames);
                return Err(("aggregation", message));
            }
        }
        if self.block_ack_request && self.aggregation.is_none() {
            let message = "without aggregates there are no block acknowledgements: leave it out".to_string();
            return Err(("block_ack_request", message));
        }
        if self.lifetime.is_some_and(Span::is_zero) {
            return Err(("lifetime", "0ms: packets would be dropped at once; give a time such as 500ms".to_string()));
        }
        let phy = Phy::new(self.channel);
        for distance in &self.stations {
            if !(distance.0.is_finite() && distance.0 >= 0.0) {
                return Err(("distance", format!("{}m: give a distance from 0m on", distance.0)));
            }
            self.radio.modulation(&phy, *distance).map_err(|message| ("distance", message))?;
        }
        if self.stations.is_empty() {
            return Err(("stations", "there is none: give at least one".to_string()));
        }
        Ok(())
    }
}
