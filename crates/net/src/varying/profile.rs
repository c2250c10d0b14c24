//! A function of time given by points, with steps or ramps between them, once or repeated.

use super::VaryingError;
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The number of stairs into which a ramp is divided where it must be constant for a while.
const STAIRS: u64 = 1000;
/// The shortest period.
const SHORTEST: Span = Span::from_millis(1);
/// The latest time, 10^9 s: far beyond any run, and sums of it do not overflow.
const LATEST: Span = Span::from_secs(1_000_000_000);

/// How a function of time changes from one point to the next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// It keeps the value of the point before.
    #[default]
    Step,
    /// It changes linearly to the value of the next point.
    Ramp,
}

/// A function of time. In JSON: `{"at_ns": [0, 10000000000], "value": [10000000, 2000000], "between": "step",
/// "repeat_ns": 20000000000}`.
///
/// After the last point it keeps its value. With `repeat` it repeats with that period; a ramp then goes from the last
/// point to the value of the first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Profile {
    points: Arc<[(u64, u64)]>,
    between: Between,
    repeat: Option<u64>,
}

/// A profile as it is written in JSON.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    at_ns: Vec<Span>,
    value: Vec<u64>,
    #[serde(default)]
    between: Between,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat_ns: Option<Span>,
}

impl TryFrom<Written> for Profile {
    type Error = VaryingError;
    fn try_from(w: Written) -> Result<Profile, VaryingError> {
        Profile::new(&w.at_ns, &w.value, w.between, w.repeat_ns)
    }
}

impl From<Profile> for Written {
    fn from(profile: Profile) -> Written {
        let (at, value): (Vec<u64>, Vec<u64>) = profile.points.iter().copied().unzip();
        let at_ns = at.into_iter().map(Span::from_nanos).collect();
        Written { at_ns, value, between: profile.between, repeat_ns: profile.repeat.map(Span::from_nanos) }
    }
}

/// A time during which a value is constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stair {
    pub value: u64,
    /// When it ends; [`Time::NEVER`] if it does not.
    pub end: Time,
}

impl Profile {
    /// A function with the values `value` at the times `at`.
    ///
    /// # Errors
    /// If there is no point, if there are not as many values as times, if the times do not begin with 0 and ascend, or if
    /// the period is not longer than the last of them and at least 1 ms.
    pub fn new(at: &[Span], value: &[u64], between: Between, repeat: Option<Span>) -> Result<Profile, VaryingError> {
        let last = match at {
            [Span::ZERO, .., last] => *last,
            [Span::ZERO] => Span::ZERO,
            [] => return Err(VaryingError::new("at", "there is no time: give at least \"0s\"")),
            [first, ..] => {
                let message = format!("the first time is {first}: say what holds from the start, at \"0s\"");
                return Err(VaryingError::new("at", message));
            }
        };
        if at.len() != value.len() {
            let message = format!("there are {} values and {} times: give as many", value.len(), at.len());
            return Err(VaryingError::new("value", message));
        }
        if let Some(pair) = at.windows(2).find(|pair| pair[0] >= pair[1]) {
            let message = format!("{} stands before {}: give ascending times", pair[0], pair[1]);
            return Err(VaryingError::new("at", message));
        }
        if last > LATEST {
            return Err(VaryingError::new("at", format!("{last}: give times up to {LATEST}")));
        }
        if let Some(repeat) = repeat.filter(|&r| r <= last || r < SHORTEST || r > LATEST) {
            let message = format!("{repeat}: give a period after the last time, {last}, and of at least {SHORTEST}");
            return Err(VaryingError::new("repeat", message));
        }
        let points = at.iter().map(|at| at.as_nanos()).zip(value.iter().copied()).collect();
        Ok(Profile { points, between, repeat: repeat.map(Span::as_nanos) })
    }

    /// The smallest value.
    pub fn least(&self) -> u64 {
        debug_assert!(!self.points.is_empty(), "a profile has a point");
        self.points.iter().map(|p| p.1).min().unwrap_or(0)
    }

    /// The largest value.
    pub fn greatest(&self) -> u64 {
        debug_assert!(!self.points.is_empty(), "a profile has a point");
        self.points.iter().map(|p| p.1).max().unwrap_or(0)
    }

    /// The period with which it repeats.
    pub(super) fn period(&self) -> Option<Span> {
        self.repeat.map(Span::from_nanos)
    }

    /// The segment at `t`: when its repetition began, its first point, and its end with the value that a ramp reaches
    /// there (`None`: it does not end).
    fn segment(&self, t: Time) -> (u64, (u64, u64), Option<(u64, u64)>) {
        let t = t.as_nanos();
        let offset = self.repeat.map_or(t, |period| t % period);
        let next = self.points.partition_point(|&(at, _)| at <= offset);
        let first = self.points[0];
        let from = self.points.get(next.wrapping_sub(1)).copied().unwrap_or(first);
        let to = self.points.get(next).copied().or(self.repeat.map(|period| (period, first.1)));
        (t - offset, from, to)
    }

