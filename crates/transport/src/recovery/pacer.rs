//! Pacing: the earliest time of the next departure.

use haltere_net::{Rate, Time};

/// Spreads packets in time at a given rate. A sender that was late is credited with the lost time, up to half of the
/// length of a burst, as in Linux's internal pacing.
#[derive(Clone, Debug, Default)]
pub struct Pacer {
    next: Time,
    free: u64,
}

impl Pacer {
    /// A pacer that does not pace the first `free` bytes.
    pub fn new(free: u64) -> Pacer {
        Pacer { next: Time::ZERO, free }
    }

    /// When the next packet may go.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    /// Records that `bytes` (a packet, or a burst sent at once) went out at `now` while the rate was `rate`.
    ///
    /// A packet that goes out too early, as a probe does, delays the next packet by its own length, counted from now.
    /// It does not add to an existing delay. Otherwise a sender that only sends probes would be delayed further by each
    /// of them and never be allowed to send again.
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

    /// Records that something went out at `now` that is not paced. The time before it gives no credit.
    #[inline]
    pub fn pass(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// Starts anew without debt or credit, as after an idle period.
    pub fn restart(&mut self, now: Time) {
        self.next = self.next.min(now);
    }

    /// The time until which pacing blocks a packet at `now`; `None` if it does not.
    #[inline]
    pub fn blocked(&self, now: Time) -> Option<Time> {
        (self.next > now).then_some(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haltere_net::Span;

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
            // Two packets of a millisecond each are sent every half a millisecond, although the pacer would block them.
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
    }

    #[test]
    fn the_time_of_the_next_departure_is_not_blocked() {
        let mut pacer = Pacer::new(0);
        pacer.on_sent(Time::ZERO, 1000, Rate::from_bps(8_000_000));
        let next = Time::from_nanos(1_000_000);
        assert_eq!(pacer.blocked(Time::from_nanos(999_999)), Some(next));
        assert_eq!(pacer.blocked(next), None);
    }

    #[test]
    fn what_is_not_paced_takes_the_credit_and_a_restart_the_debt() {
        let rate = Rate::from_bps(8_000_000);
        let mut pacer = Pacer::new(0);
        pacer.pass(Time::from_nanos(10_000_000));
        pacer.on_sent(Time::from_nanos(10_000_000), 1000, rate);
        assert_eq!(pacer.next(), Time::from_nanos(11_000_000));
        pacer.restart(Time::from_nanos(10_200_000));
        assert_eq!(pacer.blocked(Time::from_nanos(10_200_000)), None);
        pacer.on_sent(Time::from_nanos(10_200_000), 1000, rate);
        assert_eq!(pacer.next(), Time::from_nanos(11_200_000));
    }

    #[test]
    fn the_first_bytes_are_free_and_count() {
        let (mut pacer, rate) = (Pacer::new(1500), Rate::from_bps(8_000_000));
        pacer.on_sent(Time::ZERO, 1000, rate);
        pacer.on_sent(Time::ZERO, 1000, rate);
        assert_eq!(pacer.next(), Time::ZERO);
        pacer.on_sent(Time::ZERO, 1000, rate);
        assert_eq!(pacer.next(), Time::from_nanos(1_000_000));
    }
}
