//! A controller on a path of a given RTT. Packets are sent as its window allows, ACKs return one RTT later, and the
//! test sets what they report. There is no bottleneck.

use haltere_net::rng::Streams;
use haltere_net::{Span, Time};
use haltere_transport::Role;
use haltere_transport::cc::{
    Ack, Algorithm, Arithmetic, Config, Congestion, CongestionController, Established, Phase, RenoFriendly, Sent,
    SlowStart, Trigger,
};
use haltere_transport::recovery::RateSample;
use std::collections::VecDeque;

/// The unit of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Grain {
    /// Whole segments and a clock of 4 ms, as the model of Linux's TCP has them.
    Linux,
    /// Bytes and an exact clock, as QUIC has them.
    Exact,
}

/// A segment in flight: its end, when it was sent, and what had been delivered then.
type Flying = (u64, Time, u64);

/// A controller and its path.
pub struct Rounds {
    pub cc: Box<dyn CongestionController>,
    pub now: Time,
    /// Segment size, bytes.
    pub mss: u64,
    /// RTT of the ACKs from now on.
    pub rtt: Span,
    /// Segments that an ACK acknowledges.
    pub per_ack: u64,
    /// The phase that ACKs report.
    pub phase: Phase,
    /// Whether the sender always has more to send.
    pub window_limited: bool,
    min_rtt: Span,
    srtt: Span,
    flying: VecDeque<Flying>,
    acked_to: u64,
    sent_to: u64,
    lost: u64,
}

impl Rounds {
    /// `name`'s controller with an initial window of `segments` segments of 1000 bytes on a path of `rtt`, all of them
    /// sent at 1 s.
    pub fn new(name: &str, grain: Grain, segments: u64, rtt: Span) -> Rounds {
        Rounds::with(name, grain, segments, rtt, None)
    }

    /// `name`'s controller as [`Rounds::new`] has it, with a way for slow start to end.
    pub fn with(name: &str, grain: Grain, segments: u64, rtt: Span, slow_start: Option<SlowStart>) -> Rounds {
        let mss = 1000;
        let (grain, tick) = match grain {
            Grain::Linux => (mss, Span::from_millis(4)),
            Grain::Exact => (1, Span::ZERO),
        };
        let cc = Algorithm::named(name).unwrap().build(Config {
            role: Role::Server,
            mss,
            wire: mss + 52,
            grain,
            connections: 1,
            initial_window: segments * mss,
            slow_start,
            reno_friendly: RenoFriendly::default(),
            arithmetic: Arithmetic::default(),
            paced: false,
            tick,
            phase: Span::ZERO,
            stream: Streams::new(1, 0).named("cc"),
            values: &[],
            faults: None,
        });
        let now = Time::ZERO + Span::from_secs(1);
        let mut path = Rounds {
            cc,
            now,
            mss,
            rtt,
            per_ack: 1,
            phase: Phase::Open,
            window_limited: true,
            min_rtt: rtt,
            srtt: rtt,
            flying: VecDeque::new(),
            acked_to: 0,
            sent_to: 0,
            lost: 0,
        };
        path.cc.on_established(&Established { now, rtt: Some(rtt) });
        path.send();
        path
    }

    /// A controller that has just recovered from one loss at a window of `segments`: in congestion avoidance, unless it
    /// has none.
    pub fn after_loss(name: &str, grain: Grain, segments: u64, rtt: Span) -> Rounds {
        let mut path = Rounds::new(name, grain, segments, rtt);
        path.lose();
        path
    }

