//! Pacing in bursts of a few packets at the congestion controller's rate (RFC 9002 section 7.7).

use super::Pacer;
use haltere_net::{Rate, Time};

/// A path's pacer. A burst of up to a quantum leaves back to back and is then charged as a whole. One burst therefore
/// needs one wake-up, and not one per packet.
#[derive(Clone, Debug)]
pub struct BurstPacer {
    pacer: Pacer,
    burst: u64,
    burst_at: Time,
    burst_rate: Rate,
}

impl BurstPacer {
    /// A pacer that does not pace the first `free` bytes.
    pub fn new(free: u64) -> BurstPacer {
        BurstPacer { pacer: Pacer::new(free), burst: 0, burst_at: Time::ZERO, burst_rate: Rate::default() }
    }

    /// The time until which pacing blocks the sender; `None` if it may send.
    #[inline]
    pub fn blocked(&mut self, now: Time) -> Option<Time> {
        if self.burst > 0 && self.burst_at < now {
            self.charge();
        }
        self.pacer.blocked(now)
    }

    /// When the next datagram may go, if the present burst is charged now.
    pub fn next(&self) -> Time {
        if self.burst == 0 {
            return self.pacer.next();
        }
        let mut pacer = self.pacer.clone();
        pacer.on_sent(self.burst_at, self.burst, self.burst_rate);
        pacer.next()
    }

    fn charge(&mut self) {
        self.pacer.on_sent(self.burst_at, self.burst, self.burst_rate);
        self.burst = 0;
    }

    /// Records that `bytes` go out at `rate`. A burst ends when it reaches `quantum` bytes, or when the time changes.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Rate, quantum: u64) {
        if self.burst > 0 && self.burst_at < now {
            // A probe may go without having asked.
            self.charge();
        }
        if self.burst == 0 {
            self.burst_at = now;
        }
        self.burst += bytes;
        self.burst_rate = rate;
        if self.burst >= quantum {
            self.charge();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::Span;

    #[test]
    fn bursts_of_two_keep_the_rate() {
        let mut pacing = BurstPacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        let (mut now, mut wakes) = (Time::ZERO, 0);
        for _ in 0..1000 {
            if let Some(at) = pacing.blocked(now) {
                now = at;
                wakes += 1;
            }
            assert!(pacing.blocked(now).is_none());
            pacing.on_sent(now, 1000, rate, 2000);
        }
        assert_eq!(pacing.blocked(now), Some(Time::ZERO + Span::from_secs(1)));
        assert_eq!(wakes, 499);
    }

    #[test]
    fn a_packet_that_goes_without_asking_begins_a_burst_of_its_own() {
        let mut pacing = BurstPacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        pacing.on_sent(Time::ZERO, 1000, rate, 2000);
        let later = Time::ZERO + Span::from_secs(1);
        pacing.on_sent(later, 1000, rate, 2000);
        // Half of its length: the sender was late, and the pacer credits no more.
        assert_eq!(pacing.blocked(later + Span::from_micros(1)), Some(later + Span::from_micros(500)));
    }

    #[test]
    fn a_lone_packet_is_charged_when_the_next_one_comes() {
        let mut pacing = BurstPacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        pacing.on_sent(Time::ZERO, 1000, rate, 2000);
        assert_eq!(pacing.blocked(Time::ZERO), None);
        let later = Time::ZERO + Span::from_micros(300);
        assert_eq!(pacing.blocked(later), Some(Time::ZERO + Span::from_millis(1)));
    }

    #[test]
    fn the_next_datagram_waits_for_an_open_burst() {
        let mut pacing = BurstPacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        pacing.on_sent(Time::ZERO, 1000, rate, 2000);
        assert_eq!(pacing.next(), Time::ZERO + Span::from_millis(1));
        pacing.on_sent(Time::ZERO, 1000, rate, 2000);
        assert_eq!(pacing.next(), Time::ZERO + Span::from_millis(2));
    }
}
