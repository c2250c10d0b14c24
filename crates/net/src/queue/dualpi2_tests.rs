use super::*;
use crate::counters::LinkCounters;
use crate::queue::{QueueConfig, Scale};
use crate::rng::Streams;

const MTU: u32 = 1500;

fn dualpi2(settings: &[(&str, &str)]) -> DualPi2<u32> {
    let mut config = QueueConfig::of(crate::queue::DUALPI2);
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    let config = config;
    let Some(config) = config.parameters::<Config>() else { unreachable!() };
    let scale = Scale { rate: None, rtt: Span::from_millis(100), mtu: MTU };
    DualPi2::at(config, &Place { scale, name: "l/down", streams: &Streams::new(1, 0) })
}

fn at_us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

fn put(queue: &mut DualPi2<u32>, ecn: Ecn, n: u32, now: Time, counters: &mut LinkCounters) {
    for body in 0..n {
        queue.enqueue(
            Packet::new(MTU, body).with(|p| {
                p.ecn = ecn;
                p.arrived = now;
            }),
            now,
            &mut Fates::new(counters),
        );
    }
}

fn next(queue: &mut DualPi2<u32>, now: Time, counters: &mut LinkCounters) -> Option<Packet<u32>> {
    queue.dequeue(now, &mut Fates::new(counters))
}

/// The shares of 40 000 packets of this kind that are dropped and marked at a probability p', in a queue without delay.
fn shares(settings: &[(&str, &str)], probability: f64, ecn: Ecn) -> (f64, f64) {
    let mut counters = LinkCounters::default();
    let mut queue = dualpi2(&[settings, &[("tupdate", "0s")]].concat());
    queue.probability = probability;
    let n = 40_000;
    put(&mut queue, ecn, 50, Time::ZERO, &mut counters);
    for _ in 0..n {
        put(&mut queue, ecn, 1, Time::ZERO, &mut counters);
        // What is dropped at dequeue is made good.
        next(&mut queue, Time::ZERO, &mut counters);
        let missing = 50 - queue.backlog().packets;
        put(&mut queue, ecn, missing as u32, Time::ZERO, &mut counters);
    }
    let passed = n as f64 + counters.dropped() as f64;
    (counters.dropped_early as f64 / passed, counters.marked as f64 / passed)
}

/// RFC 9332 section 2.1: p_C = p'² and p_CL = k · p' (equation 1).
#[test]
fn the_two_probabilities_are_coupled() {
    for at in ["false", "true"] {
        for (p, k) in [(0.1, 2.0), (0.3, 2.0), (0.2, 4.0)] {
            let settings = [("coupling_factor", k.to_string()), ("drop_enqueue", at.to_string())];
            let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let near = |got: f64, expected: f64| (got - expected).abs() < 0.012;
            let (dropped, marked) = shares(&settings, p, Ecn::NotEct);
            assert!(near(dropped, p * p) && marked == 0.0, "{p}: {dropped} {marked}");
            let (dropped, marked) = shares(&settings, p, Ecn::Ect0);
            assert!(near(marked, p * p) && dropped == 0.0, "{p}: {dropped} {marked}");
            let (dropped, marked) = shares(&settings, p, Ecn::Ect1);
            assert!(near(marked, k * p) && dropped == 0.0, "{p}: {dropped} {marked}");
        }
    }
}

/// RFC 9332 section 4.2: from p_CL = 1 on both kinds are dropped with p'², ECN-capable or not.
#[test]
fn under_overload_marks_give_way_to_drops() {
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1] {
        let (dropped, marked) = shares(&[], 0.6, ecn);
        assert!((dropped - 0.36).abs() < 0.012, "{ecn:?}: {dropped}");
        assert!(if ecn == Ecn::Ect1 { (marked - 0.64).abs() < 0.012 } else { marked == 0.0 }, "{ecn:?}: {marked}");
    }
    // Just below, ECN-capable packets are only marked.
    assert_eq!(shares(&[], 0.5, Ecn::Ect0).0, 0.0);
}

#[test]
fn without_drops_on_overload_the_scalable_probability_stops_at_one() {
    for (drops, most) in [("true", 1.0), ("false", 0.5)] {
        let (mut queue, mut counters) = (dualpi2(&[("drop_on_overload", drops)]), LinkCounters::default());
        put(&mut queue, Ecn::NotEct, 10, Time::ZERO, &mut counters);
        queue.update_until(at_us(60_000_000));
        assert_eq!(queue.probability, most);
    }
}

#[test]
fn scalable_packets_are_marked_by_the_step() {
    let (mut queue, mut counters) = (dualpi2(&[]), LinkCounters::default());
    put(&mut queue, Ecn::Ect1, 3, Time::ZERO, &mut counters);
    put(&mut queue, Ecn::Ect0, 1, Time::ZERO, &mut counters);
    let mut marked = |us| next(&mut queue, at_us(us), &mut counters).map(|packet| packet.ecn);
    assert_eq!([marked(1000), marked(1001), marked(1002)], [Some(Ecn::Ect1), Some(Ecn::Ce), Some(Ecn::Ce)]);
    // The classic packet waited longer.
    assert_eq!(marked(2000), Some(Ecn::Ect0));
}

