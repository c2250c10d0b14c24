//! The results of calls beside those that all flows have.

use super::probes::quantile;
use crate::call::{Encoded, Shown as Picture, Viewed};
use haltere_net::columns;
use haltere_net::columns::{
    About, Better, Comparison, EVERYWHERE, METRIC, MS, PERCENT, PLAIN, PURE, S, SIMULATED, Shown, Whole,
};
use haltere_net::varying::Period;
use haltere_net::{Span, Time};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const SEEN: About = About { at: SIMULATED, ..PLAIN };
const COST: About = About { better: Better::Lower, ..SEEN };
/// Programs on real hosts tell of frames, but not how long each was on its way.
const TOLD: About = About { at: EVERYWHERE, ..SEEN };
const TOLD_COST: About = About { at: EVERYWHERE, ..COST };

/// Frames that were taken within so long before the end may still be on their way, and do not count.
const TAIL: Span = Span::from_secs(1);
/// The frames over whose duration freezes are judged, and the factor and the time beyond their mean that make one (W3C, Identifiers
/// for WebRTC's Statistics API, `freezeCount`).
const FRAMES: usize = 30;
const FACTOR: f64 = 3.0;
const BEYOND: f64 = 0.15;
/// Times that programs tell are at most this, s: a day.
const LONGEST: f64 = 86_400.0;

columns! {
    /// The picture at the viewer of a call, in the measured time. Frames that were taken in its last second do not count.
    #[of(Flow)]
    pub struct CallResult {
        /// Calls: frames that the encoder wrote.
        pub frames_sent: u64 = About { whole: Whole::Sum, ..TOLD },
        /// Calls: those of them that the viewer showed.
        pub frames_shown: u64 = About {
            better: Better::Higher,
            whole: Whole::Sum,
            metrics: &[Shown {
                name: "frames_shown",
                label: "Frames shown",
                scale: PERCENT,
                comparison: Comparison::Difference { alike: 1.0, full: 20.0 },
                share_of: Some("frames_sent"),
                ceiling: Some(100.0),
                meaning: Some("Calls: frames that the viewer showed, as a share of those that the encoder wrote."),
            }],
            ..TOLD
        },
        /// Calls: frames shown in a second.
        pub picture_rate: Option<f64> = About {
            unit: Some("1/s"),
            better: Better::Higher,
            whole: Whole::Mean,
            metrics: &[Shown { name: "picture_rate", label: "Picture rate", scale: PURE, ..METRIC }],
            ..TOLD
        },
        /// Calls: how often the picture stood still: for three times as long as a frame of the last 30 lasted on average, and for
        /// 150 ms longer than that (W3C webrtc-stats, `freezeCount`).
        pub freezes: u64 = About {
            whole: Whole::Sum,
            metrics: &[Shown {
                name: "freezes",
                label: "Freezes",
                scale: PURE,
                comparison: Comparison::Difference { alike: 0.5, full: 10.0 },
                ..METRIC
            }],
            ..TOLD_COST
        },
        /// Calls: for how long it stood still in all.
        pub frozen_s: f64 = About {
            whole: Whole::Sum,
            metrics: &[Shown {
                name: "frozen_time",
                label: "Time frozen",
                scale: S,
                comparison: Comparison::Difference { alike: 0.2, full: 10.0 },
                ..METRIC
            }],
            ..TOLD_COST
        },
        /// Calls: the mean time from the camera to the picture (glass to glass), of the frames shown. Encoding and decoding take
        /// none.
        pub glass_to_glass_mean_s: Option<f64> = About {
            whole: Whole::Mean,
            metrics: &[Shown { name: "glass_to_glass", label: "Latency from glass to glass", scale: MS, ..METRIC }],
            ..COST
        },
        /// Calls: the time from the camera to the picture that 95 % of the frames shown do not exceed.
        pub glass_to_glass_p95_s: Option<f64> = About {
            whole: Whole::Mean,
            metrics: &[Shown {
                name: "glass_to_glass_p95",
                label: "Latency from glass to glass, 95th percentile",
                scale: MS,
                ..METRIC
            }],
            ..COST
        },
        /// Calls: the standard deviation of the rates at which frames arrived in whole seconds, as a share of their mean.
        pub rate_variation: Option<f64> = About {
            whole: Whole::Mean,
            metrics: &[Shown {
                name: "rate_variation",
                label: "Variation of the rate",
                scale: PERCENT,
                comparison: Comparison::Difference { alike: 2.0, full: 50.0 },
                ..METRIC
            }],
            ..TOLD_COST
        },
        /// Calls: key frames that the encoder wrote, the first included.
        pub key_frames: u64 = About { whole: Whole::Sum, ..SEEN },
    }
}

