//! Whatever a path does to segments, every byte arrives once and in order, both ends close, and timers stop.

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::{Cx, Packet, PathId, Rate, Span, Time};
use haltere_transport::cc::{Algorithm, SlowStart};
use haltere_transport::tcp::EchoRule;
use haltere_transport::tcp::config::RtoRule;
use haltere_transport::tcp::{Config, Connection};
use haltere_transport::{Body, Endpoint, Event, Role, Stats, StreamId};
use proptest::prelude::*;

fn losses() -> impl Strategy<Value = LossModel> {
    prop_oneof![
        Just(LossModel::None),
        (0.0..0.15f64).prop_map(|p| LossModel::Uniform { p }),
        (0.001..0.05f64, 0.4..0.9f64).prop_map(|(to_bad, to_good)| LossModel::GilbertElliott {
            good_to_bad: to_bad,
            bad_to_good: to_good,
            loss_in_bad: 0.6,
            loss_in_good: 0.0
        }),
        (4u64..100).prop_map(|every| LossModel::Periodic { every }),
        prop::collection::btree_set(1u64..40, 0..12)
            .prop_map(|set| LossModel::List { packets: set.into_iter().collect() }),
    ]
}

fn jitters() -> impl Strategy<Value = JitterModel> {
    prop_oneof![
        Just(JitterModel::None),
        (any::<bool>(), 0u64..40_000)
            .prop_map(|(reorder, us)| JitterModel::Uniform { spread: Span::from_micros(us), reorder }),
        (any::<bool>(), 0u64..500)
            .prop_map(|(reorder, ms)| JitterModel::Normal { sigma: Span::from_millis(ms), reorder }),
    ]
}

fn links() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![Just(None), (200_000u64..1_000_000_000).prop_map(|r| Some(Rate::from_bps(r)))];
    let queue = prop_oneof![3 => (4u64..300).prop_map(Limit::Packets), 1 => (0u64..4).prop_map(Limit::Packets)];
    let duplication = prop_oneof![3 => Just(0.0), 1 => Just(0.05), 1 => Just(1.0)];
    (rate, 0u64..100_000, queue, losses(), jitters(), duplication).prop_map(
        |(rate, delay, queue, loss, jitter, duplication)| LinkConfig {
            rate,
            delay: Span::from_micros(delay),
            mtu: 9000,
            queue: QueueConfig::drop_tail(queue, Some(Limit::Packets(3))),
            loss,
            jitter,
            duplication,
            ..LinkConfig::default()
        },
    )
}

/// All switches. Both ends have the same configuration except for their role.
fn configs() -> impl Strategy<Value = Config> {
    let algorithm = prop::sample::select(Algorithm::ALL.to_vec());
    let slow_start = prop_oneof![
        Just(None),
        Just(Some(SlowStart::Standard)),
        Just(Some(SlowStart::HyStart)),
        Just(Some(SlowStart::HyStartPlusPlus)),
    ];
    let mtu = prop_oneof![3 => Just(1500u32), 1 => 576u32..9000];
    let ticks = prop_oneof![Just(4u64), Just(0), Just(10)];
    let ecn = prop_oneof![
        Just(None),
        Just(Some(EchoRule::Rfc3168)),
        Just(Some(EchoRule::Dctcp)),
        Just(Some(EchoRule::Accurate))
    ];
    let quick = (prop_oneof![Just(16u32), Just(0)], ecn);
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let windows = (1u32..20, 1000u64..65_536, 0u64..8);
    (algorithm, slow_start, mtu, ticks, quick, switches, windows).prop_map(
        |(algorithm, slow_start, mtu, tick, (quick_acks, ecn), switches, windows)| {
            let (timestamps, delayed_ack, paced, compressed, rfc) = switches;
            let (initial_window, receive_window, growth) = windows;
            let stream = Streams::new(3, 0).named("tcp");
            let mut config = Config::new(Role::Client, algorithm, stream);
            (config.slow_start, config.mtu, config.initial_window) = (slow_start, mtu, initial_window);
            (config.timestamps, config.delayed_ack, config.paced) = (timestamps, delayed_ack, paced);
            (config.tick, config.quick_acks) = (Span::from_millis(tick), quick_acks);
            config.ecn = ecn.or(config.ecn);
            config.initial_receive_window = receive_window;
            config.max_receive_window = receive_window << growth;
            if !compressed {
                config.sack_compression = Span::ZERO;
            }
            if rfc {
                config.rto = RtoRule::RFC_6298;
            }
            // More than happens by chance at these loss rates.
            config.syn_retries = 15;
            config
        },
    )
}

