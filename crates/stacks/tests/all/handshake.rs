//! The handshake over a broken path: it is made, or fails with the right reason.

use crate::ends;

use ends::{Both, STACKS, pair};
use haltere_net::link::LinkConfig;
use haltere_net::{Span, Time};
use haltere_stacks::{Cipher, Congestion, QUINN, Stack};
use haltere_transport::{Body, CloseReason};

const DELAY: Span = Span::from_millis(25);
const CUBIC: Congestion = Congestion::Own("cubic");

fn fresh(stack: Stack, cipher: Cipher) -> Both {
    let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
    let mut pair = pair(stack, CUBIC, cipher, &link, &link, &[(400, 20_000)]);
    pair.keep = true;
    pair
}

/// Runs with certain datagrams lost, counted from 1 in each direction, and checks the anti-amplification limit.
fn losing(stack: Stack, cipher: Cipher, up: &[u64], down: &[u64]) -> Both {
    let mut pair = fresh(stack, cipher);
    let (mut sent, lost) = ([0, 0], [up.to_vec(), down.to_vec()]);
    let (mut heard, mut told, mut validated) = (0u64, 0u64, false);
    pair.censor = Some(Box::new(move |seen| {
        let Body::Udp(bytes) = &seen.packet.body else { panic!("not a datagram") };
        let direction = usize::from(!seen.by_client());
        sent[direction] += 1;
        let dropped = lost[direction].contains(&sent[direction]);
        if seen.by_client() && !dropped {
            heard += bytes.len() as u64;
            // Not an Initial packet (RFC 9000 section 17.2): a Handshake packet validates the address (section 8.1).
            validated |= bytes[0] & 0xb0 != 0x80 || sent[0] > 1;
        } else if !seen.by_client() && !validated {
            told += bytes.len() as u64;
            // Both stacks send a whole datagram while anything is left of the limit (quinn-rs/quinn#1082).
            assert!(told < 3 * heard + 1472, "{stack:?}: {told} sent for {heard} received");
        }
        dropped
    }));
    assert!(pair.run(Span::from_secs(300)), "still going");
    pair
}

#[test]
fn the_request_leaves_after_one_round_trip() {
    for stack in STACKS {
        for cipher in [Cipher::Tls, Cipher::Null] {
            let pair = losing(stack, cipher, &[], &[]);
            pair.assert_complete();
            let connected = pair.client_log.connected_at.unwrap().since(Time::ZERO);
            if stack == QUINN {
                assert_eq!(connected, DELAY * 2);
            } else {
                // noq paces a server's first flight by the RTT that it supposes, 333 ms, and lets one datagram go at a time.
                assert!(connected > DELAY * 2 && connected <= DELAY * 4, "{connected}");
            }
            let first = &pair.seen[0].packet;
            assert!(pair.seen[0].by_client() && first.len >= 1228, "{first:?}");
        }
    }
}

#[test]
fn the_loss_of_any_datagram_of_the_handshake_is_repaired() {
    for stack in STACKS {
        for n in 1..=12 {
            for (up, down) in [(vec![n], vec![]), (vec![], vec![n]), (vec![n], vec![n]), (vec![n, n + 1], vec![n])] {
                losing(stack, Cipher::Null, &up, &down).assert_exchanged();
            }
            losing(stack, Cipher::Tls, &[n], &[]).assert_exchanged();
            losing(stack, Cipher::Tls, &[], &[n]).assert_exchanged();
        }
    }
}

#[test]
fn a_client_that_nobody_answers_gives_up() {
    for stack in STACKS {
        let pair = losing(stack, Cipher::Tls, &(1..1000).collect::<Vec<_>>(), &[]);
        assert_eq!(pair.client_log.failed, Some(CloseReason::HandshakeTimeout), "{stack:?}");
        assert_eq!((pair.client_log.connected, pair.server_log.connected, pair.server_log.failed), (0, 0, None));
        // The idle timeout of both stacks, from the start.
        assert_eq!(pair.now, Time::ZERO + Span::from_secs(30));
    }
}

#[test]
fn a_server_that_is_never_heard_leaves_both_ends_without_a_connection() {
    for stack in STACKS {
        let pair = losing(stack, Cipher::Tls, &[], &(1..1000).collect::<Vec<_>>());
        let failed = [pair.client_log.failed, pair.server_log.failed];
        assert_eq!(failed, [Some(CloseReason::HandshakeTimeout); 2], "{stack:?}");
    }
}

#[test]
fn a_path_that_dies_is_noticed_after_the_idle_timeout() {
    for stack in STACKS {
        let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
        let mut pair = pair(stack, CUBIC, Cipher::Tls, &link, &link, &[(400, 5_000_000)]);
        pair.censor = Some(Box::new(|seen| seen.at > Time::ZERO + Span::from_millis(110)));
        assert!(pair.run(Span::from_secs(300)));
        assert_eq!(pair.client_log.failed, Some(CloseReason::IdleTimeout), "{stack:?}");
        assert_eq!(pair.server_log.failed, Some(CloseReason::IdleTimeout), "{stack:?}");
    }
}
