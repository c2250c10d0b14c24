//! A closed loop for tests: a sender with any controller, a bottleneck with a drop-tail queue or a policer, and a
//! receiver.

use super::{Ack, Ask, Config, Congestion, CongestionController, Established, Lost, Phase, Sent, Trigger};
use crate::recovery::{Pacer, RateSampler, TxState};
use haltere_net::rng::Streams;
use haltere_net::{Rate, Span, Time};
use std::collections::{BTreeMap, VecDeque};

pub const MSS: u64 = 1448;
pub const WIRE: u64 = 1500;

pub fn config() -> Config {
    Config {
        role: crate::Role::Server,
        mss: MSS,
        wire: WIRE,
        grain: MSS,
        connections: 1,
        initial_window: 10 * MSS,
        slow_start: None,
        reno_friendly: super::RenoFriendly::default(),
        arithmetic: super::Arithmetic::default(),
        paced: true,
        tick: Span::ZERO,
        phase: Span::ZERO,
        stream: Streams::new(7, 0).named("bbr"),
        values: &[],
        faults: None,
    }
}

/// A token bucket that drops packets above its rate.
#[derive(Clone, Copy)]
pub struct Policer {
    pub rate: Rate,
    pub depth: u64,
}

#[derive(Clone, Copy)]
pub struct Path {
    pub rate: Rate,
    pub rtt: Span,
    /// The number of packets that may wait.
    pub queue: usize,
    pub policer: Option<Policer>,
    /// The number of packets that one ACK acknowledges.
    pub stretch: usize,
}

impl Path {
    pub fn new(mbps: u64, rtt_ms: u64) -> Path {
        let (rate, rtt) = (Rate::from_bps(mbps * 1_000_000), Span::from_millis(rtt_ms));
        Path { rate, rtt, queue: 1000, policer: None, stretch: 1 }
    }
    /// Segments of one bandwidth-delay product.
    pub fn bdp(&self) -> u64 {
        self.rate.bytes_in(self.rtt) / WIRE
    }
    /// The most data the path delivers.
    pub fn goodput(&self) -> Rate {
        self.rate.scaled(MSS, WIRE)
    }
}

pub struct Bench<C> {
    pub cc: C,
    pub path: Path,
    pub now: Time,
    pub sampler: RateSampler,
    pub lost_packets: u64,
    pub in_flight: u64,
    pub max_queue: usize,
    pub srtt: Option<Span>,
    /// Segments still to send; `None` is unlimited.
    pub left: Option<u64>,
    /// The rate at which the application writes, if it is limited, and since when.
    pub supply: Option<(Rate, Time)>,
    /// Which packets the path loses, by number.
    pub lose: Option<fn(u64) -> bool>,
    pacer: Pacer,
    busy_until: Time,
    waiting: VecDeque<Time>,
    tokens: u64,
    tokens_at: Time,
    received: Vec<u64>,
    acks: VecDeque<(Time, Vec<u64>)>,
    out: BTreeMap<u64, (Time, TxState)>,
    next: u64,
    repairing_until: Option<u64>,
    min_rtt: Option<Span>,
}

impl<C: CongestionController> Bench<C> {
    pub fn with(cc: C, path: Path) -> Bench<C> {
        let mut bench = Bench {
            cc,
            path,
            now: Time::from_nanos(3_000_000_000),
            sampler: RateSampler::default(),
            lost_packets: 0,
            in_flight: 0,
            max_queue: 0,
            srtt: Some(path.rtt),
            left: None,
            supply: None,
            lose: None,
            pacer: Pacer::new(10 * MSS),
            busy_until: Time::ZERO,
            waiting: VecDeque::new(),
            tokens: path.policer.map_or(0, |p| p.depth),
            tokens_at: Time::ZERO,
            received: Vec::new(),
            acks: VecDeque::new(),
            out: BTreeMap::new(),
            next: 0,
            repairing_until: None,
            min_rtt: Some(path.rtt),
        };
        bench.tokens_at = bench.now;
        bench.cc.on_established(&Established { now: bench.now, rtt: bench.srtt });
        bench
    }

