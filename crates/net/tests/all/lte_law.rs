//! A cell of LTE obeys the law of two clocks, loses nothing and keeps its order; its capacity, its shares and its gain from many users.

use crate::two_clocks::{self, Offered, Seen, drive_late};
use haltere_net::element::{Element, Port};
use haltere_net::link::{Cellular, LinkConfig};
use haltere_net::lte::{Adaptation, Cell, FadingModel, HARQ, LteConfig, Sinr, Speed, User};
use haltere_net::medium::{Entry, MediumCounters};
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::topology::Direction;
use haltere_net::wifi::{Metres, Width};
use haltere_net::{Address, ComponentId, Cx, FlowKey, Packet, Span, Time};
use proptest::prelude::*;

/// An offer: when (ns), at which port, how long.
type Offer = (u64, u32, u32);

fn packet(number: u32, (_, port, len): Offer) -> Packet<u32> {
    Packet::new(len, number).with(|p| p.flow = FlowKey { source: Address(port), ..FlowKey::default() })
}

/// A cell in which user k receives at port 2k and sends at port 2k + 1.
fn cell(config: &LteConfig, link: &LinkConfig, seed: u64) -> Cell<u32> {
    let entries: Vec<Entry<'_>> = (0..config.users.len())
        .flat_map(|station| {
            [("down", true), ("up", false)].map(|(way, downlink)| Entry {
                station,
                downlink,
                config: link,
                name: format!("user {station}/{way}"),
            })
        })
        .collect();
    Cell::new(config, "lte", &entries, &Streams::new(seed, 1)).unwrap()
}

fn made(offers: &[Offer]) -> Vec<Offered> {
    let offer = |(number, one): (usize, &Offer)| (one.0, Port(one.1), packet(number as u32, *one));
    offers.iter().enumerate().map(offer).collect()
}

fn drive(cell: Cell<u32>, offers: &[Offer]) -> (Seen, usize) {
    two_clocks::drive(cell, &made(offers))
}

fn configs() -> impl Strategy<Value = LteConfig> {
    let user = prop_oneof![
        Just(User::default()),
        Just(User { distance: Some(Metres(90.0)), sinr: None }),
        Just(User { distance: None, sinr: Some(Sinr(-8.0)) }),
        Just(User { distance: None, sinr: Some(Sinr(25.0)) }),
    ];
    let users = prop::collection::vec(user, 1..5);
    let speeds = prop::sample::select(vec![Speed(5.0), Speed(90.0)]);
    let widths = prop::sample::select(vec![Width(3), Width(10), Width(20)]);
    (users, speeds, prop::sample::select(FadingModel::ALL.to_vec()), widths, 0.0..1.0, 1u32..3).prop_map(
        |(users, speed, fading, width, activity, antennas)| LteConfig {
            speed,
            fading,
            width,
            activity,
            antennas,
            ..LteConfig::new(users)
        },
    )
}

fn links() -> impl Strategy<Value = LinkConfig> {
    let words =
        ["drop-tail:limit=4p", "fq_codel", "codel:target=1ms,interval=2ms", "tbf:rate=3Mbit/s,burst=3000B,limit=9p"];
    let cellular = prop_oneof![
        Just(None),
        Just(Some(Cellular { block_error: 0.6, harq_limit: 1, rlc: Span::from_micros(3700), ..HARQ })),
        Just(Some(Cellular { block_error: 0.0, grant: Span::from_millis(3), ..HARQ })),
    ];
    (cellular, prop::sample::select(words.to_vec())).prop_map(|(cellular, word)| LinkConfig {
        cellular,
        queue: QueueConfig::from_word(word).unwrap(),
        ..LinkConfig::default()
    })
}

