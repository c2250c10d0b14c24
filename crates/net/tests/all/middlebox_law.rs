//! Tunnels and circuit breakers obey the law of links, count every packet, and do what they are for.

use haltere_net::counters::LinkCounters;
use haltere_net::element::{AnyElement, Element, Port};
use haltere_net::interface::Crediting;
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::middlebox::{Breaker, Propagation, Tunnel};
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, ConnectionId, Cx, Ecn, FlowKey, Packet, Rate, Span, Time};
use proptest::prelude::*;

const FIELDS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];

fn packet(n: u32, len: u32) -> Packet<u32> {
    Packet::new(len, n).with(|p| {
        p.ecn = FIELDS[n as usize % 4];
        p.flow = FlowKey { connection: ConnectionId(n % 3), ..FlowKey::default() };
    })
}

/// A packet that came out: when, its number, its length and its ECN field.
type Arrival = (u64, u32, u32, Ecn);

/// Offers the packets at their times, polls at the extra instants and at the end.
fn drive(config: &LinkConfig, offers: &[(u64, u32)], extra: &[u64]) -> (Vec<Arrival>, LinkCounters) {
    let mut link = AnyElement::of(config, "l", &Streams::new(5, 1), Crediting::Off);
    let mut instants: Vec<(u64, Option<(u32, u32)>)> = extra.iter().map(|&t| (t, None)).collect();
    instants.extend((0..).zip(offers).map(|(n, &(t, len))| (t, Some((n, len)))));
    instants.sort_by_key(|&(t, _)| t);
    instants.push((u64::MAX / 2, None));
    let mut out = Vec::new();
    for (t, offer) in instants {
        let now = Time::from_nanos(t);
        let mut cx = Cx::new(now, ComponentId(0));
        match offer {
            Some((n, len)) => link.offer(Port(0), packet(n, len), &mut cx),
            None => {
                while let Some((at, p)) = link.poll(now, &mut cx) {
                    assert!(at <= now);
                    out.push((at.as_nanos(), p.body, p.len, p.ecn));
                }
                assert!(link.next_wake() > now);
            }
        }
        assert!(link.conserves());
    }
    (out, link.counters())
}

fn configs() -> impl Strategy<Value = LinkConfig> {
    let modes = [Propagation::Normal, Propagation::Compatibility, Propagation::Rfc3168, Propagation::None];
    let tunnel = prop::option::of((20u32..60, prop::sample::select(modes.to_vec())));
    let breaker = prop::option::of((0.05f64..0.9, 1u32..3, prop::option::of(10u64..40)));
    let jitter = prop_oneof![
        Just(JitterModel::None),
        Just(JitterModel::Uniform { spread: Span::from_millis(4), reorder: true })
    ];
    (tunnel, breaker, jitter, 0.0f64..0.6).prop_map(|(tunnel, breaker, jitter, p)| LinkConfig {
        rate: Some(Rate::from_bps(5_000_000)),
        delay: Span::from_millis(3),
        queue: QueueConfig::drop_tail(Limit::Packets(9), Some(Limit::Packets(2))),
        tunnel: tunnel.map(|(header, ecn)| Tunnel { header, ecn }),
        breaker: breaker.map(|(loss, intervals, reset)| Breaker {
            loss,
            interval: Span::from_millis(10),
            intervals,
            reset: reset.map(Span::from_millis),
        }),
        loss: LossModel::Uniform { p },
        jitter,
        ..LinkConfig::default()
    })
}

