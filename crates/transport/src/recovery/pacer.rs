//! Pacing: the earliest time of the next departure.

use haltere_net::{Rate, Span, Time};

/// Spreads packets in time at a given rate. Time that the sender was late by is credited, up to half of a burst's
/// length, as Linux's internal pacing does.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    next: Time,
    free: u64,
}

impl Pacer {
    /// A pacer that lets the first `free` bytes go unpaced.
    pub fn new(free: u64) -> Pacer {
        Pacer { next: Time::ZERO, free }
    }

    /// When the next packet may go.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// `bytes` (a packet, or a burst sent at once) went out at `now` while the rate was `rate`.
    ///
    /// What went out before its time, as a probe does, holds the next packet back by its own length from now, but is
    /// not added to what is owed: a sender that lives on probes would owe more with each of them and never be let go
    /// again.
    #[inline]
    pub fn on_sent(&mut self, now: Time, bytes: u64, rate: Rate) {
        if self.free > 0 {
            self.free = self.free.saturating_sub(bytes);
            self.next = self.next.max(now);
            return;
        }
        let length = rate.time_for(bytes);
        let credit = now.since(self.next);
        self.next = self.next.max(now + (length - credit.min(length / 2)));
    }

    /// Something went out at `now` that is not paced: time before it gives no credit.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// Forgets what was owed, as after an idle period.
    pub fn restart(&mut self, now: Time) {
        self.next = self.next.min(now);
    }

    /// Whether pacing holds a packet back at `now`, and until when.
    #[inline]
    pub fn blocked(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }

    /// A lateness bound for tests: the largest credit of a burst of `bytes`.
    pub fn largest_credit(bytes: u64, rate: Rate) -> Span {
        rate.time_for(bytes) / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn departures_keep_the_rate() {
        let mut pacer = Pacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        let mut now = Time::ZERO;
        for _ in 0..1000 {
            now = now.max(pacer.next());
            pacer.on_sent(now, 1000, rate);
        }
        assert_eq!(pacer.next(), Time::from_nanos(1_000_000_000));
    }

    #[test]
    fn probes_do_not_run_up_a_debt() {
        let mut pacer = Pacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        for ms in 0..1000 {
            // Two packets of a millisecond each, every half a millisecond, whatever the pacer says.
            let now = Time::from_nanos(ms * 500_000);
            pacer.on_sent(now, 1000, rate);
            pacer.on_sent(now, 1000, rate);
            assert!(pacer.next() <= now + Span::from_millis(1));
        }
    }

    #[test]
    fn lateness_is_made_good_but_not_beyond_half_a_burst() {
        let mut pacer = Pacer::new(0);
        let rate = Rate::from_bps(8_000_000);
        pacer.on_sent(Time::ZERO, 1000, rate);
        pacer.on_sent(Time::from_nanos(1_100_000), 1000, rate);
        assert_eq!(pacer.next(), Time::from_nanos(2_000_000));
        pacer.on_sent(Time::from_nanos(10_000_000), 1000, rate);
        assert_eq!(pacer.next(), Time::from_nanos(10_500_000));
        assert_eq!(Pacer::largest_credit(1000, rate), Span::from_micros(500));
    }
}
