//! A cell obeys the law of two clocks and loses nothing; its retries, categories, aggregates and their order.

use crate::two_clocks::{self, Offered, Seen, drive_late};
use haltere_net::element::Port;
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::medium::Entry;
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::wifi::{Aggregation, Cell, CellConfig, Channel, Metres, Parameters, Rule, Standard};
use haltere_net::{Address, FlowKey, Packet, Span, Time};
use proptest::prelude::*;

/// DiffServ codepoints of the four categories: background, best effort, video, voice.
const CLASSES: [u8; 4] = [8, 0, 40, 48];

/// An offer: when (ns), at which port, how long, of which class.
type Offer = (u64, u32, u32, u8);

fn packet(number: u32, (_, port, len, class): Offer) -> Packet<u32> {
    let flow = FlowKey { source: Address(port), ..FlowKey::default() };
    Packet::new(len, number).with(|p| {
        p.flow = flow;
        p.class = class;
    })
}

/// A cell in which station k sends at port 2k and receives at port 2k + 1.
fn cell(config: &CellConfig, link: &LinkConfig) -> Cell<u32> {
    let entries: Vec<Entry<'_>> = (0..config.stations.len())
        .flat_map(|station| {
            [("up", false), ("down", true)].map(|(way, downlink)| Entry {
                station,
                downlink,
                config: link,
                name: format!("station {station}/{way}"),
            })
        })
        .collect();
    Cell::new(config, "cell", &entries, &Streams::new(5, 1)).unwrap()
}

fn made(offers: &[Offer]) -> Vec<Offered> {
    let offer = |(number, one): (usize, &Offer)| (one.0, Port(one.1), packet(number as u32, *one));
    offers.iter().enumerate().map(offer).collect()
}

fn drive(cell: Cell<u32>, offers: &[Offer]) -> Seen {
    two_clocks::drive(cell, &made(offers)).0
}

fn standards() -> impl Strategy<Value = CellConfig> {
    let distances = prop::collection::vec(prop_oneof![Just(1.0), Just(40.0), Just(80.0)], 1..5);
    let retries = prop_oneof![Just(Some(0)), Just(Some(2)), Just(Some(7)), Just(None)];
    let lifetime = prop::option::of((1u64..30).prop_map(Span::from_millis));
    let rules = (retries, any::<bool>(), any::<bool>(), lifetime);
    (prop::sample::select(Standard::ALL.to_vec()), distances, rules, any::<bool>(), 1u32..9).prop_map(
        |(standard, distances, (retries, extended_space, asks, lifetime), aggregates, frames)| {
            let stations = distances.into_iter().map(Metres).collect();
            let usual = CellConfig::new(Channel::of(standard), stations);
            let aggregation = usual.aggregation.filter(|_| aggregates).map(|a| Aggregation { frames, ..a });
            let block_ack_request = asks && aggregation.is_some();
            CellConfig { retries, extended_space, aggregation, block_ack_request, lifetime, ..usual }
        },
    )
}

fn links() -> impl Strategy<Value = LinkConfig> {
    let loss =
        prop_oneof![Just(LossModel::None), Just(LossModel::Uniform { p: 0.3 }), Just(LossModel::Periodic { every: 3 })];
    let words =
        ["drop-tail:limit=4p", "fq_codel", "codel:target=1ms,interval=2ms", "tbf:rate=3Mbit/s,burst=3000B,limit=9p"];
    (loss, prop::sample::select(words.to_vec())).prop_map(|(loss, word)| LinkConfig {
        loss,
        queue: QueueConfig::from_word(word).unwrap(),
        ..LinkConfig::default()
    })
}

