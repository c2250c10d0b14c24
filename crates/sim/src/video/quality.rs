//! The quality of experience of a viewing: QoE_lin of Yin, Jindal, Sekar, Sinopoli, A Control-Theoretic Approach for Dynamic Adaptive
//! Video Streaming over HTTP, SIGCOMM 2015, equation 5, with the quality of a chunk equal to its bit rate and the weights of section
//! 7.1, "balanced". Equation and weights are from memory of the paper.
//!
//! A second of stalls (μ) and one before the film begins (μ_s) cost as much as a chunk at the film's highest bit rate is worth. Of the
//! paper's film that is 3000 kbit/s, which are its weights; of the film of Mao et al., SIGCOMM 2017, it is 4300 kbit/s, the weight of
//! stalls there (`REBUF_PENALTY` of its authors).

use haltere_net::Span;

/// The cost of a change of the bit rate by 1 bit/s from a chunk to the next, bit/s (λ).
pub const SWITCH: f64 = 1.0;

/// The quality of a viewing of chunks with these bit rates, bit/s, in all: their sum, less the costs of switches, and of the time in
/// stalls and before the start. `highest` is the film's highest bit rate, bit/s.
pub fn lin(rates: impl IntoIterator<Item = f64>, highest: f64, waited: Span) -> f64 {
    let (mut total, mut last) = (0.0, None);
    for rate in rates {
        total += rate - SWITCH * last.map_or(0.0, |last: f64| (rate - last).abs());
        last = Some(rate);
    }
    total - highest * waited.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_worked_by_hand() {
        // 1 + 3 + 2 Mbit/s, changes of 2 and 1, and 600 ms of start and stalls at 4 Mbit/s a second.
        let total = lin([1e6, 3e6, 2e6], 4e6, Span::from_millis(600));
        assert!((total - (6e6 - 3e6 - 2.4e6)).abs() < 1e-6, "{total}");
        assert_eq!(lin([], 4e6, Span::ZERO), 0.0);
    }
}
