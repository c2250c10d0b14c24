//! Pacing by a bucket of tokens, as quinn does it (quinn-proto 0.11.19, `connection/pacing.rs`).
//!
//! A full bucket is a burst: two milliseconds of the window's share of an RTT, within bounds in datagrams. It is filled at 1.25
//! windows an RTT, but only when the tokens do not suffice for a datagram. A sender that is blocked then waits for a full bucket.
//!
//! noq's bucket (noq-proto 1.4.0, the same file) holds ten milliseconds at most, of which a slow path sends less than ten datagrams.

use haltere_net::{Span, Time};

/// The time whose share of the window is a full bucket (`BURST_INTERVAL_NANOS`).
const INTERVAL: Span = Span::from_millis(2);
/// The least and the largest bucket in datagrams (`MIN_BURST_SIZE`, `MAX_BURST_SIZE`).
const LEAST: u64 = 10;
const MOST: u64 = 256;

/// The share that noq's bucket holds at most, but for one datagram (`MAX_BURST_INTERVAL`).
const LONGEST: Span = Span::from_millis(10);

/// The bounds of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// As quinn's: ten datagrams at least.
    Datagrams,
    /// As noq's: ten milliseconds at most.
    Short,
}

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
    fn capacity(&self, depth: Depth) -> u64 {
        let rtt = u128::from(self.rtt.as_nanos().max(1));
        let window = u128::from(self.window);
        let bytes = |share: u128| u64::try_from(share).unwrap_or(u64::MAX);
        let within = |share: u128| bytes(share).clamp(LEAST * self.mtu, MOST * self.mtu);
        if depth == Depth::Datagrams {
            return within(window * u128::from(INTERVAL.as_nanos()) / rtt);
        }
        // The rate is in whole bytes a second, as there (`optimal_capacity`, `rate_capacity`).
        let rate = u128::from(bytes(window * 1_000_000_000 / rtt));
        let during = |span: Span| rate * u128::from(span.as_nanos()) / 1_000_000_000;
        within(during(INTERVAL)).min(bytes(during(LONGEST)).max(self.mtu))
    }
}

/// The bucket of a path.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    capacity: u64,
    tokens: u64,
    depth: Depth,
    /// Window and datagram size by which the capacity was computed. A change of the RTT alone does not change it.
    seen: (u64, u64),
    /// When tokens were last added; at first, when a packet was first asked for.
    filled: Option<Time>,
}

impl TokenBucket {
    /// A full bucket.
    pub fn new(flow: &Flow, depth: Depth) -> TokenBucket {
        let capacity = flow.capacity(depth);
        TokenBucket { capacity, tokens: capacity, depth, seen: (flow.window, flow.mtu), filled: None }
    }

    /// Whether it keeps back every packet, also probes and acknowledgements, as noq's (`connection/mod.rs`,
    /// `path_congestion_check`).
    pub fn holds_all(&self) -> bool {
        self.depth == Depth::Short
    }

    /// The time until which the bucket keeps a datagram from going; `None` if it may go.
    pub fn blocked(&mut self, now: Time, flow: &Flow) -> Option<Time> {
        let filled = *self.filled.get_or_insert(now);
        if self.seen != (flow.window, flow.mtu) {
            self.seen = (flow.window, flow.mtu);
            self.capacity = flow.capacity(self.depth);
            self.tokens = self.tokens.min(self.capacity);
        }
        if self.tokens >= flow.mtu || flow.window > u64::from(u32::MAX) || flow.rtt.is_zero() {
            return None;
        }
        self.fill(now, now.since(filled), flow);
        if self.tokens >= flow.mtu {
            return None;
        }
        let missing = flow.mtu.max(self.capacity) - self.tokens;
        // Divisions come first, as there.
        let wait = flow.rtt.as_nanos().saturating_mul(missing) / flow.window.max(1) / 5 * 4;
        Some(now + Span::from_nanos(wait))
    }

    fn fill(&mut self, now: Time, passed: Span, flow: &Flow) {
        let rounds = passed.as_secs_f64() / flow.rtt.as_secs_f64();
        let gained = flow.window as f64 * 1.25 * rounds;
        let gained = if self.holds_all() { libm::round(gained) as u64 } else { gained as u64 };
        self.tokens = self.tokens.saturating_add(gained).min(self.capacity);
        // noq adds up the time in which less than a byte is gained.
        if gained > 0 || !self.holds_all() {
            self.filled = Some(now);
        }
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
        assert_eq!(
            [12_000, 600_000, 100_000_000].map(|w| flow(w, 50).capacity(Depth::Datagrams)),
            [12_000, 24_000, 307_200]
        );
    }

    #[test]
    fn noqs_bucket_holds_ten_milliseconds_at_most_and_one_datagram_at_least() {
        // 12 000 bytes in 333 ms are 360 in ten; 240 000 in 50 ms are 9600 in two and 48 000 in ten.
        let capacity = |window, rtt| flow(window, rtt).capacity(Depth::Short);
        assert_eq!([capacity(12_000, 333), capacity(12_000, 20)], [1200, 6000]);
        assert_eq!([240_000, 600_000, 100_000_000].map(|w| capacity(w, 50)), [12_000, 24_000, 307_200]);
    }

    #[test]
    fn noqs_bucket_adds_up_the_time_in_which_less_than_a_byte_is_gained() {
        let flow = flow(2400, 333);
        let at = |micros| Time::ZERO + Span::from_micros(micros);
        let mut bucket = TokenBucket::new(&flow, Depth::Short);
        assert_eq!(bucket.blocked(Time::ZERO, &flow), None);
        bucket.on_sent(1200);
        // 1200 bytes at 1.25 windows of 2400 bytes an RTT of 333 ms: a byte in 111 us.
        assert_eq!(bucket.blocked(Time::ZERO, &flow), Some(at(133_200)));
        bucket.blocked(at(50), &flow);
        assert_eq!((bucket.tokens, bucket.filled), (0, Some(Time::ZERO)));
        bucket.blocked(at(100), &flow);
        assert_eq!((bucket.tokens, bucket.filled), (1, Some(at(100))), "to the nearest byte");
    }

    #[test]
    fn a_blocked_sender_waits_for_a_full_bucket() {
        let flow = flow(120_000, 100);
        let mut bucket = TokenBucket::new(&flow, Depth::Datagrams);
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
        let mut bucket = TokenBucket::new(&wide, Depth::Datagrams);
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
            let mut bucket = TokenBucket::new(&flow, Depth::Datagrams);
            bucket.on_sent(u64::MAX);
            assert_eq!(bucket.blocked(Time::ZERO, &flow).is_some(), paced, "{window} bytes, {rtt_ms} ms");
        }
    }
}
