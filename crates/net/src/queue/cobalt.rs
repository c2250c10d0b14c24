//! COBALT: CoDel and BLUE side by side on one queue (Palmei, Gupta, Imputato, Morton, Tahiliani, Avallone, Täht: Design and
//! evaluation of COBALT queue discipline, LANMAN 2019), as `cake` has it in Linux (`net/sched/sch_cake.c`).
//!
//! CoDel answers to delay. It differs from RFC 8289: its `count` falls step by step while the delay is below the target
//! instead of starting anew, and one timer serves both for the first signal and for the later ones. In a queue that was
//! never above the target before, the first signal follows on the next packet, without an interval in between, because
//! Linux begins with a gap of zero; this is kept. BLUE answers to overflow: it drops at random, ECN-capable or not, with a
//! probability that grows by 1/256 when the queue overflows and falls by 1/4096 when it is empty, at most once a target
//! time (Feng, Shin, Kandlur, Saha: The BLUE active queue management algorithms, ToN 2002).

use super::Fates;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};

const GROWS: f64 = 1.0 / 256.0;
const FALLS: f64 = 1.0 / 4096.0;

/// The parameters of COBALT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Control {
    /// The delay that may stand.
    pub(super) target: Span,
    /// The time of the first gap between two signals.
    pub(super) interval: Span,
    /// The time to send one packet of the greatest size. Nothing is signalled below four of them.
    pub(super) mtu_time: Span,
    /// The number of flows with a queue, if the delay that they cause together is to be allowed for.
    pub(super) competitors: u64,
}

/// The state of COBALT for one queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// The number of which the root divides the interval.
    count: u32,
    /// The time between two signals at `count`.
    gap: Span,
    dropping: bool,
    /// When the next signal is due, or when there was last something to do.
    drop_next: Time,
    /// When BLUE last changed.
    blue_at: Time,
    /// BLUE's probability of a drop.
    pub(super) probability: f64,
}

impl Default for State {
    fn default() -> State {
        State {
            count: 0,
            gap: Span::ZERO,
            dropping: false,
            drop_next: Time::ZERO,
            blue_at: Time::ZERO,
            probability: 0.0,
        }
    }
}

impl State {
    fn set_count(&mut self, control: &Control, count: u32) {
        self.count = count;
        let gap = control.interval.as_nanos() as f64 / f64::from(count.max(1)).sqrt();
        self.gap = Span::from_nanos((gap + 0.5) as u64);
        self.drop_next += self.gap;
    }

