//! A network interface obeys the element law, loses and credits every packet once, keeps its bounds, and with a ring of
//! one packet is a link.

use crate::disciplines;

use disciplines::FairAged;
use haltere_net::counters::{LinkCounters, Stages};
use haltere_net::element::{Admission, AnyElement, Credit, Element, Port};
use haltere_net::interface::{Crediting, Interface, Ring};
use haltere_net::link::{Link, LinkConfig};
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::occupancy::{Area, Held};
use haltere_net::queue::{DropTail, HeadDrop, Limit, Place, QueueConfig, QueueDiscipline, Scale};
use haltere_net::rng::Streams;
use haltere_net::trace::RateTrace;
use haltere_net::varying::{InOutage, Outages, Period};
use haltere_net::{ComponentId, ConnectionId, Cx, Ecn, FlowKey, Metric, Packet, PathId, Probe, Rate, Span, Time};
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Queue {
    DropTail(Limit),
    HeadDrop(Limit),
    Word(&'static str),
    FairAged,
}

impl Queue {
    fn build(self) -> Box<dyn QueueDiscipline<u32>> {
        match self {
            Queue::DropTail(limit) => Box::new(DropTail::new(limit, Some(Limit::Packets(4)))),
            Queue::HeadDrop(limit) => Box::new(HeadDrop::new(limit)),
            Queue::Word(word) => {
                let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(10), mtu: 1500 };
                let place = Place { scale, name: "l", streams: &Streams::new(11, 2) };
                QueueConfig::from_word(word).unwrap().build(&place)
            }
            Queue::FairAged => Box::new(FairAged::new(8, Span::from_millis(3))),
        }
    }
}

/// Disciplines that delay packets, reorder them, or drop them late, with parameters that act within a few milliseconds.
const WORDS: &[&str] = &[
    "tbf:rate=3Mbit/s,burst=3000B,limit=9p",
    "pfifo_fast:limit=7p",
    "fq_codel:limit=12p,target=1ms,interval=3ms,quantum=600B",
    "dualpi2:limit=12p,target=1ms,tupdate=1ms,step_thresh=500us",
];

fn queues() -> impl Strategy<Value = Queue> {
    let limit = || prop_oneof![(1u64..20).prop_map(Limit::Packets), (1600u64..20_000).prop_map(Limit::Bytes)];
    prop_oneof![
        limit().prop_map(Queue::DropTail),
        limit().prop_map(Queue::HeadDrop),
        prop::sample::select(WORDS).prop_map(Queue::Word),
        Just(Queue::FairAged),
    ]
}

fn configs() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![
        Just((None, None)),
        (100_000u64..1_000_000_000).prop_map(|bps| (Some(Rate::from_bps(bps)), None)),
        Just((None, RateTrace::try_from(vec![1, 1, 2, 5, 6]).ok())),
    ];
    let loss = prop_oneof![Just(LossModel::None), Just(LossModel::Uniform { p: 0.2 })];
    let jitter = prop_oneof![
        Just(JitterModel::None),
        any::<bool>().prop_map(|reorder| JitterModel::Uniform { spread: Span::from_micros(900), reorder }),
    ];
    let outage = (0u64..20_000_000, 1u64..8_000_000, any::<bool>());
    let rest = (loss, jitter, prop_oneof![Just(0.0), Just(0.1)]);
    (rate, 0u64..5_000_000, prop::option::of(outage), rest).prop_map(|((rate, trace), delay, outage, rest)| {
        let outages = outage.and_then(|(from, lasts, hold)| {
            let [from, to] = [from, from + lasts].map(Span::from_nanos);
            let packets = if hold && trace.is_none() { InOutage::Hold } else { InOutage::Drop };
            Outages::new(vec![Period { from, to }], packets, None).ok()
        });
        let (loss, jitter, duplication) = rest;
        let delay = Span::from_nanos(delay);
        LinkConfig { rate, trace, delay, outages, loss, jitter, duplication, ..LinkConfig::default() }
    })
}

fn offers() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![4 => 0u64..2_000_000, 3 => Just(0), 1 => Just(1_000_000)];
    prop::collection::vec((gap, 40u32..1600), 1..80).prop_map(|gaps| {
        let times = gaps.into_iter().scan(0, |t, (gap, len)| {
            *t += gap;
            Some((*t, len))
        });
        times.collect()
    })
}

fn rings() -> impl Strategy<Value = Ring> {
    (1u64..12, any::<bool>()).prop_map(|(packets, bql)| Ring { packets, bql })
}

