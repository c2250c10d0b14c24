use super::*;
use crate::queue::testing::{Bench, capable, packet};
use crate::queue::{QueueConfig, Scale};
use crate::rng::Streams;

fn law(word: &str) -> Law {
    let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(100), mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(1, 0) };
    let config = QueueConfig::from_word(word).unwrap();
    let Some(config) = config.parameters::<Config>() else { unreachable!("the words here are red") };
    Law::new(config, &place)
}

/// The law of the example in tc-red(8), with the average at `bytes`.
fn law_at(bytes: u64, options: &str) -> Law {
    let mut law = law(&format!("red:limit=400kB,min=30kB,max=90kB,avpkt=1000B,burst=55{options}"));
    law.average = u128::from(bytes) << law.weight;
    law.idle_since = None;
    law
}

fn stream() -> Stream {
    Streams::new(5, 0).named("red")
}

/// The numbers of packets from one drop or mark to the next.
fn gaps(law: &mut Law, packets: u64) -> Vec<u64> {
    let (mut stream, mut gaps, mut gap) = (stream(), Vec::new(), 0);
    for _ in 0..packets {
        gap += 1;
        if law.decide(&mut stream) != Verdict::Pass {
            gaps.push(gap);
            gap = 0;
        }
    }
    gaps.remove(0);
    gaps
}

/// The table in include/net/red.h for a `min` of 32 packets: the longest burst of each weight. (Its other rows differ by
/// one or two from the formula above it.)
#[test]
fn the_weight_follows_from_the_burst_as_in_the_kernels_table() {
    for (exponent, burst) in [(4, 46), (5, 57), (6, 75), (7, 101)] {
        assert_eq!(weight(32_000, burst, 1000), exponent);
        assert_eq!(weight(32_000, burst + 1, 1000), exponent + 1);
    }
}

#[test]
fn what_is_not_given_is_derived_as_tc_does() {
    let plain = law("red");
    assert_eq!((plain.min, plain.max, plain.weight), (33_333, 100_000, weight(33_333, 55, 1000)));
    let least = law("red:min=20kB");
    assert_eq!((least.min, least.max), (20_000, 60_000));
    let packets = law("red:limit=100p");
    assert_eq!((packets.min, packets.max), (12_500, 37_500));
    // A small queue: tc would refuse the burst of one packet, which does not come up to `min`.
    assert_eq!(law("red:limit=9p").weight, 3);
    // So would it an average of less than a packet.
    assert_eq!(law("red:limit=2p").weight, 1);
}

/// Eight packets of 1000 bytes are sent at once, so each finds those before it; W is 1/32.
#[test]
fn the_average_after_known_arrivals() {
    let mut law = law_at(0, "");
    assert_eq!(law.weight, 5);
    for n in 0..8 {
        law.arrives(n * 1000, Time::ZERO);
    }
    // Σ n · 1000 · W · (1 - W)^(7 - n) for n from 0 to 7.
    let expected: f64 = (0..8).map(|n| f64::from(n) * 1000.0 / 32.0 * (31.0f64 / 32.0).powi(7 - n)).sum();
    let average = law.average as f64 / 32.0;
    assert!((average - expected).abs() < 1.0, "{average} {expected}");
}

/// A packet of 1000 bytes takes 1 ms here, so the average falls by 0.0317 = -ln(1 - W) each ms, of which 31 have to fit
/// into 512 cells of the table: a cell is 2^11 µs.
#[test]
fn the_average_decays_while_the_queue_is_idle() {
    for (idle_us, average) in [
        (500, 48_375),   // no cell yet: a part of 500/2048
        (25_000, 32_000), // 12 cells, 0.78: less than one halving, and the straight line is below a half
        (40_000, 32_000), // 19 cells, 1.24
        (70_000, 16_000), // 34 cells, 2.21
        (1_000_000, 0),  // the last cell: 31 halvings
    ] {
        let mut law = law_at(64_000, "");
        assert_eq!((law.weight, law.damping.cell), (5, 11));
        law.idle_since = Some(Time::ZERO);
        law.arrives(0, Time::ZERO + Span::from_micros(idle_us));
        assert_eq!((law.bytes(), law.idle_since), (average, None), "{idle_us}");
    }
}