    /// A packet of this queue was dropped because the memory was full.
    pub(super) fn overflowed(&mut self, control: &Control, now: Time) {
        if now.since(self.blue_at) > control.target {
            self.probability = (self.probability + GROWS).min(1.0);
            self.blue_at = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// It was the queue's turn and it was empty.
    pub(super) fn found_empty(&mut self, control: &Control, now: Time) {
        if self.probability > 0.0 && now.since(self.blue_at) > control.target {
            self.probability = (self.probability - FALLS).max(0.0);
            self.blue_at = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.set_count(control, self.count - 1);
        }
    }

    /// Whether nothing is left that would change with time, so that the queue can be forgotten.
    pub(super) fn is_at_rest(&self, now: Time) -> bool {
        self.probability == 0.0 && self.count == 0 && now >= self.drop_next
    }

    /// Whether a packet that leaves the queue is to be dropped. It may be marked instead.
    pub(super) fn hits<B>(
        &mut self,
        control: &Control,
        packet: &mut Packet<B>,
        now: Time,
        stream: &mut Stream,
        fates: &mut Fates<'_, B>,
    ) -> bool {
        let sojourn = now.since(packet.arrived);
        let allowed =
            control.target.max(control.mtu_time * control.competitors.saturating_mul(2)).max(control.mtu_time * 4);
        let due = self.count > 0 && now >= self.drop_next;
        let mut overdue = now > self.drop_next;
        if sojourn > allowed {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = now + self.gap;
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut hits = false;
        if due && self.dropping {
            hits = !fates.mark(packet);
            self.set_count(control, self.count.saturating_add(1));
            overdue = now > self.drop_next;
        } else if due {
            while self.count > 0 && now >= self.drop_next {
                self.set_count(control, self.count - 1);
            }
            overdue = now > self.drop_next;
        }
        // BLUE does not mark: it is for flows that do not respond.
        if self.probability > 0.0 {
            hits |= stream.chance(self.probability);
        }
        if self.count == 0 {
            self.drop_next = now + control.interval;
        } else if overdue && !hits {
            self.drop_next = now;
        }
        hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LinkCounters;
    use crate::packet::Ecn;
    use crate::rng::Streams;

    const CONTROL: Control = Control {
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        mtu_time: Span::from_micros(100),
        competitors: 0,
    };

    /// A packet leaves every 100 us from `from` to `until` ms, each after `delay`. Returns when signals come, in ms, and
    /// how many are drops.
    fn signals(state: &mut State, (from, until): (u64, u64), delay: Span, ecn: Ecn) -> (Vec<f64>, u64) {
        let (mut times, mut drops, mut stream) = (Vec::new(), 0, Streams::new(1, 0).named("cobalt"));
        for n in from * 10..until * 10 {
            let now = Time::from_nanos(n * 100_000);
            let mut counters = LinkCounters::default();
            let mut packet = Packet::new(1500, ()).with(|p| {
                p.ecn = ecn;
                p.arrived = now.saturating_sub(delay);
            });
            let hit = state.hits(&CONTROL, &mut packet, now, &mut stream, &mut Fates::new(&mut counters));
            if hit || counters.marked > 0 {
                times.push(n as f64 / 10.0);
                drops += u64::from(hit);
            }
        }
        (times, drops)
    }

    #[test]
    fn signals_follow_the_control_law_of_codel() {
        for (ecn, dropped) in [(Ecn::NotEct, true), (Ecn::Ect1, false)] {
            let mut state = State::default();
            assert!(signals(&mut state, (1000, 2000), Span::from_millis(5), ecn).0.is_empty());
            let (times, drops) = signals(&mut state, (2000, 2600), Span::from_millis(6), ecn);
            let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            for (gap, expected) in gaps.iter().zip([70.7, 57.7, 50.0, 44.7, 40.8, 37.8]) {
                assert!((gap - expected).abs() < 0.11, "{gaps:?}");
            }
            assert_eq!((times[0], drops), (2000.1, if dropped { times.len() as u64 } else { 0 }));
        }
    }

    #[test]
    fn count_falls_step_by_step_below_the_target() {
        let mut state = State::default();
        signals(&mut state, (1000, 1600), Span::from_millis(6), Ecn::NotEct);
        let high = state.count;
        assert!(high > 8);
        signals(&mut state, (1600, 1800), Span::from_millis(1), Ecn::NotEct);
        assert!((2..high).contains(&state.count), "{} of {high}", state.count);
        signals(&mut state, (1800, 5000), Span::from_millis(1), Ecn::NotEct);
        assert_eq!(state.count, 0);
    }

    #[test]
    fn a_slow_link_may_hold_four_packets_and_two_of_each_competitor() {
        let slow = Control { mtu_time: Span::from_millis(10), ..CONTROL };
        for (delay, competitors, late) in [(40, 0, false), (41, 0, true), (60, 3, false), (61, 3, true)] {
            let (mut state, mut counters) = (State::default(), LinkCounters::default());
            let now = Time::from_nanos(1_000_000_000);
            let mut packet = Packet::new(1500, ()).with(|p| p.arrived = now.saturating_sub(Span::from_millis(delay)));
            let mut stream = Streams::new(1, 0).named("cobalt");
            state.hits(&Control { competitors, ..slow }, &mut packet, now, &mut stream, &mut Fates::new(&mut counters));
            assert_eq!(state.dropping, late, "{delay} ms, {competitors} competitors");
        }
    }

    #[test]
    fn blue_grows_with_overflows_and_falls_when_the_queue_is_empty() {
        let mut state = State::default();
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        for n in 1..=600 {
            state.overflowed(&CONTROL, ms(n));
        }
        // At most once in 5 ms: at 6, 12, 18 ms and so on.
        assert_eq!(state.probability, 100.0 / 256.0);
        let (times, drops) = signals(&mut state, (600, 1600), Span::ZERO, Ecn::Ect0);
        assert_eq!(times.len() as u64, drops, "BLUE does not mark");
        assert!((drops as f64 / 10_000.0 - 100.0 / 256.0).abs() < 0.02, "{drops}");
        for n in 1600..1700 {
            state.found_empty(&CONTROL, ms(n));
        }
        assert!((state.probability - (100.0 / 256.0 - 17.0 / 4096.0)).abs() < 1e-12, "{}", state.probability);
        for n in 1700..60_000 {
            state.found_empty(&CONTROL, ms(n));
        }
        assert!(state.is_at_rest(ms(60_000)));
    }

    #[test]
    fn a_queue_at_rest_has_neither_signals_nor_a_probability_to_forget() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let rest = State { drop_next: ms(100), ..State::default() };
        assert!(rest.is_at_rest(ms(100)));
        assert!(!rest.is_at_rest(ms(99)));
        assert!(!State { count: 1, ..rest }.is_at_rest(ms(100)));
        assert!(!State { probability: FALLS, ..rest }.is_at_rest(ms(100)));
    }

    #[test]
    fn an_empty_queue_forgets_a_signal_at_its_time() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut state = State { count: 2, drop_next: ms(300), ..State::default() };
        state.found_empty(&CONTROL, ms(299));
        assert_eq!(state.count, 2);
        state.found_empty(&CONTROL, ms(300));
        assert_eq!((state.count, state.drop_next), (1, ms(400)));
        state.found_empty(&CONTROL, ms(400));
        assert_eq!((state.count, state.drop_next), (0, ms(500)));
        state.found_empty(&CONTROL, ms(600));
        assert_eq!((state.count, state.drop_next), (0, ms(500)), "nothing is left to forget");
    }

    #[test]
    fn blue_answers_to_an_overflow_right_after_the_queue_was_empty() {
        let ms = |n: u64| Time::from_nanos(n * 1_000_000);
        let mut state = State::default();
        state.found_empty(&CONTROL, ms(100));
        state.overflowed(&CONTROL, ms(102));
        assert_eq!(state.probability, GROWS);
    }

    #[test]
    fn the_first_signal_follows_on_the_packet_after_the_first_late_one() {
        let late = Span::from_millis(6);
        assert_eq!(signals(&mut State::default(), (2000, 2001), late, Ecn::NotEct).0, [2000.1]);
        // Also with the gap of an earlier episode, if the queue was idle for longer than that.
        let idle = State { gap: CONTROL.interval, drop_next: Time::from_nanos(1_000_000_000), ..State::default() };
        assert_eq!(signals(&mut State { ..idle }, (2000, 2001), late, Ecn::NotEct).0, [2000.1]);
        let soon = State { drop_next: Time::from_nanos(2_000_000_000), ..idle };
        assert!(
            signals(&mut State { ..soon }, (2000, 2001), late, Ecn::NotEct).0.is_empty(),
            "its time has only just come"
        );
    }
}
