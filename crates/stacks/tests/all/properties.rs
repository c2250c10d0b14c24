//! Whatever the links do, every byte arrives once and the connection ends.

use crate::ends;

use ends::{STACKS, seeded};
use haltere_net::link::LinkConfig;
use haltere_net::loss::{JitterModel, LossModel};
use haltere_net::queue::Limit;
use haltere_net::{Rate, Span};
use haltere_stacks::{Cipher, Congestion};
use haltere_transport::cc::{Algorithm, RenoFriendly};
use haltere_transport::{CloseReason, Endpoint};
use proptest::prelude::*;

fn links() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![Just(None), (500_000u64..100_000_000).prop_map(|bps| Some(Rate::from_bps(bps)))];
    let jitter = (0u64..60_000, any::<bool>());
    (rate, 0u64..100_000, 4u64..60, 0f64..0.15, jitter, 0f64..0.1).prop_map(
        |(rate, delay, queue, p, (spread, reorder), duplication)| LinkConfig {
            rate,
            delay: Span::from_micros(delay),
            queue: Limit::Packets(queue).into(),
            loss: LossModel::Uniform { p },
            jitter: JitterModel::Uniform { spread: Span::from_micros(spread), reorder },
            duplication,
            ..LinkConfig::default()
        },
    )
}

fn controls() -> impl Strategy<Value = Congestion> {
    let ours = prop::sample::select(
        Algorithm::ALL.iter().copied().filter(|a| haltere_stacks::lacks(*a).is_none()).collect::<Vec<_>>(),
    )
    .prop_map(|a| Congestion::Ours(a, None, RenoFriendly::default()));
    prop_oneof![Just(Congestion::Own("cubic")), Just(Congestion::Own("newreno")), ours]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_and_the_connection_ends(
        up in links(), down in links(), stack in 0usize..2, control in controls(), tls: bool, seed: u64,
        streams in prop::collection::vec((1u64..3000, prop_oneof![1..2000u64, 2000..200_000u64]), 1..6),
    ) {
        let cipher = if tls { Cipher::Tls } else { Cipher::Null };
        let mut pair = seeded(STACKS[stack], control, cipher, [&up, &down], &streams, seed);
        prop_assert!(pair.run(Span::from_secs(7200)), "still going after two hours");
        let logs = [&pair.client_log, &pair.server_log];
        // Within 30 s of silence by chance a stack gives up, as it should; else all is exchanged.
        let gave_up = |why| matches!(why, CloseReason::IdleTimeout | CloseReason::HandshakeTimeout);
        // Where the packet that closes was lost, an end may learn from a stateless reset that the other has closed.
        let too_late = |why| matches!(why, CloseReason::ProtocolViolation(text) if text.ends_with("(stateless reset)"));
        let failed: Vec<CloseReason> = logs.iter().filter_map(|log| log.failed).collect();
        if failed.iter().all(|&why| too_late(why)) {
            prop_assert!(failed.is_empty() || logs.iter().any(|log| log.closed == 1), "{logs:?}");
            pair.assert_exchanged();
        } else {
            prop_assert!(failed.iter().all(|&why| gave_up(why) || too_late(why)), "{logs:?}");
        }
        prop_assert!(pair.up.conserves() && pair.down.conserves());
        let sent = pair.client.stats().sent_all + pair.server.stats().sent_all;
        prop_assert!(pair.wakes <= 4 * sent + 200, "{} wakes for {} packets", pair.wakes, sent);
    }
}
