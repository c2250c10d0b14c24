//! Paths in reserve, over MPTCP and MPQUIC: they carry data while no other path can, and only then.

use crate::common;

use common::{Exchange, Pair};
use haltere_net::link::LinkConfig;
use haltere_net::queue::Limit;
use haltere_net::rng::{Stream, Streams};
use haltere_net::{PathId, Rate, Span};
use haltere_transport::cc;
use haltere_transport::path::{PathError, PathState, PathStatus};
use haltere_transport::{Endpoint, Role, mptcp, quic, tcp};

fn stream() -> Stream {
    Streams::new(9, 0).named("cc")
}

fn mptcp_end(role: Role) -> mptcp::Connection {
    mptcp::Connection::new(mptcp::Config::new(tcp::Config::new(role, cc::CUBIC, stream())))
}

fn mpquic_end(role: Role) -> quic::Connection {
    quic::Connection::new(quic::Config { max_paths: 2, ..quic::Config::new(role, cc::CUBIC, stream()) })
}

fn millis(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// Two ends with two pipes of 10 Mbit/s, of 20 and of 40 ms a round trip, 200 ms after they began to connect.
fn connecting<E: Endpoint>(end: impl Fn(Role) -> E) -> Pair<E, E> {
    let link = |ms| LinkConfig {
        rate: Some(Rate::from_bps(10_000_000)),
        delay: millis(ms),
        queue: Limit::Packets(100).into(),
        ..LinkConfig::default()
    };
    let (first, second) = (link(10), link(20));
    let exchange = Exchange { streams: vec![(200, 5_000_000)] };
    let mut pair =
        Pair::new(end(Role::Client), end(Role::Server), &first, &first, 4, exchange).and_path(&second, &second, 5);
    pair.run(millis(200));
    pair
}

/// Bytes that came down the second pipe.
fn carried<E: Endpoint>(pair: &Pair<E, E>) -> u64 {
    pair.more[0][1].counters().delivered_bytes
}

fn finish<E: Endpoint>(pair: &mut Pair<E, E>) {
    assert!(pair.go_on(Span::from_secs(4000)), "not over at {}", pair.now);
    pair.assert_complete();
}

fn carries_data_while_no_other_can<E: Endpoint>(end: impl Fn(Role) -> E) {
    let mut pair = connecting(end);
    pair.client_does(|client, cx| {
        client.add_path(PathId(1), cx).unwrap();
        client.set_status(PathId(1), PathStatus::Backup, cx).unwrap();
    });
    pair.go_on(millis(1500));
    assert!((1..5_000).contains(&carried(&pair)), "{}", carried(&pair));
    assert_eq!(pair.server.path_view(PathId(1)).unwrap().state, PathState::Standby, "the peer knows");
    // The first path dies.
    let since = pair.now;
    pair.censor = Some(Box::new(move |seen| seen.packet.path == PathId(0) && seen.at >= since));
    finish(&mut pair);
    assert!(carried(&pair) > 1_000_000, "{}", carried(&pair));
}

fn is_put_in_reserve_and_taken_back<E: Endpoint>(end: impl Fn(Role) -> E) {
    let mut pair = connecting(end);
    pair.client_does(|client, cx| client.add_path(PathId(1), cx)).unwrap();
    pair.go_on(millis(700));
    assert!(carried(&pair) > 100_000, "{}", carried(&pair));
    pair.client_does(|client, cx| client.set_status(PathId(1), PathStatus::Backup, cx)).unwrap();
    pair.go_on(millis(1200));
    let reserved = carried(&pair);
    pair.go_on(millis(1700));
    assert!(carried(&pair) - reserved < 5_000, "{reserved} {}", carried(&pair));
    pair.client_does(|client, cx| client.set_status(PathId(1), PathStatus::Available, cx)).unwrap();
    pair.go_on(millis(2200));
    assert!(carried(&pair) - reserved > 100_000, "{reserved} {}", carried(&pair));
    finish(&mut pair);
    assert_eq!(
        pair.client_does(|client, cx| client.set_status(PathId(7), PathStatus::Backup, cx)),
        Err(PathError::NoSuchPath)
    );
}

#[test]
fn a_path_in_reserve_carries_data_while_no_other_can() {
    carries_data_while_no_other_can(mptcp_end);
    carries_data_while_no_other_can(mpquic_end);
}

#[test]
fn a_path_is_put_in_reserve_and_taken_back_while_data_flows() {
    is_put_in_reserve_and_taken_back(mptcp_end);
    is_put_in_reserve_and_taken_back(mpquic_end);
}
