//! Sequences worked out by hand from the definitions, and a comparison with the definitions taken literally.

use super::density::Places;
use super::*;
use proptest::prelude::*;

const UNIT: u64 = 1000;

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// Counts with density.
fn dense() -> Reordering {
    let mut counts = Reordering::default();
    counts.count_density();
    counts
}

/// Packets of a unit, numbered from 1, in the order of their arrival, a millisecond apart. Data is delivered when all before it is
/// there.
fn arrivals(order: &[u64]) -> Reordering {
    let (mut sequence, mut counts) = (Sequence::default(), dense());
    let mut there = std::collections::BTreeSet::new();
    for (k, &packet) in order.iter().enumerate() {
        let now = at(k as u64 + 1);
        sequence.arrive((packet - 1) * UNIT, packet * UNIT, Release::AtOnce, now, &mut counts);
        there.insert(packet);
        let next = (1..).find(|p| !there.contains(p)).unwrap();
        sequence.deliver((next - 1) * UNIT, now, &mut counts);
    }
    if there.len() as u64 == *there.last().unwrap() {
        assert!(!sequence.disturbed, "nothing waits after all has arrived");
    }
    counts
}

/// Displacements and packets.
fn counts_of(density: &[(i64, f64)], packets: u64) -> Vec<(i64, u64)> {
    density.iter().map(|&(d, share)| (d, (share * packets as f64).round() as u64)).collect()
}

#[test]
fn data_in_order_counts_nothing() {
    let counts = arrivals(&[1, 2, 3, 4, 5]);
    assert_eq!((counts.packets(), counts.reordered(), counts.max_extent()), (5, 0, 0));
    assert_eq!((counts.ratio(), counts.mean_delay(), counts.p95_delay()), (Some(0.0), Span::ZERO, Span::ZERO));
    assert_eq!(counts.density(), [(0, 1.0)]);
    assert_eq!(Reordering::default().ratio(), None);
}

/// The setting of RFC 4737 section 7.1, table 1: of ten packets the fourth arrives after the eighth.
#[test]
fn a_single_late_packet() {
    let counts = arrivals(&[1, 2, 3, 5, 6, 7, 8, 4, 9, 10]);
    // Packet 4 is the eighth to arrive. The first with a larger number, 5, was the fourth.
    assert_eq!((counts.reordered(), counts.max_extent(), counts.mean_extent()), (1, 4, 4.0));
    assert_eq!(counts.ratio(), Some(0.1));
    assert_eq!(counts.three_reordered(), 1, "5, 6, 7 and 8 are directly before it");
    // 5 waits for 4 ms, 6 for 3, 7 for 2, 8 for 1: 10 of them in 10 packets.
    assert_eq!(counts.mean_delay(), Span::from_millis(1));
    // The place of 4 is the eighth; 5 to 8 are one early.
    assert_eq!(counts_of(&counts.density(), 10), [(-1, 4), (0, 5), (4, 1)]);
}

/// The setting of RFC 4737 section 7.2, table 2: two packets are late, one of them behind the other.
#[test]
fn two_late_packets() {
    let counts = arrivals(&[1, 2, 3, 4, 7, 5, 6, 8, 9, 10]);
    // 7 is the fifth to arrive: 5 has extent 1, 6 has extent 2, though only 5 is directly before it.
    assert_eq!((counts.reordered(), counts.max_extent(), counts.mean_extent()), (2, 2, 1.5));
    assert_eq!(counts.three_reordered(), 0);
    assert_eq!(counts_of(&counts.density(), 10), [(-2, 1), (0, 7), (1, 2)]);
}

/// Late packets in falling order have all packets before them beyond them.
#[test]
fn a_reversed_sequence() {
    let counts = arrivals(&[5, 4, 3, 2, 1]);
    // Extents 1, 2, 3 and 4, and as many packets directly before each.
    assert_eq!((counts.reordered(), counts.max_extent(), counts.mean_extent()), (4, 4, 2.5));
    assert_eq!(counts.three_reordered(), 2);
    assert_eq!(counts_of(&counts.density(), 5), [-4, -2, 0, 2, 4].map(|d| (d, 1)));
    // All wait for 1, which comes last: 4 + 3 + 2 + 1 ms.
    assert_eq!(counts.mean_delay(), Span::from_millis(2));
}

