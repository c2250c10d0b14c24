//! Tests the law that joins the two clocks, conservation, and that a drop-tail link works the same with and without its
//! fast path.

use crate::disciplines;

use disciplines::FairAged;
use haltere_net::link::{Cellular, Link, LinkConfig, LinkCounters};
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::occupancy::Area;
use haltere_net::queue::{Discipline, DropTail, Limit, Place, QueueConfig, QueueDiscipline};
use haltere_net::rng::Streams;
use haltere_net::trace::RateTrace;
use haltere_net::varying::{Between, InOutage, Orbit, Outages, Period, Profile};
use haltere_net::{ComponentId, ConnectionId, Cx, Ecn, FlowKey, Packet, Rate, Span, Time};
use proptest::prelude::*;

type Arrival = (u64, u32);

/// The DiffServ codepoint of the ToS byte 0x10.
const MINIMISE_DELAY: u8 = 4;

fn packet(n: u32, len: u32) -> Packet<u32> {
    let flow = FlowKey { connection: ConnectionId(n * n % 5), ..FlowKey::default() };
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][n as usize % 3];
    Packet::new(len, n).with(|p| {
        p.ecn = ecn;
        p.flow = flow;
        p.class = if n.is_multiple_of(4) { MINIMISE_DELAY } else { 0 };
    })
}

/// The queue of a link in a test.
#[derive(Clone, Copy, Debug)]
enum Queue {
    /// As configured: drop-tail with its fast path.
    Configured,
    /// A drop-tail queue on the general path of all other disciplines.
    Served,
    FairAged,
    /// A discipline, by its word.
    Word(&'static str),
    /// Any discipline, with parameters that make it act within the few milliseconds of a test.
    Quick(Discipline),
}

const HEAD_DROP: Queue = Queue::Word("head-drop:limit=3p");
const SHAPER: Queue = Queue::Word("tbf:rate=3Mbit/s,burst=3000B,limit=9p");
const BANDS: Queue = Queue::Word("pfifo_fast:limit=5p");

fn queues() -> Vec<Queue> {
    let mut all = vec![Queue::Configured, Queue::Served, Queue::FairAged, HEAD_DROP, SHAPER, BANDS];
    all.extend(["fq:maxrate=3Mbit/s,quantum=300B", "sfq:perturb=2ms,divisor=2"].map(Queue::Word));
    all.push(Queue::Word("red:min=1kB,max=5kB,avpkt=1000B,adaptive=true,gentle=true,ecn=true"));
    all.extend(Discipline::ALL.iter().map(|&discipline| Queue::Quick(discipline)));
    all
}

/// A discipline whose times are a few milliseconds and whose limits are a few packets.
fn quick(discipline: Discipline) -> QueueConfig {
    let mut config = QueueConfig::of(discipline);
    let settings = [
        ("limit", "12p"),
        ("memlimit", "20kB"),
        ("target", "1ms"),
        ("interval", "3ms"),
        ("rtt", "3ms"),
        ("tupdate", "1ms"),
        ("step_thresh", "500us"),
        ("bandwidth", "5Mbit/s"),
        ("quantum", "600B"),
        ("ecn", "true"),
    ];
    for (name, text) in settings {
        if discipline.parameters().iter().any(|parameter| parameter.name == name) {
            assert_eq!(config.set(name, text), Ok(()));
        }
    }
    config
}

fn make(config: &LinkConfig, queue: Queue) -> Link<u32> {
    let streams = Streams::new(11, 2);
    let (limit, mark) = config.queue.as_drop_tail().expect("configurations here are drop-tail");
    let scale = config.scale(Span::ZERO);
    let limit = limit.limit(&scale);
    let built: Box<dyn QueueDiscipline<u32>> = match queue {
        Queue::Configured => return Link::new(config, "l", &streams),
        Queue::Served => Box::new(DropTail::new(limit, mark.map(|m| m.limit(&scale)))),
        Queue::FairAged => Box::new(FairAged::new(8, Span::from_millis(3))),
        Queue::Word(word) => {
            QueueConfig::from_word(word).unwrap().build(&Place { scale, name: "l", streams: &streams })
        }
        Queue::Quick(discipline) => quick(discipline).build(&Place { scale, name: "l", streams: &streams }),
    };
    Link::with_discipline(config, "l", &streams, built)
}

/// Offers the packets at their times; polls at every offer, at the extra instants too, and at the end.
fn drive(link: Link<u32>, offers: &[(u64, u32)], extra: &[u64]) -> Vec<Arrival> {
    drive_and_count(link, offers, extra).0
}

fn drive_and_count(mut link: Link<u32>, offers: &[(u64, u32)], extra: &[u64]) -> (Vec<Arrival>, LinkCounters) {
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
                // The highest bit stands for a mark.
                out.push((at.as_nanos(), p.body | u32::from(p.ecn == Ecn::Ce) << 31));
            }
        }
        assert!(link.conserves());
    }
    assert_eq!(link.inside(), 0);
    assert_eq!(link.next_wake(), Time::NEVER);
    (out, link.counters())
}

