//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation-02, as Linux takes them).
//!
//! Each packet remembers what had been delivered when it was sent ([`TxState`]); when it is acknowledged, the data
//! delivered since then, over the longer of the sending and the acknowledging interval, is one sample of the path's
//! rate. Samples of phases in which the sender had nothing to send are marked.

use haltere_net::{Rate, Span, Time};

/// What was true when a packet was sent; it travels with the packet's record and comes back with its ACK.
#[derive(Clone, Copy, Debug)]
pub struct TxState {
    /// Bytes delivered by then.
    pub delivered: u64,
    /// When that count last changed.
    pub delivered_time: Time,
    /// When the first packet of the flight, to which the sample belongs, was sent.
    pub first_sent: Time,
    /// Bytes lost by then.
    pub lost: u64,
    /// Bytes in flight, this packet included; four gigabytes stand for all that is more.
    pub in_flight: u32,
    /// Whether the sender was short of data.
    pub app_limited: bool,
}

impl TxState {
    /// The same with the bytes in flight as congestion control counts them, where that is not what is outstanding.
    #[inline]
    pub fn with_in_flight(self, bytes: u64) -> TxState {
        TxState { in_flight: u32::try_from(bytes).unwrap_or(u32::MAX), ..self }
    }
}

/// One sample, made of all that one ACK acknowledged.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateSample {
    /// Bytes delivered over the interval; 0 if there is no valid sample.
    pub delivered: u64,
    /// The interval; zero if there is no valid sample.
    pub interval: Span,
    /// Total bytes delivered when the sampled packet was sent: tells rounds apart.
    pub prior_delivered: u64,
    /// Bytes newly lost since the sampled packet was sent.
    pub lost: u64,
    /// Bytes that were in flight when it was sent, itself included.
    pub in_flight: u64,
    /// Whether the sample was taken while the sender was short of data.
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

/// The connection's (or path's) side of the bookkeeping.
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
    /// A packet goes out at `now`, `in_flight` bytes being outstanding before it.
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

    /// A packet of `bytes`, sent at `sent`, is acknowledged. Of those that one ACK acknowledges, the newest makes the
    /// sample.
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

    /// `bytes` are declared lost.
    #[inline]
    pub fn on_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    /// A loss turned out not to be one.
    pub fn on_found(&mut self, bytes: u64) {
        self.lost = self.lost.saturating_sub(bytes);
    }

    /// The sample of the ACK just processed; an interval shorter than `min_rtt` gives none.
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

    /// The sender has nothing more to send while `in_flight` bytes are outstanding: samples are marked until these
    /// are delivered.
    #[inline]
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.app_limited_until = Some((self.delivered + in_flight).max(1));
    }

    /// Whether the sender is in a phase short of data.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }
    /// Bytes that had been delivered when the newest packet acknowledged by the present ACK was sent, before
    /// [`sample`](RateSampler::sample) is taken.
    pub fn pending_prior_delivered(&self) -> Option<u64> {
        self.newest.map(|(_, tx)| tx.delivered)
    }
    /// Bytes delivered so far.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }
    /// When that count last changed.
    pub fn delivered_time(&self) -> Time {
        self.delivered_time
    }
    /// Bytes lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