/// RFC 5236 section 3: two packets that change places are one late and one early; duplicates are left out.
#[test]
fn displacements_with_duplicates() {
    let counts = arrivals(&[1, 4, 3, 5, 3, 2, 8, 7, 6, 6]);
    assert_eq!(counts.packets(), 8);
    // Arrival      1  2  3  4  5  6  7  8
    // packet       1  4  3  5  2  8  7  6
    // displacement 0 -2  0 -1  3 -2  0  2
    assert_eq!(counts_of(&counts.density(), 8), [(-2, 2), (-1, 1), (0, 3), (2, 1), (3, 1)]);
}

/// A packet that is later than the threshold is lost: its place in the order of arrival is skipped.
#[test]
fn a_packet_beyond_the_threshold_displaces_no_other() {
    let place = |threshold: i64| {
        let mut places = Places::default();
        // 1 3 4 5 6 2 7, in their order.
        [1, 6, 2, 3, 4, 5, 7].map(|index| places.place(index, threshold))
    };
    assert_eq!(place(4), [0, 4, -1, -1, -1, -1, 0].map(Some));
    let mut lost = [Some(0); 7];
    lost[1] = None;
    assert_eq!(place(3), lost);
    let late: Vec<u64> = std::iter::once(1).chain(3..200).chain([2, 200, 201]).collect();
    let counts = arrivals(&late);
    assert_eq!((counts.beyond_threshold(), counts.density()), (1, vec![(0, 1.0)]));
}

#[test]
fn what_waits_for_something_else_is_not_delivered() {
    let (mut sequence, mut counts) = (Sequence::default(), dense());
    sequence.arrive(0, 100, Release::AtOnce, at(1), &mut counts);
    sequence.arrive(100, 300, Release::Later, at(2), &mut counts);
    sequence.arrive(300, 400, Release::AtOnce, at(4), &mut counts);
    sequence.deliver(100, at(5), &mut counts);
    assert_eq!(counts.mean_delay(), Span::ZERO);
    sequence.deliver(400, at(10), &mut counts);
    assert_eq!((counts.packets(), counts.reordered()), (3, 0));
    assert_eq!(counts.mean_delay(), Span::from_micros((200 * 8 + 100 * 6) * 1000 / 400));
    assert_eq!(counts.p95_delay().as_nanos() / 1_000_000, 8);
}

#[test]
fn packets_that_overlap_count_by_what_they_bring() {
    let (mut sequence, mut counts) = (Sequence::default(), dense());
    for (k, (start, end)) in [(0, 100), (200, 300), (400, 500), (50, 450), (450, 600)].into_iter().enumerate() {
        sequence.arrive(start, end, Release::AtOnce, at(k as u64), &mut counts);
    }
    sequence.deliver(600, at(4), &mut counts);
    // The fourth fills two gaps: the first was opened by the second packet.
    assert_eq!((counts.packets(), counts.reordered(), counts.max_extent()), (5, 1, 2));
    assert_eq!((counts.bytes, sequence.expected), (600, 600));
    assert!(!sequence.disturbed);
}

#[test]
fn counts_of_sequences_are_added() {
    let (mut one, two) = (arrivals(&[1, 3, 2]), arrivals(&[3, 1, 2, 4]));
    one.merge(&two);
    assert_eq!((one.packets(), one.reordered(), one.max_extent(), one.mean_extent()), (7, 3, 2, 4.0 / 3.0));
    assert_eq!(counts_of(&one.density(), 7), [(-2, 1), (-1, 1), (0, 2), (1, 3)]);
    one.merge(&arrivals(&[1, 2, 3]));
    assert_eq!(counts_of(&one.density(), 10).iter().map(|c| c.1).sum::<u64>(), 10);
}