    /// The window in segments.
    pub fn segments(&self) -> f64 {
        self.cc.window() as f64 / self.mss as f64
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> u64 {
        self.sent_to - self.acked_to
    }

    /// Acknowledges all that is in flight, ACK by ACK over the next RTT; returns by how many segments the window grew.
    pub fn round(&mut self) -> f64 {
        let (before, start, end) = (self.segments(), self.now, self.sent_to);
        let total = (end - self.acked_to) / self.mss;
        let mut done = 0;
        while self.acked_to < end {
            let some = self.per_ack.min(total - done);
            done += some;
            self.now = start + self.rtt.scaled(done, total);
            self.ack(some);
        }
        self.segments() - before
    }

    /// So many rounds; returns by how many segments the window grew.
    pub fn rounds(&mut self, n: u64) -> f64 {
        (0..n).map(|_| self.round()).sum()
    }

    /// An ACK of so many segments arrives now.
    pub fn ack(&mut self, segments: u64) {
        let prior_in_flight = self.sent_to - self.acked_to;
        let mut newest = None;
        for _ in 0..segments {
            newest = self.flying.pop_front().or(newest);
        }
        let Some((end, sent, prior_delivered)) = newest else { return };
        let delivered = end - self.acked_to;
        self.acked_to = end;
        self.min_rtt = self.min_rtt.min(self.rtt);
        self.srtt = Span::from_nanos((7 * self.srtt.as_nanos() + self.rtt.as_nanos()) / 8);
        let interval = self.now.since(sent);
        let rate = RateSample {
            delivered: self.acked_to - prior_delivered,
            interval,
            prior_delivered,
            in_flight: end - prior_delivered,
            lost: 0,
            app_limited: !self.window_limited,
        };
        self.cc.on_ack(
            &Ack {
                now: self.now,
                delivered,
                lost: 0,
                rtt: Some(self.rtt),
                srtt: Some(self.srtt),
                min_rtt: Some(self.min_rtt),
                in_flight: self.sent_to - self.acked_to,
                prior_in_flight,
                window_limited: self.window_limited,
                may_grow: self.phase <= Phase::Disorder || self.phase == Phase::Loss,
                phase: self.phase,
                acked_to: self.acked_to,
                sent_to: self.sent_to,
                rate,
                total_delivered: self.acked_to,
                total_lost: self.lost,
                next_departure: self.now,
                delayed: false,
                stamps: None,
            },
            &[],
        );
        self.send();
    }

    /// Sends what the window allows.
    fn send(&mut self) {
        while self.sent_to + self.mss <= self.acked_to + self.cc.window() {
            self.cc.on_sent(&Sent {
                now: self.now,
                bytes: self.mss,
                in_flight: self.sent_to - self.acked_to,
                total_delivered: self.acked_to,
                after_idle: None,
                app_limited: !self.window_limited,
                timeout: self.srtt * 3,
            });
            self.sent_to += self.mss;
            self.flying.push_back((self.sent_to, self.now, self.acked_to));
        }
    }

    /// Reports congestion.
    pub fn congestion(&mut self, trigger: Trigger) {
        let in_flight = (self.sent_to - self.acked_to).saturating_sub(self.mss);
        self.lost += self.mss;
        self.cc.on_congestion(&Congestion { now: self.now, trigger, new_episode: true, in_flight, lost: self.mss });
    }

    /// A loss is found, and repaired within one RTT.
    pub fn lose(&mut self) {
        self.congestion(Trigger::Loss);
        self.phase = Phase::Recovery;
        self.round();
        self.recover();
    }

    /// The retransmission timer fires with nothing left in flight, and one RTT later the head's repair is acknowledged.
    pub fn time_out(&mut self) {
        self.expire();
        self.phase = Phase::Loss;
        self.send();
        self.round();
        self.recover();
    }

    /// The retransmission timer fires with nothing left in flight.
    pub fn expire(&mut self) {
        self.lost += self.mss;
        self.sent_to = self.acked_to;
        self.flying.clear();
        let now = self.now;
        self.cc.on_congestion(&Congestion {
            now,
            trigger: Trigger::Timeout,
            new_episode: true,
            in_flight: 0,
            lost: self.mss,
        });
    }

    fn recover(&mut self) {
        self.phase = Phase::Open;
        self.cc.on_recovered(self.now);
        self.send();
    }
}
