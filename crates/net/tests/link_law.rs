//! The law that joins the two clocks, conservation, and the equality of a drop-tail link's two ways of working.

use haltere_net::link::{Link, LinkConfig};
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::queue::{Backlog, Dequeued, DropTail, Limit, QueueDiscipline, Verdict};
use haltere_net::rng::Streams;
use haltere_net::trace::RateTrace;
use haltere_net::{ComponentId, Cx, Ecn, Packet, Rate, Span, Time};
use proptest::prelude::*;

type Arrival = (u64, u32);

fn packet(n: u32, len: u32) -> Packet<u32> {
    Packet { ecn: if n.is_multiple_of(3) { Ecn::NotEct } else { Ecn::Ect0 }, ..Packet::new(len, n) }
}

/// A drop-tail queue that does not say so, so that the link treats it like any discipline.
struct Plain(DropTail<u32>);

impl QueueDiscipline<u32> for Plain {
    fn enqueue(&mut self, packet: Packet<u32>, now: Time) -> Verdict {
        self.0.enqueue(packet, now)
    }
    fn dequeue(&mut self, now: Time) -> Dequeued<u32> {
        self.0.dequeue(now)
    }
    fn backlog(&self) -> Backlog {
        self.0.backlog()
    }
}

fn make(config: &LinkConfig, plain: bool) -> Link<u32> {
    let streams = Streams::new(11, 2);
    if plain {
        Link::with_discipline(config, "l", &streams, Box::new(Plain(DropTail::marking(config.queue, config.mark))))
    } else {
        Link::new(config, "l", &streams)
    }
}

/// Offers the packets at their times; polls at every offer, at the extra instants too, and at the end.
fn drive(mut link: Link<u32>, offers: &[(u64, u32)], extra: &[u64]) -> Vec<Arrival> {
    let mut instants: Vec<(u64, Option<(u32, u32)>)> = extra.iter().map(|&t| (t, None)).collect();
    instants.extend(offers.iter().enumerate().map(|(i, &(t, len))| (t, Some((i as u32, len)))));
    instants.sort_by_key(|&(t, _)| t);
    instants.push((u64::MAX / 2, None));
    let mut out = Vec::new();
    for (t, offer) in instants {
        let now = Time::from_nanos(t);
        let mut cx = Cx::new(now, ComponentId(0));
        if let Some((n, len)) = offer {
            link.offer(packet(n, len), &mut cx);
        }
        if offer.is_none() {
            while let Some((at, p)) = link.poll(now, &mut cx) {
                assert!(at <= now);
                // A mark shows in the highest bit.
                out.push((at.as_nanos(), p.body | u32::from(p.ecn == Ecn::Ce) << 31));
            }
        }
        assert!(link.conserves());
    }
    assert_eq!(link.inside(), 0);
    assert_eq!(link.next_wake(), Time::NEVER);
    out
}

fn configs() -> impl Strategy<Value = LinkConfig> {
    let loss = prop_oneof![
        Just(LossModel::None),
        Just(LossModel::Uniform { p: 0.2 }),
        Just(LossModel::Periodic { every: 3 }),
        Just(LossModel::GilbertElliott { good_to_bad: 0.1, bad_to_good: 0.5, loss_in_bad: 0.9, loss_in_good: 0.01 })
    ];
    let jitter = prop_oneof![
        Just(JitterModel::None),
        any::<bool>().prop_map(|reorder| JitterModel::Uniform { spread: Span::from_micros(900), reorder }),
        any::<bool>().prop_map(|reorder| JitterModel::Normal { sigma: Span::from_micros(300), reorder })
    ];
    let queue = prop_oneof![(1u64..20).prop_map(Limit::Packets), (1600u64..20_000).prop_map(Limit::Bytes)];
    let trace = prop::collection::vec(0u64..3, 1..9).prop_map(|gaps| {
        let sums = gaps.iter().scan(1, |t, gap| {
            *t += gap;
            Some(*t)
        });
        RateTrace::try_from(sums.collect::<Vec<u64>>()).ok()
    });
    let rate = prop_oneof![
        Just((None, None)),
        (100_000u64..1_000_000_000).prop_map(|r| (Some(Rate::from_bps(r)), None)),
        trace.prop_map(|trace| (None, trace))
    ];
    let mark =
        prop::option::of(prop_oneof![(1u64..10).prop_map(Limit::Packets), (1600u64..9_000).prop_map(Limit::Bytes)]);
    (rate, 0u64..5_000_000, (queue, mark), loss, jitter, prop_oneof![Just(0.0), Just(0.1)]).prop_map(
        |((rate, trace), delay, (queue, mark), loss, jitter, duplication)| LinkConfig {
            rate,
            trace,
            delay: Span::from_nanos(delay),
            mtu: 1500,
            queue,
            mark,
            loss,
            jitter,
            duplication,
        },
    )
}