#[test]
fn the_queue_is_idle_from_the_last_departure_to_the_next_packet() {
    let mut queue = Bench::new("red:limit=400kB,min=1000B,max=2000B,avpkt=1000B,burst=1");
    for n in 0..9 {
        queue.put(0, packet(n, 1000, 0));
    }
    let early = queue.dropped().len();
    assert!(early > 0);
    queue.drain(1_000_000);
    // After a long time the average is 0 again: below `min` nothing is dropped.
    queue.put(9_000_000_000, packet(10, 1000, 0));
    assert_eq!((queue.dropped().len(), queue.counters.dropped_early), (0, early as u64));
}

/// Method 2 of the paper: with the average where it is, the gaps are uniform from 1 to 1 / p. Here p is 0.02 halfway
/// between `min` and `max`, where it is half its highest value.
#[test]
fn a_drop_is_the_more_likely_the_longer_the_last_one_is_past() {
    let gaps = gaps(&mut law_at(60_000, ",probability=0.04"), 200_000);
    let (n, most) = (gaps.len() as f64, *gaps.iter().max().unwrap());
    let mean = gaps.iter().sum::<u64>() as f64 / n;
    assert!((48..=52).contains(&most), "{most}");
    assert!((mean - 25.5).abs() < 0.7, "{mean}");
    for from in [1, 11, 21, 31, 41] {
        let share = gaps.iter().filter(|gap| (from..from + 10).contains(*gap)).count() as f64 / n;
        assert!((share - 0.2).abs() < 0.02, "{from}: {share}");
    }
}

#[test]
fn the_probability_rises_linearly_from_min_to_max() {
    let mean = |average| {
        let gaps = gaps(&mut law_at(average, ",probability=0.1"), 200_000);
        gaps.iter().sum::<u64>() as f64 / gaps.len() as f64
    };
    // At p the mean gap is (1 / p + 1) / 2: 1/p is 40, 20 and 40/3 at a quarter, half and three quarters of the range.
    for (average, expected) in [(45_000, 20.5), (60_000, 10.5), (75_000, 7.2)] {
        let mean = mean(average);
        assert!((mean / expected - 1.0).abs() < 0.05, "{average}: {mean}");
    }
    let mut below = law_at(29_999, "");
    assert!((0..1000).all(|_| below.decide(&mut stream()) == Verdict::Pass));
    let mut past = law_at(90_000, "");
    assert!((0..1000).all(|_| past.decide(&mut stream()) == Verdict::Always));
}

/// At 1.5 · max the probability is (0.1 + 1) / 2 = 0.55: gaps of 1 and 2, in the shares of 0.55 and 0.45.
#[test]
fn with_gentle_the_probability_rises_on_to_twice_max() {
    let mut law = law_at(135_000, ",probability=0.1,gentle=true");
    let gaps = gaps(&mut law, 100_000);
    assert!(gaps.iter().all(|gap| *gap <= 2));
    let ones = gaps.iter().filter(|gap| **gap == 1).count() as f64 / gaps.len() as f64;
    assert!((ones - 0.55).abs() < 0.01, "{ones}");
    let mut twice = law_at(180_000, ",gentle=true");
    assert_eq!(twice.decide(&mut stream()), Verdict::Always);
}

