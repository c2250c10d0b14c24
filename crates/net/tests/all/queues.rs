//! Properties of every queue discipline: conservation of packets, bounds, and correct reports of its state.

use crate::disciplines;

use disciplines::FairAged;
use haltere_net::counters::LinkCounters;
use haltere_net::queue::{Backlog, Discipline, Fate, Fates, Place, QueueConfig, QueueDiscipline, Scale};
use haltere_net::rng::Streams;
use haltere_net::{ConnectionId, Ecn, FlowKey, Packet, Rate, Span, Time};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashMap};

/// The next action of a test, after this many ns.
#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue(u32),
    Dequeue,
}

const LIMIT: u64 = 9;

/// Parameters of disciplines beside the limit that make more happen, and how many packets may wait: bands and classes have
/// the limit each.
fn word(discipline: Discipline) -> (String, u64) {
    let (parameters, bound) = match discipline.describe().name {
        "pfifo_fast" => ("", 3 * LIMIT),
        "prio" => (",bands=2,priomap=1 1 1 1 1 1 0 0 1 1 1 1 1 1 1 1", 2 * LIMIT),
        "tbf" => (",rate=3Mbit/s,burst=3000B,peakrate=4Mbit/s", LIMIT),
        // The three flows of the test are in a class each, if they are not together.
        "drr" => ("", 3 * LIMIT),
        "sfq" => (",depth=5,flows=2,divisor=4,quantum=300B,perturb=2ms", LIMIT),
        // Three bands have the limit; eight packets can stand before them.
        "fq" => (",flow_limit=7p,quantum=300B,initial_quantum=600B,ce_threshold=2ms", 3 * LIMIT + 8),
        "red" => (",min=1500B,max=4500B,probability=0.5,ecn=true,adaptive=true,gentle=true", LIMIT),
        // It counts memory instead of packets, and no packet takes less than 768 bytes of it.
        "cake" => return (format!("cake:memlimit={}B", LIMIT * 768), LIMIT),
        _ => ("", LIMIT),
    };
    (format!("{}:limit={LIMIT}p{parameters}", discipline.describe().name), bound)
}

/// All disciplines, with a small limit, followed by those of the tests; and how many packets may wait in each.
fn all() -> Vec<(String, u64, Box<dyn QueueDiscipline<u32>>)> {
    let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(10), mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(3, 0) };
    let built = Discipline::ALL.iter().map(|&discipline| {
        let (word, bound) = word(discipline);
        let queue = QueueConfig::from_word(&word).unwrap().build(&place);
        (word, bound, queue)
    });
    let mut all: Vec<_> = built.collect();
    for (word, bound) in [("fq:limit=9p,maxrate=2Mbit/s", 3 * LIMIT), ("sfq:limit=9p,depth=4,headdrop=true", LIMIT)] {
        all.push((word.into(), bound, QueueConfig::from_word(word).unwrap().build(&place)));
    }
    all.push(("fair".into(), LIMIT, Box::new(FairAged::new(LIMIT, Span::from_millis(3)))));
    all
}

/// The ECN field with which a packet comes.
fn ecn(n: u32) -> Ecn {
    [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::NotEct][n as usize % 4]
}

/// The classes of the packets: normal service, minimise delay and maximise throughput, as DiffServ codepoints.
const CLASSES: [u8; 3] = [0, 4, 2];

proptest! {
    #[test]
    fn any_interleaving_conserves_packets_and_bounds(
        steps in prop::collection::vec((prop_oneof![2 => 0u64..3_000_000, 1 => Just(0)], prop_oneof![
            3 => (40u32..1500).prop_map(Step::Enqueue),
            2 => Just(Step::Dequeue),
        ]), 1..120),
    ) {
        for (name, bound, mut queue) in all() {
            let (mut now, mut counters) = (Time::ZERO, LinkCounters::default());
            let mut waiting: BTreeSet<u32> = BTreeSet::new();
            let mut bytes = HashMap::new();
            // The last packet that came out of each flow, by class and ECN field: bands reorder classes, and
            // DualPI2 reorders L4S packets with others.
            let mut last: HashMap<(FlowKey, u8, bool), u32> = HashMap::new();
            let mut in_order = |packet: &Packet<u32>| {
                let key = (packet.flow, packet.class, ecn(packet.body) == Ecn::Ect1);
                last.insert(key, packet.body).is_none_or(|before| before < packet.body)
            };
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
                        let class = CLASSES[n as usize / 3 % 3];
                        let packet = Packet::new(len, n).with(|p| { p.flow = flow; p.ecn = ecn(n); p.class = class; p.arrived = now; });
                        waiting.insert(n);
                        bytes.insert(n, u64::from(len));
                        queue.enqueue(packet, now, &mut fates);
                    }
                    Step::Dequeue if queue.ready_at() <= now => {
                        if let Some(packet) = queue.dequeue(now, &mut fates) {
                            prop_assert!(waiting.remove(&packet.body), "{}: {} comes out twice", name, packet.body);
                            prop_assert!(packet.arrived <= now);
                            prop_assert!(in_order(&packet), "{}: {} leaves after a later one", name, packet.body);
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
                prop_assert!(expected.packets <= bound, "{}: more than the limit waits", &name);
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
                    prop_assert!(in_order(&packet), "{}: {} leaves after a later one", name, packet.body);
                }
            }
            prop_assert_eq!(queue.backlog(), Backlog::default());
        }
    }
}

/// Memory is taken for what waits, not for what may.
#[test]
fn a_limit_of_a_hundred_million_packets_costs_nothing_by_itself() {
    let scale = Scale { rate: None, rtt: Span::ZERO, mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(3, 0) };
    let mut counters = LinkCounters::default();
    for &discipline in Discipline::ALL {
        let mut config = QueueConfig::of(discipline);
        // `cake` limits memory.
        let (name, limit) = match discipline.describe().name {
            "cake" => ("memlimit", "200GB"),
            _ => ("limit", "100000000p"),
        };
        assert_eq!(config.set(name, limit), Ok(()));
        // A thousand queues with room for that many packets of this size would take 2 petabytes.
        let mut queues: Vec<_> = (0..1000).map(|_| config.build::<[u64; 3]>(&place)).collect();
        queues[0].enqueue(Packet::new(100, [0; 3]), Time::ZERO, &mut Fates::new(&mut counters));
        assert_eq!(queues[0].backlog().packets, 1);
    }
}
