//! The meter against the simulator's own link, whose counters say what is right.

use super::*;
use haltere_net::link::{Link, LinkConfig};
use haltere_net::loss::LossModel;
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{ComponentId, Cx, Packet};
use proptest::prelude::*;

const RATE: Rate = Rate::from_bps(10_000_000);
const DELAY: Span = Span::from_millis(3);

fn event(at: Time, identity: u64, length: u32) -> Event {
    Event { at, identity, length, destination: Ipv4Addr::LOCALHOST }
}

fn config(loss: LossModel, queue: u64) -> LinkConfig {
    LinkConfig { rate: Some(RATE), delay: DELAY, loss, queue: Limit::Packets(queue).into(), ..LinkConfig::default() }
}

/// Offers packets to a link. Returns the packets offered, the packets that came out, and the link. Steps are
/// (microseconds later, bytes).
fn drive(config: &LinkConfig, steps: &[(u64, u32)]) -> (Vec<Event>, Vec<Event>, Link<u64>) {
    let mut link = Link::new(config, "test", &Streams::new(1, 0));
    let (mut now, mut offered, mut arrived) = (Time::from_nanos(1_000_000_000), vec![], vec![]);
    for (i, &(later, len)) in steps.iter().enumerate() {
        now += Span::from_micros(later);
        offered.push(event(now, i as u64, len));
        let packet = Packet::new(len, i as u64);
        link.offer(packet, &mut Cx::new(now, ComponentId(0)));
    }
    let mut cx = Cx::new(now, ComponentId(0));
    while let Some((at, packet)) = link.poll(Time::NEVER, &mut cx) {
        arrived.push(event(at, packet.body, packet.len));
    }
    (offered, arrived, link)
}

fn steps() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((0u64..2000, 40u32..1500), 1..200)
}

proptest! {
    #[test]
    fn a_queue_is_measured_as_the_link_itself_counts(mut steps in steps(), queue in 1u64..12) {
        // Last comes a packet that is never dropped, so that all drops before it show as such.
        steps.push((1_000_000, 40));
        let (offered, arrived, link) = drive(&config(LossModel::None, queue), &steps);
        let known = Known { rate: Some(RATE), delay: DELAY };
        let got = measure(known, &offered, None, &arrived, Time::NEVER);
        let want = link.counters();
        prop_assert_eq!(got.offered_packets, want.offered);
        prop_assert_eq!((got.delivered_packets, got.delivered_bytes), (want.delivered, want.delivered_bytes));
        prop_assert_eq!((got.dropped_queue, got.dropped_loss, got.inside_packets), (want.dropped_queue, 0, 0));
        let mean = want.queueing_ns as f64 * 1e-9 / want.served as f64;
        prop_assert!((got.mean_queueing_delay_s - mean).abs() <= 1e-6, "{} {mean}", got.mean_queueing_delay_s);
        let longest = want.max_queueing.as_secs_f64();
        prop_assert!((got.max_queueing_delay_s - longest).abs() <= 1e-6, "{} {longest}", got.max_queueing_delay_s);
        // A wait of less than what rounding makes is none.
        prop_assert!(want.max_queue_packets - got.max_queue_packets <= 1);
        if want.max_queue_packets == got.max_queue_packets {
            prop_assert!(got.max_queue_bytes <= want.max_queue_bytes);
        }
    }

    #[test]
    fn losses_behind_the_queue_are_told_from_drops_before_it(mut steps in steps(), period in 2u64..9) {
        steps.push((1_000_000, 40));
        let (offered, departed, _) = drive(&config(LossModel::None, 5), &steps);
        let survives = |i: usize| !(i as u64 + 1).is_multiple_of(period) || i + 1 == departed.len();
        let arrived: Vec<Event> = (0..departed.len()).filter(|&i| survives(i)).map(|i| departed[i]).collect();
        let got = measure(Known::default(), &offered, Some(&departed), &arrived, Time::NEVER);
        prop_assert_eq!(got.dropped_queue, (offered.len() - departed.len()) as u64);
        prop_assert_eq!(got.dropped_loss, (departed.len() - arrived.len()) as u64);
        let gone = got.dropped_queue + got.dropped_loss + got.inside_packets;
        prop_assert_eq!(got.offered_packets, got.delivered_packets + gone);
    }

    #[test]
    fn what_is_cut_off_is_inside_and_not_lost(steps in steps(), cut in 0u64..400_000) {
        let (offered, arrived, _) = drive(&config(LossModel::None, 1000), &steps);
        let until = Time::from_nanos(1_000_000_000) + Span::from_micros(cut);
        let seen = &arrived[..arrived.partition_point(|e| e.at <= until)];
        let got = measure(Known::default(), &offered, None, seen, until);
        prop_assert_eq!((got.dropped_queue, got.dropped_loss), (0, 0));
        prop_assert_eq!(got.offered_packets, got.delivered_packets + got.inside_packets);
    }
}

#[test]
fn doubles_and_strangers_are_told_apart() {
    let at = |us: u64| Time::from_nanos(us * 1000);
    let offered = [event(at(0), 7, 100), event(at(1), 8, 100), event(at(2), 7, 100)];
    let arrived = [7, 8, 8, 7, 9].map(|identity| event(at(10), identity, 100));
    let matched = Matched::new(&offered, &arrived);
    assert_eq!(matched, Matched { became: vec![Some(0), Some(1), Some(3)], copies: 1, strangers: 1 });
    let counts = measure(Known::default(), &offered, None, &arrived, Time::NEVER);
    assert_eq!((counts.duplicated_packets, counts.unmatched_packets, counts.delivered_packets), (1, 1, 5));
}

#[test]
fn no_events_give_zeros() {
    let counts = measure(Known { rate: Some(RATE), delay: DELAY }, &[], Some(&[]), &[], Time::NEVER);
    assert_eq!(counts, LinkCounts::default());
}

#[test]
fn a_queue_that_serves_in_another_order_is_as_long_as_it_was() {
    // Four packets of 1250 bytes, 1 ms each, come at once; the first is served last. By the time of the fifth, which
    // comes at 2.5 ms, three have begun.
    let at = |tenths: u64| Time::from_nanos(1_000_000_000 + tenths * 100_000);
    let offered: Vec<Event> = [0, 0, 0, 0, 25].iter().zip(1..).map(|(&t, i)| event(at(t), i, 1250)).collect();
    let served = [(10, 2), (20, 3), (30, 4), (40, 1), (50, 5)];
    let arrived: Vec<Event> = served.iter().map(|&(t, i)| event(at(t), i, 1250)).collect();
    let known = Known { rate: Some(RATE), delay: Span::ZERO };
    let counts = measure(known, &offered, None, &arrived, Time::NEVER);
    assert_eq!((counts.max_queue_packets, counts.max_queue_bytes), (3, 3 * 1250));
    // 0 + 1 + 2 + 3 + 1.5 ms.
    assert!((counts.mean_queueing_delay_s - 7.5e-3 / 5.0).abs() < 1e-9, "{counts:?}");
}