    /// The value at `t`; on a ramp rounded down.
    pub fn value(&self, t: Time) -> u64 {
        let (base, from, to) = self.segment(t);
        match (self.between, to) {
            (Between::Ramp, Some(to)) => {
                let (run, along) = (i128::from(to.0 - from.0), i128::from(t.as_nanos() - base - from.0));
                let rise = (i128::from(to.1) - i128::from(from.1)) * along;
                (i128::from(from.1) + rise.div_euclid(run)) as u64
            }
            _ => from.1,
        }
    }

    /// The stair at `t`. A ramp is a staircase of 1000 equal stairs (of one a nanosecond if it is shorter), each of which
    /// has the value of its middle, rounded down.
    pub(super) fn stair(&self, t: Time) -> Stair {
        let (base, from, to) = self.segment(t);
        let Some(to) = to else { return Stair { value: from.1, end: Time::NEVER } };
        let end = |offset: u64| Time::from_nanos(base.saturating_add(offset));
        if self.between == Between::Step {
            return Stair { value: from.1, end: end(to.0) };
        }
        let run = u128::from(to.0 - from.0);
        let stairs = run.min(u128::from(STAIRS));
        let number = u128::from(t.as_nanos() - base - from.0) * stairs / run;
        let rise = (i128::from(to.1) - i128::from(from.1)) * (2 * number as i128 + 1);
        let value = (i128::from(from.1) + rise.div_euclid(2 * stairs as i128)) as u64;
        let next = ((number + 1) * run).div_ceil(stairs) as u64;
        Stair { value, end: end(from.0 + next) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn profile(points: &[(u64, u64)], between: Between, repeat: Option<u64>) -> Result<Profile, VaryingError> {
        let at: Vec<Span> = points.iter().map(|p| Span::from_millis(p.0)).collect();
        let value: Vec<u64> = points.iter().map(|p| p.1).collect();
        Profile::new(&at, &value, between, repeat.map(Span::from_millis))
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn steps_and_ramps_have_their_values() {
        let points = [(0, 100), (10, 20), (30, 60)];
        let values = |between, repeat| {
            let p = profile(&points, between, repeat).unwrap();
            [0, 5, 10, 20, 35, 40, 45].map(|t| p.value(ms(t)))
        };
        assert_eq!(values(Between::Step, None), [100, 100, 20, 20, 60, 60, 60]);
        assert_eq!(values(Between::Ramp, None), [100, 60, 20, 40, 60, 60, 60]);
        assert_eq!(values(Between::Step, Some(40)), [100, 100, 20, 20, 60, 100, 100]);
        assert_eq!(values(Between::Ramp, Some(40)), [100, 60, 20, 40, 80, 100, 60]);
    }

    #[test]
    fn what_is_no_function_of_time_is_refused_by_its_field() {
        for (points, repeat, field) in [
            (&[][..], None, "at"),
            (&[(1, 5)], None, "at"),
            (&[(0, 5), (3, 5), (3, 6)], None, "at"),
            (&[(0, 5), (3, 5)], Some(3), "repeat"),
            (&[(0, 5)], Some(0), "repeat"),
        ] {
            assert_eq!(profile(points, Between::Step, repeat).unwrap_err().field, field, "{points:?}");
        }
        let uneven = Profile::new(&[Span::ZERO], &[1, 2], Between::Step, None);
        assert_eq!(uneven.unwrap_err().field, "value");
        assert!(serde_json::from_str::<Profile>(r#"{"at_ns": [0], "value": [1], "repeat": 5}"#).is_err());
    }

    proptest! {
        /// Stairs follow each other without a gap, and each has the value of its middle.
        #[test]
        fn stairs_cover_all_time(gaps in prop::collection::vec((1u64..5, 0u64..1000), 1..6), ramp: bool, repeats: bool, t in 0u64..40_000_000) {
            let mut at = 0;
            let points: Vec<(u64, u64)> = gaps.iter().map(|&(gap, v)| { at += gap; (at - gaps[0].0, v) }).collect();
            let between = if ramp { Between::Ramp } else { Between::Step };
            let p = profile(&points, between, repeats.then_some(at + 1)).unwrap();
            prop_assert_eq!(serde_json::from_value::<Profile>(serde_json::to_value(&p).unwrap()).unwrap(), p.clone());
            let t = Time::from_nanos(t);
            let stair = p.stair(t);
            prop_assert!(stair.end > t);
            if stair.end != Time::NEVER {
                let last = Time::from_nanos(stair.end.as_nanos() - 1);
                prop_assert_eq!(p.stair(last), stair);
                let (low, high) = (p.value(t).min(p.value(last)), p.value(t).max(p.value(last)));
                prop_assert!((low.saturating_sub(1)..=high + 1).contains(&stair.value));
            }
        }
    }
}