/// Freezes between the pictures that were shown: how many, and how long they are in all. The last lasts until the end. A picture that
/// stands while the encoder pauses is no freeze.
fn freezes(shown: &[Picture], pauses: &[Period], since: Time, end: Time) -> (u64, f64) {
    let captured = shown.iter().map(|picture| picture.captured).chain([end]).collect::<Vec<_>>();
    let over_pause = |k: usize| {
        let [from, to] = [captured[k], captured[k + 1]].map(|at| at.since(Time::ZERO));
        pauses.iter().any(|pause| pause.from < to && from < pause.to)
    };
    let times = shown.iter().map(|picture| picture.at).chain([end]).collect::<Vec<_>>();
    let lasted: Vec<f64> = times.windows(2).map(|pair| pair[1].since(pair[0]).as_secs_f64()).collect();
    let (mut count, mut total) = (0, 0.0);
    for (k, (&duration, began)) in lasted.iter().zip(&times).enumerate() {
        let before = &lasted[k.saturating_sub(FRAMES)..k];
        if before.is_empty() || *began < since || over_pause(k) {
            continue;
        }
        let mean = before.iter().sum::<f64>() / before.len() as f64;
        if duration >= (FACTOR * mean).max(mean + BEYOND) {
            (count, total) = (count + 1, total + duration);
        }
    }
    (count, total)
}

/// The variation of the rates of whole seconds between two times.
fn variation(arrived: &[(Time, u32)], since: Time, end: Time) -> Option<f64> {
    let seconds = usize::try_from(end.since(since).as_millis() / 1000).ok()?;
    let mut bytes = vec![0.0; seconds];
    for (at, len) in arrived.iter().filter(|(at, _)| *at >= since) {
        if let Some(second) = bytes.get_mut((at.since(since).as_millis() / 1000) as usize) {
            *second += f64::from(*len);
        }
    }
    let mean = bytes.iter().sum::<f64>() / seconds as f64;
    let variance = bytes.iter().map(|second| (second - mean) * (second - mean)).sum::<f64>() / seconds as f64;
    (seconds > 0 && mean > 0.0).then(|| variance.sqrt() / mean)
}

impl CallResult {
    /// The result of what was taken from `since` on, of a run that ends at `end`.
    pub(super) fn new(viewed: &Viewed, encoded: &Encoded, since: Time, end: Time) -> CallResult {
        let counts = |captured: Time| captured >= since && captured + TAIL <= end;
        let sent = encoded.captured.iter().filter(|at| counts(**at)).count();
        let shown: Vec<&Picture> = viewed.shown.iter().filter(|picture| counts(picture.captured)).collect();
        let mut latencies: Vec<f64> = shown.iter().map(|one| one.at.since(one.captured).as_secs_f64()).collect();
        latencies.sort_by(f64::total_cmp);
        let last = encoded.ended.map_or(end, |ended| ended.min(end));
        let measured = last.min(end.saturating_sub(TAIL)).since(since).as_secs_f64();
        let (freezes, frozen_s) = freezes(&viewed.shown, &encoded.pauses, since, end);
        CallResult {
            frames_sent: sent as u64,
            frames_shown: shown.len() as u64,
            picture_rate: (measured > 0.0).then(|| shown.len() as f64 / measured),
            freezes,
            frozen_s,
            glass_to_glass_mean_s: (!latencies.is_empty())
                .then(|| latencies.iter().sum::<f64>() / latencies.len() as f64),
            glass_to_glass_p95_s: quantile(&latencies, 0.95),
            rate_variation: variation(&viewed.arrived, since, last),
            key_frames: encoded.keys,
        }
    }
}

/// The frames of a call as the programs at its ends tell of them. Times are in seconds from the first frame at the same end, as the
/// ends do not share a clock. A picture is shown as late after the first one as its frame was taken after the first one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeenCall {
    /// When each frame was taken.
    sent: Vec<f64>,
    /// When each frame was whole at the viewer, and its bytes.
    arrived: Vec<(f64, u32)>,
    /// When each frame was shown.
    shown: Vec<f64>,
}

/// The columns that such frames tell, and the bytes of those that arrived.
pub(super) struct Told {
    pub bytes: u64,
    pub row: Map<String, Value>,
}

