//! How CUBIC grows where Reno would have the larger window: the Reno-friendly region (RFC 9438 section 4.3).
//!
//! The RFC estimates Reno's window, W_est, and sets the window to it at each ACK. Linux counts W_est in whole segments and
//! turns its lead into ACKs to wait for, so that the window follows about a round trip later. quinn takes W_est of RFC 8312
//! by the time since the loss, adds up its lead with each packet acknowledged, and grants a full segment of it at once.

use haltere_net::{Span, Time};

/// The rule of growth in the Reno-friendly region.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RenoFriendly {
    /// As Linux: W_est in whole segments, its lead spread over the ACKs of a window (tcp_cubic.c, `bictcp_update`).
    #[default]
    Linux,
    /// The window is W_est, which grows by alpha segments a window delivered (RFC 9438 section 4.3).
    Rfc9438,
    /// As quinn: W_est by time from the loss on (RFC 8312 section 4.2), its lead added up packet by packet (quinn-proto
    /// 0.11, congestion/cubic.rs).
    Quinn,
}

/// beta_cubic of one connection (RFC 9438 section 4.6).
const BETA: f64 = 0.7;

/// The window that Reno would have, for the rules other than Linux's.
#[derive(Clone, Debug, Default)]
pub(super) struct Friendly {
    rule: RenoFriendly,
    /// beta_cubic of the connections that the window is to be like, (n - 1 + beta) / n.
    beta: f64,
    /// alpha_cubic = 3 n^2 (1 - beta) / (1 + beta) (RFC 9438 section 4.3 for n = 1; Chromium, `cubic_bytes.cc`).
    alpha: f64,
    /// Segments a window delivered that Reno gains: one for each connection.
    reno: f64,
    /// W_est, bytes; `None` until the next ACK that may grow the window.
    estimate: Option<f64>,
    /// The window before the last reduction (cwnd_prior), bytes; 0 before the first.
    prior: u64,
    /// W_max, bytes, and the time of the last loss.
    w_max: u64,
    lost_at: Option<Time>,
    /// The lead that has been added up, bytes.
    lead: f64,
}

/// The facts about an ACK by which the window grows.
pub(super) struct Growth {
    pub now: Time,
    /// Bytes delivered.
    pub delivered: u64,
    /// The window and the segment size, bytes.
    pub window: u64,
    pub mss: u64,
    /// W_cubic one RTT ahead, bytes.
    pub cubic: u64,
    pub srtt: Option<Span>,
}

impl Friendly {
    /// Before the first loss, for a window like that of `n` connections; `None` for Linux's rule, which is CUBIC's own.
    pub fn new(rule: RenoFriendly, n: u64) -> Option<Friendly> {
        if rule == RenoFriendly::Linux {
            return None;
        }
        let n = n as f64;
        let beta = (n - 1.0 + BETA) / n;
        let alpha = 3.0 * n * n * (1.0 - beta) / (1.0 + beta);
        Some(Friendly { rule, beta, alpha, reno: n, ..Friendly::default() })
    }

    /// A loss reduced the window from `prior`; W_max is now `w_max`.
    pub fn on_loss(&mut self, now: Time, prior: u64, w_max: u64) {
        *self = Friendly { estimate: None, prior, w_max, lost_at: Some(now), lead: self.lead * self.beta, ..*self };
    }

    /// A timeout discards the curve.
    pub fn restart(&mut self) {
        let Friendly { rule, beta, alpha, reno, .. } = *self;
        *self = Friendly { rule, beta, alpha, reno, ..Friendly::default() };
    }

    /// The window after an ACK; `None` if it grows by the curve.
    pub fn follow(&mut self, ack: &Growth) -> Option<u64> {
        match self.rule {
            RenoFriendly::Linux => None,
            RenoFriendly::Rfc9438 => self.window(ack),
            RenoFriendly::Quinn => Some(self.quinn_window(ack)),
        }
    }

    /// RFC 9438: the window to have in the Reno-friendly region; `None` outside.
    fn window(&mut self, ack: &Growth) -> Option<u64> {
        let before = self.estimate.unwrap_or(ack.window as f64);
        let alpha = if self.prior > 0 && before >= self.prior as f64 { self.reno } else { self.alpha };
        let estimate = before + alpha * ack.mss as f64 * ack.delivered as f64 / ack.window.max(1) as f64;
        self.estimate = Some(estimate);
        ((ack.cubic as f64) < estimate).then(|| ack.window.max(estimate as u64))
    }

