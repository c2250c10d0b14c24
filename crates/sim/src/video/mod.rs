//! Video on demand: a player fetches a film chunk by chunk over HTTP, and chooses the bit rate of each chunk.
//!
//! | file | holds |
//! |---|---|
//! | this one | the film as a scenario has it |
//! | `film` | its chunks with their sizes |
//! | `adaptation` | how the bit rate of a chunk is chosen, one file a rate adaptation |
//! | `playback` | when the film plays and when it stalls |
//! | `player` | the client; the server is that of [pages](crate::page) |
//! | `quality` | the quality of experience of a viewing |

pub mod adaptation;
mod film;
mod playback;
mod player;
pub mod quality;

pub use adaptation::RateAdaptation;
pub use film::Film;
pub use playback::Playback;
pub use player::{Player, Watched};

use crate::scenario::{Probability, Quantity, ScenarioError};
use haltere_net::registry::Registry;
use haltere_net::{Rate, Span};
use schemars::JsonSchema;
use serde::Deserialize;

/// The film of Mao, Netravali, Alizadeh, Neural Adaptive Video Streaming with Pensieve, SIGCOMM 2017, section 5.1: "EnvivioDash3" of
/// the DASH reference client, in 48 chunks of 4 s at six bit rates, and a player whose buffer holds at most 60 s (`sim/env.py` of its
/// authors).
const LENGTH: Span = Span::from_secs(192);
const CHUNK: Span = Span::from_secs(4);
const LADDER: [Rate; 6] = [
    Rate::from_bps(300_000),
    Rate::from_bps(750_000),
    Rate::from_bps(1_200_000),
    Rate::from_bps(1_850_000),
    Rate::from_bps(2_850_000),
    Rate::from_bps(4_300_000),
];
const BUFFER: Span = Span::from_secs(60);
/// The standard deviation of the sizes of that film's chunks is 10 % of their mean at the lowest bit rate and 5 % at the highest
/// (`video_size_0` to `video_size_5` of its authors); of a uniform distribution within 15 % it is 8.7 %.
const SPREAD: f64 = 0.15;

/// Bounds of what a film may be. A player waits at most for the duration of a chunk between two requests, which production stacks
/// must survive without a packet.
const LONGEST: Span = Span::from_secs(4 * 3600);
const CHUNKS: (Span, Span) = (Span::from_millis(100), Span::from_secs(20));
const MOST_CHUNKS: u64 = 10_000;
const MOST_RATES: usize = 12;
const FASTEST: Rate = Rate::from_bps(1_000_000_000);

/// A film and its player with all defaults filled in. Bit rates count the bodies of responses.
#[derive(Clone, PartialEq, Debug)]
pub struct Video {
    /// How the bit rate of each chunk is chosen.
    pub adaptation: RateAdaptation,
    /// The duration of the film.
    pub length: Span,
    /// The duration of each chunk but the last.
    pub chunk: Span,
    /// The mean bit rates in which each chunk is there, ascending.
    pub rates: Vec<Rate>,
    /// How far the size of a chunk is from the mean of its bit rate at most, as a share of that.
    pub spread: f64,
    /// The most of the film that the player's buffer holds.
    pub buffer: Span,
    /// How much of the film the buffer must hold before it plays, and again after a stall.
    pub startup: Span,
}

/// A film on demand and its player (default: the film of Pensieve, SIGCOMM 2017).
#[derive(Clone, PartialEq, Default, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Video")]
pub struct VideoSpec {
    /// How the bit rate of each chunk is chosen: `bba`, `throughput` or `mpc` (default bba).
    pub adaptation: Option<String>,
    /// The duration of the film (default 192s).
    pub length: Option<Quantity<Span>>,
    /// The duration of a chunk; the last may be shorter (default 4s).
    pub chunk: Option<Quantity<Span>>,
    /// The bit rates in which each chunk is there, ascending, of bodies of responses (default 300, 750, 1200, 1850, 2850 and
    /// 4300 kbit/s).
    pub rates: Option<Vec<Quantity<Rate>>>,
    /// How far the size of a chunk is from the mean of its bit rate at most (default 15%). A chunk that is large at one bit rate is
    /// large at all.
    pub spread: Option<Quantity<Probability>>,
    /// The most of the film that the player's buffer holds (default 60s).
    pub buffer: Option<Quantity<Span>>,
    /// How much of the film the buffer must hold before it plays, and again after a stall (default one chunk).
    pub startup: Option<Quantity<Span>>,
}

