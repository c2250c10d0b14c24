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
