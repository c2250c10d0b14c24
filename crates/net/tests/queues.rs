//! Properties of every queue discipline: conservation of packets, bounds, and correct reports of its state.

mod disciplines;

use disciplines::{FairAged, StrictPriority, TokenBucket};
use haltere_net::counters::LinkCounters;
use haltere_net::queue::{Backlog, Discipline, Fate, Fates, Place, QueueConfig, QueueDiscipline, Scale};
use haltere_net::rng::Streams;
use haltere_net::{ConnectionId, Ecn, FlowKey, Packet, Rate, Span, Time};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// The next action of a test, after this many ns.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue(u32),
    Dequeue,
}

const LIMIT: u64 = 9;

/// Limits a discipline that counts memory instead of packets. No packet takes less than 768 bytes of memory.
fn limit_memory(config: &mut QueueConfig) {
    assert_eq!(config.set("memlimit", &format!("{}B", LIMIT * 768)), Ok(()));
}

/// All disciplines, with a small limit, followed by those of the tests.
fn all() -> Vec<(String, Box<dyn QueueDiscipline<u32>>)> {
    let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(10), mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(3, 0) };
    let built = Discipline::ALL.iter().map(|&discipline| {
        let mut config = QueueConfig::of(discipline);
        config.set("limit", &format!("{LIMIT}p")).unwrap_or_else(|_| limit_memory(&mut config));
        (discipline.describe().name.to_string(), config.build(&place))
    });
    let mut all: Vec<_> = built.collect();
    all.push(("token bucket".into(), Box::new(TokenBucket::new(Rate::from_bps(3_000_000), 3000, LIMIT))));
    all.push(("strict priority".into(), Box::new(StrictPriority::new(LIMIT as usize))));
    all.push(("fair".into(), Box::new(FairAged::new(LIMIT, Span::from_millis(3)))));
    all
}

/// The ECN field with which a packet comes.
fn ecn(n: u32) -> Ecn {
    [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct][n as usize % 4]
}

proptest! {
    #[test]
    fn any_interleaving_conserves_packets_and_bounds(
        steps in prop::collection::vec((prop_oneof![2 => 0u64..3_000_000, 1 => Just(0)], prop_oneof![
            3 => (40u32..1500).prop_map(Step::Enqueue),
            2 => Just(Step::Dequeue),
        ]), 1..120),
    ) {
        for (name, mut queue) in all() {
            let (mut now, mut counters) = (Time::ZERO, LinkCounters::default());
            let mut waiting: BTreeSet<u32> = BTreeSet::new();
            let mut bytes = std::collections::HashMap::new();
            let mut last: BTreeMap<_, u32> = BTreeMap::new();
            for (n, &(later, step)) in steps.iter().enumerate() {
                now += Span::from_nanos(later);
                let n = n as u32;
                let (mut gone, mut marks) = (Vec::new(), 0);
                let mut listener = |fate: Fate<'_, u32>| match fate {
                    Fate::Dropped(packet, _) => gone.push(packet.body),
                    Fate::Marked(packet) => {
                        assert_eq!(packet.ecn, Ecn::Ce);
                        marks += 1;
                    }
                };
                let before = counters;
                let mut fates = Fates::with_listener(&mut counters, &mut listener);
                match step {
                    Step::Enqueue(len) => {
                        let flow = FlowKey { connection: ConnectionId(n % 3), ..FlowKey::default() };
                        let class = (n % 2) as u8;
                        let packet = Packet { flow, ecn: ecn(n), class, arrived: now, ..Packet::new(len, n) };
                        waiting.insert(n);
                        bytes.insert(n, u64::from(len));
                        queue.enqueue(packet, now, &mut fates);
                    }
                    Step::Dequeue if queue.ready_at() <= now => {
                        if let Some(packet) = queue.dequeue(now, &mut fates) {
                            prop_assert!(waiting.remove(&packet.body), "{}: {} comes out twice", name, packet.body);
                            prop_assert!(packet.arrived <= now);
                            // Packets of a flow stay in order if they are of one class and alike in their ECN field.
                            let before = last.insert((packet.flow, packet.class, ecn(packet.body)  == Ecn::Ect1), packet.body);
                            prop_assert!(before.is_none_or(|n| n < packet.body), "{}: {} overtakes", name, packet.body);
                        }
                    }
                    Step::Dequeue => prop_assert!(queue.ready_at() > now),
                }
                for dropped in &gone {
                    prop_assert!(waiting.remove(dropped), "{}: {} is dropped twice", name, dropped);
                }
                prop_assert_eq!(counters.dropped() - before.dropped(), gone.len() as u64);
                prop_assert_eq!(counters.marked - before.marked, marks);
                let expected = Backlog {
                    packets: waiting.len() as u64,
                    bytes: waiting.iter().map(|n| bytes[n]).sum(),
                };
                prop_assert_eq!(queue.backlog(), expected, "{}", &name);
                prop_assert!(expected.packets <= LIMIT, "{}: more than the limit waits", &name);
                prop_assert_eq!(queue.ready_at() == Time::NEVER, waiting.is_empty(), "{}", &name);
            }
            // All waiting packets are dequeued or dropped if the discipline is asked whenever it is ready.
            let mut rounds = 0;
            while queue.ready_at() != Time::NEVER {
                rounds += 1;
                prop_assert!(rounds <= 200, "{name} never empties");
                now = now.max(queue.ready_at());
                if let Some(packet) = queue.dequeue(now, &mut Fates::new(&mut counters)) {
                    prop_assert!(waiting.remove(&packet.body));
                }
            }
            prop_assert_eq!(queue.backlog(), Backlog::default());
        }
    }
}
