//! The cell against the saturation throughput of G. Bianchi, "Performance analysis of the IEEE 802.11 distributed
//! coordination function", IEEE Journal on Selected Areas in Communications 18(3), 2000: basic access, the parameters of his
//! table II (frequency hopping at 1 Mbit/s, payloads of 8184 bits), W = 32 and m = 3, and other windows.
//!
//! His model has no retry limit, and a collision is followed by DIFS. The fixed point of the model is computed here.
//!
//! One difference is known. In the model each slot has the same probability of a transmission, also the first one after a
//! busy period. By the standard's rule for DCF the others have at least one slot left then, so only the station that has
//! just sent, if it draws zero, can use that slot. EDCA stations count down at the boundary at which another one begins to
//! send, so the model describes them better (I. Tinnirello, G. Bianchi, Y. Xiao, "Refinements on IEEE 802.11 distributed
//! coordination function modeling approaches", IEEE Transactions on Vehicular Technology 59(3), 2010). Both rules are held to
//! the bound.

use haltere_net::element::{Element, Port};
use haltere_net::link::LinkConfig;
use haltere_net::medium::{Entry, MediumCounters};
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::wifi::{Cell, CellConfig, Channel, Metres, Parameters, Rule, Standard};
use haltere_net::{ComponentId, Cx, Packet, Span, Time};

/// 8184 bits.
const PAYLOAD: u32 = 1023;
/// Light takes 1 µs, the propagation delay of table II.
const DISTANCE: Metres = Metres(299.792_458);

/// The next step after a collision.
#[derive(Clone, Copy, PartialEq)]
enum After {
    Difs,
    Eifs,
}

struct Model {
    tau: f64,
    collision: f64,
}

/// The fixed point of Bianchi's equations (7) and (9), by bisection: the first falls with p, the second grows with τ.
fn fixed_point(n: u32, window: f64, stages: i32) -> Model {
    let tau_of = |p: f64| {
        // Equation (8), which has no singularity at p = 1/2.
        let sum: f64 = (0..stages).map(|i| (2.0 * p).powi(i)).sum();
        2.0 / (1.0 + window + p * window * sum)
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = (low + high) / 2.0;
        let implied = 1.0 - (1.0 - tau_of(p)).powi(n as i32 - 1);
        if implied > p { low = p } else { high = p }
    }
    Model { tau: tau_of(low), collision: low }
}

/// Equation (13): the share of the time in which payload is sent.
fn saturation(n: u32, window: f64, stages: i32, after: After) -> f64 {
    let Model { tau, .. } = fixed_point(n, window, stages);
    let some = 1.0 - (1.0 - tau).powi(n as i32);
    let one = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1) / some;
    // Microseconds: slot, SIFS, DIFS, propagation, ACK, and a frame with its headers.
    let (slot, sifs, difs, delta, ack, frame) = (50.0, 28.0, 128.0, 1.0, 240.0, 8184.0 + 272.0 + 128.0);
    let success = frame + delta + sifs + ack + delta + difs;
    let collision = frame + delta + difs + if after == After::Eifs { sifs + ack } else { 0.0 };
    some * one * 8184.0 / ((1.0 - some) * slot + some * one * success + some * (1.0 - one) * collision)
}

struct Setup {
    stations: u32,
    rule: Rule,
    windows: (u32, u32),
    after: After,
    seed: u64,
}

/// A cell of saturated stations: its configuration, and the length of the packets.
fn fhss(setup: &Setup) -> CellConfig {
    let Setup { stations, rule, windows: (cw_min, cw_max), after, .. } = *setup;
    let access = Parameters { aifsn: 2, cw_min, cw_max, txop: Span::ZERO };
    CellConfig {
        rule,
        // All packets here are best effort.
        parameters: vec![access; if rule == Rule::Dcf { 1 } else { 4 }],
        retries: None,
        extended_space: after == After::Eifs,
        radio: haltere_net::wifi::Radio { power_dbm: 30.0, ..haltere_net::wifi::Radio::of(Standard::Fhss) },
        ..CellConfig::new(Channel::of(Standard::Fhss), vec![DISTANCE; stations as usize])
    }
}