fn packet(n: u32, len: u32) -> Packet<u32> {
    let flow = FlowKey { connection: ConnectionId(n * n % 5), ..FlowKey::default() };
    let ecn = if n.is_multiple_of(3) { Ecn::NotEct } else { Ecn::Ect0 };
    Packet::new(len, n).with(|p| {
        p.ecn = ecn;
        p.flow = flow;
        p.class = u8::from(n.is_multiple_of(4));
    })
}

fn interface(config: &LinkConfig, ring: Ring, queue: Queue, crediting: Crediting) -> AnyElement<u32> {
    let interface = Interface::with_discipline(config, ring, "l", &Streams::new(11, 2), crediting, queue.build());
    AnyElement::Other(Box::new(interface))
}

/// The most that a probe saw of each stage.
#[derive(Default, PartialEq, Debug)]
struct Peaks {
    qdisc_packets: u64,
    qdisc_bytes: u64,
    ring_packets: u64,
    queue_bytes: u64,
}

impl Probe for Peaks {
    fn record(&mut self, _: Time, _: ComponentId, _: PathId, metric: Metric, value: u64) {
        let peak = match metric {
            Metric::QdiscPackets => &mut self.qdisc_packets,
            Metric::Qdisc => &mut self.qdisc_bytes,
            Metric::RingPackets => &mut self.ring_packets,
            Metric::Queue => &mut self.queue_bytes,
            other => panic!("{other:?} is not a link's"),
        };
        *peak = value.max(*peak);
    }
}

#[derive(PartialEq, Debug, Default)]
struct Seen {
    packets: Vec<(Time, u32, bool)>,
    credits: Vec<(Time, Credit)>,
    admissions: Vec<Admission>,
    counters: LinkCounters,
    stages: Option<Stages>,
    peaks: Peaks,
    /// Contents over time until each offer, and until the end.
    waited: Vec<Area>,
    held: Option<Held>,
}

fn take(element: &mut AnyElement<u32>, now: Time, seen: &mut Seen) {
    let mut cx = Cx::with_probe(now, ComponentId(0), Some(&mut seen.peaks));
    while let Some((at, p)) = element.poll(now, &mut cx) {
        assert!(at <= now);
        seen.packets.push((at, p.body, p.ecn == Ecn::Ce));
    }
    while let Some((at, credit)) = element.poll_credit(now) {
        assert!(at <= now);
        seen.credits.push((at, credit));
    }
    assert!(element.conserves());
}

