//! One direction of a link: a queue, a rate, a propagation delay and random impairments.
//!
//! A link is a state machine. [`Link::offer`] gives it a packet; [`Link::poll`] takes out those that have arrived at the
//! far end by a given time; [`Link::next_wake`] says when the next one will. Calling `poll` at more instants than
//! needed, or late, changes neither which packets come out nor their timestamps.
//!
//! The order of things along a link: MTU check, queue, serialisation, loss, duplication, propagation with jitter.

use crate::cx::{Cx, Metric};
use crate::loss::{Jitter, JitterModel, Loss, LossModel};
use crate::packet::{Ecn, Packet};
use crate::queue::{Backlog, DropReason, DropTail, Limit, QueueDiscipline, Verdict};
use crate::rng::{Stream, Streams};
use crate::serialiser::Serialiser;
use crate::time::{Span, Time};
use crate::trace::RateTrace;
use crate::units::Rate;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// What one direction of a link is like. Its JSON form has the units in the names: `{"rate_bps": 40000000, "delay_ns":
/// 50000000, "mtu": 1500, "queue": {"packets": 1000}, "loss": {"model": "uniform", "p": 0.01}}`; what is left out has
/// its default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinkConfig {
    /// Serialisation rate; `None` sends in no time.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// A recorded rate; takes the place of `rate`.
    #[serde(rename = "trace_ms", skip_serializing_if = "Option::is_none")]
    pub trace: Option<RateTrace>,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Largest packet, in bytes with IP header.
    pub mtu: u32,
    /// How much may wait.
    pub queue: Limit,
    /// What waits when ECN-capable packets begin to be marked; `None` marks none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Limit>,
    /// Which packets are lost.
    pub loss: LossModel,
    /// Extra delay of each packet.
    pub jitter: JitterModel,
    /// Probability that a packet arrives twice.
    pub duplication: f64,
}

impl Default for LinkConfig {
    fn default() -> LinkConfig {
        LinkConfig {
            rate: None,
            trace: None,
            delay: Span::ZERO,
            mtu: 1500,
            queue: Limit::Packets(1000),
            mark: None,
            loss: LossModel::None,
            jitter: JitterModel::None,
            duplication: 0.0,
        }
    }
}

/// What a link counted. `offered + duplicated = delivered + dropped + inside`, always.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LinkCounters {
    /// Packets offered.
    pub offered: u64,
    /// Copies made by duplication.
    pub duplicated: u64,
    /// Packets that arrived at the far end.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Dropped because the queue was full.
    pub dropped_queue: u64,
    /// Dropped early by the discipline.
    pub dropped_aqm: u64,
    /// Lost at random.
    pub dropped_loss: u64,
    /// Dropped for being longer than the MTU.
    pub dropped_mtu: u64,
    /// Marked for congestion.
    pub marked: u64,
    /// The largest backlog seen, in packets.
    pub max_queue_packets: u64,
    /// The largest backlog seen, in bytes.
    pub max_queue_bytes: u64,
    /// Packets that entered serialisation.
    pub served: u64,
    /// Their time in the queue, ns in all. Ages add up: a thousand packets at 1 bit/s wait for 10^19 ns together.
    pub queueing_ns: u128,
}

impl LinkCounters {
    /// All drops.
    pub fn dropped(&self) -> u64 {
        self.dropped_queue + self.dropped_aqm + self.dropped_loss + self.dropped_mtu
    }
}

/// How packets wait. A drop-tail queue needs no store of its own: each departure is known on arrival.
enum Waiting<B> {
    DropTail { limit: Limit, mark: Option<Limit>, starts: VecDeque<(Time, u32)>, bytes: u64 },
    Discipline(Box<Disciplined<B>>),
}

/// A queue that is served, and when each packet joined it.
struct Disciplined<B> {
    queue: Box<dyn QueueDiscipline<B>>,
    since: VecDeque<Time>,
}

/// Random impairments; a link without any has none of this to look at.
struct Impairments {
    loss: Loss,
    jitter: Jitter,
    duplication: f64,
    stream: Stream,
}

impl Impairments {
    fn new(config: &LinkConfig, name: &str, streams: &Streams) -> Option<Box<Impairments>> {
        let none = config.loss == LossModel::None && config.jitter == JitterModel::None && config.duplication <= 0.0;
        (!none).then(|| {
            Box::new(Impairments {
                loss: Loss::new(config.loss.clone(), streams.named(&format!("{name}/loss"))),
                jitter: Jitter::new(config.jitter, streams.named(&format!("{name}/jitter"))),
                duplication: config.duplication,
                stream: streams.named(&format!("{name}/duplication")),
            })
        })
    }
}

/// One direction of a link.
pub struct Link<B> {
    delay: Span,
    mtu: u32,
    waiting: Waiting<B>,
    serialiser: Serialiser,
    impairments: Option<Box<Impairments>>,
    last_arrival: Time,
    pipe: VecDeque<(Time, Packet<B>)>,
    counters: LinkCounters,
}

