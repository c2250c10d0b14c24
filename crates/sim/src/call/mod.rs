//! Calls: the video of an encoder, over a transport of media, to a viewer.
//!
//! | file | holds |
//! |---|---|
//! | `encoder` | the encoder, which writes frames at the rate that the transport allows |
//! | `viewer` | the viewer: its jitter buffer, and when it shows each frame |

mod encoder;
mod viewer;

pub use encoder::{Encoded, Encoder};
pub use viewer::{Shown, Viewed, Viewer};

use crate::scenario::{OutagePeriod, Quantity, ScenarioError};
use haltere_net::varying::{InOutage, Outages, Period};
use haltere_net::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// The least and the largest rate of the encoder and its largest number of frames in a second (RFC 8867 section 4.3).
const LEAST: Rate = Rate::from_bps(150_000);
const MOST: Rate = Rate::from_bps(1_500_000);
const FRAMES: u32 = 30;
/// The largest rate that an encoder may be given, which keeps its frames within numbers of 32 bits.
const LARGEST: Rate = Rate::from_bps(1_000_000_000);

/// A call with all defaults filled in. Rates count the payload of RTP packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The least rate of the encoder.
    pub least: Rate,
    /// Its largest rate.
    pub most: Rate,
    /// The rate with which it begins.
    pub start: Rate,
    /// Frames in a second.
    pub frames: u32,
    /// When the encoder writes nothing, in order, in the time of the run.
    pub pauses: Vec<Period>,
    /// How long it lasts, from the first frame; without it, until the end of the run.
    pub length: Option<Span>,
}

impl Call {
    /// The time from one frame to the next.
    pub fn interval(&self) -> Span {
        Span::from_secs(1).scaled(1, u64::from(self.frames.max(1)))
    }
}

/// The video of a call (default: the media source of RFC 8867 section 4.3).
#[derive(Clone, Default, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Call")]
pub struct CallSpec {
    /// The least rate of the encoder, of RTP payload (default 150kbit/s).
    pub min_rate: Option<Quantity<Rate>>,
    /// Its largest rate (default 1.5Mbit/s).
    pub max_rate: Option<Quantity<Rate>>,
    /// The rate with which it begins (default its least).
    pub start_rate: Option<Quantity<Rate>>,
    /// Frames in a second (default 30).
    pub frames: Option<u32>,
    /// When the encoder writes nothing, in order, in the time of the run (default: never). A pause is no freeze.
    #[serde(default)]
    pub pauses: Vec<OutagePeriod>,
}

impl CallSpec {
    /// The call that is meant; `path` is the path of the field.
    pub(crate) fn call(self, path: &str) -> Result<Call, ScenarioError> {
        let error = |field: &str, message: String| Err(ScenarioError { path: format!("{path}.{field}"), message });
        let most = self.max_rate.map_or(MOST, |q| q.0);
        let least = self.min_rate.map_or(LEAST.min(most), |q| q.0);
        let start = self.start_rate.map_or(least, |q| q.0);
        let frames = self.frames.unwrap_or(FRAMES);
        if most > LARGEST {
            return error("max_rate", format!("{most}: give at most {LARGEST}"));
        }
        if least.as_bps() == 0 {
            return error("min_rate", "0: give a positive rate".into());
        }
        if least > most {
            return error("min_rate", format!("{least} is more than the largest rate, {most}: give less"));
        }
        if !(least..=most).contains(&start) {
            return error("start_rate", format!("{start}: give a rate from {least} to {most}"));
        }
        if !(1..=240).contains(&frames) {
            return error("frames", format!("{frames}: give a number from 1 to 240"));
        }
        let pauses: Vec<Period> = self.pauses.iter().map(|p| Period { from: p.from.0, to: p.to.0 }).collect();
        if !pauses.is_empty()
            && let Err(wrong) = Outages::new(pauses.clone(), InOutage::Hold, None)
        {
            return error("pauses", wrong.message);
        }
        Ok(Call { least, most, start, frames, pauses, length: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_the_rates_of_rfc_8867_unless_others_are_given() {
        let call = CallSpec::default().call("call").unwrap();
        assert_eq!((call.least, call.most, call.start, call.frames), (LEAST, MOST, LEAST, 30));
        let rate = |bps| Some(Quantity(Rate::from_bps(bps)));
        let call = CallSpec { max_rate: rate(100_000), ..CallSpec::default() }.call("call").unwrap();
        assert_eq!(call.least, call.most);
        let wrong = CallSpec { start_rate: rate(2_000_000), ..CallSpec::default() }.call("call").unwrap_err();
        assert_eq!(wrong.path, "call.start_rate");
        assert!(CallSpec { frames: Some(0), ..CallSpec::default() }.call("call").is_err());
    }
}
