//! A congestion control, a path scheduler and a queue discipline that this crate does not know: they are registered, chosen
//! by name, and carry a transfer.

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::LossModel;
use haltere_net::packet::{Ecn, Packet};
use haltere_net::queue::{Backlog, DropReason, Fates, Length, Place, QueueConfig, QueueDiscipline, Ticket};
use haltere_net::registry::{Description, Maker, Registry};
use haltere_net::rng::Streams;
use haltere_net::{PathId, Rate, Span, Time};
use haltere_transport::cc::{self, Ack, Algorithm, Arrival, Congestion, CongestionController, Marks};
use haltere_transport::path::PathView;
use haltere_transport::scheduler::{self, Demand, PathScheduler, Pick, Scheduler};
use haltere_transport::{Endpoint, Role, mptcp, quic, tcp};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A window of so many segments, whatever happens.
struct Steady {
    mss: u64,
}

const SEGMENTS: u64 = 20;

impl CongestionController for Steady {
    fn on_ack(&mut self, _: &Ack, _: &[PathView]) {}
    fn on_congestion(&mut self, _: &Congestion) {}
    fn on_undo(&mut self) {}
    fn window(&self) -> u64 {
        SEGMENTS * self.mss
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn set_mss(&mut self, mss: u64, _: u64) {
        self.mss = mss;
    }
}

static STEADY: cc::Implementation = cc::Implementation {
    marks: Marks::Needed,
    ..cc::Implementation::new(
        Description { name: "steady", summary: "a window of twenty segments", reference: "this test" },
        |config| Box::new(Steady { mss: config.mss }),
    )
};

/// All data on the path with the highest number.
struct Last;

impl PathScheduler for Last {
    fn pick(&mut self, paths: &[PathView], _: &Demand, _: Time) -> Pick {
        let last = paths.iter().rfind(|path| path.state.usable());
        last.map_or(Pick::WaitUntil(Time::NEVER), |path| Pick::On(path.id))
    }
}

static LAST: scheduler::Implementation = scheduler::Implementation::new(
    Description { name: "last", summary: "the path with the highest number", reference: "this test" },
    |_| Box::new(Last),
);

/// Last in, first out; every packet that finds others waiting is marked.
struct Stack<B> {
    limit: u64,
    packets: VecDeque<Packet<B>>,
}

haltere_net::queue::parameters! {
    /// The parameters of the stack.
    pub struct Config for Stack {
        /// The limit of the queue.
        limit: Length = Length::Packets(1000),
    }
}

impl Stack<Ticket> {
    fn at(config: &Config, place: &Place<'_>) -> Stack<Ticket> {
        let haltere_net::queue::Limit::Packets(limit) = config.limit.limit(&place.scale) else { panic!("in packets") };
        Stack { limit, packets: VecDeque::new() }
    }
}

impl<B: Send> QueueDiscipline<B> for Stack<B> {
    fn enqueue(&mut self, mut packet: Packet<B>, _: Time, fates: &mut Fates<'_, B>) {
        if self.packets.len() as u64 >= self.limit {
            return fates.drop(packet, DropReason::QueueFull);
        }
        if !self.packets.is_empty() {
            fates.mark(&mut packet);
        }
        self.packets.push_back(packet);
    }
    fn dequeue(&mut self, _: Time, _: &mut Fates<'_, B>) -> Option<Packet<B>> {
        self.packets.pop_back()
    }
    fn ready_at(&self) -> Time {
        if self.packets.is_empty() { Time::NEVER } else { Time::ZERO }
    }
    fn backlog(&self) -> Backlog {
        let bytes = self.packets.iter().map(|packet| u64::from(packet.len)).sum();
        Backlog { packets: self.packets.len() as u64, bytes }
    }
}

static STACK: haltere_net::queue::Implementation = haltere_net::queue::Implementation {
    description: Description { name: "stack", summary: "last in, first out", reference: "this test" },
    defaults: Maker::BuiltIn(|()| Box::new(Config::default())),
};

/// A window of twenty segments that notes whether each ACK, and each loss that an ACK shows, follows the ACK's arrival.
#[derive(Default)]
struct Ordered {
    mss: u64,
    arrived: Option<Arrival>,
}

static IN_ORDER: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

impl CongestionController for Ordered {
    fn on_arrival(&mut self, arrival: &Arrival) {
        self.arrived = Some(*arrival);
    }
    fn on_ack(&mut self, ack: &Ack, _: &[PathView]) {
        let arrival = self.arrived.take().expect("an arrival comes first");
        assert_eq!((arrival.now, arrival.rtt, arrival.acked_to), (ack.now, ack.rtt, ack.acked_to));
        assert_eq!((arrival.total_delivered, arrival.sent_to), (ack.total_delivered, ack.sent_to));
        assert_eq!(arrival.prior_delivered.is_some(), ack.delivered > 0);
        assert!(arrival.in_flight >= ack.in_flight, "losses are not looked for yet");
        IN_ORDER[0].fetch_add(1, Ordering::Relaxed);
        IN_ORDER[2].fetch_add(u64::from(arrival.in_flight > ack.in_flight), Ordering::Relaxed);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        let shown = event.trigger == cc::Trigger::Loss && self.arrived.is_some_and(|arrival| arrival.now == event.now);
        IN_ORDER[1].fetch_add(u64::from(shown), Ordering::Relaxed);
    }
    fn on_undo(&mut self) {}
    fn window(&self) -> u64 {
        SEGMENTS * self.mss
    }
    fn ssthresh(&self) -> u64 {
        u64::MAX
    }
    fn set_mss(&mut self, mss: u64, _: u64) {
        self.mss = mss;
    }
}

static ORDERED: cc::Implementation = cc::Implementation::new(
    Description { name: "ordered", summary: "notes the order of events", reference: "this test" },
    |config| Box::new(Ordered { mss: config.mss, arrived: None }),
);

fn link(ms: u64) -> LinkConfig {
    LinkConfig { rate: Some(Rate::from_bps(10_000_000)), delay: Span::from_millis(ms), ..LinkConfig::default() }
}

fn exchange() -> Exchange {
    Exchange { streams: vec![(200, 1_000_000)] }
}

fn stream() -> haltere_net::rng::Stream {
    Streams::new(5, 0).named("cc")
}

fn steady() -> Algorithm {
    Registry::default().with(&STEADY).unwrap().named("steady").unwrap()
}

#[test]
fn a_congestion_control_from_outside_carries_a_transfer_over_both_transports() {
    assert!(Algorithm::named("steady").is_none() && steady().needs_ecn());
    let config = |role| tcp::Config::new(role, steady(), stream());
    assert!(config(Role::Client).ecn.is_some(), "what it needs of ECN is heeded");
    let ends = [Role::Client, Role::Server].map(|role| tcp::Connection::new(config(role)));
    let [client, server] = ends;
    let mut pair = Pair::new(client, server, &link(50), &link(50), 4, exchange());
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_complete();
    // 1 MB in windows of 20 segments takes 35 round trips of 100 ms.
    let took = pair.client_log.streams[0].3.unwrap().as_secs_f64();
    assert!((3.3..4.2).contains(&took), "{took}");
    let ends =
        [Role::Client, Role::Server].map(|role| quic::Connection::new(quic::Config::new(role, steady(), stream())));
    let [client, server] = ends;
    let mut pair = Pair::new(client, server, &link(50), &link(50), 4, exchange());
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_complete();
    let took = pair.client_log.streams[0].3.unwrap().as_secs_f64();
    assert!((3.3..4.2).contains(&took), "{took}");
}

#[test]
fn an_ack_is_told_before_the_losses_that_it_shows() {
    let ordered = Registry::default().with(&ORDERED).unwrap().named("ordered").unwrap();
    let down = LinkConfig { loss: LossModel::Uniform { p: 0.02 }, ..link(10) };
    let long = Exchange { streams: vec![(200, 3_000_000)] };
    let told = || [0, 1, 2].map(|n| IN_ORDER[n].swap(0, Ordering::Relaxed));
    let config = |role| tcp::Config::new(role, ordered, stream());
    let [client, server] = [Role::Client, Role::Server].map(|role| tcp::Connection::new(config(role)));
    let mut pair = Pair::new(client, server, &link(10), &down, 4, long.clone());
    assert!(pair.run(Span::from_secs(60)));
    let [acks, shown, lost] = told();
    assert!(acks > 300 && shown > 5 && lost >= shown, "{acks} {shown} {lost}");
    let config = |role| quic::Config::new(role, ordered, stream());
    let [client, server] = [Role::Client, Role::Server].map(|role| quic::Connection::new(config(role)));
    let mut pair = Pair::new(client, server, &link(10), &down, 4, long);
    assert!(pair.run(Span::from_secs(60)));
    let [acks, shown, _] = told();
    assert!(acks > 300 && shown >= 3, "{acks} {shown}");
}

#[test]
fn a_scheduler_from_outside_puts_the_data_on_its_path() {
    let scheduler: Scheduler = Registry::default().with(&LAST).unwrap().named("last").unwrap();
    let end = |role| {
        let tcp = tcp::Config::new(role, cc::CUBIC, stream());
        mptcp::Connection::new(mptcp::Config { scheduler, ..mptcp::Config::new(tcp) })
    };
    let exchange = Exchange { streams: vec![(200, 5_000_000)] };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &link(10), &link(10), 4, exchange).and_path(
        &link(20),
        &link(20),
        5,
    );
    pair.run(Span::from_millis(100));
    pair.client_does(|client, cx| client.add_path(PathId(1), cx)).unwrap();
    assert!(pair.go_on(Span::from_secs(60)));
    pair.assert_complete();
    let [first, second] = [pair.down.counters().delivered_bytes, pair.more[0][1].counters().delivered_bytes];
    assert!(second > 5 * first, "{first} {second}");
}