impl<B: Clone + Send + 'static> Link<B> {
    /// A drop-tail link; its random processes draw from the streams `name/loss`, `name/jitter`, `name/duplication`.
    pub fn new(config: &LinkConfig, name: &str, streams: &Streams) -> Link<B> {
        Link::with_discipline(config, name, streams, Box::new(DropTail::marking(config.queue, config.mark)))
    }

    /// A link with any queue discipline; the configuration's own queue limit and threshold
    /// are not used.
    pub fn with_discipline(
        config: &LinkConfig,
        name: &str,
        streams: &Streams,
        discipline: Box<dyn QueueDiscipline<B>>,
    ) -> Link<B> {
        let waiting = match discipline.drop_tail_limit() {
            Some(limit) => {
                Waiting::DropTail { limit, mark: discipline.mark_threshold(), starts: VecDeque::new(), bytes: 0 }
            }
            None => Waiting::Discipline(Box::new(Disciplined { queue: discipline, since: VecDeque::new() })),
        };
        Link {
            delay: config.delay,
            mtu: config.mtu,
            waiting,
            serialiser: Serialiser::new(config),
            impairments: Impairments::new(config, name, streams),
            last_arrival: Time::ZERO,
            pipe: VecDeque::new(),
            counters: LinkCounters::default(),
        }
    }

    /// Puts a packet onto the link at `cx.now`.
    #[inline]
    pub fn offer(&mut self, packet: Packet<B>, cx: &mut Cx<'_>) {
        self.counters.offered += 1;
        if packet.len > self.mtu {
            self.counters.dropped_mtu += 1;
            return;
        }
        match self.waiting {
            Waiting::DropTail { .. } => self.offer_drop_tail(packet, cx),
            Waiting::Discipline(_) => self.offer_discipline(packet, cx),
        }
    }

    #[inline]
    fn offer_drop_tail(&mut self, mut packet: Packet<B>, cx: &mut Cx<'_>) {
        self.retire_started(cx);
        let Waiting::DropTail { limit, mark, starts, bytes } = &mut self.waiting else { return };
        let start = if self.serialiser.busy_until > cx.now {
            let backlog = Backlog { packets: starts.len() as u64, bytes: *bytes };
            if !limit.admits(backlog, packet.len) {
                self.counters.dropped_queue += 1;
                return;
            }
            if mark.is_some_and(|mark| !mark.admits(backlog, packet.len)) && packet.ecn.can_be_marked() {
                packet.ecn = Ecn::Ce;
                self.counters.marked += 1;
            }
            let start = self.serialiser.busy_until;
            starts.push_back((start, packet.len));
            *bytes += u64::from(packet.len);
            let now_bytes = *bytes;
            self.counters.max_queue_packets = self.counters.max_queue_packets.max(starts.len() as u64);
            self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(now_bytes);
            self.counters.queueing_ns += u128::from(start.since(cx.now).as_nanos());
            cx.record(Metric::Queue, now_bytes);
            start
        } else {
            self.serialiser.begin(cx.now);
            cx.now
        };
        self.serve(start, packet);
    }

    /// Takes those packets off the backlog whose serialisation has begun by now.
    #[inline]
    fn retire_started(&mut self, cx: &mut Cx<'_>) {
        let Waiting::DropTail { starts, bytes, .. } = &mut self.waiting else { return };
        while let Some(&(start, len)) = starts.front() {
            if start > cx.now {
                break;
            }
            starts.pop_front();
            *bytes -= u64::from(len);
            cx.record_at(start, Metric::Queue, *bytes);
        }
    }

    fn offer_discipline(&mut self, packet: Packet<B>, cx: &mut Cx<'_>) {
        self.dequeue_until(cx.now, cx);
        let now = cx.now;
        let Waiting::Discipline(waiting) = &mut self.waiting else { return };
        match waiting.queue.enqueue(packet, now) {
            Verdict::Dropped(DropReason::Aqm) => self.counters.dropped_aqm += 1,
            Verdict::Dropped(_) => self.counters.dropped_queue += 1,
            verdict @ (Verdict::Queued | Verdict::Marked) => {
                self.counters.marked += u64::from(verdict == Verdict::Marked);
                let backlog = waiting.queue.backlog();
                waiting.since.push_back(now);
                if self.serialiser.busy_until > now {
                    self.counters.max_queue_packets = self.counters.max_queue_packets.max(backlog.packets);
                    self.counters.max_queue_bytes = self.counters.max_queue_bytes.max(backlog.bytes);
                    cx.record(Metric::Queue, backlog.bytes);
                } else {
                    self.serialiser.reset(now);
                    self.dequeue_until(now, cx);
                }
            }
        }
    }

    /// Starts every serialisation that is due by `until`, each at its own time.
    fn dequeue_until(&mut self, until: Time, cx: &mut Cx<'_>) {
        loop {
            let at = self.serialiser.busy_until;
            let Waiting::Discipline(waiting) = &mut self.waiting else { return };
            if at > until || waiting.queue.backlog().packets == 0 {
                return;
            }
            let dequeued = waiting.queue.dequeue(at);
            let left = waiting.queue.backlog().bytes;
            self.counters.dropped_aqm += dequeued.dropped;
            for _ in 0..dequeued.dropped {
                waiting.since.pop_front();
            }
            let since = if dequeued.packet.is_some() { waiting.since.pop_front() } else { None };
            cx.record_at(at, Metric::Queue, left);
            if let Some(packet) = dequeued.packet {
                self.counters.queueing_ns += u128::from(at.since(since.unwrap_or(at)).as_nanos());
                self.serve(at, packet);
            }
        }
    }

    /// Serialises a packet from `start` on and sends it down the pipe, unless it is lost.
    #[inline]
    fn serve(&mut self, start: Time, packet: Packet<B>) {
        self.counters.served += 1;
        let out = self.serialiser.send(start, packet.len);
        match &mut self.impairments {
            None => {
                let arrival = out + self.delay;
                self.last_arrival = arrival;
                self.pipe.push_back((arrival, packet));
            }
            Some(_) => self.impair(out, packet),
        }
    }

    /// Loses, duplicates and delays a packet that is out at `out`.
    fn impair(&mut self, out: Time, packet: Packet<B>) {
        let Some(i) = &mut self.impairments else { return };
        if i.loss.strikes() {
            self.counters.dropped_loss += 1;
            return;
        }
        let copies = if i.duplication > 0.0 && i.stream.chance(i.duplication) { 2 } else { 1 };
        self.counters.duplicated += copies - 1;
        for _ in 0..copies {
            let arrival = out + self.delay + i.jitter.extra();
            let packet = packet.clone();
            if arrival >= self.last_arrival {
                self.last_arrival = arrival;
                self.pipe.push_back((arrival, packet));
            } else if i.jitter.reorders() {
                let at = self.pipe.partition_point(|(t, _)| *t <= arrival);
                self.pipe.insert(at, (arrival, packet));
            } else {
                self.pipe.push_back((self.last_arrival, packet));
            }
        }
    }

    /// When the link next has something to do, or [`Time::NEVER`].
    #[inline]
    pub fn next_wake(&self) -> Time {
        let arrival = self.pipe.front().map_or(Time::NEVER, |(t, _)| *t);
        match &self.waiting {
            Waiting::DropTail { .. } => arrival,
            Waiting::Discipline(w) if w.queue.backlog().packets > 0 => arrival.min(self.serialiser.busy_until),
            Waiting::Discipline(_) => arrival,
        }
    }

    /// The next packet that has arrived by `until`, with its time of arrival.
    #[inline]
    pub fn poll(&mut self, until: Time, cx: &mut Cx<'_>) -> Option<(Time, Packet<B>)> {
        if matches!(self.waiting, Waiting::Discipline(_)) {
            self.dequeue_until(until, cx);
        }
        if self.pipe.front()?.0 > until {
            return None;
        }
        let (at, packet) = self.pipe.pop_front()?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(packet.len);
        Some((at, packet))
    }

    /// What was counted so far.
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Packets inside: waiting in a discipline, being serialised or propagating. (A drop-tail link holds those that
    /// wait in its pipe already.)
    pub fn inside(&self) -> u64 {
        let waiting = match &self.waiting {
            Waiting::DropTail { .. } => 0,
            Waiting::Discipline(w) => w.queue.backlog().packets,
        };
        waiting + self.pipe.len() as u64
    }

    /// Whether no packet was made or lost but by a counted cause.
    pub fn conserves(&self) -> bool {
        let c = &self.counters;
        c.offered + c.duplicated == c.delivered + c.dropped() + self.inside()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_goes_through_json_and_back() {
        let config = LinkConfig {
            rate: Some(Rate::from_bps(40_000_000)),
            delay: Span::from_millis(50),
            queue: Limit::Bytes(64_000),
            loss: LossModel::GilbertElliott {
                good_to_bad: 0.01,
                bad_to_good: 0.25,
                loss_in_bad: 1.0,
                loss_in_good: 0.0,
            },
            jitter: JitterModel::Normal { sigma: Span::from_micros(300), reorder: true },
            ..LinkConfig::default()
        };
        let json = serde_json::to_value(&config).unwrap();
        assert_eq!(json["rate_bps"], 40_000_000);
        assert_eq!(json["delay_ns"], 50_000_000);
        assert_eq!(json["queue"], serde_json::json!({ "bytes": 64_000 }));
        assert_eq!(json["loss"]["model"], "gilbert-elliott");
        assert_eq!(json["jitter"]["sigma_ns"], 300_000);
        assert_eq!(json.get("mark"), None);
        assert_eq!(serde_json::from_value::<LinkConfig>(json).unwrap(), config);
    }

    #[test]
    fn what_is_left_out_has_its_default_and_what_is_unknown_is_refused() {
        let read = |text: &str| serde_json::from_str::<LinkConfig>(text);
        assert_eq!(read(r#"{"rate_bps": null}"#).unwrap(), LinkConfig::default());
        for wrong in [r#"{"rate": 1}"#, r#"{"queue": {"packets": -1}}"#, r#"{"loss": {"model": "uniform", "q": 1}}"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
