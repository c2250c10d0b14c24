//! The results of video on demand beside those that all flows have.

use crate::video::{Watched, quality};
use haltere_net::Time;
use haltere_net::columns;
use haltere_net::columns::{About, Better, Comparison, MBIT_S, METRIC, PLAIN, PURE, S, SIMULATED, Shown, Whole};

const SEEN: About = About { at: SIMULATED, ..PLAIN };
const COST: About = About { better: Better::Lower, ..SEEN };

columns! {
    /// The film at its viewer, from the start of the flow to its end.
    #[of(Flow)]
    pub struct VideoResult {
        /// Films: the time from the client's connect until the film plays; null if it never did.
        pub startup_s: Option<f64> = About {
            whole: Whole::Mean,
            metrics: &[Shown { name: "startup_time", label: "Start-up time", scale: S, ..METRIC }],
            ..COST
        },
        /// Films: how often the film stood still because its buffer was empty, the start not counted.
        pub stalls: u64 = About {
            whole: Whole::Sum,
            metrics: &[Shown {
                name: "stalls",
                label: "Stalls",
                scale: PURE,
                comparison: Comparison::Difference { alike: 0.5, full: 10.0 },
                ..METRIC
            }],
            ..COST
        },
        /// Films: for how long it stood still in all. A stall that lasts counts until the end.
        pub stalled_s: f64 = About {
            whole: Whole::Sum,
            metrics: &[Shown {
                name: "stalled_time",
                label: "Time stalled",
                scale: S,
                comparison: Comparison::Difference { alike: 0.2, full: 10.0 },
                ..METRIC
            }],
            ..COST
        },
        /// Films: the mean of the bit rates of the chunks that began to play.
        pub played_bps: Option<f64> = About {
            better: Better::Higher,
            whole: Whole::Mean,
            metrics: &[Shown { name: "played_rate", label: "Bit rate played", scale: MBIT_S, ..METRIC }],
            ..SEEN
        },
        /// Films: how often the bit rate changed from one of these chunks to the next.
        pub quality_switches: u64 = About {
            whole: Whole::Sum,
            metrics: &[Shown {
                name: "quality_switches",
                label: "Switches of quality",
                scale: PURE,
                comparison: Comparison::Difference { alike: 0.5, full: 10.0 },
                ..METRIC
            }],
            ..COST
        },
        /// Films: chunks that began to play.
        pub chunks_played: u64 = About { better: Better::Higher, whole: Whole::Sum, ..SEEN },
        /// Films: the quality of experience QoE_lin of these chunks (Yin et al., SIGCOMM 2015, equation 5, balanced), for each of
        /// them: its bit rate, less changes of the bit rate, and less the highest bit rate of the film for each second of stalls and
        /// of start-up time. It is below 0 if these are large.
        pub qoe_lin_bps: Option<f64> = About {
            better: Better::Higher,
            whole: Whole::Mean,
            metrics: &[Shown {
                name: "qoe_lin",
                label: "Quality of experience (QoE_lin)",
                scale: MBIT_S,
                comparison: Comparison::Difference { alike: 0.05, full: 4.0 },
                meaning: Some(
                    "Films: QoE_lin for each chunk played (Yin et al., SIGCOMM 2015, equation 5, balanced): its bit rate, less \
                     changes of the bit rate, and less the highest bit rate for each second of stalls and of start-up time.",
                ),
                ..METRIC
            }],
            ..SEEN
        },
    }
}

impl VideoResult {
    /// The result of a viewing that began at `start`, of a run that ends at `end`.
    pub(super) fn new(watched: &Watched, start: Time, end: Time) -> VideoResult {
        let playback = &watched.playback;
        let begun = match playback.begun() {
            // A chunk that ends now has the next one behind it, if that is there.
            Some(_) => playback.position(end).as_nanos() / watched.chunk.as_nanos().max(1) + 1,
            None => 0,
        };
        let rates: Vec<f64> = watched.rates.iter().map(|rate| rate.as_bps() as f64).take(begun as usize).collect();
        let (stalls, stalled) = playback.stalls(end);
        let waited = playback.begun().unwrap_or(end).since(start);
        let count = rates.len() as f64;
        VideoResult {
            startup_s: playback.begun().map(|at| at.since(start).as_secs_f64()),
            stalls,
            stalled_s: stalled.as_secs_f64(),
            played_bps: (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / count),
            quality_switches: rates.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64,
            chunks_played: rates.len() as u64,
            qoe_lin_bps: (!rates.is_empty()).then(|| {
                quality::lin(rates.iter().copied(), watched.highest.as_bps() as f64, stalled + waited) / count
            }),
        }
    }
}