impl VideoSpec {
    /// The film that is meant; `path` is the path of the field.
    ///
    /// # Errors
    ///
    /// If a field is outside its bounds; the error says what would be right.
    pub(crate) fn video(self, path: &str) -> Result<Video, ScenarioError> {
        let error = |field: &str, message: String| ScenarioError { path: format!("{path}.{field}"), message };
        let known = Registry::<adaptation::Implementation>::default();
        let name = self.adaptation.as_deref().unwrap_or("bba");
        let adaptation =
            known.find(name).ok_or_else(|| error("adaptation", format!("{name:?}: {}", known.known(name))))?;
        let chunk = self.chunk.map_or(CHUNK, |q| q.0);
        let (least, most) = CHUNKS;
        if !(least..=most).contains(&chunk) {
            return Err(error("chunk", format!("{chunk}: give a duration from {least} to {most}")));
        }
        let length = self.length.map_or(LENGTH, |q| q.0);
        if length < chunk || length > LONGEST {
            return Err(error("length", format!("{length}: give a duration from {chunk}, one chunk, to {LONGEST}")));
        }
        if length.as_nanos().div_ceil(chunk.as_nanos()) > MOST_CHUNKS {
            let message =
                format!("{chunk}: a film of {length} has more than {MOST_CHUNKS} such chunks: give longer ones");
            return Err(error("chunk", message));
        }
        let rates = match self.rates {
            None => LADDER.to_vec(),
            Some(given) => ladder(&given).map_err(|message| error("rates", message))?,
        };
        let spread = self.spread.map_or(SPREAD, |q| q.0.0);
        if !(0.0..=0.9).contains(&spread) {
            return Err(error("spread", format!("{spread}: give a share from 0% to 90%")));
        }
        let buffer = self.buffer.map_or(BUFFER.max(chunk), |q| q.0);
        if buffer < chunk || buffer > LONGEST {
            return Err(error("buffer", format!("{buffer}: give a duration from {chunk}, one chunk, to {LONGEST}")));
        }
        let startup = self.startup.map_or(chunk, |q| q.0);
        // Until it plays, the buffer holds whole chunks.
        let whole = chunk.scaled(buffer.as_nanos() / chunk.as_nanos(), 1);
        if startup == Span::ZERO || startup > whole {
            let message = format!("{startup}: give a positive duration up to {whole}, the whole chunks of the buffer");
            return Err(error("startup", message));
        }
        Ok(Video { adaptation, length, chunk, rates, spread, buffer, startup })
    }
}

/// The bit rates of a film, or why they are wrong.
fn ladder(given: &[Quantity<Rate>]) -> Result<Vec<Rate>, String> {
    let rates: Vec<Rate> = given.iter().map(|q| q.0).collect();
    if rates.is_empty() || rates.len() > MOST_RATES {
        return Err(format!("{} bit rates: give from 1 to {MOST_RATES}", rates.len()));
    }
    if let Some(wrong) = rates.iter().find(|rate| rate.as_bps() == 0 || **rate > FASTEST) {
        return Err(format!("{wrong}: give positive bit rates up to {FASTEST}"));
    }
    if let Some(pair) = rates.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(format!("{} stands before {}: give them in ascending order, each once", pair[0], pair[1]));
    }
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(spec: VideoSpec) -> String {
        spec.video("video").unwrap_err().to_string()
    }

    #[test]
    fn a_film_is_pensieves_unless_another_is_given() {
        let video = VideoSpec::default().video("video").unwrap();
        assert_eq!((video.adaptation.name(), video.length, video.chunk), ("bba", LENGTH, CHUNK));
        assert_eq!((video.rates.as_slice(), video.buffer, video.startup), (LADDER.as_slice(), BUFFER, CHUNK));
    }

    #[test]
    fn what_cannot_be_played_is_refused_with_the_remedy() {
        let seconds = |s| Some(Quantity(Span::from_secs(s)));
        let rates = |all: &[u64]| Some(all.iter().map(|bps| Quantity(Rate::from_bps(*bps))).collect::<Vec<_>>());
        let none = VideoSpec::default;
        let cases = [
            (VideoSpec { adaptation: Some("bola".into()), ..none() }, "video.adaptation"),
            (VideoSpec { chunk: seconds(21), ..none() }, "video.chunk: 21s: give a duration from 100ms to 20s"),
            (VideoSpec { length: seconds(3), ..none() }, "video.length: 3s: give a duration from 4s"),
            (VideoSpec { rates: rates(&[]), ..none() }, "video.rates: 0 bit rates: give from 1 to 12"),
            (VideoSpec { rates: rates(&[0]), ..none() }, "video.rates: 0"),
            (VideoSpec { rates: rates(&[2_000, 1_000]), ..none() }, "ascending"),
            (VideoSpec { spread: Some(Quantity(Probability(0.95))), ..none() }, "from 0% to 90%"),
            (VideoSpec { buffer: seconds(3), ..none() }, "video.buffer: 3s"),
            (VideoSpec { buffer: seconds(11), startup: seconds(9), ..none() }, "up to 8s"),
        ];
        for (spec, said) in cases {
            let message = refused(spec);
            assert!(message.contains(said), "{message}");
        }
    }
}