fn offers(stations: u32) -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![3 => 0u64..900_000, 1 => Just(0), 1 => 0u64..20_000_000];
    let one = (gap, 0..2 * stations, 40u32..1600, prop::sample::select(CLASSES.to_vec()));
    prop::collection::vec(one, 1..60).prop_map(|gaps| {
        let mut t = 0;
        let at = |(gap, port, len, class)| {
            t += gap;
            (t, port, len, class)
        };
        gaps.into_iter().map(at).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn extra_instants_change_nothing(
        (config, offers) in standards().prop_flat_map(|config| {
            let stations = config.stations.len() as u32;
            (Just(config), offers(stations))
        }),
        link in links(),
        extra in prop::collection::vec(0u64..100_000_000, 0..60),
    ) {
        let once = drive(cell(&config, &link), &offers);
        prop_assert_eq!(&once, &drive_late(cell(&config, &link), &made(&offers), &[]));
        prop_assert_eq!(&once, &drive_late(cell(&config, &link), &made(&offers), &extra));
        prop_assert!(once.packets.is_sorted_by_key(|(at, _)| *at));
        prop_assert_eq!(once.counters.offered, once.counters.delivered + once.counters.dropped());
        prop_assert_eq!(once.medium.given_up, once.counters.dropped_retries);
        if config.retries.is_none() {
            prop_assert_eq!(once.counters.dropped_retries, 0);
        }
        // What a queue and a category pass on keeps its order, whatever was sent again. A fair queue has one flow here.
        for (port, class) in (0..8).flat_map(|port| CLASSES.map(|class| (port, class))) {
            let one = |n: &&(Time, u32)| offers[n.1 as usize].1 == port && (config.rule == Rule::Dcf || offers[n.1 as usize].3 == class);
            let order: Vec<u32> = once.packets.iter().filter(one).map(|p| p.1).collect();
            prop_assert!(order.is_sorted(), "port {port}, class {class}: {order:?}");
        }
    }
}

fn of(standard: Standard, stations: usize) -> CellConfig {
    CellConfig::new(Channel::of(standard), vec![Metres(1.0); stations])
}

fn lossy(loss: LossModel) -> LinkConfig {
    LinkConfig { loss, queue: Limit::Packets(1000).into(), ..LinkConfig::default() }
}

/// Without MAC retransmissions, as the paper on MQTT over QUIC has cells, each loss is the transport's.
#[test]
fn without_retries_each_lost_frame_is_lost() {
    let config = CellConfig { retries: Some(0), ..of(Standard::A, 1) };
    let offers: Vec<Offer> = (0..1000).map(|n| (n * 1_000_000, 0, 1500, 0)).collect();
    let seen = drive(cell(&config, &lossy(LossModel::Periodic { every: 20 })), &offers);
    assert_eq!((seen.counters.delivered, seen.counters.dropped_retries, seen.medium.retries), (950, 50, 0));
    // The usual limit repairs them all.
    let seen = drive(cell(&of(Standard::A, 1), &lossy(LossModel::Periodic { every: 20 })), &offers);
    assert_eq!((seen.counters.delivered, seen.counters.dropped_retries), (1000, 0));
    assert_eq!(seen.medium.frames, 1000 + seen.medium.retries);
}

/// Seven attempts. With half of the frames lost, 1 of 128 packets is given up.
#[test]
fn the_retry_limit_counts_attempts() {
    let offers: Vec<Offer> = (0..40_000).map(|n| (n * 4_000_000, 0, 200, 0)).collect();
    let seen = drive(cell(&of(Standard::A, 1), &lossy(LossModel::Uniform { p: 0.5 })), &offers);
    let expected = 40_000.0 / 128.0;
    let off = (seen.counters.dropped_retries as f64 - expected) / f64::sqrt(expected);
    assert!(off.abs() < 4.0, "{} of {expected}", seen.counters.dropped_retries);
}

/// 802.11a at 54 Mbit/s: a frame that finds the medium idle is sent at the next slot boundary.
#[test]
fn a_frame_on_an_idle_medium_waits_for_nothing() {
    let seen = drive(cell(&of(Standard::A, 1), &lossy(LossModel::None)), &[(9_000_000, 0, 1500, 0)]);
    // Slot boundaries are 16 + 9 k µs from the start on: 9 000 µs is followed by 9 007. The frame lasts 248 µs, and light 3 ns.
    assert_eq!(seen.packets, [(Time::from_nanos(9_007_000 + 248_000 + 3), 0)]);
}

/// Saturated by voice and background traffic of two stations each, the voice gets nearly all.
#[test]
fn voice_goes_before_background() {
    let config = CellConfig { aggregation: None, ..of(Standard::N, 4) };
    let offers: Vec<Offer> =
        (0..4000).map(|n: u32| (0, n % 4 * 2, 300, if n.is_multiple_of(2) { 48 } else { 8 })).collect();
    let seen = drive(cell(&config, &lossy(LossModel::None)), &offers);
    let first = &seen.packets[..1000];
    let voice = first.iter().filter(|(_, n)| n.is_multiple_of(2)).count();
    assert!(voice > 900, "{voice} of 1000");
}

/// Aggregates carry up to 64 frames; without them each frame has its own backoff and acknowledgement.
#[test]
fn aggregation_shares_the_overhead() {
    let offers: Vec<Offer> = (0..640).map(|_| (0, 0, 1500, 0)).collect();
    let with = drive(cell(&of(Standard::N, 1), &lossy(LossModel::None)), &offers);
    let none = CellConfig { aggregation: None, ..of(Standard::N, 1) };
    let without = drive(cell(&none, &lossy(LossModel::None)), &offers);
    assert_eq!((with.medium.frames, without.medium.transmissions), (640, 640));
    // 65 535 bytes are 42 frames of 1544; at 65 Mbit/s 5.484 ms are 28.
    let longest = 5484 - 36;
    let frames = longest / 4 * 260 / 8 / 1544;
    assert_eq!(with.medium.transmissions, 640u64.div_ceil(frames));
    let [a, b] = [&with, &without].map(|seen| seen.packets[639].0.as_secs_f64());
    assert!(b > 1.4 * a, "{a} s and {b} s");
}

/// Frames of an aggregate that are lost are sent again, and those behind them wait at the receiver.
#[test]
fn what_is_lost_of_an_aggregate_is_sent_again_and_keeps_its_place() {
    let offers: Vec<Offer> = (0..200).map(|_| (0, 0, 1500, 0)).collect();
    let seen = drive(cell(&of(Standard::N, 1), &lossy(LossModel::Uniform { p: 0.2 })), &offers);
    let order: Vec<u32> = seen.packets.iter().map(|p| p.1).collect();
    assert_eq!(order, (0..200).collect::<Vec<u32>>());
    assert!((30..80).contains(&seen.medium.retries), "{}", seen.medium.retries);
}

/// Stations of video have transmission opportunities of 3 ms: several frames follow each other after SIFS.
/// After an aggregate without a block acknowledgement there is a request for it, as often as a frame may be sent.
#[test]
fn a_block_acknowledgement_that_did_not_come_is_asked_for() {
    let transmissions = |block_ack_request: bool, loss: LossModel| {
        let config = CellConfig { block_ack_request, ..of(Standard::N, 1) };
        let seen = drive(cell(&config, &lossy(loss)), &[(0, 0, 1500, 0), (0, 0, 1500, 0), (0, 0, 1500, 0)]);
        (seen.medium.transmissions, seen.medium.frames, seen.counters.delivered, seen.counters.dropped_retries)
    };
    assert_eq!(transmissions(true, LossModel::None), (1, 3, 3, 0));
    // One frame of the aggregate arrives, so it is acknowledged.
    assert_eq!(transmissions(true, LossModel::List { packets: vec![1, 2] }), (2, 5, 3, 0));
    let all = |asks| transmissions(asks, LossModel::List { packets: vec![1, 2, 3] });
    assert_eq!(all(false), (2, 6, 3, 0));
    assert_eq!(all(true), (3, 6, 3, 0));
    // Nothing is ever read: 7 attempts with the aggregate, and 7 requests after each but the last of them.
    let never = |asks| transmissions(asks, LossModel::Uniform { p: 1.0 });
    assert_eq!(never(false), (7, 21, 0, 3));
    assert_eq!(never(true).0, never(false).0 + 6 * 7);
}

#[test]
fn a_packet_is_dropped_at_the_end_of_its_lifetime() {
    let lifetime = Span::from_millis(500);
    let offers = vec![(0, 0, 1500, 0); 1000];
    let seen =
        drive(cell(&CellConfig { lifetime: Some(lifetime), ..of(Standard::B, 1) }, &lossy(LossModel::None)), &offers);
    let (last, counters) = (seen.packets.last().unwrap().0, seen.counters);
    assert!((499..503).contains(&(last.as_nanos() / 1_000_000)), "{last:?}");
    assert!(counters.delivered > 200 && counters.dropped_lifetime == Some(1000 - counters.delivered), "{counters:?}");
    assert_eq!(drive(cell(&of(Standard::B, 1), &lossy(LossModel::None)), &offers).counters.dropped_lifetime, None);
}

#[test]
fn a_transmission_opportunity_is_used_up() {
    let config = CellConfig { aggregation: None, ..of(Standard::N, 1) };
    let offers: Vec<Offer> = (0..40).map(|_| (0, 0, 1500, 40)).collect();
    let seen = drive(cell(&config, &lossy(LossModel::None)), &offers);
    let gaps: Vec<u64> = seen.packets.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_nanos()).collect();
    // SIFS, frame (36 + 48 · 4 µs), propagation twice, SIFS and ACK (28 µs).
    let back_to_back = 16_000 + 228_000 + 2 * 3 + 16_000 + 28_000;
    // 3008 µs hold 10 exchanges of 272 µs with SIFS between them: 10 · 272 + 9 · 16 = 2864.
    let bursts: Vec<usize> = gaps.split(|&gap| gap != back_to_back).map(|burst| burst.len() + 1).collect();
    assert_eq!(bursts, [10, 10, 10, 10]);
}

