//! The radio of a user: where it is, and the rate of its resource blocks at any time.

use super::adaptation::{Adaptation, from_db, to_db};
use super::config::{BLOCK_HZ, LteConfig, TTI, User};
use super::deployment::{CORRELATION_DISTANCE, Conditions, Deployment, shadows};
use super::fading::{Fading, FadingModel, doppler_hz};
use crate::rng::Streams;
use crate::time::{Span, Time};
use crate::topology::Direction;
use std::f64::consts::TAU;

/// The distance of two places of a user's way whose conditions are computed, m; between them they are interpolated in dB.
const STEP: f64 = 5.0;
/// Resource blocks of a subband: a tenth of 10 MHz, which is near the 6 for which users of such a carrier report channel quality (3GPP TS
/// 36.213 table 7.2.1-5).
const SUBBAND_BLOCKS: u32 = 5;
/// How often users report channel quality, and how old a report is when it is first used (as in the assumptions of 3GPP TR 36.814
/// table A.2.2-1, from memory).
const REPORT_PERIOD: Span = Span::from_millis(5);
const REPORT_AGE: Span = Span::from_millis(6);
/// Reports that are looked at in advance for the first one by which a user can be reached again: ten seconds.
const AHEAD: u32 = 2000;

/// The way of a user: to and fro on a straight line across the cell, between its borders.
struct Way {
    /// Where it is at first, from the line's beginning, m.
    start: f64,
    length: f64,
    /// m/s.
    speed: f64,
    /// The conditions at each step from the line's beginning: SINR down, SINR up and blocks up, in dB.
    steps: Vec<[f64; 3]>,
}

impl Way {
    /// How far from the line's beginning the user is at a time, m.
    fn place(&self, at: Time) -> f64 {
        if self.length <= 0.0 {
            return 0.0;
        }
        let gone = libm::fmod(self.start + self.speed * at.as_secs_f64(), 2.0 * self.length);
        if gone <= self.length { gone } else { 2.0 * self.length - gone }
    }

    fn conditions(&self, at: Time) -> Conditions {
        let place = self.place(at) / STEP;
        let step = (place as usize).min(self.steps.len().saturating_sub(1));
        let (before, after) = (self.steps[step], self.steps[(step + 1).min(self.steps.len() - 1)]);
        let part = (place - step as f64).clamp(0.0, 1.0);
        let [down, up, most_up] = std::array::from_fn(|k| from_db(before[k] + part * (after[k] - before[k])));
        Conditions { down, up, most_up }
    }
}

/// Knowledge that the scheduler has of a user in one direction.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Quality {
    /// The bits that a resource block carries in a TTI.
    pub bits: f64,
    /// The most resource blocks that it can have.
    pub most: u32,
}

/// A user's radio.
pub(super) struct Radio {
    way: Way,
    /// Down and up.
    fading: [Fading; 2],
    blocks: u32,
    /// The last report of each direction, with its number.
    reports: [Option<(u64, Quality)>; 2],
    /// Up to when it is known to be out of reach, down and up.
    deaf: [Time; 2],
    /// Whether its channel never changes.
    still: bool,
}

impl Radio {
    /// The radio of a user called `name`: its place and way are drawn from `NAME/place`, shadowing from `NAME/shadowing` and fast
    /// fading from `NAME/fading down` and `NAME/fading up`.
    pub fn new(config: &LteConfig, user: &User, name: &str, cells: &Deployment, streams: &Streams) -> Radio {
        let blocks = config.blocks();
        let bands = blocks / SUBBAND_BLOCKS;
        let middle = f64::from(bands - 1) / 2.0;
        let centre = |band: u32| (f64::from(band) - middle) * f64::from(SUBBAND_BLOCKS) * BLOCK_HZ;
        let centres: Vec<f64> = (0..bands).map(centre).collect();
        let fading = |way: &str| {
            let dice = &mut streams.named(&format!("{name}/fading {way}"));
            Fading::new(config.fading, config.antennas, doppler_hz(config.speed.0), &centres, dice)
        };
        let way = Radio::way(config, user, name, cells, streams);
        let still = config.speed.0 <= 0.0 || (way.length <= 0.0 && config.fading == FadingModel::None);
        let fading = ["down", "up"].map(fading);
        Radio { way, fading, blocks, reports: [None; 2], deaf: [Time::ZERO; 2], still }
    }

