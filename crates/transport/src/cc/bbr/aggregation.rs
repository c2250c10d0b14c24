//! The estimator of ACK aggregation (`tcp_bbr.c`: `extra_acked`).
//!
//! Links and receivers that aggregate ACKs deliver them in bursts with pauses between. The amount by which a burst
//! exceeds what the bandwidth explains is added to the window, so that the sender can continue through the pause. The
//! maximum is kept over the present and the previous window of five rounds each.

use super::bandwidth::Bandwidth;

/// Rounds of one of the two windows (`bbr_extra_acked_win_rtts`).
const WINDOW_ROUNDS: u32 = 5;
/// An epoch ends once it holds this many segments (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_SEGMENTS: u64 = 1 << 20;
/// The largest addition to the window: what is delivered in this time, us (`bbr_extra_acked_max_us`).
const MAX_MICROS: u64 = 100_000;

/// The input of the estimator from one ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// When it arrived, us.
    pub micros: u64,
    /// Bytes newly delivered.
    pub acked: u64,
    /// Whether it begins a round.
    pub round_start: bool,
    /// The bandwidth estimate.
    pub bandwidth: Bandwidth,
    /// The congestion window, bytes.
    pub window: u64,
    /// Segment size.
    pub mss: u64,
}

/// The estimator.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Aggregation {
    epoch_start: u64,
    epoch_acked: u64,
    extra: [u64; 2],
    current: usize,
    rounds: u32,
}

impl Aggregation {
    /// Begins an epoch at `micros`.
    pub(super) fn restart(&mut self, micros: u64) {
        self.epoch_start = micros;
        self.epoch_acked = 0;
    }

    /// Processes an ACK that came with a valid rate sample.
    pub(super) fn on_ack(&mut self, ack: &Arrival) {
        if ack.round_start {
            self.rounds += 1;
            if self.rounds >= WINDOW_ROUNDS {
                self.rounds = 0;
                self.current = 1 - self.current;
                self.extra[self.current] = 0;
            }
        }
        let elapsed = ack.micros.saturating_sub(self.epoch_start);
        let mut expected = ack.bandwidth.segments_in(elapsed).saturating_mul(ack.mss);
        if self.epoch_acked <= expected || self.epoch_acked + ack.acked >= EPOCH_SEGMENTS * ack.mss {
            self.restart(ack.micros);
            expected = 0;
        }
        self.epoch_acked = (self.epoch_acked + ack.acked).min((EPOCH_SEGMENTS - 1) * ack.mss);
        let extra = self.epoch_acked.saturating_sub(expected).min(ack.window);
        self.extra[self.current] = self.extra[self.current].max(extra);
    }

    /// The largest burst beyond the bandwidth, bytes.
    pub(super) fn extra(&self) -> u64 {
        self.extra[0].max(self.extra[1])
    }

    /// The segments to add to the window.
    pub(super) fn allowance(&self, bandwidth: Bandwidth, mss: u64) -> u64 {
        (self.extra() / mss).min(bandwidth.segments_in(MAX_MICROS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    /// An ACK of `segments`, 100 ms after the last, of a path that delivers 10 segments a millisecond. Returns the
    /// addition to the window. Each ACK is a round, and slow enough to begin an epoch.
    fn round(aggregation: &mut Aggregation, micros: &mut u64, segments: u64) -> u64 {
        let bandwidth = Bandwidth::of(10 * MSS, MSS, 1_000).unwrap_or_default();
        *micros += 100_000;
        let (acked, window) = (segments * MSS, 5_000 * MSS);
        aggregation.on_ack(&Arrival { micros: *micros, acked, round_start: true, bandwidth, window, mss: MSS });
        aggregation.allowance(bandwidth, MSS)
    }

    #[test]
    fn the_largest_burst_is_allowed_for_over_five_to_ten_rounds() {
        let (mut aggregation, mut micros) = (Aggregation::default(), 0);
        let allowed: Vec<u64> =
            [40, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2].map(|segments| round(&mut aggregation, &mut micros, segments)).into();
        assert_eq!(allowed, [40, 40, 40, 40, 40, 40, 40, 40, 40, 2, 2]);
    }

    #[test]
    fn what_comes_faster_than_the_bandwidth_adds_up() {
        let (mut aggregation, mut micros) = (Aggregation::default(), 0);
        round(&mut aggregation, &mut micros, 30);
        // A millisecond later 10 (9.99) were expected and 60 arrived.
        micros -= 99_000;
        assert_eq!(round(&mut aggregation, &mut micros, 30), 60 - 9);
    }

    #[test]
    fn no_more_than_100_ms_of_data_is_allowed_for() {
        let (mut aggregation, mut micros) = (Aggregation::default(), 0);
        let allowed = round(&mut aggregation, &mut micros, 3_000);
        assert!((999..=1_000).contains(&allowed), "{allowed}");
    }
}
