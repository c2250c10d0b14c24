//! PIE, proportional integral controller enhanced (RFC 8033): one queue, into which packets are dropped, or marked, at
//! random on arrival, with a probability that a controller adapts to hold the delay at a target.
//!
//! The behaviour and the defaults are those of Linux (`net/sched/sch_pie.c`): a limit of 1000 packets, a target and a
//! period of 15 ms, gains of 2/16 and 20/16 a second, ECN off. [`pie_control`](super::pie_control) says where its
//! algorithm departs from the RFC.

use super::packets::{Fifo, Store};
use super::pie_control::{Control, State, gain, in_ticks};
use super::{Backlog, Fates, Implementation, Length, Limit, Maker, Place, QueueDiscipline, parameters};
use crate::registry::Description;
use crate::packet::Packet;
use crate::rng::Stream;
use crate::time::{Span, Time};

pub(super) const ENTRY: Implementation = Implementation {
    description: Description {
        name: "pie",
        summary: "drops or marks on arrival, with a probability that a controller adapts to hold the delay at a target",
        reference: "RFC 8033; Linux net/sched/sch_pie.c",
    },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

parameters! {
    /// The parameters of PIE.
    pub struct Config for Pie {
        /// The limit of the queue.
        limit: Length = Length::Packets(1000),
        /// The delay that the controller holds.
        target: Span = Span::from_millis(15),
        /// The period of the controller, rounded up to edges of the timer wheel as in Linux: 15ms take 20ms.
        tupdate: Span = Span::from_millis(15),
        /// The gain for the deviation from the target, in sixteenths of 1/s.
        alpha: u64 = 2,
        /// The gain for the change of the delay, in sixteenths of 1/s.
        beta: u64 = 20,
        /// ECN-capable packets are marked instead of dropped while the probability is at most 10 %.
        ecn: bool = false,
        /// Short packets are dropped with a probability that is smaller in proportion to their length.
        bytemode: bool = false,
        /// The delay is estimated by the rate of departures instead of being measured on each packet.
        dq_rate_estimator: bool = false,
    }
}

/// PIE on one queue.
#[derive(Clone, Debug)]
pub struct Pie<B> {
    limit: Limit,
    control: Control,
    state: State,
    stream: Stream,
    fifo: Fifo,
    store: Store<B>,
}

impl<B> Pie<B> {
    pub(super) fn at(config: &Config, place: &Place<'_>) -> Pie<B> {
        let control = Control {
            target: config.target,
            tupdate: in_ticks(config.tupdate),
            alpha: gain(config.alpha),
            beta: gain(config.beta),
            ecn: config.ecn.then_some(0.1),
            bytemode: config.bytemode,
            dq_rate_estimator: config.dq_rate_estimator,
            mtu: place.scale.mtu,
        };
        Pie {
            limit: config.limit.limit(&place.scale),
            control,
            state: State::default(),
            stream: place.stream(),
            fifo: Fifo::new(),
            store: Store::new(),
        }
    }
}

impl<B: Send> QueueDiscipline<B> for Pie<B> {
    fn enqueue(&mut self, packet: Packet<B>, now: Time, fates: &mut Fates<'_, B>) {
        let backlog = self.store.backlog();
        self.control.update_until(&mut self.state, backlog.bytes, now);
        let has_room = self.limit.admits(backlog, packet.len);
        let Pie { state, stream, .. } = self;
        if let Some(packet) = self.control.admit(state, (packet, has_room), backlog.bytes, stream, fates) {
            self.store.push(&mut self.fifo, packet);
        }
    }

    fn dequeue(&mut self, now: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.control.update_until(&mut self.state, self.store.backlog().bytes, now);
        let packet = self.store.pop(&mut self.fifo)?;
        let backlog = self.store.backlog().bytes;
        self.control.departed(&mut self.state, packet.len, packet.arrived, backlog, now);
        Some(packet)
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LinkCounters;
    use crate::packet::Ecn;
    use crate::queue::{QueueConfig, Scale};
    use crate::rng::Streams;

    fn pie(settings: &[(&str, &str)]) -> Box<dyn QueueDiscipline<u32>> {
        let mut config = QueueConfig::of(crate::queue::PIE);
        for (name, value) in settings {
            config.set(name, value).unwrap();
        }
        let scale = Scale { rate: None, rtt: Span::from_millis(100), mtu: 1500 };
        config.build(&Place { scale, name: "l/down", streams: &Streams::new(1, 0) })
    }

    /// Offers `arrivals` packets each ms, of which one leaves, from `from` to `until` ms.
    fn load(
        queue: &mut dyn QueueDiscipline<u32>,
        counters: &mut LinkCounters,
        (from, until): (u64, u64),
        arrivals: u64,
        packet: &Packet<u32>,
    ) {
        for ms in from..until {
            let now = Time::from_nanos(ms * 1_000_000);
            for _ in 0..arrivals {
                queue.enqueue(packet.clone().with(|p| p.arrived = now), now, &mut Fates::new(counters));
            }
            queue.dequeue(now, &mut Fates::new(counters));
        }
    }

    /// RFC 8033 section 4.4: in the first 150 ms nothing is dropped, and the same again after the queue was idle.
    #[test]
    fn a_burst_passes_without_drops() {
        let (mut queue, mut counters) = (pie(&[]), LinkCounters::default());
        let packet = Packet::new(1500, 0);
        load(queue.as_mut(), &mut counters, (0, 150), 2, &packet);
        assert_eq!((counters.dropped(), queue.backlog().packets), (0, 150));
        load(queue.as_mut(), &mut counters, (150, 600), 2, &packet);
        assert!(counters.dropped_early > 20, "{counters:?}");
        // It drains within the next second and is idle for some seconds.
        load(queue.as_mut(), &mut counters, (600, 1600), 0, &packet);
        let before = counters.dropped();
        load(queue.as_mut(), &mut counters, (10_000, 10_150), 2, &packet);
        assert_eq!(counters.dropped(), before);
    }

    #[test]
    fn the_delay_is_held_at_the_target_under_an_unresponsive_load() {
        for estimator in ["false", "true"] {
            let settings = [("limit", "100000p"), ("dq_rate_estimator", estimator)];
            let (mut queue, mut counters) = (pie(&settings), LinkCounters::default());
            load(queue.as_mut(), &mut counters, (0, 30_000), 2, &Packet::new(1500, 0));
            let mut sum = 0;
            for second in 30..60 {
                load(queue.as_mut(), &mut counters, (second * 1000, second * 1000 + 1000), 2, &Packet::new(1500, 0));
                sum += queue.backlog().packets;
            }
            // Packets leave at one a ms, so 15 of them are the target of 15 ms.
            let mean = sum as f64 / 30.0;
            assert!((10.0..20.0).contains(&mean), "{mean} ms, estimator: {estimator}");
        }
    }

    /// RFC 8033 section 5.1: marks up to a probability of 10 %, drops beyond.
    #[test]
    fn ecn_capable_packets_are_marked_until_the_probability_is_high() {
        for (ecn, marks_first) in [("true", true), ("false", false)] {
            let (mut queue, mut counters) = (pie(&[("ecn", ecn), ("limit", "100000p")]), LinkCounters::default());
            let packet = Packet::new(1500, 0).with(|p| p.ecn = Ecn::Ect0);
            let mut ms = 0;
            while counters.dropped() == 0 {
                load(queue.as_mut(), &mut counters, (ms, ms + 1), 2, &packet);
                ms += 1;
            }
            assert_eq!((counters.marked > 2, counters.marked > 0), (marks_first, marks_first), "{counters:?}");
            assert_eq!(counters.dropped_queue, 0);
        }
    }

    #[test]
    fn a_pause_of_days_costs_nothing_and_ends_with_a_rested_controller() {
        let (mut queue, mut counters) = (pie(&[("tupdate", "1ns")]), LinkCounters::default());
        load(queue.as_mut(), &mut counters, (0, 1000), 2, &Packet::new(1500, 0));
        let late = Time::from_nanos(1_000_000_000_000_000);
        queue.enqueue(Packet::new(1500, 0).with(|p| p.arrived = late), late, &mut Fates::new(&mut counters));
        queue.dequeue(late, &mut Fates::new(&mut counters));
        assert!(counters.dropped() > 0);
    }
}