    pub fn elapsed(&self) -> Span {
        self.now.since(Time::from_nanos(3_000_000_000))
    }

    pub fn queued(&mut self) -> usize {
        while self.waiting.front().is_some_and(|&start| start <= self.now) {
            self.waiting.pop_front();
        }
        self.waiting.len()
    }

    /// Runs for `span` and calls `see` after each ACK. Ends early when everything is sent and acknowledged.
    pub fn run(&mut self, span: Span, mut see: impl FnMut(&mut Bench<C>)) {
        let until = self.now + span;
        loop {
            self.send();
            let can_send = self.in_flight + MSS <= self.cc.window() && self.left != Some(0);
            let departure = if can_send { self.pacer.next().max(self.next_supply()) } else { Time::NEVER };
            if can_send && self.next_supply() > self.now {
                self.sampler.on_app_limited(self.in_flight);
            }
            let ack = self.acks.front().map_or(Time::NEVER, |a| a.0);
            let next = departure.min(ack);
            if next > until {
                self.now = if next == Time::NEVER && self.left == Some(0) { self.now } else { until };
                return;
            }
            self.now = next;
            if ack <= self.now
                && let Some((_, numbers)) = self.acks.pop_front()
            {
                self.acknowledge(&numbers);
                see(self);
            }
        }
    }

    /// Limits the application to this rate from now on.
    pub fn limit(&mut self, rate: Rate) {
        self.supply = Some((rate, self.now));
    }

    /// When the application has another segment to send.
    fn next_supply(&self) -> Time {
        self.supply.map_or(Time::ZERO, |(rate, since)| since + rate.time_for(MSS))
    }

    fn send(&mut self) {
        while self.in_flight + MSS <= self.cc.window()
            && self.left != Some(0)
            && self.next_supply() <= self.now
            && self.pacer.blocked(self.now).is_none()
        {
            let room = ((self.cc.window() - self.in_flight) / MSS).min((self.cc.send_quantum() / MSS).max(1));
            let burst = match &mut self.supply {
                Some((rate, since)) => {
                    *since = (*since + rate.time_for(MSS)).max(self.now.saturating_sub(rate.time_for(20 * MSS)));
                    1
                }
                None => self.left.map_or(room, |left| left.min(room)),
            };
            for _ in 0..burst {
                self.send_one();
            }
            self.left = self.left.map(|left| left - burst);
            if let Some(rate) = self.cc.pacing_rate() {
                self.pacer.on_sent(self.now, burst * MSS, rate);
            }
        }
        if self.left == Some(0) {
            let last = std::mem::take(&mut self.received);
            self.acknowledge_at(last, self.busy_until + self.path.rtt);
        }
    }

    fn send_one(&mut self) {
        let number = self.next;
        self.next += 1;
        self.cc.on_sent(&Sent {
            now: self.now,
            bytes: MSS,
            in_flight: self.in_flight,
            total_delivered: self.sampler.delivered(),
            after_idle: None,
            app_limited: self.sampler.is_app_limited(),
            timeout: Span::from_secs(1),
        });
        let tx = self.sampler.on_sent(self.now, self.in_flight).with_in_flight(self.in_flight + MSS);
        self.out.insert(number, (self.now, tx));
        self.in_flight += MSS;
        if !self.lose.is_some_and(|lose| lose(number)) && self.admits() {
            let start = self.busy_until.max(self.now);
            if start > self.now {
                self.waiting.push_back(start);
                self.max_queue = self.max_queue.max(self.waiting.len());
            }
            self.busy_until = start + self.path.rate.time_for(WIRE);
            self.received.push(number);
            if self.received.len() >= self.path.stretch {
                let gathered = std::mem::take(&mut self.received);
                self.acknowledge_at(gathered, self.busy_until + self.path.rtt);
            }
        }
    }