#[test]
fn a_discipline_from_outside_queues_drops_and_marks() {
    let registry = Registry::default().with(&STACK).unwrap();
    let queue = QueueConfig::from_word_among("stack:limit=3p", &registry).unwrap();
    assert_eq!(queue.to_string(), "stack:limit=3p");
    let said = QueueConfig::from_word("stack").unwrap_err();
    assert!(said.contains("unknown queue discipline \"stack\": "), "{said}");
    let end = |role| {
        let mut config = tcp::Config::new(role, cc::NEWRENO, stream());
        config.ecn = Some(tcp::EchoRule::Rfc3168);
        tcp::Connection::new(config)
    };
    let down = LinkConfig { queue, ..link(10) };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &link(10), &down, 4, exchange());
    let arrived = Arc::new(AtomicU64::new(0));
    let count = arrived.clone();
    pair.watcher = Some(Box::new(move |_, packet| {
        count.fetch_add(u64::from(packet.ecn == Ecn::Ce), Ordering::Relaxed);
    }));
    assert!(pair.run(Span::from_secs(60)));
    pair.assert_complete();
    let marked = pair.down.counters().marked;
    assert!(marked > 0 && arrived.load(Ordering::Relaxed) == marked, "{marked} {arrived:?}");
    assert!(pair.down.counters().dropped_queue > 0, "{:?}", pair.down.counters());
}

#[test]
fn a_name_is_given_once() {
    let twice = Registry::default().with(&STEADY).and_then(|registry| registry.with(&STEADY)).unwrap_err();
    assert_eq!(twice, "there is a congestion control called \"steady\" already: register it under another name");
    let listed = Registry::default().with(&STEADY).unwrap();
    assert_eq!(listed.iter().count(), Algorithm::ALL.len() + 1);
}