/// Offers packets; polls at each offer, at the extra instants, and when asked to.
fn drive(mut element: AnyElement<u32>, offers: &[(u64, u32)], extra: &[u64]) -> Seen {
    let mut instants: Vec<(u64, Option<usize>)> = extra.iter().map(|&t| (t, None)).collect();
    instants.extend(offers.iter().enumerate().map(|(n, &(t, _))| (t, Some(n))));
    instants.sort_by_key(|&(t, _)| t);
    let mut seen = Seen::default();
    for (t, offer) in instants {
        let now = Time::from_nanos(t);
        take(&mut element, now, &mut seen);
        if let Some(n) = offer {
            let mut cx = Cx::with_probe(now, ComponentId(0), Some(&mut seen.peaks));
            seen.waited.push(element.held(now, &mut cx).unwrap().queue);
            element.offer(Port(0), packet(n as u32, offers[n].1), &mut cx);
            seen.admissions.push(element.admission());
            assert!(element.conserves());
        }
    }
    for _ in 0..10_000 {
        let wake = element.next_wake();
        if wake == Time::NEVER {
            // Nothing waits any more. Packets that are lost may leave the queue after the last wake.
            let end = Time::from_nanos(u64::MAX / 2);
            seen.held = element.held(end, &mut Cx::new(end, ComponentId(0)));
            seen.waited.extend(seen.held.map(|held| held.queue));
            assert_eq!(element.inside(), 0);
            (seen.counters, seen.stages) = (element.counters(), element.stages());
            return seen;
        }
        take(&mut element, wake, &mut seen);
    }
    panic!("the element spins");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn extra_instants_change_nothing_and_every_packet_is_credited_once(
        config in configs(), ring in rings(), queue in queues(), offers in offers(),
        extra in prop::collection::vec(0u64..100_000_000, 0..60),
    ) {
        let once = drive(interface(&config, ring, queue, Crediting::On), &offers, &[]);
        let often = drive(interface(&config, ring, queue, Crediting::On), &offers, &extra);
        prop_assert_eq!(&once, &often);
        prop_assert_eq!(once.credits.len() as u64, once.counters.offered);
        let credited: u64 = once.credits.iter().map(|(_, c)| u64::from(c.bytes)).sum();
        prop_assert_eq!(credited, offers.iter().map(|o| u64::from(o.1)).sum::<u64>());
        prop_assert!(once.credits.is_sorted_by_key(|(at, _)| *at) && once.packets.is_sorted_by_key(|p| p.0));
        // What both stages held is what waited, and the packets that were being sent.
        let held = once.held.unwrap();
        let Some(stages) = held.stages else { return Err(TestCaseError::fail("an interface has stages")) };
        prop_assert!(stages.qdisc.packet_ns + stages.ring.packet_ns >= held.queue.packet_ns);
        prop_assert!(stages.ring.packet_ns >= once.stages.unwrap().ring_ns);
        // Bounds: the ring's own, and what was recorded is what was counted.
        let stages = once.stages.unwrap();
        prop_assert!(stages.max_ring_packets <= ring.packets);
        prop_assert!(once.peaks.ring_packets <= stages.max_ring_packets);
        prop_assert_eq!(once.peaks.qdisc_packets, stages.max_qdisc_packets);
        prop_assert_eq!(once.peaks.qdisc_bytes, stages.max_qdisc_bytes);
        prop_assert_eq!(once.peaks.queue_bytes, once.counters.max_queue_bytes);
        if let Queue::DropTail(Limit::Packets(most)) = queue {
            prop_assert!(stages.max_qdisc_packets <= most);
            // A refused packet is one that found the queue full or that was too long, and only its own.
            let refused = once.admissions.iter().filter(|a| **a == Admission::Refused).count() as u64;
            prop_assert_eq!(refused, once.counters.dropped_queue);
        }
        // The time in both stages is the time until the serialisation begins.
        prop_assert_eq!(stages.qdisc_ns + stages.ring_ns, once.counters.queueing_ns);
        prop_assert_eq!(stages.ringed, once.counters.served);
        // Whether somebody waits for credits changes nothing but the credits.
        let uncredited = drive(interface(&config, ring, queue, Crediting::Off), &offers, &extra);
        prop_assert!(uncredited.credits.is_empty());
        prop_assert_eq!(Seen { credits: once.credits, ..uncredited }, Seen { credits: often.credits, ..often });
    }

    #[test]
    fn with_a_ring_of_one_packet_it_is_a_link(config in configs(), queue in queues(), offers in offers()) {
        let ring = Ring { packets: 1, bql: false };
        let two = drive(interface(&config, ring, queue, Crediting::Off), &offers, &[]);
        let link = Link::with_discipline(&config, "l", &Streams::new(11, 2), queue.build());
        let one = drive(link.into(), &offers, &[]);
        prop_assert_eq!((one.packets, one.counters, one.waited), (two.packets, two.counters, two.waited));
        prop_assert_eq!(two.stages.unwrap().ring_ns, 0);
    }

    /// Also if the queue is so short that it takes nothing: what finds the wire idle does not wait.
    #[test]
    fn with_a_ring_of_one_packet_a_drop_tail_queue_of_any_length_is_a_links(
        config in configs(), offers in offers(),
        limit in prop_oneof![(0u64..4).prop_map(Limit::Packets), (0u64..4_000).prop_map(Limit::Bytes)],
    ) {
        let config = LinkConfig { queue: limit.into(), ..config };
        let ring = Some(Ring { packets: 1, bql: false });
        let streams = Streams::new(11, 2);
        let two = AnyElement::of(&LinkConfig { ring, ..config.clone() }, "l", &streams, Crediting::On);
        let (two, one) = (drive(two, &offers, &[]), drive(Link::new(&config, "l", &streams).into(), &offers, &[]));
        prop_assert_eq!((one.packets, one.counters, one.waited), (two.packets, two.counters, two.waited));
    }

    /// A first-in-first-out queue that is counted in packets may be divided among the stages as one likes.
    #[test]
    fn a_ring_lengthens_a_drop_tail_queue_by_its_packets(config in configs(), offers in offers(), limit in 1u64..20, ring in 1u64..12) {
        let queue = |packets| -> Box<dyn QueueDiscipline<u32>> { Box::new(DropTail::new(Limit::Packets(packets), None)) };
        let streams = Streams::new(11, 2);
        let interface = Interface::with_discipline(
            &config, Ring { packets: ring, bql: false }, "l", &streams, Crediting::Off, queue(limit),
        );
        let two = drive(AnyElement::Other(Box::new(interface)), &offers, &[]);
        let link = Link::with_discipline(&config, "l", &streams, queue(limit + ring - 1));
        let one = drive(link.into(), &offers, &[]);
        prop_assert_eq!((one.packets, one.counters, one.waited), (two.packets, two.counters, two.waited));
    }
}

fn slow(queue: u64) -> LinkConfig {
    LinkConfig { rate: Some(Rate::from_bps(8_000_000)), queue: Limit::Packets(queue).into(), ..LinkConfig::default() }
}