/// Above the target of 54 to 66 kB the probability rises by a hundredth, or a quarter of itself, each half second; below
/// it falls by a tenth.
#[test]
fn an_adaptive_probability_follows_the_average() {
    let share = |law: &Law| law.probability as f64 / ONE as f64;
    let mut high = law_at(70_000, "");
    assert!(high.adapt(Time::ZERO) && (share(&high) - 0.025).abs() < 1e-6);
    for _ in 0..100 {
        high.adapt(Time::ZERO);
    }
    assert!((share(&high) - 0.5).abs() < 0.011, "{}", share(&high));
    let mut low = law_at(50_000, "");
    assert!(low.adapt(Time::ZERO) && (share(&low) - 0.018).abs() < 1e-6);
    for _ in 0..100 {
        low.adapt(Time::ZERO);
    }
    assert!((share(&low) - 0.01).abs() < 0.0011, "{}", share(&low));
    let mut right = law_at(60_000, "");
    assert!(!right.adapt(Time::ZERO));
}

#[test]
fn the_probability_adapts_every_half_second_of_time_however_rarely_packets_come() {
    let word = "red:limit=400kB,min=30kB,max=90kB,avpkt=1000B,burst=55,adaptive=true";
    let config = QueueConfig::from_word(word).unwrap();
    let Some(config) = config.parameters::<Config>() else { unreachable!("it is red") };
    let scale = Scale { rate: Some(Rate::from_bps(8_000_000)), rtt: Span::from_millis(100), mtu: 1500 };
    let place = Place { scale, name: "l/down", streams: &Streams::new(1, 0) };
    let (mut often, mut rarely) = (Red::<()>::at(config, &place), Red::<()>::at(config, &place));
    for red in [&mut often, &mut rarely] {
        red.law.average = 80_000 << red.law.weight;
    }
    for tenths in 1..=100_000u64 {
        often.adapt(Time::ZERO + Span::from_millis(100 * tenths));
    }
    rarely.adapt(Time::ZERO + Span::from_secs(10_000));
    assert_eq!((often.law.probability, often.adapts), (rarely.law.probability, rarely.adapts));
    assert_eq!(rarely.adapts, Time::ZERO + Span::from_millis(10_000_500));
}

/// W is 1/2. The averages that the packets find without ECN are 0, 500, 1250, 2125, 2562, … bytes: the first ends the
/// idle period, the third is the first one to be counted, and those from the fourth on are past `max`.
#[test]
fn packets_are_marked_dropped_by_force_or_dropped_as_configured() {
    let run = |options: &str| {
        let mut queue =
            Bench::new(&format!("red:limit=5000B,min=1000B,max=2000B,avpkt=1000B,burst=1{options}"));
        for n in 0..8 {
            queue.put(0, if n % 2 == 0 { capable(n, 1000, 0) } else { packet(n, 1000, 0) });
        }
        (queue.dropped(), queue.marked(), queue.drain(0))
    };
    assert_eq!(run(""), (vec![3, 4, 5, 6, 7], vec![], vec![0, 1, 2]));
    assert_eq!(run(",ecn=true"), (vec![3, 5, 7], vec![4, 6], vec![0, 1, 2, 4, 6]));
    assert_eq!(run(",ecn=true,harddrop=true"), (vec![3, 4, 5, 6, 7], vec![], vec![0, 1, 2]));
}

#[test]
fn the_limit_is_of_the_queue_itself() {
    let mut queue = Bench::new("red:limit=3000B,min=100kB,max=200kB");
    for n in 0..5 {
        queue.put(0, packet(n, 1000, 0));
    }
    assert_eq!((queue.dropped(), queue.counters.dropped_queue), (vec![3, 4], 2));
}

#[test]
fn what_cannot_be_is_refused() {
    for (word, hint) in [
        ("red:probability=0", "probability: 0: give a number above 0"),
        ("red:min=9kB,max=9kB", "min: 9000B is not below max, 9000B"),
        ("red:avpkt=0B", "avpkt: 0B: give a positive size"),
        ("red:min=500B", "min: 500B is below avpkt, 1000B"),
        ("red:min=30kB,burst=20", "burst: 20 packets of 1000B do not come up to min: give at least 30"),
    ] {
        let said = QueueConfig::from_word(word).unwrap_err();
        assert!(said.contains(hint), "{said}");
    }
}
