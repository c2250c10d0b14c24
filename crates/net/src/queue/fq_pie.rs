//! FQ-PIE: a queue for each flow, deficit round robin between them as in FQ-CoDel (RFC 8290 section 4), and PIE (RFC 8033)
//! on each queue (Ramakrishnan, Bhasi, Saicharan, Monis, Patil, Tahiliani: FQ-PIE queue discipline in the Linux kernel,
//! LCN 2019).
//!
//! The behaviour and the defaults are those of Linux (`net/sched/sch_fq_pie.c`): packets are dropped, or marked, on arrival
//! only, and a packet that finds the limit reached is dropped, whosever it is. Each flow's control is that of `pie`; a
//! packet is marked while the probability of its flow is at most `ecn_prob`. Linux has a `memory_limit` too, which counts
//! packets that exceed it but drops none; it is left out here.

use super::flows::{Buckets, Flows, quantum};
use super::packets::Store;
use super::pie_control::{Control, State, gain, in_ticks};
use super::whole::FlowCount;
use super::{Backlog, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};
use crate::units::Bytes;

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "fq_pie",
        summary: "flows share equally, flows that send little go first, and PIE controls the delay of each",
        reference: "RFC 8033; RFC 8290 section 4; Linux net/sched/sch_fq_pie.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of FQ-PIE.
    pub struct Config for FqPie {
        /// The limit of all flows together.
        limit: Length = Length::Packets(10_240),
        /// The number of buckets into which flows are hashed.
        flows: FlowCount = FlowCount(1024),
        /// The delay that each controller holds.
        target: Span = Span::from_millis(15),
        /// The period of the controllers, rounded up to edges of the timer wheel as in Linux: 15ms take 20ms.
        tupdate: Span = Span::from_millis(15),
        /// The gain for the deviation from the target, in sixteenths of 1/s.
        alpha: u64 = 2,
        /// The gain for the change of the delay, in sixteenths of 1/s.
        beta: u64 = 20,
        /// The bytes that a flow may send a turn, at least 256. Without it the link's MTU.
        quantum: Option<Bytes> = None,
        /// ECN-capable packets are marked instead of dropped while the probability is at most ecn_prob.
        ecn: bool = false,
        /// The probability up to which packets are marked, in percent.
        ecn_prob: u64 = 10,
        /// Short packets are dropped with a probability that is smaller in proportion to their length.
        bytemode: bool = false,
        /// The delay is estimated by the rate of departures instead of being measured on each packet.
        dq_rate_estimator: bool = false,
    }
}

/// Deficit round robin over flows with PIE on each.
#[derive(Clone, Debug)]
pub struct FqPie<B> {
    limit: Limit,
    quantum: i64,
    control: Control,
    stream: Stream,
    buckets: Buckets,
    flows: Flows<State>,
    store: Store<B>,
}

impl<B> FqPie<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> FqPie<B> {
        let control = Control {
            target: config.target,
            tupdate: in_ticks(config.tupdate),
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            ecn: config.ecn.then_some(config.ecn_prob as f64 / 100.0),
            bytemode: config.bytemode,
            dq_rate_estimator: config.dq_rate_estimator,
            mtu: place.scale.mtu,
        };
        let mut stream = place.stream();
        FqPie {
            limit: config.limit.limit(&place.scale),
            quantum: quantum(config.quantum, place.scale.mtu),
            control,
            buckets: Buckets::new(config.flows, stream.bits()),
            stream,
            flows: Flows::new(),
            store: Store::new(),
        }
    }
}

