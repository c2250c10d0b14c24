//! How the goodput of flows changes over time, from windows of the scenario's `rate_window` (RFC 5166 section 2.2 and 2.3).
//!
//! Times are counted in steps, a tenth of the window. Windows of oscillation follow each other; those of convergence and
//! response begin at each step.

use super::{COST, FlowResult, RunResult};
use crate::build::Run;
use crate::noted::{STEPS, Steps};
use crate::scenario::Way;
use haltere_net::columns;
use haltere_net::columns::{About, Comparison, METRIC, PERCENT, S, SIMULATED, Shown, Whole};
use haltere_net::topology::{Direction, Edge};
use haltere_net::{Span, Time};

/// How far from the mean of all flows a rate still counts as the fair share, and for how many windows it must: PCC's
/// convergence time is the earliest time after which a flow keeps within 25 % of its fair rate for 5 s (M. Dong et al., PCC:
/// Re-architecting Congestion Control for Consistent High Performance, NSDI 2015, section 4.2.2).
const FAIR: (f64, usize) = (0.25, 5);
/// The share of a bottleneck's rate at which a path counts as used. Headers are part of what is missing.
const USED: f64 = 0.9;

const WINDOWED: About = About { at: SIMULATED, ..COST };

/// Of times, which may be 0.
const fn time(name: &'static str, label: &'static str, alike: f64) -> Shown {
    Shown { name, label, scale: S, comparison: Comparison::Difference { alike, full: 10.0 * alike }, ..METRIC }
}

columns! {
    /// How the goodput of a flow changes, where the scenario gives `rate_window`.
    #[of(Flow)]
    pub struct RateResult {
        /// With `rate_window`: the coefficient of variation of the goodput over the windows of the measured time, that is its
        /// standard deviation divided by its mean (RFC 5166 section 2.2.2); 0 for a constant rate. Null if there are not two
        /// windows, or nothing was received in them.
        pub oscillation: Option<f64> = About {
            whole: Whole::Mean,
            metrics: &[Shown {
                name: "oscillation",
                label: "Oscillation of the goodput",
                comparison: Comparison::Difference { alike: 0.05, full: 0.5 },
                ..METRIC
            }],
            ..WINDOWED
        },
        /// With `rate_window`: the largest fall of the goodput from one window of the measured time to the next, as a share of
        /// the first; the smoothness of RFC 5166 section 2.2.1 with the window in the place of a round-trip time.
        pub largest_fall_ratio: Option<f64> = About {
            whole: Whole::Largest,
            metrics: &[Shown {
                name: "largest_fall",
                label: "Largest fall of the goodput",
                scale: PERCENT,
                comparison: Comparison::Difference { alike: 5.0, full: 50.0 },
                ..METRIC
            }],
            ..WINDOWED
        },
        /// With `rate_window`: the longest time within the measured time in which the flow was connecting or had data to get
        /// and received none, in whole tenths of the window. The time until the end counts too.
        pub longest_silence_s: Option<f64> = About {
            whole: Whole::Largest,
            metrics: &[time("longest_silence", "Longest silence", 0.1)],
            ..WINDOWED
        },
    }
}

columns! {
    /// How fast the flows of a run reach a state, where the scenario gives `rate_window`.
    #[of(Run)]
    pub struct ReachedResult {
        /// With `rate_window`: time from the start of the last flow until the goodput of each flow is within 25 % of the mean of
        /// all, and stays so for five windows in sequence: a convergence time of RFC 5166 section 2.3.3 with the bounds of Dong
        /// et al. (NSDI 2015). Of flows without a size, where flows go both ways those that go down. Null if it is not
        /// reached, or there are not two such flows.
        pub convergence_s: Option<f64> =
            About { metrics: &[time("convergence_time", "Convergence time", 1.0)], ..WINDOWED },
        /// With `rate_window`: time from `measure_from`, at which the path of the scenario changes, until the beginning of the
        /// first window in which the goodput of all flows together is at least 90 % of the bottleneck's rate at the window's
        /// end; headers are part of the tenth (RFC 5166 section 2.2.1). Null if it is not reached, without `measure_from`,
        /// and where no single link is the bottleneck or its rate is recorded or unlimited.
        pub response_s: Option<f64> =
            About { metrics: &[time("response_time", "Response time", 0.5)], ..WINDOWED },
    }
}

/// Bytes that one flow received up to each step.
#[derive(Clone, Copy)]
struct Course<'a>(&'a [u64]);