/// Runs saturated stations and returns the share of the time in which payload was delivered, the cell's counters and the
/// times of arrival.
fn saturate(setup: &Setup, time: Span) -> (f64, MediumCounters, Vec<Time>) {
    let (counters, arrivals) = drive(&fhss(setup), PAYLOAD, setup.seed, time);
    (arrivals.len() as f64 * 8184e-6 / time.as_secs_f64(), counters, arrivals)
}

/// Drives a cell in which two or three packets of this length always wait at each station.
fn drive(config: &CellConfig, len: u32, seed: u64, time: Span) -> (MediumCounters, Vec<Time>) {
    let stations = config.stations.len() as u32;
    let link = LinkConfig { queue: Limit::Packets(1000).into(), ..LinkConfig::default() };
    let entries: Vec<Entry<'_>> = (0..stations as usize)
        .map(|station| Entry { station, downlink: false, config: &link, name: format!("station {station}/up") })
        .collect();
    let mut cell: Cell<u32> = Cell::new(config, "cell", &entries, &Streams::new(seed, 0)).unwrap();
    let context = |now| Cx::new(now, ComponentId(0));
    for station in 0..stations {
        for _ in 0..3 {
            cell.offer(Port(station), Packet::new(len, station), &mut context(Time::ZERO));
        }
    }
    let mut arrivals = Vec::new();
    loop {
        let now = cell.next_wake();
        if now > Time::ZERO + time {
            assert!(cell.conserves());
            return (cell.medium().unwrap(), arrivals);
        }
        // A station whose frame arrives gets another packet: two or three always wait.
        while let Some((at, packet)) = cell.poll(now, &mut context(now)) {
            arrivals.push(at);
            cell.offer(Port(packet.body), packet, &mut context(now));
        }
    }
}

/// Some 40 000 to 60 000 frames.
const TIME: Span = Span::from_secs(600);

/// The noise of the measurements below is far smaller than their bounds.
#[test]
fn runs_with_other_dice_agree() {
    let throughput =
        |seed| saturate(&Setup { stations: 50, rule: Rule::Dcf, windows: (31, 255), after: After::Difs, seed }, TIME).0;
    let all: Vec<f64> = (100..110).map(throughput).collect();
    let mean = all.iter().sum::<f64>() / 10.0;
    let furthest = all.iter().map(|one| (one / mean - 1.0).abs()).fold(0.0, f64::max);
    println!("10 runs of 50 stations: mean {mean:.4}, furthest {:.2} %", 100.0 * furthest);
    assert!(furthest < 0.006, "{all:?}");
}

#[test]
fn throughput_is_bianchis_for_1_to_50_stations() {
    for (rule, bound) in [(Rule::Dcf, 0.02), (Rule::Edca, 0.006)] {
        for after in [After::Difs, After::Eifs] {
            for (stations, seed) in [1, 2, 3, 5, 10, 20, 30, 40, 50].into_iter().zip(1..) {
                let setup = Setup { stations, rule, windows: (31, 255), after, seed };
                let (measured, ..) = saturate(&setup, TIME);
                let model = saturation(stations, 32.0, 3, after);
                let off = measured / model - 1.0;
                println!("{rule:?} {stations:2} stations: {measured:.4}, model {model:.4}, {:+.2} %", 100.0 * off);
                assert!(off.abs() < bound, "{rule:?}, {stations} stations: {measured} instead of {model}");
            }
        }
    }
}

/// The windows of Bianchi's figure 6: W = 32 and m = 5, W = 128 and m = 3.
#[test]
fn other_windows_have_their_throughput_too() {
    for (windows, window, stages) in [((31, 1023), 32.0, 5), ((127, 1023), 128.0, 3)] {
        for (stations, seed) in [5, 20, 50].into_iter().zip(20..) {
            let setup = Setup { stations, rule: Rule::Dcf, windows, after: After::Difs, seed };
            let measured = saturate(&setup, TIME).0;
            let model = saturation(stations, window, stages, After::Difs);
            println!("W = {window}, m = {stages}, {stations} stations: {measured:.4}, model {model:.4}");
            assert!((measured / model - 1.0).abs() < 0.02, "{stations} stations: {measured} instead of {model}");
        }
    }
}