/// The contents of a link over time, until each offer (with the packets before it) and until long after the last.
fn waited(mut link: Link<u32>, offers: &[(u64, u32)]) -> Vec<Area> {
    let end = Time::from_nanos(u64::MAX / 2);
    let mut seen = Vec::new();
    for (n, &(t, len)) in offers.iter().enumerate() {
        let mut cx = Cx::new(Time::from_nanos(t), ComponentId(0));
        seen.push(link.held(cx.now, &mut cx).queue);
        link.offer(packet(n as u32, len), &mut cx);
    }
    seen.push(link.held(end, &mut Cx::new(end, ComponentId(0))).queue);
    seen
}

/// Drives a link as a simulator does: polls when the link asks for it and at no other time. A link that asked for the
/// same time forever would never finish.
fn drive_by_wakes(mut link: Link<u32>, offers: &[(u64, u32)]) -> (Vec<Arrival>, LinkCounters) {
    let mut out = Vec::new();
    let mut offers = offers.iter().enumerate().peekable();
    let mut steps = 0;
    loop {
        steps += 1;
        assert!(steps < 100_000, "the link spins");
        let offer = offers.peek().map_or(Time::NEVER, |(_, (t, _))| Time::from_nanos(*t));
        let now = offer.min(link.next_wake());
        if now == Time::NEVER {
            return (out, link.counters());
        }
        let mut cx = Cx::new(now, ComponentId(0));
        if let Some((n, &(_, len))) = offers.next_if(|_| offer == now) {
            link.offer(packet(n as u32, len), &mut cx);
        } else if let Some((at, p)) = link.poll(now, &mut cx) {
            assert_eq!(at, now, "a packet comes out when the link said");
            out.push((at.as_nanos(), p.body | u32::from(p.ecn == Ecn::Ce) << 31));
        }
    }
}

#[derive(Clone, Default, Debug)]
struct Speed {
    rate: Option<Rate>,
    trace: Option<RateTrace>,
    profile: Option<Profile>,
}

/// Steps or ramps within some 20 ms, once or repeated.
fn profile(values: std::ops::Range<u64>) -> impl Strategy<Value = Profile> {
    let points = prop::collection::vec((1u64..6_000_000, values), 1..5);
    (points, any::<bool>(), prop::option::of(1_000_000u64..5_000_000)).prop_map(|(points, ramp, rest)| {
        let mut at = 0;
        let ats: Vec<u64> = points
            .iter()
            .map(|p| {
                at += p.0;
                at - points[0].0
            })
            .collect();
        let repeat = rest.map(|rest| Span::from_nanos(ats[ats.len() - 1] + rest));
        let ats: Vec<Span> = ats.into_iter().map(Span::from_nanos).collect();
        let values: Vec<u64> = points.iter().map(|p| p.1).collect();
        Profile::new(&ats, &values, if ramp { Between::Ramp } else { Between::Step }, repeat).unwrap()
    })
}

