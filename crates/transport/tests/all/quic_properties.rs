//! Whatever a path does to packets, every byte arrives once and in order, the connection ends, and timers stop.

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::queue::{Limit, QueueConfig};
use haltere_net::rng::Streams;
use haltere_net::{Rate, Span};
use haltere_transport::cc::{self, Algorithm, SlowStart};
use haltere_transport::quic::{Config, Connection};
use haltere_transport::{CloseReason, Endpoint, Role};
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
        prop::collection::btree_set(1u64..40, 0..12)
            .prop_map(|set| LossModel::List { packets: set.into_iter().collect() }),
    ]
}

fn jitters() -> impl Strategy<Value = JitterModel> {
    prop_oneof![
        Just(JitterModel::None),
        (any::<bool>(), 0u64..40_000)
            .prop_map(|(reorder, us)| JitterModel::Uniform { spread: Span::from_micros(us), reorder }),
    ]
}

fn links() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![Just(None), (200_000u64..1_000_000_000).prop_map(|r| Some(Rate::from_bps(r)))];
    let mtu = prop_oneof![3 => Just(1500u32), 1 => 1228u32..1500];
    (rate, 0u64..100_000, 4u64..300, losses(), jitters(), prop_oneof![Just(0.0), Just(0.05)], mtu).prop_map(
        |(rate, delay, queue, loss, jitter, duplication, mtu)| LinkConfig {
            rate,
            delay: Span::from_micros(delay),
            mtu,
            queue: QueueConfig::drop_tail(Limit::Packets(queue), Some(Limit::Packets(queue / 4))),
            loss,
            jitter,
            duplication,
            ..LinkConfig::default()
        },
    )
}

fn exchanges() -> impl Strategy<Value = Exchange> {
    let sizes = (prop_oneof![Just(0u64), 1..3000u64], prop_oneof![Just(0u64), 1..2000u64, 2000..150_000u64]);
    prop::collection::vec(sizes, 1..8).prop_map(|streams| Exchange { streams })
}

fn algorithms() -> impl Strategy<Value = (Algorithm, Option<SlowStart>)> {
    prop_oneof![
        Just((cc::CUBIC, None)),
        Just((cc::CUBIC, Some(SlowStart::HyStartPlusPlus))),
        Just((cc::NEWRENO, None)),
        Just((cc::BBR, None)),
        Just((cc::BBR3, None)),
        Just((cc::COPA, None)),
        Just((cc::DCTCP, None)),
    ]
}

#[derive(Clone, Copy, Debug)]
struct Small {
    stream_window: u64,
    max_streams: u64,
    pacing: bool,
    undo: bool,
}

fn smalls() -> impl Strategy<Value = Small> {
    (prop_oneof![Just(1u64 << 20), 1000u64..20_000], 1u64..5, any::<bool>(), any::<bool>())
        .prop_map(|(stream_window, max_streams, pacing, undo)| Small { stream_window, max_streams, pacing, undo })
}

fn end(role: Role, (algorithm, slow_start): (Algorithm, Option<SlowStart>), small: Small) -> Connection {
    let mut config = Config::new(role, algorithm, Streams::new(3, 0).named("cc"));
    config.slow_start = slow_start;
    config.stream_window = small.stream_window;
    config.connection_window = small.stream_window + small.stream_window / 2;
    config.max_streams = small.max_streams;
    config.pacing = small.pacing;
    config.undo = small.undo;
    // Long enough that random losses alone do not use it up.
    config.idle_timeout = Span::from_secs(300);
    Connection::new(config)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_the_connection_ends(
        up in links(), down in links(), exchange in exchanges(), algorithm in algorithms(), small in smalls(), seed: u64,
    ) {
        let (client, server) = (end(Role::Client, algorithm, small), end(Role::Server, algorithm, small));
        let mut pair = Pair::new(client, server, &up, &down, seed, exchange);
        prop_assert!(pair.run(Span::from_secs(3600)), "still going after an hour");
        pair.assert_exchanged();
        prop_assert_eq!((pair.client_log.closed, pair.client_log.failed), (1, None));
        // Every CONNECTION_CLOSE may be lost; then the idle timeout ends what the server still waits for.
        let idle = pair.server_log.failed == Some(CloseReason::IdleTimeout);
        prop_assert!(idle != (pair.server_log.closed == 1), "{:?}", pair.server_log);
        let sent = pair.client.stats().sent_all + pair.server.stats().sent_all;
        // Each datagram costs at most a pacing, an ACK and a loss timer at the sender.
        prop_assert!(pair.wakes <= 3 * sent + 100, "{} wakes for {} packets", pair.wakes, sent);
        let in_flight = pair.server.bytes_in_flight(haltere_net::PathId(0));
        prop_assert!(in_flight < 10_000_000);
    }
}
