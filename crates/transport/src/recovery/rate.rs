//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02, as Linux takes them).
//!
//! Each packet records what had been delivered when it was sent ([`TxState`]). Its ACK gives one sample of the path's
//! rate: the data delivered since then, over the longer of the sending and the acknowledging interval. Samples from
//! phases in which the sender had nothing to send are marked as application-limited.

use haltere_net::{Rate, Span, Time};

/// The delivery state when a packet was sent. It is stored with the packet's record and returned with its ACK.
#[derive(Clone, Copy, Debug)]
pub struct TxState {
    /// Bytes delivered by then.
    pub delivered: u64,
    /// When that count last changed.
    pub delivered_time: Time,
    /// When the first packet of the sample's flight was sent.
    pub first_sent: Time,
    /// Bytes lost by then.
    pub lost: u64,
    /// Bytes in flight, this packet included; saturates at 4 GiB.
    pub in_flight: u32,
    /// Whether the sender was application-limited.
    pub app_limited: bool,
}

impl TxState {
    /// The state with `bytes` in flight as congestion control counts them, where that differs from what is
    /// outstanding.
    #[inline]
    pub fn with_in_flight(self, bytes: u64) -> TxState {
        TxState { in_flight: u32::try_from(bytes).unwrap_or(u32::MAX), ..self }
    }
}

/// One sample, made from all packets that one ACK acknowledged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Bytes delivered over the interval; 0 if there is no valid sample.
    pub delivered: u64,
    /// The interval; zero if there is no valid sample.
    pub interval: Span,
    /// Total bytes delivered when the sampled packet was sent; it separates rounds.
    pub prior_delivered: u64,
    /// Bytes newly lost since the sampled packet was sent.
    pub lost: u64,
    /// Bytes in flight when the sampled packet was sent, itself included.
    pub in_flight: u64,
    /// Whether the sender was application-limited when the sample was taken.
    pub app_limited: bool,
}

impl RateSample {
    const NONE: RateSample = RateSample {
        delivered: 0,
        interval: Span::ZERO,
        prior_delivered: 0,
        lost: 0,
        in_flight: 0,
        app_limited: false,
    };

    /// The delivery rate, if the sample is valid.
    pub fn rate(&self) -> Option<Rate> {
        if self.delivered == 0 { None } else { Rate::of(self.delivered, self.interval) }
    }
}

/// The state of a connection (or path) from which samples are computed.
#[derive(Clone, Debug)]
pub struct RateSampler {
    delivered: u64,
    delivered_time: Time,
    first_sent: Time,
    lost: u64,
    app_limited_until: Option<u64>,
    newest: Option<(Time, TxState)>,
}

impl Default for RateSampler {
    fn default() -> Self {
        RateSampler {
            delivered: 0,
            delivered_time: Time::ZERO,
            first_sent: Time::ZERO,
            lost: 0,
            app_limited_until: None,
            newest: None,
        }
    }
}

impl RateSampler {
    /// Records that a packet goes out at `now`, while `in_flight` bytes are outstanding without it.
    #[inline]
    pub fn on_sent(&mut self, now: Time, in_flight: u64) -> TxState {
        if in_flight == 0 {
            self.first_sent = now;
            self.delivered_time = now;
        }
        TxState {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            lost: self.lost,
            in_flight: u32::try_from(in_flight).unwrap_or(u32::MAX),
            app_limited: self.app_limited_until.is_some(),
        }
    }

    /// Records that a packet of `bytes`, sent at `sent`, is acknowledged. The sample is that of the newest packet that
    /// the ACK acknowledges.
    #[inline]
    pub fn on_delivered(&mut self, now: Time, bytes: u64, sent: Time, tx: TxState) {
        self.delivered += bytes;
        self.delivered_time = now;
        let newer = match self.newest {
            None => true,
            Some((at, old)) => tx.delivered > old.delivered || (tx.delivered == old.delivered && sent > at),
        };
        if newer {
            self.newest = Some((sent, tx));
            self.first_sent = sent;
        }
    }

    /// Records that `bytes` arrived twice: they count as delivered (Linux: `tcp_dsack_seen`).
    pub fn on_duplicate(&mut self, now: Time, bytes: u64) {
        self.delivered += bytes;
        self.delivered_time = now;
    }

    /// Records that `bytes` are declared lost.
    #[inline]
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// Records that a loss of `bytes` proved spurious.
    pub fn on_found(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_sub(bytes);
    }

    /// The sample of the ACK just processed. An interval shorter than `min_rtt` gives no sample.
    #[inline]
    pub fn sample(&mut self, min_rtt: Option<Span>) -> RateSample {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let Some((sent, tx)) = self.newest.take() else { return RateSample::NONE };
        let send_interval = sent.since(tx.first_sent);
        let ack_interval = self.delivered_time.since(tx.delivered_time);
        let interval = send_interval.max(ack_interval);
        let lost = self.lost.saturating_sub(tx.lost);
        let base = RateSample {
            prior_delivered: tx.delivered,
            lost,
            in_flight: u64::from(tx.in_flight),
            app_limited: tx.app_limited,
            ..RateSample::NONE
        };
        if min_rtt.is_some_and(|min| interval < min) {
            return base;
        }
        RateSample { delivered: self.delivered - tx.delivered, interval, ..base }
    }

