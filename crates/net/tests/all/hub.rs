//! A network element of the test's own: a hub on which stations take turns, one sender at a time. It shows that a
//! shared medium is one more implementation of `Element`, with conservation, credit and the law that links obey.

use haltere_net::counters::LinkCounters;
use haltere_net::element::{AnyElement, Credit, Element, Port};
use haltere_net::link::{Link, LinkConfig};
use haltere_net::queue::{DropReason, Limit};
use haltere_net::rng::Streams;
use haltere_net::{Address, ComponentId, Cx, FlowKey, Packet, Rate, Span, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

const RATE: Rate = Rate::from_bps(8_000_000);
const DELAY: Span = Span::from_micros(50);
const BUFFER: u64 = 4_000;

/// A half-duplex medium. Stations that have something to send take turns; each sends one packet in its turn.
struct Hub {
    stations: Vec<VecDeque<Packet<u32>>>,
    /// Bytes of each station that have not been credited yet.
    held: Vec<u64>,
    /// The station that is asked first when the medium becomes free.
    turn: usize,
    busy_until: Time,
    out: VecDeque<(Time, Packet<u32>)>,
    credits: VecDeque<(Time, Credit)>,
    counters: LinkCounters,
}

impl Hub {
    fn new(stations: usize) -> Hub {
        Hub {
            stations: (0..stations).map(|_| VecDeque::new()).collect(),
            held: vec![0; stations],
            turn: 0,
            busy_until: Time::ZERO,
            out: VecDeque::new(),
            credits: VecDeque::new(),
            counters: LinkCounters::default(),
        }
    }

    fn waiting(&self) -> bool {
        self.stations.iter().any(|s| !s.is_empty())
    }

    /// Lets stations send whose turn begins by `until`, each at its own time. The waiting packets were offered before.
    fn advance(&mut self, until: Time) {
        let n = self.stations.len();
        while self.busy_until <= until {
            let next = (0..n).map(|i| (self.turn + i) % n).find(|&s| !self.stations[s].is_empty());
            let Some((station, packet)) = next.and_then(|s| Some((s, self.stations[s].pop_front()?))) else { return };
            let start = self.busy_until.max(packet.arrived);
            self.turn = (station + 1) % n;
            self.busy_until = start + RATE.time_for(u64::from(packet.len));
            self.counters.served += 1;
            self.counters.count_wait(packet.arrived, start);
            let credit = Credit { port: Port(station as u32), flow: packet.flow, bytes: packet.len };
            self.credits.push_back((self.busy_until, credit));
            self.out.push_back((self.busy_until + DELAY, packet));
        }
    }
}

impl Element<u32> for Hub {
    fn offer(&mut self, port: Port, mut packet: Packet<u32>, cx: &mut Cx<'_>) {
        self.advance(cx.now);
        self.counters.offered += 1;
        let station = port.0 as usize;
        let fits = u64::from(packet.len) <= self.room(port);
        self.held[station] += u64::from(packet.len);
        if !fits {
            let credit = Credit { port, flow: packet.flow, bytes: packet.len };
            let at = self.credits.partition_point(|(t, _)| *t <= cx.now);
            self.credits.insert(at, (cx.now, credit));
            return self.counters.count_drop(DropReason::QueueFull);
        }
        packet.arrived = cx.now;
        self.stations[station].push_back(packet);
        self.advance(cx.now);
    }

    fn poll(&mut self, until: Time, _: &mut Cx<'_>) -> Option<(Time, Packet<u32>)> {
        self.advance(until);
        if self.out.front()?.0 > until {
            return None;
        }
        let (at, packet) = self.out.pop_front()?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += u64::from(packet.len);
        Some((at, packet))
    }

    fn next_wake(&self) -> Time {
        let decision = if self.waiting() { self.busy_until } else { Time::NEVER };
        let arrival = self.out.front().map_or(Time::NEVER, |(at, _)| *at);
        let credit = self.credits.front().map_or(Time::NEVER, |(at, _)| *at);
        decision.min(arrival).min(credit)
    }

    fn credits(&self) -> bool {
        true
    }

    fn poll_credit(&mut self, until: Time) -> Option<(Time, Credit)> {
        self.advance(until);
        if self.credits.front()?.0 > until {
            return None;
        }
        let (at, credit) = self.credits.pop_front()?;
        self.held[credit.port.0 as usize] -= u64::from(credit.bytes);
        Some((at, credit))
    }

    fn room(&self, port: Port) -> u64 {
        BUFFER.saturating_sub(self.held[port.0 as usize])
    }

    fn counters(&self) -> LinkCounters {
        self.counters
    }

    fn inside(&self) -> u64 {
        (self.stations.iter().map(VecDeque::len).sum::<usize>() + self.out.len()) as u64
    }
}

fn packet(n: u32, station: u32, len: u32) -> Packet<u32> {
    Packet::new(len, n).with(|p| p.flow = FlowKey { source: Address(station), ..FlowKey::default() })
}

#[derive(PartialEq, Debug, Default)]
struct Seen {
    packets: Vec<(Time, u32)>,
    credits: Vec<(Time, Credit)>,
}

/// Takes out everything that is due by `now`. Credits are taken at their times, as a driver takes them before it
/// offers.
fn take(element: &mut AnyElement<u32>, now: Time, seen: &mut Seen) {
    let mut cx = Cx::new(now, ComponentId(0));
    while let Some((at, p)) = element.poll(now, &mut cx) {
        assert!(at <= now);
        seen.packets.push((at, p.body));
    }
    while let Some((at, credit)) = element.poll_credit(now) {
        assert!(at <= now);
        seen.credits.push((at, credit));
    }
    assert!(element.conserves());
}

/// Offers (time, station, length) in the order of time; polls at each offer, at the extra instants, and when asked to.
fn drive(mut element: AnyElement<u32>, offers: &[(u64, u32, u32)], extra: &[u64]) -> (Seen, LinkCounters) {
    let mut instants: Vec<(u64, Option<usize>)> = extra.iter().map(|&t| (t, None)).collect();
    instants.extend(offers.iter().enumerate().map(|(n, &(t, ..))| (t, Some(n))));
    instants.sort_by_key(|&(t, _)| t);
    let mut seen = Seen::default();
    for (t, offer) in instants {
        let now = Time::from_nanos(t);
        take(&mut element, now, &mut seen);
        if let Some(n) = offer {
            let (_, station, len) = offers[n];
            element.offer(Port(station), packet(n as u32, station, len), &mut Cx::new(now, ComponentId(0)));
            assert!(element.conserves());
        }
    }
    for _ in 0..10_000 {
        let wake = element.next_wake();
        if wake == Time::NEVER {
            assert_eq!(element.inside(), 0);
            return (seen, element.counters());
        }
        take(&mut element, wake, &mut seen);
    }
    panic!("the element spins");
}

fn hub(stations: usize) -> AnyElement<u32> {
    AnyElement::Other(Box::new(Hub::new(stations)))
}

proptest! {
    #[test]
    fn a_hub_keeps_the_law_and_loses_nothing(
        gaps in prop::collection::vec((prop_oneof![3 => 0u64..900_000, 1 => Just(0)], 0u32..4, 40u32..1500), 1..60),
        extra in prop::collection::vec(0u64..30_000_000, 0..60),
    ) {
        let mut t = 0;
        let offers: Vec<(u64, u32, u32)> = gaps.into_iter().map(|(gap, s, len)| { t += gap; (t, s, len) }).collect();
        let (once, counters) = drive(hub(4), &offers, &[]);
        let (often, often_counters) = drive(hub(4), &offers, &extra);
        prop_assert_eq!((&once, counters), (&often, often_counters));
        // Each packet that was offered is credited once.
        prop_assert_eq!(once.credits.len() as u64, counters.offered);
        let credited: u64 = once.credits.iter().map(|(_, c)| u64::from(c.bytes)).sum();
        prop_assert_eq!(credited, offers.iter().map(|o| u64::from(o.2)).sum::<u64>());
        prop_assert!(once.credits.is_sorted_by_key(|(at, _)| *at) && once.packets.is_sorted_by_key(|(at, _)| *at));
        // One sender at a time: the distance between two arrivals is at least the time to send the second packet.
        for pair in once.packets.windows(2) {
            let len = offers[pair[1].1 as usize].2;
            prop_assert!(pair[1].0.since(pair[0].0) >= RATE.time_for(u64::from(len)));
        }
    }
}

#[test]
fn stations_take_turns() {
    let offers: Vec<(u64, u32, u32)> = (0..9).map(|n| (0, n / 3, 1000)).collect();
    let (seen, counters) = drive(hub(3), &offers, &[]);
    let order: Vec<u32> = seen.packets.iter().map(|(_, n)| n / 3).collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
    assert_eq!(seen.packets[8].0, Time::ZERO + Span::from_millis(9) + DELAY);
    assert_eq!(counters.max_queueing, Span::from_millis(8));
}

/// A host that uses credit: it offers what there is room for and continues when it is credited.
#[test]
fn a_host_that_heeds_credit_has_no_drops() {
    let mut element = hub(2);
    let (mut now, mut sent, mut arrived) = (Time::ZERO, [0u32; 2], 0);
    while arrived < 200 {
        for (station, sent) in (0..).zip(&mut sent) {
            while *sent < 100 && element.room(Port(station)) >= 1000 {
                *sent += 1;
                let p = packet(*sent, station, 1000);
                element.offer(Port(station), p, &mut Cx::new(now, ComponentId(0)));
            }
        }
        now = element.next_wake();
        while element.poll(now, &mut Cx::new(now, ComponentId(0))).is_some() {
            arrived += 1;
        }
        while element.poll_credit(now).is_some() {}
    }
    let counters = element.counters();
    assert_eq!((counters.dropped(), counters.delivered), (0, 200));
    // The medium was never idle: 200 packets of 1 ms each.
    assert_eq!(now, Time::ZERO + Span::from_millis(200) + DELAY);
    assert!(drive(hub(1), &[(0, 0, 1000); 9], &[]).1.dropped_queue == 5, "who does not heed it is");
}

#[test]
fn a_link_is_an_element_without_credit() {
    let config = LinkConfig { rate: Some(RATE), queue: Limit::Packets(2).into(), ..LinkConfig::default() };
    let link = Link::new(&config, "l", &Streams::new(1, 0));
    let element = AnyElement::from(link);
    assert!(!element.credits() && element.room(Port(0)) == u64::MAX);
    let (seen, counters) = drive(element, &[(0, 0, 1000); 4], &[]);
    assert_eq!(seen.packets.iter().map(|p| p.1).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!((counters.dropped_queue, seen.credits.len()), (1, 0));
}
