//! Pacing by a bucket of tokens, as quinn does it (quinn-proto 0.11.19, `connection/pacing.rs`).
//!
//! A full bucket is a burst: two milliseconds of the window's share of an RTT, within bounds in datagrams. It is filled at 1.25
//! windows an RTT, but only when the tokens do not suffice for a datagram. A sender that is blocked then waits for a full bucket.

use haltere_net::{Span, Time};

/// The time whose share of the window is a full bucket (`BURST_INTERVAL_NANOS`).
const INTERVAL: Span = Span::from_millis(2);
/// The least and the largest bucket in datagrams (`MIN_BURST_SIZE`, `MAX_BURST_SIZE`).
const LEAST: u64 = 10;
const MOST: u64 = 256;

/// The facts about a path by which its bucket is filled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// The smoothed RTT, or the one that is supposed.
    pub rtt: Span,
    /// The congestion window, bytes.
    pub window: u64,
    /// The size of datagrams, bytes.
    pub mtu: u64,
}

impl Flow {
    fn capacity(&self) -> u64 {
        let share = u128::from(self.window) * u128::from(INTERVAL.as_nanos()) / u128::from(self.rtt.as_nanos().max(1));
        u64::try_from(share).unwrap_or(u64::MAX).clamp(LEAST * self.mtu, MOST * self.mtu)
    }
}

/// The bucket of a path.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    capacity: u64,
    tokens: u64,
    /// Window and datagram size by which the capacity was computed. A change of the RTT alone does not change it.
    seen: (u64, u64),
    /// When tokens were last added.
    filled: Time,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(flow: &Flow) -> TokenBucket {
        let capacity = flow.capacity();
        TokenBucket { capacity, tokens: capacity, seen: (flow.window, flow.mtu), filled: Time::ZERO }
    }

    /// The time until which the bucket keeps a datagram from going; `None` if it may go.
    pub fn blocked(&mut self, now: Time, flow: &Flow) -> Option<Time> {
        if self.seen != (flow.window, flow.mtu) {
            self.seen = (flow.window, flow.mtu);
            self.capacity = flow.capacity();
            self.tokens = self.tokens.min(self.capacity);
        }
        if self.tokens >= flow.mtu || flow.window > u64::from(u32::MAX) || flow.rtt.is_zero() {
            return None;
        }
        let rounds = now.since(self.filled).as_secs_f64() / flow.rtt.as_secs_f64();
        let gained = flow.window as f64 * 1.25 * rounds;
        self.tokens = self.tokens.saturating_add(gained as u64).min(self.capacity);
        self.filled = now;
        if self.tokens >= flow.mtu {
            return None;
        }
        let missing = flow.mtu.max(self.capacity) - self.tokens;
        // Divisions come first, as there.
        let wait = flow.rtt.as_nanos().saturating_mul(missing) / flow.window.max(1) / 5 * 4;
        Some(now + Span::from_nanos(wait))
    }

    /// A packet of `bytes` went out.
    #[inline]
    pub fn on_sent(&mut self, bytes: u64) {
        self.tokens = self.tokens.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Span = Span::from_millis;

    fn flow(window: u64, rtt_ms: u64) -> Flow {
        Flow { rtt: MS(rtt_ms), window, mtu: 1200 }
    }

    #[test]
    fn a_bucket_holds_two_milliseconds_of_the_window_within_10_and_256_datagrams() {
        assert_eq!([12_000, 600_000, 100_000_000].map(|w| flow(w, 50).capacity()), [12_000, 24_000, 307_200]);
    }

    #[test]
    fn a_blocked_sender_waits_for_a_full_bucket() {
        let flow = flow(120_000, 100);
        let mut bucket = TokenBucket::new(&flow);
        for _ in 0..10 {
            assert_eq!(bucket.blocked(Time::ZERO, &flow), None);
            bucket.on_sent(1200);
        }
        // 12 000 bytes at 1.25 windows of 120 000 bytes an RTT of 100 ms.
        let until = Time::ZERO + MS(8);
        assert_eq!(bucket.blocked(Time::ZERO, &flow), Some(until));
        assert_eq!(bucket.blocked(Time::ZERO + Span::from_micros(700), &flow).map(|t| t > until), Some(false));
        assert_eq!(bucket.blocked(Time::ZERO + MS(1), &flow), None, "1500 bytes are enough for a datagram");
    }

    #[test]
    fn a_smaller_window_takes_tokens_away_and_a_longer_rtt_alone_does_not() {
        let wide = flow(1_200_000, 100);
        let mut bucket = TokenBucket::new(&wide);
        assert_eq!(bucket.tokens, 24_000);
        bucket.blocked(Time::ZERO, &Flow { rtt: MS(400), ..wide });
        assert_eq!(bucket.tokens, 24_000);
        bucket.blocked(Time::ZERO, &flow(600_000, 100));
        assert_eq!(bucket.tokens, 12_000);
    }

    #[test]
    fn a_window_beyond_32_bits_and_an_rtt_of_nothing_are_not_paced() {
        let most = u64::from(u32::MAX);
        let limits = [(most, 100, true), (most + 1, 100, false), (120_000, 0, false), (120_000, 100, true)];
        for (window, rtt_ms, paced) in limits {
            let flow = flow(window, rtt_ms);
            let mut bucket = TokenBucket::new(&flow);
            bucket.on_sent(u64::MAX);
            assert_eq!(bucket.blocked(Time::ZERO, &flow).is_some(), paced, "{window} bytes, {rtt_ms} ms");
        }
    }
}
