use super::{Config, Fq};
use crate::counters::LinkCounters;
use crate::queue::testing::{Bench, capable, packet};
use crate::queue::{Fates, Place, QueueConfig, QueueDiscipline, Scale};
use crate::rng::Streams;
use crate::{Span, Time};

const MS: u64 = 1_000_000;
/// All packets in the first band.
const ONE_BAND: &str = "priomap=0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";

/// A queue in which eight packets, numbered from 1000, stand before the flows.
fn busy(word: &str) -> Bench {
    let mut queue = Bench::new(word);
    for n in 0..8 {
        queue.put(0, packet(1000 + n, 100, 99));
    }
    queue
}

fn take(queue: &mut Bench, ns: u64, count: usize) -> Vec<u32> {
    (0..count).map(|_| queue.take(ns).unwrap().body).collect()
}

/// While no flow waits up to eight packets are first in, first out; then flows are formed.
#[test]
fn the_first_packets_do_not_wait_for_turns() {
    let mut queue = Bench::new("fq:initial_quantum=1000B,quantum=1000B");
    for n in 0..12 {
        queue.put(0, packet(n, 1000, u32::from(n >= 10)));
    }
    assert_eq!(queue.drain(0), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 9, 11]);
}

#[test]
fn flows_are_served_by_quanta_and_new_ones_before_old_ones() {
    let mut queue = busy(&format!("fq:initial_quantum=2000B,quantum=1000B,{ONE_BAND}"));
    for n in 0..6 {
        queue.put(0, packet(n, 1000, 0));
        queue.put(0, packet(10 + n, 1000, 1));
    }
    assert_eq!(take(&mut queue, 0, 8), (1000..1008).collect::<Vec<_>>());
    // The first credit is for two packets each. Then both are old, and have a packet each a round.
    assert_eq!(take(&mut queue, 0, 6), [0, 1, 10, 11, 2, 12]);
    // A new flow is before both until its first credit is used up.
    for n in 20..23 {
        queue.put(0, packet(n, 1000, 2));
    }
    assert_eq!(queue.drain(0), [20, 21, 3, 22, 13, 4, 14, 5, 15]);
}

/// As in the kernel, which lists a flow before it notes the band of its packet. All packets here are of the second band.
#[test]
fn a_new_flow_waits_for_the_turn_of_the_first_band() {
    let mut queue = busy("fq:initial_quantum=1000B,quantum=1000B,weights=16384 16384 16384,flow_limit=100p");
    for n in 0..40 {
        queue.put(0, packet(n, 1000, 0));
    }
    assert_eq!(take(&mut queue, 0, 10)[8..], [0, 1]);
    queue.put(0, packet(100, 1000, 1));
    // The second band has a credit of 16384 bytes, of which one packet is used.
    let order = queue.drain(0);
    assert_eq!(order.iter().position(|n| *n == 100), Some(16));
}

/// Flow 0 exceeds its first credit by 500 bytes and gets a quantum when its turn comes, which leaves 500. After a pause of
/// more than 40 ms it has a whole quantum.
#[test]
fn credit_is_refilled_after_a_pause() {
    let order = |pause: u64| {
        let mut queue = busy(&format!("fq:initial_quantum=1000B,quantum=1000B,{ONE_BAND}"));
        queue.put(0, packet(0, 1500, 0));
        queue.put(0, packet(10, 1000, 1));
        queue.put(0, packet(11, 1000, 1));
        // Before the last packet flow 0 is found empty among the old flows.
        assert_eq!(take(&mut queue, 0, 11)[8..], [0, 10, 11]);
        for n in 0..8 {
            queue.put(pause, packet(2000 + n, 100, 99));
        }
        for n in 1..4 {
            queue.put(pause, packet(n, 400, 0));
        }
        queue.put(pause, packet(20, 500, 2));
        queue.drain(pause)[8..].to_vec()
    };
    assert_eq!(order(40 * MS), [1, 2, 20, 3]);
    assert_eq!(order(40 * MS + 1), [1, 2, 3, 20]);
}

#[test]
fn a_flow_and_a_band_have_limits() {
    let mut queue = busy("fq:flow_limit=2p,limit=3p");
    for n in 0..4 {
        queue.put(0, packet(n, 100, 0));
    }
    assert_eq!(queue.dropped(), [2, 3]);
    queue.put(0, packet(4, 100, 1));
    queue.put(0, packet(5, 100, 2));
    // Class 4, minimise delay, is in another band.
    queue.put(0, packet(6, 100, 3).with(|p| p.class = 4));
    assert_eq!(queue.dropped(), [5]);
    assert_eq!(queue.drain(0)[8..].len(), 4);
}

/// 8 Mbit/s: a packet of 1000 bytes takes 1 ms. Above the low-rate threshold a flow sends its credit at once and then
/// waits for a quantum's time.
#[test]
fn the_rate_of_each_flow_is_limited() {
    let mut queue = Bench::new("fq:maxrate=8Mbit/s,initial_quantum=2000B,quantum=1000B");
    for n in 0..5 {
        queue.put(0, packet(n, 1000, 0));
    }
    assert_eq!(queue.departures(0), [(0, 0), (0, 1), (MS, 2), (2 * MS, 3), (3 * MS, 4)]);
    // Two flows have twice the rate together.
    for n in 0..3 {
        queue.put(100 * MS, packet(n, 1000, 1));
        queue.put(100 * MS, packet(10 + n, 1000, 2));
    }
    let times: Vec<u64> = queue.departures(100 * MS).iter().map(|(at, _)| at / MS).collect();
    assert_eq!(times, [100, 100, 100, 100, 101, 101]);
}

