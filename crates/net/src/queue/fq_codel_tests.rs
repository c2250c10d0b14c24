use super::*;
use crate::counters::LinkCounters;
use crate::packet::{Address, ConnectionId, Ecn, FlowKey};
use crate::queue::{QueueConfig, Scale};
use crate::rng::Streams;

fn fq_codel(settings: &[(&str, &str)]) -> Box<dyn QueueDiscipline<u32>> {
    let mut config = QueueConfig::of(crate::queue::FQ_CODEL);
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    let scale = Scale { rate: None, rtt: Span::from_millis(100), mtu: 1500 };
    config.build(&Place { scale, name: "l/down", streams: &Streams::new(1, 0) })
}

fn packet(flow: u32, len: u32, now: Time) -> Packet<u32> {
    let flow_key = FlowKey { source: Address(1), destination: Address(2), connection: ConnectionId(flow) };
    Packet::new(len, flow).with(|p| {
        p.flow = flow_key;
        p.arrived = now;
    })
}

/// Puts `n` packets of a flow into the queue.
fn put(queue: &mut dyn QueueDiscipline<u32>, flow: u32, len: u32, n: u32, counters: &mut LinkCounters) {
    for _ in 0..n {
        queue.enqueue(packet(flow, len, Time::ZERO), Time::ZERO, &mut Fates::new(counters));
    }
}

/// Takes `n` packets at once and says whose they are.
fn take(queue: &mut dyn QueueDiscipline<u32>, n: usize) -> Vec<u32> {
    let mut counters = LinkCounters::default();
    let mut next = || queue.dequeue(Time::ZERO, &mut Fates::new(&mut counters)).map(|packet| packet.body);
    std::iter::from_fn(&mut next).take(n).collect()
}

/// RFC 8290 section 4.2: each flow sends a quantum of bytes a round, whatever the size of its packets.
#[test]
fn flows_share_by_bytes() {
    let (mut queue, mut counters) = (fq_codel(&[]), LinkCounters::default());
    for (flow, len) in [(0, 1500), (1, 500), (2, 300)] {
        put(queue.as_mut(), flow, len, 400, &mut counters);
    }
    let mut bytes = [0; 3];
    for flow in take(queue.as_mut(), 900) {
        bytes[flow as usize] += [1500, 500, 300][flow as usize];
    }
    // The flow of small packets has run dry first: 400 packets of 300 bytes in 80 rounds.
    assert!(bytes.iter().all(|&sent| sent >= 120_000 - 1500), "{bytes:?}");
    let (most, least) = (bytes[0].max(bytes[1]), bytes[0].min(bytes[1]));
    assert!(most - least <= 3000, "{bytes:?}");
}

/// RFC 8290 section 4.2: a flow that sends less than a quantum in a round waits for no more than one packet.
#[test]
fn a_sparse_flow_goes_before_those_with_a_queue() {
    let (mut queue, mut counters) = (fq_codel(&[]), LinkCounters::default());
    for flow in 0..8 {
        put(queue.as_mut(), flow, 1500, 50, &mut counters);
    }
    take(queue.as_mut(), 20);
    for _ in 0..10 {
        put(queue.as_mut(), 9, 100, 1, &mut counters);
        assert_eq!(take(queue.as_mut(), 1), [9]);
        // One round of the others: afterwards the flow is off the lists again.
        assert!(!take(queue.as_mut(), 16).contains(&9));
    }
}

/// A flow that comes back as soon as its queue is empty is not a new flow: it passes through the old ones first.
#[test]
fn a_flow_that_always_comes_back_does_not_starve_the_others() {
    let (mut queue, mut counters) = (fq_codel(&[]), LinkCounters::default());
    put(queue.as_mut(), 0, 1500, 100, &mut counters);
    let mut turns = [0; 2];
    for _ in 0..100 {
        put(queue.as_mut(), 1, 1500, 1, &mut counters);
        turns[take(queue.as_mut(), 1)[0] as usize] += 1;
    }
    assert!((45..=55).contains(&turns[0]), "{turns:?}");
}