fn outages() -> impl Strategy<Value = Outages> {
    let periods = prop::collection::vec((0u64..20_000_000, 1u64..8_000_000), 0..3);
    (periods, any::<bool>(), prop::option::of(100_000_000u64..120_000_000)).prop_map(|(gaps, hold, repeat)| {
        let mut at = 0;
        let periods = gaps.into_iter().map(|(gap, lasts)| {
            let from = at + gap;
            at = from + lasts;
            Period { from: Span::from_nanos(from), to: Span::from_nanos(at) }
        });
        let packets = if hold { InOutage::Hold } else { InOutage::Drop };
        Outages::new(periods.collect(), packets, repeat.map(Span::from_nanos)).unwrap()
    })
}

/// A base station with short times, or satellites that follow each other quickly.
fn radio() -> impl Strategy<Value = (Option<Cellular>, Option<Orbit>)> {
    let cellular =
        (1u64..3, 0u64..2, 0u64..4, prop_oneof![Just(0.0), Just(0.3)]).prop_map(|(tti, period, grant, block_error)| {
            Some(Cellular {
                tti: Span::from_micros(500 * tti),
                request_period: millis(period),
                grant: millis(grant),
                block_error,
                harq: millis(2),
                harq_limit: 1,
                rlc: millis(5),
            })
        });
    let orbit = (500.0..2000.0, 1u64..20)
        .prop_map(|(altitude_km, ms)| Some(Orbit { altitude_km, least_elevation_deg: 10.0, interval: millis(ms) }));
    (prop_oneof![2 => Just(None), 1 => cellular], prop_oneof![3 => Just(None), 1 => orbit])
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
        Just(Speed::default()),
        (100_000u64..1_000_000_000).prop_map(|r| Speed { rate: Some(Rate::from_bps(r)), ..Speed::default() }),
        trace.prop_map(|trace| Speed { trace, ..Speed::default() }),
        profile(100_000..50_000_000).prop_map(|profile| Speed { profile: Some(profile), ..Speed::default() }),
    ];
    let delay = (0u64..5_000_000, prop::option::of(profile(0..5_000_000)), any::<bool>());
    let mark =
        prop::option::of(prop_oneof![(1u64..10).prop_map(Limit::Packets), (1600u64..9_000).prop_map(Limit::Bytes)]);
    let duplication = prop_oneof![Just(0.0), Just(0.1)];
    (rate, (delay, radio()), prop::option::of(outages()), (queue, mark), loss, jitter, duplication).prop_map(
        |(speed, (delay, (cellular, orbit)), outages, (queue, mark), loss, jitter, duplication)| {
            let (delay, delay_profile, delay_reorders) = delay;
            // An orbit is a delay that changes.
            let delay_profile = delay_profile.filter(|_| orbit.is_none());
            LinkConfig {
                rate: speed.rate,
                trace: speed.trace,
                rate_profile: speed.profile,
                delay: Span::from_nanos(delay),
                delay_profile,
                orbit,
                delay_reorders,
                outages,
                cellular,
                mtu: 1500,
                queue: QueueConfig::drop_tail(queue, mark),
                ring: None,
                tunnel: None,
                breaker: None,
                loss,
                jitter,
                duplication,
            }
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
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn extra_instants_change_nothing(config in configs(), offers in offers(), extra in prop::collection::vec(0u64..100_000_000, 0..60), queue in prop::sample::select(queues())) {
        let once = drive_and_count(make(&config, queue), &offers, &[]);
        let often = drive_and_count(make(&config, queue), &offers, &extra);
        prop_assert_eq!(&once, &often);
        prop_assert_eq!(drive_by_wakes(make(&config, queue), &offers), once);
    }

    #[test]
    fn departures_known_on_arrival_are_those_of_a_queue_that_is_served(config in configs(), offers in offers(), extra in prop::collection::vec(0u64..100_000_000, 0..60)) {
        let known = drive_and_count(make(&config, Queue::Configured), &offers, &extra);
        let served = drive_and_count(make(&config, Queue::Served), &offers, &extra);
        prop_assert_eq!(known, served);
        let [known, served] = [Queue::Configured, Queue::Served].map(|queue| waited(make(&config, queue), &offers));
        prop_assert_eq!(known, served);
    }
}

#[test]
fn a_long_train_is_serialised_without_rounding_drift() {
    // 3 Mbit/s and 1000-byte packets: 2 666 666.67 ns each; 3000 of them take exactly 8 s.
    let config = LinkConfig {
        rate: Some(Rate::from_bps(3_000_000)),
        queue: Limit::Packets(5000).into(),
        ..LinkConfig::default()
    };
    let out = drive(make(&config, Queue::Configured), &[(0, 1000); 3000], &[]);
    assert_eq!(out.last(), Some(&(8_000_000_000, 2999)));
}

/// DCTCP's switch (RFC 8257 section 3.1): a packet that finds K packets waiting is marked if it is ECN-capable.
#[test]
fn a_queue_longer_than_the_threshold_marks_what_is_ecn_capable() {
    let config = LinkConfig {
        rate: Some(Rate::from_bps(8_000_000)),
        queue: QueueConfig::drop_tail(Limit::Packets(100), Some(Limit::Packets(3))),
        ..LinkConfig::default()
    };
    for queue in [Queue::Configured, Queue::Served] {
        let out = drive(make(&config, queue), &[(0, 1000); 12], &[]);
        let marked: Vec<u32> = out.iter().filter(|a| a.1 >> 31 == 1).map(|a| a.1 & 0xffff).collect();
        // One is sent, three wait; of the rest every third is not ECN-capable.
        assert_eq!(marked, [4, 5, 7, 8, 10, 11]);
    }
}

#[test]
fn the_packet_being_sent_does_not_count_as_waiting() {
    let config =
        LinkConfig { rate: Some(Rate::from_bps(8_000_000)), queue: Limit::Packets(2).into(), ..LinkConfig::default() };
    let bodies = |queue| drive(make(&config, queue), &[(0, 1000); 5], &[]).iter().map(|a| a.1).collect::<Vec<_>>();
    assert_eq!(bodies(Queue::Configured), [0, 1, 2]);
    assert_eq!(bodies(Queue::Served), [0, 1, 2]);
}

fn slow() -> LinkConfig {
    LinkConfig { rate: Some(Rate::from_bps(8_000_000)), queue: Limit::Packets(3).into(), ..LinkConfig::default() }
}

fn bodies(arrivals: &[Arrival]) -> Vec<u32> {
    arrivals.iter().map(|a| a.1 & 0xffff).collect()
}

/// The packet that is dropped is not the one that arrived.
#[test]
fn head_drop_drops_the_oldest() {
    let (out, counters) = drive_and_count(make(&slow(), HEAD_DROP), &[(0, 1000); 7], &[]);
    assert_eq!(bodies(&out), [0, 4, 5, 6]);
    assert_eq!((counters.dropped_queue, counters.max_queue_packets), (3, 3));
    assert_eq!(counters.max_queueing, Span::from_millis(3));
    assert_eq!(counters.queueing_ns, 6_000_000);
}

/// Tokens for 3000 bytes at once, then 3 Mbit/s: a packet of 1000 bytes every 8/3 ms, on a link that is never busy.
#[test]
fn a_shaper_holds_packets_back_and_the_link_sleeps_meanwhile() {
    let config = LinkConfig::default();
    let (out, counters) = drive_by_wakes(make(&config, SHAPER), &[(0, 1000); 6]);
    let times: Vec<u64> = out.iter().map(|a| a.0).collect();
    assert_eq!(times, [0, 0, 0, 2_666_667, 5_333_334, 8_000_000]);
    assert_eq!((counters.delivered, counters.max_queue_packets), (6, 3));
}

#[test]
fn the_first_band_overtakes_and_its_sojourn_times_are_its_own() {
    let (out, counters) = drive_and_count(make(&slow(), BANDS), &[(0, 1000); 9], &[]);
    // 0 is being sent; 4 and 8 are to have little delay; 7 finds its band full.
    assert_eq!(bodies(&out), [0, 4, 8, 1, 2, 3, 5, 6]);
    assert_eq!((counters.dropped_queue, counters.served), (1, 8));
    assert_eq!(counters.queueing_ns, (1..=7).map(|ms| ms * 1_000_000).sum::<u128>());
}

#[test]
fn what_waited_too_long_is_marked_or_dropped_as_it_leaves() {
    let config = LinkConfig { rate: Some(Rate::from_bps(8_000_000)), ..LinkConfig::default() };
    let (out, counters) = drive_and_count(make(&config, Queue::FairAged), &[(0, 1000); 9], &[]);
    assert!(counters.dropped_early > 0 && counters.marked > 0 && counters.dropped_queue == 0, "{counters:?}");
    assert_eq!(counters.marked, out.iter().filter(|a| a.1 >> 31 == 1).count() as u64);
    assert_eq!(counters.delivered + counters.dropped_early, 9);
}

/// Three packets of 1 ms each at once, two of which wait, and two more at 2.25 ms, before the wire is idle.
#[test]
fn what_waits_is_integrated_over_time() {
    let offers = [(0, 1000), (0, 1000), (0, 500), (2_250_000, 1000), (2_250_000, 1000)];
    let area = |packet_us: u128, byte_us: u128| Area { packet_ns: packet_us * 1000, byte_ns: byte_us * 1000 };
    // 1000 bytes wait for 1 ms and 500 for 2 ms; then the wire is busy until 2.5 ms, and 1000 wait for 0.25 and 1.25 ms.
    let first = area(3000, 1_000_000 + 1_000_000);
    let all = area(3000 + 1500, 2_000_000 + 1_500_000);
    for queue in [Queue::Configured, Queue::Served] {
        let seen = waited(make(&slow(), queue), &offers);
        assert_eq!(seen, [area(0, 0), area(0, 0), area(0, 0), first, first, all], "{queue:?}");
    }
    // Half a millisecond after the beginning both have waited for half a millisecond.
    let seen = waited(make(&slow(), Queue::Configured), &[(0, 1000), (0, 1000), (0, 500), (500_000, 100)]);
    assert_eq!(seen[3], area(1000, 750_000));
}

/// A packet that is dropped at the head has stood in the queue until then.
#[test]
fn what_is_dropped_later_counts_as_long_as_it_waits() {
    // The first is sent for 1 ms; the fifth replaces the second after 0.6 ms. The others wait until 1, 2 and 3 ms.
    let seen = waited(make(&slow(), HEAD_DROP), &[(0, 1000), (0, 1000), (0, 1000), (0, 1000), (600_000, 1000)]);
    assert_eq!(seen[5].packet_ns, 600_000 + 1_000_000 + 2_000_000 + 2_400_000);
}

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

fn times(config: &LinkConfig, offers: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let [known, served] = [Queue::Configured, Queue::Served].map(|queue| drive(make(config, queue), offers, &[]));
    assert_eq!(known, served);
    known.iter().map(|&(at, n)| (at / 1000, n & 0xffff)).collect()
}

#[test]
fn a_rate_that_steps_down_in_the_middle_of_a_packet() {
    let rate = Profile::new(&[Span::ZERO, millis(10)], &[8_000_000, 800_000], Between::Step, None).ok();
    let config = LinkConfig { rate_profile: rate, ..LinkConfig::default() };
    // The second is sent for half a millisecond at 8 Mbit/s, the rest of it, 500 bytes, at 800 kbit/s.
    assert_eq!(times(&config, &[(8_500_000, 1000), (8_500_000, 1000)]), [(9500, 0), (15_000, 1)]);
}

#[test]
fn a_delay_that_falls_keeps_the_order_unless_asked_otherwise() {
    let delay_profile = Profile::new(&[Span::ZERO, millis(10)], &[20_000_000, 5_000_000], Between::Step, None).ok();
    let config = LinkConfig { delay_profile, ..LinkConfig::default() };
    let offers = [(9_000_000, 100), (11_000_000, 100), (30_000_000, 100)];
    assert_eq!(times(&config, &offers), [(29_000, 0), (29_000, 1), (35_000, 2)]);
    let reorders = LinkConfig { delay_reorders: true, ..config };
    assert_eq!(times(&reorders, &offers), [(16_000, 1), (29_000, 0), (35_000, 2)]);
}

#[test]
fn an_outage_drops_what_is_sent_in_it_or_holds_it() {
    let period = Period { from: millis(10), to: millis(20) };
    let with = |packets| {
        let outages = Outages::new(vec![period], packets, None).ok();
        LinkConfig { outages, rate: Some(Rate::from_bps(8_000_000)), delay: millis(100), ..LinkConfig::default() }
    };
    let offers = [(8_000_000, 1000), (8_000_000, 1000), (9_500_000, 1000), (15_000_000, 1000), (25_000_000, 1000)];
    // The serialisation of 0 and 1 ends by 10 ms; those of 2 and 3 overlap with the outage.
    assert_eq!(times(&with(InOutage::Drop), &offers), [(109_000, 0), (110_000, 1), (126_000, 4)]);
    let counters = drive_and_count(make(&with(InOutage::Drop), Queue::Configured), &offers, &[]).1;
    assert_eq!((counters.dropped_outage, counters.dropped()), (2, 2));
    // Packets that were held leave when the outage ends, one after the other.
    let held = [(109_000, 0), (110_000, 1), (121_000, 2), (122_000, 3), (126_000, 4)];
    assert_eq!(times(&with(InOutage::Hold), &offers), held);
}

/// A terminal that was idle waits for the next opportunity to ask, and for the grant; what follows uses its grants.
#[test]
fn an_idle_terminal_waits_for_a_grant() {
    let cellular = Cellular { request_period: millis(10), grant: millis(8), tti: millis(1), ..Cellular::default() };
    let config =
        LinkConfig { rate: Some(Rate::from_bps(8_000_000)), cellular: Some(cellular), ..LinkConfig::default() };
    let offers = [(2_500_000, 1000), (2_500_000, 500), (40_000_000, 100)];
    assert_eq!(times(&config, &offers), [(19_000, 0), (20_000, 1), (49_000, 2)]);
    let counters = drive_and_count(make(&config, Queue::Configured), &offers, &[]).1;
    assert_eq!((counters.dropped(), counters.max_queue_packets), (0, 1));
}

/// Blocks that are sent again delay what is behind them, and nothing is lost.
#[test]
fn block_errors_delay_and_keep_the_order() {
    let cellular = Cellular {
        tti: millis(1),
        block_error: 0.3,
        harq: millis(8),
        harq_limit: 3,
        rlc: millis(40),
        ..Cellular::default()
    };
    let config =
        LinkConfig { rate: Some(Rate::from_bps(8_000_000)), cellular: Some(cellular), ..LinkConfig::default() };
    let offers: Vec<(u64, u32)> = (0..1000).map(|n| (n * 10_000_000, 1000)).collect();
    let seen = times(&config, &offers);
    let late: Vec<u64> = seen.iter().map(|&(us, n)| us - u64::from(n) * 10_000 - 1000).collect();
    assert!(late.iter().all(|us| us.is_multiple_of(1000)) && seen.iter().map(|s| s.1).eq(0..1000));
    let once = late.iter().filter(|&&us| us == 8000).count();
    assert!((150..270).contains(&once), "{once}: 0.3 · 0.7 of 1000, less what waits for others");
}