fn offers() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((0u64..900_000, 40u32..1480), 1..200).prop_map(|gaps| {
        let times = gaps.iter().scan(0, |t, (gap, _)| {
            *t += gap;
            Some(*t)
        });
        times.zip(&gaps).map(|(t, (_, len))| (t, *len)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn extra_instants_change_nothing(
        config in configs(),
        offers in offers(),
        extra in prop::collection::vec(0u64..120_000_000, 0..60),
    ) {
        prop_assert_eq!(config.check(), Ok(()));
        prop_assert_eq!(drive(&config, &offers, &[]), drive(&config, &offers, &extra));
    }

    /// A packet has the length with which it came, whatever the header of the tunnel, and no field is made up.
    #[test]
    fn a_tunnel_takes_its_header_off_again(config in configs(), offers in offers()) {
        for (_, n, len, ecn) in drive(&config, &offers, &[]).0 {
            prop_assert_eq!(len, offers[n as usize].1);
            let before = FIELDS[n as usize % 4];
            prop_assert!(ecn == before || (ecn == Ecn::Ce && before != Ecn::NotEct), "{:?} of {:?}", ecn, before);
        }
    }
}

/// A hundred packets of a flow that come at once, half of which are ECN-capable, at a queue that marks from the third on.
fn burst(ecn: Option<Propagation>) -> (Vec<Ecn>, LinkCounters) {
    let config = LinkConfig {
        rate: Some(Rate::from_bps(10_000_000)),
        queue: QueueConfig::drop_tail(Limit::Packets(1000), Some(Limit::Packets(2))),
        tunnel: ecn.map(|ecn| Tunnel { header: 20, ecn }),
        ..LinkConfig::default()
    };
    let offers: Vec<(u64, u32)> = (0..100).map(|_| (0, 1000)).collect();
    let (out, counters) = drive(&config, &offers, &[]);
    (out.into_iter().filter(|(_, n, ..)| n % 4 == 1).map(|(.., ecn)| ecn).collect(), counters)
}

#[test]
fn marks_of_the_outer_header_reach_the_inner_one_if_the_tunnel_propagates_them() {
    let marks = |ecn| burst(ecn).0.into_iter().filter(|&ecn| ecn == Ecn::Ce).count();
    let plain = marks(None);
    assert!(plain > 20, "{plain}");
    assert_eq!(marks(Some(Propagation::Normal)), plain);
    assert_eq!(marks(Some(Propagation::Rfc3168)), plain);
    assert_eq!((marks(Some(Propagation::Compatibility)), marks(Some(Propagation::None))), (0, 0));
    let marked = |ecn| burst(Some(ecn)).1.marked;
    assert_eq!(marked(Propagation::Compatibility), 0, "the queue finds no packet that can be marked");
    assert_eq!(marked(Propagation::None), marked(Propagation::Normal));
}

#[test]
fn what_is_too_long_with_the_outer_header_is_dropped() {
    let config = LinkConfig { tunnel: Some(Tunnel { header: 50, ecn: Propagation::Normal }), ..LinkConfig::default() };
    assert_eq!(config.host_mtu(), 1450);
    let (out, counters) = drive(&config, &[(0, 1450), (1, 1451)], &[]);
    assert_eq!((out.len(), counters.dropped_mtu), (1, 1));
    assert_eq!(counters.delivered_bytes, 1500);
}

/// Of three flows one sends far more than the link carries and the others little.
#[test]
fn a_breaker_ends_the_flow_that_goes_on_losing_packets_and_no_other() {
    let reset = Some(Span::from_millis(400));
    let breaker = Breaker { loss: 0.1, interval: Span::from_millis(100), intervals: 3, reset };
    let config = LinkConfig {
        rate: Some(Rate::from_bps(8_000_000)),
        queue: Limit::Packets(5).into(),
        breaker: Some(breaker),
        ..LinkConfig::default()
    };
    let mut link = AnyElement::of(&config, "l", &Streams::new(5, 1), Crediting::Off);
    let mut arrived = [(0u64, 0u64); 2];
    for step in 0..10_000u64 {
        let now = Time::from_nanos(step * 100_000);
        let mut cx = Cx::new(now, ComponentId(0));
        while let Some((at, p)) = link.poll(now, &mut cx) {
            let seen = &mut arrived[p.body as usize];
            *seen = (seen.0 + 1, at.as_nanos() / 1_000_000);
        }
        // Packets of 1000 bytes: the first flow sends ten times the link's rate, the second a fiftieth of it.
        let flow = |n| FlowKey { connection: ConnectionId(n), ..FlowKey::default() };
        link.offer(Port(0), Packet::new(1000, 0).with(|p| p.flow = flow(0)), &mut cx);
        if step % 500 == 499 {
            link.offer(Port(0), Packet::new(1000, 1).with(|p| p.flow = flow(1)), &mut cx);
        }
    }
    let counters = link.counters();
    // It is ended after 300 ms, goes on at 700 ms, and is ended again at 1000 ms, which no packet comes after.
    assert_eq!((counters.tripped, counters.first_tripped), (Some(1), Some(Time::from_nanos(300_000_000))));
    assert_eq!(counters.dropped_breaker, Some(4000));
    assert!(arrived[0].1 >= 999, "{arrived:?}");
    assert!(arrived[1].0 >= 3, "{arrived:?}");
}