#[test]
fn what_is_too_much_is_dropped_at_the_head_of_the_flow_with_the_most_bytes() {
    for (batch, dropped) in [("64", 50), ("8", 8)] {
        let mut counters = LinkCounters::default();
        let mut queue = fq_codel(&[("limit", "140p"), ("drop_batch", batch)]);
        put(queue.as_mut(), 0, 200, 39, &mut counters);
        put(queue.as_mut(), 1, 1500, 100, &mut counters);
        assert_eq!(counters.dropped(), 0);
        // The packets of flow 0 are the newest, and fewer in bytes. It is the other that loses half of its bytes.
        put(queue.as_mut(), 0, 200, 2, &mut counters);
        assert_eq!((counters.dropped_queue, queue.backlog().packets), (dropped, 141 - dropped));
        let left = take(queue.as_mut(), 200).into_iter().filter(|&flow| flow == 1).count() as u64;
        assert_eq!(left, 100 - dropped);
    }
}

#[test]
fn the_memory_of_small_packets_counts_more_than_their_bytes() {
    let (mut queue, mut counters) = (fq_codel(&[("memory_limit", "76800B")]), LinkCounters::default());
    put(queue.as_mut(), 0, 100, 100, &mut counters);
    assert_eq!((counters.dropped(), queue.backlog().bytes), (0, 10_000));
    put(queue.as_mut(), 0, 100, 1, &mut counters);
    assert_eq!((counters.dropped_queue, queue.backlog().packets), (51, 50));
}

/// Each flow's queue is controlled by itself: one with a standing queue is marked, one without is not.
#[test]
fn codel_acts_on_the_flow_that_has_the_queue() {
    let (mut queue, mut counters) = (fq_codel(&[]), LinkCounters::default());
    for _ in 0..1000 {
        let ecn = packet(0, 1500, Time::ZERO).with(|p| p.ecn = Ecn::Ect0);
        queue.enqueue(ecn, Time::ZERO, &mut Fates::new(&mut counters));
    }
    let mut marked = [0; 2];
    for ms in 1..500 {
        let now = Time::from_nanos(ms * 1_000_000);
        let sparse = packet(1, 300, now).with(|p| p.ecn = Ecn::Ect0);
        if ms % 10 == 0 {
            queue.enqueue(sparse, now, &mut Fates::new(&mut counters));
        }
        if let Some(packet) = queue.dequeue(now, &mut Fates::new(&mut counters)) {
            marked[packet.body as usize] += u32::from(packet.ecn == Ecn::Ce);
        }
    }
    // Late from 5 ms on; marks from 106 ms on, at gaps of 100, 50, 56, 49 and 44 ms and so on.
    assert_eq!((marked, counters.dropped()), ([8, 0], 0));
}

#[test]
fn which_flows_share_a_bucket_depends_on_the_seed_alone() {
    let order = |seed| {
        let config = Config { flows: super::super::config::Value::parse("4").unwrap(), ..Config::default() };
        let scale = Scale { rate: None, rtt: Span::ZERO, mtu: 1500 };
        let place = Place { scale, name: "l/down", streams: &Streams::new(seed, 0) };
        let (mut queue, mut counters) = (FqCodel::at(&config, &place), LinkCounters::default());
        for flow in (0..12).chain(0..12) {
            queue.enqueue(packet(flow, 1500, Time::ZERO), Time::ZERO, &mut Fates::new(&mut counters));
        }
        take(&mut queue, 24)
    };
    assert_eq!(order(1), order(1));
    assert!((2..6).any(|seed| order(seed) != order(1)));
}

#[test]
fn buckets_are_refused_beyond_what_linux_allows() {
    let mut config = QueueConfig::of(crate::queue::FQ_CODEL);
    for wrong in ["0", "65537", "many"] {
        assert!(config.set("flows", wrong).unwrap_err().contains("from 1 to 65536"));
    }
}
