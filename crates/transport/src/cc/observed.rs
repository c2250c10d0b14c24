//! Measurements that several algorithms share: a kernel's ticks, rounds, RTTs within a round, and the data acknowledged
//! cumulatively.

use super::{Ack, Config};
use haltere_net::{Span, Time};

/// A kernel's count of ticks (Linux: `jiffies`); on an exact clock a tick is a millisecond.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks {
    tick: u64,
    phase: Span,
}

impl Ticks {
    pub(super) fn new(config: &Config) -> Ticks {
        let tick = if config.tick.is_zero() { Span::from_millis(1) } else { config.tick };
        Ticks { tick: tick.as_nanos(), phase: config.phase }
    }

    /// The count at `now`.
    pub(super) fn at(&self, now: Time) -> u64 {
        (now + self.phase).as_nanos() / self.tick
    }

    /// How long a tick is.
    pub(super) fn length(&self) -> Span {
        Span::from_nanos(self.tick)
    }

    /// A span in ticks, rounded up.
    pub(super) fn of(&self, span: Span) -> u64 {
        span.as_nanos().div_ceil(self.tick)
    }

    /// A span's whole ticks.
    pub(super) fn whole(&self, span: Span) -> Span {
        Span::from_nanos(span.as_nanos() / self.tick * self.tick)
    }

    /// Ticks a second (Linux: `HZ`).
    pub(super) fn per_second(&self) -> u64 {
        (1_000_000_000 / self.tick).max(1)
    }
}

/// Rounds: one ends when everything sent before its beginning is acknowledged.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rounds {
    end: u64,
}

impl Rounds {
    /// Whether the ACK ends a round; the next begins with it.
    pub(super) fn ended(&mut self, ack: &Ack) -> bool {
        let ended = ack.acked_to > self.end;
        if ended {
            self.begin(ack);
        }
        ended
    }

    /// Begins a round with this ACK.
    pub(super) fn begin(&mut self, ack: &Ack) {
        self.end = ack.sent_to;
    }
}

/// The smallest RTT of all time, and the smallest and the number of RTTs since the last reset (Linux: `struct vegas`).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Rtts {
    base: Option<Span>,
    least: Option<Span>,
    pub samples: u32,
}

impl Rtts {
    /// Processes an ACK's RTT.
    pub(super) fn observe(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            self.base = Some(self.base.map_or(rtt, |base| base.min(rtt)));
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
    }

    /// Discards the smallest recent RTT, but keeps the number of RTTs.
    pub(super) fn forget_least(&mut self) {
        self.least = None;
    }

    /// Discards the path's smallest RTT.
    pub(super) fn forget_base(&mut self) {
        self.base = None;
    }

    /// The path's smallest RTT, and the smallest recent one; `None` before there are both.
    pub(super) fn both(&self) -> Option<(Span, Span)> {
        Some((self.base?, self.least?))
    }

    /// The bytes of `window` that wait in queues: window (RTT - base RTT) / RTT.
    pub(super) fn backlog(&self, window: u64) -> Option<u64> {
        let (base, least) = self.both()?;
        let waiting = u128::from(window) * u128::from(least.saturating_sub(base).as_nanos());
        Some((waiting / u128::from(least.as_nanos().max(1))) as u64)
    }
}

/// Counts what ACKs acknowledge cumulatively (Linux: `pkts_acked`).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Cumulative {
    acked_to: u64,
}

impl Cumulative {
    /// Segments of `mss` bytes that an ACK up to this position acknowledges newly. Only for transports whose positions
    /// count bytes.
    pub(super) fn take(&mut self, acked_to: u64, mss: u64) -> u64 {
        let news = acked_to.saturating_sub(self.acked_to);
        self.acked_to += news;
        news.div_ceil(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::bench::{MSS, ack, config};

    #[test]
    fn ticks_round_spans_up_and_keep_whole_ones() {
        let ms = Span::from_millis;
        let ticks = Ticks::new(&Config { tick: ms(4), phase: ms(1), ..config() });
        assert_eq!((ticks.of(ms(9)), ticks.of(ms(8)), ticks.whole(ms(9)), ticks.length()), (3, 2, ms(8), ms(4)));
        assert_eq!((ticks.at(Time::ZERO + ms(2)), ticks.at(Time::ZERO + ms(3)), ticks.per_second()), (0, 1, 250));
        assert_eq!(Ticks::new(&config()).length(), ms(1), "an exact clock counts milliseconds");
    }
    #[test]
    fn a_round_ends_with_the_first_position_beyond_what_was_sent_when_it_began() {
        let at = |acked_to, sent_to| ack(|ack| (ack.acked_to, ack.sent_to) = (acked_to, sent_to));
        let mut rounds = Rounds::default();
        let ended =
            [(1, 10), (10, 20), (11, 20), (20, 30), (21, 30)].map(|(acked, sent)| rounds.ended(&at(acked, sent)));
        assert_eq!(ended, [true, false, true, false, true]);
    }

    #[test]
    fn rtts_keep_the_least_of_all_time_and_of_late_and_give_the_backlog() {
        let ms = Span::from_millis;
        let mut rtts = Rtts::default();
        assert_eq!((rtts.both(), rtts.backlog(10)), (None, None));
        for rtt in [Some(ms(120)), Some(ms(100)), None, Some(Span::ZERO), Some(ms(110))] {
            rtts.observe(&ack(|ack| ack.rtt = rtt));
        }
        assert_eq!((rtts.both(), rtts.samples), (Some((ms(100), ms(100))), 3));
        rtts.forget_least();
        assert_eq!((rtts.both(), rtts.samples), (None, 3));
        rtts.observe(&ack(|ack| ack.rtt = Some(ms(125))));
        assert_eq!((rtts.both(), rtts.backlog(1000)), (Some((ms(100), ms(125))), Some(200)));
        rtts.forget_base();
        rtts.observe(&ack(|ack| ack.rtt = Some(ms(130))));
        assert_eq!((rtts.both(), rtts.backlog(1000)), (Some((ms(130), ms(125))), Some(0)), "the path changed");
    }

    #[test]
    fn cumulative_acknowledgements_count_in_segments_rounded_up_and_once() {
        let mut counted = Cumulative::default();
        let taken = [2 * MSS, 2 * MSS + 1, MSS, 4 * MSS].map(|to| counted.take(to, MSS));
        assert_eq!(taken, [2, 1, 0, 2]);
    }
}