/// With DCF everybody has the same chance, also the access point: it has one of three shares, for both receivers.
#[test]
fn the_access_point_contends_like_a_station() {
    let stations = [0u32, 2];
    let mut offers: Vec<Offer> = Vec::new();
    for _ in 0..2000 {
        offers.extend(stations.map(|port| (0, port, 1500, 0)));
        offers.extend(stations.map(|port| (0, port + 1, 1500, 0)));
    }
    let wide = LinkConfig { queue: Limit::Packets(10_000).into(), ..LinkConfig::default() };
    let seen = drive(cell(&of(Standard::A, 2), &wide), &offers);
    let first = &seen.packets[..3000];
    let share = |port| first.iter().filter(|(_, n)| offers[*n as usize].1 == port).count() as f64 / 3000.0;
    for (port, expected) in [(0, 1.0 / 3.0), (2, 1.0 / 3.0), (1, 1.0 / 6.0), (3, 1.0 / 6.0)] {
        assert!((share(port) - expected).abs() < 0.03, "port {port}: {}", share(port));
    }
}

/// A slow station takes the medium for longer, so a fast one is slowed down too (M. Heusse, F. Rousseau, G. Berger-Sabbatel,
/// A. Duda, "Performance anomaly of 802.11b", IEEE INFOCOM 2003).
#[test]
fn a_far_station_slows_the_near_one_down() {
    let time = |far: f64| {
        let config = CellConfig::new(Channel::of(Standard::B), vec![Metres(1.0), Metres(far)]);
        let offers: Vec<Offer> = (0..800).map(|n| (0, n % 2 * 2, 1500, 0)).collect();
        let seen = drive(cell(&config, &lossy(LossModel::None)), &offers);
        let near = seen.packets.iter().filter(|(_, n)| n.is_multiple_of(2)).nth(300);
        near.map(|(at, _)| at.as_secs_f64()).unwrap()
    };
    assert!(time(150.0) > 3.0 * time(1.0), "{} s and {} s", time(150.0), time(1.0));
}

#[test]
fn what_is_wrong_is_refused_with_its_field() {
    let field = |config: CellConfig| config.check().unwrap_err().0;
    let a = || of(Standard::A, 1);
    assert_eq!(field(CellConfig { stations: vec![], ..a() }), "stations");
    assert_eq!(field(CellConfig { stations: vec![Metres(1e4)], ..a() }), "distance");
    assert_eq!(field(CellConfig { stations: vec![Metres(-1.0)], ..a() }), "distance");
    assert_eq!(field(CellConfig { aggregation: Some(Aggregation { frames: 2, bytes: 3000 }), ..a() }), "aggregation");
    let cw = Parameters { cw_min: 14, ..a().parameters[0] };
    assert_eq!(field(CellConfig { parameters: vec![cw], ..a() }), "cw_min");
    assert_eq!(field(CellConfig { block_ack_request: true, ..a() }), "block_ack_request");
    assert_eq!(field(CellConfig { lifetime: Some(Span::ZERO), ..a() }), "lifetime");
    assert!(Span::from_micros(34) == haltere_net::wifi::Phy::new(Channel::of(Standard::A)).difs());
}