/// Extents and degrees by the definitions of RFC 4737, which look at all packets.
fn literally(order: &[u64]) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for (i, s) in order.iter().enumerate() {
        if let Some(j) = (0..i).find(|&j| order[j] > *s) {
            let degree = order[..i].iter().rev().take_while(|before| *before > s).count();
            found.push(((i - j) as u64, degree as u64));
        }
    }
    found
}

/// Displacements by the definition of RFC 5236: arrivals get the numbers of packets that are not lost, in turn. A packet is lost
/// or not as those before it leave it.
fn displacements(order: &[u64], threshold: i64) -> Vec<Option<i64>> {
    let mut lost = vec![false; order.len() + 1];
    let receive_index = |lost: &[bool]| {
        let mut free = (1..).filter(|place: &usize| !lost.get(*place).copied().unwrap_or(false));
        let mut of = vec![None; order.len() + 1];
        for &packet in order.iter().filter(|p| !lost[**p as usize]) {
            of[packet as usize] = free.next();
        }
        of
    };
    let mut found = Vec::new();
    for packet in 1..=order.len() {
        let displacement = receive_index(&lost)[packet].unwrap_or(0) as i64 - packet as i64;
        lost[packet] = displacement > threshold;
        found.push((displacement.abs() <= threshold).then_some(displacement));
    }
    found
}

/// Permutations in which packets move some places.
fn permuted() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..40u64, 1..120).prop_map(|delays| {
        let mut order: Vec<(u64, u64)> =
            delays.iter().enumerate().map(|(k, delay)| (k as u64 + delay * (delay % 3), k as u64 + 1)).collect();
        order.sort_unstable();
        order.into_iter().map(|o| o.1).collect()
    })
}

proptest! {
    #[test]
    fn counts_follow_the_definitions(order in permuted()) {
        let (counts, expected) = (arrivals(&order), literally(&order));
        prop_assert_eq!(counts.reordered(), expected.len() as u64);
        prop_assert_eq!(counts.max_extent(), expected.iter().map(|e| e.0).max().unwrap_or(0));
        prop_assert_eq!(counts.of(|d| d.extent_sum), expected.iter().map(|e| e.0).sum::<u64>());
        prop_assert_eq!(counts.three_reordered(), expected.iter().filter(|e| e.1 >= 3).count() as u64);
        // A packet waits from its arrival until the last of those up to it has arrived.
        let arrival = |packet: u64| order.iter().position(|p| *p == packet).unwrap();
        let waits = |packet| (1..=packet).map(arrival).max().unwrap() - arrival(packet);
        let waited: usize = (1..=order.len() as u64).map(waits).sum();
        let mean = Span::from_nanos(waited as u64 * 1_000_000 / order.len() as u64);
        prop_assert_eq!(counts.mean_delay(), mean);
    }

    #[test]
    fn displacements_follow_the_definition(order in permuted(), threshold in 1..30i64) {
        let mut places = Places::default();
        let arrival = |packet: u64| order.iter().position(|p| *p == packet).unwrap() as u64 + 1;
        let found: Vec<_> = (1..=order.len() as u64).map(|packet| places.place(arrival(packet), threshold)).collect();
        prop_assert_eq!(found, displacements(&order, threshold));
    }
}

#[test]
fn without_density_all_else_is_the_same() {
    let order = [3, 1, 2, 6, 5, 4, 7, 9, 8, 10];
    let full = arrivals(&order);
    let (mut sequence, mut plain) = (Sequence::default(), Reordering::default());
    let mut there = std::collections::BTreeSet::new();
    for (k, &packet) in order.iter().enumerate() {
        let now = at(k as u64 + 1);
        sequence.arrive((packet - 1) * UNIT, packet * UNIT, Release::AtOnce, now, &mut plain);
        there.insert(packet);
        let next = (1..).find(|p| !there.contains(p)).unwrap();
        sequence.deliver((next - 1) * UNIT, now, &mut plain);
    }
    let rest = |c: &Reordering| (c.reordered(), c.three_reordered(), c.mean_extent(), c.mean_delay(), c.p95_delay());
    assert_eq!(rest(&full), rest(&plain));
    assert!(full.density().len() > 1 && plain.density().is_empty());
}