/// A connection whose application reads only now and then, so that the window closes meanwhile.
struct Lazy {
    connection: Connection,
    pause: Span,
    due: Option<Time>,
    look: bool,
}

impl Lazy {
    fn new(connection: Connection, pause: Span) -> Lazy {
        Lazy { connection, pause, due: None, look: false }
    }
}

impl Endpoint for Lazy {
    fn connect(&mut self, cx: &mut Cx<'_>) {
        self.connection.connect(cx);
    }
    fn on_packet(&mut self, packet: Packet<Body>, cx: &mut Cx<'_>) {
        self.connection.on_packet(packet, cx);
        self.due.get_or_insert(cx.now + self.pause);
    }
    fn on_wake(&mut self, cx: &mut Cx<'_>) {
        if self.due.is_some_and(|due| due <= cx.now) {
            self.due = None;
            self.look = true;
        }
        self.connection.on_wake(cx);
    }
    fn next_wake(&self) -> Time {
        self.connection.next_wake().min(self.due.unwrap_or(Time::NEVER))
    }
    fn poll_transmit(&mut self, cx: &mut Cx<'_>) -> Option<Packet<Body>> {
        self.connection.poll_transmit(cx)
    }
    fn poll_event(&mut self) -> Option<Event> {
        if std::mem::take(&mut self.look) {
            return Some(Event::Readable(StreamId(0)));
        }
        while let Some(event) = self.connection.poll_event() {
            if !matches!(event, Event::Readable(_)) {
                return Some(event);
            }
        }
        None
    }
    fn open(&mut self) -> Option<StreamId> {
        self.connection.open()
    }
    fn write(&mut self, stream: StreamId, bytes: u64) {
        self.connection.write(stream, bytes);
    }
    fn finish(&mut self, stream: StreamId) {
        self.connection.finish(stream);
    }
    fn read(&mut self, stream: StreamId, now: Time) -> u64 {
        self.connection.read(stream, now)
    }
    fn close(&mut self) {
        self.connection.close();
    }
    fn stats(&self) -> Stats {
        self.connection.stats()
    }
    fn bytes_in_flight(&self, path: PathId) -> u64 {
        self.connection.bytes_in_flight(path)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_reader_that_stops_and_resumes_gets_every_byte(
        up in links(),
        down in links(),
        answer in 3000..300_000u64,
        pause in prop_oneof![1u64..1000, 1000u64..20_000],
        config in configs(),
        seed: u64,
    ) {
        let end = |role| Connection::new(Config { role, ..config.clone() });
        let client = Lazy::new(end(Role::Client), Span::from_millis(pause));
        let exchange = Exchange { streams: vec![(100, answer)] };
        let mut pair = Pair::new(client, end(Role::Server), &up, &down, seed, exchange);
        prop_assert!(pair.run(Span::from_secs(100 * 3600)), "still going after 100 hours");
        pair.assert_complete();
        let sent = pair.client.stats().sent_all + pair.server.stats().sent_all;
        // Here probes of the window and looks for data come on top.
        prop_assert!(pair.wakes <= 5 * sent + 100, "{} wakes for {} segments", pair.wakes, sent);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_both_ends_close(
        up in links(),
        down in links(),
        request in prop_oneof![Just(0u64), 1..3000u64, 3000..300_000u64],
        answer in prop_oneof![Just(0u64), 1..3000u64, 3000..3_000_000u64],
        config in configs(),
        seed: u64,
    ) {
        let end = |role| Connection::new(Config { role, ..config.clone() });
        let exchange = Exchange { streams: vec![(request, answer)] };
        let mut pair = Pair::new(end(Role::Client), end(Role::Server), &up, &down, seed, exchange);
        prop_assert!(pair.run(Span::from_secs(20 * 3600)), "still going after 20 hours");
        pair.assert_complete();
        let sent = pair.client.stats().sent_all + pair.server.stats().sent_all;
        // Each segment costs at most a pacing, an acknowledgement and a recovery timer.
        prop_assert!(pair.wakes <= 3 * sent + 100, "{} wakes for {} segments", pair.wakes, sent);
        for stats in [pair.client.stats(), pair.server.stats()] {
            prop_assert!(stats.retransmitted_packets <= stats.sent_packets);
            prop_assert!(stats.spurious_retransmissions <= stats.retransmitted_packets);
        }
        let in_flight = pair.client.bytes_in_flight(PathId(0)) + pair.server.bytes_in_flight(PathId(0));
        prop_assert_eq!(in_flight, 0);
    }
}