impl SeenCall {
    /// The result of the frames from `since` on, s.
    pub fn result(self, since: f64) -> Told {
        let time = |s: f64| Time::ZERO + Span::from_secs_f64(s.clamp(0.0, LONGEST));
        let last = time(self.sent.iter().copied().fold(0.0, f64::max));
        let (start, end) = (time(since), Time::ZERO + last.since(Time::ZERO).saturating_sub(TAIL));
        let counts = |at: &&f64| time(**at) >= start && time(**at) < end;
        let [sent, shown] = [&self.sent, &self.shown].map(|times| times.iter().filter(counts).count());
        // A frame of the last instant may be within it at one end alone.
        let shown = shown.min(sent);
        let arrived: Vec<(Time, u32)> = self.arrived.iter().map(|(at, bytes)| (time(*at), *bytes)).collect();
        let bytes_until =
            |end| arrived.iter().filter(|one| one.0 >= start && one.0 < end).map(|one| u64::from(one.1)).sum();
        let counted: u64 = bytes_until(end);
        let pictures = self.shown.iter().map(|at| time(*at)).filter(|at| *at < end);
        let pictures: Vec<Picture> = pictures.map(|at| Picture { captured: at, at }).collect();
        let (freezes, frozen_s) = freezes(&pictures, &[], start, end);
        let lasted = end.since(start).as_secs_f64();
        let row = json!({
            "frames_sent": sent,
            "frames_shown": shown,
            "picture_rate": (lasted > 0.0).then(|| shown as f64 / lasted),
            "freezes": freezes,
            "frozen_s": frozen_s,
            "rate_variation": variation(&arrived, start, end),
            "goodput_bps": (lasted > 0.0).then(|| 8.0 * counted as f64 / lasted),
        });
        Told { bytes: bytes_until(Time::NEVER), row: if let Value::Object(row) = row { row } else { Map::new() } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn shown(times: impl IntoIterator<Item = u64>) -> Vec<Picture> {
        times.into_iter().map(|ms| Picture { captured: at(ms), at: at(ms) }).collect()
    }

    #[test]
    fn a_freeze_is_three_frames_and_150_ms_long() {
        let steady = || (0..60).map(|k| 33 * k);
        assert_eq!(freezes(&shown(steady()), &[], at(0), at(60 * 33)), (0, 0.0));
        // 33 + 150 = 183 ms is the least.
        let with_gap = |ms: u64| shown(steady().chain([59 * 33 + ms]));
        assert_eq!(freezes(&with_gap(182), &[], at(0), at(59 * 33 + 200)).0, 0);
        let (count, total) = freezes(&with_gap(184), &[], at(0), at(59 * 33 + 200));
        assert_eq!((count, (total * 1e3).round()), (1, 184.0));
        // A slow picture is frozen later: at 100 ms a frame after 300 ms.
        let slow = |ms: u64| freezes(&shown((0..40).map(|k| 100 * k).chain([3900 + ms])), &[], at(0), at(3900 + ms)).0;
        assert_eq!((slow(290), slow(310)), (0, 1));
    }

    #[test]
    fn a_picture_that_never_moves_again_is_frozen_until_the_end() {
        let (count, total) = freezes(&shown((0..60).map(|k| 33 * k)), &[], at(0), at(59 * 33 + 5000));
        assert_eq!((count, total), (1, 5.0));
        assert_eq!(freezes(&[], &[], at(0), at(5000)), (0, 0.0));
    }

    #[test]
    fn a_pause_is_no_freeze() {
        let pause = Period { from: Span::from_millis(1980), to: Span::from_millis(5000) };
        let pictures = shown((0..60).map(|k| 33 * k).chain([5000, 5033, 9000]));
        let (count, total) = freezes(&pictures, &[pause], at(0), at(9033));
        assert_eq!((count, (total * 1e3).round()), (1, 3967.0), "only what stands still after the pause");
        assert_eq!(freezes(&pictures, &[], at(0), at(9033)).0, 2);
    }

    #[test]
    fn programs_tell_of_frames_but_not_how_long_they_were_on_their_way() {
        let frames = |count: u32| (0..count).map(|k| f64::from(k) / 30.0).collect::<Vec<_>>();
        let mut shown = frames(240);
        shown.retain(|at| !(3.0..3.5).contains(at));
        let arrived = frames(240).into_iter().map(|at| (at, 1000)).collect();
        let Told { bytes, row } = SeenCall { sent: frames(240), arrived, shown }.result(2.0);
        assert_eq!(bytes, 180_000);
        let told: Vec<Value> = ["frames_sent", "frames_shown", "freezes"].map(|name| row[name].clone()).into();
        assert_eq!(told, [json!(149), json!(134), json!(1)]);
        assert!((row["picture_rate"].as_f64().unwrap() - 134.0 / (239.0 / 30.0 - 3.0)).abs() < 1e-3);
        assert!((row["goodput_bps"].as_f64().unwrap() - 240e3).abs() < 1e3, "{}", row["goodput_bps"]);
        assert!((row["frozen_s"].as_f64().unwrap() - 0.5333).abs() < 1e-3 && !row.contains_key("glass_to_glass_p95_s"));
        let hostile = SeenCall { sent: vec![f64::MAX, -1.0], arrived: vec![(f64::INFINITY, 1)], shown: vec![-1e300] };
        assert_eq!(hostile.result(f64::NAN).row["frames_shown"], json!(1));
    }

    #[test]
    fn the_rate_varies_by_its_deviation_over_seconds() {
        let arrived: Vec<_> = (0..100).map(|k| (at(100 * k), if k < 50 { 1000 } else { 3000 })).collect();
        assert_eq!(variation(&arrived, at(0), at(10_000)), Some(0.5));
        assert_eq!(variation(&arrived, at(5000), at(10_000)), Some(0.0));
        assert_eq!(variation(&[], at(0), at(10_000)), None);
    }
}