impl<B: Send> QueueDiscipline<B> for FqPie<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        let index = self.buckets.find(&packet.flow, &mut self.flows);
        let flow = self.flows.at(index);
        let (state, bytes) = (&mut flow.state, flow.fifo.backlog().bytes);
        self.control.update_until(state, bytes, now);
        let has_room = self.limit.admits(self.store.backlog(), packet.len);
        if let Some(packet) = self.control.admit(state, (packet, has_room), bytes, &mut self.stream, fates) {
            self.store.push(&mut flow.fifo, packet);
            self.flows.activate(index, self.quantum);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        while let Some(index) = self.flows.turn(self.quantum) {
            let flow = self.flows.at(index);
            self.control.update_until(&mut flow.state, flow.fifo.backlog().bytes, now);
            let Some(packet) = self.store.pop(&mut flow.fifo) else {
                self.flows.found_empty(index);
                continue;
            };
            flow.deficit -= i64::from(packet.len);
            let backlog = flow.fifo.backlog().bytes;
            self.control.departed(&mut flow.state, packet.len, packet.arrived, backlog, now);
            if self.store.backlog().packets == 0 {
                self.flows.clear(|_| ());
            }
            return Some(packet);
        }
        None
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LinkCounters;
    use crate::packet::{ConnectionId, Ecn, FlowKey};
    use crate::queue::{DropReason, Fate, QueueConfig, Scale};
    use crate::rng::Streams;

    fn fq_pie(settings: &[(&str, &str)]) -> Box<dyn QueueDiscipline<u32>> {
        let mut config = QueueConfig::of(crate::queue::FQ_PIE);
        for (name, value) in settings {
            config.set(name, value).unwrap();
        }
        let scale = Scale { rate: None, rtt: Span::from_millis(100), mtu: 1500 };
        config.build(&Place { scale, name: "l/down", streams: &Streams::new(1, 0) })
    }

    fn packet(flow: u32, len: u32, now: Time) -> Packet<u32> {
        let key = FlowKey { connection: ConnectionId(flow), ..FlowKey::default() };
        Packet::new(len, flow).with(|p| {
            p.flow = key;
            p.arrived = now;
            p.ecn = Ecn::Ect0;
        })
    }

    /// Flow 0 offers `greedy` packets of 1500 bytes a ms, flow 1 one of 300 bytes every 5 ms, and one packet leaves a ms,
    /// for 3 s. Returns for both flows: signals (drops and marks), packets that left, the sum of their delays in ms.
    fn run(queue: &mut dyn QueueDiscipline<u32>, greedy: u64, counters: &mut LinkCounters) -> [(u64, u64, u64); 2] {
        let mut seen = [(0, 0, 0); 2];
        for ms in 0..3000 {
            let now = Time::from_nanos(ms * 1_000_000);
            let mut offers = vec![packet(0, 1500, now); greedy as usize];
            offers.extend((ms % 5 == 0).then(|| packet(1, 300, now)));
            for offer in offers {
                let mut listener = |fate: Fate<'_, u32>| match fate {
                    Fate::Dropped(packet, _) | Fate::Marked(packet) => seen[packet.body as usize].0 += 1,
                };
                queue.enqueue(offer, now, &mut Fates::with_listener(counters, &mut listener));
            }
            if let Some(packet) = queue.dequeue(now, &mut Fates::new(counters)) {
                seen[packet.body as usize].1 += 1;
                seen[packet.body as usize].2 += now.since(packet.arrived).as_millis();
            }
        }
        seen
    }

    #[test]
    fn a_sparse_flow_has_neither_delay_nor_drops_beside_a_greedy_one() {
        let (mut queue, mut counters) = (fq_pie(&[]), LinkCounters::default());
        let [greedy, sparse] = run(queue.as_mut(), 2, &mut counters);
        assert!(greedy.0 > 1000, "{greedy:?}");
        assert_eq!((sparse.0, sparse.1), (0, 600));
        assert!(sparse.2 < 600 && greedy.2 / greedy.1 > 10, "{sparse:?} {greedy:?}");
    }

    #[test]
    fn flows_share_by_bytes() {
        let (mut queue, mut counters) = (fq_pie(&[]), LinkCounters::default());
        for (flow, len) in [(0, 1500), (1, 500)] {
            for _ in 0..60 {
                queue.enqueue(packet(flow, len, Time::ZERO), Time::ZERO, &mut Fates::new(&mut counters));
            }
        }
        let mut bytes = [0, 0];
        for _ in 0..72 {
            let packet = queue.dequeue(Time::ZERO, &mut Fates::new(&mut counters)).unwrap();
            bytes[packet.body as usize] += packet.len;
        }
        assert_eq!(bytes[0], bytes[1]);
    }

    #[test]
    fn marks_take_the_place_of_drops_up_to_the_probability_that_is_set() {
        // The flow does not respond, so that the probability grows beyond 1, where packets are dropped in both cases.
        for (most, marks) in [("0", false), ("100", true)] {
            let settings = [("ecn", "true"), ("ecn_prob", most)];
            let (mut queue, mut counters) = (fq_pie(&settings), LinkCounters::default());
            run(queue.as_mut(), 2, &mut counters);
            assert_eq!((counters.marked > 0, counters.dropped_early > 0), (marks, true), "{counters:?}");
        }
    }

    #[test]
    fn a_full_queue_drops_what_arrives_whosever_it_is() {
        let (mut queue, mut counters) = (fq_pie(&[("limit", "10p")]), LinkCounters::default());
        for _ in 0..10 {
            queue.enqueue(packet(0, 1500, Time::ZERO), Time::ZERO, &mut Fates::new(&mut counters));
        }
        let mut dropped = Vec::new();
        let mut listener = |fate: Fate<'_, u32>| {
            if let Fate::Dropped(packet, DropReason::QueueFull) = fate {
                dropped.push(packet.body);
            }
        };
        queue.enqueue(packet(1, 100, Time::ZERO), Time::ZERO, &mut Fates::with_listener(&mut counters, &mut listener));
        assert_eq!(dropped, [1]);
    }
}