impl Course<'_> {
    /// The bytes of the window that begins with a step, if it ended within the run.
    fn window(self, from: usize) -> Option<u64> {
        Some(self.0.get(from + STEPS)?.saturating_sub(*self.0.get(from)?))
    }

    /// The bytes of the windows that follow each other from one step to another.
    fn windows(self, steps: (usize, usize)) -> Vec<f64> {
        let begins = (steps.0..).step_by(STEPS).take_while(|begin| begin + STEPS <= steps.1);
        begins.map_while(|begin| self.window(begin)).map(|bytes| bytes as f64).collect()
    }

    /// The largest number of successive steps between these without a byte.
    fn silence(self, steps: (usize, usize)) -> Option<usize> {
        let course = self.0.get(steps.0..=steps.1).filter(|course| course.len() > 1)?;
        let (mut longest, mut now) = (0, 0);
        for pair in course.windows(2) {
            now = if pair[1] > pair[0] { 0 } else { now + 1 };
            longest = longest.max(now);
        }
        Some(longest)
    }
}

/// The coefficient of variation of some values, if there are two and their mean is positive.
fn variation(values: &[f64]) -> Option<f64> {
    let (n, mean) = (values.len() as f64, mean(values.iter().copied()));
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (values.len() > 1 && mean > 0.0).then(|| (squares / n).sqrt() / mean)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The largest fall from a value to the next, as a share of the first; 0 if none falls.
fn largest_fall(values: &[f64]) -> Option<f64> {
    let falls = values.windows(2).filter(|pair| pair[0] > 0.0).map(|pair| 1.0 - pair[1] / pair[0]);
    falls.reduce(f64::max).map(|fall| fall.max(0.0))
}

/// The steps from `since` until all flows have the fair share and keep it.
fn convergence(courses: &[Course<'_>], since: usize) -> Option<usize> {
    let (tolerance, lasting) = FAIR;
    let fair = |begin: usize| {
        let rates: Option<Vec<f64>> = courses.iter().map(|of| of.window(begin).map(|bytes| bytes as f64)).collect();
        rates.map(|rates| {
            let share = mean(rates.iter().copied());
            share > 0.0 && rates.iter().all(|rate| (rate - share).abs() <= tolerance * share)
        })
    };
    if courses.len() < 2 {
        return None;
    }
    for begin in since.. {
        let mut windows = (0..lasting).map(|n| fair(begin + n * STEPS));
        // A window beyond the end of the run ends the search.
        if windows.try_fold(true, |all, fair| fair.map(|fair| all && fair))? {
            return Some(begin - since);
        }
    }
    None
}

/// The steps from `since` until all flows together use a rate. `least` is the least number of bytes in a window that ends with a
/// step.
fn response(courses: &[Course<'_>], since: usize, least: impl Fn(usize) -> f64) -> Option<usize> {
    (since..)
        .map_while(|begin| Some((begin, courses.iter().map(|of| of.window(begin)).sum::<Option<u64>>()?)))
        .find(|(begin, bytes)| *bytes as f64 >= least(begin + STEPS))
        .map(|(begin, _)| begin - since)
}

/// The rate of a link at a time, bit/s, if it is known and limited.
fn rate(edge: &Edge, at: Time) -> Option<u64> {
    let config = &edge.config;
    if config.trace.is_some() {
        return None;
    }
    let varying = config.rate_profile.as_ref().map(|profile| profile.value(at));
    varying.or(config.rate.map(|rate| rate.as_bps()))
}

impl Run {
    /// The bottleneck in a direction: the link of that name, or the only one.
    fn bottleneck(&self, direction: Direction) -> Option<&Edge> {
        let mut edges = self.world.topology().edges().iter().filter(|edge| edge.direction == direction);
        let first = edges.clone().next()?;
        let named = edges.clone().find(|edge| &*edge.name == "bottleneck");
        named.or_else(|| (edges.by_ref().count() == 1).then_some(first))
    }

    /// Adds how the goodput changed to the result of the run.
    pub(crate) fn add_rates(&self, result: &mut RunResult, steps: &Steps, measure_from: Option<Span>) {
        let seconds = |count: usize| count as f64 * steps.step.as_secs_f64();
        let step = steps.step.as_nanos();
        let begun = |at: Span| at.as_nanos().div_ceil(step) as usize;
        let from = begun(measure_from.unwrap_or(Span::ZERO));
        let noted = steps.bytes.first().map_or(0, |bytes| bytes.len().saturating_sub(1));
        for (flow, bytes) in result.flows.iter_mut().zip(&steps.bytes) {
            let start = self.flows[flow.flow as usize].start.since(Time::ZERO);
            let end = flow.completion_s.map(|lasted| start + Span::from_secs_f64(lasted));
            let last = end.map_or(noted, |end| noted.min((end.as_nanos() / step) as usize));
            flow.rates = Some(flow_rates(Course(bytes), (from.max(begun(start)), last), seconds));
        }
        let down = result.flows.iter().any(|flow| flow.direction == Way::Down.name());
        let (way, direction) = if down { (Way::Down, Direction::Down) } else { (Way::Up, Direction::Up) };
        let counted = || result.flows.iter().zip(&steps.bytes).filter(move |(flow, _)| flow.direction == way.name());
        let lasting = |flow: &FlowResult| !self.flows[flow.flow as usize].spec.ends();
        let (endless, shares): (Vec<_>, Vec<_>) =
            counted().filter(|(flow, _)| lasting(flow)).map(|(flow, bytes)| (flow, Course(bytes))).unzip();
        let started = endless.iter().map(|flow| self.flows[flow.flow as usize].start.since(Time::ZERO)).max();
        let converged = started.and_then(|at| convergence(&shares, begun(at)));
        let all: Vec<Course<'_>> = counted().map(|(_, bytes)| Course(bytes)).collect();
        let bottleneck = measure_from.and_then(|_| self.bottleneck(direction));
        let at = |end: usize| Time::from_nanos(step.saturating_mul(end as u64));
        let responded = bottleneck.filter(|edge| rate(edge, at(from)).is_some()).and_then(|edge| {
            let window = seconds(STEPS);
            let least = |end| rate(edge, at(end)).map_or(f64::INFINITY, |bps| USED * bps as f64 * window / 8.0);
            response(&all, from, least)
        });
        result.reached =
            Some(ReachedResult { convergence_s: converged.map(seconds), response_s: responded.map(seconds) });
    }
}

fn flow_rates(course: Course<'_>, steps: (usize, usize), seconds: impl Fn(usize) -> f64) -> RateResult {
    let windows = course.windows(steps);
    RateResult {
        oscillation: variation(&windows),
        largest_fall_ratio: largest_fall(&windows),
        longest_silence_s: course.silence(steps).map(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The course of a flow that receives these bytes in the steps.
    fn course(bytes: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut sum = 0;
        std::iter::once(0)
            .chain(bytes.into_iter().map(|more| {
                sum += more;
                sum
            }))
            .collect()
    }

    #[test]
    fn a_constant_rate_does_not_oscillate_and_a_square_wave_has_its_known_variation() {
        let constant = course([7; 60]);
        assert_eq!(variation(&Course(&constant).windows((0, 60))), Some(0.0));
        // Windows of 300 and 100 bytes in turn: a mean of 200, a deviation of 100.
        let wave = course((0..80).map(|step| if step / 10 % 2 == 0 { 30 } else { 10 }));
        let windows = Course(&wave).windows((0, 80));
        assert_eq!(variation(&windows), Some(0.5));
        assert!((largest_fall(&windows).unwrap() - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(variation(&Course(&wave).windows((0, 19))), None, "one window is no course");
        assert_eq!(largest_fall(&[1.0, 2.0, 2.0]), Some(0.0));
        assert_eq!(variation(&[0.0, 0.0]), None);
    }

    #[test]
    fn a_silence_is_the_longest_one_between_the_steps_and_may_last_to_the_end() {
        let noted = course([0, 0, 0, 0, 5, 0, 0, 5, 0, 0, 0]);
        let of = Course(&noted);
        assert_eq!(of.silence((0, 11)), Some(4));
        assert_eq!(of.silence((4, 11)), Some(3));
        assert_eq!(of.silence((4, 10)), Some(2));
        assert_eq!(of.silence((4, 4)), None);
        assert_eq!(of.silence((9, 4)), None);
        assert_eq!(of.silence((0, 12)), None);
    }

    #[test]
    fn flows_converge_when_they_keep_the_fair_share_for_five_windows() {
        let apart = |step: usize| if step < 37 { (30, 2) } else { (11, 9) };
        let (first, second) = (course((0..100).map(|s| apart(s).0)), course((0..100).map(|s| apart(s).1)));
        let both = [Course(&first), Course(&second)];
        // The first window within a quarter of the mean may have a step of before: 129 to 83 bytes.
        assert_eq!(convergence(&both, 0), Some(36));
        assert_eq!(convergence(&both, 30), Some(6));
        assert_eq!(convergence(&both, 51), None, "fewer than five windows are left");
        assert_eq!(convergence(&both[..1], 0), None);
        let uneven = course((0..100).map(|step| if step % 40 < 20 { 20 } else { 5 }));
        assert_eq!(convergence(&[Course(&first), Course(&uneven)], 0), None);
        assert_eq!(convergence(&[Course(&[0; 100]), Course(&[0; 100])], 0), None, "nothing is no share");
    }

    #[test]
    fn a_response_is_the_first_window_that_uses_the_rate() {
        let noted = course((0..60).map(|step| if step < 25 { 10 } else { 100 }));
        let all = [Course(&noted)];
        assert_eq!(response(&all, 10, |_| 0.9 * 1000.0), Some(14));
        assert_eq!(response(&all, 10, |_| 100.0), Some(0));
        assert_eq!(response(&all, 10, |_| 1001.0), None);
        assert_eq!(response(&all, 10, |end| if end < 45 { 2000.0 } else { 1000.0 }), Some(25));
    }
}
