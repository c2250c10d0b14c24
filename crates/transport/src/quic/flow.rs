//! Flow control as the receiver does it (RFC 9000 section 4), with windows that tune themselves.

use haltere_net::{Span, Time};

/// A receive window: how far beyond what was consumed the peer may send.
///
/// Credit is renewed when half of the window is used up. If that happens within two RTTs of the renewal before, the
/// window may be what holds the sender back, and is doubled (as Chromium and others do; D. Borman, J. Fisk, W. Feng,
/// "Dynamic right-sizing", 2001, is the idea's origin).
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

    /// The application took `bytes`; returns whether the peer should be told a new limit.
    pub fn consume(&mut self, bytes: u64, now: Time, rtt: Option<Span>) -> bool {
        self.consumed += bytes;
        if self.limit.saturating_sub(self.consumed) > self.size / 2 {
            return false;
        }
        if let (Some(renewed), Some(rtt)) = (self.renewed, rtt)
            && now.since(renewed) < rtt * 2
        {
            self.size = (self.size * 2).min(self.max);
        }
        self.renewed = Some(now);
        self.limit = self.limit.max(self.consumed.saturating_add(self.size));
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
}
