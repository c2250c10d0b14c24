//! The quality of experience of a viewing: QoE_lin of Yin, Jindal, Sekar, Sinopoli, A Control-Theoretic Approach for Dynamic Adaptive
//! Video Streaming over HTTP, SIGCOMM 2015, equation 5, with the quality of a chunk equal to its bit rate and the weights of section
//! 7.1, "balanced". Equation and weights are from memory of the paper.

use haltere_net::Span;

/// The cost of a change of the bit rate by 1 bit/s from a chunk to the next, bit/s (λ).
pub const SWITCH: f64 = 1.0;
/// The cost of a second in which the film stalls (μ), bit/s of a chunk.
pub const STALL: f64 = 3e6;
/// The cost of a second before the film begins (μ_s), bit/s of a chunk.
pub const START: f64 = 3e6;

/// The quality of a viewing of chunks with these bit rates, bit/s, in all: their sum, less the costs of switches, stalls and the
/// start.
pub fn lin(rates: impl IntoIterator<Item = f64>, stalled: Span, startup: Span) -> f64 {
    let (mut total, mut last) = (0.0, None);
    for rate in rates {
        total += rate - SWITCH * last.map_or(0.0, |last: f64| (rate - last).abs());
        last = Some(rate);
    }
    total - STALL * stalled.as_secs_f64() - START * startup.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_is_worked_by_hand() {
        // 1 + 3 + 2 Mbit/s, changes of 2 and 1, half a second of stall and 100 ms of start at 3 Mbit/s a second.
        let total = lin([1e6, 3e6, 2e6], Span::from_millis(500), Span::from_millis(100));
        assert!((total - (6e6 - 3e6 - 1.5e6 - 0.3e6)).abs() < 1e-6, "{total}");
        assert_eq!(lin([], Span::ZERO, Span::ZERO), 0.0);
    }
}