fn offers() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![4 => 0u64..2_000_000, 1 => Just(0), 1 => Just(1_000_000)], 40u32..1600), 1..80)
        .prop_map(|gaps| {
            let mut t = 0;
            gaps.into_iter()
                .map(|(gap, len)| {
                    t += gap;
                    (t, len)
                })
                .collect()
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn extra_instants_change_nothing(config in configs(), offers in offers(), extra in prop::collection::vec(0u64..100_000_000, 0..60), plain: bool) {
        let once = drive(make(&config, plain), &offers, &[]);
        let often = drive(make(&config, plain), &offers, &extra);
        prop_assert_eq!(once, often);
    }

    #[test]
    fn departures_known_on_arrival_are_those_of_a_queue_that_is_served(config in configs(), offers in offers(), extra in prop::collection::vec(0u64..100_000_000, 0..60)) {
        let known = drive(make(&config, false), &offers, &extra);
        let served = drive(make(&config, true), &offers, &extra);
        prop_assert_eq!(known, served);
    }
}

#[test]
fn a_long_train_is_serialised_without_rounding_drift() {
    // 3 Mbit/s and 1000-byte packets: 2 666 666.67 ns each; 3000 of them take exactly 8 s.
    let config =
        LinkConfig { rate: Some(Rate::from_bps(3_000_000)), queue: Limit::Packets(5000), ..LinkConfig::default() };
    let out = drive(make(&config, false), &[(0, 1000); 3000], &[]);
    assert_eq!(out.last(), Some(&(8_000_000_000, 2999)));
}

/// DCTCP's switch (RFC 8257 section 3.1): what finds K packets waiting is marked if it says that it can be.
#[test]
fn a_queue_longer_than_the_threshold_marks_what_is_ecn_capable() {
    let config = LinkConfig {
        rate: Some(Rate::from_bps(8_000_000)),
        queue: Limit::Packets(100),
        mark: Some(Limit::Packets(3)),
        ..LinkConfig::default()
    };
    for plain in [false, true] {
        let out = drive(make(&config, plain), &[(0, 1000); 12], &[]);
        let marked: Vec<u32> = out.iter().filter(|a| a.1 >> 31 == 1).map(|a| a.1 & 0xffff).collect();
        // One is sent, three wait; of the rest every third is not ECN-capable.
        assert_eq!(marked, [4, 5, 7, 8, 10, 11]);
    }
}

#[test]
fn the_packet_being_sent_does_not_count_as_waiting() {
    let config =
        LinkConfig { rate: Some(Rate::from_bps(8_000_000)), queue: Limit::Packets(2), ..LinkConfig::default() };
    let bodies = |plain| drive(make(&config, plain), &[(0, 1000); 5], &[]).iter().map(|a| a.1).collect::<Vec<_>>();
    assert_eq!(bodies(false), [0, 1, 2]);
    assert_eq!(bodies(true), [0, 1, 2]);
}
