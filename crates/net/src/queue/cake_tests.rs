use super::*;
use crate::counters::LinkCounters;
use crate::packet::{Address, ConnectionId, Ecn, FlowKey};
use crate::queue::{QueueConfig, Scale};
use crate::rng::Streams;

const MTU: u32 = 1500;

fn cake(settings: &[(&str, &str)]) -> Cake<u32> {
    let mut config = QueueConfig::of(crate::queue::CAKE);
    for (name, value) in settings {
        config.set(name, value).unwrap();
    }
    let config = config;
    let Some(config) = config.parameters::<Config>() else { unreachable!() };
    let scale = Scale { rate: None, rtt: Span::from_millis(100), mtu: MTU };
    Cake::at(config, &Place { scale, name: "l/down", streams: &Streams::new(1, 0) })
}

/// A packet of a flow between two hosts, whose body is the number of the flow.
fn packet(source: u32, destination: u32, flow: u32, now: Time) -> Packet<u32> {
    let key = FlowKey { source: Address(source), destination: Address(destination), connection: ConnectionId(flow) };
    Packet::new(MTU, flow).with(|p| {
        p.flow = key;
        p.arrived = now;
    })
}

fn put(queue: &mut Cake<u32>, packet: Packet<u32>, counters: &mut LinkCounters) {
    let now = packet.arrived;
    queue.enqueue(packet, now, &mut Fates::new(counters));
}

/// Takes packets as soon as the shaper allows, until `until`. The link is never busy.
fn drain(queue: &mut Cake<u32>, until: Time, counters: &mut LinkCounters) -> Vec<(u64, u32)> {
    let mut now = Time::ZERO;
    let mut out = Vec::new();
    while queue.ready_at() <= until {
        now = now.max(queue.ready_at());
        if let Some(packet) = queue.dequeue(now, &mut Fates::new(counters)) {
            out.push((now.as_nanos(), packet.body));
        }
    }
    out
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

#[test]
fn the_shaper_is_exact_and_counts_what_is_on_the_line() {
    let atm = [("bandwidth", "3Mbit/s"), ("overhead", "10B"), ("atm", "atm")];
    let ethernet = [("bandwidth", "3Mbit/s"), ("overhead", "38B")];
    for (settings, bytes) in [(&atm[..1], 1500), (&atm[..2], 1510), (&atm[..], 1696), (&ethernet[..], 1538)] {
        // So large an rtt that no packet is late.
        let (mut queue, mut counters) = (cake(&[settings, &[("rtt", "1000s")]].concat()), LinkCounters::default());
        for _ in 0..1000 {
            put(&mut queue, packet(1, 2, 0, Time::ZERO), &mut counters);
        }
        let out = drain(&mut queue, Time::from_nanos(u64::MAX / 2), &mut counters);
        assert_eq!(out.len(), 1000);
        for (n, (at, _)) in out.iter().enumerate() {
            assert_eq!(*at, n as u64 * bytes * 8 * 1000 / 3);
        }
    }
}

#[test]
fn an_idle_time_gives_no_burst() {
    let (mut queue, mut counters) = (cake(&[("bandwidth", "12Mbit/s")]), LinkCounters::default());
    put(&mut queue, packet(1, 2, 0, Time::ZERO), &mut counters);
    drain(&mut queue, ms(1), &mut counters);
    for _ in 0..3 {
        put(&mut queue, packet(1, 2, 0, ms(500)), &mut counters);
    }
    let times: Vec<u64> = drain(&mut queue, ms(600), &mut counters).iter().map(|out| out.0).collect();
    assert_eq!(times, [500_000_000, 501_000_000, 502_000_000]);
}

/// Where the hosts of ten flows stand: the first flow is alone on its host, the others share one.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Hosts {
    /// At the sources; each flow has a destination of its own.
    Sources,
    /// At the destinations; each flow has a source of its own.
    Destinations,
    /// At the sources; all flows have one destination.
    SourcesOfOne,
}

/// The share of the first flow while all ten have a queue, and the ratio of the greatest to the least of the others.
fn shares(mode: &str, hosts: Hosts) -> (f64, f64) {
    let (mut queue, mut counters) = (cake(&[("flowmode", mode), ("rtt", "1000s")]), LinkCounters::default());
    let offer = |flow: u32| {
        let host = if flow == 0 { 1 } else { 2 };
        match hosts {
            Hosts::Sources => packet(host, 100 + flow, flow, Time::ZERO),
            Hosts::Destinations => packet(100 + flow, host, flow, Time::ZERO),
            Hosts::SourcesOfOne => packet(host, 100, flow, Time::ZERO),
        }
    };
    for flow in (0..10).cycle().take(100) {
        put(&mut queue, offer(flow), &mut counters);
    }
    let mut sent = [0; 10];
    for _ in 0..20_000 {
        let flow = queue.dequeue(Time::ZERO, &mut Fates::new(&mut counters)).unwrap().body;
        sent[flow as usize] += 1;
        put(&mut queue, offer(flow), &mut counters);
    }
    let others = &sent[1..];
    let spread = f64::from(*others.iter().max().unwrap()) / f64::from(*others.iter().min().unwrap());
    (f64::from(sent[0]) / 20_000.0, spread)
}