    fn acknowledge_at(&mut self, numbers: Vec<u64>, at: Time) {
        if !numbers.is_empty() {
            self.acks.push_back((at, numbers));
        }
    }

    fn admits(&mut self) -> bool {
        if let Some(policer) = self.path.policer {
            let grown = self.tokens + policer.rate.bytes_in(self.now.since(self.tokens_at));
            self.tokens = grown.min(policer.depth);
            self.tokens_at = self.now;
            if self.tokens < WIRE {
                return false;
            }
            self.tokens -= WIRE;
        }
        self.queued() < self.path.queue
    }

    fn acknowledge(&mut self, numbers: &[u64]) {
        let prior_in_flight = self.in_flight;
        let (mut delivered, mut rtt, mut newest) = (0, None, 0);
        for &number in numbers {
            if let Some((sent, tx)) = self.out.remove(&number) {
                self.sampler.on_delivered(self.now, MSS, sent, tx);
                delivered += MSS;
                rtt = Some(self.now.since(sent));
                newest = number;
            }
        }
        self.in_flight -= delivered;
        let late: Vec<u64> = self.out.range(..newest.saturating_sub(2)).map(|(&n, _)| n).collect();
        let lost = late.len() as u64 * MSS;
        for number in late {
            if let Some((_, sent)) = self.out.remove(&number) {
                self.sampler.on_lost(MSS);
                let (total_delivered, total_lost) = (self.sampler.delivered(), self.sampler.lost());
                let (now, from, to, bytes) = (self.now, number, number + 1, MSS);
                self.cc.on_lost(&Lost { now, from, to, bytes, sent, total_delivered, total_lost });
            }
        }
        self.in_flight -= lost;
        self.lost_packets += lost / MSS;
        self.left = self.left.map(|left| left + lost / MSS);
        if self.repairing_until.is_some_and(|until| newest >= until) {
            self.repairing_until = None;
            self.cc.on_recovered(self.now);
        }
        if lost > 0 && self.repairing_until.is_none() {
            self.repairing_until = Some(self.next);
            let (now, in_flight) = (self.now, self.in_flight);
            self.cc.on_congestion(&Congestion { now, trigger: Trigger::Loss, new_episode: true, in_flight, lost });
        }
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| srtt.scaled(7, 8) + rtt / 8));
        }
        let rate = self.sampler.sample(self.min_rtt);
        let phase = if self.repairing_until.is_some() { Phase::Recovery } else { Phase::Open };
        self.cc.on_ack(
            &Ack {
                now: self.now,
                delivered,
                lost,
                rtt,
                srtt: self.srtt,
                min_rtt: self.min_rtt,
                in_flight: self.in_flight,
                prior_in_flight,
                window_limited: true,
                may_grow: true,
                phase,
                acked_to: newest,
                sent_to: self.next,
                rate,
                total_delivered: self.sampler.delivered(),
                total_lost: self.sampler.lost(),
                next_departure: self.pacer.next(),
                delayed: false,
                stamps: None,
            },
            &[],
        );
        if self.cc.asks() == Ask::MarkAppLimited {
            self.sampler.on_app_limited(self.in_flight);
        }
    }
}

/// An ACK of one segment on a path of 100 ms in congestion avoidance, changed by `alter`.
pub fn ack(alter: impl FnOnce(&mut Ack)) -> Ack {
    let (now, rtt) = (Time::from_nanos(1_000_000_000), Span::from_millis(100));
    let rate = RateSampler::default().sample(None);
    let mut ack = Ack {
        now,
        delivered: MSS,
        lost: 0,
        rtt: Some(rtt),
        srtt: Some(rtt),
        min_rtt: Some(rtt),
        in_flight: 10 * MSS,
        prior_in_flight: 11 * MSS,
        window_limited: true,
        may_grow: true,
        phase: Phase::Open,
        acked_to: 0,
        sent_to: 0,
        rate,
        total_delivered: 0,
        total_lost: 0,
        next_departure: now,
        delayed: false,
        stamps: None,
    };
    alter(&mut ack);
    ack
}