fn offers(users: u32) -> impl Strategy<Value = Vec<Offer>> {
    let gap = prop_oneof![3 => 0u64..900_000, 1 => Just(0), 1 => Just(1_000_000), 1 => 0u64..20_000_000];
    let one = (gap, 0..2 * users, 40u32..1600);
    prop::collection::vec(one, 1..60).prop_map(|gaps| {
        let mut t = 0;
        let at = |(gap, port, len)| {
            t += gap;
            (t, port, len)
        };
        gaps.into_iter().map(at).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn extra_instants_change_nothing(
        (config, offers) in configs().prop_flat_map(|config| {
            let users = config.users.len() as u32;
            (Just(config), offers(users))
        }),
        link in links(),
        extra in prop::collection::vec(0u64..100_000_000, 0..60),
    ) {
        let (once, _) = drive(cell(&config, &link, 5), &offers);
        prop_assert_eq!(&once, &drive_late(cell(&config, &link, 5), &made(&offers), &[]));
        prop_assert_eq!(&once, &drive_late(cell(&config, &link, 5), &made(&offers), &extra));
        prop_assert!(once.packets.is_sorted_by_key(|(at, _)| *at));
        prop_assert_eq!(once.counters.offered, once.counters.delivered + once.counters.dropped());
        for port in 0..8 {
            let one = |n: &&(Time, u32)| offers[n.1 as usize].1 == port;
            let order: Vec<u32> = once.packets.iter().filter(one).map(|p| p.1).collect();
            prop_assert!(order.is_sorted(), "port {port}: {order:?}");
        }
    }
}

fn link(block_error: f64) -> LinkConfig {
    let cellular = Some(Cellular { block_error, ..HARQ });
    LinkConfig { queue: Limit::Packets(1_000_000).into(), cellular, ..LinkConfig::default() }
}

fn at(sinr_db: f64) -> User {
    User { sinr: Some(Sinr(sinr_db)), distance: None }
}

/// Without fading, one antenna: the SINR is what was given.
fn steady(users: Vec<User>) -> LteConfig {
    LteConfig { fading: FadingModel::None, antennas: 1, ..LteConfig::new(users) }
}

/// The bit/s of each port in a time in which all that are named have always packets.
fn saturate(config: &LteConfig, link: &LinkConfig, ports: &[u32], seed: u64, time: Span) -> (Vec<f64>, MediumCounters) {
    let mut cell = cell(config, link, seed);
    let end = Time::ZERO + time;
    let mut bits = vec![0.0; 2 * config.users.len()];
    let offer = |cell: &mut Cell<u32>, port: u32, now: Time| {
        cell.offer(Port(port), packet(port, (0, port, 1500)), &mut Cx::new(now, ComponentId(0)));
    };
    for port in ports {
        // A TTI of 20 MHz carries 11 packets at most; those in HARQ are 20 ms old.
        (0..400).for_each(|_| offer(&mut cell, *port, Time::ZERO));
    }
    loop {
        let now = cell.next_wake();
        if now > end {
            return (bits.into_iter().map(|b: f64| b / time.as_secs_f64()).collect(), cell.medium().unwrap());
        }
        while let Some((_, packet)) = cell.poll(now, &mut Cx::new(now, ComponentId(0))) {
            bits[packet.body as usize] += 12_000.0;
            offer(&mut cell, packet.body, now);
        }
    }
}

/// One user has all resource blocks: 0.6 · log2(1 + SINR) · 9 MHz, less the blocks that are sent again (1 + 0.1 + 0.01 + … of each).
#[test]
fn one_user_has_the_capacity_of_the_formula() {
    for (sinr, direction, port) in [(5.0, Direction::Down, 0), (30.0, Direction::Down, 0), (5.0, Direction::Up, 1)] {
        let efficiency = Adaptation::of(direction).efficiency(libm::pow(10.0, sinr / 10.0));
        let capacity = efficiency * 9e6;
        let (clean, medium) = saturate(&steady(vec![at(sinr)]), &link(0.0), &[port], 1, Span::from_secs(10));
        assert!((clean[port as usize] / capacity - 1.0).abs() < 0.002, "{sinr} dB: {clean:?}, not {capacity}");
        let used = medium.carriers.unwrap()[direction as usize];
        assert_eq!((used.used, medium.retries), (50 * medium.transmissions, 0));
        let (errors, _) = saturate(&steady(vec![at(sinr)]), &link(0.1), &[port], 1, Span::from_secs(10));
        let share = errors[port as usize] / capacity;
        assert!((share - 0.9).abs() < 0.01, "{sinr} dB: {share}");
    }
}

/// Users without fading share the time evenly, whatever their rates.
#[test]
fn users_share_the_time_evenly() {
    let (bits, _) =
        saturate(&steady(vec![at(0.0), at(10.0), at(20.0)]), &link(0.0), &[0, 2, 4], 1, Span::from_secs(20));
    for (user, sinr) in [0.0, 10.0, 20.0].into_iter().enumerate() {
        let alone = Adaptation::of(Direction::Down).efficiency(libm::pow(10.0, sinr / 10.0)) * 9e6;
        let share = bits[2 * user] / alone;
        assert!((share - 1.0 / 3.0).abs() < 0.01, "{sinr} dB: {share}");
    }
}

/// The mean efficiency at the largest of k Rayleigh-fading powers, over a mean SINR: the integral of its density
/// k · exp(-x) · (1 - exp(-x))^(k - 1).
fn best_of(k: i32, mean: f64) -> f64 {
    let step = 1e-3;
    let down = Adaptation::of(Direction::Down);
    let at = |x: f64| f64::from(k) * libm::exp(-x) * (1.0 - libm::exp(-x)).powi(k - 1) * down.efficiency(mean * x);
    (0..40_000).map(|n| at((f64::from(n) + 0.5) * step) * step).sum()
}

/// Fading users of one mean SINR: the scheduler serves each at its peaks, so that together they have the capacity of the best of them.
#[test]
fn many_users_have_the_capacity_of_the_best() {
    let capacity = |users: usize| {
        let speed = Speed(30.0 / 3.6);
        let window = Span::from_secs(1);
        let base = LteConfig { speed, window, fading: FadingModel::Flat, ..steady(vec![at(0.0); users]) };
        let ports: Vec<u32> = (0..users as u32).map(|user| 2 * user).collect();
        let (mut sum, runs) = (0.0, 12);
        for seed in 0..runs {
            let (bits, _) = saturate(&base, &link(0.0), &ports, seed, Span::from_secs(20));
            sum += bits.iter().sum::<f64>();
        }
        sum / runs as f64 / 9e6
    };
    let mut before = 0.0;
    for users in [1, 2, 5] {
        let (seen, expected) = (capacity(users), best_of(users as i32, 1.0));
        assert!((seen / expected - 1.0).abs() < 0.04, "{users} users: {seen}, not {expected}");
        assert!(seen > before * 1.2, "{users} users: {seen} after {before}");
        before = seen;
    }
}

/// A packet that finds an empty cell goes out in the next TTI and arrives at its end. Up, it waits for a request and a grant.
#[test]
fn a_packet_in_an_empty_cell_waits_for_its_tti() {
    let quiet = LinkConfig { cellular: None, ..link(0.0) };
    let sent = [(10_300_000u64, 0u32, 400u32), (42_000_000, 0, 400), (13_000_000 + 50_000_000, 1, 400)];
    let clean = |port: u32| if port == 0 { link(0.0) } else { quiet.clone() };
    for (offer, expected) in sent.into_iter().zip([12_000_000, 44_000_000, 79_000_000]) {
        let (seen, polls) = drive(cell(&steady(vec![at(20.0)]), &clean(offer.1), 3), &[offer]);
        assert_eq!(seen.packets[0].0.as_nanos(), expected, "{offer:?}");
        assert!(polls < 6, "{polls}");
    }
}

/// Nothing happens in a cell in which nobody has anything to send.
#[test]
fn an_idle_cell_is_not_polled() {
    let offers: Vec<Offer> = (0..20).map(|n| (n * 1_000_000_000, (n % 8) as u32, 1200)).collect();
    let (seen, polls) = drive(cell(&LteConfig::new(vec![at(15.0); 4]), &link(0.0), 1), &offers);
    assert_eq!(seen.packets.len(), 20);
    assert!(polls <= 20 * 4, "{polls}");
}

#[test]
fn runs_depend_on_the_dice_alone() {
    let offers: Vec<Offer> = (0..2000).map(|n| (n * 300_000, (n % 6) as u32, 1200)).collect();
    let config = LteConfig::new(vec![User::default(); 3]);
    let run = |seed| drive(cell(&config, &link(0.1), seed), &offers).0.packets;
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
