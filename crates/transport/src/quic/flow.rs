//! Flow control as the receiver does it (RFC 9000 section 4), with windows that tune themselves.

use haltere_net::{Span, Time};

/// A receive window: how far beyond what was consumed the peer may send.
///
/// Credit is renewed when half of the window is used up. If that happens within two RTTs of the renewal before, the
/// window may be what holds the sender back, and is doubled (as Chromium and others do; D. Borman, J. Fisk, W. Feng,
/// "Dynamic right-sizing", 2001, is the idea's origin). The same when bytes arrive that cannot be consumed because of a
/// loss before them: otherwise each repair would stop a fast sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    size: u64,
    max: u64,
    limit: u64,
    consumed: u64,
    renewed: Option<Time>,
}

impl ReceiveWindow {
    pub fn new(size: u64, max: u64) -> ReceiveWindow {
        ReceiveWindow { size, max: max.max(size), limit: size, consumed: 0, renewed: None }
    }

    /// The offset the peer may send up to.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    fn half_used(&self, offset: u64) -> bool {
        self.limit.saturating_sub(offset) <= self.size / 2
    }

    fn is_fast(&self, now: Time, rtt: Option<Span>) -> bool {
        matches!((self.renewed, rtt), (Some(renewed), Some(rtt)) if now.since(renewed) < rtt * 2)
    }

    fn renew(&mut self, now: Time) {
        self.renewed = Some(now);
        self.limit = self.limit.max(self.consumed.saturating_add(self.size));
    }

    /// Bytes up to `offset` arrived, in order or not; returns whether the peer should be told a new limit.
    #[inline]
    pub fn on_received(&mut self, offset: u64, now: Time, rtt: Option<Span>) -> bool {
        if !self.half_used(offset) || self.size >= self.max || !self.is_fast(now, rtt) {
            return false;
        }
        self.size = (self.size * 2).min(self.max);
        self.renew(now);
        true
    }

    /// The application took `bytes`; returns whether the peer should be told a new limit.
    pub fn consume(&mut self, bytes: u64, now: Time, rtt: Option<Span>) -> bool {
        self.consumed += bytes;
        if !self.half_used(self.consumed) {
            return false;
        }
        if self.is_fast(now, rtt) {
            self.size = (self.size * 2).min(self.max);
        }
        self.renew(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_used_up_within_two_rtts_doubles_up_to_its_bound() {
        let mut window = ReceiveWindow::new(1000, 4000);
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let rtt = Some(Span::from_millis(50));
        assert!(!window.consume(499, at(0), rtt));
        assert!(window.consume(1, at(0), rtt));
        assert_eq!(window.limit(), 1500);
        assert!(window.consume(500, at(99), rtt));
        assert_eq!(window.limit(), 1000 + 2000);
        assert!(window.consume(1000, at(300), rtt));
        assert_eq!(window.limit(), 2000 + 2000);
        assert!(window.consume(1000, at(310), rtt));
        assert!(window.consume(2000, at(320), rtt));
        assert_eq!(window.limit(), 5000 + 4000);
    }

    #[test]
    fn a_window_grows_while_a_loss_keeps_the_application_from_reading() {
        let mut window = ReceiveWindow::new(1000, 4000);
        let rtt = Some(Span::from_millis(50));
        assert!(window.consume(500, Time::ZERO, rtt));
        // The byte at 500 is missing; what follows arrives.
        assert!(!window.on_received(999, Time::ZERO, rtt));
        assert!(window.on_received(1000, Time::ZERO, rtt));
        assert_eq!(window.limit(), 500 + 2000);
        assert!(!window.on_received(2400, Time::ZERO + Span::from_millis(100), rtt), "not fast enough");
    }
}