    /// Records that the sender has nothing more to send while `in_flight` bytes are outstanding. Samples are marked
    /// until these bytes are delivered.
    #[inline]
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some((self.delivered + in_flight).max(1));
    }

    /// Whether [`RateSampler::on_app_limited`] with this many bytes in flight was the last that was recorded.
    #[inline]
    pub fn is_app_limited_to(&self, in_flight: u64) -> bool {
        self.app_limited_until == Some((self.delivered + in_flight).max(1))
    }

    /// Whether the sender is in an application-limited phase.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }
    /// Bytes that had been delivered when the newest packet of the present ACK was sent. It is known until
    /// [`sample`](RateSampler::sample) is called.
    pub fn pending_prior_delivered(&self) -> Option<u64> {
        self.newest.map(|(_, tx)| tx.delivered)
    }
    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// When [`delivered`](RateSampler::delivered) last changed.
    pub fn delivered_time(&self) -> Time {
        self.delivered_time
    }
    /// Bytes lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_newest_packet_of_an_ack_gives_the_sample() {
        let mut sampler = RateSampler::default();
        let first = sampler.on_sent(at(0), 0);
        let second = sampler.on_sent(at(2), 1000);
        let third = sampler.on_sent(at(2), 2000);
        // Two that left when as much had been delivered: the one that left later. An ACK may name it first.
        sampler.on_delivered(at(40), 1000, at(2), second);
        sampler.on_delivered(at(40), 1000, at(0), first);
        assert_eq!(sampler.pending_prior_delivered(), Some(0));
        let sample = sampler.sample(None);
        assert_eq!((sample.delivered, sample.interval, sample.in_flight), (2000, Span::from_millis(40), 1000));
        // Of two that left at one time, the first that is named.
        let fourth = sampler.on_sent(at(50), 1000);
        sampler.on_delivered(at(60), 1000, at(2), third);
        sampler.on_delivered(at(60), 1000, at(50), fourth);
        let sample = sampler.sample(None);
        assert_eq!((sample.prior_delivered, sample.delivered, sample.in_flight), (2000, 2000, 1000));
        // Since the packet whose ACK began the flight was sent at 2 ms, 48 ms passed; the ACKs took 20.
        assert_eq!(sample.interval, Span::from_millis(48));
        assert_eq!((sampler.delivered(), sampler.delivered_time()), (4000, at(60)));
    }

    #[test]
    fn a_later_packet_that_knew_of_less_is_not_newer() {
        let mut sampler = RateSampler::default();
        let old = sampler.on_sent(at(0), 0);
        sampler.on_delivered(at(10), 500, at(0), old);
        let _ = sampler.sample(None);
        let new = sampler.on_sent(at(20), 1000);
        assert_eq!((old.delivered, new.delivered), (0, 500));
        sampler.on_delivered(at(30), 500, at(20), new);
        // Its record is older, although it was sent again later.
        sampler.on_delivered(at(30), 500, at(25), old);
        assert_eq!(sampler.pending_prior_delivered(), Some(500));
        // Of two records of one moment, the first that is named stays.
        sampler.on_delivered(at(30), 500, at(20), new.with_in_flight(7));
        assert_eq!(sampler.sample(None).in_flight, 1000);
    }

    #[test]
    fn an_interval_below_the_least_rtt_is_no_sample() {
        let one = |least: u64| {
            let mut sampler = RateSampler::default();
            let sent = sampler.on_sent(at(0), 0);
            sampler.on_lost(300);
            sampler.on_lost(200);
            sampler.on_found(100);
            sampler.on_delivered(at(40), 1000, at(0), sent.with_in_flight(u64::MAX));
            sampler.sample(Some(Span::from_millis(least)))
        };
        assert_eq!(one(40).rate(), Rate::of(1000, Span::from_millis(40)));
        let short = one(41);
        assert_eq!((short.rate(), short.lost, short.in_flight), (None, 400, u64::from(u32::MAX)));
        assert_eq!(RateSampler::default().sample(None), RateSample::NONE);
    }

    #[test]
    fn the_application_limits_samples_until_what_was_in_flight_is_delivered() {
        let mut sampler = RateSampler::default();
        sampler.on_app_limited(0);
        assert!(sampler.is_app_limited() && sampler.is_app_limited_to(0) && sampler.is_app_limited_to(1));
        assert!(!sampler.is_app_limited_to(2));
        let first = sampler.on_sent(at(0), 0);
        sampler.on_app_limited(1000);
        let second = sampler.on_sent(at(1), 1000);
        assert!(first.app_limited && second.app_limited);
        sampler.on_delivered(at(20), 1000, at(0), first);
        assert!(sampler.sample(None).app_limited && sampler.is_app_limited());
        sampler.on_delivered(at(21), 1, at(1), second);
        assert!(sampler.sample(None).app_limited && !sampler.is_app_limited());
        assert!(!sampler.on_sent(at(30), 0).app_limited);
    }

    #[test]
    fn an_idle_sender_begins_a_new_flight() {
        let mut sampler = RateSampler::default();
        let first = sampler.on_sent(at(0), 0);
        sampler.on_delivered(at(10), 1000, at(0), first);
        let _ = sampler.sample(None);
        let second = sampler.on_sent(at(500), 0);
        assert_eq!((second.first_sent, second.delivered_time, second.delivered), (at(500), at(500), 1000));
        assert_eq!((second.lost, sampler.lost()), (0, 0));
    }
}
