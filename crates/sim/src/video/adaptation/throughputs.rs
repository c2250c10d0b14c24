//! The throughput of the last chunks.

use super::Fetched;
use std::collections::VecDeque;

/// The chunks that are remembered (Yin et al., SIGCOMM 2015, section 7.1: the harmonic mean of the past five chunks; from memory).
pub(super) const CHUNKS: usize = 5;

/// The throughput of the last five chunks.
#[derive(Clone, Default, Debug)]
pub(super) struct Throughputs(VecDeque<f64>);

impl Throughputs {
    /// A chunk has come; returns its throughput, bit/s.
    pub fn add(&mut self, fetched: Fetched) -> f64 {
        let seconds = fetched.took.as_secs_f64().max(1e-9);
        let throughput = (8.0 * fetched.bytes as f64 / seconds).max(1.0);
        if self.0.len() == CHUNKS {
            self.0.pop_front();
        }
        self.0.push_back(throughput);
        throughput
    }

    /// Their harmonic mean, bit/s; `None` before the first. A single fast chunk moves it little.
    pub fn harmonic_mean(&self) -> Option<f64> {
        let count = self.0.len();
        (count > 0).then(|| count as f64 / self.0.iter().map(|one| 1.0 / one).sum::<f64>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::Span;

    #[test]
    fn the_mean_is_harmonic_and_of_the_last_five() {
        let mut throughputs = Throughputs::default();
        assert_eq!(throughputs.harmonic_mean(), None);
        // 1, 2 and 4 Mbit/s: 3 / (1 + 1/2 + 1/4).
        let of = |mbps: u64| Fetched { bytes: 125_000 * mbps, took: Span::from_secs(1) };
        for mbps in [1, 2, 4] {
            throughputs.add(of(mbps));
        }
        assert!((throughputs.harmonic_mean().unwrap() - 3e6 / 1.75).abs() < 1.0);
        for mbps in [8; 5] {
            throughputs.add(of(mbps));
        }
        assert!((throughputs.harmonic_mean().unwrap() - 8e6).abs() < 1.0);
        // A chunk that took no time has a throughput all the same.
        assert!(throughputs.add(Fetched { bytes: 1, took: Span::ZERO }).is_finite());
    }
}
