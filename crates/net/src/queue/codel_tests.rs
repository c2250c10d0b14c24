use super::*;
use crate::counters::LinkCounters;
use crate::packet::Ecn;
use crate::queue::{Fate, QueueConfig, Scale};
use crate::rng::Streams;
use crate::units::Rate;

const MTU: u32 = 1500;

fn codel(settings: &[(&str, &str)]) -> Box<dyn QueueDiscipline<u32>> {
    let mut config = QueueConfig::of(crate::queue::CODEL);
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    let scale = Scale { rate: Some(Rate::from_bps(12_000_000)), rtt: Span::from_millis(100), mtu: MTU };
    config.build(&Place { scale, name: "l/down", streams: &Streams::new(1, 0) })
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

/// A queue of `n` full packets, all of which arrived at the start.
fn filled(settings: &[(&str, &str)], n: u32, ecn: Ecn) -> Box<dyn QueueDiscipline<u32>> {
    let (mut queue, mut counters) = (codel(settings), LinkCounters::default());
    for body in 0..n {
        queue.enqueue(Packet::new(MTU, body).with(|p| p.ecn = ecn), Time::ZERO, &mut Fates::new(&mut counters));
    }
    queue
}

/// Takes a packet every 50 us, so that drops happen close to when they are due, and returns the times of the drops and
/// marks until `until`, in microseconds.
fn signals(queue: &mut dyn QueueDiscipline<u32>, from_us: u64, until_us: u64) -> Vec<u64> {
    let mut times = Vec::new();
    for us in (from_us..until_us).step_by(50) {
        let mut counters = LinkCounters::default();
        let mut listener = |_: Fate<'_, u32>| times.push(us);
        queue.dequeue(at(us * 1000), &mut Fates::with_listener(&mut counters, &mut listener));
    }
    times
}

/// RFC 8289 section 3.3: gaps of interval / sqrt(count), with the root as near as Linux's steps bring it: x (3 - n x^2) / 2
/// gives 1, 0.5, 0.5625, 0.4878 and so on, from the third on within 3 %.
#[test]
fn drops_follow_the_control_law_while_the_delay_stays_above_the_target() {
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut queue = filled(&[("limit", "100000p"), ("ecn", "true")], 20_000, ecn);
        let drops = signals(queue.as_mut(), 10_000, 700_000);
        // Above the target from 10 ms on. Linux drops when the delay was above for longer than the interval.
        assert_eq!(drops[0], 110_050);
        let gaps: Vec<f64> = drops.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1000.0).collect();
        for (gap, expected) in gaps.iter().zip([100.0, 50.0, 56.25, 48.78, 44.15, 40.48, 37.57, 35.23]) {
            // Packets leave every 0.05 ms.
            assert!((gap - expected).abs() < 0.11, "{gaps:?}");
        }
        for (n, gap) in gaps.iter().enumerate().skip(2) {
            let exact = 100.0 / (n as f64 + 1.0).sqrt();
            assert!((gap / exact - 1.0).abs() < 0.03, "gap {n}: {gap}, not {exact}");
        }
        assert!(gaps.len() > 8);
    }
}

#[test]
fn nothing_is_dropped_below_the_target() {
    let (mut queue, mut counters) = (codel(&[]), LinkCounters::default());
    for n in 0..2000 {
        let now = at(n * 1_000_000);
        let packet = Packet::new(MTU, n as u32).with(|p| p.arrived = now);
        queue.enqueue(packet, now, &mut Fates::new(&mut counters));
        // Five packets stand, each for less than 5 ms.
        if n >= 4 {
            queue.dequeue(now + Span::from_micros(900), &mut Fates::new(&mut counters));
        }
    }
    assert_eq!((counters.dropped(), queue.backlog().packets), (0, 4));
}

/// RFC 8289 section 5.6: one packet of the greatest size may stand for any time.
#[test]
fn one_packet_of_the_mtu_is_never_dropped() {
    for (waiting, drops) in [(2, 0), (3, 1)] {
        let mut counters = LinkCounters::default();
        let mut queue = filled(&[], waiting, Ecn::NotEct);
        for second in 1..100 {
            if let Some(packet) = queue.dequeue(at(second * 1_000_000_000), &mut Fates::new(&mut counters)) {
                // It is put back as one that has waited all the time.
                queue.enqueue(packet, at(second * 1_000_000_000), &mut Fates::new(&mut counters));
            }
        }
        assert_eq!(counters.dropped_early, drops, "{waiting} packets");
    }
}

/// RFC 8289 section 5.5: after a short pause the rate of drops goes on from that of the last episode; after a long one it
/// starts anew. The root of 3 comes by a step from that of the last episode's 4: from 0.4878 to 0.5576.
#[test]
fn a_new_episode_starts_from_the_last_one_if_it_comes_soon() {
    for (pause_ms, gap_us) in [(200, 55_760.0), (5000, 100_000.0)] {
        let mut queue = filled(&[("limit", "100000p")], 20_000, Ecn::NotEct);
        // Four drops: at 110, 210, 260 and 316 ms.
        assert_eq!(signals(queue.as_mut(), 10_000, 350_000).len(), 4);
        let mut counters = LinkCounters::default();
        let mut now = 350_000;
        // One packet that came just now ends the episode.
        while queue.backlog().packets > 2 {
            queue.dequeue(at(now * 1000), &mut Fates::new(&mut counters));
        }
        queue.dequeue(at(now * 1000), &mut Fates::new(&mut counters));
        now += pause_ms * 1000;
        for body in 0..20_000 {
            let packet = Packet::new(MTU, body).with(|p| p.arrived = at((now - 10_000) * 1000));
            queue.enqueue(packet, at(now * 1000), &mut Fates::new(&mut counters));
        }
        let drops = signals(queue.as_mut(), now, now + 250_000);
        let gap = (drops[1] - drops[0]) as f64;
        assert!((gap - gap_us).abs() < 60.0, "{gap} after {pause_ms} ms, not {gap_us}");
    }
}

#[test]
fn a_packet_older_than_the_threshold_is_marked_without_a_drop_being_due() {
    let mut counters = LinkCounters::default();
    let mut queue = filled(&[("ce_threshold", "1ms")], 10, Ecn::Ect1);
    let early = queue.dequeue(at(1_000_000), &mut Fates::new(&mut counters)).unwrap();
    let late = queue.dequeue(at(1_000_001), &mut Fates::new(&mut counters)).unwrap();
    assert_eq!((early.ecn, late.ecn, counters.marked), (Ecn::Ect1, Ecn::Ce, 1));
    let mut queue = filled(&[("ce_threshold", "1ms")], 10, Ecn::NotEct);
    assert!(queue.dequeue(at(2_000_000), &mut Fates::new(&mut counters)).is_some());
    assert_eq!((counters.marked, counters.dropped()), (1, 0));
}

#[test]
fn a_full_queue_drops_what_arrives() {
    let mut counters = LinkCounters::default();
    let mut queue = codel(&[("limit", "2p")]);
    for body in 0..3 {
        queue.enqueue(Packet::new(MTU, body), Time::ZERO, &mut Fates::new(&mut counters));
    }
    assert_eq!((counters.dropped_queue, queue.backlog().packets), (1, 2));
}
