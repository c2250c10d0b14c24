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
    /// Segments of `mss` bytes that the ACK's cumulative part acknowledges newly. Only for transports whose positions
    /// count bytes.
    pub(super) fn take(&mut self, ack: &Ack, mss: u64) -> u64 {
        let news = ack.acked_to.saturating_sub(self.acked_to);
        self.acked_to += news;
        news.div_ceil(mss)
    }
}