    fn way(config: &LteConfig, user: &User, name: &str, cells: &Deployment, streams: &Streams) -> Way {
        let dice = &mut streams.named(&format!("{name}/place"));
        let from = match user.distance {
            Some(metres) => cells.at_distance(metres.0, dice),
            None => cells.anywhere(dice),
        };
        let heading = TAU * dice.unit();
        let speed = config.speed.0;
        if let Some(sinr) = user.sinr {
            let most = to_db(f64::from(config.blocks()));
            return Way { start: 0.0, length: 0.0, speed, steps: vec![[sinr.0, sinr.0, most]] };
        }
        let (back, ahead) = (cells.to_border(from, heading + TAU / 2.0), cells.to_border(from, heading));
        let (start, length) = if speed > 0.0 { (back, back + ahead) } else { (0.0, 0.0) };
        let dice = &mut streams.named(&format!("{name}/shadowing"));
        let mut shadow = shadows(dice);
        // Gauss and Markov: the correlation falls exponentially with the distance (M. Gudmundson, "Correlation model for shadow fading in
        // mobile radio systems", Electronics Letters 27(23), 1991).
        let kept = libm::exp(-STEP / CORRELATION_DISTANCE);
        let fresh = libm::sqrt(1.0 - kept * kept);
        let count = (length / STEP) as usize + 2;
        let mut steps = Vec::with_capacity(count);
        for step in 0..count {
            if step > 0 {
                let drawn = shadows(dice);
                shadow = std::array::from_fn(|site| kept * shadow[site] + fresh * drawn[site]);
            }
            let place = from.moved((step as f64 * STEP).min(length) - start, heading);
            let Conditions { down, up, most_up } = cells.conditions(place, &shadow);
            steps.push([down, up, most_up].map(to_db));
        }
        Way { start, length, speed, steps }
    }

    /// When a user that cannot be reached at `at` should be tried again: at the first report by which it can be, or after some
    /// seconds without one. The channel is a function of time, so that looking ahead needs no events.
    pub fn next_heard(&mut self, direction: Direction, at: Time) -> Time {
        if self.still {
            return Time::NEVER;
        }
        let known = self.deaf[direction as usize];
        if at < known {
            return known;
        }
        let mut next = at;
        for _ in 0..AHEAD {
            next = Radio::next_report(next);
            if self.quality(direction, next).bits > 0.0 {
                break;
            }
        }
        self.deaf[direction as usize] = next;
        next
    }

    /// From when on the scheduler may know something else than at `at`.
    fn next_report(at: Time) -> Time {
        let report = at.saturating_sub(REPORT_AGE).as_nanos() / REPORT_PERIOD.as_nanos();
        Time::ZERO + REPORT_PERIOD * (report + 1) + REPORT_AGE
    }

