//! Flow control as the receiver does it (RFC 9000 section 4), with windows that tune themselves.

use haltere_net::{Span, Time};

/// A window has room for the data of at least so many RTTs.
const ROUNDS: u64 = 6;

/// A receive window: how far beyond what was consumed the peer may send.
///
/// Credit is renewed when half of the window is used up; if that happens within two RTTs of the renewal before, the
/// window is doubled, as in Chromium. In slow start that comes too late, and not at all while a loss keeps the
/// application from reading. So the window also follows what arrives in an RTT (M. Fisk, W. Feng, "Dynamic right-sizing
/// in TCP", 2001, as in Linux): six times that, for the sender may double its rate in the RTT that the news takes, a
/// repair takes another, and a step is only told when it is worth a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    size: u64,
    max: u64,
    limit: u64,
    consumed: u64,
    renewed: Option<Time>,
    round: Round,
    /// While a round lasts, bytes below this offset are no reason for a larger window.
    no_growth_below: u64,
    /// Consumption from which a new limit is worth a frame.
    renewal_at: u64,
}

/// The bytes that arrive in an RTT.
#[derive(Clone, Copy, Default, Debug)]
struct Round {
    start: Time,
    offset: u64,
    last: u64,
}

impl Round {
    #[inline]
    fn is_over(&self, now: Time, rtt: Span) -> bool {
        now.since(self.start) >= rtt
    }

    /// Bytes up to `offset` have arrived; returns the bytes of an RTT.
    #[inline]
    fn on_received(&mut self, offset: u64, now: Time, rtt: Span) -> u64 {
        let arrived = offset.saturating_sub(self.offset);
        let elapsed = now.since(self.start);
        if elapsed < rtt {
            // What is missing of this RTT is supposed to be like the one before.
            return arrived + self.last / 64 * ((rtt - elapsed).as_nanos() * 64 / rtt.as_nanos().max(1));
        }
        // A round that idleness has drawn out counts for its share.
        self.last = Span::from_nanos(arrived).scaled(rtt.as_nanos(), elapsed.as_nanos().max(1)).as_nanos();
        self.start = now;
        self.offset = offset;
        self.last
    }
}

impl ReceiveWindow {
    pub fn new(size: u64, max: u64) -> ReceiveWindow {
        let max = max.max(size);
        let round = Round::default();
        let mut window = ReceiveWindow {
            size,
            max,
            limit: size,
            consumed: 0,
            renewed: None,
            round,
            no_growth_below: 0,
            renewal_at: 0,
        };
        window.precompute();
        window
    }

    /// Works out when the next arrival can matter; to be called after every change of size, limit or round.
    fn precompute(&mut self) {
        let room = (self.size / ROUNDS).checked_sub(self.round.last);
        self.no_growth_below = match room {
            _ if self.size >= self.max => u64::MAX,
            None => 0,
            // A round has at most these bytes and those of the round before.
            Some(room) => self.round.offset.saturating_add(room).saturating_add(1),
        };
        self.renewal_at = self.limit.saturating_add((self.size / 4).max(1)).saturating_sub(self.size);
    }

    /// The offset the peer may send up to.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes up to `offset` arrived, in order or not; returns whether the peer should be told a new limit.
    #[inline(always)]
    pub fn on_received(&mut self, offset: u64, now: Time, rtt: Option<Span>) -> bool {
        let Some(rtt) = rtt else { return false };
        // The common case: nothing changes.
        if offset < self.no_growth_below && self.consumed < self.renewal_at && !self.round.is_over(now, rtt) {
            return false;
        }
        self.grow(offset, now, rtt)
    }

    #[inline(never)]
    fn grow(&mut self, offset: u64, now: Time, rtt: Span) -> bool {
        if offset >= self.no_growth_below || self.round.is_over(now, rtt) {
            let wanted = self.round.on_received(offset, now, rtt).saturating_mul(ROUNDS).min(self.max);
            self.size = self.size.max(wanted);
        }
        let limit = self.consumed.saturating_add(self.size);
        // A quarter more is worth a frame.
        let worth = limit.saturating_sub(self.limit) >= self.size / 4 && limit > self.limit;
        if worth {
            self.renewed = Some(now);
            self.limit = limit;
        }
        self.precompute();
        worth
    }

    /// The application took `bytes`; returns whether the peer should be told a new limit.
    #[inline]
    pub fn consume(&mut self, bytes: u64, now: Time, rtt: Option<Span>) -> bool {
        self.consumed += bytes;
        self.limit.saturating_sub(self.consumed) <= self.size / 2 && self.renew(now, rtt)
    }

    #[inline(never)]
    fn renew(&mut self, now: Time, rtt: Option<Span>) -> bool {
        if matches!((self.renewed, rtt), (Some(renewed), Some(rtt)) if now.since(renewed) < rtt * 2) {
            self.size = (self.size * 2).min(self.max);
        }
        self.renewed = Some(now);
        self.limit = self.limit.max(self.consumed.saturating_add(self.size));
        self.precompute();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Option<Span> = Some(Span::from_millis(50));

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_window_used_up_within_two_rtts_doubles_up_to_its_bound() {
        let mut window = ReceiveWindow::new(1000, 4000);
        assert!(!window.consume(499, at(0), RTT));
        assert!(window.consume(1, at(0), RTT));
        assert_eq!(window.limit(), 1500);
        assert!(window.consume(500, at(99), RTT));
        assert_eq!(window.limit(), 1000 + 2000);
        assert!(window.consume(1000, at(300), RTT));
        assert_eq!(window.limit(), 2000 + 2000);
        assert!(window.consume(1000, at(310), RTT));
        assert!(window.consume(2000, at(320), RTT));
        assert_eq!(window.limit(), 5000 + 4000);
    }

    #[test]
    fn a_window_grows_while_a_loss_keeps_the_application_from_reading() {
        let mut window = ReceiveWindow::new(1000, 4000);
        assert!(!window.on_received(200, at(10), RTT));
        assert!(window.on_received(300, at(20), RTT));
        assert_eq!(window.limit(), 6 * 300);
        // As many in the next RTT change nothing; nor do they after a silence, of which they are a small share.
        assert!(!window.on_received(300, at(50), RTT));
        assert!(!window.on_received(600, at(99), RTT));
        assert!(!window.on_received(1000, at(1000), RTT));
        assert_eq!(window.limit(), 6 * 300);
    }

    #[test]
    fn a_sender_that_doubles_each_rtt_is_never_stopped() {
        let mut window = ReceiveWindow::new(3000, 1 << 40);
        let (mut received, mut known) = (0u64, window.limit());
        for ms in 0..500 {
            // What has arrived doubles each 50 ms; the sender is an RTT ahead.
            let sent = |ms: u64| (1000.0 * libm::exp2(ms as f64 / 50.0)) as u64;
            let bytes = sent(ms) - received;
            received += bytes;
            let told = window.on_received(received, at(ms), RTT) | window.consume(bytes, at(ms), RTT);
            assert!(sent(ms + 50) <= known.max(window.limit()), "at {ms} ms");
            if told {
                known = window.limit();
            }
        }
    }
}
