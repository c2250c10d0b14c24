//! The memory of an idle connection. A server may hold many of them.
//!
//! The counting allocator belongs to the whole program, so this file has one test only.

#[path = "all/common/mod.rs"]
mod common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::queue::Limit;
use haltere_net::rng::Streams;
use haltere_net::{Rate, Span};
use haltere_transport::cc::Algorithm;
use haltere_transport::{Endpoint, Role, quic, tcp};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The upper bound of the memory of a connection, bytes.
const TCP_MOST: usize = 4_000;
/// The bytes that a receiver of data out of order may have beside: counts of displacements and delays, whose number is bounded, and a
/// queue of events, each of which has room for a frame of media.
const COUNTS: usize = 850;
const QUIC_MOST: usize = 8_000;

/// Bytes of an endpoint: the value itself, and what it frees when it is dropped.
fn bytes_of<E: Endpoint>(endpoint: E) -> usize {
    let held = || {
        let stats = ALLOCATOR.stats();
        stats.bytes_allocated - stats.bytes_deallocated
    };
    let before = held();
    drop(endpoint);
    size_of::<E>() + before - held()
}

/// Bytes of both ends after the handshake, and `sent` bytes from the server to the client if any, on a path whose queue
/// holds so many packets, once nothing is left to happen.
fn idle<E: Endpoint>(end: impl Fn(Role) -> E, sent: u64, queue: u64) -> [usize; 2] {
    let link = LinkConfig {
        rate: Some(Rate::from_bps(100_000_000)),
        delay: Span::from_millis(25),
        queue: Limit::Packets(queue).into(),
        ..LinkConfig::default()
    };
    let mut pair = Pair::new(end(Role::Client), end(Role::Server), &link, &link, 1, Exchange { streams: Vec::new() });
    pair.run(Span::from_secs(1));
    assert_eq!((pair.client_log.connected, pair.server_log.connected), (1, 1));
    if sent > 0 {
        let stream = pair.server.open().unwrap();
        pair.server_writes(stream, sent);
        pair.go_on(Span::from_secs(25));
    }
    assert_eq!(pair.client_log.bytes(), sent, "the transfer is not over at {}", pair.now);
    assert_eq!(
        (pair.client.bytes_in_flight(Default::default()), pair.server.bytes_in_flight(Default::default())),
        (0, 0)
    );
    [bytes_of(pair.client), bytes_of(pair.server)]
}

#[test]
fn an_idle_connection_occupies_little() {
    // The short queue holds half of the data in flight: losses leave gaps that must be recorded.
    for (sent, queue, when) in [
        (0, 10_000, "after the handshake"),
        (4_000_000, 10_000, "after a transfer"),
        (4_000_000, 200, "after a transfer with losses"),
    ] {
        let (mut tcp_most, mut quic_most) = ([0, 0], [0, 0]);
        for &algorithm in Algorithm::ALL {
            let stream = || Streams::new(1, 0).named("cc");
            let tcp = idle(|role| tcp::Connection::new(tcp::Config::new(role, algorithm, stream())), sent, queue);
            let quic = idle(|role| quic::Connection::new(quic::Config::new(role, algorithm, stream())), sent, queue);
            for end in 0..2 {
                tcp_most[end] = tcp_most[end].max(tcp[end]);
                quic_most[end] = quic_most[end].max(quic[end]);
            }
        }
        println!("{when}: client and server of TCP {tcp_most:?}, of QUIC {quic_most:?} bytes at most");
        let counts = if when.ends_with("losses") { COUNTS } else { 0 };
        assert!(tcp_most[0] < TCP_MOST + counts && tcp_most[1] < TCP_MOST, "TCP {when}: {tcp_most:?} bytes");
        // QUIC keeps lost packets until some time after others are acknowledged.
        let quic_most = if when.ends_with("losses") { quic_most[0] } else { quic_most[0].max(quic_most[1]) };
        assert!(quic_most < QUIC_MOST + counts, "QUIC {when}: {quic_most} bytes");
    }
}