    /// Returns the scheduler's knowledge in a TTI that begins at `at`.
    pub fn quality(&mut self, direction: Direction, at: Time) -> Quality {
        let report = at.saturating_sub(REPORT_AGE).as_nanos() / REPORT_PERIOD.as_nanos();
        let known = &mut self.reports[direction as usize];
        if let Some((number, quality)) = known
            && *number == report
        {
            return *quality;
        }
        let measured = Time::ZERO + REPORT_PERIOD * report;
        let conditions = self.way.conditions(measured);
        let (mean, most) = match direction {
            Direction::Down => (conditions.down, self.blocks),
            // Through decibels and back, a whole number may come out a little less.
            Direction::Up => (conditions.up, ((conditions.most_up + 1e-6) as u32).clamp(1, self.blocks)),
        };
        let adaptation = Adaptation::of(direction);
        let (mut sum, mut bands) = (0.0, 0.0);
        self.fading[direction as usize].powers(measured, |power| {
            sum += adaptation.efficiency(mean * power);
            bands += 1.0;
        });
        let bits = sum / bands * BLOCK_HZ * TTI.as_secs_f64();
        // Blocks that carry no byte carry nothing.
        let quality = Quality { bits: if bits * f64::from(most) >= 8.0 { bits } else { 0.0 }, most };
        *known = Some((report, quality));
        quality
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{Sinr, Speed};
    use super::super::fading::FadingModel;
    use super::*;

    fn radio(config: &LteConfig, user: User) -> Radio {
        let streams = Streams::new(1, 0);
        let cells = Deployment::new(config, &mut streams.named("neighbours"));
        Radio::new(config, &user, "user 0", &cells, &streams)
    }

    #[test]
    fn users_go_to_and_fro() {
        let way = Way { start: 30.0, length: 100.0, speed: 10.0, steps: vec![[0.0; 3]; 22] };
        let at = |seconds| way.place(Time::ZERO + Span::from_secs(seconds));
        assert_eq!([0, 7, 8, 17, 18, 20].map(at), [30.0, 100.0, 90.0, 0.0, 10.0, 30.0]);
        let still = Way { length: 0.0, speed: 0.0, ..way };
        assert_eq!(still.place(Time::NEVER), 0.0);
    }

    #[test]
    fn conditions_are_interpolated() {
        let way =
            Way { start: 0.0, length: 10.0, speed: 1.0, steps: vec![[0.0; 3], [10.0, 20.0, 5.0], [10.0; 3], [0.0; 3]] };
        let seen = way.conditions(Time::ZERO + Span::from_millis(2500));
        assert!((seen.down - from_db(5.0)).abs() < 1e-9 && (seen.up - from_db(10.0)).abs() < 1e-9);
    }

    /// At 3 dB, log2(1 + 1.995) = 1.583 bit/s/Hz: 0.6 of it in 180 kHz and 1 ms are 170.9 bit, up 0.4.
    #[test]
    fn a_fixed_sinr_has_the_rate_of_the_formula() {
        let config = LteConfig { fading: FadingModel::None, antennas: 1, ..LteConfig::new(vec![User::default()]) };
        let mut one = radio(&config, User { sinr: Some(Sinr(3.0)), distance: None });
        let [down, up] = [Direction::Down, Direction::Up].map(|way| one.quality(way, Time::ZERO));
        assert!((down.bits - 0.6 * 1.5826 * 180.0).abs() < 0.01 && (up.bits - 0.4 * 1.5826 * 180.0).abs() < 0.01);
        assert_eq!((down.most, up.most), (50, 50));
    }

    /// A user at the edge of coverage is tried again when it can be heard, and not before.
    #[test]
    fn a_user_out_of_reach_is_waited_for() {
        let config = LteConfig { fading: FadingModel::Flat, antennas: 1, ..LteConfig::new(vec![User::default()]) };
        let mut one = radio(&config, User { sinr: Some(Sinr(-14.0)), distance: None });
        let ms = |ms| Time::ZERO + Span::from_millis(ms);
        let mut deaf = (0..5000).map(ms).filter(|at| one.quality(Direction::Down, *at).bits <= 0.0).collect::<Vec<_>>();
        assert!((500..4990).contains(&deaf.len()), "{}", deaf.len());
        deaf.truncate(500);
        for at in deaf {
            let next = one.next_heard(Direction::Down, at);
            assert!(one.quality(Direction::Down, next).bits > 0.0 && next <= at + Span::from_secs(10));
            let between = (at.as_nanos() / 1_000_000..next.as_nanos() / 1_000_000).map(ms);
            assert!(between.into_iter().all(|t| one.quality(Direction::Down, t).bits <= 0.0), "{at:?} to {next:?}");
        }
        let still = LteConfig { fading: FadingModel::None, ..config };
        let mut never = radio(&still, User { sinr: Some(Sinr(-20.0)), distance: None });
        assert_eq!(never.next_heard(Direction::Down, ms(3)), Time::NEVER);
    }

    /// A report of 5 ms is used from 6 ms after it on.
    #[test]
    fn the_scheduler_knows_what_was_some_milliseconds_ago() {
        let config = LteConfig { speed: Speed(30.0 / 3.6), ..LteConfig::new(vec![User::default()]) };
        let mut one = radio(&config, User::default());
        let mut at = |ms| one.quality(Direction::Down, Time::ZERO + Span::from_millis(ms)).bits;
        let seen: Vec<f64> = (0..21).map(&mut at).collect();
        let changes: Vec<usize> = (1..21).filter(|&ms| seen[ms] != seen[ms - 1]).collect();
        assert_eq!(changes, [11, 16]);
        let next = |ms| Radio::next_report(Time::ZERO + Span::from_millis(ms)).as_nanos() / 1_000_000;
        assert_eq!([0, 10, 11, 15, 16].map(next), [11, 11, 16, 16, 21]);
    }
}