#[test]
fn each_stage_is_counted_by_itself() {
    let ring = Ring { packets: 4, bql: false };
    let seen =
        drive(interface(&slow(0), ring, Queue::DropTail(Limit::Packets(3)), Crediting::On), &[(0, 1000); 9], &[]);
    let stages = seen.stages.unwrap();
    assert_eq!((stages.max_ring_packets, stages.max_qdisc_packets, stages.max_qdisc_bytes), (4, 3, 3000));
    // The packets of the discipline wait there for 1, 2 and 3 ms, and in the ring for 3 ms each.
    assert_eq!((stages.qdisc_ns, stages.max_qdisc), (6_000_000, Span::from_millis(3)));
    assert_eq!((stages.ring_ns, stages.max_ring), (6_000_000 + 9_000_000, Span::from_millis(3)));
    assert_eq!((seen.counters.dropped_queue, seen.counters.max_queue_packets), (2, 6));
    // Of seven packets that take 1 ms each, four are in the ring at first and three in the discipline. All that wait: 6 ms
    // of the last packet, 5 ms of the one before it, and so on.
    let Held { queue, stages: Some(held) } = seen.held.unwrap() else { panic!("an interface has stages") };
    let area = |ms: u128| Area { packet_ns: ms * 1_000_000, byte_ns: ms * 1_000_000_000 };
    assert_eq!((queue, held.qdisc, held.ring), (area(6 + 5 + 4 + 3 + 2 + 1), area(3 + 2 + 1), area(4 * 4 + 3 + 2 + 1)));
    let times: Vec<u64> = seen.credits.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(times, [0, 0, 1, 2, 3, 4, 5, 6, 7], "drops at once, the others when they are sent");
    assert_eq!(seen.admissions[6..], [Admission::Taken, Admission::Refused, Admission::Refused]);
}

#[test]
fn who_is_dropped_for_another_is_told_apart() {
    let ring = Ring { packets: 1, bql: false };
    let offers: Vec<(u64, u32)> = (0..4).map(|ms| (ms * 100_000, 1000)).collect();
    let mut element = interface(&slow(0), ring, Queue::HeadDrop(Limit::Packets(1)), Crediting::On);
    let mut admissions = Vec::new();
    for (n, &(t, len)) in offers.iter().enumerate() {
        // The third replaces one of its own flow, the last one of another flow.
        let connection = ConnectionId(u32::from(n == 3));
        let flow = FlowKey { connection, ..FlowKey::default() };
        let p = packet(n as u32, len).with(|p| p.flow = flow);
        element.offer(Port(0), p, &mut Cx::new(Time::from_nanos(t), ComponentId(0)));
        admissions.push(element.admission());
    }
    assert_eq!(admissions, [Admission::Taken, Admission::Taken, Admission::Congested, Admission::Taken]);
}

/// A burst into a long ring: with byte queue limits all but a few packets wait where the discipline decides on them.
#[test]
fn byte_queue_limits_keep_the_ring_short_and_the_wire_busy() {
    let longest = |bql| {
        let ring = Ring { packets: 256, bql };
        let queue = Queue::DropTail(Limit::Packets(1000));
        let seen = drive(interface(&slow(0), ring, queue, Crediting::Off), &[(0, 1000); 500], &[]);
        assert_eq!(seen.packets.last().map(|p| p.0), Some(Time::from_nanos(500_000_000)), "the wire is never idle");
        seen.stages.unwrap().max_ring_packets
    };
    assert_eq!(longest(false), 256);
    assert!(longest(true) <= 4, "{}", longest(true));
}

#[test]
fn a_queue_of_any_length_takes_memory_only_for_what_is_in_it() {
    let ring = Ring { packets: 1_000_000_000, bql: false };
    let config = LinkConfig { ring: Some(ring), ..slow(100_000_000) };
    let element = AnyElement::of(&config, "l", &Streams::new(1, 0), Crediting::On);
    assert_eq!(drive(element, &[(0, 1000); 20], &[]).packets.len(), 20);
}

#[test]
fn the_configuration_says_whether_a_direction_has_a_ring() {
    let read = |text: &str| serde_json::from_str::<LinkConfig>(text);
    assert_eq!(read(r#"{"ring": {}}"#).unwrap().ring, Some(Ring { packets: 256, bql: true }));
    assert_eq!(read("{}").unwrap().ring, None);
    assert!(!serde_json::to_string(&LinkConfig::default()).unwrap().contains("ring"));
    assert!(read(r#"{"ring": {"bytes": 3}}"#).is_err());
    assert_eq!(read(r#"{"ring": {"packets": 0}}"#).unwrap().check().unwrap_err().field, "ring");
}