/// Bianchi's p: how often a transmission collides.
#[test]
fn collisions_are_as_frequent_as_in_the_model() {
    for (stations, seed) in [5, 10, 20, 50].into_iter().zip(40..) {
        let setup = Setup { stations, rule: Rule::Edca, windows: (31, 255), after: After::Difs, seed };
        let counters = saturate(&setup, TIME).1;
        let measured = counters.collided as f64 / counters.transmissions as f64;
        let model = fixed_point(stations, 32.0, 3).collision;
        assert!((measured / model - 1.0).abs() < 0.03, "{stations} stations: {measured} instead of {model}");
    }
}

/// Without others each cycle is a frame with its acknowledgement, DIFS and a backoff of 0 to 31 slots.
#[test]
fn a_single_station_has_the_closed_form() {
    let setup = Setup { stations: 1, rule: Rule::Dcf, windows: (31, 255), after: After::Eifs, seed: 3 };
    let (_, counters, arrivals) = saturate(&setup, TIME);
    // Frame, propagation, SIFS, ACK, propagation, DIFS.
    let success = 8584 + 1 + 28 + 240 + 1 + 128;
    let slots: Vec<u64> = arrivals
        .windows(2)
        .map(|pair| {
            let gap = pair[1].since(pair[0]).as_nanos();
            let idle = gap.checked_sub(success * 1000).unwrap();
            assert!(idle.is_multiple_of(50_000), "{gap} ns");
            idle / 50_000
        })
        .collect();
    assert_eq!((slots.iter().min(), slots.iter().max()), (Some(&0), Some(&31)));
    let mean = slots.iter().sum::<u64>() as f64 / slots.len() as f64;
    // Uniform on 32 values: the standard error of the mean of n is 9.23 / √n.
    let error = 9.23 / (slots.len() as f64).sqrt();
    assert!((mean - 15.5).abs() < 4.0 * error, "{mean} ± {error}");
    assert_eq!((counters.collisions, counters.retries), (0, 0));
}

/// The throughputs that ns-3 expects of its own cell (`wifi-bianchi --validate`, the table for EIFS in
/// src/wifi/examples/wifi-bianchi.cc), Mbit/s of packets of 1500 bytes, for 5, 20 and 50 stations. They are not outcomes of
/// its simulation, but values of Bianchi's model with the times of 802.11.
#[test]
fn throughput_is_what_ns_3_expects_of_its_cells() {
    let cells = [
        (Standard::B, 11, [6.3821, 5.5765, 4.9103]),
        (Standard::A, 6, [4.6899, 3.9589, 3.4711]),
        (Standard::A, 24, [16.0836, 13.7300, 12.0889]),
        (Standard::A, 54, [29.2861, 25.3325, 22.4162]),
        (Standard::B, 1, [0.8418, 0.7186, 0.6285]),
    ];
    for (standard, mbps, expected) in cells {
        for (stations, expected) in [5usize, 20, 50].into_iter().zip(expected) {
            // The distance at which this is the fastest modulation.
            let config = |metres| CellConfig::new(Channel::of(standard), vec![Metres(metres); stations]);
            let phy = haltere_net::wifi::Phy::new(Channel::of(standard));
            let rate = |metres: f64| config(metres).radio.modulation(&phy, Metres(metres)).map(|m| m.rate.as_bps());
            let metres = (1..200).map(f64::from).find(|&m| rate(m) == Ok(mbps * 1_000_000)).unwrap();
            let config = CellConfig { retries: None, ..config(metres) };
            let time = Span::from_secs(60);
            let arrivals = drive(&config, 1500, 9, time).1;
            let measured = arrivals.len() as f64 * 12_000e-6 / time.as_secs_f64();
            let off = measured / expected - 1.0;
            println!(
                "{} at {mbps} Mbit/s, {stations} stations: {measured:.3}, ns-3 {expected:.3}, {:+.1} %",
                standard.name(),
                100.0 * off
            );
            assert!(off.abs() < 0.05, "{measured} instead of {expected}");
        }
    }
}
