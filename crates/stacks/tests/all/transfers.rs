//! Transfers over our links, both stacks with every congestion control.

use crate::ends;

use ends::{STACKS, controls, link, pair};
use haltere_net::Span;
use haltere_stacks::{Cipher, Congestion};
use haltere_transport::cc;

const DELAY: Span = Span::from_millis(10);

/// Whether an algorithm means to use the whole link at once, which those that yield to others or watch delays do not.
fn is_greedy(control: Congestion) -> bool {
    match control {
        Congestion::Own(_) => true,
        Congestion::Ours(algorithm, ..) => [cc::CUBIC, cc::NEWRENO, cc::BBR].contains(&algorithm),
    }
}

#[test]
fn a_megabyte_arrives_with_every_congestion_control() {
    let wire = link(100, DELAY, 250_000);
    for stack in STACKS {
        for control in controls() {
            let mut pair = pair(stack, control, Cipher::Tls, &wire, &wire, &[(100, 1_000_000)]);
            assert!(pair.run(Span::from_secs(120)), "{stack:?} {control:?}");
            pair.assert_complete();
            let done = pair.client_log.streams[0].3.unwrap().as_secs_f64();
            // The object alone takes 80 ms on the wire, handshake and request two round trips of 20 ms; slow start the rest.
            let most = if is_greedy(control) { 0.5 } else { 5.0 };
            assert!((0.12..most).contains(&done), "{stack:?} {control:?}: {done} s");
        }
    }
}

#[test]
fn twenty_megabytes_use_the_link() {
    let wire = link(50, DELAY, 250_000);
    for stack in STACKS {
        for control in controls() {
            let mut pair = pair(stack, control, Cipher::Null, &wire, &wire, &[(100, 20_000_000)]);
            assert!(pair.run(Span::from_secs(120)), "{stack:?} {control:?}");
            pair.assert_complete();
            let done = pair.client_log.streams[0].3.unwrap().as_secs_f64();
            // 3.2 s of payload; headers take 4 % more.
            let most = match control {
                // wVegas cuts its window by more than half whenever its queue has doubled, however short it is.
                Congestion::Ours(algorithm, ..) if algorithm == cc::WVEGAS => 13.0,
                _ if is_greedy(control) => 4.2,
                _ => 10.0,
            };
            assert!((3.3..most).contains(&done), "{stack:?} {control:?}: {done} s");
        }
    }
}

#[test]
fn a_fast_long_path_is_filled_in_spite_of_flow_control() {
    // 1 Gbit/s x 100 ms is ten times the stacks' own stream window.
    let wire = link(1000, Span::from_millis(50), 12_500_000);
    for stack in STACKS {
        let mut pair = pair(stack, Congestion::Own("cubic"), Cipher::Tls, &wire, &wire, &[(100, 100_000_000)]);
        assert!(pair.run(Span::from_secs(120)));
        pair.assert_complete();
        let done = pair.client_log.streams[0].3.unwrap().as_secs_f64();
        assert!(done < 2.5, "{stack:?}: {done} s");
    }
}

#[test]
fn what_was_counted_can_be_so() {
    for stack in STACKS {
        let (up, mut down) = (link(50, DELAY, 250_000), link(50, DELAY, 250_000));
        down.loss = haltere_net::loss::LossModel::Uniform { p: 0.01 };
        let mut pair = pair(stack, Congestion::Own("cubic"), Cipher::Tls, &up, &down, &[(100, 3_000_000)]);
        assert!(pair.run(Span::from_secs(300)));
        pair.assert_complete();
        use haltere_transport::Endpoint;
        let (client, server) = (pair.client.stats(), pair.server.stats());
        let dropped = pair.down.counters().dropped();
        assert!(server.lost_packets >= dropped / 2 && server.lost_packets <= dropped + 200, "{server:?} {dropped}");
        assert_eq!(client.received_packets + dropped, server.sent_all, "{stack:?}");
        let rtt = server.mean_rtt().unwrap();
        assert!(server.min_rtt.unwrap() >= Span::from_millis(20) && rtt < Span::from_millis(200), "{server:?}");
        assert!(server.sent_packets >= 3_000_000 / 1472 && server.connected_at.is_some());
    }
}