#[test]
fn the_step_can_count_packets_and_spare_a_short_queue() {
    let marks = |settings: &[_]| {
        let (mut queue, mut counters) = (dualpi2(settings), LinkCounters::default());
        put(&mut queue, Ecn::Ect1, 6, Time::ZERO, &mut counters);
        std::iter::from_fn(|| next(&mut queue, at_us(5000), &mut counters).map(|p| u8::from(p.ecn == Ecn::Ce)))
            .collect::<Vec<_>>()
    };
    assert_eq!(marks(&[("step_thresh", "2p")]), [1, 1, 1, 0, 0, 0]);
    assert_eq!(marks(&[("min_qlen_step", "4")]), [0, 0, 0, 0, 1, 1]);
    assert_eq!(marks(&[("step_thresh", "5ms")]), [0; 6]);
}

#[test]
fn packets_are_classified_by_their_ecn_field() {
    for (any, l) in [("false", 2), ("true", 3)] {
        let (mut queue, mut counters) = (dualpi2(&[("any_ect", any)]), LinkCounters::default());
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            put(&mut queue, ecn, 1, Time::ZERO, &mut counters);
        }
        assert_eq!((queue.l.backlog().packets, queue.c.backlog().packets), (l, 4 - l));
    }
}

/// The starvation guard: L goes first, but a tenth of the bytes are C's while both wait, or what is asked for.
#[test]
fn the_classic_queue_keeps_its_share() {
    for (protection, share) in [(None, 10), (Some("25"), 25), (Some("0"), 0)] {
        let settings: Vec<_> = protection.map(|percent| ("classic_protection", percent)).into_iter().collect();
        let settings = [&settings[..], &[("tupdate", "0s")]].concat();
        let (mut queue, mut counters) = (dualpi2(&settings), LinkCounters::default());
        put(&mut queue, Ecn::Ect1, 1100, Time::ZERO, &mut counters);
        put(&mut queue, Ecn::NotEct, 1100, Time::ZERO, &mut counters);
        let mut classic = Vec::new();
        for n in 0..1000 {
            if next(&mut queue, Time::ZERO, &mut counters).unwrap().ecn == Ecn::NotEct {
                classic.push(n);
            }
        }
        assert!((classic.len() as i64 - 10 * share).abs() <= 2, "{} of 1000 at {share} %", classic.len());
        assert!(share == 0 || classic[0] >= 3, "L goes first");
    }
}

/// RFC 9332 appendix A.1: p' += alpha · (delay − target) + beta · (delay − last delay), each at its own time.
#[test]
fn the_controller_is_proportional_and_integral() {
    let (mut queue, mut counters) = (dualpi2(&[]), LinkCounters::default());
    // A packet that arrives at 1 ms is 15 ms old at the first update, then 31 ms.
    put(&mut queue, Ecn::NotEct, 1, at_us(1000), &mut counters);
    queue.update_until(at_us(16_000));
    let first = 3.2 * 0.015;
    assert!((queue.probability - first).abs() < 1e-12, "{}", queue.probability);
    let mut late = queue.clone();
    queue.update_until(at_us(47_999));
    let second = first + 0.16 * 0.016 + 3.2 * 0.016;
    assert!((queue.probability - second).abs() < 1e-12, "{}", queue.probability);
    queue.update_until(at_us(48_000));
    late.update_until(at_us(63_999));
    assert_eq!(queue.probability, late.probability);
    // The delay of L counts as well if it is the longer one.
    let mut scalable = dualpi2(&[]);
    put(&mut scalable, Ecn::Ect1, 1, at_us(1000), &mut counters);
    scalable.update_until(at_us(16_000));
    assert!((scalable.probability - first).abs() < 1e-12);
}

#[test]
fn nothing_happens_at_random_below_two_packets() {
    let (mut queue, mut counters) = (dualpi2(&[("tupdate", "0s")]), LinkCounters::default());
    queue.probability = 1.0;
    put(&mut queue, Ecn::NotEct, 2, Time::ZERO, &mut counters);
    assert!(next(&mut queue, Time::ZERO, &mut counters).is_some());
    assert!(next(&mut queue, Time::ZERO, &mut counters).is_some());
    assert_eq!(counters.dropped(), 0);
    put(&mut queue, Ecn::NotEct, 3, Time::ZERO, &mut counters);
    next(&mut queue, Time::ZERO, &mut counters);
    assert_eq!(counters.dropped_early, 1);
}

#[test]
fn a_pause_of_days_costs_nothing_and_ends_where_it_would() {
    for stands in [0, 5] {
        let (mut queue, mut counters) = (dualpi2(&[("tupdate", "1us")]), LinkCounters::default());
        queue.probability = 0.4;
        put(&mut queue, Ecn::NotEct, stands, Time::ZERO, &mut counters);
        let late = at_us(86_400_000_000);
        queue.update_until(late);
        assert_eq!(queue.probability, if stands == 0 { 0.0 } else { 1.0 });
        assert_eq!(queue.last_delay, if stands == 0 { Span::ZERO } else { Span::from_secs(86_400) });
        queue.update_until(late + Span::from_micros(1));
        assert_eq!(queue.updates, 86_400_000_001);
    }
}

#[test]
fn both_limits_hold() {
    for (name, value, fits) in [("limit", "7p", 7), ("memlimit", "9216B", 4), ("limit", "6000B", 4)] {
        let (mut queue, mut counters) = (dualpi2(&[(name, value)]), LinkCounters::default());
        put(&mut queue, Ecn::NotEct, 10, Time::ZERO, &mut counters);
        assert_eq!((queue.backlog().packets, counters.dropped_queue), (fits, 10 - fits), "{name} {value}");
    }
}
