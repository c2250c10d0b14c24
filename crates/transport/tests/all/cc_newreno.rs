//! NewReno on a path of fixed RTT (RFC 5681, RFC 9002 section 7).

use crate::common;

use common::rounds::{Grain, Rounds};
use haltere_net::Span;

const RTT: Span = Span::from_millis(100);

#[test]
fn slow_start_doubles_a_round() {
    for grain in [Grain::Linux, Grain::Exact] {
        let mut path = Rounds::new("newreno", grain, 10, RTT);
        assert_eq!((path.round(), path.round()), (10.0, 20.0));
    }
}

#[test]
fn a_loss_halves_and_then_a_round_adds_one_segment() {
    for grain in [Grain::Linux, Grain::Exact] {
        let mut path = Rounds::after_loss("newreno", grain, 100, RTT);
        assert_eq!(path.segments(), 50.0);
        assert!((path.rounds(10) - 10.0).abs() <= 1.0);
        path.per_ack = 2;
        assert!((path.rounds(10) - 10.0).abs() <= 1.0, "delayed ACKs do not slow it");
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_half_the_window_as_threshold() {
    let mut path = Rounds::after_loss("newreno", Grain::Linux, 100, RTT);
    path.time_out();
    assert_eq!(path.cc.ssthresh(), 25_000);
    assert_eq!(path.segments(), 2.0);
}