#[test]
fn two_hosts_with_one_and_nine_flows_get_equal_shares() {
    for (mode, hosts, share) in [
        ("triple-isolate", Hosts::Sources, 0.5),
        ("triple-isolate", Hosts::Destinations, 0.5),
        // The busier host of every flow is the destination that all have in common.
        ("triple-isolate", Hosts::SourcesOfOne, 0.1),
        ("dual-srchost", Hosts::Sources, 0.5),
        ("dual-srchost", Hosts::SourcesOfOne, 0.5),
        ("dual-srchost", Hosts::Destinations, 0.1),
        ("dual-dsthost", Hosts::Destinations, 0.5),
        ("dual-dsthost", Hosts::Sources, 0.1),
        ("flows", Hosts::Sources, 0.1),
    ] {
        let (first, spread) = shares(mode, hosts);
        assert!((first - share).abs() < 0.01, "{mode}, {hosts:?}: {first}");
        assert!(spread < 1.05, "{mode}, {hosts:?}: {spread}");
    }
    assert!((shares("srchost", Hosts::Sources).0 - 0.5).abs() < 0.01);
}

#[test]
fn a_sparse_flow_goes_before_those_with_a_queue() {
    let (mut queue, mut counters) = (cake(&[]), LinkCounters::default());
    for flow in (0..8).cycle().take(400) {
        put(&mut queue, packet(1, 2, flow, Time::ZERO), &mut counters);
    }
    for _ in 0..20 {
        queue.dequeue(Time::ZERO, &mut Fates::new(&mut counters));
    }
    put(&mut queue, packet(1, 2, 9, Time::ZERO).with(|p| p.len = 100), &mut counters);
    assert_eq!(queue.dequeue(Time::ZERO, &mut Fates::new(&mut counters)).map(|packet| packet.body), Some(9));
}

/// An unresponsive flow overflows the memory, in which no packet waits for as long as CoDel's target. BLUE learns to drop
/// before that.
#[test]
fn blue_takes_over_when_a_flow_overflows_the_memory() {
    let settings = [("bandwidth", "12Mbit/s"), ("memlimit", "230400B"), ("rtt", "4s")];
    let (mut queue, mut counters, mut before) = (cake(&settings), LinkCounters::default(), LinkCounters::default());
    for n in 0..120_000 {
        // Twice the rate for a minute: 1500 bytes every 0.5 ms, ECN-capable.
        let now = Time::from_nanos(n * 500_000);
        put(&mut queue, packet(1, 2, 0, now).with(|p| p.ecn = Ecn::Ect0), &mut counters);
        if queue.ready_at() <= now {
            queue.dequeue(now, &mut Fates::new(&mut counters));
        }
        assert!(queue.backlog().packets <= 100);
        // A step of 1/256 takes a target of 200 ms: in the first 400 ms there is one.
        if n == 800 {
            assert!(counters.dropped_queue > 290 && counters.dropped_early < 8, "{counters:?}");
        }
        if n == 60_000 {
            before = counters;
        }
    }
    let [full, early] = [counters.dropped_queue - before.dropped_queue, counters.dropped_early - before.dropped_early];
    assert!((29_000..31_000).contains(&(full + early)), "half is too much: {full} {early}");
    assert!(early > 20 * full && counters.marked == 0, "{full} {early}");
}

#[test]
fn what_is_too_much_is_dropped_from_the_queue_with_the_most_bytes() {
    let (mut queue, mut counters) = (cake(&[("memlimit", "46080B")]), LinkCounters::default());
    for flow in [0; 15].into_iter().chain([1; 5]) {
        put(&mut queue, packet(1, 2, flow, Time::ZERO), &mut counters);
    }
    assert_eq!(counters.dropped(), 0);
    for _ in 0..3 {
        put(&mut queue, packet(1, 2, 2, Time::ZERO).with(|p| p.class = 46), &mut counters);
    }
    assert_eq!(counters.dropped_queue, 3);
    let out = drain(&mut queue, Time::ZERO, &mut counters);
    let of = |flow| out.iter().filter(|out| out.1 == flow).count();
    assert_eq!([of(0), of(1), of(2)], [12, 5, 3]);
}

