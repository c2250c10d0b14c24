//! The RTT as a receiver estimates it, by which its buffer is sized and acknowledgements are held back.

use crate::tcp::config::Autotuning;
use crate::tcp::ticks::timestamp;
use haltere_net::{Span, Time};

/// The longest time by which a timestamp may be old, ms, to be a sample (Linux: `tcp_rtt_tsopt_us`).
const OLDEST: u32 = i32::MAX as u32 / 1000;

/// The RTT as the receiver estimates it (Linux: `tcp_rcv_rtt_update`).
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiverRtt {
    /// In eighths of a microsecond; 0 before the first sample.
    eighths: u32,
    /// The timestamp that was echoed last.
    echo: u32,
    /// The end of a window that was offered, and when, microseconds: once it has arrived, at least an RTT is over.
    end: u64,
    since: u32,
    autotuning: Autotuning,
}

impl ReceiverRtt {
    pub(super) fn new(autotuning: Autotuning) -> ReceiverRtt {
        ReceiverRtt { eighths: 0, echo: 0, end: 0, since: 0, autotuning }
    }

    /// The estimate; zero before the first sample.
    pub(super) fn get(&self) -> Span {
        Span::from_nanos(u64::from(self.eighths) * 125)
    }

    /// How many of the bytes that wait to be read are taken off those that were.
    pub(super) fn taken_off(&self, waiting: u64) -> u64 {
        if self.autotuning == Autotuning::Linux { waiting } else { 0 }
    }

    /// The estimate in whole microseconds, as the time between two looks at the buffer is compared with it.
    pub(super) fn whole(&self) -> Span {
        Span::from_micros(u64::from(self.eighths / 8))
    }

    /// The echo of a timestamp arrived with `len` bytes, where a full segment has `mss`: one sample for each timestamp, if the
    /// segment is full. Timestamps count milliseconds; an echo within the same one is no sample, or a millisecond (Linux:
    /// `tcp_rcv_rtt_measure_ts`).
    #[inline]
    pub(super) fn measure(&mut self, now: Time, echo: u32, len: u64, mss: u64) {
        if std::mem::replace(&mut self.echo, echo) != echo && len >= mss {
            self.sample(timestamp(now).wrapping_sub(echo));
        }
    }

    fn sample(&mut self, age: u32) {
        let age = if self.autotuning == Autotuning::Drs { age.max(1) } else { age };
        if !(1..OLDEST).contains(&age) {
            return;
        }
        let sample = age * 1000;
        if self.eighths == 0 || (self.autotuning == Autotuning::Linux && sample.saturating_mul(8) < self.eighths) {
            self.eighths = sample.saturating_mul(8);
        } else {
            self.eighths = (self.eighths - self.eighths / 8).saturating_add(sample);
        }
    }

    /// Data in order has arrived up to `next`, from where a window of `offered` bytes was offered. An RTT is not longer than the time
    /// in which a whole window arrives (Linux: `tcp_rcv_rtt_measure`).
    #[inline]
    pub(super) fn bound(&mut self, now: Time, next: u64, offered: u64) {
        if next >= self.end {
            self.begin_window(now, next + offered);
        }
    }

    fn begin_window(&mut self, now: Time, end: u64) {
        // Microseconds wrap after an hour, as Linux's do.
        let now = (now.as_nanos() / 1000) as u32;
        if self.end > 0 {
            let most = now.wrapping_sub(self.since).max(1).saturating_mul(8);
            if self.eighths == 0 || most < self.eighths {
                self.eighths = most;
            }
        }
        (self.end, self.since) = (end, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1448;

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    /// The estimates, ms, after samples of so many ms.
    fn estimates(autotuning: Autotuning, samples: &[u32]) -> Vec<Span> {
        let mut rtt = ReceiverRtt::new(autotuning);
        let mut estimate = |(i, age)| {
            let now = at(100_000 + 10_000 * i as u64);
            rtt.measure(now, timestamp(now) - age, FULL, FULL);
            rtt.get()
        };
        samples.iter().copied().enumerate().map(&mut estimate).collect()
    }

    #[test]
    fn a_smaller_sample_is_taken_at_once_and_a_larger_one_by_an_eighth() {
        let ms = |list: [u64; 4]| list.map(Span::from_micros).to_vec();
        // The last sample is within a millisecond.
        assert_eq!(estimates(Autotuning::Linux, &[40, 48, 30, 0]), ms([40_000, 41_000, 30_000, 30_000]));
        assert_eq!(estimates(Autotuning::Drs, &[40, 48, 33, 0]), ms([40_000, 41_000, 40_000, 35_125]));
    }

    #[test]
    fn an_echo_counts_once_and_with_a_full_segment() {
        let mut rtt = ReceiverRtt::new(Autotuning::Linux);
        rtt.measure(at(40_000), 1, 100, FULL);
        rtt.measure(at(41_000), 1, FULL, FULL);
        assert_eq!(rtt.get(), Span::ZERO);
        rtt.measure(at(41_000), 2, FULL, FULL);
        assert_eq!(rtt.get(), Span::from_millis(40));
    }

    #[test]
    fn the_time_of_a_whole_window_bounds_the_rtt() {
        let mut rtt = ReceiverRtt::new(Autotuning::Linux);
        rtt.bound(at(1_000), 100, 1_000);
        rtt.bound(at(2_000), 1_000, 1_000);
        assert_eq!(rtt.get(), Span::ZERO);
        rtt.bound(at(9_000), 1_100, 1_000);
        assert_eq!(rtt.get(), Span::from_millis(8));
        rtt.bound(at(29_000), 2_200, 1_000);
        assert_eq!((rtt.get(), rtt.whole()), (Span::from_millis(8), Span::from_millis(8)));
    }
}
