//! Random impairments of a link: loss, jitter, duplication. Each owns its stream, so that none changes another's draws.

use crate::rng::Stream;
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// The loss model of a link. In JSON: `{"model": "gilbert-elliott", "good_to_bad": 0.01, ...}`.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LossModel {
    /// No loss.
    #[default]
    None,
    /// Each packet independently with this probability.
    Uniform {
        /// Probability of loss.
        p: f64,
    },
    /// The two-state chain of Gilbert (1960) and Elliott (1963); the state changes before each packet.
    GilbertElliott {
        /// Probability of going from the good state to the bad one.
        good_to_bad: f64,
        /// Probability of going back.
        bad_to_good: f64,
        /// Loss probability in the bad state.
        loss_in_bad: f64,
        /// Loss probability in the good state.
        loss_in_good: f64,
    },
    /// Every `every`-th packet.
    Periodic {
        /// Packets from one loss to the next.
        every: u64,
    },
    /// Exactly these packets, counted from 1 in the order in which they are sent; ascending.
    List {
        /// Ordinal numbers, ascending.
        packets: Vec<u64>,
    },
}

/// A running loss process.
#[derive(Clone, Debug)]
pub struct Loss {
    model: LossModel,
    stream: Stream,
    seen: u64,
    bad: bool,
    next: usize,
}

impl Loss {
    /// The process of `model`, drawing from `stream`.
    pub fn new(model: LossModel, stream: Stream) -> Loss {
        Loss { model, stream, seen: 0, bad: false, next: 0 }
    }

    /// Whether the next packet is lost.
    #[inline]
    pub fn strikes(&mut self) -> bool {
        self.seen += 1;
        match &self.model {
            LossModel::None => false,
            LossModel::Uniform { p } => self.stream.chance(*p),
            LossModel::GilbertElliott { good_to_bad, bad_to_good, loss_in_bad, loss_in_good } => {
                let change = if self.bad { *bad_to_good } else { *good_to_bad };
                self.bad ^= self.stream.chance(change);
                let p = if self.bad { *loss_in_bad } else { *loss_in_good };
                self.stream.chance(p)
            }
            LossModel::Periodic { every } => self.seen.is_multiple_of((*every).max(1)),
            LossModel::List { packets } => {
                while packets.get(self.next).is_some_and(|&n| n < self.seen) {
                    self.next += 1;
                }
                packets.get(self.next) == Some(&self.seen)
            }
        }
    }
}

/// Extra delay of each packet. In JSON: `{"model": "uniform", "spread_ns": 1000000, "reorder": false}`.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JitterModel {
    /// No extra delay.
    #[default]
    None,
    /// Uniform in [0, spread).
    Uniform {
        /// The largest extra delay.
        #[serde(rename = "spread_ns")]
        spread: Span,
        /// Whether a packet may overtake another; if not, it waits for those before it.
        reorder: bool,
    },
    /// The absolute value of a normal deviate with this standard deviation.
    Normal {
        /// Standard deviation.
        #[serde(rename = "sigma_ns")]
        sigma: Span,
        /// Whether a packet may overtake another.
        reorder: bool,
    },
}

/// A running jitter process.
#[derive(Clone, Debug)]
pub struct Jitter {
    model: JitterModel,
    stream: Stream,
}

impl Jitter {
    /// The process of `model`, drawing from `stream`.
    pub fn new(model: JitterModel, stream: Stream) -> Jitter {
        Jitter { model, stream }
    }

    /// The next packet's extra delay.
    #[inline]
    pub fn extra(&mut self) -> Span {
        match self.model {
            JitterModel::None => Span::ZERO,
            JitterModel::Uniform { spread, .. } => Span::from_nanos(self.stream.below(spread.as_nanos())),
            JitterModel::Normal { sigma, .. } => {
                Span::from_secs_f64(libm::fabs(self.stream.normal()) * sigma.as_secs_f64())
            }
        }
    }

    /// Whether packets may overtake each other.
    pub fn reorders(&self) -> bool {
        matches!(self.model, JitterModel::Uniform { reorder: true, .. } | JitterModel::Normal { reorder: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Streams;

    fn losses(model: LossModel, n: u64) -> Vec<u64> {
        let mut loss = Loss::new(model, Streams::new(1, 1).named("loss"));
        (1..=n).filter(|_| loss.strikes()).collect()
    }

    #[test]
    fn periodic_and_listed_losses_strike_where_they_say() {
        assert_eq!(losses(LossModel::Periodic { every: 4 }, 12), [4, 8, 12]);
        assert_eq!(losses(LossModel::List { packets: vec![1, 3, 3, 7] }, 9), [1, 3, 7]);
        assert_eq!(losses(LossModel::None, 100).len(), 0);
    }

    #[test]
    fn gilbert_elliott_has_its_stationary_rate_and_mean_burst() {
        let model =
            LossModel::GilbertElliott { good_to_bad: 0.01, bad_to_good: 0.25, loss_in_bad: 1.0, loss_in_good: 0.0 };
        let lost = losses(model, 400_000);
        let rate = lost.len() as f64 / 400_000.0;
        let stationary = 0.01 / 0.26;
        assert!((rate / stationary - 1.0).abs() < 0.05, "{rate} against {stationary}");
        let bursts = 1 + lost.windows(2).filter(|w| w[1] != w[0] + 1).count();
        let mean_burst = lost.len() as f64 / bursts as f64;
        assert!((mean_burst - 4.0).abs() < 0.2, "{mean_burst}");
    }
}