/// The shares of three or four classes that always have a queue, by DiffServ codepoint.
fn classes(settings: &[(&str, &str)], dscps: &[u8]) -> Vec<f64> {
    let (mut queue, mut counters) = (cake(&[settings, &[("rtt", "1000s")]].concat()), LinkCounters::default());
    let offer = |class: u8, now| packet(1, 2, u32::from(class), now).with(|p| p.class = class);
    for &class in dscps.iter().cycle().take(20 * dscps.len()) {
        put(&mut queue, offer(class, Time::ZERO), &mut counters);
    }
    let mut sent = [0_u32; 64];
    let mut now = Time::ZERO;
    for _ in 0..10_000 {
        now = now.max(queue.ready_at());
        let class = queue.dequeue(now, &mut Fates::new(&mut counters)).unwrap().body;
        sent[class as usize] += 1;
        put(&mut queue, offer(class as u8, now), &mut counters);
    }
    dscps.iter().map(|&class| f64::from(sent[usize::from(class)]) / 10_000.0).collect()
}

#[test]
fn classes_have_priority_up_to_their_share_of_the_rate() {
    let shaped = [("bandwidth", "12Mbit/s"), ("diffserv", "diffserv4")];
    let near = |got: Vec<f64>, expected: &[f64]| {
        assert!(got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.01), "{got:?} {expected:?}");
    };
    // Voice a quarter, video a half, best effort what is left: bulk has a sixteenth, which goes before best effort.
    near(classes(&shaped, &[46, 34, 8, 0]), &[0.25, 0.5, 1.0 / 16.0, 3.0 / 16.0]);
    // The rate that a class does not use goes to the others.
    near(classes(&shaped, &[46, 0]), &[0.25, 0.75]);
    near(
        classes(&[("bandwidth", "12Mbit/s"), ("diffserv", "diffserv3")], &[46, 8, 34]),
        &[0.25, 1.0 / 16.0, 11.0 / 16.0],
    );
    // Without a rate they take turns by weight, 1024 : 64 : 256.
    near(classes(&[], &[0, 8, 46]), &[16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0]);
    near(classes(&[("diffserv", "besteffort")], &[46, 0]), &[0.5, 0.5]);
}

#[test]
fn with_ingress_packets_that_are_dropped_count_for_the_rate() {
    for ingress in ["true", "false"] {
        let settings = [("bandwidth", "12Mbit/s"), ("ingress", ingress)];
        let (mut queue, mut counters) = (cake(&settings), LinkCounters::default());
        for _ in 0..300 {
            put(&mut queue, packet(1, 2, 0, Time::ZERO), &mut counters);
        }
        let out = drain(&mut queue, ms(1000), &mut counters);
        assert!(counters.dropped_early > 5);
        // Each packet takes 1 ms.
        let charged = if ingress == "true" { 300 } else { out.len() as u64 };
        assert_eq!(out.last().map(|last| last.0 / 1_000_000 + 1), Some(charged));
    }
}

/// A flow that sends on above the rate would let nothing pass with all of it charged. Two thirds of the rate pass always.
#[test]
fn with_ingress_drops_take_a_third_of_the_rate_at_most() {
    let (mut queue, mut counters) = (cake(&[("bandwidth", "12Mbit/s"), ("ingress", "true")]), LinkCounters::default());
    let mut out = 0;
    for n in 0..20_000 {
        let now = Time::from_nanos(n * 500_000);
        put(&mut queue, packet(1, 2, 0, now), &mut counters);
        while queue.ready_at() <= now {
            out += u64::from(queue.dequeue(now, &mut Fates::new(&mut counters)).is_some());
        }
    }
    assert!((6660..=6780).contains(&out), "{out} in 10 s");
}

#[test]
fn a_slow_link_has_longer_times() {
    // 1500 bytes take 12 ms at 1 Mbit/s.
    let slow = control(1_000_000, MTU, Span::from_millis(100));
    assert_eq!((slow.target, slow.interval), (Span::from_millis(18), Span::from_millis(113)));
    let fast = control(1_000_000_000, MTU, Span::from_millis(100));
    assert_eq!((fast.target, fast.interval), (Span::from_millis(5), Span::from_millis(100)));
}

#[test]
fn words_that_are_not_there_are_refused_with_those_that_are() {
    let mut config = QueueConfig::of(crate::queue::CAKE);
    for (name, wrong, hint) in [
        ("flowmode", "host", "dual-srchost"),
        ("diffserv", "diffserv8", "diffserv3 or diffserv4"),
        ("atm", "yes", "noatm, atm or ptm"),
        ("overhead", "300", "-64B to 256B"),
        ("mpu", "-1B", "0B to 256B"),
    ] {
        assert!(config.set(name, wrong).unwrap_err().contains(hint), "{name}");
    }
    assert_eq!((config.set("overhead", "-4"), config.get("overhead")), (Ok(()), Some("-4B".to_string())));
}