/// Up to 550 kbit/s each packet is followed by its own time: 100 bytes take 8 ms at 100 kbit/s. No pause is longer than a
/// second.
#[test]
fn low_rates_are_kept_packet_by_packet() {
    let mut queue = Bench::new("fq:maxrate=100kbit/s");
    for n in 0..4 {
        queue.put(0, packet(n, 100, 0));
    }
    assert_eq!(queue.departures(0), [(0, 0), (8 * MS, 1), (16 * MS, 2), (24 * MS, 3)]);
    let mut slow = Bench::new("fq:maxrate=1kbit/s");
    slow.put(0, packet(0, 1500, 0));
    slow.put(0, packet(1, 1500, 0));
    assert_eq!(slow.departures(0), [(0, 0), (1000 * MS, 1)]);
}

/// A packet that leaves late is followed the sooner by the next one, at most by half its time.
#[test]
fn a_late_packet_does_not_delay_the_next_one_as_much() {
    let mut queue = Bench::new("fq:maxrate=100kbit/s");
    for n in 0..4 {
        queue.put(0, packet(n, 100, 0));
    }
    assert_eq!(take(&mut queue, 0, 1), [0]);
    // Packet 1 is due at 8 ms and leaves 3 ms late, packet 2 is due 8 - 3 ms after that and leaves so late that packet 3
    // is due after half its time.
    // The queue is asked before that, which tells it that the flow is to wait.
    assert!(queue.take(0).is_none());
    assert_eq!(queue.queue.ready_at().as_nanos(), 8 * MS);
    assert_eq!(queue.take(11 * MS).map(|p| p.body), Some(1));
    assert!(queue.take(11 * MS).is_none());
    assert_eq!(queue.queue.ready_at().as_nanos(), 16 * MS);
    assert_eq!(queue.take(40 * MS).map(|p| p.body), Some(2));
    assert!(queue.take(40 * MS).is_none());
    assert_eq!(queue.queue.ready_at().as_nanos(), 44 * MS);
}

/// Bands have 9, 3 and 1 shares of the bytes. (A flow's first quantum is taken from the first band.)
#[test]
fn bands_share_by_their_weights() {
    let mut queue = busy("fq:weights=90000 30000 20000,flow_limit=1000p");
    for n in 0..700 {
        for (flow, class) in [(0, 4), (1, 0), (2, 2)] {
            queue.put(0, packet(flow, 1000, flow).with(|p| p.class = class));
        }
        assert!(queue.dropped().is_empty(), "{n}");
    }
    let mut sent = [0i32; 3];
    take(&mut queue, 0, 8);
    for n in take(&mut queue, 0, 840) {
        sent[n as usize] += 1;
    }
    for (flow, expected) in [540, 180, 120].into_iter().enumerate() {
        assert!((sent[flow] - expected).abs() <= 30, "{sent:?}");
    }
}

#[test]
fn what_waited_longer_than_the_threshold_is_marked() {
    let mut queue = Bench::new("fq:ce_threshold=5ms,maxrate=800Mbit/s");
    for n in 0..4 {
        queue.put(0, if n == 2 { packet(n, 100, 0) } else { capable(n, 100, 0) });
    }
    take(&mut queue, 5 * MS, 1);
    assert!(queue.marked().is_empty());
    take(&mut queue, 5 * MS + 1, 3);
    assert_eq!((queue.marked(), queue.counters.dropped()), (vec![1, 3], 0));
}

#[test]
fn what_cannot_be_is_refused() {
    for (word, hint) in [
        ("fq:weights=1 2 3", "weights: 1: give numbers from 16384"),
        ("fq:priomap=3 2 2 2 1 2 0 0 1 1 1 1 1 1 1 1", "priomap: there is no band 3"),
        ("fq:quantum=1B", "quantum: 1B: give a size from 256B"),
    ] {
        assert!(QueueConfig::from_word(word).unwrap_err().contains(hint), "{word}");
    }
}

/// Flows without packets are forgotten, so that memory does not grow with every flow that ever was.
#[test]
fn idle_flows_are_forgotten() {
    let scale = Scale { rate: None, rtt: Span::ZERO, mtu: 1500 };
    let mut fq = Fq::at(&Config::default(), &Place { scale, name: "l/down", streams: &Streams::new(1, 0) });
    let mut counters = LinkCounters::default();
    let mut fates = Fates::new(&mut counters);
    for second in 0..20 {
        let now = Time::ZERO + Span::from_secs(second);
        // One flow always has packets, so that those which have none are found out.
        (0..50).for_each(|_| fq.enqueue(packet(0, 1500, 1 << 20), now, &mut fates));
        for n in 0..1000 {
            fq.enqueue(packet(n, 100, second as u32 * 1000 + n), now, &mut fates);
        }
        while fq.backlog().packets > 50 {
            fq.dequeue(now, &mut fates);
        }
    }
    assert!((1000..10_000).contains(&fq.flows.len()), "{}", fq.flows.len());
}
