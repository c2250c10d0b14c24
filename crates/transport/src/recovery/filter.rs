//! Running extremes over a sliding window, in constant space.
//!
//! Kathleen Nichols' algorithm. It keeps the best value, the second best since then and the third best since that. They
//! move up as the first leaves the window. Linux uses it for BBR's bandwidth and for the minimum RTT.

use std::marker::PhantomData;

/// Which of two values a filter prefers.
pub trait Order {
    /// Whether `a` is at least as good as `b`.
    fn wins(a: u64, b: u64) -> bool;
}

/// Prefers larger values.
#[derive(Clone, Copy, Debug)]
pub struct Largest;
impl Order for Largest {
    fn wins(a: u64, b: u64) -> bool {
        a >= b
    }
}

/// Prefers smaller values.
#[derive(Clone, Copy, Debug)]
pub struct Smallest;
impl Order for Smallest {
    fn wins(a: u64, b: u64) -> bool {
        a <= b
    }
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: u64,
    value: u64,
}

/// The best value within the last `window` ticks. The caller chooses the tick (rounds, nanoseconds).
#[derive(Clone, Copy, Debug)]
pub struct Windowed<O> {
    best: Option<[Sample; 3]>,
    order: PhantomData<O>,
}

/// Running maximum.
pub type WindowedMax = Windowed<Largest>;
/// Running minimum.
pub type WindowedMin = Windowed<Smallest>;

impl<O: Order> Default for Windowed<O> {
    fn default() -> Self {
        Windowed { best: None, order: PhantomData }
    }
}

impl<O: Order> Windowed<O> {
    /// The best value, if there was any.
    pub fn get(&self) -> Option<u64> {
        self.best.map(|b| b[0].value)
    }

    /// Discards all values and starts again from `value`.
    pub fn reset(&mut self, at: u64, value: u64) -> u64 {
        self.best = Some([Sample { at, value }; 3]);
        value
    }

    /// Adds `value`, seen at `at`, and returns the best value of the window.
    pub fn update(&mut self, window: u64, at: u64, value: u64) -> u64 {
        let new = Sample { at, value };
        let Some(s) = self.best.as_mut() else { return self.reset(at, value) };
        if O::wins(value, s[0].value) || at.saturating_sub(s[2].at) > window {
            return self.reset(at, value);
        }
        if O::wins(value, s[1].value) {
            s[1] = new;
            s[2] = new;
        } else if O::wins(value, s[2].value) {
            s[2] = new;
        }
        let age = at.saturating_sub(s[0].at);
        if age > window {
            *s = [s[1], s[2], new];
            if at.saturating_sub(s[0].at) > window {
                *s = [s[1], s[2], new];
            }
        } else if s[1].at == s[0].at && age > window / 4 {
            // A quarter of the window passed without a second best: take one from this quarter.
            s[1] = new;
            s[2] = new;
        } else if s[2].at == s[1].at && age > window / 2 {
            s[2] = new;
        }
        s[0].value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_maximum_holds_for_the_window_and_then_falls_to_what_came_since() {
        let mut max = WindowedMax::default();
        assert_eq!(max.update(10, 0, 100), 100);
        for at in 1..=10 {
            assert_eq!(max.update(10, at, 50 + at), 100);
        }
        assert!(max.update(10, 11, 5) <= 60);
        assert_eq!(max.update(10, 12, 200), 200);
    }

    #[test]
    fn the_minimum_never_exceeds_the_newest_value_nor_is_older_than_the_window() {
        let mut min = WindowedMin::default();
        let values: Vec<u64> = (0..500u64).map(|i| (i * 7919) % 101).collect();
        for (i, &v) in values.iter().enumerate() {
            let got = min.update(20, i as u64, v);
            let oldest = i.saturating_sub(20);
            assert!(got <= v);
            assert!(values[oldest..=i].contains(&got), "{got} at {i}");
        }
    }

    /// Adds all samples to a maximum over 100 ticks, and returns what the last one makes the best.
    fn best_of(samples: &[(u64, u64)]) -> u64 {
        let mut max = WindowedMax::default();
        samples.iter().fold(0, |_, (at, value)| max.update(100, *at, *value))
    }

    #[test]
    fn the_second_best_is_from_the_second_quarter_of_the_window() {
        // 60 came just before the second quarter, 40 just in it.
        assert_eq!(best_of(&[(0, 100), (20, 50), (25, 60), (26, 40), (101, 10)]), 40);
    }

    #[test]
    fn the_third_best_is_from_the_second_half_of_the_window() {
        let samples = [(0, 100), (26, 40), (30, 35), (50, 30), (51, 20), (60, 15), (101, 10), (127, 5)];
        assert_eq!(best_of(&samples[..7]), 40);
        assert_eq!(best_of(&samples), 20);
    }

    #[test]
    fn the_best_two_leave_the_window_together() {
        let samples = [(0, 100), (26, 40), (51, 20)];
        assert_eq!(best_of(&[samples.as_slice(), &[(126, 5)]].concat()), 40);
        assert_eq!(best_of(&[samples.as_slice(), &[(127, 5)]].concat()), 20);
    }
}