    /// quinn: the window after an ACK, inside the region and outside.
    fn quinn_window(&mut self, ack: &Growth) -> u64 {
        let lost_at = *self.lost_at.get_or_insert(ack.now);
        let w_max = if self.w_max == 0 { ack.window as f64 / self.beta } else { self.w_max as f64 };
        let rounds = match ack.srtt {
            Some(rtt) if !rtt.is_zero() => ack.now.since(lost_at).as_secs_f64() / rtt.as_secs_f64(),
            _ => 0.0,
        };
        let (mss, cubic) = (ack.mss as f64, ack.cubic as f64);
        let estimate = w_max * self.beta + self.alpha * rounds * mss;
        let mut window = ack.window;
        for _ in 0..ack.delivered.div_ceil(ack.mss.max(1)) {
            let at = window as f64;
            let by = if cubic < estimate { estimate - at } else { (cubic - at) / at.max(1.0) * mss };
            self.lead += by.max(0.0);
            if self.lead >= mss {
                window += ack.mss;
                self.lead = 0.0;
            }
        }
        window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn growth(window: u64, at_ms: u64) -> Growth {
        let now = Time::from_nanos(at_ms * 1_000_000);
        Growth { now, delivered: MSS, window, mss: MSS, cubic: 0, srtt: Some(Span::from_millis(100)) }
    }

    #[test]
    fn the_rfcs_window_grows_by_alpha_a_round_and_by_one_from_the_prior_window_on() {
        let mut friendly = Friendly::new(RenoFriendly::Rfc9438, 1).unwrap();
        friendly.on_loss(Time::ZERO, 10 * MSS, 10 * MSS);
        let mut window = 7 * MSS;
        for _ in 0..7 {
            window = friendly.window(&growth(window, 0)).unwrap();
        }
        // A little less than 7 deliveries are a round, as the window grows meanwhile.
        assert!((7_500..7_530).contains(&window), "{window}");
        let mut late =
            Friendly { estimate: Some(10_000.0), prior: 10 * MSS, ..Friendly::new(RenoFriendly::Rfc9438, 1).unwrap() };
        assert_eq!(late.window(&growth(10 * MSS, 0)), Some(10_100));
        assert_eq!(late.window(&Growth { cubic: 20 * MSS, ..growth(10 * MSS, 0) }), None);
    }

    #[test]
    fn quinns_window_runs_ahead_of_the_estimate() {
        let mut friendly = Friendly::new(RenoFriendly::Quinn, 1).unwrap();
        friendly.on_loss(Time::ZERO, 5 * MSS, 5 * MSS);
        // One round trip after the loss W_est is at 4029 bytes; the leads of two packets make a segment.
        let mut window = friendly.quinn_window(&growth(3_500, 100));
        assert_eq!(window, 3_500);
        window = friendly.quinn_window(&growth(window, 100));
        assert_eq!(window, 4_500);
        assert_eq!(friendly.quinn_window(&growth(window, 100)), 4_500);
    }
    #[test]
    fn a_loss_keeps_a_part_of_quinns_lead_and_starts_the_estimate_anew_and_a_timeout_keeps_nothing() {
        let at_ms = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let fresh = Friendly::new(RenoFriendly::Quinn, 1).unwrap();
        let mut friendly = Friendly { lead: 800.0, estimate: Some(9000.0), prior: 1, w_max: 1, ..fresh.clone() };
        friendly.on_loss(at_ms(5), 10 * MSS, 9 * MSS);
        assert!((friendly.lead - 560.0).abs() < 1e-9, "{}", friendly.lead);
        let kept = (friendly.estimate, friendly.prior, friendly.w_max, friendly.lost_at);
        assert_eq!(kept, (None, 10 * MSS, 9 * MSS, Some(at_ms(5))));
        friendly.restart();
        assert_eq!(format!("{friendly:?}"), format!("{fresh:?}"));
    }

    #[test]
    fn several_connections_share_a_loss_and_grow_together() {
        // Chromium's two: (2 - 1 + 0.7) / 2 and 3 · 4 · 0.15 / 1.85.
        let two = Friendly::new(RenoFriendly::Rfc9438, 2).unwrap();
        assert!((two.beta - 0.85).abs() < 1e-9 && (two.alpha - 1.8 / 1.85).abs() < 1e-9, "{two:?}");
        assert!(Friendly::new(RenoFriendly::Linux, 2).is_none());
    }

    #[test]
    fn each_rule_follows_its_own_window() {
        let mut rfc = Friendly::new(RenoFriendly::Rfc9438, 1).unwrap();
        // 7000 + 3 · 0.3 / 1.7 · 1000 · 1000 / 7000
        assert_eq!(rfc.follow(&growth(7 * MSS, 0)), Some(7075));
        let mut quinn = Friendly::new(RenoFriendly::Quinn, 1).unwrap();
        // Before a loss W_max is what the window would be after one, so the estimate is the window, and grows by time.
        assert_eq!(quinn.follow(&growth(7 * MSS, 0)), Some(7 * MSS));
        assert_eq!(quinn.follow(&growth(7 * MSS, 200)), Some(8 * MSS), "two rounds of alpha segments, 529 bytes each");
        // Outside the region each packet adds (cubic - window) / window of a segment.
        let curve = |cubic| Growth { cubic, delivered: 2 * MSS, ..growth(10 * MSS, 0) };
        let mut quinn = Friendly::new(RenoFriendly::Quinn, 1).unwrap();
        assert_eq!([16 * MSS, 14 * MSS].map(|cubic| quinn.follow(&curve(cubic))), [Some(11 * MSS), Some(10 * MSS)]);
    }
}
